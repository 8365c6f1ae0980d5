//! The demo's repository, and the changes that a scripted agent commits in its clone of it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::core::check::Check;
use crate::core::checkout::Repository;
use crate::core::review::{Landing, Method, OnAccept, Reviewer};

/// The program that the demo's task is about.
pub(super) const PROGRAM: &str = "greet.sh";

/// The check of the demo's tasks.
const CHECK: &str = "test.sh";

/// Notes of the scripted agent on what it is given once the program is right.
const NOTES: &str = "notes.txt";

/// The program before the task, after the agent's first try, and after its second.
const PROGRAMS: [&str; 3] = ["echo 'hello'\n", "echo \"hello $1\"\n", "echo \"hello, $1\"\n"];

/// Text of the check: it fails for the agent's first try.
const CHECK_TEXT: &str = "said=$(sh greet.sh moss)\n\
    [ \"$said\" = 'hello' ] || [ \"$said\" = 'hello, moss' ] && exit\n\
    echo \"greet.sh moss: 'hello, moss' is expected, '$said' was said\"\n\
    exit 1\n";

/// Author of the first commit.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "demo"),
    ("GIT_AUTHOR_EMAIL", "demo@example.org"),
    ("GIT_COMMITTER_NAME", "demo"),
    ("GIT_COMMITTER_EMAIL", "demo@example.org"),
];

/// Makes the repository `path` with one commit, unless it is there.
///
/// # Errors
/// git is not installed or is too old, or the disk refuses.
pub(super) fn make(path: &Path) -> io::Result<Repository> {
    // A demo that was killed may have left one without a commit.
    let is_made =
        path.join(".git").is_dir() && git(path, &["rev-parse", "--quiet", "--verify", "HEAD"]).is_ok();
    if !is_made {
        std::fs::create_dir_all(path)?;
        std::fs::write(path.join(PROGRAM), PROGRAMS[0])?;
        std::fs::write(path.join(CHECK), CHECK_TEXT)?;
        git(path, &["init", "--quiet", "--initial-branch=main"])?;
        git(path, &["add", "--all"])?;
        git(path, &["commit", "--quiet", "--message", "Greet"])?;
    }
    Ok(Repository {
        path: path.to_owned(),
        base: "main".to_owned(),
        git_name: "clay".to_owned(),
        git_email: "clay@example.org".to_owned(),
        check: Some(Box::new(Check {
            command: format!("sh {CHECK}"),
            timeout: Check::TIMEOUT,
            tries: Check::TRIES,
        })),
        landing: Landing { review: Reviewer::Person, on_accept: OnAccept::Merge(Method::default()) },
        ..Repository::default()
    })
}

/// Commits the next change in the clone that is the working directory, for a scripted agent that was given `work`; returns
/// what the agent says about it.
///
/// # Errors
/// git fails, or the disk refuses.
pub(super) fn change(work: &str) -> io::Result<&'static str> {
    let here = PathBuf::from(".");
    let program = std::fs::read_to_string(PROGRAM).unwrap_or_default();
    let (subject, said) = match PROGRAMS.iter().position(|text| *text == program) {
        Some(0) => {
            std::fs::write(PROGRAM, PROGRAMS[1])?;
            ("Greet whoever is named", "greet.sh greets whoever is named.")
        }
        Some(1) => {
            std::fs::write(PROGRAM, PROGRAMS[2])?;
            ("Put the comma in", "The check is right: there was no comma. Now there is one.")
        }
        _ => {
            let notes = std::fs::read_to_string(NOTES).unwrap_or_default();
            std::fs::write(NOTES, format!("{notes}{}\n", work.trim()))?;
            ("Note what is to be done", "It is in notes.txt: I am a script that can only greet.")
        }
    };
    git(&here, &["add", "--all"])?;
    git(&here, &["commit", "--quiet", "--message", subject])?;
    Ok(said)
}

fn git(folder: &Path, words: &[&str]) -> io::Result<()> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(words).stdin(Stdio::null());
    // The person's settings and hooks take no part.
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    if words.first() == Some(&"commit") && !folder.as_os_str().eq(".") {
        command.envs(AUTHOR);
    }
    let Output { status, stderr, .. } = command.output()?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(io::Error::other(format!("git {}: {said}", words.first().unwrap_or(&""))))
}
