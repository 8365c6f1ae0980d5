//! Accepted work for which a pull request is opened, by the `gh` of this machine, at a forge whose answers are held
//! against GitHub's own description.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use herder::core::pull::{Client, Forge as Settings};
use herder::core::review::{Landing, OnAccept, Reviewer};
use herder::core::spec::AgentSpec;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::open;
use super::repository::{Person, Untouched};
use crate::on::{On, Story};
use crate::stage::PATIENCE;

const TOKEN: &str = "token-of-the-operator";

/// A forge with one repository, `moss/app`.
pub(crate) struct Forge {
    dir: tempfile::TempDir,
    /// It ends when its input is closed.
    _server: Child,
    port: u64,
    control: u64,
    ca: String,
    http: reqwest::Client,
}

impl Forge {
    pub(crate) async fn begin() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let tools = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/test-tools"));
        let python = tools.join("schemathesis/bin/python");
        let described = tools.join("octokit/node_modules/@octokit/openapi/generated/api.github.com.json");
        for file in [&python, &described] {
            assert!(file.exists(), "{} is not there: scripts/test installs it", file.display());
        }
        let bare = dir.path().join("app.git");
        std::fs::create_dir(&bare).expect("a folder");
        Person::of(bare.clone()).git(&["init", "--quiet", "--bare", "--initial-branch=main"]);
        let home = dir.path().join("operator");
        std::fs::create_dir(&home).expect("a folder");
        let helper = "[credential]\n\thelper = !gh auth git-credential\n";
        std::fs::write(home.join(".gitconfig"), helper).expect("a file");
        std::fs::write(dir.path().join("token"), TOKEN).expect("a file");
        let mut server = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/forge/server.py"))
            .arg("--repository")
            .arg(&bare)
            .args(["--owner", "moss", "--name", "app", "--token", TOKEN, "--openapi"])
            .arg(described)
            .arg("--certificates")
            .arg(dir.path().join("certificates"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(server.stdout.take().expect("its output")).lines();
        let line = tokio::time::timeout(PATIENCE, said.next_line()).await.expect("it is ready");
        let ready: Value = serde_json::from_str(&line.expect("a line").expect("a line")).expect("JSON");
        let number = |name: &str| ready[name].as_u64().expect("a port");
        let (port, control, ca) = (number("port"), number("control"), ready["ca"].as_str());
        let ca = ca.expect("a file").to_owned();
        Self { dir, _server: server, port, control, ca, http: reqwest::Client::new() }
    }

    pub(crate) fn address(&self) -> String {
        format!("https://127.0.0.1:{}/moss/app.git", self.port)
    }

    /// Gives it the person's base, and makes it the person's remote.
    pub(crate) fn adopts(&self, person: &Person) {
        let bare = self.dir.path().join("app.git").display().to_string();
        person.git(&["push", "--quiet", &bare, "main"]);
        person.git(&["remote", "add", "origin", &self.address()]);
    }

    /// Runs git in its repository.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        Person::of(self.dir.path().join("app.git")).git(words)
    }

    pub(super) fn bare(&self) -> PathBuf {
        self.dir.path().join("app.git")
    }

    /// Has the operator's login be wrong.
    pub(super) fn forgets_the_token(&self) {
        std::fs::write(self.token(), "token-of-nobody").expect("a file");
    }

    pub(super) fn knows_the_token(&self) {
        std::fs::write(self.token(), TOKEN).expect("a file");
    }

    fn env(&self) -> BTreeMap<String, String> {
        let home = self.dir.path().join("operator").display().to_string();
        let env = [("HOME", &home), ("SSL_CERT_FILE", &self.ca), ("GIT_SSL_CAINFO", &self.ca)];
        env.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    fn token(&self) -> PathBuf {
        self.dir.path().join("token")
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            client: Client::Gh,
            host: format!("127.0.0.1:{}", self.port),
            env: self.env(),
            inherit_env: Vec::new(),
            env_files: [("GH_ENTERPRISE_TOKEN".to_owned(), self.token())].into(),
            every: Duration::from_millis(100),
        }
    }

    /// Returns the section of the configuration that reaches it.
    pub(crate) fn section(&self) -> String {
        let env: String = self.env().iter().map(|(name, value)| format!("{name} = {value:?}, ")).collect();
        format!(
            "[forge]\nhost = \"127.0.0.1:{}\"\nevery = \"10s\"\nenv = {{ {env}GH_ENTERPRISE_TOKEN = {{ file = {:?} }} }}\n",
            self.port,
            self.token()
        )
    }

