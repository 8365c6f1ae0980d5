//! Opening a journal: the lock and its holder, sled and its repair, and the comparison with the acknowledged revisions.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::time::Timestamp;

use super::acked::{self, Acked};
use super::holder;
use super::layout::{FORMAT, Head, Last, META_JOURNAL, META_LAST, Tree, Trees, event_key, index_key, number};
use super::notes::Versions;
use super::query::Reader;
use super::recent::Recent;
use super::refusal::{advice, panic_text, plain};
use super::staging::Changes;
use super::tally::Counter;
use super::{Memo, Missing, OpenError, Opening, ReadError, Settings, Stream, compact, disk, encoding};

/// Size of sled's page cache, in bytes. It is not a hard limit: under load sled takes several times that. With 64 MiB
/// it writes no faster, with 8 MiB at two thirds of the speed (`cargo bench --bench journal -- writes`).
pub(super) const CACHE: u64 = 16 << 20;

/// Interval at which sled's own thread looks for reusable space, in milliseconds. Durability does not depend on it (the
/// writer flushes), and each look is a wake-up and an fsync, so that it is long.
const SWEEP_MS: u64 = 5_000;

/// The paths of a journal's files and folders.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    pub(super) dir: PathBuf,
}

impl Paths {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }
    pub(super) fn sled(&self) -> PathBuf {
        self.dir.join("sled")
    }
    /// Returns the path of sled's log file, the only file of sled whose content counts.
    pub(super) fn log(&self) -> PathBuf {
        self.sled().join("db")
    }
    /// Returns the path of the file with sled's settings.
    pub(super) fn conf(&self) -> PathBuf {
        self.sled().join("conf")
    }
    pub(super) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }
    pub(super) fn acked(&self) -> PathBuf {
        self.dir.join("acked")
    }
    pub(super) fn ballast(&self) -> PathBuf {
        self.dir.join("ballast")
    }
    /// Returns the path of the file with a second copy of the newest events.
    pub(super) fn recent(&self) -> PathBuf {
        self.dir.join("recent.jsonl")
    }
    /// Returns the path of the file with a second copy of the events before those.
    pub(super) fn recent_before(&self) -> PathBuf {
        self.dir.join("recent-before.jsonl")
    }
    pub(super) fn archives(&self) -> PathBuf {
        self.dir.join("archive")
    }
    /// Returns the path of the old database while a rebuilt one takes its place.
    pub(super) fn sled_before(&self) -> PathBuf {
        self.dir.join("sled-before")
    }
    /// Returns the path in which a database is rebuilt.
    pub(super) fn compacting(&self) -> PathBuf {
        self.dir.join("compacting")
    }
    /// Returns the path in which an import is built; it exists only while one runs, or after an interrupted one.
    pub(super) fn importing(&self) -> PathBuf {
        self.dir.join("importing")
    }
    pub(super) fn exports(&self) -> PathBuf {
        self.dir.join("exports")
    }

    fn io(&self, what: &'static str) -> impl FnOnce(io::Error) -> OpenError {
        let dir = self.dir.clone();
        move |source| match source.kind() {
            _ if disk::is_full(&source) => OpenError::Full { dir },
            io::ErrorKind::ReadOnlyFilesystem => OpenError::ReadOnly { dir },
            _ => OpenError::Io { dir, what, source },
        }
    }
}

/// The lock on a journal's folder; the system releases it with the process, however that ends.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held for the lock on it")] File);

/// An opened database, with the facts found while opening it.
pub(super) struct Store {
    pub(super) db: sled::Db,
    pub(super) trees: Trees,
    pub(super) log: File,
    pub(super) lock: Lock,
    pub(super) acked: Acked,
    pub(super) recent: Recent,
    pub(super) heads: HashMap<Stream, Head>,
    pub(super) last: Last,
    pub(super) id: String,
    pub(super) opening: Opening,
    /// The memo that this version of herder writes from here on, if another one wrote before.
    pub(super) begins: Option<Memo>,
}

/// The identity of a journal, stored in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) format: u32,
}

