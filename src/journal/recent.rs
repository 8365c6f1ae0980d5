//! A second copy of the newest events, as lines beside the database: a damaged page of sled may be the only copy of
//! its content.
//!
//! Every commit is appended with one write and never synced: the file is not part of a commit, and only `export
//! --salvage` reads it. Older events are in archives and daily exports.
//!
//! `recent.jsonl` grows to [`MOST`] and then becomes `recent-before.jsonl`. Each start adds a line with the opened
//! journal and its last event: earlier lines of another journal do not count, nor do events beyond that end once new
//! ones follow.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::archive::LINE_MAX;
use super::layout::{Tree, number};
use super::lines;
use super::notes::Span;
use super::staging::Changes;
use super::store::Paths;

/// Maximum size of either of the two files, in bytes: tens of thousands of events.
const MOST: u64 = 32 << 20;

/// The open file with the second copy of the newest events.
#[derive(Debug)]
pub(super) struct Recent {
    paths: Paths,
    journal: String,
    /// The open file; `None` if it could not be written, and then not before the next start.
    file: Option<File>,
    size: u64,
    last: u64,
}

impl Recent {
    /// Opens the file to append. The copy is optional: herder works without it.
    pub(super) fn open(paths: &Paths, journal: &str, last: u64) -> Self {
        let mut recent =
            Self { paths: paths.clone(), journal: journal.to_owned(), file: None, size: 0, last };
        recent.attempt(Self::begin);
        recent
    }

    /// Appends the events of a stored group of changes.
    pub(super) fn add(&mut self, changes: &Changes) {
        let mut texts: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (key, chunk) in &changes.0[Tree::Events as usize] {
            if let Some((seq, chunk)) = number(key).zip(chunk.as_ref()) {
                texts.entry(seq).or_default().extend_from_slice(chunk);
            }
        }
        let Some(last) = texts.last_key_value().map(|(seq, _)| *seq) else { return };
        let mut group = String::new();
        for (seq, text) in texts {
            group.push_str(&lines::write("event", seq, &String::from_utf8_lossy(&text)));
        }
        self.attempt(|recent| {
            recent.write(&group)?;
            recent.last = last;
            if recent.size < MOST {
                return Ok(());
            }
            fs::rename(recent.paths.recent(), recent.paths.recent_before())?;
            recent.begin()
        });
    }

    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) {
        if let Err(error) = work(self) {
            tracing::warn!(%error, "the newest events are not written a second time beside the database");
            self.file = None;
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        let open = OpenOptions::new().append(true).create(true).mode(0o600).open(self.paths.recent())?;
        self.size = open.metadata()?.len();
        self.file = Some(open);
        let journal = serde_json::to_string(&self.journal)?;
        // Ends a line that was cut when the last herder ended.
        let cut = if self.size > 0 { "\n" } else { "" };
        self.write(&format!("{cut}{}", lines::write("opened", self.last, &journal)))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(text.as_bytes())?;
        self.size += text.len() as u64;
        Ok(())
    }
}

/// Returns the events of both files that belong to `journal`, by number. Unreadable lines are left out.
pub(super) fn read(paths: &Paths, journal: &str) -> io::Result<BTreeMap<u64, String>> {
    let mut events = BTreeMap::new();
    let (mut own, mut end) = (false, u64::MAX);
    for file in [paths.recent_before(), paths.recent()] {
        each_line(&file, &mut |line| match line.kind {
            "opened" => {
                own = serde_json::from_str::<String>(line.text).is_ok_and(|opened| opened == journal);
                end = line.number;
            }
            "event" if own => {
                if end < u64::MAX {
                    drop(events.split_off(&(end + 1)));
                    end = u64::MAX;
                }
                events.insert(line.number, line.text.to_owned());
            }
            _ => {}
        })?;
    }
    Ok(events)
}

/// Returns true if some of these events have a second copy in the folder, which `export --salvage` finds.
#[must_use]
pub fn stand_twice(dir: &Path, journal: &str, events: &[Span]) -> bool {
    let found = read(&Paths::new(dir), journal).unwrap_or_default();
    events.iter().any(|span| found.range(span.first..=span.last).next().is_some())
}

fn each_line(file: &Path, take: &mut dyn FnMut(lines::Line<'_>)) -> io::Result<()> {
    let mut reader = match open(file)? {
        Some(file) => BufReader::new(file),
        None => return Ok(()),
    };
    let mut bytes = Vec::new();
    while reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes)? > 0 {
        if let Ok(text) = std::str::from_utf8(&bytes)
            && let Ok(line) = lines::parse(text.trim_end_matches('\n'))
        {
            take(line);
        }
        bytes.clear();
    }
    Ok(())
}

fn open(file: &Path) -> io::Result<Option<File>> {
    match File::open(file) {
        Ok(open) => Ok(Some(open)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(recent: &mut Recent, seqs: std::ops::RangeInclusive<u64>, text: &str) {
        let mut changes = Changes::default();
        for seq in seqs {
            changes.placeless(seq, format!("\"{text}{}\"", "x".repeat(20_000)).into_bytes());
        }
        recent.add(&changes);
    }

    fn found(paths: &Paths) -> Vec<(u64, char)> {
        let events = read(paths, "j").expect("reads");
        events.into_iter().map(|(seq, text)| (seq, text.chars().nth(1).expect("a text"))).collect()
    }

    #[test]
    fn what_counts_is_what_the_database_that_was_opened_last_goes_on_from() {
        let dir = tempfile::tempdir().expect("a folder");
        let paths = Paths::new(dir.path());
        assert_eq!(found(&paths), []);
        added(&mut Recent::open(&paths, "j", 0), 1..=3, "a");
        // Cut in the middle of a line.
        let file = OpenOptions::new().write(true).open(paths.recent()).expect("opens");
        file.set_len(file.metadata().expect("there").len() - 9).expect("cuts");
        assert_eq!(found(&paths), [(1, 'a'), (2, 'a')]);
        // The database was restored from a backup. Events beyond its end count until new ones follow.
        drop(Recent::open(&paths, "j", 1));
        assert_eq!(found(&paths), [(1, 'a'), (2, 'a')]);
        added(&mut Recent::open(&paths, "j", 1), 2..=3, "b");
        assert_eq!(found(&paths), [(1, 'a'), (2, 'b'), (3, 'b')]);
        // Another database was put in its place.
        added(&mut Recent::open(&paths, "other", 3), 4..=4, "c");
        assert_eq!(found(&paths), [(1, 'a'), (2, 'b'), (3, 'b')]);
    }

    #[test]
    fn the_two_files_are_bounded_and_hold_the_newest_events() {
        let dir = tempfile::tempdir().expect("a folder");
        let paths = Paths::new(dir.path());
        let mut recent = Recent::open(&paths, "j", 0);
        for n in 0..50 {
            added(&mut recent, n * 100 + 1..=(n + 1) * 100, "a");
        }
        let size = |file: std::path::PathBuf| file.metadata().expect("there").len();
        assert!(size(paths.recent()) + size(paths.recent_before()) < 2 * (MOST + 3_000_000));
        let found: Vec<u64> = found(&paths).into_iter().map(|(seq, _)| seq).collect();
        let first = found[0];
        assert_eq!(found, (first..=5_000).collect::<Vec<u64>>());
        assert!(first < 4_000, "{first}");
    }
}
