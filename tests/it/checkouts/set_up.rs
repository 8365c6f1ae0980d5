//! Clones that a command makes ready before the first session in them.

use std::time::Duration;

use herder::config::Config;
use herder::core::agent::Phase;
use herder::core::checkout::{CloneSetup, Stage};
use herder::core::id::{AgentName, WorkId};
use herder::core::review::{Method, Reviewer};
use herder::core::spec::AgentSpec;

use super::checked::{check, lives};
use super::repository::{Person, Untouched, entries};
use super::reviewed::{elsewhere, on_main, reviewed};
use super::{ROOMS, agent, only, open, rests};
use crate::kill::lines;
use crate::on::{On, Story, on_each_network};

/// Notes each run with the agent and the folder that it runs for, and leaves a file that git ignores.
const SETUP: &str = "echo \"$HERDER_AGENT in $PWD\" >> \"$NOTES.setups\"; echo made > .env.made";

/// Returns a setup with this command and this limit of seconds.
fn setup(command: &str, seconds: u64) -> Option<Box<CloneSetup>> {
    Some(Box::new(CloneSetup { command: command.to_owned(), timeout: Duration::from_secs(seconds) }))
}

fn set_up(agents: &mut [AgentSpec], command: &str) {
    for agent in agents {
        agent.repository.as_mut().expect("it has one").setup = setup(command, 60);
    }
}

/// Returns a story with one agent that has this setup, and a secret.
async fn one(setup: Option<Box<CloneSetup>>) -> Story {
    let dir = tempfile::tempdir().expect("a folder");
    drop(Person::with_repository(dir.path().join("app")));
    let mut agent = agent("spark", dir.path());
    agent.repository.as_mut().expect("it has one").setup = setup;
    let secrets = |config: &mut Config| config.secrets = vec!["hunter2-and-more".into()];
    Story::open_in(On::Irc, dir, &ROOMS[..4], vec![agent], secrets).await
}

impl Story {
    /// Returns the runs of an agent's setup.
    fn setups(&self, agent: &str) -> Vec<String> {
        lines(&self.dir.path().join(format!("{agent}.setups")))
    }
}

on_each_network!(a_new_clone_is_set_up_once_before_its_first_session);

