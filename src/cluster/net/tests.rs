use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{ConnectOptions, HeaderMap, Message};
use futures_util::{SinkExt as _, StreamExt as _};
use nkeys::KeyPair;
use tokio::io::{AsyncReadExt as _, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::bytes::Bytes;
use tokio_util::codec::{Framed, FramedRead, FramedWrite, LengthDelimitedCodec};
use tokio_util::sync::CancellationToken;

use super::super::keys;
use super::super::permits::Subjects;
use super::super::test_server::free_port;
use super::frame::{ConnectionId, Numbered, WINDOW};
use super::station::Missed;
use super::*;

mod flood;
mod nonce;
mod slow_link;

const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum length of a frame of these streams.
const FRAME_MAX: usize = 900 * 1024;

fn pace() -> Pace {
    Pace { beat: Duration::from_millis(300), away: Duration::from_millis(1500) }
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what} takes too long"))
}

/// A NATS server on loopback.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    async fn start() -> Self {
        let port = free_port();
        Self { child: spawn(port), port }
    }

    async fn restart(&mut self) {
        self.child = spawn(self.port);
    }

    async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    async fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().await.unwrap().success());
    }

    async fn uplink(&self) -> Uplink {
        uplink(self.port, Duration::from_millis(500)).await
    }
}

async fn uplink(port: u16, ping: Duration) -> Uplink {
    let options = ConnectOptions::new()
        .retry_on_initial_connect()
        // The bot answers to the runner's own inbox alone.
        .custom_inbox_prefix("_INBOX.r")
        .ping_interval(ping)
        .reconnect_delay_callback(|_| Duration::from_millis(50));
    let uplink = Uplink::connect(options, format!("127.0.0.1:{port}")).await.unwrap();
    soon("the server's start", uplink.client().flush()).await.unwrap();
    uplink
}

fn spawn(port: u16) -> Child {
    let mut command = Command::new(super::super::test_server::program());
    command.args(["-a", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    command.kill_on_drop(true).spawn().expect("it starts")
}

/// Both ends of one runner; each end has a client of its own.
struct Rig {
    server: Server,
    key: KeyPair,
    hub: Hub,
    line: Line,
    tasks: JoinSet<()>,
}

type TestStation = Arc<Station<Box<dyn Fn() -> Facts + Send + Sync>>>;

/// A runner of a rig.
struct Runner {
    station: TestStation,
    identity: Identity,
    shutdown: CancellationToken,
    /// Connections of the bot.
    streams: mpsc::UnboundedReceiver<DuplexStream>,
}

impl Rig {
    async fn new() -> Self {
        let server = Server::start().await;
        let key = KeyPair::new_user();
        let uplink = server.uplink().await;
        let hub = Hub::start(uplink, String::from("b"), 7, key.clone(), pace());
        hub.admit("r");
        let line = hub.line("r");
        Self { server, key, hub, line, tasks: JoinSet::new() }
    }

    fn station(&self, uplink: Uplink, machine: &'static str, pace: Pace) -> (TestStation, Identity) {
        let identity = Identity {
            bot: String::from("b"),
            runner: String::from("r"),
            bot_key: KeyPair::from_public_key(&self.key.public_key()).unwrap(),
            incarnation: draw_incarnation().unwrap(),
        };
        let facts: Box<dyn Fn() -> Facts + Send + Sync> = Box::new(move || Facts {
            machine: String::from(machine),
            sessions: 3,
            load: Some(0.5),
            free_disk: None,
        });
        (Arc::new(Station::new(uplink, identity.clone(), facts, pace)), identity)
    }

    async fn runner(&mut self, machine: &'static str) -> Runner {
        let uplink = self.server.uplink().await;
        self.runner_by(uplink, machine, pace())
    }

    fn runner_by(&mut self, uplink: Uplink, machine: &'static str, pace: Pace) -> Runner {
        let (station, identity) = self.station(uplink, machine, pace);
        let (offered, streams) = mpsc::unbounded_channel();
        let shutdown = CancellationToken::new();
        let (serving, stop) = (Arc::clone(&station), shutdown.clone());
        self.tasks.spawn(async move {
            let attend = move |stream| -> futures_util::future::BoxFuture<'static, ()> {
                offered.send(stream).unwrap();
                Box::pin(std::future::ready(()))
            };
            serving.serve(attend, stop).await.unwrap();
        });
        Runner { station, identity, shutdown, streams }
    }

    /// Opens a connection and says a word in each direction.
    async fn open(&self, runner: &mut Runner) -> (Stream, Stream) {
        soon("a connection", async {
            // A connection may be lost with the link that has just been made again.
            loop {
                let mut bot = framed(self.line.open().await.unwrap());
                bot.send(Bytes::from_static(b"hello")).await.unwrap();
                let mut host = tokio::select! {
                    stream = runner.streams.recv() => framed(stream.unwrap()),
                    ended = bot.next() => { assert!(ended.is_none()); continue }
                };
                if host.next().await.is_none() {
                    continue;
                }
                let _ = host.send(Bytes::from_static(b"welcome")).await;
                if let Some(Ok(word)) = bot.next().await {
                    assert_eq!(word, "welcome");
                    return (bot, host);
                }
            }
        })
        .await
    }
}

type Stream = Framed<DuplexStream, LengthDelimitedCodec>;

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().length_field_length(4).max_frame_length(FRAME_MAX).new_codec()
}

