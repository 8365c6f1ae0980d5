//! Reactions on people's messages: 👀 queued, ⏳ running, ✅ done.
//!
//! The reaction follows from the agents' views, and from their journal once the task has left them; no state is kept,
//! so that a restart only looks again. A message is tracked until its task is over and marked so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serenity::all::{ChannelId, MessageId};
use tokio::sync::{Notify, watch};
use tracing::{debug, warn};

use super::Bot;
use crate::core::event::Event;
use crate::core::id::{AgentName, WorkId};
use crate::core::outcome::Category;
use crate::core::work::TaskEnd;
use crate::journal::{Entry, Heard, Journal, Recorded, Stream};
use crate::supervisor::{Fleet, Holder, View};

/// Minimum interval between two changes of reactions in a channel: a task that is done at once needs one reaction, not
/// three.
const EVERY: Duration = Duration::from_millis(400);
/// Wait after a reaction could not be set. It doubles with each failure in the channel.
const AGAIN: Duration = Duration::from_secs(15);
/// Maximum wait after a reaction could not be set.
const AGAIN_MAX: Duration = Duration::from_secs(600);
/// Number of an agent's journal entries read at once when the end of a task is searched.
const PAGE: usize = 500;
/// Maximum number of pages of journal entries that are searched for the end of a task: more than an agent writes in a
/// long session.
const PAGES_MAX: usize = 200;

/// The state of a task as a reaction shows it on the person's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Queued,
    Running,
    Done,
    /// The task was given up or withdrawn: no reaction is shown.
    Dropped,
}

impl Mark {
    fn emoji(self) -> Option<&'static str> {
        match self {
            Self::Queued => Some("👀"),
            Self::Running => Some("⏳"),
            Self::Done => Some("✅"),
            Self::Dropped => None,
        }
    }

    fn is_last(self) -> bool {
        match self {
            Self::Done | Self::Dropped => true,
            Self::Queued | Self::Running => false,
        }
    }
}

/// The reaction of herder's that is known to be on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    /// The message has no reaction.
    Nothing,
    /// The message has the reaction for this state.
    This(Mark),
    /// The reaction is unknown, because herder was restarted.
    Unknown,
}

/// A person's message that became a task, whose reaction is kept up to date.
#[derive(Debug, Clone)]
struct Followed {
    channel: u64,
    /// The agent to which the task was given; `None` for a task of the board.
    agent: Option<AgentName>,
    work: WorkId,
    shown: Shown,
}

/// The messages whose reactions are kept up to date, by id.
#[derive(Debug, Default)]
pub(super) struct Marks {
    followed: Mutex<BTreeMap<u64, Followed>>,
    finished: Mutex<Vec<u64>>,
    /// Signals that a message's reaction is final, so that the message is not tracked any more.
    ended: Notify,
    /// Counter of added messages, by which the tasks that maintain reactions notice them.
    added: watch::Sender<u64>,
}

impl Marks {
    /// Tracks a message that became a task just now. Returns true if it is tracked.
    pub(super) fn track(&self, channel: u64, message: u64, heard: &Heard) -> bool {
        self.follow(channel, message, heard, Shown::Nothing)
    }

    /// Tracks a message that became a task before herder started. Returns true if it is tracked.
    pub(super) fn restore(&self, channel: u64, message: u64, heard: &Heard) -> bool {
        self.follow(channel, message, heard, Shown::Unknown)
    }

    fn follow(&self, channel: u64, message: u64, heard: &Heard, shown: Shown) -> bool {
        let Some(work) = heard.work else { return false };
        self.followed().insert(message, Followed { channel, agent: heard.agent.clone(), work, shown });
        self.added.send_modify(|count| *count = count.wrapping_add(1));
        true
    }

    /// Returns the agent and the number of the task that a tracked message became; the agent is `None` for the board.
    pub(super) fn work_of(&self, message: u64) -> Option<(Option<AgentName>, WorkId)> {
        self.followed().get(&message).map(|followed| (followed.agent.clone(), followed.work))
    }

