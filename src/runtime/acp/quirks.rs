//! Peculiarities of the known ACP agents, in points that the protocol leaves open.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::spec::Permissions;

/// An agent's names for its modes: reading only, writing in the workspace, and everything that the user may do.
type Modes = [(Permissions, &'static str); 3];

/// Peculiarities of one ACP agent, beyond the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// The name by which the agent introduces itself; `None` for unknown agents.
    pub name: Option<&'static str>,
    /// The program's file name, by which the agent is known before it introduces itself.
    pub program: Option<&'static str>,
    /// Environment variables for running as a child process, unless the agent's settings have them; also used for
    /// single requests.
    pub environment: &'static [(&'static str, &'static str)],
    /// Environment variables that make the agent ask for permission, used if people can answer.
    pub asking: &'static [(&'static str, &'static str)],
    /// The agent's modes, if they define what it may do without asking.
    pub modes: Option<Modes>,
    /// True if the agent reports failures as text and a normal end of the turn, while a separate state shows them.
    pub fails_as_words: bool,
    /// True if a normal end of the turn without any counted token means that there was no answer. A gateway that
    /// omits the counts cannot be told apart from that.
    pub uncounted_as_success: bool,
    /// Maximum number of messages in a turn without an action between them; more of them mean that the model's stream
    /// ends early and the agent retries without pause or end.
    pub messages_in_a_row: Option<u32>,
    /// Parts of the message that summarizes a conversation when its context window is full.
    pub sums_up_by: Option<[&'static str; 2]>,
    /// True if the agent writes to standard error only when it exits.
    pub tells_when_it_leaves: bool,
    /// True if the agent reports a turn that was cancelled during a wait for a limit as a normal end.
    pub cancelled_as_success: bool,
    /// True if the reported tokens of a turn are those of its last model call only; the dollars are for all calls.
    pub counts_last_call: bool,
    /// True if the conversation accepts another prompt after a cancelled turn. The protocol allows it; herder relies
    /// on it only for agents with which it was tested, or whose cancelled turns do not look like failures.
    pub prompted_again: bool,
    /// Maximum time for the agent to exit after the work, if it is known not to exit by itself.
    pub leaves_within: Option<Duration>,
}

/// The peculiarities of unknown agents: none, only the protocol is assumed.
const PLAIN: Quirks = Quirks {
    name: None,
    program: None,
    environment: &[],
    asking: &[],
    modes: None,
    fails_as_words: false,
    uncounted_as_success: false,
    messages_in_a_row: None,
    sums_up_by: None,
    tells_when_it_leaves: false,
    cancelled_as_success: false,
    counts_last_call: false,
    prompted_again: true,
    leaves_within: None,
};

/// Returns the modes of an agent that asks about everything only in this mode, for all permissions but the broadest.
const fn asks_in(mode: &'static str) -> Option<Modes> {
    Some([(Permissions::ReadOnly, mode), (Permissions::WorkspaceWrite, mode), (Permissions::Full, mode)])
}

/// The time limit for agents that do not exit by themselves. Agents that do take less than two seconds.
const NEVER_LEAVES: Option<Duration> = Some(Duration::from_secs(2));

/// The known agents.
pub const KNOWN: [Quirks; 7] = [
    Quirks {
        name: Some("gemini-cli"),
        program: Some("gemini"),
        environment: &[
            // Otherwise the program starts itself a second time, which costs 150 MB and seconds for nothing.
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            // In an untrusted folder it starts no tool servers, including herder's. The person who configured
            // the folder as an agent's workspace trusts it.
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        // In the other modes it changes files without asking, including its own settings.
        modes: asks_in("default"),
        uncounted_as_success: true,
        tells_when_it_leaves: true,
        // With a tool server it does not exit when its input ends.
        leaves_within: NEVER_LEAVES,
        ..PLAIN
    },
    Quirks {
        name: Some("OpenCode"),
        program: Some("opencode"),
        environment: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            // The reason of a retry is printed to standard error only, and only with these variables.
            ("OPENCODE_PRINT_LOGS", "1"),
            ("OPENCODE_LOG_LEVEL", "ERROR"),
        ],
        // By default it asks about nothing. This variable overrides the user's configuration of permissions, and
        // leaves the rest of it alone.
        asking: &[("OPENCODE_PERMISSION", r#"{"bash":"ask","edit":"ask"}"#)],
        messages_in_a_row: Some(10),
        sums_up_by: Some(["## Objective", "## Next Move"]),
        cancelled_as_success: true,
        counts_last_call: true,
        ..PLAIN
    },
    // In their default modes, a model or nobody at all approves the actions.
    Quirks { name: Some("qwen-code"), modes: asks_in("default"), ..PLAIN },
    Quirks { name: Some("@mistralai/mistral-vibe"), modes: asks_in("ask"), ..PLAIN },
    // A user's configuration may start it in another mode.
    Quirks { name: Some("Kimi Code CLI"), modes: asks_in("default"), ..PLAIN },
    Quirks {
        name: Some("@agentclientprotocol/claude-agent-acp"),
        modes: Some([
            (Permissions::ReadOnly, "default"),
            (Permissions::WorkspaceWrite, "acceptEdits"),
            (Permissions::Full, "default"),
        ]),
        ..PLAIN
    },
    Quirks {
        name: Some("@agentclientprotocol/codex-acp"),
        modes: Some([
            (Permissions::ReadOnly, "read-only"),
            (Permissions::WorkspaceWrite, "workspace-write"),
            (Permissions::Full, "agent-full-access"),
        ]),
        fails_as_words: true,
        prompted_again: false,
        ..PLAIN
    },
];

fn set(variables: &[(&str, &str)], environment: &mut BTreeMap<String, String>) {
    for (name, value) in variables {
        environment.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
}

impl Quirks {
    /// Returns the peculiarities of the agent that introduces itself by this name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        KNOWN.into_iter().find(|known| known.name == Some(name)).unwrap_or(PLAIN)
    }

    /// Returns the peculiarities of the agent whose program has this file name.
    #[must_use]
    pub fn of_program(program: &str) -> Self {
        let file = program.rsplit('/').next().unwrap_or(program);
        KNOWN.into_iter().find(|known| known.program == Some(file)).unwrap_or(PLAIN)
    }

    /// Sets the environment variables that the agent needs, unless they are set already.
    pub fn furnish(&self, environment: &mut BTreeMap<String, String>) {
        set(self.environment, environment);
    }

    /// Sets the environment variables that a program needs, including those that make it ask. An agent started through
    /// `npx`, `env` or a script is known only after it has introduced itself, which is too late for variables: it gets
    /// those of all known agents, which other agents ignore.
    pub fn furnish_to_ask(program: &str, environment: &mut BTreeMap<String, String>) {
        let known = Self::of_program(program);
        let one = [known];
        for quirks in if known.program.is_some() { &one[..] } else { &KNOWN[..] } {
            set(quirks.environment, environment);
            set(quirks.asking, environment);
        }
    }

    /// Returns the mode in which the agent may do as much without asking as the permissions allow.
    #[must_use]
    pub fn mode(&self, permissions: Permissions) -> Option<&'static str> {
        let mode = self.modes?.into_iter().find(|(of, _)| *of == permissions);
        mode.map(|(_, mode)| mode)
    }
}
