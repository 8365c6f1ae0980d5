//! What the evaluator says of an agent's last turns, and why it said nothing.
//!
//! A [`Verdict`] is a judgement, and [`Verdict::Ok`] is one: somebody looked and found nothing. Where nobody could look there
//! is a [`Lapse`], for which herder's own detector stands in (but for an answer that is none) and which is counted and shown, so that an evaluator that has
//! been broken for a week is never taken for a fleet that has been well for a week.

use serde::{Deserialize, Serialize};

use super::cut::one_line;
use super::watch::LAPSES_SAID_AT;

/// The longest message of a verdict, in bytes: a few sentences. It is whispered to the agent as it is, and a person reads
/// it in a call for help.
pub const MESSAGE_MAX: usize = 800;

/// The longest reason of a lapse that is kept, in bytes: a line for a person.
pub const REASON_MAX: usize = 300;

/// What is said of an agent's last turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing is to be said.
    Ok,
    /// It goes the wrong way: what to do instead.
    Correction(String),
    /// It stays on the surface, or does not see what is in front of it: what to look at.
    ThinkDeeper(String),
    /// A person is needed: why.
    Escalation(String),
}

impl Verdict {
    /// [`Verdict::Correction`] with a message within its bounds.
    #[must_use]
    pub fn correction(message: &str) -> Self {
        Self::Correction(one_line(message, MESSAGE_MAX))
    }

    /// [`Verdict::ThinkDeeper`] with a message within its bounds.
    #[must_use]
    pub fn think_deeper(message: &str) -> Self {
        Self::ThinkDeeper(one_line(message, MESSAGE_MAX))
    }

    /// [`Verdict::Escalation`] with a message within its bounds.
    #[must_use]
    pub fn escalation(message: &str) -> Self {
        Self::Escalation(one_line(message, MESSAGE_MAX))
    }

    /// The word it is said with: the evaluator's first, and what stands in brackets before a whisper.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Correction(_) => "CORRECTION",
            Self::ThinkDeeper(_) => "THINK_DEEPER",
            Self::Escalation(_) => "ESCALATION",
        }
    }

    /// What is to be said, if anything is.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Ok => None,
            Self::Correction(message) | Self::ThinkDeeper(message) | Self::Escalation(message) => {
                Some(message)
            }
        }
    }

    /// Whether something was found.
    #[must_use]
    pub fn is_finding(&self) -> bool {
        self.message().is_some()
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lapse {
    /// It took longer than it may; its processes were ended.
    TimedOut {
        /// How long it may take, in milliseconds.
        after_ms: u64,
    },
    /// So many others are being asked that its turn did not come in time.
    Busy,
    /// There is no such program.
    Missing {
        /// Its name or its path, or the sentence that says where it was looked for.
        program: String,
    },
    /// There is no credential for it, or it was refused.
    LoggedOut {
        /// What was said.
        why: String,
    },
    /// A limit of its account, which passes, or its credit is used up.
    Limited {
        /// What was said.
        why: String,
    },
    /// It could not be started, it crashed, or it reported an error.
    Failed {
        /// How.
        why: String,
    },
    /// It answered, and its answer is no verdict.
    Unparsable {
        /// What it said, or the beginning of it.
        said: String,
    },
    /// Nobody waits for it any more: the agent was stopped or given other work, or herder ended. Nobody failed.
    Overtaken,
}

impl Lapse {
    /// [`Lapse::Failed`] with a reason within its bounds.
    #[must_use]
    pub fn failed(why: &str) -> Self {
        Self::Failed { why: one_line(why, REASON_MAX) }
    }

    /// [`Lapse::LoggedOut`] with a reason within its bounds.
    #[must_use]
    pub fn logged_out(why: &str) -> Self {
        Self::LoggedOut { why: one_line(why, REASON_MAX) }
    }

    /// [`Lapse::Limited`] with a reason within its bounds.
    #[must_use]
    pub fn limited(why: &str) -> Self {
        Self::Limited { why: one_line(why, REASON_MAX) }
    }

    /// [`Lapse::Missing`] with a name within its bounds.
    #[must_use]
    pub fn missing(program: &str) -> Self {
        Self::Missing { program: one_line(program, REASON_MAX) }
    }

    /// [`Lapse::Unparsable`] with what was said within its bounds.
    #[must_use]
    pub fn unparsable(said: &str) -> Self {
        Self::Unparsable { said: one_line(said, REASON_MAX) }
    }

    /// Whether it counts as an OK. An answer that is no verdict does (contract, section 7). Where there is nobody who could be
    /// asked, herder's own detector judges alone: then an OK is that it has found `nothing`. A limit passes, so that it is
    /// taken for such a place only after so many lapses `in_a_row` that people are told.
    #[must_use]
    pub fn is_ok(&self, nothing: bool, in_a_row: u32) -> bool {
        match self {
            Self::Unparsable { .. } => true,
            Self::Missing { .. } | Self::LoggedOut { .. } => nothing,
            Self::Limited { .. } => nothing && in_a_row >= LAPSES_SAID_AT,
            Self::TimedOut { .. } | Self::Busy | Self::Failed { .. } | Self::Overtaken => false,
        }
    }

    /// As everybody may read it: an answer that is no verdict may hold words that are for the agent alone.
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

    /// Its name, for logs, counters and the choice of a sentence.
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

    /// What more is to be said, if anything is.
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

    /// It is in journals: another spelling would make them unreadable.
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
