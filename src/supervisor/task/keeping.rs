//! What a session leaves behind is kept in the workspace, beside everything else: a slow disk holds nobody up.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::warn;

use super::supervisor::Supervisor;
use crate::runtime::folder;
use crate::supervisor::context;

/// One thing after the other.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// What is under way.
    last: Option<JoinHandle<()>>,
    /// The file was taken away, and not written since.
    gone: bool,
}

impl Supervisor<'_> {
    /// Writes `context.md`, or takes it away.
    pub(super) fn keep(&mut self, text: Option<String>) {
        let Some(spec) = self.agent.spec.as_ref().filter(|_| self.shared.fault.simulated.is_none()) else {
            return;
        };
        if text.is_none() && std::mem::replace(&mut self.keeping.gone, true) {
            return;
        }
        self.keeping.gone &= text.is_none();
        let (workspace, agent) = (spec.workspace.clone(), spec.name.clone());
        let (shared, before) = (Arc::clone(self.shared), self.keeping.last.take());
        self.keeping.last = Some(self.shared.services.spawn(async move {
            if let Some(before) = before {
                // Whatever became of it, the file is as it is.
                drop(before.await);
            }
            let keep = move |workspace: &Path| match text {
                Some(text) => context::write(workspace, &agent, &shared.redactor.redact(&text)),
                None => context::remove(workspace, &agent),
            };
            // However long it takes: what is written later must not be overwritten by this.
            match folder::ask(&workspace, Duration::MAX, keep).await {
                Ok(Ok(())) => {}
                Ok(Err(reason)) => warn!(%reason, "context.md is not as it should be"),
                Err(reason) => warn!(%reason, "context.md could not be kept"),
            }
        }));
    }
}
