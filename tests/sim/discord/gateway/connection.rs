//! One connection: the payloads of the client, the answers to it, and its end.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::super::Shared;
use super::super::server::Link;
use super::super::state::State;
use super::{Hearing, Push};

/// Size in bytes from which a payload is compressed for a client that asked for that.
const COMPRESS_FROM: usize = 1024;

/// The next step after a payload of the client.
enum Next {
    Go,
    Close(u16),
}

struct Connection {
    shared: Arc<Shared>,
    link: mpsc::UnboundedSender<Push>,
    session: Option<String>,
}

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, mut socket: WebSocketStream<Link>) {
    let (link, mut pushes) = mpsc::unbounded_channel();
    let (heartbeat, refused) = shared.with(|state| {
        state.gateway.connections += 1;
        state.gateway.connected_at.push(Instant::now());
        let refused = match &mut state.gateway.close_at_connect {
            Some((left, code)) if *left > 0 => {
                *left -= 1;
                Some(*code)
            }
            Some(_) | None => None,
        };
        (state.gateway.heartbeat, refused)
    });
    if let Some(code) = refused {
        close(&mut socket, Some(code)).await;
        return;
    }
    let hello = json!({ "op": 10, "s": null, "t": null, "d": { "heartbeat_interval": heartbeat.as_millis() as u64 } });
    if socket.send(Frame::Text(hello.to_string())).await.is_err() {
        return;
    }
    let mut connection = Connection { shared, link, session: None };
    connection.talk(&mut socket, &mut pushes).await;
    connection.leaves(false);
}

impl Connection {
    /// Leaves its session; with `is_over` the session ends.
    fn leaves(&mut self, is_over: bool) {
        let Some(session) = self.session.take() else { return };
        self.shared
            .with(|state| if is_over { state.end(&session) } else { state.unlink(&session, &self.link) });
    }

    async fn talk(&mut self, socket: &mut WebSocketStream<Link>, pushes: &mut mpsc::UnboundedReceiver<Push>) {
        loop {
            tokio::select! {
                push = pushes.recv() => match push {
                    Some(Push::Send(payload)) => {
                        if socket.send(self.frame(payload)).await.is_err() {
                            return;
                        }
                    }
                    Some(Push::Invalid(resumable)) => {
                        self.leaves(!resumable);
                        self.send(&json!({ "op": 9, "d": resumable }));
                    }
                    Some(Push::Close(code)) => {
                        // Done before the client learns of it: it may be back at once.
                        let keeps = self.shared.with(|state| state.gateway.keeps_sessions);
                        self.leaves(matches!(code, Some(4004 | 4007 | 4009..=4014)) && !keeps);
                        return close(socket, code).await;
                    }
                    Some(Push::Rst) => return socket.get_mut().reset_on_drop(),
                    Some(Push::Fin) | None => return,
                },
                frame = socket.next() => {
                    let text = match frame {
                        Some(Ok(Frame::Text(text))) => text,
                        Some(Ok(Frame::Close(frame))) => {
                            // A close with 1000 or 1001 ends the session.
                            let code = frame.map_or(1005, |frame| u16::from(frame.code));
                            return self.leaves(matches!(code, 1000 | 1001));
                        }
                        Some(Ok(Frame::Binary(_) | Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_))) => continue,
                        Some(Err(_)) | None => return,
                    };
                    if let Next::Close(code) = self.payload(&text) {
                        self.leaves(false);
                        return close(socket, Some(code)).await;
                    }
                }
            }
        }
    }

    fn frame(&self, payload: String) -> Frame {
        let compress = self.session.as_ref().is_some_and(|session| {
            self.shared.with(|state| state.session_mut(session).is_some_and(|session| session.compress))
        });
        if !compress || payload.len() < COMPRESS_FROM {
            return Frame::Text(payload);
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(payload.as_bytes()).expect("a vector takes everything");
        Frame::Binary(encoder.finish().expect("a vector takes everything"))
    }

    fn send(&self, payload: &Value) {
        // The receiver stands in the same task.
        drop(self.link.send(Push::Send(payload.to_string())));
    }

    fn payload(&mut self, text: &str) -> Next {
        let Ok(payload) = serde_json::from_str::<Value>(text) else { return Next::Close(4002) };
        let shared = Arc::clone(&self.shared);
        shared.with(|state| {
            if state.is_silent(self.session.as_ref()) {
                state.gateway.swallowed += u32::from(matches!(payload["op"].as_u64(), Some(2 | 6)));
                return Next::Go;
            }
            let data = &payload["d"];
            match payload["op"].as_u64() {
                Some(1) => {
                    state.gateway.heartbeats += 1;
                    self.send(&json!({ "op": 11 }));
                    Next::Go
                }
                Some(2 | 6) if self.session.is_some() => {
                    state.violation("gateway: identified twice on one connection (4005)");
                    Next::Close(4005)
                }
                Some(2) => self.identify(state, data),
                Some(6) => self.resume(state, data),
                Some(3 | 4 | 8 | 31) if self.session.is_none() => {
                    state.violation("gateway: something was sent before identifying (4003)");
                    Next::Close(4003)
                }
                Some(8) => {
                    let chunk = state.members_chunk(data);
                    let hearing = Hearing { event: "GUILD_MEMBERS_CHUNK", intents: 0, is_direct: false };
                    state.dispatch(&hearing, |_, _| chunk.clone());
                    Next::Go
                }
                Some(3 | 4 | 31) => Next::Go,
                other => {
                    state.violation(format!("gateway: unknown opcode {other:?} (4001)"));
                    Next::Close(4001)
                }
            }
        })
    }

    fn identify(&mut self, state: &mut State, data: &Value) -> Next {
        state.gateway.identified_at.push(Instant::now());
        if let Some(code) = state.identify_refusal(data) {
            return Next::Close(code);
        }
        if self.is_invalid(state) {
            state.gateway.identifies += 1;
            state.gateway.starts_left -= 1;
            return Next::Go;
        }
        self.session = Some(state.identify(data, self.link.clone()));
        Next::Go
    }

    /// Returns whether the request is answered with an invalid session, whatever it is.
    fn is_invalid(&self, state: &mut State) -> bool {
        let (left, resumable) = state.gateway.invalid;
        if left > 0 {
            state.gateway.invalid.0 -= 1;
            self.send(&json!({ "op": 9, "d": resumable }));
        }
        left > 0
    }

    fn resume(&mut self, state: &mut State, data: &Value) -> Next {
        if self.is_invalid(state) {
            return Next::Go;
        }
        match state.resume(data, self.link.clone()) {
            Ok(session) => self.session = Some(session),
            Err(Some(code)) => return Next::Close(code),
            Err(None) => self.send(&json!({ "op": 9, "d": false })),
        }
        Next::Go
    }
}

async fn close(socket: &mut WebSocketStream<Link>, code: Option<u16>) {
    let reason = match code {
        Some(4004) => "Authentication failed.",
        Some(4013) => "Invalid intent(s).",
        Some(4014) => "Disallowed intent(s).",
        Some(_) | None => "",
    };
    let frame = code.map(|code| CloseFrame { code: code.into(), reason: reason.into() });
    if socket.send(Frame::Close(frame)).await.is_err() {
        return;
    }
    // The other end answers the close; it is given a moment, so that the frame is not lost to a reset.
    let answered = async { while socket.next().await.is_some_and(|frame| frame.is_ok()) {} };
    drop(tokio::time::timeout(Duration::from_secs(1), answered).await);
}
