//! Comparison of archives with the database: a database restored from a backup is older than they are.
//!
//! An archive fits if it belongs to the same journal, ends before the database does, and agrees word for word with
//! the events that the database has too. One that does not fit is moved to a folder of its own, never deleted; people
//! are told, and its numbers are not used again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

use super::archive::{self, Archive, Origin};
use super::layout::{Last, Trees};
use super::notes::{self, Span};
use super::query::Reader;
use super::staging::Changes;
use super::store::Paths;
use super::{ReadError, disk};

/// Archives that do not belong to the database and so were set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// Path of the folder that contains them now.
    pub folder: String,
    /// Numbers of the events in them.
    pub events: Span,
    /// Number of the database's last event.
    pub ends: u64,
}

/// Whether an archive and the database agree on the events that both have.
#[derive(Debug)]
pub(super) enum Held {
    /// The archive contains all those events, word for word.
    All,
    /// The archive contains other events with the same numbers.
    Others,
    /// The archive lacks some of those events, or cannot be read to its end.
    Unknown(ReadError),
}

/// Compares an archive with the database, for the events from number `from` on.
///
/// # Errors
/// The database cannot be read.
pub(super) fn held(reader: &Reader, archive: &Archive, from: u64) -> Result<Held, ReadError> {
    let mut wanted = BTreeMap::new();
    reader.each_text(from, archive.last, &mut |seq, text| {
        wanted.insert(seq, (text.len(), crc32fast::hash(text.as_bytes())));
        ControlFlow::Continue(())
    })?;
    let mut others = false;
    let read = archive::each_line(&archive.path, |seq, text| {
        // Events that the database has lost do not count against the archive.
        if let Some(known) = wanted.remove(&seq) {
            others |= known != (text.len(), crc32fast::hash(text.as_bytes()));
        }
        Ok(ControlFlow::Continue(()))
    });
    Ok(match (others, read, wanted.keys().next()) {
        (true, ..) => Held::Others,
        (false, Err(reason), _) => Held::Unknown(reason),
        (false, Ok(()), None) => Held::All,
        (false, Ok(()), Some(seq)) => {
            let why = format!("event {seq} is not in it, which its name promises");
            Held::Unknown(ReadError::Archive { file: archive.path.clone(), why })
        }
    })
}

/// Sets aside the archives that do not belong to the database, and returns them with those of earlier starts that
/// people were not told of. Afterwards `last` is beyond every number that was ever used.
///
/// # Errors
/// The database or the folder cannot be read or written.
pub(super) fn check(
    paths: &Paths,
    trees: &Trees,
    journal: &str,
    last: &mut Last,
) -> Result<Option<Aside>, ReadError> {
    let reader = Reader::new(trees.clone(), paths.archives(), Arc::new(AtomicU64::new(last.seq)));
    let told: Option<Aside> = notes::read(trees, notes::ASIDE)?;
    let mut skipped: Vec<Span> = notes::read(trees, notes::SKIPPED)?;
    let first = reader.first_seq()?.unwrap_or(u64::MAX);
    let mut misfits = Vec::new();
    for archive in archive::list(&paths.archives())? {
        let foreign = || Origin::of(&archive.path).is_some_and(|origin| origin.journal != journal);
        let unknown = || skipped.iter().any(|span| span.meets(archive.first, archive.last));
        let fits = archive.last <= last.seq
            && !unknown()
            && !foreign()
            && (archive.last < first || !matches!(held(&reader, &archive, first)?, Held::Others));
        if !fits {
            misfits.push(archive);
        }
    }
    if misfits.is_empty() {
        return Ok(told);
    }
    let failed = |error: io::Error| ReadError::Archive { file: paths.archives(), why: error.to_string() };
    let events = misfits.iter().map(|archive| Span { first: archive.first, last: archive.last });
    let events = events.chain(told.iter().map(|told| told.events));
    let events = events.reduce(|a, b| Span { first: a.first.min(b.first), last: a.last.max(b.last) });
    let events = events.unwrap_or(Span { first: 0, last: 0 });
    let ends = told.as_ref().map_or(last.seq, |told| told.ends);
    let folder = told.as_ref().map_or_else(|| fresh_folder(&paths.archives()), |told| told.folder.clone());
    let aside = Aside { folder, events, ends };
    tracing::error!(?aside, "archives do not belong to the database and are set aside");
    // On disk before the first file is moved, so that the next start completes an interrupted one.
    let mut changes = Changes::default();
    if events.last > last.seq {
        skipped.push(Span { first: last.seq + 1, last: events.last });
        last.seq = events.last;
        changes.last(*last);
        changes.memo(notes::memo(notes::SKIPPED, &skipped));
    }
    changes.memo(notes::memo(notes::ASIDE, &aside));
    changes.store(trees).map_err(ReadError::Damaged)?;
    trees.sync(&paths.log()).map_err(failed)?;
    let folder = Path::new(&aside.folder);
    disk::private_dir(folder).map_err(failed)?;
    for archive in misfits {
        let name = archive.path.file_name().unwrap_or_default();
        fs::rename(&archive.path, folder.join(name)).map_err(failed)?;
    }
    disk::sync_dir(folder).and_then(|()| disk::sync_dir(&paths.archives())).map_err(failed)?;
    Ok(Some(aside))
}

fn fresh_folder(archives: &Path) -> String {
    let free = (1..).map(|n| archives.join(format!("aside-{n}"))).find(|folder| !folder.exists());
    free.unwrap_or_else(|| archives.join("aside")).display().to_string()
}
