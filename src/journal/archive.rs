//! Archives: events that left the database, as gzip JSON lines, `archive/<first seq>-<last seq>.jsonl.gz`.
//!
//! A file is complete or not there: it is written under another name, synced, read back, renamed. Only then are its
//! events taken out of the database, so that for a while both may have them; readers let the database win. Its gzip header
//! carries whose it is ([`Origin`]), which those that read lines pass over.

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
use super::notes::Span;
use super::{ReadError, Recorded, Stream, disk, lines, query};

const SUFFIX: &str = ".jsonl.gz";

/// The longest line that is read: far above any event, so that a damaged file cannot take all memory.
pub(super) const LINE_MAX: u64 = 2 * VALUE_MAX as u64;

/// How much of one file is held while it is gone through backwards.
const TAIL_MAX: usize = 8 * 1024 * 1024;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Archive {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) path: PathBuf,
}

/// The archives of a folder, oldest first. No folder: none.
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

/// Whose events a file has. Files of earlier versions do not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The journal's id.
    pub(super) journal: String,
    /// The version of the herder that wrote it.
    pub(super) version: String,
}

impl Origin {
    /// Reads the header of a file; none: it does not say, or cannot be read.
    pub(super) fn of(file: &Path) -> Option<Self> {
        // Anything but a file of its own, such as a pipe, could keep a start waiting.
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let gz = GzDecoder::new(BufReader::new(File::open(file).ok()?));
        serde_json::from_slice(gz.header()?.comment()?).ok()
    }

    fn builder(&self) -> GzBuilder {
        let text = serde_json::to_string(self).unwrap_or_default();
        // A gzip comment ends at a NUL, which JSON has none of, and is Latin-1.
        let fits = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if fits { GzBuilder::new().comment(text) } else { GzBuilder::new() }
    }
}

/// A new file while it is written.
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

    /// Adds an event by its stored text.
    pub(super) fn add(&mut self, seq: u64, text: &str) -> io::Result<()> {
        self.last = seq;
        self.gz.write_all(lines::write("event", seq, text).as_bytes())
    }

    /// Puts it on the disk, reads it back and gives it its name.
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

/// A line by its number and text, or why it cannot be read.
type Scanned<'a> = Result<(u64, &'a str), ReadError>;

/// Gives every line of a file. A file that cannot be unpacked any further ends
/// there.
fn scan(file: &Path, take: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let open = match File::open(file) {
        Ok(open) => open,
        Err(error) => return take(Err(unreadable(file, &error))),
    };
    let mut reader = BufReader::new(MultiGzDecoder::new(BufReader::new(open)));
    let mut bytes = Vec::new();
    for n in 1_u64.. {
        bytes.clear();
        let at = |why: &dyn std::fmt::Display| unreadable(file, &format!("line {n}: {why}"));
        match io::Read::take(&mut reader, LINE_MAX).read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return take(Err(at(&error))),
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| "it is no text".to_owned());
        let line = text.and_then(|text| lines::parse(text.trim_end_matches('\n')));
        take(line.map(|line| (line.number, line.text)).map_err(|why| at(&why)))?;
    }
    ControlFlow::Continue(())
}

/// Gives the seq and the stored text of every event in a file.
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

/// Gives every archived event up to and with seq `upto`, oldest first, each once. What cannot be read is given to `lost`, which
/// says whether that ends it.
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

/// The events before `hot` that no archive has by its name, as ranges.
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

/// The head of an archived event, if it is one of `stream`. What has lost even its head is nobody's: whoever counts revisions
/// misses it.
fn head_of(stream: &Stream, text: &str) -> Option<EventHead> {
    encoding::event_head(text.as_bytes()).ok().filter(|head| head.stream == *stream)
}

/// Gives the archived entries of a stream whose revisions are among `revs`, oldest first, each once; or why one of the events
/// cannot be read, whosever it is.
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

/// The last `limit` archived entries of a stream before revision `before`, oldest first. Those that cannot be read are left
/// out.
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

/// Gives the archived entries of a stream before revision `before`, newest first, until `take` has enough or `files` have
/// been read; `None`: one that cannot be read. Of a file that is damaged what can be read is given; what is missing is known by
/// the revisions.
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

/// The last entries of a stream in one file.
struct Tail {
    /// By their revisions; `None`: one that cannot be read.
    entries: VecDeque<(u64, Option<Recorded>)>,
    /// The file has no earlier ones.
    whole: bool,
    /// The file cannot be read to its end.
    damaged: bool,
}

/// Those before revision `before`, as many as are held in memory.
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
