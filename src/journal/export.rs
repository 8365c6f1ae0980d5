//! Everything as JSON lines: the only answer to a flipped bit, and to sled's files, which never shrink.
//!
//! | line | number | text |
//! |---|---|---|
//! | `herder` | version of this shape | [`Header`] |
//! | `event` | seq | as in the database |
//! | `head` | revision | [`HeadLine`] |
//! | `snapshot` | revision | [`SnapshotLine`] |
//! | `post` | id | as in the database, with its confirmed lines |
//! | `memo` | 0 | [`MemoLine`] |
//! | `end` | how many lines came before | `{}` |
//!
//! The writer is asked once for everything but the events, which takes as long as a group; events are only ever added,
//! and archived under a lock that an export holds, so they are read while the journal goes on.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::core::time::Timestamp;

use super::handle::Journal;
use super::layout::{Head, Last, Trees};
use super::query::Reader;
use super::retention::blocking;
use super::store::Paths;
use super::writer::{Captured, Job};
use super::{ExportError, ReadError, Snapshot, Stream, archive, disk, encoding, lines, query, replay, room};

const SUFFIX: &str = ".jsonl.gz";

/// How many daily exports are kept.
const KEEP: usize = 7;

/// The shape of exports.
pub(super) const VERSION: u64 = 1;

/// An export was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub file: PathBuf,
    /// Events in it.
    pub events: u64,
    /// Posts in it that are still owed.
    pub posts: u64,
}

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) journal: String,
    pub(super) format: u32,
    pub(super) version: String,
    pub(super) at: Timestamp,
    /// The oldest event that is not in an archive.
    pub(super) hot: u64,
    pub(super) last: Last,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeadLine {
    pub(super) stream: Stream,
    pub(super) seq: u64,
}

#[derive(Serialize)]
struct SnapshotLineRef<'a> {
    stream: &'a Stream,
    state: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub(super) struct SnapshotLine {
    pub(super) stream: Stream,
    pub(super) state: Box<RawValue>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MemoLine {
    pub(super) key: String,
    pub(super) value: String,
}

/// The newest daily export in a folder. Their names are dates, so that the greatest is the newest.
pub(super) fn newest(dir: &Path) -> Option<PathBuf> {
    files(dir, is_daily).pop()
}

/// What people put beside the daily exports is theirs: neither the newest of them, nor to be removed.
fn is_daily(name: &str) -> bool {
    let date = name.strip_suffix(SUFFIX);
    date.is_some_and(|text| text.parse::<jiff::civil::Date>().is_ok_and(|date| date.to_string() == text))
}

/// Under which name a file is written before it is whole.
fn unfinished(name: &str) -> String {
    format!(".{name}.tmp")
}

/// The files of a folder with such names, in the order of these.
fn files(dir: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&wanted))
        .collect();
    paths.sort();
    paths
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
    let memos = query::memos(trees, "")?;
    Ok(Captured { last, heads, posts: query::all_posts(trees)?, snapshots, memos })
}

/// Writes everything the journal holds, archives included, to a file that is complete or not there. A name that ends
/// in `.gz` is compressed.
///
/// # Errors
/// The file cannot be written, or the journal not read.
pub async fn export(journal: &Journal, file: &Path, at: Timestamp) -> Result<Exported, ExportError> {
    let _alone = journal.maintaining().lock().await;
    unlocked(journal, file, at).await
}

/// Writes the same to `out`, which is called `name`, as it is read: nothing is put beside the journal on the way. What is cut
/// lacks its last line, which says so to an import.
///
/// # Errors
/// It cannot be written, or the journal not read.
pub async fn export_to(
    journal: &Journal,
    mut out: impl Write + Send + 'static,
    name: &str,
    at: Timestamp,
) -> Result<Exported, ExportError> {
    let _alone = journal.maintaining().lock().await;
    let name = PathBuf::from(name);
    written(journal, at, move |reader, header, captured| {
        let exported = write_lines(reader, header, captured, &name, &mut out)?;
        out.flush().map_err(|source| ExportError::Io { file: name, source })?;
        Ok(exported)
    })
    .await
}

/// [`export`] under the lock of retention, which its caller holds.
pub(super) async fn unlocked(journal: &Journal, file: &Path, at: Timestamp) -> Result<Exported, ExportError> {
    let file = file.to_owned();
    written(journal, at, move |reader, header, captured| write_file(reader, header, captured, &file)).await
}

/// Has everything that is there at this moment written, on a thread that may wait.
async fn written(
    journal: &Journal,
    at: Timestamp,
    write: impl FnOnce(&Reader, Header, &Captured) -> Result<Exported, ExportError> + Send + 'static,
) -> Result<Exported, ExportError> {
    let captured = journal.ask(Job::Capture).await??;
    let reader = journal.reader().clone();
    let header = Header {
        journal: journal.id().to_owned(),
        format: super::layout::FORMAT,
        version: journal.settings().version.clone(),
        at,
        hot: 0,
        last: captured.last,
    };
    blocking(move || write(&reader, header, &captured)).await
}

/// Writes today's export unless it is there. The oldest ones go first.
pub(super) async fn daily(journal: &Journal, at: Timestamp) -> Result<Option<Exported>, ExportError> {
    let date = jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|at| at.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default();
    let file = journal.paths().exports().join(format!("{date}{SUFFIX}"));
    let (paths, today) = (journal.paths().clone(), file.clone());
    let keep_free = journal.settings().history.warn_free;
    if !blocking(move || make_room(&paths, &today, keep_free)).await? {
        return Ok(None);
    }
    unlocked(journal, &file, at).await.map(Some)
}

