//! How a session ended, and the class it maps to (the table of the contract's section 4).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::time::Timestamp;

/// What a session's end means for what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// Result ok.
    Success,
    /// The same again may work: server errors, a cut stream, anything unknown.
    Transient,
    /// A limit that passes, with or without a known time.
    RateLimit,
    /// The request itself is refused, or the process cannot be started.
    Permanent,
    /// The turn limit of the session was reached.
    MaxTurns,
    /// The account cannot be billed.
    Billing,
    /// The credentials are refused.
    Auth,
    /// A dollar cap was reached.
    Budget,
    /// The account's usage limit. Until the account gate is built it follows [`Category::RateLimit`].
    Quota,
    /// The context window is full. Until the fleet's recovery is built it follows [`Category::Permanent`].
    ContextOverflow,
    /// Longer than `max_task_duration`.
    TaskTimeout,
    /// A needed tool was denied. Until the fleet's recovery is built it follows [`Category::Permanent`].
    SandboxDenial,
    /// A clock of the contract's section 5 ran out.
    Hung,
    /// The process died without a result.
    Crash,
    /// Exit code 2: the runtime asks not to be restarted.
    DoNotRestart,
    /// herder ended it on purpose, or was itself gone: nobody's fault, nothing is counted.
    Interrupted,
}

impl Category {
    /// Whether it concerns the account, so that every agent of it is paused.
    #[must_use]
    pub fn is_of_account(self) -> bool {
        matches!(self, Self::Billing | Self::Auth | Self::Budget)
    }
}

/// How a process left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Tokens and money of one session, as far as the runtime reports them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Dollars, if the runtime reports them.
    pub cost_usd: f64,
}

impl Usage {
    /// Adds `other` to `self`.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_usd += other.cost_usd;
    }
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The class.
    pub category: Category,
    /// The runtime's own words, one line, for people. Empty on success.
    #[serde(default)]
    pub detail: String,
    /// When a limit ends, if the runtime said so.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// How the process left, if it was started at all.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// The final text of the session.
    #[serde(default)]
    pub text: Option<String>,
    /// Turns the session took.
    #[serde(default)]
    pub turns: u32,
    /// What it used.
    #[serde(default)]
    pub usage: Usage,
    /// How long it ran.
    #[serde(default)]
    pub duration: Duration,
}

impl Outcome {
    /// An outcome with nothing but its class and the reason.
    #[must_use]
    pub fn new(category: Category, detail: impl Into<String>) -> Self {
        Self {
            category,
            detail: detail.into(),
            resets_at: None,
            exit: None,
            text: None,
            turns: 0,
            usage: Usage::default(),
            duration: Duration::ZERO,
        }
    }
}
