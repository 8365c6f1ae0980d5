//! Places at work, as supervisors ask for them: the pure rules ([`crate::core::promotion`]) behind a lock that is held for a
//! few comparisons, so that a session that may begin begins with the decision that calls for it.
//!
//! A place is taken before the session's start is on disk, and given back after its end is: never more sessions than places
//! are owed at once, also not on the disk of a herder that was killed. Gates are closed here at once and opened by the root
//! alone, once that is on disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::Shared;
use crate::clock;
use crate::core::agent::Agent;
use crate::core::id::{AccountName, AgentName};
use crate::core::input::Input;
use crate::core::outcome::Category;
use crate::core::policy::Policy;
use crate::core::promotion::{Gate, Hold, Promotion, Standing};
use crate::core::time::Timestamp;

/// The longest sleep: how late a gate may open after the machine was suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Turns {
    promotion: Mutex<Promotion>,
    /// Rings when somebody is to be let through at another time than was known.
    moved: Notify,
}

impl Turns {
    pub(super) fn new(policy: &Policy) -> Self {
        let turns = Self::default();
        limit(&mut turns.lock(), policy);
        turns
    }

    fn lock(&self) -> MutexGuard<'_, Promotion> {
        self.promotion.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the agent does not begin, if it waits.
    pub(super) fn hold(&self, agent: &AgentName) -> Option<Hold> {
        self.lock().hold(agent, clock::now())
    }

    /// How an account is closed for an agent, if it is.
    pub(super) fn closed(&self, agent: &AgentName, account: &AccountName, now: Timestamp) -> Option<Hold> {
        self.lock().closed(agent, account, now)
    }

    /// Since when an account has been closed, if it is, or is being tried.
    pub(super) fn closed_since(&self, account: &AccountName) -> Option<Timestamp> {
        self.lock().closed_since(account)
    }

    /// The agents of an account that wait for their turn.
    pub(super) fn waiting(&self, account: &AccountName) -> Vec<AgentName> {
        self.lock().waiting(account).cloned().collect()
    }

    /// Takes a place for a session that begins now, or says why there is none.
    pub(super) fn begin(
        &self,
        agent: &AgentName,
        account: &AccountName,
        since: Timestamp,
        keeps: bool,
        now: Timestamp,
    ) -> Option<Hold> {
        self.lock().begin(agent, account, since, keeps, now).err()
    }

    /// Notes how an agent stands before anybody is told that it is their turn.
    pub(super) fn enter(&self, agent: &AgentName, state: &Agent) {
        let account = super::root::account_of(state);
        self.lock().stands(agent, &account, state.standing(), clock::now());
    }

    /// Closes an account at once; the root records it, and says so with [`Turns::heard`]. Answers whether the agent was to
    /// show whether it works.
    pub(super) fn close(&self, agent: &AgentName, account: &AccountName, category: Category) -> bool {
        self.lock().close(agent, account, category, clock::now())
    }

    /// The wall clock was set.
    pub(super) fn clock_set(&self, by: i64) {
        self.lock().clock_set(by);
    }

    /// The root takes in what an agent has shown of an account, or whatever it may have shown.
    pub(super) fn heard(&self, agent: &AgentName, account: Option<&AccountName>) {
        self.lock().heard(agent, account);
    }

    /// Whether it is for the agent to show whether an account works.
    pub(super) fn probes(&self, agent: &AgentName, account: &AccountName) -> bool {
        self.lock().probes(agent, account)
    }

    /// When somebody is let through next although nobody says anything.
    pub(super) fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        self.lock().deadline(now)
    }

    /// Resolves at `due`, or when that is to be asked anew.
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

/// However a supervisor ends, its agent has no place any more.
pub(super) struct Leaving {
    pub(super) agent: AgentName,
    pub(super) shared: Arc<Shared>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.shared.stands(&self.agent, &AccountName::default(), Standing::Rests);
        self.shared.journal.seen(&self.agent, None);
    }
}

impl Shared {
    /// An agent says how it stands; whoever's turn it is because of that is told.
    pub(super) fn stands(&self, agent: &AgentName, account: &AccountName, standing: Standing) {
        let now = clock::now();
        let mut promotion = self.turns.lock();
        let before = promotion.deadline(now);
        if promotion.stands(agent, account, standing, now) {
            self.let_on(promotion, before, now);
        }
    }

    /// Other gates.
    pub(super) fn set_gates(&self, gates: BTreeMap<AccountName, Gate>) {
        let now = clock::now();
        let mut promotion = self.turns.lock();
        let before = promotion.deadline(now);
        promotion.set_gates(gates);
        self.let_on(promotion, before, now);
        // What agents wait for is shown.
        self.changed.send_replace(());
    }

    /// Other limits: with more places others begin at once, with fewer nobody is sent away.
    pub(super) fn limit_turns(&self, policy: &Policy) {
        let now = clock::now();
        let mut promotion = self.turns.lock();
        let before = promotion.deadline(now);
        limit(&mut promotion, policy);
        self.let_on(promotion, before, now);
    }

    /// It may be somebody's turn because time has passed.
    pub(super) fn promote(&self) {
        let now = clock::now();
        let promotion = self.turns.lock();
        let before = promotion.deadline(now);
        self.let_on(promotion, before, now);
    }

    fn let_on(&self, mut promotion: MutexGuard<'_, Promotion>, before: Option<Timestamp>, now: Timestamp) {
        // Nothing begins while herder goes down.
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