/// Creates the journal's folder and takes its lock.
pub(super) fn lock(paths: &Paths) -> Result<Lock, OpenError> {
    if !paths.dir.exists() {
        disk::private_dir(&paths.dir).map_err(paths.io("making its folder"))?;
        if let Some(parent) = paths.dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            disk::sync_dir(parent).map_err(paths.io("making its folder"))?;
        }
    }
    if let Some(owner) = disk::stranger(&paths.dir).map_err(paths.io("looking whose folder it is"))? {
        return Err(OpenError::Stranger { dir: paths.dir.clone(), owner });
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(paths.lock())
        .map_err(paths.io("opening its lock"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // The lock is held, even if the holder cannot be read.
            let _ = file.read_to_string(&mut text);
            return Err(OpenError::Held { dir: paths.dir.clone(), holder: holder::describe(&text) });
        }
        Err(TryLockError::Error(source)) => return Err(paths.io("locking it")(source)),
    }
    // On a full disk the old record stays or is truncated, which only affects the message to a second herder.
    if let Err(error) = holder::write(&mut file) {
        tracing::warn!(%error, "cannot note who holds the journal");
    }
    Ok(Lock(file))
}

/// Takes the lock of a folder that is only read, perhaps on a read-only disk. `None` if there is no lock file: then
/// no herder holds it.
pub(super) fn lock_to_read(paths: &Paths) -> Result<Option<Lock>, OpenError> {
    match File::open(paths.lock()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(paths.io("opening its lock")(error)),
        Ok(mut file) => match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The lock is held, even if the holder cannot be read.
                let _ = file.read_to_string(&mut text);
                Err(OpenError::Held { dir: paths.dir.clone(), holder: holder::describe(&text) })
            }
            Err(TryLockError::Error(source)) => Err(paths.io("locking it")(source)),
        },
    }
}

/// Removes what an import left that was interrupted after its last step.
fn tidy_import(paths: &Paths) -> Result<(), OpenError> {
    let removed = fs::remove_dir_all(paths.importing()).and_then(|()| disk::sync_dir(&paths.dir));
    removed.map_err(|source| OpenError::Io {
        dir: paths.dir.clone(),
        what: "tidying up after an import",
        source,
    })
}

impl Identity {
    /// Returns the identity of a journal in the present format.
    pub(super) fn of(id: String) -> Self {
        Self { id, format: FORMAT }
    }
}

/// Opens the database under a lock that is already held.
pub(super) fn open(settings: &Settings, paths: &Paths, lock: Lock) -> Result<Store, OpenError> {
    let mut opening = Opening::default();
    let db = open_file(settings, paths, &mut opening)?;
    let mut store = finish(settings, paths, lock, db, opening)?;
    if let Some(begins) = store.begins.take() {
        let mut changes = Changes::default();
        changes.memo(begins);
        changes.store(&store.trees).map_err(|cause| damaged(paths, &cause))?;
    }
    Ok(store)
}

/// Reads an open database, and compares it with the acknowledged revisions.
pub(super) fn finish(
    settings: &Settings,
    paths: &Paths,
    lock: Lock,
    db: sled::Db,
    opening: Opening,
) -> Result<Store, OpenError> {
    let kept = db.clone();
    let opened = catch_unwind(AssertUnwindSafe(|| read(settings, paths, lock, db, opening)));
    let store = opened.unwrap_or_else(|panic| Err(damaged(paths, &panic_text(&*panic))));
    if store.is_err() {
        // A failed sled may wait forever for its log when its last handle is dropped, so that this one never is.
        std::mem::forget(kept);
    }
    store
}

/// A database before anything in it is compared.
pub(super) struct FoundDatabase {
    pub(super) db: sled::Db,
    pub(super) trees: Trees,
    pub(super) log: File,
    /// Identity of the journal; `None` if it is new.
    pub(super) identity: Option<Identity>,
}

/// Opens the database of a bot that follows, under a lock that is already held.
pub(super) fn open_database(
    settings: &Settings,
    paths: &Paths,
    opening: &mut Opening,
) -> Result<FoundDatabase, OpenError> {
    let db = open_file(settings, paths, opening)?;
    let broken = |error: sled::Error| damaged(paths, &plain(&error));
    let trees = Trees::open(&db).map_err(broken)?;
    let log = File::open(paths.log()).map_err(paths.io("opening the database file"))?;
    let identity = trees.get(Tree::Meta).get(META_JOURNAL).map_err(broken)?;
    let identity = identity.map(|text| read_identity(paths, &text)).transpose()?;
    Ok(FoundDatabase { db, trees, log, identity })
}

