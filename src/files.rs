//! Bytes of files that people and agents give each other, in the data folder, by their SHA-256.
//!
//! ```text
//!  Discord, IRC ─► FileStore::keep ─► <data>/files/<sha256> ─► event that names it ─► session: FileSource ─► inbox, model
//!  send_file    ─► FileStore::keep ─► the same                ─► post: attachment, link
//! ```
//!
//! A file is on disk before an event names it. One that nothing names is removed when it is a day old, so that neither a
//! kill between the two nor a link loses anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::core::file::{FileKind, KeptFile, Sha256, file_name};
use crate::core::time::Timestamp;

/// Name of the folder below the data folder.
const FOLDER: &str = "files";

/// Prefix of the names of files that are being written.
const NEW: &str = "new-";

/// Age from which a file is removed that nothing names: a link to a file lives for as long.
pub const KEPT_FOR: Duration = Duration::from_secs(25 * 3600);

/// Maximum length of a piece of a file in a message between bot and runner, in bytes.
pub const PIECE_MAX: usize = 384 * 1024;

/// Limits on files that people and agents give each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileRules {
    /// Maximum length of a file, in bytes.
    pub max: u64,
    /// Maximum number of files that an agent sends per hour.
    pub per_hour: usize,
    /// True if files may be fetched from private addresses.
    pub allow_private: bool,
}

impl Default for FileRules {
    fn default() -> Self {
        Self { max: 8 << 20, per_hour: 20, allow_private: false }
    }
}

impl FileRules {
    /// Returns the maximum length of a file in whole mebibytes, for people.
    #[must_use]
    pub const fn max_mebibytes(&self) -> u64 {
        self.max >> 20
    }
}

/// Returns the SHA-256 of bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Sha256 {
    let mut digest = [0; 32];
    digest.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    Sha256(digest)
}

fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or_default())
}

/// Lifetime of a link to a file.
pub const LINKED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Makes and checks links to files on the page. Whoever has a link gets the file until its time is over, and nothing else.
#[derive(Clone)]
pub struct FileLinks {
    /// Address of the page, without a final slash.
    base: Arc<str>,
    key: Arc<ring::hmac::Key>,
}

impl std::fmt::Debug for FileLinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileLinks").field("base", &self.base).finish_non_exhaustive()
    }
}

impl FileLinks {
    /// Returns the links of a page at `base`, signed with `key`.
    #[must_use]
    pub fn new(base: &str, key: &[u8]) -> Self {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
        Self { base: base.trim_end_matches('/').into(), key: Arc::new(key) }
    }

    /// Returns true if links lead to the page from other machines as well.
    #[must_use]
    pub fn are_public(&self) -> bool {
        let host = Url::parse(&self.base).ok().and_then(|url| url.host_str().map(str::to_owned));
        let is_here = |host: &str| {
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host.ends_with("localhost") || address.is_ok_and(|address| address.is_loopback())
        };
        host.is_some_and(|host| !is_here(&host))
    }

    /// Returns a link to a file, which is good from `now` on for [`LINKED_FOR`].
    #[must_use]
    pub fn link(&self, file: &KeptFile, now: Timestamp) -> String {
        let until = now.after(LINKED_FOR).as_millis() / 1000;
        let signature = ring::hmac::sign(&self.key, &signed(until, file.sha256, &file.name));
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        format!("{}/files/{until}/{signature}/{}/{}", self.base, file.sha256, encoded(&file.name))
    }

    /// Returns true if the parts of a link are those of one that was made, and its time is not over.
    #[must_use]
    pub fn is_good(
        &self,
        (until, signature): (i64, &str),
        (of, name): (Sha256, &str),
        now: Timestamp,
    ) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        let is_signed = ring::hmac::verify(&self.key, &signed(until, of, name), &signature).is_ok();
        is_signed && now.as_millis() / 1000 < until
    }
}

/// Returns a file name for an address or a header: all but letters, digits and `._-` of ASCII is written as bytes.
#[must_use]
pub fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let byte = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(byte).collect()
}

