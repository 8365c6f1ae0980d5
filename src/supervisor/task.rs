//! The supervisor of one agent: the only task that owns and writes that agent's state.
//!
//! ```text
//!  requests (people) ─┐            ┌─► journal.commit(events, audit, posts)   durable
//!  notes (root, timer)├─► decide ──┤        then
//!  reports (driver) ──┘   apply    └─► publish the view, answer tickets, perform effects
//! ```
//!
//! Inputs that are already waiting are decided together and committed as one batch; nothing of it is seen outside before
//! the batch is on disk. A panic anywhere in here is caught by [`supervise`], which ends the process tree, rebuilds the
//! state from the journal and tells the core. The mailbox outlives the panic; only the request at hand is lost, and its
//! ticket says so.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::{debug, error, warn};

use super::restart::Rebuilds;
use super::session::Session;
use super::{Asked, Shared, ToRoot, View, posting};
use crate::clock;
use crate::core::agent::Agent;
use crate::core::effect::Effect;
use crate::core::event::Event;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::{Control, Input, Signal};
use crate::core::notice::{Notice, Refusal};
use crate::core::outcome::{Category, Outcome};
use crate::core::time::Timestamp;
use crate::core::{self, Context};
use crate::journal::{AuditEntry, Batch, CommitError, Entry, Memo, Stream, Write};
use crate::outbox::{Post, Target};
use crate::runtime::{Live, Report};

/// Requests of people wait here; a group of people cannot type more than this while one batch is committed.
pub(super) const REQUESTS_CAPACITY: usize = 256;

/// Ticks and account news: at most one tick and a few news can be under way at once.
pub(super) const NOTES_CAPACITY: usize = 32;

/// Inputs decided together: enough for a burst, few enough that the first of them does not wait for the last.
const BATCH_MAX: usize = 64;

/// A command on its way to a supervisor.
#[derive(Debug)]
pub(super) struct Request {
    /// What is asked.
    pub(super) control: Control,
    /// By whom, and where the answer goes.
    pub(super) asked: Asked,
    /// Whether it leaves a record of its own (`stop-all` leaves one for all agents).
    pub(super) audited: bool,
    /// Resolved when it was decided and is on disk.
    pub(super) ticket: oneshot::Sender<Answer>,
}

/// What became of a command.
pub(super) type Answer = Result<Notice, Refusal>;

/// What the root and the timer tell a supervisor.
#[derive(Debug)]
pub(super) enum Note {
    /// Something for the core.
    Input(Box<Input>),
    /// herder goes down: end the process tree, decide nothing more.
    Drain,
}

/// The two lanes into a supervisor; people overtake the rest.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Boxed, like the notes, because a channel reserves room for a block of values and most supervisors are idle.
    pub(super) requests: mpsc::Receiver<Box<Request>>,
    pub(super) notes: mpsc::Receiver<Note>,
}

/// Why a supervisor's loop ended.
#[derive(Debug)]
enum End {
    /// The agent was removed.
    Retired,
    /// herder goes down.
    Drained,
    /// The journal cannot be written.
    Storage(CommitError),
}

/// Runs the supervisor of `name` until it is retired or drained, rebuilding it when it panics.
pub(super) async fn supervise(
    name: AgentName,
    shared: Arc<Shared>,
    mut mailbox: Mailbox,
    loaded: (Agent, u64),
    survivors: Vec<u32>,
    view: watch::Sender<View>,
) {
    let mut rebuilds = Rebuilds::default();
    let mut first = came_up(loaded.0.session(), survivors, Input::Started);
    let mut state = Some(loaded);
    let mut session = None;
    loop {
        let (agent, rev) = match state.take() {
            Some(state) => state,
            None => match reload(&name, &shared).await {
                Ok(state) => state,
                Err(reason) => {
                    shared.tell_root(ToRoot::GaveUp { agent: name, reason });
                    return;
                }
            },
        };
        let mut supervisor = Supervisor {
            name: &name,
            shared: &shared,
            agent: Arc::new(agent),
            rev,
            session: &mut session,
            view: &view,
            fresh: None,
        };
        let run = AssertUnwindSafe(supervisor.run(&mut mailbox, first)).catch_unwind().await;
        match run {
            Ok(End::Retired) => {
                shared.tell_root(ToRoot::Retired { agent: name });
                return;
            }
            Ok(End::Drained) => return,
            Ok(End::Storage(reason)) => {
                error!(agent = %name, %reason, "the supervisor stops: the journal cannot be written");
                end_session(&name, &shared, session).await;
                // When the journal itself has failed everybody is told so; this one stops alone.
                if matches!(reason, CommitError::Conflict { .. } | CommitError::Invalid(_)) {
                    shared.tell_root(ToRoot::GaveUp { agent: name, reason: reason.to_string() });
                }
                return;
            }
            Err(panic) => {
                let message = panic_message(panic.as_ref());
                error!(agent = %name, message, "the supervisor panicked; it is rebuilt from the journal");
                let id = session.as_ref().map(Session::id);
                let survivors = end_session(&name, &shared, session.take()).await;
                shared.tell_root(ToRoot::Panicked { agent: name.clone(), message: message.clone() });
                if !rebuilds.allow(Instant::now()) {
                    shared.tell_root(ToRoot::GaveUp { agent: name, reason: message });
                    return;
                }
                first = came_up(id, survivors, Input::Panicked { message });
            }
        }
    }
}

