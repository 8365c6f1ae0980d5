//! Both ends' half of a connection: a local byte stream on one side, numbered messages on the other.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Subject;
use nkeys::KeyPair;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::bytes::{BufMut as _, Bytes, BytesMut};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::frame::{Arrival, Arrivals, BACKLOG_MAX, ConnectionId, Numbered, PIECE_MAX, WINDOW, weight};
use super::{Pace, Uplink};

/// Size of the buffer of a local stream, in bytes per direction.
const BUFFER: usize = 256 * 1024;

/// Free space below which the buffer for pieces is made anew: small pieces share one.
const BUFFER_MIN: usize = 4 * 1024;

/// Publishes the messages of connections to one peer.
#[derive(Clone)]
pub(super) struct Outlet {
    uplink: Uplink,
    subject: Subject,
    key: Option<Arc<KeyPair>>,
}

impl Outlet {
    /// Returns an outlet to `subject`; with a key its messages are signed.
    pub(super) fn new(uplink: Uplink, subject: String, key: Option<Arc<KeyPair>>) -> Self {
        Self { uplink, subject: subject.into(), key }
    }

    /// Publishes a message.
    ///
    /// # Errors
    /// The key cannot sign, or the client is closed.
    pub(super) async fn send(&self, message: Numbered) -> io::Result<()> {
        let headers = message.headers(&self.subject, self.key.as_deref()).map_err(io::Error::other)?;
        let sent = self.uplink.client.publish_with_headers(self.subject.clone(), headers, message.payload);
        sent.await.map_err(io::Error::other)
    }
}

/// Conclusion from a message of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Routed {
    /// It was taken, or the connection has ended by it.
    Known,
    /// There is no such connection.
    Unknown,
}

/// The open connections of an end. Cheap to clone.
#[derive(Clone)]
pub(super) struct Ports {
    open: Arc<Mutex<HashMap<ConnectionId, Port>>>,
    tasks: TaskTracker,
    pace: Pace,
}

/// The receiving side of a connection.
struct Port {
    /// Subject by which its messages come.
    from: String,
    arrivals: Arrivals,
    /// Its content is bounded by [`BACKLOG_MAX`].
    inbox: mpsc::UnboundedSender<Bytes>,
    shared: Arc<Shared>,
}

/// State of a connection that its tasks and the router share.
struct Shared {
    /// Weight that the other end has taken.
    taken: watch::Sender<u64>,
    /// Weight that was written to the local stream.
    written: AtomicU64,
    /// Weight that waits to be written.
    backlog: AtomicU64,
    /// Time of the last message.
    heard: Mutex<Instant>,
    /// Notified when the other end should learn what was written.
    due: Notify,
    /// Ends the connection at once.
    cut: CancellationToken,
}

