//! What the agent is told in mid-session: the running turn is cancelled, and the next prompt begins with it.
//!
//! ```text
//!   add ──► no call open ──► session/cancel ──► the turn's end ──► session/prompt ──► the first word of that turn: it has it
//!                                  └──► it begins one call after the other: it does not listen, and is left alone
//! ```
//!
//! A call that is open is not cut short for words: they wait until it is over. A turn that ends by itself before it is
//! cancelled ends the session as ever; what was to be told waits for the next one.

use crate::core::id::WorkId;
use crate::runtime::protocol::Happening;

/// What follows the words, so that the agent does not take them for all there is to do.
const GO_ON: &str = "You were interrupted to be told this. Bear it in mind and go on with your work.";

/// What an agent is told whose turn was cancelled for words that it did not wait for.
const GO_ON_AT_ONCE: &str = "Go on with your work.";

/// Calls that an agent may begin after its turn was cancelled: some are on their way by then.
const BEGUN_MAX: u32 = 3;

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// What the running turn is to be cut short for. The core bounds how much can wait.
    waiting: Vec<(WorkId, String)>,
    /// Whether the running turn was cancelled for it, and how many calls the agent has begun since.
    cut: Option<u32>,
    /// Whether it went on although its turn was cancelled: then it is not tried again.
    deaf: bool,
    /// What is part of the prompt that was sent last.
    sent: Vec<WorkId>,
}

impl Telling {
    /// Takes in what is to be told.
    pub(super) fn add(&mut self, work: WorkId, text: &str) {
        self.waiting.push((work, text.to_owned()));
    }

    /// Whether the turn is to be cancelled once it can be.
    pub(super) fn wants_to_cut(&self) -> bool {
        !self.waiting.is_empty() && self.cut.is_none()
    }

    /// The turn is cancelled.
    pub(super) fn cut(&mut self) {
        self.cut = Some(0);
    }

    /// Whether the turn is being cut short, as far as is known.
    pub(super) fn cuts(&self) -> bool {
        self.cut.is_some() && !self.deaf
    }

    /// Whether the turn was cancelled for words, also if the agent went on.
    pub(super) fn was_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether the agent does not listen.
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf
    }

    /// The agent begins a call. One that goes on and on although its turn was cancelled is told in another way.
    pub(super) fn begins(&mut self, happened: &mut Vec<Happening>) {
        let Some(begun) = self.cut.as_mut().filter(|_| !self.deaf) else { return };
        *begun += 1;
        if *begun > BEGUN_MAX {
            self.deaf = true;
            happened.push(Happening::Note("it goes on although its turn was cancelled".to_owned()));
            happened.extend(self.waiting.drain(..).map(|(work, _)| Happening::NotTaken { work }));
        }
    }

    /// The prompt of the turn that follows.
    pub(super) fn prompt(&mut self) -> String {
        self.cut = None;
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return GO_ON_AT_ONCE.to_owned();
        }
        let (works, mut words): (Vec<WorkId>, Vec<String>) = waiting.into_iter().unzip();
        self.sent.extend(works);
        words.push(GO_ON.to_owned());
        words.join("\n\n")
    }

    /// The agent has said something since, or its turn is over: it has what the prompt said.
    pub(super) fn arrived(&mut self, happened: &mut Vec<Happening>) {
        happened.extend(self.sent.drain(..).map(|work| Happening::Steered { work }));
    }
}
