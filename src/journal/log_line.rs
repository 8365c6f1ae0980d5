//! The process log of the journal: one line for each event that somebody may search for later.
//!
//! Lines are built from the entries themselves, after they are on disk, so that the log and the journal cannot
//! disagree. The message is in English; names and numbers are fields (`agent`, `session`, `task`, `account`,
//! `outcome`, `by`, `revision`), which JSON logs keep apart. Prompts, answers and whispers never appear.

mod tasks;

use serde::Serialize;
use tracing::{info, warn};

use super::{Entry, FleetEvent, Stream};
use crate::core::agent::Agent;
use crate::core::ask::{About, AskAnswer, DecidedBy};
use crate::core::event::{Event, PauseReason, StopReason, WaitReason};
use crate::core::id::{AccountName, SessionId, WorkId};
use crate::core::outcome::{Category, Outcome};
use crate::core::time::Timestamp;
use crate::core::usage::Cap;
use crate::core::verdict::Verdict;
use crate::core::watch::{Judgement, Why};
use crate::core::work::{Actor, Work};
use tasks::{board_line, checkout_line};

/// A line of herder's log about a journal entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    /// True if a person may have to act (`warn`); `info` otherwise.
    is_warning: bool,
    /// Text of the message, in English.
    message: String,
    session: Option<u64>,
    task: Option<u64>,
    account: Option<String>,
    /// The category of an outcome, as spelled in the journal.
    outcome: Option<String>,
    by: Option<String>,
}

impl LogLine {
    fn new(message: impl Into<String>) -> Self {
        Self {
            is_warning: false,
            message: message.into(),
            session: None,
            task: None,
            account: None,
            outcome: None,
            by: None,
        }
    }

    fn warning(message: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::new(message) }
    }

    fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session.0);
        self
    }

    fn task(mut self, work: WorkId) -> Self {
        self.task = Some(work.0);
        self
    }

    fn account(mut self, account: &AccountName) -> Self {
        self.account = Some(account.to_string());
        self
    }

    fn outcome(mut self, category: Category) -> Self {
        self.outcome = Some(word(&category));
        self
    }

    fn by(mut self, actor: &Actor) -> Self {
        let name = quoted(&actor.name);
        // herder itself and the local socket are no networks with people on them.
        let is_alone = actor.is_herder() || actor.network.as_str() == name;
        self.by = Some(if is_alone { name } else { format!("{name} on {}", actor.network) });
        self
    }

    /// Writes the line to the log. `revision` is the entry's position in its stream, counted from 1.
    pub(super) fn write(&self, stream: &Stream, revision: u64) {
        let agent = match stream {
            Stream::Agent(name) => Some(name.as_str()),
            Stream::Fleet | Stream::Audit => None,
        };
        let Self { is_warning, message, session, task, account, outcome, by } = self;
        let (account, outcome, by) = (account.as_deref(), outcome.as_deref(), by.as_deref());
        // A macro's level is a constant.
        if *is_warning {
            warn!(target: TARGET, agent, session, task, account, outcome, by, revision, "{message}");
        } else {
            info!(target: TARGET, agent, session, task, account, outcome, by, revision, "{message}");
        }
    }
}

/// The account of an agent, its session and that session's task, which are fields of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogContext {
    session: Option<SessionId>,
    task: Option<WorkId>,
    account: Option<AccountName>,
    /// The account of the next session.
    next_account: Option<AccountName>,
}

impl LogContext {
    /// Returns the context of an agent before its next event.
    #[must_use]
    pub fn of(agent: &Agent) -> Self {
        let session = agent.session();
        Self {
            session,
            task: session.and(agent.current.as_ref()).map(|work| work.id),
            account: agent.spec.as_ref().map(|_| agent.session_account()),
            next_account: agent.spec.as_ref().map(|_| agent.account()),
        }
    }

