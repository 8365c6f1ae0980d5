//! herder is killed at each command from the acceptance of a task to its pull request, and from the first fetch of a
//! repository that an address names to the push of its base.

use herder::local;
use serde_json::json;

use super::{Side, Story, Victim};
use crate::checkouts::proposed::Forge;
use crate::checkouts::repository::{Person, Untouched, entries};
use crate::kill::{asked_until, lines};

impl Story {
    /// Gives a command, and kills the victim at each of these commands of its own, one after the other. What was done
    /// before a kill may be found done, so that a later one never comes: `over` says so.
    async fn is_killed_at(
        &mut self,
        commands: &[&str],
        (command, args): (&str, &[&str]),
        over: impl AsyncFn(&Self) -> bool,
    ) {
        for (index, next) in commands.iter().enumerate() {
            std::fs::write(self.at("match"), next).expect("a file");
            if index == 0 {
                self.ask(command, args).await;
            } else if self.herder.is_none() {
                self.starts();
            }
            if !self.is_struck(&over).await {
                break;
            }
        }
        drop(std::fs::remove_file(self.at("match")));
        if self.herder.is_none() {
            self.starts();
        }
    }
}

/// Kills herder at each command from the acceptance of a task to its pull request.
async fn killed_at_each_command_of_a_pull_request(victim: Victim, side: Side) {
    let forge = Forge::begin().await;
    let more = format!("base = \"main\"\nreview = \"person\"\non_accept = \"pr\"\n{}", forge.section());
    let mut story = Story::begin((victim, side), &more).await;
    let person = Person::of(story.person.path().to_owned());
    forge.adopts(&person);
    let before = Untouched::of(&person);
    let text = "commit alpha";
    let task = story.is_reviewed(text).await;
    let over = async |story: &Story| story.is_in_state("proposed").await;
    let commands = [
        "rev-parse --path-format",
        "config --null",
        "ls-remote",
        "update-ref refs/herder",
        "push --quiet",
        "api --include repos",
        "api --include --method POST",
    ];
    story.is_killed_at(&commands, ("accept", &[&task]), &over).await;
    story.until("its pull request is open", async || over(&story).await).await;
    let killed = lines(&story.at("killed"));
    let pulls = forge.pulls().await;
    let [pull] = &pulls[..] else { panic!("one pull request, not {pulls:#?}: {killed:#?}") };
    assert_eq!(pull["head"]["ref"], format!("herder/{task}-commit-alpha"));
    let branch = format!("herder/{task}-commit-alpha");
    assert_eq!(forge.git(&["log", "--format=%s", &branch]), format!("{text}\nthe first"), "{killed:#?}");
    if victim == Victim::Herder {
        assert_eq!(killed.len(), commands.len(), "{killed:#?}");
    }
    forge.does("merge", json!({ "number": pull["number"], "method": "squash" })).await;
    story.until("it is done", async || story.is_in_state("done").await).await;
    story
        .until("its clone is removed", async || {
            !story.clone_of(task.parse().expect("a number")).path().exists()
        })
        .await;
    story.ends().await;
    before.holds(&person);
    forge.keeps_to_the_description().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_is_opened_once_if_herder_is_killed_before_each_command() {
    killed_at_each_command_of_a_pull_request(Victim::Herder, Side::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_is_opened_once_if_herder_is_killed_after_each_command() {
    killed_at_each_command_of_a_pull_request(Victim::Herder, Side::After).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_is_opened_once_if_the_runner_is_killed_after_each_command() {
    killed_at_each_command_of_a_pull_request(Victim::Runner, Side::After).await;
}

/// Kills herder at each command that reaches the remote of a repository, from the first task to the push of the base.
async fn killed_at_each_command_to_a_remote(victim: Victim, side: Side) {
    let forge = Forge::begin().await;
    let more = format!("review = \"person\"\non_accept = \"merge\"\n{}", forge.section());
    let address = forge.address();
    let mut story = Story::begin_at((victim, side), &more, Some(&address)).await;
    forge.adopts(&Person::of(story.person.path().to_owned()));
    let socket = story.at("data").join(local::FILE_NAME);
    let text = "commit alpha";
    asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
    let commands = ["init --quiet", "fetch --quiet --prune", "ls-remote --symref", "clone --quiet"];
    let reviewed = async |story: &Story| story.is_in_state("review").await;
    story.is_killed_at(&commands, ("task new", &["spark", text]), &reviewed).await;
    story.until("it is in review", async || reviewed(&story).await).await;
    let made = lines(&story.at("killed")).len();
    let task = story.task(text).await.expect("it is there").to_string();
    let commands =
        ["fetch --quiet --prune", "merge-tree", "commit-tree", "update-ref refs/herder", "push --quiet"];
    let done = async |story: &Story| story.is_in_state("done").await;
    story.is_killed_at(&commands, ("accept", &[&task]), &done).await;
    story.until("it is merged", async || done(&story).await).await;
    let killed = lines(&story.at("killed"));
    assert_eq!(forge.git(&["log", "--format=%s", "main"]), format!("{text}\nthe first"), "{killed:#?}");
    if victim == Victim::Herder {
        assert_eq!((made, killed.len()), (4, 9), "{killed:#?}");
    }
    let copies = entries(&story.at("data/repositories"));
    assert!(copies.len() == 1 && copies[0].starts_with("app-") && copies[0].ends_with(".git"), "{copies:?}");
    let copy = Person::of(story.at("data/repositories").join(&copies[0]));
    story.until("its clone is removed", async || copy.herders_refs().is_empty()).await;
    copy.git(&["fsck", "--strict", "--no-dangling"]);
    story.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_by_address_is_whole_if_herder_is_killed_before_each_command() {
    killed_at_each_command_to_a_remote(Victim::Herder, Side::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_by_address_is_whole_if_herder_is_killed_after_each_command() {
    killed_at_each_command_to_a_remote(Victim::Herder, Side::After).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_by_address_is_whole_if_the_runner_is_killed_before_each_command() {
    killed_at_each_command_to_a_remote(Victim::Runner, Side::Before).await;
}