/// Returns the text that is signed. No part can contain the sign between them.
fn signed(until: i64, of: Sha256, name: &str) -> Vec<u8> {
    format!("{until}/{of}/{name}").into_bytes()
}

/// Adds the digests of all files that a value names, in whatever part of it.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn add_named(value: &impl Serialize, named: &mut BTreeSet<Sha256>) -> io::Result<()> {
    fn look(value: &Value, named: &mut BTreeSet<Sha256>) {
        match value {
            Value::Object(fields) => {
                named.extend(
                    fields.get("sha256").and_then(Value::as_str).and_then(|text| text.parse::<Sha256>().ok()),
                );
                fields.values().for_each(|value| look(value, named));
            }
            Value::Array(values) => values.iter().for_each(|value| look(value, named)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    look(&serde_json::to_value(value)?, named);
    Ok(())
}

/// The files of one data folder. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileStore {
    folder: Arc<Path>,
}

impl FileStore {
    /// Returns the files below this data folder. Nothing is created before the first file is kept.
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER).into() }
    }

    fn path(&self, of: Sha256) -> PathBuf {
        self.folder.join(of.to_string())
    }

    /// Keeps a file, which is on disk when this returns. `stated` is its name, as somebody states it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, stated: &str, bytes: &[u8]) -> io::Result<KeptFile> {
        let kept = KeptFile {
            name: file_name(stated),
            size: bytes.len() as u64,
            sha256: digest(bytes),
            kind: FileKind::of(bytes),
        };
        let path = self.path(kept.sha256);
        // One that is there already counts as young again, so that it is not removed before an event names it.
        if let Ok(file) = OpenOptions::new().write(true).open(&path)
            && file.metadata()?.len() == kept.size
        {
            file.set_modified(system_time(crate::clock::now()))?;
            file.sync_all()?;
            return Ok(kept);
        }
        if !self.folder.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            if let Some(parent) = self.folder.parent() {
                File::open(parent)?.sync_all()?;
            }
        }
        let drawn = getrandom::u64().map_err(|reason| io::Error::other(reason.to_string()))?;
        let new = self.folder.join(format!("{NEW}{drawn:016x}"));
        let written =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()?;
                fs::rename(&new, &path)?;
                File::open(&self.folder)?.sync_all()
            });
        if written.is_err() {
            drop(fs::remove_file(&new));
        }
        written.map(|()| kept)
    }

    /// Reads a whole file. Bytes that are not those of the digest count as missing.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn read(&self, file: &KeptFile) -> io::Result<Vec<u8>> {
        let bytes = self.piece(file.sha256, 0, usize::try_from(file.size).unwrap_or(usize::MAX))?;
        if digest(&bytes) == file.sha256 { Ok(bytes) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Returns the length of a file, in bytes.
    ///
    /// # Errors
    /// The file is missing.
    pub fn size(&self, of: Sha256) -> io::Result<u64> {
        Ok(fs::metadata(self.path(of))?.len())
    }

    /// Reads a piece of a file, at most `most` bytes long; fewer only at its end.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn piece(&self, of: Sha256, from: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path(of))?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Removes the files that are old enough at `now` and that nothing names, which is asked only if there are old ones; also
    /// what a killed herder has left half written. Returns their number.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be removed.
    pub fn prune(
        &self,
        now: Timestamp,
        named: impl FnOnce() -> io::Result<BTreeSet<Sha256>>,
    ) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        // One that is gone meanwhile is not old.
        let is_old = |entry: &fs::DirEntry| {
            let modified = entry.metadata().and_then(|found| found.modified());
            modified.is_ok_and(|at| system_time(now).duration_since(at).unwrap_or_default() > KEPT_FOR)
        };
        let mut old = Vec::new();
        for entry in entries {
            let entry = entry?;
            if is_old(&entry) {
                old.push(entry);
            }
        }
        if old.is_empty() {
            return Ok(0);
        }
        let (named, mut removed) = (named()?, 0);
        for entry in old {
            let name = entry.file_name();
            let is_named =
                name.to_str().and_then(|name| name.parse().ok()).is_some_and(|of| named.contains(&of));
            // One that was given again meanwhile is young.
            if !is_named && is_old(&entry) {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

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

    fn later(hours: u64) -> Timestamp {
        crate::clock::now().after(Duration::from_secs(hours * 3600))
    }

    #[test]
    fn a_file_is_kept_once_and_removed_once_nothing_names_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(dir.path());
        assert_eq!(store.prune(later(100), || Ok(BTreeSet::new())).expect("no folder is no mistake"), 0);
        let kept = store.keep("../log.txt", b"one\n").expect("it can be written");
        assert_eq!((kept.name.as_str(), kept.size, kept.kind), ("log.txt", 4, FileKind::Text));
        assert_eq!(store.read(&kept).expect("it is there"), b"one\n");
        assert_eq!(store.keep("again", b"one\n").expect("it is there").sha256, kept.sha256);
        let other = store.keep("b", b"two").expect("it can be written");
        assert_eq!(store.piece(other.sha256, 1, 1).expect("it is there"), b"w");
        let named = || Ok(BTreeSet::from([kept.sha256]));
        assert_eq!(store.prune(later(24), named).expect("it can be pruned"), 0);
        assert_eq!(store.prune(later(26), named).expect("it can be pruned"), 1);
        assert_eq!(store.read(&kept).expect("it is named"), b"one\n");
        store.read(&other).expect_err("it is gone");
    }

    #[test]
    fn links_of_a_page_on_this_machine_alone_are_not_public() {
        for (base, are_public) in [
            ("https://herder.example.org", true),
            ("http://10.0.0.7:7700", true),
            ("http://herder-0123456789abcdef.localhost:7700", false),
            ("http://127.0.0.1:7700", false),
            ("http://[::1]:7700", false),
        ] {
            assert_eq!(FileLinks::new(base, b"key").are_public(), are_public, "{base}");
        }
    }

    #[test]
    fn a_link_is_good_for_its_file_and_time_alone() {
        let (links, other) = (FileLinks::new("https://example.org/", b"one"), FileLinks::new("", b"two"));
        let file =
            KeptFile { name: "grüße.txt".to_owned(), size: 1, sha256: digest(b"a"), kind: FileKind::Text };
        let now = Timestamp::from_seconds(1_000);
        let link = links.link(&file, now);
        let parts: Vec<&str> = link.split('/').collect();
        let ["https:", "", "example.org", "files", until, signature, of, "gr%C3%BC%C3%9Fe.txt"] = parts[..]
        else {
            panic!("{link}")
        };
        let (until, of): (i64, Sha256) = (until.parse().expect("a time"), of.parse().expect("a digest"));
        assert_eq!(until, 1_000 + 24 * 3600);
        let at = Timestamp::from_seconds;
        assert!(links.is_good((until, signature), (of, "grüße.txt"), at(until - 1)));
        assert!(!links.is_good((until, signature), (of, "grüße.txt"), at(until)), "its time is over");
        assert!(!links.is_good((until + 1, signature), (of, "grüße.txt"), now), "another time");
        assert!(!links.is_good((until, signature), (digest(b"b"), "grüße.txt"), now), "another file");
        assert!(!links.is_good((until, signature), (of, "grüße.html"), now), "another name");
        assert!(!links.is_good((until, &signature[1..]), (of, "grüße.txt"), now), "half a signature");
        assert!(!links.is_good((until, ""), (of, "grüße.txt"), now), "no signature");
        assert!(!other.is_good((until, signature), (of, "grüße.txt"), now), "another key");
    }

    #[test]
    fn bytes_that_are_not_those_of_the_digest_are_missing() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = FileStore::new(dir.path());
        let kept = store.keep("a", b"right").expect("it can be written");
        fs::write(store.path(kept.sha256), "wrong").expect("a file");
        store.read(&kept).expect_err("it is another one");
    }

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