    /// Follows an entry of the agent, and adds to its line what the entry itself does not name. A line about other work
    /// than the session's names no session.
    pub(super) fn complete(&mut self, entry: &Entry, mut line: LogLine) -> LogLine {
        let Entry::Agent(event) = entry else { return line };
        match event {
            Event::SessionStarted { session, work, .. } => {
                (self.session, self.task) = (Some(*session), Some(work.id));
                self.account.clone_from(&self.next_account);
            }
            Event::Added { spec, .. } | Event::Edited { spec, .. } => {
                self.next_account = Some(spec.account.clone());
                if self.session.is_none() {
                    self.account.clone_from(&self.next_account);
                }
            }
            _ => {}
        }
        let (session, task) = (self.session.map(|session| session.0), self.task.map(|task| task.0));
        let is_of_session =
            line.session.is_none_or(|of| Some(of) == session) && line.task.is_none_or(|of| Some(of) == task);
        if is_of_session {
            line.session = line.session.or(session);
            line.task = line.task.or(task);
        }
        line.account = line.account.or_else(|| self.account.as_ref().map(ToString::to_string));
        line
    }
}

/// Log target of these lines: `HERDER_LOG=info,herder::journal=off` silences them.
const TARGET: &str = "herder::journal";

/// Returns the level, the message and the names of the fields of an entry's log line, if the entry has one. The
/// manual's table is made of this.
#[must_use]
pub fn line_of(entry: &Entry) -> Option<(&'static str, String, Vec<&'static str>)> {
    let LogLine { is_warning, message, session, task, account, outcome, by } = line(entry)?;
    let fields = [
        ("agent", matches!(entry, Entry::Agent(_))),
        ("session", session.is_some()),
        ("task", task.is_some()),
        ("account", account.is_some()),
        ("outcome", outcome.is_some()),
        ("by", by.is_some()),
    ];
    let fields = fields.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect();
    Some((if is_warning { "warn" } else { "info" }, message, fields))
}

/// Returns true if the log level enables such lines.
pub(super) fn is_read() -> bool {
    tracing::enabled!(target: TARGET, tracing::Level::INFO)
}

/// Returns the log line of an entry, if it has one. Entries without a line are steps within a session, internal
/// transfers between agent and board, and the audit trail of commands, whose effects have lines of their own.
pub(super) fn line(entry: &Entry) -> Option<LogLine> {
    match entry {
        Entry::Agent(event) => agent_line(event),
        Entry::Fleet(event) => fleet_line(event),
        Entry::Audit(_) => None,
    }
}

