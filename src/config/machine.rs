//! The parts of the machine that agents may take: `memory`, `cpu` and `pids` of an agent, and `memory` of
//! `[supervisor]` for all of them.

use crate::core::machine::{Share, Together, size};
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;

use super::section::Section;

/// Parses the limits of one agent.
pub(super) fn share(section: &Section<'_>) -> Share {
    let memory = section.size("memory").unwrap_or_default();
    if !Share::is_memory(memory) {
        let text = format!("no agent can run in {}; write e.g. \"8GB\", or \"0\" for no limit", size(memory));
        section.problem("memory", text);
    }
    let cpu = section.amount("cpu").unwrap_or_default();
    if !Share::is_cpu(cpu) {
        section.problem("cpu", "write how many processors it may keep busy, e.g. 2.0, or 0 for no limit");
    }
    let pids = section.number("pids", 0..=u64::from(Share::PIDS_MAX));
    let pids = pids.and_then(|pids| u32::try_from(pids).ok()).unwrap_or_default();
    if !Share::is_pids(pids) {
        section.problem("pids", format!("no agent can run with {pids}; write e.g. 512, or 0 for no limit"));
    }
    Share { memory, cpu, pids }
}

/// Parses the memory that all agents together may take: a part of the machine's (`"80%"`) or a size.
pub(super) fn together(section: &Section<'_>) -> Together {
    let Some(text) = section.text("memory") else { return Together::All };
    if let Some(percent) = text.value.trim().strip_suffix('%') {
        return match percent.trim().parse::<u8>() {
            Ok(percent @ 1..=100) => Together::Percent(percent),
            Ok(_) | Err(_) => {
                let why = format!("\"{}\" is no part of the machine; write e.g. \"80%\"", text.value);
                section.problem_at(text.line, "memory", why);
                Together::All
            }
        };
    }
    match super::size(&text.value) {
        Ok(0) => Together::All,
        Ok(bytes) if Share::is_memory(bytes) => Together::Bytes(bytes),
        Ok(_) | Err(_) => {
            let why = format!(
                "\"{}\" is not what all agents can run in; write a part of the machine's memory or a size, e.g. \"80%\" or \
                 \"12GB\", or \"0\" for no limit",
                text.value
            );
            section.problem_at(text.line, "memory", why);
            Together::All
        }
    }
}

/// Records a mistake for each agent that may take more than the machine has, or than all agents together may take.
pub(super) fn compare(top: &Section<'_>, policy: &Policy, agents: &[AgentSpec]) {
    let Some(machine) = crate::runtime::process::memory_of_machine() else { return };
    for (agent, why) in too_much(machine, policy.memory, agents) {
        top.problem("[[agent]] memory", format!("{agent}: {why}"));
    }
}

/// Returns the agents whose limit is never reached on a machine with `machine` bytes of memory, and why.
fn too_much(machine: u64, together: Together, agents: &[AgentSpec]) -> Vec<(String, String)> {
    let whole = together.of(machine).filter(|whole| *whole < machine);
    let limited = agents.iter().filter(|agent| agent.share.memory > 0 && agent.runner.is_none());
    let why = |memory: u64| match whole {
        _ if memory > machine => {
            Some(format!("{} are more than the {} of this machine; write less", size(memory), size(machine)))
        }
        Some(whole) if memory > whole => Some(format!(
            "{} are more than the {} that [supervisor] memory leaves to all agents; write less, or allow all more",
            size(memory),
            size(whole)
        )),
        Some(_) | None => None,
    };
    limited.filter_map(|agent| Some((agent.name.to_string(), why(agent.share.memory)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::id::AgentName;
    use crate::core::spec::Runtime;

    #[test]
    fn a_limit_that_is_never_reached_is_a_mistake() {
        let agent = |memory| {
            let name = AgentName::new("spark").expect("a name");
            let mut agent = AgentSpec::new(name, Runtime::Claude, PathBuf::from("/srv"));
            agent.share.memory = memory;
            agent
        };
        let of_machine = "are more than the 1 GB of this machine";
        let of_all = "are more than the 800 MB that [supervisor] memory leaves";
        for (memory, together, why) in [
            (0, Together::Percent(80), None),
            (800_000_000, Together::Percent(80), None),
            (900_000_000, Together::All, None),
            (900_000_000, Together::Bytes(5_000_000_000), None),
            (900_000_000, Together::Percent(80), Some(of_all)),
            (2_000_000_000, Together::Percent(80), Some(of_machine)),
            (2_000_000_000, Together::All, Some(of_machine)),
        ] {
            let found = too_much(1_000_000_000, together, &[agent(memory)]);
            match why {
                None => assert_eq!(found, [], "{memory} {together:?}"),
                Some(why) => assert!(found[0].1.contains(why), "{memory} {together:?}: {found:?}"),
            }
        }
    }
}
