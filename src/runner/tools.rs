//! The socket for calls from the agents' tool servers: authentication, one answer each, and whispers with it.

pub mod wire;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use crate::clock::running::Running;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::runtime::grants::{Admitted, Grants, is_below};
use wire::{Answer, CALL_MAX, Call, Got};

/// Maximum number of concurrent connections of tool servers: a few calls for each agent of a large fleet.
const PEERS_MAX: usize = 256;

/// Timeout for reading a tool call, which is one line written at once.
const CALL_WITHIN: Duration = Duration::from_secs(10);

/// Timeout for the tool server's acknowledgement of an answer that carries whispers.
const GOT_WITHIN: Duration = Duration::from_secs(10);

/// The part that carries out the calls of sessions in this process or on this runner.
pub trait Desk: Clone + Send + Sync + 'static {
    /// Returns the process of an open session.
    fn process_of(&self, agent: &AgentName, session: SessionId) -> Option<u32>;

    /// Carries out a call. Returns its answer, with the numbers of the whispers in it. Dropped if the caller goes away.
    fn perform(&self, call: Call, admitted: Admitted) -> impl Future<Output = (Answer, Vec<WorkId>)> + Send;

    /// Records whether the agent has the whispers of an answer.
    fn delivered(&self, agent: &AgentName, session: SessionId, whispers: Vec<WorkId>, got: bool);

    /// Records that a caller has gone before its answer.
    fn hung_up(&self, agent: &AgentName, session: SessionId) {
        let _ = (agent, session);
    }
}

/// Answers the tool calls that arrive on the socket until `shutdown` is cancelled, one call per connection. Timeouts are
/// measured by `running`: a call that arrived while herder stood still is not over when it goes on.
pub async fn serve(
    (listener, path): (UnixListener, PathBuf),
    grants: Grants,
    desk: impl Desk,
    running: Running,
    shutdown: CancellationToken,
) {
    let peers = TaskTracker::new();
    let room = Arc::new(Semaphore::new(PEERS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(reason) => {
                warn!(%reason, "a tool server could not be accepted");
                // Most likely no file descriptors are left: without a pause this would spin.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (grants, desk, shutdown) = (grants.clone(), desk.clone(), shutdown.clone());
        let running = running.clone();
        peers.spawn(async move {
            let _permit = permit;
            let answered = shutdown.run_until_cancelled(answer(stream, &grants, &desk, &running)).await;
            if let Some(Err(reason)) = answered {
                debug!(%reason, "a tool server went away");
            }
        });
    }
    peers.close();
    peers.wait().await;
    if let Err(reason) = std::fs::remove_file(&path) {
        warn!(%reason, "the tools' socket could not be taken away");
    }
}

async fn answer(stream: UnixStream, grants: &Grants, desk: &impl Desk, running: &Running) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        warn!(uid = peer.uid(), "another user was turned away from the agents' tools");
        return Ok(());
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut first = (&mut reader).take(CALL_MAX);
    let read = running.within(CALL_WITHIN, first.read_until(b'\n', &mut line)).await;
    read.ok_or(io::ErrorKind::TimedOut)??;
    let Ok(call) = serde_json::from_slice::<Call>(&line) else {
        return write(&mut writer, &Answer::refused("That call cannot be read; it may be too long.")).await;
    };
    let admitted = match grants.admit(&call.agent, call.session, &call.token) {
        Ok(admitted) => admitted,
        Err(why) => {
            warn!(agent = %call.agent, session = %call.session, %why, "a call of the tools was not let in");
            return write(&mut writer, &Answer::refused(why.told())).await;
        }
    };
    if !is_of_session(peer.pid(), &call, desk) {
        warn!(agent = %call.agent, pid = peer.pid(), "a process that is not the agent's has its key");
        return write(&mut writer, &Answer::refused("herder does not let you in: this key is not yours."))
            .await;
    }
    let (agent, session) = (call.agent.clone(), call.session);
    let (answer, whispers) = tokio::select! {
        answered = desk.perform(call, admitted) => answered,
        () = hung_up(&mut reader) => {
            desk.hung_up(&agent, session);
            return Ok(());
        }
    };
    let written = write(&mut writer, &answer).await;
    if !whispers.is_empty() {
        let got = written.is_ok() && got(&mut reader, running).await;
        desk.delivered(&agent, session, whispers, got);
    }
    written
}

/// Returns true if the calling process belongs to the session that it names: other processes of the same user can read
/// the key file too.
fn is_of_session(pid: Option<i32>, call: &Call, desk: &impl Desk) -> bool {
    let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) else { return false };
    desk.process_of(&call.agent, call.session).is_some_and(|process| is_below(pid, process))
}

async fn write(writer: &mut (impl tokio::io::AsyncWrite + Unpin), answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

/// Waits until the tool server closes the connection; it sends nothing while it waits for an answer.
async fn hung_up(reader: &mut BufReader<OwnedReadHalf>) {
    let mut more = [0; 1];
    // Any result means that no answer can be sent any more.
    drop(reader.read(&mut more).await);
}

/// Waits for the tool server's acknowledgement. Returns true if it has passed the answer on to the CLI.
async fn got(reader: &mut BufReader<OwnedReadHalf>, running: &Running) -> bool {
    /// Maximum length of the acknowledgement, in bytes, with a reserve.
    const MAX: u64 = 64;
    let mut line = Vec::new();
    let mut word = reader.take(MAX);
    let read = running.within(GOT_WITHIN, word.read_until(b'\n', &mut line)).await;
    matches!(read, Some(Ok(_))) && serde_json::from_slice::<Got>(&line).is_ok_and(|said| said.got)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A desk at which nobody sits: calls that are read and let in are none of these tests.
    #[derive(Clone)]
    struct Empty;

    impl Desk for Empty {
        fn process_of(&self, _: &AgentName, _: SessionId) -> Option<u32> {
            None
        }

        async fn perform(&self, _: Call, _: Admitted) -> (Answer, Vec<WorkId>) {
            (Answer::refused("nobody is here"), Vec::new())
        }

        fn delivered(&self, _: &AgentName, _: SessionId, _: Vec<WorkId>, _: bool) {}
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_arrives_while_herder_stands_still_is_answered() {
        let (mut caller, stream) = UnixStream::pair().expect("two ends");
        let (grants, running) = (Grants::of_runner(), Running::default());
        let answering = answer(stream, &grants, &Empty, &running);
        tokio::pin!(answering);
        tokio::select! {
            biased;
            _ = &mut answering => panic!("nothing was said"),
            () = tokio::task::yield_now() => {}
        }
        // The whole process is stopped: no task is polled, and no data is read.
        tokio::time::advance(Duration::from_secs(60)).await;
        caller.write_all(b"no call\n").await.expect("sent");
        let mut answer = String::new();
        let (answered, read) = tokio::join!(answering, caller.read_to_string(&mut answer));
        assert!(answered.is_ok() && read.is_ok(), "{answered:?} {read:?}");
        assert!(answer.contains("cannot be read"), "{answer}");
    }
}