fn agent_line(event: &Event) -> Option<LogLine> {
    let line = match event {
        Event::Added { by, .. } => LogLine::new("agent added").by(by),
        Event::Edited { by, .. } => LogLine::new("agent changed").by(by),
        Event::Removed { by } => LogLine::new("agent removed").by(by),
        Event::Queued { work } => queued(work),
        Event::Cleared { works, by } => {
            LogLine::new(format!("queue cleared, {} messages dropped", works.len())).by(by)
        }
        Event::Withdrawn { work, by } => LogLine::new("queued work taken back").task(*work).by(by),
        Event::Discarded { work, by } => LogLine::new("work given up").task(*work).by(by),
        Event::TaskEnded { work, end, note } => {
            LogLine::new(told(&format!("task {}", word(end)), &note.to_string())).task(*work)
        }
        Event::SessionStarted { session, work, trial } => {
            let message = if *trial { "session started, the breaker's trial" } else { "session started" };
            LogLine::new(message).session(*session).task(work.id)
        }
        Event::ConversationLost { session, why } => {
            let message = "conversation lost, a new one begins";
            LogLine::new(told(message, &why.to_string())).session(*session)
        }
        Event::ClockRanOut { session, clock, evidence } => {
            let message = format!("{} timeout ran out", word(clock));
            LogLine::warning(told(&message, &evidence.to_string())).session(*session)
        }
        Event::StopRequested { session, reason, by } => {
            let line = LogLine::new(format!("session is being stopped: {}", stop(reason))).session(*session);
            by.as_ref().map_or(line.clone(), |by| line.by(by))
        }
        Event::SessionEnded { session, outcome, survivors } => ended(outcome, survivors).session(*session),
        Event::Waiting { until, reason } => {
            LogLine::new(format!("waits until {}: {}", moment(*until), wait(reason)))
        }
        Event::PausePending { by, .. } => LogLine::new("pauses after this session").by(by),
        Event::Paused { reason } => paused(reason),
        Event::Resumed { by } => LogLine::new("resumed").by(by),
        Event::AccountOpened { by } => LogLine::new("goes on, its account is open again").by(by),
        Event::Reset { by } => LogLine::new("counters reset, a clean session follows").by(by),
        Event::BreakerOpened { failures, .. } => {
            LogLine::warning(format!("halted, needs a person: {failures} failures in a row"))
        }
        Event::BreakerClosed => LogLine::new("the breaker's trial succeeded"),
        Event::Degraded { crashes } => {
            LogLine::warning(format!("halted, needs a person: {crashes} crashes of its process"))
        }
        Event::SupervisorPanicked { message } => {
            LogLine::warning(told("its supervisor panicked and was rebuilt", message))
        }
        Event::Escalated { escalation } => {
            let line = LogLine::warning(told("a person is called", &why(&escalation.why)));
            escalation.work.map_or(line.clone(), |work| line.task(work))
        }
        Event::EscalationReminded { .. } => LogLine::warning("a person is called again, nobody has answered"),
        Event::EscalationAcked { by, .. } => LogLine::new("a person has seen the call").by(by),
        Event::EscalationAnswered { answer, by, .. } => {
            LogLine::new(format!("call answered: {}", word(answer))).by(by)
        }
        Event::AskReminded { ask, .. } => {
            LogLine::warning(format!("question {ask} is open still, nobody has answered"))
        }
        Event::Asked { ask } => {
            LogLine::new(format!("question {} is open: {}", ask.id, about(&ask.about))).task(ask.work)
        }
        Event::Answered { ask, answer, by } => {
            LogLine::new(format!("question {ask} answered: {}", answered(answer))).by(by)
        }
        Event::AskExpired { ask } => LogLine::new(format!("question {ask} expired, nobody answered")),
        Event::RuleAdded { rule } => {
            LogLine::new(told(&format!("always allowed from now on, rule {}", rule.id), &rule.command))
                .by(&rule.by)
        }
        Event::RuleRemoved { rule, by } => LogLine::new(format!("rule {rule} removed")).by(by),
        Event::CapNear { cap, percent, .. } => {
            LogLine::warning(format!("{percent}% of its {} used", cap_name(cap)))
        }
        Event::CapWaived { cap, by, .. } => LogLine::new(format!("may go past its {}", cap_name(cap))).by(by),
        Event::Spiked { .. } => LogLine::warning("uses far more in this hour than it usually does"),
        Event::PriceUnknown { model, .. } => LogLine::warning(told("the price of a model is unknown", model)),
        Event::Steered { session, work } => {
            LogLine::new("message given to the running session").session(*session).task(*work)
        }
        Event::Whispered { whisper } => LogLine::new("whisper for the agent").by(&whisper.by),
        Event::PermissionDecided { session, tool, command, allowed, by, .. } => {
            let verdict = if *allowed { "allowed" } else { "denied" };
            let message = format!("permission for {} {verdict} by {}", quoted(tool), decided(by));
            LogLine::new(told(&message, command)).session(*session)
        }
        Event::PermissionDenied { session, what } => {
            LogLine::new(told("permission denied", what)).session(*session)
        }
        Event::Evaluated { judgement, .. } => return evaluated(judgement),
        Event::Parked { work, parts, .. } => {
            LogLine::new(format!("task waits for {} parts", parts.len())).task(*work)
        }
        Event::PartsReported { work, .. } => LogLine::new("the parts of a task are over").task(*work),
        Event::Checkout(event) => return checkout_line(event),
        Event::TaskTaken { .. }
        | Event::TaskHandedBack { .. }
        | Event::SplitBegun { .. }
        | Event::SplitEnded { .. }
        | Event::BoardHeard { .. }
        | Event::Reworded { .. }
        | Event::TaskReported { .. }
        | Event::PartsAwaited { .. }
        | Event::TurnObserved { .. }
        | Event::EvaluationBegun { .. }
        | Event::DetectorStoodIn { .. }
        | Event::WhisperMarked { .. }
        | Event::WhispersDelivered { .. }
        | Event::WhispersDropped { .. }
        | Event::WorkspaceSeen { .. }
        | Event::ProcessStarted { .. }
        | Event::ProcessWarm { .. }
        | Event::Ready { .. }
        | Event::ConversationNamed { .. }
        | Event::TurnEnded { .. }
        | Event::UsageRecorded { .. }
        | Event::AskedAgain { .. }
        | Event::AskDropped { .. }
        | Event::Requeued { .. }
        // Logged once for all agents.
        | Event::ClockSet { .. }
        | Event::WaitOver => return None,
    };
    Some(line)
}

