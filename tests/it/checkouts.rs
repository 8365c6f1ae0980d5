//! Tasks with a clone and a branch of their own: a whole herder, real repositories, and agents that commit in them.

mod by_address;
mod by_agent;
pub(crate) mod checked;
mod costs;
mod killed;
mod many;
mod proposed;
pub(crate) mod repository;
pub(crate) mod reviewed;
mod set_up;

use std::path::{Path, PathBuf};

use herder::config::Config;
use herder::core::agent::{Agent, Phase};
use herder::core::checkout::{Checkout, Stage};
use herder::core::id::{AgentName, WorkId};
use herder::core::spec::{AgentSpec, Runtime};

use crate::on::{On, Story, on_each_network};
use repository::{Person, Untouched, entries};

const ROOMS: [&str; 5] = ["#herder", "#alerts", "#work", "#spark", "#nova"];

/// The agent of these tests.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/checkouts/agent.sh");

/// Returns an agent that works in clones of the repository `app`, and notes in the file of its name what it is started
/// with.
pub(crate) fn agent(name: &str, dir: &Path) -> AgentSpec {
    let repository = herder::core::checkout::Repository {
        path: dir.join("app"),
        git_name: format!("{name} the agent"),
        git_email: format!("{name}@example.org"),
        ..herder::core::checkout::Repository::default()
    };
    let known = AgentName::new(name).expect("a good name");
    let mut spec = AgentSpec::new(known, Runtime::Claude, repository.path.clone());
    spec.repository = Some(Box::new(repository));
    spec.command = vec!["sh".to_owned(), SCRIPT.to_owned()];
    spec.env.insert("NOTES".to_owned(), dir.join(name).display().to_string());
    spec
}

async fn open(on: On, change: impl FnOnce(&mut Vec<AgentSpec>)) -> (Story, Person) {
    open_with(on, change, |_: &mut Config| {}).await
}

async fn open_with(
    on: On,
    change: impl FnOnce(&mut Vec<AgentSpec>),
    settings: impl FnOnce(&mut Config),
) -> (Story, Person) {
    let dir = tempfile::tempdir().expect("a folder");
    let person = Person::with_repository(dir.path().join("app"));
    let mut agents = vec![agent("spark", dir.path()), agent("nova", dir.path())];
    change(&mut agents);
    (Story::open_in(on, dir, &ROOMS, agents, settings).await, person)
}

/// Returns true if the agent rests, and all its clones are read.
fn rests(agent: &Agent) -> bool {
    agent.phase == Phase::Idle
        && agent.queue.is_empty()
        && agent.checkouts.all.values().all(|checkout| !checkout.unread && checkout.stage == Stage::Made)
}

impl Story {
    /// Says something in the channel of an agent, and waits until that is done and its clone is read.
    async fn gives(&mut self, name: &str, text: &str) -> Agent {
        let before = self.agent(name).totals.successes;
        self.alice.say(&format!("#{name}"), text).await;
        self.is_done_after(name, before).await
    }

    async fn is_done_after(&self, name: &str, successes: u64) -> Agent {
        let done = |agent: &Agent| rests(agent) && agent.totals.successes > successes;
        Agent::clone(&self.until(name, |view| done(&view.agent)).await.agent)
    }

    fn agent(&self, name: &str) -> Agent {
        let known = AgentName::new(name).expect("a good name");
        Agent::clone(&self.stage.herder.fleet().view(&known).expect("it is there").agent)
    }

    fn clone_of(&self, task: WorkId) -> PathBuf {
        let folder = self.dir.path().join("data/tasks").join(task.to_string());
        std::path::absolute(folder).expect("a path")
    }

    /// Returns what an agent was started with, session by session: a folder and a conversation.
    fn started_with(&self, agent: &str) -> Vec<String> {
        crate::kill::lines(&self.dir.path().join(agent))
    }

    /// Lets an agent that waits for this go on.
    fn goes_on(&self, agent: &str, name: &str) {
        std::fs::write(self.dir.path().join(format!("{agent}.{name}")), "").expect("a file");
    }
}

/// Returns the one clone that an agent has.
fn only(agent: &Agent) -> (WorkId, Checkout) {
    let all: Vec<_> = agent.checkouts.all.iter().collect();
    let [(task, checkout)] = all[..] else { panic!("one clone, not {all:?}") };
    (*task, checkout.clone())
}

on_each_network!(
    a_message_begins_a_task_and_what_follows_belongs_to_it,
    what_would_be_lost_is_said_before_a_clone_is_removed,
);

