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
//! Memory: every post that is owed is held, but a channel's backlog in the normal lane is bounded by
//! [`BACKLOG_POSTS_MAX`]; beyond it the oldest posts shrink to their ids, as after an absence ([`super::backlog`]). The
//! urgent lane has no bound of its own: its posts are answers, which people ask for one by one on a network that is up, and
//! alerts, which are rare and must not be dropped.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::lane::{LaneQueue, Line};
use super::render::Renderer;
use super::{Lane, Post, Target};
use crate::core::id::{NetworkName, PostId};
use crate::journal::Confirmed;

/// The most posts that wait for one channel in the normal lane: some hours of a busy agent, a few megabytes at worst.
pub const BACKLOG_POSTS_MAX: usize = 1000;

/// Where deliveries are recorded: the journal, or a test's list.
pub trait Ledger: Send + Sync + 'static {
    /// Records `delivered`; durable when it resolves.
    fn record(
        &self,
        delivered: Vec<Confirmed>,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;
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
    ledger: Arc<dyn Ledger>,
    state: Mutex<State>,
    /// Something can be sent that could not be before.
    changed: Notify,
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
    next_key: u64,
    /// Delivered, but not yet recorded.
    unrecorded: Vec<Confirmed>,
}

impl State {
    fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.normal.is_empty()
    }

    fn lane(&mut self, urgent: bool) -> &mut LaneQueue {
        if urgent { &mut self.urgent } else { &mut self.normal }
    }

    fn delivered(&mut self, network: &NetworkName, parts: Vec<(PostId, Option<u32>)>) {
        for (post, lines) in parts {
            if lines.is_none() {
                self.ids.remove(&post);
            }
            self.unrecorded.push(Confirmed { network: network.clone(), post, lines });
        }
    }
}

impl NetworkQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(network: NetworkName, renderer: Renderer, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            network,
            renderer,
            ledger,
            state: Mutex::default(),
            changed: Notify::new(),
            emptied: Notify::new(),
            recording: tokio::sync::Mutex::new(()),
        }
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
        let mut state = self.state();
        if post.id != PostId(0) && !state.ids.insert(post.id) {
            return;
        }
        state.next_key += 1;
        let (key, urgent, target) = (state.next_key, post.lane == Lane::Urgent, post.to.clone());
        let waiting = state.lane(urgent).push(key, post);
        if !urgent && waiting > BACKLOG_POSTS_MAX {
            collapse(&mut state, &target);
        }
        drop(state);
        self.changed.notify_one();
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
            if let Some(window) = self.try_window(max_lines, room, joined) {
                return window;
            }
            self.record().await;
            self.changed.notified().await;
        }
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

    /// The network has these lines. They are recorded on disk when this returns; until then a kill sends them again.
    ///
    /// A journal that cannot be written is not the network's business: the failure is logged, the lines count as delivered
    /// for this run, and herder, which is about to end for that reason, may repeat them when it is back.
    pub async fn confirm(&self, window: Window) {
        let emptied = {
            let mut state = self.state();
            for line in &window.lines {
                let part = state.lane(line.urgent).confirm(line);
                state.delivered(&self.network, part);
            }
            state.is_empty()
        };
        self.record().await;
        if emptied {
            self.emptied.notify_waiters();
        }
    }

    /// Records what is delivered and not yet recorded. What is cut short stays for the next call.
    async fn record(&self) {
        let _one = self.recording.lock().await;
        let batch = self.state().unrecorded.clone();
        if batch.is_empty() {
            return;
        }
        let taken = batch.len();
        if let Err(reason) = self.ledger.record(batch).await {
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

    /// The link is up again after an absence: call it before the first window. Whatever was flying waits again, and long
    /// backlogs collapse to their last lines (see [`super::backlog`]).
    pub fn link_restored(&self) {
        let mut state = self.state();
        state.urgent.ground();
        state.normal.ground();
        for target in state.normal.targets() {
            collapse(&mut state, &target);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// A target is gone for good (a person who left, a channel that nobody needs any more): what is owed to it counts as
    /// delivered, on disk when this returns.
    pub async fn forget(&self, target: &Target) {
        let emptied = {
            let mut state = self.state();
            for urgent in [true, false] {
                let parts = state.lane(urgent).forget(target);
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

fn collapse(state: &mut State, target: &Target) {
    state.next_key += 1;
    let key = state.next_key;
    state.normal.collapse(target, key);
}
