//! Import of an export as a journal: with the same numbers, revisions, states and posts.
//!
//! The whole file is read and checked before anything is written. The new journal is built beside its place and moved
//! there at the end, so that an interrupted import leaves a folder that says so, not half a journal.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::core::id::{NetworkName, PostId};

use super::archive::{LINE_MAX, Origin, Writing};
use super::export::{self, HeadLine, Header, KeptPost, MemoLine, SnapshotLine};
use super::layout::{FORMAT, Head, Tree, Trees, VALUE_MAX, stream_text};
use super::lines::{self, Line};
use super::notes::Gaps;
use super::staging::Changes;
use super::store::{self, Identity, Paths};
use super::{ImportError, Memo, Settings, Snapshot, Span, Stream, disk, encoding, notes};

/// Maximum number of lines in one transaction of an import, and of events in one archive file. A transaction is in
/// memory several times.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 1 << 20;
const FILE_EVENTS: u64 = 50_000;

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of imported events, archived ones included.
    pub events: u64,
    /// Number of imported streams.
    pub streams: u64,
    /// Number of imported pending posts.
    pub posts: u64,
    /// Number of events and posts that this herder cannot read. They are kept unchanged.
    pub unreadable: u64,
    /// The events that the export lacks. The new journal does not report them again.
    pub lacks: Vec<Span>,
}

/// The result of checking an export before it is imported.
#[derive(Debug)]
pub(super) struct Checked {
    unreadable: u64,
    lacks: Vec<Span>,
    skipped: Vec<Span>,
}

/// Creates a journal from an export, in a folder without one. Blocks.
///
/// # Errors
/// A sentence with the damaged line, or the obstacle. Nothing is imported then.
pub fn import(settings: &Settings, file: &Path) -> Result<Imported, ImportError> {
    place(settings, file, false)
}

/// Creates the journal of a bot that follows, from a copy: an export that names its place in the log. Blocks.
///
/// # Errors
/// As for [`import`], or it names no place.
pub(super) fn copy(settings: &Settings, file: &Path) -> Result<(), ImportError> {
    if header(file)?.log.is_none() {
        let why = "it names no place in the log, so that it is no copy of a journal in a cluster".to_owned();
        return Err(ImportError::Line { file: file.to_owned(), line: 1, why });
    }
    place(settings, file, true).map(drop)
}

/// Creates a journal from an export. `is_copy` is true if it goes on with the log from there.
fn place(settings: &Settings, file: &Path, is_copy: bool) -> Result<Imported, ImportError> {
    let checked = check(file)?;
    let paths = Paths::new(&settings.dir);
    let _lock = store::lock(&paths)?;
    let io = |what| {
        let path = paths.dir.clone();
        move |source| ImportError::Io { what, path, source }
    };
    if paths.importing().exists() {
        // Remains of an interrupted import; the database is moved last, so that none exists yet.
        if !paths.sled().exists() && paths.archives().exists() {
            fs::remove_dir_all(paths.archives()).map_err(io("cannot clear"))?;
        }
        fs::remove_dir_all(paths.importing()).map_err(io("cannot clear"))?;
    }
    if paths.sled().exists() || store::held_before(&paths) {
        return Err(ImportError::NotEmpty(paths.dir));
    }
    let site = Paths::new(&paths.importing());
    disk::private_dir(&site.dir).map_err(io("cannot write"))?;
    let imported = match build(file, &site, &checked, is_copy) {
        Ok(imported) => Imported { unreadable: checked.unreadable, lacks: checked.lacks, ..imported },
        Err(error) => {
            // Only the first error is useful.
            let _ = fs::remove_dir_all(&site.dir);
            return Err(error);
        }
    };
    if site.archives().exists() {
        fs::rename(site.archives(), paths.archives()).map_err(io("cannot write"))?;
    }
    fs::rename(site.sled(), paths.sled()).map_err(io("cannot write"))?;
    disk::sync_dir(&paths.dir).map_err(io("cannot write"))?;
    fs::remove_dir_all(&site.dir).map_err(io("cannot clear"))?;
    disk::sync_dir(&paths.dir).map_err(io("cannot write"))?;
    Ok(imported)
}

