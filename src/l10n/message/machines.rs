//! Messages about machines that run agents.

use super::{Message, say};
use crate::core::id::{AgentName, RunnerName};
use crate::core::notice::MachineNews;

/// Selects the message for news of a machine.
pub(super) fn message<'a>(runner: &'a RunnerName, news: &'a MachineNews) -> Message<'a> {
    let named = || ("runner", runner.as_str().into());
    match news {
        MachineNews::Away => say("notice-machine-away", [named()]),
        MachineNews::Back { away } => say("notice-machine-back", [named(), ("duration", (*away).into())]),
        MachineNews::Joined => say("notice-machine-joined", [named()]),
        MachineNews::Drained { sessions } => {
            say("notice-machine-drained", [named(), ("sessions", (*sessions).into())])
        }
        MachineNews::Opened => say("notice-machine-opened", [named()]),
        MachineNews::Twin { first, second } => {
            let (first, second) = (("first", first.as_str().into()), ("second", second.as_str().into()));
            say("notice-machine-twin", [named(), first, second])
        }
        MachineNews::Removed => say("notice-machine-removed", [named()]),
    }
}

/// Selects the message about agents that were all stopped; `unheard`: those whose machines do not answer.
pub(super) fn stopped<'a>(agents: u32, processes: u32, unheard: &[AgentName]) -> Message<'a> {
    let (agents, processes) = (("agents", agents.into()), ("processes", processes.into()));
    if unheard.is_empty() {
        return say("notice-stopped-all", [agents, processes]);
    }
    let names: Vec<&str> = unheard.iter().map(AgentName::as_str).collect();
    say("notice-stopped-all-heard", [agents, processes, ("unheard", names.join(", ").into())])
}
