//! Accounts that are closed for all their agents (billing, login, budget), which the root alone closes and opens. What a usage
//! limit closes is [`super::gates`].
//!
//! What a person's `resume` opens is noted with that decision, and stays noted until the root has done it: a kill or a panic
//! in between loses nothing of what they were answered.

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

/// What is to be opened, under this key, the agent and a number for the account, whose name may be longer than a key.
const PREFIX: &str = "open/";

/// As it is on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Opens {
    agent: AgentName,
    account: AccountName,
    by: Actor,
}

/// What is noted of an effect with the decision that it follows from: the account that it opens, if it opens one.
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
        let key = noted_as(agent, &account);
        self.open_for(agent, &account, &by).await?;
        // A herder that is killed before this does it all again, and finds it done.
        self.shared.journal.remember(vec![Memo { key, value: None }]).await
    }

    /// Opens what was noted and not opened; of one agent, or of all.
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
            // Somebody has seen to it meanwhile, and named who goes first; or it is closed for somebody else's failure.
            return Ok(());
        }
        if let Some(category) = self.blocked(account) {
            let notice = Notice::AccountOpened { account: account.clone(), by: by.name.clone() };
            let posts = self.shared.posting.alert(notice, clock::now(), None);
            let opened = FleetEvent::AccountOpened { account: account.clone(), by: by.clone() };
            // Whoever was resumed shows whether it works now, before the others begin.
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

    /// Tells everybody but one that an account is open who may wait for that: also whoever has left it with a failure that is
    /// over now, unless its new one is closed.
    pub(super) fn tell_of_opening(&self, account: &AccountName, by: &Actor, but: Option<&AgentName>) {
        for view in self.shared.published() {
            let own = account_of(&view.agent);
            let waits = own == *account || waits_for(&view.agent).as_ref() == Some(account);
            if waits && Some(&view.name) != but && self.blocked(&own).is_none() {
                self.shared.input(&view.name, Input::AccountOpened { by: by.clone() });
            }
        }
    }

    /// An agent that waits for its account was changed: it may be of another one now, which does not keep it.
    pub(super) async fn look_at_account(&mut self, agent: &AgentName) -> Result<(), CommitError> {
        let Some(state) = self.state_of(agent) else { return Ok(()) };
        // Nobody gets past a cap of all agents by that.
        self.spent(agent, &account_of(&state)).await?;
        self.tell_of_account(agent, &state);
        Ok(())
    }

    /// An agent as it was published.
    fn state_of(&self, agent: &AgentName) -> Option<Arc<Agent>> {
        self.shared.handle(agent).map(|handle| Arc::clone(&handle.view.borrow().agent))
    }

    /// What a supervisor may not have taken in before it panicked.
    pub(super) fn tell_again(&self, agent: &AgentName) {
        if let Some(state) = self.state_of(agent) {
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
        }
        // By how all of them stand then.
        for view in self.shared.published() {
            self.tell_of_account(&view.name, &view.agent);
        }
        Ok(())
    }

    /// Closes the account of an agent that is paused by its failure, where nobody has, nor has opened it since.
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
