//! Reports within the bound of a message: no text of an agent is too long to be told, and none is lost.

use crate::core::ask::PLAN_MAX;
use crate::core::cut::both_ends;
use crate::core::input::Signal;
use crate::core::outcome::Usage;
use crate::core::usage::Reading;
use crate::runtime::{Live, Report};

/// Maximum length of one text of a report, in bytes, if the whole does not fit into a message. A command of this length
/// is still too long to be read for patterns, so that a person is asked about it.
pub(super) const TEXT_MAX: usize = 256 * 1024;

/// Returns the report with every text within [`TEXT_MAX`].
#[must_use]
pub(super) fn fitting(report: Report) -> Report {
    let cut = |text: &str| both_ends(text, TEXT_MAX);
    let signal = match report {
        Report::Signal(signal) => signal,
        Report::Words(text) => return Report::Words(cut(&text)),
        Report::Beat | Report::NotTaken { .. } => return report,
    };
    Report::Signal(match signal {
        Signal::Asked { key, tool, command, redacted, shell, vague: _ } => Signal::Asked {
            key,
            tool: cut(&tool),
            command: cut(&command),
            redacted: redacted.as_deref().map(cut),
            shell,
            // No rule may allow a command of which only the ends are known.
            vague: true,
        },
        Signal::Inquired { key, inquiry, part } => {
            let inquiry = Box::new(inquiry.each(|text| both_ends(text, PLAN_MAX)));
            Signal::Inquired { key, inquiry, part }
        }
        Signal::Turn { text, tools } => Signal::Turn { text: cut(&text), tools },
        Signal::Observed { mut turn } => {
            turn.words = both_ends(&turn.words, PLAN_MAX);
            for step in &mut turn.steps {
                step.what = both_ends(&step.what, PLAN_MAX);
                step.end = None;
            }
            Signal::Observed { turn }
        }
        Signal::ConversationLost { why } => Signal::ConversationLost { why: cut(&why) },
        Signal::Ended { mut outcome, survivors } => {
            outcome.text = outcome.text.as_deref().map(cut);
            Signal::Ended { outcome, survivors }
        }
        other @ (Signal::Workspace { .. }
        | Signal::Spawned { .. }
        | Signal::Ready { .. }
        | Signal::Steered { .. }
        | Signal::ClockRanOut { .. }
        | Signal::AskWithdrawn { .. }
        | Signal::Usage { .. }) => other,
    })
}

/// Returns the report with figures that JSON can hold: an agent may report any.
#[must_use]
pub(super) fn sane(report: Report) -> Report {
    match report {
        Report::Signal(Signal::Usage { reading }) => {
            let Reading { usage, unpriced, model, turn } = *reading;
            let reading =
                Reading { usage: usage.sane(), unpriced: unpriced.sane(), model, turn: turn.sane() };
            Report::Signal(Signal::Usage { reading: Box::new(reading) })
        }
        Report::Signal(Signal::Ended { mut outcome, survivors }) => {
            outcome.usage = outcome.usage.sane();
            Report::Signal(Signal::Ended { outcome, survivors })
        }
        other @ (Report::Signal(_) | Report::Beat | Report::Words(_) | Report::NotTaken { .. }) => other,
    }
}

/// Returns the state with figures that JSON can hold.
#[must_use]
pub(super) fn sane_live(live: Live) -> Live {
    let usage: Usage = live.usage.sane();
    Live { usage, ..live }
}
