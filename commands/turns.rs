//! Lines about one agent reach its supervisor in the order in which they were said.
//!
//! Most do so before they first wait for anything. An edit that names another folder has to ask for it first; whoever says
//! something of the same agent meanwhile waits for that, so that `agent edit permissions=read-only workspace=…` counts for
//! the work that is given right after it. `stop-all` waits for nobody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as Fair, OwnedMutexGuard};

use crate::core::id::AgentName;

/// Whose turn it is, by agent. Only those are known that somebody holds or waits for.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<HashMap<AgentName, Weak<Fair<()>>>>);

/// It is somebody's turn until this is dropped.
pub(super) type Turn = OwnedMutexGuard<()>;

impl Turns {
    /// First come, first served. Whoever drops it at once is on their way before whoever comes next.
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
