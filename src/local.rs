//! The local socket: the same commands from the shell, for the user that runs herder.
//!
//! The socket is `<data_dir>/herder.sock` with mode 0600; each peer's user id is checked as well, because the mode is
//! set only after the socket exists. Each side sends one JSON object on a line: a [`Request`], then its [`Answer`].
//! Permissions are checked in [`crate::commands::Dispatcher`], as for everybody; this file only supplies the author.

pub mod follow;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::commands::Dispatcher;
use crate::runner::link::Link;
use crate::runtime::process::descent::{Descent, Record, descends_from, judge};
use crate::socket::{self, PATH_MAX};
use follow::Onward;

/// The socket's name in the data directory.
pub use crate::config::SOCKET as FILE_NAME;

pub use crate::socket::BindError;

/// Maximum length of a request, in bytes: far above a prompt of many pages.
const REQUEST_MAX: u64 = 1024 * 1024;

/// Maximum length of an answer, in bytes; commands bound their output far below it.
const ANSWER_MAX: u64 = 64 * 1024 * 1024;

/// Maximum number of concurrent connections. More wait in the listener's queue.
const PEERS_MAX: usize = 16;

/// Shells that follow what happens, beside the peers.
const FOLLOWERS_MAX: usize = 16;

/// Maximum number of concurrent refusals. Further unauthorised peers are disconnected without an answer.
const STRANGERS_MAX: usize = 4;

/// Timeout of sending a refusal.
const TURN_AWAY: Duration = Duration::from_secs(1);

/// Maximum time for a peer to complete a request line, the first or a later one; then it is disconnected without an
/// answer.
const IDLE: Duration = Duration::from_secs(60);

/// A command from the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The command, e.g. `pause` or `agent add`.
    pub command: String,
    /// Its arguments, as split by the shell.
    #[serde(default)]
    pub args: Vec<String>,
}

/// A request as received from the socket.
#[derive(Debug, Serialize, Deserialize)]
struct Asked<R> {
    #[serde(flatten)]
    request: R,
    /// True if the answer has to contain data for programs; the default.
    #[serde(default = "yes")]
    data: bool,
    /// Asks for the events that follow, after the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    follow: Option<Onward>,
}

fn yes() -> bool {
    true
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// True if the command was carried out.
    pub ok: bool,
    /// Text for people.
    pub lines: Vec<String>,
    /// Data for programs.
    #[serde(default)]
    pub data: Option<serde_json::Value>,
}

/// The reason why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No herder listens.
    #[error("no herder runs with this data directory (nobody listens on {})", .0.display())]
    NotRunning(PathBuf),
    /// The socket belongs to another user.
    #[error("the herder behind {} runs as another user", .0.display())]
    NotAllowed(PathBuf),
    /// The path exceeds the kernel's limit for sockets.
    #[error("the path {} is too long for a socket", .0.display())]
    PathTooLong(PathBuf),
    /// herder ended before it answered.
    #[error("herder ended before it answered")]
    Ended,
    /// The answer cannot be parsed.
    #[error("herder's answer cannot be read: {0}")]
    Unreadable(serde_json::Error),
    /// The connection failed.
    #[error("the connection to herder failed: {0}")]
    Io(#[from] io::Error),
}

/// The socket, bound but not served yet.
#[derive(Debug)]
pub struct Bound {
    listener: UnixListener,
    path: PathBuf,
    kin: Kin,
}

/// The processes whose descendants are agents.
#[derive(Debug, Clone, Default)]
struct Kin {
    /// Earlier herders of this boot that did not end in order.
    past: Option<Arc<Record>>,
    /// The process that runs the agents, if it is another one.
    runner: Option<Link>,
}

/// Binds the socket, see [`socket::bind`].
///
/// # Errors
/// A [`BindError`] with the obstacle.
pub async fn bind(path: &Path) -> Result<Bound, BindError> {
    Ok(Bound { listener: socket::bind(path).await?, path: path.to_owned(), kin: Kin::default() })
}

impl Bound {
    /// Adds earlier herders of this boot that did not end in order, and the runner: callers must not be their agents.
    #[must_use]
    pub fn knowing(self, past: Option<Arc<Record>>, runner: Option<Link>) -> Self {
        Self { kin: Kin { past, runner }, ..self }
    }

