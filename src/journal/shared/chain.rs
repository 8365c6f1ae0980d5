//! The chain of records: each has the number and the hash that follow from the one before.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::super::staging::Changes;
use super::record::{self, Body, HASH, PART_MAX, Record, RecordError};
use crate::core::time::Timestamp;

/// Maximum length of a group that is put together from its parts, in bytes: a hostile log must not fill the memory.
const GROUP_MAX: usize = 256 << 20;

/// A place in the log: the record at it, and all before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    /// Sequence of the record in the stream; 0 before the first one.
    pub seq: u64,
    /// Number of the office in which it was written.
    pub epoch: u64,
    /// Number of the record in that epoch.
    pub number: u64,
    /// SHA-256 of the record.
    #[serde(with = "hex")]
    pub hash: [u8; HASH],
}

/// A record that is ready to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Id by which the log finds out that it has the record already.
    pub id: String,
    /// Bytes of the record.
    pub bytes: Vec<u8>,
    /// Sequence of the record behind which it belongs.
    pub behind: u64,
    next: Position,
}

/// The writer of a chain, during one epoch.
#[derive(Debug, Clone)]
pub struct Chain {
    journal: String,
    by: String,
    incarnation: String,
    position: Position,
}

/// The reason why a record does not follow from the ones before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The record cannot be read.
    #[error("{0}")]
    Record(#[from] RecordError),
    /// Records are missing between.
    #[error("record {expected} was due, and the log has {found} there")]
    Gap {
        /// The sequence that was due.
        expected: u64,
        /// The sequence of the record.
        found: u64,
    },
    /// The record is of another past.
    #[error("the record before it is another one than in this copy")]
    OtherPast,
    /// The record is of another journal.
    #[error("it is of the journal {found}, and this copy of {own}")]
    OtherJournal {
        /// Id of the journal of this copy.
        own: String,
        /// Id of the record's journal.
        found: String,
    },
    /// Numbers do not follow.
    #[error("its number does not follow the one before")]
    Number,
}

impl Built {
    /// Returns a record that was built before, for an attempt to append it.
    #[must_use]
    pub fn again(id: &str, bytes: &[u8], behind: u64) -> Self {
        Self { id: id.to_owned(), bytes: bytes.to_vec(), behind, next: Position::default() }
    }
}

impl Chain {
    /// Returns the writer of the epoch after `position`. `incarnation` is drawn anew for each start of a bot.
    #[must_use]
    pub fn after(position: Position, journal: &str, by: &str, incarnation: &str) -> Self {
        let position = Position { epoch: position.epoch + 1, number: 0, ..position };
        Self { journal: journal.to_owned(), by: by.to_owned(), incarnation: incarnation.to_owned(), position }
    }

    /// Returns the journal's id.
    #[must_use]
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// Returns the place of the last record that was appended.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Returns the next record.
    #[must_use]
    pub fn next(&self, at: Timestamp, body: Body) -> Built {
        let Position { seq, epoch, number, hash } = self.position;
        let number = number + 1;
        let record = Record {
            journal: self.journal.clone(),
            by: self.by.clone(),
            epoch,
            number,
            before: hash,
            at,
            body,
        };
        let bytes = record.encode();
        let next = Position { seq: 0, epoch, number, hash: hash_of(&bytes) };
        Built { id: format!("{}-{epoch}-{number}", self.incarnation), bytes, behind: seq, next }
    }

    /// Notes that a record was appended with this sequence.
    pub fn appended(&mut self, built: &Built, seq: u64) {
        self.position = Position { seq, ..built.next };
    }
}

/// Returns the bodies of a group's records, in order.
pub(super) fn cut(changes: &Changes) -> Vec<Body> {
    let bytes = record::encode_changes(changes);
    let parts = u16::try_from(bytes.len().div_ceil(PART_MAX)).expect("a group has some megabytes");
    (1..=parts)
        .zip(bytes.chunks(PART_MAX))
        .map(|(part, bytes)| Body::Group { part, parts, bytes: bytes.to_vec() })
        .collect()
}

