//! Counters of failures and of usage, which restarts and caps depend on.

use std::collections::BTreeSet;

use crate::agent::Agent;
use crate::breaker::remember;
use crate::id::AccountName;
use crate::outcome::{Category, Outcome, Usage};
use crate::time::Timestamp;
use crate::turn::Step;
use crate::usage::PROVISIONAL;

/// Sets the session's meter to `usage`, its total so far, and adds the difference to the sums of the agent and the
/// paying account. A smaller total than before comes from another meter and is ignored.
pub(super) fn spend(agent: &mut Agent, usage: Usage, at: Timestamp) {
    let usage = usage.sane();
    if usage.tokens() < agent.meter.tokens() || usage == agent.meter {
        return;
    }
    let account = agent.session_account();
    let step = usage.since(agent.meter);
    agent.meter = usage;
    pay(agent, &account, step);
    agent.conversed.add(step);
    agent.books.enter(&account, step, at);
    let provisional = PROVISIONAL.of(usage);
    if usage.cost_usd > 0.0 && usage.estimated_usd == 0.0 && provisional > 0.0 {
        agent.rate = Some((usage.cost_usd / provisional).clamp(0.01, 10.0));
    }
}

/// Adds the usage of a model that was asked about the agent (evaluator, splitter) to the sums of the agent and its
/// account, so that the same caps cover it.
pub(super) fn charge(agent: &mut Agent, usage: Usage, at: Timestamp) {
    let usage = usage.sane();
    if usage != Usage::default() {
        let account = agent.account();
        pay(agent, &account, usage);
        agent.books.enter(&account, usage, at);
    }
}

/// Adds `step` to the usage totals of the agent and of the account that pays.
fn pay(agent: &mut Agent, account: &AccountName, step: Usage) {
    // A state from before there were sums by account: its account of now has paid.
    if agent.paid_by.is_empty() && !agent.totals.usage.is_none() {
        let before = agent.totals.usage;
        agent.paid_by.insert(agent.account(), before);
    }
    agent.totals.usage.add(step);
    agent.paid_by.entry(account.clone()).or_default().add(step);
}

/// Updates the counters of successes, failures and crashes after a session ended.
pub(super) fn count(agent: &mut Agent, outcome: &Outcome, at: Timestamp) {
    if outcome.unknown {
        agent.totals.unknown = agent.totals.unknown.saturating_add(1);
    }
    match outcome.category {
        Category::Success => {
            agent.totals.successes = agent.totals.successes.saturating_add(1);
            clear_counters(agent);
        }
        Category::MaxTurns => count_turn_limit(agent, at),
        Category::RateLimit => count_limit(agent, outcome, at),
        Category::Permanent
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::OutOfMemory
        | Category::Transient => count_failure(agent, at),
        Category::Crash => count_crash(agent, at),
        // These are no failures of the agent's work, so no restart follows from them.
        Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::Quota
        | Category::DoNotRestart
        | Category::Interrupted => {}
    }
    if outcome.category == Category::Quota {
        // A limit of an account that the agent has left does not keep it from anything.
        agent.exhausted = Some(at).filter(|_| agent.session_account() == agent.account());
    } else if matches!(outcome.category, Category::Success | Category::MaxTurns) {
        agent.exhausted = None;
    }
    let same_again = agent.current.as_ref().filter(|_| outcome.category == Category::TaskTimeout);
    if let Some(work) = same_again {
        agent.timed_out = Some(work.id);
    }
    let starved = agent.current.as_ref().filter(|_| outcome.category == Category::OutOfMemory);
    if let Some(work) = starved {
        agent.starved = Some(work.id);
    }
}

/// Number of consecutive sessions that may end at their turn limit without progress; each one after them counts as a
/// failure for the breaker.
pub(crate) const STALLS_BELIEVED: u32 = 5;

/// Counts a session that reached its limit of turns. It is a failure only after [`STALLS_BELIEVED`] sessions without
/// progress.
fn count_turn_limit(agent: &mut Agent, at: Timestamp) {
    let stalls = if has_progressed(agent) { 0 } else { agent.stalls.saturating_add(1) };
    clear_counters(agent);
    agent.stalls = stalls;
    if stalls > STALLS_BELIEVED {
        remember(&mut agent.failure_times, at);
    }
}

/// True if the last session took a step, or got a result, that no session before it had, as far as its turns were
/// seen.
fn has_progressed(agent: &Agent) -> bool {
    let window = &agent.watch.window;
    let (own, before): (Vec<_>, Vec<_>) = window.iter().partition(|turn| turn.session == agent.last_session);
    let seen = |step: &Step| (step.tool.clone(), step.digest, step.end.as_ref().map(|end| end.digest));
    let known: BTreeSet<_> = before.iter().flat_map(|turn| &turn.steps).map(seen).collect();
    own.iter().flat_map(|turn| &turn.steps).any(|step| !known.contains(&seen(step)))
}

pub(super) fn clear_counters(agent: &mut Agent) {
    agent.stalls = 0;
    agent.failures = 0;
    agent.crashes = 0;
    agent.past_resets = 0;
}

fn count_failure(agent: &mut Agent, at: Timestamp) {
    agent.stalls = 0;
    agent.past_resets = 0;
    agent.failures = agent.failures.saturating_add(1);
    agent.totals.failures = agent.totals.failures.saturating_add(1);
    remember(&mut agent.failure_times, at);
}

pub(super) fn count_crash(agent: &mut Agent, at: Timestamp) {
    agent.past_resets = 0;
    agent.crashes = agent.crashes.saturating_add(1);
    agent.totals.failures = agent.totals.failures.saturating_add(1);
    agent.totals.crashes = agent.totals.crashes.saturating_add(1);
    remember(&mut agent.failure_times, at);
    remember(&mut agent.crash_times, at);
}

/// Number of consecutive rate limits whose reported reset is already past that are retried at once; from the next one
/// on each is a failure, and the backoff schedule applies.
pub(crate) const PAST_RESETS_BELIEVED: u32 = 2;

fn count_limit(agent: &mut Agent, outcome: &Outcome, at: Timestamp) {
    match outcome.resets_at {
        Some(reset) if reset > at => agent.past_resets = 0,
        Some(_) => {
            let past = agent.past_resets.saturating_add(1);
            if past > PAST_RESETS_BELIEVED {
                count_failure(agent, at);
            }
            agent.past_resets = past;
        }
        None => count_failure(agent, at),
    }
}

/// Returns true if a session that ended with `category` counts as a failed attempt at its work.
pub(super) fn failed(category: Category) -> bool {
    match category {
        Category::Transient
        | Category::RateLimit
        | Category::Permanent
        | Category::ContextOverflow
        | Category::TaskTimeout
        | Category::SandboxDenial
        | Category::Hung
        | Category::OutOfMemory
        | Category::Crash
        | Category::DoNotRestart => true,
        Category::Success
        | Category::MaxTurns
        | Category::Billing
        | Category::Auth
        | Category::Budget
        | Category::Quota
        | Category::Interrupted => false,
    }
}
