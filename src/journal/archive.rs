//! Archives: events removed from the database, as gzipped JSON lines, `archive/<first seq>-<last seq>.jsonl.gz`.
//!
//! A file is complete or absent: it is written under a temporary name, synced, read back, renamed. Only then are its
//! events removed from the database, so that for a while both may contain them; readers prefer the database. The gzip
//! header contains the file's [`Origin`], which readers of lines skip.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use flate2::read::{GzDecoder, MultiGzDecoder};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use serde::{Deserialize, Serialize};

use super::encoding::{self, EventHead};
use super::layout::VALUE_MAX;
use super::look_back::Reached;
use super::look_back_from::Back;
use super::notes::Span;
use super::{ReadError, Recorded, Stream, disk, lines, query};

const SUFFIX: &str = ".jsonl.gz";

/// Maximum length of a line of an archive, in bytes: far above any event, so that a damaged file cannot exhaust memory.
pub(super) const LINE_MAX: u64 = 2 * VALUE_MAX as u64;

/// Maximum size of the entries of one archive that are held in memory while it is read backwards, in bytes.
const TAIL_MAX: usize = 8 * 1024 * 1024;

/// An archive file, with the numbers of its first and last event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Archive {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) path: PathBuf,
}

/// Returns the archives in a folder, oldest first; empty if there is no folder.
pub(super) fn list(dir: &Path) -> Result<Vec<Archive>, ReadError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(dir, &error)),
    };
    let mut archives = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unreadable(dir, &error))?.path();
        let range = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(SUFFIX))
            .and_then(|range| range.split_once('-'))
            .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        if let Some((first, last)) = range {
            archives.push(Archive { first, last, path });
        }
    }
    archives.sort();
    Ok(archives)
}

fn unreadable(file: &Path, why: &dyn std::fmt::Display) -> ReadError {
    ReadError::Archive { file: file.to_owned(), why: why.to_string() }
}

/// The origin of an archive's events. Archives of earlier versions lack it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// Id of the journal.
    pub(super) journal: String,
    /// Version of the herder that wrote the archive.
    pub(super) version: String,
}

impl Origin {
    /// Reads the origin in an archive's header; `None` if it is missing or cannot be read.
    pub(super) fn of(file: &Path) -> Option<Self> {
        // Only a regular file: a pipe, for example, could block the start.
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let gz = GzDecoder::new(BufReader::new(File::open(file).ok()?));
        serde_json::from_slice(gz.header()?.comment()?).ok()
    }

    fn builder(&self) -> GzBuilder {
        let text = serde_json::to_string(self).unwrap_or_default();
        // A gzip comment is Latin-1 and ends at a NUL, which JSON does not contain.
        let fits = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if fits { GzBuilder::new().comment(text) } else { GzBuilder::new() }
    }
}

/// A new archive while it is written.
pub(super) struct Writing {
    dir: PathBuf,
    tmp: PathBuf,
    gz: GzEncoder<File>,
    first: u64,
    last: u64,
}

impl Writing {
    pub(super) fn new(dir: &Path, first: u64, origin: &Origin) -> io::Result<Self> {
        if !dir.exists() {
            disk::private_dir(dir)?;
            if let Some(parent) = dir.parent() {
                disk::sync_dir(parent)?;
            }
        }
        let tmp = dir.join("writing.tmp");
        let gz = origin.builder().write(File::create(&tmp)?, Compression::default());
        Ok(Self { dir: dir.to_owned(), tmp, gz, first, last: first.saturating_sub(1) })
    }

    /// Adds an event with its number and stored text.
    pub(super) fn add(&mut self, seq: u64, text: &str) -> io::Result<()> {
        self.last = seq;
        self.gz.write_all(lines::write("event", seq, text).as_bytes())
    }

