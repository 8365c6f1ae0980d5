//! The supervisor of one agent: the only task that owns and writes that agent's state.
//!
//! ```text
//!  requests (people) ─┐            ┌─► journal.commit(events, audit, posts)   durable
//!  notes (root, timer)├─► decide ──┤        then
//!  reports (driver) ──┘   apply    └─► publish the view, answer tickets, perform effects
//! ```
//!
//! Inputs that are waiting already are decided together and committed as one batch; nothing is visible outside before
//! the batch is on disk. A panic is caught by [`supervise`], which ends the process tree, rebuilds the state from the
//! journal and tells the core. The mailbox outlives the panic, and decisions made before it are committed; only the
//! request at hand is lost, and its ticket reports that.

mod checkouts;
mod deciding;
mod following;
mod handing;
mod keeping;
mod pending;
mod questions;
mod settling;
mod splitting;
mod supervisor;
mod watching;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::{error, warn};

use super::board::Stand;
use super::restart::Rebuilds;
use super::session::{Session, Staying};
use super::turns::Leaving;
use super::whispers::FromTools;
use super::{Asked, Shared, ToRoot, View};
use crate::clock::Offset;
use crate::core::agent::{Agent, Phase};
use crate::core::ask::Inquiry;
use crate::core::detail::Own;
use crate::core::id::{AgentName, AskId, SessionId};
use crate::core::input::{Control, Input, Signal};
use crate::core::notice::{Notice, Refusal};
use crate::core::outcome::{Category, Outcome};
use crate::journal::{CommitError, Memo, Stream};
use crate::runtime::Live;
use crate::runtime::orphans::Remains;
use keeping::Keeping;
use supervisor::{Risen, Supervisor};

/// Capacity of a supervisor's queue for people's commands; a group of people cannot type more than this while one batch
/// is committed.
pub(super) const REQUESTS_CAPACITY: usize = 256;

/// Capacity of a supervisor's queue for ticks and messages about accounts: at most one tick and a few messages are
/// under way at once.
pub(super) const NOTES_CAPACITY: usize = 32;

/// A command on its way to a supervisor.
#[derive(Debug)]
pub(super) struct Request {
    /// The command itself.
    pub(super) control: Control,
    /// The command's author, and the destination of its reply.
    pub(super) asked: Asked,
    /// True if the command gets an audit record of its own (`stop-all` has one for all agents).
    pub(super) audited: bool,
    /// Memo to store in the same transaction, if the command is accepted.
    pub(super) noted: Option<Memo>,
    /// Receives the reply when the decision is on disk.
    pub(super) ticket: oneshot::Sender<Answer>,
}

/// Commands that a supervisor decides ahead of everything else. Boxed as a whole, as most have none.
#[derive(Debug)]
pub(super) struct Ahead(pub(super) Vec<Request>);

/// The reply to a command, or the refusal.
pub(super) type Answer = Result<Notice, Refusal>;

/// A message of another part of herder to a supervisor.
#[derive(Debug)]
pub(super) enum Note {
    /// An input for the core to decide.
    Input(Box<Input>),
    /// A message of the session's tool server.
    Tools(Box<FromTools>),
    /// A question that the agent asks people with a tool.
    Question(Box<Question>),
    /// herder goes down: end the process tree, and decide nothing more.
    Drain,
}

/// A question that the agent asks people with a tool.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) session: SessionId,
    /// Number of the tool call on a runner.
    pub(super) call: Option<u64>,
    pub(super) inquiry: Inquiry,
    /// Receives the question's number when the question is on disk.
    pub(super) ticket: oneshot::Sender<Result<AskId, Refusal>>,
}

/// The two queues into a supervisor: people's commands, which come first, and messages.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Commands of people. Boxed, as are the messages' contents, because a channel reserves room for a block of values
    /// and most supervisors are idle.
    pub(super) requests: mpsc::Receiver<Box<Request>>,
    pub(super) notes: mpsc::Receiver<Note>,
}

