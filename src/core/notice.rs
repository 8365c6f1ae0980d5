//! What herder says, as typed values: language, splitting and markup are the edge's business.
//!
//! Every variant has a message of the same name in `locales/`; `l10n` maps fields to variables, one function for all.
#![expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ask::{AskEnd, Offer};
use super::detail::Detail;
use super::event::{PauseReason, StopReason};
use super::id::{AccountName, AgentName, AskId, NetworkName, WorkId};
use super::input::Clock;
use super::outcome::Category;
use super::promotion::Hold;
use super::spec::{Permissions, Runtime};
use super::time::Timestamp;
use super::usage::{Cap, Unit};
use super::verdict::Lapse;
use super::watch::{Answer, Mark, Why};
use super::work::{TaskEnd, WorkKind};
use super::workspace::Workspace;

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
    /// Programs outside alone, and no channel.
    Hooks,
}

/// Something herder says on its own account, or in answer to an accepted command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "kebab-case")]
pub enum Notice {
    // ── status posts (contract, sections 4 and 10) ──
    /// 🐜 A session started.
    Started { agent: AgentName, work: String },
    /// 📂 How the workspace stands before a session, where there is something to say of it.
    WorkspaceSeen { agent: AgentName, workspace: Workspace },
    /// ✅ A session completed.
    Completed { agent: AgentName, duration: Duration, turns: u32, cost_usd: f64 },
    /// ❌ Transient failure, crash or hang, with the countdown to the restart.
    Crashed { agent: AgentName, detail: Detail, restart_in: Duration },
    /// ⏳ Rate limited, with the countdown.
    RateLimited { agent: AgentName, resume_in: Duration },
    /// 🚫 Permanent error, with the countdown.
    Permanent { agent: AgentName, detail: Detail, restart_in: Duration },
    /// ❌ The context window was full, and what was worked on is no task; with the countdown.
    Overflowed { agent: AgentName, detail: Detail, restart_in: Duration },
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
    DoNotRestart { agent: AgentName, detail: Detail },
    /// 🔐💳💰 Paused because another agent of its account failed so.
    PausedWithAccount { agent: AgentName, account: AccountName, category: Category },
    /// 🚨 The one alert for an account whose agents are paused.
    AccountBlocked { account: AccountName, category: Category, agent: AgentName },
    /// ▶️ The account is open again.
    AccountOpened { account: AccountName, by: String },
    /// ⏳ Its session ended at the usage limit of its account; its work is kept.
    QuotaReached { agent: AgentName, account: AccountName },
    /// ⏳ The one alert for an account whose usage limit is reached, and how it goes on: when the limit ends, when one agent
    /// tries again by itself, when people are asked whether one may; none of the last two: when a person says so.
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
    /// ⏳ The limit should be over: may the agents of the account go on?
    AccountAsked { account: AccountName, agent: AgentName },
    /// ▶️ A person lets an agent show whether its account works again.
    AccountTried { account: AccountName, agent: AgentName, by: String },
    /// 🕰️ The wall clock of herder's machine was set by so much.
    ClockSet { ahead: bool, by: Duration },
    /// ▶️ An agent has shown that its account works again.
    AccountWorks { account: AccountName, agent: AgentName },
    /// ❌ Longer than its limit; the work is tried once more after the countdown.
    TimedOut { agent: AgentName, limit: Duration, restart_in: Duration },
    /// ❌ The task was given up.
    TaskFailed { agent: AgentName, task: WorkId, detail: Detail },
    /// ❌ The agent says that it cannot go on with its task without somebody else.
    TaskBlocked { agent: AgentName, task: WorkId, detail: Detail },
    /// 👀 A task of the board is in the agent's queue.
    TaskTaken { agent: AgentName, task: WorkId, work: String },
    /// A task has waited for too long with an agent that cannot go on: it is on the board for another one.
    TaskReleased { agent: AgentName, task: WorkId },
    /// ❌ A task did not fit into one context window: it is being split.
    TaskSplitting { agent: AgentName, task: WorkId },
    /// 🚫 A task needs more than its agent may do: it is on the board for one that may do at least this.
    TaskNeedsMore { agent: AgentName, task: WorkId, permissions: Permissions },
    /// 🧱 A part of a task went wrong: the whole cannot be done without a person.
    PartFailed { task: WorkId, part: WorkId, end: TaskEnd },
    /// 🧱 No agent that there is suffices for a task of the board, any more.
    NobodySuffices { task: WorkId, needs: String },
    /// It goes the wrong way, and was told so in private: for programs alone. `times` counts findings in a row.
    Spiraling { agent: AgentName, work: String, times: u32 },
    /// 🚨 It cannot get further by itself and is paused: a person is called. `reminder` counts from 0; `untold`: what it was
    /// told has not reached it.
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
    /// What a person answered to that.
    EscalationAnswered { agent: AgentName, id: WorkId, answer: Answer, by: String },
    /// A person has seen it and takes care of it.
    EscalationAcked { agent: AgentName, id: WorkId, by: String },
    /// An operator said whether a whisper of the evaluator was called for.
    WhisperMarked { agent: AgentName, id: WorkId, mark: Mark },
    /// ⚠️ The evaluator has not judged an agent so many times in a row.
    EvaluatorLapsed { agent: AgentName, times: u32, lapse: Lapse },
    /// 🔔 The agent calls for people's attention, in its own words.
    Notified { agent: AgentName, detail: Detail },
    /// ❌ A clock ran out: which, with the evidence; the interrupt follows.
    ClockRanOut { agent: AgentName, clock: Clock, evidence: Detail },
    /// ⚙️ It asked for permission and was told no without anybody being asked.
    PermissionDenied { agent: AgentName, what: String },
    /// ⚙️ It asks for permission: for what exactly, and why it is asked whatever else was said.
    PermissionAsked {
        agent: AgentName,
        ask: AskId,
        tool: String,
        command: String,
        cut: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
        danger: Option<String>,
        within: Duration,
    },
    /// ❓ It asks a question.
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
    /// 📋 It asks whether it may carry out what it plans; the plan itself is said before.
    PlanAsked { agent: AgentName, ask: AskId, within: Duration },
    /// 🔔 Nobody has answered for a while.
    AskOpen { agent: AgentName, ask: AskId, text: String, question: bool, within: Duration },
    /// ✅❌🔁 A request for permission was answered.
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
    /// ⌛ Nobody answered in time.
    AskExpired { agent: AgentName, ask: AskId, question: bool },
    /// 🧯 The breaker opened.
    NeedsIntervention {
        agent: AgentName,
        failures: u32,
        window: Duration,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        trial: bool,
        #[serde(default, skip_serializing_if = "Detail::is_empty")]
        detail: Detail,
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
    /// Its conversation cannot be gone on with: the next one begins with what was said last.
    ConversationLost { agent: AgentName, why: Detail },
    /// A line for machines and people in `#work`: `FAIL <task> timeout`. Never translated.
    WorkLine { line: String },

    // ── answers to accepted commands ──
    /// ⏸️ Will pause after the current session.
    Pausing { agent: AgentName },
    /// ▶️ Resuming.
    Resuming { agent: AgentName, trial: bool },
    /// Stopping for this reason.
    Stopping { agent: AgentName, reason: StopReason },
    /// A session that somebody wanted ended is over: how many of its processes were ended, how many are left.
    Ended { agent: AgentName, ended: u32, left: u32 },
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
    /// A task is on the board. `fits`: there is an agent that suffices, idle or not.
    Boarded { task: WorkId, fits: bool },
    /// A task goes from an agent or the board to an agent or the board.
    TaskMoved { task: WorkId, from: Option<AgentName>, to: Option<AgentName> },
    /// A task is done in parts from now on.
    TaskSplit { task: WorkId, parts: Vec<WorkId> },
    /// A task of the board is cancelled; so many of its parts are being ended with it.
    BoardCancelled { task: WorkId, parts: u32 },
    /// A task of the board has other words.
    BoardReworded { task: WorkId, work: String },
    /// What was allowed for good is asked again.
    RuleRemoved { agent: AgentName, rule: AskId, command: String },
    /// Agent added.
    AgentAdded { agent: AgentName, runtime: Runtime },
    /// Agent changed; from the next session on.
    AgentEdited {
        agent: AgentName,
        /// Whether the next session begins a conversation of its own because of it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        anew: bool,
    },
    /// Agent removed; its history is kept.
    AgentRemoved {
        agent: AgentName,
        /// Messages and tasks that waited and will not be done.
        #[serde(default, skip_serializing_if = "is_zero")]
        works: u32,
    },
    /// The configuration was read again: what changed of the agents, which sections count from now on, and which from the
    /// next start on.
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
    /// Everything stopped: how many processes are left.
    StoppedAll { agents: u32, processes: u32 },
    /// A Discord user and the owner of an account are one person from now on.
    Linked { name: String, user: String, account: String, network: NetworkName },
    /// So many such ties are undone.
    Unlinked { count: u32 },
    /// In place of an answer that is too long to outlast herder: what was asked was done.
    AnswerTooLong,

    // ── herder itself ──
    /// herder is back after being away.
    Away { from: Timestamp, to: Timestamp },
    /// These people spoke in a channel before what is said there was taken for new.
    TooEarly { nicks: Vec<String> },
    /// A backlog was collapsed.
    Collapsed { agent: Option<AgentName>, count: u32 },
    /// A network has failed `attempts` times; said on the others.
    NetworkDown { network: NetworkName, attempts: u32, reason: Detail },
    /// A network is back.
    NetworkUp { network: NetworkName, down_for: Duration },
    /// A network is given up for good: bad password, ban.
    NetworkRefused { network: NetworkName, reason: Detail },
    /// 🚨 The services of a network do not take the password that they were told; herder goes on there without their account.
    NickservRefused { network: NetworkName, reason: Detail },
    /// 🚨 A webhook refuses an event, which is given up. Not said again before it takes one.
    WebhookDropped { webhook: NetworkName, attempts: u32, reason: Detail },
    /// A channel cannot be joined.
    ChannelUnavailable { network: NetworkName, channel: String, reason: Detail },
    /// A network does not let herder set the topic of this channel, and maybe of others.
    TopicDenied { network: NetworkName, channel: String },
    /// 💬 What somebody asked for on another network.
    Mirrored { by: String, network: NetworkName, text: String },
    /// 🚨 A network does not let herder do something that it needs to do; everywhere, or in one channel. The permission is
    /// named as `manage-channels`.
    PermissionMissing { network: NetworkName, permission: String, channel: Option<String> },
    /// 🚨 herder is not in its server on a network, or not any more; the link lets it in.
    NotInvited { network: NetworkName, invite: String },
    /// 🚨 A network takes herder's commands no more: it was let in without the right to have any. The link gives it that.
    CommandsRefused { network: NetworkName, invite: String },
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
    /// 🚨 Archives or the daily export are left out: the disk has no room for them.
    UpkeepLeftOut { needed_bytes: u64, free_bytes: u64 },
    /// 🚨 Old entries cannot be archived, or the daily export not be written; it is tried again.
    UpkeepFailed { reason: String },
    /// Acknowledged revisions are missing from the journal.
    RevisionsMissing { stream: String, expected: u64, found: u64 },
    /// 🚨 Archives with these events are not of the database, which ends at event `ends`: an older or another one was put back. They are
    /// kept in a folder of their own.
    ArchivesAside { folder: String, first: u64, last: u64, ends: u64 },
    /// 🚨 Events are in no archive any more, or in none that can be read.
    EventsMissing { events: String },
    /// 🚨 Entries of the fleet and posts that are owed cannot be read by this version of herder; they are kept for one that can.
    EntriesUnreadable { events: u64, posts: u64, version: Option<String> },
    /// 🚫 The configuration was to be read again and has mistakes: the first of so many. Nothing changed.
    NotReloaded { problems: Vec<String>, count: u32 },
    /// herder is going down on purpose.
    ShuttingDown,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Notice {
    /// Whether somebody has to see it where it is an alert. That something is over, or taken care of, is none.
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
        )
    }

