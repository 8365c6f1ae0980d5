//! Accounts that are closed for all their agents (billing, login, budget), which the root alone closes and opens. What a usage
//! limit closes is [`super::gates`].

use std::sync::Arc;

use super::root::{Root, account_of};
use crate::clock;
use crate::core::agent::Phase;
use crate::core::event::PauseReason;
use crate::core::id::{AccountName, AgentName};
use crate::core::input::Input;
use crate::core::notice::Notice;
use crate::core::outcome::Category;
use crate::core::work::Actor;
use crate::journal::{CommitError, FleetEvent};

impl Root {
    /// Closes an account for all its agents, with one alert.
    pub(super) async fn block(
        &mut self,
        agent: AgentName,
        account: AccountName,
        category: Category,
    ) -> Result<(), CommitError> {
        if self.blocked(&account).is_none() {
            let event =
                FleetEvent::AccountBlocked { account: account.clone(), category, agent: agent.clone() };
            let notice = Notice::AccountBlocked { account: account.clone(), category, agent: agent.clone() };
            let posts = self.shared.posting.alert(notice, clock::now(), None);
            self.record(vec![event], posts).await?;
        }
        self.tell_siblings(&agent, &account, || Input::AccountBlocked { category });
        Ok(())
    }

    pub(super) async fn open(
        &mut self,
        agent: &AgentName,
        account: AccountName,
        by: Actor,
    ) -> Result<(), CommitError> {
        if let Some(category) = self.blocked(&account) {
            let notice = Notice::AccountOpened { account: account.clone(), by: by.name.clone() };
            let posts = self.shared.posting.alert(notice, clock::now(), None);
            let opened = FleetEvent::AccountOpened { account: account.clone(), by: by.clone() };
            // Whoever was resumed shows whether it works now, before the others begin.
            let (account, agent, by) = (account.clone(), agent.clone(), by.clone());
            let tried = FleetEvent::AccountTried { account, category, agent, by };
            self.record(vec![opened, tried], posts).await?;
        } else if let Some(category) = self.fleet.gates.get(&account).map(|gate| gate.category) {
            self.try_account(agent, &account, category, &by).await?;
        }
        self.go_on(&account, &by).await?;
        self.tell_siblings(agent, &account, || Input::AccountOpened { by: by.clone() });
        Ok(())
    }

    /// What a supervisor may not have taken in before it panicked.
    pub(super) fn tell_again(&self, agent: &AgentName) {
        let account = self.shared.handle(agent).map(|handle| account_of(&handle.view.borrow().agent));
        if let Some(category) = account.and_then(|account| self.blocked(&account)) {
            self.shared.input(agent, Input::AccountBlocked { category });
        }
        if let Some(handle) = self.shared.handle(agent) {
            let state = Arc::clone(&handle.view.borrow().agent);
            self.run_errands(agent, &state);
        }
    }

    fn tell_siblings(&self, but: &AgentName, account: &AccountName, input: impl Fn() -> Input) {
        for view in self.shared.published() {
            if view.name != *but && account_of(&view.agent) == *account {
                self.shared.input(&view.name, input());
            }
        }
    }

    /// After a start: accounts that a failure closed while nobody could record it any more, and agents that were added
    /// to a closed account.
    pub(super) async fn reconcile_accounts(&mut self) -> Result<(), CommitError> {
        for view in self.shared.published() {
            match self.blocked(&account_of(&view.agent)) {
                None => self.close_for(&view.name).await?,
                Some(category) => self.shared.input(&view.name, Input::AccountBlocked { category }),
            }
        }
        Ok(())
    }

    /// Closes the account of an agent that is paused by its failure, where nobody has.
    pub(super) async fn close_for(&mut self, agent: &AgentName) -> Result<(), CommitError> {
        let Some(state) = self.shared.handle(agent).map(|handle| Arc::clone(&handle.view.borrow().agent))
        else {
            return Ok(());
        };
        let account = state.session_account();
        match state.phase {
            Phase::Paused { reason: PauseReason::Failure(category) }
                if matches!(category, Category::Billing | Category::Auth | Category::Budget)
                    && self.blocked(&account).is_none() =>
            {
                self.block(agent.clone(), account, category).await
            }
            _ => Ok(()),
        }
    }
}
