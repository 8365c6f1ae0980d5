//! Requests to remove an agent that wait for confirmation, by a code or by the buttons under herder's question. They
//! are stored, because the buttons still exist after a restart.

use tracing::warn;

use super::dispatch::{Dispatcher, Inner, Removal};
use super::interact::Structured;
use crate::clock;
use crate::core::id::AgentName;
use crate::core::time::Timestamp;
use crate::journal::Memo;

/// Maximum number of removals that wait for confirmation; a person has one or two.
const PENDING_MAX: usize = 64;

/// Prefix of the keys in the journal under which requested removals are stored, one per agent.
const PREFIX: &str = "commands/removal/";

impl Inner {
    /// Stores a requested removal until it is confirmed; returns false if too many wait.
    pub(super) async fn removal_asked(&self, agent: &AgentName, removal: Removal, now: Timestamp) -> bool {
        let value = serde_json::to_string(&removal).ok();
        {
            let mut memory = self.memory();
            memory.removals.retain(|_, removal| removal.until > now);
            if memory.removals.len() >= PENDING_MAX {
                return false;
            }
            memory.removals.insert(agent.clone(), removal);
        }
        self.note(agent, value).await;
        true
    }

    /// Takes the requested removal of an agent if `wanted` returns true for it; else `None`.
    pub(super) async fn removal_taken(
        &self,
        agent: &AgentName,
        wanted: impl Fn(&Removal) -> bool,
    ) -> Option<Removal> {
        self.recall(agent).await;
        let taken = {
            let mut memory = self.memory();
            let is_wanted = memory.removals.get(agent).is_some_and(wanted);
            if is_wanted { memory.removals.remove(agent) } else { None }
        };
        if taken.is_some() {
            self.note(agent, None).await;
        }
        taken
    }

    /// Loads the requested removal of an agent that an earlier run of herder stored.
    async fn recall(&self, agent: &AgentName) {
        if self.memory().removals.contains_key(agent) {
            return;
        }
        let (journal, key) = (self.journal.clone(), key(agent));
        let read = tokio::task::spawn_blocking(move || {
            let memos = journal.memos(&key)?;
            Ok::<_, crate::journal::ReadError>(memos.into_iter().find(|(found, _)| *found == key))
        });
        match read.await {
            Ok(Ok(memo)) => {
                let removal = memo.and_then(|(_, value)| serde_json::from_str::<Removal>(&value).ok());
                if let Some(removal) = removal {
                    self.memory().removals.entry(agent.clone()).or_insert(removal);
                }
            }
            Ok(Err(reason)) => warn!(%reason, %agent, "whether a removal was asked for cannot be read"),
            Err(reason) => warn!(%reason, %agent, "whether a removal was asked for cannot be read"),
        }
    }

    async fn note(&self, agent: &AgentName, value: Option<String>) {
        if let Err(reason) = self.journal.remember(vec![Memo { key: key(agent), value }]).await {
            warn!(%reason, %agent, "that a removal was asked for could not be noted; a restart forgets it");
        }
    }
}

fn key(agent: &AgentName) -> String {
    format!("{PREFIX}{agent}")
}

impl Dispatcher {
    /// Returns true if the removal of an agent with that code can still be confirmed.
    pub async fn removal_waits(&self, agent: &AgentName, code: &str) -> bool {
        let inner = self.inner();
        inner.recall(agent).await;
        let (memory, now) = (inner.memory(), clock::now());
        memory.removals.get(agent).is_some_and(|removal| removal.code == code && removal.until > now)
    }

    /// Cancels the requested removal of an agent, so that its code confirms nothing any more.
    ///
    /// # Errors
    /// The reply, if the author may not.
    pub async fn keep_agent(
        &self,
        structured: &Structured,
        agent: &AgentName,
        code: &str,
    ) -> Result<(), Vec<String>> {
        self.may(structured)?;
        self.inner().removal_taken(agent, |removal| removal.code == code).await;
        Ok(())
    }
}
