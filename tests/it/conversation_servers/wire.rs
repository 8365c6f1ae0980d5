//! The wire between herder and a server: a test can cut it, or make it a black hole.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::at;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// Links are gone, and who connects is hung up on.
    Cut,
    /// Nothing comes through and no side is told; data on its way stays there, as with a network that drops packets.
    Dark,
}

pub(crate) struct Wire {
    pub(crate) port: u16,
    state: watch::Sender<State>,
}

impl Wire {
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(at(0)).await.expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (sender, state) = watch::channel(State::Whole);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                if *state.borrow() != State::Cut {
                    tokio::spawn(lead(near, server, state.clone()));
                }
            }
        });
        Self { port, state: sender }
    }

    pub(crate) fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    pub(super) fn darken(&self) {
        self.state.send_replace(State::Dark);
    }

    pub(crate) fn mend(&self) {
        self.state.send_replace(State::Whole);
    }
}

async fn lead(near: TcpStream, server: u16, mut state: watch::Receiver<State>) {
    let (up, down) = (state.clone(), state.clone());
    let through = async move {
        if !light(&mut state).await {
            return;
        }
        let Ok(far) = TcpStream::connect(at(server)).await else { return };
        let ((near_reader, near_writer), (far_reader, far_writer)) = (near.into_split(), far.into_split());
        tokio::select! {
            () = pump(near_reader, far_writer, state) => {}
            () = pump(far_reader, near_writer, down) => {}
        }
    };
    let mut cut = up;
    tokio::select! {
        () = through => {}
        _ = cut.wait_for(|state| *state == State::Cut) => {}
    }
}

/// Waits for an end of the dark; false if the test is over.
async fn light(state: &mut watch::Receiver<State>) -> bool {
    state.wait_for(|state| *state != State::Dark).await.is_ok()
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if !light(&mut state).await || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
    // In the dark, the end of a side stays unknown too.
    light(&mut state).await;
}
