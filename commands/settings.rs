//! `key=value` settings of an agent, for `agent add` and `agent edit`: all problems are reported at once.

use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::json;

use super::words::{fold, nearest, repeat, split_quoted};
use crate::config;
use crate::core::card::{TAGS_MAX, is_tag};
use crate::core::id::{AccountName, RunnerName};
use crate::core::machine::Share;
use crate::core::spec::{AgentSpec, PromptMode, Runtime};
use crate::runtime::isolation::{PUSH, is_credential};

/// The keys of settings that `agent edit` accepts, as in `bot.toml`.
pub(super) const KEYS: [&str; 32] = [
    "runtime",
    "runner",
    "workspace",
    "command",
    "prompt",
    "output",
    "model",
    "account",
    "permissions",
    "autonomy",
    "instructions",
    "loop",
    "rest",
    "max_turns",
    "max_budget_usd",
    "usd_per_hour",
    "usd_per_day",
    "tokens_per_session",
    "tokens_per_hour",
    "tokens_per_day",
    "max_task_duration",
    "keep_warm",
    "relay",
    "env.NAME",
    "inherit_env",
    "own_home",
    "credentials",
    "sandbox",
    "memory",
    "cpu",
    "pids",
    "tags",
];

/// Maximum length of a setting's value, in bytes. Longer texts make the journal's entries unwieldy; a file in the
/// workspace has room for them.
const VALUE_MAX: usize = 8 * 1024;

/// Parts of an environment variable's name by which its value counts as a secret.
const SECRET_PARTS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// A problem with one setting of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// The key of the setting, or the word that is no setting.
    pub(super) what: String,
    /// The kind of problem, from which the text with its remedy follows.
    pub(super) why: Why,
}