/// Whether today's export is to be written; then there is room for it.
fn make_room(paths: &Paths, today: &Path, keep_free: u64) -> Result<bool, ExportError> {
    let dir = paths.exports();
    let io = |file: &Path| {
        let file = file.to_owned();
        move |source| ExportError::Io { file, source }
    };
    disk::private_dir(&dir).and_then(|()| disk::sync_dir(&paths.dir)).map_err(io(&dir))?;
    if today.exists() {
        return Ok(false);
    }
    // What a herder that was killed has left of one.
    let part = |name: &str| {
        let whole = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
        whole.is_some_and(|whole| is_daily(whole) && unfinished(whole) == name)
    };
    for part in files(&dir, part) {
        fs::remove_file(&part).map_err(io(&part))?;
    }
    let dailies = files(&dir, is_daily);
    let sizes: Vec<u64> =
        dailies.iter().map(|daily| daily.metadata().map_or(0, |metadata| metadata.len())).collect();
    let needed = room::of_export(paths, sizes.last().copied());
    let gone = room::to_go(&sizes, KEEP, needed, room::free(&dir), keep_free).map_err(ExportError::NoRoom)?;
    for old in &dailies[..gone] {
        fs::remove_file(old).map_err(io(old))?;
    }
    Ok(true)
}

fn write_file(
    reader: &Reader,
    header: Header,
    captured: &Captured,
    file: &Path,
) -> Result<Exported, ExportError> {
    let io = |source| ExportError::Io { file: file.to_owned(), source };
    let name = file.file_name().ok_or_else(|| io(io::Error::other("it is not the name of a file")))?;
    let dir = match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        Some(_) | None => Path::new("."),
    };
    let tmp = dir.join(unfinished(&name.to_string_lossy()));
    let result = (|| {
        let open = BufWriter::new(private_file(&tmp).map_err(io)?);
        let compressed = file.extension().is_some_and(|extension| extension == "gz");
        let (buffered, exported) = if compressed {
            let mut gz = GzEncoder::new(open, Compression::default());
            let exported = write_lines(reader, header, captured, file, &mut gz)?;
            (gz.finish().map_err(io)?, exported)
        } else {
            let mut plain = open;
            let exported = write_lines(reader, header, captured, file, &mut plain)?;
            (plain, exported)
        };
        let open = buffered.into_inner().map_err(|error| io(error.into_error()))?;
        open.sync_all()
            .and_then(|()| fs::rename(&tmp, file))
            .and_then(|()| disk::sync_dir(dir))
            .map_err(io)?;
        Ok(exported)
    })();
    if result.is_err() {
        // It may never have been made; what is left of it says nothing to anybody.
        let _ = fs::remove_file(&tmp);
    }
    result
}

/// A file that nobody else reads: it holds prompts and the agents' words.
fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writes lines and counts them.
struct Lines<'a> {
    out: &'a mut dyn Write,
    file: &'a Path,
    count: u64,
}

impl Lines<'_> {
    fn line(&mut self, kind: &str, number: u64, text: &str) -> Result<(), ExportError> {
        self.count += 1;
        self.out
            .write_all(lines::write(kind, number, text).as_bytes())
            .map_err(|source| ExportError::Io { file: self.file.to_owned(), source })
    }

    fn json<T: Serialize>(&mut self, kind: &str, number: u64, value: &T) -> Result<(), ExportError> {
        let text = serde_json::to_string(value)
            .map_err(|error| ExportError::Io { file: self.file.to_owned(), source: error.into() })?;
        self.line(kind, number, &text)
    }
}

fn write_lines(
    reader: &Reader,
    mut header: Header,
    captured: &Captured,
    file: &Path,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let upto = captured.last.seq;
    header.hot = reader.first_seq()?.unwrap_or(upto + 1);
    let mut lines = Lines { out, file, count: 0 };
    lines.json("herder", VERSION, &header)?;
    let mut events = 0;
    let mut failed = None;
    let mut put = |seq, text: &str| match lines.line("event", seq, text) {
        Ok(()) => {
            events += 1;
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    };
    archive::each_text(reader.archives(), header.hot - 1, &mut put)?;
    reader.each_text(header.hot, upto, &mut put)?;
    if let Some(error) = failed {
        return Err(error);
    }
    for (stream, head) in &captured.heads {
        lines.json("head", head.rev, &HeadLine { stream: stream.clone(), seq: head.seq })?;
    }
    for Snapshot { stream, rev, state } in &captured.snapshots {
        // A state that is not JSON is nobody's; the stream is replayed without it.
        let Ok(state) = serde_json::from_slice::<&RawValue>(state) else { continue };
        if !state.get().contains('\n') {
            lines.json("snapshot", *rev, &SnapshotLineRef { stream, state })?;
        }
    }
    for post in &captured.posts {
        let text = encoding::encode_post(post)
            .map_err(|source| ReadError::Decode { what: format!("post {}", post.id), source })?;
        lines.line("post", post.id.0, &String::from_utf8_lossy(&text))?;
    }
    for (key, value) in &captured.memos {
        lines.json("memo", 0, &MemoLine { key: key.clone(), value: value.clone() })?;
    }
    let before = lines.count;
    lines.line("end", before, "{}")?;
    Ok(Exported { file: file.to_owned(), events, posts: captured.posts.len() as u64 })
}
