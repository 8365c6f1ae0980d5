//! Tasks of the server: one that owns the state machine, one per connection.
//!
//! A connection's task reads, frames and paces; the server's task applies the lines in order of arrival and
//! distributes the results. It never waits for a client: a client whose queue is full is disconnected.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::client::ClientId;
use super::state::{Ircd, Output};
use super::wire::{Framer, Incoming, to_line};
use crate::clock;

/// Maximum size of the lines queued for one client, in bytes: the full history of fifty channels fits; a slower reader
/// is disconnected.
const SENDQ_MAX: usize = 8 * 1024 * 1024;

/// Capacity of the event queue of the server's task. The task only computes; connections that fill the queue have to
/// wait.
pub(super) const EVENTS_CAPACITY: usize = 256;

/// Time without a line from a client after which the client gets a PING; after as long again it is disconnected.
const IDLE: Duration = Duration::from_secs(120);

/// Maximum time for a client to register.
const REGISTRATION: Duration = Duration::from_secs(30);

/// Maximum time for sending the queued lines to a client that is being closed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Number of lines that a client over TCP may send at once: what irssi sends after joining a dozen channels.
const BURST: f64 = 60.0;

/// Number of lines per second that a client may send after `BURST`; more are delayed.
const LINES_PER_SECOND: f64 = 10.0;

/// An event about a client, for the server's task.
pub(super) enum Event {
    Connected { id: ClientId, internal: Option<String>, queue: Queue },
    Heard { id: ClientId, incoming: Incoming },
    Idle { id: ClientId },
    RegistrationDue { id: ClientId },
    Gone { id: ClientId, reason: &'static str },
}

/// The sending half of one client's queue of lines, with the number of bytes that wait.
pub(super) struct Queue {
    lines: mpsc::UnboundedSender<String>,
    waiting: Arc<AtomicUsize>,
    kill: CancellationToken,
    /// Cancelled on drop, to tell the connection's task that the queue is closed.
    _gone: DropGuard,
}

/// Runs the server's task: handles the events of all clients until it is stopped, then notifies them.
pub(super) async fn serve(mut ircd: Ircd, mut events: mpsc::Receiver<Event>, stop: CancellationToken) {
    let mut queues: HashMap<ClientId, Queue> = HashMap::new();
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = stop.cancelled() => None,
        };
        let Some(event) = event else { break };
        let now = clock::now();
        let outputs = match event {
            Event::Connected { id, internal, queue } => {
                queues.insert(id, queue);
                ircd.connect(id, internal, now)
            }
            Event::Heard { id, incoming } => ircd.incoming(id, &incoming, now),
            Event::Idle { id } => ircd.idle(id, now),
            Event::RegistrationDue { id } => ircd.registration_due(id, now),
            Event::Gone { id, reason } => {
                queues.remove(&id);
                ircd.disconnect(id, reason, now)
            }
        };
        perform(&mut ircd, &mut queues, outputs);
    }
    let outputs = ircd.shut_down(clock::now());
    perform(&mut ircd, &mut queues, outputs);
}

/// Queues the messages in `outputs` for their clients and closes connections. A client whose queue is full is
/// disconnected, which is announced to the others.
fn perform(ircd: &mut Ircd, queues: &mut HashMap<ClientId, Queue>, outputs: Vec<Output>) {
    let mut todo = outputs;
    while !todo.is_empty() {
        let mut slow = Vec::new();
        for output in todo {
            match output {
                Output::Message { to, message } => {
                    if let Some(queue) = queues.get(&to)
                        && !queue.push(to_line(&message))
                    {
                        queue.kill.cancel();
                        queues.remove(&to);
                        slow.push(to);
                    }
                }
                // Dropping the sender lets the connection write the rest, then close.
                Output::Close(id) => drop(queues.remove(&id)),
            }
        }
        todo = slow.into_iter().flat_map(|id| ircd.disconnect(id, "SendQ exceeded", clock::now())).collect();
    }
}

impl Queue {
    /// Queues a line for the client; returns false if too many bytes wait.
    fn push(&self, line: String) -> bool {
        let length = line.len();
        let waiting = self.waiting.fetch_add(length, Ordering::Relaxed) + length;
        // A task that has ended reports so itself.
        waiting <= SENDQ_MAX && (self.lines.send(line).is_ok() || self.lines.is_closed())
    }
}

