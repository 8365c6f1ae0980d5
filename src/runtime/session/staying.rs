//! A process that stays after its session, for the next one of the same conversation: an agent that takes seconds to start is
//! there at once.
//!
//! While it stays no clock runs and nothing that it says is heard. It goes when its supervisor says so, or is gone.

use super::{Ends, Session, Stage, exited, fill};
use crate::core::input::Signal;
use crate::runtime::clocks::Vitals;
use crate::runtime::observing::Observer;
use crate::runtime::outgoing::Outgoing;
use crate::runtime::text::Tail;
use crate::runtime::{Again, Launch};

/// End of the time in which a process stayed.
pub(super) enum Stayed {
    /// It has another session.
    Again,
    /// Another session is to begin, and the process is gone.
    Fresh,
    /// No other session came: the process is gone.
    Over,
}

impl Session {
    /// Whether its process is kept once the turn is over.
    pub(super) fn may_stay(&self) -> bool {
        let wanted = !self.launch.spec.keep_warm.is_zero() && self.heard && self.listening;
        let alive = self.child.is_some() && self.stdin.is_open() && self.cause.is_none();
        wanted && alive && self.protocol.stays()
    }

    /// Ends the session, and waits for the next.
    pub(super) async fn stay(&mut self) -> Stayed {
        self.staying = false;
        self.finish(self.tree.root).await;
        loop {
            let Self { ends: Ends { again, .. }, child, stdout, stderr, .. } = self;
            tokio::select! {
                again = again.recv() => return match again {
                    Some(again) => self.begin_again(again).await,
                    None => self.let_go().await,
                },
                // Output between two sessions is dropped.
                more = fill(stdout), if stdout.is_some() => {
                    while stdout.as_mut().is_some_and(|stdout| stdout.next_line().is_some()) {}
                    if !matches!(more, Ok(true)) {
                        *stdout = None;
                    }
                }
                more = fill(stderr), if stderr.is_some() => {
                    while stderr.as_mut().is_some_and(|stderr| stderr.next_line().is_some()) {}
                    if !matches!(more, Ok(true)) {
                        *stderr = None;
                    }
                }
                _ = exited(child), if child.is_some() => self.child = None,
            }
        }
    }

    /// The next session of the process, or of another one if this one is gone.
    async fn begin_again(&mut self, again: Again) -> Stayed {
        let Again { launch, orders, reports, live } = again;
        let lives = self.child.is_some() && self.stdout.is_some() && self.stdin.is_open();
        if !lives {
            // Nothing starts beside what is left of it.
            self.end_all().await;
        }
        (self.ends.orders, self.ends.reports, self.ends.live) = (orders, reports, live);
        if !lives {
            self.launch = launch;
            return Stayed::Fresh;
        }
        self.takes_up(launch);
        Stayed::Again
    }

    /// Nothing of the session before is this one's.
    fn takes_up(&mut self, launch: Launch) {
        let now = self.now();
        self.clocks = launch.clocks;
        self.clocks.task = launch.spec.max_task_duration.unwrap_or(self.clocks.task);
        (self.listening, self.heard, self.warm) = (true, true, true);
        self.stage = Stage::Held;
        (self.stalled, self.exit, self.told_to_leave) = (None, None, false);
        (self.began, self.given, self.next_beat) = (now, now, now + self.clocks.beat);
        (self.vitals, self.sampling, self.sampled, self.looked) = (Vitals::default(), None, None, None);
        self.tail = Tail::default();
        self.outgoing = Outgoing::new(launch.redactor.clone());
        self.observer = Observer::new(launch.redactor.clone());
        (self.last_words, self.malformed, self.waits) = (None, 0, false);
        self.asked.clear();
        (self.held, self.held_since) = (std::time::Duration::ZERO, None);
        if let Some(root) = self.tree.root {
            self.outgoing.signal(Signal::Spawned { pid: root.pid, started: root.started });
        }
        self.launch = launch;
    }

    /// Gives the process its work.
    pub(super) fn go_on(&mut self) {
        let mut happened = Vec::new();
        self.vitals.ready();
        self.protocol.again(&self.launch, &mut happened);
        happened.into_iter().for_each(|happening| self.on_happening(happening));
    }

    /// Ends the process, which stays no longer.
    async fn let_go(&mut self) -> Stayed {
        let left = self.end_all().await;
        if let Some(over) = self.ends.over.take() {
            // The receiver may be gone.
            drop(over.send(left));
        }
        Stayed::Over
    }

    async fn end_all(&mut self) -> Vec<u32> {
        self.stdin.drop_now();
        let gone = self.trees.end_counted(&self.tree, self.clocks.grace).await;
        if self.child.is_some() && gone.survivors.is_empty() {
            // It is gone: this only takes note of it.
            drop(exited(&mut self.child).await);
            self.child = None;
        }
        gone.survivors
    }
}
