//! The caps that agents share: the root checks them whenever usage has grown.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::Fleet;
use super::root::{Root, account_of};
use super::shared::Shared;
use crate::clock;
use crate::core::id::{AccountName, AgentName};
use crate::core::ledger::{Scope, Shared as Together, Tallies, Used, caps_of};
use crate::core::notice::Notice;
use crate::core::outcome::Category;
use crate::core::time::Timestamp;
use crate::core::usage::{Books, Standing, Warned, window};
use crate::core::work::Actor;
use crate::journal::{CommitError, FleetEvent};

/// Level of the warning that stands for a reached cap, in percent.
const ALL: u8 = 100;

impl Shared {
    /// Returns the usage of an account, or of all agents, and the state of the caps on it, summed anew.
    pub(super) fn together(&self, scope: Scope) -> Together {
        let (agents, now) = (self.published(), clock::now());
        let there = Used::of(agents.iter().map(|it| &it.agent.books), &scope, now);
        self.together_with(there, scope, now)
    }

    fn together_with(&self, there: Used, scope: Scope, now: Timestamp) -> Together {
        let ledger = self.ledger.read().unwrap_or_else(PoisonError::into_inner);
        ledger.shared(there, &self.policy().caps, scope, now)
    }

    fn accounts(&self) -> BTreeSet<AccountName> {
        self.published().iter().map(|it| account_of(&it.agent)).collect()
    }
}

impl Fleet {
    /// Returns the usage by hour and day of all agents, removed ones included.
    #[must_use]
    pub fn books(&self) -> Vec<(AgentName, Books)> {
        let kept = self.shared.ledger.read().unwrap_or_else(PoisonError::into_inner).kept.clone();
        let there = self.agents().into_iter().map(|view| (view.name, view.agent.books.clone()));
        there.chain(kept).collect()
    }

    /// Returns the usage of all agents together, then that of each account.
    #[must_use]
    pub fn usage(&self) -> Vec<Together> {
        let accounts = self.shared.accounts().into_iter().map(Some);
        std::iter::once(None).chain(accounts).map(|scope| self.shared.together(scope)).collect()
    }
}

impl Root {
    /// Returns the usage of an account, or of all agents, and the state of the caps on it, by the root's index.
    fn together(&mut self, scope: Scope) -> Together {
        let now = clock::now();
        if !self.tallies.is_of(now) {
            let agents = self.shared.published();
            self.tallies = Tallies::new(agents.iter().map(|it| (&it.name, &it.agent.books)), now);
        }
        self.shared.together_with(self.tallies.used(&scope), scope, now)
    }

    /// Checks the shared caps after an agent's usage on an account has grown: warns, or closes accounts.
    pub(super) async fn spent(
        &mut self,
        agent: &AgentName,
        account: &AccountName,
    ) -> Result<(), CommitError> {
        let policy = self.shared.policy();
        let scopes = [Some(account.clone()), None];
        let capped = scopes.into_iter().filter(|scope| !caps_of(&policy.caps, scope).is_none());
        let capped: Vec<Scope> = capped.collect();
        if capped.is_empty() {
            // Usage is summed for caps alone; the index misses this agent's usage from now on.
            self.tallies = Tallies::default();
            return Ok(());
        }
        let books = self.shared.handle(agent).map(|handle| Arc::clone(&handle.view.borrow().agent));
        if let Some(it) = books {
            self.tallies.enter(agent, &it.books, clock::now());
        }
        for scope in capped {
            let together = self.together(scope);
            self.warn(&together).await?;
            if let Some(standing) = together.reached() {
                self.close(agent, &together.scope, standing).await?;
            }
        }
        Ok(())
    }

    /// Checks the shared caps at a start: they may have been reached without a record, or be lower now.
    pub(super) async fn look_at_the_books(&mut self) -> Result<(), CommitError> {
        let mut looked_at = BTreeSet::new();
        for it in self.shared.published() {
            let account = account_of(&it.agent);
            if looked_at.insert(account.clone()) {
                self.spent(&it.name, &account).await?;
            }
        }
        Ok(())
    }

