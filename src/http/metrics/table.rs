//! All families with what they mean: the text that a scrape brings along, and the manual's table.

use std::fmt::Write as _;

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gauge,
    Counter,
    Histogram,
}

/// A family of samples.
struct Family {
    /// Its name, without what the samples of a counter append.
    name: &'static str,
    kind: Kind,
    /// The names of its labels.
    labels: &'static str,
    help: &'static str,
}

const FAMILIES: [Family; 33] = [
    Family { name: "herder_build_info", kind: Kind::Gauge, labels: "version", help: "always 1" },
    Family { name: "herder_agents", kind: Kind::Gauge, labels: "phase", help: "agents by phase" },
    Family {
        name: "herder_agents_needing_person",
        kind: Kind::Gauge,
        labels: "",
        help: "agents that have called a person, ask something, have a task in review that waits for a person, or stand still until a person resumes them",
    },
    Family {
        name: "herder_process_trees",
        kind: Kind::Gauge,
        labels: "",
        help: "agents whose session has a process tree",
    },
    Family { name: "herder_queue", kind: Kind::Gauge, labels: "agent", help: "works that wait for an agent" },
    Family {
        name: "herder_agent_memory_bytes",
        kind: Kind::Gauge,
        labels: "agent",
        help: "memory that the session of an agent with a limit takes",
    },
    Family {
        name: "herder_agent_memory_peak_bytes",
        kind: Kind::Gauge,
        labels: "agent",
        help: "maximum of the memory that the session of an agent with a limit has taken",
    },
    Family {
        name: "herder_agent_memory_limit_bytes",
        kind: Kind::Gauge,
        labels: "agent",
        help: "memory that the session of an agent may take",
    },
    Family {
        name: "herder_sessions",
        kind: Kind::Counter,
        labels: "agent,outcome",
        help: "sessions by how they ended",
    },
    Family {
        name: "herder_session_seconds",
        kind: Kind::Histogram,
        labels: "",
        help: "time that sessions ran",
    },
    Family {
        name: "herder_restarts",
        kind: Kind::Counter,
        labels: "agent,cause",
        help: "sessions that were to be started again: the class of the failure, `command` or `settings`",
    },
    Family {
        name: "herder_tokens",
        kind: Kind::Counter,
        labels: "agent,account,kind",
        help: "tokens used since the agent was added: `input` without cached ones, `cached`, `output`",
    },
    Family {
        name: "herder_cost_usd",
        kind: Kind::Counter,
        labels: "agent,account",
        help: "dollars spent since the agent was added, estimates included",
    },
    Family {
        name: "herder_cap_ratio",
        kind: Kind::Gauge,
        labels: "scope,name,unit",
        help: "part of a cap that is used, of an `agent`, an `account` or the `fleet`; 1 is all of it",
    },
    Family {
        name: "herder_accounts",
        kind: Kind::Gauge,
        labels: "state",
        help: "accounts that are `open`, or closed by why",
    },
    Family {
        name: "herder_board_tasks",
        kind: Kind::Gauge,
        labels: "state",
        help: "tasks on the board (`queued`, `offered`, `split`, `blocked`) and with agents (`waiting`, `at-work`, `parked`: it waits for its parts, `checking`: its check runs, `review`: a verdict is waited for, `merging`)",
    },
    Family {
        name: "herder_asks_open",
        kind: Kind::Gauge,
        labels: "",
        help: "questions and requests of agents that wait",
    },
    Family { name: "herder_calls_open", kind: Kind::Gauge, labels: "", help: "calls for a person that wait" },
    Family {
        name: "herder_call_oldest_seconds",
        kind: Kind::Gauge,
        labels: "",
        help: "age of the oldest call; 0 if there is none",
    },
    Family {
        name: "herder_evaluations",
        kind: Kind::Counter,
        labels: "verdict",
        help: "evaluations by what they came to; `lapse` where nobody could judge",
    },
    Family {
        name: "herder_outbox_posts",
        kind: Kind::Gauge,
        labels: "network,lane",
        help: "posts that are owed to a network",
    },
    Family {
        name: "herder_outbox_oldest_seconds",
        kind: Kind::Gauge,
        labels: "network",
        help: "age of the oldest of them; 0 if there is none",
    },
    Family {
        name: "herder_webhook_owed",
        kind: Kind::Gauge,
        labels: "name",
        help: "events that are owed to a webhook",
    },
    Family {
        name: "herder_webhook_failures",
        kind: Kind::Counter,
        labels: "name",
        help: "tries of a webhook that failed, since herder started",
    },
    Family {
        name: "herder_network_up",
        kind: Kind::Gauge,
        labels: "network",
        help: "1 while a network is joined, else 0",
    },
    Family {
        name: "herder_network_reconnects",
        kind: Kind::Counter,
        labels: "network",
        help: "times that a network was joined again, since herder started",
    },
    Family {
        name: "herder_discord_ratelimited",
        kind: Kind::Counter,
        labels: "",
        help: "requests that Discord answered with 429, since herder started",
    },
    Family {
        name: "herder_commands",
        kind: Kind::Counter,
        labels: "command,network,result",
        help: "commands: `done`, and since herder started `refused` (as things were) and `denied` (no role for it)",
    },
    Family {
        name: "herder_command_seconds",
        kind: Kind::Histogram,
        labels: "",
        help: "time until a command was answered",
    },
    Family {
        name: "herder_commit_seconds",
        kind: Kind::Histogram,
        labels: "",
        help: "time of a commit to the disk",
    },
    Family {
        name: "herder_journal_bytes",
        kind: Kind::Gauge,
        labels: "",
        help: "size of the journal's database",
    },
    Family {
        name: "herder_disk_free_bytes",
        kind: Kind::Gauge,
        labels: "",
        help: "free bytes of the disk that the journal is on",
    },
    Family {
        name: "herder_supervisor_panics",
        kind: Kind::Counter,
        labels: "",
        help: "supervisors of agents that panicked and were rebuilt",
    },
];

/// The meaning of a family.
pub(super) fn help(name: &str) -> &'static str {
    FAMILIES.iter().find(|family| family.name == name).map_or("", |family| family.help)
}

/// The manual's table.
#[must_use]
pub fn metrics_markdown() -> String {
    let mut made = String::from("| Name | Kind | Meaning |\n|---|---|---|\n");
    for family in &FAMILIES {
        let labels = if family.labels.is_empty() { String::new() } else { format!("{{{}}}", family.labels) };
        let (total, kind) = match family.kind {
            Kind::Gauge => ("", "gauge"),
            Kind::Counter => ("_total", "counter"),
            Kind::Histogram => ("", "histogram"),
        };
        // Writing into a string does not fail.
        let _ = writeln!(made, "| `{}{total}{labels}` | {kind} | {} |", family.name, family.help);
    }
    made
}
