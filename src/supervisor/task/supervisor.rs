//! The loop of one supervisor: what it waits for, and what it makes of each thing that happens.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::keeping::Keeping;
use super::pending::Pending;
use super::{Ahead, End, Mailbox, Note, Request};
use crate::clock::Offset;
use crate::core;
use crate::core::agent::{Agent, Phase};
use crate::core::detail::Own;
use crate::core::effect::Effect;
use crate::core::id::{AgentName, WorkId};
use crate::core::input::{Input, Signal};
use crate::core::outcome::{Category, Outcome};
use crate::core::policy::Policy;
use crate::runtime::Report;
use crate::supervisor::board::Stand;
use crate::supervisor::session::{Heard, Session};
use crate::supervisor::{Shared, View};

/// Inputs decided together: enough for a burst, few enough that the first of them does not wait for the last.
const BATCH_MAX: usize = 64;

/// What a panic carries.
type Panic = Box<dyn std::any::Any + Send>;

/// What woke the loop.
enum Woken {
    Request(Box<Request>),
    Note(Note),
    Report(Report),
    /// The driver went away without saying how its session ended.
    DriverGone,
    /// The driver has been silent for so long.
    Silent(Duration),
    /// A stopped session did not end in time.
    Overdue,
    /// Everybody who could ask is gone.
    Closed,
}

/// One agent with everything that belongs to it.
pub(super) struct Supervisor<'a> {
    pub(super) name: &'a AgentName,
    pub(super) shared: &'a Arc<Shared>,
    /// The limits, taken once for everything that is decided together.
    pub(super) policy: Arc<Policy>,
    pub(super) agent: Arc<Agent>,
    pub(super) rev: u64,
    /// Boxed, because most agents rest.
    pub(super) session: &'a mut Option<Box<Session>>,
    pub(super) view: &'a watch::Sender<View>,
    /// A number for the next round of a loop or question, drawn when one may be needed: people count by these.
    pub(super) fresh: Option<WorkId>,
    /// The evaluation that runs, and what ends it: with this supervisor, too, for the next one begins it again.
    pub(super) evaluation: Option<Box<(u32, DropGuard)>>,
    /// Whoever is asked to split a task, and what ends that, in the same way.
    pub(super) split: Option<Box<(u32, DropGuard)>>,
    /// How far it has come up.
    pub(super) risen: Risen,
    /// What is written or taken away of `context.md`.
    pub(super) keeping: Keeping,
    /// What the board was told to go by last.
    pub(super) stand: Stand,
    /// How the wall clock stood when it was last looked at: what is on record of the agent goes by that.
    pub(super) offset: Offset,
}

/// How far a supervisor has come up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Risen {
    /// It decides what is asked ahead of everything. No session may begin from that: what tells next that herder has started
    /// would take it for one of an earlier herder.
    Ahead,
    /// It decides what comes.
    Up,
    /// It has looked at the workspace, too.
    Looked,
}

