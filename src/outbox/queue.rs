//! Pending posts of one network, in order, until the network has confirmed them.
//!
//! ```text
//!  journal ─ accept ─► push ─►  lane urgent:  #alerts ▸▸   #spark ▸        ┐ next_window      network task
//!  commands ─────────► push ─►  lane normal:  #spark ▸▸▸▸  #flint ▸▸  …    ┘ ────────► lines ────────────► server
//!                                  ▲                                            │
//!                                  └──────────── requeue ◄── link lost ─────────┤
//!                               gone ◄── journal.confirm ◄── confirm ◄── fence ─┘
//! ```
//!
//! A lane holds a queue per target, so that a target that is not joined does not block others, and targets take
//! turns, so that a chatty agent does not starve its neighbours. Within a lane a target's posts keep the order of the
//! pushes. The urgent lane goes first, except for one line of each window.
//!
//! A post is rendered at its turn and sent in as many windows as it needs. Each of its lines is waiting, in flight or
//! confirmed. [`NetworkQueue::requeue`] returns lines in flight to the waiting ones; a confirmed line is never sent
//! again in this run, nor after a restart once [`NetworkQueue::confirm`] has returned.
//!
//! Memory and disk: every pending post is held, but each target has at most [`BACKLOG_POSTS_MAX`] in the normal lane
//! and [`ANSWERS_MAX`] in the urgent one; beyond that the oldest posts are replaced by a line with their number, as
//! after an absence ([`super::backlog`]), here and in the journal. At most [`PERSONS_MAX`] people can wait for a
//! private answer. Alerts that require an action are never dropped: those beyond [`ALERTS_MAX`] stay in the journal
//! alone until there is room for them.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::backlog::{Away, BACKLOG_LINES, Keys};
use super::discord::Attachment;
use super::lane::{LaneQueue, Line, Owed};
use super::owed::{OwedNumbers, Published, Stored};
use super::render::Renderer;
use super::shelf::Shelf;
use super::{Body, Lane, Post, Target};
use crate::core::id::{NetworkName, PostId};
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::journal::{Confirmed, Settled};

pub use super::shelf::ALERTS_MAX;

/// The wait before another read of the journal after a failed one.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Maximum number of pending posts of one channel in the normal lane: some hours of a busy agent, a few megabytes at worst.
pub const BACKLOG_POSTS_MAX: usize = 1000;

/// Maximum number of pending answers for one channel or person.
pub const ANSWERS_MAX: usize = 100;

/// Maximum number of people with pending private answers: many times the users of a herder.
pub const PERSONS_MAX: usize = 500;

/// The result of a [`Ledger`]; the error is for the log.
pub type Noted<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// The recorder of deliveries: the journal, or a test's list.
pub trait Ledger: Send + Sync + 'static {
    /// Records `settled`; durable when it resolves.
    fn record(&self, settled: Vec<Settled>) -> Noted<'_>;

    /// Records `settled` with the next commit, or a moment later; [`Ledger::hurry`] ends the wait.
    fn record_soon(&self, settled: Vec<Settled>) -> Noted<'_> {
        self.record(settled)
    }

    /// Ends the wait of [`Ledger::record_soon`].
    fn hurry(&self) {}

    /// Returns the first `most` pending alerts of a network after the post `after`.
    fn alerts(&self, network: &NetworkName, after: PostId, most: usize) -> Noted<'_, Vec<Post>>;
}

/// Lines to send together, then to be confirmed or returned. A network that confirms lines one by one may split a
/// window into confirmed and requeued lines.
#[derive(Debug, Default, PartialEq)]
pub struct Window {
    /// The lines in the order of sending.
    pub lines: Vec<Line>,
}

/// The pending posts of one network.
pub struct NetworkQueue {
    network: NetworkName,
    renderer: Renderer,
    /// Number of lines of one channel beyond which its backlog is collapsed.
    backlog: u32,
    ledger: Arc<dyn Ledger>,
    state: Mutex<State>,
    published: Published,
    /// Signals that something can be sent that could not be before.
    changed: Notify,
    /// Signals that a post was pushed.
    pushed: Notify,
    /// Signals changes to record that no delivery waits for.
    unsettled: Notify,
    /// Signals that nothing is pending any more.
    emptied: Notify,
    /// Held while recording, so that changes of a failed or cancelled attempt are recorded before later ones.
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
    /// Ids of the stored posts in memory, so that one that comes twice (at a start) is added once.
    ids: Stored,
    /// Alerts that are in the journal alone.
    shelf: Shelf,
    next_key: u64,
    /// Delivered or left out, but not recorded yet.
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
                self.ids.remove(post);
            }
            self.unrecorded.push(Settled::Delivered(Confirmed { network: network.clone(), post, lines }));
        }
    }

    fn put_away(&mut self, away: Away) {
        for settled in &away {
            if let Settled::Collapsed(collapsed) = settled {
                collapsed.left_out.iter().for_each(|id| {
                    self.ids.remove(*id);
                });
            }
        }
        self.unrecorded.extend(away);
    }

    /// Returns new keys for lines that replace others.
    fn keys(&mut self) -> Keys {
        self.next_key += 3;
        [self.next_key - 2, self.next_key - 1, self.next_key]
    }
}

/// The state while it is looked at or changed; let go, its numbers are published.
struct Held<'a> {
    state: MutexGuard<'a, State>,
    published: &'a Published,
}

impl Deref for Held<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.published.publish(&self.state.ids, self.state.shelf.len());
    }
}

