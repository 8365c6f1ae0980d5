//! The constants of the contract, as one value that `decide` is given. Every one is a key of `[supervisor]`, `[quota]`,
//! `[limits]` or `[prices]`.

use std::time::Duration;

use super::danger::AskPattern;
use super::quota::QuotaRules;
use super::usage::{Prices, SharedCaps};

/// More than `count` in a sliding `window` is too many (OTP's intensity and period).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intensity {
    /// How many are still fine.
    pub count: u32,
    /// In how long.
    pub window: Duration,
}

/// `min(base * 2^n, cap)`, n counting from 0.
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
    /// A driver silent for so long is hung.
    pub heartbeat_timeout: Duration,
    /// A process must be ready within.
    pub startup_timeout: Duration,
    /// A model call may be silent for.
    pub silence_timeout: Duration,
    /// A tool call may take.
    pub tool_timeout: Duration,
    /// A session may take.
    pub max_task_duration: Duration,
    /// Between asking a process to end and killing it.
    pub stop_grace: Duration,
    /// How many agents may be at work at once; 0: no limit (contract, section 6).
    pub max_active: u32,
    /// How accounts that have reached their usage limit go on.
    pub quota: QuotaRules,
    /// After so long the queued tasks of an agent that is paused or halted go to another one; zero: never.
    pub reassign_after: Duration,
    /// What models cost whose runtimes do not say.
    pub prices: Prices,
    /// What agents may use together.
    pub caps: SharedCaps,
    /// How long a question waits for a person; then the answer is no (contract, section 9).
    pub confirm_timeout: Duration,
    /// What is always asked, beside what is built in.
    pub always_ask: Vec<AskPattern>,
    /// Who looks at what agents do, and when.
    pub evaluator: EvaluatorRules,
    /// How people are called.
    pub escalation: EscalationRules,
}

/// Who looks at what agents do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// Nobody: nothing is seen.
    Off,
    /// The built-in detector alone.
    Builtin,
    /// A program is asked.
    Asked,
}

/// The evaluator's rhythm (contract, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluatorRules {
    /// Who judges.
    pub judge: Judge,
    /// How many of the last turns are looked at.
    pub window: usize,
    /// After how many turns.
    pub interval: u32,
    /// The finding that calls a person, counted from 1; never the first.
    pub threshold: u32,
}

/// How people are called (contract, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscalationRules {
    /// After how long without an answer they are reminded.
    pub after: Duration,
    /// How often at most.
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
