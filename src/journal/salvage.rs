//! Export of a database that sled refuses, or that is on a read-only disk: everything readable in its pages, and the
//! archives. Events on damaged pages are taken from their second copies: among the newest in `recent`, and in the
//! newest daily export.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::value::RawValue;

use crate::core::id::{NetworkName, PostId};
use crate::core::time::Timestamp;

use super::export::{self, EndLine, HeadLine, Header, Lines, MemoLine, SnapshotLineRef};
use super::layout::{FORMAT, Head, LINES, Last, Tree, VALUE_MAX, number};
use super::notes::{self, Gaps};
use super::pages::{self, Found, Rows};
use super::query::Owed;
use super::replay::SnapshotHeader;
use super::store::{self, Identity, Paths};
use super::{ExportError, Exported, Settings, Span, Stream, archive, daily, encoding, import, recent};

/// The result of a salvage: reading what can be read of a damaged database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvaged {
    /// The export that was written.
    pub exported: Exported,
    /// Number of unreadable places in the database.
    pub damaged: u64,
}

/// Exports everything readable in a folder, without sled and without changing anything there. Blocks.
///
/// # Errors
/// Another herder holds the folder, its files cannot be read, or the export cannot be written.
pub fn salvage(settings: &Settings, file: Option<&Path>, at: Timestamp) -> Result<Salvaged, ExportError> {
    let paths = Paths::new(&settings.dir);
    let _lock = store::lock_to_read(&paths)?;
    let unread = |source| ExportError::Io { file: paths.log(), source };
    let _closed = store::wait_until_closed(&paths).map_err(unread)?;
    let found = pages::read(&paths.log()).map_err(unread)?;
    let damaged = found.damaged;
    let mut rows = Salvage::new(found, settings, at);
    rows.look_elsewhere(&paths)?;
    let exported = match file {
        Some(file) => export::write_whole(file, |out| rows.write(&paths, file, out))?,
        None => {
            let name = Path::new("to standard output");
            let mut out = std::io::BufWriter::new(std::io::stdout());
            let exported = rows.write(&paths, name, &mut out)?;
            out.flush().map_err(|source| ExportError::Io { file: name.to_owned(), source })?;
            exported
        }
    };
    Ok(Salvaged { exported, damaged })
}

/// The data recovered from the database and from its second copies.
struct Salvage {
    header: Header,
    events: BTreeMap<u64, String>,
    heads: HashMap<Stream, Head>,
    snapshots: Vec<(Stream, SnapshotHeader, Vec<u8>)>,
    posts: Vec<Owed>,
    memos: Vec<(String, String)>,
}

impl Salvage {
    fn new(mut found: Found, settings: &Settings, at: Timestamp) -> Self {
        let meta = found.take(Tree::Meta);
        let identity: Option<Identity> =
            meta.get(super::layout::META_JOURNAL).and_then(|text| encoding::versioned(text).ok());
        let last: Option<Last> =
            meta.get(super::layout::META_LAST).and_then(|text| encoding::versioned(text).ok());
        let heads = found.take(Tree::Heads).into_iter().filter_map(|(key, value)| {
            Some((std::str::from_utf8(&key).ok()?.parse().ok()?, Head::decode(&value)?))
        });
        let memos = found.take(Tree::Memos).into_iter().filter_map(|(key, value)| {
            let (key, value) = (String::from_utf8(key).ok()?, String::from_utf8(value).ok()?);
            Some((key, value)).filter(|(key, _)| key != notes::ASIDE)
        });
        Self {
            header: Header {
                journal: identity.map(|identity| identity.id).unwrap_or_default(),
                format: FORMAT,
                version: settings.version.clone(),
                at,
                hot: 0,
                last: last.unwrap_or_default(),
                log: None,
            },
            heads: heads.collect(),
            memos: memos.collect(),
            events: events(found.take(Tree::Events)),
            snapshots: snapshots(&found.take(Tree::Snapshots)),
            posts: posts(found.take(Tree::Outbox)),
        }
    }

    /// Adds events that the database lost, from the file of recent events and the newest daily export.
    fn look_elsewhere(&mut self, paths: &Paths) -> Result<(), ExportError> {
        let archives = archive::list(&paths.archives())?;
        let newest = daily::newest(&paths.exports());
        if self.header.journal.is_empty() {
            let archived = || archives.iter().rev().find_map(|it| archive::Origin::of(&it.path));
            let exported = || newest.as_deref().and_then(|file| import::header(file).ok());
            let known = archived().map(|origin| origin.journal).or_else(|| Some(exported()?.journal));
            self.header.journal = known.unwrap_or_else(|| "salvaged".to_owned());
        }
        let recent = recent::read(paths, &self.header.journal)
            .map_err(|source| ExportError::Io { file: paths.recent(), source })?;
        for (seq, text) in recent {
            self.events.entry(seq).or_insert(text);
        }
        let Some(newest) = newest else { return Ok(()) };
        let ours = import::header(&newest).is_ok_and(|header| header.journal == self.header.journal);
        let archived = |seq| archives.iter().any(|archive| archive.first <= seq && seq <= archive.last);
        let events = &mut self.events;
        let read = import::each_line(&newest, |line| {
            if ours && line.kind == "event" && !archived(line.number) {
                events.entry(line.number).or_insert_with(|| line.text.to_owned());
            }
            Ok(())
        });
        if let Err(error) = read {
            tracing::warn!(%error, "the newest daily export cannot be read to its end");
        }
        Ok(())
    }

