//! What herder says, as typed values: language, splitting and markup are the edge's business.
//!
//! Every variant has a message of the same name in `locales/`; `l10n` maps fields to variables, one function for all.
#![expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::{PauseReason, StopReason};
use super::id::{AccountName, AgentName, NetworkName, WorkId};
use super::input::Clock;
use super::outcome::Category;
use super::spec::Runtime;
use super::time::Timestamp;
use super::usage::{Cap, Unit};
use super::work::{TaskEnd, WorkKind};

/// Who a notice is for, before networks are known.
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
}

/// Something herder says on its own account, or in answer to an accepted command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "kebab-case")]
pub enum Notice {
    // ── status posts (contract, sections 4 and 10) ──
    /// 🐜 A session started.
    Started { agent: AgentName, work: String },
    /// ✅ A session completed.
    Completed { agent: AgentName, duration: Duration, turns: u32, cost_usd: f64 },
    /// ❌ Transient failure, crash or hang, with the countdown to the restart.
    Crashed { agent: AgentName, detail: String, restart_in: Duration },
    /// ⏳ Rate limited, with the countdown.
    RateLimited { agent: AgentName, resume_in: Duration },
    /// 🚫 Permanent error, with the countdown.
    Permanent { agent: AgentName, detail: String, restart_in: Duration },
    /// 💳 Billing error; paused.
    Billing { agent: AgentName, account: AccountName },
    /// 🔐 Authentication failed; paused.
    Auth { agent: AgentName },
    /// 💰 Budget cap; paused.
    Budget { agent: AgentName },
    /// 💰 One of its own caps is reached; paused.
    CapReached { agent: AgentName, cap: Cap, limit: f64, used: f64 },
    /// 💰 A part of one of its own caps is used.
    CapNear { agent: AgentName, cap: Cap, limit: f64, used: f64, percent: u8 },
    /// ▶️ A person lets it go on past one of its own caps, up to the next limit.
    CapWaived { agent: AgentName, cap: Cap, limit: f64 },
    /// 💰 It uses far more than usual.
    Spiked { agent: AgentName, unit: Unit, used: f64, usual: f64 },
    /// 💰 Nobody says what its model costs.
    PriceUnknown { agent: AgentName, model: String, assumed: bool },
    /// 🚨 What agents use together has reached a cap: their account is closed, or all are.
    SharedCapReached { account: Option<AccountName>, cap: Cap, limit: f64, used: f64 },
    /// 💰 A part of what agents may use together is used.
    SharedCapNear { account: Option<AccountName>, cap: Cap, limit: f64, used: f64, percent: u8 },
    /// 💰 A person lets them go on past it, up to the next limit.
    SharedCapWaived { account: Option<AccountName>, cap: Cap, limit: f64 },
    /// 🚫 Exit code 2; paused.
    DoNotRestart { agent: AgentName, detail: String },
    /// 🔐💳💰 Paused because another agent of its account failed so.
    PausedWithAccount { agent: AgentName, account: AccountName, category: Category },
    /// 🚨 The one alert for an account whose agents are paused.
    AccountBlocked { account: AccountName, category: Category, agent: AgentName },
    /// ▶️ The account is open again.
    AccountOpened { account: AccountName, by: String },
    /// ❌ Longer than its limit; the work is tried once more after the countdown.
    TimedOut { agent: AgentName, limit: Duration, restart_in: Duration },
    /// ❌ The task was given up.
    TaskFailed { agent: AgentName, task: WorkId, detail: String },
    /// ❌ The agent says that it cannot go on with its task without somebody else.
    TaskBlocked { agent: AgentName, task: WorkId, detail: String },
    /// 🔔 The agent calls for people's attention, in its own words.
    Notified { agent: AgentName, detail: String },
    /// ❌ A clock ran out: which, with the evidence; the interrupt follows.
    ClockRanOut { agent: AgentName, clock: Clock, evidence: String },
    /// ⚙️ It asked for permission and was told no, because nobody can be asked yet.
    PermissionDenied { agent: AgentName, what: String },
    /// 🧯 The breaker opened.
    NeedsIntervention {
        agent: AgentName,
        failures: u32,
        window: Duration,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trial: bool,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        detail: String,
    },
    /// ✅ The breaker's trial succeeded.
    BreakerClosed { agent: AgentName },
    /// 🧯 Degraded.
    Degraded { agent: AgentName, crashes: u32, window: Duration },
    /// 🧯 Processes could not be ended.
    Survivors { agent: AgentName, pids: Vec<u32> },
    /// ❌ The supervisor panicked and was rebuilt.
    SupervisorPanicked { agent: AgentName, restart_in: Duration },
    /// 🧯 The supervisor panics again and again and is given up.
    SupervisorGaveUp { agent: AgentName, reason: String },
    /// ⏸️ Paused now (after the session that was running, or at once).
    Paused { agent: AgentName },
    /// A restart of herder cut the session; it is tried again.
    Interrupted { agent: AgentName },
    /// A line for machines and people in `#work`: `FAIL <task> timeout`. Never translated.
    WorkLine { line: String },

