//! A person with a plain IRC client.

use std::sync::Arc;

use herder::chat::irc::Stream;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::irc_rig::PATIENCE;

pub(crate) struct Person {
    reader: BufReader<ReadHalf<Box<dyn Stream>>>,
    writer: WriteHalf<Box<dyn Stream>>,
}

impl Person {
    /// Comes in as `nick`.
    pub(crate) async fn new(port: u16, nick: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("listening");
        Self::over(Box::new(stream), nick).await
    }

    /// Comes in over TLS with a certificate of its own; `server` is the server's.
    pub(crate) async fn secure(
        port: u16,
        nick: &str,
        server: &rcgen::Certificate,
        own: &rcgen::CertifiedKey<rcgen::KeyPair>,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(server.der().clone()).expect("a certificate");
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![own.cert.der().clone()], key)
            .expect("they belong together");
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("listening");
        let name = ServerName::try_from("irc.test.local").expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("trusted");
        Self::over(Box::new(stream), nick).await
    }

    async fn over(stream: Box<dyn Stream>, nick: &str) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let mut person = Self { reader: BufReader::new(reader), writer };
        person.send(&format!("NICK {nick}\r\nUSER {nick} 0 * :{nick}")).await;
        person.until(" 001 ").await;
        person
    }

    /// Comes in and joins `channels`.
    pub(crate) async fn joined(port: u16, nick: &str, channels: &[&str]) -> Self {
        let mut person = Self::new(port, nick).await;
        for channel in channels {
            person.join(channel).await;
        }
        person
    }

    pub(crate) async fn join(&mut self, channel: &str) {
        self.send(&format!("JOIN {channel}")).await;
        self.until(" 366 ").await;
    }

    /// Registers its nick with the services, which logs it in.
    pub(crate) async fn register(&mut self, password: &str) {
        loop {
            self.send(&format!("PRIVMSG NickServ :REGISTER {password} who@test.local")).await;
            // The services may not be there yet.
            let answer = self.until_any(&[" 900 ", " 401 "]).await;
            if answer.contains(" 900 ") {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\r\n").as_bytes()).await.expect("connected");
    }

    pub(crate) async fn say(&mut self, to: &str, text: &str) {
        self.send(&format!("PRIVMSG {to} :{text}")).await;
    }

    /// Returns the next line that holds `text`.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        self.until_any(&[text]).await
    }

    pub(crate) async fn until_any(&mut self, texts: &[&str]) -> String {
        let mut seen = Vec::new();
        loop {
            let line = tokio::time::timeout(PATIENCE, self.line()).await;
            let line = line.unwrap_or_else(|_| panic!("{texts:?} did not come in time, but {seen:#?}"));
            let line = line.unwrap_or_else(|| panic!("cut off before {texts:?} came, after {seen:#?}"));
            seen.push(line.clone());
            if texts.iter().any(|text| line.contains(text)) {
                return line;
            }
        }
    }

    /// Returns the next line; `None` when the server is gone.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        let read = self.reader.read_until(b'\n', &mut bytes).await;
        if read.unwrap_or(0) == 0 {
            return None;
        }
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        if let Some(token) = line.strip_prefix("PING ") {
            self.send(&format!("PONG {token}")).await;
        }
        Some(line)
    }

    /// Returns the text of the next line said in `channel`; `None` when the server is gone.
    pub(crate) async fn hear(&mut self, channel: &str) -> Option<String> {
        let said = format!(" PRIVMSG {channel} ");
        loop {
            let line = self.line().await?;
            if let Some((_, text)) = line.split_once(&said) {
                return Some(text.strip_prefix(':').unwrap_or(text).to_owned());
            }
        }
    }
}