async fn a_new_clone_is_set_up_once_before_its_first_session(on: On) {
    let (mut story, person) = open(on, |agents| set_up(agents, SETUP)).await;
    let before = Untouched::of(&person);
    let spark = story.gives("spark", "name the files").await;
    let seen = story.alice.hears("#spark", "sees ").await;
    assert!(seen.ends_with("sees .env.made .gitignore file other"), "{seen}");
    let (first, checkout) = only(&spark);
    assert_eq!(checkout.held.expect("it was read").uncommitted, 0, "it is ignored");
    let ran = |task: WorkId| format!("spark in {}", story.clone_of(task).display());
    let mut expected = vec![ran(first)];
    assert_eq!(story.setups("spark"), expected);
    // Later messages find it ready, and another task is set up by itself.
    story.gives("spark", "commit alpha").await;
    assert_eq!(story.setups("spark"), expected);
    story.alice.say("#herder", "!task new spark commit beta").await;
    let spark = story.is_done_after("spark", 2).await;
    let second = spark.checkouts.open.expect("it is open");
    expected.push(format!("spark in {}", story.clone_of(second).display()));
    assert_eq!(story.setups("spark"), expected);
    // So does the next herder.
    let mut agents = vec![agent("spark", story.dir.path()), agent("nova", story.dir.path())];
    set_up(&mut agents, SETUP);
    let mut story = story.again(agents, |_| {}).await;
    story.alice.is_heard_in(&["#spark"]).await;
    story.gives("spark", "commit gamma").await;
    assert_eq!(story.setups("spark"), expected);
    before.holds(&person);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_that_fails_pauses_the_agent_with_its_output_until_it_is_mended() {
    let command = "echo ran >> $NOTES.setups; test -e $NOTES.mended || { \
                   printf 'key \\033[31mhun\\033[0mter2-and-more\\n' >&2; echo 'no registry'; exit 3; }";
    let mut story = one(setup(command, 60)).await;
    story.alice.say("#spark", "commit alpha").await;
    let told = story.alice.hears_in_any_order("#spark", "could not be made").await;
    assert!(
        told.starts_with("❌ The clone of task 1 could not be made for spark: the setup `echo ran"),
        "{told}"
    );
    assert!(told.ends_with("failed with exit code 3: key [redacted] | no registry"), "{told}");
    story.alice.hears_in_any_order("#alerts", "failed with exit code 3").await;
    let paused = story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!((paused.agent.queue.len(), story.started_with("spark").len()), (1, 0), "its work waits");
    assert_eq!(only(&paused.agent).1.stage, Stage::NotMade);
    let kept = std::fs::read_to_string(story.dir.path().join("data/tasks/1.setup")).expect("it is kept");
    assert_eq!(kept, "key [redacted]\nno registry");
    // Trying again does not help yet.
    story.says("!resume spark", "resumes").await;
    story.alice.hears("#spark", "could not be made").await;
    story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!((story.setups("spark").len(), story.started_with("spark").len()), (2, 0));
    story.goes_on("spark", "mended");
    story.says("!resume spark", "resumes").await;
    let spark = story.is_done_after("spark", 0).await;
    assert_eq!(only(&spark).1.held.expect("it was read").commits, 1);
    assert_eq!((story.setups("spark").len(), story.started_with("spark").len()), (3, 1));
    assert_eq!(entries(&story.dir.path().join("data/tasks")), ["1", "looks"]);
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_that_takes_too_long_is_ended_with_all_that_it_has_started() {
    let command = "sleep 1000 & echo $! >> $NOTES.pid; echo working; sleep 1000";
    let mut story = one(setup(command, 1)).await;
    story.alice.say("#spark", "commit alpha").await;
    let told = story.alice.hears_in_any_order("#spark", "could not be made").await;
    assert!(told.ends_with("was not done in time: working"), "{told}");
    let left = lines(&story.dir.path().join("spark.pid"));
    assert!(left.len() == 1 && !lives(&left[0]), "{left:?}");
    story.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_runs_in_the_agent_s_sandbox() {
    let script = "case \"$*\" in *'exec 2>&1'*) echo 'no room here' >&2; exit 9 ;; esac; exec \"$@\"";
    let dir = tempfile::tempdir().expect("a folder");
    drop(Person::with_repository(dir.path().join("app")));
    let mut agent = agent("spark", dir.path());
    agent.repository.as_mut().expect("it has one").setup = setup("true", 60);
    agent.sandbox = ["sh", "-c", script, "sandbox"].map(str::to_owned).to_vec();
    let mut story = Story::open_in(On::Irc, dir, &ROOMS[..4], vec![agent], |_: &mut Config| {}).await;
    story.alice.say("#spark", "commit alpha").await;
    let told = story.alice.hears_in_any_order("#spark", "could not be made").await;
    assert!(told.ends_with("the setup `true` failed with exit code 9: no room here"), "{told}");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merged_files_are_set_up_before_they_are_checked() {
    let change = |agents: &mut Vec<AgentSpec>| {
        reviewed(agents, Reviewer::Person, Some(Method::Merge));
        for agent in agents {
            let repository = agent.repository.as_mut().expect("it has one");
            repository.setup = setup(&format!("test ! -e bad || exit 5; {SETUP}"), 60);
            repository.check = check("echo ran in $PWD >> $NOTES.checks; test -e .env.made", 60);
        }
    };
    let (mut story, person) = open(On::Irc, change).await;
    elsewhere(&person);
    story.alice.say("#spark", "commit alpha").await;
    story.alice.hears("#spark", "is in review").await;
    // The base has moved: the merged files are new, and cannot be set up.
    on_main(&person, "bad", "x\n");
    story.alice.say("#herder", "!accept 1").await;
    let called = story.alice.hears_in_any_order("#alerts", "could not be merged").await;
    assert!(called.contains("failed with exit code 5"), "{called}");
    let tasks = story.dir.path().join("data/tasks");
    assert_eq!(entries(&tasks), ["1", "looks"], "nothing is left of the merge");
    assert_eq!(lines(&story.dir.path().join("spark.checks")).len(), 1, "only the work was checked");
    person.git(&["update-ref", "refs/heads/main", "main~1"]);
    on_main(&person, "good", "x\n");
    story.alice.say("#herder", "!accept 1").await;
    story.alice.hears_in_any_order("#work", "DONE 1").await;
    let checks = lines(&story.dir.path().join("spark.checks"));
    assert!(checks.len() == 2 && checks[1].ends_with("/tasks/merged-0"), "{checks:?}");
    let setups = story.setups("spark");
    assert!(setups.len() == 2 && setups[1].ends_with("/tasks/merged-0"), "{setups:?}");
    assert!(person.git(&["log", "--format=%s", "main"]).contains("commit alpha"));
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_in_which_another_agent_reviews_is_not_set_up() {
    let change = |agents: &mut Vec<AgentSpec>| {
        let name = AgentName::new("nova").expect("a good name");
        reviewed(&mut agents[..1], Reviewer::Agent { name, rounds: 2 }, None);
        set_up(agents, SETUP);
    };
    let (mut story, _person) = open(On::Irc, change).await;
    story.alice.say("#spark", "commit alpha").await;
    story.alice.hears("#spark", "is in review").await;
    // It ends without a verdict, so that a person is called.
    story.alice.hears_in_any_order("#alerts", "nova").await;
    assert_eq!(story.started_with("nova").len(), 1, "it has begun");
    assert_eq!((story.setups("spark").len(), story.setups("nova").len()), (1, 0));
    // Its own tasks are.
    story.until("nova", |view| rests(&view.agent)).await;
    let before = story.agent("nova").totals.successes;
    story.alice.say("#herder", "!task new nova commit beta").await;
    story.is_done_after("nova", before).await;
    assert_eq!((story.setups("spark").len(), story.setups("nova").len()), (1, 1));
    story.close().await;
}
