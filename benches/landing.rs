//! Work that lands, beside the same by git alone: the diff of a task, the folder of a new task, and merges.
//!
//! ```text
//! cargo bench --bench landing                  a diff of 2,000 changed lines; the mark is 100 ms
//! cargo bench --bench landing -- clone [FILES] a task's folder of a repository with 10,000 files; 1.3 x `git clone --shared`
//! cargo bench --bench landing -- merge [TASKS] 50 accepted tasks, merged one after the other; 1.5 x the git commands
//! ```
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

mod bench;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bench::{Herder, Toml, median, quantile, row, say};
use herder::local::{self, Answer, Request};

/// Diffs that are measured.
const TIMES: usize = 50;

/// Number of files that the changed lines are in.
const FILES: usize = 20;

/// Folders that are measured, of herder's and by git alone in turn.
const CLONES: usize = 15;

/// Number of parts in which tasks are merged, by git alone and by herder in turn.
const ROUNDS: usize = 5;

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"]).args(words).current_dir(folder);
    assert!(command.output().expect("git is there (package git)").status.success(), "{words:?}");
}

/// A herder with one agent of a repository.
struct Scene {
    dir: tempfile::TempDir,
    app: PathBuf,
    herder: Herder,
    socket: PathBuf,
}

impl Scene {
    /// Starts herder once `fill` has filled the repository. The agent runs `script`, and has `more` in its settings.
    fn start(fill: impl FnOnce(&Path), script: &str, more: &str) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = tempfile::tempdir_in(target).expect("a folder on a real disk");
        let app = dir.path().join("app");
        fs::create_dir(&app).expect("a folder");
        git(&app, &["init", "--quiet", "--initial-branch=main"]);
        fill(&app);
        git(&app, &["add", "--all"]);
        git(&app, &["commit", "--quiet", "-m", "begin"]);
        let agent = format!(
            "[[agent]]\nname = \"spark\"\nruntime = \"command\"\nrepository = {:?}\n{more}\ncommand = [\"sh\", \"-c\", {script:?}]",
            app.display().to_string()
        );
        let data = dir.path().join("data");
        let herder = Herder::start(&Toml::new(&data).raw(&agent).write(dir.path()));
        Self { socket: data.join(local::FILE_NAME), dir, app, herder }
    }

    async fn ask(&self, command: &str, args: &[&str]) -> Option<Answer> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        local::ask(&self.socket, &request).await.ok().filter(|answer| answer.ok)
    }

    /// Asks until the answer is as expected.
    async fn until(&self, command: &str, args: &[&str], is_so: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !self.ask(command, args).await.is_some_and(|answer| is_so(&answer.lines.join("\n"))) {
            assert!(begun.elapsed() < Duration::from_secs(120), "{command} was never answered so");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits until the disk has what was written and removed before, so that neither pays for the other.
fn settle() {
    assert!(Command::new("sync").status().expect("sync is there").success());
}

/// Waits until `holds`, and looks each millisecond.
async fn wait(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(300), "it never came to that");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn diff(lines: usize) {
    let fill = |app: &Path| {
        for file in 0..FILES {
            let text: String = (0..lines).map(|line| format!("line {line} of {file}\n")).collect();
            fs::write(app.join(format!("file-{file}.txt")), text).expect("a file");
        }
    };
    // Half of the changed lines are committed.
    let each = lines / 2 / FILES;
    let change = format!("for f in *.txt; do sed -i \"1,{each}s/^/changed /\" $f; done");
    let commit = "git -c user.name=a -c user.email=a@example.org commit --quiet --all -m x";
    let again = "for f in file-?.txt; do sed -i '1s/^/uncommitted /' $f; done";
    let scene = Scene::start(fill, &format!("read -r work; {change}; {commit}; {again}"), "");
    scene.until("task new", &["spark", "change it"], |_| true).await;
    scene.until("task diff", &["1", "stat"], |said| said.contains(&format!("{FILES} files"))).await;
    for (what, args) in [("stat", vec!["1", "stat"]), ("one file", vec!["1", "file-7.txt"])] {
        let mut took = Vec::new();
        for _ in 0..TIMES {
            let begun = Instant::now();
            let answer = scene.ask("task diff", &args).await.expect("an answer");
            took.push(begun.elapsed().as_secs_f64() * 1e3);
            assert!(answer.lines.len() > 1);
        }
        say(&format!("{what}: {lines} changed lines in {FILES} files"));
        bench::head();
        for (quantity, q) in [("median", 0.5), ("p99", 0.99)] {
            let value = quantile(&took, q);
            row(&format!("{what}, {quantity}"), &format!("{value:.1} ms"), "100 ms", value / 100.0, "≤ 1");
        }
    }
    scene.herder.stop();
}

/// Fills a repository with files in folders of a hundred.
fn many(app: &Path, files: usize) {
    for file in 0..files {
        let folder = app.join(format!("folder-{}", file / 100));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("file-{file}.txt")), format!("file {file}\n").repeat(50))
            .expect("a file");
    }
}

