//! Accounts that are closed for all their agents (billing, login, budget); the root alone closes and opens them.
//! Accounts at a usage limit are in [`super::gates`].
//!
//! The account that a person's `resume` opens is stored as a memo with that decision, until the root has opened it. A
//! kill or a panic in between therefore loses nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tracing::error;

use super::root::{Root, account_of};
use crate::clock;
use crate::core::agent::{Agent, Phase};
use crate::core::effect::Effect;
use crate::core::event::{PauseReason, StopReason};
use crate::core::id::{AccountName, AgentName};
use crate::core::input::Input;
use crate::core::notice::Notice;
use crate::core::outcome::Category;
use crate::core::work::Actor;
use crate::journal::{CommitError, FleetEvent, MEMO_MAX, Memo};

/// Prefix of the keys of memos about accounts that are to be opened. The agent's name follows, and a hash of the
/// account's name, which may be longer than a key.
const PREFIX: &str = "open/";

/// The memo about an account that is to be opened, as it is on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Opens {
    agent: AgentName,
    account: AccountName,
    by: Actor,
}

/// Returns the memo to store with the decision that causes an effect, if the effect opens an account; a kill before the
/// effect then does no harm.
pub(super) fn noted(agent: &AgentName, effect: &Effect) -> Option<Memo> {
    let Effect::OpenAccount { account, by } = effect else { return None };
    let opens = Opens { agent: agent.clone(), account: account.clone(), by: by.clone() };
    match serde_json::to_string(&opens) {
        Ok(value) if value.len() <= MEMO_MAX => {
            Some(Memo { key: noted_as(agent, account), value: Some(value) })
        }
        Ok(value) => {
            error!(%agent, bytes = value.len(), "an account that is to be opened has too long a name to be noted");
            None
        }
        Err(reason) => {
            error!(%agent, %reason, "that an account is to be opened cannot be noted");
            None
        }
    }
}

fn noted_as(agent: &AgentName, account: &AccountName) -> String {
    format!("{}{:08x}", noted_for(agent), crc32fast::hash(account.as_str().as_bytes()))
}

fn noted_for(agent: &AgentName) -> String {
    format!("{PREFIX}{agent}/")
}

impl Root {
    /// Records that an account is closed after an agent's failure, with one alert, and tells all its agents.
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

    /// Tells an agent about closed accounts (those for which `is_closed` is true), if one of them is its account or
    /// that of its session.
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

    /// Opens an account for a person who resumed an agent: the agent's own account, or the one that its failure had
    /// closed.
    pub(super) async fn open(
        &mut self,
        agent: &AgentName,
        account: AccountName,
        by: Actor,
    ) -> Result<(), CommitError> {
        let key = noted_as(agent, &account);
        self.open_for(agent, &account, &by).await?;
        // If herder is killed before this, it repeats everything and finds it done.
        self.shared.journal.remember(vec![Memo { key, value: None }]).await
    }

    /// Opens the accounts for which a memo says that they are to be opened; of one agent, or of all.
    pub(super) async fn open_noted(&mut self, agent: Option<&AgentName>) -> Result<(), CommitError> {
        let prefix = agent.map_or_else(|| PREFIX.to_owned(), noted_for);
        let noted = match self.shared.journal.reading(move |journal| journal.memos(&prefix)).await {
            Ok(Ok(noted)) => noted,
            Ok(Err(reason)) => {
                error!(%reason, "which accounts were to be opened cannot be read");
                return Ok(());
            }
            Err(reason) => {
                error!(%reason, "reading which accounts were to be opened was cut short");
                return Ok(());
            }
        };
        for (key, value) in noted {
            match serde_json::from_str(&value) {
                Ok(Opens { agent, account, by }) => self.open(&agent, account, by).await?,
                Err(reason) => error!(key, %reason, "which account was to be opened cannot be read"),
            }
        }
        Ok(())
    }

    async fn open_for(
        &mut self,
        agent: &AgentName,
        account: &AccountName,
        by: &Actor,
    ) -> Result<(), CommitError> {
        let left = self.state_of(agent).is_some_and(|state| account_of(&state) != *account);
        let closed_by = self.fleet.blocked.get(account).map(|blocked| &blocked.agent);
        if left && closed_by != Some(agent) {
            // A person has fixed it meanwhile and chosen the agent to go first; or it is closed for another agent's
            // failure.
            return Ok(());
        }
        if let Some(category) = self.blocked(account) {
            let notice = Notice::AccountOpened { account: account.clone(), by: by.name.clone() };
            let posts = self.shared.posting.alert(notice, clock::now(), None);
            let opened = FleetEvent::AccountOpened { account: account.clone(), by: by.clone() };
            // The resumed agent probes whether the account works before the others start.
            let (account, agent, by) = (account.clone(), agent.clone(), by.clone());
            let tried = FleetEvent::AccountTried { account, category, agent, by };
            self.record(vec![opened, tried], posts).await?;
        } else if let Some(category) = self.fleet.gates.get(account).map(|gate| gate.category) {
            self.try_account(agent, account, category, by).await?;
        }
        self.go_on(account, by).await?;
        self.tell_of_opening(account, by, Some(agent));
        Ok(())
    }

