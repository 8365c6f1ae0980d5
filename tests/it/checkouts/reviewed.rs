//! Work that a person looks at before it counts as done, and that is merged into the base.

use herder::config::{Config, Subject, Webhook};
use herder::core::hook::HookEvent;
use herder::core::id::WorkId;
use herder::core::review::{Landing, Method, OnAccept, Reviewer};
use herder::core::spec::AgentSpec;
use serde_json::json;

use super::repository::{Person, Untouched, entries};
use super::{open, open_with};
use crate::on::{Network, On, Story, on_each_network};
use crate::simulated_discord::state::Message;
use crate::webhooks::endpoint;
use crate::webhooks::receiver::Receiver;

/// Has the agents reviewed, and what is accepted merged into `main`.
pub(crate) fn reviewed(agents: &mut [AgentSpec], review: Reviewer, method: Option<Method>) {
    for agent in agents {
        let repository = agent.repository.as_mut().expect("it has one");
        repository.base = "main".to_owned();
        let on_accept = method.map_or(OnAccept::Keep, OnAccept::Merge);
        repository.landing = Landing { review: review.clone(), on_accept };
    }
}

/// Puts the person on a branch of their own, so that the base is not checked out.
pub(crate) fn elsewhere(person: &Person) {
    person.git(&["switch", "--quiet", "-c", "mine"]);
}

/// Commits a file on the base, without a checkout of it.
pub(super) fn on_main(person: &Person, name: &str, text: &str) {
    let other = person.path().join("../other");
    person.git(&["worktree", "add", "--quiet", "--detach", "../other", "main"]);
    let other = Person::of(other);
    std::fs::write(other.path().join(name), text).expect("a file");
    other.git(&["add", "--all"]);
    other.git(&["commit", "--quiet", "-m", &format!("other {name}")]);
    other.git(&["update-ref", "refs/heads/main", "HEAD"]);
    person.git(&["worktree", "remove", "--force", "../other"]);
}

impl Story {
    /// Gives an agent a task, and waits until it is in review.
    pub(super) async fn is_reviewed(&mut self, text: &str) -> String {
        self.alice.say("#spark", text).await;
        self.alice.hears("#spark", "is in review").await
    }
}

on_each_network!(work_in_review_is_rejected_accepted_and_merged);

/// Gives the admins, that is alice, a name and an address for git.
fn with_addresses(config: &mut Config) {
    let people = &mut config.policy.people;
    let author = || "Alice <alice@example.org>".to_owned();
    for admin in &config.access.admins {
        match admin {
            Subject::IrcAccount { network, account } => people.add_irc(network, account, author()),
            Subject::DiscordUser(id) => people.add_discord(id, author()),
            other => panic!("{other:?}"),
        }
    }
}

