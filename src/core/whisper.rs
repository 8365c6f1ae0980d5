//! Private words of a person or of the evaluator for an agent: who got what, and how.
//!
//! A whisper waits in the agent's state until it was handed over in one of these ways, whichever comes first: with the
//! result of a call of herder's own tools, into the running turn, or at the head of the next prompt, which is the next
//! session's. A runtime that takes nothing into a running turn, but can be asked for another one in the same session, is: once
//! a whisper is [overdue](Agent::overdue), the turn is cut short, and the next one begins with it. That a whisper was handed
//! over is one event; after it the whisper is in the history alone. It is never posted.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::agent::{Agent, Phase};
use super::id::{SessionId, WorkId};
use super::time::Timestamp;
use super::work::Actor;

/// The most whispers that wait for one agent: a person types far fewer before an agent does anything.
pub const WHISPERS_MAX: usize = 50;

/// The longest whisper, in bytes: a few paragraphs. All that wait together stay far below one prompt.
pub const WHISPER_TEXT_MAX: usize = 4 * 1024;

/// Turns that end while a whisper waits, after which it is overdue: the agent has had a turn to call a tool of herder's, and
/// is told before the next evaluation.
pub const OVERDUE_TURNS: u32 = 2;

/// A whisper that has waited so long when a turn ends is overdue, however few turns that are.
pub const OVERDUE_AFTER: Duration = Duration::from_secs(60);

/// Words that wait to be handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whisper {
    /// Its id, of the same numbers as works'.
    pub id: WorkId,
    /// What it says.
    pub text: String,
    /// Whose words they are.
    pub by: Actor,
    /// When they were said.
    pub at: Timestamp,
    /// Whether they are a person's, or how the evaluator means them.
    #[serde(default, skip_serializing_if = "Tone::is_person")]
    pub tone: Tone,
    /// The last session whose prompt they are part of: once that session has its prompt they are handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted: Option<SessionId>,
}

impl Whisper {
    /// As the agent reads it.
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
    /// What waits for longer than it should while the agent works; asked when a turn ends. What is part of the session's own
    /// prompt is on its way.
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

/// How a whisper is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// A person's words.
    #[default]
    Person,
    /// The agent goes the wrong way.
    Correction,
    /// It stays on the surface.
    ThinkDeeper,
    /// It was paused, and a person let it go on.
    Escalation,
}

impl Tone {
    /// Whether it is a person's.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to it")]
    fn is_person(&self) -> bool {
        *self == Self::Person
    }

    /// Whether it is of the evaluator, about what the agent does.
    #[must_use]
    pub fn is_finding(self) -> bool {
        match self {
            Self::Correction | Self::ThinkDeeper => true,
            Self::Person | Self::Escalation => false,
        }
    }
}

/// How a whisper was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// With the result of a call of herder's tools.
    Tool,
    /// Into the running turn.
    Turn,
    /// With a session's prompt.
    Prompt,
    /// The running turn was cut short, and the next one of the session began with it.
    Anew,
}