/// Opens sled's file, after what an interrupted herder has left was set right.
fn open_file(settings: &Settings, paths: &Paths, opening: &mut Opening) -> Result<sled::Db, OpenError> {
    let settle = || compact::settle(paths).map_err(paths.io("tidying up after building it anew"));
    settle()?;
    let known = held_before(paths);
    let log_size = paths.log().metadata().map(|log| log.len()).unwrap_or(0);
    if paths.importing().exists() {
        if !paths.sled().exists() {
            return Err(OpenError::Unfinished { dir: paths.dir.clone() });
        }
        // The database is moved last, so that the import was interrupted when only the clean-up was missing.
        tidy_import(paths)?;
    }
    if known && log_size == 0 {
        return Err(OpenError::Vanished { dir: paths.dir.clone(), advice: advice(paths) });
    }
    let db = open_or_make_room(paths, opening)?;
    let bounds = (settings.compact_from, settings.history.warn_free);
    match compact::at_start(paths, db, bounds, &mut |_| {}) {
        Some(db) => Ok(db),
        None => {
            settle()?;
            open_or_repair(paths, opening)
        }
    }
}

fn damaged(paths: &Paths, cause: &dyn std::fmt::Display) -> OpenError {
    OpenError::Damaged { dir: paths.dir.clone(), cause: cause.to_string(), advice: advice(paths) }
}

/// Reads the ends of the streams, and compares them with the acknowledged revisions.
fn read(
    settings: &Settings,
    paths: &Paths,
    lock: Lock,
    db: sled::Db,
    mut opening: Opening,
) -> Result<Store, OpenError> {
    let damaged = |error: sled::Error| match error {
        sled::Error::Io(error) if disk::is_full(&error) => OpenError::Full { dir: paths.dir.clone() },
        error => damaged(paths, &plain(&error)),
    };
    let trees = Trees::open(&db).map_err(damaged)?;
    let log = File::open(paths.log()).map_err(paths.io("opening the database file"))?;
    let identity = match trees.get(Tree::Meta).get(META_JOURNAL).map_err(damaged)? {
        Some(text) => read_identity(paths, &text)?,
        None if held_before(paths) => {
            return Err(OpenError::Vanished { dir: paths.dir.clone(), advice: advice(paths) });
        }
        None => {
            opening.fresh = true;
            let identity = Identity::of(random_id().map_err(paths.io("drawing its id"))?);
            write_identity(&trees, &identity).map_err(damaged)?;
            identity
        }
    };
    // Once per start: sled's file and the folder's entries must be on disk too.
    db.flush().map_err(damaged)?;
    log.sync_all().map_err(paths.io("writing the database"))?;
    File::open(paths.conf()).and_then(|conf| conf.sync_all()).map_err(paths.io("writing its settings"))?;
    disk::sync_dir(&paths.sled()).map_err(paths.io("writing its folder"))?;
    let (mut heads, mut last) = ends(paths, &trees)?;
    let mut missing = lost_tails(&trees, &mut heads).map_err(damaged)?;
    let unfit = |error: ReadError| self::damaged(paths, &error);
    opening.aside = super::fit::check(paths, &trees, &identity.id, &mut last).map_err(unfit)?;
    let begins = Versions::read(&trees).map_err(damaged)?.begins(&settings.version, last);
    let signed = Acked::exists(&paths.acked());
    let (acked, revs) = Acked::open(&paths.acked()).map_err(paths.io("opening what was acknowledged"))?;
    for it in acked::missing(&revs, |stream| heads.get(stream).map_or(0, |head| head.rev)) {
        match missing.iter_mut().find(|known| known.stream == it.stream) {
            Some(known) => known.expected = known.expected.max(it.expected),
            None => missing.push(it),
        }
    }
    for it in &missing {
        tracing::error!(stream = %it.stream, expected = it.expected, found = it.found, "acknowledged revisions are missing");
    }
    opening.missing = missing;
    opening.last_commit = (last.at != Timestamp::default()).then_some(last.at);
    let recent = Recent::open(paths, &identity.id, last.seq);
    let id = identity.id;
    let mut store = Store { db, trees, log, lock, acked, recent, heads, last, id, opening, begins };
    if !signed {
        sign(&mut store, paths).map_err(paths.io("making its files"))?;
    }
    lay_ballast(settings, paths);
    Ok(store)
}

/// Returns true if the folder ever contained a journal.
pub(super) fn held_before(paths: &Paths) -> bool {
    let any_in = |dir: PathBuf| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    Acked::exists(&paths.acked()) || any_in(paths.archives()) || any_in(paths.exports())
}

/// Creates the record by which a later start knows that a journal was here.
fn sign(store: &mut Store, paths: &Paths) -> io::Result<()> {
    let nothing = (Stream::Fleet, 0);
    let heads = store.heads.iter().map(|(stream, head)| (stream, head.rev));
    store.acked.write([(&nothing.0, nothing.1)].into_iter().chain(heads))?;
    store.acked.sync()?;
    disk::sync_dir(&paths.dir)
}

