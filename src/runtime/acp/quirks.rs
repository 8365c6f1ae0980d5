//! What is peculiar to the agents that are known: the protocol leaves much open, and they fill it differently.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::spec::Permissions;

/// The modes in which an agent may read alone, write in its workspace, and do whatever its user may.
type Modes = [(Permissions, &'static str); 3];

/// What is peculiar to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    /// The name by which it introduces itself; none for those that are not known.
    pub name: Option<&'static str>,
    /// The program by which it is known before it has introduced itself.
    pub program: Option<&'static str>,
    /// Variables that it needs to be a good child, unless the spec sets them, also where it is asked once.
    pub environment: &'static [(&'static str, &'static str)],
    /// Variables by which it asks about what it does, where somebody answers.
    pub asking: &'static [(&'static str, &'static str)],
    /// Its modes, as far as they say what it may do without asking.
    pub modes: Option<Modes>,
    /// Failures come as words and an ordinary end of the turn; a state beside them tells.
    pub fails_as_words: bool,
    /// An ordinary end of the turn for which it counted no token was no answer. (A gateway that leaves the counts out is not
    /// to be told from that.)
    pub uncounted_as_success: bool,
    /// A turn in which it says more messages than this without doing anything between them is a stream that ends too early,
    /// asked for again and again without a pause and an end.
    pub messages_in_a_row: Option<u32>,
    /// What stands in a message by which it sums up a conversation that fills its context window.
    pub sums_up_by: Option<[&'static str; 2]>,
    /// What it writes to standard error it keeps until it leaves.
    pub tells_when_it_leaves: bool,
    /// A turn that was cancelled while it slept through a limit comes back as an ordinary end.
    pub cancelled_as_success: bool,
    /// The tokens that it names for a turn are those of its last call of the model; the dollars are of all of them.
    pub counts_last_call: bool,
    /// Once a turn is cancelled, another one can be asked for in the same conversation. The protocol has it so; where it was
    /// not seen and a cancelled turn looks like a failed one, nobody counts on it.
    pub prompted_again: bool,
    /// How long it is given to leave after its work, where it is known not to leave by itself.
    pub leaves_within: Option<Duration>,
}

/// Agents that are not known: nothing is presumed of them but what the protocol says.
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

/// The modes of an agent that asks about everything in this one alone.
const fn asks_in(mode: &'static str) -> Option<Modes> {
    Some([(Permissions::ReadOnly, mode), (Permissions::WorkspaceWrite, mode), (Permissions::Full, mode)])
}

/// Two seconds are more than any of them takes that leaves at all.
const NEVER_LEAVES: Option<Duration> = Some(Duration::from_secs(2));

/// The agents that are known.
pub const KNOWN: [Quirks; 7] = [
    Quirks {
        name: Some("gemini-cli"),
        program: Some("gemini"),
        environment: &[
            // It starts itself a second time otherwise: 150 MB and seconds more for nothing.
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            // In a folder that nobody has called good it starts no tool server, herder's neither. Whoever made the folder an
            // agent's workspace has called it good.
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        // The others change files unasked, its own settings among them.
        modes: asks_in("default"),
        uncounted_as_success: true,
        tells_when_it_leaves: true,
        // With a tool server it stays when its input ends.
        leaves_within: NEVER_LEAVES,
        ..PLAIN
    },
    Quirks {
        name: Some("OpenCode"),
        program: Some("opencode"),
        environment: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            // Why it tries again is said on standard error alone, and only if it is asked to.
            ("OPENCODE_PRINT_LOGS", "1"),
            ("OPENCODE_LOG_LEVEL", "ERROR"),
        ],
        // It asks about nothing by itself; what it may do without asking is herder's to say. This goes before what the user's
        // own configuration says of the same, and leaves that configuration alone.
        asking: &[("OPENCODE_PERMISSION", r#"{"bash":"ask","edit":"ask"}"#)],
        messages_in_a_row: Some(10),
        sums_up_by: Some(["## Objective", "## Next Move"]),
        cancelled_as_success: true,
        counts_last_call: true,
        ..PLAIN
    },
    // In the mode that they begin with, a model of their own or nobody says yes to what they do.
    Quirks { name: Some("qwen-code"), modes: asks_in("default"), ..PLAIN },
    Quirks { name: Some("@mistralai/mistral-vibe"), modes: asks_in("ask"), ..PLAIN },
    // A user's configuration may begin it in another one.
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
    /// Those of the agent that introduces itself so.
    #[must_use]
    pub fn of(name: &str) -> Self {
        KNOWN.into_iter().find(|known| known.name == Some(name)).unwrap_or(PLAIN)
    }

    /// Those of the agent whose program this is.
    #[must_use]
    pub fn of_program(program: &str) -> Self {
        let file = program.rsplit('/').next().unwrap_or(program);
        KNOWN.into_iter().find(|known| known.program == Some(file)).unwrap_or(PLAIN)
    }

    /// Sets what it needs, where the spec has not.
    pub fn furnish(&self, environment: &mut BTreeMap<String, String>) {
        set(self.environment, environment);
    }

    /// Sets what an agent needs that this program is, or starts, and by which it asks. Whom `npx`, `env` or a script starts
    /// shows only when it introduces itself, which is too late for variables: then it gets those of everyone who is known,
    /// to whom the others' mean nothing.
    pub fn furnish_to_ask(program: &str, environment: &mut BTreeMap<String, String>) {
        let known = Self::of_program(program);
        let one = [known];
        for quirks in if known.program.is_some() { &one[..] } else { &KNOWN[..] } {
            set(quirks.environment, environment);
            set(quirks.asking, environment);
        }
    }

    /// The mode in which it may do that much without asking.
    #[must_use]
    pub fn mode(&self, permissions: Permissions) -> Option<&'static str> {
        let mode = self.modes?.into_iter().find(|(of, _)| *of == permissions);
        mode.map(|(_, mode)| mode)
    }
}
