//! What an agent is: the part a person decides, as it is stored in the journal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{AccountName, AgentName};
use super::outcome::Category;
use super::usage::Caps;

/// How an agent's process is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runtime {
    /// Claude Code, long-lived stream-json both ways.
    Claude,
    /// The Codex CLI, its app server over JSON-RPC.
    Codex,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    /// Any command: prompt in, lines out.
    Command,
}

/// Where a [`Runtime::Command`] takes its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptMode {
    /// On standard input, which is then closed.
    #[default]
    Stdin,
    /// In place of `{prompt}` in the command line.
    Arg,
}

/// What a [`Runtime::Command`] prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// Text for people: all of it is what the agent says, and its exit code is how it went.
    #[default]
    Text,
    /// `claude -p --output-format stream-json --verbose`, or `json`.
    Claude,
    /// `codex exec --json`.
    Codex,
    /// `gemini --output-format stream-json`.
    Gemini,
    /// `opencode run --format json`.
    Opencode,
}

impl Output {
    /// Whether it is the default.
    #[must_use]
    pub fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// What of the agent's own words is posted to its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relay {
    /// Everything it says, as it says it.
    All,
    /// The final text of a session.
    #[default]
    Final,
    /// Nothing.
    None,
}

/// What an agent may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// Nothing is written.
    ReadOnly,
    /// Each task begins with a plan; once that is approved, its own workspace.
    Plan,
    /// Its own workspace.
    #[default]
    WorkspaceWrite,
    /// Whatever the user herder runs as may.
    Full,
}

impl Permissions {
    /// The permissions of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::ReadOnly, Self::Plan, Self::WorkspaceWrite, Self::Full]
            .into_iter()
            .find(|known| known.word() == word)
    }

    /// The least that is more; none: there is no more.
    #[must_use]
    pub const fn broader(self) -> Option<Self> {
        match self {
            Self::ReadOnly | Self::Plan => Some(Self::WorkspaceWrite),
            Self::WorkspaceWrite => Some(Self::Full),
            Self::Full => None,
        }
    }

    /// Their word, as in `bot.toml`.
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

/// Who answers when an agent asks for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Autonomy {
    /// A person.
    #[default]
    Human,
    /// Always allowed.
    Full,
    /// Always denied.
    Strict,
}

/// One line of a command's pattern table: what on stderr means which category.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// A regular expression, matched line by line.
    #[serde(rename = "match")]
    pub matches: String,
    /// What a match means.
    pub category: Category,
}

