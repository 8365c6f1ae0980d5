//! The embedded IRC server over real streams: TCP on loopback and the in-memory stream of herder itself.
//!
//! Tests beside the state machine, in `src/chat/embedded_ircd/state_tests.rs`, cover the answer to each verb.

use std::net::Ipv4Addr;
use std::time::Duration;

use herder::chat::embedded_ircd::{Options, Password, Server, StartError};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::net::TcpStream;

/// The longest wait; nothing here takes long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A raw IRC client.
pub(crate) struct Raw<S> {
    reader: BufReader<ReadHalf<S>>,
    writer: WriteHalf<S>,
}

impl<S: AsyncRead + AsyncWrite> Raw<S> {
    /// Returns a client on an open stream.
    pub(crate) fn new(stream: S) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: BufReader::new(reader), writer }
    }

    /// Sends one line.
    pub(crate) async fn send(&mut self, line: &str) {
        self.bytes(format!("{line}\r\n").as_bytes()).await;
    }

    /// Sends bytes as they are.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.expect("the server reads");
    }

    /// Returns the next line; `None` when the server closed the connection.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.reader.read_until(b'\n', &mut line));
        match read.await.expect("a line within patience") {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8(line).expect("the server sends UTF-8").trim_end().to_owned()),
        }
    }

    /// Reads until a line contains `what`, and returns everything read.
    pub(crate) async fn until(&mut self, what: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.line().await else { panic!("closed before {what:?}: {lines:#?}") };
            let found = line.contains(what);
            lines.push(line);
            if found {
                return lines;
            }
        }
    }

    /// Waits until everything sent before has been handled; returns all lines that it caused for this client.
    pub(crate) async fn fence(&mut self, token: &str) -> Vec<String> {
        self.send(&format!("PING :{token}")).await;
        let mut lines = self.until(&format!("PONG irc.herder.local {token}")).await;
        lines.pop();
        lines
    }

    /// Registers and waits for the end of the greeting.
    pub(crate) async fn register(&mut self, nick: &str, password: Option<&str>, caps: &str) {
        if let Some(password) = password {
            self.send(&format!("PASS {password}")).await;
        }
        self.send(&format!("CAP REQ :{caps}")).await;
        self.send(&format!("NICK {nick}")).await;
        self.send("USER someone 0 * :Some One").await;
        self.send("CAP END").await;
        self.until(" 422 ").await;
    }
}

async fn server() -> Server {
    let accounts = vec![("owner".to_owned(), Password::of("sesame"))];
    Server::start(Options { accounts, guests: true, ..Options::default() }).await.expect("a port is free")
}

async fn tcp(server: &Server) -> Raw<TcpStream> {
    Raw::new(TcpStream::connect(server.address()).await.expect("the server listens"))
}

#[tokio::test]
async fn it_listens_on_loopback_alone_and_takes_the_next_port() {
    let first = server().await;
    assert!(first.address().ip().is_loopback());
    let port = first.address().port();
    let taken = Server::start(Options { port, ..Options::default() }).await;
    assert!(matches!(taken, Err(StartError::Listen { .. })), "{taken:?}");
    let next =
        Server::start(Options { port, more_ports: 50, ..Options::default() }).await.expect("one of fifty");
    assert!(next.address().port() > port);
}

#[tokio::test]
async fn herder_and_a_person_talk_through_it() {
    let server = server().await;
    let mut herder = Raw::new(server.connect_internal("herder"));
    herder.register("herder", None, "account-tag server-time batch message-tags echo-message").await;
    herder.send("JOIN #spark").await;
    herder.until(" 366 ").await;
    let mut person = tcp(&server).await;
    person.register("ann", Some("sesame"), "server-time").await;
    person.send("JOIN #spark").await;
    person.until(" 366 ").await;
    person.send("PRIVMSG #spark :@spark status").await;
    let heard = herder.until("PRIVMSG").await.pop().unwrap();
    assert!(heard.contains(";account=owner;") && heard.ends_with("PRIVMSG #spark :@spark status"), "{heard}");
    herder.send("PRIVMSG #spark :idle, no task").await;
    let answer = person.until("PRIVMSG").await.pop().unwrap();
    assert!(answer.ends_with(":herder!someone@herder PRIVMSG #spark :idle, no task"), "{answer}");
}

#[tokio::test]
async fn a_wrong_password_ends_the_connection_with_a_sentence() {
    let server = server().await;
    let mut eve = tcp(&server).await;
    eve.send("PASS wrong").await;
    eve.send("NICK eve").await;
    eve.send("USER eve 0 * :Eve").await;
    let said = eve.line().await.unwrap();
    assert_eq!(
        said,
        ":irc.herder.local 464 eve :Wrong password: use the one that herder printed at its first start"
    );
    assert!(eve.line().await.unwrap().starts_with("ERROR :Closing link"));
    assert_eq!(eve.line().await, None);
}