impl Shared {
    fn new() -> Self {
        Self {
            taken: watch::Sender::new(0),
            written: AtomicU64::new(0),
            backlog: AtomicU64::new(0),
            heard: Mutex::new(Instant::now()),
            due: Notify::new(),
            cut: CancellationToken::new(),
        }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Port {
    /// Takes a message. Returns false if the connection has ended by it.
    fn take(&mut self, message: Numbered) -> bool {
        match self.arrivals.take(message.n) {
            Arrival::Next => {}
            Arrival::Double => return true,
            // The pieces before it are still written.
            Arrival::Closed => return false,
            Arrival::Gap => {
                debug!(id = %message.id, n = message.n, "a message of a connection was lost");
                self.shared.cut.cancel();
                return false;
            }
        }
        *self.shared.heard() = Instant::now();
        if let Some(taken) = message.taken {
            self.shared.taken.send_if_modified(|known| {
                let more = taken > *known;
                *known = taken.max(*known);
                more
            });
        }
        if message.payload.is_empty() {
            return true;
        }
        let weight = weight(&message.payload);
        let backlog = self.shared.backlog.fetch_add(weight, Ordering::Relaxed) + weight;
        if backlog > BACKLOG_MAX || message.payload.len() > PIECE_MAX {
            warn!(id = %message.id, backlog, "a connection is closed: more was sent than its reader takes");
            self.shared.cut.cancel();
            return false;
        }
        self.inbox.send(message.payload).is_ok()
    }
}

impl Ports {
    pub(super) fn new(tasks: TaskTracker, pace: Pace) -> Self {
        Self { open: Arc::default(), tasks, pace }
    }

    fn open_ports(&self) -> MutexGuard<'_, HashMap<ConnectionId, Port>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection whose messages come by the subject `from` and go by `outlet`; returns its local stream.
    pub(super) fn open(&self, id: ConnectionId, from: String, outlet: Outlet) -> DuplexStream {
        let (stream, inner) = duplex(BUFFER);
        let (inbox, received) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared::new());
        let port = Port { from, arrivals: Arrivals::default(), inbox, shared: Arc::clone(&shared) };
        // A loss counts from here on, and not from when the task begins.
        let mut losses = outlet.uplink.losses();
        self.open_ports().insert(id, port);
        let ports = self.clone();
        self.tasks.spawn(async move {
            let (reader, writer) = split(inner);
            let is_lost = tokio::select! {
                biased;
                () = shared.cut.cancelled() => false,
                _ = losses.changed() => true,
                () = send(id, reader, &outlet, &shared, ports.pace) => false,
                () = write(writer, received, &shared) => false,
            };
            ports.open_ports().remove(&id);
            if is_lost {
                return;
            }
            let told = tokio::select! {
                biased;
                _ = losses.changed() => return,
                told = outlet.send(Numbered::closed(id)) => told,
            };
            if let Err(reason) = told {
                debug!(%id, %reason, "the end of a connection could not be told");
            }
        });
        stream
    }

    /// Passes a message on that came by the subject `from`.
    pub(super) fn route(&self, from: &str, message: Numbered) -> Routed {
        let mut open = self.open_ports();
        let id = message.id;
        let Some(port) = open.get_mut(&id).filter(|port| port.from == from) else { return Routed::Unknown };
        if !port.take(message) {
            open.remove(&id);
        }
        Routed::Known
    }

    /// Returns true if a message of the other end has come by one of the open connections within this time. Doubles do not
    /// count.
    pub(super) fn heard_within(&self, time: Duration) -> bool {
        self.open_ports().values().any(|port| port.shared.heard().elapsed() < time)
    }

    /// Ends all connections whose messages come by a subject that begins with `prefix`.
    pub(super) fn cut(&self, prefix: &str) {
        self.open_ports().retain(|_, port| {
            let goes = port.from.starts_with(prefix);
            if goes {
                port.shared.cut.cancel();
            }
            !goes
        });
    }
}

/// Reads the next piece of a stream; `None` at its end. Nothing is lost if it is dropped.
async fn next_piece(reader: &mut ReadHalf<DuplexStream>, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
    if buffer.capacity() < BUFFER_MIN {
        buffer.reserve(PIECE_MAX);
    }
    let read = reader.read_buf(&mut (&mut *buffer).limit(PIECE_MAX)).await?;
    Ok((read > 0).then(|| buffer.split().freeze()))
}

/// Publishes the pieces of the local stream until it ends, the other end is silent, or nothing can be published.
async fn send(
    id: ConnectionId,
    mut reader: ReadHalf<DuplexStream>,
    outlet: &Outlet,
    shared: &Shared,
    pace: Pace,
) {
    let mut buffer = BytesMut::new();
    let mut taken = shared.taken.subscribe();
    let mut tick = interval_at(Instant::now() + pace.beat, pace.beat);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut n, mut sent) = (0, 0_u64);
    loop {
        let has_room = sent.saturating_sub(*taken.borrow_and_update()) < WINDOW;
        let payload = tokio::select! {
            biased;
            () = shared.due.notified() => Bytes::new(),
            _ = tick.tick() => {
                if shared.heard().elapsed() >= pace.away {
                    debug!(%id, "the other end of a connection is silent");
                    return;
                }
                Bytes::new()
            }
            Ok(()) = taken.changed(), if !has_room => continue,
            piece = next_piece(&mut reader, &mut buffer), if has_room => match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => return,
                Err(reason) => {
                    debug!(%id, %reason, "a local stream cannot be read");
                    return;
                }
            }
        };
        n += 1;
        let mut message = Numbered { id, n, taken: None, payload };
        if message.payload.is_empty() {
            message.taken = Some(shared.written.load(Ordering::Relaxed));
        } else {
            sent += weight(&message.payload);
        }
        if let Err(reason) = outlet.send(message).await {
            debug!(%id, %reason, "a message of a connection cannot be sent");
            return;
        }
    }
}

