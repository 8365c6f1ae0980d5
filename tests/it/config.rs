//! The content of `bot.toml`, and the message for every mistake in it.

mod credentials;
mod evaluator;
mod forge;
mod landing;
mod listener;
mod people;
mod setup;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use herder::config::{self, Config, Problems, Reach, Sasl, Subject, Tls};
use secrecy::ExposeSecret as _;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("the file is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode is set");
        path
    }

    fn load(&self, text: &str) -> Result<Config, Problems> {
        config::load(&self.file("bot.toml", text, 0o644))
    }

    /// The sentences, without the folder, which is another one every time.
    fn sentences(&self, text: &str) -> String {
        let problems = self.load(text).expect_err("this file has mistakes");
        let folder = format!("{}/", self.0.path().display());
        problems.to_string().replace(&folder, "")
    }
}

#[test]
fn limits_that_cannot_be_meant_are_reported_at_once() {
    let folder = Folder::new();
    let agent =
        "runtime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npermissions = \"read-only\"\n";
    let sentences = folder.sentences(&format!(
        "[supervisor]\nmemory = \"120%\"\n[[agent]]\nname = \"a\"\n{agent}memory = \"1KB\"\ncpu = 0.001\npids = 3\n\
         [[agent]]\nname = \"b\"\n{agent}memory = \"lots\"\ncpu = -1\npids = 99999999\n"
    ));
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:2: [supervisor] memory: "120%" is no part of the machine; write e.g. "80%"
    bot.toml:9: [agent.a] memory: no agent can run in 1 KB; write e.g. "8GB", or "0" for no limit
    bot.toml:10: [agent.a] cpu: write how many processors it may keep busy, e.g. 2.0, or 0 for no limit
    bot.toml:11: [agent.a] pids: no agent can run with 3; write e.g. 512, or 0 for no limit
    bot.toml:18: [agent.b] memory: "lots" is not a size; write a number and B, KB, MB, GB or TB, e.g. "1GB"
    bot.toml:19: [agent.b] cpu: -1 is not an amount; use 0 for no limit, or e.g. 2.50
    bot.toml:20: [agent.b] pids: 99999999 is out of bounds; use a number from 0 to 4194304
    "##);
}