#[tokio::test]
async fn history_comes_in_a_batch_with_the_time_it_was_said() {
    let server = server().await;
    let mut ann = tcp(&server).await;
    ann.register("ann", Some("sesame"), "").await;
    ann.send("JOIN #c").await;
    ann.send("PRIVMSG #c :@spark abort").await;
    ann.fence("said").await;
    let mut bot = tcp(&server).await;
    bot.register("bot", None, "batch server-time").await;
    bot.send("JOIN #c").await;
    let lines = bot.fence("joined").await;
    let start = lines.iter().position(|line| line.contains("BATCH +")).expect("a batch");
    assert!(lines[start].ends_with("chathistory #c"));
    assert!(
        lines[start + 1].starts_with("@time=2") && lines[start + 1].contains(";batch="),
        "{}",
        lines[start + 1]
    );
    assert!(lines[start + 2].contains("BATCH -"));
}

#[tokio::test]
async fn hostile_bytes_hurt_nobody() {
    let server = server().await;
    let mut ann = tcp(&server).await;
    ann.register("ann", Some("sesame"), "").await;
    ann.send("JOIN #c").await;
    ann.fence("in").await;
    let mut eve = tcp(&server).await;
    eve.register("eve", None, "").await;
    eve.send("JOIN #c").await;
    eve.bytes(b"PRIVMSG #c :caf\xe9 \x00nul\rNICK x\r\n").await;
    eve.bytes(b"\r\n\n:\r\n@\r\n: \r\n@a=b\r\nPRIVMSG\r\nMODE #c +zzz x y z\r\nCAP FROB\r\n\xff\xfe\xfd\r\n")
        .await;
    eve.bytes(&vec![b'A'; 64 * 1024]).await;
    eve.bytes(b"\r\n").await;
    let answers = eve.fence("alive").await;
    assert!(answers.iter().any(|line| line.contains(" 417 ")), "{answers:#?}");
    let heard = ann.until("PRIVMSG #c").await.pop().unwrap();
    assert_eq!(heard, ":eve!someone@localhost PRIVMSG #c :caf\u{fffd} nulNICK x");
    assert_eq!(ann.fence("quiet").await, Vec::<String>::new(), "nothing else reached anybody");
}

#[tokio::test]
async fn a_reader_that_never_reads_is_dropped_and_the_others_go_on() {
    let server = server().await;
    let mut herder = Raw::new(server.connect_internal("herder"));
    herder.register("herder", None, "").await;
    herder.send("JOIN #c").await;
    herder.until(" 366 ").await;
    let mut slow = tcp(&server).await;
    slow.register("slow", None, "").await;
    slow.send("JOIN #c").await;
    herder.until("JOIN").await;
    let line = format!("PRIVMSG #c :{}", "x".repeat(400));
    let mut sent = 0;
    let notice = loop {
        // Each hundred lines are read by the server before the next hundred: the queue of `slow` alone can grow.
        for _ in 0..100 {
            herder.send(&line).await;
        }
        sent += 100;
        assert!(sent < 200_000, "the slow reader is still there");
        if let Some(quit) = herder.fence("more").await.pop() {
            break quit;
        }
    };
    assert!(notice.contains(":slow!") && notice.ends_with("QUIT :SendQ exceeded"), "{notice}");
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, slow.reader.read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "the connection is closed");
}

#[tokio::test]
async fn a_flood_is_held_back_and_the_others_do_not_wait_for_it() {
    let server = server().await;
    let mut eve = tcp(&server).await;
    eve.register("eve", None, "").await;
    for number in 0..100 {
        eve.send(&format!("PING :{number}")).await;
    }
    let mut ann = tcp(&server).await;
    ann.register("ann", Some("sesame"), "").await;
    let started = std::time::Instant::now();
    ann.fence("mine").await;
    let mine = started.elapsed();
    eve.until("PONG irc.herder.local 99").await;
    assert!(
        started.elapsed() > Duration::from_secs(2),
        "100 lines came through at once: {:?}",
        started.elapsed()
    );
    assert!(mine < Duration::from_secs(1), "ann waited {mine:?} for eve");
}

#[tokio::test]
async fn everybody_is_told_when_it_ends() {
    let server = server().await;
    let address = server.address();
    let mut ann = tcp(&server).await;
    ann.register("ann", Some("sesame"), "").await;
    let mut herder = Raw::new(server.connect_internal("herder"));
    herder.register("herder", None, "").await;
    server.stop().await;
    assert_eq!(ann.line().await.as_deref(), Some("ERROR :Closing link: herder has ended"));
    assert_eq!(ann.line().await, None);
    assert_eq!(herder.line().await.as_deref(), Some("ERROR :Closing link: herder has ended"));
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).await.is_err());
}
