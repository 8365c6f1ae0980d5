//! Places at work for supervisors: the pure rules ([`crate::core::promotion`]) behind a lock that is held for a few
//! comparisons, so that a session can start with the decision that requires it.
//!
//! A place is taken before the session's start is on disk, and given back after its end is, so that there are never
//! more sessions than places, not even on the disk of a killed herder. Gates are closed here at once, and opened by
//! the root alone once that is on disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::Shared;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::id::{AccountName, AgentName, RunnerName};
use crate::core::input::Input;
use crate::core::machine::Together;
use crate::core::outcome::Category;
use crate::core::policy::Policy;
use crate::core::promotion::{Gate, Hold, Promotion, Shut, Standing};
use crate::core::time::Timestamp;
use crate::runtime::process;

/// Maximum sleep: the longest delay of a closed account's probe after the machine was suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// The assignment of places to agents ([`Promotion`]) behind a lock.
#[derive(Debug, Default)]
pub(super) struct Turns {
    promotion: Mutex<Promotion>,
    /// Notified when the time of the next probe of an account has changed.
    moved: Notify,
    /// Limits by which sessions are let in; `None` if the machine is not looked at, because it is simulated.
    limits: Mutex<Option<Limits>>,
}

/// Limits on memory by which sessions are let in.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Memory that all sessions together may take.
    together: Together,
    /// Pressure from which no session begins, in percent; 0: no limit.
    pressure: u8,
}

impl Limits {
    fn of(policy: &Policy) -> Self {
        Self { together: policy.memory, pressure: policy.memory_pressure }
    }
}

impl Turns {
    /// `simulated`: sessions are let in whatever memory this machine has.
    pub(super) fn new(policy: &Policy, simulated: bool) -> Self {
        let turns = Self { limits: Mutex::new((!simulated).then(|| Limits::of(policy))), ..Self::default() };
        limit(&mut turns.lock(), policy);
        turns
    }

    fn lock(&self) -> MutexGuard<'_, Promotion> {
        self.promotion.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the agent waits with its work; `None` if it does not wait.
    pub(super) fn hold(&self, agent: &AgentName) -> Option<Hold> {
        self.lock().hold(agent, clock::now())
    }

    /// Returns the reason why an agent may not use an account now; `None` if the account is open to it.
    pub(super) fn closed(&self, agent: &AgentName, account: &AccountName, now: Timestamp) -> Option<Hold> {
        self.lock().closed(agent, account, now)
    }

    /// Returns the time since which an account has been closed, also while it is probed; `None` if it is open.
    pub(super) fn closed_since(&self, account: &AccountName) -> Option<Timestamp> {
        self.lock().closed_since(account)
    }

    /// Returns the agents of an account that wait for a place.
    pub(super) fn waiting(&self, account: &AccountName) -> Vec<AgentName> {
        self.lock().waiting(account).cloned().collect()
    }

    /// Takes a place for a session that starts now, or returns the reason why there is none.
    pub(super) fn begin(
        &self,
        agent: &AgentName,
        account: &AccountName,
        since: Timestamp,
        keeps: bool,
        now: Timestamp,
    ) -> Option<Hold> {
        let mut promotion = self.lock();
        let before = promotion.deadline(now);
        self.look(&mut promotion, now);
        let held = promotion.begin(agent, account, since, keeps, now).err();
        if promotion.deadline(now) != before {
            self.moved.notify_one();
        }
        held
    }

    /// Looks at the machine's memory, unless that was done a moment ago.
    fn look(&self, promotion: &mut Promotion, now: Timestamp) {
        let Some(limits) = *self.limits.lock().unwrap_or_else(PoisonError::into_inner) else { return };
        if !promotion.is_fresh(now) {
            promotion.measured(process::room(limits.together), limits.pressure, now);
        }
    }

    /// Records the state of an agent at a start, before places are given.
    pub(super) fn enter(&self, agent: &AgentName, state: &Agent) {
        let account = super::root::account_of(state);
        let mut promotion = self.lock();
        promotion.needs(agent, state.needs());
        promotion.runs_on(agent, state.spec.as_ref().and_then(|spec| spec.runner.as_ref()));
        promotion.stands(agent, &account, state.standing(), clock::now());
    }

    /// Closes an account at once; the root records it and calls [`Turns::heard`]. Returns true if the agent was
    /// probing the account.
    pub(super) fn close(&self, agent: &AgentName, account: &AccountName, category: Category) -> bool {
        self.lock().close(agent, account, category, clock::now())
    }

    /// Moves all recorded times by `by` milliseconds after the wall clock was set.
    pub(super) fn clock_set(&self, by: i64) {
        self.lock().clock_set(by);
    }

