//! Settings of `[evaluator]`: the judge, its rhythm, and its credential.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::core::policy::{self, EvaluatorRules};

/// Name of the model that codex uses as the evaluator, if none is configured.
const CODEX_MODEL: &str = "gpt-5.4";

/// Name of the model that Claude Code uses as the evaluator, if none is configured: the CLI's own default is the most
/// expensive one, which is not needed here.
const CLAUDE_MODEL: &str = "sonnet";

/// Maximum of the time limit of one evaluation; a later verdict would be about turns that are long past.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// The kind of evaluator that judges the agents' turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// The Codex CLI evaluates, as `codex exec`.
    Codex,
    /// Claude Code evaluates, as `claude -p`.
    Claude,
    /// Any program evaluates: it gets prompt and transcript on standard input and prints one line.
    Command,
    /// herder's own detector of repetition alone, without a model.
    Builtin,
    /// No evaluation at all.
    Off,
}

impl Judge {
    /// Returns the word for the kind in the configuration file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Command => "command",
            Self::Builtin => "builtin",
            Self::Off => "off",
        }
    }

    /// Returns the environment variables of herder that may hold the credential of this kind of evaluator; the first
    /// one that is set counts. The second list is used only if there is no login file.
    #[must_use]
    pub fn variables(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Codex => (&["CODEX_API_KEY"], &["OPENAI_API_KEY"]),
            Self::Claude => (&["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"], &[]),
            Self::Command | Self::Builtin | Self::Off => (&[], &[]),
        }
    }

    /// Returns its model unless another is configured; empty: the program's own default.
    #[must_use]
    pub fn default_model(self) -> &'static str {
        match self {
            Self::Codex => CODEX_MODEL,
            Self::Claude => CLAUDE_MODEL,
            Self::Command | Self::Builtin | Self::Off => "",
        }
    }

    /// Returns its program unless another is configured; `None` if it has none.
    #[must_use]
    pub fn default_program(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("codex"),
            Self::Claude => Some("claude"),
            Self::Command | Self::Builtin | Self::Off => None,
        }
    }
}

/// Settings of the file's section `[evaluator]`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Kind of the evaluator.
    pub judge: Judge,
    /// The program and its first arguments; empty if no process is started.
    pub command: Vec<String>,
    /// Name of the model; empty: the program's own default.
    pub model: String,
    /// Number of last turns that one evaluation examines.
    pub window: usize,
    /// Number of turns between two evaluations.
    pub interval: u32,
    /// Number of findings in a row that call a person.
    pub threshold: u32,
    /// Maximum time of one evaluation.
    pub timeout: Duration,
    /// Maximum number of evaluator processes that run at once.
    pub at_once: usize,
    /// Credential for the evaluator alone, instead of the one that the CLI would find.
    pub key: Option<SecretString>,
    /// Path of the CLI's login file for the evaluator, instead of the one that the CLI would find.
    pub login: Option<PathBuf>,
    /// Environment variables that are set for the evaluator's process.
    pub env: BTreeMap<String, String>,
    /// Names of the environment variables that the evaluator's process inherits from herder.
    pub inherit_env: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            judge: Judge::Codex,
            command: vec!["codex".to_owned()],
            model: CODEX_MODEL.to_owned(),
            window: 20,
            interval: 5,
            threshold: 3,
            timeout: Duration::from_secs(30),
            at_once: 4,
            key: None,
            login: None,
            env: BTreeMap::new(),
            inherit_env: ["PATH", "LANG"].map(str::to_owned).to_vec(),
        }
    }
}

impl Settings {
    /// Returns the settings for herder's own detector alone: no process, no model, no cost.
    #[must_use]
    pub fn builtin() -> Self {
        Self { judge: Judge::Builtin, command: Vec::new(), model: String::new(), ..Self::default() }
    }

    /// Returns true if no evaluator is configured, so that a missing default program is no mistake.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let default = Self::default();
        self.judge == default.judge && self.command == default.command
    }

    /// Returns true if an evaluation starts a process, and so a model is asked.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(self.judge, Judge::Codex | Judge::Claude | Judge::Command)
    }

    /// Returns the part of the settings that the core decides by.
    #[must_use]
    pub fn rules(&self) -> EvaluatorRules {
        let judge = match self.judge {
            Judge::Codex | Judge::Claude | Judge::Command => policy::Judge::Asked,
            Judge::Builtin => policy::Judge::Builtin,
            Judge::Off => policy::Judge::Off,
        };
        let Self { window, interval, threshold, .. } = *self;
        EvaluatorRules { judge, window, interval, threshold, traced: false }
    }
}