    /// Completes the archive: syncs the file, reads it back and gives it its final name.
    pub(super) fn finish(self) -> Result<Archive, ReadError> {
        let Self { dir, tmp, gz, first, last } = self;
        let io = |error: io::Error| unreadable(&tmp, &error);
        gz.finish().and_then(|file| file.sync_all()).map_err(io)?;
        let mut next = first;
        each_line(&tmp, |seq, _| {
            if seq < next || seq > last {
                return Err(format!("event {seq} where {next} was due"));
            }
            next = seq + 1;
            Ok(ControlFlow::Continue(()))
        })?;
        if next != last + 1 {
            return Err(unreadable(&tmp, &format!("it ends before event {last}")));
        }
        let path = dir.join(format!("{first:012}-{last:012}{SUFFIX}"));
        fs::rename(&tmp, &path)
            .and_then(|()| disk::sync_dir(&dir))
            .map_err(|error| unreadable(&path, &error))?;
        Ok(Archive { first, last, path })
    }
}

/// A line of an archive as the event's number and text, or the reason why it cannot be read.
type Scanned<'a> = Result<(u64, &'a str), ReadError>;

/// The lines of one archive, from its beginning. If the file cannot be unpacked any further, they end there.
pub(super) struct Lines {
    file: PathBuf,
    reader: BufReader<MultiGzDecoder<BufReader<File>>>,
    bytes: Vec<u8>,
    n: u64,
    is_over: bool,
}

impl Lines {
    pub(super) fn open(file: &Path) -> Result<Self, ReadError> {
        let open = File::open(file).map_err(|error| unreadable(file, &error))?;
        let reader = BufReader::new(MultiGzDecoder::new(BufReader::new(open)));
        Ok(Self { file: file.to_owned(), reader, bytes: Vec::new(), n: 0, is_over: false })
    }

    /// Returns the next line; `None` if there are no more.
    pub(super) fn next(&mut self) -> Option<Scanned<'_>> {
        if self.is_over {
            return None;
        }
        self.bytes.clear();
        self.n += 1;
        let at = |why: &dyn std::fmt::Display| unreadable(&self.file, &format!("line {}: {why}", self.n));
        match io::Read::take(&mut self.reader, LINE_MAX).read_until(b'\n', &mut self.bytes) {
            Ok(0) => {
                self.is_over = true;
                return None;
            }
            Ok(_) => {}
            Err(error) => {
                self.is_over = true;
                return Some(Err(at(&error)));
            }
        }
        let text = std::str::from_utf8(&self.bytes).map_err(|_| "it is no text".to_owned());
        let line = text.and_then(|text| lines::parse(text.trim_end_matches('\n')));
        Some(line.map(|line| (line.number, line.text)).map_err(|why| at(&why)))
    }
}

/// Passes every line of an archive to `take`, until that stops.
fn scan(file: &Path, take: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut lines = match Lines::open(file) {
        Ok(lines) => lines,
        Err(error) => return take(Err(error)),
    };
    while let Some(line) = lines.next() {
        take(line)?;
    }
    ControlFlow::Continue(())
}

/// Passes the number and the stored text of every event of an archive to `take`.
pub(super) fn each_line(
    file: &Path,
    mut take: impl FnMut(u64, &str) -> Result<ControlFlow<()>, String>,
) -> Result<(), ReadError> {
    let mut failed = None;
    let mut n = 0_u64;
    let _ = scan(file, &mut |line| {
        n += 1;
        let taken = line.and_then(|(seq, text)| {
            take(seq, text).map_err(|why| unreadable(file, &format!("line {n}: {why}")))
        });
        taken.unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        })
    });
    failed.map_or(Ok(()), Err)
}

