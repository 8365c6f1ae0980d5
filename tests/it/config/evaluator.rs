//! The section of the evaluator, and the mistakes in it.

use std::time::Duration;

use herder::config::Judge;
use secrecy::ExposeSecret as _;

use super::Folder;

#[test]
fn the_evaluator_is_read_with_defaults_that_fit_its_kind() {
    let folder = Folder::new();
    let read = |text: &str| folder.load(text).expect("this has no mistake").evaluator;
    let default = read("");
    assert!(default.is_default() && default.asks());
    assert_eq!(
        (default.judge, default.model.as_str(), &default.command[..]),
        (Judge::Codex, "gpt-5.4", &["codex".to_owned()][..])
    );
    assert_eq!((default.window, default.interval, default.threshold, default.at_once), (20, 5, 3, 4));
    assert_eq!(default.timeout, Duration::from_secs(30));
    let claude = read("[evaluator]\nkind = \"claude\"\ntimeout = \"1m\"\nlogin = \"judge.json\"");
    assert!(!claude.is_default() && claude.asks());
    assert_eq!((claude.model.as_str(), &claude.command[..]), ("sonnet", &["claude".to_owned()][..]));
    assert_eq!(claude.login, Some(folder.path("judge.json")));
    let command = read("[evaluator]\nkind = \"command\"\ncommand = [\"judge\", \"-q\"]\nenv = { A = \"b\" }");
    assert_eq!((command.model.as_str(), command.command.len(), command.env.len()), ("", 2, 1));
    for (kind, judge) in [("builtin", Judge::Builtin), ("off", Judge::Off)] {
        let quiet = read(&format!("[evaluator]\nkind = \"{kind}\""));
        assert_eq!((quiet.judge, quiet.asks(), quiet.command.len()), (judge, false, 0));
    }
}

/// The evaluator's key may be one that agents have, too: no agent is refused its variable for that.
#[test]
fn the_key_of_the_evaluator_is_hidden_and_may_be_shared() {
    let folder = Folder::new();
    folder.file("evaluator.secret", "a-key-of-its-own\n", 0o600);
    let config =
        folder.load("[evaluator]\nkey = { file = \"evaluator.secret\" }").expect("this has no mistake");
    assert_eq!(config.evaluator.key.expect("there is one").expose_secret(), "a-key-of-its-own");
    assert!(config.secrets.iter().any(|secret| secret.expose_secret() == "a-key-of-its-own"));
    let path = folder.load("[evaluator]\nkey = { env = \"PATH\" }").expect("this has no mistake");
    assert!(path.evaluator.key.is_some() && path.secret_variables.is_empty());
}

#[test]
fn mistakes_about_the_evaluator_are_reported() {
    let folder = Folder::new();
    let sentences = folder.sentences(
        r#"[evaluator]
kind = "claude"
model = "gpt-5.4"
command = ["", "x"]
window_size = 2
eval_interval = 0
escalation_threshold = 1
timeout = "11m"
at_once = 0
key = "sk-literal"
login = "x.json"
inherit_env = ["HERDER_X"]
modle = "x"
"#,
    );
    insta::assert_snapshot!(sentences, @r#"
    bot.toml:3: [evaluator] model: Claude Code has no model of this name; take it out for "sonnet"
    bot.toml:4: [evaluator] command: this cannot be run; write the program first, then its arguments
    bot.toml:5: [evaluator] window_size: 2 is out of bounds; use a number from 3 to 50
    bot.toml:6: [evaluator] eval_interval: 0 is out of bounds; use a number from 1 to 1000
    bot.toml:7: [evaluator] escalation_threshold: 1 is out of bounds; use a number from 2 to 100
    bot.toml:8: [evaluator] timeout: this is too long for a word about the last turns; use at most 10m
    bot.toml:9: [evaluator] at_once: 0 is out of bounds; use a number from 1 to 64
    bot.toml:10: [evaluator] key: a secret does not belong in this file; put it into a variable of the environment or a file of mode 0600, and write { env = "NAME" } or { file = "path" } here
    bot.toml:11: [evaluator] login: both key and login are given; take one of them out
    bot.toml:12: [evaluator] inherit_env: HERDER_X is herder's own; variables that start with HERDER_ are not passed on
    bot.toml:13: [evaluator] modle: there is no such key; did you mean "model"?
    "#);
    let sentences =
        folder.sentences("[evaluator]\nkind = \"command\"\nlogin = \"x\"\nkey = { env = \"HOME\" }\n");
    insta::assert_snapshot!(sentences, @r#"
    bot.toml:1: [evaluator] command: kind command needs one, e.g. command = ["my-judge"]: prompt and transcript on its standard input, one line back
    bot.toml:3: [evaluator] login: both key and login are given; take one of them out
    bot.toml:3: [evaluator] login: a program of your own finds its login by itself; take this out
    bot.toml:4: [evaluator] key: a program of your own gets its variables by env and inherit_env; take this out
    "#);
    let sentences = folder.sentences("[evaluator]\nmodel = \"claude-opus\"\n");
    insta::assert_snapshot!(sentences, @r#"bot.toml:2: [evaluator] model: codex has no model of this name; take it out for "gpt-5.4""#);
}
