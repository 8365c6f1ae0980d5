//! Requests of `--follow` over the local socket: after the answer, each event is sent as a line of JSON until one side
//! closes the connection.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::{ANSWER_MAX, Answer, AskError, Asked, Request, connect, refused};
use crate::commands::Dispatcher;
use crate::commands::follow::Followable;

/// Maximum time for a shell to read one sent line; then the connection is closed.
const SLOW_MAX: Duration = Duration::from_secs(20);

/// The starting point of a shell's request to follow events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Onward {
    /// Number of the last event that the shell has already received; `None` to start with the answer.
    #[serde(default)]
    pub after: Option<u64>,
}

/// One event as it is sent to a shell that follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// The event's number in the journal.
    pub seq: u64,
    /// The event as one line of text for people.
    pub line: String,
    /// The event as JSON for programs; `null` in a report without an event, which only tells that the journal was
    /// searched up to `seq`.
    pub event: serde_json::Value,
}

/// Answers a request to follow, then sends each event until the shell closes the connection or `shutdown` is cancelled.
pub(super) async fn serve(
    (mut reader, mut writer): (impl AsyncBufRead + Unpin, impl AsyncWrite + Unpin),
    dispatcher: &Dispatcher,
    (request, onward): (&Request, Onward),
    shutdown: &CancellationToken,
) -> io::Result<()> {
    let begun = dispatcher.follow((&request.command, &request.args), onward.after).await;
    let (answer, mut following) = match begun {
        Ok((Some(reply), following)) => {
            (Answer { ok: reply.ok, lines: reply.lines, data: reply.data }, Some(following))
        }
        Ok((None, following)) => (Answer { ok: true, lines: Vec::new(), data: None }, Some(following)),
        Err(reply) => (refused(reply.lines.join("\n")), None),
    };
    send(&mut writer, &answer).await?;
    let Some(following) = &mut following else { return Ok(()) };
    // From here a shell goes on if herder ends before anything happens.
    let begun = Happened { seq: following.begun_after, line: String::new(), event: serde_json::Value::Null };
    send(&mut writer, &begun).await?;
    let mut rest = [0; 64];
    loop {
        let events = tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            // A shell says nothing more; it hangs up.
            read = reader.read(&mut rest) => match read? {
                0 => return Ok(()),
                _ => continue,
            },
            events = following.next() => events,
        };
        let Some(events) = events else { return Ok(()) };
        for Followable { seq, line, event } in events {
            send(&mut writer, &Happened { seq, line, event }).await?;
        }
    }
}

async fn send(writer: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    tokio::time::timeout(SLOW_MAX, writer.write_all(&text)).await?
}

/// The shell's end of a connection on which it follows events.
#[derive(Debug)]
pub struct Stream {
    reader: BufReader<UnixStream>,
}

impl Stream {
    /// Connects to the herder that listens on `path`, sends the request, and returns its answer with the stream of
    /// later events.
    ///
    /// # Errors
    /// An [`AskError`] if there is none, or it does not answer.
    pub async fn open(path: &Path, request: &Request, onward: Onward) -> Result<(Answer, Self), AskError> {
        let mut stream = connect(path).await?;
        let asked = Asked { request, data: true, follow: Some(onward) };
        let mut text = serde_json::to_vec(&asked).map_err(AskError::Unreadable)?;
        text.push(b'\n');
        stream.write_all(&text).await?;
        let mut this = Self { reader: BufReader::new(stream) };
        let answer = this.line().await?.ok_or(AskError::Ended)?;
        Ok((answer, this))
    }

    /// Waits for the next event; `None` if herder has closed the connection.
    ///
    /// # Errors
    /// An [`AskError`] if the connection failed.
    pub async fn next(&mut self) -> Result<Option<Happened>, AskError> {
        self.line().await
    }

    async fn line<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, AskError> {
        let mut line = Vec::new();
        (&mut self.reader).take(ANSWER_MAX).read_until(b'\n', &mut line).await?;
        if !line.ends_with(b"\n") {
            return Ok(None);
        }
        serde_json::from_slice(&line).map(Some).map_err(AskError::Unreadable)
    }
}
