//! Verdicts of the evaluator on an agent's last turns, and reasons why there is none.
//!
//! A [`Verdict`] is a judgement, including [`Verdict::Ok`]: the turns were examined and nothing was found. If they
//! could not be examined there is a [`Lapse`], for which herder's own detector stands in (except for an unreadable
//! answer). Lapses are counted and shown, so that an evaluator that has been broken for a week is never mistaken for
//! a fleet that has been well for a week.

use serde::{Deserialize, Serialize};

use super::cut::excerpt;
use super::watch::LAPSES_SAID_AT;

/// Maximum length of a verdict's message, in bytes: a few sentences. It is whispered to the agent unchanged, and
/// people read it in a call for a person.
pub const MESSAGE_MAX: usize = 800;

/// Maximum length of a lapse's reason, in bytes: a line for a person.
pub const REASON_MAX: usize = 300;

/// The evaluator's judgement of an agent's last turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The turns show no problem.
    Ok,
    /// The agent goes the wrong way; the message says what to do instead.
    Correction(String),
    /// The agent stays on the surface or overlooks something; the message says what to look at.
    ThinkDeeper(String),
    /// A person is needed; the message says why.
    Escalation(String),
}

impl Verdict {
    /// Returns [`Verdict::Correction`] with a bounded message.
    #[must_use]
    pub fn correction(message: &str) -> Self {
        Self::Correction(excerpt(message, MESSAGE_MAX))
    }

    /// Returns [`Verdict::ThinkDeeper`] with a bounded message.
    #[must_use]
    pub fn think_deeper(message: &str) -> Self {
        Self::ThinkDeeper(excerpt(message, MESSAGE_MAX))
    }

    /// Returns [`Verdict::Escalation`] with a bounded message.
    #[must_use]
    pub fn escalation(message: &str) -> Self {
        Self::Escalation(excerpt(message, MESSAGE_MAX))
    }

    /// Returns the verdict's keyword, with which the evaluator's answer begins, and which stands in brackets before a
    /// whisper.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Correction(_) => "CORRECTION",
            Self::ThinkDeeper(_) => "THINK_DEEPER",
            Self::Escalation(_) => "ESCALATION",
        }
    }

    /// Returns the verdict's message; `None` for an OK.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Ok => None,
            Self::Correction(message) | Self::ThinkDeeper(message) | Self::Escalation(message) => {
                Some(message)
            }
        }
    }

    /// Returns true if the verdict is a finding, and not an OK.
    #[must_use]
    pub fn is_finding(&self) -> bool {
        self.message().is_some()
    }
}

/// Reason why an evaluation gave no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lapse {
    /// The evaluation took too long; its processes were ended.
    TimedOut {
        /// Time limit of the evaluation, in milliseconds.
        after_ms: u64,
    },
    /// Too many other evaluations were running, so that this one did not start in time.
    Busy,
    /// The evaluator's program does not exist.
    Missing {
        /// Name or path of the program, or a sentence that says where it was searched.
        program: String,
    },
    /// The evaluator has no credential, or it was refused.
    LoggedOut {
        /// Message of the program, or herder's own.
        why: String,
    },
    /// The evaluator's account reached a limit, which passes, or used up its credit.
    Limited {
        /// Message of the program, or herder's own.
        why: String,
    },
    /// The evaluator's program could not be started, crashed, or reported an error.
    Failed {
        /// Message of the program, or herder's own.
        why: String,
    },
    /// The evaluator's answer is no verdict.
    Unparsable {
        /// The model's answer that could not be parsed, or its beginning.
        said: String,
    },
    /// The verdict is not needed any more: the agent was stopped or given other work, or herder ended. This is no
    /// failure.
    Overtaken,
}

impl Lapse {
    /// Returns [`Lapse::Failed`] with a bounded reason.
    #[must_use]
    pub fn failed(why: &str) -> Self {
        Self::Failed { why: excerpt(why, REASON_MAX) }
    }

    /// Returns [`Lapse::LoggedOut`] with a bounded reason.
    #[must_use]
    pub fn logged_out(why: &str) -> Self {
        Self::LoggedOut { why: excerpt(why, REASON_MAX) }
    }

    /// Returns [`Lapse::Limited`] with a bounded reason.
    #[must_use]
    pub fn limited(why: &str) -> Self {
        Self::Limited { why: excerpt(why, REASON_MAX) }
    }

    /// Returns [`Lapse::Missing`] with a bounded name.
    #[must_use]
    pub fn missing(program: &str) -> Self {
        Self::Missing { program: excerpt(program, REASON_MAX) }
    }

