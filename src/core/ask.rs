//! What an agent asks of people: permission for something, or an answer to a question of its own.
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

use super::id::{AskId, SessionId, WorkId};
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

/// A question as the driver of a session knows it: counted per session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskKey(pub u64);

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
            (Self::Question { text }, Self::Question { text: other }) => text == other,
            (Self::Permission { .. }, Self::Question { .. })
            | (Self::Question { .. }, Self::Permission { .. }) => false,
        }
    }

    /// Whether its words stand for exactly one thing, so that what is said of them holds for the same words again.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self {
            Self::Permission { cut, vague, command, .. } => !cut && !vague && !hides(command),
            Self::Question { .. } => true,
        }
    }

    /// Whether it is asked in words and answered in words.
    #[must_use]
    pub fn is_question(&self) -> bool {
        match self {
            Self::Question { .. } => true,
            Self::Permission { .. } => false,
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
}

impl AskAnswer {
    /// Whether it is a yes to a question for permission.
    #[must_use]
    pub const fn allows(&self) -> bool {
        match self {
            Self::Allow { .. } => true,
            Self::Deny | Self::Text { .. } => false,
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

/// One more at the end; the oldest make room.
pub(super) fn settle(settled: &mut std::collections::VecDeque<Settled>, one: Settled) {
    while settled.len() >= SETTLED_MAX {
        settled.pop_front();
    }
    settled.push_back(one);
}