#[test]
fn every_mistake_is_reported_at_once_with_its_line() {
    let folder = Folder::new();
    let sentences = folder.sentences(
        r##"nam = "x"
locale = "fr"
data_dir = 7
[[irc]]
name = "libera"
sever = "a"
port = 70000
nick = "9lives"
alerts_channel = "alerts"
sasl = { mechanism = "plain", account = "x", password = "hunter2" }
[[irc]]
name = "libera"
server = "irc://irc.libera.chat:6697"
tls = "yes"
tls_fingerprint = "abc"
control_channel = "#alerts"
[access]
admins = ["*", "alice", "irc:lbera:bob", "irc-mask:libera:*!*@*", "irc-mask:libera:bob", "irc:libera"]
[supervisor]
backoff = ["10x", 5]
breaker = { failures = 0, windw = "1m" }
process_backoff = { base = "1m", cap = "1s" }
startup_timeout = "1ms"
max_active = -1
[history]
export = "dayly"
warn_free = "lots"
[discord]
enabled = true
[web]
enabled = false
[evaluator]
kind = "claud"
[[agent]]
name = "Spark Codex"
runtime = "acp"
workspace = "rel"
max_budget_usd = -1
patterns = [{ match = "(", category = "quotum" }]
[[agent]]
name = "herder"
runtime = "command"
workspace = "/nowhere/at/all"
[[agent]]
name = "spark"
runtime = "command"
command = ["aider", "{prompt}"]
workspace = "/"
env = { "A-B" = "x", N = 5 }
inherit_env = ["HERDER_WEB_TOKEN"]
[[agent]]
name = "spark"
runtime = "cloud"
workspace = "/"
prompt = "arg"
[[webhook]]
url = "x"
"##,
    );
    insta::assert_snapshot!(sentences, @r##"
    bot.toml:1: nam: there is no such key; did you mean "name"?
    bot.toml:2: locale: "fr" is not one of en-US, de or ja
    bot.toml:3: data_dir: this is a number; write a text in quotes
    bot.toml:4: [irc.libera] server: the network needs a server, e.g. server = "irc.libera.chat"
    bot.toml:6: [irc.libera] sever: there is no such key; did you mean "server"?
    bot.toml:7: [irc.libera] port: 70000 is out of bounds; use a number from 1 to 65535
    bot.toml:8: [irc.libera] nick: "9lives" cannot be a nick; use up to 30 letters, digits and - _ [ ] { } \ | ^ `, not starting with a digit or -
    bot.toml:9: [irc.libera] alerts_channel: "alerts" cannot be a channel; write # and up to 49 characters without space, comma and colon, e.g. "#alerts"
    bot.toml:10: [irc.libera] sasl password: a secret does not belong in this file; put it into a variable of the environment or a file of mode 0600, and write { env = "NAME" } or { file = "path" } here
    bot.toml:11: [irc.libera]: alerts_channel, work_channel and control_channel must be three different channels
    bot.toml:12: [irc.libera] name: the network "libera" is already in line 4; give this one another name
    bot.toml:13: [irc.libera] server: "irc://irc.libera.chat:6697" is not a host name or address; write it bare, e.g. "irc.libera.chat", and the port in port
    bot.toml:14: [irc.libera] tls: this is a text; write true or false, without quotes
    bot.toml:15: [irc.libera] tls_fingerprint: this is not a SHA-256 fingerprint; write its 64 hexadecimal digits, colons are fine (openssl x509 -fingerprint -sha256)
    bot.toml:18: [access] admins: "*" is everybody, and only viewers may be that; write irc:<network>:<account>, irc-mask:<network>:<nick!user@host>, discord:<user id> or discord-role:<role id>
    bot.toml:18: [access] admins: "alice" names nobody; a nick proves nothing, so write irc:<network>:<account>, irc-mask:<network>:<nick!user@host>, discord:<user id> or discord-role:<role id>
    bot.toml:18: [access] admins: there is no network "lbera"; did you mean "libera"?
    bot.toml:18: [access] admins: "*!*@*" fits everybody who takes that nick; name the host, e.g. *!bob@bob.example.org
    bot.toml:18: [access] admins: "bob" is not a hostmask; write nick!user@host, e.g. *!bob@bob.example.org
    bot.toml:18: [access] admins: "irc:libera" is not complete; write irc:<network>:<account>, irc-mask:<network>:<nick!user@host>, discord:<user id> or discord-role:<role id>
    bot.toml:20: [supervisor] backoff: this is a number; write a text in quotes
    bot.toml:20: [supervisor] backoff: "10x" is not a duration; write a number and ms, s, m, h or d, e.g. "10s" or "1h30m"
    bot.toml:21: [supervisor] breaker failures: 0 is out of bounds; use a number from 1 to 127
    bot.toml:21: [supervisor] breaker windw: there is no such key; did you mean "window"?
    bot.toml:22: [supervisor] process_backoff cap: the longest wait is shorter than the first; make cap at least as long as base
    bot.toml:23: [supervisor] startup_timeout: "1ms" is too short; use at least 1s
    bot.toml:24: [supervisor] max_active: -1 is out of bounds; use a number from 0 to 100000
    bot.toml:26: [history] export: "dayly" is not one of daily or off; did you mean "daily"?
    bot.toml:27: [history] warn_free: "lots" is not a size; write a number and B, KB, MB, GB or TB, e.g. "1GB"
    bot.toml:28: [discord] token: the bot needs its token, e.g. token = { env = "DISCORD_TOKEN" }
    bot.toml:28: [discord] guild: the guild's id is missing; in Discord switch on Developer Mode, right-click the server, Copy Server ID
    bot.toml:33: [evaluator] kind: "claud" is not one of codex, claude, command, builtin or off; did you mean "claude"?
    bot.toml:34: [agent.Spark Codex] command: runtime acp needs one, e.g. command = ["gemini", "--acp"]
    bot.toml:35: [agent.Spark Codex] name: "spark codex" cannot name an agent: use small letters, digits and hyphens inside, starting with a letter, e.g. spark-codex
    bot.toml:37: [agent.Spark Codex] workspace: "rel" is relative; write the whole path, from /
    bot.toml:38: [agent.Spark Codex] max_budget_usd: -1 is not an amount; use 0 for no limit, or e.g. 2.50
    bot.toml:39: [agent.Spark Codex] patterns[0] category: "quotum" is not one of transient, rate-limit, permanent, max-turns, billing, auth, budget, quota, context-overflow or sandbox-denial; did you mean "quota"?
    bot.toml:39: [agent.Spark Codex] patterns[0] match: this is not a regular expression: unclosed group
    bot.toml:40: [agent.herder] command: runtime command needs one, e.g. command = ["aider", "--yes"]
    bot.toml:41: [agent.herder] name: "herder" cannot name an agent: herder uses that word itself
    bot.toml:44: [agent.spark] prompt: the command has "{prompt}" in it, so write prompt = "arg"
    bot.toml:49: [agent.spark] env: this is a number; write a text in quotes, or { file = "path" }
    bot.toml:49: [agent.spark] env: "A-B" cannot be a variable; use letters, digits and _, not starting with a digit
    bot.toml:50: [agent.spark] inherit_env: HERDER_WEB_TOKEN is herder's own; variables that start with HERDER_ are not passed on
    bot.toml:52: [agent.spark] name: the agent "spark" is already in line 44; give this one another name
    bot.toml:53: [agent.spark] runtime: there is no runtime "cloud"; use claude, codex, acp or command
    bot.toml:57: [[webhook]] url: this is no address; write one that starts with https:// or http://
    "##);
}

#[test]
fn no_agent_is_named_like_a_word_of_the_commands() {
    let sentences = Folder::new().sentences(
        "[[agent]]\nname = \"pause\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\n",
    );
    insta::assert_snapshot!(sentences, @r#"bot.toml:2: [agent.pause] name: "pause" is a word of herder's commands and cannot name an agent; choose another"#);
}

#[test]
fn what_is_not_toml_is_said_where() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.sentences("name = herder\n\n[irc\nx = 1 2\n"), @r"
    bot.toml:1: this is not TOML: string values must be quoted, expected literal string
    bot.toml:3: this is not TOML: unclosed table, expected `]`
    ");
    insta::assert_snapshot!(folder.sentences("name = \"a\"\nname = \"b\"\n"), @"bot.toml:2: this is not TOML: duplicate key");
}

#[test]
fn a_missing_or_unreadable_file_is_said() {
    let folder = Folder::new();
    let said = |path: &Path| config::load(path).expect_err("no configuration").list[0].text.clone();
    insta::assert_snapshot!(said(&folder.path("none.toml")), @"there is no such file; write one with `herder init`, or name another with --config");
    insta::assert_snapshot!(said(folder.0.path()), @"this is no configuration file; name one with --config");
    let path = folder.path("latin1.toml");
    fs::write(&path, b"name = \"a\"\n# caf\xe9\n").expect("the file is written");
    insta::assert_snapshot!(said(&path), @"line 2 is not UTF-8 text; save the file as UTF-8");
}

#[test]
fn an_agents_variable_can_be_read_from_a_file() {
    let folder = Folder::new();
    folder.file("key", "s3cret-word\n", 0o600);
    let workspace = folder.path("work");
    fs::create_dir(&workspace).expect("a workspace");
    let with = |env: &str| {
        format!(
            "[access]\nviewers = [\"*\"]\n[[agent]]\nname = \"spark\"\nruntime = \"claude\"\nworkspace = \"{}\"\nenv = {env}\n",
            workspace.display()
        )
    };
    let config = folder.load(&with(r#"{ API_KEY = { file = "key" }, A = "b" }"#)).expect("the file is there");
    let spec = &config.agents[0];
    assert_eq!(spec.env_files.get("API_KEY"), Some(&folder.path("key")));
    assert_eq!(spec.env.keys().collect::<Vec<_>>(), ["A"]);
    assert_eq!(config.redactor.redact("it is s3cret-word"), "it is [redacted]");
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);

    let config = folder.load(&with(r#"{ API_KEY = "s3cret-word" }"#)).expect("it is allowed");
    let warnings: Vec<String> = config.warnings.iter().map(|warning| warning.sentence("bot.toml")).collect();
    insta::assert_snapshot!(warnings.join("\n"), @r#"bot.toml:7: [agent.spark] env: API_KEY looks like a secret, and what is written here is stored with the agent; put it into a file of mode 0600 and write API_KEY = { file = "path" }"#);
    let wrong =
        r#"{ A = { env = "B" }, C = { file = "none" }, D = 1, E = { fil = "key" }, F = { file = "key" } }"#;
    insta::assert_snapshot!(folder.sentences(&with(wrong)), @r#"
    bot.toml:7: [agent.spark] env: this is a number; write a text in quotes, or { file = "path" }
    bot.toml:7: [agent.spark] env A: it is not said where the value is; write a text in quotes or { file = "path" }
    bot.toml:7: [agent.spark] env A env: there is no such key; known here: credential, file
    bot.toml:7: [agent.spark] env C file: none cannot be read: No such file or directory (os error 2); put the secret there, alone
    bot.toml:7: [agent.spark] env E: it is not said where the value is; write a text in quotes or { file = "path" }
    bot.toml:7: [agent.spark] env E fil: there is no such key; did you mean "file"?
    "#);
}

#[test]
fn secrets_come_from_files_and_are_never_repeated() {
    let folder = Folder::new();
    folder.file("good", "s3cret-word\n", 0o600);
    folder.file("open", "s3cret-word\n", 0o644);
    folder.file("empty", "\n", 0o600);
    folder.file("two", "a\nb\n", 0o600);
    let with = |secret: &str| {
        format!(
            "[access]\nviewers = [\"*\"]\n[[irc]]\nname = \"a\"\nserver = \"b\"\nserver_password = {secret}\n"
        )
    };
    let config = folder.load(&with(r#"{ file = "good" }"#)).expect("the secret is there");
    let password = config.irc[0].server_password.as_ref().map(|secret| secret.expose_secret().to_owned());
    assert_eq!(password.as_deref(), Some("s3cret-word"));
    assert_eq!(config.secrets.len(), 1);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert!(!format!("{config:?}").contains("s3cret-word"), "a secret is visible in a debug print");

    let config = folder.load(&with(r#"{ file = "open" }"#)).expect("readable by all, but there");
    let shown = format!("{}/", folder.0.path().display());
    insta::assert_snapshot!(config.warnings[0].sentence("bot.toml").replace(&shown, ""), @"bot.toml:6: [irc.a] server_password file: everybody on this machine can read open; run chmod 600 on it");

    for (secret, sentence) in [
        (r#"{ file = "empty" }"#, "server_password file: empty is empty"),
        (r#"{ file = "two" }"#, "server_password file: two has more than one line"),
        (r#"{ file = "none" }"#, "server_password file: none cannot be read"),
        (
            r#"{ env = "HERDER_TEST_UNSET" }"#,
            "server_password env: the variable HERDER_TEST_UNSET is not set",
        ),
        (r#"{ env = "A", file = "b" }"#, "server_password: both env and file are given"),
        ("{}", "server_password: it is not said where the secret is"),
        ("{ evn = \"A\" }", "did you mean \"env\"?"),
        ("5", "server_password: this is a number"),
    ] {
        let sentences = folder.sentences(&with(secret));
        assert!(sentences.contains(sentence), "{secret}: {sentences}");
    }
    let sentences = folder.sentences(&with("\"hunter2\""));
    assert!(sentences.contains("a secret does not belong in this file"), "{sentences}");
    assert!(!sentences.contains("hunter2"), "{sentences}");
}

#[test]
fn a_whole_file_becomes_what_it_says() {
    let folder = Folder::new();
    let pem = folder.file("x.pem", "-----BEGIN CERTIFICATE-----\n", 0o600);
    let fingerprint = "AB:".repeat(31) + "AB";
    let config = folder
        .load(&format!(
            r##"
name = "shepherd"
locale = "de"
[[irc]]
name = "oftc"
server = "irc.oftc.net"
tls_fingerprint = "{fingerprint}"
sasl = {{ mechanism = "external", certificate = "x.pem", key = "x.pem" }}
[[irc]]
name = "home"
server = "::1"
tls = false
bots = ["relay"]
[access]
admins = ["irc:oftc:alice"]
operators = ["irc-mask:home:*!bob@bob.example.org", "discord-role:998877665544332211"]
viewers = ["*"]
[supervisor]
backoff = ["1s"]
stop_grace = "0s"
[limits]
usd_per_hour = 0
[discord]
enabled = false
[[agent]]
name = "Spark"
runtime = "command"
command = ["agent", "{{prompt}}"]
prompt = "arg"
workspace = "/"
env = {{ SOME_TOKEN = "a long token" }}
patterns = [{{ match = "usage limit", category = "quota" }}]
"##
        ))
        .expect("this file is right");
    assert_eq!(config.data_dir, folder.path("data"));
    assert_eq!(config.irc[0].nick, "shepherd");
    assert_eq!((config.irc[0].port, config.irc[1].port), (6697, 6667));
    assert_eq!(config.irc[0].tls, Tls::Fingerprint([0xAB; 32]));
    assert_eq!(config.irc[1].tls, Tls::Off);
    assert!(matches!(&config.irc[0].sasl, Some(Sasl::External { certificate, .. }) if *certificate == pem));
    assert!(matches!(&config.access.admins[..], [Subject::IrcAccount { account, .. }] if account == "alice"));
    assert!(matches!(&config.access.operators[..], [Subject::IrcMask { .. }, Subject::DiscordRole(_)]));
    assert!(config.discord.is_none());
    assert_eq!(config.access.viewers, [Subject::Everyone]);
    assert_eq!(config.agents[0].name.as_str(), "spark");
    assert!(!config.embedded);
    let secrets: Vec<&str> = config.secrets.iter().map(|secret| secret.expose_secret()).collect();
    assert_eq!(secrets, ["a long token"], "what an agent is given as a token is blacked out as well");
    let warnings: Vec<String> = config.warnings.iter().map(|warning| warning.sentence("bot.toml")).collect();
    let warnings = warnings.join("\n").replace(&folder.path("").display().to_string(), "<folder>/");
    insta::assert_snapshot!(warnings, @r#"
    bot.toml:31: [agent.Spark] env: SOME_TOKEN looks like a secret, and what is written here is stored with the agent; put it into a file of mode 0600 and write SOME_TOKEN = { file = "path" }
    bot.toml:30: [agent.Spark] workspace: herder's own folder <folder>/data lies in it, and an agent that cleans up would take it away; give the agent a folder of its own
    bot.toml:16: [access] operators: "*!bob@bob.example.org" is whoever comes from that host; a services account, irc:home:NAME, proves who it is
    bot.toml:16: [access] operators: "discord-role:998877665544332211" is nobody here: there is no [discord] section that is enabled
    "#);
}

/// A disk that is not mounted concerns one agent, which waits for a person; all other agents work.
#[tokio::test]
async fn a_workspace_that_is_not_there_is_warned_of() {
    let folder = Folder::new();
    let text = "[access]\nviewers = [\"*\"]\n[[agent]]\nname = \"spark\"\nruntime = \"claude\"\nworkspace = \"/nowhere/at/all\"\n";
    let config = folder.load(text).expect("this file is right");
    let warnings = herder::config::unusable(&config.folders).await;
    let warnings: Vec<String> = warnings.iter().map(|warning| warning.sentence("bot.toml")).collect();
    insta::assert_snapshot!(warnings.join("\n"), @"bot.toml:6: [agent.spark] workspace: /nowhere/at/all cannot be used: No such file or directory (os error 2); create it (mkdir -p)");
}

#[test]
fn caps_that_cannot_hold_as_they_are_meant_are_warned_of() {
    let folder = Folder::new();
    let warned = |limits: &str, agent: &str| {
        let text = format!(
            "[access]\nadmins = [\"irc:embedded:alice\"]\n{limits}\n[[agent]]\nname = \"spark\"\nworkspace = \"/\"\n{agent}\n"
        );
        let config = folder.load(&text).expect("this file is right");
        let warnings = config.warnings.iter().map(|warning| warning.sentence("bot.toml"));
        warnings.filter(|warning| !warning.contains("herder's own folder")).collect::<Vec<_>>().join("\n")
    };
    let opencode = "runtime = \"acp\"\ncommand = [\"/opt/opencode\", \"acp\"]";
    insta::assert_snapshot!(warned("[limits]\ntokens_per_day = 1000000", opencode), @"bot.toml:3: limits: /opt/opencode names the tokens of a turn's last call of the model alone: the caps in tokens of spark let it use more than they say; its dollars are of all of them");
    for (limits, agent) in [
        ("", format!("{opencode}\ntokens_per_session = 1000")),
        ("[limits.accounts.default]\ntokens_per_hour = 1000", opencode.to_owned()),
    ] {
        assert!(warned(limits, &agent).contains("last call of the model"), "{limits} {agent}");
    }
    // Its dollars are right, and others name all of their tokens.
    let gemini = opencode.replace("opencode", "gemini");
    for (limits, agent) in [
        ("", format!("{opencode}\nusd_per_day = 5")),
        ("[limits]\nusd_per_day = 5", opencode.to_owned()),
        ("", opencode.to_owned()),
        ("", format!("{gemini}\ntokens_per_session = 1000")),
    ] {
        assert_eq!(warned(limits, &agent), "", "{limits} {agent}");
    }
    for (agent, said) in [
        ("runtime = \"codex\"", "codex reports tokens and no dollars"),
        (
            "runtime = \"command\"\ncommand = [\"cat\"]",
            "which reports no tokens unless `output` says how it prints them: no cap can hold for it",
        ),
        (
            "runtime = \"command\"\ncommand = [\"gemini\"]\noutput = \"gemini\"",
            "gemini reports tokens and no dollars; without a price the caps",
        ),
        (
            "runtime = \"command\"\ncommand = [\"codex\"]\noutput = \"codex\"",
            "codex reports tokens and no dollars; without a price for the `model` that is set for it the caps",
        ),
    ] {
        assert!(warned("[limits]\nusd_per_day = 5", agent).contains(said), "{agent}");
    }
    let printed = |cli: &str, more: &str| {
        format!("runtime = \"command\"\ncommand = [\"{cli}\", \"exec\"]\noutput = \"{cli}\"\n{more}")
    };
    let price = "[limits]\nusd_per_day = 5\n[prices.\"gpt-5.4\"]\ninput = 1\noutput = 2";
    for (limits, agent) in [
        ("[limits]\nusd_per_day = 5", printed("claude", "")),
        ("[limits]\nusd_per_day = 5", printed("opencode", "")),
        ("[limits]\ntokens_per_day = 5", printed("gemini", "")),
        (price, printed("gemini", "")),
        (price, printed("codex", "model = \"gpt-5.4\"")),
    ] {
        assert_eq!(warned(limits, &agent), "", "{limits} {agent}");
    }
    assert!(warned(price, &printed("codex", "")).contains("for the `model` that is set for it"));
    let resumes = printed("codex", "").replace("\"exec\"", "\"exec\", \"resume\", \"--last\"");
    insta::assert_snapshot!(warned("", &resumes), @"bot.toml: limits: codex names the tokens of the whole conversation when it resumes one: each session of spark counts those before it again; leave `resume` out, or use runtime codex");
}

#[test]
fn without_a_network_there_is_the_embedded_server() {
    let folder = Folder::new();
    let config = folder.load("[access]\nadmins = [\"irc:embedded:alice\"]\n").expect("nothing is missing");
    assert!(config.embedded);
    assert!(config.warnings.is_empty());
    let sentences = folder.sentences("name = \"my bot\"\n[access]\nadmins = [\"irc:libera:alice\"]\n");
    insta::assert_snapshot!(sentences, @r#"
    bot.toml:1: name: "my bot" cannot be a nick; use up to 30 letters, digits and - _ [ ] { } \ | ^ `, not starting with a digit or -
    bot.toml:3: [access] admins: there is no network "libera"; configured: embedded
    "#);
}

