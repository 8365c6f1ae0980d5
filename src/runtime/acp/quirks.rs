//! What is peculiar to the agents that are known: the protocol leaves much open, and they fill it differently.

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
    /// Variables that it needs to be a good child, unless the spec sets them.
    pub environment: &'static [(&'static str, &'static str)],
    /// Its modes, as far as they say what it may do without asking.
    pub modes: Option<Modes>,
    /// Failures come as words and an ordinary end of the turn; a state beside them tells.
    pub fails_as_words: bool,
    /// A turn that was cancelled while it slept through a limit comes back as an ordinary end.
    pub cancelled_as_success: bool,
    /// How long it is given to leave after its work, where it is known not to leave by itself.
    pub leaves_within: Option<Duration>,
}

/// Agents that are not known: nothing is presumed of them.
const PLAIN: Quirks = Quirks {
    name: None,
    program: None,
    environment: &[],
    modes: None,
    fails_as_words: false,
    cancelled_as_success: false,
    leaves_within: None,
};

/// Two seconds are more than any of them takes that leaves at all.
const NEVER_LEAVES: Option<Duration> = Some(Duration::from_secs(2));

/// The agents that are known.
pub const KNOWN: [Quirks; 4] = [
    Quirks {
        name: Some("gemini-cli"),
        program: Some("gemini"),
        // It starts itself a second time otherwise: 150 MB and seconds more for nothing.
        environment: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        modes: Some([
            (Permissions::ReadOnly, "default"),
            (Permissions::WorkspaceWrite, "autoEdit"),
            (Permissions::Full, "yolo"),
        ]),
        // With a tool server it stays when its input ends.
        leaves_within: NEVER_LEAVES,
        ..PLAIN
    },
    Quirks {
        name: Some("OpenCode"),
        program: Some("opencode"),
        environment: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        cancelled_as_success: true,
        ..PLAIN
    },
    Quirks {
        name: Some("@agentclientprotocol/claude-agent-acp"),
        modes: Some([
            (Permissions::ReadOnly, "default"),
            (Permissions::WorkspaceWrite, "acceptEdits"),
            (Permissions::Full, "bypassPermissions"),
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
        ..PLAIN
    },
];

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

    /// The mode in which it may do that much without asking.
    #[must_use]
    pub fn mode(&self, permissions: Permissions) -> Option<&'static str> {
        let mode = self.modes?.into_iter().find(|(of, _)| *of == permissions);
        mode.map(|(_, mode)| mode)
    }
}
