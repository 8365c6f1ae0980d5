//! Whispers: private words of a person or of the evaluator for an agent, and their delivery.
//!
//! A whisper waits in the agent's state until it is delivered in one of these ways, whichever comes first: with the
//! result of a call of herder's own tools, into the running turn, or at the head of the next session's prompt. If a
//! runtime accepts nothing during a turn, but can start another turn in the same session, the turn is interrupted
//! once a whisper is [overdue](Agent::overdue), and the next one starts with it. The delivery is one event; after it
//! the whisper is in the history alone. It is never posted.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent::{Agent, Phase};
use super::id::{SessionId, WorkId};
use super::time::Timestamp;
use super::work::Actor;

/// Maximum number of whispers that wait for one agent; a person types far fewer before an agent does anything.
pub const WHISPERS_MAX: usize = 50;

/// Maximum length of a whisper, in bytes: a few paragraphs. All that wait together stay far below one prompt.
pub const WHISPER_TEXT_MAX: usize = 4 * 1024;

/// Number of turns that may end while a whisper waits; then it is overdue, and a turn is interrupted for it if the
/// runtime needs that.
pub const OVERDUE_TURNS: u32 = 2;

/// Maximum time that a whisper waits; then it is overdue at the end of a turn, however few turns have ended.
pub const OVERDUE_AFTER: Duration = Duration::from_secs(60);

/// A message for an agent alone, from a person or the evaluator, that waits for delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whisper {
    /// Number of the whisper, from the same sequence as works.
    pub id: WorkId,
    /// Text of the whisper.
    pub text: String,
    /// The person who sent it, or herder for the evaluator.
    pub by: Actor,
    /// Time at which the whisper was sent.
    pub at: Timestamp,
    /// Intention of the whisper: a person's words, or the evaluator's.
    #[serde(default, skip_serializing_if = "Tone::is_person")]
    pub tone: Tone,
    /// Last session whose prompt contains the whisper, which is delivered when that session has its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<SessionId>,
}

impl Whisper {
    /// Returns the text for the agent, with a keyword in brackets such as `[CORRECTION]` before it.
    #[must_use]
    pub fn words(&self) -> String {
        match self.tone {
            Tone::Person => format!("[WHISPER] {} tells you, and you alone: {}", self.by.name, self.text),
            Tone::Correction => format!("[CORRECTION] {}", self.text),
            Tone::ThinkDeeper => format!("[THINK_DEEPER] {}", self.text),
            Tone::Escalation => format!("[ESCALATION] {}", self.text),
        }
    }
}

impl Agent {
    /// Returns the whispers that are overdue at the end of a turn, without those in the running session's own prompt.
    #[must_use]
    pub fn overdue(&self, now: Timestamp) -> Vec<&Whisper> {
        let Phase::Running { session } = self.phase else { return Vec::new() };
        let ends = |whisper: &Whisper| {
            let turns = self.watch.window.iter().filter(|turn| turn.session == session);
            let ends = turns.filter(|turn| turn.at.after(Duration::from_millis(turn.took_ms)) > whisper.at);
            u32::try_from(ends.count()).unwrap_or(u32::MAX)
        };
        let waits = self.whispers.iter().filter(|whisper| whisper.prompted != Some(session));
        waits
            .filter(|whisper| now.since(whisper.at) >= OVERDUE_AFTER || ends(whisper) >= OVERDUE_TURNS)
            .collect()
    }
}

/// Intention of a whisper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Words of a person, delivered as they are.
    #[default]
    Person,
    /// The evaluator's finding that the agent goes the wrong way.
    Correction,
    /// The evaluator's finding that the agent stays on the surface.
    ThinkDeeper,
    /// Information for the agent that it was paused, and that a person resumed it.
    Escalation,
}

impl Tone {
    /// Returns true if the whisper is a person's.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to it")]
    fn is_person(&self) -> bool {
        *self == Self::Person
    }

    /// Returns true if the whisper is a finding of the evaluator.
    #[must_use]
    pub fn is_finding(self) -> bool {
        match self {
            Self::Correction | Self::ThinkDeeper => true,
            Self::Person | Self::Escalation => false,
        }
    }
}

/// Way in which a whisper was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Delivered with the result of a call of herder's tools.
    Tool,
    /// Delivered into the running turn.
    Turn,
    /// Delivered with a session's prompt.
    Prompt,
    /// Delivered with the next turn of the session, after the running one was interrupted.
    Anew,
}
