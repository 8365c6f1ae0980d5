//! Herder's messages as typed values. Language, splitting and markup are added later, at the edge.
//!
//! Every variant has a message of the same name in `locales/`; `l10n` maps fields to variables, with one function for
//! all.
#![expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]

mod refusal;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::Offer;
use super::checkout::Act;
use super::detail::Detail;
use super::event::{PauseReason, StopReason};
use super::handoff::Since;
use super::id::{AccountName, AgentName, AskId, NetworkName, RunnerName, WorkId};
use super::input::Clock;
use super::outcome::Category;
use super::promotion::Hold;
use super::review::Change;
use super::spec::{Permissions, Runtime};
use super::time::Timestamp;
use super::usage::{Cap, Unit};
use super::verdict::Lapse;
use super::watch::{Answer, Mark, Why};
use super::work::{TaskEnd, WorkKind};
use super::workspace::Workspace;

pub use refusal::Refusal;

/// The audience of a notice: a kind of channel, which each network resolves to one of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Audience {
    /// The agent's channel on every network.
    Agent,
    /// `#alerts` on every network.
    Alerts,
    /// `#work` on every network.
    Work,
    /// The control channel on every network.
    Control,
    /// Webhooks only, no channel.
    Hooks,
}

/// News of a machine that runs agents for this bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineNews {
    /// 🚨 It does not answer.
    Away,
    /// ▶️ It answers again, after this long.
    Back { away: Duration },
    /// It has joined.
    Joined,
    /// No session begins there any more; this many go on.
    Drained { sessions: u32 },
    /// Sessions begin there again.
    Opened,
    /// It was taken out.
    Removed,
    /// 🚨 Another machine has its name as well and is refused; the ids of both.
    Twin { first: String, second: String },
}

