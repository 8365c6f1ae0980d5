//! The reports of agents on their tasks by herder's tools. herder records a report before it answers; a call may be
//! on its way when its session ends, when the agent's supervisor panics, and when herder is killed.

use herder::core::id::{AgentName, SessionId};
use herder::core::work::TaskReport;
use herder::supervisor::Fleet;
use tokio::sync::{mpsc, oneshot};

use super::world::Sim;

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) agent: AgentName,
    pub(crate) session: SessionId,
    pub(crate) report: TaskReport,
    /// Resolved with its answer, or dropped.
    pub(crate) answered: oneshot::Sender<()>,
}

/// The way from sessions to the tools of the herder that lives.
pub(crate) type Words = mpsc::UnboundedSender<Call>;

/// Returns the two ends of a new line for calls.
pub(crate) fn line() -> (Words, mpsc::UnboundedReceiver<Call>) {
    mpsc::unbounded_channel()
}

/// Passes calls on, each beside the others.
pub(crate) async fn hear(sim: Sim, fleet: Fleet, mut calls: mpsc::UnboundedReceiver<Call>) {
    while let Some(call) = calls.recv().await {
        tokio::spawn(pass_on(sim.clone(), fleet.clone(), call));
    }
}

async fn pass_on(sim: Sim, fleet: Fleet, call: Call) {
    let Call { agent, session, report, answered } = call;
    let noted = fleet.report(&agent, session, report).await;
    let lives = sim.step(|world| {
        if noted.is_ok() {
            world.tally.reported += 1;
            world.books.ends.its_word_is_on_disk(&agent, session)?;
        }
        Ok(())
    });
    // The caller may be gone.
    if lives {
        let _ = answered.send(());
    }
}
