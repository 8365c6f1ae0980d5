//! Changes of a task, shown by a whole herder from a real repository, to people on each network and in a shell.

use std::path::Path;
use std::process::Command;

use herder::config::Config;
use herder::core::agent::{Agent, Phase};
use herder::core::checkout::{Repository, Stage};
use herder::core::id::WorkId;
use herder::core::spec::AgentSpec;
use herder::local;
use serde_json::{Value, json};

use crate::on::{Network, On, Story, on_each_network};
use crate::stage::shell;

/// A secret of the configuration, and a token that only the agent knows.
const SECRETS: [&str; 2] = ["hunter2-hunter2", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"];

/// The work of the agent: a commit, and changes that are not committed.
const WORK: &str = r#"
case $(cat) in *"leave it"*) exit 0 ;; esac
mkdir -p src docs
printf 'fn main() {\n    println!("hunter2-hunter2");\n}\n' > src/main.rs
i=0; while [ $i -lt 60 ]; do echo "entry $i" >> docs/long.md; i=$((i + 1)); done
echo 'name = "x"' > Cargo.lock
git mv old.txt new.txt
git add --all && git commit --quiet -m 'do it'
printf 'key ghp_abcdefghijklmnopqrstuvwxyz0123456789\n```\n@everyone\n' > docs/notes.md
"#;

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "user.name=ann",
        "-c",
        "user.email=ann@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = command.args(words).current_dir(folder).output().expect("git is there (package git)");
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// Returns an agent that works in clones of a new repository `app`.
fn agent(dir: &Path) -> AgentSpec {
    let app = dir.join("app");
    std::fs::create_dir(&app).expect("a folder");
    git(&app, &["init", "--quiet"]);
    let ten: String = (0..10).map(|line| format!("{line}\n")).collect();
    std::fs::write(app.join("old.txt"), ten).expect("a file");
    git(&app, &["add", "--all"]);
    git(&app, &["commit", "--quiet", "-m", "begin"]);
    let repository = Repository {
        path: app.clone(),
        git_name: "spark the agent".to_owned(),
        git_email: "spark@example.org".to_owned(),
        ..Repository::default()
    };
    AgentSpec { repository: Some(Box::new(repository)), ..shell("spark", &app, WORK) }
}

async fn open(on: On) -> Story {
    let secrets = |config: &mut Config| config.secrets = vec![SECRETS[0].into()];
    Story::open(on, &["#herder", "#spark"], |dir| vec![agent(dir)], secrets).await
}

/// Gives the agent a task, and returns its number when it is done and its clone is read.
async fn done(story: &mut Story, text: &str) -> WorkId {
    let name = herder::core::id::AgentName::new("spark").expect("a good name");
    let before = story.stage.herder.fleet().view(&name).expect("it is there").agent.totals.successes;
    story.alice.say("#herder", &format!("!task new spark {text}")).await;
    let rests = |agent: &Agent| {
        let all = &agent.checkouts.all;
        let is_read = all.values().all(|clone| !clone.unread && clone.stage == Stage::Made);
        agent.phase == Phase::Idle && agent.queue.is_empty() && is_read && agent.totals.successes > before
    };
    let view = story.until("spark", |view| rests(&view.agent)).await;
    view.agent.checkouts.open.expect("a task is open")
}

on_each_network!(what_a_task_has_changed_is_told_by_file_and_line);

