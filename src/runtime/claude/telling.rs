//! Messages for an agent during a session; the CLI does not confirm them.
//!
//! ```text
//!   written ──► a tool result, or the start of a turn: the CLI reads its queue ──► the model's next message: delivered
//! ```
//!
//! A message in the queue of a CLI that hangs is not delivered: it waits for the next session.

use crate::core::id::WorkId;
use crate::runtime::protocol::Happening;

/// The messages for an agent during a session, by how far they have come.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// Numbers of the messages that are being written to the CLI.
    sent: Vec<WorkId>,
    /// Numbers of the messages in the CLI's queue.
    written: Vec<WorkId>,
    /// Numbers of the messages in the model's latest input.
    read: Vec<WorkId>,
    /// The id of the model's latest message.
    message: String,
}

impl Telling {
    /// Adds a message that is about to be written.
    pub(super) fn sent(&mut self, work: WorkId) {
        self.sent.push(work);
    }

    /// Marks a message as written: the CLI can read it.
    pub(super) fn written(&mut self, work: WorkId) {
        self.sent.retain(|sent| *sent != work);
        self.written.push(work);
    }

    /// Returns true if the CLI has not read every message: it starts another turn with them after this one.
    pub(super) fn is_untold(&self) -> bool {
        !self.sent.is_empty() || !self.written.is_empty()
    }

    /// Marks the messages in the CLI's queue as read.
    pub(super) fn queue_is_read(&mut self) {
        self.read.append(&mut self.written);
    }

    /// Handles a message of the model, or a further piece of it. A new message means that the ones read before are delivered.
    pub(super) fn says(&mut self, message: &str, happened: &mut Vec<Happening>) {
        if message.is_empty() || self.message != message {
            message.clone_into(&mut self.message);
            self.answered(happened);
        }
    }

    /// Marks the messages in the model's latest input as delivered, because it has answered.
    pub(super) fn answered(&mut self, happened: &mut Vec<Happening>) {
        happened.extend(self.read.drain(..).map(|work| Happening::Steered { work }));
    }
}
