//! What is owed to one network, in order, until the network confirmed it.
//!
//! ```text
//!  journal ─ accept ─► push ─►  lane urgent:  #alerts ▸▸   #spark ▸        ┐ next_window      network task
//!  commands ─────────► push ─►  lane normal:  #spark ▸▸▸▸  #flint ▸▸  …    ┘ ────────► lines ────────────► server
//!                                  ▲                                            │
//!                                  └──────────── requeue ◄── link lost ─────────┤
//!                               gone ◄── journal.confirm ◄── confirm ◄── fence ─┘
//! ```
//!
//! A lane holds a queue per target, so a target that is not joined waits without blocking others, and lines are taken from
//! the targets in turn, so a chatty agent does not starve its neighbours. Inside a lane the order per target is the order
//! of the pushes. The urgent lane goes first, but for one line of each window.
//!
//! A post is rendered when its turn comes and goes out over as many windows as it needs. Each of its lines is waiting,
//! flying or confirmed. [`NetworkQueue::requeue`] turns flying into waiting; a confirmed line is never sent again in this
//! run, and not after a restart either once [`NetworkQueue::confirm`] returned.
//!
//! Memory and disk: every post that is owed is held, but what waits for one target is bounded by [`BACKLOG_POSTS_MAX`] in
//! the normal lane and by [`ANSWERS_MAX`] in the urgent one; beyond it the oldest posts shrink to a line with their number,
//! as after an absence ([`super::backlog`]), here and in the journal. Of people who wait for an answer in private there are
//! at most [`PERSONS_MAX`]. Of alerts, of which none may be dropped that somebody has to do something about, those beyond
//! [`ALERTS_MAX`] stay in the journal alone until there is room for them.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::backlog::{Away, BACKLOG_LINES, Keys};
use super::discord::Attachment;
use super::lane::{LaneQueue, Line, Owed};
use super::render::Renderer;
use super::shelf::Shelf;
use super::{Body, Lane, Post, Target};
use crate::core::id::{NetworkName, PostId};
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::journal::{Confirmed, Settled};

pub use super::shelf::ALERTS_MAX;

/// What could not be read of the journal is tried again after so long.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// The most posts that wait for one channel in the normal lane: some hours of a busy agent, a few megabytes at worst.
pub const BACKLOG_POSTS_MAX: usize = 1000;

/// The most answers that wait for one channel or person.
pub const ANSWERS_MAX: usize = 100;

/// The most people who wait for an answer in private: many times what a network with a herder on it has.
pub const PERSONS_MAX: usize = 500;

/// What a [`Ledger`] resolves to; the error is for the log.
pub type Noted<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Where deliveries are recorded: the journal, or a test's list.
pub trait Ledger: Send + Sync + 'static {
    /// Records `settled`; durable when it resolves.
    fn record(&self, settled: Vec<Settled>) -> Noted<'_>;

    /// The same, with whatever is recorded next, or a moment later; [`Ledger::hurry`] ends the wait.
    fn record_soon(&self, settled: Vec<Settled>) -> Noted<'_> {
        self.record(settled)
    }

    /// What is to be recorded soon is waited for.
    fn hurry(&self) {}

    /// The first `most` of the alerts behind `after` that are owed to a network.
    fn alerts(&self, network: &NetworkName, after: PostId, most: usize) -> Noted<'_, Vec<Post>>;
}

/// Lines to send together, then to be confirmed or put back. A network that learns of lines one by one may take a window
/// apart and confirm some lines and requeue others.
#[derive(Debug, Default, PartialEq)]
pub struct Window {
    /// In the order they are to be sent.
    pub lines: Vec<Line>,
}

/// The posts that are owed to one network.
pub struct NetworkQueue {
    network: NetworkName,
    renderer: Renderer,
    /// More lines than this for one channel are collapsed.
    backlog: u32,
    ledger: Arc<dyn Ledger>,
    state: Mutex<State>,
    /// Something can be sent that could not be before.
    changed: Notify,
    /// Something was pushed.
    pushed: Notify,
    /// Something is to be recorded that no delivery waits for.
    unsettled: Notify,
    /// Nothing is owed any more.
    emptied: Notify,
    /// One recording at a time, so that what failed or was cut short is recorded before what came later.
    recording: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for NetworkQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetworkQueue").field("network", &self.network).field("owed", &self.len()).finish()
    }
}

