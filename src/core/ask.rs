//! What an agent asks of people: permission for something, an answer to a question of its own, or a word on its plan.
//!
//! ```text
//!   Asked ──► open ──► Answered, once, by whoever is first
//!              │ ▲     Expired, when nobody answers in time: a no
//!              │ │     Dropped, when the work that it was for is over
//!              ▼ │
//!        its session is gone; the next one asks the same again (AskedAgain)
//! ```
//!
//! A question belongs to a piece of work and outlives its session: when the session that asked is gone, the question stays
//! open. An answer that comes meanwhile is kept, and given once, at once, to the session that asks the same again for the
//! same work. Late answers are told who was first.

use serde::{Deserialize, Serialize};

use super::cut::both_ends;
use super::id::{AskId, SessionId, WorkId};
use super::recap::{bounded, one_line};
use super::time::Timestamp;
use super::work::Actor;

/// The most questions of one agent that are open at once: a person who is asked more reads none of them.
pub const OPEN_MAX: usize = 20;

/// The questions that are over and still known, so that a late answer can be told who was first.
pub const SETTLED_MAX: usize = 50;

/// The most rules of one agent. Each was made by a person, by hand.
pub const RULES_MAX: usize = 200;

/// The longest command or question that is kept whole, in bytes. What is longer is shown cut, and no rule covers it.
pub const ABOUT_MAX: usize = 4 * 1024;

/// The most lines of it; more do not fit on a reader's screen.
pub const LINES_MAX: usize = 30;

/// The longest name of a tool.
pub const TOOL_MAX: usize = 100;

/// The longest answer in words, in bytes.
pub const ANSWER_MAX: usize = 8 * 1024;

/// The most answers that a question offers: as many as a menu of Discord's holds.
pub const OFFERS_MAX: usize = 25;

/// The longest answer that is offered, and the longest explanation of one, in bytes.
pub const OFFER_MAX: usize = 400;

/// The longest plan that is kept, in bytes.
pub const PLAN_MAX: usize = 32 * 1024;

/// A question as the driver of a session knows it: counted per session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskKey(pub u64);

/// An answer that is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The answer.
    pub label: String,
    /// An explanation of it; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// A question of one call that asks several, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The driver's name for the first of them.
    pub call: AskKey,
    /// Nothing is asked after it.
    pub last: bool,
}

/// A request for words or for a choice, as a runtime puts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inquiry {
    /// A question.
    Question {
        /// Its words.
        text: String,
        /// The answers that are offered, beside words of one's own.
        options: Vec<Offer>,
        /// Whether more than one of them may be chosen.
        several: bool,
    },
    /// A plan that is to be approved before it is carried out.
    Plan {
        /// The plan.
        text: String,
    },
}

impl Inquiry {
    /// The same as it is kept, bounded.
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

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "kebab-case")]
pub enum About {
    /// Whether it may do something.
    Permission {
        /// The tool.
        tool: String,
        /// The exact command, or what stands for it; at most [`ABOUT_MAX`].
        command: String,
        /// It was longer and is cut: nobody has seen the rest.
        #[serde(default)]
        cut: bool,
        /// It is known by a name alone: the same words may stand for something else another time.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        vague: bool,
        /// Why it is always asked: the name or the text of the pattern that it matches.
        #[serde(default)]
        danger: Option<String>,
    },
    /// A question of the agent's own.
    Question {
        /// Its words.
        text: String,
        /// The answers that are offered, by their numbers from 1 on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<Offer>,
        /// Whether more than one of them may be chosen.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        several: bool,
    },
    /// Whether it may carry out what it plans.
    Plan {
        /// The plan, at most [`PLAN_MAX`].
        text: String,
    },
}

impl About {
    /// Whether two ask the same, so that one answer is for both.
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

    /// Whether its words stand for exactly one thing, so that what is said of them holds for the same words again.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Permission { cut, vague, command, .. } => !cut && !vague && !hides(command),
            Self::Question { .. } | Self::Plan { .. } => true,
        }
    }

    /// Whether it is asked in words and answered in words.
    #[must_use]
    pub fn is_question(&self) -> bool {
        match self {
            Self::Question { .. } => true,
            Self::Permission { .. } | Self::Plan { .. } => false,
        }
    }

    /// Its words, as they are shown in a line or two.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::Permission { command, .. } => command,
            Self::Question { text, .. } | Self::Plan { text } => text,
        }
    }

    /// What a person's words stand for: of the answers that are offered those with these numbers, else that of this name, else
    /// the words themselves.
    ///
    /// # Errors
    /// The number of answers that are offered, where a number is none of them, or several are chosen where one may be.
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

