//! Work that another agent reviews: over its real tool server, and with real CLIs.

use std::path::Path;

use herder::core::agent::Phase;
use herder::core::id::AgentName;
use herder::core::review::{Method, Reviewer};
use herder::core::spec::{AgentSpec, Permissions};
use serde_json::json;

use super::repository::{Person, Untouched, entries};
use super::reviewed::reviewed;
use super::{ROOMS, agent};
use crate::acp_cli::gemini;
use crate::agent_rig::model_api::{ModelApi, Scenario};
use crate::on::{On, Story, on_each_network};
use crate::stage::{Scene, shell};
use crate::tools::Client;
use crate::{claude_cli, codex_cli};

fn by(name: &str, rounds: u32) -> Reviewer {
    Reviewer::Agent { name: AgentName::new(name).expect("a good name"), rounds }
}

/// Returns an agent whose tools the test calls in a folder of their own, wherever the agent works.
fn reviewer(dir: &Path) -> AgentSpec {
    let home = dir.join("nova");
    std::fs::create_dir_all(&home).expect("a folder is made");
    let script = format!(
        "cd {} && cat > prompt && rm -f calls answers && mkfifo calls && {} mcp < calls > answers; rm calls answers; echo over",
        home.display(),
        env!("CARGO_BIN_EXE_herder")
    );
    let mut spec = shell("nova", &home, &script);
    let like = agent("nova", dir);
    (spec.repository, spec.workspace) = (like.repository, like.workspace);
    spec
}

/// Opens a story in which `nova` reviews what `spark` does at most twice. The test calls nova's tools.
async fn open(on: On, method: Option<Method>) -> (Story, Person) {
    let dir = tempfile::tempdir().expect("a folder");
    let person = Person::with_repository(dir.path().join("app"));
    person.git(&["switch", "--quiet", "-c", "mine"]);
    let mut agents = vec![agent("spark", dir.path())];
    reviewed(&mut agents, by("nova", 2), method);
    agents.push(reviewer(dir.path()));
    (Story::open_in(on, dir, &ROOMS, agents, |_| {}).await, person)
}

impl Story {
    /// Waits until nova reviews, and meets its tool server there.
    async fn nova_reviews(&self) -> Client {
        let reviews = |phase: &Phase| matches!(phase, Phase::Starting { .. } | Phase::Running { .. });
        self.until("nova", |view| reviews(&view.agent.phase)).await;
        Client::meet(self.dir.path(), "nova").await
    }
}

on_each_network!(another_agent_rejects_and_accepts_what_an_agent_has_done);

