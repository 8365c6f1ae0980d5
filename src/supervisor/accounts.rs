//! Accounts that are closed for all their agents (billing, login, budget), which the root alone closes and opens. What a usage
//! limit closes is [`super::gates`].

use std::sync::Arc;

use super::root::{Root, account_of};
use crate::clock;
use crate::core::agent::{Agent, Phase};
use crate::core::event::{PauseReason, StopReason};
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
        for view in self.shared.published().iter().filter(|view| view.name != agent) {
            self.tell_of_closing(&view.name, &view.agent, category, |closed| *closed == account);
        }
        Ok(())
    }

    /// Tells an agent of accounts that are closed, if it is theirs, or its session began on one of them.
    pub(super) fn tell_of_closing(
        &self,
        name: &AgentName,
        agent: &Agent,
        category: Category,
        is_closed: impl Fn(&AccountName) -> bool,
    ) {
        let left = Some(agent.session_account()).filter(|left| agent.session().is_some() && is_closed(left));
        if is_closed(&account_of(agent)) {
            self.shared.input(name, Input::AccountBlocked { category });
        } else if let Some(account) = left {
            self.shared.input(name, Input::LeftAccountBlocked { account });
        }
    }

    /// A person has resumed an agent of an account, or one whose failure has closed it.
    pub(super) async fn open(
        &mut self,
        agent: &AgentName,
        account: AccountName,
        by: Actor,
    ) -> Result<(), CommitError> {
        let state = self.shared.handle(agent).map(|handle| Arc::clone(&handle.view.borrow().agent));
        let left = state.is_some_and(|state| account_of(&state) != account);
        if left && self.blocked(&account).is_none() {
            // Somebody has seen to it meanwhile, and named who goes first.
            return Ok(());
        }
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
        for view in self.shared.published() {
            let own = account_of(&view.agent);
            // Also whoever has left the account with a failure that is over now, unless its new one is closed.
            let waits = own == account || waits_for(&view.agent).as_ref() == Some(&account);
            if waits && view.name != *agent && self.blocked(&own).is_none() {
                self.shared.input(&view.name, Input::AccountOpened { by: by.clone() });
            }
        }
        Ok(())
    }

    /// What a supervisor may not have taken in before it panicked.
    pub(super) fn tell_again(&self, agent: &AgentName) {
        if let Some(handle) = self.shared.handle(agent) {
            let state = Arc::clone(&handle.view.borrow().agent);
            self.tell_of_account(agent, &state);
            self.run_errands(agent, &state);
        }
    }

    /// Tells an agent how its account stands, where that may be news to it.
    fn tell_of_account(&self, name: &AgentName, agent: &Agent) {
        if let Some(category) = self.blocked(&account_of(agent)) {
            self.shared.input(name, Input::AccountBlocked { category });
        } else if let Some(by) = self.opened_for(agent) {
            self.shared.input(name, Input::AccountOpened { by });
        }
    }

    /// Who has opened the account that an agent still waits for, if it is open.
    fn opened_for(&self, agent: &Agent) -> Option<Actor> {
        let account = waits_for(agent).filter(|account| self.blocked(account).is_none())?;
        if matches!(agent.phase, Phase::Paused { reason: PauseReason::Failure(_) }) {
            return self.outlived(agent, &account).then(|| self.fleet.opened[&account].by.clone());
        }
        let opened = self.fleet.opened.get(&account);
        // It may have come to another account while it was paused for its old one.
        Some(opened.map_or_else(Actor::herder, |opened| opened.by.clone()))
    }

    /// Whether an account was opened after an agent was paused.
    fn outlived(&self, agent: &Agent, account: &AccountName) -> bool {
        self.fleet.opened.get(account).is_some_and(|opened| opened.at > agent.since)
    }

    /// After a start: accounts that a failure closed while nobody could record it any more, agents that were added to a closed
    /// account, and agents that were not told any more that theirs is open again.
    pub(super) async fn reconcile_accounts(&mut self) -> Result<(), CommitError> {
        for view in self.shared.published() {
            self.close_for(&view.name).await?;
            self.tell_of_account(&view.name, &view.agent);
        }
        Ok(())
    }

    /// Closes the account of an agent that is paused by its failure, where nobody has, nor has opened it since.
    pub(super) async fn close_for(&mut self, agent: &AgentName) -> Result<(), CommitError> {
        let Some(state) = self.shared.handle(agent).map(|handle| Arc::clone(&handle.view.borrow().agent))
        else {
            return Ok(());
        };
        let account = state.session_account();
        match state.phase {
            Phase::Paused { reason: PauseReason::Failure(category) }
                if category.is_of_account()
                    && self.blocked(&account).is_none()
                    && !self.outlived(&state, &account) =>
            {
                self.block(agent.clone(), account, category).await
            }
            _ => Ok(()),
        }
    }
}

/// The account that keeps an agent from going on: its own, or the one that its last session has failed on.
fn waits_for(agent: &Agent) -> Option<AccountName> {
    match agent.phase {
        Phase::Paused { reason: PauseReason::Account(_) }
        | Phase::Stopping { reason: StopReason::Account(_), .. } => Some(account_of(agent)),
        Phase::Paused { reason: PauseReason::Failure(category) } if category.is_of_account() => {
            Some(agent.session_account())
        }
        _ => None,
    }
}