/// A message that herder posts by itself, or the reply to an accepted command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "kebab-case")]
pub enum Notice {
    // ── status posts (contract, sections 4 and 10) ──
    /// 🐜 A session started.
    Started { agent: AgentName, work: String },
    /// 📂 The state of the workspace before a session, if there are uncommitted changes.
    WorkspaceSeen { agent: AgentName, workspace: Workspace },
    /// ✅ A session completed.
    Completed { agent: AgentName, duration: Duration, turns: u32, cost_usd: f64 },
    /// ❌ A transient failure, crash or hang, with the countdown to the restart.
    Crashed { agent: AgentName, detail: Detail, restart_in: Duration },
    /// ⏳ The session met a rate limit; it is tried again after the countdown.
    RateLimited { agent: AgentName, resume_in: Duration },
    /// 🚫 The request itself was refused, or the process could not start; it is tried again after the countdown.
    Permanent { agent: AgentName, detail: Detail, restart_in: Duration },
    /// ❌ The context window was full during work that is no task; it is tried again after the countdown.
    Overflowed { agent: AgentName, detail: Detail, restart_in: Duration },
    /// 💳 The account cannot be billed; the agent is paused.
    Billing { agent: AgentName, account: AccountName },
    /// 🔐 The credentials were refused; the agent is paused.
    Auth { agent: AgentName },
    /// 💰 The runtime stopped at a dollar cap; the agent is paused.
    Budget { agent: AgentName },
    /// 💰 One of the agent's own caps is reached; the agent is paused.
    CapReached { agent: AgentName, cap: Cap, limit: f64, used: f64 },
    /// 💰 A part of one of the agent's own caps is used.
    CapNear { agent: AgentName, cap: Cap, limit: f64, used: f64, percent: u8 },
    /// ▶️ A person lets the agent continue past one of its own caps, up to the next limit.
    CapWaived { agent: AgentName, cap: Cap, limit: f64 },
    /// 💰 The agent uses far more in this hour than usual.
    Spiked { agent: AgentName, unit: Unit, used: f64, usual: f64 },
    /// 💰 The price of the agent's model is unknown. `assumed`: its tokens are counted at the highest price.
    PriceUnknown { agent: AgentName, model: String, assumed: bool },
    /// 🚨 A shared cap is reached: the account is closed, or all accounts are.
    SharedCapReached { account: Option<AccountName>, cap: Cap, limit: f64, used: f64 },
    /// 💰 A part of a shared cap is used.
    SharedCapNear { account: Option<AccountName>, cap: Cap, limit: f64, used: f64, percent: u8 },
    /// 💰 A person lets the agents continue past a shared cap, up to the next limit.
    SharedCapWaived { account: Option<AccountName>, cap: Cap, limit: f64 },
    /// 🚫 The process ended with exit code 2, which asks not to be restarted; the agent is paused.
    DoNotRestart { agent: AgentName, detail: Detail },
    /// 🔐💳💰 Paused because another agent of its account failed with this category.
    PausedWithAccount { agent: AgentName, account: AccountName, category: Category },
    /// 🚨 The alert, posted once, for an account whose agents are all paused.
    AccountBlocked { account: AccountName, category: Category, agent: AgentName },
    /// ▶️ The account is open again.
    AccountOpened { account: AccountName, by: String },
    /// ⏳ The agent's session ended at the usage limit of its account; its work is kept.
    QuotaReached { agent: AgentName, account: AccountName },
    /// ⏳ The one alert for an account whose usage limit is reached. The times tell when the limit ends, when one
    /// agent tries again by itself, and when people are asked whether one may; without the last two a person has to
    /// open it.
    AccountExhausted {
        account: AccountName,
        agent: AgentName,
        #[serde(default)]
        resets_at: Option<Timestamp>,
        #[serde(default)]
        probe_at: Option<Timestamp>,
        #[serde(default)]
        ask_at: Option<Timestamp>,
    },
    /// ⏳ The limit should have ended: people are asked whether agents of the account may continue.
    AccountAsked { account: AccountName, agent: AgentName },
    /// ▶️ A person lets one agent try whether its account works again.
    AccountTried { account: AccountName, agent: AgentName, by: String },
    /// 🕰️ The wall clock of herder's machine was set.
    ClockSet { ahead: bool, by: Duration },
    /// ▶️ An agent has shown that its account works again.
    AccountWorks { account: AccountName, agent: AgentName },
    /// ❌ The session took longer than its limit; the work is tried once more after the countdown.
    TimedOut { agent: AgentName, limit: Duration, restart_in: Duration },
    /// ❌ The session was ended because it ran out of memory; the work is tried once more after the countdown.
    OutOfMemory { agent: AgentName, detail: Detail, restart_in: Duration },
    /// ❌ The task was given up.
    TaskFailed { agent: AgentName, task: WorkId, detail: Detail },
    /// ❌ The agent reported that it cannot continue with its task without someone else.
    TaskBlocked { agent: AgentName, task: WorkId, detail: Detail },
    /// ❌ The clone of a task could not be made, read, checked, merged or removed.
    CheckoutFailed { agent: AgentName, task: WorkId, act: Act, why: Detail },
    /// ✅ The check of what the agent called done has succeeded.
    CheckPassed { agent: AgentName, task: WorkId, command: String, took: Duration, commit: String },
    /// ❌ The check of what the agent called done has failed; it goes back to the agent, or a person is called.
    CheckFailed { agent: AgentName, task: WorkId, command: String, took: Duration, why: Detail, again: bool },
    /// 👀 A task is done by its agent's account, and waits for a person to look at it.
    TaskInReview {
        agent: AgentName,
        task: WorkId,
        change: Change,
        checked: Option<String>,
        cost_usd: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reviewer: Option<AgentName>,
    },
    /// 🧑‍⚖️ A person is to decide about a task instead of the reviewing agent.
    ReviewLeft { agent: AgentName, task: WorkId, why: Detail },
    /// ✅ The work of a task is accepted; it is merged, or stays on its branch.
    TaskAccepted {
        agent: AgentName,
        task: WorkId,
        by: String,
        merges: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        proposes: bool,
    },
    /// 📤 A pull request for the work of a task is open.
    TaskProposed { agent: AgentName, task: WorkId, link: String },
    /// 👀 The work of a task goes back to its agent with a person's words.
    TaskRejected { agent: AgentName, task: WorkId, by: String },
    /// ✅ The work of a task is in the base.
    TaskLanded { agent: AgentName, task: WorkId, branch: String, commit: String },
    /// ❌ The work of a task goes back to its agent, as it does not fit what is in the base by now, or is not committed.
    TaskReturned { agent: AgentName, task: WorkId, why: Detail },
    /// The agent's channel: its messages belong to this task from now on.
    TaskOpened { agent: AgentName, task: WorkId },
    /// The clone of a task is being removed.
    TaskDropping { agent: AgentName, task: WorkId },
    /// 👀 A task from the board is in the agent's queue.
    TaskTaken { agent: AgentName, task: WorkId, work: String },
    /// A task waited too long for an agent that cannot continue; it is on the board for another one.
    TaskReleased { agent: AgentName, task: WorkId },
    /// ❌ A task did not fit into one context window: it is being split.
    TaskSplitting { agent: AgentName, task: WorkId },
    /// 🚫 A task needs more permissions than its agent has; it is on the board for one with at least these.
    TaskNeedsMore { agent: AgentName, task: WorkId, permissions: Permissions },
    /// 🧱 A part of a task failed: the whole task cannot be done without a person.
    PartFailed { task: WorkId, part: WorkId, end: TaskEnd },
    /// A task did not become done that another one waits for.
    AwaitedNotDone { task: WorkId, awaited: WorkId, end: TaskEnd },
    /// A new task waits on the board until others are done.
    TaskWaits { task: WorkId, after: Vec<WorkId>, to: Option<AgentName>, fits: bool },
    /// 🧱 No existing agent meets the needs of a task on the board any more.
    NobodySuffices { task: WorkId, needs: String },
    /// The evaluator whispered a finding to the agent; only webhooks get this notice. `times` counts findings in a row.
    Spiraling { agent: AgentName, work: String, times: u32 },
    /// 🚨 The agent makes no progress and is paused: a person is called. `reminder` counts from 0; `untold`: the last
    /// whisper was not delivered.
    Escalated {
        agent: AgentName,
        id: WorkId,
        work: String,
        why: Why,
        times: u32,
        reminder: u32,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untold: bool,
    },
    /// A person's answer to a call.
    EscalationAnswered { agent: AgentName, id: WorkId, answer: Answer, by: String },
    /// A person acknowledged a call and takes care of it.
    EscalationAcked { agent: AgentName, id: WorkId, by: String },
    /// An operator marked a whisper of the evaluator.
    WhisperMarked { agent: AgentName, id: WorkId, mark: Mark },
    /// ⚠️ Evaluations of an agent failed several times in a row.
    EvaluatorLapsed { agent: AgentName, times: u32, lapse: Lapse },
    /// 🔔 The agent calls for people's attention, in its own words.
    Notified { agent: AgentName, detail: Detail },
    /// ❌ A time limit of the session ran out, with the evidence; the interrupt follows.
    ClockRanOut { agent: AgentName, clock: Clock, evidence: Detail },
    /// ⚙️ A permission request was denied without asking a person.
    PermissionDenied { agent: AgentName, what: String },
    /// ⚙️ The agent asks for a permission: the exact command, and the reason why it is always asked.
    PermissionAsked {
        agent: AgentName,
        ask: AskId,
        tool: String,
        command: String,
        cut: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
        danger: Option<String>,
        within: Duration,
    },
    /// ❓ The agent asks a question.
    QuestionAsked {
        agent: AgentName,
        ask: AskId,
        text: String,
        within: Duration,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<Offer>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        several: bool,
    },
    /// 📋 The agent asks whether it may carry out its plan; the plan itself is posted before this.
    PlanAsked { agent: AgentName, ask: AskId, within: Duration },
    /// 🔔 A question is still open.
    AskOpen { agent: AgentName, ask: AskId, text: String, question: bool, within: Duration },
    /// ✅❌🔁 A permission request was answered.
    PermissionAnswered {
        agent: AgentName,
        ask: AskId,
        allowed: bool,
        always: bool,
        by: String,
        network: NetworkName,
    },
    /// ✅ A question was answered.
    QuestionAnswered { agent: AgentName, ask: AskId, text: String, by: String, network: NetworkName },
    /// ⌛ A question was not answered in time.
    AskExpired { agent: AgentName, ask: AskId, question: bool },
    /// 🧯 The breaker opened after too many failures: no session starts until a person resumes the agent.
    NeedsIntervention {
        agent: AgentName,
        failures: u32,
        window: Duration,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trial: bool,
        #[serde(default, skip_serializing_if = "Detail::is_empty")]
        detail: Detail,
    },
    /// ✅ The breaker's trial session succeeded, so that the breaker closed.
    BreakerClosed { agent: AgentName },
    /// 🧯 The agent is degraded after too many process crashes: no session starts until a person resumes it.
    Degraded { agent: AgentName, crashes: u32, window: Duration },
    /// 🧯 Processes of the session could not be ended.
    Survivors { agent: AgentName, pids: Vec<u32> },
    /// ❌ The agent's supervisor panicked and was rebuilt.
    SupervisorPanicked { agent: AgentName, restart_in: Duration },
    /// 🧯 The agent's supervisor panicked repeatedly and is given up.
    SupervisorGaveUp { agent: AgentName, reason: String },
    /// ⏸️ The agent is paused, at once or after the session that was running.
    Paused { agent: AgentName },
    /// A restart of herder cut the session; it is tried again.
    Interrupted { agent: AgentName },
    /// The agent's conversation cannot be resumed; the next one starts with the last exchanges.
    ConversationLost { agent: AgentName, why: Detail },
    /// A line for machines and people in `#work`: `FAIL <task> timeout`. Never translated.
    WorkLine { line: String },

