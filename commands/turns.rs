//! Keeps lines in order: those about one agent reach its supervisor in the order in which they were said.
//!
//! Most wait at most for the agents' views before that, first come, first served. An edit with another folder has to check that first; later lines
//! about the same agent wait meanwhile, so that `agent edit permissions=read-only workspace=…` applies to the work
//! given right after it. `stop-all` never waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Fair, OwnedMutexGuard};

use crate::core::id::AgentName;

/// Fair locks, one per agent, that keep lines about an agent in order; only locks that are held or waited for exist.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<AgentName, Weak<Fair<()>>>>);

/// The guard of the lock of one agent.
pub(super) type Turn = OwnedMutexGuard<()>;

impl Turns {
    /// Waits for the lock of an agent, first come, first served. A caller that drops it at once passes its line to the
    /// supervisor before the next caller.
    pub(super) async fn of(&self, agent: &AgentName) -> Turn {
        self.fair(agent).lock_owned().await
    }

    fn fair(&self, agent: &AgentName) -> Arc<Fair<()>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fair) = all.get(agent).and_then(Weak::upgrade) {
            return fair;
        }
        all.retain(|_, fair| fair.strong_count() > 0);
        let fair = Arc::default();
        all.insert(agent.clone(), Arc::downgrade(&fair));
        fair
    }
}
