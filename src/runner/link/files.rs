//! Files that sessions on a runner get from their bot, piece by piece.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::Notify;

use super::super::wire::{FILES_FROM, ToRunner, WireError};
use super::{Known, Link, confused};
use crate::core::file::Sha256;
use crate::files::{FileStore, PIECE_MAX};

/// Maximum number of pieces that the runner may wait for, and of those that are read ahead for it.
const ASKED_MAX: usize = 256;
const READ_MAX: usize = 4;

/// Pieces that the runner asks for. It repeats what a lost connection has lost.
#[derive(Debug, Default)]
pub(super) struct Fetching {
    store: OnceLock<FileStore>,
    asked: Mutex<VecDeque<(Sha256, u64)>>,
    changed: Notify,
}

impl Fetching {
    /// Reads a piece in the background; without files, the answer is that there is none.
    ///
    /// # Errors
    /// The runner asks for more than it could take.
    pub(super) fn ask(&self, known: &mut Known, file: Sha256, from: u64) -> Result<(), WireError> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len().max(known.pieces.len()) >= ASKED_MAX {
            return Err(confused());
        }
        if self.store.get().is_none() {
            known.pieces.push_back(ToRunner::Piece { file, from, piece: None });
        } else {
            asked.push_back((file, from));
        }
        self.changed.notify_one();
        Ok(())
    }

    fn next(&self) -> Option<(Sha256, u64)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Notes that a piece is on its way.
    pub(super) fn told(&self) {
        self.changed.notify_one();
    }
}

impl Link {
    /// Lets sessions on the runner get these files.
    ///
    /// Must be called inside a tokio runtime.
    pub fn give_files(&self, files: FileStore) {
        if self.0.fetching.store.set(files.clone()).is_err() {
            return;
        }
        let inner = Arc::clone(&self.0);
        self.0.tasks.spawn(async move {
            let reading = async {
                loop {
                    let has_room = inner.known().pieces.len() < READ_MAX;
                    let next = if has_room { inner.fetching.next() } else { None };
                    let Some((file, from)) = next else {
                        inner.fetching.changed.notified().await;
                        continue;
                    };
                    let files = files.clone();
                    let read = tokio::task::spawn_blocking(move || files.piece(file, from, PIECE_MAX)).await;
                    let piece = read.ok().and_then(Result::ok).map(|bytes| STANDARD.encode(bytes));
                    inner.known().pieces.push_back(ToRunner::Piece { file, from, piece });
                    inner.changed.notify_one();
                }
            };
            // Never ends by itself.
            let _: Option<()> = inner.closed.run_until_cancelled(reading).await;
        });
    }

    /// Returns false if the runner was started by an earlier herder, whose sessions get no files.
    #[must_use]
    pub fn takes_files(&self) -> bool {
        let version = self.0.known().version;
        // 0 until it has answered.
        version == 0 || version >= FILES_FROM
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio_util::bytes::BytesMut;
    use tokio_util::task::TaskTracker;

    use super::super::super::host::next;
    use super::super::super::wire::{Envelope, Frames, FromRunner};
    use super::super::{Bot, LinkState};
    use super::*;

    async fn say(stream: &mut tokio::io::DuplexStream, body: FromRunner) {
        let mut out = BytesMut::new();
        Frames::default().write(&Envelope::new(1, 0, body), &mut out).expect("it is short");
        stream.write_all(&out).await.expect("the bot reads");
    }

    /// Returns the bot's end of a connection to a runner of this version, which fetches these pieces, and the answers.
    fn linked(
        version: u32,
        fetched: Vec<(Sha256, u64)>,
    ) -> (Link, tokio::sync::mpsc::UnboundedReceiver<ToRunner>) {
        let (connections, mut opened) = tokio::sync::mpsc::unbounded_channel();
        let opens = move || {
            let (bot, runner) = tokio::io::duplex(1 << 21);
            connections.send(runner).map_err(std::io::Error::other)?;
            Ok(bot)
        };
        let (told, answers) = tokio::sync::mpsc::unbounded_channel();
        drop(TaskTracker::new().spawn(async move {
            while let Some(mut stream) = opened.recv().await {
                let (mut frames, mut read) = (Frames::default(), BytesMut::new());
                while let Ok(Some(message)) = next::<ToRunner>(&mut stream, &mut frames, &mut read).await {
                    match message.body {
                        ToRunner::Hello { .. } => {
                            let (incarnation, sessions, past) = ("x".to_owned(), Vec::new(), None);
                            say(&mut stream, FromRunner::Welcome { incarnation, version, sessions, past })
                                .await;
                            for (file, from) in &fetched {
                                say(&mut stream, FromRunner::Fetch { file: *file, from: *from }).await;
                            }
                        }
                        answer @ ToRunner::Piece { .. } => told.send(answer).expect("the test listens"),
                        _ => {}
                    }
                }
            }
        }));
        (Link::within(Box::new(opens), Bot { journal: "j".to_owned(), epoch: 1 }), answers)
    }

    #[tokio::test]
    async fn a_runner_is_given_pieces_of_what_is_kept_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(dir.path());
        let bytes: Vec<u8> = (0..=255).cycle().take(PIECE_MAX + 3).collect();
        let (kept, other) = (store.keep("a", &bytes).expect("it is kept").sha256, crate::files::digest(b"b"));
        let (link, mut answers) = linked(4, vec![(kept, 0), (kept, PIECE_MAX as u64), (other, 0)]);
        link.give_files(store);
        let mut got = Vec::new();
        for _ in 0..3 {
            let Some(ToRunner::Piece { file, from, piece }) = answers.recv().await else {
                panic!("an answer")
            };
            got.push((file, from, piece.map(|piece| STANDARD.decode(piece).expect("Base64"))));
        }
        let pieces = bytes.split_at(PIECE_MAX);
        assert!(got[0] == (kept, 0, Some(pieces.0.to_vec())), "the first piece");
        assert_eq!(got[1], (kept, PIECE_MAX as u64, Some(pieces.1.to_vec())));
        assert_eq!(got[2], (other, 0, None));
        assert!(link.takes_files());
        link.close().await;
    }

    #[tokio::test]
    async fn a_runner_of_an_older_version_takes_no_files() {
        let (link, _answers) = linked(3, Vec::new());
        assert!(link.takes_files(), "it has not answered yet");
        let mut state = link.state();
        state.wait_for(|state| matches!(state, LinkState::Connected(_))).await.expect("it answers");
        assert!(!link.takes_files());
        link.close().await;
    }
}
