//! Refusals of commands.
#![expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]

use serde::{Deserialize, Serialize};

use super::Halt;
use crate::ask::AskEnd;
use crate::id::{AgentName, AskId, WorkId};
use crate::time::Timestamp;
use crate::watch::Answer;
use crate::work::TaskEnd;
/// A command that cannot be carried out in the present state, with the reason. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "kebab-case")]
pub enum Refusal {
    /// The agent is paused already or about to be; or it is halted for another reason, `why`.
    AlreadyPaused {
        agent: AgentName,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Halt>,
    },
    /// The agent has no conversation that could be taken up.
    NoConversation { agent: AgentName },
    /// No line takes up the agent's conversation in a terminal; without an id its runtime keeps none.
    NoLine { agent: AgentName, conversation: Option<String> },
    /// There is nothing to resume: the agent works, rests or waits for work.
    NotPaused { agent: AgentName },
    /// There is no work to abort.
    NothingRunning { agent: AgentName },
    /// The session is being stopped already.
    AlreadyStopping { agent: AgentName },
    /// No task has this number.
    NoSuchTask { task: WorkId },
    /// No machine with this name has joined.
    NoRunner { runner: String },
    /// The task has already ended.
    TaskOver { task: WorkId, end: TaskEnd },
    /// The agent works on the task, which therefore can be neither moved nor split.
    TaskRunning { agent: AgentName, task: WorkId },
    /// The task has no clone of its own, or it is being made or removed.
    NoCheckout { task: WorkId },
    /// The task is in review, so that it can be neither moved nor split, and its clone is needed.
    InReview { agent: AgentName, task: WorkId },
    /// The task is not in review.
    NotInReview { task: WorkId },
    /// The task is the review of another one, which is neither moved nor changed.
    IsReview { task: WorkId },
    /// The agent works on the reviewed task again, because of a message.
    WorkedOn { agent: AgentName, task: WorkId },
    /// The clone of the task in review has changed since, and nothing has checked it.
    NotAsReviewed { agent: AgentName, task: WorkId },
    /// The task is accepted and is being merged.
    BeingMerged { task: WorkId, by: String },
    /// The work is accepted, and its pull request is open.
    PullOpen { task: WorkId, link: String },
    /// The task is on its way between the board and an agent.
    TaskMoving { task: WorkId },
    /// herder gave the agent's supervisor up after it failed: nothing of the agent changes until herder is restarted.
    Deserted { agent: AgentName },
    /// The task is in that agent's queue already.
    TaskKept { agent: AgentName, task: WorkId },
    /// The task is split: its parts can be moved and split, but not the task itself.
    TaskIsSplit { task: WorkId },
    /// The number of parts is wrong, or one is empty: a task is split into at least two and at most `max`.
    SplitParts { task: WorkId, parts: u32, max: u32 },
    /// A part of a part cannot be split.
    SplitTooDeep { task: WorkId, max: u32 },
    /// The task waits for parts that its agent has added.
    AwaitsParts { agent: AgentName, task: WorkId },
    /// The agent has no repository, so that the check of a task has no clone to run in.
    NothingToCheck { agent: AgentName },
    /// The board has its maximum number of open tasks, `max`.
    BoardFull { max: u32 },
    /// The agent works on the message or task already, which therefore cannot be changed.
    WorkRunning { agent: AgentName },
    /// The agent has finished the message or task already.
    WorkOver { agent: AgentName },
    /// Another person has answered the call before.
    EscalationAnswered { agent: AgentName, id: WorkId, answer: Answer, by: String, at: Timestamp },
    /// The `abort` may have been meant for a call that another person has answered, and would end the work that the
    /// agent has begun since then.
    LateAbort { agent: AgentName, id: WorkId, answer: Answer, by: String },
    /// Another person has acknowledged the call before.
    AlreadyAcked { agent: AgentName, id: WorkId, by: String },
    /// No call for a person is open for this agent.
    NoEscalation { agent: AgentName },
    /// No whisper of the evaluator has this number.
    NoSuchWhisper { agent: AgentName, id: WorkId },
    /// No call or whisper of any agent has this number.
    NoSuchNumber { id: WorkId },
    /// The agent has no task.
    NoTask { agent: AgentName },
    /// The agent's queue has its maximum number of works, `max`.
    QueueFull { agent: AgentName, max: u32 },
    /// The maximum number of whispers waits already.
    WhispersFull { agent: AgentName, max: u32 },
    /// No message is queued that could be dropped.
    QueueEmpty { agent: AgentName },
    /// The text of the given work is empty.
    EmptyWork { agent: AgentName },
    /// The agent is being removed.
    Removed { agent: AgentName },
    /// An agent of this name exists.
    AgentExists { agent: AgentName },
    /// No agent has this name; `nearest` is the most similar one.
    NoSuchAgent { agent: String, nearest: Option<AgentName> },
    /// The supervisor or the journal failed meanwhile; the cause is logged.
    Fault { agent: AgentName },
    /// No question has this number, or it is not kept any more.
    NoSuchAsk { ask: AskId },
    /// The question is over already; its outcome and the time are given.
    AskOver { ask: AskId, end: AskEnd, at: Timestamp },
    /// The kind of answer is wrong: the question needs words (`question` is true), or a yes or no.
    WrongAnswer { agent: AgentName, ask: AskId, question: bool },
    /// No open question, of this agent or of any, could be meant by the answer.
    NothingAsked { agent: Option<AgentName> },
    /// The answer could be for any of these questions.
    SeveralAsked { asks: Vec<AskId> },
    /// The answer names none of the offered answers, or more of them than may be chosen (`several`).
    NoSuchOffer { agent: AgentName, ask: AskId, offers: u32, several: bool },
    /// The command cannot be allowed for good, because it is cut or inexact (the flags say which), or because the agent
    /// has the maximum number of rules.
    NoRule {
        agent: AgentName,
        ask: AskId,
        cut: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hidden: bool,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// No rule has this number.
    NoSuchRule { rule: AskId },
    /// The agent has the maximum number of open questions, `max`.
    TooManyAsks { agent: AgentName, max: u32 },
    /// The session that wants to ask has ended.
    NoSession { agent: AgentName },
    /// The text is too long for one piece of work.
    WorkTooLong { bytes: u64, max: u64 },
    /// The text is too long for a whisper.
    WhisperTooLong { bytes: u64, max: u64 },
    /// The name of an agent cannot be changed.
    NameKept { agent: AgentName, name: AgentName },
    /// Another person, or the configuration, has changed the agent since it was looked at.
    EditedMeanwhile { agent: AgentName },
    /// The history of an earlier agent of this name cannot be read.
    HistoryUnreadable { agent: AgentName, said: String },
    /// The journal cannot record the command.
    NotRecorded { said: String },
    /// The configuration has `count` mistakes, of which the first are listed.
    NotReloaded { problems: Vec<String>, count: u32 },
    /// herder was started without a configuration file.
    NoConfiguration,
    /// herder shuts down; the next start carries the command out.
    GoingDown,
    /// herder shuts down and accepts no more commands.
    Closing,
    /// The given value cannot be used. Only in older journals.
    Invalid { what: String, why: String },
}