async fn another_agent_rejects_and_accepts_what_an_agent_has_done(on: On) {
    let (mut story, person) = open(on, Some(Method::Squash)).await;
    let before = Untouched::of(&person);
    story.alice.say("#spark", "please commit alpha").await;
    let told = story.alice.hears("#spark", "is in review").await;
    let answers = match on {
        On::Irc => {
            "`!task diff 1` shows it; `!accept 1` (into main) or `!reject 1 why` answers instead of nova."
        }
        On::Discord => {
            "`/task diff task:1` shows it; `/accept task:1` (into main) or `/reject task:1 text:why` answers instead of nova."
        }
    };
    assert_eq!(
        told,
        format!("👀 Task 1 of spark is in review by nova: one commit, one file (+1 −0). {answers}")
    );
    let mut nova = story.nova_reviews().await;

    // It sees the work as it is to be accepted, and may change nothing.
    let view = story.until("nova", |view| view.agent.current.is_some()).await;
    let clone = story.clone_of(view.agent.current.as_ref().expect("a review").id);
    let prompt = std::fs::read_to_string(story.dir.path().join("nova/prompt")).expect("it was given one");
    assert!(prompt.contains("Review the work of spark on task #1:"), "{prompt}");
    let parts = "<task>\nplease commit alpha\n</task>\n\n<said>\n- please commit alpha\n</said>\n\n<words>\ndid commit alpha\n</words>";
    assert!(prompt.contains(parts), "{prompt}");
    assert_eq!(std::fs::read_to_string(clone.join("alpha")).expect("the work"), "alpha\n");
    let listed = nova.request("tools/list", &json!({})).await;
    let names: Vec<&str> =
        listed["tools"].as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    let reviews: Vec<&&str> = names.iter().filter(|name| name.starts_with("review_")).collect();
    assert_eq!(reviews, [&"review_diff", &"review_accept", &"review_reject"], "{names:?}");
    let diff = nova.does("review_diff", json!({})).await;
    assert!(diff.starts_with("alpha +1 -0\n") && diff.contains("\n+alpha"), "{diff}");
    let refused = nova.is_refused("review_diff", json!({ "file": "beta" })).await;
    assert_eq!(refused, "No file of that name is changed: beta.");
    let refused = nova.is_refused("task_done", json!({})).await;
    assert_eq!(refused, "This is a review: end it with review_accept or review_reject.");
    story.says("!task show 1", "In review by nova since").await;
    assert!(!story.agent("spark").needs_a_person(herder::clock::now()));

    // Rejected work goes back with the words of nova.
    nova.does("review_reject", json!({ "reason": "missing: beta" })).await;
    drop(nova);
    story.alice.hears("#spark", "👀 nova sends task 1 back to spark.").await;
    story.alice.hears_in_any_order("#work", "REJECTED 1").await;
    story.alice.hears("#spark", "Task 1 of spark is in review by nova: 2 commits").await;
    assert_eq!(person.git(&["log", "--format=%s", "main"]), "the first", "nothing is merged before");
    let mut nova = story.nova_reviews().await;
    nova.does("review_accept", json!({ "summary": "all there" })).await;
    drop(nova);
    story.alice.hears("#spark", "✅ nova accepts task 1 of spark: it is being merged.").await;
    story.alice.hears("#spark", "is merged: main is at").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    assert_eq!(person.git(&["ls-tree", "--name-only", "main"]), ".gitignore\nalpha\nbeta\nfile\nother");
    story.says("!task show 1", "Accepted by nova").await;
    // Nothing is left of the reviews.
    story.until("nova", |view| view.agent.checkouts.all.is_empty() && view.agent.phase == Phase::Idle).await;
    story.until("spark", |view| view.agent.checkouts.all.is_empty()).await;
    assert_eq!(entries(&story.dir.path().join("data/tasks")), ["looks"]);
    assert!(person.herders_refs().is_empty());
    let board = story.stage.herder.fleet().board();
    assert!(board.tasks.is_empty() && board.reviews.is_empty(), "{board:?}");
    before.holds_but(&person, &[".git/refs/heads/main"]);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_called_after_enough_rejections_and_may_overrule() {
    let (mut story, _) = open(On::Irc, None).await;
    story.alice.say("#spark", "please commit alpha").await;
    for words in ["missing: beta", "missing: gamma"] {
        let mut nova = story.nova_reviews().await;
        nova.does("review_reject", json!({ "reason": words })).await;
        drop(nova);
        story.until("nova", |view| view.agent.phase == Phase::Idle).await;
    }
    let told = story.alice.hears("#alerts", "needs a person's decision").await;
    assert_eq!(
        told,
        "👀 Task 1 of spark needs a person's decision: nova has rejected it 2 times: missing: gamma. `!task diff 1` \
         shows it; `!accept 1` or `!reject 1 why` answers."
    );
    story.says("!accept 1", "accepts task 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_called_once_the_reviewer_is_paused() {
    let (mut story, _) = open(On::Irc, None).await;
    story.alice.say("#spark", "please commit alpha").await;
    let nova = story.nova_reviews().await;
    story.says("!pause nova now", "nova").await;
    let told = story.alice.hears("#alerts", "needs a person's decision").await;
    assert!(told.contains("needs a person's decision: nova has given no verdict."), "{told}");
    story.until("nova", |view| view.agent.all_works().next().is_none()).await;
    drop(nova);
    story.says("!accept 1", "accepts task 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_outlives_herder_and_ends_when_a_person_decides() {
    let (mut story, _) = open(On::Irc, None).await;
    story.alice.say("#spark", "please commit alpha").await;
    let nova = story.nova_reviews().await;
    let dir = story.dir.path();
    let mut agents = vec![agent("spark", dir)];
    reviewed(&mut agents, by("nova", 2), None);
    agents.push(reviewer(dir));
    let mut story = story.again(agents, |_| {}).await;
    drop(nova);
    story.alice.is_heard_in(&["#spark"]).await;
    let review = story.until("nova", |view| view.agent.current.is_some()).await;
    assert!(review.agent.current.as_ref().is_some_and(|work| work.card().review.is_some()));
    story.says("!accept 1", "accepts task 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    let rests = |phase: &Phase| *phase == Phase::Idle;
    story.until("nova", |view| rests(&view.agent.phase) && view.agent.all_works().next().is_none()).await;
    story.close().await;
}

fn alone<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    crate::agent_rig::alone("checkouts::by_agent", name, test);
}

type Maker = fn(&ModelApi, &Path) -> AgentSpec;

/// The command by which the model of the agent that works changes something.
const WORKS: &str = "date +%N >> notes && git add notes && git commit --quiet -m notes";

/// Returns an agent whose work another one reviews, in a clone of the repository `app`.
fn author(mut spec: AgentSpec, dir: &Path) -> AgentSpec {
    let like = agent("spark", dir);
    (spec.repository, spec.workspace) = (like.repository, like.workspace);
    spec.permissions = Permissions::Full;
    let mut agents = vec![spec];
    reviewed(&mut agents, by("nova", 2), None);
    agents.remove(0)
}

/// Has `worker` work on a task and `reviewer` reject it twice; a person accepts it.
async fn vendors(worker: Maker, reviewer: Maker) {
    let works = ModelApi::start(Scenario::OneTool { command: WORKS }).await;
    let reject = Scenario::Herder { tool: "review_reject", arguments: r#"{"reason":"name the error"}"# };
    let reviews = ModelApi::start(reject).await;
    let mut scene = Scene::open("alice", &["#spark", "#alerts", "#work"], |dir| {
        let person = Person::with_repository(dir.join("app"));
        person.git(&["switch", "--quiet", "-c", "mine"]);
        let folder = dir.join("nova");
        std::fs::create_dir_all(&folder).expect("a folder is made");
        let mut reviewer = reviewer(&reviews, &folder);
        reviewer.name = AgentName::new("nova").expect("a good name");
        let like = agent("nova", dir);
        (reviewer.repository, reviewer.workspace) = (like.repository, like.workspace);
        vec![author(worker(&works, dir), dir), reviewer]
    })
    .await;
    scene.person.say("#spark", "note the time").await;
    scene.person.hears("#alerts", "nova has rejected it 2 times: name the error").await;
    // The words reached the model of the one, and the task that of the other.
    assert!(works.last().contains("name the error"), "{}", works.last());
    let last = reviews.last();
    assert!(last.contains("Review the work of spark on task #1") && last.contains("note the time"), "{last}");
    scene.person.say("#spark", "!accept 1").await;
    scene.person.hears("#work", "DONE 1").await;
    scene.close().await;
}

#[test]
fn codex_reviews_the_work_of_claude() {
    alone("codex_reviews_the_work_of_claude", || vendors(claude_cli::agent, codex_cli::agent));
}

#[test]
fn claude_reviews_the_work_of_codex() {
    alone("claude_reviews_the_work_of_codex", || vendors(codex_cli::agent, claude_cli::agent));
}

#[test]
fn gemini_reviews_the_work_of_claude() {
    alone("gemini_reviews_the_work_of_claude", || vendors(claude_cli::agent, gemini::agent));
}