/// The kind of a problem with a setting; its text is in the locale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// The word does not have the form `key=value`.
    NoPair,
    /// No setting has this key; the field is the most similar one.
    NoSuchKey(Option<&'static str>),
    /// The setting was given twice.
    Twice,
    /// The value is not one of these words.
    OneOf(&'static str),
    /// The value does not have the right form; the field is an example such as `90s`.
    Form(&'static str),
    /// The value is longer than `VALUE_MAX`.
    TooLong,
    /// The value of the setting contains a control character.
    Control,
    /// A quote in the value is not closed.
    Unclosed,
    /// The value is a secret, which must not be sent by chat.
    Secret,
    /// The path of the workspace is not absolute.
    NotAbsolute,
    /// The workspace does not exist.
    NoFolder,
    /// The file system of the workspace does not answer.
    FolderSilent,
    /// The agent has the runtime `command` but no command.
    NeedsCommand,
    /// The setting `prompt=arg` and the placeholder in the command do not match.
    Placeholder,
    /// The setting `credentials` contains a file, which needs a HOME of the agent's own.
    NeedsOwnHome,
    /// No machine of this name has joined.
    NoMachine,
    /// With a standby no agent runs on the bot's own machine.
    NeedsMachine,
}

/// Applies `key=value` settings to an agent's configuration and returns all problems. Valid settings are applied even
/// if others are not, so that dependent ones can be checked too.
pub(super) fn apply(spec: &mut AgentSpec, pairs: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once(['=', '＝']) else {
            problems.push(Problem { what: repeat(pair), why: Why::NoPair });
            continue;
        };
        let key = normal(key);
        let mut problem = |why| problems.push(Problem { what: repeat(&key), why });
        if seen.contains(&key) {
            problem(Why::Twice);
            continue;
        }
        if let Err(why) = set(spec, &key, value) {
            problem(why);
        }
        seen.push(key);
    }
    problems
}

/// Normalises a setting's key: `max-turns` becomes `max_turns`. The name of an environment variable keeps its case.
fn normal(key: &str) -> String {
    match key.split_once('.') {
        Some((head, name)) if fold(head) == "env" => format!("env.{name}"),
        _ => fold(key).replace('-', "_"),
    }
}

fn set(spec: &mut AgentSpec, key: &str, value: &str) -> Result<(), Why> {
    if value.len() > VALUE_MAX {
        return Err(Why::TooLong);
    }
    let lines = key == "instructions";
    if value.contains(|c: char| c.is_control() && !(lines && matches!(c, '\n' | '\t'))) {
        return Err(Why::Control);
    }
    match key {
        "runtime" => spec.runtime = one_of(value, "claude, codex, acp, command")?,
        "runner" if value.is_empty() => spec.runner = None,
        "runner" => spec.runner = Some(RunnerName::new(value).map_err(|_| Why::Form("runner=box4"))?),
        "workspace" => {
            spec.workspace = PathBuf::from(value);
            spec.repository = None;
        }
        "command" => spec.command = list(value)?,
        "prompt" => spec.prompt = one_of(value, "stdin, arg")?,
        "output" => spec.output = one_of(value, "text, claude, codex, gemini, opencode")?,
        "model" => value.clone_into(&mut spec.model),
        "account" if value.is_empty() => return Err(Why::Form("account=default")),
        "account" => spec.account = AccountName::from(value),
        "permissions" => spec.permissions = one_of(value, "read-only, workspace-write, full")?,
        "autonomy" => spec.autonomy = one_of(value, "human, full, strict")?,
        "instructions" => value.clone_into(&mut spec.instructions),
        "loop" => spec.looping = truth(value)?,
        "rest" => spec.rest = duration(value).ok_or(Why::Form("rest=90s"))?,
        "max_turns" => spec.max_turns = value.parse().map_err(|_| Why::Form("max_turns=20"))?,
        "max_budget_usd" => {
            spec.max_budget_usd = dollars(value).ok_or(Why::Form("max_budget_usd=2.50"))?;
        }
        "usd_per_hour" => spec.caps.usd_per_hour = dollars(value).ok_or(Why::Form("usd_per_hour=2.50"))?,
        "usd_per_day" => spec.caps.usd_per_day = dollars(value).ok_or(Why::Form("usd_per_day=20"))?,
        "tokens_per_session" => {
            spec.caps.tokens_per_session =
                value.parse().map_err(|_| Why::Form("tokens_per_session=2000000"))?;
        }
        "tokens_per_hour" => {
            spec.caps.tokens_per_hour = value.parse().map_err(|_| Why::Form("tokens_per_hour=2000000"))?;
        }
        "tokens_per_day" => {
            spec.caps.tokens_per_day = value.parse().map_err(|_| Why::Form("tokens_per_day=20000000"))?;
        }
        "max_task_duration" => {
            let longest = duration(value).ok_or(Why::Form("max_task_duration=30m"))?;
            spec.max_task_duration = (!longest.is_zero()).then_some(longest);
        }
        "keep_warm" => spec.keep_warm = duration(value).ok_or(Why::Form("keep_warm=5m"))?,
        "relay" => spec.relay = one_of(value, "all, final, none")?,
        "inherit_env" => spec.inherit_env = variables(value)?,
        "own_home" => spec.own_home = truth(value)?,
        "credentials" => spec.credentials = credentials(value)?,
        "sandbox" => spec.sandbox = list(value)?,
        "memory" => {
            let memory = config::size(value).ok().filter(|memory| Share::is_memory(*memory));
            spec.share.memory = memory.ok_or(Why::Form("memory=8GB"))?;
        }
        "cpu" => spec.share.cpu = processors(value).ok_or(Why::Form("cpu=2"))?,
        "pids" => {
            let pids = value.parse::<u32>().ok().filter(|pids| Share::is_pids(*pids));
            spec.share.pids = pids.ok_or(Why::Form("pids=512"))?;
        }
        "tags" => spec.tags = tags(value)?,
        _ => match key.strip_prefix("env.") {
            Some(name) => variable(spec, name, value)?,
            None => return Err(Why::NoSuchKey(nearest(key, KEYS))),
        },
    }
    Ok(())
}

/// Returns the value of a setting as JSON, in a form that [`apply`] accepts. Of environment variables only the names
/// are listed.
fn value(spec: &AgentSpec, key: &str) -> serde_json::Value {
    let seconds = |time: Duration| format!("{}s", time.as_secs());
    match key {
        "runtime" => json!(spec.runtime),
        "runner" => json!(spec.runner.as_ref().map_or("", RunnerName::as_str)),
        "workspace" => json!(spec.workspace.to_string_lossy()),
        "command" => json!(spec.command),
        "prompt" => json!(spec.prompt),
        "output" => json!(spec.output),
        "model" => json!(spec.model),
        "account" => json!(spec.account),
        "permissions" => json!(spec.permissions),
        "autonomy" => json!(spec.autonomy),
        "instructions" => json!(spec.instructions),
        "loop" => json!(spec.looping),
        "rest" => json!(seconds(spec.rest)),
        "max_turns" => json!(spec.max_turns),
        "max_budget_usd" => json!(spec.max_budget_usd),
        "usd_per_hour" => json!(spec.caps.usd_per_hour),
        "usd_per_day" => json!(spec.caps.usd_per_day),
        "tokens_per_session" => json!(spec.caps.tokens_per_session),
        "tokens_per_hour" => json!(spec.caps.tokens_per_hour),
        "tokens_per_day" => json!(spec.caps.tokens_per_day),
        "max_task_duration" => json!(spec.max_task_duration.map(seconds)),
        "keep_warm" => json!(seconds(spec.keep_warm)),
        "relay" => json!(spec.relay),
        "env.NAME" => json!(spec.env.keys().chain(spec.env_files.keys()).collect::<Vec<_>>()),
        "inherit_env" => json!(spec.inherit_env),
        "own_home" => json!(spec.own_home),
        "credentials" => json!(spec.credentials),
        "sandbox" => json!(spec.sandbox),
        "memory" => json!(spec.share.memory.to_string()),
        "cpu" => json!(spec.share.cpu),
        "pids" => json!(spec.share.pids),
        "tags" => json!(spec.tags),
        _ => unreachable!("every key has a value"),
    }
}

/// Returns an agent's configuration as it may be shown: all settings of `agent edit`, and those that only `bot.toml`
/// sets.
pub(super) fn shown(spec: &AgentSpec) -> serde_json::Map<String, serde_json::Value> {
    let keys = KEYS.iter().map(|key| (key.split('.').next().unwrap_or(key).to_owned(), value(spec, key)));
    let others = [
        ("name", json!(spec.name)),
        ("patterns", json!(spec.patterns)),
        ("channels", json!(spec.channels)),
        ("leads", json!(spec.leads)),
        ("lead_budget_usd", json!(spec.lead_budget_usd)),
    ];
    keys.chain(others.map(|(key, value)| (key.to_owned(), value))).collect()
}

/// Returns the value of a setting as text that `agent edit` accepts.
pub(super) fn written(key: &str, value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(words) if !matches!(key, "command" | "sandbox" | "patterns") => {
            words.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

/// Parses the value of a setting that is an enumeration; `words` are the permitted values, for the problem.
fn one_of<T: DeserializeOwned>(value: &str, words: &'static str) -> Result<T, Why> {
    serde_json::from_value(serde_json::Value::String(fold(value))).map_err(|_| Why::OneOf(words))
}

fn truth(value: &str) -> Result<bool, Why> {
    match fold(value).as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(Why::OneOf("true, false")),
    }
}

/// Parses a command line: words with quotes, or a JSON list as in `bot.toml`.
fn list(value: &str) -> Result<Vec<String>, Why> {
    if value.trim_start().starts_with('[') {
        return serde_json::from_str(value).map_err(|_| Why::Form(r#"command='["sh", "-c", "make"]'"#));
    }
    split_quoted(value).map_err(|_| Why::Unclosed)
}

/// Parses an amount of dollars: `2.50`, `$2.50`, `0`.
fn dollars(value: &str) -> Option<f64> {
    let dollars = value.trim_start_matches('$').parse::<f64>().ok();
    dollars.filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
}

/// Parses a number of processors: `2`, `1.5`, `0`.
fn processors(value: &str) -> Option<f64> {
    value.parse::<f64>().ok().filter(|cpu| Share::is_cpu(*cpu))
}

/// Parses a duration: `90s`, `30m`, `1h30m`, `0`.
fn duration(value: &str) -> Option<Duration> {
    let value = fold(value);
    if value == "0" {
        return Some(Duration::ZERO);
    }
    let mut total: u64 = 0;
    let mut rest = value.as_str();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, seconds) = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)]
            .into_iter()
            .find(|(unit, _)| rest.starts_with(unit))?;
        total = total.checked_add(number.checked_mul(seconds)?)?;
        rest = &rest[unit.len()..];
    }
    // A year is longer than any sensible value, and far below an overflow.
    (!value.is_empty() && total <= 366 * 86_400).then(|| Duration::from_secs(total))
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|c| c.is_ascii_alphabetic() || c == b'_')
        && bytes.all(|c| c.is_ascii_alphanumeric() || c == b'_')
        && name.len() <= 100
}

