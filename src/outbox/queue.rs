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
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot, watch};

use super::backlog::{Away, BACKLOG_LINES, Keys};
use super::discord::Attachment;
use super::lane::{LaneQueue, Line, Owed};
use super::owed::{OwedNumbers, Published, Stored};
use super::render::Renderer;
use super::shelf::Shelf;
use crate::core::id::{NetworkName, PostId};
use crate::core::notice::Notice;
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::time::Timestamp;
use crate::journal::{Confirmed, Settled};

pub use super::shelf::ALERTS_MAX;

/// Wait before alerts are read from the journal again after a failure.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Maximum number of pending posts of one channel in the normal lane: some hours of a busy agent, a few megabytes at worst.
pub const BACKLOG_POSTS_MAX: usize = 1000;

/// Maximum number of pending posts of one channel or person in the urgent lane; beyond it the oldest are replaced by a
/// line.
pub const ANSWERS_MAX: usize = 100;

/// Maximum number of people with pending private posts: many times the users of a herder.
pub const PERSONS_MAX: usize = 500;

/// The future that a method of [`Ledger`] returns; its error is a text for the log.
pub type Noted<'a, T = ()> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// Storage of deliveries: the journal, or a list in tests.
pub trait Ledger: Send + Sync + 'static {
    /// Records deliveries and shortenings; they are on disk when the future resolves.
    fn record(&self, settled: Vec<Settled>) -> Noted<'_>;

    /// Records deliveries and shortenings with the next commit, or after a short wait that [`Ledger::hurry`] ends.
    fn record_soon(&self, settled: Vec<Settled>) -> Noted<'_> {
        self.record(settled)
    }

    /// Ends the wait of [`Ledger::record_soon`], so that the changes are committed now.
    fn hurry(&self) {}

    /// Returns the first `most` pending alerts of a network that follow the post `after`.
    fn alerts(&self, network: &NetworkName, after: PostId, most: usize) -> Noted<'_, Vec<Post>>;
}

/// Lines to send together, then to be confirmed or returned. A network that confirms lines one by one may split a
/// window into confirmed and requeued lines.
#[derive(Debug, Default, PartialEq)]
pub struct Window {
    /// The lines of the window in the order of sending.
    pub lines: Vec<Line>,
}

/// The queue of pending posts of one network: two lanes, and in each one queue per target.
pub struct NetworkQueue {
    network: NetworkName,
    renderer: Renderer,
    /// Number of pending lines of one target beyond which its backlog is shortened.
    backlog: u32,
    ledger: Arc<dyn Ledger>,
    state: Mutex<State>,
    published: Published,
    /// Signals that a line may be ready to be sent that was not before.
    changed: Notify,
    /// Signals that a post was added.
    pushed: Notify,
    /// Signals that there are changes to record, such as shortenings, that no delivery records.
    unsettled: Notify,
    /// Signals that no post is pending any more.
    emptied: Notify,
    /// Lock that is held while changes are recorded, so that those of a failed or cancelled attempt are recorded before
    /// later ones.
    recording: tokio::sync::Mutex<()>,
    /// False while nothing may leave; without it, everything may.
    open: OnceLock<watch::Receiver<bool>>,
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
    /// Ids of the stored posts in memory, so that a post that arrives twice (at a start) is added once.
    ids: Stored,
    /// Pending alerts that are not in memory, but in the journal alone.
    shelf: Shelf,
    next_key: u64,
    /// Deliveries and shortenings that are not recorded in the journal yet.
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

    /// Returns new keys for the lines that replace others in a shortened backlog.
    fn keys(&mut self) -> Keys {
        self.next_key += 3;
        [self.next_key - 2, self.next_key - 1, self.next_key]
    }
}

/// The locked state of a queue; its counts are published when the lock is released.
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
    /// Creates an empty queue for a network, whose deliveries `ledger` records.
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
            open: OnceLock::new(),
        }
    }

    /// Lets posts leave only while `open` is true. Only the first call counts.
    pub fn leaves_while(&self, open: watch::Receiver<bool>) {
        // Another call would come from the same herder.
        let _ = self.open.set(open);
    }

    fn is_open(&self) -> bool {
        self.open.get().is_none_or(|open| *open.borrow())
    }

    /// Sets the number of pending lines of one target beyond which its backlog is shortened.
    #[must_use]
    pub fn with_backlog(self, backlog: u32) -> Self {
        Self { backlog, ..self }
    }

    /// Returns the network whose posts the queue holds.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        &self.network
    }

    /// Returns the number of pending posts, including alerts that are in the journal alone.
    #[must_use]
    pub fn len(&self) -> usize {
        let state = self.state();
        state.urgent.len() + state.normal.len() + state.shelf.len()
    }

    /// Returns the number of pending posts in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        let state = self.state();
        state.urgent.len() + state.normal.len()
    }

    /// Returns the counts of stored posts that are pending, without taking a lock.
    #[must_use]
    pub fn owed(&self) -> OwedNumbers {
        self.published.read()
    }

    /// Returns true if no post is pending.
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

    /// Records the shortening of backlogs when it happens, until dropped: a network that is away delivers nothing with
    /// which it would be recorded.
    pub async fn keep_settled(&self) {
        loop {
            self.settle().await;
            self.unsettled.notified().await;
        }
    }

    /// Records deliveries and shortenings that are not recorded yet.
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
            if let Some(open) = self.open.get() {
                // Closed for good, it says nothing any more.
                if open.clone().wait_for(|open| *open).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            let is_complete = self.refill().await;
            if let Some(window) = self.try_window(max_lines, room, joined) {
                return window;
            }
            if !self.is_open() {
                continue;
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

    /// Loads alerts from the journal if there is room for them in memory, and shortens those that piled up. Returns
    /// false if the journal could not be read.
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

    /// Returns the next lines to send as [`NetworkQueue::next_window`] does, without waiting; `None` if nothing can be
    /// sent now.
    pub fn try_window(
        &self,
        max_lines: usize,
        room: &dyn Fn(&Target) -> usize,
        joined: &dyn Fn(&Target) -> bool,
    ) -> Option<Window> {
        if !self.is_open() {
            return None;
        }
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

    /// Returns the file to attach to a line; `None` for most lines.
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

    /// Records the deliveries and shortenings that are not recorded yet. After a cancellation the next call records
    /// them.
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

    /// Returns lines that did not arrive, or may not have, to the queue: they are sent again, before all later ones.
    pub fn requeue(&self, window: Window) {
        let mut state = self.state();
        for line in &window.lines {
            state.lane(line.urgent).requeue(line);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Returns all lines that were given out and not confirmed to the queue, because the task that sent them is gone.
    pub fn grounded(&self) {
        let mut state = self.state();
        state.urgent.ground();
        state.normal.ground();
        drop(state);
        self.changed.notify_one();
    }

    /// Prepares the queue when the link is back after an absence; call it before the first window. Lines that were not
    /// confirmed are sent again, and long backlogs are shortened (see [`super::backlog`]).
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
    /// more). They count as delivered, which is on disk when this returns.
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

    /// Waits until no post is pending, e.g. before herder ends.
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
