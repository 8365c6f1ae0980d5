//! Questions that the agent asks people with a tool.

use super::Question;
use super::pending::Pending;
use super::supervisor::Supervisor;
use crate::core::event::Event;
use crate::core::input::{Input, Signal};
use crate::core::notice::Refusal;

/// Returns true if deciding this input may need a number for a question to people.
pub(super) fn may_be_asked(input: &Input) -> bool {
    match input {
        Input::Question { .. }
        | Input::Driver { signal: Signal::Asked { .. } | Signal::Inquired { .. }, .. } => true,
        Input::Promoted
        | Input::Started
        | Input::Adopted { .. }
        | Input::SurvivorsFound
        | Input::Tick
        | Input::ClockSet { .. }
        | Input::Control { .. }
        | Input::AccountBlocked { .. }
        | Input::LeftAccountBlocked { .. }
        | Input::AccountOpened { .. }
        | Input::HandedOver { .. }
        | Input::BoardHeard { .. }
        | Input::Driver { .. }
        | Input::Reported { .. }
        | Input::WhispersTaken { .. }
        | Input::Kept { .. }
        | Input::EndedAtShutdown { .. }
        | Input::DriverSilent { .. }
        | Input::Evaluated { .. }
        | Input::Divided { .. }
        | Input::Checkout { .. }
        | Input::Followed { .. }
        | Input::Reviewed { .. }
        | Input::AwaitsParts { .. }
        | Input::PartsOver { .. }
        | Input::Panicked { .. } => false,
    }
}

impl Supervisor<'_> {
    /// Decides a question that the agent asks people with a tool; the reply is the question's number.
    pub(super) fn question(&mut self, question: Question, pending: &mut Pending) {
        let Question { session, call, inquiry, ticket } = question;
        let decided =
            self.decide(&Input::Question { session, call, inquiry }, pending.at()).and_then(|decision| {
                let asked = decision.events.iter().find_map(|event| match event {
                    Event::Asked { ask } => Some(ask.id),
                    Event::AskedAgain { ask, .. } => Some(*ask),
                    _ => None,
                });
                self.absorb(decision.events, pending);
                asked.ok_or_else(|| Refusal::NoSession { agent: self.name.clone() })
            });
        pending.questions.push((ticket, decided));
    }
}
