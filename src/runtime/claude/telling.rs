//! What is said to the agent in mid-session, which the CLI takes in without a word.
//!
//! ```text
//!   written ──► a tool has answered, or a turn begins: the CLI's queue is read ──► the model's next message: it has it
//! ```
//!
//! A message that lies in the queue of a CLI that hangs was handed to nobody: it waits for the next session.

use crate::core::id::WorkId;
use crate::runtime::protocol::Happening;

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// On its way into the CLI's queue.
    sent: Vec<WorkId>,
    /// In the CLI's queue.
    written: Vec<WorkId>,
    /// Part of what the model was asked last.
    read: Vec<WorkId>,
    /// The model's last message.
    message: String,
}

impl Telling {
    /// It will be written.
    pub(super) fn sent(&mut self, work: WorkId) {
        self.sent.push(work);
    }

    /// The CLI can read it.
    pub(super) fn written(&mut self, work: WorkId) {
        self.sent.retain(|sent| *sent != work);
        self.written.push(work);
    }

    /// Whether the CLI has yet to take something up: it begins another turn with it once this one is over.
    pub(super) fn is_untold(&self) -> bool {
        !self.sent.is_empty() || !self.written.is_empty()
    }

    /// The CLI takes up what lies in its queue.
    pub(super) fn queue_is_read(&mut self) {
        self.read.append(&mut self.written);
    }

    /// The model says something: a piece of the message that it was at already, or of its next one.
    pub(super) fn says(&mut self, message: &str, happened: &mut Vec<Happening>) {
        if message.is_empty() || self.message != message {
            message.clone_into(&mut self.message);
            self.answered(happened);
        }
    }

    /// The model has answered what it was asked last.
    pub(super) fn answered(&mut self, happened: &mut Vec<Happening>) {
        happened.extend(self.read.drain(..).map(|work| Happening::Steered { work }));
    }
}
