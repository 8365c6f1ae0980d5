//! The configured limits and rules of the contract, as one value for `decide`. Each one is a key of `[supervisor]`,
//! `[quota]`, `[limits]` or `[prices]`.

use std::time::Duration;

use super::danger::AskPattern;
use super::machine::{Enforcement, Together};
use super::people::People;
use super::quota::QuotaRules;
use super::usage::{Prices, SharedCaps};

/// A limit of `count` events within a sliding `window`; one more is too many (OTP's intensity and period).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intensity {
    /// Number of events that is still allowed.
    pub count: u32,
    /// Length of the sliding window.
    pub window: Duration,
}

/// A schedule of growing waits: `min(base * 2^n, cap)`, with n counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exponential {
    /// The first wait, before any doubling.
    pub base: Duration,
    /// Maximum wait, however often it was doubled.
    pub cap: Duration,
}

/// The configured limits and rules by which `decide` decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Waits after consecutive failed sessions, one after the other; the last one repeats. Never empty.
    pub backoff: Vec<Duration>,
    /// Waits after consecutive process crashes.
    pub process_backoff: Exponential,
    /// Number of failures in a window above which the circuit breaker opens.
    pub breaker: Intensity,
    /// Number of process crashes in a window above which an agent is degraded.
    pub degraded: Intensity,
    /// Maximum time without a driver's heartbeat; then its session counts as hung.
    pub heartbeat_timeout: Duration,
    /// Maximum time from a process's start until it is ready.
    pub startup_timeout: Duration,
    /// Maximum time that a model call may take without any event.
    pub silence_timeout: Duration,
    /// Maximum duration of a tool call.
    pub tool_timeout: Duration,
    /// Maximum duration of a session.
    pub max_task_duration: Duration,
    /// Time between asking a process to end (SIGTERM) and killing it.
    pub stop_grace: Duration,
    /// Maximum number of agents at work at once; 0: no limit (contract, section 6).
    pub max_active: u32,
    /// Memory that all agents together may take.
    pub memory: Together,
    /// The way in which limits on memory, CPU and processes are held.
    pub limits: Enforcement,
    /// Time for which processes may have waited for memory lately, in percent, before no session begins; 0: no limit.
    pub memory_pressure: u8,
    /// Rules for accounts that have reached their usage limit.
    pub quota: QuotaRules,
    /// Time after which queued tasks of a paused or halted agent go to another one; zero: never.
    pub reassign_after: Duration,
    /// Configured prices of models, for runtimes that report no cost.
    pub prices: Prices,
    /// Caps that agents share: those of the fleet and of accounts.
    pub caps: SharedCaps,
    /// Time that a question waits for a person's answer; then a permission request counts as denied (contract, section
    /// 9).
    pub confirm_timeout: Duration,
    /// Configured patterns that are always asked about, beside the built-in ones.
    pub always_ask: Vec<AskPattern>,
    /// Rules for evaluations.
    pub evaluator: EvaluatorRules,
    /// Rules for calling people.
    pub escalation: EscalationRules,
    /// Names and addresses for git of the people who give work.
    pub people: People,
}

/// The authority that judges an agent's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// No judge: turns are not recorded.
    Off,
    /// The built-in detector of repetition alone, without a model.
    Builtin,
    /// A program or CLI that asks a model.
    Asked,
}

/// Rules for evaluations (contract, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluatorRules {
    /// The judge of the turns.
    pub judge: Judge,
    /// Number of last turns that one evaluation examines.
    pub window: usize,
    /// Number of turns from one evaluation of an agent to the next.
    pub interval: u32,
    /// Number of findings in a row with which a person is called; never the first.
    pub threshold: u32,
    /// True if turns are recorded even if no judge reads them.
    pub traced: bool,
}

/// Rules for calling people (contract, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscalationRules {
    /// Time without an answer after which people are reminded of a call or a question.
    pub after: Duration,
    /// Maximum number of reminders for one call for a person.
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
            memory: Together::default(),
            limits: Enforcement::default(),
            memory_pressure: 20,
            quota: QuotaRules::default(),
            reassign_after: Duration::ZERO,
            prices: Prices::default(),
            caps: SharedCaps::default(),
            confirm_timeout: seconds(30 * 60),
            always_ask: Vec::new(),
            evaluator: EvaluatorRules {
                judge: Judge::Off,
                window: 20,
                interval: 5,
                threshold: 3,
                traced: false,
            },
            escalation: EscalationRules { after: seconds(4 * 3600), times: 2 },
            people: People::default(),
        }
    }
}