/// Passes every archived event up to and including `upto` to `take`, oldest first, each once. Unreadable parts are
/// passed to `lost`, which decides whether to stop.
pub(super) fn each_text(
    dir: &Path,
    upto: u64,
    take: &mut dyn FnMut(u64, &str) -> ControlFlow<()>,
    lost: &mut dyn FnMut(ReadError) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut next = 0;
    for archive in list(dir)? {
        let flow = scan(&archive.path, &mut |line| match line {
            Ok((seq, _)) if seq < next => ControlFlow::Continue(()),
            Ok((seq, _)) if seq > upto => ControlFlow::Break(()),
            Ok((seq, text)) => {
                next = seq + 1;
                take(seq, text)
            }
            Err(error) => lost(error),
        });
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the ranges of events before the number `hot` that no archive covers by its name.
pub(super) fn gaps(dir: &Path, hot: u64) -> Result<Vec<Span>, ReadError> {
    let (mut gaps, mut next) = (Vec::new(), 1);
    for archive in list(dir)? {
        if archive.first > next && next < hot {
            gaps.push(Span { first: next, last: (archive.first - 1).min(hot - 1) });
        }
        next = next.max(archive.last.saturating_add(1));
    }
    if next < hot {
        gaps.push(Span { first: next, last: hot - 1 });
    }
    Ok(gaps)
}

/// Returns the head of an archived event if the event belongs to `stream`. An event with an unreadable head belongs to
/// none; readers notice the missing revision.
fn head_of(stream: &Stream, text: &str) -> Option<EventHead> {
    encoding::event_head(text.as_bytes()).ok().filter(|head| head.stream == *stream)
}

/// Passes the archived entries of a stream with revisions in `revs` to `take`, oldest first, each once; or the error
/// of an unreadable event, of any stream.
pub(super) fn each(
    dir: &Path,
    stream: &Stream,
    revs: Range<u64>,
    take: &mut dyn FnMut(u64, Result<Recorded, ReadError>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let failed = RefCell::new(None);
    let go_on = |taken: Result<(), ReadError>| match taken {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *failed.borrow_mut() = Some(error);
            ControlFlow::Break(())
        }
    };
    let take = RefCell::new(take);
    each_text(
        dir,
        u64::MAX,
        &mut |seq, text| {
            if head_of(stream, text).is_none_or(|head| !revs.contains(&head.rev)) {
                return ControlFlow::Continue(());
            }
            go_on((take.borrow_mut())(seq, query::decode_event(seq, text.as_bytes())))
        },
        &mut |error| go_on((take.borrow_mut())(0, Err(error))),
    )?;
    failed.into_inner().map_or(Ok(()), Err)
}

/// Returns the last `limit` archived entries of a stream before revision `before`, oldest first. Unreadable ones are left out.
pub(super) fn last_of(
    dir: &Path,
    stream: &Stream,
    limit: usize,
    before: u64,
) -> Result<Vec<Recorded>, ReadError> {
    let mut found = Vec::new();
    back(dir, stream, before, usize::MAX, &mut |recorded| {
        found.extend(recorded);
        if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    found.reverse();
    Ok(found)
}

/// Passes the archived entries of a stream before revision `before` to `take`, newest first, until it has enough or
/// `files` have been read; `None` for an unreadable one. A damaged file is read as far as possible; gaps show in the
/// revisions.
pub(super) fn back(
    dir: &Path,
    stream: &Stream,
    before: u64,
    files: usize,
    take: &mut dyn FnMut(Option<Recorded>) -> ControlFlow<()>,
) -> Result<Reached, ReadError> {
    let mut end = before;
    let archives = list(dir)?;
    let older = archives.len() > files;
    let mut lost = false;
    for archive in archives.into_iter().rev().take(files) {
        loop {
            let Tail { entries, whole, damaged } = tail(&archive.path, stream, end)?;
            lost |= damaged;
            for (rev, recorded) in entries.into_iter().rev() {
                for _ in rev + 1..end {
                    lost = false;
                    if take(None).is_break() {
                        return Ok(Reached::Enough);
                    }
                }
                end = rev;
                let enough = take(recorded).is_break();
                if end <= 1 {
                    return Ok(Reached::Beginning);
                }
                if enough {
                    return Ok(Reached::Enough);
                }
            }
            if whole {
                break;
            }
        }
    }
    if lost && take(None).is_break() {
        return Ok(Reached::Enough);
    }
    Ok(if older || lost { Reached::Revision(end) } else { Reached::Beginning })
}

/// Passes archived entries before a place to a query, newest first, out of at most `files` archives. Returns the place
/// before which there may be more.
pub(super) fn back_from(dir: &Path, mut files: usize, back: &mut Back<'_>) -> Result<Option<u64>, ReadError> {
    for archive in list(dir)?.into_iter().rev() {
        while archive.first < back.before {
            if files == 0 {
                return Ok(Some(back.before));
            }
            files -= 1;
            let (entries, oldest) = tail_before(&archive, back);
            for (seq, text) in entries.into_iter().rev() {
                let recorded = query::readable(query::decode_event(seq, text.as_bytes()))?;
                if back.at(seq, recorded).is_break() {
                    return Ok(Some(seq));
                }
            }
            back.before = back.before.min(oldest);
        }
    }
    Ok(None)
}

/// Returns the entries that a query wants out of one archive, with their numbers, as many of the last as may be held in
/// memory; and the number of the oldest entry that was looked at.
fn tail_before(archive: &Archive, back: &mut Back<'_>) -> (VecDeque<(u64, String)>, u64) {
    let (mut entries, mut oldest, mut size) = (VecDeque::new(), archive.first, 0);
    let _ = scan(&archive.path, &mut |line| {
        let (seq, text) = match line {
            Ok(line) => line,
            Err(reason) => {
                tracing::warn!(%reason, "what is left of an archive is read");
                back.unreadable += 1;
                return ControlFlow::Continue(());
            }
        };
        if seq >= back.before {
            return ControlFlow::Break(());
        }
        if back.stream.is_some_and(|stream| head_of(stream, text).is_none()) {
            return ControlFlow::Continue(());
        }
        size += text.len();
        entries.push_back((seq, text.to_owned()));
        while (size > TAIL_MAX || entries.len() > back.entries)
            && entries.len() > 1
            && let Some((_, text)) = entries.pop_front()
        {
            size -= text.len();
            oldest = entries.front().map_or(oldest, |(seq, _)| *seq);
        }
        ControlFlow::Continue(())
    });
    (entries, oldest)
}

/// The last entries of a stream in one archive.
struct Tail {
    /// The entries with their revisions, newest last; `None` for an unreadable one.
    entries: VecDeque<(u64, Option<Recorded>)>,
    /// True if the archive has no earlier entries of the stream.
    whole: bool,
    /// True if the archive cannot be read to its end.
    damaged: bool,
}

/// Returns the entries of a stream in an archive before the revision `before`, as many of the last as may be held in
/// memory.
fn tail(file: &Path, stream: &Stream, before: u64) -> Result<Tail, ReadError> {
    let (mut entries, mut whole, mut size) = (VecDeque::new(), true, 0);
    let read = each_line(file, |seq, text| {
        let Some(head) = head_of(stream, text) else { return Ok(ControlFlow::Continue(())) };
        if head.rev >= before {
            return Ok(ControlFlow::Break(()));
        }
        let recorded = query::readable(query::decode_event(seq, text.as_bytes()));
        let recorded = recorded.map_err(|error| error.to_string())?;
        size += text.len();
        entries.push_back(((head.rev, recorded), text.len()));
        while size > TAIL_MAX
            && entries.len() > 1
            && let Some((_, length)) = entries.pop_front()
        {
            size -= length;
            whole = false;
        }
        Ok(ControlFlow::Continue(()))
    });
    if let Err(reason) = &read {
        tracing::warn!(%reason, "what is left of an archive is read");
    }
    let entries = entries.into_iter().map(|(entry, _)| entry).collect();
    Ok(Tail { entries, whole, damaged: read.is_err() })
}
