//! Runs one short-lived judge's process: it gets its input, its output is read within bounds, and it is ended with its
//! whole process tree.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::runtime::ProcessTrees;
use crate::runtime::process::{Owned, Tree, spawn};
use crate::runtime::protocol::Invocation;

/// Maximum size of standard output, in bytes. A verdict is a line; the CLIs add kilobytes, and a few hundred bytes
/// per generated word. A process that prints more is ended.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;

/// Maximum size of the kept end of the judge's standard error, in bytes; the beginning would only be a banner.
const COMPLAINT_MAX: usize = 8 * 1024;

/// Time between SIGTERM and SIGKILL for a judge's process: an interrupted judge has nothing to save.
const GRACE: Duration = Duration::from_millis(500);

/// Maximum time after the tree has ended to read the rest of the pipes (a survivor may hold one), and then to reap the
/// process.
const DRAIN: Duration = Duration::from_secs(1);

/// The reason why a judge's process ended.
#[derive(Debug)]
pub(super) enum End {
    /// The process exited by itself.
    Exited(ExitStatus),
    /// The process was ended at its timeout.
    TimedOut,
    /// The process was ended because it printed more than `OUTPUT_MAX`.
    Flooded,
    /// The process was ended because its result is not needed any more.
    Cancelled,
    /// The process ended, but its exit status is unknown.
    Lost,
}

/// The result of a judge's process: the reason of its end, its standard output, and the end of its standard error.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) end: End,
    pub(super) output: Vec<u8>,
    pub(super) complaint: String,
}

/// A judge's process to be run: its command line, working directory, marker, input and timeout.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) folder: &'a Path,
    pub(super) marker: &'a str,
    pub(super) input: String,
    pub(super) time: Duration,
}

/// Runs a judge's process to its end, or until `stop` is cancelled. None of its child processes survives this call.
///
/// # Errors
/// A sentence with the reason why the process cannot be started.
pub(super) async fn run(job: Job<'_>, trees: &ProcessTrees, stop: &CancellationToken) -> Result<Ran, String> {
    let (invocation, marker) = (job.invocation.clone(), job.marker.to_owned());
    let begin = spawn::begin(trees, job.folder, job.marker, job.time, move |trees, folder| {
        Ok((spawn::spawn(trees, &invocation, folder, &marker)?, ()))
    });
    tokio::pin!(begin);
    let begun = tokio::select! {
        begun = &mut begin => begun,
        () = stop.cancelled() => {
            // A start in progress is finished here, so that it can be ended. A start that hangs is not waited for:
            // its task ends it.
            let Ok(Ok(begun)) = timeout(spawn::STOPPED_START, begin).await else {
                return Ok(Ran { end: End::Cancelled, output: Vec::new(), complaint: String::new() });
            };
            Ok(begun)
        }
    };
    let (mut owned, ()) = begun.map_err(|missing| missing.to_string())?;
    let tree =
        Tree { root: Some(owned.identity), marker: job.marker.to_owned(), workspace: job.folder.to_owned() };
    let feeding = feed(owned.child.stdin.take(), job.input.into_bytes());
    let (stdout, stderr) = (owned.child.stdout.take(), owned.child.stderr.take());
    let mut output = Vec::new();
    let mut complaint = Vec::new();
    let until = Instant::now() + job.time;
    let end = {
        let talking = async {
            let heard = async {
                match stdout {
                    Some(stdout) => read_all(stdout, &mut output).await,
                    None => Ok(true),
                }
            };
            let complained = async {
                if let Some(stderr) = stderr {
                    read_tail(stderr, &mut complaint).await;
                }
            };
            let ((), heard, ()) = futures_util::future::join3(feeding, heard, complained).await;
            heard
        };
        tokio::pin!(talking);
        watch(&mut owned, talking, &tree, trees, until, stop).await
    };
    // Without a scan, an empty tree is certain only after the first process was waited for.
    if !matches!(end, End::Exited(_)) || !trees.nothing_left(&tree) {
        let survivors = trees.end(&tree, GRACE).await;
        if !survivors.is_empty() {
            tracing::warn!(?survivors, "processes of an evaluation could not be ended");
        }
    }
    // The tree is gone: this only reaps it.
    let _ = timeout(DRAIN, owned.wait()).await;
    Ok(Ran { end, output, complaint: String::from_utf8_lossy(&complaint).into_owned() })
}

/// Waits until the process exits or closes its output, the timeout passes, or `stop` is cancelled.
async fn watch(
    owned: &mut Owned,
    mut talking: impl Future<Output = io::Result<bool>> + Unpin,
    tree: &Tree,
    trees: &ProcessTrees,
    until: Instant,
    stop: &CancellationToken,
) -> End {
    let mut heard = None;
    let status = loop {
        tokio::select! {
            status = owned.wait() => break status,
            whole = &mut talking, if heard.is_none() => {
                if matches!(whole, Ok(false)) {
                    return End::Flooded;
                }
                heard = Some(whole);
            }
            () = sleep_until(until) => return End::TimedOut,
            () = stop.cancelled() => return End::Cancelled,
        }
    };
    if heard.is_none() {
        // A descendant may hold its pipes open; its own output is in them already.
        if !trees.nothing_left(tree) {
            trees.end(tree, GRACE).await;
        }
        if let Ok(Ok(false)) = timeout(DRAIN, talking).await {
            return End::Flooded;
        }
    }
    match status {
        Ok(status) => End::Exited(status),
        Err(_) => End::Lost,
    }
}

/// Writes the input to the process's standard input and closes it. Errors are ignored, because a process may stop
/// reading early.
async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&input).await;
        let _ = stdin.shutdown().await;
    }
}

/// Appends everything from `source` to `into`. Returns `Ok(false)` if there is more than `OUTPUT_MAX`.
async fn read_all(mut source: impl AsyncRead + Unpin, into: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        into.reserve(8 * 1024);
        if source.read_buf(into).await? == 0 {
            return Ok(true);
        }
        if into.len() > OUTPUT_MAX {
            return Ok(false);
        }
    }
}

/// Reads `source` to its end and keeps its last `COMPLAINT_MAX` bytes.
async fn read_tail(mut source: impl AsyncRead + Unpin, into: &mut Vec<u8>) {
    loop {
        into.reserve(8 * 1024);
        match source.read_buf(into).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let over = into.len().saturating_sub(COMPLAINT_MAX);
                into.drain(..over);
            }
        }
    }
}
