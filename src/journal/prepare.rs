//! Converts a batch to JSON on its caller's thread, so that the writer's thread does not have to, and refuses what is
//! too large.

use crate::core::post::{Body, Post};

use super::layout::VALUE_MAX;
use super::writer::{Prepared, PreparedWrite};
use super::{Batch, CommitError, MEMO_KEY_MAX, MEMO_MAX, Write, encoding, tally};

/// Converts a batch to JSON, on the caller's thread, so that the writer only has to store it.
pub(super) fn prepare(batch: Batch) -> Result<Prepared, CommitError> {
    let at = batch.at;
    let mut bytes = 0;
    let mut work = 0;
    let mut counts = Vec::new();
    let mut writes = Vec::with_capacity(batch.writes.len());
    for Write { stream, expected_rev, entries } in batch.writes {
        let mut bodies = Vec::with_capacity(entries.len());
        counts.extend(entries.iter().filter_map(|entry| tally::count(&stream, entry)));
        for entry in &entries {
            let body = encoding::event_body(at, &stream, entry)
                .map_err(|error| CommitError::Invalid(format!("an entry of {stream}: {error}")))?;
            bounded(body.len(), "an entry")?;
            bytes += body.len();
            work = work.max(encoding::work_id(entry));
            bodies.push(body);
        }
        writes.push(PreparedWrite { stream, expected_rev, bodies });
    }
    let mut posts = Vec::with_capacity(batch.posts.len());
    for post in batch.posts {
        let text = post_text(&post)?;
        let length = text.as_ref().map_or(0, Vec::len);
        bounded(length, "a post")?;
        bytes += length;
        posts.push((post, text));
    }
    for snapshot in &batch.snapshots {
        bounded(snapshot.state.len(), "a snapshot")?;
        bytes += snapshot.state.len();
    }
    for memo in &batch.memos {
        let length = memo.key.len() + memo.value.as_ref().map_or(0, String::len);
        if memo.key.len() > MEMO_KEY_MAX || memo.value.as_ref().is_some_and(|value| value.len() > MEMO_MAX) {
            return Err(CommitError::Invalid(format!("a memo of {length} bytes")));
        }
        bytes += length;
    }
    Ok(Prepared { at, writes, posts, snapshots: batch.snapshots, memos: batch.memos, counts, work, bytes })
}

fn bounded(bytes: usize, what: &str) -> Result<(), CommitError> {
    if bytes > VALUE_MAX {
        return Err(CommitError::Invalid(format!("{what} of {bytes} bytes; {VALUE_MAX} is the most")));
    }
    Ok(())
}

fn post_text(post: &Post) -> Result<Option<Vec<u8>>, CommitError> {
    match &post.body {
        // Useless after a restart.
        Body::Lines(_) | Body::Looked(_) => Ok(None),
        Body::Notice(_)
        | Body::Refusal(_)
        | Body::Agent { .. }
        | Body::Said { .. }
        | Body::File(_)
        | Body::Hook(_)
        | Body::Kept(_) => {
            if post.network.as_str().contains('\0') {
                return Err(CommitError::Invalid("a network's name with a NUL in it".to_owned()));
            }
            encoding::encode_post(post)
                .map(Some)
                .map_err(|error| CommitError::Invalid(format!("a post: {error}")))
        }
    }
}