    /// Tells all agents that wait for an account, except `but`, that it is open. This includes agents that were moved
    /// away from it after a failure which is now over, unless their new account is closed.
    pub(super) fn tell_of_opening(&self, account: &AccountName, by: &Actor, but: Option<&AgentName>) {
        for view in self.shared.published() {
            let own = account_of(&view.agent);
            let waits = own == *account || waits_for(&view.agent).as_ref() == Some(account);
            if waits && Some(&view.name) != but && self.blocked(&own).is_none() {
                self.shared.input(&view.name, Input::AccountOpened { by: by.clone() });
            }
        }
    }

    /// Checks whether the account of an agent is open, after the agent was moved to it while it waited for its old one.
    pub(super) async fn look_at_account(&mut self, agent: &AgentName) -> Result<(), CommitError> {
        let Some(state) = self.state_of(agent) else { return Ok(()) };
        // The agent must not get past a shared cap by moving to another account.
        self.spent(agent, &account_of(&state)).await?;
        self.tell_of_account(agent, &state);
        Ok(())
    }

    /// Returns the state that an agent's supervisor published last; `None` if it has no supervisor.
    fn state_of(&self, agent: &AgentName) -> Option<Arc<Agent>> {
        self.shared.handle(agent).map(|handle| Arc::clone(&handle.view.borrow().agent))
    }

    /// Repeats the inputs about account and board that a supervisor may have lost in its panic.
    pub(super) fn tell_again(&self, agent: &AgentName) {
        if let Some(state) = self.state_of(agent) {
            self.tell_of_account(agent, &state);
            self.run_errands(agent, &state);
        }
    }

    /// Tells an agent that its account is closed or was opened, if the agent may not know it.
    fn tell_of_account(&self, name: &AgentName, agent: &Agent) {
        if let Some(category) = self.blocked(&account_of(agent)) {
            self.shared.input(name, Input::AccountBlocked { category });
        } else if let Some(by) = self.opened_for(agent) {
            self.shared.input(name, Input::AccountOpened { by });
        }
    }

    /// Returns the person who opened the account that an agent still waits for; `None` if it is closed or the agent
    /// does not wait.
    fn opened_for(&self, agent: &Agent) -> Option<Actor> {
        let account = waits_for(agent).filter(|account| self.blocked(account).is_none())?;
        if matches!(agent.phase, Phase::Paused { reason: PauseReason::Failure(_) }) {
            return self.outlived(agent, &account).then(|| self.fleet.opened[&account].by.clone());
        }
        let opened = self.fleet.opened.get(&account);
        // The agent may have been moved to another account while it was paused for the old one.
        Some(opened.map_or_else(Actor::herder, |opened| opened.by.clone()))
    }

    /// Returns true if an account was opened after an agent was paused, so that the agent's failure does not count any
    /// more.
    fn outlived(&self, agent: &Agent, account: &AccountName) -> bool {
        self.fleet.opened.get(account).is_some_and(|opened| opened.at > agent.since)
    }

    /// Brings accounts and agents into agreement after a start: closes accounts for failures that could not be
    /// recorded, and tells agents that missed a closing or an opening.
    pub(super) async fn reconcile_accounts(&mut self) -> Result<(), CommitError> {
        for view in self.shared.published() {
            self.close_for(&view.name).await?;
        }
        // This is decided by the state of all accounts after that.
        for view in self.shared.published() {
            self.tell_of_account(&view.name, &view.agent);
        }
        Ok(())
    }

    /// Closes the account of an agent that is paused by its own failure, unless the account has been closed or opened
    /// since.
    pub(super) async fn close_for(&mut self, agent: &AgentName) -> Result<(), CommitError> {
        let Some(state) = self.state_of(agent) else { return Ok(()) };
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

/// Returns the closed account that keeps an agent from continuing: its own, or the one that its last session failed on;
/// `None` if it does not wait for one.
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