async fn work_in_review_is_rejected_accepted_and_merged(on: On) {
    let change = |agents: &mut Vec<AgentSpec>| reviewed(agents, Reviewer::Person, Some(Method::Squash));
    let (mut story, person) = open_with(on, change, with_addresses).await;
    elsewhere(&person);
    let before = Untouched::of(&person);
    let told = story.is_reviewed("please commit alpha").await;
    let answers = match on {
        On::Irc => "`!task diff 1` shows it; `!accept 1` (into main) or `!reject 1 why` answers.",
        On::Discord => {
            "`/task diff task:1` shows it; `/accept task:1` (into main) or `/reject task:1 text:why` answers."
        }
    };
    assert_eq!(told, format!("👀 Task 1 of spark is in review: one commit, one file (+1 −0). {answers}"));
    story.alice.hears_in_any_order("#work", "REVIEW 1").await;
    story.says("!task list", "in review").await;

    // Another task does not wait for a person.
    story.alice.say("#herder", "!task new spark commit gamma").await;
    let told = story.alice.hears("#spark", "is in review").await;
    let second = told.split(' ').nth(2).expect("its number").to_owned();

    story.alice.say("#herder", "!reject 1 missing: beta").await;
    story.alice.hears_in_any_order("#work", "REJECTED 1").await;
    let told = story.alice.hears("#spark", "Task 1 of spark is in review").await;
    assert!(told.contains("2 commits, 2 files (+2 −0)"), "{told}");
    let clone = story.clone_of(WorkId(1));
    let about_first = format!("{} about-1", clone.display());
    assert_eq!(story.started_with("spark").last(), Some(&about_first), "one conversation");
    assert_eq!(person.git(&["log", "--format=%s", "main"]), "the first", "nothing is merged before");
    assert!(!story.alice.heard_in("#work").iter().any(|line| line.starts_with("DONE")));

    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears("#spark", "is merged: main is at").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    story.says(&format!("!accept {second}"), &format!("accepts task {second}")).await;
    story.alice.hears_in_any_order("#work", &format!("DONE {second}")).await;
    let log = person.git(&["log", "--format=%s by %an", "main"]);
    assert_eq!(
        log,
        "commit gamma by spark the agent\nplease commit alpha by spark the agent\nthe first by ann"
    );
    let message = person.git(&["log", "-1", "--format=%B", "main~1"]);
    assert_eq!(message, "please commit alpha\n\nTask: 1\nCo-authored-by: Alice <alice@example.org>");
    assert_eq!(
        person.git(&["ls-tree", "--name-only", "main"]),
        ".gitignore\nalpha\nbeta\nfile\ngamma\nother"
    );
    // The folders are gone, and what is said begins another task.
    story.until("spark", |view| view.agent.checkouts.all.is_empty()).await;
    assert_eq!(entries(&story.dir.path().join("data/tasks")), ["looks"]);
    assert!(person.herders_refs().is_empty());
    story.says("!accept 1", "Task 1 is already over").await;
    story.says("!task show 1", "Accepted by alice").await;
    story.alice.hears("#herder", "Merged: main is at ").await;
    story.alice.say("#spark", "commit delta").await;
    let told = story.alice.hears("#spark", "is in review").await;
    assert!(!told.starts_with("👀 Task 1 "), "{told}");
    before.holds_but(&person, &[".git/refs/heads/main"]);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_are_told_of_a_review_and_its_answers_with_the_task() {
    let mut receiver = Receiver::open([]).await;
    let dir = tempfile::tempdir().expect("a folder");
    let person = Person::with_repository(dir.path().join("app"));
    elsewhere(&person);
    let mut agents = vec![super::agent("spark", dir.path())];
    reviewed(&mut agents, Reviewer::Person, Some(Method::Squash));
    let events = [HookEvent::Review, HookEvent::Accepted, HookEvent::Rejected, HookEvent::Merged];
    let webhook = Webhook { events: events.into(), ..endpoint("it", &receiver) };
    let change = |config: &mut Config| config.webhooks = vec![webhook];
    let mut story = Story::open_in(On::Irc, dir, &super::ROOMS[..4], agents, change).await;
    story.is_reviewed("please commit alpha").await;
    // The agent is at work on another task meanwhile.
    story.alice.say("#herder", "!task new spark wait never").await;
    story.until("spark", |view| view.agent.process.is_some()).await;
    story.says("!reject 1 missing: beta", "spark").await;
    story.goes_on("spark", "never");
    story.alice.hears("#spark", "Task 1 of spark is in review: 2 commits").await;
    story.says("!accept 1", "accepts task 1").await;
    for event in ["task_review", "task_rejected", "task_review", "task_accepted", "task_merged"] {
        let told = receiver.next().await.json();
        let task = json!({ "id": 1, "text": "please commit alpha" });
        assert_eq!((&told["event"], &told["task"], &told["agent"]), (&json!(event), &task, &json!("spark")));
    }
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buttons_under_a_task_in_review_show_it_and_answer_it() {
    let change = |agents: &mut Vec<AgentSpec>| reviewed(agents, Reviewer::Person, Some(Method::Squash));
    let (mut story, person) = open(On::Discord, change).await;
    elsewhere(&person);
    story.is_reviewed("commit alpha").await;
    let Network::Discord(sim) = &story.network else { panic!("it is there") };
    let sim = std::sync::Arc::clone(sim);
    let (alice, mallory) = (sim.user("alice"), sim.user("mallory"));
    let labels = |message: &Message| -> Vec<String> {
        message.buttons().into_iter().map(|button| button.label).collect()
    };
    let in_review = |message: &Message| message.content.contains("is in review: one commit");
    let post = sim.message_in("spark", in_review).await;
    assert_eq!(labels(&post), ["Accept", "Send back…", "What was changed"]);
    for label in ["Accept", "Send back…"] {
        let told = mallory.clicks(post.id, &post.button(label).custom_id).answer().await;
        assert!(told.is_ephemeral() && told.content.contains("operator"), "{}", told.content);
    }
    let shown = alice.clicks(post.id, &post.button("What was changed").custom_id).answer().await;
    assert!(shown.is_ephemeral() && shown.content.contains("alpha"), "{}", shown.content);
    let first = post.clone();
    let asked = alice.clicks(post.id, &post.button("Send back…").custom_id);
    assert_eq!(asked.modal().await.fields[0].label, "What is to be changed");
    alice.submits_modal(&asked, &[("text", "missing: beta")]).await.answer().await;
    story.alice.hears_in_any_order("#work", "REJECTED 1").await;
    let again = |message: &Message| message.content.contains("is in review: 2 commits");
    let post = sim.message_in("spark", again).await;
    let accepted = alice.clicks(post.id, &post.button("Accept").custom_id).answer().await;
    assert_eq!(labels(&accepted), ["Accept · alice (discord)"]);
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    let late = alice.clicks(first.id, &first.button("Send back…").custom_id);
    let told = alice.submits_modal(&late, &[("text", "no")]).await.answer().await;
    assert!(told.is_ephemeral() && told.content.contains("Task 1 is already over"), "{}", told.content);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_is_kept_stays_on_its_branch() {
    let (mut story, person) = open(On::Irc, |agents| reviewed(agents, Reviewer::Person, None)).await;
    let before = Untouched::of(&person);
    story.is_reviewed("commit alpha").await;
    story.says("!task assign 1 nova", "Task 1 of spark is in review").await;
    story.says("!task drop 1 confirm", "Task 1 of spark is in review").await;
    story.says("!accept 1", "accepts task 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    let clone = Person::of(story.clone_of(WorkId(1)));
    let described = clone.git(&["config", "branch.herder/1-commit-alpha.description"]);
    assert!(described.starts_with("Task 1, given by alice ("), "{described}");
    assert_eq!(person.herders_refs().len(), 2);
    before.holds(&person);
    // A question is answered, and nobody is to look at it.
    let spark = story.gives("spark", "name the files").await;
    assert_eq!(spark.checkouts.reviews().count(), 0);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_goes_back_to_the_agent_and_the_second_one_to_a_person() {
    let change = |agents: &mut Vec<AgentSpec>| reviewed(agents, Reviewer::Person, Some(Method::Squash));
    let (mut story, person) = open(On::Irc, change).await;
    elsewhere(&person);
    story.is_reviewed("commit alpha").await;
    on_main(&person, "alpha", "of somebody else\n");
    story.alice.say("#herder", "!accept 1").await;
    let told = story.alice.hears("#spark", "goes back to spark").await;
    assert!(told.contains("it conflicts with what is on `main` by now, in alpha"), "{told}");
    // The agent does nothing about it.
    story.alice.hears("#spark", "is in review").await;
    story.alice.say("#herder", "!accept 1").await;
    let called = story.alice.hears_in_any_order("#alerts", "could not be merged").await;
    assert!(called.contains("in alpha") && called.contains("!accept 1"), "{called}");
    assert_eq!(person.git(&["log", "--format=%s", "main"]), "other alpha\nthe first");
    // The person resolves it in the task's folder.
    let clone = Person::of(story.clone_of(WorkId(1)));
    clone.git(&["fetch", "--quiet", "origin"]);
    clone.git(&["merge", "--quiet", "-X", "ours", "-m", "resolve", "origin/main"]);
    story.gives("spark", "name the files").await;
    story.alice.hears("#spark", "is in review").await;
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    assert_eq!(person.git(&["show", "main:alpha"]), "alpha");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_that_is_in_use_is_left_alone_and_the_line_is_said() {
    let change = |agents: &mut Vec<AgentSpec>| reviewed(agents, Reviewer::None, Some(Method::Rebase));
    let (mut story, person) = open(On::Irc, change).await;
    let before = Untouched::of(&person);
    story.alice.say("#spark", "commit alpha").await;
    let called = story.alice.hears_in_any_order("#alerts", "could not be merged").await;
    assert!(called.contains("`main` is checked out where"), "{called}");
    let line = called.split("type: `").nth(1).and_then(|rest| rest.split('`').next());
    let line = line.expect("it is said").trim().to_owned();
    before.holds(&person);
    // The person puts the changes away and types it.
    person.git(&["stash", "--quiet"]);
    person.git(&line.split(' ').skip(1).collect::<Vec<_>>());
    person.git(&["stash", "pop", "--quiet"]);
    story.says("!accept 1", "accepts task 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    assert_eq!(person.git(&["log", "--format=%s", "main"]), "commit alpha\nthe first");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_two_agents_land_one_after_the_other_once_each_with_their_check() {
    let change = |agents: &mut Vec<AgentSpec>| {
        reviewed(agents, Reviewer::None, Some(Method::Squash));
        for agent in agents {
            agent.repository.as_mut().expect("it has one").check = super::checked::check("true", 60);
        }
    };
    let (mut story, person) = open(On::Irc, change).await;
    elsewhere(&person);
    let mut expected = Vec::new();
    for (number, name) in ["alpha", "beta", "gamma", "delta", "eta", "theta"].iter().enumerate() {
        let agent = if number % 2 == 0 { "spark" } else { "nova" };
        story.alice.say("#herder", &format!("!task new {agent} commit {name}")).await;
        expected.push(format!("commit {name}"));
    }
    for agent in ["spark", "nova"] {
        story
            .until(agent, |view| view.agent.finished.len() == 3 && view.agent.checkouts.all.is_empty())
            .await;
    }
    let log = person.git(&["log", "--format=%s", "main"]);
    let mut landed: Vec<&str> = log.lines().collect();
    landed.sort_unstable();
    expected.push("the first".to_owned());
    expected.sort_unstable();
    assert_eq!(landed, expected, "each once");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_fails_together_with_the_base_goes_back() {
    let change = |agents: &mut Vec<AgentSpec>| {
        reviewed(agents, Reviewer::Person, Some(Method::Merge));
        let check = super::checked::check("echo ran in $PWD >> $NOTES.checks; ! test -e bad", 60);
        agents[0].repository.as_mut().expect("it has one").check = check;
    };
    let (mut story, person) = open(On::Irc, change).await;
    elsewhere(&person);
    let told = story.is_reviewed("commit alpha").await;
    assert!(told.contains("; ! test -e bad` passed"), "{told}");
    on_main(&person, "bad", "x\n");
    story.alice.say("#herder", "!accept 1").await;
    let told = story.alice.hears("#spark", "goes back to spark").await;
    assert!(told.contains("fails together with what is on `main` by now: exit code 1"), "{told}");
    story.alice.hears("#spark", "is in review").await;
    assert_eq!(person.git(&["log", "--format=%s", "main"]), "other bad\nthe first");
    let tasks = story.dir.path().join("data/tasks");
    // The folder of the merge waits for a further one for a while.
    let is_gone = || entries(&tasks) == ["1", "looks"];
    let cleared = async {
        while !is_gone() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let cleared = tokio::time::timeout(crate::stage::PATIENCE, cleared).await;
    assert!(cleared.is_ok(), "{:?} are left of the check", entries(&tasks));
    let checks = crate::kill::lines(&story.dir.path().join("spark.checks"));
    assert!(checks[1].ends_with("/tasks/merged-0"), "{checks:?}");
    story.close().await;
}
