//! `herder runner`: the process that runs agents for a bot on the same machine, and outlives it.
//!
//! One per data folder, held by a lock. Before it listens it ends what a runner that was killed has left.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use rustix::fs::{FlockOperation, flock};
use tokio::io::{AsyncWriteExt as _, DuplexStream, split};
use tokio::net::UnixStream;
use tokio_util::bytes::BytesMut;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::facts::facts;
use super::host::{Host, next};
use super::record::Life;
use super::tools;
use super::wire::{Envelope, Frames, FromRunner, Status, ToRunner, WireError};
use super::{Machine, Setup, prefix};
use crate::cluster::client::{LinkError, connect_runner};
use crate::cluster::net::{Facts, Identity, Pace, Station};
use crate::cluster::runner_folder::RunnerFolder;
use crate::core::id::RunnerName;
use crate::runtime::grants::Grants;
use crate::runtime::process::descent::Record;
use crate::runtime::{orphans, process};
use crate::socket::{BindError, bind};

/// Name of the socket in the data folder.
pub const SOCKET: &str = "runner.sock";

/// Name of the file that a runner locks, in the data folder.
pub const LOCK: &str = "runner.lock";

/// Name of the file with the id of the bot's journal, in the data folder.
pub const JOURNAL: &str = "runner.journal";

/// Name of the file with the record of a runner that has not ended in order, in the data folder.
pub(super) const RECORD: &str = "runner.record";

/// Number of tries to lock the data folder, and the time between two: a bot that looks whether a runner is there has the
/// lock for a moment.
const LOCK_TRIES: u32 = 5;
const LOCK_AGAIN: Duration = Duration::from_millis(20);

/// Maximum length of a journal's id, in bytes.
const JOURNAL_MAX: usize = 200;

/// Maximum time for a runner to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Reason why a runner cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another one has the data folder.
    #[error("another runner has the data folder {}", .0.display())]
    Locked(PathBuf),
    /// The socket cannot be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Processes of an earlier runner cannot be ended: agents would run beside them.
    #[error("processes of an earlier runner cannot be ended: {}", list(.0))]
    Survivors(Vec<u32>),
    /// A file of the data folder cannot be used.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// It cannot be reached by the bot of another machine.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The system refuses.
    #[error("the runner cannot be started: {0}")]
    System(io::Error),
}