#[test]
fn no_agent_inherits_a_secret_of_herder() {
    let folder = Folder::new();
    let sentences = folder.sentences(
        "[[irc]]\nname = \"a\"\nserver = \"b\"\nserver_password = { env = \"PATH\" }\n[[agent]]\nname = \"x\"\nruntime = \"claude\"\nworkspace = \"/\"\ninherit_env = [\"PATH\"]\n",
    );
    insta::assert_snapshot!(sentences, @"bot.toml:9: [agent.x] inherit_env: PATH is herder's own secret, which no agent is given; take it out");
}

#[test]
fn the_data_folder_is_found_even_in_a_file_with_mistakes() {
    let folder = Folder::new();
    let named = folder.file("named.toml", "data_dir = \"d\"\nnonsense = 1\n", 0o644);
    assert_eq!(config::data_dir(&named), folder.path("d"));
    assert_eq!(config::data_dir(&folder.path("none.toml")), folder.path("data"));
}

#[test]
fn discord_is_read_with_how_it_is_reached() {
    let folder = Folder::new();
    folder.file("token", "a-long-token-for-a-bot", 0o600);
    let text =
        |more: &str| format!("[discord]\nguild = 112233445566778899\ntoken = {{ file = \"token\" }}\n{more}");
    let discord =
        |more: &str| folder.load(&text(more)).expect("this is right").discord.expect("it is enabled");
    let plain = discord("api_url = \"http://127.0.0.1:8500/\"\nalerts_channel = \"#Help\"");
    assert_eq!(plain.reach, Reach::Plain("http://127.0.0.1:8500".to_owned()));
    assert_eq!((plain.guild, plain.alerts_channel.as_str()), (112_233_445_566_778_899, "help"));
    assert_eq!(discord("").reach, Reach::Internet);
    let at = discord("resolve = \"127.0.0.1:8443\"\nca = \"ca.pem\"").reach;
    assert!(matches!(at, Reach::At { address, .. } if address.port() == 8443), "{at:?}");
    let wrong = [
        ("resolve = \"127.0.0.1:8443\"", "resolve and ca belong together"),
        ("api_url = \"https://example.org\"", "neither https://discord.com nor a plain"),
        ("work_channel = \"herder\"", "three different channels"),
        ("alerts_channel = \"two words\"", "cannot name a channel"),
        ("bots = [\"mee6\"]", "is not a user id"),
    ];
    for (more, why) in wrong {
        let problems = folder.load(&text(more)).expect_err(more).to_string();
        assert!(problems.contains(why), "{more}: {problems}");
    }
}