pub(super) fn lay_ballast(settings: &Settings, paths: &Paths) {
    // The ballast is optional: without it a start does not fail.
    if let Err(error) = disk::lay_ballast(&paths.ballast(), settings.ballast, settings.ballast) {
        tracing::warn!(%error, "cannot lay ballast beside the database");
    }
}

/// Opens sled. On a nearly full disk the ballast is deleted first, because a sled that runs out of space once open can
/// be neither used nor closed.
fn open_or_make_room(paths: &Paths, opening: &mut Opening) -> Result<sled::Db, OpenError> {
    let release = || disk::release(&paths.ballast()).map_err(paths.io("giving up the ballast"));
    if disk::is_short(&paths.dir) {
        opening.ballast_released = release()?;
    }
    let opened = match open_or_repair(paths, opening) {
        Err(OpenError::Full { dir }) => {
            if !release()? {
                return Err(OpenError::Full { dir });
            }
            opening.ballast_released = true;
            open_or_repair(paths, opening)
        }
        other => other,
    };
    if opening.ballast_released {
        tracing::warn!("the disk is full; the ballast was given up to open the journal");
    }
    opened
}

fn open_or_repair(paths: &Paths, opening: &mut Opening) -> Result<sled::Db, OpenError> {
    let first = match open_sled(paths) {
        Ok(db) => return Ok(db),
        Err(error @ (OpenError::Full { .. } | OpenError::Io { .. } | OpenError::Held { .. })) => {
            return Err(error);
        }
        Err(error) => error,
    };
    // sled's snapshots are only a cache of its log, and a torn one keeps it from opening.
    if set_snapshots_aside(paths).map_err(paths.io("moving a torn snapshot away"))?
        && let Ok(db) = open_sled(paths)
    {
        tracing::warn!("a torn snapshot of the database was moved away; nothing is lost by that");
        opening.repaired = true;
        return Ok(db);
    }
    // sled's settings never differ, and it creates them again.
    let (conf, aside) = (paths.conf(), paths.sled().join("bad.conf"));
    if !conf.exists() {
        return Err(first);
    }
    let moved = paths.io("moving its settings away");
    fs::rename(&conf, &aside).map_err(moved)?;
    if let Ok(db) = open_sled(paths) {
        tracing::warn!("damaged settings of the database were moved away; nothing is lost by that");
        opening.repaired = true;
        return Ok(db);
    }
    // The settings were not the cause: restore them.
    fs::rename(&aside, &conf).map_err(paths.io("moving its settings back"))?;
    Err(first)
}

/// Maximum time to wait for a database that was just closed, and the interval of checks. The lock excludes other
/// herders, but sled's own threads hold the database a moment longer than its last handle.
const LETS_GO: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Waits until sled has released a database that was just closed, and keeps others from opening it. Succeeds at once
/// where files cannot be locked.
pub(super) fn wait_until_closed(paths: &Paths) -> io::Result<File> {
    let log = File::open(paths.log())?;
    let mut tries = LETS_GO.as_millis() / LOOK.as_millis();
    while let Err(TryLockError::WouldBlock) = log.try_lock_shared() {
        if tries == 0 {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has it open"));
        }
        tries -= 1;
        look_again();
    }
    Ok(log)
}

#[expect(clippy::disallowed_methods, reason = "sled does not say when it has let go")]
fn look_again() {
    std::thread::sleep(LOOK);
}

/// Opens sled and turns a panic, which some damage causes, into an error.
fn open_sled(paths: &Paths) -> Result<sled::Db, OpenError> {
    // The folder around it may be readable by others.
    disk::private_dir(&paths.sled()).map_err(paths.io("making the database's folder"))?;
    let config = sled::Config::new().path(paths.sled()).cache_capacity(CACHE).flush_every_ms(Some(SWEEP_MS));
    let damaged = |cause: String| OpenError::Damaged { dir: paths.dir.clone(), cause, advice: advice(paths) };
    let held = |error: &io::Error| error.to_string().contains("could not acquire lock");
    let mut tries = LETS_GO.as_millis() / LOOK.as_millis();
    let opened = loop {
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
        match &opened {
            Ok(Err(sled::Error::Io(error))) if held(error) && tries > 0 => tries -= 1,
            _ => break opened,
        }
        look_again();
    };
    match opened {
        Ok(Ok(db)) => Ok(db),
        Ok(Err(sled::Error::Io(error))) if held(&error) => {
            Err(OpenError::Held { dir: paths.dir.clone(), holder: "another process".to_owned() })
        }
        Ok(Err(sled::Error::Io(error))) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(damaged("one of its files ends too early".to_owned()))
        }
        Ok(Err(sled::Error::Io(error))) => Err(paths.io("opening the database")(error)),
        Ok(Err(error)) => Err(damaged(plain(&error))),
        Err(panic) => Err(damaged(panic_text(&*panic))),
    }
}

