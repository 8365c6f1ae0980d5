//! One link from connect to end: the task that alone owns the socket.
//!
//! Reading, writing, the outbox queue, timers and the inbound channel are branches of one `select`; none waits for
//! another. Outgoing bytes are buffered, so that herder still reads from a server that has stopped reading.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::io::{AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::FramedRead;
use tokio_util::sync::CancellationToken;

use super::codec::LineCodec;
use super::connect::Stream;
use super::delivery::WINDOW;
use super::registration::{Registration, Step};
use super::session::{Effect, Lasting, Now, Session};
use super::wire::{Outgoing, Received};
use super::{Closing, Settings};
use crate::clock;
use crate::core::detail::LinkReason;
use crate::core::link::{ChannelWanted, LinkReport, LinkState};
use crate::core::speech::Inbound;
use crate::core::time::Timestamp;
use crate::outbox::{NetworkQueue, Window};

/// Maximum number of bytes that wait to be written to the server: many times a window of lines and a burst of JOINs.
const UNWRITTEN_MAX: usize = 256 * 1024;
/// Maximum number of people's lines that wait for the dispatcher; at this bound herder stops reading from the server.
const UNHEARD_MAX: usize = 64;
/// Maximum time a link stays open after shutdown was requested, to deliver pending posts.
const FAREWELL: Duration = Duration::from_secs(3);

/// The settings, channels and shared state that a link (one connection to a server) uses.
pub(crate) struct Ports<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) lasting: &'a mut Lasting,
    pub(crate) inbound: &'a mpsc::Sender<Inbound>,
    pub(crate) queue: &'a Arc<NetworkQueue>,
    pub(crate) channels: &'a mut watch::Receiver<Vec<ChannelWanted>>,
    pub(crate) reports: &'a mpsc::Sender<LinkReport>,
    pub(crate) shutdown: &'a CancellationToken,
}

/// The reason why a link ended, and the time since which it was up.
pub(crate) struct Ended {
    pub(crate) closing: Closing,
    pub(crate) up_since: Option<Instant>,
}

type Settling = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Wire {
    lines: FramedRead<ReadHalf<Box<dyn Stream>>, LineCodec>,
    writer: WriteHalf<Box<dyn Stream>>,
    unwritten: BytesMut,
    /// True if bytes were written but not flushed: TLS buffers data that does not fill a record.
    unflushed: bool,
}

impl Wire {
    fn put(&mut self, line: &Outgoing) {
        self.unwritten.extend_from_slice(line.to_line().as_bytes());
    }

    fn put_all(&mut self, lines: &[Outgoing]) {
        lines.iter().for_each(|line| self.put(line));
    }

    /// Writes the waiting bytes to the server, then flushes. Never resolves if there are none.
    async fn write(
        writer: &mut WriteHalf<Box<dyn Stream>>,
        unwritten: &mut BytesMut,
        unflushed: &mut bool,
    ) -> io::Result<()> {
        if !unwritten.is_empty() {
            *unflushed = true;
            return match writer.write_buf(unwritten).await? {
                0 => Err(io::ErrorKind::WriteZero.into()),
                _ => Ok(()),
            };
        }
        if !*unflushed {
            pending::<()>().await;
        }
        writer.flush().await?;
        *unflushed = false;
        Ok(())
    }
}

fn now() -> Now {
    Now { wall: clock::now(), mono: Instant::now() }
}

/// Runs a link over a stream, from the registration until it ends.
pub(crate) async fn run(stream: Box<dyn Stream>, ports: &mut Ports<'_>) -> Ended {
    let (reader, writer) = tokio::io::split(stream);
    let lines = FramedRead::new(reader, LineCodec::default());
    let mut wire = Wire { lines, writer, unwritten: BytesMut::new(), unflushed: false };
    let session = match register(&mut wire, ports).await {
        Ok(registered) => registered,
        Err(closing) => return Ended { closing, up_since: None },
    };
    let wanted = ports.channels.borrow_and_update().clone();
    let unheard = std::mem::take(&mut ports.lasting.unheard);
    let session = Session::new(ports.settings, ports.lasting, wanted, session, now());
    let mut link = Link {
        session,
        wire,
        queue: ports.queue,
        inbound: ports.inbound,
        unheard,
        settling: None,
        up_since: None,
        up_at: None,
        farewell: None,
        reports: ports.reports,
        settings: ports.settings,
    };
    let closing = link.go(ports.channels, ports.shutdown).await;
    let up_since = link.up_since;
    link.end(&closing).await;
    Ended { closing, up_since }
}

