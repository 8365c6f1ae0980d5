//! Questions that an agent asks people: permission for an action, a question of its own, or approval of a plan.
//!
//! ```text
//!   Asked ──► open ──► Answered, once: the first answer counts
//!              │ ▲     Expired, when nobody answers in time: a no
//!              │ │     Dropped, when the work that it was for is over
//!              ▼ │
//!        its session is gone; the next one asks the same again (AskedAgain)
//! ```
//!
//! A question belongs to a piece of work and outlives its session: when the session that asked is gone, the question
//! stays open. An answer that arrives meanwhile is kept, and given once, at once, to the session that asks the same
//! again for the same work. A late answer is told who answered first.

use serde::{Deserialize, Serialize};

use super::cut::both_ends;
use super::id::{AskId, SessionId, WorkId};
use super::recap::{bounded, one_line};
use super::time::Timestamp;
use super::unseen::hides;
use super::work::Actor;

/// Maximum number of open questions of one agent. A person who is asked more reads none of them.
pub const OPEN_MAX: usize = 20;

/// Maximum number of settled questions that are kept, so that a late answer can be told who answered first.
pub const SETTLED_MAX: usize = 50;

/// Maximum number of rules of one agent. Each was made by a person, by hand.
pub const RULES_MAX: usize = 200;

/// Maximum length of a command or question, in bytes. A longer one is shown cut, and no rule can cover it.
pub const ABOUT_MAX: usize = 4 * 1024;

/// Maximum number of lines of a command or question; more do not fit on a reader's screen.
pub const LINES_MAX: usize = 30;

/// Maximum length of a tool's name, in bytes.
pub const TOOL_MAX: usize = 100;

/// Maximum length of an answer in words, in bytes.
pub const ANSWER_MAX: usize = 8 * 1024;

/// Maximum number of answers that a question offers; a select menu on Discord holds as many.
pub const OFFERS_MAX: usize = 25;

/// Maximum length of an offered answer, and of its explanation, in bytes.
pub const OFFER_MAX: usize = 400;

/// Maximum length of a plan, in bytes.
pub const PLAN_MAX: usize = 32 * 1024;

/// A session driver's own number for a question, unique within the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskKey(pub u64);

/// An answer that a question offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The offered answer itself, as it is shown and sent back.
    pub label: String,
    /// Explanation of the answer; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Position of a question in a tool call that asks several, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The driver's key of the call's first question, by which its questions are known to belong together.
    pub call: AskKey,
    /// True for the last question of the tool call.
    pub last: bool,
}

/// A question or a plan as a runtime reports it, which a person answers in words or by a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inquiry {
    /// A question of the agent, in its own words.
    Question {
        /// Text of the question.
        text: String,
        /// The offered answers. Free text is allowed too.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<Offer>,
        /// True if more than one of the offered answers may be chosen.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        several: bool,
    },
    /// A plan that needs approval before it is carried out.
    Plan {
        /// Text of the plan.
        text: String,
    },
}

impl Inquiry {
    /// Returns the request with `change` applied to each of its texts.
    #[must_use]
    pub fn each(&self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Question { text, options, several } => {
                let offer = |offer: &Offer| Offer {
                    label: change(&offer.label),
                    description: change(&offer.description),
                };
                let options = options.iter().map(offer).collect();
                Self::Question { text: change(text), options, several: *several }
            }
            Self::Plan { text } => Self::Plan { text: change(text) },
        }
    }

    /// Returns the request in the form that is stored, each text cut to its maximum length.
    #[must_use]
    pub fn about(&self) -> About {
        match self {
            Self::Question { text, options, several } => About::Question {
                text: bounded(text.trim(), ABOUT_MAX),
                options: options.iter().take(OFFERS_MAX).map(Offer::bounded).collect(),
                several: *several,
            },
            Self::Plan { text } => About::Plan { text: both_ends(text.trim(), PLAN_MAX) },
        }
    }
}

impl Offer {
    fn bounded(&self) -> Self {
        let line = |text: &str| bounded(&one_line(text), OFFER_MAX);
        Self { label: line(&self.label), description: line(&self.description) }
    }
}