/// Reason why a supervisor's loop ended.
#[derive(Debug)]
enum End {
    /// The agent was removed, and its session has ended.
    Retired,
    /// herder shuts down.
    Drained,
    /// The journal cannot be written, for this reason.
    Storage(CommitError),
}

/// The part of a supervisor's start that differs between agents.
pub(super) struct Beginning {
    /// The processes that the agent's last session left.
    pub(super) remains: Remains,
    /// The requests to decide first.
    pub(super) ahead: Option<Box<Ahead>>,
    /// The open session, if it goes on in another process.
    pub(super) session: Option<Box<Session>>,
}

/// Runs the supervisor of `name` until it is retired or drained, rebuilding it when it panics.
pub(super) async fn supervise(
    name: AgentName,
    shared: Arc<Shared>,
    mut mailbox: Mailbox,
    loaded: (Arc<Agent>, u64),
    beginning: Box<Beginning>,
    view: watch::Sender<View>,
) {
    let _leaving = Leaving { agent: name.clone(), shared: Arc::clone(&shared) };
    let mut rebuilds = Rebuilds::default();
    // Survivors of its last session, until that is recorded: no session may start beside them, however often the
    // supervisor is rebuilt.
    let Beginning { remains, mut ahead, mut session } = *beginning;
    let mut left = Box::new((loaded.0.session(), remains.survivors.clone()));
    let mut first = match &session {
        Some(session) => vec![Input::Adopted { session: session.id() }],
        None => cut_short(&loaded.0, remains),
    };
    let mut state = Some(loaded);
    let mut staying = None;
    loop {
        let (agent, rev) = match state.take() {
            Some(state) => state,
            None => match Box::pin(reload(&name, &shared)).await {
                Ok(state) => {
                    // Its last commit may be neither published nor known to the root, which depends on what is
                    // published.
                    view.send_replace(first_view(&name, &state.0));
                    shared.journal.seen(&name, Some(state.1));
                    shared.tell_root(ToRoot::Rebuilt { agent: name.clone() });
                    state
                }
                Err(reason) => {
                    shared.tell_root(ToRoot::GaveUp { agent: name, reason });
                    return;
                }
            },
        };
        let mut supervisor = Supervisor {
            name: &name,
            shared: &shared,
            policy: shared.policy(),
            agent,
            rev,
            session: &mut session,
            staying: &mut staying,
            view: &view,
            fresh: None,
            evaluation: None,
            split: None,
            risen: Risen::Ahead,
            keeping: Keeping::default(),
            acting: None,
            checking: None,
            merging: None,
            following: None,
            stand: Stand::default(),
            offset: Offset::read(),
        };
        let run = AssertUnwindSafe(supervisor.run(&mut mailbox, ahead.take(), first)).catch_unwind().await;
        match run {
            Ok(End::Retired) => {
                shared.tell_root(ToRoot::Retired { agent: name });
                return;
            }
            Ok(End::Drained) => return,
            Ok(End::Storage(reason)) => {
                error!(agent = %name, %reason, "the supervisor stops: the journal cannot be written");
                Box::pin(end_session(&name, &shared, session)).await;
                Box::pin(end_staying(&shared, staying)).await;
                // A failure of the journal itself is reported to all; this one stops alone.
                if matches!(reason, CommitError::Conflict { .. } | CommitError::Invalid(_)) {
                    shared.tell_root(ToRoot::GaveUp { agent: name, reason: reason.to_string() });
                }
                return;
            }
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                error!(agent = %name, message, "the supervisor panicked; it is rebuilt from the journal");
                if supervisor.risen != Risen::Ahead && supervisor.rev > rev {
                    *left = (None, Vec::new());
                }
                left.0 = session.as_deref().map(Session::id).or(left.0);
                let survivors = Box::pin(end_session(&name, &shared, session.take())).await;
                left.1.extend(survivors);
                left.1.extend(Box::pin(end_staying(&shared, staying.take())).await);
                shared.tell_root(ToRoot::Panicked { agent: name.clone(), message: message.clone() });
                if !rebuilds.allow(Instant::now()) {
                    shared.tell_root(ToRoot::GaveUp { agent: name, reason: message });
                    return;
                }
                first = came_up(left.0, left.1.clone(), Input::Panicked { message });
            }
        }
    }
}

