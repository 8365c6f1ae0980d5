//! Everything as JSON lines.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::layout::{Head, Last, Trees};
use super::writer::Captured;
use super::{ReadError, Snapshot, Stream, query, replay};

const SUFFIX: &str = ".jsonl.gz";

/// The newest export in a folder. Their names are dates, so that the greatest is the newest.
pub(super) fn newest(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).max()
}

/// A consistent look at everything but the events: taken by the writer, between two groups.
pub(super) fn capture(
    trees: &Trees,
    last: Last,
    heads: &HashMap<Stream, Head>,
) -> Result<Captured, ReadError> {
    let mut heads: Vec<(Stream, Head)> = heads.iter().map(|(stream, head)| (stream.clone(), *head)).collect();
    heads.sort_by(|a, b| a.0.cmp(&b.0));
    let mut snapshots = Vec::new();
    for (stream, _) in heads.iter().filter(|(_, head)| head.snapshot > 0) {
        if let Some((rev, state)) = replay::snapshot(trees, stream)? {
            snapshots.push(Snapshot { stream: stream.clone(), rev, state });
        }
    }
    Ok(Captured { last, heads, posts: query::all_posts(trees)?, snapshots })
}