/// What a supervisor decides first: that it came up, after what is left of its last session, beside which nothing may start.
fn came_up(session: Option<SessionId>, survivors: Vec<u32>, how: Input) -> Vec<Input> {
    if survivors.is_empty() {
        return vec![how];
    }
    let ended = session.map_or(Input::SurvivorsFound, |session| {
        let outcome = Outcome::new(Category::Interrupted, "its processes could not be ended");
        Input::Driver { session, signal: Signal::Ended { outcome: Box::new(outcome), survivors } }
    });
    vec![ended, how]
}

/// Reads the agent's state back from the journal.
pub(super) async fn reload(name: &AgentName, shared: &Arc<Shared>) -> Result<(Agent, u64), String> {
    let journal = shared.journal.clone();
    let stream = Stream::Agent(name.clone());
    let loaded = tokio::task::spawn_blocking(move || journal.load::<Agent>(&stream)).await;
    match loaded {
        Ok(Ok(loaded)) => Ok((loaded.state, loaded.rev)),
        Ok(Err(reason)) => Err(reason.to_string()),
        Err(join) => Err(join.to_string()),
    }
}

/// Ends a session outside the core's rules: after a panic, or when nothing can be recorded any more. Answers what is left.
async fn end_session(name: &AgentName, shared: &Shared, session: Option<Session>) -> Vec<u32> {
    let Some(session) = session else { return Vec::new() };
    let survivors = session.end(shared, |_| {}).await;
    if !survivors.is_empty() {
        warn!(agent = %name, ?survivors, "processes could not be ended");
    }
    survivors
}

/// The words of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

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

struct Supervisor<'a> {
    name: &'a AgentName,
    shared: &'a Arc<Shared>,
    agent: Arc<Agent>,
    rev: u64,
    session: &'a mut Option<Session>,
    view: &'a watch::Sender<View>,
    /// An id for the next round of a loop, drawn when one may be needed: people count by these ids.
    fresh: Option<WorkId>,
}

/// What a batch of inputs leads to, before it is on disk.
#[derive(Default)]
struct Pending {
    /// When all of it is decided, applied and recorded: one time, so that a replay meets what was seen live.
    at: Option<Timestamp>,
    events: Vec<Event>,
    audits: Vec<AuditEntry>,
    posts: Vec<Post>,
    memos: Vec<Memo>,
    effects: Vec<Effect>,
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
}

impl Pending {
    fn at(&mut self) -> Timestamp {
        *self.at.get_or_insert_with(clock::now)
    }
}