/// The request: permission to use a tool, a question in the agent's own words, or a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "kebab-case")]
pub enum About {
    /// A request for permission.
    Permission {
        /// Name of the tool that the agent wants to use.
        tool: String,
        /// The exact command or a description of the action, without secrets; at most [`ABOUT_MAX`] bytes.
        command: String,
        /// True if the command was longer than it is shown here: no person has seen the part cut off.
        #[serde(default)]
        cut: bool,
        /// True if the runtime names only the action and not its details: the same words may mean another action next
        /// time, so no rule can cover it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
        /// True if secrets in `command` were redacted: other commands may read the same, so no rule can cover it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
        /// Name or text of the pattern that makes the command always asked, whatever the agent's autonomy; `None` if
        /// none matches.
        #[serde(default)]
        danger: Option<String>,
    },
    /// A question of the agent, in its own words.
    Question {
        /// Text of the question.
        text: String,
        /// The offered answers, numbered from 1.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<Offer>,
        /// True if more than one of the offered answers may be chosen.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        several: bool,
    },
    /// A plan to be approved before it is carried out.
    Plan {
        /// Text of the plan, at most [`PLAN_MAX`] bytes.
        text: String,
    },
}

impl About {
    /// Returns true if two requests are the same, so that one answer is valid for both.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Permission { tool, command, .. },
                Self::Permission { tool: other_tool, command: other_command, .. },
            ) => tool == other_tool && command == other_command && self.is_exact() && other.is_exact(),
            (Self::Question { .. }, Self::Question { .. }) | (Self::Plan { .. }, Self::Plan { .. }) => {
                self == other
            }
            (Self::Permission { .. } | Self::Question { .. } | Self::Plan { .. }, _) => false,
        }
    }

    /// Returns true if the stored text identifies exactly one action (it is not cut, vague, redacted or with hidden
    /// characters), so that a decision about it is valid when it comes again.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Permission { cut, vague, secret, command, .. } => {
                !cut && !vague && !secret && !hides(command)
            }
            Self::Question { .. } | Self::Plan { .. } => true,
        }
    }

    /// Returns true if the request is a question, which is answered in words and not by yes or no.
    #[must_use]
    pub fn is_question(&self) -> bool {
        match self {
            Self::Question { .. } => true,
            Self::Permission { .. } | Self::Plan { .. } => false,
        }
    }

    /// Returns the text of the request as people see it: the command, the question or the plan.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Permission { command, .. } => command,
            Self::Question { text, .. } | Self::Plan { text } => text,
        }
    }

    /// Returns the answer that a person's words stand for: the offered answers with these numbers, else the one with
    /// this label, else the words themselves.
    ///
    /// # Errors
    /// The number of offered answers, if a number is out of range or several are chosen where one is allowed.
    pub fn chosen(&self, words: &str) -> Result<AskAnswer, usize> {
        let as_words = || AskAnswer::Text { text: bounded(words, ANSWER_MAX) };
        let Self::Question { options, several, .. } = self else { return Ok(as_words()) };
        let named = |name: &str| options.iter().find(|offer| offer.label.eq_ignore_ascii_case(name));
        let is_separator = |c: char| c == ',' || c.is_whitespace();
        let mut numbers = Vec::new();
        for number in words.split(is_separator).filter(|word| !word.is_empty()) {
            match number.parse::<usize>() {
                Ok(number) => numbers.push(number),
                Err(_) => {
                    let label =
                        named(words).map(|offer| AskAnswer::Chosen { labels: vec![offer.label.clone()] });
                    return Ok(label.unwrap_or_else(as_words));
                }
            }
        }
        if options.is_empty() {
            return Ok(as_words());
        }
        numbers.sort_unstable();
        numbers.dedup();
        let offered = numbers.iter().map(|number| options.get(number.checked_sub(1)?));
        match offered.collect::<Option<Vec<_>>>() {
            Some(offers) if !offers.is_empty() && (*several || offers.len() == 1) => Ok(AskAnswer::Chosen {
                labels: offers.into_iter().map(|offer| offer.label.clone()).collect(),
            }),
            Some(_) | None => match named(words) {
                Some(offer) => Ok(AskAnswer::Chosen { labels: vec![offer.label.clone()] }),
                None => Err(options.len()),
            },
        }
    }
}

/// The session that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Number of the session.
    pub session: SessionId,
    /// The driver's key of the question; `None` if the agent itself polls for the answer.
    pub key: Option<AskKey>,
    /// Number of the tool call that asked, on a runner; `None` without one. A herder that is started again gets the
    /// call once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
}

/// A permission request, question or plan of an agent for people, open until it is answered, expires or is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Number of the question, used by people to answer it.
    pub id: AskId,
    /// Content of the request.
    pub about: About,
    /// Number of the work during which it was asked.
    pub work: WorkId,
    /// The session that waits for the answer; `None` if that session has ended.
    pub asker: Option<Asker>,
    /// Time at which the question was asked.
    pub at: Timestamp,
    /// Deadline; without an answer until then it is denied, or ends unanswered.
    pub until: Timestamp,
    /// Position in a tool call that asks several questions; `None` if it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Time of the next reminder; `None` if no more follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<Timestamp>,
    /// Number of reminders so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reminded: u32,
}

