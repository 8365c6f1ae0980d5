//! A record of the log in bytes. A known version stays readable for ever; numbers are big-endian.
//!
//! | field | bytes |
//! |---|---|
//! | version, kind | 1, 1 |
//! | journal, by | 1 and as many as that says, each |
//! | epoch, number | 8, 8 |
//! | SHA-256 of the record before | 32 |
//! | time in milliseconds since 1970 | 8 |
//! | body | to the end |

use sled::IVec;

use super::super::layout::{NAMES, Tree};
use super::super::staging::Changes;
use crate::core::time::Timestamp;

/// Version of records that this herder writes.
pub const VERSION: u8 = 1;

/// Maximum length of a group's part, in bytes: NATS carries messages of 1 MiB.
pub const PART_MAX: usize = 900_000;

/// Length of a hash, in bytes.
pub const HASH: usize = 32;

const EPOCH: u8 = 1;
const GROUP: u8 = 2;
const FORGET: u8 = 3;
const MARK: u8 = 4;
const RESIGN: u8 = 5;

const REMOVED: u8 = 0;
const SET: u8 = 1;

/// All trees, in the order of their numbers.
const TREES: [Tree; NAMES.len()] =
    [Tree::Events, Tree::Index, Tree::Heads, Tree::Snapshots, Tree::Outbox, Tree::Meta, Tree::Memos];

/// A record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Id of the journal.
    pub journal: String,
    /// Name of the bot that wrote it.
    pub by: String,
    /// Number of the office in which it was written.
    pub epoch: u64,
    /// Number in the epoch, counted from 1.
    pub number: u64,
    /// SHA-256 of the record before; zeros if there is none.
    pub before: [u8; HASH],
    /// Time at its writer.
    pub at: Timestamp,
    /// The content.
    pub body: Body,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A bot comes into office.
    Epoch {
        /// Number of the last event in its journal; 0 if that is empty, so that the log has everything from here on.
        events: u64,
    },
    /// A part of the changes of a group. The group counts when its last part is there.
    Group {
        /// Number of the part, counted from 1.
        part: u16,
        /// Number of parts.
        parts: u16,
        /// The bytes of the part.
        bytes: Vec<u8>,
    },
    /// Events up to and including this number are in archives, and leave the database.
    Forget {
        /// Number of the last of them.
        upto: u64,
    },
    /// Nothing has changed; the writer is in office.
    Mark,
    /// The writer gives the office up.
    Resign,
}

/// The reason why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A newer herder wrote it.
    #[error(
        "a newer herder wrote it (version {found}; this one reads up to {VERSION}): update herder on this machine"
    )]
    Newer {
        /// Version of the record.
        found: u8,
    },
    /// It is damaged.
    #[error("it is damaged")]
    Broken,
}

impl Record {
    /// Returns the bytes of the record. Names longer than 255 bytes are cut.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (kind, body) = match &self.body {
            Body::Epoch { events } => (EPOCH, events.to_be_bytes().to_vec()),
            Body::Group { part, parts, bytes } => {
                (GROUP, [&part.to_be_bytes()[..], &parts.to_be_bytes(), bytes].concat())
            }
            Body::Forget { upto } => (FORGET, upto.to_be_bytes().to_vec()),
            Body::Mark => (MARK, Vec::new()),
            Body::Resign => (RESIGN, Vec::new()),
        };
        let mut bytes = vec![VERSION, kind];
        for name in [&self.journal, &self.by] {
            let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
            bytes.push(length);
            bytes.extend_from_slice(&name.as_bytes()[..usize::from(length)]);
        }
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&self.before);
        bytes.extend_from_slice(&self.at.as_millis().to_be_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Parses the bytes of a record.
    ///
    /// # Errors
    /// They are damaged, or a newer herder wrote them.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut rest = Bytes(bytes);
        let version = rest.byte().ok_or(RecordError::Broken)?;
        if version > VERSION {
            return Err(RecordError::Newer { found: version });
        }
        rest.record().ok_or(RecordError::Broken)
    }
}

/// Returns the bytes of a group's changes.
pub(in super::super) fn encode_changes(changes: &Changes) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (tree, changes) in (0_u8..).zip(&changes.0) {
        for (key, value) in changes {
            let length = u16::try_from(key.len()).expect("keys are short");
            bytes.extend_from_slice(&[tree, if value.is_some() { SET } else { REMOVED }]);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(key);
            if let Some(value) = value {
                let length = u32::try_from(value.len()).expect("values are bounded by `CHUNK`");
                bytes.extend_from_slice(&length.to_be_bytes());
                bytes.extend_from_slice(value);
            }
        }
    }
    bytes
}

/// Parses the bytes of a group's changes.
pub(in super::super) fn decode_changes(bytes: &[u8]) -> Result<Changes, RecordError> {
    let mut rest = Bytes(bytes);
    let mut changes = Changes::default();
    while !rest.0.is_empty() {
        let (tree, key, value) = rest.change().ok_or(RecordError::Broken)?;
        changes.0[tree as usize].push((key, value));
    }
    Ok(changes)
}

/// The bytes that are not parsed yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn short(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn name(&mut self) -> Option<String> {
        let length = self.byte()?;
        String::from_utf8(self.take(usize::from(length))?.to_vec()).ok()
    }

    fn record(&mut self) -> Option<Record> {
        let kind = self.byte()?;
        let (journal, by) = (self.name()?, self.name()?);
        let (epoch, number, before) = (self.number()?, self.number()?, self.array()?);
        let at = Timestamp::from_millis(self.array().map(i64::from_be_bytes)?);
        let body = match kind {
            EPOCH => Body::Epoch { events: self.number()? },
            GROUP => {
                let (part, parts) = (self.short()?, self.short()?);
                Body::Group { part, parts, bytes: std::mem::take(&mut self.0).to_vec() }
            }
            FORGET => Body::Forget { upto: self.number()? },
            MARK => Body::Mark,
            RESIGN => Body::Resign,
            _ => return None,
        };
        self.0.is_empty().then_some(Record { journal, by, epoch, number, before, at, body })
    }

    fn change(&mut self) -> Option<(Tree, IVec, Option<IVec>)> {
        let tree = *TREES.get(usize::from(self.byte()?))?;
        let is_set = match self.byte()? {
            REMOVED => false,
            SET => true,
            _ => return None,
        };
        let length = self.short()?;
        let key = IVec::from(self.take(usize::from(length))?);
        if !is_set {
            return Some((tree, key, None));
        }
        let length = usize::try_from(self.array().map(u32::from_be_bytes)?).ok()?;
        Some((tree, key, Some(IVec::from(self.take(length)?))))
    }
}
