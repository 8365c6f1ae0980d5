//! A webhook receiver: it stores the requests and answers as the test says.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::stage::PATIENCE;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Told {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// Returns the event's id and name.
    pub(crate) fn event(&self) -> (String, String) {
        let body = self.json();
        let text = |key: &str| body[key].as_str().expect("a text").to_owned();
        (text("id"), text("event"))
    }
}

/// The answer to a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A status with headers.
    Status(u16, Vec<(&'static str, String)>),
    /// No answer, on a connection that stays open.
    Silence,
}

/// The receiver: every request is answered with the next reply of its script, and with 204 after that.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    told: mpsc::UnboundedReceiver<Told>,
}

impl Receiver {
    pub(crate) async fn open(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::open_on(listener, script)
    }

    /// As [`Receiver::open`], on a socket that listens.
    pub(crate) fn open_on(listener: TcpListener, script: impl IntoIterator<Item = Reply>) -> Self {
        let address = listener.local_addr().expect("an address");
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let (sender, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), sender.clone()));
            }
        });
        Self { address, told }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Returns the next request.
    pub(crate) async fn next(&mut self) -> Told {
        let next = tokio::time::timeout(PATIENCE, self.told.recv()).await;
        next.expect("somebody is told something").expect("the receiver lives")
    }

    /// Returns the requests that arrived and were not read yet.
    pub(crate) fn rest(&mut self) -> Vec<Told> {
        std::iter::from_fn(|| self.told.try_recv().ok()).collect()
    }
}

async fn serve(stream: TcpStream, script: Arc<Mutex<VecDeque<Reply>>>, told: mpsc::UnboundedSender<Told>) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
        return;
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.expect("a header");
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.expect("a body");
    let reply = script.lock().unwrap().pop_front();
    let told = told.send(Told { line: line.trim_end().to_owned(), headers, body });
    // A test that is over does not look any more.
    if told.is_err() {
        return;
    }
    match reply.unwrap_or(Reply::Status(204, Vec::new())) {
        Reply::Status(status, headers) => {
            let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\ncontent-length: 0\r\n");
            headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
            // The sender may have been killed.
            let _ = stream.write_all(format!("{head}\r\n").as_bytes()).await;
        }
        Reply::Silence => {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    }
}
