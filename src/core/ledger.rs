//! Usage as it counts for the caps that agents share, those of the fleet and of accounts: over all agents, including
//! removed ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::{AccountName, AgentName};
use super::outcome::Usage;
use super::time::Timestamp;
use super::usage::{
    Books, Cap, Caps, DAYS_KEPT, SharedCaps, Standing, Waived, Warned, Window, amount, day, hour, limit,
    next_limit, window,
};

/// Scope of a shared cap: the agents of one account, or, if `None`, all agents.
pub type Scope = Option<AccountName>;

/// State of the caps that agents share, stored in the journal beside the agents' own usage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// Usage of removed agents, by agent; it still counts for shared caps.
    pub kept: BTreeMap<AgentName, Books>,
    /// Shared caps that a person waived, each with the raised limit.
    pub waived: Vec<(Scope, Waived)>,
    /// Shared caps for which a warning was posted, with its level.
    pub warned: Vec<(Scope, Warned)>,
}

/// Usage of the fleet or of an account, and the state of the caps on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// The account, or `None` for the whole fleet.
    pub scope: Scope,
    /// Usage in the current hour (UTC).
    pub hour: Usage,
    /// Usage on the current day (UTC).
    pub today: Usage,
    /// State of the caps on that usage.
    pub caps: Vec<Standing>,
}

/// Usage of several agents in the current hour and on the current day.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Used {
    /// Usage in the current hour (UTC).
    pub hour: Usage,
    /// Usage on the current day (UTC).
    pub today: Usage,
}

impl Used {
    /// Sums the usage of several agents within a scope.
    #[must_use]
    pub fn of<'a>(books: impl Iterator<Item = &'a Books>, scope: &Scope, now: Timestamp) -> Self {
        let mut used = Self::default();
        for books in books {
            used.hour.add(books.this_hour(now, scope.as_ref()));
            used.today.add(books.today(now, scope.as_ref()));
        }
        used
    }

    fn add(&mut self, other: Self) {
        self.hour.add(other.hour);
        self.today.add(other.today);
    }
}

/// Index of each agent's usage in the current hour and day, by account, so that a sum over many agents, needed after
/// each report of usage, need not read all their usage.
#[derive(Debug, Clone, Default)]
pub struct Tallies {
    /// Numbers of the hour and the day that the index is for.
    of: Option<(i64, i64)>,
    accounts: BTreeMap<AccountName, BTreeMap<AgentName, Used>>,
}

impl Tallies {
    /// Returns true if the index is for the hour and day of `now`.
    #[must_use]
    pub fn is_of(&self, now: Timestamp) -> bool {
        self.of == Some((hour(now), day(now)))
    }

    /// Builds the index from the usage of all agents.
    #[must_use]
    pub fn new<'a>(agents: impl Iterator<Item = (&'a AgentName, &'a Books)>, now: Timestamp) -> Self {
        let mut tallies = Self { of: Some((hour(now), day(now))), accounts: BTreeMap::new() };
        for (agent, books) in agents {
            tallies.enter(agent, books, now);
        }
        tallies
    }

    /// Updates the index after an agent's usage changed.
    pub fn enter(&mut self, agent: &AgentName, books: &Books, now: Timestamp) {
        for agents in self.accounts.values_mut() {
            agents.remove(agent);
        }
        for account in books.accounts_of(day(now)) {
            let used = Used::of(std::iter::once(books), &Some(account.clone()), now);
            self.accounts.entry(account.clone()).or_default().insert(agent.clone(), used);
        }
    }

    /// Returns the usage of the existing agents in a scope.
    #[must_use]
    pub fn used(&self, scope: &Scope) -> Used {
        let mut sum = Used::default();
        match scope {
            Some(account) => {
                self.accounts
                    .get(account)
                    .into_iter()
                    .flat_map(BTreeMap::values)
                    .for_each(|used| sum.add(*used));
            }
            None => self.accounts.values().flat_map(BTreeMap::values).for_each(|used| sum.add(*used)),
        }
        sum
    }
}

