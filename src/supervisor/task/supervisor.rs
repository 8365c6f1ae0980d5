//! The loop of one supervisor: its sources of events, and their handling.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::checkouts::{Acting, Beside};
use super::following::Following;
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
use crate::supervisor::adopting::Decided;
use crate::supervisor::board::Stand;
use crate::supervisor::session::{Heard, Session, Staying};
use crate::supervisor::{Shared, View};

/// Maximum number of commands that are decided together: enough for a burst, few enough that the first one does not
/// wait for the last.
const BATCH_MAX: usize = 64;

/// Value that a panic was raised with.
type Panic = Box<dyn std::any::Any + Send>;

/// The event that woke the supervisor's loop.
enum Woken {
    Request(Box<Request>),
    Note(Note),
    Report(Report),
    /// The driver went away without reporting the end of its session.
    DriverGone,
    /// The driver has been silent for this long.
    Silent(Duration),
    /// A session that was told to stop did not end in time.
    Overdue,
    /// All senders to the supervisor are gone.
    Closed,
}

/// The supervisor of one agent: it alone decides the agent's inputs and holds its state.
pub(super) struct Supervisor<'a> {
    pub(super) name: &'a AgentName,
    pub(super) shared: &'a Arc<Shared>,
    /// The configured limits, taken once for everything that is decided together.
    pub(super) policy: Arc<Policy>,
    pub(super) agent: Arc<Agent>,
    pub(super) rev: u64,
    /// The running session, if there is one. Boxed, because most agents are idle.
    pub(super) session: &'a mut Option<Box<Session>>,
    pub(super) view: &'a watch::Sender<View>,
    /// An unused number for the next round of a loop or the next question, drawn only when one may be needed, since
    /// people see gaps.
    pub(super) fresh: Option<WorkId>,
    /// The process that stays for the next session, if one does.
    pub(super) staying: &'a mut Option<Box<Staying>>,
    /// The running evaluation, with the guard that ends it. It ends with this supervisor as well, as the next one
    /// starts it again.
    pub(super) evaluation: Option<Box<(u32, DropGuard)>>,
    /// The running request to split a task, with the guard that ends it when this supervisor ends.
    pub(super) split: Option<Box<(u32, DropGuard)>>,
    /// The running check. It ends with this supervisor as well, as the next one starts it again.
    pub(super) checking: Option<Box<Beside>>,
    /// The running merge, likewise.
    pub(super) merging: Option<Box<Beside>>,
    /// The open pull requests that are looked at, likewise.
    pub(super) following: Option<Box<Following>>,
    /// Progress of the supervisor's start.
    pub(super) risen: Risen,
    /// The background writer of `context.md`.
    pub(super) keeping: Keeping,
    /// The last act on a clone of a task.
    pub(super) acting: Acting,
    /// The part of the agent's state that the board was last told of.
    pub(super) stand: Stand,
    /// Difference between wall clock and monotonic clock at the last check, on which the agent's recorded times are
    /// based.
    pub(super) offset: Offset,
}

/// Progress of a supervisor's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Risen {
    /// The supervisor decides requests that come ahead of everything. They must not start a session: the `Started`
    /// input that follows would take it for one of an earlier herder.
    Ahead,
    /// The supervisor decides inputs.
    Up,
    /// A session of this supervisor has inspected the workspace as well.
    Looked,
}