    async fn warn(&mut self, together: &Together) -> Result<(), CommitError> {
        let now = clock::now();
        for (warned, used) in together.warnings(&self.fleet.ledger, now) {
            let account = together.scope.clone();
            let notice = Notice::SharedCapNear {
                account: account.clone(),
                cap: warned.cap,
                limit: warned.limit,
                used,
                percent: warned.percent,
            };
            let posts = self.shared.posting.alert(notice, now, None);
            self.record(vec![FleetEvent::CapNear { account, warned }], posts).await?;
        }
        Ok(())
    }

    /// Closes the account, or all accounts, on which a shared cap is reached, with one alert.
    async fn close(
        &mut self,
        agent: &AgentName,
        scope: &Scope,
        standing: Standing,
    ) -> Result<(), CommitError> {
        let accounts = match scope {
            Some(account) => BTreeSet::from([account.clone()]),
            None => self.shared.accounts(),
        };
        let category = Category::Budget;
        let mut events: Vec<FleetEvent> = accounts
            .iter()
            .filter(|account| self.blocked(account).is_none())
            .map(|account| FleetEvent::AccountBlocked {
                account: account.clone(),
                category,
                agent: agent.clone(),
            })
            .collect();
        if !events.is_empty() {
            let (Standing { cap, limit, used }, now) = (standing, clock::now());
            let reached = Warned { cap, at: window(cap.window, now, 0), limit, percent: ALL };
            // An account that an agent is moved to later is closed like the others, which people know.
            let others = self.fleet.blocked.values().any(|blocked| blocked.category == category);
            let mut posts = Vec::new();
            if !(others && self.fleet.ledger.knows(scope, reached)) {
                let notice = Notice::SharedCapReached { account: scope.clone(), cap, limit, used };
                posts = self.shared.posting.alert(notice, now, None);
                events.push(FleetEvent::CapNear { account: scope.clone(), warned: reached });
            }
            self.record(events, posts).await?;
        }
        for view in self.shared.published() {
            self.tell_of_closing(&view.name, &view.agent, category, |closed| accounts.contains(closed));
        }
        Ok(())
    }

    /// Waives the reached shared caps for a person: they apply again at their next multiple. If caps of the whole fleet
    /// are among them, the other accounts that those had closed are opened, too.
    pub(super) async fn go_on(&mut self, account: &AccountName, by: &Actor) -> Result<(), CommitError> {
        for scope in [Some(account.clone()), None] {
            let now = clock::now();
            let waivers = self.together(scope.clone()).waivers(&self.shared.policy().caps, now);
            let of_the_fleet = scope.is_none() && !waivers.is_empty();
            for waived in waivers {
                let notice =
                    Notice::SharedCapWaived { account: scope.clone(), cap: waived.cap, limit: waived.limit };
                let posts = self.shared.posting.alert(notice, now, None);
                let event = FleetEvent::CapWaived { account: scope.clone(), waived, by: Some(by.clone()) };
                self.record(vec![event], posts).await?;
            }
            if of_the_fleet {
                self.open_others(account, by).await?;
            }
        }
        Ok(())
    }

    async fn open_others(&mut self, but: &AccountName, by: &Actor) -> Result<(), CommitError> {
        let closed: Vec<AccountName> = self
            .fleet
            .blocked
            .iter()
            .filter(|(account, blocked)| *account != but && blocked.category == Category::Budget)
            .map(|(account, _)| account.clone())
            .collect();
        for account in closed {
            // An account at its own cap waits for a decision of its own.
            if self.together(Some(account.clone())).reached().is_some() {
                continue;
            }
            let opened = FleetEvent::AccountOpened { account: account.clone(), by: by.clone() };
            self.record(vec![opened], Vec::new()).await?;
            self.tell_of_opening(&account, by, None);
        }
        Ok(())
    }
}