async fn register(wire: &mut Wire, ports: &Ports<'_>) -> Result<super::registration::Registered, Closing> {
    let start = Instant::now();
    let (mut registration, lines) = Registration::start(&ports.settings.network, &ports.settings.name, start);
    wire.put_all(&lines);
    loop {
        let deadline = registration.deadline();
        tokio::select! {
            line = wire.lines.next() => {
                match registration.receive(&read(line)?, Instant::now()) {
                    Step::Send(lines) => wire.put_all(&lines),
                    Step::Done(registered) => return Ok(registered),
                    Step::End(closing) => return Err(closing),
                }
            }
            written = Wire::write(&mut wire.writer, &mut wire.unwritten, &mut wire.unflushed) => written.map_err(lost)?,
            () = tokio::time::sleep_until(deadline) => {
                if let Some(closing) = registration.expired(Instant::now()) {
                    return Err(closing);
                }
            }
            () = ports.shutdown.cancelled() => return Err(Closing::Shutdown),
        }
    }
}

fn read(line: Option<io::Result<Received>>) -> Result<Received, Closing> {
    match line {
        Some(Ok(line)) => Ok(line),
        Some(Err(error)) => Err(lost(error)),
        None => Err(Closing::Lost(LinkReason::Closed.into())),
    }
}

fn lost(error: io::Error) -> Closing {
    Closing::Lost(LinkReason::Broke.with(error.to_string()))
}

struct Link<'a> {
    session: Session<'a>,
    wire: Wire,
    queue: &'a Arc<NetworkQueue>,
    inbound: &'a mpsc::Sender<Inbound>,
    unheard: VecDeque<Inbound>,
    /// The recording of the last window as delivered; the next window waits for it. `None` if nothing is being
    /// recorded.
    settling: Option<Settling>,
    up_since: Option<Instant>,
    /// Wall-clock time at which the link came up, for people; `None` before.
    up_at: Option<Timestamp>,
    farewell: Option<Instant>,
    reports: &'a mpsc::Sender<LinkReport>,
    settings: &'a Settings,
}

enum Happened {
    Line(Option<io::Result<Received>>),
    Written(io::Result<()>),
    Window(Window),
    Settled,
    Heard,
    Wanted,
    Time,
    Shutdown,
}

