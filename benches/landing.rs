//! The diff of a task with so many changed lines: the time from the command to its answer. The mark is 100 ms.
//!
//! ```text
//! cargo bench --bench landing [-- LINES]
//! ```
#![expect(clippy::disallowed_methods, reason = "what is measured here is real time")]

mod bench;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bench::{Herder, Toml, quantile, row, say};
use herder::local::{self, Answer, Request};

/// Diffs that are measured.
const TIMES: usize = 50;

/// Number of files that the changed lines are in.
const FILES: usize = 20;

fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"]).args(words).current_dir(folder);
    assert!(command.output().expect("git is there (package git)").status.success(), "{words:?}");
}

async fn ask(socket: &Path, command: &str, args: &[&str]) -> Option<Answer> {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    local::ask(socket, &Request { command: command.to_owned(), args }).await.ok().filter(|answer| answer.ok)
}

/// Asks until the answer is as expected.
async fn until(socket: &Path, command: &str, args: &[&str], is_so: impl Fn(&str) -> bool) {
    let begun = Instant::now();
    while !ask(socket, command, args).await.is_some_and(|answer| is_so(&answer.lines.join("\n"))) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{command} was never answered so");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::main]
async fn main() {
    let lines = std::env::args().skip(1).find_map(|word| word.parse::<usize>().ok()).unwrap_or(2_000);
    let dir = tempfile::tempdir().expect("a folder");
    let app = dir.path().join("app");
    std::fs::create_dir(&app).expect("a folder");
    git(&app, &["init", "--quiet"]);
    for file in 0..FILES {
        let text: String = (0..lines).map(|line| format!("line {line} of {file}\n")).collect();
        std::fs::write(app.join(format!("file-{file}.txt")), text).expect("a file");
    }
    git(&app, &["add", "--all"]);
    git(&app, &["commit", "--quiet", "-m", "begin"]);
    // Half of the changed lines are committed.
    let each = lines / 2 / FILES;
    let change = format!("for f in *.txt; do sed -i \"1,{each}s/^/changed /\" $f; done");
    let commit = "git -c user.name=a -c user.email=a@example.org commit --quiet --all -m x";
    let again = "for f in file-?.txt; do sed -i '1s/^/uncommitted /' $f; done";
    let script = format!("read -r work; {change}; {commit}; {again}");
    let agent = format!(
        "[[agent]]\nname = \"spark\"\nruntime = \"command\"\nrepository = {:?}\ncommand = [\"sh\", \"-c\", {script:?}]",
        app.display().to_string()
    );
    let data = dir.path().join("data");
    let herder = Herder::start(&Toml::new(&data).raw(&agent).write(dir.path()));
    let socket = data.join(local::FILE_NAME);
    until(&socket, "task new", &["spark", "change it"], |_| true).await;
    until(&socket, "task diff", &["1", "stat"], |said| said.contains(&format!("{FILES} files"))).await;
    for (what, args) in [("stat", vec!["1", "stat"]), ("one file", vec!["1", "file-7.txt"])] {
        let mut took = Vec::new();
        for _ in 0..TIMES {
            let begun = Instant::now();
            let answer = ask(&socket, "task diff", &args).await.expect("an answer");
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
    herder.stop();
}