#[derive(Default)]
struct State {
    urgent: LaneQueue,
    normal: LaneQueue,
    /// Stored posts that are here, so that one which comes twice (at a start) is taken once.
    ids: HashSet<PostId>,
    /// Alerts that are not here.
    shelf: Shelf,
    next_key: u64,
    /// Delivered or left out, but not yet recorded.
    unrecorded: Vec<Settled>,
}

impl State {
    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.normal.is_empty() && self.shelf.len() == 0
    }

    fn lane(&mut self, urgent: bool) -> &mut LaneQueue {
        if urgent { &mut self.urgent } else { &mut self.normal }
    }

    fn delivered(&mut self, network: &NetworkName, parts: Vec<(PostId, Option<u32>)>) {
        for (post, lines) in parts {
            if lines.is_none() {
                self.ids.remove(&post);
            }
            self.unrecorded.push(Settled::Delivered(Confirmed { network: network.clone(), post, lines }));
        }
    }

    fn put_away(&mut self, away: Away) {
        for settled in &away {
            if let Settled::Collapsed(collapsed) = settled {
                collapsed.left_out.iter().for_each(|id| {
                    self.ids.remove(id);
                });
            }
        }
        self.unrecorded.extend(away);
    }

    /// Keys for lines that stand for others.
    fn keys(&mut self) -> Keys {
        self.next_key += 3;
        [self.next_key - 2, self.next_key - 1, self.next_key]
    }
}

