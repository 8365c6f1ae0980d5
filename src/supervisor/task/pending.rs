//! What is decided and not yet on disk.

use tokio::sync::oneshot;

use super::Answer;
use crate::clock;
use crate::core::effect::Effect;
use crate::core::event::Event;
use crate::core::id::AskId;
use crate::core::notice::Refusal;
use crate::core::time::Timestamp;
use crate::journal::{AuditEntry, Memo};
use crate::outbox::Post;

/// What became of an agent's word on its task.
type Reported = Result<(), Refusal>;
/// The number of a question that was asked.
type Numbered = Result<AskId, Refusal>;

/// What a batch of inputs leads to, before it is on disk.
#[derive(Default)]
pub(super) struct Pending {
    /// When all of it is decided, applied and recorded: one time, so that a replay meets what was seen live.
    pub(super) at: Option<Timestamp>,
    pub(super) events: Vec<Event>,
    pub(super) audits: Vec<AuditEntry>,
    pub(super) posts: Vec<Post>,
    pub(super) memos: Vec<Memo>,
    pub(super) effects: Vec<Effect>,
    pub(super) answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    /// What agents asked for by their tools, and what became of it.
    pub(super) reported: Vec<(oneshot::Sender<Reported>, Reported)>,
    pub(super) questions: Vec<(oneshot::Sender<Numbered>, Numbered)>,
}

impl Pending {
    /// The time of it all: when its first part was decided.
    pub(super) fn at(&mut self) -> Timestamp {
        *self.at.get_or_insert_with(clock::now)
    }
}
