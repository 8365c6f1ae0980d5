//! The journal of a bot that follows: the records of the log, as they come, in its own database.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::super::archive::{self, Origin};
use super::super::fit::{self, Held};
use super::super::import;
use super::super::layout::{Last, META_LAST, META_LOG, Tree, Trees};
use super::super::query::Reader;
use super::super::retention::write_archive;
use super::super::staging::{Changes, Stage};
use super::super::store::{self, FoundDatabase, Identity, Lock, Paths};
use super::super::{ImportError, OpenError, Opening, ReadError, Settings, encoding};
use super::chain::{Chain, ChainError, Position, Read, Reading};
use super::record::{Body, Record};
use crate::core::time::Timestamp;

/// Number of events that the bot in office has archived before this one archives them too: a file is to have many.
const ARCHIVED_FROM: u64 = 10_000;

/// Maximum number of events that leave the database in one transaction.
const FORGET_EVENTS: u64 = 1_000;

/// The reason why a bot cannot follow the log.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A copy cannot be imported.
    #[error("the copy of the journal cannot be used: {0}")]
    Import(#[from] ImportError),
    /// The record does not follow from the ones before.
    #[error("the log and this machine's copy of it disagree at record {seq}: {why}")]
    Chain {
        /// Sequence of the record.
        seq: u64,
        /// The difference.
        why: ChainError,
    },
    /// The database cannot be written.
    #[error("the journal cannot be written: {0}")]
    Store(String),
    /// The database or an archive cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The news of a record, for whoever follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Name of the bot that wrote it.
    pub by: String,
    /// Time at its writer.
    pub at: Timestamp,
    /// True if the bot came into office with it.
    pub is_epoch: bool,
    /// True if the bot gave the office up with it.
    pub is_resignation: bool,
}

/// An open database that follows the log. Its folder is locked.
pub struct Replica {
    settings: Settings,
    paths: Paths,
    lock: Lock,
    db: sled::Db,
    trees: Trees,
    log: File,
    opening: Opening,
    reading: Reading,
    /// The place that the database has noted.
    noted: Position,
    /// Number up to which the bot in office has archived events.
    forgotten: u64,
}

/// The parts of a replica from which a journal is opened.
pub(in super::super) struct Whole {
    pub(in super::super) settings: Settings,
    pub(in super::super) paths: Paths,
    pub(in super::super) lock: Lock,
    pub(in super::super) db: sled::Db,
    pub(in super::super) opening: Opening,
}

impl std::fmt::Debug for Replica {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replica").field("dir", &self.paths.dir).finish_non_exhaustive()
    }
}

impl Replica {
    /// Returns true if a folder has no journal, so that it needs a copy unless the log has everything.
    #[must_use]
    pub fn is_empty(dir: &Path) -> bool {
        let paths = Paths::new(dir);
        !paths.sled().exists() && !paths.importing().exists()
    }

    /// Makes the journal of an empty folder from a copy. Blocks.
    ///
    /// # Errors
    /// The copy is damaged, names no place in the log, or cannot be written.
    pub fn import(settings: &Settings, copy: &Path) -> Result<(), ReplicaError> {
        Ok(import::copy(settings, copy)?)
    }

    /// Opens the database of a folder, or makes an empty one. Blocks.
    ///
    /// # Errors
    /// A sentence with the problem and its remedy.
    pub fn open(settings: &Settings) -> Result<Self, ReplicaError> {
        let paths = Paths::new(&settings.dir);
        let lock = store::lock(&paths)?;
        let mut opening = Opening::default();
        let FoundDatabase { db, trees, log, identity } =
            store::open_database(settings, &paths, &mut opening)?;
        let position = match trees.get(Tree::Meta).get(META_LOG).map_err(ReadError::from)? {
            Some(text) => encoding::versioned(&text)
                .map_err(|source| ReadError::Decode { what: "the place in the log".to_owned(), source })?,
            None => Position::default(),
        };
        let reading = Reading::new(position, identity.map(|identity| identity.id));
        Ok(Self {
            settings: settings.clone(),
            paths,
            lock,
            db,
            trees,
            log,
            opening,
            reading,
            noted: position,
            forgotten: 0,
        })
    }

    /// Returns the place of the last record that was applied.
    #[must_use]
    pub fn position(&self) -> Position {
        self.reading.position
    }

    /// Returns the place from which the log is read after a start.
    #[must_use]
    pub fn noted(&self) -> Position {
        self.noted
    }

    /// Returns the journal's id; `None` if it is empty.
    #[must_use]
    pub fn journal(&self) -> Option<&str> {
        self.reading.journal.as_deref()
    }