    /// Returns the channels and ids of messages whose task still waits for an agent.
    pub(super) fn waiting(&self, fleet: &Fleet) -> Vec<(u64, u64)> {
        let waits = |followed: &Followed| now(fleet, followed) == Some(Mark::Queued);
        let followed = self.followed();
        followed.iter().filter(|(_, it)| waits(it)).map(|(message, it)| (it.channel, *message)).collect()
    }

    /// Takes the ids of messages whose reaction has become final since the last call.
    pub(super) fn finished(&self) -> Vec<u64> {
        std::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the reaction of a message has become final.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    fn followed(&self) -> MutexGuard<'_, BTreeMap<u64, Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn channels(&self) -> BTreeSet<u64> {
        self.followed().values().map(|followed| followed.channel).collect()
    }

    fn in_channel(&self, channel: u64) -> Vec<(u64, Followed)> {
        let followed = self.followed();
        let here = followed.iter().filter(|(_, followed)| followed.channel == channel);
        here.map(|(message, followed)| (*message, followed.clone())).collect()
    }

    fn shows(&self, message: u64, mark: Mark) {
        let mut followed = self.followed();
        if mark.is_last() {
            followed.remove(&message);
            self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(message);
            self.ended.notify_one();
        } else if let Some(followed) = followed.get_mut(&message) {
            followed.shown = Shown::This(mark);
        }
    }
}

/// Keeps the reactions on messages up to date, until dropped. Each channel has a task of its own: Discord allows a few
/// reactions a second in each, and a channel that refuses them delays no other.
pub(super) async fn keep(bot: &Bot, marks: &Marks) {
    let mut added = marks.added.subscribe();
    let mut kept = BTreeSet::new();
    let mut keepers = FuturesUnordered::new();
    loop {
        for channel in marks.channels() {
            if kept.insert(channel) {
                keepers.push(keep_channel(bot, marks, channel));
            }
        }
        tokio::select! {
            added = added.changed() => if added.is_err() {
                return std::future::pending().await;
            },
            Some(channel) = keepers.next(), if !keepers.is_empty() => {
                kept.remove(&channel);
            }
        }
    }
}

