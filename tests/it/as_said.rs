//! Words of agents and people in the shell of a real herder: printed as they were said, and without secrets.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::process_log::{herder, read_until, start, stop};

/// A secret of the configuration.
const SECRET: &str = "hunter2-canary-1";

/// The same with marks of Markdown in it. Whoever takes them out makes a secret of it.
const BROKEN: &str = "hunt**er**2-canary-1";

/// Words in which marks of Markdown are no marks.
const PLAIN: &str = "2**10 src/**/*.rs `!pause`";

/// Its work is printed, and a file with the secret.
const CONFIG: &str = r#"
[access]
admins = ["irc:embedded:ann"]

[http]
listen = "unix:FOLDER/http.sock"
token = [{ name = "program", role = "viewer", secret = { file = "program.token" } }]

[[agent]]
name = "spark"
runtime = "command"
command = ["sh", "-c", "cat; echo; cat words"]
workspace = "FOLDER/work"
"#;

/// Returns what a command prints.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = herder(folder, arguments).output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
    text.into_owned()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    fs::create_dir(path.join("work")).expect("the workspace is made");
    fs::write(path.join("program.token"), SECRET).expect("the secret is written");
    // The secret is also printed over two lines, with a character of no width, and across the cut of the log's lines.
    let (before, after) = SECRET.split_at(7);
    let words = format!(
        "printed {PLAIN}\n{BROKEN}\nkey {SECRET}\n{before}\n{after}\n{before}\u{200b}{after}\n{} {SECRET}\n",
        "x".repeat(110)
    );
    fs::write(path.join("work/words"), words).expect("the words are written");
    let config = CONFIG.replace("FOLDER", &path.display().to_string());
    fs::write(path.join("bot.toml"), config).expect("the configuration is written");
    folder
}

/// Returns the files below a folder that contain a word.
fn files_with(folder: &Path, word: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            found.extend(files_with(&path, word));
        } else if let Ok(bytes) = fs::read(&path)
            && bytes.windows(word.len()).any(|window| window == word)
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn words_are_printed_as_they_were_said_and_secrets_are_not() {
    let folder = folder();
    let path = folder.path();
    let (child, mut log) = start(path, "json");
    read_until(&mut log, "agent added");
    printed(path, &["task", "add", "spark", &format!("given {PLAIN} {BROKEN}")]);
    read_until(&mut log, "session ended");
    printed(path, &["pause", "spark"]);
    let added = printed(path, &["task", "add", "spark", "--json", &format!("waits {PLAIN} {BROKEN}")]);
    let task = serde_json::from_str::<Value>(&added).expect("it is JSON").to_string();
    let number = task.split("\"work\":").nth(1).map(|rest| rest.chars().take_while(char::is_ascii_digit));
    let number: String = number.map(Iterator::collect).unwrap_or_else(|| panic!("{task}"));
    for (arguments, said) in [
        (&["log", "spark", "1"][..], vec!["given", "printed"]),
        (&["log", "spark", "session", "1"], vec!["given", "printed"]),
        (&["log", "spark"], vec!["given"]),
        (&["queue", "spark"], vec!["waits"]),
        (&["task", "show", &number], vec!["waits"]),
        (&["status", "spark"], vec![]),
        (&["history", "spark", "50"], vec!["given", "waits"]),
        (&["audit", "spark", "50"], vec!["given", "waits"]),
    ] {
        let shown = printed(path, arguments);
        for before in said {
            assert!(shown.contains(&format!("{before} {PLAIN}")), "{arguments:?}: {shown}");
            assert!(shown.contains(BROKEN), "{arguments:?}: {shown}");
        }
        assert!(!shown.contains("hunter2"), "{arguments:?}: {shown}");
        let data = printed(path, &[arguments, &["--json"]].concat());
        assert!(!data.contains(SECRET), "{arguments:?}: {data}");
    }
    let whole = printed(path, &["log", "spark", "session", "1"]);
    assert_eq!(whole.matches("[redacted]").count(), 4, "{whole}");
    stop(child);
    // The journal holds the redacted text.
    let export = printed(path, &["export"]);
    assert!(export.contains("[redacted]") && export.contains("src/**/*.rs"), "{export}");
    assert!(!export.contains("hunter2"), "{export}");
    let found = files_with(&path.join("data"), SECRET.as_bytes());
    assert_eq!(found, Vec::<String>::new());
    let found = files_with(&path.join("data"), b"src/**/*.rs");
    assert!(!found.is_empty(), "the database can be searched for words");
}
