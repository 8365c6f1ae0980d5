//! Queries: entries by stream, heads, and pending posts of a network. Any thread may read; all of it blocks.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::IgnoredAny;
use sled::IVec;

use crate::core::id::{NetworkName, PostId};
use crate::core::post::{Post, Target};

use super::layout::{
    CHUNK, Head, LINES, Tree, Trees, event_key, index_key, number, outbox_key, outbox_prefix, stream_text,
};
use super::look_back::Reached;
use super::look_back_from::{Back, Left};
use super::{ReadError, Recorded, Stream, archive, encoding, notes};

/// Reader of the database's trees and of the archives.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    trees: Trees,
    archives: PathBuf,
    /// Number of the last event that is on disk. sled shows a transaction before that, but readers must not see it
    /// earlier.
    durable: Arc<AtomicU64>,
}

impl Reader {
    pub(super) fn new(trees: Trees, archives: PathBuf, durable: Arc<AtomicU64>) -> Self {
        Self { trees, archives, durable }
    }

    pub(super) fn trees(&self) -> &Trees {
        &self.trees
    }

    pub(super) fn archives(&self) -> &PathBuf {
        &self.archives
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(super) fn head(&self, stream: &Stream) -> Result<Head, ReadError> {
        let value = self.trees.get(Tree::Heads).get(stream_text(stream))?;
        Ok(value.and_then(|value| Head::decode(&value)).unwrap_or_default())
    }

    /// Returns the number of the oldest event that is not in an archive.
    pub(super) fn first_seq(&self) -> Result<Option<u64>, ReadError> {
        Ok(self.trees.get(Tree::Events).first()?.and_then(|(key, _)| number(&key)))
    }

    /// Reads the event with the number `seq` from the database; `None` if it is not there.
    pub(super) fn event(&self, seq: u64) -> Result<Option<Recorded>, ReadError> {
        let events = self.trees.get(Tree::Events);
        let Some(first) = events.get(event_key(seq))? else { return Ok(None) };
        // All chunks but the last are full: nearly every event needs one look-up.
        if first.len() < CHUNK {
            return decode_event(seq, &first).map(Some);
        }
        let mut text = Vec::new();
        for item in events.scan_prefix(event_key(seq)) {
            let (_, chunk) = item?;
            text.extend_from_slice(&chunk);
        }
        decode_event(seq, &text).map(Some)
    }

    /// Returns the number of the first entry of a stream from revision `rev` on, if the database has any.
    pub(super) fn seq_from(&self, stream: &Stream, rev: u64) -> Result<Option<u64>, ReadError> {
        let text = stream_text(stream);
        let range = index_key(&text, rev)..=index_key(&text, u64::MAX);
        let first = self.trees.get(Tree::Index).range(range).next().transpose()?;
        Ok(first.and_then(|(_, seq)| number(&seq)))
    }

    /// Returns all streams with the positions of their ends.
    pub(super) fn heads(&self) -> Result<Vec<(Stream, Head)>, ReadError> {
        let mut heads = Vec::new();
        for item in self.trees.get(Tree::Heads).iter() {
            let (key, value) = item?;
            let stream = std::str::from_utf8(&key).ok().and_then(|text| text.parse().ok());
            heads.extend(stream.zip(Head::decode(&value)));
        }
        Ok(heads)
    }

    /// Passes the stored text of the database's events numbered `from` to `upto` to `take`. What is left of an event
    /// with lost chunks is passed as a JSON string, so that it can stay a line of an archive.
    pub(super) fn each_text(
        &self,
        from: u64,
        upto: u64,
        take: &mut dyn FnMut(u64, &str) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let mut open: Option<(u64, Vec<u8>)> = None;
        let mut give = |open: Option<(u64, Vec<u8>)>| -> Result<ControlFlow<()>, ReadError> {
            let Some((seq, text)) = open else { return Ok(ControlFlow::Continue(())) };
            let whole = std::str::from_utf8(&text)
                .ok()
                .filter(|text| !text.contains('\n') && serde_json::from_str::<IgnoredAny>(text).is_ok());
            match whole {
                Some(text) => Ok(take(seq, text)),
                None => {
                    tracing::error!(
                        seq,
                        "an event of the journal has lost pieces; what is left of it is kept"
                    );
                    Ok(take(seq, &serde_json::Value::from(String::from_utf8_lossy(&text)).to_string()))
                }
            }
        };
        for item in self.trees.get(Tree::Events).range(event_key(from)..) {
            let (key, chunk) = item?;
            let Some(seq) = number(&key) else { continue };
            if open.as_ref().is_some_and(|(of, _)| *of != seq) && give(open.take())?.is_break() {
                return Ok(());
            }
            if seq > upto {
                break;
            }
            open.get_or_insert_with(|| (seq, Vec::new())).1.extend_from_slice(&chunk);
        }
        give(open).map(drop)
    }

    /// Returns the oldest revision of a stream in the database.
    fn first_rev(&self, text: &str) -> Result<Option<u64>, ReadError> {
        let range = index_key(text, 0)..=index_key(text, u64::MAX);
        let first = self.trees.get(Tree::Index).range(range).next().transpose()?;
        Ok(first.and_then(|(key, _)| rev_of(&key)))
    }

    /// Passes every entry of a stream from revision `from` on to `take` with its number, archives first; or the reason
    /// why an entry or a part of an archive cannot be read. An error returned by `take` stops it.
    pub(super) fn each(
        &self,
        stream: &Stream,
        from: u64,
        take: &mut dyn FnMut(u64, Result<Recorded, ReadError>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        if self.head(stream)?.rev < from {
            return Ok(());
        }
        let text = stream_text(stream);
        let hot = self.first_rev(&text)?.unwrap_or(u64::MAX);
        if hot > from {
            archive::each(&self.archives, stream, from..hot, take)?;
        }
        let range = index_key(&text, from)..=index_key(&text, u64::MAX);
        for item in self.trees.get(Tree::Index).range(range) {
            let (_, seq) = item?;
            let Some(seq) = number(&seq) else { continue };
            match self.event(seq) {
                Ok(Some(recorded)) => take(seq, Ok(recorded))?,
                Ok(None) => {}
                Err(error @ ReadError::Decode { .. }) => take(seq, Err(error))?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns true if an event that was not found was moved to an archive between two reads: then the archives have
    /// it. Otherwise it is lost.
    fn was_moved(&self, seq: u64) -> Result<bool, ReadError> {
        Ok(self.first_seq()?.is_none_or(|first| first > seq))
    }

    /// Passes the database's entries of a stream to `take`, newest first, until it has enough; `None` for an
    /// unreadable one. Archives may have entries before the returned revision.
    pub(super) fn back(
        &self,
        stream: &Stream,
        take: &mut dyn FnMut(Option<Recorded>) -> ControlFlow<()>,
    ) -> Result<Reached, ReadError> {
        let text = stream_text(stream);
        let durable = self.durable();
        let mut end = self.head(stream)?.rev + 1;
        for item in self.trees.get(Tree::Index).range(index_key(&text, 0)..index_key(&text, end)).rev() {
            let (key, seq) = item?;
            let Some(seq) = number(&seq).filter(|seq| *seq <= durable) else { continue };
            let recorded = match readable(self.event(seq))? {
                Some(None) if self.was_moved(seq)? => break,
                Some(None) | None => None,
                Some(recorded) => recorded,
            };
            end = rev_of(&key).unwrap_or(end);
            if take(recorded).is_break() {
                return Ok(if end > 1 { Reached::Enough } else { Reached::Beginning });
            }
        }
        Ok(if end > 1 { Reached::Revision(end) } else { Reached::Beginning })
    }

    /// Passes the database's entries before a place to a query, newest first.
    pub(super) fn back_from(&self, back: &mut Back<'_>) -> Result<Left, ReadError> {
        let (first, durable) = (self.first_seq()?, self.durable());
        let Some(first) = first else { return Ok(Left::Read(back.before.min(durable + 1))) };
        let end = back.before.min(durable + 1);
        let Some(stream) = back.stream else {
            for seq in (first..end).rev() {
                if let Some(left) = self.pass(seq, back)? {
                    return Ok(left);
                }
            }
            return Ok(Left::Read(end.min(first)));
        };
        let text = stream_text(stream);
        let upto = self.rev_before(&text, self.head(stream)?.rev, end)?;
        let index = self.trees.get(Tree::Index);
        for item in index.range(index_key(&text, 0)..index_key(&text, upto)).rev() {
            let Some(seq) = number(&item?.1) else { continue };
            if let Some(left) = self.pass(seq, back)? {
                return Ok(left);
            }
        }
        // Entries that were archived meanwhile are still to come.
        Ok(Left::Read(back.before.min(end)))
    }

    /// Passes one event to a query. Returns the place where the database's part ends, if it does.
    fn pass(&self, seq: u64, back: &mut Back<'_>) -> Result<Option<Left>, ReadError> {
        let recorded = match readable(self.event(seq))? {
            Some(None) if self.was_moved(seq)? => return Ok(Some(Left::Read(seq + 1))),
            Some(None) | None => None,
            Some(recorded) => recorded,
        };
        Ok(back.at(seq, recorded).is_break().then_some(Left::Enough(seq)))
    }

    /// Returns the lowest revision of a stream, at most `last` + 1, whose entry has no number below `before`.
    fn rev_before(&self, text: &str, last: u64, before: u64) -> Result<u64, ReadError> {
        let index = self.trees.get(Tree::Index);
        let (mut low, mut high) = (0, last + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let next = index.range(index_key(text, middle)..index_key(text, high)).next().transpose()?;
            match next.and_then(|(key, seq)| Some((rev_of(&key)?, number(&seq)?))) {
                Some((rev, seq)) if seq < before => low = rev + 1,
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }

    /// Returns the last `limit` entries before revision `before`, oldest first. Unreadable ones are left out.
    pub(super) fn history(
        &self,
        stream: &Stream,
        limit: usize,
        before: Option<u64>,
    ) -> Result<Vec<Recorded>, ReadError> {
        let text = stream_text(stream);
        let mut end = (self.head(stream)?.rev + 1).min(before.unwrap_or(u64::MAX));
        let durable = self.durable();
        let mut newest_first: Vec<Recorded> = Vec::new();
        for item in self.trees.get(Tree::Index).range(index_key(&text, 0)..index_key(&text, end)).rev() {
            if newest_first.len() >= limit {
                break;
            }
            let (key, seq) = item?;
            let Some(seq) = number(&seq).filter(|seq| *seq <= durable) else { continue };
            match readable(self.event(seq))? {
                Some(None) if self.was_moved(seq)? => break,
                Some(None) | None => {}
                Some(Some(recorded)) => newest_first.push(recorded),
            }
            end = rev_of(&key).unwrap_or(end);
        }
        let room = limit - newest_first.len().min(limit);
        let mut history = if room > 0 && end > 1 {
            archive::last_of(&self.archives, stream, room, end)?
        } else {
            Vec::new()
        };
        history.extend(newest_first.into_iter().rev());
        Ok(history)
    }

    /// Returns the memos whose keys begin with `prefix`, without the journal's own.
    pub(super) fn memos(&self, prefix: &str) -> Result<Vec<(String, String)>, ReadError> {
        let mut memos = memos(&self.trees, prefix)?;
        memos.retain(|(key, _)| !key.starts_with(notes::PREFIX));
        Ok(memos)
    }

    /// Returns the networks that have pending posts.
    pub(super) fn networks_owed(&self) -> Result<Vec<NetworkName>, ReadError> {
        let name = |prefix: Vec<u8>| {
            let text = prefix.strip_suffix(&[0]).map(String::from_utf8_lossy).unwrap_or_default();
            NetworkName::from(&*text)
        };
        Ok(network_prefixes(&self.trees)?.into_iter().map(name).collect())
    }

    /// Returns the pending posts of a network, in the order of commits, and the ids of unreadable ones.
    pub(super) fn undelivered(&self, network: &NetworkName) -> Result<(Vec<Post>, Vec<PostId>), ReadError> {
        let prefix = outbox_prefix(network);
        let items = self.trees.get(Tree::Outbox).scan_prefix(&prefix);
        let (mut posts, mut unreadable) = (Vec::new(), Vec::new());
        each_owed(items, &prefix, &mut |owed| {
            match owed.post() {
                Some(post) => posts.push(post),
                None => unreadable.push(owed.id),
            }
            ControlFlow::Continue(())
        })?;
        Ok((posts, unreadable))
    }

    /// Returns the first `most` pending posts after `after` for a target on a network.
    pub(super) fn undelivered_after(
        &self,
        network: &NetworkName,
        to: &Target,
        after: PostId,
        most: usize,
    ) -> Result<Vec<Post>, ReadError> {
        let (prefix, from) = (outbox_prefix(network), PostId(after.0.saturating_add(1)));
        let of_network = |item: &sled::Result<(IVec, IVec)>| {
            item.as_ref().map_or(true, |(key, _)| key.starts_with(&prefix))
        };
        let items = self.trees.get(Tree::Outbox).range(outbox_key(network, from)..).take_while(of_network);
        let mut found = Vec::new();
        each_owed(items, &prefix, &mut |owed| {
            found.extend(owed.post().filter(|post| post.to == *to));
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }
}

/// Returns memos by key. Values that are no text are skipped.
pub(super) fn memos(trees: &Trees, prefix: &str) -> Result<Vec<(String, String)>, ReadError> {
    let mut memos = Vec::new();
    for item in trees.get(Tree::Memos).scan_prefix(prefix) {
        let (key, value) = item?;
        if let (Ok(key), Ok(value)) = (String::from_utf8(key.to_vec()), String::from_utf8(value.to_vec())) {
            memos.push((key, value));
        }
    }
    Ok(memos)
}

/// Returns the key prefixes of the outbox, one per network.
fn network_prefixes(trees: &Trees) -> Result<Vec<Vec<u8>>, ReadError> {
    let tree = trees.get(Tree::Outbox);
    let mut prefixes = Vec::new();
    let mut next: Option<Vec<u8>> = tree.first()?.and_then(|(key, _)| network_prefix(&key));
    while let Some(prefix) = next {
        let mut after = prefix.clone();
        after.extend_from_slice(&[u8::MAX; 11]);
        prefixes.push(prefix);
        next = tree.range(after..).next().transpose()?.and_then(|(key, _)| network_prefix(&key));
    }
    Ok(prefixes)
}

/// A pending post as it is stored, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owed {
    pub(super) network: NetworkName,
    pub(super) id: PostId,
    pub(super) lines: u32,
    pub(super) text: Vec<u8>,
}

impl Owed {
    /// Parses the post; `None` if this herder cannot, which must not hold the others back.
    pub(super) fn post(&self) -> Option<Post> {
        match encoding::decode_post(&self.text) {
            Ok(post) => Some(Post { id: self.id, confirmed_lines: self.lines, ..post }),
            Err(reason) => {
                tracing::warn!(post = %self.id, network = %self.network, %reason, "a post that is owed cannot be read and stays");
                None
            }
        }
    }
}

/// Returns all pending posts, by network.
pub(super) fn all_owed(trees: &Trees) -> Result<Vec<Owed>, ReadError> {
    let mut all = Vec::new();
    let tree = trees.get(Tree::Outbox);
    for prefix in network_prefixes(trees)? {
        each_owed(tree.scan_prefix(&prefix), &prefix, &mut |owed| {
            all.push(owed);
            ControlFlow::Continue(())
        })?;
    }
    Ok(all)
}

fn network_prefix(key: &[u8]) -> Option<Vec<u8>> {
    let end = key.iter().position(|byte| *byte == 0)?;
    Some(key[..=end].to_vec())
}

/// Joins the chunks and the confirmed lines of posts with keys that begin with `prefix`, and passes the posts to
/// `take`, one after the other, until it has enough.
fn each_owed(
    items: impl Iterator<Item = sled::Result<(IVec, IVec)>>,
    prefix: &[u8],
    take: &mut dyn FnMut(Owed) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let network = NetworkName::from(&*String::from_utf8_lossy(prefix.strip_suffix(&[0]).unwrap_or(prefix)));
    let mut open: Option<Owed> = None;
    for item in items {
        let (key, value) = item?;
        let Some(id) = number(key.get(prefix.len()..).unwrap_or_default()).map(PostId) else { continue };
        if open.as_ref().is_none_or(|owed| owed.id != id) {
            // Confirmed lines of a removed post are ignored.
            if let Some(owed) = open.take().filter(|owed| !owed.text.is_empty())
                && take(owed).is_break()
            {
                return Ok(());
            }
            open = Some(Owed { network: network.clone(), id, lines: 0, text: Vec::new() });
        }
        let Some(owed) = open.as_mut() else { continue };
        if key.get(prefix.len() + 8..) == Some(&LINES.to_be_bytes()) {
            owed.lines = value.as_ref().try_into().map(u32::from_be_bytes).unwrap_or(0);
        } else {
            owed.text.extend_from_slice(&value);
        }
    }
    if let Some(owed) = open.filter(|owed| !owed.text.is_empty()) {
        let _ = take(owed);
    }
    Ok(())
}

/// Turns the error of an unreadable entry into `None`, for callers that skip it.
pub(super) fn readable<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Err(reason @ ReadError::Decode { .. }) => {
            tracing::warn!(%reason, "an entry of the journal is left out");
            Ok(None)
        }
        read => read.map(Some),
    }
}

pub(super) fn decode_event(seq: u64, text: &[u8]) -> Result<Recorded, ReadError> {
    encoding::decode_event(seq, text)
        .map_err(|source| ReadError::Decode { what: format!("event {seq}"), source })
}

/// Returns the revision at the end of an index key.
pub(super) fn rev_of(key: &[u8]) -> Option<u64> {
    number(key.get(key.len().checked_sub(8)?..)?)
}
