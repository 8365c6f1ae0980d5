//! Trees and keys of the database. Numbers in keys are big-endian, so that sled's order is numeric.
//!
//! | tree | key | value |
//! |---|---|---|
//! | `events` | seq; further chunks: seq, n | an event (`encoding`), cut at [`CHUNK`] |
//! | `index` | stream, 0, rev | seq |
//! | `heads` | stream | [`Head`] |
//! | `snapshots` | stream, 0, n | n = 0: header; n > 0: the state, cut at [`CHUNK`] |
//! | `outbox` | network, 0, post id; further chunks: …, n | a post, cut at [`CHUNK`]; n = [`LINES`]: confirmed lines |
//! | `memos` | text | a network's memo, as JSON |
//! | `meta` | text | `journal`: id and format; `last`: [`Last`]; `log`: the place in the log that bots share |
//!
//! sled stores the values of a leaf with it and splits a leaf by their number, not their size. A leaf above 128 KB
//! goes to a file of its own that sled never syncs: a power loss would lose acknowledged data. Therefore no value is
//! longer than [`CHUNK`], and a leaf with the maximum number of values stays below that size.

use std::fs::File;
use std::io;
use std::path::Path;

use sled::IVec;

use crate::core::id::{NetworkName, PostId};
use crate::core::time::Timestamp;

use super::Stream;
use super::table::Table;

/// Maximum length of one value of the database, in bytes. Longer ones are cut into chunks, since sled puts up to 20
/// values into one page.
pub(super) const CHUNK: usize = 6_000;

/// Maximum length of an event, a post or a snapshot, in bytes: far above what their sources' bounds allow.
pub(super) const VALUE_MAX: usize = 64 << 20;

/// Number of the chunk that holds how many lines of a post are confirmed: no post has so many chunks.
pub(super) const LINES: u16 = u16::MAX;

/// Number of the format of trees and keys, stored in the journal.
pub(super) const FORMAT: u32 = 1;

/// The trees of the database, in the order of [`NAMES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tree {
    Events,
    Index,
    Heads,
    Snapshots,
    Outbox,
    Meta,
    Memos,
}

/// The trees' names in sled.
pub(super) const NAMES: [&str; 7] = ["events", "index", "heads", "snapshots", "outbox", "meta", "memos"];

/// The opened trees of a journal; by default they are in memory and empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Trees(pub(super) [Table; NAMES.len()]);

impl Trees {
    pub(super) fn open(db: &sled::Db) -> sled::Result<Self> {
        let [events, index, heads, snapshots, outbox, meta, memos] =
            NAMES.map(|name| db.open_tree(name).map(Table::Sled));
        Ok(Self([events?, index?, heads?, snapshots?, outbox?, meta?, memos?]))
    }

    pub(super) fn get(&self, tree: Tree) -> &Table {
        &self.0[tree as usize]
    }

    /// Syncs all changes to disk; `log` is the path of sled's file.
    pub(super) fn sync(&self, log: &Path) -> io::Result<()> {
        let Table::Sled(tree) = self.get(Tree::Meta) else { return Ok(()) };
        tree.flush()?;
        File::open(log)?.sync_all()
    }
}

pub(super) const META_JOURNAL: &[u8] = b"journal";
pub(super) const META_LAST: &[u8] = b"last";
pub(super) const META_LOG: &[u8] = b"log";

pub(super) fn event_key(seq: u64) -> [u8; 8] {
    seq.to_be_bytes()
}

/// Returns the key of a chunk: `base` with the chunk's number, or `base` alone for chunk 0.
pub(super) fn chunk_key(base: &[u8], n: u16) -> IVec {
    let mut key = Vec::with_capacity(base.len() + 2);
    key.extend_from_slice(base);
    if n > 0 {
        key.extend_from_slice(&n.to_be_bytes());
    }
    key.into()
}

fn joined(text: &str, number: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len() + 1 + number.len());
    key.extend_from_slice(text.as_bytes());
    key.push(0);
    key.extend_from_slice(number);
    key
}

pub(super) fn index_key(stream: &str, rev: u64) -> Vec<u8> {
    joined(stream, &rev.to_be_bytes())
}

pub(super) fn snapshot_key(stream: &str, n: u16) -> Vec<u8> {
    joined(stream, &n.to_be_bytes())
}

pub(super) fn outbox_prefix(network: &NetworkName) -> Vec<u8> {
    joined(network.as_str(), &[])
}

pub(super) fn outbox_key(network: &NetworkName, post: PostId) -> Vec<u8> {
    joined(network.as_str(), &post.0.to_be_bytes())
}

/// Reads the big-endian number at the start of `bytes`; `None` if they are too few.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?))
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes.get(at..)?)
}

/// The position at which a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// Revision of the last entry.
    pub(super) rev: u64,
    /// Number of the last entry in the whole journal.
    pub(super) seq: u64,
    /// Revision of the stream's snapshot; 0 if there is none.
    pub(super) snapshot: u64,
    /// Number of chunks of the snapshot.
    pub(super) chunks: u16,
    /// Size of the entries since the snapshot in bytes, as far as they were written since the start. Not stored.
    pub(super) tail: usize,
}

impl Head {
    const VERSION: u8 = 1;

    pub(super) fn encode(self) -> IVec {
        let mut bytes = [0_u8; 27];
        bytes[0] = Self::VERSION;
        bytes[1..9].copy_from_slice(&self.rev.to_be_bytes());
        bytes[9..17].copy_from_slice(&self.seq.to_be_bytes());
        bytes[17..25].copy_from_slice(&self.snapshot.to_be_bytes());
        bytes[25..27].copy_from_slice(&self.chunks.to_be_bytes());
        IVec::from(&bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.first() != Some(&Self::VERSION) {
            return None;
        }
        let chunks = u16::from_be_bytes(bytes.get(25..27)?.try_into().ok()?);
        Some(Self {
            rev: number_at(bytes, 1)?,
            seq: number_at(bytes, 9)?,
            snapshot: number_at(bytes, 17)?,
            chunks,
            tail: 0,
        })
    }
}

/// The end of the journal: the last numbers that were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Last {
    /// Number of the last event.
    pub(super) seq: u64,
    /// Id of the last post.
    pub(super) post: u64,
    /// Greatest work id in any entry.
    pub(super) work: u64,
    /// Time of the last batch.
    pub(super) at: Timestamp,
}

/// Returns the name of a stream, as in the keys of the database.
pub(super) fn stream_text(stream: &Stream) -> String {
    stream.to_string()
}

/// Cuts `value` into chunks and passes each to `put` with its key, which begins with `base`.
pub(super) fn chunked(base: &[u8], value: Vec<u8>, mut put: impl FnMut(IVec, IVec)) {
    if value.len() <= CHUNK {
        put(IVec::from(base), IVec::from(value));
        return;
    }
    for (n, chunk) in value.chunks(CHUNK).enumerate() {
        let n = u16::try_from(n).expect("values are bounded by `VALUE_MAX`");
        put(chunk_key(base, n), IVec::from(chunk));
    }
}