#[test]
fn what_would_never_do_what_it_says_is_refused() {
    let folder = Folder::new();
    let sentences = folder.sentences("[evaluator]\nwindow_size = 4\neval_interval = 5\n");
    insta::assert_snapshot!(sentences, @"bot.toml:2: [evaluator] window_size: 4 turns are fewer than the 5 of eval_interval, so that some are never looked at; use at least 5, or a smaller eval_interval");
    let agent = "[[agent]]\nname = \"a\"\nruntime = \"claude\"\nworkspace = \"/\"\n";
    let sandbox = "sandbox = [\"env\", \"A={wrokspace}:{home}\"]\n";
    let sentences = folder.sentences(&format!("{agent}{sandbox}"));
    assert!(sentences.contains("there is no {wrokspace}; use {workspace}"), "{sentences}");
    let nul = folder.sentences(&format!("{agent}instructions = \"Be\\u0000 kind.\"\n"));
    assert_eq!(
        nul,
        "bot.toml:5: instructions: this has a U+0000 in it, which no program can be given; take it out"
    );
}

#[test]
fn a_secret_that_is_a_pipe_is_refused_and_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
        .expect("a pipe");
    let sentences = folder.sentences("[discord]\nguild = \"1\"\ntoken = { file = \"pipe\" }\n");
    assert!(
        sentences.contains("pipe cannot be read: it is no regular file; put the secret there, alone"),
        "{sentences}"
    );
}

