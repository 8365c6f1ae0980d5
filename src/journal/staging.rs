//! Staging: turns a group of batches into the changes of one transaction.
//!
//! Numbers are assigned here: seq, revisions, post ids. A batch that conflicts (it expects another revision) is left
//! out as a whole and leaves no gap; the others of its group are stored.

use std::collections::HashMap;

use sled::IVec;
use sled::transaction::{ConflictableTransactionError, TransactionError, Transactional};

use crate::core::id::{NetworkName, PostId};
use crate::core::post::Post;

use super::layout::{
    CHUNK, Head, LINES, Last, META_LAST, META_LOG, NAMES, Tree, Trees, chunk_key, chunked, event_key,
    index_key, number, outbox_key, snapshot_key, stream_text,
};
use super::replay::SnapshotHeader;
use super::shared::Position;
use super::table::Table;
use super::tally::Count;
use super::writer::{Prepared, PreparedWrite};
use super::{Collapsed, CommitError, Confirmed, Memo, Receipt, Settled, Snapshot, Stream, encoding};

/// Number of entries since a stream's snapshot after which a new one is wanted, if they are as large as the snapshot: a
/// start replays about so many per agent, and a large state is not written too often.
const SNAPSHOT_EVERY: u64 = 32;

/// Number of entries since a stream's snapshot after which a new one is wanted, whatever its size.
const SNAPSHOT_AFTER: u64 = 256;

/// The changes of one transaction: keys to set or remove, by tree.
#[derive(Debug, Default)]
pub(super) struct Changes(pub(super) [Vec<(IVec, Option<IVec>)>; NAMES.len()]);

impl Changes {
    pub(super) fn set(&mut self, tree: Tree, key: impl Into<IVec>, value: impl Into<IVec>) {
        self.0[tree as usize].push((key.into(), Some(value.into())));
    }

    fn remove(&mut self, tree: Tree, key: impl Into<IVec>) {
        self.0[tree as usize].push((key.into(), None));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// Adds an event with its number in the journal, its stream, and its revision there.
    pub(super) fn event(&mut self, seq: u64, stream: &str, rev: u64, text: Vec<u8>) {
        self.placeless(seq, text);
        self.set(Tree::Index, index_key(stream, rev), &event_key(seq));
    }

    /// Adds an event whose stream cannot be read.
    pub(super) fn placeless(&mut self, seq: u64, text: Vec<u8>) {
        chunked(&event_key(seq), text, |key, chunk| self.set(Tree::Events, key, chunk));
    }

    /// Adds a snapshot in place of one with `replaced` chunks. Returns the number of the new one's chunks.
    pub(super) fn snapshot(&mut self, snapshot: &Snapshot, replaced: u16) -> u16 {
        let text = stream_text(&snapshot.stream);
        let state = &snapshot.state;
        let chunks = u16::try_from(state.len().div_ceil(CHUNK)).expect("a batch's size was checked");
        let header = SnapshotHeader { rev: snapshot.rev, chunks, crc: crc32fast::hash(state) };
        let header = encoding::encode(&header).expect("numbers are JSON");
        self.set(Tree::Snapshots, snapshot_key(&text, 0), header);
        for (n, chunk) in (1..=chunks).zip(state.chunks(CHUNK)) {
            self.set(Tree::Snapshots, snapshot_key(&text, n), chunk);
        }
        for n in chunks + 1..=replaced {
            self.remove(Tree::Snapshots, snapshot_key(&text, n));
        }
        chunks
    }

    /// Adds a post by its id and stored text.
    pub(super) fn post(&mut self, network: &NetworkName, id: PostId, text: Vec<u8>) {
        let key = outbox_key(network, id);
        chunked(&key, text, |key, chunk| self.set(Tree::Outbox, key, chunk));
    }

    /// Sets the number of a post's confirmed lines.
    pub(super) fn lines(&mut self, network: &NetworkName, id: PostId, lines: u32) {
        self.set(Tree::Outbox, chunk_key(&outbox_key(network, id), LINES), &lines.to_be_bytes());
    }

    /// Sets or removes a memo.
    pub(super) fn memo(&mut self, memo: Memo) {
        match memo.value {
            Some(value) => self.set(Tree::Memos, memo.key.as_bytes(), value.as_bytes()),
            None => self.remove(Tree::Memos, memo.key.as_bytes()),
        }
    }

    pub(super) fn head(&mut self, stream: &Stream, head: Head) {
        self.set(Tree::Heads, stream_text(stream).as_bytes(), head.encode());
    }

    pub(super) fn last(&mut self, last: Last) {
        let last = encoding::encode(&last).expect("numbers are JSON");
        self.set(Tree::Meta, META_LAST, last);
    }

    /// Sets the place in the log that bots share.
    pub(super) fn position(&mut self, position: Position) {
        let position = encoding::encode(&position).expect("numbers and text are JSON");
        self.set(Tree::Meta, META_LOG, position);
    }

    /// Writes the changes in one transaction. The caller has to sync it to disk.
    pub(super) fn store(&self, trees: &Trees) -> Result<(), String> {
        if self.is_empty() {
            return Ok(());
        }
        // sled locks and seals every tree of a transaction, changed or not.
        let mut touched: (Vec<sled::Tree>, Vec<_>) = (Vec::new(), Vec::new());
        for (table, changes) in trees.0.iter().zip(&self.0).filter(|(_, changes)| !changes.is_empty()) {
            match table {
                Table::Sled(tree) => touched.extend([(tree.clone(), changes)]),
                Table::Memory(_) => table.change(changes),
            }
        }
        let (trees, changes) = touched;
        if trees.is_empty() {
            return Ok(());
        }
        let done = trees.as_slice().transaction(|views| {
            for (view, changes) in views.iter().zip(&changes) {
                for (key, value) in *changes {
                    match value {
                        Some(value) => view.insert(key.clone(), value.clone())?,
                        None => view.remove(key.clone())?,
                    };
                }
            }
            Ok::<(), ConflictableTransactionError<()>>(())
        });
        done.map_err(|error| match error {
            TransactionError::Storage(error) => error.to_string(),
            TransactionError::Abort(()) => "the transaction was given up".to_owned(),
        })
    }
}

/// A group of jobs while their changes are collected, to be stored in one transaction.
pub(super) struct Stage<'a> {
    trees: &'a Trees,
    heads: &'a HashMap<Stream, Head>,
    changed: HashMap<Stream, Head>,
    before: Last,
    last: Last,
    changes: Changes,
    counts: Vec<Count>,
}