impl Supervisor<'_> {
    /// Decides what was asked `ahead`, then `first`, then what comes, until the agent is retired or herder goes
    /// down.
    pub(super) async fn run(
        &mut self,
        mailbox: &mut Mailbox,
        ahead: Option<Box<Ahead>>,
        first: Vec<Input>,
    ) -> End {
        let mut pending = Pending::default();
        // It may have been killed before it was written.
        if let Some(context) = core::context::context(&self.agent) {
            self.keep(Some(context));
        }
        for request in ahead.into_iter().flat_map(|ahead| ahead.0) {
            self.request(request, &mut pending);
        }
        self.risen = Risen::Up;
        for input in first {
            self.take(input, &mut pending);
        }
        loop {
            // Boxed, as is what follows: an agent that rests keeps no room for the largest thing it ever does.
            match Box::pin(self.settle(&mut pending)).await {
                Ok(false) => {}
                Ok(true) => return End::Retired,
                Err(reason) => return End::Storage(reason),
            }
            let woken = self.wait(mailbox).await;
            self.policy = self.shared.policy();
            if let Some(by) = self.offset.jumped() {
                self.take(Input::ClockSet { by }, &mut pending);
            }
            if let Some(end) = Box::pin(self.woken(woken, &mut pending)).await {
                return end;
            }
            // What has arrived meanwhile shares the commit.
            for _ in 1..BATCH_MAX {
                let Ok(request) = mailbox.requests.try_recv() else { break };
                if let Err(panic) = self.attempt(*request, &mut pending) {
                    return Box::pin(self.fall(panic, pending)).await;
                }
            }
        }
    }

    /// Decides a request beside others, which its panic must not take along. An error: nothing of it is pending, because a
    /// decision panics before it is absorbed.
    fn attempt(&mut self, request: Request, pending: &mut Pending) -> Result<(), Panic> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.request(request, pending)))
    }

    /// What was decided before a panic goes to disk, so that nothing of it has to be done again; then the panic goes on.
    async fn fall(&mut self, panic: Panic, mut pending: Pending) -> End {
        // What would begin now could not be told from what begins in its place.
        pending.effects.retain(|effect| !matches!(effect, Effect::Spawn { .. }));
        match self.settle(&mut pending).await {
            Ok(false) => std::panic::resume_unwind(panic),
            Ok(true) => End::Retired,
            Err(reason) => End::Storage(reason),
        }
    }

    /// Waits for the next thing to happen; people first.
    async fn wait(&mut self, mailbox: &mut Mailbox) -> Woken {
        let timeout = self.policy.heartbeat_timeout;
        let session = async {
            match self.session.as_mut() {
                Some(session) => session.next(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            request = mailbox.requests.recv() => request.map_or(Woken::Closed, Woken::Request),
            note = mailbox.notes.recv() => note.map_or(Woken::Closed, Woken::Note),
            heard = session => match heard {
                Heard::Report(report) => Woken::Report(report),
                Heard::Gone => Woken::DriverGone,
                Heard::Silent(silent) => Woken::Silent(silent),
                Heard::Overdue => Woken::Overdue,
            },
        }
    }

    async fn woken(&mut self, woken: Woken, pending: &mut Pending) -> Option<End> {
        match woken {
            Woken::Request(request) => self.request(*request, pending),
            Woken::Note(Note::Input(input)) => self.take(*input, pending),
            Woken::Note(Note::Tools(told)) => self.tools(*told, pending).await,
            Woken::Note(Note::Question(question)) => self.question(*question, pending),
            Woken::Note(Note::Drain) | Woken::Closed => {
                return Some(self.drain(pending).await);
            }
            Woken::Report(report) => self.report(report, pending).await,
            Woken::DriverGone => {
                let outcome = Outcome::new(Category::Crash, Own::DriverGone);
                self.force_end(outcome, pending).await;
            }
            Woken::Silent(silent) => {
                if let Some(session) = self.agent.session() {
                    self.take(Input::DriverSilent { session, silent }, pending);
                }
            }
            Woken::Overdue => {
                let outcome = Outcome::new(Category::Hung, Own::DriverOverdue);
                self.force_end(outcome, pending).await;
            }
        }
        None
    }

    /// Ends the session because herder goes down. What it finished meanwhile counts: it must not be done again. A stop that
    /// somebody wanted is over with it. How it was cut short otherwise is not recorded, and nothing new is started; the next
    /// start takes it up as after a kill.
    async fn drain(&mut self, pending: &mut Pending) -> End {
        let Some(session) = self.session.take() else { return End::Drained };
        let id = session.id();
        let stopping = matches!(self.agent.phase, Phase::Stopping { .. });
        let mut last_words = Vec::new();
        session.end(self.shared, |report| last_words.push(report)).await;
        for report in last_words {
            match report {
                Report::Words(text) => {
                    let at = pending.at();
                    pending.posts.extend(self.shared.posting.words(self.name, text, at));
                }
                Report::Signal(Signal::Ended { outcome, survivors })
                    if stopping || outcome.category == Category::Success =>
                {
                    self.take(Input::EndedAtShutdown { session: id, outcome, survivors }, pending);
                }
                // What was used is used, whatever becomes of the session.
                Report::Signal(signal @ Signal::Usage { .. }) => {
                    self.take(Input::Driver { session: id, signal }, pending);
                }
                Report::Beat | Report::Signal(_) | Report::NotTaken { .. } => {}
            }
        }
        let mut pending = std::mem::take(pending);
        let at = pending.at();
        match self.commit(at, pending.events, pending.audits, pending.posts, pending.memos).await {
            Ok(()) => End::Drained,
            Err(reason) => End::Storage(reason),
        }
    }

    /// Ends the process tree from here, because the driver cannot be relied on, and tells the core.
    async fn force_end(&mut self, outcome: Outcome, pending: &mut Pending) {
        let Some(session) = self.session.take() else { return };
        let id = session.id();
        let mut used = None;
        let last_words = |report| {
            if let Report::Signal(signal @ Signal::Usage { .. }) = report {
                used = Some(signal);
            }
        };
        let survivors = session.end(self.shared, last_words).await;
        if let Some(signal) = used {
            self.take(Input::Driver { session: id, signal }, pending);
        }
        let signal = Signal::Ended { outcome: Box::new(outcome), survivors };
        self.take(Input::Driver { session: id, signal }, pending);
    }

    async fn report(&mut self, report: Report, pending: &mut Pending) {
        let Some(session) = self.session.as_mut() else { return };
        let id = session.id();
        match report {
            Report::Beat => {}
            Report::Words(text) => {
                let at = pending.at();
                pending.posts.extend(self.shared.posting.words(self.name, text, at));
            }
            Report::Signal(signal) => {
                let over = matches!(signal, Signal::Ended { .. });
                let observed = matches!(signal, Signal::Observed { .. });
                if over {
                    *self.session = None;
                }
                self.take(Input::Driver { session: id, signal }, pending);
                if observed {
                    self.insist(id).await;
                }
            }
            Report::NotTaken { work } => self.not_taken(id, work),
        }
        // What is decided but not yet on disk is shown when it is: `settle` publishes it then.
        if pending.events.is_empty() {
            self.publish();
        }
    }
}
