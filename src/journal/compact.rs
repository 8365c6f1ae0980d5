//! Compaction: a database file that is much larger than its rows is rebuilt at a start, because sled's files never shrink.
//!
//! All rows are copied to `compacting/`, synced and compared with the old ones. Then `sled` is renamed to
//! `sled-before` and the copy to `sled`, and the old one is removed. A herder that is killed on the way leaves the
//! old or the new database complete; the next start tells which ([`settle`]).

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::{NAMES, Tree, number};
use super::store::{self, Paths};
use super::{disk, encoding, refusal};

/// Minimum size of a database that is considered for a rebuild, in bytes: a smaller one is not worth it.
pub(super) const COMPACT_FROM: u64 = 64 << 20;

/// Ratio of the size of the database's file to that of its rows beyond which it is rebuilt.
const TIMES: u64 = 4;

/// Number of rows at either end of the events from whose size that of all is estimated.
const SAMPLE: usize = 500;

/// Number of bytes that are copied to the new database between two flushes.
const BATCH: usize = 1 << 20;

/// Key of the last compaction's record, in the tree `meta`.
const NOTE: &[u8] = b"compacted";

/// The sizes after a rebuild: until the file is twice as large, or the rows half as large, another one would gain
/// nothing.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    file: u64,
    rows: u64,
}

/// A point of a rebuild at which tests kill herder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Begun,
    Copied,
    Synced,
    MovedAway,
    MovedIn,
    Removed,
}