/// Reads a whole export to find damage, and counts the events and posts that this herder cannot read: these do not
/// prevent the import.
pub(super) fn check(file: &Path) -> Result<Checked, ImportError> {
    let (mut seq, mut unreadable, mut gaps) = (0, 0, Gaps::default());
    let mut skipped: Vec<Span> = Vec::new();
    let header = each_line(file, |line| {
        if line.text.len() > VALUE_MAX {
            return Err("it is longer than anything herder writes".to_owned());
        }
        match line.kind {
            "event" => {
                unreadable += u64::from(encoding::decode_event(line.number, line.text.as_bytes()).is_err());
                if line.number <= seq {
                    return Err(format!("event {} after event {seq}", line.number));
                }
                seq = line.number;
                gaps.at(seq);
            }
            "head" => drop(json::<HeadLine>(line.text)?),
            "snapshot" => {
                drop(json::<SnapshotLine>(line.text)?);
            }
            "post" => unreadable += u64::from(encoding::decode_post(line.text.as_bytes()).is_err()),
            "kept-post" => {
                let kept: KeptPost = json(line.text)?;
                unreadable += u64::from(encoding::decode_post(kept.text.as_bytes()).is_err());
            }
            "memo" => {
                let MemoLine { key, value } = json(line.text)?;
                if key == notes::SKIPPED {
                    // An invalid note counts as missing.
                    skipped = serde_json::from_str(&value).unwrap_or_default();
                }
            }
            other => return Err(format!("a line of an unknown kind, \"{other}\"")),
        }
        Ok(())
    })?;
    gaps.end(header.last.seq);
    let lacks = notes::without(gaps.found, &skipped);
    Ok(Checked { unreadable, lacks, skipped })
}

fn json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Passes every line of an export between the first and the last to `take`, and checks these two itself.
pub(super) fn each_line(
    file: &Path,
    mut take: impl FnMut(Line<'_>) -> Result<(), String>,
) -> Result<Header, ImportError> {
    let io = |source| ImportError::Io { what: "cannot read", path: file.to_owned(), source };
    let mut reader = open(file).map_err(io)?;
    let mut text = String::new();
    let mut header: Option<Header> = None;
    let mut ended = false;
    for n in 1_u64.. {
        let at = |why: String| ImportError::Line { file: file.to_owned(), line: n, why };
        let cut = ImportError::Truncated { file: file.to_owned(), line: n - 1 };
        text.clear();
        match Read::take(&mut reader, LINE_MAX).read_line(&mut text) {
            Ok(0) if ended => break,
            Ok(0) => return Err(cut),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(cut),
            Err(error) => return Err(at(error.to_string())),
        }
        if ended {
            return Err(at("something follows the last line".to_owned()));
        }
        let Some(line) = text.strip_suffix('\n') else { return Err(cut) };
        let line = lines::parse(line).map_err(at)?;
        match (&header, line.kind) {
            (None, "herder") => header = Some(first(line).map_err(at)?),
            (None, _) => return Err(at("it is not the first line of a herder export".to_owned())),
            (Some(_), "end") if line.number == n - 1 => ended = true,
            (Some(_), "end") => {
                return Err(at(format!("it closes {} lines; there are {}", line.number, n - 1)));
            }
            (Some(_), _) => take(line).map_err(at)?,
        }
    }
    header.ok_or_else(|| ImportError::Truncated { file: file.to_owned(), line: 0 })
}

/// Returns the first line of an export.
pub(super) fn header(file: &Path) -> Result<Header, ImportError> {
    let mut text = String::new();
    let read = open(file).and_then(|reader| Read::take(reader, LINE_MAX).read_line(&mut text));
    read.map_err(|source| ImportError::Io { what: "cannot read", path: file.to_owned(), source })?;
    let bad = |why| ImportError::Line { file: file.to_owned(), line: 1, why };
    first(lines::parse(text.trim_end_matches('\n')).map_err(bad)?).map_err(bad)
}

fn first(line: Line<'_>) -> Result<Header, String> {
    if line.number > export::VERSION {
        return Err(format!(
            "the export has version {}; this herder reads up to {}",
            line.number,
            export::VERSION
        ));
    }
    let header: Header = json(line.text)?;
    if header.format > FORMAT {
        return Err(format!("the journal had format {}; this herder reads up to {FORMAT}", header.format));
    }
    Ok(header)
}

fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::new(File::open(file)?);
    let compressed = reader.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if compressed { Box::new(BufReader::new(MultiGzDecoder::new(reader))) } else { Box::new(reader) })
}

