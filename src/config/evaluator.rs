//! `[evaluator]`: the program that judges the agents' turns, how often it does, and its credential.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::section::Section;
use super::{Evaluator, Judge, environment};
use crate::evaluator::TIMEOUT_MAX;

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

/// Maximum of the number of evaluator processes that run at once.
const AT_ONCE_MAX: u64 = 64;

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
