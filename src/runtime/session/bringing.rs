//! Files for a session: brought before its process starts, or before a message is written into its turn.

use std::collections::VecDeque;

use tokio_util::task::AbortOnDropHandle;

use super::{Ends, Given, Session, while_heard};
use crate::core::file::KeptFile;
use crate::core::id::WorkId;
use crate::core::outcome::Outcome;
use crate::runtime::inbox::{self, Brought};
use crate::runtime::{Order, ProcessTrees};

/// A message whose files are on their way. Later messages wait behind it.
#[derive(Debug)]
pub(super) struct Bringing {
    work: WorkId,
    text: String,
    insists: bool,
    files: AbortOnDropHandle<Brought>,
}

/// Brings the files of a session, and names them in its prompt. Orders received meanwhile are collected in `early`.
///
/// # Errors
/// The outcome of a session that is stopped before it began; `None` if the supervisor is gone.
pub(super) async fn bring_first(
    (mut launch, mut local): Given,
    trees: &ProcessTrees,
    ends: &mut Ends,
    early: &mut Vec<Order>,
) -> Result<Given, Option<Outcome>> {
    // A second try has them already.
    let files = std::mem::take(&mut launch.files);
    if !files.is_empty() {
        let bring = inbox::bring((&launch.agent, &launch.spec.workspace), &files, &local, trees.running());
        let brought = while_heard(bring, ends, launch.clocks.beat, early).await?;
        launch.prompt = brought.with(&launch.prompt);
        local.pictures = brought.pictures;
    }
    Ok((launch, local))
}

/// Waits for the files of the first message.
pub(super) async fn done(bringing: &mut VecDeque<Bringing>) -> Brought {
    match bringing.front_mut() {
        // A panic there loses the files, and not the message.
        Some(first) => (&mut first.files).await.unwrap_or_else(|_| Brought::lost()),
        None => std::future::pending().await,
    }
}

impl Session {
    /// Writes a message into the turn, once its files are there.
    pub(super) fn say(&mut self, work: WorkId, text: String, files: Vec<KeptFile>, insists: bool) {
        if files.is_empty() && self.bringing.is_empty() {
            return self.say_now(work, &text, insists);
        }
        let (agent, workspace) = (self.launch.agent.clone(), self.launch.spec.workspace.clone());
        let (local, running) = (self.local.clone(), self.trees.running().clone());
        let bring = async move { inbox::bring((&agent, &workspace), &files, &local, &running).await };
        #[expect(
            clippy::disallowed_methods,
            reason = "the handle is kept, and ends the task when it is dropped"
        )]
        let files = AbortOnDropHandle::new(tokio::spawn(bring));
        self.bringing.push_back(Bringing { work, text, insists, files });
    }

    /// Writes the first waiting message into the turn: its files are there.
    pub(super) fn on_brought(&mut self, brought: &Brought) {
        let Some(Bringing { work, text, insists, .. }) = self.bringing.pop_front() else { return };
        self.protocol.show(brought.pictures.clone());
        self.say_now(work, &brought.with(&text), insists);
        // A message that is not taken leaves none for the next.
        self.protocol.show(Vec::new());
    }

    fn say_now(&mut self, work: WorkId, text: &str, insists: bool) {
        self.tell(work, |protocol| match insists {
            true => protocol.insist(work, text),
            false => protocol.steer(work, text),
        });
    }
}