/// Whether a text has what a reader does not see as it is, or what makes them see something else. A break of a line counts as
/// one, whatever system it is from.
#[must_use]
pub fn hides(text: &str) -> bool {
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if is_hidden(c) && !(c == '\r' && rest.peek() == Some(&'\n')) {
            return true;
        }
    }
    false
}

/// Whether a character acts instead of being read: control characters, what reorders a line, and what takes no room in it.
/// Joiners stay, emoji and several scripts need them.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// The session.
    pub session: SessionId,
    /// What its driver calls the question; `None` where the agent itself comes back for the answer.
    pub key: Option<AskKey>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Its number, by which people answer it.
    pub id: AskId,
    /// What is asked.
    pub about: About,
    /// The work that it is asked for.
    pub work: WorkId,
    /// Who waits for the answer, if anybody does.
    pub asker: Option<Asker>,
    /// Since when.
    pub at: Timestamp,
    /// Until when; then the answer is no.
    pub until: Timestamp,
    /// Its place among the questions of one call; `None`: it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// When people are reminded of it next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remind_at: Option<Timestamp>,
    /// How often they were.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reminded: u32,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum AskAnswer {
    /// Yes.
    Allow {
        /// And the same from now on, unasked.
        always: bool,
    },
    /// No.
    Deny,
    /// Words.
    Text {
        /// Which.
        text: String,
    },
    /// Of the answers that are offered, these.
    Chosen {
        /// Which, as they are offered.
        labels: Vec<String>,
    },
}

/// The end of a question as the session that asked is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Words, or the answers that were chosen.
    Words(Vec<String>),
    /// Nobody answered in time.
    Nobody,
}

impl AskAnswer {
    /// Whether it is a yes to a question for permission.
    #[must_use]
    pub const fn allows(&self) -> bool {
        match self {
            Self::Allow { .. } => true,
            Self::Deny | Self::Text { .. } | Self::Chosen { .. } => false,
        }
    }

    /// Its words; `None` where it is a yes or a no.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        match self {
            Self::Allow { .. } | Self::Deny => None,
            Self::Text { text } => Some(text.clone()),
            Self::Chosen { labels } => Some(labels.join(", ")),
        }
    }
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum AskEnd {
    /// Somebody answered.
    Answered {
        /// What.
        answer: AskAnswer,
        /// Who.
        by: Actor,
    },
    /// Nobody did in time.
    Expired,
    /// Nobody needs the answer any more.
    Dropped,
}

impl AskEnd {
    /// Whether the agent may do what it asked for.
    #[must_use]
    pub const fn allows(&self) -> bool {
        match self {
            Self::Answered { answer, .. } => answer.allows(),
            Self::Expired | Self::Dropped => false,
        }
    }

    /// The same for the session that asked; `None` where nobody needs the answer.
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

/// A question that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The question.
    pub ask: Ask,
    /// How it ended.
    pub end: AskEnd,
    /// When.
    pub at: Timestamp,
    /// The answer came while nobody waited for it: it is for the session that asks the same again.
    pub due: bool,
}

/// What is allowed without asking, because a person said so for exactly that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The question that it was made with, whose number is the rule's too.
    pub id: AskId,
    /// The tool.
    pub tool: String,
    /// The exact command.
    pub command: String,
    /// Who made it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// Who decided a request for permission that no person was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum DecidedBy {
    /// The agent's autonomy.
    Autonomy,
    /// A rule.
    Rule {
        /// Which.
        rule: AskId,
    },
    /// Too many questions were open.
    TooMany,
}

/// Why a request for permission was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Denial {
    /// The agent's permissions do not cover it, and nobody has allowed it.
    Uncovered,
    /// A person has said no, or it is one of those that are always asked: more permissions change nothing.
    Kept,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// One more at the end; the oldest make room.
pub(super) fn settle(settled: &mut std::collections::VecDeque<Settled>, one: Settled) {
    while settled.len() >= SETTLED_MAX {
        settled.pop_front();
    }
    settled.push_back(one);
}