    // ── answers to accepted commands ──
    /// ⏸️ Will pause after the current session.
    Pausing { agent: AgentName },
    /// ▶️ Resuming.
    Resuming { agent: AgentName, trial: bool },
    /// Stopping for this reason.
    Stopping { agent: AgentName, reason: StopReason },
    /// Counters reset, a clean session follows.
    Restarting { agent: AgentName },
    /// Work is discarded; nothing was running.
    Aborted { agent: AgentName, work: String },
    /// 👀 Work accepted and started at once.
    Accepted { agent: AgentName, work: WorkId, kind: WorkKind },
    /// 👀 Work queued, at a position counted from 1.
    Queued { agent: AgentName, work: WorkId, kind: WorkKind, position: u32 },
    /// 👀 Work queued while the agent cannot go on: why.
    QueuedWhilePaused { agent: AgentName, work: WorkId, kind: WorkKind, position: u32, why: Halt },
    /// The message is being put into the running turn.
    Steering { agent: AgentName, work: WorkId },
    /// Work that waits has other words.
    Reworded { agent: AgentName, work: String },
    /// Work that waited was taken back.
    Withdrawn { agent: AgentName, work: String },
    /// Words for the agent alone were taken; they are not repeated.
    Whispered { agent: AgentName },
    /// Messages dropped.
    Cleared { agent: AgentName, count: u32 },
    /// Task ended by a person.
    TaskEnded { agent: AgentName, task: WorkId, end: TaskEnd },
    /// Agent added.
    AgentAdded { agent: AgentName, runtime: Runtime },
    /// Agent changed; from the next session on.
    AgentEdited { agent: AgentName },
    /// Agent removed; its history is kept.
    AgentRemoved {
        agent: AgentName,
        /// Messages and tasks that waited and will not be done.
        #[serde(default, skip_serializing_if = "is_zero")]
        works: u32,
    },
    /// Everything stopped: how many processes are left.
    StoppedAll { agents: u32, processes: u32 },

    // ── herder itself ──
    /// herder is back after being away.
    Away { from: Timestamp, to: Timestamp },
    /// A backlog was collapsed.
    Collapsed { agent: Option<AgentName>, count: u32 },
    /// A network has failed `attempts` times; said on the others.
    NetworkDown { network: NetworkName, attempts: u32, reason: String },
    /// A network is back.
    NetworkUp { network: NetworkName, down_for: Duration },
    /// A network is given up for good: bad password, ban.
    NetworkRefused { network: NetworkName, reason: String },
    /// A channel cannot be joined.
    ChannelUnavailable { network: NetworkName, channel: String, reason: String },
    /// A network does not let herder set the topic of this channel, and maybe of others.
    TopicDenied { network: NetworkName, channel: String },
    /// 💬 What somebody asked for on another network.
    Mirrored { by: String, network: NetworkName, text: String },
    /// 🚨 A network does not let herder do something that it needs to do; everywhere, or in one channel. The permission is
    /// named as `manage-channels`.
    PermissionMissing { network: NetworkName, permission: String, channel: Option<String> },
    /// 🚨 A network has no room for more channels.
    ChannelsFull { network: NetworkName, missing: u32, max: u32 },
    /// Lines a known operator missed in a netsplit follow.
    Netsplit { nick: String, count: u32 },
    /// Nobody is configured, so nobody can command.
    NobodyConfigured,
    /// The journal cannot be written: agents are being stopped, herder ends.
    StorageFailed { reason: String },
    /// The disk is getting full.
    DiskLow { free_bytes: u64 },
    /// Acknowledged revisions are missing from the journal.
    RevisionsMissing { stream: String, expected: u64, found: u64 },
    /// herder is going down on purpose.
    ShuttingDown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Why an agent does not take up work now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Halt {
    /// Paused.
    Paused(PauseReason),
    /// The breaker is open.
    NeedsIntervention,
    /// Degraded.
    Degraded,
    /// A countdown runs.
    Waiting(Timestamp),
}

/// A command that cannot be carried out as things are. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "kebab-case")]
pub enum Refusal {
    /// Already paused, or about to be; or halted for another reason than a person's, and why.
    AlreadyPaused {
        agent: AgentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Halt>,
    },
    /// Nothing to resume: it works, rests or waits for work.
    NotPaused { agent: AgentName },
    /// Nothing to abort.
    NothingRunning { agent: AgentName },
    /// The stop ladder already runs.
    AlreadyStopping { agent: AgentName },
    /// No such task in this agent.
    NoSuchTask { task: WorkId },
    /// The task is already over.
    TaskOver { task: WorkId, end: TaskEnd },
    /// The agent has the work already.
    WorkRunning { agent: AgentName },
    /// The agent is through with the work.
    WorkOver { agent: AgentName },
    /// The agent works on no task.
    NoTask { agent: AgentName },
    /// The queue is full.
    QueueFull { agent: AgentName, max: u32 },
    /// So many whispers wait already.
    WhispersFull { agent: AgentName, max: u32 },
    /// Nothing queued.
    QueueEmpty { agent: AgentName },
    /// No text.
    EmptyWork { agent: AgentName },
    /// The agent is being removed.
    Removed { agent: AgentName },
    /// Agent of this name exists.
    AgentExists { agent: AgentName },
    /// No agent of this name; the nearest one.
    NoSuchAgent { agent: String, nearest: Option<AgentName> },
    /// The supervisor or the journal failed while it was handled; logged with the cause.
    Fault { agent: AgentName },
    /// The value given is not usable; what, and what would be.
    Invalid { what: String, why: String },
}
