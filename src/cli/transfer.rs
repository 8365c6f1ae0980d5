//! `herder export` and `herder import`: all of herder's data as JSON lines.

use std::io::{self, BufWriter};
use std::path::Path;
use std::process::ExitCode;

use super::{LACKING, complain, failed};
use crate::clock;
use crate::config::History;
use crate::journal::{self, Aside, ExportError, Journal, OpenError, Salvaged, Settings, Span, listed};

/// Name of the database's folder in the data folder.
const DATABASE: &str = "sled";

/// Name to which the database's folder is renamed while a rebuilt database takes its place.
const DATABASE_BEFORE: &str = "sled-before";

/// Runs `herder export`: writes everything in `data_dir` as JSON lines to the file `output`, or to standard output.
/// `salvage` reads a damaged database.
pub(super) fn export(data_dir: &Path, output: Option<&Path>, salvage: bool) -> ExitCode {
    let shown = data_dir.display();
    // Opening a journal would create a missing one.
    if ![DATABASE, DATABASE_BEFORE].iter().any(|name| data_dir.join(name).is_dir()) {
        return failed(format_args!(
            "there is nothing to export in {shown}; name another folder with --data-dir"
        ));
    }
    if let Some(output) = output.filter(|output| output.symlink_metadata().is_ok()) {
        return failed(format_args!(
            "{} is there already; move it away, or name another file",
            output.display()
        ));
    }
    say_nothing_of_sleds_panics();
    // The disk may be full, so that nothing is created in the folder.
    let settings =
        Settings { ballast: 0, compact_from: u64::MAX, ..Settings::new(data_dir, History::default()) };
    if salvage {
        // It did what was asked and reports the gaps, so that a command chain continues.
        return match self::salvage(&settings, output) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => failed(error),
        };
    }
    let (journal, opening) = match Journal::open(&settings) {
        Ok(opened) => opened,
        Err(OpenError::ReadOnly { .. }) => {
            return match self::salvage(&settings, output) {
                Ok(whole) if whole => ExitCode::SUCCESS,
                Ok(_) => ExitCode::from(LACKING),
                Err(error) => failed(error),
            };
        }
        Err(OpenError::Held { dir, holder }) => {
            let (dir, exports) = (dir.display(), data_dir.join("exports"));
            return failed(format_args!(
                "{dir} is in use by {holder}, which writes an export into {} every day; for one of this moment stop it first",
                exports.display()
            ));
        }
        Err(error) => return failed(error),
    };
    for missing in &opening.missing {
        let (stream, expected, found) = (&missing.stream, missing.expected, missing.found);
        complain(format_args!(
            "herder: {stream} was once at {expected} and is at {found}: the export lacks what is lost"
        ));
    }
    if !opening.missing.is_empty() {
        complain(journal::how_to_restore(data_dir));
    }
    if let Some(Aside { folder, events, ends }) = &opening.aside {
        complain(format_args!(
            "herder: the database ends at event {ends}, and the archives with events {events} do not belong to it: an older \
             or another database was put back; they are in {folder} now, and the export lacks what only they have"
        ));
    }
    match write(&journal, output) {
        Ok(lacks) if lacks.is_empty() && opening.missing.is_empty() && opening.aside.is_none() => {
            ExitCode::SUCCESS
        }
        Ok(lacks) => {
            lacking(&lacks);
            if opening.missing.is_empty() && journal::stand_twice(data_dir, journal.id(), &lacks) {
                complain(journal::how_to_restore(data_dir));
            }
            ExitCode::from(LACKING)
        }
        Err(error) => failed(error),
    }
}

/// Suppresses sled's panic messages: sled panics on some damage, which is caught and reported in plain words.
fn say_nothing_of_sleds_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/sled-")) {
            usual(panic);
        }
    }));
}

/// Exports what can be read without sled: of a database that sled refuses, or on a disk that cannot be written.
/// Returns true if the export is complete.
fn salvage(settings: &Settings, output: Option<&Path>) -> Result<bool, ExportError> {
    let Salvaged { exported, damaged } = journal::salvage(settings, output, clock::now())?;
    let (events, posts) = (exported.events, exported.posts);
    let to = exported.file.display();
    complain(format_args!("{to}: {events} events and {posts} posts that are still owed"));
    if damaged > 0 {
        complain(format_args!(
            "herder: {damaged} places of the database cannot be read; what of them stands elsewhere as well is in the export"
        ));
    }
    lacking(&exported.lacks);
    Ok(damaged == 0 && exported.lacks.is_empty())
}

/// Prints which events the export lacks because no readable archive has them.
fn lacking(lacks: &[Span]) {
    if !lacks.is_empty() {
        complain(format_args!(
            "herder: the export lacks events {}: no archive has them, or none that can be read; everything else is in it",
            listed(lacks)
        ));
    }
}

/// Exports an opened journal to the file `output`, or to standard output; returns the ranges of events that the export
/// lacks.
fn write(journal: &Journal, output: Option<&Path>) -> Result<Vec<Span>, Box<dyn std::error::Error>> {
    let runtime = super::runtime()?;
    let exported = runtime.block_on(async {
        let at = clock::now();
        let exported = match output {
            Some(file) => journal::export(journal, file, at).await,
            None => {
                let out = BufWriter::new(io::stdout());
                journal::export_to(journal, out, "to standard output", at).await
            }
        };
        journal.close().await;
        exported
    })?;
    if let Some(file) = output {
        let (events, posts) = (exported.events, exported.posts);
        complain(format_args!("{}: {events} events and {posts} posts that are still owed", file.display()));
    }
    Ok(exported.lacks)
}

/// Runs `herder import`: creates a journal in `data_dir` from the export `file`.
pub(super) fn import(file: &Path, data_dir: &Path) -> ExitCode {
    match journal::import(&Settings::new(data_dir, History::default()), file) {
        Ok(imported) => {
            let (events, posts) = (imported.events, imported.posts);
            let shown = data_dir.display();
            complain(format_args!("{shown}: {events} events and {posts} posts that are still owed"));
            if imported.unreadable > 0 {
                let unreadable = imported.unreadable;
                complain(format_args!(
                    "herder: {unreadable} of them cannot be read by this herder; they are kept as they are"
                ));
            }
            if !imported.lacks.is_empty() {
                complain(format_args!(
                    "herder: the export lacks events {}; the new journal goes on without them",
                    listed(&imported.lacks)
                ));
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}