/// Returns process ids as people read them.
pub(crate) fn list(pids: &[u32]) -> String {
    pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Reason why a runner does not answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// None runs.
    #[error("no runner runs with this data directory (nobody listens on {})", .0.display())]
    NotRunning(PathBuf),
    /// It does not answer in time.
    #[error("the runner does not answer")]
    Silent,
    /// Its answer cannot be read.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// Runs a runner until `shutdown`, or until it is told to stop. `grace` is the time between SIGTERM and SIGKILL;
/// `record` was made before this process adopts others; `has_tools` serves herder's tools to the agents; `parent` is the bot that has
/// started this process, if one has; `joined`: the bot of another machine.
///
/// # Errors
/// If it cannot be started; then nothing was.
pub async fn run(
    mut setup: Setup,
    (record, has_tools, parent): (Option<Record>, bool, Option<process::Identity>),
    (grace, unattended): (Duration, Duration),
    joined: Option<RunnerFolder>,
    shutdown: CancellationToken,
) -> Result<(), StartError> {
    let name = joined.as_ref().and_then(|joined| RunnerName::new(joined.name()).ok());
    let folder = setup.data_dir.clone();
    std::fs::create_dir_all(&folder).map_err(|cause| StartError::Io { path: folder.clone(), cause })?;
    // Held until the end.
    let _lock = lock(&folder).await?;
    let file = folder.join(JOURNAL);
    let trees = setup.trees.clone();
    let (life, earlier) = Life::begin(folder.join(RECORD), record, &trees);
    let journal = journal(&file).map_err(|cause| StartError::Io { path: file.clone(), cause })?;
    if let Some(journal) = &journal {
        let left = orphans::end(&setup.trees, &prefix(journal, name.as_ref()), &[], grace).await;
        if !left.survivors.is_empty() {
            return Err(StartError::Survivors(left.survivors));
        }
        if !left.ended.is_empty() {
            info!(processes = ?left.ended, "ended what an earlier runner left running");
        }
    }
    let past = life.past(earlier, parent).await;
    if has_tools {
        // With the lock, and once no agent of an earlier runner is left: the keys of earlier sessions are removed.
        match std::env::current_exe().and_then(|program| Grants::new(program, &folder)) {
            Ok(grants) => setup.tools = Some(grants),
            Err(reason) => warn!(%reason, "agents have to do without herder's tools"),
        }
    }
    let (tools, running) = (setup.tools.clone(), setup.trees.running().clone());
    let machine = Machine::new(setup).named(name);
    machine.sweep().await;
    let host = Host::new(machine, journal, Some(file), past).map_err(StartError::System)?;
    if let Some(parent) = parent {
        host.started_by(parent);
    }
    let station = match &joined {
        Some(joined) => Some(station(joined, &host, folder.clone()).await?),
        None => None,
    };
    let path = folder.join(SOCKET);
    let listener = bind(&path).await?;
    info!(socket = %path.display(), "the runner listens");
    let over = CancellationToken::new();
    let calls = tools.and_then(|grants| Some((grants.socket()?, grants)));
    let serving_tools = async {
        let Some((socket, grants)) = calls else { return };
        match bind(&socket).await {
            Ok(listener) => {
                tools::serve((listener, socket), grants, host.clone(), running, over.clone()).await
            }
            Err(reason) => warn!(%reason, "agents have to do without herder's tools"),
        }
    };
    // Twice the grace, as for the end of any session.
    let serving = host.serve(listener, shutdown, grace * 2 + ANSWER_WITHIN);
    let attending = async {
        let Some(station) = station else { return };
        let attend = |stream: DuplexStream| {
            let host = host.clone();
            async move { host.attend(split(stream)).await }.boxed()
        };
        if let Err(reason) = station.serve(attend, over.clone()).await {
            error!(%reason, "the bot cannot reach this runner");
        }
    };
    let watching = over.run_until_cancelled(host.end_unattended(unattended));
    let noting = over.run_until_cancelled(life.keep());
    let serving = async {
        serving.await;
        over.cancel();
    };
    tokio::join!(serving, watching, noting, serving_tools, attending);
    life.end();
    if let Err(reason) = std::fs::remove_file(&path) {
        warn!(%reason, "the runner's socket could not be taken away");
    }
    Ok(())
}

/// Returns the end of the connections to the bot of another machine.
async fn station(
    joined: &RunnerFolder,
    host: &Host,
    data_dir: PathBuf,
) -> Result<Station<impl Fn() -> Facts + use<>>, StartError> {
    let uplink = connect_runner(joined).await?;
    let identity = Identity {
        bot: joined.bot().to_owned(),
        runner: joined.name().to_owned(),
        bot_key: joined.pinned(),
        incarnation: host.incarnation().to_owned(),
    };
    info!(runner = joined.name(), servers = joined.servers().join(", "), "the bot is on another machine");
    let host = host.clone();
    let key = joined.credentials().key.public_key();
    let facts = move || facts(&data_dir, &key, host.sessions().len());
    Ok(Station::new(uplink, identity, facts, Pace::default()))
}

/// Locks the data folder for one runner.
async fn lock(folder: &Path) -> Result<File, StartError> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(|cause| StartError::Io { path, cause })?;
    for _ in 0..LOCK_TRIES {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(file);
        }
        tokio::time::sleep(LOCK_AGAIN).await;
    }
    Err(StartError::Locked(folder.to_owned()))
}

/// Reads the id of the journal whose agents an earlier runner ran.
fn journal(file: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) if (1..=JOURNAL_MAX).contains(&text.len()) => Ok(Some(text)),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "it holds no id of a journal; remove it")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// A question to a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Its state.
    Status,
    /// To end its sessions, then itself, which is waited for.
    Stop,
    /// To end itself as soon as it has neither a session nor a job, which is waited for.
    StopWhenIdle,
}

/// Returns true if a process has the lock of the data folder's runner, even if it does not listen yet.
#[must_use]
pub fn is_there(data_dir: &Path) -> bool {
    let Ok(file) = File::open(data_dir.join(LOCK)) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

/// Asks the runner of a data folder; returns its state.
///
/// # Errors
/// If there is none, or it does not answer.
pub async fn ask(data_dir: &Path, question: Question) -> Result<Status, AskError> {
    let path = data_dir.join(SOCKET);
    let Ok(mut stream) = UnixStream::connect(&path).await else { return Err(AskError::NotRunning(path)) };
    let (mut frames, mut read, mut out) = (Frames::default(), BytesMut::new(), BytesMut::new());
    let body = match question {
        Question::Status => ToRunner::Status,
        Question::Stop => ToRunner::Stop,
        Question::StopWhenIdle => ToRunner::StopWhenIdle,
    };
    frames.write(&Envelope::new(0, 0, body), &mut out)?;
    let answer = async {
        stream.write_all(&out).await?;
        next::<FromRunner>(&mut stream, &mut frames, &mut read).await
    };
    let answer = tokio::time::timeout(ANSWER_WITHIN, answer).await.map_err(|_| AskError::Silent)??;
    let Some(Envelope { body: FromRunner::Status(status), .. }) = answer else {
        return Err(AskError::Silent);
    };
    if question != Question::Status {
        // It closes the connection when it has ended.
        while next::<FromRunner>(&mut stream, &mut frames, &mut read).await?.is_some() {}
    }
    Ok(status)
}