async fn a_message_begins_a_task_and_what_follows_belongs_to_it(on: On) {
    let (mut story, person) = open(on, |_| {}).await;
    let before = Untouched::of(&person);
    let base = person.git(&["rev-parse", "HEAD"]);
    let spark = story.gives("spark", "please commit alpha").await;
    let (first, checkout) = only(&spark);
    let branch = format!("herder/{first}-please-commit-alpha");
    assert_eq!(checkout.plan.branch, branch);
    let clone = Person::of(story.clone_of(first));
    assert_eq!(clone.git(&["branch", "--show-current"]), branch);
    assert_eq!(clone.git(&["rev-parse", "HEAD~1"]), base);
    let head = clone.git(&["rev-parse", "HEAD"]);
    let held = checkout.held.expect("it was read");
    assert_eq!((held.base.as_str(), held.head.as_str(), held.commits), (base.as_str(), head.as_str(), 1));
    assert_eq!(
        person.herders_refs(),
        [(format!("{first}/base"), base.clone()), (format!("{first}/head"), head)]
    );
    let tasks = story.clone_of(first).parent().expect("a folder").to_owned();
    let started = |task: WorkId, conversation: &str| {
        format!("{} {conversation}", tasks.join(task.to_string()).display())
    };
    let about = |task: WorkId| format!("about-{task}");
    let mut expected = vec![started(first, "none")];
    assert_eq!(story.started_with("spark"), expected);

    // The task is one conversation in one folder.
    let spark = story.gives("spark", "and commit beta").await;
    assert_eq!(only(&spark).0, first);
    assert_eq!(clone.git(&["log", "--format=%s", "-2"]), "commit beta\ncommit alpha");
    assert_eq!(person.herders_refs()[1].1, clone.git(&["rev-parse", "HEAD"]));
    expected.push(started(first, &about(first)));
    assert_eq!(story.started_with("spark"), expected);

    // Another task has another folder and another conversation, and messages belong to it.
    story.alice.say("#herder", "!task new spark commit gamma").await;
    let spark = story.is_done_after("spark", 2).await;
    let second = spark.checkouts.open.expect("it is open");
    assert_ne!(second, first);
    let spark = story.gives("spark", "commit delta").await;
    assert_eq!(spark.checkouts.all.keys().copied().collect::<Vec<_>>(), [first, second]);
    let other = Person::of(story.clone_of(second));
    assert_eq!(other.git(&["log", "--format=%s"]), "commit delta\ncommit gamma\nthe first");
    expected.extend([started(second, "none"), started(second, &about(second))]);
    assert_eq!(story.started_with("spark"), expected);

    // An earlier one is opened: its folder and its conversation, also after a restart of herder.
    story.says(&format!("!task open {first}"), &format!("belongs to task {first} from now on")).await;
    let agents = vec![agent("spark", story.dir.path()), agent("nova", story.dir.path())];
    let mut story = story.again(agents, |_| {}).await;
    story.alice.is_heard_in(&["#spark"]).await;
    story.gives("spark", "commit epsilon").await;
    expected.push(started(first, &about(first)));
    assert_eq!(story.started_with("spark"), expected);
    assert_eq!(clone.git(&["log", "--format=%s", "-3"]), "commit epsilon\ncommit beta\ncommit alpha");
    let heads = person.herders_refs();
    let heads: Vec<&str> = heads.iter().map(|(_, commit)| commit.as_str()).collect();
    let tips = [&clone, &other].map(|clone| clone.git(&["rev-parse", "HEAD"]));
    assert_eq!(heads, [&base, &tips[0], &base, &tips[1]]);

    // The line for a terminal leads to the folder in which the conversation was held.
    let line = story.says("!handoff spark", "--resume").await;
    assert!(line.contains(&format!("cd {} &&", story.clone_of(first).display())), "{line}");
    before.holds(&person);
    assert_eq!(person.git(&["log", "--all", "--format=%s", "--not", "--glob=refs/herder/*"]), "");
    story.close().await;
}

