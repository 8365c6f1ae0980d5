//! herder is killed at each command that fills the folder of the merge before with the next merged files.

use super::{Side, Story, Victim};
use crate::checkouts::repository::{Person, Untouched};
use crate::kill::{asked_until, lines};
use herder::local;

/// Commands that a folder is filled again by.
const COMMANDS: [&str; 5] = [
    "read-tree ",
    "ls-files -z",
    "update-index -q --refresh",
    "checkout --quiet --force",
    "status --porcelain --ignored",
];

/// Settings by which work is merged, whose check notes what is in the folder beside the files of a commit, leaves
/// something there, and waits while it is to.
const MERGES: &str = "base = \"main\"\nreview = \"person\"\non_accept = \"merge\"\n\
                      check = '''case $PWD in */merged-*) ;; *) exit 0 ;; esac
[ ! -e left ] || ls -A >> $NOTES.left; [ ! -e file ] || cat file >> $NOTES.left; echo x > left; echo wrong > file
[ ! -e $NOTES.wait ] || echo $PWD >> $NOTES.waits; while [ -e $NOTES.wait ]; do sleep 0.02; done'''";

async fn killed_at_each_command_of_the_next_merge(victim: Victim, side: Side) {
    let mut story = Story::begin((victim, side), MERGES).await;
    let person = Person::of(story.person.path().to_owned());
    person.git(&["switch", "--quiet", "-c", "mine"]);
    let before = Untouched::of(&person);
    let socket = story.at("data").join(local::FILE_NAME);
    let mut all = 0;
    for (round, command) in COMMANDS.iter().enumerate() {
        asked_until(&socket, ("status", &["spark"]), |answer| answer.ok).await;
        let texts = ["a", "b", "c"].map(|part| format!("commit {part}{}", super::name(round as u32)));
        let mut tasks = Vec::new();
        for text in &texts {
            story.ask("task new", &["spark", text]).await.expect("it is there");
            story.until("it is done", async || story.is_in(text, "review").await).await;
            tasks.push(story.task(text).await.expect("it is there").to_string());
        }
        std::fs::write(story.at("notes.left"), "").expect("a file");
        std::fs::write(story.at("notes.wait"), "").expect("a file");
        std::fs::write(story.at("notes.waits"), "").expect("a file");
        story.ask("accept", &[&tasks[0]]).await.expect("it is there");
        story.until("it is checked", async || !lines(&story.at("notes.waits")).is_empty()).await;
        story.ask("accept", &[&tasks[1]]).await.expect("it is there");
        story.ask("accept", &[&tasks[2]]).await.expect("it is there");
        std::fs::write(story.at("match"), command).expect("a file");
        std::fs::remove_file(story.at("notes.wait")).expect("it is removed");
        assert!(story.is_killed(async |_: &Story| false).await);
        for text in &texts {
            story.until("it is merged", async || story.is_in(text, "done").await).await;
            let landed = person.git(&["log", "--format=%s", "main"]);
            let times = landed.lines().filter(|line| line == text).count();
            assert_eq!(times, 1, "{:?}\n{landed}", lines(&story.at("killed")));
        }
        all += texts.len();
        let gone = async |story: &Story| {
            let shown = story.ask("task show", &[&tasks[2]]).await;
            shown.is_some_and(|answer| !answer.lines.join("\n").contains("branch herder/"))
        };
        story.until("its clone is removed", async || gone(&story).await).await;
        story.has_only(&[]).await;
        let left = lines(&story.at("notes.left"));
        assert!(!left.iter().any(|line| line == "left" || line == "wrong"), "{left:?}");
    }
    story.ends().await;
    assert_eq!(story.kills, COMMANDS.len());
    let listed = person.git(&["log", "--format=%s", "main"]);
    assert_eq!(listed.lines().filter(|line| line.starts_with("commit ")).count(), all, "{listed}");
    before.holds_but(&person, &[".git/refs/heads/main", ".git/logs/refs/heads/main"]);
}

impl Story {
    /// Returns true if the task with this text is in this state.
    async fn is_in(&self, text: &str, state: &str) -> bool {
        let listed = self.ask("task list", &["all"]).await.and_then(|answer| answer.data);
        let listed = listed.as_ref().and_then(|listed| listed.as_array());
        listed
            .is_some_and(|all| all.iter().any(|task| task["work"]["text"] == text && task["state"] == state))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_each_command_of_the_next_merge_the_next_herder_merges_once() {
    killed_at_each_command_of_the_next_merge(Victim::Herder, Side::Before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_each_command_of_the_next_merge_the_next_herder_merges_once() {
    killed_at_each_command_of_the_next_merge(Victim::Herder, Side::After).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_beside_each_command_of_the_next_merge_is_followed_by_one_that_merges_once() {
    killed_at_each_command_of_the_next_merge(Victim::Runner, Side::Beside).await;
}
