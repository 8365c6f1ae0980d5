//! How a session ended, and the class it maps to (the table of the contract's section 4).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::detail::Detail;
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
    /// The account's usage limit: its gate closes ([`super::promotion`]).
    Quota,
    /// The context window is full: a task is split, anything else is tried again in a new conversation.
    ContextOverflow,
    /// Longer than `max_task_duration`.
    TaskTimeout,
    /// A needed tool was denied: a task goes to an agent that may do more.
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

/// Tokens and money, as far as they are reported or can be estimated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Those of them that were found in the model's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Dollars.
    pub cost_usd: f64,
    /// Those of them that the runtime did not report: herder's estimate, from tokens and prices.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub estimated_usd: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_nothing(dollars: &f64) -> bool {
    *dollars == 0.0
}

impl Usage {
    /// Whether nothing was used.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds `other` to `self`. Dollars of `other` may be negative, where an estimate was too high; a sum never is.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_usd = (self.cost_usd + other.cost_usd).max(0.0);
        self.estimated_usd = (self.estimated_usd + other.estimated_usd).max(0.0);
    }

    /// What came since `before`. Dollars are negative where the estimate that was in `before` was too high.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cost_usd: self.cost_usd - before.cost_usd,
            estimated_usd: self.estimated_usd - before.estimated_usd,
        }
    }

    /// Tokens, sent and received.
    #[must_use]
    pub fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The same with dollars that can be counted with: what an agent reports must survive any encoding.
    #[must_use]
    pub fn sane(self) -> Self {
        let dollars = |dollars: f64| if dollars.is_finite() { dollars.max(0.0) } else { 0.0 };
        Self { cost_usd: dollars(self.cost_usd), estimated_usd: dollars(self.estimated_usd), ..self }
    }
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The class.
    pub category: Category,
    /// Why, for people: in the runtime's own words, where it has said any. Empty on success.
    #[serde(default)]
    pub detail: Detail,
    /// No row of the runtime's table of failures knows it: it is taken for transient, and somebody should add a row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// The conversation's history is what the model refused: the same would be refused again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history_refused: bool,
    /// When a limit ends, if the runtime said so.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// How the process left, if it was started at all.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// Its processes that were ended from here, those that left when they were asked to among them; 0: none, or nobody
    /// counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub ended: u32,
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
    /// A failure of a class, if it is known. What nobody knows is transient, and counted.
    #[must_use]
    pub fn failed(known: Option<Category>, detail: impl Into<Detail>) -> Self {
        Self { unknown: known.is_none(), ..Self::new(known.unwrap_or(Category::Transient), detail) }
    }

    /// An outcome with nothing but its class and the reason.
    #[must_use]
    pub fn new(category: Category, detail: impl Into<Detail>) -> Self {
        Self {
            category,
            detail: detail.into(),
            unknown: false,
            history_refused: false,
            resets_at: None,
            exit: None,
            ended: 0,
            text: None,
            turns: 0,
            usage: Usage::default(),
            duration: Duration::ZERO,
        }
    }
}