impl NetworkQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(network: NetworkName, renderer: Renderer, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            network,
            renderer,
            backlog: BACKLOG_LINES,
            ledger,
            state: Mutex::default(),
            changed: Notify::new(),
            pushed: Notify::new(),
            unsettled: Notify::new(),
            emptied: Notify::new(),
            recording: tokio::sync::Mutex::new(()),
        }
    }

    /// The same, with another bound for the lines of one channel.
    #[must_use]
    pub fn with_backlog(self, backlog: u32) -> Self {
        Self { backlog, ..self }
    }

    /// The network it is for.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        &self.network
    }

    /// How many posts are owed.
    #[must_use]
    pub fn len(&self) -> usize {
        let state = self.state();
        state.urgent.len() + state.normal.len() + state.shelf.len()
    }

    /// How many of them are in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        let state = self.state();
        state.urgent.len() + state.normal.len()
    }

    /// Whether nothing is owed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state().is_empty()
    }

    /// Adds a post at the end of its target's queue. Never waits: the journal's writer calls it. A stored post that is
    /// already here is ignored; one with id 0 is not stored and is gone with this process.
    pub fn push(&self, post: Post) {
        self.take_in(post, None);
    }

    /// The same. What it gives resolves when that post is owed no more: the network has it, or it was given up.
    pub fn push_until_gone(&self, post: Post) -> impl Future<Output = ()> + Send + use<> {
        let (owed, gone) = oneshot::channel();
        self.take_in(post, Some(owed));
        async move {
            // Nothing is ever sent; it ends with the post.
            let _ = gone.await;
        }
    }

    fn take_in(&self, post: Post, owed: Option<Owed>) {
        let mut state = self.state();
        if post.id != PostId(0) {
            if state.ids.contains(&post.id) {
                return;
            }
            let held = state.urgent.waiting(&Target::Alerts);
            if post.lane == Lane::Urgent && post.to == Target::Alerts && state.shelf.takes(post.id, held) {
                return;
            }
            state.ids.insert(post.id);
        }
        if self.renderer.changes_statuses() && matches!(post.body, Body::Notice(Notice::Completed { .. })) {
            let begins = |post: &Post| matches!(post.body, Body::Notice(Notice::Started { .. }));
            let overtaken = state.lane(post.lane == Lane::Urgent).overtake(&post.to, &begins);
            state.delivered(&self.network, overtaken);
        }
        state.next_key += 1;
        let (key, urgent, target) = (state.next_key, post.lane == Lane::Urgent, post.to.clone());
        let waiting = state.lane(urgent).push(key, post, owed);
        let most = if urgent { ANSWERS_MAX } else { BACKLOG_POSTS_MAX };
        if waiting > most && target != Target::Alerts {
            let keys = state.keys();
            let lane = if urgent { Lane::Urgent } else { Lane::Normal };
            let away = state.lane(urgent).bound(&target, lane, keys, &self.renderer);
            state.put_away(away);
        }
        while let Some(person) = state.urgent.surplus_person(PERSONS_MAX) {
            tracing::warn!(network = %self.network, "too many people wait for answers; the oldest are let go");
            let parts = state.urgent.forget(&person, &|_| true);
            state.delivered(&self.network, parts);
        }
        let unsettled = !state.unrecorded.is_empty();
        drop(state);
        self.changed.notify_one();
        self.pushed.notify_waiters();
        if unsettled {
            self.unsettled.notify_one();
        }
    }

    /// Records what was left out of long backlogs, as it happens, until dropped: a network that is not there sends nothing
    /// that this could wait for.
    pub async fn keep_settled(&self) {
        loop {
            self.settle().await;
            self.unsettled.notified().await;
        }
    }

    /// Records what is delivered or left out and not yet recorded.
    pub async fn settle(&self) {
        self.record().await;
    }

    /// The next lines to send, at most `max_lines`: waits until there are some. Dropping the future loses nothing.
    ///
    /// `room` is how many bytes of text fit into one line for a target, `joined` whether it can be sent to now. Call again
    /// after either changed: the queue cannot know.
    pub async fn next_window(
        &self,
        max_lines: usize,
        room: &(dyn Fn(&Target) -> usize + Sync),
        joined: &(dyn Fn(&Target) -> bool + Sync),
    ) -> Window {
        loop {
            let is_complete = self.refill().await;
            if let Some(window) = self.try_window(max_lines, room, joined) {
                return window;
            }
            self.record().await;
            let changed = self.changed.notified();
            if is_complete {
                changed.await;
            } else {
                // Whether it changes or not, what could not be read is tried again.
                let _ = tokio::time::timeout(READ_AGAIN, changed).await;
            }
        }
    }

    /// Takes alerts back from the journal, when there is room for them. What waits since the link was away is shortened as the
    /// others were when it came back. False if they could not be read.
    async fn refill(&self) -> bool {
        let wanted = {
            let state = self.state();
            state.shelf.wants(state.urgent.waiting(&Target::Alerts)).map(|wants| (wants, state.shelf.upto()))
        };
        let Some(((after, most), upto)) = wanted else { return true };
        let read = match self.ledger.alerts(&self.network, after, most).await {
            Ok(read) => read,
            Err(reason) => {
                tracing::error!(network = %self.network, reason, "alerts that wait could not be read");
                return false;
            }
        };
        let mut state = self.state();
        let ids: Vec<PostId> = read.iter().map(|post| post.id).collect();
        state.shelf.gives(&ids, upto);
        for post in read {
            if !state.ids.insert(post.id) {
                continue;
            }
            state.next_key += 1;
            let key = state.next_key;
            state.urgent.push(key, post, None);
        }
        let keys = state.keys();
        let (alerts, longest) = (Target::Alerts, self.backlog);
        let away = state.urgent.collapse(&alerts, Lane::Urgent, longest, keys, &self.renderer);
        state.put_away(away);
        true
    }

    /// As [`NetworkQueue::next_window`], without waiting: `None` if nothing can be sent now.
    pub fn try_window(
        &self,
        max_lines: usize,
        room: &dyn Fn(&Target) -> usize,
        joined: &dyn Fn(&Target) -> bool,
    ) -> Option<Window> {
        let mut state = self.state();
        let mut window = Window::default();
        // Answers are asked for by people, and a person can ask without end: one line of a window stays for the others.
        let for_others = usize::from(max_lines > 1 && !state.normal.is_empty());
        for (urgent, kept) in [(true, for_others), (false, 0), (true, 0)] {
            let left = max_lines.saturating_sub(window.lines.len() + kept);
            if left == 0 {
                continue;
            }
            let (lines, silent) = state.lane(urgent).take(left, &self.renderer, room, joined);
            window.lines.extend(lines.into_iter().map(|mut line| {
                line.urgent = urgent;
                line
            }));
            // A post that turned out to say nothing is delivered; that is recorded with the next confirmation or wait.
            state.delivered(&self.network, silent);
        }
        let emptied = state.is_empty();
        drop(state);
        if emptied {
            self.emptied.notify_waiters();
        }
        (!window.lines.is_empty()).then_some(window)
    }

    /// The file that goes along with a line, if there is one.
    #[must_use]
    pub fn attachment(&self, line: &Line) -> Option<Attachment> {
        (line.index == 0).then(|| self.renderer.attachment(&line.source)).flatten()
    }

    /// The network has these lines. They are recorded on disk when this returns; until then a kill sends them again. Where
    /// nothing else is owed, that is recorded with the commit that owes the next post, or soon: so that what is sent next
    /// waits for one commit, not for two.
    ///
    /// A journal that cannot be written is not the network's business: the failure is logged, the lines count as delivered
    /// for this run, and herder, which is about to end for that reason, may repeat them when it is back.
    pub async fn confirm(&self, window: Window) {
        let pushed = self.pushed.notified();
        tokio::pin!(pushed);
        pushed.as_mut().enable();
        let emptied = {
            let mut state = self.state();
            for line in &window.lines {
                let part = state.lane(line.urgent).confirm(line);
                state.delivered(&self.network, part);
            }
            state.is_empty()
        };
        if emptied {
            let recording = self.record_as(Ledger::record_soon);
            tokio::pin!(recording);
            tokio::select! {
                biased;
                () = &mut recording => {}
                () = pushed => {
                    self.ledger.hurry();
                    recording.await;
                }
            }
            self.emptied.notify_waiters();
        } else {
            self.record().await;
        }
        if self.state().shelf.len() > 0 {
            // There may be room for what is on the disk alone.
            self.changed.notify_one();
        }
    }

    /// Records what is delivered and not yet recorded. What is cut short stays for the next call.
    async fn record(&self) {
        self.record_as(Ledger::record).await;
    }

    async fn record_as(&self, record: impl for<'a> Fn(&'a dyn Ledger, Vec<Settled>) -> Noted<'a>) {
        let _one = self.recording.lock().await;
        let batch = self.state().unrecorded.clone();
        if batch.is_empty() {
            return;
        }
        let taken = batch.len();
        if let Err(reason) = record(&*self.ledger, batch).await {
            tracing::error!(network = %self.network, reason, "deliveries could not be recorded");
        }
        self.state().unrecorded.drain(..taken);
    }

    /// These lines did not arrive, or nobody knows: they wait again, in front of everything later.
    pub fn requeue(&self, window: Window) {
        let mut state = self.state();
        for line in &window.lines {
            state.lane(line.urgent).requeue(line);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Whoever sent is gone: whatever was flying waits again.
    pub fn grounded(&self) {
        let mut state = self.state();
        state.urgent.ground();
        state.normal.ground();
        drop(state);
        self.changed.notify_one();
    }

    /// The link is up again after an absence: call it before the first window. Whatever was flying waits again, and long
    /// backlogs collapse to their last lines (see [`super::backlog`]).
    pub fn link_restored(&self) {
        self.grounded();
        let mut state = self.state();
        for lane in [Lane::Urgent, Lane::Normal] {
            let urgent = lane == Lane::Urgent;
            for target in state.lane(urgent).targets() {
                let keys = state.keys();
                let away = state.lane(urgent).collapse(&target, lane, self.backlog, keys, &self.renderer);
                state.put_away(away);
            }
        }
        drop(state);
        self.changed.notify_one();
        self.unsettled.notify_one();
    }

    /// A target is gone for good (a person who left, a channel that nobody needs any more): what is owed to it counts as
    /// delivered, on disk when this returns.
    pub async fn forget(&self, target: &Target) {
        self.give_up(target, &|_| true).await;
    }

    /// The same for what was owed at `upto` already; what is younger waits on.
    pub async fn forget_upto(&self, target: &Target, upto: Timestamp) {
        self.give_up(target, &|post| post.at <= upto).await;
    }

    async fn give_up(&self, target: &Target, is_given_up: &(dyn Fn(&Post) -> bool + Sync)) {
        let emptied = {
            let mut state = self.state();
            for urgent in [true, false] {
                let parts = state.lane(urgent).forget(target, is_given_up);
                state.delivered(&self.network, parts);
            }
            state.is_empty()
        };
        self.record().await;
        if emptied {
            self.emptied.notify_waiters();
        }
    }

    /// Waits until nothing is owed, e.g. before herder ends.
    pub async fn drained(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock panics half way through a change that matters: a poisoned state is as good as another.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