impl Ledger {
    /// Keeps the usage of an agent that is removed, and drops what is too old to count.
    pub fn keep(&mut self, agent: AgentName, books: Books, at: Timestamp) {
        self.kept.insert(agent, books);
        let oldest = day(at).saturating_sub(i64::try_from(DAYS_KEPT).unwrap_or(i64::MAX));
        self.kept.retain(|_, books| books.days.back().is_some_and(|page| page.at >= oldest));
    }

    /// Records that a person waived a cap, with the raised limit.
    pub fn waive(&mut self, scope: &Scope, waived: Waived) {
        self.waived.retain(|(of, before)| of != scope || before.cap != waived.cap);
        self.waived.push((scope.clone(), waived));
    }

    /// Records that a warning was posted.
    pub fn warned(&mut self, scope: &Scope, warned: Warned) {
        self.warned.retain(|(of, before)| of != scope || before.cap != warned.cap);
        self.warned.push((scope.clone(), warned));
    }

    /// Returns true if a warning of this level or a higher one was posted for the same cap, window and limit.
    #[must_use]
    pub fn knows(&self, scope: &Scope, warned: Warned) -> bool {
        self.warned.iter().any(|(of, before)| {
            let same = of == scope && before.cap == warned.cap && before.at == warned.at;
            same && before.limit == warned.limit && before.percent >= warned.percent
        })
    }

    /// Returns the usage in a scope and the state of its caps; `there`: usage of the agents that still exist.
    #[must_use]
    pub fn shared(&self, there: Used, caps: &SharedCaps, scope: Scope, now: Timestamp) -> Shared {
        let Used { mut hour, mut today } = there;
        for books in self.kept.values() {
            hour.add(books.this_hour(now, scope.as_ref()));
            today.add(books.today(now, scope.as_ref()));
        }
        let waived: Vec<Waived> =
            self.waived.iter().filter(|(of, _)| *of == scope).map(|(_, waived)| *waived).collect();
        let standing = |(cap, set): (Cap, f64)| {
            let used = if cap.window == Window::Day { today } else { hour };
            Standing { cap, limit: limit(&waived, cap, set, now), used: amount(cap.unit, used) }
        };
        let caps = caps_of(caps, &scope).list().map(standing).collect();
        Shared { scope, hour, today, caps }
    }
}

/// Returns the configured caps of a scope.
#[must_use]
pub fn caps_of(caps: &SharedCaps, scope: &Scope) -> Caps {
    match scope {
        None => caps.fleet,
        Some(account) => caps.accounts.get(account).copied().unwrap_or_default(),
    }
}

impl Shared {
    /// Returns the first of the scope's caps that is reached.
    #[must_use]
    pub fn reached(&self) -> Option<Standing> {
        self.caps.iter().copied().find(|standing| standing.is_reached())
    }

    /// Returns the waivers for all reached caps, each with the raised limit.
    pub fn waivers(&self, caps: &SharedCaps, now: Timestamp) -> Vec<Waived> {
        let set: Vec<(Cap, f64)> = caps_of(caps, &self.scope).list().collect();
        let reached = self.caps.iter().filter(|standing| standing.is_reached());
        reached
            .filter_map(|standing| {
                let (cap, set) = set.iter().copied().find(|(cap, _)| *cap == standing.cap)?;
                let at = window(cap.window, now, 0);
                Some(Waived { cap, at, limit: next_limit(set, standing.used) })
            })
            .collect()
    }