/// The time from the command for a new task to the first moment of its session, which has the task's folder.
async fn clone(files: usize) {
    let script = "echo begun >> \"$NOTES\"";
    let notes = tempfile::tempdir().expect("a folder");
    let notes = notes.path().join("notes");
    let more = format!("env = {{ NOTES = {:?} }}", notes.display().to_string());
    let scene = Scene::start(|app| many(app, files), script, &more);
    let begun = || fs::read_to_string(&notes).unwrap_or_default().lines().count();
    scene.until("status", &[], |_| true).await;
    let (mut herders, mut gits) = (Vec::new(), Vec::new());
    for n in 0..CLONES {
        let alone = scene.dir.path().join(format!("alone-{n}"));
        let (from, to) = (scene.app.display().to_string(), alone.display().to_string());
        settle();
        let at = Instant::now();
        git(scene.dir.path(), &["clone", "--quiet", "--shared", &from, &to]);
        gits.push(at.elapsed().as_secs_f64() * 1e3);
        fs::remove_dir_all(&alone).expect("it is removed");
        settle();
        let at = Instant::now();
        scene.ask("task new", &["spark", "look around"]).await.expect("an answer");
        wait(|| begun() > n).await;
        herders.push(at.elapsed().as_secs_f64() * 1e3);
        scene.until("status", &["spark"], |said| said.contains("idle")).await;
    }
    say(&format!("the folder of a task, {files} files, {CLONES} pairs"));
    bench::head();
    let (herder, git) = (median(&herders), median(&gits));
    row(
        "a new task to its session",
        &format!("{herder:.0} ms"),
        &format!("{git:.0} ms"),
        herder / git,
        "≤ 1.3",
    );
    scene.herder.stop();
}

/// Accepted tasks from the first command to the last merge, and the same merges by git alone, in turn.
async fn merge(tasks: usize) {
    let script = "git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty -m begin; \
                  read -r work; name=\"${work##* }\"; echo \"$work\" > \"$name\"; git add --all; \
                  git -c user.name=a -c user.email=a@example.org commit --quiet -m \"$work\"";
    let more = "review = \"person\"\non_accept = \"merge\"\ncheck = \"test -e folder-0\"\ngit_name = \"a\"\ngit_email = \"a@example.org\"";
    let scene = Scene::start(|app| many(app, 1000), script, more);
    scene.until("status", &[], |_| true).await;
    for n in 0..tasks {
        let text = format!("write note-{n}");
        scene.ask("task new", &["spark", &text]).await.expect("an answer");
    }
    let log = |app: &Path, range: &str| {
        let said = Command::new("git").args(["rev-list", "--count", range]).current_dir(app).output();
        String::from_utf8(said.expect("git is there").stdout)
            .expect("a number")
            .trim()
            .parse::<usize>()
            .unwrap_or(0)
    };
    scene.until("task list", &["all"], |said| said.matches("in review").count() >= tasks).await;
    // Work by git alone has the same commits to merge, in a repository of its own.
    let copy = scene.dir.path().join("copy");
    let (from, to) = (scene.app.display().to_string(), copy.display().to_string());
    git(scene.dir.path(), &["clone", "--quiet", "--bare", "--mirror", &from, &to]);
    let heads = Command::new("git")
        .args(["for-each-ref", "--format=%(refname)", "refs/herder/*/head"])
        .current_dir(&copy)
        .output();
    let heads = String::from_utf8(heads.expect("git is there").stdout).expect("names");
    let heads: Vec<&str> = heads.lines().collect();
    let mut merged = 0;
    let (mut herders, mut gits) = (Vec::new(), Vec::new());
    for part in heads.chunks(tasks.div_ceil(ROUNDS)) {
        settle();
        let at = Instant::now();
        for head in part {
            merge_alone(scene.dir.path(), &copy, head);
        }
        gits.push(at.elapsed().as_secs_f64());
        merged += part.len();
        assert_eq!(log(&copy, "main"), merged + 1);
        settle();
        let at = Instant::now();
        for head in part {
            let number = head.split('/').nth(2).expect("the task");
            scene.ask("accept", &[number]).await.expect("it is accepted");
        }
        wait(|| log(&scene.app, "main") > merged).await;
        herders.push(at.elapsed().as_secs_f64());
        // The next part is measured once the tasks of this one are removed.
        let left = format!("{}", tasks - merged);
        scene
            .until("task list", &["all"], |said| said.matches("in review").count().to_string() == left)
            .await;
    }
    say(&format!("{tasks} accepted tasks of a repository with 1,000 files, in {ROUNDS} alternating parts"));
    bench::head();
    let (herder, alone) = (herders.iter().sum::<f64>(), gits.iter().sum::<f64>());
    let ratios: Vec<f64> = herders.iter().zip(&gits).map(|(herder, git)| herder / git).collect();
    let shown = (format!("{herder:.1} s"), format!("{alone:.1} s"));
    row("all merged, with their checks", &shown.0, &shown.1, herder / alone, "≤ 1.5");
    row("the same, median of the parts", "", "", median(&ratios), "≤ 1.5");
    scene.herder.stop();
}

/// Merges a task's commits into the base of a bare repository by git alone.
fn merge_alone(within: &Path, bare: &Path, head: &str) {
    let scratch = within.join("scratch");
    let (from, to) = (bare.display().to_string(), scratch.display().to_string());
    git(within, &["clone", "--quiet", "--shared", &from, &to]);
    git(&scratch, &["fetch", "--quiet", "origin", head]);
    git(&scratch, &["merge", "--quiet", "--squash", "FETCH_HEAD"]);
    git(&scratch, &["commit", "--quiet", "-m", "note"]);
    let check = Command::new("sh").args(["-c", "test -e folder-0"]).current_dir(&scratch).status();
    assert!(check.expect("sh").success());
    git(&scratch, &["push", "--quiet", "origin", "HEAD:main"]);
    fs::remove_dir_all(&scratch).expect("it is removed");
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let number = |usual| words.iter().find_map(|word| word.parse::<usize>().ok()).unwrap_or(usual);
    match words.first().map(String::as_str) {
        Some("clone") => clone(number(10_000)).await,
        Some("merge") => merge(number(50)).await,
        _ => diff(number(2_000)).await,
    }
}