/// The output format of a command is one of a few values, and other runtimes have no such key.
#[test]
fn what_a_command_prints_is_said_by_output() {
    let folder = Folder::new();
    let text = |rest: &str| format!("[[agent]]\nname = \"spark\"\nworkspace = \"/usr\"\n{rest}\n");
    let said = |config: &Config| {
        config.warnings.iter().map(|warning| warning.sentence("bot.toml")).collect::<Vec<_>>().join("\n")
    };
    let codex =
        text("runtime = \"command\"\ncommand = [\"codex\", \"exec\", \"--json\"]\noutput = \"codex\"");
    let config = folder.load(&codex).expect("it is right");
    assert_eq!(config.agents[0].output, herder::core::spec::Output::Codex);
    assert!(!said(&config).contains("output"), "{}", said(&config));
    let config = folder.load(&text("runtime = \"claude\"\noutput = \"claude\"")).expect("it is right");
    assert!(said(&config).contains("output: it says what runtime command prints"), "{}", said(&config));
    let wrong = folder.sentences(&text("runtime = \"command\"\ncommand = [\"x\"]\noutput = \"json\""));
    insta::assert_snapshot!(wrong, @r#"bot.toml:6: [agent.spark] output: "json" is not one of text, claude, codex, gemini or opencode"#);
}

#[test]
fn a_runtime_that_cannot_show_a_plan_cannot_begin_with_one() {
    let agent = |runtime: &str| {
        format!(
            "[[agent]]\nname = \"spark\"\nruntime = \"{runtime}\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npermissions = \"plan\"\n"
        )
    };
    for runtime in ["claude", "codex", "acp"] {
        let read = Folder::new().load(&agent(runtime)).expect(runtime);
        assert_eq!(read.agents[0].permissions, herder::core::spec::Permissions::Plan, "{runtime}");
    }
    let said = Folder::new().sentences(&agent("command"));
    assert!(said.contains("runtime command has no way to have a plan approved"), "{said}");
}
