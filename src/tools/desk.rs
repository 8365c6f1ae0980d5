//! The desk of the bot: it carries out the calls that arrive at the socket of this process, or at that of a runner.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::host::{Caller, Host};
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::runner::Called;
use crate::runner::link::Link;
use crate::runner::tools::Desk;
use crate::runner::tools::wire::{Answer, Call};
use crate::runner::wire::Returned;
use crate::runtime::grants::{Admitted, Grants};

impl Desk for Host {
    fn process_of(&self, agent: &AgentName, session: SessionId) -> Option<u32> {
        let view = self.fleet().view(agent)?;
        let current = view.agent.session() == Some(session);
        view.agent.process.filter(|_| current).map(|process| process.pid)
    }

    async fn perform(&self, call: Call, admitted: Admitted) -> (Answer, Vec<WorkId>) {
        self.carry_out(call, None, admitted).await
    }

    fn delivered(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>, got: bool) {
        match got {
            true => self.fleet().whispers_taken(agent, session, whispers),
            false => self.fleet().whispers_returned(agent, session, whispers),
        }
    }

    fn hung_up(&self, agent: &AgentName, session: SessionId) {
        self.fleet().whispers_returned(agent, session, Vec::new());
    }
}

impl Host {
    /// Carries out a call, and returns the answer with the numbers of the whispers in it. `number` is that of the call
    /// on a runner.
    async fn carry_out(
        &self,
        call: Call,
        number: Option<u64>,
        mut admitted: Admitted,
    ) -> (Answer, Vec<WorkId>) {
        let caller = Caller { agent: &call.agent, session: call.session, call: number };
        let told = Self::perform(self, caller, &call.tool, &call.arguments, &mut admitted).await;
        // Later whispers are delivered in another way; earlier ones go with this answer.
        drop(admitted);
        let offered = self.fleet().whispers_for(&call.agent, call.session).await;
        let numbers = offered.iter().map(|offered| offered.whisper).collect();
        let (ok, text) = match told {
            Ok(text) => (true, text),
            Err(text) => (false, text),
        };
        let whispers = offered.into_iter().map(|offered| offered.text).collect();
        (Answer { ok, text, whispers }, numbers)
    }
}

/// Carries out the calls that agents make on a runner, until `shutdown` is cancelled.
pub async fn serve(link: Link, grants: Grants, host: Host, shutdown: CancellationToken) {
    let Some(mut calls) = link.calls() else { return };
    let tasks = TaskTracker::new();
    while let Some(Some(called)) = shutdown.run_until_cancelled(calls.recv()).await {
        let (link, grants, host, shutdown) = (link.clone(), grants.clone(), host.clone(), shutdown.clone());
        tasks.spawn(async move {
            let Called { of, call: number, tool, arguments, gone } = called;
            let returned = match grants.admit_of_runner(&of.agent, of.session) {
                Ok(admitted) => {
                    let (agent, session) = (of.agent.clone(), of.session);
                    let call = Call { agent, session, token: String::new(), tool, arguments };
                    tokio::select! {
                        (answer, numbers) = host.carry_out(call, Some(number), admitted) => Returned {
                            ok: answer.ok,
                            text: answer.text,
                            whispers: numbers.into_iter().zip(answer.whispers).collect(),
                        },
                        () = gone.cancelled() => return host.hung_up(&of.agent, of.session),
                        () = shutdown.cancelled() => return,
                    }
                }
                Err(why) => Returned::refused(why.told()),
            };
            let whispers: Vec<WorkId> = returned.whispers.iter().map(|(work, _)| *work).collect();
            if !link.answer(&of, number, returned) {
                host.fleet().whispers_returned(&of.agent, of.session, whispers);
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}
