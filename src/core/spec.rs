//! The configuration of an agent, as it is stored in the journal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checkout::Repository;
use super::id::{AccountName, AgentName, RunnerName};
use super::machine::Share;
use super::outcome::Category;
use super::usage::Caps;

/// Protocol of an agent's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// Claude Code: a long-lived process that exchanges stream-json on standard input and output.
    Claude,
    /// The Codex CLI: its app server over JSON-RPC.
    Codex,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// Any command that reads a prompt and prints lines.
    Command,
}

/// The way in which a [`Runtime::Command`] gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptMode {
    /// The prompt is written to standard input, which is then closed.
    #[default]
    Stdin,
    /// The prompt replaces `{prompt}` in the command line.
    Arg,
}

/// Format of a [`Runtime::Command`]'s output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Text for people: all of it is the agent's answer, and the exit code is the outcome.
    #[default]
    Text,
    /// The output format of `claude -p --output-format stream-json --verbose`, or of `json`.
    Claude,
    /// The output format of `codex exec --json`.
    Codex,
    /// The output format of `gemini --output-format stream-json`.
    Gemini,
    /// The output format of `opencode run --format json`.
    Opencode,
}

impl Output {
    /// Returns true if the format is plain text, the default.
    #[must_use]
    pub fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// Part of an agent's output that is posted to its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relay {
    /// All its words, at once.
    All,
    /// Only the final text of a session.
    #[default]
    Final,
    /// No words of it.
    None,
}

/// Permissions of an agent, each including those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// The agent writes nothing.
    ReadOnly,
    /// Each task starts with a plan; after its approval the agent may write to its own workspace.
    Plan,
    /// The agent writes to its own workspace.
    #[default]
    WorkspaceWrite,
    /// The agent may do whatever the user that herder runs as may do.
    Full,
}

impl Permissions {
    /// Returns the permissions with this word; `None` if there are none.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::ReadOnly, Self::Plan, Self::WorkspaceWrite, Self::Full]
            .into_iter()
            .find(|known| known.word() == word)
    }

    /// Returns the next broader permissions; `None` if there are none.
    #[must_use]
    pub const fn broader(self) -> Option<Self> {
        match self {
            Self::ReadOnly | Self::Plan => Some(Self::WorkspaceWrite),
            Self::WorkspaceWrite => Some(Self::Full),
            Self::Full => None,
        }
    }

    /// Returns the word for the permissions, as in `bot.toml`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Plan => "plan",
            Self::WorkspaceWrite => "workspace-write",
            Self::Full => "full",
        }
    }
}

/// The authority that answers an agent's permission requests: a person, or a fixed yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Autonomy {
    /// A person answers.
    #[default]
    Human,
    /// All requests are allowed, except for always-asked commands.
    Full,
    /// All requests are denied, except that always-asked commands are put to a person.
    Strict,
}

impl Autonomy {
    /// Returns the order in which agents are asked less.
    const fn rank(self) -> u8 {
        match self {
            Self::Strict => 0,
            Self::Human => 1,
            Self::Full => 2,
        }
    }
}

/// The settings that bound what an agent does without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Permissions of the agent.
    pub permissions: Permissions,
    /// The authority that answers its requests for more.
    pub autonomy: Autonomy,
}

impl Rights {
    /// Returns true if an agent with these rights may do nothing that one with the other rights may not.
    #[must_use]
    pub fn are_within(self, most: Self) -> bool {
        self.permissions <= most.permissions && self.autonomy.rank() <= most.autonomy.rank()
    }

    /// Returns the rights that both have.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let autonomy =
            if self.autonomy.rank() <= other.autonomy.rank() { self.autonomy } else { other.autonomy };
        Self { permissions: self.permissions.min(other.permissions), autonomy }
    }
}

/// A row of the pattern table of a [`Runtime::Command`], which maps a line on stderr to the category of the failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// Regular expression that is matched against each line.
    #[serde(rename = "match")]
    pub matches: String,
    /// Category of a session in which it matches.
    pub category: Category,
}