/// A position in the changes, see [`Stage::mark`].
pub(super) struct Mark([usize; NAMES.len()]);

/// The changes of a group that are ready to be stored, with the positions after them.
pub(super) struct Staged {
    pub(super) changes: Changes,
    pub(super) heads: HashMap<Stream, Head>,
    pub(super) last: Last,
    /// The entries of the group to count for `/metrics`.
    pub(super) counts: Vec<Count>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(trees: &'a Trees, heads: &'a HashMap<Stream, Head>, last: Last) -> Self {
        Self {
            trees,
            heads,
            changed: HashMap::new(),
            before: last,
            last,
            changes: Changes::default(),
            counts: Vec::new(),
        }
    }

    fn head(&self, stream: &Stream) -> Head {
        self.changed.get(stream).or_else(|| self.heads.get(stream)).copied().unwrap_or_default()
    }

    /// Checks a whole batch (revisions and snapshots) before any of its changes is added.
    fn check(&self, prepared: &Prepared) -> Result<(), CommitError> {
        let mut revs: HashMap<&Stream, u64> = HashMap::new();
        for write in &prepared.writes {
            let rev = revs.entry(&write.stream).or_insert_with(|| self.head(&write.stream).rev);
            match write.expected_rev {
                Some(expected) if expected != *rev => {
                    let stream = write.stream.clone();
                    return Err(CommitError::Conflict { stream, expected, found: *rev });
                }
                Some(_) | None => *rev += write.bodies.len() as u64,
            }
        }
        for snapshot in &prepared.snapshots {
            let rev = revs.get(&snapshot.stream).copied().unwrap_or_else(|| self.head(&snapshot.stream).rev);
            if snapshot.rev > rev {
                let Snapshot { stream, rev: wanted, .. } = snapshot;
                let why = format!("a snapshot of {stream} at revision {wanted}, which has {rev}");
                return Err(CommitError::Invalid(why));
            }
        }
        Ok(())
    }

    pub(super) fn batch(&mut self, prepared: Prepared) -> Result<(Receipt, Vec<Post>), CommitError> {
        self.check(&prepared)?;
        self.counts.extend(prepared.counts);
        let streams: Vec<Stream> = prepared.writes.iter().map(|write| write.stream.clone()).collect();
        let revs = prepared.writes.into_iter().map(|write| self.write(write)).collect();
        for snapshot in prepared.snapshots {
            self.snapshot(snapshot);
        }
        for memo in prepared.memos {
            self.changes.memo(memo);
        }
        let posts = prepared.posts.into_iter().map(|(post, text)| self.post(post, text)).collect();
        self.last.work = self.last.work.max(prepared.work);
        self.last.at = self.last.at.max(prepared.at);
        let snapshot_due = streams.iter().any(|stream| snapshot_due(stream, self.head(stream)));
        Ok((Receipt { revs, posts: Vec::new(), snapshot_due }, posts))
    }

    fn write(&mut self, write: PreparedWrite) -> u64 {
        let text = stream_text(&write.stream);
        let mut head = self.head(&write.stream);
        for body in write.bodies {
            self.last.seq += 1;
            head.rev += 1;
            head.seq = self.last.seq;
            head.tail += body.len();
            self.changes.event(head.seq, &text, head.rev, encoding::event(head.rev, &body));
        }
        self.changed.insert(write.stream, head);
        head.rev
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        let mut head = self.head(&snapshot.stream);
        if snapshot.rev <= head.snapshot {
            return;
        }
        let chunks = self.changes.snapshot(&snapshot, head.chunks);
        head.tail = 0;
        head.snapshot = snapshot.rev;
        head.chunks = chunks;
        self.changed.insert(snapshot.stream, head);
    }

