//! A process that stays after its session, for the next one of the same conversation: an agent that takes seconds to
//! start is there at once.
//!
//! While the process stays, no time limit runs and its output is dropped. It is ended when the supervisor wants it to
//! be, or is gone. A session that it does not fit, because its program or environment would be another one now, gets a
//! process of its own.

use std::time::Duration;

use tokio::sync::mpsc;

use super::{Ends, Session, Stage, exited, fill};
use crate::core::detector::Rounds;
use crate::core::input::Signal;
use crate::core::outcome::{Category, Outcome};
use crate::runtime::clocks::Vitals;
use crate::runtime::inbox;
use crate::runtime::lines::{Line, Lines};
use crate::runtime::observing::Observer;
use crate::runtime::outgoing::Outgoing;
use crate::runtime::process::spawn;
use crate::runtime::protocol::prepare;
use crate::runtime::text::Tail;
use crate::runtime::warm::Next;
use crate::runtime::{Launch, Local, Report};

/// Maximum time to read what a session's process would be started with. If it takes longer, a process is started, whose
/// start says why.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// The end of the time in which a process stays.
pub(super) enum Stayed {
    /// The process has another session.
    Given,
    /// Another session is to begin, and the process is gone: it did not fit.
    Other,
    /// No other session came, and the process is gone.
    Over,
}

impl Session {
    /// Returns true if the process is kept now that the turn is over.
    pub(super) fn may_stay(&self) -> bool {
        let wanted = !self.launch.spec.keep_warm.is_zero() && !self.ends.again.is_closed();
        let attended = self.heard && self.listening;
        let alive = self.child.is_some() && self.stdin.is_open() && self.cause.is_none();
        wanted && attended && alive && self.protocol.stays()
    }