/// Everything a person decides about an agent. Defaults are `bot.toml.example`'s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The agent's name.
    pub name: AgentName,
    /// How its process is spoken to.
    pub runtime: Runtime,
    /// Program and arguments; empty: the runtime's default.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where a command takes its prompt.
    #[serde(default)]
    pub prompt: PromptMode,
    /// What a command prints.
    #[serde(default, skip_serializing_if = "Output::is_text")]
    pub output: Output,
    /// The folder it works in.
    pub workspace: PathBuf,
    /// The model; empty: the runtime's default.
    #[serde(default)]
    pub model: String,
    /// The account its calls are billed to.
    pub account: AccountName,
    /// What it may touch.
    #[serde(default)]
    pub permissions: Permissions,
    /// Who answers its questions for permission.
    #[serde(default)]
    pub autonomy: Autonomy,
    /// Standing instructions, given with every session.
    #[serde(default)]
    pub instructions: String,
    /// Whether a new session follows each success by itself.
    #[serde(default, rename = "loop")]
    pub looping: bool,
    /// Pause between two sessions of a loop.
    #[serde(default)]
    pub rest: Duration,
    /// Turns per session; 0: no limit.
    #[serde(default)]
    pub max_turns: u32,
    /// Dollars per session; 0: no limit.
    #[serde(default)]
    pub max_budget_usd: f64,
    /// What else it may use.
    #[serde(default, skip_serializing_if = "Caps::is_none")]
    pub caps: Caps,
    /// The longest session; `None`: the fleet's `max_task_duration`.
    #[serde(default)]
    pub max_task_duration: Option<Duration>,
    /// What of its words is posted.
    #[serde(default)]
    pub relay: Relay,
    /// Variables set for it.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables whose values are read from files when a session starts: only the path is stored.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_files: BTreeMap<String, PathBuf>,
    /// Variables it gets from herder's own environment; nothing else is inherited.
    #[serde(default)]
    pub inherit_env: Vec<String>,
    /// A HOME of its own, with nothing in it but what [`AgentSpec::credentials`] names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_home: bool,
    /// What of the user's it may use: `git`, `ssh` and `gh` to push with, and files below the user's HOME for its own one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<String>,
    /// What is put before its command to enclose it; `{workspace}`, `{home}`, `{state}` and `{tools}` are its folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sandbox: Vec<String>,
    /// stderr to category, for commands.
    #[serde(default)]
    pub patterns: Vec<Pattern>,
    /// Channels it may speak and read in beside its own and the work channel: `#dev`, `libera/#dev`, `discord/<id>`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// What it is good for: a task of the board can ask for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl AgentSpec {
    /// Whether an agent that was `old` can go on with its conversation. That belongs to its runtime and its folder, and with
    /// Claude Code, which takes up the instructions that it began with, to those.
    #[must_use]
    pub fn goes_on_with(&self, old: &Self) -> bool {
        let told = match self.runtime {
            Runtime::Claude => self.instructions == old.instructions,
            // They are told their instructions anew each time.
            Runtime::Codex | Runtime::Acp | Runtime::Command => true,
        };
        told && self.runtime == old.runtime && self.workspace == old.workspace
    }

    /// Whether it is Claude Code that tells what it used: tokens as it goes, and dollars with the end of a turn.
    #[must_use]
    pub fn counts_as_claude(&self) -> bool {
        match self.runtime {
            Runtime::Claude => true,
            Runtime::Command => self.output == Output::Claude,
            Runtime::Codex | Runtime::Acp => false,
        }
    }

    /// Whether a process that was started for this spec is the one that `other` asks for: the same program with the same
    /// model, in the same folder, with the same reach. What else it says is used at once or from the next session on.
    #[must_use]
    pub fn runs_as(&self, other: &Self) -> bool {
        // By name, so that whoever adds a setting decides what it is.
        let Self {
            name: _,
            runtime,
            command,
            prompt,
            output,
            workspace,
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
            relay: _,
            env,
            env_files,
            inherit_env,
            own_home,
            credentials,
            sandbox,
            patterns: _,
            channels: _,
            tags: _,
        } = other;
        (self.runtime, self.prompt, self.output, self.permissions, self.own_home)
            == (*runtime, *prompt, *output, *permissions, *own_home)
            && (&self.command, &self.workspace, &self.model) == (command, workspace, model)
            && (&self.env, &self.env_files, &self.inherit_env) == (env, env_files, inherit_env)
            && (&self.credentials, &self.sandbox) == (credentials, sandbox)
    }

    /// A spec with the defaults of `bot.toml.example`: inherits `PATH`, `HOME` and `LANG`, billed to `default`.
    #[must_use]
    pub fn new(name: AgentName, runtime: Runtime, workspace: PathBuf) -> Self {
        Self {
            name,
            runtime,
            command: Vec::new(),
            prompt: PromptMode::default(),
            output: Output::default(),
            workspace,
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
            relay: Relay::default(),
            env: BTreeMap::new(),
            env_files: BTreeMap::new(),
            inherit_env: ["PATH", "HOME", "LANG"].map(str::to_owned).to_vec(),
            own_home: false,
            credentials: Vec::new(),
            sandbox: Vec::new(),
            patterns: Vec::new(),
            channels: Vec::new(),
            tags: Vec::new(),
        }
    }
}
