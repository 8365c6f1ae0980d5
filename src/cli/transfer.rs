//! `herder export` and `herder import`: everything herder knows, as JSON lines.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{complain, failed};
use crate::clock;
use crate::config::History;
use crate::journal::{self, Journal, OpenError, Settings};

/// Where the database of a journal is in its folder.
const DATABASE: &str = "sled";

/// Writes everything in `data_dir` to `output`, or to standard output.
pub(super) fn export(data_dir: &Path, output: Option<&Path>) -> ExitCode {
    let shown = data_dir.display();
    // Opening would make a journal where there is none.
    if !data_dir.join(DATABASE).is_dir() {
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
    let (journal, opening) = match Journal::open(&Settings::new(data_dir, History::default())) {
        Ok(opened) => opened,
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
    let file = output.map_or_else(|| data_dir.join("export.jsonl.tmp"), Path::to_owned);
    let written = write(&journal, &file, output.is_none());
    if output.is_none() {
        // It was only on its way to standard output.
        let _ = fs::remove_file(&file);
    }
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error),
    }
}

fn write(journal: &Journal, file: &PathBuf, print: bool) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = super::runtime()?;
    let exported = runtime.block_on(async {
        let exported = journal::export(journal, file, clock::now()).await;
        journal.close().await;
        exported
    })?;
    if print {
        io::copy(&mut File::open(file)?, &mut io::stdout().lock())?;
        io::stdout().lock().flush()?;
    } else {
        let (events, posts) = (exported.events, exported.posts);
        complain(format_args!("{}: {events} events and {posts} posts that are still owed", file.display()));
    }
    Ok(())
}

/// Makes a journal in `data_dir` out of an export.
pub(super) fn import(file: &Path, data_dir: &Path) -> ExitCode {
    match journal::import(&Settings::new(data_dir, History::default()), file) {
        Ok(imported) => {
            let (events, posts) = (imported.events, imported.posts);
            let shown = data_dir.display();
            complain(format_args!("{shown}: {events} events and {posts} posts that are still owed"));
            if imported.unreadable > 0 {
                let unreadable = imported.unreadable;
                complain(format_args!(
                    "herder: {unreadable} of the events cannot be read by this herder; they are kept as they are"
                ));
            }
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}
