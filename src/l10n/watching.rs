//! Messages about the evaluator: calls for a person, their answers, and failed evaluations.

use super::message::{DETAIL_MAX, Message, WORK_MAX, of, one_line, say, sentence};
use super::{Locale, Value};
use crate::core::id::{AgentName, WorkId};
use crate::core::time::Timestamp;
use crate::core::verdict::Lapse;
use crate::core::watch::{Answer, Mark, Why};

/// Selects the Fluent message of a call for a person. The words in brackets and those after them are fixed, because
/// machines read them.
pub(super) fn escalated<'a>(
    locale: &Locale,
    agent: &'a AgentName,
    id: WorkId,
    (work, why, untold): (&str, &Why, bool),
    (times, reminder): (u32, u32),
) -> Message<'a> {
    let why = locale.why(why);
    say(
        "notice-escalated",
        [
            of(agent),
            ("id", id.to_string().into()),
            ("work", one_line(work, WORK_MAX).into()),
            ("why", sentence(locale, &why).into()),
            ("times", times.into()),
            ("reminder", reminder.into()),
            ("told", if untold { "no" } else { "yes" }.into()),
        ],
    )
}

impl Locale {
    /// Describes why a person is called for an agent.
    #[must_use]
    pub fn why(&self, why: &Why) -> String {
        match why {
            Why::Found(finding) => self.finding(finding),
            Why::Said(said) => said.clone(),
            Why::Ended { detail, .. } => capitalised(&self.detail(detail)),
        }
    }
}

/// Capitalises a reason: elsewhere it follows a colon, here it is a sentence.
fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Selects the Fluent message about a person's answer to a call.
pub(super) fn answered<'a>(agent: &'a AgentName, id: WorkId, answer: Answer, by: &'a str) -> Message<'a> {
    let answer = ("answer", answer_key(answer));
    say("notice-escalation-answered", [of(agent), ("id", id.to_string().into()), answer, ("by", by.into())])
}

/// Selects the Fluent message that a person has acknowledged a call.
pub(super) fn acked<'a>(agent: &'a AgentName, id: WorkId, by: &'a str) -> Message<'a> {
    say("notice-escalation-acked", [of(agent), ("id", id.to_string().into()), ("by", by.into())])
}

/// Selects the Fluent message about an operator's judgement of a whisper, e.g. that it was wrong.
pub(super) fn marked(agent: &AgentName, id: WorkId, mark: Mark) -> Message<'_> {
    let mark = match mark {
        Mark::Right => "right",
        Mark::Wrong => "wrong",
    };
    say("notice-whisper-marked", [of(agent), ("id", id.to_string().into()), ("mark", mark.into())])
}

/// Selects the Fluent message about several evaluations in a row that gave no verdict.
pub(super) fn lapsed<'a>(locale: &Locale, agent: &'a AgentName, times: u32, lapse: &Lapse) -> Message<'a> {
    let why = sentence(locale, &locale.lapse(lapse));
    say("notice-evaluator-lapsed", [of(agent), ("times", times.into()), ("why", why.into())])
}

/// Selects the Fluent message for an answer to a call that another person has answered before.
pub(super) fn late<'a>(
    agent: &'a AgentName,
    id: WorkId,
    answer: Answer,
    by: &'a str,
    at: Timestamp,
) -> Message<'a> {
    let answer = ("answer", answer_key(answer));
    say(
        "refusal-escalation-answered",
        [of(agent), ("id", id.to_string().into()), answer, ("by", by.into()), ("at", at.into())],
    )
}

/// Selects the refusal of an `abort` that comes after another person's answer to the call: it would end what the agent
/// does since then.
pub(super) fn late_abort<'a>(agent: &'a AgentName, id: WorkId, answer: Answer, by: &'a str) -> Message<'a> {
    let answer = ("answer", answer_key(answer));
    say("refusal-late-abort", [of(agent), ("id", id.to_string().into()), answer, ("by", by.into())])
}

fn answer_key(answer: Answer) -> Value<'static> {
    Value::from(match answer {
        Answer::Resume => "resume",
        Answer::Abort => "abort",
        Answer::Remove => "remove",
        Answer::Moved => "moved",
    })
}

impl Locale {
    /// Describes in a few words why an evaluation gave no verdict.
    #[must_use]
    pub fn lapse(&self, lapse: &Lapse) -> String {
        let after = match lapse {
            Lapse::TimedOut { after_ms } => std::time::Duration::from_millis(*after_ms),
            Lapse::Busy
            | Lapse::Missing { .. }
            | Lapse::LoggedOut { .. }
            | Lapse::Limited { .. }
            | Lapse::Failed { .. }
            | Lapse::Unparsable { .. }
            | Lapse::Overtaken => std::time::Duration::ZERO,
        };
        let detail = one_line(lapse.detail(), DETAIL_MAX);
        self.text(
            "lapse",
            &[("kind", lapse.name().into()), ("detail", detail.into()), ("after", Value::Duration(after))],
        )
    }
}