    // ── answers to accepted commands ──
    /// ⏸️ The agent will pause after the current session.
    Pausing { agent: AgentName },
    /// ⏸️ The agent's conversation with the line that takes it up in a terminal; the agent is paused for it.
    HandedOff { agent: AgentName, conversation: String, line: String, since: Since },
    /// ▶️ The agent resumes. `trial`: with the one session that the half-open breaker allows.
    Resuming { agent: AgentName, trial: bool },
    /// The session is being stopped, for this reason.
    Stopping { agent: AgentName, reason: StopReason },
    /// A session that was stopped has ended, with the number of its processes that were ended and of those that are
    /// left.
    Ended { agent: AgentName, ended: u32, left: u32 },
    /// The agent's counters were reset, and a new session in a clean conversation follows.
    Restarting { agent: AgentName },
    /// The agent's work was discarded; no session was running.
    Aborted { agent: AgentName, work: String },
    /// 👀 Work was accepted and started at once.
    Accepted { agent: AgentName, work: WorkId, kind: WorkKind },
    /// 👀 Work was queued, at a position counted from 1.
    Queued { agent: AgentName, work: WorkId, kind: WorkKind, position: u32 },
    /// 👀 Work was queued while the agent cannot continue, with the reason.
    QueuedWhilePaused { agent: AgentName, work: WorkId, kind: WorkKind, position: u32, why: Halt },
    /// The message is being written into the running turn.
    Steering { agent: AgentName, work: WorkId },
    /// The text of waiting work was replaced.
    Reworded { agent: AgentName, work: String },
    /// Work that waited was taken back.
    Withdrawn { agent: AgentName, work: String },
    /// A whisper was accepted; its text is not repeated.
    Whispered { agent: AgentName },
    /// Waiting messages were dropped from the agent's queue.
    Cleared { agent: AgentName, count: u32 },
    /// A person ended a task.
    TaskEnded { agent: AgentName, task: WorkId, end: TaskEnd },
    /// A task is on the board. `fits`: some agent, idle or not, meets its needs.
    Boarded { task: WorkId, fits: bool },
    /// A task moves between agents and the board.
    TaskMoved { task: WorkId, from: Option<AgentName>, to: Option<AgentName> },
    /// A task was split into parts.
    TaskSplit { task: WorkId, parts: Vec<WorkId> },
    /// A task of the board was cancelled; `parts` is the number of its parts that are still being ended.
    BoardCancelled { task: WorkId, parts: u32 },
    /// The text of a task on the board was replaced.
    BoardReworded { task: WorkId, work: String },
    /// An always-allow rule was removed: its command is asked about again.
    RuleRemoved { agent: AgentName, rule: AskId, command: String },
    /// An agent was added.
    AgentAdded { agent: AgentName, runtime: Runtime },
    /// An agent's configuration was changed, from the next session on.
    AgentEdited {
        agent: AgentName,
        /// True if the next session starts a new conversation because of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// An agent was removed; its history is kept.
    AgentRemoved {
        agent: AgentName,
        /// Number of waiting messages and tasks that will not be done.
        #[serde(default, skip_serializing_if = "is_zero")]
        works: u32,
    },
    /// The configuration was read again: changes of agents, sections that apply now, and sections that apply from the
    /// next start.
    Reloaded {
        added: Vec<AgentName>,
        changed: Vec<AgentName>,
        restarted: Vec<AgentName>,
        removed: Vec<AgentName>,
        replaced: Vec<AgentName>,
        stayed: Vec<AgentName>,
        failed: Vec<AgentName>,
        sections: Vec<String>,
        later: Vec<String>,
    },
    /// All agents were stopped; `processes` are left.
    StoppedAll { agents: u32, processes: u32 },
    /// The same, but machines that do not answer have sessions of these agents; each ends once its machine is heard.
    StoppedAllHeard { agents: u32, processes: u32, unheard: Vec<AgentName> },
    /// A Discord user and the owner of a services account were linked as one person.
    Linked { name: String, user: String, account: String, network: NetworkName },
    /// Links of accounts were undone.
    Unlinked { count: u32 },
    /// Stands in for a stored reply that is too long to be kept over a restart: the command was carried out.
    AnswerTooLong,

    // ── herder itself ──
    /// herder runs again, after it was down from `from` to `to`.
    Away { from: Timestamp, to: Timestamp },
    /// herder was away for this long, and this many sessions went on meanwhile.
    WentOn { away: Duration, sessions: u32 },
    /// 🚨 The process that runs the agents does not answer.
    RunnerAway,
    /// ▶️ It answers again, after this long.
    RunnerBack { away: Duration },
    /// Something about a machine that runs agents for this bot.
    Machine { runner: RunnerName, news: MachineNews },
    /// These people spoke in a channel before messages there were treated as new.
    TooEarly { nicks: Vec<String> },
    /// A backlog of posts was collapsed: `count` of them are not posted one by one.
    Collapsed { agent: Option<AgentName>, count: u32 },
    /// A network has failed `attempts` times; posted on the others.
    NetworkDown { network: NetworkName, attempts: u32, reason: Detail },
    /// A network is connected again, after `down_for`.
    NetworkUp { network: NetworkName, down_for: Duration },
    /// A network is given up for good: wrong password or ban.
    NetworkRefused { network: NetworkName, reason: Detail },
    /// 🚨 The services of a network refuse the password; herder continues there without their account.
    NickservRefused { network: NetworkName, reason: Detail },
    /// 🚨 A webhook refuses an event, which is dropped. It is not posted again until the webhook accepts one.
    WebhookDropped { webhook: NetworkName, attempts: u32, reason: Detail },
    /// A channel cannot be joined.
    ChannelUnavailable { network: NetworkName, channel: String, reason: Detail },
    /// A network does not let herder set the topic of this channel, and perhaps of others.
    TopicDenied { network: NetworkName, channel: String },
    /// 💬 A command given on another network, mirrored here.
    Mirrored { by: String, network: NetworkName, text: String },
    /// 🚨 A network denies herder a permission that it needs, everywhere or in one channel. The permission is named as
    /// `manage-channels`.
    PermissionMissing { network: NetworkName, permission: String, channel: Option<String> },
    /// 🚨 The bot is not a member of its Discord server, or not any more; the link invites it.
    NotInvited { network: NetworkName, invite: String },
    /// 🚨 A network refuses herder's commands: the bot was invited without the right to have any. The link grants it.
    CommandsRefused { network: NetworkName, invite: String },
    /// 🚨 A network has no room for more channels.
    ChannelsFull { network: NetworkName, missing: u32, max: u32 },
    /// Lines that a known operator missed in a netsplit follow.
    Netsplit { nick: String, count: u32 },
    /// No person is configured, so that no command can be given.
    NobodyConfigured,
    /// The journal cannot be written: agents are being stopped, herder ends.
    StorageFailed { reason: String },
    /// The disk has little space left.
    DiskLow { free_bytes: u64 },
    /// 🚨 Archives or the daily export are skipped: the disk has no room for them.
    UpkeepLeftOut { needed_bytes: u64, free_bytes: u64 },
    /// 🚨 Old entries cannot be archived, or the daily export cannot be written; it is tried again.
    UpkeepFailed { reason: String },
    /// Acknowledged revisions are missing from the journal.
    RevisionsMissing { stream: String, expected: u64, found: u64 },
    /// 🚨 Archives with these events do not belong to the database, which ends at event `ends`: an older or another
    /// one was restored. They are kept in a folder of their own.
    ArchivesAside { folder: String, first: u64, last: u64, ends: u64 },
    /// 🚨 Events are in no readable archive.
    EventsMissing { events: String },
    /// 🚨 Entries of the fleet and pending posts cannot be read by this version of herder; they are kept for one that
    /// can.
    EntriesUnreadable { events: u64, posts: u64, version: Option<String> },
    /// 🚫 The configuration was to be read again but has `count` mistakes, of which the first are listed. Nothing
    /// changed.
    NotReloaded { problems: Vec<String>, count: u32 },
    /// herder shuts down on purpose.
    ShuttingDown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Notice {
    /// Returns true if, as an alert, the notice needs a person's attention. A notice that something ended or is taken
    /// care of does not.
    #[must_use]
    pub fn calls_people(&self) -> bool {
        !matches!(
            self,
            Self::EscalationAnswered { .. }
                | Self::EscalationAcked { .. }
                | Self::AccountOpened { .. }
                | Self::AccountTried { .. }
                | Self::AccountWorks { .. }
                | Self::SharedCapWaived { .. }
                | Self::CapWaived { .. }
                | Self::NetworkUp { .. }
                | Self::Collapsed { .. }
                | Self::Away { .. }
                | Self::WentOn { .. }
                | Self::RunnerBack { .. }
                | Self::Machine { news: MachineNews::Back { .. } | MachineNews::Joined, .. }
        )
    }

    /// Returns true if the notice only confirms that a message was accepted and is worked on now or soon.
    #[must_use]
    pub fn is_taken_up(&self) -> bool {
        match self {
            Self::Accepted { kind, .. } | Self::Queued { kind, .. } => *kind == WorkKind::Message,
            Self::Steering { .. } => true,
            _ => false,
        }
    }

    /// Returns the agent that the notice calls a person for: the agent is halted until a person resumes it.
    #[must_use]
    pub fn calls_for(&self) -> Option<&AgentName> {
        match self {
            Self::Billing { agent, .. }
            | Self::Auth { agent }
            | Self::Budget { agent }
            | Self::DoNotRestart { agent, .. }
            | Self::PausedWithAccount { agent, .. }
            | Self::AccountBlocked { agent, .. }
            | Self::AccountExhausted { agent, probe_at: None, ask_at: None, .. }
            | Self::AccountAsked { agent, .. }
            | Self::NeedsIntervention { agent, .. }
            | Self::Degraded { agent, .. }
            | Self::Survivors { agent, .. }
            | Self::Escalated { agent, .. }
            | Self::Paused { agent } => Some(agent),
            _ => None,
        }
    }
}

/// Reason why an agent does not start work now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Halt {
    /// The agent is paused, for this reason.
    Paused(PauseReason),
    /// The circuit breaker is open.
    NeedsIntervention,
    /// The agent is degraded: too many process crashes.
    Degraded,
    /// A countdown runs until this time.
    Waiting(Timestamp),
    /// The agent may not start: no place at work is free, or its account is closed.
    Held(Hold),
}