async fn what_a_task_has_changed_is_told_by_file_and_line(on: On) {
    let mut story = open(on).await;
    let task = done(&mut story, "change it").await;
    let says = |words: &str| format!("!task diff {task}{words}");
    let head = story.says(&says(""), "branch herder/").await;
    assert!(head.contains("5 files, +67 −0; one commit, one file not committed"), "{head}");
    for line in [
        "Cargo.lock · +1 −0 · new · folded: lock file",
        "docs/long.md · +60 −0 · new",
        "docs/notes.md · +3 −0 · new · not committed",
        "new.txt · +0 −0 · was old.txt",
        "src/main.rs · +3 −0 · new",
    ] {
        story.alice.hears("#herder", line).await;
    }
    // A part of a name is enough, and secrets are taken out.
    story.says(&says(" main.rs"), "+fn main() {").await;
    story.alice.hears("#herder", "[redacted]").await;
    story.says(&says(" docs/notes.md"), "[redacted]").await;
    // A folded file is shown when it is asked for.
    story.says(&says(" Cargo.lock"), "+name = \"x\"").await;
    // Long ones come in pages.
    let first = story.says(&says(" docs/long.md"), "page 1 of 4").await;
    assert!(first.contains("docs/long.md · +60 −0"), "{first}");
    story.alice.hears("#herder", "docs/long.md page").await;
    story.says(&says(" docs/long.md page 4"), "+entry 59").await;
    for (words, refusal) in [
        (" docs/long.md page 5", "There are only 4 pages."),
        (" docs", "may be docs/long.md, docs/notes.md."),
        (" src/mian.rs", "Did you mean src/main.rs?"),
        (" other", "has changed no file “other”."),
    ] {
        story.says(&says(words), refusal).await;
    }
    story.says("!task diff 999", "999").await;
    let nothing = done(&mut story, "leave it").await;
    story.says(&format!("!task diff {nothing}"), "has changed nothing yet").await;
    // The clone is lost; the commits were fetched.
    std::fs::remove_dir_all(story.dir.path().join("data/tasks").join(task.to_string())).expect("it is there");
    story.says(&says(" stat"), "4 files, +64 −0; one commit, everything committed").await;
    story.alice.hears("#herder", "Its clone is gone").await;
    let said = story.alice.heard_in("#herder").join("\n");
    assert!(SECRETS.iter().all(|secret| !said.contains(secret)), "{said}");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slash_command_shows_a_block_that_nothing_leaves_and_the_whole_as_a_file() {
    let mut story = open(On::Discord).await;
    let task = done(&mut story, "change it").await;
    let Network::Discord(sim) = &story.network else { panic!("it is Discord") };
    let alice = sim.user("alice").roles(["manager"]);
    let asked = alice.slash("herder", "task diff", json!({ "task": task.to_string() }));
    let said = asked.answer().await;
    assert!(said.content.contains("5 files") && said.content.contains("src/main.rs"), "{}", said.content);
    let follows = asked.followups(1).await;
    let (block, file) = (&follows[0].content, &follows[0].attachments[0]);
    assert!(block.starts_with("```diff\ndiff --git a/docs/long.md b/docs/long.md\n"), "{block}");
    assert!(block.ends_with("\n```") && block.matches("```").count() == 2, "{block}");
    assert!(block.encode_utf16().count() <= 2000);
    assert_eq!(file.name, format!("task-{task}.diff"));
    let whole = String::from_utf8(file.bytes.clone()).expect("it is text");
    assert!(whole.contains("+entry 59\n") && whole.contains("+++ b/src/main.rs\n"), "{whole}");
    assert!(whole.contains("[redacted]") && SECRETS.iter().all(|secret| !whole.contains(secret)), "{whole}");
    assert!(!whole.contains("Cargo.lock"), "it is folded: {whole}");
    // One file alone.
    let notes = json!({ "task": task.to_string(), "file": "notes.md" });
    let asked = alice.slash("herder", "task diff", notes);
    assert!(asked.answer().await.content.contains("docs/notes.md · +3 −0"));
    let block = asked.followups(1).await[0].content.clone();
    assert!(block.contains("+[redacted]") || block.contains("+key [redacted]"), "{block}");
    assert!(block.ends_with("\n```") && block.matches("```").count() == 2, "{block}");
    story.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_the_files_with_counts_and_text() {
    let mut story = open(On::Irc).await;
    let task = done(&mut story, "change it").await;
    let request = local::Request { command: "task diff".to_owned(), args: vec![task.to_string()] };
    let socket = story.dir.path().join("data").join(local::FILE_NAME);
    let answer = local::ask(&socket, &request).await.expect("an answer");
    let named = |line: &String| {
        let line = line.replace(&format!("Task {task}"), "Task 7");
        line.replace(&format!("herder/{task}-"), "herder/7-").replace(&format!("diff {task} "), "diff 7 ")
    };
    let said = |lines: &[String]| lines.iter().map(named).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("files", said(&answer.lines));
    for (snapshot, file) in [("notes", "docs/notes.md"), ("main", "src/main.rs"), ("renamed", "new.txt")] {
        let args = vec![task.to_string(), file.to_owned()];
        let one = local::Request { command: "task diff".to_owned(), args };
        let one = local::ask(&socket, &one).await.expect("an answer");
        insta::assert_snapshot!(snapshot, said(&one.lines));
    }
    let data: Value = answer.data.expect("data");
    let file = |name: &str| {
        let files = data["files"].as_array().expect("a list");
        files.iter().find(|file| file["name"] == name).unwrap_or_else(|| panic!("{name} in {data}")).clone()
    };
    assert_eq!((data["commits"].clone(), data["uncommitted"].clone()), (json!(1), json!(1)));
    let main = file("src/main.rs");
    assert_eq!((&main["added"], &main["removed"], &main["change"]), (&json!(3), &json!(0), &json!("added")));
    let patch = main["patch"].as_str().expect("its text");
    assert!(patch.contains("+fn main() {\n") && patch.contains("[redacted]"), "{patch}");
    assert_eq!(file("new.txt")["from"], "old.txt");
    assert_eq!((&file("Cargo.lock")["fold"], &file("Cargo.lock")["patch"]), (&json!("lock"), &Value::Null));
    assert_eq!(file("docs/notes.md")["uncommitted"], true);
    story.close().await;
}