impl NetworkQueue {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(network: NetworkName, renderer: Renderer, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            network,
            renderer,
            backlog: BACKLOG_LINES,
            ledger,
            state: Mutex::default(),
            published: Published::default(),
            changed: Notify::new(),
            pushed: Notify::new(),
            unsettled: Notify::new(),
            emptied: Notify::new(),
            recording: tokio::sync::Mutex::new(()),
        }
    }

    /// Sets the number of lines of one channel beyond which its backlog is collapsed.
    #[must_use]
    pub fn with_backlog(self, backlog: u32) -> Self {
        Self { backlog, ..self }
    }

    /// Returns the network that it is for.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        &self.network
    }

    /// Number of pending posts.
    #[must_use]
    pub fn len(&self) -> usize {
        let state = self.state();
        state.urgent.len() + state.normal.len() + state.shelf.len()
    }

    /// Number of pending posts in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        let state = self.state();
        state.urgent.len() + state.normal.len()
    }

    /// Returns the numbers of stored posts that are pending. Takes no lock.
    #[must_use]
    pub fn owed(&self) -> OwedNumbers {
        self.published.read()
    }

    /// True if nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state().is_empty()
    }

    /// Adds a post at the end of its target's queue. Never waits, because the journal's writer calls it. A stored
    /// post that is already here is ignored; one with id 0 is not stored and is lost with this process.
    pub fn push(&self, post: Post) {
        self.take_in(post, None);
    }

    /// Adds a post like [`NetworkQueue::push`]. The future resolves when the post is not pending any more: delivered
    /// or dropped.
    pub fn push_until_gone(&self, post: Post) -> impl Future<Output = ()> + Send + use<> {
        let (owed, gone) = oneshot::channel();
        self.take_in(post, Some(owed));
        async move {
            // No value is ever sent; the channel closes with the post.
            let _ = gone.await;
        }
    }

    fn take_in(&self, post: Post, owed: Option<Owed>) {
        let mut state = self.state();
        if post.id != PostId(0) {
            if state.ids.contains(post.id) {
                return;
            }
            let held = state.urgent.waiting(&Target::Alerts);
            if post.lane == Lane::Urgent && post.to == Target::Alerts && state.shelf.takes(post.id, held) {
                return;
            }
            state.ids.insert(post.id, post.lane == Lane::Urgent, post.at);
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

    /// Records collapses of long backlogs as they happen, until dropped: a network that is away sends nothing that
    /// would record them.
    pub async fn keep_settled(&self) {
        loop {
            self.settle().await;
            self.unsettled.notified().await;
        }
    }

    /// Records deliveries and collapses that are not recorded yet.
    pub async fn settle(&self) {
        self.record().await;
    }

    /// Waits for the next lines to send, at most `max_lines`. Cancel-safe.
    ///
    /// `room` returns the bytes of text that fit into one line for a target, `joined` whether the target can be sent
    /// to now. Call again after either changed, because the queue does not notice.
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
                // A failed read is repeated, with or without a change.
                let _ = tokio::time::timeout(READ_AGAIN, changed).await;
            }
        }
    }

    /// Loads alerts from the journal when there is room for them, and shortens those that waited since the link was
    /// away. Returns false if they could not be read.
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
            if !state.ids.insert(post.id, true, post.at) {
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

    /// Like [`NetworkQueue::next_window`] without waiting: `None` if nothing can be sent now.
    pub fn try_window(
        &self,
        max_lines: usize,
        room: &dyn Fn(&Target) -> usize,
        joined: &dyn Fn(&Target) -> bool,
    ) -> Option<Window> {
        let mut state = self.state();
        let mut window = Window::default();
        // People can ask for answers without end: one line of a window is reserved for other posts.
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
            // An empty post counts as delivered; that is recorded with the next confirmation or wait.
            state.delivered(&self.network, silent);
        }
        let emptied = state.is_empty();
        drop(state);
        if emptied {
            self.emptied.notify_waiters();
        }
        (!window.lines.is_empty()).then_some(window)
    }

    /// Returns the file attached to a line, if there is one.
    #[must_use]
    pub fn attachment(&self, line: &Line) -> Option<Attachment> {
        (line.index == 0).then(|| self.renderer.attachment(&line.source)).flatten()
    }

    /// Confirms that the network has these lines. They are recorded on disk when this returns; until then a crash
    /// sends them again. If nothing else is pending, they are recorded with the commit of the next post, or soon, so
    /// that the next post waits for one commit, not for two.
    ///
    /// If the journal cannot be written, the failure is logged and the lines count as delivered for this run; herder,
    /// which ends for that reason, may repeat them after its restart.
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
            // There may be room for alerts that are on disk only.
            self.changed.notify_one();
        }
    }

    /// Records deliveries that are not recorded yet. After a cancellation the next call records them.
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

    /// Returns lines that did not arrive, or may not have: they wait again, before everything later.
    pub fn requeue(&self, window: Window) {
        let mut state = self.state();
        for line in &window.lines {
            state.lane(line.urgent).requeue(line);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Returns all lines in flight, because their sender is gone.
    pub fn grounded(&self) {
        let mut state = self.state();
        state.urgent.ground();
        state.normal.ground();
        drop(state);
        self.changed.notify_one();
    }

    /// Handles the return of the link after an absence; call it before the first window. Lines in flight wait again,
    /// and long backlogs are collapsed (see [`super::backlog`]).
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

    /// Drops the pending posts of a target that is gone for good (a person who left, a channel that is not needed any
    /// more): they count as delivered, on disk when this returns.
    pub async fn forget(&self, target: &Target) {
        self.give_up(target, &|_| true).await;
    }

    /// Drops the pending posts of a target up to the time `upto`; later ones stay.
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

    /// Waits until nothing is pending, e.g. before herder ends.
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

    fn state(&self) -> Held<'_> {
        // No panic under this lock leaves an invalid state, so that poisoning can be ignored.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Held { state, published: &self.published }
    }
}