/// The reason why a database was not rebuilt.
#[derive(Debug, thiserror::Error)]
enum Unfinished {
    #[error("{0}")]
    Store(#[from] sled::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Damaged(String),
}

/// Completes or undoes a rebuild that a killed herder left unfinished.
pub(super) fn settle(paths: &Paths) -> io::Result<()> {
    let copy = Paths::new(&paths.compacting()).sled();
    if paths.sled_before().exists() {
        // The copy is moved in after the old one was moved away, and the old one is removed last.
        if copy.exists() {
            fs::rename(paths.sled_before(), paths.sled())?;
        } else {
            fs::remove_dir_all(paths.sled_before())?;
        }
        disk::sync_dir(&paths.dir)?;
    }
    if paths.compacting().exists() {
        fs::remove_dir_all(paths.compacting())?;
        disk::sync_dir(&paths.dir)?;
    }
    Ok(())
}

/// Rebuilds the database if its file is much larger than its rows, and there is room. Returns the database to use;
/// `None` if it was closed and has to be opened.
pub(super) fn at_start(
    paths: &Paths,
    db: sled::Db,
    (from, keep_free): (u64, u64),
    step: &mut dyn FnMut(Step),
) -> Option<sled::Db> {
    let file = paths.log().metadata().map_or(0, |log| log.len());
    if file < from {
        return Some(db);
    }
    let begun = tokio::time::Instant::now();
    let built = catch_unwind(AssertUnwindSafe(|| -> Result<bool, Unfinished> {
        let Some(rows) = due(&db, file)? else { return Ok(false) };
        // The maximum size that the new database may have.
        let needed = rows.saturating_mul(TIMES).min(file).saturating_add(keep_free);
        let free = disk::free(&paths.dir)?;
        if free < needed {
            tracing::warn!(
                file,
                rows,
                needed,
                free,
                "the database has grown far beyond what it holds; there is no room to build it anew"
            );
            return Ok(false);
        }
        build(paths, &db, rows, step).map(|()| true)
    }));
    let built = built.unwrap_or_else(|panic| Err(Unfinished::Damaged(refusal::panic_text(&*panic))));
    match built {
        Ok(false) => Some(db),
        Ok(true) => {
            drop(db);
            let swapped = store::wait_until_closed(paths).and_then(|_closed| swap(paths, step));
            if let Err(error) = swapped {
                tracing::warn!(%error, "the database that was built anew cannot take the old one's place");
            }
            let size = paths.log().metadata().map_or(0, |log| log.len());
            let took = begun.elapsed().as_millis();
            tracing::info!(before = file, after = size, took, "the database was built anew");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the database has grown far beyond what it holds, and cannot be built anew");
            // Remains do no harm and are removed at the next start.
            let _ = fs::remove_dir_all(paths.compacting());
            Some(db)
        }
    }
}

/// Returns the approximate size of all rows in bytes; `None` if the file is not much larger than that.
fn due(db: &sled::Db, file: u64) -> sled::Result<Option<u64>> {
    let mut rows = 0;
    for tree in [Tree::Heads, Tree::Snapshots, Tree::Outbox, Tree::Meta, Tree::Memos] {
        for item in db.open_tree(NAMES[tree as usize])?.iter() {
            let (key, value) = item?;
            rows += (key.len() + value.len()) as u64;
        }
    }
    let events = db.open_tree(NAMES[Tree::Events as usize])?;
    let (mut bytes, mut seen, mut last, mut ends) = (0, 0, 0, (u64::MAX, 0));
    for item in events.iter().take(SAMPLE).chain(events.iter().rev().take(SAMPLE)) {
        let (key, value) = item?;
        let Some(seq) = number(&key) else { continue };
        bytes += (key.len() + value.len()) as u64;
        seen += u64::from(seq != last);
        last = seq;
        ends = (ends.0.min(seq), ends.1.max(seq));
    }
    if let Some(average) = bytes.checked_div(seen) {
        // Each event also has an index row of about 40 bytes.
        rows += (ends.1 - ends.0 + 1) * (average + 40);
    }
    let note = db.open_tree(NAMES[Tree::Meta as usize])?.get(NOTE)?;
    let note: Note = note.and_then(|text| encoding::versioned(&text).ok()).unwrap_or_default();
    let gains = file / 2 >= note.file || rows < note.rows / 2;
    Ok(Some(rows).filter(|rows| file / TIMES > *rows && gains))
}

fn build(paths: &Paths, db: &sled::Db, rows: u64, step: &mut dyn FnMut(Step)) -> Result<(), Unfinished> {
    let site = Paths::new(&paths.compacting());
    disk::private_dir(&site.sled())?;
    step(Step::Begun);
    let config = sled::Config::new().path(site.sled()).cache_capacity(store::CACHE).flush_every_ms(None);
    let new = config.open()?;
    let copied = copy(db, &new, &site, rows);
    if let Err(error) = copied {
        // A failed sled may wait forever for its log when its last handle is dropped, so that this one never is.
        std::mem::forget(new);
        return Err(error);
    }
    step(Step::Copied);
    drop(new);
    drop(store::wait_until_closed(&site)?);
    sync(&site.sled())?;
    disk::sync_dir(&site.dir)?;
    disk::sync_dir(&paths.dir)?;
    step(Step::Synced);
    Ok(())
}

fn copy(db: &sled::Db, new: &sled::Db, site: &Paths, rows: u64) -> Result<(), Unfinished> {
    for name in db.tree_names() {
        let (from, to) = (db.open_tree(&name)?, new.open_tree(&name)?);
        let (mut batch, mut bytes) = (sled::Batch::default(), 0);
        for item in from.iter() {
            let (key, value) = item?;
            bytes += key.len() + value.len();
            batch.insert(key, value);
            if bytes >= BATCH {
                to.apply_batch(std::mem::take(&mut batch))?;
                new.flush()?;
                bytes = 0;
            }
        }
        to.apply_batch(batch)?;
        new.flush()?;
        let (mut ours, mut theirs) = (from.iter(), to.iter());
        loop {
            match (ours.next().transpose()?, theirs.next().transpose()?) {
                (None, None) => break,
                (one, other) if one == other => {}
                _ => return Err(Unfinished::Damaged("the copy is not what was copied".to_owned())),
            }
        }
    }
    let note = Note { file: site.log().metadata()?.len(), rows };
    let note = encoding::encode(&note).map_err(|error| Unfinished::Damaged(error.to_string()))?;
    new.open_tree(NAMES[Tree::Meta as usize])?.insert(NOTE, note)?;
    new.flush()?;
    Ok(())
}

/// Syncs a folder and everything in it.
fn sync(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    disk::sync_dir(dir)
}

fn swap(paths: &Paths, step: &mut dyn FnMut(Step)) -> io::Result<()> {
    fs::rename(paths.sled(), paths.sled_before())?;
    disk::sync_dir(&paths.dir)?;
    step(Step::MovedAway);
    fs::rename(Paths::new(&paths.compacting()).sled(), paths.sled())?;
    disk::sync_dir(&paths.dir)?;
    step(Step::MovedIn);
    fs::remove_dir_all(paths.sled_before())?;
    step(Step::Removed);
    fs::remove_dir_all(paths.compacting())?;
    disk::sync_dir(&paths.dir)
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
