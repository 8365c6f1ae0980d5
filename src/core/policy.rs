//! The constants of the contract, as one value for `decide`. Each one is a key of `[supervisor]`, `[quota]`,
//! `[limits]` or `[prices]`.

use std::time::Duration;

use super::danger::AskPattern;
use super::quota::QuotaRules;
use super::usage::{Prices, SharedCaps};

/// A limit of `count` per sliding `window`; more is too many (OTP's intensity and period).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intensity {
    /// Number that is still allowed.
    pub count: u32,
    /// Length of the window.
    pub window: Duration,
}

/// An exponential schedule: `min(base * 2^n, cap)`, with n counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exponential {
    /// The first wait.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
}

/// The supervisor's limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Waits after consecutive failed sessions; the last one repeats. Never empty.
    pub backoff: Vec<Duration>,
    /// Waits after consecutive process crashes.
    pub process_backoff: Exponential,
    /// Failures that open the circuit breaker.
    pub breaker: Intensity,
    /// Process crashes that degrade an agent.
    pub degraded: Intensity,
    /// Time without a driver's heartbeat after which it is hung.
    pub heartbeat_timeout: Duration,
    /// Maximum time until a process is ready.
    pub startup_timeout: Duration,
    /// Maximum silence of a model call.
    pub silence_timeout: Duration,
    /// Maximum duration of a tool call.
    pub tool_timeout: Duration,
    /// Maximum duration of a session.
    pub max_task_duration: Duration,
    /// Time between asking a process to end and killing it.
    pub stop_grace: Duration,
    /// Maximum number of agents at work at once; 0: no limit (contract, section 6).
    pub max_active: u32,
    /// Rules for accounts that have reached their usage limit.
    pub quota: QuotaRules,
    /// Time after which queued tasks of a paused or halted agent go to another one; zero: never.
    pub reassign_after: Duration,
    /// Prices of models whose runtimes report no cost.
    pub prices: Prices,
    /// Caps that agents share.
    pub caps: SharedCaps,
    /// Time that a question waits for a person; then the answer is no (contract, section 9).
    pub confirm_timeout: Duration,
    /// Configured patterns that are always asked about, beside the built-in ones.
    pub always_ask: Vec<AskPattern>,
    /// Rules for evaluations.
    pub evaluator: EvaluatorRules,
    /// Rules for calling people.
    pub escalation: EscalationRules,
}

/// The judge of an agent's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// None: turns are not recorded.
    Off,
    /// The built-in detector alone.
    Builtin,
    /// A program or CLI.
    Asked,
}

/// Rules for evaluations (contract, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluatorRules {
    /// The judge.
    pub judge: Judge,
    /// Number of last turns that are examined.
    pub window: usize,
    /// Number of turns between two evaluations.
    pub interval: u32,
    /// Number of the finding in a row that calls a person; never the first.
    pub threshold: u32,
}

/// Rules for calling people (contract, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscalationRules {
    /// Time without an answer after which people are reminded.
    pub after: Duration,
    /// Maximum number of reminders.
    pub times: u32,
}

impl Default for Policy {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            backoff: [10, 20, 40, 80, 300].map(seconds).to_vec(),
            process_backoff: Exponential { base: seconds(1), cap: seconds(300) },
            breaker: Intensity { count: 5, window: seconds(60) },
            degraded: Intensity { count: 5, window: seconds(30 * 60) },
            heartbeat_timeout: seconds(15),
            startup_timeout: seconds(60),
            silence_timeout: seconds(5 * 60),
            tool_timeout: seconds(30 * 60),
            max_task_duration: seconds(30 * 60),
            stop_grace: seconds(10),
            max_active: 5,
            quota: QuotaRules::default(),
            reassign_after: Duration::ZERO,
            prices: Prices::default(),
            caps: SharedCaps::default(),
            confirm_timeout: seconds(30 * 60),
            always_ask: Vec::new(),
            evaluator: EvaluatorRules { judge: Judge::Off, window: 20, interval: 5, threshold: 3 },
            escalation: EscalationRules { after: seconds(4 * 3600), times: 2 },
        }
    }
}