impl Ask {
    /// Returns the session that submitted the plan; `None` if the request is no plan.
    #[must_use]
    pub fn plan_of(&self) -> Option<SessionId> {
        match &self.about {
            About::Plan { .. } => self.asker.map(|asker| asker.session),
            About::Permission { .. } | About::Question { .. } => None,
        }
    }
}

/// A person's answer to a permission request, a question or a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum AskAnswer {
    /// A person permits the action.
    Allow {
        /// True if the same command is allowed from now on without asking.
        always: bool,
    },
    /// A person denies the action.
    Deny,
    /// A person answers in words.
    Text {
        /// Text of the answer.
        text: String,
    },
    /// A choice from the offered answers.
    Chosen {
        /// Labels of the chosen answers.
        labels: Vec<String>,
    },
}

/// The answer to a request in the form that is sent to the session that asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// Permission is given, or the plan is approved.
    Yes,
    /// Permission is denied, or the plan is rejected.
    No,
    /// An answer in words, or the labels of the offered answers that were chosen.
    Words(Vec<String>),
    /// No answer came in time.
    Nobody,
}

impl AskAnswer {
    /// Returns true if the answer gives permission or approves a plan.
    #[must_use]
    pub const fn allows(&self) -> bool {
        match self {
            Self::Allow { .. } => true,
            Self::Deny | Self::Text { .. } | Self::Chosen { .. } => false,
        }
    }

    /// Returns the answer's words; `None` for a yes or a no.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Allow { .. } | Self::Deny => None,
            Self::Text { text } => Some(text.clone()),
            Self::Chosen { labels } => Some(labels.join(", ")),
        }
    }
}

/// Outcome of a request to people: answered, expired or dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum AskEnd {
    /// A person answered the question.
    Answered {
        /// The person's answer.
        answer: AskAnswer,
        /// The person who answered.
        by: Actor,
    },
    /// No answer came in time, which counts as a no.
    Expired,
    /// The answer is not needed any more: the work is over.
    Dropped,
}

impl AskEnd {
    /// Returns true if this end of a permission request lets the agent do what it asked for.
    #[must_use]
    pub const fn allows(&self) -> bool {
        match self {
            Self::Answered { answer, .. } => answer.allows(),
            Self::Expired | Self::Dropped => false,
        }
    }

    /// Returns the answer in the form for the session that asked; `None` if the request was dropped and no answer is
    /// needed.
    #[must_use]
    pub fn told(&self) -> Option<Told> {
        match self {
            Self::Answered { answer, .. } => Some(match answer {
                AskAnswer::Allow { .. } => Told::Yes,
                AskAnswer::Deny => Told::No,
                AskAnswer::Text { text } => Told::Words(vec![text.clone()]),
                AskAnswer::Chosen { labels } => Told::Words(labels.clone()),
            }),
            Self::Expired => Some(Told::Nobody),
            Self::Dropped => None,
        }
    }
}

/// A request that is over, with its outcome; kept so that a late answer can be told who answered first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The request itself.
    pub ask: Ask,
    /// The outcome of the request.
    pub end: AskEnd,
    /// Time at which the question was settled.
    pub at: Timestamp,
    /// True if the answer came while no session waited for it: the session that asks the same again gets it.
    pub due: bool,
}

/// A rule: exactly this command is allowed without asking, because a person decided so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Number of the question that the rule was made with; it is also the rule's number.
    pub id: AskId,
    /// Name of the tool.
    pub tool: String,
    /// The exact command.
    pub command: String,
    /// The person who made the rule.
    pub by: Actor,
    /// Time at which the rule was made.
    pub at: Timestamp,
}

/// Reason why a permission request was decided without asking a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DecidedBy {
    /// The agent's autonomy setting answered.
    Autonomy,
    /// A rule decided: a person had allowed exactly this command for good.
    Rule {
        /// Number of the rule that answered.
        rule: AskId,
    },
    /// Denied, because too many questions were open.
    TooMany,
}

/// Reason for a denied permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denial {
    /// The agent's permissions do not cover the action, and no person has allowed it.
    Uncovered,
    /// A person denied the action, or it is one that is always asked about; an agent with more permissions would not
    /// change that.
    Kept,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Appends a settled question; the oldest ones make room.
pub(super) fn settle(settled: &mut std::collections::VecDeque<Settled>, one: Settled) {
    while settled.len() >= SETTLED_MAX {
        settled.pop_front();
    }
    settled.push_back(one);
}
