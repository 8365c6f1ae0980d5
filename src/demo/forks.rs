//! Scripted agents that fork, to show that the whole process tree is ended.
#![expect(
    clippy::disallowed_methods,
    reason = "a script is a process of its own without tokio, and sleeping is what it has been told to do"
)]

use std::io::{self, BufRead as _};
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use super::agent::{self, LIFE};

/// Makes this process ignore SIGTERM until it ends.
pub(super) fn ignore_sigterm() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut asked = runtime.block_on(async { signal(SignalKind::terminate()) })?;
    thread::spawn(move || runtime.block_on(async { while asked.recv().await.is_some() {} }));
    Ok(())
}

/// Runs the script `fork`: starts child processes and daemons, then stays until it is ended.
pub(super) fn alone() -> io::Result<ExitCode> {
    begin()?;
    agent::say("forked two children and two daemons")?;
    thread::sleep(LIFE);
    Ok(ExitCode::SUCCESS)
}

/// Starts two children in sessions of their own and two daemons without a parent; all of them stay, and ignore
/// SIGTERM like this process.
pub(super) fn begin() -> io::Result<()> {
    ignore_sigterm()?;
    let itself = std::env::current_exe()?;
    let begin = |what: &str| {
        Command::new(&itself)
            .args(["demo-agent", "fork-child", "--as", what])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
    };
    let mut children = [begin("session")?, begin("session")?, begin("daemon")?, begin("daemon")?];
    for child in &mut children {
        // Each prints a line once it is set up.
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            io::BufReader::new(output).read_line(&mut line)?;
        }
    }
    Ok(())
}

/// Runs the script `fork-child`: a process started by [`begin`], which stays; if `daemon` is set, it leaves a process
/// without a parent instead.
pub(super) fn child(daemon: bool) -> io::Result<ExitCode> {
    ignore_sigterm()?;
    rustix::process::setsid()?;
    if daemon {
        // The process that stays has no living parent, and prints the line that its grandparent waits for.
        Command::new(std::env::current_exe()?)
            .args(["demo-agent", "fork-child", "--as", "session"])
            .stdin(Stdio::null())
            .spawn()?;
        return Ok(ExitCode::SUCCESS);
    }
    agent::say("here")?;
    thread::sleep(LIFE);
    Ok(ExitCode::SUCCESS)
}
