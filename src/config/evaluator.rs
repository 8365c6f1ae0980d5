//! `[evaluator]`: the program that judges the agents' turns, how often it does, and its credential.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::environment;
use super::section::Section;
use crate::core::policy::{self, EvaluatorRules};

/// Name of the model that codex uses as the evaluator, if none is configured.
const CODEX_MODEL: &str = "gpt-5.4";

/// Name of the model that Claude Code uses as the evaluator, if none is configured: the CLI's own default is the most
/// expensive one, which is not needed here.
const CLAUDE_MODEL: &str = "sonnet";

/// Minimum of `window_size`, in turns; fewer show no repetition.
const WINDOW_MIN: u64 = 3;

/// Maximum of `window_size`, in turns. More do not fit into the prompt, in which the newest are kept.
const WINDOW_MAX: u64 = 50;

/// Maximum of the number of turns between two evaluations; with a longer interval there would be none.
const INTERVAL_MAX: u64 = 1000;

/// Minimum of the number of findings in a row that call a person, which never happens on a first one.
const THRESHOLD_MIN: u64 = 2;

/// Maximum of the number of findings in a row that call a person.
const THRESHOLD_MAX: u64 = 100;

/// Maximum of the time limit of one evaluation; a later verdict would be about turns that are long past.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// Maximum of the number of evaluator processes that run at once.
const AT_ONCE_MAX: u64 = 64;

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

    fn default_model(self) -> &'static str {
        match self {
            Self::Codex => CODEX_MODEL,
            Self::Claude => CLAUDE_MODEL,
            Self::Command | Self::Builtin | Self::Off => "",
        }
    }

    fn default_program(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("codex"),
            Self::Claude => Some("claude"),
            Self::Command | Self::Builtin | Self::Off => None,
        }
    }
}

/// Settings of the file's section `[evaluator]`.
#[derive(Debug, Clone)]
pub struct Evaluator {
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

impl Default for Evaluator {
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

impl Evaluator {
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
        EvaluatorRules { judge, window: self.window, interval: self.interval, threshold: self.threshold }
    }
}

/// Parses `[evaluator]`.
pub(super) fn evaluator(section: Section<'_>) -> Evaluator {
    let default = Evaluator::default();
    let judges =
        [Judge::Codex, Judge::Claude, Judge::Command, Judge::Builtin, Judge::Off].map(|j| (j.word(), j));
    let judge = section.choice("kind", &judges).unwrap_or(default.judge);
    let count = |key, bounds, default: u64| section.number(key, bounds).unwrap_or(default);
    let window = count("window_size", WINDOW_MIN..=WINDOW_MAX, default.window as u64);
    let interval = count("eval_interval", 1..=INTERVAL_MAX, default.interval.into());
    if interval <= INTERVAL_MAX && window < interval {
        let why = format!(
            "{window} turns are fewer than the {interval} of eval_interval, so that some are never looked at; use at least {interval}, or a smaller eval_interval"
        );
        section.problem("window_size", why);
    }
    let threshold = count("escalation_threshold", THRESHOLD_MIN..=THRESHOLD_MAX, default.threshold.into());
    let at_once = count("at_once", 1..=AT_ONCE_MAX, default.at_once as u64);
    let variables = environment::variables(&section);
    if let Some(name) = variables.env_files.keys().next() {
        section.problem(
            "env",
            format!("{name} is read from a file, which only agents can have; write key = {{ file = … }}"),
        );
    }
    let evaluator = Evaluator {
        judge,
        command: command(&section, judge),
        model: model(&section, judge),
        window: usize::try_from(window).unwrap_or(default.window),
        interval: u32::try_from(interval).unwrap_or(default.interval),
        threshold: u32::try_from(threshold).unwrap_or(default.threshold),
        timeout: timeout(&section).unwrap_or(default.timeout),
        at_once: usize::try_from(at_once).unwrap_or(default.at_once),
        key: key(&section, judge),
        login: login(&section, judge),
        env: variables.env,
        inherit_env: variables.inherit_env.unwrap_or(default.inherit_env),
    };
    section.finish();
    evaluator
}

/// Registers for redaction the credentials that the evaluator's program finds by itself, before the section is read.
pub(super) fn hide_credentials(top: &Section<'_>, judge: Judge) {
    let (before, after) = judge.variables();
    for name in before.iter().chain(after) {
        environment::keep_secret(top, name, (top.reading.around.variable)(name));
    }
}

fn command(section: &Section<'_>, judge: Judge) -> Vec<String> {
    let given = section.texts("command").unwrap_or_default();
    let words: Vec<String> = given.into_iter().map(|word| word.value).collect();
    if words.iter().any(|word| word.contains('\0')) || words.first().is_some_and(String::is_empty) {
        section.problem("command", "this cannot be run; write the program first, then its arguments");
    }
    match judge {
        Judge::Codex | Judge::Claude if words.is_empty() => {
            judge.default_program().map(str::to_owned).into_iter().collect()
        }
        Judge::Command if words.is_empty() => {
            section.problem(
                "command",
                "kind command needs one, e.g. command = [\"my-judge\"]: prompt and transcript on its standard input, \
                 one line back",
            );
            words
        }
        Judge::Codex | Judge::Claude | Judge::Command => words,
        Judge::Builtin | Judge::Off => Vec::new(),
    }
}

fn model(section: &Section<'_>, judge: Judge) -> String {
    let Some(model) = section.text("model") else { return judge.default_model().to_owned() };
    let others = match judge {
        Judge::Codex => model.value.starts_with("claude-").then_some("codex has no model of this name"),
        Judge::Claude => model.value.starts_with("gpt-").then_some("Claude Code has no model of this name"),
        Judge::Command | Judge::Builtin | Judge::Off => None,
    };
    if let Some(why) = others {
        section.problem("model", format!("{why}; take it out for \"{}\"", judge.default_model()));
    }
    if model.value.contains('\0') || model.value.starts_with('-') {
        section.problem(
            "model",
            format!("this is no model's name; take it out for \"{}\"", judge.default_model()),
        );
    }
    model.value
}

fn timeout(section: &Section<'_>) -> Option<Duration> {
    let timeout = section.duration("timeout", Duration::from_secs(1))?;
    if timeout > TIMEOUT_MAX {
        section.problem("timeout", "this is too long for a word about the last turns; use at most 10m");
        return None;
    }
    Some(timeout)
}

fn key(section: &Section<'_>, judge: Judge) -> Option<SecretString> {
    let key = section.shared_secret("key");
    if section.has("key") && matches!(judge, Judge::Command) {
        section
            .problem("key", "a program of your own gets its variables by env and inherit_env; take this out");
    }
    key
}

fn login(section: &Section<'_>, judge: Judge) -> Option<PathBuf> {
    let text = section.filled("login")?;
    if section.has("key") {
        section.problem_at(text.line, "login", "both key and login are given; take one of them out");
    }
    if matches!(judge, Judge::Command) {
        section.problem_at(
            text.line,
            "login",
            "a program of your own finds its login by itself; take this out",
        );
    }
    Some(section.path(&text.value))
}