fn fleet_line(event: &FleetEvent) -> Option<LogLine> {
    let line = match event {
        FleetEvent::AccountBlocked { account, category, agent } => {
            LogLine::warning(format!("account closed, its agents are paused; {agent} failed"))
                .account(account)
                .outcome(*category)
        }
        FleetEvent::AccountOpened { account, by } => LogLine::new("account opened").account(account).by(by),
        FleetEvent::AccountExhausted { account, agent, resets_at, .. } => {
            let until = resets_at.map_or_else(String::new, |at| format!(" until {}", moment(at)));
            LogLine::warning(format!("usage limit of the account reached{until}; {agent} met it"))
                .account(account)
        }
        FleetEvent::AccountTried { account, category, agent, by } => {
            LogLine::new(format!("{agent} tries whether the account works"))
                .account(account)
                .outcome(*category)
                .by(by)
        }
        FleetEvent::AccountProved { account, agent } => {
            LogLine::new(format!("{agent} has shown that the account works")).account(account)
        }
        FleetEvent::CapNear { account, warned } => {
            let line =
                LogLine::warning(format!("{}% of the shared {} used", warned.percent, cap_name(&warned.cap)));
            account.as_ref().map_or(line.clone(), |account| line.account(account))
        }
        FleetEvent::CapWaived { account, by, .. } => {
            let line = LogLine::new("a shared cap may be passed");
            let line = by.iter().fold(line, LogLine::by);
            account.iter().fold(line, LogLine::account)
        }
        FleetEvent::Linked { name, by, .. } => LogLine::new(told("two identities linked", name)).by(by),
        FleetEvent::Unlinked { by, .. } => LogLine::new("two identities separated").by(by),
        FleetEvent::Started { version } => LogLine::new(format!("herder {version} started")),
        FleetEvent::ClockSet { by } => {
            LogLine::warning(format!("the wall clock was set by {by} ms; waits keep their length"))
        }
        FleetEvent::Stopped => LogLine::new("herder stopped"),
        FleetEvent::Board { event } => return board_line(event),
        // An agent's own stream, or its tasks, have lines for these.
        FleetEvent::AgentAdded { .. }
        | FleetEvent::AgentRemoved { .. }
        | FleetEvent::Configured { .. }
        | FleetEvent::LeftOut { .. }
        | FleetEvent::BooksKept { .. }
        | FleetEvent::AccountAsked { .. }
        | FleetEvent::SupervisorPanicked { .. } => return None,
    };
    Some(line)
}

/// Returns the log line of an evaluation: a finding, or the reason why there is no verdict. An OK has none, as it is
/// too frequent.
fn evaluated(judgement: &Judgement) -> Option<LogLine> {
    match judgement {
        Judgement::Verdict(Verdict::Ok) => None,
        Judgement::Verdict(verdict) => {
            Some(LogLine::new(format!("evaluated: {}", verdict.word().to_lowercase().replace('_', " "))))
        }
        Judgement::Lapse(lapse) => Some(LogLine::new(format!("not evaluated: {}", word(lapse)))),
    }
}

fn decided(by: &DecidedBy) -> String {
    match by {
        DecidedBy::Autonomy => "its autonomy".to_owned(),
        DecidedBy::Rule { rule } => format!("rule {rule}"),
        DecidedBy::TooMany => "herder, because too many questions are open".to_owned(),
    }
}

fn queued(work: &Work) -> LogLine {
    LogLine::new(format!("{} queued", word(&work.kind))).task(work.id).by(&work.by)
}