    /// Records that the root knows of the closing by this agent of this account or, for `None`, of any.
    pub(super) fn heard(&self, agent: &AgentName, account: Option<&AccountName>) {
        self.lock().heard(agent, account);
    }

    /// Returns true if the agent probes the account with its session.
    pub(super) fn probes(&self, agent: &AgentName, account: &AccountName) -> bool {
        self.lock().probes(agent, account)
    }

    /// Returns the time at which places must be assigned again although no agent's state changed, because a probe
    /// becomes possible; `None` if there is none.
    pub(super) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        self.lock().deadline(now)
    }

    /// Waits until `due`, or until that time may have changed; without `due` only for the latter.
    pub(super) async fn ring(&self, due: Option<Timestamp>) {
        let sleep = due.map_or(LONGEST_SLEEP, |due| due.since(clock::now()).min(LONGEST_SLEEP));
        tokio::select! {
            biased;
            () = tokio::time::sleep(sleep), if due.is_some() => {}
            () = self.moved.notified() => {}
        }
    }
}

fn limit(promotion: &mut Promotion, policy: &Policy) {
    promotion.limit(policy.max_active, policy.quota.probe_interval, policy.quota.quiet.clone());
}

/// Guard that gives back the agent's place when its supervisor ends, in whichever way.
pub(super) struct Leaving {
    pub(super) agent: AgentName,
    pub(super) shared: Arc<Shared>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.shared.stands(&self.agent, &AccountName::default(), Standing::Rests, (0, None));
        self.shared.journal.seen(&self.agent, None);
    }
}

impl Shared {
    /// Records the state of an agent, and the memory in bytes that its next session needs; lets the agents start that
    /// get a place because of it.
    pub(super) fn stands(
        &self,
        agent: &AgentName,
        account: &AccountName,
        standing: Standing,
        (needs, runner): (u64, Option<&RunnerName>),
    ) {
        let now = clock::now();
        // The way to its machine is looked for before anything begins there.
        drop(self.places.of(runner));
        let mut promotion = self.turns.lock();
        promotion.needs(agent, needs);
        let is_moved = promotion.runs_on(agent, runner);
        let before = promotion.deadline(now);
        if promotion.stands(agent, account, standing, now) || is_moved {
            self.let_on(promotion, before, now);
        }
    }

    /// Replaces the stored states of closed accounts, and lets agents start that may because of it.
    pub(super) fn set_gates(&self, gates: BTreeMap<AccountName, Gate>) {
        let now = clock::now();
        let mut promotion = self.turns.lock();
        let before = promotion.deadline(now);
        self.journal
            .numbers()
            .set_closed(gates.iter().map(|(account, gate)| (account.clone(), gate.category)).collect());
        promotion.set_gates(gates);
        self.let_on(promotion, before, now);
        // The reason for waiting is shown to people.
        self.changed.send_replace(());
    }

    /// Replaces the limits: with more places others start at once, with fewer no running agent is stopped.
    pub(super) fn limit_turns(&self, policy: &Policy) {
        let now = clock::now();
        let mut promotion = self.turns.lock();
        let before = promotion.deadline(now);
        limit(&mut promotion, policy);
        if let Some(limits) = &mut *self.turns.limits.lock().unwrap_or_else(PoisonError::into_inner) {
            *limits = Limits::of(policy);
        }
        self.let_on(promotion, before, now);
    }

    /// Sets whether sessions begin on a machine, and lets agents start that may because of it.
    pub(super) fn set_runner(&self, runner: &RunnerName, shut: Option<Shut>) {
        let now = clock::now();
        let mut promotion = self.turns.lock();
        let before = promotion.deadline(now);
        promotion.set_runner(runner, shut);
        self.let_on(promotion, before, now);
        // The reason for waiting is shown to people.
        self.changed.send_replace(());
    }

    /// Assigns places that have become free because time has passed, and lets those agents start.
    pub(super) fn promote(&self) {
        let now = clock::now();
        let promotion = self.turns.lock();
        let before = promotion.deadline(now);
        self.let_on(promotion, before, now);
    }

    fn let_on(&self, mut promotion: MutexGuard<'_, Promotion>, before: Option<Timestamp>, now: Timestamp) {
        self.turns.look(&mut promotion, now);
        // No session starts while herder goes down.
        let promoted = if self.draining.is_cancelled() { Vec::new() } else { promotion.promote(now) };
        let moved = promotion.deadline(now) != before;
        drop(promotion);
        for agent in promoted {
            self.input(&agent, Input::Promoted);
        }
        if moved {
            self.turns.moved.notify_one();
        }
    }
}