    fn write(mut self, paths: &Paths, file: &Path, out: &mut dyn Write) -> Result<Exported, ExportError> {
        let archived =
            archive::list(&paths.archives())?.iter().map(|archive| archive.last).max().unwrap_or(0);
        self.header.hot = self.events.range(archived + 1..).next().map_or(archived + 1, |(seq, _)| *seq);
        let end = self.events.last_key_value().map_or(0, |(seq, _)| *seq).max(archived);
        let end = self.heads.values().map(|head| head.seq).fold(end, u64::max);
        self.header.last.seq = self.header.last.seq.max(end);
        let posts = self.posts.iter().map(|owed| owed.id.0).max().unwrap_or(0);
        self.header.last.post = self.header.last.post.max(posts);
        let work =
            self.events.iter().filter_map(|(seq, text)| encoding::decode_event(*seq, text.as_bytes()).ok());
        self.header.last.work =
            work.map(|it| encoding::work_id(&it.entry)).fold(self.header.last.work, u64::max);

        let mut lines = Lines::new(out, file);
        lines.json("herder", export::VERSION, &self.header)?;
        let (mut count, mut gaps, mut failed) = (0, Gaps::default(), None);
        let heads = &mut self.heads;
        let mut put = |seq: u64, text: &str| {
            if let Ok(head) = encoding::event_head(text.as_bytes()) {
                let known = heads.entry(head.stream).or_default();
                if head.rev > known.rev {
                    (known.rev, known.seq) = (head.rev, seq);
                }
            }
            gaps.at(seq);
            count += 1;
            match lines.line("event", seq, text) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        // The database may have events that the archives lack.
        let next = Cell::new(0);
        let events = &self.events;
        let mut flow = ControlFlow::Continue(());
        archive::each_text(
            &paths.archives(),
            u64::MAX,
            &mut |seq, text| {
                for (seq, text) in events.range(next.get()..seq) {
                    put(*seq, text)?;
                }
                next.set(seq + 1);
                flow = put(seq, text);
                flow
            },
            &mut |_| ControlFlow::Continue(()),
        )?;
        if flow.is_continue() {
            let _ = events.range(next.get()..).try_for_each(|(seq, text)| put(*seq, text));
        }
        if let Some(error) = failed {
            return Err(error);
        }
        gaps.end(self.header.last.seq);
        for (stream, head) in &self.heads {
            lines.json("head", head.rev, &HeadLine { stream: stream.clone(), seq: head.seq })?;
        }
        for (stream, header, state) in &self.snapshots {
            let Ok(state) = serde_json::from_slice::<&RawValue>(state) else { continue };
            lines.json("snapshot", header.rev, &SnapshotLineRef { stream, state })?;
        }
        self.posts.iter().try_for_each(|owed| lines.owed(owed))?;
        let mut skipped: Vec<Span> = Vec::new();
        for (key, value) in &self.memos {
            if key == notes::SKIPPED {
                skipped = serde_json::from_str(value).unwrap_or_default();
            }
            lines.json("memo", 0, &MemoLine { key: key.clone(), value: value.clone() })?;
        }
        let lacks = notes::without(gaps.found, &skipped);
        let before = lines.count();
        lines.json("end", before, &EndLine { lacks: &lacks })?;
        Ok(Exported { file: file.to_owned(), events: count, posts: self.posts.len() as u64, lacks })
    }
}

/// Joins the chunks of events; an event with lost chunks is left out.
fn events(rows: Rows) -> BTreeMap<u64, String> {
    let mut joined: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    for (key, value) in rows {
        if let Some(seq) = number(&key) {
            joined.entry(seq).or_default().extend_from_slice(&value);
        }
    }
    let whole = |text: &String| {
        text.len() <= VALUE_MAX && !text.contains('\n') && encoding::event_head(text.as_bytes()).is_ok()
    };
    let texts = joined.into_iter().filter_map(|(seq, text)| Some((seq, String::from_utf8(text).ok()?)));
    texts.filter(|(_, text)| whole(text)).collect()
}

fn snapshots(rows: &Rows) -> Vec<(Stream, SnapshotHeader, Vec<u8>)> {
    let mut snapshots = Vec::new();
    for (key, value) in rows {
        let Some(name) = key.strip_suffix(&[0, 0, 0]) else { continue };
        let stream = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
        let header: Option<SnapshotHeader> = encoding::versioned(value).ok();
        let Some((stream, header)) = stream.zip(header) else { continue };
        let chunk = |n: u16| rows.get(&super::layout::snapshot_key(&format!("{stream}"), n));
        let state: Option<Vec<&Vec<u8>>> = (1..=header.chunks).map(chunk).collect();
        let state: Vec<u8> = state.into_iter().flatten().flatten().copied().collect();
        if crc32fast::hash(&state) == header.crc {
            snapshots.push((stream, header, state));
        }
    }
    snapshots
}

fn posts(rows: Rows) -> Vec<Owed> {
    let mut posts: BTreeMap<(Vec<u8>, u64), Owed> = BTreeMap::new();
    for (key, value) in rows {
        let Some(end) = key.iter().position(|byte| *byte == 0) else { continue };
        let Some(id) = number(&key[end + 1..]) else { continue };
        let owed = posts.entry((key[..end].to_vec(), id)).or_insert_with(|| Owed {
            network: NetworkName::from(&*String::from_utf8_lossy(&key[..end])),
            id: PostId(id),
            lines: 0,
            text: Vec::new(),
        });
        if key[end + 9..] == LINES.to_be_bytes() {
            owed.lines = value.as_slice().try_into().map(u32::from_be_bytes).unwrap_or(0);
        } else {
            owed.text.extend_from_slice(&value);
        }
    }
    let whole = |owed: &Owed| serde_json::from_slice::<serde::de::IgnoredAny>(&owed.text).is_ok();
    posts.into_values().filter(whole).collect()
}