    /// Returns the number of the last event.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn events(&self) -> Result<u64, ReplicaError> {
        let last = self.trees.get(Tree::Meta).get(META_LAST).map_err(ReadError::from)?;
        let Some(text) = last else { return Ok(0) };
        let last: Result<Last, _> = encoding::versioned(&text);
        let unreadable = |source| ReadError::Decode { what: "the journal's end".to_owned(), source };
        Ok(last.map_err(unreadable)?.seq)
    }

    /// Applies the next record of the log. Blocks.
    ///
    /// # Errors
    /// The record does not follow from the ones before, or the database cannot be written.
    pub fn apply(&mut self, seq: u64, bytes: &[u8]) -> Result<Applied, ReplicaError> {
        let is_new = self.reading.journal.is_none();
        let (read, record) = self.reading.read(seq, bytes).map_err(|why| ReplicaError::Chain { seq, why })?;
        if is_new {
            let identity = Identity::of(record.journal.clone());
            store::write_identity(&self.trees, &identity).map_err(ReadError::from)?;
        }
        let applied = Applied {
            is_epoch: matches!(record.body, Body::Epoch { .. }),
            is_resignation: matches!(record.body, Body::Resign),
            by: record.by,
            at: record.at,
        };
        match read {
            Read::Group(changes) => self.store(*changes)?,
            Read::Forget(upto) => self.forget(upto)?,
            Read::Epoch | Read::Resign | Read::Nothing => {}
        }
        Ok(applied)
    }

    /// Notes the place and syncs the database to its disk. Call it about every second. Blocks.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn sync(&mut self) -> Result<(), ReplicaError> {
        if self.noted == self.reading.position {
            return Ok(());
        }
        if self.reading.is_whole() {
            self.store(Changes::default())?;
        }
        self.db.flush().map_err(|error| ReplicaError::Store(error.to_string()))?;
        self.log.sync_data().map_err(|error| ReplicaError::Store(format!("fdatasync: {error}")))
    }

    /// Returns the chain that this bot writes once it is in office, with the first record of it.
    ///
    /// # Errors
    /// The database cannot be read, or no id can be drawn.
    pub fn claim(
        &self,
        by: &str,
        incarnation: &str,
        at: Timestamp,
    ) -> Result<(Chain, super::Built), ReplicaError> {
        let id = match self.journal() {
            Some(id) => id.to_owned(),
            None => store::random_id().map_err(|error| ReplicaError::Store(error.to_string()))?,
        };
        let chain = Chain::after(self.position(), &id, by, incarnation);
        let built = chain.next(at, Body::Epoch { events: self.events()? });
        Ok((chain, built))
    }

    /// Returns the first record's statement whether the log has everything from there on.
    #[must_use]
    pub fn is_whole_from(first: &[u8]) -> bool {
        Record::decode(first).is_ok_and(|record| record.body == Body::Epoch { events: 0 })
    }

    /// Returns true if this journal is the one that the log begins with: its bot died before it had noted so.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn has_begun(&self, first: &[u8]) -> Result<bool, ReplicaError> {
        let events = self.events()?;
        let is_own = |record: &Record| self.journal() == Some(&*record.journal);
        let begins = |record: Record| is_own(&record) && record.body == Body::Epoch { events };
        Ok(Record::decode(first).is_ok_and(begins))
    }

    /// Ends following, for the journal of a bot that has come into office with `chain`.
    pub(in super::super) fn whole(mut self, chain: &Chain) -> Result<Whole, ReplicaError> {
        self.sync()?;
        if self.journal().is_none() {
            let identity = Identity::of(chain.journal().to_owned());
            store::write_identity(&self.trees, &identity).map_err(ReadError::from)?;
            self.opening.fresh = true;
        }
        let Self { settings, paths, lock, db, opening, .. } = self;
        Ok(Whole { settings, paths, lock, db, opening })
    }

    fn store(&mut self, mut changes: Changes) -> Result<(), ReplicaError> {
        let position = self.reading.position;
        changes.position(position);
        changes.store(&self.trees).map_err(ReplicaError::Store)?;
        self.noted = position;
        Ok(())
    }

    /// Moves events to an archive of this machine's own, once there are many.
    fn forget(&mut self, upto: u64) -> Result<(), ReplicaError> {
        self.forgotten = self.forgotten.max(upto);
        let durable = Arc::new(AtomicU64::new(self.events()?));
        let reader = Reader::new(self.trees.clone(), self.paths.archives(), durable);
        let Some(first) = reader.first_seq()? else { return Ok(()) };
        let known = archive::list(&self.paths.archives())?;
        let last = match known.into_iter().find(|it| it.first <= first && first <= it.last) {
            // Its events were being removed when herder was killed.
            Some(archive) => match fit::held(&reader, &archive, first)? {
                Held::All => archive.last,
                Held::Others | Held::Unknown(_) => return Ok(()),
            },
            None if self.forgotten < first.saturating_add(ARCHIVED_FROM) => return Ok(()),
            None => {
                let journal = self.journal().unwrap_or_default().to_owned();
                let origin = Origin { journal, version: self.settings.version.clone() };
                write_archive(&reader, first, self.forgotten, &origin)?.last
            }
        };
        let (heads, mut next) = (std::collections::HashMap::new(), first);
        while next <= last {
            let upto = last.min(next + FORGET_EVENTS - 1);
            let mut stage = Stage::new(&self.trees, &heads, Last::default());
            stage.forget(upto)?;
            let changes = stage.finish().changes;
            changes.store(&self.trees).map_err(ReplicaError::Store)?;
            next = upto + 1;
        }
        Ok(())
    }
}
