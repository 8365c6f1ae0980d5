//! Messages for an agent during a session: the running turn is cancelled, and the next prompt starts with them.
//!
//! ```text
//!   add ──► no call open ──► session/cancel ──► the turn's end ──► session/prompt ──► first output of that turn: delivered
//!                                  └──► it starts one call after another: it ignores the cancellation, and is left alone
//! ```
//!
//! An open call is not interrupted for a message, which waits until the call has ended. A turn that ends by itself
//! before it is cancelled ends the session as usual; the message waits for the next session.

use crate::core::id::WorkId;
use crate::runtime::Picture;
use crate::runtime::protocol::Happening;

/// Text after the messages in a prompt, so that the agent does not take them for its whole task.
const GO_ON: &str = "You were interrupted to be told this. Bear it in mind and go on with your work.";

/// The prompt of an agent whose turn was cancelled for messages that are no longer waiting.
const GO_ON_AT_ONCE: &str = "Go on with your work.";

/// Maximum number of tool calls that an agent may start after its turn was cancelled; some are already on their way.
const BEGUN_MAX: u32 = 3;

/// The messages for an agent during a session: waiting for the turn to be cancelled, or in its latest prompt.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// Messages for which the running turn is to be cancelled. The core limits their number.
    waiting: Vec<(WorkId, String)>,
    /// Pictures of these messages.
    pictures: Vec<Picture>,
    /// Number of tool calls that the agent has started since its turn was cancelled; `None` if the turn is not
    /// cancelled.
    cut: Option<u32>,
    /// True if the agent ignored a cancellation, which is then not tried again.
    deaf: bool,
    /// Numbers of the messages in the latest prompt, not known to be received.
    sent: Vec<WorkId>,
}

impl Telling {
    /// Adds a message, for which the turn is to be cancelled.
    pub(super) fn add(&mut self, work: WorkId, text: &str, pictures: Vec<Picture>) {
        self.pictures.extend(pictures);
        self.waiting.push((work, text.to_owned()));
    }

    /// Returns true if the turn is to be cancelled as soon as possible.
    pub(super) fn wants_to_cut(&self) -> bool {
        !self.waiting.is_empty() && self.cut.is_none()
    }

    /// Marks the turn as cancelled.
    pub(super) fn cut(&mut self) {
        self.cut = Some(0);
    }

    /// Returns true if the turn was cancelled for messages and the agent has not ignored that so far.
    pub(super) fn cuts(&self) -> bool {
        self.cut.is_some() && !self.deaf
    }

    /// Returns true if the turn was cancelled for messages, even if the agent ignored it.
    pub(super) fn was_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Returns true if the agent ignores cancellations.
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// Handles the start of a tool call. An agent that keeps starting calls after its turn was cancelled ignores that,
    /// and its messages are reported as not taken.
    pub(super) fn begins(&mut self, happened: &mut Vec<Happening>) {
        let Some(begun) = self.cut.as_mut().filter(|_| !self.deaf) else { return };
        *begun += 1;
        if *begun > BEGUN_MAX {
            self.deaf = true;
            happened.push(Happening::Note("it goes on although its turn was cancelled".to_owned()));
            happened.extend(self.waiting.drain(..).map(|(work, _)| Happening::NotTaken { work }));
        }
    }

    /// Returns the prompt of the following turn: the waiting messages, with their pictures.
    pub(super) fn prompt(&mut self) -> (String, Vec<Picture>) {
        self.cut = None;
        let (waiting, pictures) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.pictures));
        if waiting.is_empty() {
            return (GO_ON_AT_ONCE.to_owned(), Vec::new());
        }
        let (works, mut words): (Vec<WorkId>, Vec<String>) = waiting.into_iter().unzip();
        self.sent.extend(works);
        words.push(GO_ON.to_owned());
        (words.join("\n\n"), pictures)
    }

    /// Marks the messages of the latest prompt as delivered: the agent has said something since, or its turn is over.
    pub(super) fn arrived(&mut self, happened: &mut Vec<Happening>) {
        happened.extend(self.sent.drain(..).map(|work| Happening::Steered { work }));
    }
}