/// The reader of a chain.
#[derive(Debug)]
pub(super) struct Reading {
    /// The place of the last record that was read.
    pub(super) position: Position,
    /// Id of the journal; `None` before the first record of an empty one.
    pub(super) journal: Option<String>,
    /// Bytes of a group whose last part is not there yet, and the number of parts that are.
    open: Option<(u16, Vec<u8>)>,
}

/// The meaning of a record that was read.
pub(super) enum Read {
    /// A bot has come into office.
    Epoch,
    /// A group is complete.
    Group(Box<Changes>),
    /// Events up to this number are in archives.
    Forget(u64),
    /// The bot in office has resigned.
    Resign,
    /// Nothing follows from it yet.
    Nothing,
}

impl Reading {
    pub(super) fn new(position: Position, journal: Option<String>) -> Self {
        Self { position, journal, open: None }
    }

    /// Returns true if no group is incomplete, so that reading can begin anew behind this place.
    pub(super) fn is_whole(&self) -> bool {
        self.open.is_none()
    }

    /// Reads the record with this sequence.
    pub(super) fn read(&mut self, seq: u64, bytes: &[u8]) -> Result<(Read, Record), ChainError> {
        let before = self.position;
        if seq != before.seq + 1 {
            return Err(ChainError::Gap { expected: before.seq + 1, found: seq });
        }
        let record = Record::decode(bytes)?;
        if record.before != before.hash {
            return Err(ChainError::OtherPast);
        }
        if let Some(own) = self.journal.as_ref().filter(|own| **own != record.journal) {
            return Err(ChainError::OtherJournal { own: own.clone(), found: record.journal });
        }
        let (epoch, number) = match record.body {
            Body::Epoch { .. } => (before.epoch + 1, 1),
            _ => (before.epoch, before.number + 1),
        };
        if (record.epoch, record.number) != (epoch, number) {
            return Err(ChainError::Number);
        }
        let read = self.body(&record.body)?;
        self.journal.get_or_insert_with(|| record.journal.clone());
        self.position = Position { seq, epoch, number, hash: hash_of(bytes) };
        Ok((read, record))
    }

    fn body(&mut self, body: &Body) -> Result<Read, ChainError> {
        match body {
            Body::Epoch { .. } => {
                // A holder that died in the middle of a group has acknowledged nothing of it.
                self.open = None;
                Ok(Read::Epoch)
            }
            Body::Group { part, parts, bytes } => self.part(*part, *parts, bytes),
            Body::Forget { upto } => Ok(Read::Forget(*upto)),
            Body::Resign => Ok(Read::Resign),
            Body::Mark => Ok(Read::Nothing),
        }
    }

    fn part(&mut self, part: u16, parts: u16, bytes: &[u8]) -> Result<Read, ChainError> {
        let (there, mut whole) = self.open.take().unwrap_or_default();
        if part != there + 1 || part > parts || whole.len() + bytes.len() > GROUP_MAX {
            return Err(RecordError::Broken.into());
        }
        whole.extend_from_slice(bytes);
        if part < parts {
            self.open = Some((part, whole));
            return Ok(Read::Nothing);
        }
        Ok(Read::Group(Box::new(record::decode_changes(&whole)?)))
    }
}

/// Returns the SHA-256 of a record.
#[must_use]
pub fn hash_of(bytes: &[u8]) -> [u8; HASH] {
    let mut hash = [0; HASH];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Hashes as text.
mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::HASH;

    pub(super) fn serialize<S: Serializer>(hash: &[u8; HASH], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&data_encoding::HEXLOWER.encode(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; HASH], D::Error> {
        let text = String::deserialize(from)?;
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).map_err(D::Error::custom)?;
        bytes.try_into().map_err(|_| D::Error::custom("it is no SHA-256"))
    }
}
