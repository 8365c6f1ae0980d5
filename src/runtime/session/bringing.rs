//! Files for a session: brought before its process starts, or before a message is written into its turn.

use std::collections::VecDeque;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Ends, Session};
use crate::core::file::KeptFile;
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Outcome};
use crate::runtime::inbox::{self, Brought};
use crate::runtime::process::spawn;
use crate::runtime::{Launch, Local, Order, ProcessTrees, Report};

/// A message whose files are on their way. Later messages wait behind it.
#[derive(Debug)]
pub(super) struct Bringing {
    work: WorkId,
    text: String,
    insists: bool,
    files: JoinHandle<Brought>,
}

/// Brings the files of a session, and names them in its prompt. Orders received meanwhile are collected in `early`.
///
/// # Errors
/// The outcome of a session that is stopped before it began; `None` if the supervisor is gone.
pub(super) async fn bring_first(
    (launch, local): (&mut Launch, &mut Local),
    trees: &ProcessTrees,
    ends: &mut Ends,
    early: &mut Vec<Order>,
) -> Result<(), Option<Outcome>> {
    // A second try has them already.
    let files = std::mem::take(&mut launch.files);
    if files.is_empty() {
        return Ok(());
    }
    let brought = {
        let (spec, local) = (launch.spec.clone(), &*local);
        let bring = inbox::bring((&launch.agent, &spec.workspace), &files, local, trees.running());
        tokio::pin!(bring);
        let Ends { orders, reports, .. } = ends;
        let mut stopped = None;
        loop {
            let given_up = stopped.unwrap_or_else(Instant::now);
            tokio::select! {
                brought = &mut bring => break brought,
                order = orders.recv(), if stopped.is_none() => {
                    if matches!(order, Some(Order::Stop) | None) {
                        stopped = Some(Instant::now() + spawn::STOPPED_START);
                    }
                    early.extend(order);
                }
                () = tokio::time::sleep_until(given_up), if stopped.is_some() => {
                    return Err(Some(Outcome::new(Category::Interrupted, "")));
                }
                // A full channel contains other reports, which prove life as well.
                () = tokio::time::sleep(launch.clocks.beat) => drop(reports.try_send(Report::Beat)),
                () = reports.closed() => return Err(None),
            }
        }
    };
    launch.prompt = brought.with(&launch.prompt);
    local.pictures = brought.pictures;
    Ok(())
}

/// Waits for the files of the first message.
pub(super) async fn done(bringing: &mut VecDeque<Bringing>) -> Brought {
    match bringing.front_mut() {
        // A panic there loses the files, and not the message.
        Some(first) => (&mut first.files).await.unwrap_or_default(),
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
        #[expect(clippy::disallowed_methods, reason = "the handle is kept and waited for")]
        let files =
            tokio::spawn(async move { inbox::bring((&agent, &workspace), &files, &local, &running).await });
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