fn framed(stream: DuplexStream) -> Stream {
    Framed::new(stream, codec())
}

async fn halves(
    stream: Stream,
) -> (
    FramedRead<ReadHalf<DuplexStream>, LengthDelimitedCodec>,
    FramedWrite<WriteHalf<DuplexStream>, LengthDelimitedCodec>,
) {
    assert!(stream.read_buffer().is_empty());
    let (reader, writer) = split(stream.into_inner());
    (FramedRead::new(reader, codec()), FramedWrite::new(writer, codec()))
}

async fn until_granted(runner: &Runner, granted: bool) {
    let mut grant = runner.station.grant();
    soon("a grant", grant.wait_for(|state| state.granted == granted)).await.unwrap();
}

/// Waits until the server has taken everything that the client has sent; a flush does not wait for the server.
async fn settled(uplink: &Uplink) {
    let inbox = uplink.client().new_inbox();
    let mut echo = uplink.client().subscribe(inbox.clone()).await.unwrap();
    uplink.client().publish(inbox, Bytes::new()).await.unwrap();
    soon("the server's echo", echo.next()).await.unwrap();
}

/// Sends a frame and hears it at the other end, in both directions.
async fn speak(bot: &mut Stream, host: &mut Stream) {
    bot.send(Bytes::from_static(b"down")).await.unwrap();
    assert_eq!(soon("a frame", host.next()).await.unwrap().unwrap(), "down");
    host.send(Bytes::from_static(b"up")).await.unwrap();
    assert_eq!(soon("a frame", bot.next()).await.unwrap().unwrap(), "up");
}