    /// Has something happen there; returns what it says.
    pub(crate) async fn does(&self, what: &str, with: Value) -> Value {
        let address = format!("http://127.0.0.1:{}/{what}", self.control);
        let answer = self.http.post(address).body(with.to_string()).send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("a text");
        assert!(status.is_success(), "{what} {with}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }

    async fn shows(&self, what: &str) -> Vec<Value> {
        let address = format!("http://127.0.0.1:{}/{what}", self.control);
        let answer = self.http.get(address).send().await.expect("an answer").text().await.expect("a text");
        serde_json::from_str(&answer).expect("a list")
    }

    pub(crate) async fn pulls(&self) -> Vec<Value> {
        self.shows("pulls").await
    }

    /// Checks that each question and each answer was as GitHub describes it.
    pub(crate) async fn keeps_to_the_description(&self) {
        assert_eq!(self.shows("violations").await, [] as [Value; 0]);
    }

    /// Waits until it was asked for this once more.
    async fn is_asked_for(&self, path: &str) {
        let count = async || {
            let asked = self.shows("requests").await;
            asked.iter().filter(|one| one["path"].as_str().is_some_and(|is| is.contains(path))).count()
        };
        let before = count().await;
        let asked = async {
            while count().await <= before {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.expect("it is asked");
    }
}

async fn proposed(forge: &Forge, review: Reviewer, follow_ups: u32) -> (Story, Person) {
    let change = |agents: &mut Vec<AgentSpec>| {
        for agent in agents {
            let repository = agent.repository.as_mut().expect("it has one");
            repository.base = "main".to_owned();
            repository.landing = Landing { review: review.clone(), on_accept: OnAccept::Pull { follow_ups } };
            repository.forge = Some(Box::new(forge.settings()));
        }
    };
    let (story, person) = open(On::Irc, change).await;
    forge.adopts(&person);
    (story, person)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_goes_through_a_pull_request_into_the_base() {
    let forge = Forge::begin().await;
    let (mut story, person) = proposed(&forge, Reviewer::Person, 3).await;
    let before = Untouched::of(&person);
    story.is_reviewed("please commit alpha").await;
    story.says("!accept 1", "a pull request is being opened").await;
    let told = story.alice.hears("#spark", "has a pull request").await;
    let link = format!("https://127.0.0.1:{}/moss/app/pull/1", forge.port);
    assert!(told.contains(&link), "{told}");
    let pulls = forge.pulls().await;
    let [pull] = &pulls[..] else { panic!("one, not {pulls:#?}") };
    let branch = "herder/1-please-commit-alpha";
    assert_eq!((&pull["title"], &pull["head"]["ref"]), (&json!("please commit alpha"), &json!(branch)));
    let body = pull["body"].as_str().expect("a text");
    assert!(body.starts_with("did commit alpha\n\nplease commit alpha\n\nTask: 1\n"), "{body}");
    assert_eq!(forge.git(&["log", "--format=%s", branch]), "commit alpha\nthe first");
    let shown = story.says("!task show 1", "Pull request: ").await;
    assert!(shown.contains(&link), "{shown}");
    story.says("!accept 1", "its pull request is open").await;

    // A check fails, and what it says goes back.
    forge.does("check", json!({
        "number": 1, "name": "test", "status": "completed", "conclusion": "failure", "title": "1 failed",
        "log": "2026-11-30T10:00:00.1Z missing: beta\n",
    })).await;
    story.alice.hears("#spark", "there is news in").await;
    story.alice.hears("#spark", "is in review: 2 commits").await;
    story.says("!accept 1", "a pull request is being opened").await;
    story.alice.hears("#spark", "has a pull request").await;
    assert_eq!(forge.git(&["log", "--format=%s", branch]), "commit beta\ncommit alpha\nthe first");

    // So does what somebody says who may write; what others say does not, nor what only agrees.
    forge.does("permission", json!({ "login": "fern", "permission": "write" })).await;
    forge.does("permission", json!({ "login": "weed", "permission": "read" })).await;
    forge.does("comment", json!({ "number": 1, "by": "weed", "body": "missing: poison" })).await;
    forge
        .does("review", json!({ "number": 1, "by": "fern", "state": "APPROVED", "body": "missing: nothing" }))
        .await;
    forge.is_asked_for("/reviews").await;
    forge.is_asked_for("/reviews").await;
    forge
        .does(
            "line",
            json!({ "number": 1, "by": "fern", "path": "alpha", "line": 1, "body": "missing: gamma" }),
        )
        .await;
    story.alice.hears("#spark", "there is news in").await;
    story.alice.hears("#spark", "is in review: 3 commits").await;
    story.says("!accept 1", "a pull request is being opened").await;
    story.alice.hears("#spark", "has a pull request").await;
    let landed = "commit gamma\ncommit beta\ncommit alpha\nthe first";
    assert_eq!(forge.git(&["log", "--format=%s", branch]), landed);

    forge.does("merge", json!({ "number": 1, "method": "merge" })).await;
    story.alice.hears("#spark", "is merged: main is at ").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    story.says("!task show 1", &link).await;
    let gone = |agent: &herder::core::agent::Agent| agent.checkouts.all.is_empty();
    story.until("spark", |view| gone(&view.agent)).await;
    assert_eq!(person.herders_refs(), []);
    before.holds(&person);
    forge.keeps_to_the_description().await;
    let asked = forge.shows("requests").await;
    assert!(asked.iter().any(|one| one["status"] == 304), "an answer that has not changed costs nothing");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_forge_refuses_is_told_with_its_words_and_tried_again() {
    let forge = Forge::begin().await;
    let (mut story, person) = proposed(&forge, Reviewer::Person, 0).await;
    story.is_reviewed("please commit alpha").await;
    let failed = async |story: &mut Story, words: &str| {
        story.alice.say("#herder", "!accept 1").await;
        let told = story.alice.hears("#alerts", "could not be merged").await;
        assert!(told.contains(words), "{told}");
    };
    forge.does("refuse_push", json!({ "on": true })).await;
    failed(&mut story, "Permission to moss/app.git denied").await;
    forge.does("refuse_push", json!({ "on": false })).await;
    forge.does("fail", json!({ "count": 1, "status": 403, "path": "/pulls" })).await;
    failed(&mut story, "API rate limit exceeded").await;
    // The answer is lost on its way: the next try finds the pull request.
    forge.does("drop", json!({ "count": 1, "method": "POST", "path": "/pulls" })).await;
    failed(&mut story, "gh api repos/moss/app/pulls").await;
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears("#spark", "has a pull request").await;
    assert_eq!(forge.pulls().await.len(), 1);

    // Somebody pushes to the branch, and somebody closes the pull request.
    forge.does("permission", json!({ "login": "fern", "permission": "admin" })).await;
    forge.does("comment", json!({ "number": 1, "by": "fern", "body": "missing: beta" })).await;
    let told = story.alice.hears("#alerts", "needs a person's decision").await;
    assert!(told.contains("from fern, and it has gone back as often as it may"), "{told}");
    story.says("!reject 1 missing: beta", "sends task 1 back").await;
    story.alice.hears("#spark", "is in review: 2 commits").await;
    let branch = "refs/heads/herder/1-please-commit-alpha";
    let tree = forge.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let other =
        forge.git(&["-c", "user.name=x", "-c", "user.email=x@y", "commit-tree", &tree, "-m", "other"]);
    forge.git(&["update-ref", branch, &other]);
    failed(&mut story, "somebody else has pushed to").await;
    assert_eq!(forge.git(&["rev-parse", branch]), other, "nothing of theirs is lost");
    forge.git(&["update-ref", branch, &person.git(&["rev-parse", "refs/herder/1/head~1"])]);
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears("#spark", "has a pull request").await;
    forge.does("close", json!({ "number": 1 })).await;
    let told = story.alice.hears("#alerts", "was closed without a merge").await;
    assert!(told.contains("`!accept 1` tries again"), "{told}");
    // Somebody has it reopened and merged meanwhile: the next try finds that.
    forge.does("reopen", json!({ "number": 1 })).await;
    forge.does("merge", json!({ "number": 1, "method": "squash" })).await;
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears("#spark", "is merged: main is at ").await;
    assert_eq!(forge.pulls().await.len(), 1);
    forge.keeps_to_the_description().await;
    story.close().await;
}

/// Opens a pull request of number 9 that is as the file `state` has it.
const PROGRAM: &str = r#"#!/bin/sh
cat >> "$FOLDER/asked"
echo >> "$FOLDER/asked"
case $1 in
open) echo '{"number": 9, "link": "https://forge.example/9"}' ;;
show) cat "$FOLDER/state" ;;
esac
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_of_the_operator_s_opens_pull_requests_and_shows_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("forge"), PROGRAM).expect("a file");
    std::fs::set_permissions(at("forge"), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    std::fs::write(at("state"), r#"{"state": "open"}"#).expect("a file");
    let settings = Settings {
        client: Client::Program(at("forge")),
        host: Settings::HOST.to_owned(),
        env: [("FOLDER".to_owned(), dir.path().display().to_string())].into(),
        inherit_env: Vec::new(),
        env_files: BTreeMap::new(),
        every: Duration::from_millis(100),
    };
    let change = |agents: &mut Vec<AgentSpec>| {
        for agent in agents {
            let repository = agent.repository.as_mut().expect("it has one");
            repository.landing =
                Landing { review: Reviewer::None, on_accept: OnAccept::Pull { follow_ups: 3 } };
            repository.forge = Some(Box::new(settings.clone()));
        }
    };
    let (mut story, person) = open(On::Irc, change).await;
    std::fs::create_dir(at("app.git")).expect("a folder");
    let bare = Person::of(at("app.git"));
    bare.git(&["init", "--quiet", "--bare"]);
    // No hook of that repository's is run, and it would not get the login.
    let hook = format!("#!/bin/sh\nenv > {}\n", at("hooked").display());
    std::fs::create_dir_all(at("app.git/hooks")).expect("a folder");
    for name in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"] {
        let hook_file = at("app.git/hooks").join(name);
        std::fs::write(&hook_file, &hook).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&hook_file, mode).expect("its mode");
    }
    let remote = at("app.git").display().to_string();
    person.git(&["remote", "add", "origin", &remote]);
    story.alice.say("#spark", "please commit alpha").await;
    story.alice.hears("#spark", "has a pull request: https://forge.example/9").await;
    let branch = "herder/1-please-commit-alpha";
    assert_eq!(bare.git(&["log", "--format=%s", branch]), "commit alpha\nthe first");
    let remark = r#"{"state": "open", "remarks": [{"number": 1, "by": "fern", "text": "missing: beta"}]}"#;
    std::fs::write(at("state"), remark).expect("a file");
    story.alice.hears("#spark", "there is news in https://forge.example/9, from fern").await;
    story.alice.hears("#spark", "has a pull request: https://forge.example/9").await;
    assert_eq!(bare.git(&["log", "--format=%s", branch]), "commit beta\ncommit alpha\nthe first");
    std::fs::write(at("state"), r#"{"state": "merged", "commit": "0a1b2c3d4e5f"}"#).expect("a file");
    story.alice.hears("#spark", "is merged: main is at 0a1b2c3d4e").await;
    let asked: Vec<Value> = crate::kill::lines(&at("asked"))
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let opened = json!({
        "remote": remote, "branch": branch, "base": "main", "title": "please commit alpha",
        "body": "did commit alpha\n\nplease commit alpha\n\nTask: 1\n",
    });
    assert!(!at("hooked").exists(), "a hook ran");
    assert_eq!(asked[0], opened);
    let head = bare.git(&["rev-parse", branch]);
    assert_eq!(asked.last(), Some(&json!({ "remote": remote, "number": 9, "head": head })));
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_login_goes_to_no_other_host_and_settings_that_follow_nothing_call_a_person() {
    let forge = Forge::begin().await;
    let (mut story, person) = proposed(&forge, Reviewer::Person, 3).await;
    person.git(&["remote", "set-url", "origin", "https://127.0.0.1:1/moss/app.git"]);
    story.is_reviewed("please commit alpha").await;
    story.alice.say("#herder", "!accept 1").await;
    let told = story.alice.hears("#alerts", "could not be merged").await;
    assert!(told.contains("the repository is at 127.0.0.1:1, and the login is for 127.0.0.1:"), "{told}");
    person.git(&["remote", "set-url", "origin", &forge.address()]);
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears("#spark", "has a pull request").await;

    // The settings merge from now on: a person decides about the open pull request.
    let mut agents = vec![super::agent("spark", story.dir.path()), super::agent("nova", story.dir.path())];
    super::reviewed::reviewed(&mut agents, Reviewer::Person, Some(herder::core::review::Method::Squash));
    let mut story = story.again(agents, |_| {}).await;
    let told = story.alice.hears("#alerts", "needs a person's decision").await;
    assert!(told.contains("the settings open no pull requests any more"), "{told}");
    super::reviewed::elsewhere(&person);
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears("#spark", "is merged: main is at ").await;
    story.close().await;
}