/// An agent's configuration. Defaults are those of `bot.toml.example`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The agent's name.
    pub name: AgentName,
    /// Protocol of the agent's process.
    pub runtime: Runtime,
    /// Program and arguments of the process; empty: the runtime's default.
    #[serde(default)]
    pub command: Vec<String>,
    /// The way in which a [`Runtime::Command`] gets its prompt.
    #[serde(default)]
    pub prompt: PromptMode,
    /// Format of the output of a [`Runtime::Command`].
    #[serde(default, skip_serializing_if = "Output::is_text")]
    pub output: Output,
    /// The machine that the agent runs on; `None`: that of the bot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerName>,
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    /// The repository in which each task gets a clone and a branch of its own; `None`: all work is done in `workspace`,
    /// which names the repository otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<Box<Repository>>,
    /// Name of the model; empty: the runtime's default.
    #[serde(default)]
    pub model: String,
    /// The account that the agent's model calls are billed to.
    pub account: AccountName,
    /// Permissions of the agent.
    #[serde(default)]
    pub permissions: Permissions,
    /// The authority that answers the agent's permission requests: a person, or a fixed yes or no.
    #[serde(default)]
    pub autonomy: Autonomy,
    /// Standing instructions, given with every session.
    #[serde(default)]
    pub instructions: String,
    /// True if each successful session is followed by a new one.
    #[serde(default, rename = "loop")]
    pub looping: bool,
    /// Pause between two sessions of a looping agent.
    #[serde(default)]
    pub rest: Duration,
    /// Maximum number of turns per session; 0: no limit.
    #[serde(default)]
    pub max_turns: u32,
    /// Maximum cost of a session in dollars; 0: no limit.
    #[serde(default)]
    pub max_budget_usd: f64,
    /// Further caps on the agent's own usage.
    #[serde(default, skip_serializing_if = "Caps::is_none")]
    pub caps: Caps,
    /// Maximum duration of a session; `None`: the `max_task_duration` of the policy for all agents.
    #[serde(default)]
    pub max_task_duration: Option<Duration>,
    /// Time for which the process of an ACP agent stays after a session, for the next one; zero if it does not stay.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub keep_warm: Duration,
    /// Part of the agent's output that is posted to its channel.
    #[serde(default)]
    pub relay: Relay,
    /// Environment variables that are set for the agent's process.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Environment variables whose values are read from files when a session starts; only the path is stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_files: BTreeMap<String, PathBuf>,
    /// Names of the environment variables that the agent's process gets from herder's own; no others are inherited.
    #[serde(default)]
    pub inherit_env: Vec<String>,
    /// True if the agent's process has a HOME of its own, which contains only the files named in
    /// [`AgentSpec::credentials`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_home: bool,
    /// Credentials of the user that the agent may use: `git`, `ssh` and `gh` for pushing, and files below the user's
    /// HOME that are copied to its own one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// Command prefix that runs the agent's command in a sandbox; `{workspace}`, `{home}`, `{state}` and `{tools}`
    /// stand for the agent's folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sandbox: Vec<String>,
    /// The part of the machine that the processes of a session may take.
    #[serde(default, skip_serializing_if = "Share::is_none")]
    pub share: Share,
    /// Patterns on stderr that tell the category of a failure, for a [`Runtime::Command`].
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// Channels that the agent may speak and read in, beside its own and the work channel: `#dev`, `libera/#dev`,
    /// `discord/<id>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Names of the agent's skills, which a task on the board can require.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// True if the agent may give parts of its tasks to others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leads: bool,
    /// Maximum cost of the parts of one of its tasks together, in dollars; 0: no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lead_budget_usd: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(dollars: &f64) -> bool {
    *dollars == 0.0
}

impl AgentSpec {
    /// Returns the settings that bound what the agent does without being asked.
    #[must_use]
    pub fn rights(&self) -> Rights {
        Rights { permissions: self.permissions, autonomy: self.autonomy }
    }

