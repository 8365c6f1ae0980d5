//! Decisions that are not on disk yet.

use tokio::sync::oneshot;

use super::Answer;
use crate::clock;
use crate::core::effect::Effect;
use crate::core::event::Event;
use crate::core::id::AskId;
use crate::core::notice::Refusal;
use crate::core::post::Post;
use crate::core::time::Timestamp;
use crate::journal::{AuditEntry, LogContext, Memo};
use crate::supervisor::adopting::Decided;

/// The result of an agent's report on its task: accepted or refused.
type Reported = Result<(), Refusal>;
/// The number of a question that the agent asked, or the refusal.
type Numbered = Result<AskId, Refusal>;

/// The results of decisions that are not on disk yet: events, posts, effects and replies.
#[derive(Default)]
pub(super) struct Pending {
    /// Time at which all of these decisions are made and recorded; `None` before the first. One time for all makes a
    /// replay see the same.
    pub(super) at: Option<Timestamp>,
    pub(super) events: Vec<Event>,
    /// The agent's session before the first of these events, for the log.
    pub(super) about: Option<LogContext>,
    pub(super) audits: Vec<AuditEntry>,
    pub(super) posts: Vec<Post>,
    pub(super) memos: Vec<Memo>,
    pub(super) effects: Vec<Effect>,
    /// The reports of a session on a runner that these decisions follow from.
    pub(super) decided: Option<Box<Decided>>,
    pub(super) answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    /// Channels to agents that reported on their tasks, with the results.
    pub(super) reported: Vec<(oneshot::Sender<Reported>, Reported)>,
    pub(super) questions: Vec<(oneshot::Sender<Numbered>, Numbered)>,
}

impl Pending {
    /// Returns the time of these decisions: that of the first.
    pub(super) fn at(&mut self) -> Timestamp {
        *self.at.get_or_insert_with(clock::now)
    }
}