/// Returns a supervisor's first inputs after herder's start. A stop that was under way when an earlier herder was
/// killed is over now, and the number of its processes ended at the start belongs to its outcome.
fn cut_short(agent: &Agent, remains: Remains) -> Vec<Input> {
    let Remains { ended, survivors } = remains;
    match agent.phase {
        Phase::Stopping { session, .. } if ended > 0 && survivors.is_empty() => {
            let outcome = Box::new(Outcome { ended, ..Outcome::new(Category::Interrupted, "") });
            vec![Input::EndedAtShutdown { session, outcome, survivors }, Input::Started]
        }
        Phase::Stopping { .. }
        | Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Waiting { .. }
        | Phase::Paused { .. }
        | Phase::NeedsIntervention
        | Phase::Degraded
        | Phase::Removed => came_up(agent.session(), survivors, Input::Started),
    }
}

/// Returns a supervisor's first inputs: processes that its last session left, if any, then `how` it came up.
fn came_up(session: Option<SessionId>, survivors: Vec<u32>, how: Input) -> Vec<Input> {
    if survivors.is_empty() {
        return vec![how];
    }
    let ended = session.map_or(Input::SurvivorsFound, |session| {
        let outcome = Outcome::new(Category::Interrupted, Own::NotEnded);
        Input::Driver { session, signal: Signal::Ended { outcome: Box::new(outcome), survivors } }
    });
    vec![ended, how]
}

/// Reads an agent's state from the journal, with its revision.
pub(super) async fn reload(name: &AgentName, shared: &Arc<Shared>) -> Result<(Arc<Agent>, u64), String> {
    let stream = Stream::Agent(name.clone());
    match shared.journal.reading(move |journal| journal.load_whole::<Agent>(&stream)).await {
        Ok(Ok(loaded)) => Ok((Arc::new(loaded.state), loaded.rev)),
        Ok(Err(reason)) => Err(reason.to_string()),
        Err(join) => Err(join.to_string()),
    }
}

/// Ends a session without a decision of the core: after a panic, or when nothing can be recorded any more. Returns the
/// ids of the processes that are left.
async fn end_session(name: &AgentName, shared: &Shared, session: Option<Box<Session>>) -> Vec<u32> {
    let Some(session) = session else { return Vec::new() };
    let survivors = session.end(shared, |_| {}).await;
    if !survivors.is_empty() {
        warn!(agent = %name, ?survivors, "processes could not be ended");
    }
    survivors
}

/// Ends a process that stays for a session that will not be started. Returns the ids of the processes that are left.
async fn end_staying(shared: &Shared, staying: Option<Box<Staying>>) -> Vec<u32> {
    match staying {
        Some(staying) => staying.end(shared).await,
        None => Vec::new(),
    }
}

/// Returns the message that a panic was raised with.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

/// Returns the view of an agent before its supervisor has decided anything.
pub(super) fn first_view(name: &AgentName, agent: &Arc<Agent>) -> View {
    let runner = agent.spec.as_ref().and_then(|spec| spec.runner.clone());
    View {
        name: name.clone(),
        agent: Arc::clone(agent),
        live: Live::default(),
        hold: None,
        closed: false,
        runner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of a future, without making one.
    fn room<A, B, C, D, E, F, O>(_: impl Fn(A, B, C, D, E, F) -> O) -> usize {
        size_of::<O>()
    }

    #[test]
    fn an_agent_that_rests_needs_little_room() {
        let (task, state) = (room(supervise), size_of::<Agent>());
        assert!(task <= 1752 && state <= 3152, "{task} {state}");
    }
}