    /// Returns the listener, and the path to remove at the end.
    pub(crate) fn into_parts(self) -> (UnixListener, PathBuf) {
        (self.listener, self.path)
    }

    /// Answers requests until `shutdown`; those in progress are finished.
    pub async fn serve(self, dispatcher: Dispatcher, shutdown: CancellationToken) {
        let peers = TaskTracker::new();
        let room = Arc::new(Semaphore::new(PEERS_MAX));
        let doorstep = Arc::new(Semaphore::new(STRANGERS_MAX));
        let followers = Arc::new(Semaphore::new(FOLLOWERS_MAX));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
            let accepted = tokio::select! {
                () = shutdown.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(reason) => {
                    warn!(%reason, "the local socket could not accept a connection");
                    // Most likely no file descriptors are left: without a pause this would spin.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            if let Some(stranger) = Stranger::of(&stream, &self.kin) {
                warn!(?stranger, "turned away from the local socket");
                // Refusals have slots of their own, so that agents that keep connecting block no one.
                if let Ok(doorstep) = Arc::clone(&doorstep).try_acquire_owned() {
                    peers.spawn(async move {
                        let _doorstep = doorstep;
                        turn_away(stream, stranger).await;
                    });
                }
                continue;
            }
            let (dispatcher, shutdown) = (dispatcher.clone(), shutdown.clone());
            let followers = Arc::clone(&followers);
            peers.spawn(async move {
                if let Err(reason) =
                    Box::pin(answer(stream, &dispatcher, (permit, followers), &shutdown)).await
                {
                    warn!(%reason, "a connection on the local socket failed");
                }
            });
        }
        peers.close();
        peers.wait().await;
        if let Err(reason) = std::fs::remove_file(&self.path) {
            warn!(%reason, "the local socket could not be taken away");
        }
    }
}

/// Binds the socket and answers until `shutdown`.
///
/// # Errors
/// A [`BindError`] if it cannot be bound.
pub async fn serve(
    path: &Path,
    dispatcher: Dispatcher,
    shutdown: CancellationToken,
) -> Result<(), BindError> {
    bind(path).await?.serve(dispatcher, shutdown).await;
    Ok(())
}

/// A peer that is not authorised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stranger {
    /// It runs as another user. Root is admitted, since no file mode excludes it anyway.
    OtherUser,
    /// It is an agent: it runs as the same user, but is a descendant of herder (which is the subreaper of all its orphans).
    Agent,
    /// It may be a leftover of an agent of an earlier, killed herder: no descendant of this one, so descent cannot tell
    /// it from a person's shell. It is refused too.
    Unproven,
}

impl Stranger {
    fn of(stream: &UnixStream, kin: &Kin) -> Option<Self> {
        let own = rustix::process::geteuid().as_raw();
        let Ok(peer) = stream.peer_cred() else { return Some(Self::OtherUser) };
        if peer.uid() != own && peer.uid() != 0 {
            return Some(Self::OtherUser);
        }
        let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
        let runner = kin.runner.as_ref().and_then(Link::process);
        if let (Some(pid), Some(runner)) = (pid, runner)
            && descends_from(pid, runner)
        {
            return Some(Self::Agent);
        }
        // Agents of a runner that was killed have no runner above them.
        let left = kin.runner.as_ref().and_then(Link::left);
        let past = match (left, kin.past.as_deref()) {
            (Some(left), Some(past)) => Some(left.with(past)),
            (left, past) => left.or_else(|| past.cloned()),
        };
        match pid.map(|pid| judge(pid, past.as_ref())) {
            Some(Descent::Others) => None,
            Some(Descent::Unproven) => Some(Self::Unproven),
            Some(Descent::Agents) | None => Some(Self::Agent),
        }
    }

    fn told(self) -> &'static str {
        match self {
            Self::OtherUser => "this herder runs as another user, who alone may ask it here",
            Self::Agent => "an agent may not command the herder it runs under: ask a person to, in a channel",
            Self::Unproven => {
                "an earlier herder was killed, and this process may be what one of its agents left behind: ask from a new \
                 login or from a shell that is older than that herder, or in a channel; a reboot ends this"
            }
        }
    }
}