impl Supervisor<'_> {
    async fn run(&mut self, mailbox: &mut Mailbox, first: Vec<Input>) -> End {
        let mut pending = Pending::default();
        for input in first {
            self.take(input, &mut pending);
        }
        loop {
            match self.settle(&mut pending).await {
                Ok(false) => {}
                Ok(true) => return End::Retired,
                Err(reason) => return End::Storage(reason),
            }
            let woken = self.wait(mailbox).await;
            if let Some(end) = self.woken(woken, &mut pending).await {
                return end;
            }
            // What has arrived meanwhile shares the commit.
            for _ in 1..BATCH_MAX {
                let Ok(request) = mailbox.requests.try_recv() else { break };
                self.request(*request, &mut pending);
            }
        }
    }

    /// Waits for the next thing to happen; people first.
    async fn wait(&mut self, mailbox: &mut Mailbox) -> Woken {
        let timeout = self.shared.policy.heartbeat_timeout;
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
                super::session::Heard::Report(report) => Woken::Report(report),
                super::session::Heard::Gone => Woken::DriverGone,
                super::session::Heard::Silent(silent) => Woken::Silent(silent),
                super::session::Heard::Overdue => Woken::Overdue,
            },
        }
    }

    async fn woken(&mut self, woken: Woken, pending: &mut Pending) -> Option<End> {
        match woken {
            Woken::Request(request) => self.request(*request, pending),
            Woken::Note(Note::Input(input)) => self.take(*input, pending),
            Woken::Note(Note::Drain) | Woken::Closed => {
                return Some(self.drain(pending).await);
            }
            Woken::Report(report) => self.report(report, pending).await,
            Woken::DriverGone => {
                let outcome = Outcome::new(Category::Crash, "the driver stopped without a word");
                self.force_end(outcome, pending).await;
            }
            Woken::Silent(silent) => {
                if let Some(session) = self.agent.session() {
                    self.take(Input::DriverSilent { session, silent }, pending);
                }
            }
            Woken::Overdue => {
                let outcome = Outcome::new(Category::Hung, "the driver did not end its session in time");
                self.force_end(outcome, pending).await;
            }
        }
        None
    }

    /// Ends the session because herder goes down. What it finished meanwhile counts: it must not be done again. How it was cut
    /// short is not recorded, and nothing new is started; the next start takes it up as after a kill.
    async fn drain(&mut self, pending: &mut Pending) -> End {
        let Some(session) = self.session.take() else { return End::Drained };
        let id = session.id();
        let mut last_words = Vec::new();
        session.end(self.shared, |report| last_words.push(report)).await;
        for report in last_words {
            match report {
                Report::Words(text) => {
                    let at = pending.at();
                    pending.posts.extend(self.shared.posting.words(self.name, text, at));
                }
                Report::Signal(Signal::Ended { outcome, survivors })
                    if outcome.category == Category::Success =>
                {
                    let signal = Signal::Ended { outcome, survivors };
                    self.take(Input::Driver { session: id, signal }, pending);
                }
                Report::Beat | Report::Signal(_) => {}
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
        let survivors = session.end(self.shared, |_| {}).await;
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
                if over {
                    *self.session = None;
                }
                self.take(Input::Driver { session: id, signal }, pending);
            }
        }
        // What is decided but not yet on disk is shown when it is: `settle` publishes it then.
        if pending.events.is_empty() {
            self.publish();
        }
    }

    fn request(&mut self, request: Request, pending: &mut Pending) {
        let Request { control, asked, audited, ticket } = request;
        // What a line became is known by it from now on, and stays so when the line is changed.
        let work = if let Control::Give { id, .. } | Control::Reword { id, .. } = &control {
            Some(*id)
        } else {
            None
        };
        let said = posting::said(&control, &asked);
        let input = Input::Control { by: asked.audit.by.clone(), control };
        match self.decide(&input, pending.at()) {
            Ok(decision) => {
                let reply = decision.reply.unwrap_or_else(|| {
                    // The core's invariant "every accepted command is answered" forbids it; a person still gets words.
                    error!(agent = %self.name, ?input, "an accepted command had no answer");
                    Notice::Resuming { agent: self.name.clone(), trial: false }
                });
                let first = pending.posts.len();
                self.absorb(decision.events, pending);
                pending.memos.extend(asked.heard(Some(self.name.clone()), work));
                let at = pending.at();
                // Ahead of what the decision has to say itself: first what was asked and its answer, then what it led to.
                let mut ahead = Vec::new();
                if audited {
                    let to = Target::Agent(self.name.clone());
                    let answer = posting::owes_answer(&reply, &pending.posts[first..]).then_some(&reply);
                    ahead = self.shared.posting.mirrored(&asked, said, &to, answer, at);
                    pending.audits.push(asked.audit);
                }
                if let Some(answer) = asked.answer {
                    posting::leave_out_echo(&mut pending.posts, first, &answer, self.name, &reply);
                    if answer.posted {
                        ahead.push(posting::answer(&answer, asked.message, reply.clone(), at));
                    }
                }
                pending.posts.splice(first..first, ahead);
                pending.answers.push((ticket, Ok(reply)));
            }
            Err(refusal) => pending.answers.push((ticket, Err(refusal))),
        }
    }

    /// Decides an input that no person waits for.
    fn take(&mut self, input: Input, pending: &mut Pending) {
        match self.decide(&input, pending.at()) {
            Ok(decision) => self.absorb(decision.events, pending),
            Err(refusal) => debug!(agent = %self.name, ?input, ?refusal, "an input was refused"),
        }
    }

    fn decide(&mut self, input: &Input, now: Timestamp) -> Result<core::Decision, Refusal> {
        self.shared.fault.before(self.name, input);
        if self.agent.spec.as_ref().is_some_and(|spec| spec.looping) {
            self.fresh.get_or_insert_with(|| self.shared.journal.fresh_work_id());
        }
        let context = Context {
            now,
            policy: &self.shared.policy,
            jitter: self.shared.jitter(),
            fresh: self.fresh.unwrap_or_default(),
        };
        core::decide(&self.agent, input, &context)
    }

    /// Applies events in memory and notes what they owe; the outside sees nothing of it before the commit.
    fn absorb(&mut self, events: Vec<Event>, pending: &mut Pending) {
        let now = pending.at();
        for event in events {
            if let Event::Queued { work } | Event::SessionStarted { work, .. } = &event
                && Some(work.id) == self.fresh
            {
                self.fresh = None;
            }
            core::apply(Arc::make_mut(&mut self.agent), &event, now);
            let context = Context {
                now,
                policy: &self.shared.policy,
                jitter: Duration::ZERO,
                fresh: WorkId::default(),
            };
            let owed = core::posts(&self.agent, &event, &context);
            pending.posts.extend(self.shared.posting.owed(self.name, owed, now));
            pending.effects.extend(core::react(&self.agent, &event));
            pending.events.push(event);
        }
    }

    /// Commits what is pending, then lets the outside see it. Answers whether the agent is retired.
    async fn settle(&mut self, pending: &mut Pending) -> Result<bool, CommitError> {
        let mut pending = std::mem::take(pending);
        let at = pending.at();
        if !pending.events.is_empty() || !pending.audits.is_empty() || !pending.posts.is_empty() {
            self.commit(at, pending.events, pending.audits, pending.posts, pending.memos).await?;
            self.publish();
        }
        // Also when nothing was decided: after a start a countdown goes on, and one that rang early is set again.
        self.shared.timers.arm(self.name, self.agent.deadline());
        for (ticket, answer) in pending.answers {
            // Nobody may be waiting any more; the decision stands.
            drop(ticket.send(answer));
        }
        let mut retired = false;
        for effect in pending.effects {
            retired |= self.perform(effect).await;
        }
        Ok(retired)
    }

    async fn commit(
        &mut self,
        at: Timestamp,
        events: Vec<Event>,
        audits: Vec<AuditEntry>,
        posts: Vec<Post>,
        memos: Vec<Memo>,
    ) -> Result<(), CommitError> {
        let mut writes = Vec::with_capacity(2);
        let added = events.len() as u64;
        if !events.is_empty() {
            writes.push(Write {
                stream: Stream::Agent(self.name.clone()),
                expected_rev: Some(self.rev),
                entries: events.into_iter().map(Entry::Agent).collect(),
            });
        }
        if !audits.is_empty() {
            let entries = audits.into_iter().map(Entry::Audit).collect();
            writes.push(Write { stream: Stream::Audit, expected_rev: None, entries });
        }
        let batch = Batch { at, writes, posts, snapshots: Vec::new(), memos };
        let receipt = self.shared.journal.commit(batch).await?;
        self.rev += added;
        if receipt.snapshot_due {
            self.snapshot().await?;
        }
        Ok(())
    }

    async fn snapshot(&self) -> Result<(), CommitError> {
        let stream = Stream::Agent(self.name.clone());
        self.shared.snapshot(stream, self.rev, &*self.agent).await
    }

    /// Lets the outside see the state as it is on disk.
    fn publish(&self) {
        let live = self.session.as_ref().map(Session::live).unwrap_or_default();
        self.view.send_replace(View { name: self.name.clone(), agent: Arc::clone(&self.agent), live });
        self.shared.changed.send_replace(());
    }

    /// Does what a committed event asks for. Answers whether the agent is retired.
    async fn perform(&mut self, effect: Effect) -> bool {
        match effect {
            Effect::Spawn { session, work, conversation, recap } => {
                let Some(spec) = self.agent.spec.clone() else { return false };
                *self.session = Some(Session::start(self.shared, spec, session, &work, conversation, recap));
            }
            Effect::Go { session } => self.order(session, crate::runtime::Order::Go).await,
            Effect::Steer { session, work, text } => {
                self.order(session, crate::runtime::Order::Steer { work, text }).await;
            }
            Effect::Stop { session } => {
                self.order(session, crate::runtime::Order::Stop).await;
                if let Some(running) = self.session.as_mut() {
                    running.expect_end(self.shared);
                }
            }
            Effect::BlockAccount(category) => {
                if let Some(spec) = &self.agent.spec {
                    let account = spec.account.clone();
                    self.shared.tell_root(ToRoot::AccountBlocked {
                        agent: self.name.clone(),
                        account,
                        category,
                    });
                }
            }
            Effect::OpenAccount { by } => {
                if let Some(spec) = &self.agent.spec {
                    let account = spec.account.clone();
                    self.shared.tell_root(ToRoot::AccountOpened { agent: self.name.clone(), account, by });
                }
            }
            Effect::Retire => return true,
        }
        false
    }

    async fn order(&mut self, session: crate::core::id::SessionId, order: crate::runtime::Order) {
        match self.session.as_mut() {
            Some(running) if running.id() == session => running.order(order).await,
            Some(_) | None => {
                debug!(agent = %self.name, %session, ?order, "an order for a session that is gone")
            }
        }
    }
}

/// A view of an agent before its supervisor has decided anything.
pub(super) fn first_view(name: &AgentName, agent: &Agent) -> View {
    View { name: name.clone(), agent: Arc::new(agent.clone()), live: Live::default() }
}