impl Supervisor<'_> {
    /// Decides the requests in `ahead`, then the inputs in `first`, then all that arrive, until the agent is retired
    /// or herder goes down.
    pub(super) async fn run(
        &mut self,
        mailbox: &mut Mailbox,
        ahead: Option<Box<Ahead>>,
        first: Vec<Input>,
    ) -> End {
        let mut pending = Pending::default();
        // herder may have been killed before it was written.
        if let Some(context) = core::context::context(&self.agent) {
            self.keep(Some(context));
        }
        for request in ahead.into_iter().flat_map(|ahead| ahead.0) {
            self.request(request, &mut pending);
        }
        self.risen = Risen::Up;
        for input in first {
            let adopted = matches!(input, Input::Adopted { .. });
            self.take(input, &mut pending);
            if adopted {
                pending.effects.extend(core::owed(&self.agent));
            }
        }
        loop {
            // Boxed, as is what follows, so that an agent that rests reserves no room for its largest operation.
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
            // Requests that have arrived meanwhile share the commit.
            for _ in 1..BATCH_MAX {
                let Ok(request) = mailbox.requests.try_recv() else { break };
                if let Err(panic) = self.attempt(*request, &mut pending) {
                    return Box::pin(self.fall(panic, pending)).await;
                }
            }
        }
    }

    /// Decides a request of a batch so that a panic does not take the others along. After an error nothing of the
    /// request is pending, because a decision panics before it is absorbed.
    fn attempt(&mut self, request: Request, pending: &mut Pending) -> Result<(), Panic> {
        std::panic::catch_unwind(AssertUnwindSafe(|| self.request(request, pending)))
    }

    /// Commits the decisions made before a panic, so that none has to be repeated; then the panic continues.
    async fn fall(&mut self, panic: Panic, mut pending: Pending) -> End {
        // A session started now could not be told from the one that starts in its place.
        pending.effects.retain(|effect| !matches!(effect, Effect::Spawn { .. }));
        match self.settle(&mut pending).await {
            Ok(false) => std::panic::resume_unwind(panic),
            Ok(true) => End::Retired,
            Err(reason) => End::Storage(reason),
        }
    }

    /// Waits for the next event of mailbox or session; people's commands come first.
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

    /// Ends the session because herder goes down. If its work succeeded meanwhile, or a stop was requested, the end is
    /// recorded. Otherwise it is not, and the next start continues as after a kill.
    async fn drain(&mut self, pending: &mut Pending) -> End {
        if let Some(staying) = self.staying.take() {
            staying.end(self.shared).await;
        }
        let Some(session) = self.session.take() else { return End::Drained };
        if session.place().is_remote() {
            // It goes on: its orders are dropped after the connection was closed.
            return self.last_commit(pending).await;
        }
        let id = session.id();
        let stopping = matches!(self.agent.phase, Phase::Stopping { .. });
        let mut last_words = Vec::new();
        session.end(self.shared, |report| last_words.push(report)).await;
        for report in last_words {
            match report {
                Report::Words(text) => {
                    let at = pending.at();
                    pending.posts.extend(self.shared.posting.words(
                        self.name,
                        self.agent.current.as_ref(),
                        text,
                        at,
                    ));
                }
                Report::Signal(Signal::Ended { outcome, survivors })
                    if stopping || outcome.category == Category::Success =>
                {
                    self.take(Input::EndedAtShutdown { session: id, outcome, survivors }, pending);
                }
                // Usage is recorded, whatever the session's end.
                Report::Signal(signal @ Signal::Usage { .. }) => {
                    self.take(Input::Driver { session: id, signal }, pending);
                }
                Report::Beat | Report::Signal(_) | Report::NotTaken { .. } => {}
            }
        }
        self.last_commit(pending).await
    }

    /// Commits the pending decisions without their effects, because herder goes down.
    async fn last_commit(&mut self, pending: &mut Pending) -> End {
        let mut pending = std::mem::take(pending);
        let at = pending.at();
        match self.commit(at, &mut pending).await {
            Ok(()) => End::Drained,
            Err(reason) => End::Storage(reason),
        }
    }

    /// Ends the session's process tree from here, because the driver cannot be relied on, and lets the core decide what
    /// follows.
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
        if session.place().is_remote() {
            let (of, up_to) = session.taken();
            let over = matches!(report, Report::Signal(Signal::Ended { .. }));
            let runner = session.place().runner().cloned();
            pending.decided = Some(Box::new(Decided { runner, of, up_to, over, answers: Vec::new() }));
        }
        match report {
            Report::Beat => {}
            Report::Words(text) => {
                let at = pending.at();
                pending.posts.extend(self.shared.posting.words(
                    self.name,
                    self.agent.current.as_ref(),
                    text,
                    at,
                ));
            }
            Report::Signal(signal) => {
                let over = matches!(signal, Signal::Ended { .. });
                let observed = matches!(signal, Signal::Observed { .. });
                if over {
                    if let Some(process) = session.kept() {
                        self.take(Input::Kept { session: id, process }, pending);
                    }
                    let conversation = self.agent.conversation.clone();
                    let stays = self.session.take().and_then(|session| session.stays(conversation));
                    *self.staying = stays.map(Box::new);
                }
                self.take(Input::Driver { session: id, signal }, pending);
                if observed {
                    self.insist(id).await;
                }
            }
            Report::NotTaken { work } => self.not_taken(id, work),
        }
        // Decisions that are not on disk yet are published by `settle`.
        if pending.events.is_empty() {
            self.publish();
        }
    }
}
