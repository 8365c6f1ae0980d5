//! A scripted server: the far side of in-memory streams, which answers as a plain server does unless a test says
//! otherwise.

use std::time::Duration;

use herder::chat::irc::Connector;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Everything herder asks for, and something it does not.
pub(crate) const ALL: &str = "batch server-time message-tags account-tag account-notify extended-join chghost cap-notify \
                              echo-message labeled-response multi-prefix sasl=PLAIN,EXTERNAL draft/other";
/// Longer than any clock of a link; tests with paused time wait no time at all.
const LONG: Duration = Duration::from_secs(1000);

/// The target of herder's connections.
pub(crate) struct Listener(mpsc::UnboundedReceiver<DuplexStream>);

/// Returns a connector, and the side where its streams come out.
pub(crate) fn listen() -> (Connector, Listener) {
    let (streams, accepted) = mpsc::unbounded_channel();
    let connector = Connector::factory(move || {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        streams.send(theirs).map_err(|_| std::io::Error::from(std::io::ErrorKind::ConnectionRefused))?;
        Ok(ours)
    });
    (connector, Listener(accepted))
}

impl Listener {
    /// Returns the next connection, of a server with these capabilities.
    pub(crate) async fn accept(&mut self, caps: &str) -> Script {
        let stream = tokio::time::timeout(LONG, self.0.recv()).await.expect("in time").expect("herder runs");
        let (reader, writer) = tokio::io::split(stream);
        Script {
            reader: BufReader::new(reader),
            writer,
            caps: caps.to_owned(),
            isupport: "CASEMAPPING=ascii".to_owned(),
            nick: String::new(),
            begun: Instant::now(),
            seen: Vec::new(),
        }
    }

    /// Waits for the next connection or for the end of everybody who could make one; true if it was the end.
    pub(crate) async fn is_left(&mut self) -> bool {
        tokio::time::timeout(LONG, self.0.recv()).await.expect("in time").is_none()
    }

    /// Returns the next connection, registered and joined.
    pub(crate) async fn up(&mut self, caps: &str) -> Script {
        let mut script = self.accept(caps).await;
        script.settle().await;
        script
    }
}

pub(crate) struct Script {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    caps: String,
    /// The tokens of 005; none: no 005 at all.
    pub(crate) isupport: String,
    pub(crate) nick: String,
    begun: Instant,
    pub(crate) seen: Vec<String>,
}

impl Script {
    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\r\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.expect("herder listens");
    }

    /// As [`Script::send`], and waits until herder has read it.
    pub(crate) async fn writes(&mut self, line: &str) {
        self.send(line).await;
        self.send("PING :read").await;
        self.until("PONG :read").await;
    }

    /// Returns the next line; `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        // With paused time a test that waits for what never comes would answer pings for ever.
        assert!(self.begun.elapsed() < LONG, "this script has gone on for too long: {:#?}", self.seen);
        let mut line = String::new();
        let read =
            tokio::time::timeout(LONG, self.reader.read_line(&mut line)).await.expect("a line in time");
        let line = (read.unwrap_or(0) > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned());
        self.seen.extend(line.clone());
        line
    }

    /// Answers as a plain server does until a line begins with `start`, which is left to the test.
    pub(crate) async fn until(&mut self, start: &str) -> String {
        loop {
            let line = self.line().await.unwrap_or_else(|| panic!("closed before \"{start}\""));
            if line.starts_with(start) {
                return line;
            }
            self.answer(&line).await;
        }
    }

    /// Answers until a post was taken and its fence answered; gives its text.
    pub(crate) async fn said(&mut self, to: &str) -> String {
        let line = self.posted(to).await;
        let fence = self.until("PING").await;
        self.answer(&fence).await;
        line
    }

    /// Answers until a post comes; gives its text.
    pub(crate) async fn posted(&mut self, to: &str) -> String {
        let start = format!("PRIVMSG {to} :");
        loop {
            let line = self.line().await.unwrap_or_else(|| panic!("closed before a post to {to}"));
            let bare = line.split_once("PRIVMSG ").map(|(_, rest)| format!("PRIVMSG {rest}"));
            if let Some(text) = bare.as_deref().and_then(|bare| bare.strip_prefix(&start)) {
                return text.to_owned();
            }
            self.answer(&line).await;
        }
    }

    /// Answers until the channels are joined and live.
    pub(crate) async fn settle(&mut self) {
        let join = self.until("JOIN").await;
        self.answer(&join).await;
        self.quiet().await;
    }

    /// Answers until herder has nothing more to say for a second.
    pub(crate) async fn quiet(&mut self) {
        while let Ok(line) = tokio::time::timeout(Duration::from_secs(1), self.line()).await {
            self.answer(&line.expect("still there")).await;
        }
    }

    /// As [`Script::quiet`], with nothing posted to `to` meanwhile.
    pub(crate) async fn quiet_without(&mut self, to: &str) {
        let before = self.seen.len();
        self.quiet().await;
        let start = format!("PRIVMSG {to} ");
        assert!(!self.seen[before..].iter().any(|line| line.starts_with(&start)), "{:#?}", self.seen);
    }

    /// Sends a plain server's answer to this line.
    pub(crate) async fn answer(&mut self, line: &str) {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let nick = self.nick.clone();
        match verb {
            "CAP" if rest.starts_with("LS") => {
                self.send(&format!(":s CAP * LS :{}", self.caps.clone())).await
            }
            "CAP" if rest.starts_with("REQ :") => {
                self.send(&format!(":s CAP * ACK :{}", rest.trim_start_matches("REQ :"))).await;
            }
            "CAP" if rest.starts_with("END") => self.welcome().await,
            "NICK" => rest.clone_into(&mut self.nick),
            // Services, as a network with services has it.
            "WHOIS" if rest == "NickServ" => {
                self.send(&format!(":s 311 {nick} NickServ s services. * :Services")).await;
                self.send(&format!(":s 313 {nick} NickServ :is a Network Service")).await;
                self.send(&format!(":s 318 {nick} NickServ :End")).await;
            }
            "PING" => self.send(&format!(":s PONG s {rest}")).await,
            "JOIN" => {
                for channel in rest.split(',') {
                    self.send(&format!(":{nick}!h@host JOIN {channel}")).await;
                    self.send(&format!(":s 366 {nick} {channel} :End of names")).await;
                }
            }
            _ => {}
        }
    }

    /// Sends the greeting, from 001 to its end.
    pub(crate) async fn welcome(&mut self) {
        let nick = self.nick.clone();
        self.send(&format!(":s 001 {nick} :Welcome")).await;
        if !self.isupport.is_empty() {
            self.send(&format!(":s 005 {nick} {} :are supported", self.isupport.clone())).await;
            self.send(&format!(":s 422 {nick} :no motd")).await;
        }
    }
}