    fn post(&mut self, mut post: Post, text: Option<Vec<u8>>) -> Post {
        let Some(text) = text else { return post };
        self.last.post += 1;
        post.id = PostId(self.last.post);
        self.changes.post(&post.network, post.id, text);
        // The beginning of its text may be there already, in another form.
        if post.confirmed_lines > 0 {
            self.changes.lines(&post.network, post.id, post.confirmed_lines);
        }
        post
    }

    /// Removes posts, sets the number of their confirmed lines, or replaces many by one, in order.
    pub(super) fn settle(&mut self, settled: Vec<Settled>) -> Result<(), CommitError> {
        let failed = |error: sled::Error| CommitError::Failed(error.to_string());
        for settled in settled {
            match settled {
                Settled::Delivered(Confirmed { network, post, lines: None }) => {
                    self.take_out(&network, post).map_err(failed)?;
                }
                // For a removed post there is nothing to set.
                Settled::Delivered(Confirmed { network, post, lines: Some(lines) }) => {
                    let key = outbox_key(&network, post);
                    if self.trees.get(Tree::Outbox).contains_key(key).map_err(failed)? {
                        self.changes.lines(&network, post, lines);
                    }
                }
                Settled::Collapsed(collapsed) => {
                    let Collapsed { line, left_out } = *collapsed;
                    for post in left_out.into_iter().chain([line.id]) {
                        self.take_out(&line.network, post).map_err(failed)?;
                    }
                    let text = encoding::encode_post(&line)
                        .map_err(|error| CommitError::Invalid(format!("a post: {error}")))?;
                    self.changes.post(&line.network, line.id, text);
                }
            }
        }
        Ok(())
    }

    fn take_out(&mut self, network: &NetworkName, post: PostId) -> sled::Result<()> {
        let key = outbox_key(network, post);
        for stored in self.trees.get(Tree::Outbox).scan_prefix(&key).keys() {
            self.changes.remove(Tree::Outbox, stored?);
        }
        // The lines may be set in this same transaction.
        self.changes.remove(Tree::Outbox, chunk_key(&key, LINES));
        Ok(())
    }

    /// Returns the present position in the collected changes.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.changes.0.each_ref().map(Vec::len))
    }

    /// Removes the changes that were added since a mark. Only for jobs that change nothing else.
    pub(super) fn go_back(&mut self, Mark(before): Mark) {
        for (changes, before) in self.changes.0.iter_mut().zip(before) {
            changes.truncate(before);
        }
    }

    /// Adds the removal of the events up to and including number `upto`, with their index rows.
    pub(super) fn forget(&mut self, upto: u64) -> Result<(), super::ReadError> {
        let mut open: Option<(u64, Vec<u8>)> = None;
        for item in self.trees.get(Tree::Events).range(..=chunk_key(&event_key(upto), LINES)) {
            let (key, value) = item?;
            let Some(seq) = number(&key) else { continue };
            self.changes.remove(Tree::Events, key);
            if open.as_ref().is_some_and(|(of, _)| *of != seq) {
                self.forget_index(open.take())?;
            }
            open.get_or_insert((seq, Vec::new())).1.extend_from_slice(&value);
        }
        self.forget_index(open)
    }

    fn forget_index(&mut self, event: Option<(u64, Vec<u8>)>) -> Result<(), super::ReadError> {
        let Some((seq, text)) = event else { return Ok(()) };
        if let Ok(head) = encoding::event_head(&text) {
            self.changes.remove(Tree::Index, index_key(&stream_text(&head.stream), head.rev));
            return Ok(());
        }
        // The stream in its text is unreadable; the index row still has it.
        for item in self.trees.get(Tree::Index).iter() {
            let (key, at) = item?;
            if number(&at) == Some(seq) {
                self.changes.remove(Tree::Index, key);
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Staged {
        for (stream, head) in &self.changed {
            self.changes.head(stream, *head);
        }
        if self.last != self.before {
            self.changes.last(self.last);
        }
        Staged { changes: self.changes, heads: self.changed, last: self.last, counts: self.counts }
    }
}

/// Returns true if a stream has so many entries since its snapshot that a new one is wanted. The audit trail has no
/// state.
fn snapshot_due(stream: &Stream, head: Head) -> bool {
    let entries = head.rev.saturating_sub(head.snapshot);
    match stream {
        Stream::Audit => false,
        Stream::Fleet | Stream::Agent(_) => {
            let snapshot = usize::from(head.chunks) * CHUNK;
            entries >= SNAPSHOT_AFTER || (entries >= SNAPSHOT_EVERY && head.tail >= snapshot)
        }
    }
}