/// Writes received pieces to the local stream until no more can come. If its reader is gone, the rest is dropped.
async fn write(
    mut writer: WriteHalf<DuplexStream>,
    mut received: mpsc::UnboundedReceiver<Bytes>,
    shared: &Shared,
) {
    let (mut announced, mut is_broken) = (0, false);
    while let Some(payload) = received.recv().await {
        let weight = weight(&payload);
        if !is_broken {
            is_broken = writer.write_all(&payload).await.is_err();
        }
        shared.backlog.fetch_sub(weight, Ordering::Relaxed);
        let written = shared.written.fetch_add(weight, Ordering::Relaxed) + weight;
        if written - announced >= WINDOW / 4 {
            announced = written;
            shared.due.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SUBSCRIPTION_MAX;
    use super::*;

    fn port() -> (Port, mpsc::UnboundedReceiver<Bytes>) {
        let (inbox, received) = mpsc::unbounded_channel();
        let port = Port {
            from: String::from("from"),
            arrivals: Arrivals::default(),
            inbox,
            shared: Arc::new(Shared::new()),
        };
        (port, received)
    }

    fn numbered(n: u64, payload: Bytes) -> Numbered {
        Numbered { id: ConnectionId { epoch: 1, number: 1 }, n, taken: None, payload }
    }

    /// Gives a port pieces until it ends; returns their number with the last one.
    fn fill(port: &mut Port, piece: &'static [u8]) -> u64 {
        // A port that takes everything fails the test, and does not fill the memory.
        let end = (1..=2 * BACKLOG_MAX / weight(&Bytes::from_static(piece)))
            .find(|n| !port.take(numbered(*n, Bytes::from_static(piece))));
        end.expect("the port takes everything")
    }

    #[tokio::test]
    async fn a_peer_that_ignores_the_window_is_cut_off_before_the_backlog_grows() {
        let (mut port, mut received) = port();
        fill(&mut port, &[7; PIECE_MAX]);
        assert!(port.shared.cut.is_cancelled());
        let mut kept = 0;
        while let Ok(payload) = received.try_recv() {
            kept += weight(&payload);
        }
        let one = weight(&Bytes::from_static(&[7; PIECE_MAX]));
        assert!(kept <= BACKLOG_MAX && kept + one > BACKLOG_MAX, "{kept}");
    }

    #[tokio::test]
    async fn many_small_pieces_are_bounded_as_well() {
        let (mut port, _received) = port();
        let taken = fill(&mut port, b"x");
        assert!(taken < SUBSCRIPTION_MAX as u64, "{taken}");
    }

    #[tokio::test]
    async fn a_piece_that_is_too_long_ends_the_connection() {
        let (mut port, _received) = port();
        assert!(!port.take(numbered(1, Bytes::from_static(&[7; PIECE_MAX + 1]))));
        assert!(port.shared.cut.is_cancelled());
    }

    #[tokio::test]
    async fn a_gap_cuts_and_passes_nothing_on() {
        let (mut port, mut received) = port();
        assert!(port.take(numbered(1, Bytes::from_static(b"1"))));
        assert!(port.take(numbered(1, Bytes::from_static(b"again"))));
        assert!(!port.take(numbered(3, Bytes::from_static(b"3"))));
        assert!(port.shared.cut.is_cancelled());
        assert_eq!(received.try_recv(), Ok(Bytes::from_static(b"1")));
        assert!(received.try_recv().is_err());
    }
}