/// Keeps the reactions in one channel up to date while a message in it is tracked; returns the channel at the end.
async fn keep_channel(bot: &Bot, marks: &Marks, channel: u64) -> u64 {
    let (mut changes, mut added) = (bot.ports.fleet.changes(), marks.added.subscribe());
    let mut again = AGAIN;
    loop {
        let followed = marks.in_channel(channel);
        if followed.is_empty() {
            return channel;
        }
        let mut failed = false;
        for (message, followed) in followed {
            let mark = mark(bot, &followed).await;
            if followed.shown == Shown::This(mark) {
                continue;
            }
            if show(bot, message, &followed, mark).await {
                marks.shows(message, mark);
                again = AGAIN;
            } else {
                // The next reaction would fail as well: the cause is the channel, or Discord as a whole.
                failed = true;
                break;
            }
        }
        if failed {
            tokio::time::sleep(again).await;
            again = (again * 2).min(AGAIN_MAX);
            continue;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() {
                return std::future::pending().await;
            },
            added = added.changed() => if added.is_err() {
                return std::future::pending().await;
            },
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn mark(bot: &Bot, followed: &Followed) -> Mark {
    if let Some(mark) = now(&bot.ports.fleet, followed) {
        return mark;
    }
    let Some(agent) = followed.agent.clone() else { return Mark::Dropped };
    let (journal, work) = (bot.ports.journal.clone(), followed.work);
    let looked = tokio::task::spawn_blocking(move || in_history(&journal, agent, work)).await;
    looked.unwrap_or(Mark::Dropped)
}

/// Returns the state of a task, whichever agent has it; `None` if no agent or board shows it any more.
fn now(fleet: &Fleet, followed: &Followed) -> Option<Mark> {
    // Nearly always the task is still at its first agent.
    let here = followed.agent.as_ref().and_then(|agent| in_view(&fleet.view(agent)?, followed.work));
    here.or_else(|| match fleet.holder(followed.work)? {
        Holder::Agent(agent) => in_view(&fleet.view(&agent)?, followed.work),
        // A split task is done when its parts are.
        Holder::Board | Holder::Nobody => Some(Mark::Queued),
        Holder::Over(TaskEnd::Done) => Some(Mark::Done),
        Holder::Over(_) => Some(Mark::Dropped),
    })
}

/// Returns the state of a task according to the agent that has it; `None` if the agent does not have it.
fn in_view(view: &View, work: WorkId) -> Option<Mark> {
    if view.agent.current.as_ref().is_some_and(|current| current.id == work) {
        return Some(Mark::Running);
    }
    // A task that waits for its parts goes on.
    if view.agent.board.parked().any(|parked| parked.work.id == work) {
        return Some(Mark::Running);
    }
    view.agent.queue.iter().any(|queued| queued.id == work).then_some(Mark::Queued)
}

fn in_history(journal: &Journal, agent: AgentName, work: WorkId) -> Mark {
    let stream = Stream::Agent(agent);
    match since_taken(work, |before| journal.history(&stream, PAGE, before)) {
        Ok(entries) => fate(&entries, work),
        Err(reason) => {
            warn!(%reason, %work, "what became of work cannot be read");
            Mark::Dropped
        }
    }
}

/// Returns an agent's journal entries since it last received the task, oldest first. `page` returns those before a
/// revision.
fn since_taken<E>(
    work: WorkId,
    page: impl Fn(Option<u64>) -> Result<Vec<Recorded>, E>,
) -> Result<Vec<Recorded>, E> {
    let (mut kept, mut before) = (VecDeque::new(), None);
    for _ in 0..PAGES_MAX {
        let entries = page(before)?;
        let Some(oldest) = entries.first().map(|entry| entry.rev) else { break };
        let found = entries.iter().any(|entry| takes(&entry.entry, work));
        before = Some(oldest);
        // Most entries are a session's progress, which does not matter here.
        let of_use = entries.into_iter().filter(|entry| decides(&entry.entry)).rev();
        of_use.for_each(|entry| kept.push_front(entry));
        if found || oldest <= 1 {
            break;
        }
    }
    Ok(kept.into())
}

/// Returns true if a journal entry gives the task to the agent, or returns it to the agent.
fn takes(entry: &Entry, work: WorkId) -> bool {
    let Entry::Agent(event) = entry else { return false };
    match event {
        Event::Queued { work: taken }
        | Event::TaskTaken { work: taken, .. }
        | Event::SessionStarted { work: taken, .. } => taken.id == work,
        Event::Steered { work: taken, .. } | Event::Requeued { work: taken } => *taken == work,
        _ => false,
    }
}

/// Returns true if a journal entry can decide about the end of a task in [`fate`].
fn decides(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Agent(
            Event::Queued { .. }
                | Event::TaskTaken { .. }
                | Event::SessionStarted { .. }
                | Event::Steered { .. }
                | Event::Requeued { .. }
                | Event::SessionEnded { .. }
                | Event::TaskEnded { .. }
                | Event::TaskHandedBack { .. }
                | Event::Discarded { .. }
                | Event::Withdrawn { .. }
                | Event::Cleared { .. }
                | Event::Removed { .. }
        )
    )
}

/// Returns the final state of a task that its agent has no longer, from the agent's journal entries.
fn fate(entries: &[Recorded], work: WorkId) -> Mark {
    let mut mark = Mark::Dropped;
    let mut at_it = false;
    for entry in entries {
        let Entry::Agent(event) = &entry.entry else { continue };
        match event {
            Event::Queued { work: queued } if queued.id == work => (mark, at_it) = (Mark::Queued, false),
            Event::TaskTaken { work: taken, .. } if taken.id == work => (mark, at_it) = (Mark::Queued, false),
            Event::SessionStarted { work: started, .. } if started.id == work => {
                (mark, at_it) = (Mark::Running, true);
            }
            Event::Steered { work: steered, .. } if *steered == work => (mark, at_it) = (Mark::Running, true),
            Event::Requeued { work: again } if *again == work => (mark, at_it) = (Mark::Queued, false),
            Event::SessionEnded { outcome, .. } if at_it && outcome.category == Category::Success => {
                return Mark::Done;
            }
            Event::TaskEnded { work: ended, end, .. } if *ended == work => {
                return if *end == TaskEnd::Done { Mark::Done } else { Mark::Dropped };
            }
            Event::Discarded { work: gone, .. } | Event::Withdrawn { work: gone, .. } if *gone == work => {
                return Mark::Dropped;
            }
            Event::Cleared { works, .. } if works.contains(&work) => return Mark::Dropped,
            // A later holder would be known.
            Event::TaskHandedBack { work: gone, .. } if *gone == work => {
                (mark, at_it) = (Mark::Dropped, false)
            }
            Event::Removed { .. } => mark = Mark::Dropped,
            _ => {}
        }
    }
    mark
}

/// Sets the reaction on a message in place of the previous one. Returns true if it is set, or refused for good: a
/// reaction is optional, because the message itself was answered.
async fn show(bot: &Bot, message: u64, followed: &Followed, mark: Mark) -> bool {
    let (channel, message) = (ChannelId::new(followed.channel.max(1)), MessageId::new(message.max(1)));
    if let Some(emoji) = mark.emoji()
        && let Err(error) = bot.rest.add_reaction(channel, message, emoji).await
    {
        debug!(%error, %message, "a message could not be marked");
        if error.is_worth_another_try() {
            return false;
        }
    }
    let before = match followed.shown {
        Shown::Nothing => Vec::new(),
        Shown::This(before) => vec![before],
        Shown::Unknown => vec![Mark::Queued, Mark::Running],
    };
    for emoji in before.into_iter().filter(|before| *before != mark).filter_map(Mark::emoji) {
        if let Err(error) = bot.rest.remove_own_reaction(channel, message, emoji).await {
            debug!(%error, %message, "a mark could not be taken back");
            if error.is_worth_another_try() {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::dealings::Onward;
    use crate::core::id::{NetworkName, SessionId};
    use crate::core::outcome::Outcome;
    use crate::core::time::Timestamp;
    use crate::core::work::{Actor, Work, WorkKind};

    const WORK: WorkId = WorkId(7);
    const SESSION: SessionId = SessionId(1);

    fn alice() -> Actor {
        Actor { network: NetworkName::from("discord"), name: "alice".to_owned(), identity: None }
    }

    fn work() -> Work {
        let (kind, text) = (WorkKind::Message, "fix it".to_owned());
        Work { id: WORK, kind, text, by: alice(), at: Timestamp::default(), attempts: 0, card: None }
    }

    fn ended(category: Category) -> Event {
        let outcome = Box::new(Outcome::new(category, "so it went"));
        Event::SessionEnded { session: SESSION, outcome, survivors: Vec::new() }
    }

    fn started(work: Work) -> Event {
        Event::SessionStarted { session: SESSION, work, trial: false }
    }

    #[test]
    fn marks_say_what_became_of_the_work() {
        let other = Work { id: WorkId(8), ..work() };
        let queued = || Event::Queued { work: work() };
        let steered = || Event::Steered { session: SESSION, work: WORK };
        let handed_back = || Event::TaskHandedBack { work: WORK, onward: Onward::To(None), by: alice() };
        let task = |end| Event::TaskEnded { work: WORK, end, note: String::new().into() };
        let cases = [
            (vec![], Mark::Dropped),
            (vec![queued()], Mark::Queued),
            (vec![queued(), started(work())], Mark::Running),
            (vec![queued(), started(work()), ended(Category::Success)], Mark::Done),
            (vec![queued(), started(other.clone()), ended(Category::Success)], Mark::Queued),
            (
                vec![queued(), started(work()), ended(Category::Crash), Event::Requeued { work: WORK }],
                Mark::Queued,
            ),
            (
                vec![
                    queued(),
                    started(work()),
                    ended(Category::Crash),
                    Event::Requeued { work: WORK },
                    started(other.clone()),
                    ended(Category::Success),
                ],
                Mark::Queued,
            ),
            (vec![queued(), Event::Withdrawn { work: WORK, by: alice() }], Mark::Dropped),
            (vec![queued(), Event::Cleared { works: vec![WORK], by: alice() }], Mark::Dropped),
            (vec![queued(), started(work()), Event::Discarded { work: WORK, by: alice() }], Mark::Dropped),
            // Steered into a running turn: done when that session is.
            (vec![started(other.clone()), queued(), steered()], Mark::Running),
            (vec![started(other), queued(), steered(), ended(Category::Success)], Mark::Done),
            (vec![queued(), started(work()), task(TaskEnd::Done)], Mark::Done),
            (vec![queued(), task(TaskEnd::Cancelled)], Mark::Dropped),
            (vec![queued(), Event::Removed { by: alice() }], Mark::Dropped),
            // A task handed back belongs to others; one taken again belongs to this agent.
            (vec![queued(), handed_back()], Mark::Dropped),
            (vec![queued(), handed_back(), Event::TaskTaken { number: 1, work: work() }], Mark::Queued),
        ];
        for (events, mark) in cases {
            assert_eq!(fate(&recorded(&events), WORK), mark, "{events:?}");
        }
    }

    fn recorded(events: &[Event]) -> Vec<Recorded> {
        let agent = AgentName::new("spark").expect("a good name");
        let record = |(index, event): (usize, &Event)| Recorded {
            seq: index as u64 + 1,
            stream: Stream::Agent(agent.clone()),
            rev: index as u64 + 1,
            at: Timestamp::default(),
            entry: Entry::Agent(event.clone()),
        };
        events.iter().enumerate().map(record).collect()
    }

    #[test]
    fn what_a_long_session_did_is_read_back_to_its_beginning() {
        let turn = || Event::ConversationLost { session: SESSION, why: "".into() };
        let mut events = vec![Event::Queued { work: work() }, started(work())];
        events.extend(std::iter::repeat_with(turn).take(3 * PAGE));
        events.push(ended(Category::Success));
        let all = recorded(&events);
        let reads = std::cell::Cell::new(0);
        let page = |before: Option<u64>| {
            reads.set(reads.get() + 1);
            let end = before.map_or(all.len(), |before| usize::try_from(before - 1).expect("a place"));
            Ok::<_, ()>(all[end.saturating_sub(PAGE)..end].to_vec())
        };
        let entries = since_taken(WORK, page).expect("it is read");
        assert_eq!(fate(&entries, WORK), Mark::Done);
        assert_eq!((entries.len(), reads.get()), (3, 4), "what is said on the way is not kept");
        reads.set(0);
        assert_eq!(
            since_taken(WorkId(99), page).map(|entries| fate(&entries, WorkId(99))),
            Ok(Mark::Dropped)
        );
        assert_eq!(reads.get(), 4, "there is no more");
    }

    #[test]
    fn a_message_is_followed_until_its_last_mark() {
        let marks = Marks::default();
        let agent = AgentName::new("spark").ok();
        let heard = Heard { agent, work: Some(WORK), place: None };
        assert!(marks.restore(1, 50, &heard));
        assert!(!marks.restore(1, 51, &Heard::default()), "a command is no work");
        marks.shows(50, Mark::Running);
        assert!(marks.work_of(50).is_some());
        assert_eq!(marks.finished(), [] as [u64; 0]);
        marks.shows(50, Mark::Done);
        assert_eq!((marks.work_of(50), marks.finished()), (None, vec![50]));
    }
}
