//! A task of the real agent CLIs from a message to its merge: a check that fails once, a reviewing agent of another vendor
//! that rejects once, and the work in the base at the end.
//!
//! The models are scripts; everything else is real: the CLIs, herder, git, the check and the tools of a reviewer.

use std::path::Path;

use herder::core::check::Check;
use herder::core::checkout::Repository;
use herder::core::id::AgentName;
use herder::core::review::{Landing, Method, OnAccept, ROUNDS, Reviewer};
use herder::core::spec::{AgentSpec, Permissions};

use crate::acp_cli::{gemini, opencode};
use crate::agent_rig::model_api::{Act, ModelApi, Scenario};
use crate::checkouts::repository::{Person, Untouched};
use crate::checkouts::reviewed::elsewhere;
use crate::stage::Scene;
use crate::{claude_cli, codex_cli};

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("lands_cli", name, test);
}

type Maker = fn(&ModelApi, &Path) -> AgentSpec;

/// The author's turns: a wrong answer, the right one, and what the reviewer wants.
const AUTHOR: Scenario = Scenario::Acts {
    turns: &[
        Act::Shell("echo wrong > answer && git add answer && git commit --quiet -m 'Answer'"),
        Act::Says("The answer is there."),
        Act::Shell("echo right > answer && git commit --quiet --all -m 'Answer rightly'"),
        Act::Says("Now it is right."),
        Act::Shell("echo because > reason && git add reason && git commit --quiet -m 'Say why'"),
        Act::Says("The reason is there."),
    ],
};

/// The reviewer's turns: a rejection after a look at the changes, then an acceptance.
const REVIEWER: Scenario = Scenario::Acts {
    turns: &[
        Act::Herder("review_diff", "{}"),
        Act::Herder("review_reject", r#"{"reason":"Say why in a file named reason."}"#),
        Act::Says("It is rejected."),
        Act::Herder("review_accept", "{}"),
        Act::Says("It is accepted."),
    ],
};

async fn lands(author: Maker, reviewer: Maker) {
    let (writes, reads) = (ModelApi::start(AUTHOR).await, ModelApi::start(REVIEWER).await);
    let mut person = None;
    let mut scene = Scene::open("alice", &["#spark", "#work", "#ember"], |dir| {
        let person = person.insert(Person::with_repository(dir.join("app")));
        elsewhere(person);
        let repository = Repository {
            path: person.path().to_owned(),
            base: "main".to_owned(),
            git_name: "spark the agent".to_owned(),
            git_email: "spark@example.org".to_owned(),
            ..Repository::default()
        };
        let agent = |name: &str, make: Maker, api: &ModelApi, repository: Repository| {
            let folder = dir.join(name);
            std::fs::create_dir(&folder).expect("a folder");
            let mut spec = make(api, &folder);
            spec.name = AgentName::new(name).expect("a good name");
            spec.workspace.clone_from(&repository.path);
            spec.repository = Some(Box::new(repository));
            // So that the shell is used without a question.
            spec.permissions = Permissions::Full;
            spec
        };
        let name = AgentName::new("ember").expect("a good name");
        let landing = Landing {
            review: Reviewer::Agent { name, rounds: ROUNDS },
            on_accept: OnAccept::Merge(Method::Squash),
        };
        let check = Check {
            command: "grep -q right answer || { echo 'missing: the right answer'; exit 1; }".to_owned(),
            timeout: Check::TIMEOUT,
            tries: Check::TRIES,
        };
        let authored = Repository { check: Some(Box::new(check)), landing, ..repository.clone() };
        vec![agent("spark", author, &writes, authored), agent("ember", reviewer, &reads, repository)]
    })
    .await;
    let person = person.expect("it is made");
    let before = Untouched::of(&person);
    scene.person.say("#spark", "find the answer").await;
    scene.person.hears("#spark", "missing: the right answer").await;
    let last = writes.hears(&["missing: the right answer"]).await;
    assert!(last.contains("find the answer"), "it is one conversation: {last}");
    scene.person.hears_in_any_order("#work", "REVIEW 1").await;
    // The reviewer is given the task, and reads the changes.
    let read = reads.hears(&["find the answer", "+right"]).await;
    assert!(read.contains("Now it is right."), "{read}");
    scene.person.hears_in_any_order("#work", "REJECTED 1").await;
    let last = writes.hears(&["Say why in a file named reason."]).await;
    assert!(last.contains("find the answer"), "it is one conversation: {last}");
    scene.person.hears("#spark", "Task 1 of spark is merged: main is at").await;
    scene.person.hears_in_any_order("#work", "DONE 1").await;
    let log = person.git(&["log", "--format=%s by %an", "main"]);
    assert_eq!(log, "find the answer by spark the agent\nthe first by ann");
    assert_eq!(person.git(&["show", "main:answer"]), "right");
    assert_eq!(person.git(&["show", "main:reason"]), "because");
    before.holds_but(&person, &[".git/refs/heads/main"]);
    scene.close().await;
}

#[test]
fn claude_writes_and_codex_reviews() {
    alone("claude_writes_and_codex_reviews", || lands(claude_cli::agent, codex_cli::agent));
}

#[test]
fn codex_writes_and_gemini_reviews() {
    alone("codex_writes_and_gemini_reviews", || lands(codex_cli::agent, gemini::agent));
}

#[test]
fn gemini_writes_and_opencode_reviews() {
    alone("gemini_writes_and_opencode_reviews", || lands(gemini::agent, opencode::agent));
}

#[test]
fn opencode_writes_and_claude_reviews() {
    alone("opencode_writes_and_claude_reviews", || lands(opencode::agent, claude_cli::agent));
}
