//! The bytes of files for sessions: from the store of this process, or from the bot, piece by piece.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::{FileStore, digest};
use crate::core::file::{KeptFile, Sha256};

/// The place from which a session gets the bytes of files.
#[derive(Debug, Clone)]
pub enum FileSource {
    /// The store of this process.
    Store(FileStore),
    /// The bot, to which the runner is connected.
    Bot(WantedFiles),
}

impl FileSource {
    /// Returns the bytes of a file; `None` if they are not kept any more.
    pub async fn read(&self, file: &KeptFile) -> Option<Vec<u8>> {
        match self {
            Self::Store(store) => {
                let (store, file) = (store.clone(), file.clone());
                tokio::task::spawn_blocking(move || store.read(&file).ok()).await.ok().flatten()
            }
            Self::Bot(wanted) => wanted.ask(file.clone()).await.ok().flatten(),
        }
    }
}

/// The files that a runner wants from its bot, piece by piece. Each is asked for until it is there, over any number of
/// connections. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct WantedFiles {
    wanted: Arc<Mutex<BTreeMap<Sha256, Wanted>>>,
    /// Notified when there is something to ask for.
    pub(crate) changed: Arc<Notify>,
}

#[derive(Debug)]
struct Wanted {
    size: u64,
    bytes: Vec<u8>,
    /// True once the next piece was asked for over the present connection.
    asked: bool,
    waiting: Vec<oneshot::Sender<Option<Vec<u8>>>>,
}

impl WantedFiles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Sha256, Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, file: KeptFile) -> oneshot::Receiver<Option<Vec<u8>>> {
        let (answer, answered) = oneshot::channel();
        let new = Wanted { size: file.size, bytes: Vec::new(), asked: false, waiting: Vec::new() };
        self.lock().entry(file.sha256).or_insert(new).waiting.push(answer);
        self.changed.notify_one();
        answered
    }

    /// Prepares for a new connection: what was asked for is asked for again.
    pub(crate) fn connect(&self) {
        self.lock().values_mut().for_each(|wanted| wanted.asked = false);
    }

    /// Returns the next piece to ask for, by the file and the number of its first byte, and marks it as asked for. A
    /// file that nobody waits for any more is forgotten.
    pub(crate) fn take_unasked(&self) -> Option<(Sha256, u64)> {
        let mut all = self.lock();
        all.retain(|_, wanted| wanted.waiting.iter().any(|waits| !waits.is_closed()));
        let (of, wanted) = all.iter_mut().find(|(_, wanted)| !wanted.asked)?;
        wanted.asked = true;
        Some((*of, wanted.bytes.len() as u64))
    }

    /// Takes a piece that the bot has sent; `None` if the bot does not have the file.
    pub(crate) fn take(&self, of: Sha256, from: u64, piece: Option<&[u8]>) {
        let mut all = self.lock();
        let Some(wanted) = all.get_mut(&of) else { return };
        let whole = match piece {
            // A piece that was asked for over an earlier connection as well.
            Some(_) if from != wanted.bytes.len() as u64 => return,
            Some(piece) => {
                wanted.asked = false;
                wanted.bytes.extend_from_slice(piece);
                let length = wanted.bytes.len() as u64;
                match length.cmp(&wanted.size) {
                    std::cmp::Ordering::Less if !piece.is_empty() => {
                        self.changed.notify_one();
                        return;
                    }
                    std::cmp::Ordering::Equal if digest(&wanted.bytes) == of => true,
                    _ => false,
                }
            }
            None => false,
        };
        let Some(wanted) = all.remove(&of) else { return };
        for waits in wanted.waiting {
            // The session may have ended.
            drop(waits.send(whole.then(|| wanted.bytes.clone())));
        }
    }

    /// Gives up all files: the bot sends none.
    pub(crate) fn refuse_all(&self) {
        for (_, wanted) in std::mem::take(&mut *self.lock()) {
            wanted.waiting.into_iter().for_each(|waits| drop(waits.send(None)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::file::FileKind;

    #[tokio::test]
    async fn a_runner_gets_a_file_in_pieces_over_several_connections() {
        let wanted = WantedFiles::default();
        let bytes = b"0123456789".to_vec();
        let file = |sha256| KeptFile { name: "a".to_owned(), size: 10, sha256, kind: FileKind::Text };
        let of = digest(&bytes);
        let answered = wanted.ask(file(of));
        assert_eq!(wanted.take_unasked(), Some((of, 0)));
        assert_eq!(wanted.take_unasked(), None);
        wanted.take(of, 0, Some(&bytes[..4]));
        assert_eq!(wanted.take_unasked(), Some((of, 4)));
        wanted.connect();
        assert_eq!(wanted.take_unasked(), Some((of, 4)));
        // The answer of the connection before comes as well.
        wanted.take(of, 4, Some(&bytes[4..7]));
        wanted.take(of, 4, Some(&bytes[4..7]));
        wanted.take(of, 7, Some(&bytes[7..]));
        assert_eq!(answered.await, Ok(Some(bytes.clone())));
        // Wrong bytes, too many, too few, none at all.
        for pieces in [Some(&b"9876543210"[..]), Some(&b"0123456789a"[..]), Some(&b""[..]), None] {
            let answered = wanted.ask(file(of));
            assert_eq!(wanted.take_unasked(), Some((of, 0)));
            wanted.take(of, 0, pieces);
            assert_eq!(answered.await, Ok(None), "{pieces:?}");
        }
        drop(wanted.ask(file(of)));
        assert_eq!(wanted.take_unasked(), None, "nobody waits for it");
    }
}