    /// Returns [`Lapse::Unparsable`] with a bounded answer.
    #[must_use]
    pub fn unparsable(said: &str) -> Self {
        Self::Unparsable { said: excerpt(said, REASON_MAX) }
    }

    /// Returns true if the lapse counts as an OK: an unreadable answer does (contract, section 7); a missing or
    /// logged-out evaluator does if herder's own detector found `nothing`; a limit does so only from [`LAPSES_SAID_AT`]
    /// lapses `in_a_row` on.
    #[must_use]
    pub fn is_ok(&self, nothing: bool, in_a_row: u32) -> bool {
        match self {
            Self::Unparsable { .. } => true,
            Self::Missing { .. } | Self::LoggedOut { .. } => nothing,
            Self::Limited { .. } => nothing && in_a_row >= LAPSES_SAID_AT,
            Self::TimedOut { .. } | Self::Busy | Self::Failed { .. } | Self::Overtaken => false,
        }
    }

    /// Returns the lapse without the text of an unreadable answer, which may contain words for the agent alone.
    #[must_use]
    pub fn hushed(&self) -> Self {
        match self {
            Self::Unparsable { .. } => Self::Unparsable { said: "…".to_owned() },
            Self::TimedOut { .. }
            | Self::Busy
            | Self::Missing { .. }
            | Self::LoggedOut { .. }
            | Self::Limited { .. }
            | Self::Failed { .. }
            | Self::Overtaken => self.clone(),
        }
    }

    /// Returns the lapse's name, for logs, counters and the selection of a sentence.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::TimedOut { .. } => "timed-out",
            Self::Busy => "busy",
            Self::Missing { .. } => "missing",
            Self::LoggedOut { .. } => "logged-out",
            Self::Limited { .. } => "limited",
            Self::Failed { .. } => "failed",
            Self::Unparsable { .. } => "unparsable",
            Self::Overtaken => "overtaken",
        }
    }

    /// Returns the lapse's message; empty if there is none.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::TimedOut { .. } | Self::Busy | Self::Overtaken => "",
            Self::Missing { program } => program,
            Self::LoggedOut { why } | Self::Limited { why } | Self::Failed { why } => why,
            Self::Unparsable { said } => said,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name is in journals: another spelling would make them unreadable.
    #[test]
    fn what_is_on_disk_stays_what_it_is() {
        let verdicts = [
            (Verdict::Ok, r#""ok""#),
            (Verdict::correction("a"), r#"{"correction":"a"}"#),
            (Verdict::think_deeper("b"), r#"{"think-deeper":"b"}"#),
            (Verdict::escalation("c"), r#"{"escalation":"c"}"#),
        ];
        for (verdict, text) in verdicts {
            assert_eq!(serde_json::to_string(&verdict).expect("it has a form"), text);
            assert_eq!(serde_json::from_str::<Verdict>(text).expect("it is read again"), verdict);
        }
        let lapses = [
            (Lapse::TimedOut { after_ms: 30_000 }, r#"{"timed-out":{"after_ms":30000}}"#),
            (Lapse::Busy, r#""busy""#),
            (Lapse::missing("codex"), r#"{"missing":{"program":"codex"}}"#),
            (Lapse::logged_out("no"), r#"{"logged-out":{"why":"no"}}"#),
            (Lapse::limited("429"), r#"{"limited":{"why":"429"}}"#),
            (Lapse::failed("exit code 1"), r#"{"failed":{"why":"exit code 1"}}"#),
            (Lapse::unparsable("hm"), r#"{"unparsable":{"said":"hm"}}"#),
            (Lapse::Overtaken, r#""overtaken""#),
        ];
        for (lapse, text) in lapses {
            assert_eq!(serde_json::to_string(&lapse).expect("it has a form"), text);
            assert_eq!(serde_json::from_str::<Lapse>(text).expect("it is read again"), lapse);
            assert!(text.contains(lapse.name()) && text.contains(lapse.detail()), "{lapse:?}");
        }
    }

    #[test]
    fn messages_are_one_line_within_bounds() {
        let long = format!("first\nsecond\u{7}\u{1b}[31m {}", "ö".repeat(MESSAGE_MAX));
        let verdict = Verdict::correction(&long);
        let message = verdict.message().expect("a correction has one");
        assert!(message.starts_with("first second") && message.len() <= MESSAGE_MAX, "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
        assert!(verdict.is_finding() && !Verdict::Ok.is_finding());
    }
}
