//! Reports within the bound of a message: no text of an agent is too long to be told, and none is lost.

use serde::Serialize;

use crate::core::ask::PLAN_MAX;
use crate::core::cut::both_ends;
use crate::core::input::Signal;
use crate::core::outcome::Usage;
use crate::core::usage::Reading;
use crate::runtime::{Live, Report};

/// Maximum length of one text of a report, in bytes, if the whole does not fit into a message. A command of this length
/// is still too long to be read for patterns, so that a person is asked about it.
const TEXT_MAX: usize = 256 * 1024;

/// Length of a text, in bytes, below which no text is cut further.
const TEXT_MIN: usize = 256;

/// Maximum length of the name of an open tool call, in bytes.
const TOOL_MAX: usize = 1024;

/// Encodes what is made of a report, with texts as long as `room` bytes allow. JSON may need six bytes for one, so that
/// only the encoded length counts.
pub(super) fn encoded<B: Serialize>(
    report: Report,
    room: usize,
    body: impl Fn(Report) -> B,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut whole = serde_json::to_vec(&body(report.clone()))?;
    let mut max = TEXT_MAX;
    while whole.len() > room && max >= TEXT_MIN {
        whole = serde_json::to_vec(&body(fitting(report.clone(), max)))?;
        max /= 2;
    }
    Ok(whole)
}

/// Returns the report with every text within `max`.
fn fitting(report: Report, max: usize) -> Report {
    let cut = |text: &str| both_ends(text, max);
    let plan_max = PLAN_MAX.min(max);
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
            let inquiry = Box::new(inquiry.each(|text| both_ends(text, plan_max)));
            Signal::Inquired { key, inquiry, part }
        }
        Signal::Turn { text, tools } => Signal::Turn { text: cut(&text), tools },
        Signal::Observed { mut turn } => {
            turn.words = both_ends(&turn.words, plan_max);
            for step in &mut turn.steps {
                step.what = both_ends(&step.what, plan_max);
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

/// Returns the state with figures that JSON can hold, and a name that fits into a message.
#[must_use]
pub(super) fn sane_live(live: Live) -> Live {
    let usage: Usage = live.usage.sane();
    let tool = live.tool.map(|tool| both_ends(&tool, TOOL_MAX));
    Live { usage, tool, ..live }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ask::AskKey;
    use crate::core::detail::Own;
    use crate::core::outcome::{Category, Outcome};

    #[test]
    fn texts_that_json_makes_long_are_cut_to_what_is_written() {
        // Each takes six bytes: both texts within the first bound are three times the room.
        let long = "\u{1}".repeat(600 * 1024);
        let asked = Signal::Asked {
            key: AskKey(1),
            tool: long.clone(),
            command: long.clone(),
            redacted: Some(long.clone()),
            shell: true,
            vague: false,
        };
        let mut outcome = Outcome::new(Category::Crash, Own::DriverGone);
        outcome.text = Some(long.clone());
        let ended = Signal::Ended { outcome: Box::new(outcome), survivors: vec![7] };
        let turn = Signal::Turn { text: long.clone(), tools: Vec::new() };
        let lost = Signal::ConversationLost { why: long.clone() };
        let signals = [asked, ended, turn, lost].map(Report::Signal);
        for report in signals.into_iter().chain([Report::Words(long)]) {
            let room = 900 * 1024;
            let written = encoded(report, room, |report| report).expect("JSON");
            assert!(written.len() <= room, "{} bytes", written.len());
            assert!(written.len() > room / 4, "no more is cut than has to be: {} bytes", written.len());
            let read: Report = serde_json::from_slice(&written).expect("it is whole");
            if let Report::Signal(Signal::Asked { vague, .. }) = read {
                assert!(vague, "no rule may allow what is not known in full");
            }
        }
        let live = Live { tool: Some("\u{1}".repeat(1 << 20)), ..Live::default() };
        assert!(serde_json::to_vec(&sane_live(live)).expect("JSON").len() < 8 * 1024);
    }
}