/// Renames sled's snapshot files, so that sled reads its log instead. Returns true if there were any.
fn set_snapshots_aside(paths: &Paths) -> io::Result<bool> {
    let mut any = false;
    for entry in fs::read_dir(paths.sled())? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") {
            fs::rename(entry.path(), paths.sled().join(format!("bad.{name}")))?;
            any = true;
        }
    }
    Ok(any)
}

pub(super) fn random_id() -> io::Result<String> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

pub(super) fn write_identity(trees: &Trees, identity: &Identity) -> sled::Result<()> {
    let text = encoding::encode(identity).expect("text and a number are JSON");
    trees.get(Tree::Meta).insert(META_JOURNAL, text)
}

fn read_identity(paths: &Paths, text: &[u8]) -> Result<Identity, OpenError> {
    let newer = |found| OpenError::Newer { dir: paths.dir.clone(), found, known: FORMAT };
    match encoding::versioned::<Identity>(text) {
        Ok(identity) if identity.format > FORMAT => Err(newer(identity.format)),
        Ok(identity) => Ok(identity),
        Err(encoding::DecodeError::Newer { found }) => Err(newer(found)),
        Err(error) => Err(damaged(paths, &error)),
    }
}

/// Reads the ends of all streams, and the last numbers used in the journal.
pub(super) fn ends(paths: &Paths, trees: &Trees) -> Result<(HashMap<Stream, Head>, Last), OpenError> {
    let damaged = |cause: String| OpenError::Damaged { dir: paths.dir.clone(), cause, advice: advice(paths) };
    let mut heads = HashMap::new();
    for item in trees.get(Tree::Heads).iter() {
        let (key, value) = item.map_err(|error| damaged(plain(&error)))?;
        let text = String::from_utf8_lossy(&key).into_owned();
        let stream = text.parse().ok().zip(Head::decode(&value));
        let Some((stream, head)) = stream else {
            return Err(damaged(format!("the head of {text} is not one")));
        };
        heads.insert(stream, head);
    }
    let last = trees.get(Tree::Meta).get(META_LAST).map_err(|error| damaged(plain(&error)))?;
    let mut last = match last {
        Some(text) => encoding::versioned(&text).map_err(|error| damaged(error.to_string()))?,
        None => Last::default(),
    };
    // Numbers are never used twice, whichever part of the database is newer.
    let event = trees.get(Tree::Events).last().map_err(|error| damaged(plain(&error)))?;
    let newest = event.and_then(|(key, _)| number(&key)).unwrap_or(0);
    last.seq = heads.values().map(|head| head.seq).fold(last.seq.max(newest), u64::max);
    Ok((heads, last))
}

/// Reads the stored counts of sessions, restarts and evaluations, and adds the events since.
pub(super) fn counted(
    paths: &Paths,
    trees: &Trees,
    reader: &Reader,
    last: u64,
) -> Result<Counter, OpenError> {
    Counter::open(trees, reader, last).map_err(|error| OpenError::Damaged {
        dir: paths.dir.clone(),
        cause: error.to_string(),
        advice: advice(paths),
    })
}

/// Returns the streams that lost entries at their end, because a damaged log can lose pages of one tree alone. The last
/// revision is kept, so that no number is used twice.
fn lost_tails(trees: &Trees, heads: &mut HashMap<Stream, Head>) -> sled::Result<Vec<Missing>> {
    let mut missing = Vec::new();
    for (stream, head) in heads.iter_mut() {
        let text = stream.to_string();
        let mut hot = trees.get(Tree::Index).range(index_key(&text, 0)..=index_key(&text, u64::MAX));
        let last = hot.next_back().transpose()?;
        let Some((key, seq)) = last else {
            // All entries are in archives, or only a snapshot was ever written.
            continue;
        };
        let found = super::query::rev_of(&key).unwrap_or(0);
        if found > head.rev {
            *head = Head { rev: found, seq: number(&seq).unwrap_or(head.seq), ..*head };
            continue;
        }
        let there = trees.get(Tree::Events).contains_key(event_key(number(&seq).unwrap_or(0)))?;
        if found < head.rev || !there {
            missing.push(Missing {
                stream: stream.clone(),
                expected: head.rev,
                found: found - u64::from(!there),
            });
        }
    }
    missing.sort_by(|a, b| a.stream.cmp(&b.stream));
    Ok(missing)
}