fn variables(value: &str) -> Result<Vec<String>, Why> {
    let names = words(value);
    if names.iter().all(|name| is_variable(name)) {
        Ok(names)
    } else {
        Err(Why::Form("inherit_env=PATH,HOME"))
    }
}

fn tags(value: &str) -> Result<Vec<String>, Why> {
    let mut tags = words(value);
    tags.sort();
    tags.dedup();
    if tags.len() <= TAGS_MAX && tags.iter().all(|tag| is_tag(tag)) {
        Ok(tags)
    } else {
        Err(Why::Form("tags=rust,gpu"))
    }
}

fn credentials(value: &str) -> Result<Vec<String>, Why> {
    let entries = words(value);
    if entries.iter().all(|entry| is_credential(entry)) {
        Ok(entries)
    } else {
        Err(Why::Form("credentials=git,.codex/auth.json"))
    }
}

/// Splits a value at commas and blanks.
fn words(value: &str) -> Vec<String> {
    value.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn variable(spec: &mut AgentSpec, name: &str, value: &str) -> Result<(), Why> {
    if !is_variable(name) {
        return Err(Why::Form("env.RUST_LOG=warn"));
    }
    let upper = name.to_ascii_uppercase();
    if SECRET_PARTS.iter().any(|part| upper.contains(part)) {
        return Err(Why::Secret);
    }
    if value.is_empty() {
        spec.env.remove(name);
    } else {
        spec.env.insert(name.to_owned(), value.to_owned());
    }
    Ok(())
}

/// Returns the problems between an agent's settings, without looking at the folder itself.
pub(super) fn check(spec: &AgentSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut problem = |what: &str, why| problems.push(Problem { what: what.to_owned(), why });
    if !spec.workspace.is_absolute() {
        problem("workspace", Why::NotAbsolute);
    }
    if !spec.own_home && spec.credentials.iter().any(|entry| !PUSH.contains(&entry.as_str())) {
        problem("credentials", Why::NeedsOwnHome);
    }
    if spec.sandbox.first().is_some_and(String::is_empty) {
        problem("sandbox", Why::Form(r#"sandbox="bwrap --ro-bind / / --dev /dev""#));
    }
    let program = spec.command.first().is_some_and(|program| !program.is_empty());
    if spec.runtime == Runtime::Acp && !program {
        problem("command", Why::NeedsCommand);
    }
    if spec.runtime == Runtime::Command {
        if !program {
            problem("command", Why::NeedsCommand);
        }
        let placeholder = spec.command.iter().any(|word| word.contains("{prompt}"));
        if program && placeholder != (spec.prompt == PromptMode::Arg) {
            problem("prompt", Why::Placeholder);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::AgentName;
    use crate::core::spec::{Autonomy, Output, Permissions, Relay};

    fn spec() -> AgentSpec {
        AgentSpec::new(AgentName::new("spark").expect("a name"), Runtime::Claude, PathBuf::from("/srv"))
    }

    fn try_set(text: &str) -> (AgentSpec, Vec<Problem>) {
        let mut spec = spec();
        let problems = apply(&mut spec, &split_quoted(text).expect("quotes are closed"));
        (spec, problems)
    }

    #[test]
    fn every_key_is_taken() {
        let (spec, problems) = try_set(
            "runtime=command workspace=/tmp command='sh -c \"echo hi\"' prompt=stdin output=codex model=opus account=team \
             permissions=read-only autonomy=strict instructions=\"do it, don't ask\" loop=yes rest=1m30s \
             max-turns=7 max_budget_usd=$2.5 max_task_duration=1h keep_warm=5m relay=all env.RUST_LOG=warn inherit_env=PATH,HOME \
             own_home=on credentials=git,.codex/auth.json memory=8GB cpu=1.5 pids=512 sandbox='bwrap --bind {workspace} \"{workspace}\"' tags=rust,gpu",
        );
        assert_eq!(problems, []);
        assert!(spec.own_home);
        assert_eq!(spec.credentials, ["git", ".codex/auth.json"]);
        assert_eq!(spec.tags, ["gpu", "rust"]);
        assert_eq!(spec.share, Share { memory: 8_000_000_000, cpu: 1.5, pids: 512 });
        assert_eq!(spec.sandbox, ["bwrap", "--bind", "{workspace}", "{workspace}"]);
        assert_eq!(spec.command, ["sh", "-c", "echo hi"]);
        assert_eq!(spec.output, Output::Codex);
        assert_eq!(spec.instructions, "do it, don't ask");
        assert_eq!(spec.rest, Duration::from_secs(90));
        assert_eq!((spec.max_turns, spec.max_budget_usd), (7, 2.5));
        assert_eq!(spec.max_task_duration, Some(Duration::from_secs(3600)));
        assert_eq!(
            (spec.permissions, spec.autonomy, spec.relay),
            (Permissions::ReadOnly, Autonomy::Strict, Relay::All)
        );
        assert_eq!(spec.env["RUST_LOG"], "warn");
        assert_eq!(spec.inherit_env, ["PATH", "HOME"]);
        assert_eq!(try_set(r#"command='["a b", "c"]'"#).0.command, ["a b", "c"]);
    }

    /// For a test: a value other than the default for every setting.
    const SET: [(&str, &str); KEYS.len()] = [
        ("runtime", "command"),
        ("runner", "box4"),
        ("workspace", "/tmp"),
        ("command", r#"["sh","-c","echo hi"]"#),
        ("prompt", "arg"),
        ("output", "codex"),
        ("model", "opus"),
        ("account", "team"),
        ("permissions", "read-only"),
        ("autonomy", "strict"),
        ("instructions", "do it, don't ask"),
        ("loop", "true"),
        ("rest", "90s"),
        ("max_turns", "7"),
        ("max_budget_usd", "2.5"),
        ("usd_per_hour", "0.5"),
        ("usd_per_day", "20.0"),
        ("tokens_per_session", "3000"),
        ("tokens_per_hour", "4000"),
        ("tokens_per_day", "5000"),
        ("max_task_duration", "3600s"),
        ("keep_warm", "300s"),
        ("relay", "all"),
        ("env.NAME", "warn"),
        ("inherit_env", "PATH,HOME"),
        ("own_home", "true"),
        ("credentials", "git,.codex/auth.json"),
        ("sandbox", r#"["bwrap","--bind"]"#),
        ("memory", "8000000000"),
        ("cpu", "1.5"),
        ("pids", "512"),
        ("tags", "gpu,rust"),
    ];

    #[test]
    fn what_is_set_is_shown_as_it_is_set() {
        assert_eq!(SET.map(|(key, _)| key), KEYS);
        let default = shown(&spec());
        for (key, value) in SET {
            let mut changed = spec();
            assert_eq!(set(&mut changed, key, value), Ok(()), "{key}");
            let now = shown(&changed);
            let (name, wanted) = if key == "env.NAME" { ("env", "NAME") } else { (key, value) };
            assert_eq!(written(name, &now[name]), wanted, "{key}");
            let differs = |key: &&String| now[*key] != default[*key];
            assert_eq!(now.keys().filter(differs).collect::<Vec<_>>(), [name], "{key}");
        }
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let (_, problems) = try_set(
            "stray modle=x model=a model=b loop=maybe rest=soon max_turns=-1 max_budget_usd=NaN \
             env.API_KEY=sk-1 env.1X=y command=[1] runtime=gemini output=json instructions=a\u{7}b own_home=mine credentials=/etc/shadow tags=full",
        );
        let told: Vec<(&str, &Why)> = problems.iter().map(|p| (p.what.as_str(), &p.why)).collect();
        assert_eq!(
            told,
            [
                ("stray", &Why::NoPair),
                ("modle", &Why::NoSuchKey(Some("model"))),
                ("model", &Why::Twice),
                ("loop", &Why::OneOf("true, false")),
                ("rest", &Why::Form("rest=90s")),
                ("max_turns", &Why::Form("max_turns=20")),
                ("max_budget_usd", &Why::Form("max_budget_usd=2.50")),
                ("env.API_KEY", &Why::Secret),
                ("env.1X", &Why::Form("env.RUST_LOG=warn")),
                ("command", &Why::Form(r#"command='["sh", "-c", "make"]'"#)),
                ("runtime", &Why::OneOf("claude, codex, acp, command")),
                ("output", &Why::OneOf("text, claude, codex, gemini, opencode")),
                ("instructions", &Why::Control),
                ("own_home", &Why::OneOf("true, false")),
                ("credentials", &Why::Form("credentials=git,.codex/auth.json")),
                ("tags", &Why::Form("tags=rust,gpu")),
            ]
        );
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let mut spec = spec();
        spec.runtime = Runtime::Command;
        spec.workspace = PathBuf::from("relative");
        let whys: Vec<Why> = check(&spec).into_iter().map(|problem| problem.why).collect();
        assert_eq!(whys, [Why::NotAbsolute, Why::NeedsCommand]);
        spec.workspace = PathBuf::from("/tmp");
        spec.command = vec!["echo".to_owned(), "{prompt}".to_owned()];
        assert_eq!(check(&spec)[0].why, Why::Placeholder);
        spec.prompt = PromptMode::Arg;
        assert_eq!(check(&spec), []);
        spec.command.pop();
        assert_eq!(check(&spec)[0].why, Why::Placeholder);
        spec.command.push("{prompt}".to_owned());
        spec.credentials = vec!["ssh".to_owned(), ".netrc".to_owned()];
        assert_eq!(check(&spec)[0].why, Why::NeedsOwnHome);
        spec.own_home = true;
        assert_eq!(check(&spec), []);
    }

    #[test]
    fn durations_are_read_as_in_the_file() {
        for (text, seconds) in
            [("0", Some(0)), ("90s", Some(90)), ("1h30m", Some(5400)), ("2d", Some(172_800))]
        {
            assert_eq!(duration(text), seconds.map(Duration::from_secs), "{text}");
        }
        for text in ["", "90", "s", "1x", "-1s", "99999999999999999999s", "18446744073709551615d", "1m 2s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