/// Sends numbers both ways without a pause until the stream ends; both hear a beginning of them, and nothing else.
async fn count_until_the_end(stream: Stream, begun: mpsc::UnboundedSender<()>) {
    let (mut reader, mut writer) = halves(stream).await;
    let writing = async {
        for n in 0_u64.. {
            let mut frame = vec![(n % 251) as u8; 8 + (n as usize * 37) % 3000];
            frame[..8].copy_from_slice(&n.to_be_bytes());
            if writer.send(Bytes::from(frame)).await.is_err() {
                return;
            }
        }
    };
    let reading = async {
        let mut next = 0_u64;
        while let Some(Ok(frame)) = reader.next().await {
            assert_eq!(frame[..8], next.to_be_bytes());
            assert!(frame.len() == 8 + (next as usize * 37) % 3000);
            assert!(frame[8..].iter().all(|byte| *byte == (next % 251) as u8));
            next += 1;
            if next == 200 {
                begun.send(()).unwrap();
            }
        }
        assert!(next >= 200);
    };
    tokio::join!(writing, reading);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_of_every_length_come_back_in_order() {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let (bot, host) = rig.open(&mut runner).await;
    rig.tasks.spawn(async move {
        let (mut reader, mut writer) = split(host.into_inner());
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
    });
    let lengths: Vec<usize> = (0..400)
        .map(|n| if n % 40 == 0 { FRAME_MAX - n } else { 1 + (n * 7919) % 20_000 })
        .chain([1, FRAME_MAX])
        .collect();
    let frames: Vec<Bytes> =
        lengths.iter().enumerate().map(|(n, length)| Bytes::from(vec![(n % 256) as u8; *length])).collect();
    let (mut reader, mut writer) = halves(bot).await;
    let writing = async {
        for frame in &frames {
            writer.send(frame.clone()).await.unwrap();
        }
    };
    let reading = async {
        for frame in &frames {
            let heard = soon("a frame", reader.next()).await.unwrap().unwrap();
            assert!(heard == *frame, "{} bytes instead of {}", heard.len(), frame.len());
        }
    };
    tokio::join!(writing, reading);
    let seen = rig.hub.seen("r").unwrap();
    assert_eq!((seen.machine.as_str(), seen.sessions, seen.load), ("m1", 3, Some(0.5)));
    assert_eq!(seen.incarnation, runner.identity.incarnation);
    // The runner ends in order: the bot's stream ends, and later its beats are missed.
    runner.shutdown.cancel();
    assert!(soon("the end", reader.next()).await.is_none());
    let mut changed = rig.hub.changed();
    soon("its absence", async {
        while rig.hub.seen("r").unwrap().here {
            changed.changed().await.unwrap();
        }
    })
    .await;
    soon("the hub's end", rig.hub.close()).await;
    assert!(rig.line.open().await.is_err());
}

async fn ends_on_both_sides_and_begins_again(
    stop: impl AsyncFn(&mut Server),
    go_on: impl AsyncFn(&mut Server),
) {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let (bot, host) = rig.open(&mut runner).await;
    let (begun, mut is_begun) = mpsc::unbounded_channel();
    let mut counting = JoinSet::new();
    counting.spawn(count_until_the_end(bot, begun.clone()));
    counting.spawn(count_until_the_end(host, begun));
    for _ in 0..2 {
        soon("traffic", is_begun.recv()).await.unwrap();
    }
    stop(&mut rig.server).await;
    for ended in soon("the end on both sides", counting.join_all()).await {
        let () = ended;
    }
    until_granted(&runner, false).await;
    assert!(!rig.hub.seen("r").unwrap().here);
    go_on(&mut rig.server).await;
    let (mut bot, mut host) = rig.open(&mut runner).await;
    speak(&mut bot, &mut host).await;
    until_granted(&runner, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_ends_streams_on_both_sides() {
    ends_on_both_sides_and_begins_again(Server::kill, Server::restart).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_ends_streams_on_both_sides() {
    let stop = async |server: &mut Server| server.signal("-STOP").await;
    let go_on = async |server: &mut Server| server.signal("-CONT").await;
    ends_on_both_sides_and_begins_again(stop, go_on).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_third_client_reaches_the_host_neither_unsigned_nor_wrongly_signed_nor_by_replays() {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let third = rig.server.uplink().await;
    let mut tapped = third.client().subscribe("herder.b.to.>").await.unwrap();
    settled(&third).await;
    until_granted(&runner, true).await;
    let (mut bot, mut host) = rig.open(&mut runner).await;
    speak(&mut bot, &mut host).await;
    let mut recorded: Vec<Message> = Vec::new();
    while recorded.iter().filter(|message| !message.payload.is_empty()).count() < 2 {
        recorded.push(soon("a message", tapped.next()).await.unwrap());
    }
    let replay = async |message: &Message, headers: HeaderMap| {
        let sent =
            third.client().publish_with_headers(message.subject.clone(), headers, message.payload.clone());
        sent.await.unwrap();
        settled(&third).await;
    };
    // While the connection is open they are doubles.
    for message in &recorded {
        replay(message, message.headers.clone().unwrap()).await;
    }
    speak(&mut bot, &mut host).await;
    drop(bot);
    assert!(soon("the end", host.next()).await.is_none());
    for message in &recorded {
        replay(message, message.headers.clone().unwrap()).await;
    }
    let stranger = KeyPair::new_user();
    let forged = Numbered {
        id: ConnectionId { epoch: 9, number: 1 },
        n: 1,
        taken: None,
        payload: Bytes::from_static(b"forged"),
    };
    let like = Message { payload: forged.payload.clone(), ..recorded[0].clone() };
    replay(&like, forged.headers(&like.subject, None).unwrap()).await;
    replay(&like, forged.headers(&like.subject, Some(&stranger)).unwrap()).await;
    replay(&like, HeaderMap::new()).await;
    // An honest connection comes after all of them.
    let (mut bot, mut host) = rig.open(&mut runner).await;
    speak(&mut bot, &mut host).await;
    assert!(
        runner.streams.try_recv().is_err(),
        "the host was given a connection that the bot has not opened"
    );
    assert_eq!(runner.station.rejected(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_ends_the_connection_at_both_ends() {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let (mut bot, mut host) = rig.open(&mut runner).await;
    let third = rig.server.uplink().await;
    let subject = Subjects::new("b").from("r", &runner.identity.incarnation);
    let id = ConnectionId { epoch: 7, number: 1 };
    let later = Numbered { id, n: 500, taken: None, payload: Bytes::from_static(b"later") };
    let headers = later.headers(&subject, None).unwrap();
    third.client().publish_with_headers(subject, headers, later.payload).await.unwrap();
    assert!(soon("the bot's end", bot.next()).await.is_none());
    assert!(soon("the host's end", host.next()).await.is_none());
    let (mut bot, mut host) = rig.open(&mut runner).await;
    speak(&mut bot, &mut host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_machines_of_one_name_the_second_is_refused() {
    let mut rig = Rig::new().await;
    let mut first = rig.runner("m1").await;
    until_granted(&first, true).await;
    let mut changed = rig.hub.changed();
    let second = rig.runner("m2").await;
    let mut grant = second.station.grant();
    let state = soon("the refusal", grant.wait_for(|state| state.refusal.is_some())).await.unwrap().clone();
    assert!(!state.granted && state.refusal.unwrap().contains("runner r "));
    soon("the news of it", changed.changed()).await.unwrap();
    let seen = rig.hub.seen("r").unwrap();
    assert_eq!((seen.machine.as_str(), &seen.incarnation), ("m1", &first.identity.incarnation));
    let twin = seen.twin.unwrap();
    assert_eq!((twin.machine.as_str(), &twin.incarnation), ("m2", &second.identity.incarnation));
    let (mut bot, mut host) = rig.open(&mut first).await;
    speak(&mut bot, &mut host).await;
    // The same machine again takes its own place at once.
    let mut third = rig.runner("m1").await;
    until_granted(&third, true).await;
    assert!(soon("the end of the first one's", bot.next()).await.is_none());
    first.shutdown.cancel();
    let (mut bot, mut host) = rig.open(&mut third).await;
    speak(&mut bot, &mut host).await;
    assert_eq!(rig.hub.seen("r").unwrap().twin.unwrap().machine, "m2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_fell_silent_keeps_its_name_until_it_is_removed() {
    let mut rig = Rig::new().await;
    let first = rig.runner("m1").await;
    until_granted(&first, true).await;
    first.shutdown.cancel();
    let mut changed = rig.hub.changed();
    soon("its absence", async {
        while rig.hub.seen("r").unwrap().here {
            changed.changed().await.unwrap();
        }
    })
    .await;
    let mut second = rig.runner("m2").await;
    let mut grant = second.station.grant();
    soon("the refusal", grant.wait_for(|state| state.refusal.is_some())).await.unwrap();
    assert!(!rig.hub.seen("r").unwrap().here);
    // It has joined anew.
    rig.hub.admit("r");
    let (mut bot, mut host) = rig.open(&mut second).await;
    speak(&mut bot, &mut host).await;
    assert_eq!(rig.hub.seen("r").unwrap().machine, "m2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dismissed_runner_is_not_answered_and_its_connections_end() {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let (mut bot, mut host) = rig.open(&mut runner).await;
    until_granted(&runner, true).await;
    rig.hub.dismiss("r");
    assert!(soon("the bot's end", bot.next()).await.is_none());
    assert!(soon("the host's end", host.next()).await.is_none());
    assert_eq!(rig.hub.seen("r"), None);
    until_granted(&runner, false).await;
    // The name is another machine's, also while the one before is still let in.
    rig.hub.admit("r");
    let mut grant = runner.station.grant();
    soon("the refusal", grant.wait_for(|state| state.refusal.is_some())).await.unwrap();
    let mut other = rig.runner("m2").await;
    let (mut bot, mut host) = rig.open(&mut other).await;
    speak(&mut bot, &mut host).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_of_another_key_or_for_another_beat_counts_for_nothing() {
    let rig = Rig::new().await;
    soon("the hub's end", rig.hub.close()).await;
    let impostor = rig.server.uplink().await;
    let mut beats = impostor.client().subscribe(Subjects::new("b").beat("*")).await.unwrap();
    settled(&impostor).await;
    let uplink = rig.server.uplink().await;
    let (station, identity) = rig.station(uplink, "m1", pace());
    let (bot, stranger) = (rig.key.clone(), KeyPair::new_user());
    let answering = async {
        let mut first_reply = None;
        for round in 0.. {
            let beat = beats.next().await.unwrap();
            let reply = beat.reply.unwrap();
            let first = first_reply.get_or_insert_with(|| reply.clone()).clone();
            let body = br#"{"v":1,"epoch":7}"#;
            let incarnation = &identity.incarnation;
            let (key, signed) = match round {
                0 => (&stranger, &reply),
                1 => (&bot, &first),
                _ => (&bot, &reply),
            };
            let signature = keys::sign(key, &frame::grant_text(signed, incarnation, body)).unwrap();
            let mut headers = HeaderMap::new();
            headers.insert(frame::SIGNATURE, signature);
            let sent = impostor.client().publish_with_headers(reply, headers, Bytes::from_static(body));
            sent.await.unwrap();
        }
    };
    let asking = async {
        let mut answers = Vec::new();
        while answers.len() < 3 {
            match station.ask().await {
                Ok(epoch) => answers.push(Some(epoch)),
                Err(Missed::Signature) => answers.push(None),
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(answers, [None, None, Some(7)]);
    };
    tokio::select! {
        () = answering => {}
        () = soon("three answers", asking) => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_stops_the_writer_and_loses_nothing() {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let (bot, host) = rig.open(&mut runner).await;
    let (_reader, mut writer) = halves(bot).await;
    let frame = |n: usize| Bytes::from(vec![(n % 256) as u8; 100_000]);
    let mut written = 0;
    let filling = async {
        loop {
            writer.send(frame(written)).await.unwrap();
            written += 1;
        }
    };
    // Longer than a silent connection lasts: this one goes on.
    assert!(tokio::time::timeout(2 * pace().away, filling).await.is_err());
    let buffers = 2 * 256 * 1024 + 2 * 100_000;
    assert!(written * 100_000 <= WINDOW as usize + buffers, "{written} frames are on their way");
    let (mut reader, _writer) = halves(host).await;
    for n in 0..written {
        assert!(soon("a frame", reader.next()).await.unwrap().unwrap() == frame(n));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement: run with --release --nocapture"]
#[expect(clippy::print_stderr, reason = "figures for people")]
async fn measure_round_trips() {
    let mut rig = Rig::new().await;
    let mut runner = rig.runner("m1").await;
    let (mut bot, host) = rig.open(&mut runner).await;
    rig.tasks.spawn(async move {
        let (mut reader, mut writer) = split(host.into_inner());
        let mut buffer = vec![0; 4096];
        while let Ok(read) = reader.read(&mut buffer).await {
            if read == 0 || tokio::io::AsyncWriteExt::write_all(&mut writer, &buffer[..read]).await.is_err() {
                return;
            }
        }
    });
    let (asks, answers) = (rig.server.uplink().await, rig.server.uplink().await);
    let mut asked = answers.client().subscribe("bare").await.unwrap();
    settled(&answers).await;
    rig.tasks.spawn(async move {
        while let Some(message) = asked.next().await {
            answers.client().publish(message.reply.unwrap(), message.payload).await.unwrap();
        }
    });
    let payload = Bytes::from(vec![b'x'; 200]);
    for round in 0..4 {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            let begun = Instant::now();
            asks.client().request("bare", payload.clone()).await.unwrap();
            bare.push(begun.elapsed());
        }
        for _ in 0..2000 {
            let begun = Instant::now();
            bot.send(payload.clone()).await.unwrap();
            assert_eq!(bot.next().await.unwrap().unwrap().len(), payload.len());
            ours.push(begun.elapsed());
        }
        bare.sort();
        ours.sort();
        let ratio = ours[1000].as_secs_f64() / bare[1000].as_secs_f64();
        eprintln!(
            "round {round}: bare p50 {:?} p99 {:?}; hub p50 {:?} p99 {:?}; {ratio:.2}x",
            bare[1000], bare[1980], ours[1000], ours[1980]
        );
    }
}