fn ended(outcome: &Outcome, survivors: &[u32]) -> LogLine {
    let detail = outcome.detail.to_string();
    let after = jiff::SignedDuration::try_from(outcome.duration).unwrap_or_default();
    let mut message = told(&format!("session ended after {after:#}"), &detail);
    if !survivors.is_empty() {
        let pids = survivors.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        message.push_str(&format!("; processes could not be ended: {pids}"));
    }
    let line = match outcome.category {
        Category::Success | Category::MaxTurns | Category::Interrupted if survivors.is_empty() => {
            LogLine::new(message)
        }
        Category::Success
        | Category::MaxTurns
        | Category::Interrupted
        | Category::Transient
        | Category::RateLimit
        | Category::Permanent
        | Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::Quota
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::Crash
        | Category::OutOfMemory
        | Category::DoNotRestart => LogLine::warning(message),
    };
    line.outcome(outcome.category)
}

fn paused(reason: &PauseReason) -> LogLine {
    match reason {
        PauseReason::Person(by) => LogLine::new("paused").by(by),
        PauseReason::StopAll(by) => LogLine::new("paused, all agents were stopped").by(by),
        PauseReason::Failure(category) => LogLine::warning("paused, its session failed").outcome(*category),
        PauseReason::Account(category) => {
            LogLine::warning("paused, its account is closed").outcome(*category)
        }
        PauseReason::Survivors => {
            LogLine::warning("paused, processes of its last session could not be ended")
        }
        PauseReason::Cap(cap) => LogLine::warning(format!("paused, its {} is reached", cap_name(cap))),
        PauseReason::Escalation => LogLine::warning("paused, a person was called"),
    }
}

fn stop(reason: &StopReason) -> String {
    match reason {
        StopReason::Account(category) => format!("account, {}", word(category)),
        StopReason::Cap(cap) => format!("{} reached", cap_name(cap)),
        StopReason::Pause
        | StopReason::Abort
        | StopReason::Restart
        | StopReason::StopAll
        | StopReason::Cancel
        | StopReason::Remove
        | StopReason::Hung
        | StopReason::Escalation
        | StopReason::Configured => word(reason),
    }
}

fn wait(reason: &WaitReason) -> String {
    match reason {
        WaitReason::Backoff(category) => format!("restart after {}", word(category)),
        WaitReason::RateLimit | WaitReason::Rest | WaitReason::Split => word(reason),
    }
}

fn why(why: &Why) -> String {
    match why {
        Why::Found(_) => "the detector has found it going round in circles".to_owned(),
        Why::Said(said) => said.clone(),
        Why::Ended { category, detail } => format!("{}: {detail}", word(category)),
    }
}

fn about(about: &About) -> String {
    match about {
        About::Permission { tool, command, .. } => told(&format!("permission for {}", quoted(tool)), command),
        About::Question { .. } => "in the agent's own words".to_owned(),
        About::Plan { .. } => "whether a plan may be carried out".to_owned(),
    }
}

fn answered(answer: &AskAnswer) -> &'static str {
    match answer {
        AskAnswer::Allow { always: true } => "allowed, and always from now on",
        AskAnswer::Allow { always: false } => "allowed",
        AskAnswer::Deny => "denied",
        AskAnswer::Text { .. } | AskAnswer::Chosen { .. } => "in words",
    }
}

/// Formats a time in UTC, to the second.
fn moment(at: Timestamp) -> String {
    let seconds = at.as_millis().div_euclid(1000);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| "an unknown time".to_owned(), |at| at.to_string())
}

fn cap_name(cap: &Cap) -> String {
    format!("cap of {} for its {}", word(&cap.unit), word(&cap.window))
}

/// Appends text of another program to a message, if there is any.
fn told(message: &str, said: &str) -> String {
    let said = quoted(said);
    if said.is_empty() { message.to_owned() } else { format!("{message}: {said}") }
}

/// Reduces text of another program to one line without control characters. It is not cut here: the log's redactor must
/// see it whole.
fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !crate::core::unseen::is_hidden(*c)).collect()
}

/// Returns the name of an enum's variant, as spelled in the journal.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        Ok(_) | Err(_) => String::new(),
    }
}