    /// Ends the session, and waits for the next one.
    pub(super) async fn stay(&mut self) -> Stayed {
        self.staying = false;
        self.finish(self.tree.root).await;
        self.ends.held = None;
        self.ends.live.send_modify(|live| live.memory = None);
        // False once the process waits for an answer, which a session that is over does not give.
        let mut free = true;
        loop {
            let Self { ends: Ends { again, .. }, child, stdout, stderr, protocol, .. } = self;
            tokio::select! {
                next = again.recv() => {
                    self.ends.held = Some(self.trees.running().hold());
                    return match next {
                        Some(next) => self.begin_again(next, free).await,
                        None => self.let_go().await,
                    };
                }
                more = fill(stdout), if stdout.is_some() => {
                    while let Some(line) = stdout.as_mut().and_then(Lines::next_line) {
                        free &= matches!(line, Line::Whole(line) if protocol.between(line));
                    }
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

    /// Gives the process its next session, or ends it if it does not fit.
    async fn begin_again(&mut self, next: Next, free: bool) -> Stayed {
        let Next { mut launch, mut local, orders, reports, live } = next;
        (self.ends.orders, self.ends.reports, self.ends.live) = (orders, reports, live);
        self.ends.kept.send_replace(None);
        let lives = self.child.is_some() && self.stdout.is_some() && self.stdin.is_open();
        let limits = |launch: &Launch| (launch.spec.share, launch.together, launch.limits);
        let same = self.launch.spec.runs_as(&launch.spec) && limits(&self.launch) == limits(&launch);
        let mut fits = lives && free && !launch.look && same;
        if fits {
            (fits, launch, local) = self.fits(launch, local).await;
        }
        if !fits {
            // Nothing starts beside it, or beside what is left of it.
            let survivors = self.end_all().await;
            if !survivors.is_empty() {
                let outcome = Box::new(Outcome::new(Category::Interrupted, ""));
                self.outgoing = Outgoing::new(local.redactor.clone());
                self.outgoing.signal(Signal::Ended { outcome, survivors });
                self.heard = true;
                self.send_all().await;
                return Stayed::Over;
            }
            self.began = self.now();
            (self.launch, self.local) = (launch, local);
            return Stayed::Other;
        }
        let files = std::mem::take(&mut launch.files);
        let bring =
            inbox::bring((&launch.agent, &launch.spec.workspace), &files, &local, self.trees.running());
        let brought = with_signs_of_life(&self.ends.reports, launch.clocks.beat, bring).await;
        launch.prompt = brought.with(&launch.prompt);
        local.pictures = brought.pictures;
        self.takes_up(launch, local);
        Stayed::Given
    }

    /// Returns true if the session's process would be started as this one was: the same program, arguments and
    /// environment, with what files and herder's own environment hold now.
    async fn fits(&mut self, mut launch: Launch, local: Local) -> (bool, Launch, Local) {
        let marker = std::mem::replace(&mut launch.marker, self.tree.marker.clone());
        let given = (launch.clone(), local.clone());
        let read = spawn::aside(&self.trees, READ_WITHIN, move || {
            given.0.spec.workspace.is_dir().then(|| prepare(&given.0, &given.1).ok()).flatten()
        });
        let read = with_signs_of_life(&self.ends.reports, launch.clocks.beat, read).await;
        let fits = read.flatten().is_some_and(|(invocation, _)| invocation.digest() == self.invoked);
        if !fits {
            launch.marker = marker;
        }
        (fits, launch, local)
    }

    /// Takes the parameters of another session; nothing of the session before is its own.
    fn takes_up(&mut self, launch: Launch, local: Local) {
        let now = self.now();
        self.clocks = launch.clocks;
        self.clocks.task = launch.spec.max_task_duration.unwrap_or(self.clocks.task);
        (self.listening, self.heard, self.warm) = (true, true, true);
        self.stage = Stage::Held;
        (self.cause, self.stalled, self.exit, self.told_to_leave) = (None, None, None, false);
        (self.began, self.given, self.next_beat) = (now, now, now + self.clocks.beat);
        (self.vitals, self.sampling, self.sampled, self.looked) = (Vitals::default(), None, None, None);
        self.tail = Tail::default();
        self.outgoing = Outgoing::new(local.redactor.clone());
        self.observer = Observer::new(local.redactor.clone());
        self.rounds = Rounds::default();
        (self.last_words, self.malformed, self.waits) = (None, 0, false);
        (self.biggest, self.exhausted, self.weighing, self.peak) = (None, None, None, 0);
        self.next_weighing = now;
        self.asked.clear();
        self.bringing.clear();
        (self.held, self.held_since) = (Duration::ZERO, None);
        if let Some(root) = self.tree.root {
            self.outgoing.signal(Signal::Spawned { pid: root.pid, started: root.started });
        }
        (self.launch, self.local) = (launch, local);
    }

    /// Gives the process its work.
    pub(super) fn go_on(&mut self) {
        let mut happened = Vec::new();
        self.vitals.ready();
        self.protocol.show(std::mem::take(&mut self.local.pictures));
        self.protocol.again(&self.launch, &mut happened);
        happened.into_iter().for_each(|happening| self.on_happening(happening));
    }

    /// Ends the process, which is to stay no longer.
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
        let ended = self.trees.end_counted(&self.tree, self.clocks.grace);
        let gone = with_signs_of_life(&self.ends.reports, self.clocks.beat, ended).await;
        if self.child.is_some() && gone.survivors.is_empty() {
            // The process is gone; this only reaps it.
            drop(exited(&mut self.child).await);
            self.child = None;
        }
        gone.survivors
    }
}

/// Waits for `work`, and sends heartbeats meanwhile.
async fn with_signs_of_life<F: Future>(reports: &mpsc::Sender<Report>, beat: Duration, work: F) -> F::Output {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            // A full channel contains other reports, which prove life as well.
            () = tokio::time::sleep(beat) => drop(reports.try_send(Report::Beat)),
        }
    }
}