/// The fields of a stored post that are the same in every version.
#[derive(Debug, Deserialize)]
struct PostHead {
    network: NetworkName,
    #[serde(default)]
    confirmed_lines: u32,
}

/// A new journal while an import builds it.
struct Site<'a> {
    paths: &'a Paths,
    trees: Trees,
    changes: Changes,
    waiting: usize,
    waiting_bytes: usize,
    hot: u64,
    archive: Option<(u64, Writing)>,
    archived: u64,
    origin: Origin,
    heads: HashMap<Stream, Head>,
    imported: Imported,
}

fn build(file: &Path, paths: &Paths, checked: &Checked, is_copy: bool) -> Result<Imported, ImportError> {
    let store = |error: sled::Error| ImportError::Store(error.to_string());
    let mut header = header(file)?;
    header.log = header.log.filter(|_| is_copy);
    let config = sled::Config::new().path(paths.sled()).cache_capacity(store::CACHE).flush_every_ms(None);
    let db = config.open().map_err(store)?;
    let kept = db.clone();
    let imported = write(file, paths, (header, checked), db);
    if imported.is_err() {
        // A failed sled may wait forever for its log when its last handle is dropped, so that this one never is.
        std::mem::forget(kept);
    }
    imported
}

fn write(
    file: &Path,
    paths: &Paths,
    (header, checked): (Header, &Checked),
    db: sled::Db,
) -> Result<Imported, ImportError> {
    let store = |error: sled::Error| ImportError::Store(error.to_string());
    let io = |source| ImportError::Io { what: "cannot write", path: paths.dir.clone(), source };
    let trees = Trees::open(&db).map_err(store)?;
    let mut site = Site {
        paths,
        trees,
        changes: Changes::default(),
        waiting: 0,
        waiting_bytes: 0,
        hot: header.hot,
        archive: None,
        archived: 0,
        origin: Origin { journal: header.journal.clone(), version: header.version },
        heads: HashMap::new(),
        imported: Imported::default(),
    };
    let mut failed = None;
    let read = each_line(file, |line| {
        site.line(line).map_err(|error| {
            let text = error.to_string();
            failed = Some(error);
            text
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    read?;
    let identity = Identity { id: header.journal, format: FORMAT };
    store::write_identity(&site.trees, &identity).map_err(store)?;
    if !checked.lacks.is_empty() {
        let mut skipped = [&*checked.skipped, &*checked.lacks].concat();
        skipped.sort_unstable();
        site.changes.memo(notes::memo(notes::SKIPPED, &skipped));
    }
    if let Some(log) = header.log {
        site.changes.position(log);
    }
    let imported = site.finish(header.last)?;
    db.flush().map_err(store)?;
    for file in [paths.log(), paths.conf()] {
        File::open(file).and_then(|file| file.sync_all()).map_err(io)?;
    }
    disk::sync_dir(&paths.sled()).and_then(|()| disk::sync_dir(&paths.dir)).map_err(io)?;
    Ok(imported)
}

impl Site<'_> {
    fn line(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let bad = |why: String| ImportError::Store(why);
        match line.kind {
            "event" if line.number < self.hot => self.archived(line.number, line.text)?,
            "event" => self.event(line.number, line.text),
            "head" => {
                let head: HeadLine = json(line.text).map_err(bad)?;
                let known = self.heads.entry(head.stream).or_default();
                (known.rev, known.seq) = (line.number, head.seq);
                self.imported.streams += 1;
            }
            "snapshot" => {
                let SnapshotLine { stream, state } = json(line.text).map_err(bad)?;
                let state = state.get().as_bytes().to_vec();
                let snapshot = Snapshot { stream, rev: line.number, state };
                let chunks = self.changes.snapshot(&snapshot, 0);
                let head = self.heads.entry(snapshot.stream).or_default();
                (head.snapshot, head.chunks) = (line.number, chunks);
            }
            "memo" => {
                let MemoLine { key, value } = json(line.text).map_err(bad)?;
                self.changes.memo(Memo { key, value: Some(value) });
            }
            "kept-post" => {
                let KeptPost { network, lines, text } = json(line.text).map_err(bad)?;
                self.kept_post(&network, PostId(line.number), lines, text.into_bytes());
            }
            // `check` has found that it is a post.
            _ => self.post(line)?,
        }
        self.waiting += 1;
        self.waiting_bytes += line.text.len();
        if self.waiting >= BATCH || self.waiting_bytes >= BATCH_BYTES {
            self.store()?;
        }
        Ok(())
    }

    fn archived(&mut self, seq: u64, text: &str) -> Result<(), ImportError> {
        let dir = self.paths.archives();
        let io = |source| ImportError::Io { what: "cannot write", path: dir.clone(), source };
        // No archive spans missing events.
        let full = self.archive.as_ref().is_some_and(|(first, _)| seq >= first + FILE_EVENTS);
        if full || seq != self.archived + 1 {
            self.close_archive()?;
        }
        self.archived = seq;
        let (_, file) = match &mut self.archive {
            Some(open) => open,
            none @ None => none.insert((seq, Writing::new(&dir, seq, &self.origin).map_err(io)?)),
        };
        self.imported.events += 1;
        file.add(seq, text).map_err(io)
    }

    fn close_archive(&mut self) -> Result<(), ImportError> {
        let Some((_, file)) = self.archive.take() else { return Ok(()) };
        file.finish().map(drop).map_err(|error| ImportError::Store(error.to_string()))
    }

    fn event(&mut self, seq: u64, text: &str) {
        let bytes = text.as_bytes().to_vec();
        match encoding::event_head(&bytes) {
            Ok(head) => self.changes.event(seq, &stream_text(&head.stream), head.rev, bytes),
            Err(_) => self.changes.placeless(seq, bytes),
        }
        self.imported.events += 1;
    }

    fn post(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let bad = |error: encoding::DecodeError| ImportError::Store(error.to_string());
        let Ok(mut post) = encoding::decode_post(line.text.as_bytes()) else {
            // A newer version wrote it; the fields needed to keep it are the same in all versions.
            let Ok(PostHead { network, confirmed_lines }) = json(line.text) else { return Ok(()) };
            self.kept_post(&network, PostId(line.number), confirmed_lines, line.text.into());
            return Ok(());
        };
        post.id = PostId(line.number);
        let lines = std::mem::take(&mut post.confirmed_lines);
        self.changes.post(&post.network, post.id, encoding::encode_post(&post).map_err(bad)?);
        if lines > 0 {
            self.changes.lines(&post.network, post.id, lines);
        }
        self.imported.posts += 1;
        Ok(())
    }

    fn kept_post(&mut self, network: &NetworkName, id: PostId, lines: u32, text: Vec<u8>) {
        self.changes.post(network, id, text);
        if lines > 0 {
            self.changes.lines(network, id, lines);
        }
        self.imported.posts += 1;
    }

    fn store(&mut self) -> Result<(), ImportError> {
        (self.waiting, self.waiting_bytes) = (0, 0);
        std::mem::take(&mut self.changes).store(&self.trees).map_err(ImportError::Store)
    }

    fn finish(mut self, last: super::layout::Last) -> Result<Imported, ImportError> {
        self.close_archive()?;
        for (stream, head) in std::mem::take(&mut self.heads) {
            self.changes.head(&stream, head);
        }
        self.changes.last(last);
        self.store()?;
        let events = self.trees.get(Tree::Events).first();
        events.map_err(|error| ImportError::Store(error.to_string()))?;
        Ok(self.imported)
    }
}