/// Sends the refusal as the answer to any request.
async fn turn_away(mut stream: UnixStream, stranger: Stranger) {
    let Ok(mut text) = serde_json::to_vec(&refused(stranger.told().to_owned())) else { return };
    text.push(b'\n');
    let told = tokio::time::timeout(TURN_AWAY, async {
        stream.write_all(&text).await?;
        stream.shutdown().await?;
        // Closing with an unread request would discard the answer.
        let mut rest = [0; 1024];
        while stream.read(&mut rest).await? > 0 {}
        Ok::<(), io::Error>(())
    });
    if !matches!(told.await, Ok(Ok(()))) {
        tracing::debug!("whoever was turned away did not wait to hear why");
    }
}

async fn answer(
    mut stream: UnixStream,
    dispatcher: &Dispatcher,
    (permit, followers): (OwnedSemaphorePermit, Arc<Semaphore>),
    shutdown: &CancellationToken,
) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut reader).take(REQUEST_MAX);
        let read = tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            read = tokio::time::timeout(IDLE, bounded.read_until(b'\n', &mut line)) => read,
        };
        // An idle peer is disconnected without an answer.
        let Ok(read) = read else { return Ok(()) };
        if read? == 0 {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let answer = if !whole && line.len() as u64 >= REQUEST_MAX {
            refused(format!("the request is longer than {REQUEST_MAX} bytes"))
        } else {
            match serde_json::from_slice::<Asked<Request>>(&line) {
                Ok(Asked { request, follow: Some(onward), .. }) => match followers.try_acquire_owned() {
                    Ok(_place) => {
                        // It stays for long, and commands of others need their places.
                        drop(permit);
                        let ends = (reader, writer);
                        return Box::pin(follow::serve(ends, dispatcher, (&request, onward), shutdown)).await;
                    }
                    Err(_) => {
                        let text =
                            format!("{FOLLOWERS_MAX} shells follow what happens already: end one of them");
                        let mut text = serde_json::to_vec(&refused(text))?;
                        text.push(b'\n');
                        return writer.write_all(&text).await;
                    }
                },
                Ok(Asked { request, data, follow: None }) => {
                    let reply = dispatcher.request(&request.command, &request.args).await;
                    Answer { ok: reply.ok, lines: reply.lines, data: reply.data.filter(|_| data) }
                }
                Err(reason) => refused(format!(
                    "the request is not a line like {{\"command\":\"pause\",\"args\":[\"spark\"]}}: {reason}"
                )),
            }
        };
        let mut text = serde_json::to_vec(&answer)?;
        if text.len() as u64 >= ANSWER_MAX {
            text = serde_json::to_vec(&refused(format!(
                "the answer is longer than {ANSWER_MAX} bytes: ask for less at a time"
            )))?;
        }
        text.push(b'\n');
        writer.write_all(&text).await?;
        if !whole {
            return Ok(());
        }
    }
}

fn refused(line: String) -> Answer {
    Answer { ok: false, lines: vec![line], data: None }
}

/// Sends a request to the herder that listens on `path`.
///
/// # Errors
/// An [`AskError`] if there is none, or it does not answer.
pub async fn ask(path: &Path, request: &Request) -> Result<Answer, AskError> {
    ask_for(path, &Asked { request, data: true, follow: None }).await
}

/// Sends a request like [`ask`], without data for programs in the answer.
///
/// # Errors
/// An [`AskError`] if there is none, or it does not answer.
pub async fn ask_lines(path: &Path, request: &Request) -> Result<Answer, AskError> {
    ask_for(path, &Asked { request, data: false, follow: None }).await
}

async fn connect(path: &Path) -> Result<UnixStream, AskError> {
    if path.as_os_str().len() > PATH_MAX {
        return Err(AskError::PathTooLong(path.to_owned()));
    }
    UnixStream::connect(path).await.map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NotRunning(path.to_owned()),
        io::ErrorKind::PermissionDenied => AskError::NotAllowed(path.to_owned()),
        _ => AskError::Io(cause),
    })
}

async fn ask_for(path: &Path, request: &Asked<&Request>) -> Result<Answer, AskError> {
    let mut stream = connect(path).await?;
    let (reader, mut writer) = stream.split();
    let mut text = serde_json::to_vec(request).map_err(AskError::Unreadable)?;
    text.push(b'\n');
    writer.write_all(&text).await?;
    let mut line = Vec::new();
    BufReader::new(reader).take(ANSWER_MAX).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(AskError::Ended);
    }
    serde_json::from_slice(&line).map_err(AskError::Unreadable)
}