/// Runs the task of one client's connection: reads and writes its lines until it ends.
pub(super) async fn connection<S>(
    stream: S,
    id: ClientId,
    internal: Option<String>,
    paced: bool,
    events: mpsc::Sender<Event>,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (lines, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let kill = CancellationToken::new();
    let gone = CancellationToken::new();
    let queue =
        Queue { lines, waiting: Arc::clone(&waiting), kill: kill.clone(), _gone: gone.clone().drop_guard() };
    if events.send(Event::Connected { id, internal, queue }).await.is_err() {
        return;
    }
    let (reader, writer) = tokio::io::split(stream);
    let due = async {
        tokio::time::sleep(REGISTRATION).await;
        let _ = events.send(Event::RegistrationDue { id }).await;
        std::future::pending::<()>().await;
    };
    let mut writing = std::pin::pin!(write(writer, receiver, waiting));
    let reason = tokio::select! {
        // Too slow: its queue is discarded.
        () = kill.cancelled() => return,
        () = &mut writing => return drop(events.send(Event::Gone { id, reason: "Connection closed" }).await),
        () = gone.cancelled() => "Connection closed",
        () = due => "Registration timed out",
        reason = read(reader, id, &events, paced) => reason,
    };
    let _ = events.send(Event::Gone { id, reason }).await;
    let _ = timeout(LAST_WORDS, writing).await;
}

/// Reads a client's lines until the connection ends, fails, or is silent after a PING; returns the reason as text.
/// `paced` limits the rate.
async fn read<R>(mut reader: R, id: ClientId, events: &mpsc::Sender<Event>, paced: bool) -> &'static str
where
    R: AsyncRead + Unpin,
{
    let mut framer = Framer::default();
    let mut pace = Pace::new();
    let mut chunk = vec![0; 4096];
    let mut asked = false;
    loop {
        let length = match timeout(IDLE, reader.read(&mut chunk)).await {
            Ok(Ok(0)) => return "Connection closed",
            Ok(Ok(length)) => length,
            Ok(Err(_)) => return "Read error",
            Err(_) if asked => return "Ping timeout",
            Err(_) => {
                asked = true;
                if events.send(Event::Idle { id }).await.is_err() {
                    return "Server ended";
                }
                continue;
            }
        };
        asked = false;
        let mut found = Vec::new();
        framer.push(&chunk[..length], &mut found);
        for incoming in found {
            if paced {
                tokio::time::sleep(pace.wait(Instant::now())).await;
            }
            if events.send(Event::Heard { id, incoming }).await.is_err() {
                return "Server ended";
            }
        }
    }
}

/// Writes a client's queued lines until the queue is closed and empty, or the connection breaks.
async fn write<W>(mut writer: W, mut lines: mpsc::UnboundedReceiver<String>, waiting: Arc<AtomicUsize>)
where
    W: AsyncWrite + Unpin,
{
    let mut buffer = String::new();
    while let Some(line) = lines.recv().await {
        buffer.push_str(&line);
        while buffer.len() < 16 * 1024
            && let Ok(line) = lines.try_recv()
        {
            buffer.push_str(&line);
        }
        if writer.write_all(buffer.as_bytes()).await.is_err() {
            return;
        }
        waiting.fetch_sub(buffer.len(), Ordering::Relaxed);
        buffer.clear();
    }
    let _ = writer.shutdown().await;
}

/// Limits the rate of a client's lines: [`BURST`] at once, then [`LINES_PER_SECOND`].
struct Pace {
    tokens: f64,
    at: Option<Instant>,
}

impl Pace {
    fn new() -> Self {
        Self { tokens: BURST, at: None }
    }

    /// Returns the wait before the next line is handled, which counts as sent then.
    fn wait(&mut self, now: Instant) -> Duration {
        let passed = self.at.map_or(Duration::ZERO, |at| now.duration_since(at));
        self.at = Some(now);
        self.tokens = (self.tokens + passed.as_secs_f64() * LINES_PER_SECOND).min(BURST) - 1.0;
        Duration::from_secs_f64((-self.tokens / LINES_PER_SECOND).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_what_follows_is_paced() {
        let mut pace = Pace::new();
        let start = Instant::now();
        let burst: Duration = (0..60).map(|_| pace.wait(start)).sum();
        assert_eq!(burst, Duration::ZERO);
        assert_eq!(pace.wait(start), Duration::from_millis(100));
        // Each line waited for its own token before the next one was read.
        assert_eq!(pace.wait(start + Duration::from_millis(100)), Duration::from_millis(100));
        assert_eq!(pace.wait(start + Duration::from_secs(60)), Duration::ZERO);
    }
}