    /// Returns true if an agent that was configured as `old` can still resume its conversation with this configuration.
    /// A conversation depends on runtime, machine and folder, and with Claude Code, which keeps its first instructions, also on
    /// those.
    #[must_use]
    pub fn goes_on_with(&self, old: &Self) -> bool {
        let told = match self.runtime {
            Runtime::Claude => self.instructions == old.instructions,
            // They are given their instructions again each time.
            Runtime::Codex | Runtime::Acp | Runtime::Command => true,
        };
        let same_place = self.runner == old.runner
            && self.repository.is_some() == old.repository.is_some()
            && (self.repository.is_some() || self.workspace == old.workspace);
        told && self.runtime == old.runtime && same_place
    }

    /// Returns true if the agent's usage is reported as by Claude Code: tokens at any time, and dollars at the end of a
    /// turn.
    #[must_use]
    pub fn counts_as_claude(&self) -> bool {
        match self.runtime {
            Runtime::Claude => true,
            Runtime::Command => self.output == Output::Claude,
            Runtime::Codex | Runtime::Acp => false,
        }
    }

    /// Returns true if a process that was started for this spec also fits `other`, so that it need not be restarted:
    /// the same command line (runtime, command, prompt, output, model, permissions, sandbox), machine, folder and environment.
    /// Other settings take effect at once or from the next session on.
    #[must_use]
    pub fn runs_as(&self, other: &Self) -> bool {
        // Fields are listed by name, so that a new setting has to be classified here.
        let Self {
            name: _,
            runtime,
            command,
            prompt,
            output,
            runner,
            workspace,
            // A session keeps the clone that it has.
            repository,
            model,
            account: _,
            permissions,
            autonomy: _,
            instructions: _,
            looping: _,
            rest: _,
            max_turns: _,
            max_budget_usd: _,
            caps: _,
            max_task_duration: _,
            keep_warm: _,
            relay: _,
            env,
            env_files,
            inherit_env,
            own_home,
            credentials,
            sandbox,
            share: _,
            patterns: _,
            channels: _,
            tags: _,
            leads: _,
            lead_budget_usd: _,
        } = other;
        (self.runtime, self.prompt, self.output, self.permissions, self.own_home)
            == (*runtime, *prompt, *output, *permissions, *own_home)
            && self.repository.is_some() == repository.is_some()
            && (self.repository.is_some() || self.workspace == *workspace)
            && (&self.runner, &self.command, &self.model) == (runner, command, model)
            && (&self.env, &self.env_files, &self.inherit_env) == (env, env_files, inherit_env)
            && (&self.credentials, &self.sandbox) == (credentials, sandbox)
    }

    /// Returns a spec with the defaults of `bot.toml.example`: it inherits `PATH`, `HOME` and `LANG` and uses the
    /// account `default`.
    #[must_use]
    pub fn new(name: AgentName, runtime: Runtime, workspace: PathBuf) -> Self {
        Self {
            name,
            runtime,
            command: Vec::new(),
            prompt: PromptMode::default(),
            output: Output::default(),
            runner: None,
            workspace,
            repository: None,
            model: String::new(),
            account: AccountName::from("default"),
            permissions: Permissions::default(),
            autonomy: Autonomy::default(),
            instructions: String::new(),
            looping: false,
            rest: Duration::ZERO,
            max_turns: 0,
            max_budget_usd: 0.0,
            caps: Caps::default(),
            max_task_duration: None,
            keep_warm: Duration::ZERO,
            relay: Relay::default(),
            env: BTreeMap::new(),
            env_files: BTreeMap::new(),
            inherit_env: ["PATH", "HOME", "LANG"].map(str::to_owned).to_vec(),
            own_home: false,
            credentials: Vec::new(),
            sandbox: Vec::new(),
            share: Share::default(),
            patterns: Vec::new(),
            channels: Vec::new(),
            tags: Vec::new(),
            leads: false,
            lead_budget_usd: 0.0,
        }
    }
}