async fn what_would_be_lost_is_said_before_a_clone_is_removed(on: On) {
    let (mut story, person) = open(on, |_| {}).await;
    let before = Untouched::of(&person);
    story.gives("spark", "name the files").await;
    let spark = story.gives("spark", "commit alpha").await;
    let (first, _) = only(&spark);
    story.gives("spark", "write beta").await;
    story.says(&format!("!task drop {first}"), "would be lost").await;
    let lost = story.alice.heard_in("#herder").pop().expect("it was said");
    assert!(lost.contains(&format!("Task {first}, branch herder/{first}-name-the-files, ")), "{lost}");
    let expected = format!(
        "B: one commit that is on no branch of the repository and one file that is not committed would be lost. \
         `task drop {first} confirm` removes them."
    );
    assert!(lost.ends_with(&expected), "{lost}");
    assert!(story.clone_of(first).join("beta").exists(), "asking removes nothing");
    // Both are listed with their size, and with what is in them alone.
    story.alice.say("#herder", "!task list spark").await;
    let listed = story.alice.hears("#herder", "📁").await;
    let (task, kept) = (
        format!("📁 #{first} · spark · herder/{first}-name-the-files · "),
        "B · only there: one commit, one file",
    );
    assert!(listed.contains(&task) && listed.ends_with(kept), "{listed}");
    let shown = story.says(&format!("!task show {first}"), "one commit, one file not committed").await;
    assert!(shown.contains(&format!("{} (", story.clone_of(first).display())), "{shown}");
    story.alice.say("#spark", "wait go").await;
    story.until("spark", |view| view.agent.process.is_some()).await;
    story.says(&format!("!task drop {first} confirm"), "works on task").await;
    story.goes_on("spark", "go");
    story.until("spark", |view| rests(&view.agent)).await;
    story
        .says(&format!("!task drop {first} confirm"), &format!("The clone of task {first} is being removed."))
        .await;
    story.until("spark", |view| view.agent.checkouts.all.is_empty()).await;
    assert_eq!(entries(&story.dir.path().join("data/tasks")), ["looks"]);
    assert_eq!(entries(&story.dir.path().join("data/tasks/looks")), [] as [String; 0]);
    assert_eq!(person.herders_refs(), []);
    story.says(&format!("!task drop {first}"), &format!("Task {first} has no clone")).await;

    // A message begins another task, whose clone goes unasked as long as nothing is in it.
    let spark = story.gives("spark", "name the files").await;
    let (second, _) = only(&spark);
    assert_ne!(second, first);
    assert!(story.started_with("spark").last().expect("it ran").ends_with(" none"));
    story
        .says(&format!("!task drop {second}"), &format!("The clone of task {second} is being removed."))
        .await;
    story.until("spark", |view| view.agent.checkouts.all.is_empty()).await;
    assert_eq!(person.herders_refs(), []);
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_that_share_a_repository_do_not_see_each_others_files() {
    let (mut story, person) = open(On::Irc, |_| {}).await;
    let before = Untouched::of(&person);
    for (name, file) in [("spark", "alpha"), ("nova", "beta")] {
        story.gives(name, &format!("write {file}")).await;
        story.gives(name, &format!("commit {file}{file}")).await;
    }
    // Both are at work at the same time.
    for name in ["spark", "nova"] {
        story.alice.say(&format!("#{name}"), "wait go").await;
        story.until(name, |view| view.agent.process.is_some()).await;
    }
    for name in ["spark", "nova"] {
        story.goes_on(name, "go");
        story.until(name, |view| rests(&view.agent)).await;
    }
    for (name, sees) in [("spark", "alpha alphaalpha"), ("nova", "beta betabeta")] {
        story.gives(name, "name the files").await;
        let seen = story.alice.hears_in_any_order(&format!("#{name}"), "sees ").await;
        assert!(seen.ends_with(&format!("sees .gitignore {sees} file other")), "{seen}");
    }
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_is_missing_pauses_the_agent_until_a_person_resumes_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let agents = vec![agent("spark", dir.path())];
    let mut story = Story::open_in(On::Irc, dir, &ROOMS[..4], agents, |_| {}).await;
    let app = story.dir.path().join("app");
    story.alice.say("#spark", "commit alpha").await;
    let why = format!("{} is no git repository", app.display());
    let told = story.alice.hears_in_any_order("#spark", "could not be made").await;
    assert!(
        told.starts_with("❌ The clone of task 1 could not be made for spark: ") && told.ends_with(&why),
        "{told}"
    );
    story.alice.hears_in_any_order("#alerts", &why).await;
    let paused = story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!(paused.agent.queue.len(), 1, "its work waits");
    // Trying again does not help yet.
    story.says("!resume spark", "resumes").await;
    story.alice.hears("#spark", "could not be made").await;
    story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    let person = Person::with_repository(app);
    let before = Untouched::of(&person);
    story.says("!resume spark", "resumes").await;
    let spark = story.is_done_after("spark", 0).await;
    assert_eq!(only(&spark).1.held.expect("it was read").commits, 1);
    assert_eq!(story.started_with("spark").len(), 1);
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_goes_to_another_agent_takes_its_clone_along() {
    let (mut story, person) = open(On::Irc, |_| {}).await;
    let before = Untouched::of(&person);
    let spark = story.gives("spark", "commit alpha").await;
    let (first, _) = only(&spark);
    story.alice.say("#herder", "!task new spark write beta").await;
    let spark = story.is_done_after("spark", 1).await;
    let second = spark.checkouts.open.expect("it is open");
    // A task that its agent could not do, with what it has done of it.
    story.alice.say("#herder", "!task new spark wait never").await;
    story.until("spark", |view| view.agent.process.is_some()).await;
    let third = story.agent("spark").checkouts.open.expect("it is open");
    std::fs::write(story.clone_of(third).join("half"), "h").expect("a file");
    story.says("!pause spark now", "spark").await;
    story.until("spark", |view| view.agent.session().is_none() && view.agent.queue.len() == 1).await;
    story.goes_on("nova", "never");
    story
        .says(&format!("!task assign {third} nova"), &format!("Task {third} goes from spark to nova."))
        .await;
    let nova = story.is_done_after("nova", 0).await;
    assert_eq!(only(&nova).0, third);
    assert_eq!(story.started_with("nova"), [format!("{} none", story.clone_of(third).display())]);
    assert!(story.clone_of(third).join("half").exists());
    let kept: Vec<WorkId> = story.agent("spark").checkouts.all.keys().copied().collect();
    assert_eq!(kept, [first, second]);
    // A message to each of them belongs to a task of its own.
    let nova = story.gives("nova", "commit gamma").await;
    assert_eq!(only(&nova).0, third);
    let clone = Person::of(story.clone_of(third));
    assert_eq!(clone.git(&["log", "--format=%s"]), "commit gamma\nthe first");
    let head = (format!("{third}/head"), clone.git(&["rev-parse", "HEAD"]));
    assert!(person.herders_refs().contains(&head));
    story.says("!resume spark", "resumes").await;
    let spark = story.gives("spark", "name the files").await;
    assert_eq!(spark.checkouts.all.len(), 3, "a fresh one");
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_begins_at_the_base_with_the_files_and_the_author_of_the_settings() {
    let change = |agents: &mut Vec<AgentSpec>| {
        for agent in agents {
            let repository = agent.repository.as_mut().expect("it has one");
            repository.copy =
                [".env.local", "conf/.env", ".env.none", "not ignored [1]"].map(str::to_owned).to_vec();
            repository.base = "stable".to_owned();
        }
    };
    let (mut story, person) = open(On::Irc, change).await;
    person.git(&["branch", "stable"]);
    person.git(&["commit", "--quiet", "-m", "the second"]);
    std::fs::write(person.path().join(".env.local"), "KEY=1\n").expect("a file");
    std::fs::create_dir(person.path().join("conf")).expect("a folder");
    std::fs::write(person.path().join("conf/.env"), "KEY=2\n").expect("a file");
    std::fs::write(person.path().join("not ignored [1]"), "KEY=3\n").expect("a file");
    let before = Untouched::of(&person);
    let spark = story.gives("spark", "commit alpha").await;
    let (task, checkout) = only(&spark);
    let clone = Person::of(story.clone_of(task));
    assert_eq!(
        clone.git(&["log", "--format=%s by %an <%ae>, %cn"]),
        "commit alpha by spark the agent <spark@example.org>, spark the agent\n\
         the first by ann <ann@example.org>, ann"
    );
    for (name, text) in [(".env.local", "KEY=1\n"), ("conf/.env", "KEY=2\n"), ("not ignored [1]", "KEY=3\n")]
    {
        assert_eq!(std::fs::read_to_string(clone.path().join(name)).expect("it is copied"), text);
    }
    assert_eq!(clone.git(&["show", "--name-only", "--format="]), "alpha");
    assert_eq!(checkout.held.expect("it was read").uncommitted, 0, "they are ignored");
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_that_is_lost_is_made_again_from_what_was_fetched() {
    let (mut story, person) = open(On::Irc, |_| {}).await;
    let spark = story.gives("spark", "commit alpha").await;
    let (task, _) = only(&spark);
    std::fs::remove_dir_all(story.clone_of(task)).expect("it is there");
    story.alice.say("#spark", "name the files").await;
    let told = story.alice.hears_in_any_order("#spark", "could not be read").await;
    assert!(
        told.ends_with(&format!("the task's clone {} is not there", story.clone_of(task).display())),
        "{told}"
    );
    story.until("spark", |view| only(&view.agent).1.stage == Stage::NotMade).await;
    story.says(&format!("!task drop {task}"), "It is not known what would be lost.").await;
    story.alice.say("#herder", "!resume spark").await;
    story.is_done_after("spark", 1).await;
    let clone = Person::of(story.clone_of(task));
    assert_eq!(clone.git(&["log", "--format=%s"]), "commit alpha\nthe first");
    assert_eq!(person.herders_refs()[1].1, clone.git(&["rev-parse", "HEAD"]));
    story.close().await;
}
