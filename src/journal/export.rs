//! Export of everything as JSON lines: the only protection against flipped bits, and the only way to shrink sled's files.
//!
//! | line | number | text |
//! |---|---|---|
//! | `herder` | version of this shape | [`Header`] |
//! | `event` | seq | as in the database |
//! | `head` | revision | [`HeadLine`] |
//! | `snapshot` | revision | [`SnapshotLine`] |
//! | `post` | id | as in the database, with its confirmed lines |
//! | `kept-post` | id | [`KeptPost`]: one that the exporting herder could not read |
//! | `memo` | 0 | [`MemoLine`] |
//! | `end` | number of lines before | [`EndLine`] |
//!
//! A missing or damaged archive affects its own events only: everything else is written, and the gap is reported. A
//! file is read back completely before it gets its name.
//!
//! The writer is asked once for everything except the events, which takes as long as one group. Events are only ever
//! added, and archived under a lock that an export holds, so that they can be read while the journal works.

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

use crate::core::id::NetworkName;
use crate::core::time::Timestamp;

use super::handle::Journal;
use super::layout::{Head, Last, Trees};
use super::notes::Gaps;
use super::query::{Owed, Reader};
use super::retention::blocking;
use super::shared::Position;
use super::writer::{Captured, Job};
use super::{
    ExportError, ReadError, Snapshot, Span, Stream, archive, disk, encoding, import, lines, notes, query,
    replay,
};

/// Version of the format of exports.
pub(super) const VERSION: u64 = 1;

/// The result of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The file that was written.
    pub file: PathBuf,
    /// Number of events in the export.
    pub events: u64,
    /// Number of pending posts in the export.
    pub posts: u64,
    /// The events that the export lacks, because no archive has them, or no readable one.
    pub lacks: Vec<Span>,
}

/// The first line of an export: the origin and the extent of what follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) journal: String,
    pub(super) format: u32,
    pub(super) version: String,
    pub(super) at: Timestamp,
    /// Number of the oldest event that is not in an archive.
    pub(super) hot: u64,
    pub(super) last: Last,
    /// The place in the log that bots share, up to which the export has everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<Position>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeadLine {
    pub(super) stream: Stream,
    pub(super) seq: u64,
}

#[derive(Serialize)]
pub(super) struct SnapshotLineRef<'a> {
    pub(super) stream: &'a Stream,
    pub(super) state: &'a RawValue,
}

#[derive(Debug, Deserialize)]
pub(super) struct SnapshotLine {
    pub(super) stream: Stream,
    pub(super) state: Box<RawValue>,
}

/// A post that this herder cannot read, as it is stored, with the data needed to store it again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptPost {
    pub(super) network: NetworkName,
    #[serde(default)]
    pub(super) lines: u32,
    pub(super) text: String,
}

/// The last line of an export: the events that it lacks.
#[derive(Debug, Serialize)]
pub(super) struct EndLine<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) lacks: &'a [Span],
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MemoLine {
    pub(super) key: String,
    pub(super) value: String,
}

/// Returns the temporary name of an export while it is written.
pub(super) fn unfinished(name: &str) -> String {
    format!(".{name}.tmp")
}

/// Takes a consistent copy of everything except the events, on the writer's thread between two groups.
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
    let mut memos = query::memos(trees, "")?;
    memos.retain(|(key, _)| key != notes::ASIDE);
    Ok(Captured { last, heads, posts: query::all_owed(trees)?, snapshots, memos, log: None })
}

/// Exports the whole journal, archives included, to a file that is complete or absent. A name ending in `.gz` is compressed.
///
/// # Errors
/// The file cannot be written, or the journal cannot be read.
pub async fn export(journal: &Journal, file: &Path, at: Timestamp) -> Result<Exported, ExportError> {
    let _alone = journal.maintaining().lock().await;
    unlocked(journal, file, at).await
}

/// Exports the whole journal to `out`, called `name` in errors, without temporary files. A truncated output lacks its
/// last line, which an import notices.
///
/// # Errors
/// The output cannot be written, or the journal cannot be read.
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

/// Exports like [`export`], for a caller that holds the lock against concurrent maintenance.
pub(super) async fn unlocked(journal: &Journal, file: &Path, at: Timestamp) -> Result<Exported, ExportError> {
    let file = file.to_owned();
    written(journal, at, move |reader, header, captured| write_file(reader, header, captured, &file)).await
}

/// Captures the present state and passes it to be written on a blocking thread.
async fn written(
    journal: &Journal,
    at: Timestamp,
    write: impl FnOnce(&Reader, Header, &Captured) -> Result<Exported, ExportError> + Send + 'static,
) -> Result<Exported, ExportError> {
    let captured = journal.ask(Job::Capture).await?.map_err(|error| journal.advised(error))?;
    let reader = journal.reader().clone();
    let header = Header {
        journal: journal.id().to_owned(),
        format: super::layout::FORMAT,
        version: journal.settings().version.clone(),
        at,
        hot: 0,
        last: captured.last,
        log: captured.log,
    };
    blocking(move || write(&reader, header, &captured)).await.map_err(|error| match error {
        ExportError::Read(error) => ExportError::Read(journal.advised(error)),
        error => error,
    })
}

