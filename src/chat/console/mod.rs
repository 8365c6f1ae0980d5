//! A console in the terminal: a client of the embedded IRC server that shows every channel and sends what is typed.
//!
//! It is an IRC client like any other, so that the person at the terminal is authorised by the same code as everybody
//! else. [`session::Session`] is pure: input from server and keyboard gives lines to send and text to print. The task
//! here moves bytes.
//!
//! A terminal is read key by key ([`keyboard`], [`editor`]), so that a half-typed line stays visible below new lines.
//! Standard input that is not a terminal works as well (for scripts); when it ends the console continues to print.

mod editor;
mod keyboard;
mod screen;
mod session;

pub use keyboard::{Keyboard, Typed};
pub use screen::Style;
pub use session::Settings;
use session::{Does, Session};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock;

/// Interval at which the console asks for the list of channels, to find new ones, e.g. of an agent that was added.
const LOOK: std::time::Duration = std::time::Duration::from_secs(3);

/// The reason why the console in the terminal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The person typed `/quit`, or closed a terminal's input.
    Quit,
    /// The output of the console was closed.
    Unread,
    /// The server closed the console's connection.
    LinkLost,
    /// herder ended the console.
    Stopped,
}

/// Runs the console as an IRC client on `stream`, with `typed` as its input and `out` as its output, until it is
/// stopped, the person quits, or a stream ends.
pub async fn run<S, W>(
    settings: Settings,
    stream: S,
    typed: &mut mpsc::Receiver<Typed>,
    mut out: W,
    stop: CancellationToken,
) -> Ended
where
    S: AsyncRead + AsyncWrite + Send,
    W: AsyncWrite + Unpin,
{
    let mut session = Session::new(settings);
    let ended = converse(&mut session, stream, typed, &mut out, stop).await;
    // Fails if the output was closed.
    let _ = out.write_all(session.end().as_bytes()).await;
    let _ = out.flush().await;
    ended
}

async fn converse<S, W>(
    session: &mut Session,
    stream: S,
    typed: &mut mpsc::Receiver<Typed>,
    out: &mut W,
    stop: CancellationToken,
) -> Ended
where
    S: AsyncRead + AsyncWrite + Send,
    W: AsyncWrite + Unpin,
{
    let (reader, mut writer) = tokio::io::split(stream);
    let mut reader = BufReader::new(reader);
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut does = session.start();
    let mut line = Vec::new();
    let mut typing = true;
    loop {
        for text in does.send.drain(..) {
            if writer.write_all(format!("{text}\r\n").as_bytes()).await.is_err() {
                return Ended::LinkLost;
            }
        }
        if !does.show.is_empty()
            && (out.write_all(does.show.as_bytes()).await.is_err() || out.flush().await.is_err())
        {
            return Ended::Unread;
        }
        if does.quit {
            return Ended::Quit;
        }
        does = tokio::select! {
            biased;
            () = stop.cancelled() => return Ended::Stopped,
            read = reader.read_until(b'\n', &mut line) => match read {
                Ok(0) | Err(_) => return Ended::LinkLost,
                Ok(_) => {
                    let heard = session.heard(String::from_utf8_lossy(&line).trim_end(), clock::now());
                    line.clear();
                    heard
                }
            },
            text = typed.recv(), if typing && session.is_ready() => match text {
                Some(Typed::Draft(text)) => session.draft(text),
                Some(Typed::Line(text)) => session.typed(&text, clock::now()),
                Some(Typed::Done) => return Ended::Quit,
                None => {
                    typing = false;
                    Does::default()
                }
            },
            _ = look.tick() => session.look(),
        };
    }
}