    /// Whether it says no more than that a message was heard, and is worked on now or soon.
    #[must_use]
    pub fn is_taken_up(&self) -> bool {
        match self {
            Self::Accepted { kind, .. } | Self::Queued { kind, .. } => *kind == WorkKind::Message,
            Self::Steering { .. } => true,
            _ => false,
        }
    }

    /// The agent that it calls somebody for: it stands still until a person lets it go on.
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
    /// It is not its turn.
    Held(Hold),
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
    /// The agent works on the task: it can be neither moved nor split.
    TaskRunning { agent: AgentName, task: WorkId },
    /// The task is on its way between the board and an agent.
    TaskMoving { task: WorkId },
    /// The agent's supervisor is given up: nothing of it changes before herder is started again.
    Deserted { agent: AgentName },
    /// The task is in that agent's queue already.
    TaskKept { agent: AgentName, task: WorkId },
    /// The task is split: its parts can be moved, and split, not itself.
    TaskIsSplit { task: WorkId },
    /// A task is split into two parts at least and so many at most, none of them empty.
    SplitParts { task: WorkId, parts: u32, max: u32 },
    /// A part of a part is not split.
    SplitTooDeep { task: WorkId, max: u32 },
    /// The board is full.
    BoardFull { max: u32 },
    /// The agent has the work already.
    WorkRunning { agent: AgentName },
    /// The agent is through with the work.
    WorkOver { agent: AgentName },
    /// The call for a person was answered by somebody else before.
    EscalationAnswered { agent: AgentName, id: WorkId, answer: Answer, by: String, at: Timestamp },
    /// The same, and what the agent does since then would be ended by an `abort` that may have been meant for the call.
    LateAbort { agent: AgentName, id: WorkId, answer: Answer, by: String },
    /// Somebody else has seen it before.
    AlreadyAcked { agent: AgentName, id: WorkId, by: String },
    /// No person is called for this agent.
    NoEscalation { agent: AgentName },
    /// The evaluator has said nothing of this number.
    NoSuchWhisper { agent: AgentName, id: WorkId },
    /// Nothing that the evaluator has to do with has this number, with any agent.
    NoSuchNumber { id: WorkId },
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
    /// No such question, or one that is forgotten.
    NoSuchAsk { ask: AskId },
    /// The question is over: how, and when.
    AskOver { ask: AskId, end: AskEnd, at: Timestamp },
    /// The question wants words, or does not.
    WrongAnswer { agent: AgentName, ask: AskId, question: bool },
    /// Nothing that such an answer could be for is open: of this agent, or of any.
    NothingAsked { agent: Option<AgentName> },
    /// An answer could be for any of these.
    SeveralAsked { asks: Vec<AskId> },
    /// None of the answers that a question offers, or more of them than may be chosen.
    NoSuchOffer { agent: AgentName, ask: AskId, offers: u32, several: bool },
    /// What was cut cannot be allowed for good, and only so many rules are kept: why.
    NoRule {
        agent: AgentName,
        ask: AskId,
        cut: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hidden: bool,
    },
    /// No such rule.
    NoSuchRule { rule: AskId },
    /// As many questions are open as can be.
    TooManyAsks { agent: AgentName, max: u32 },
    /// The session that asks is over.
    NoSession { agent: AgentName },
    /// A text is too long for one piece of work.
    WorkTooLong { bytes: u64, max: u64 },
    /// A text is too long for a whisper.
    WhisperTooLong { bytes: u64, max: u64 },
    /// An agent is not renamed.
    NameKept { agent: AgentName, name: AgentName },
    /// Somebody else, or the configuration, has changed it since it was looked at.
    EditedMeanwhile { agent: AgentName },
    /// What is known of an agent of this name cannot be read.
    HistoryUnreadable { agent: AgentName, said: String },
    /// The journal does not take it.
    NotRecorded { said: String },
    /// The configuration has mistakes: the first of so many.
    NotReloaded { problems: Vec<String>, count: u32 },
    /// herder was started without a configuration file.
    NoConfiguration,
    /// herder goes down; the next start does what it was asked.
    GoingDown,
    /// herder goes down and takes nothing in any more.
    Closing,
    /// The value given is not usable; what, and what would be: as older journals have it.
    Invalid { what: String, why: String },
}