fn write_file(
    reader: &Reader,
    header: Header,
    captured: &Captured,
    file: &Path,
) -> Result<Exported, ExportError> {
    write_whole(file, |out| write_lines(reader, header, captured, file, out))
}

/// Writes a file under a temporary name and reads it back, so that it is complete or absent.
pub(super) fn write_whole(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<Exported, ExportError>,
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
            let exported = write(&mut gz)?;
            (gz.finish().map_err(io)?, exported)
        } else {
            let mut plain = open;
            let exported = write(&mut plain)?;
            (plain, exported)
        };
        let open = buffered.into_inner().map_err(|error| io(error.into_error()))?;
        open.sync_all().map_err(io)?;
        import::check(&tmp)
            .map_err(|error| ExportError::ReadBack { file: file.to_owned(), why: error.to_string() })?;
        fs::rename(&tmp, file).and_then(|()| disk::sync_dir(dir)).map_err(io)?;
        Ok(exported)
    })();
    if result.is_err() {
        // It may not exist; a partial file is of no use.
        let _ = fs::remove_file(&tmp);
    }
    result
}

/// Creates a file that only herder's user may read (mode 0600): it contains prompts and agents' output.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writer of an export's lines, which counts them.
pub(super) struct Lines<'a> {
    out: &'a mut dyn Write,
    file: &'a Path,
    count: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(out: &'a mut dyn Write, file: &'a Path) -> Self {
        Self { out, file, count: 0 }
    }

    /// Returns the number of lines written so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Writes a pending post, also one that this herder cannot read.
    pub(super) fn owed(&mut self, owed: &Owed) -> Result<(), ExportError> {
        match owed.post().map(|post| encoding::encode_post(&post)) {
            Some(Ok(text)) => self.line("post", owed.id.0, &String::from_utf8_lossy(&text)),
            Some(Err(_)) | None => {
                let text = String::from_utf8_lossy(&owed.text).into_owned();
                let kept = KeptPost { network: owed.network.clone(), lines: owed.lines, text };
                self.json("kept-post", owed.id.0, &kept)
            }
        }
    }

    pub(super) fn line(&mut self, kind: &str, number: u64, text: &str) -> Result<(), ExportError> {
        self.count += 1;
        self.out
            .write_all(lines::write(kind, number, text).as_bytes())
            .map_err(|source| ExportError::Io { file: self.file.to_owned(), source })
    }

    pub(super) fn json<T: Serialize>(
        &mut self,
        kind: &str,
        number: u64,
        value: &T,
    ) -> Result<(), ExportError> {
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
    let mut lines = Lines::new(out, file);
    lines.json("herder", VERSION, &header)?;
    let (mut events, mut gaps) = (0, Gaps::default());
    let mut failed = None;
    let mut put = |seq, text: &str| match lines.line("event", seq, text) {
        Ok(()) => {
            gaps.at(seq);
            events += 1;
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    };
    let mut damaged = None;
    archive::each_text(reader.archives(), header.hot - 1, &mut put, &mut |reason| {
        // One log message is enough for all lines of a file.
        damaged.get_or_insert_with(|| tracing::error!(%reason, "an export lacks what cannot be read"));
        ControlFlow::Continue(())
    })?;
    reader.each_text(header.hot, upto, &mut put)?;
    if let Some(error) = failed {
        return Err(error);
    }
    gaps.end(upto);
    let skipped: Vec<Span> = notes::read(reader.trees(), notes::SKIPPED).map_err(ReadError::from)?;
    let lacks = notes::without(gaps.found, &skipped);
    for (stream, head) in &captured.heads {
        lines.json("head", head.rev, &HeadLine { stream: stream.clone(), seq: head.seq })?;
    }
    for Snapshot { stream, rev, state } in &captured.snapshots {
        // A state that is not JSON is skipped; its stream is replayed without it.
        let Ok(state) = serde_json::from_slice::<&RawValue>(state) else { continue };
        if !state.get().contains('\n') {
            lines.json("snapshot", *rev, &SnapshotLineRef { stream, state })?;
        }
    }
    captured.posts.iter().try_for_each(|owed| lines.owed(owed))?;
    for (key, value) in &captured.memos {
        lines.json("memo", 0, &MemoLine { key: key.clone(), value: value.clone() })?;
    }
    let before = lines.count;
    lines.json("end", before, &EndLine { lacks: &lacks })?;
    Ok(Exported { file: file.to_owned(), events, posts: captured.posts.len() as u64, lacks })
}
