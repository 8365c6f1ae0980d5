//! Keeps `context.md` in the workspace, in the background: a slow disk must not block the supervisor.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tracing::warn;

use super::supervisor::Supervisor;
use crate::runtime::context::Context;

/// The background task that writes and removes `context.md`, one after the other.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// The last write or removal, if it is under way.
    last: Option<JoinHandle<()>>,
    /// True if the file was removed and not written since.
    gone: bool,
}

impl Supervisor<'_> {
    /// Writes `context.md` with this text, or removes it, in the background.
    pub(super) fn keep(&mut self, text: Option<String>) {
        let Some(spec) = self.agent.spec.as_ref().filter(|_| self.shared.fault.simulated.is_none()) else {
            return;
        };
        // Each task has a file of its own, if it has a clone.
        let one = spec.repository.is_none();
        if text.is_none() && std::mem::replace(&mut self.keeping.gone, true) && one {
            return;
        }
        self.keeping.gone &= text.is_none();
        let agent = spec.name.clone();
        let Some(workspace) = self.folder() else { return };
        let (shared, before) = (Arc::clone(self.shared), self.keeping.last.take());
        let (place, task) = (self.place(), self.agent.checkout().map(|checkout| checkout.plan.task));
        self.keeping.last = Some(self.shared.services.spawn(async move {
            if let Some(before) = before {
                // The result does not matter: this write decides the content.
                drop(before.await);
            }
            let text = text.map(|text| shared.redactor.redact(&text).into_owned());
            let marker = format!("{}/context", shared.marker(&agent));
            let kept = place.keep(marker, Context { agent, workspace, task, text }).await;
            if let Err(reason) = kept {
                warn!(%reason, "context.md is not as it should be");
            }
        }));
    }
}
