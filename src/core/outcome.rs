//! Outcomes of sessions and their categories (the table of the contract's section 4).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::detail::Detail;
use super::time::Timestamp;

/// Category of a session's outcome, which decides what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// The session succeeded.
    Success,
    /// The session failed in a way that another try may not: server errors, a cut stream, anything unknown.
    Transient,
    /// The session met a rate limit that passes, with or without a known end.
    RateLimit,
    /// The request itself is refused, or the process cannot be started: another try would hardly help.
    Permanent,
    /// The session reached its limit of turns.
    MaxTurns,
    /// The account cannot be billed, for example because it has no credit.
    Billing,
    /// The account's credentials are refused.
    Auth,
    /// A dollar cap was reached.
    Budget,
    /// The account's usage limit was reached: no session of the account starts until it has reset
    /// ([`super::promotion`]).
    Quota,
    /// The context window is full: a task is split, anything else is tried again in a new conversation.
    ContextOverflow,
    /// The session took longer than `max_task_duration`.
    TaskTimeout,
    /// A needed permission was denied: a task goes to an agent with more permissions.
    SandboxDenial,
    /// A time limit of the contract's section 5 ran out.
    Hung,
    /// The process died without a result.
    Crash,
    /// Exit code 2: the runtime asks not to be restarted.
    DoNotRestart,
    /// herder ended the session on purpose, or was itself gone: no failure is counted.
    Interrupted,
    /// The kernel ended the session at a limit on memory: the work is tried once more, then a person is called.
    OutOfMemory,
}

impl Category {
    /// All categories, in the order of their discriminants.
    pub const ALL: [Self; 17] = [
        Self::Success,
        Self::Transient,
        Self::RateLimit,
        Self::Permanent,
        Self::MaxTurns,
        Self::Billing,
        Self::Auth,
        Self::Budget,
        Self::Quota,
        Self::ContextOverflow,
        Self::TaskTimeout,
        Self::SandboxDenial,
        Self::Hung,
        Self::Crash,
        Self::DoNotRestart,
        Self::Interrupted,
        Self::OutOfMemory,
    ];

    /// Returns the category's word, as in the journal and in numbers.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Transient => "transient",
            Self::RateLimit => "rate-limit",
            Self::Permanent => "permanent",
            Self::MaxTurns => "max-turns",
            Self::Billing => "billing",
            Self::Auth => "auth",
            Self::Budget => "budget",
            Self::Quota => "quota",
            Self::ContextOverflow => "context-overflow",
            Self::TaskTimeout => "task-timeout",
            Self::SandboxDenial => "sandbox-denial",
            Self::Hung => "hung",
            Self::Crash => "crash",
            Self::DoNotRestart => "do-not-restart",
            Self::Interrupted => "interrupted",
            Self::OutOfMemory => "out-of-memory",
        }
    }

    /// Returns true if the failure concerns the whole account, so that every agent of the account is paused.
    #[must_use]
    pub fn is_of_account(self) -> bool {
        matches!(self, Self::Billing | Self::Auth | Self::Budget)
    }

    /// Returns true if an outcome is due to the work and not to the agent: too large, too long, or without permission.
    #[must_use]
    pub fn is_of_work(self) -> bool {
        match self {
            Self::ContextOverflow | Self::TaskTimeout | Self::SandboxDenial | Self::OutOfMemory => true,
            Self::Success
            | Self::Transient
            | Self::RateLimit
            | Self::Permanent
            | Self::MaxTurns
            | Self::Billing
            | Self::Auth
            | Self::Budget
            | Self::Quota
            | Self::Hung
            | Self::Crash
            | Self::DoNotRestart
            | Self::Interrupted => false,
        }
    }
}

/// The way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// The process ended by itself, with this exit code.
    Code(i32),
    /// The process was ended by this signal.
    Signal(i32),
}

/// Tokens and dollars that were used, as far as they are reported or can be estimated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Number of tokens sent, including cached ones.
    pub input_tokens: u64,
    /// Number of sent tokens that were found in the model's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Number of tokens received.
    pub output_tokens: u64,
    /// Cost in dollars, including estimates.
    pub cost_usd: f64,
    /// Part of the cost that the runtime did not report: herder's estimate, from tokens and prices.
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
    /// Returns true if nothing was used.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds `other` to `self`. Dollars of `other` may be negative, if an estimate was too high; a sum never is.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_usd = (self.cost_usd + other.cost_usd).max(0.0);
        self.estimated_usd = (self.estimated_usd + other.estimated_usd).max(0.0);
    }

    /// Returns the usage since `before`. Dollars are negative if the estimate in `before` was too high.
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

    /// Returns the number of tokens sent and received.
    #[must_use]
    pub fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns the usage with finite dollars of at least 0, since an agent's report must survive any encoding.
    #[must_use]
    pub fn sane(self) -> Self {
        let dollars = |dollars: f64| if dollars.is_finite() { dollars.max(0.0) } else { 0.0 };
        Self { cost_usd: dollars(self.cost_usd), estimated_usd: dollars(self.estimated_usd), ..self }
    }
}

/// The outcome of a session: why and how it ended, its final text and its usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Category of the outcome.
    pub category: Category,
    /// The reason for people, in the runtime's own words if it gave any; empty on success.
    #[serde(default)]
    pub detail: Detail,
    /// True if no row of the runtime's table of failures matches the failure: it is treated as transient, and a row
    /// should be added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// True if the model refused the conversation's history, as it would again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history_refused: bool,
    /// Reported end of a rate or usage limit, if the session met one.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    /// Exit code or signal of the process; `None` if it was not started.
    #[serde(default)]
    pub exit: Option<Exit>,
    /// Number of processes of the session that herder ended, including those that left when asked to; 0 also if they
    /// were not counted.
    #[serde(default, skip_serializing_if = "is_none")]
    pub ended: u32,
    /// Final text of the session, if it produced one.
    #[serde(default)]
    pub text: Option<String>,
    /// Number of turns of the session.
    #[serde(default)]
    pub turns: u32,
    /// Usage of the session.
    #[serde(default)]
    pub usage: Usage,
    /// Duration of the session.
    #[serde(default)]
    pub duration: Duration,
    /// Maximum of the memory that the session took, in bytes; 0 if it was not measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub peak: u64,
}

impl Outcome {
    /// Returns the outcome of a failed session. An unknown category counts as transient, and is marked unknown.
    #[must_use]
    pub fn failed(known: Option<Category>, detail: impl Into<Detail>) -> Self {
        Self { unknown: known.is_none(), ..Self::new(known.unwrap_or(Category::Transient), detail) }
    }

    /// Returns an outcome with nothing but its category and reason.
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
            peak: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_stands_at_its_place_and_has_the_word_of_the_journal() {
        for (index, category) in Category::ALL.into_iter().enumerate() {
            assert_eq!(category as usize, index, "{category:?}");
            let stored = serde_json::to_value(category).expect("a word");
            assert_eq!(stored, category.word());
        }
    }
}