    /// Returns the warnings to post, each with the amount used.
    #[must_use]
    pub fn warnings(&self, ledger: &Ledger, now: Timestamp) -> Vec<(Warned, f64)> {
        let due = |standing: &Standing| {
            let percent = standing.warning().filter(|_| !standing.is_reached())?;
            let at = window(standing.cap.window, now, 0);
            let warned = Warned { cap: standing.cap, at, limit: standing.limit, percent };
            (!ledger.knows(&self.scope, warned)).then_some((warned, standing.used))
        };
        self.caps.iter().filter_map(due).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Unit;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const CAP: Cap = Cap { window: Window::Day, unit: Unit::Usd };

    fn books(account: &str, cost_usd: f64) -> Books {
        let mut books = Books::default();
        let usage = Usage { cost_usd, input_tokens: 1, ..Usage::default() };
        books.enter(&AccountName::from(account), usage, NOW);
        books
    }

    fn caps() -> SharedCaps {
        let day = |usd_per_day| Caps { usd_per_day, ..Caps::default() };
        SharedCaps { fleet: day(20.0), accounts: [(AccountName::from("team"), day(10.0))].into() }
    }

    fn shared(ledger: &Ledger, there: &[Books], scope: Scope) -> Shared {
        ledger.shared(Used::of(there.iter(), &scope, NOW), &caps(), scope, NOW)
    }

    #[test]
    fn totals_are_what_the_books_say_also_of_an_agent_that_was_moved() {
        let (first, second) =
            (AgentName::new("first").expect("a name"), AgentName::new("second").expect("a name"));
        let mut there = [books("team", 5.0), books("other", 3.0)];
        let pairs = |there: &[Books; 2]| [first.clone(), second.clone()].into_iter().zip(there.clone());
        let scopes = [None, Some(AccountName::from("team")), Some(AccountName::from("other"))];
        let mut tallies = Tallies::default();
        assert!(!tallies.is_of(NOW));
        tallies =
            Tallies::new(pairs(&there).collect::<Vec<_>>().iter().map(|(name, books)| (name, books)), NOW);
        there[0].enter(&AccountName::from("other"), Usage { cost_usd: 2.0, ..Usage::default() }, NOW);
        tallies.enter(&first, &there[0], NOW);
        for scope in scopes {
            assert_eq!(tallies.used(&scope), Used::of(there.iter(), &scope, NOW), "{scope:?}");
        }
        let later = NOW.after(std::time::Duration::from_secs(3600));
        assert!(tallies.is_of(NOW) && !tallies.is_of(later));
    }

    #[test]
    fn an_account_and_the_fleet_are_sums_of_books_also_of_those_of_removed_agents() {
        let mut ledger = Ledger::default();
        ledger.keep(AgentName::new("gone").expect("a name"), books("team", 4.0), NOW);
        let there = [books("team", 5.0), books("other", 3.0)];
        let shared = |scope: Scope| shared(&ledger, &there, scope);
        let team = shared(Some(AccountName::from("team")));
        assert_eq!((team.today.cost_usd, team.hour.cost_usd, team.reached()), (9.0, 9.0, None));
        assert_eq!(team.warnings(&ledger, NOW).len(), 1);
        assert_eq!(shared(None).today.cost_usd, 12.0);
        assert_eq!(shared(Some(AccountName::from("other"))).caps, []);
    }

    #[test]
    fn a_person_lets_an_account_go_on_to_the_next_multiple() {
        let mut ledger = Ledger::default();
        let there = [books("team", 23.0)];
        let scope = Some(AccountName::from("team"));
        let team = shared(&ledger, &there, scope.clone());
        assert_eq!(team.reached().map(|standing| standing.cap), Some(CAP));
        for waived in team.waivers(&caps(), NOW) {
            ledger.waive(&scope, waived);
        }
        let team = shared(&ledger, &there, scope.clone());
        assert_eq!((team.reached(), team.caps[0].limit), (None, 30.0));
        let (warned, _) = team.warnings(&ledger, NOW)[0];
        ledger.warned(&scope, warned);
        assert_eq!(team.warnings(&ledger, NOW), [], "once for each window");
    }
}