impl Link<'_> {
    async fn go(
        &mut self,
        channels: &mut watch::Receiver<Vec<ChannelWanted>>,
        shutdown: &CancellationToken,
    ) -> Closing {
        loop {
            if let Some(closing) = self.perform().await {
                return closing;
            }
            match self.next(channels, shutdown).await {
                Happened::Line(line) => match read(line) {
                    Ok(line) => self.session.receive(&line, now()),
                    Err(closing) => return closing,
                },
                Happened::Written(Ok(())) => {}
                Happened::Written(Err(error)) => return self.last_words(error).await,
                Happened::Window(window) => self.session.send_window(window, now()),
                Happened::Settled => self.settling = None,
                Happened::Heard => self.hear(),
                Happened::Wanted => {
                    let wanted = channels.borrow_and_update().clone();
                    self.session.want(wanted, now());
                }
                Happened::Time => self.session.tick(now()),
                Happened::Shutdown => self.farewell = Some(Instant::now() + FAREWELL),
            }
            if self.farewell.is_some_and(|end| end <= Instant::now() || self.nothing_left()) {
                return Closing::Shutdown;
            }
        }
    }

    /// Waits for the next event of the link: a line from the server, a window to send, a timeout and others.
    async fn next(
        &mut self,
        channels: &mut watch::Receiver<Vec<ChannelWanted>>,
        shutdown: &CancellationToken,
    ) -> Happened {
        let listening = self.unheard.len() < UNHEARD_MAX;
        if !listening {
            self.session.not_listening(now());
        }
        let deadline = self.farewell.map_or(self.session.deadline(), |end| end.min(self.session.deadline()));
        let ready = self.settling.is_none() && self.session.wants_window();
        let session = &self.session;
        let room = |target: &_| session.room(target);
        let joined = |target: &_| session.joined(target);
        tokio::select! {
            line = self.wire.lines.next(), if listening => Happened::Line(line),
            window = self.queue.next_window(WINDOW, &room, &joined), if ready => Happened::Window(window),
            written = Wire::write(&mut self.wire.writer, &mut self.wire.unwritten, &mut self.wire.unflushed) => Happened::Written(written),
            () = settled(&mut self.settling) => Happened::Settled,
            _ = self.inbound.reserve(), if !self.unheard.is_empty() => Happened::Heard,
            // If the sender is gone, the branch is disabled and the channels stay as they are.
            Ok(()) = channels.changed() => Happened::Wanted,
            () = tokio::time::sleep_until(deadline) => Happened::Time,
            () = shutdown.cancelled(), if self.farewell.is_none() => Happened::Shutdown,
        }
    }

    /// Performs the effects that the session has requested. Returns a reason if the link has to end.
    async fn perform(&mut self) -> Option<Closing> {
        for effect in self.session.effects() {
            match effect {
                Effect::Send(line) => self.wire.put(&line),
                Effect::Hear(inbound) => {
                    self.unheard.push_back(inbound);
                    self.hear();
                }
                Effect::Post(post) => self.queue.push(post),
                Effect::Up => self.up().await,
                Effect::Known if self.up_at.is_some() => self.report().await,
                // Reported with the first report of the link as up.
                Effect::Known => {}
                Effect::Landed(confirmed, again) => self.settle(confirmed, again),
                Effect::Close(closing) => return Some(closing),
            }
        }
        let stuck = self.wire.unwritten.len() > UNWRITTEN_MAX;
        stuck.then(|| Closing::Lost(LinkReason::StoppedReading.into()))
    }

    fn hear(&mut self) {
        while let Some(inbound) = self.unheard.pop_front() {
            match self.inbound.try_send(inbound) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(inbound)) => {
                    self.unheard.push_front(inbound);
                    return;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => self.unheard.clear(),
            }
        }
    }

    async fn up(&mut self) {
        (self.up_since, self.up_at) = (Some(Instant::now()), Some(clock::now()));
        if self.session.absence_ends(Instant::now()) >= self.settings.patience.absence {
            self.queue.link_restored();
        } else {
            self.queue.grounded();
        }
        self.report().await;
    }

    /// Reports a link that is up to the root supervisor.
    async fn report(&mut self) {
        let Some(since) = self.up_at else { return };
        let network = self.settings.network.name.clone();
        let state = LinkState::Up { since, unidentified: self.session.unidentified() };
        let report = LinkReport { network, state };
        if self.reports.send(report).await.is_err() {
            tracing::debug!("nobody takes reports of this link");
        }
    }

    fn settle(&mut self, confirmed: Window, again: Window) {
        let queue = Arc::clone(self.queue);
        self.settling = Some(Box::pin(async move {
            if !confirmed.lines.is_empty() {
                queue.confirm(confirmed).await;
            }
            if !again.lines.is_empty() {
                queue.requeue(again);
            }
        }));
    }

    fn nothing_left(&self) -> bool {
        let delivered = self.queue.is_empty() && !self.session.in_flight() && self.settling.is_none();
        delivered && self.wire.unwritten.is_empty() && !self.wire.unflushed
    }

    /// Handles a failed write: reads for up to 1 s, because the server's ERROR gives the reason.
    async fn last_words(&mut self, error: io::Error) -> Closing {
        let closing = lost(error);
        let listen = async {
            while let Some(Ok(line)) = self.wire.lines.next().await {
                if let super::wire::Said::Error(reason) = &line.said {
                    return Some(Closing::from_error(reason));
                }
            }
            None
        };
        let heard = tokio::time::timeout(Duration::from_secs(1), listen).await;
        heard.ok().flatten().unwrap_or(closing)
    }

    /// Ends the link: confirms the lines that the server has accepted, and returns the others to the queue.
    async fn end(&mut self, closing: &Closing) {
        self.session.lost(now());
        self.session.keep_unheard(std::mem::take(&mut self.unheard));
        if let Some(settling) = self.settling.take() {
            settling.await;
        }
        for effect in self.session.effects() {
            if let Effect::Landed(confirmed, again) = effect {
                self.settle(confirmed, again);
            }
        }
        if let Some(settling) = self.settling.take() {
            settling.await;
        }
        if *closing == Closing::Shutdown {
            self.wire.put(&Outgoing::new("QUIT").text("herder is going down"));
            let write = async {
                self.wire.writer.write_all(&self.wire.unwritten).await?;
                self.wire.writer.shutdown().await
            };
            if tokio::time::timeout(Duration::from_secs(1), write).await.is_err() {
                tracing::debug!("the server does not take our QUIT");
            }
        }
    }
}

async fn settled(settling: &mut Option<Settling>) {
    match settling {
        Some(settling) => settling.await,
        None => pending().await,
    }
}
