//! Recovery of rows from a database that sled refuses, read from its log without sled.
//!
//! sled 0.34 stores pages in segments of 512 KiB: a header with the number of its first byte (lsn), then messages,
//! each with a checksum of its own: a whole page, or a change of one. A damaged message costs only itself: the others
//! are read, older versions of a page replace a lost newer one, and of every row the newest version counts. A row's
//! tree is recognised by its key and value (see `layout`).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::layout::{Tree, number};

const SEGMENT: usize = 512 << 10;
const SEGMENT_HEADER: usize = 20;

/// Numbers by which sled marks the kinds of messages in its file.
const CAP: u8 = 2;
const FREE: u8 = 4;
const NODE: u8 = 8;
const LINK: u8 = 10;
const KIND_MAX: u8 = 11;

type Key = Vec<u8>;

type Row = (Key, Vec<u8>);

/// The newest version of each row of a tree, with the position in sled's log at which it was written; `None` if the row
/// was removed.
type Newest = BTreeMap<Key, (u64, Option<Vec<u8>>)>;

/// The rows of one tree, recovered from sled's file.
pub(super) type Rows = BTreeMap<Key, Vec<u8>>;

/// The rows recovered from sled's file.
#[derive(Debug, Default)]
pub(super) struct Found {
    rows: HashMap<usize, Newest>,
    /// Number of stretches of the file that contain no readable message.
    pub(super) damaged: u64,
}

impl Found {
    /// Takes the recovered rows of a tree.
    pub(super) fn take(&mut self, tree: Tree) -> Rows {
        let rows = self.rows.remove(&(tree as usize)).unwrap_or_default();
        rows.into_iter().filter_map(|(key, (_, value))| Some((key, value?))).collect()
    }

    fn put(&mut self, tree: Tree, key: Key, lsn: u64, value: Option<Vec<u8>>) {
        // Events are never changed, and those removed from the database are in an archive, if that still exists.
        if value.is_none() && tree == Tree::Events {
            return;
        }
        let row = self.rows.entry(tree as usize).or_default().entry(key).or_insert((0, None));
        if lsn >= row.0 {
            *row = (lsn, value);
        }
    }
}

/// A page of sled's tree, as far as its messages were read.
struct Page {
    lo: Key,
    prefix: Key,
    rows: HashSet<(usize, Key)>,
}

/// Reads sled's whole file, in the order in which it was written, without sled.
pub(super) fn read(log: &Path) -> io::Result<Found> {
    let file = File::open(log)?;
    let mut found = Found::default();
    let mut segments = Vec::new();
    let mut buf = vec![0; SEGMENT];
    for n in 0..file.metadata()?.len().div_ceil(SEGMENT as u64) {
        let length = read_segment(&file, n, &mut buf)?;
        if let Some(lsn) = first_lsn(&buf[..length]) {
            segments.push((lsn, n));
        }
    }
    segments.sort_unstable();
    let newest = segments.last().map(|(lsn, _)| *lsn);
    let mut pages: HashMap<u64, Page> = HashMap::new();
    for (lsn, n) in segments {
        let length = read_segment(&file, n, &mut buf)?;
        let read = each_message(&buf[..length], lsn / SEGMENT as u64, &mut |at, message| {
            take(&mut found, &mut pages, lsn + at as u64, message);
        });
        // The newest segment is not full: after its last message is data from its earlier use.
        found.damaged += read.damaged - u64::from(read.lost_at_end && newest == Some(lsn));
    }
    Ok(found)
}

fn read_segment(file: &File, n: u64, buf: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buf.len() {
        match file.read_at(&mut buf[length..], n * SEGMENT as u64 + length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A sector that the disk cannot read: the data before it counts.
            Err(error) if length > 0 => {
                tracing::warn!(%error, "a part of the database cannot be read from the disk");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Returns the log position of a segment of the file, from its header or from the first message that states it; `None`
/// if neither can be read.
fn first_lsn(segment: &[u8]) -> Option<u64> {
    let header = segment.get(..SEGMENT_HEADER)?;
    let crc = u32::from_le_bytes(header[..4].try_into().ok()?) ^ u32::MAX;
    if crc32fast::hash(&header[4..]) == crc {
        let lsn = i64::from_le_bytes(header[4..12].try_into().ok()?) ^ i64::MAX;
        return u64::try_from(lsn).ok();
    }
    let any = (SEGMENT_HEADER..segment.len()).find_map(|at| Message::read(segment, at, None));
    any.map(|(message, _)| message.segment * SEGMENT as u64)
}

/// A message in sled's file, with a valid checksum.
struct Message<'a> {
    kind: u8,
    segment: u64,
    page: u64,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the message at position `at` of a segment, and returns it with the position of its end. `number`: the
    /// segment that it must name, if known.
    fn read(segment: &'a [u8], at: usize, number: Option<u64>) -> Option<(Self, usize)> {
        let whole = segment.get(at..)?;
        let crc = u32::from_le_bytes(whole.get(..4)?.try_into().ok()?) ^ u32::MAX;
        let kind = *whole.get(4).filter(|kind| (1..=KIND_MAX).contains(*kind))?;
        let mut rest = Bytes(&whole[5..]);
        let length = usize::try_from(rest.number()?).ok()?;
        let (of, page) = (rest.number()?, rest.number()?);
        if number.is_some_and(|number| number != of) {
            return None;
        }
        let body = rest.0.get(..length)?;
        let header = whole.len() - rest.0.len();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(body);
        hasher.update(&whole[4..header]);
        (hasher.finalize() == crc).then_some((Self { kind, segment: of, page, body }, at + header + length))
    }
}

/// The result of reading a segment's messages.
struct Messages {
    /// Number of stretches of the segment that cannot be read.
    damaged: u64,
    /// True if one of those stretches reaches the segment's end.
    lost_at_end: bool,
}

/// Passes the readable messages of a segment to `take`, with their positions.
fn each_message(segment: &[u8], number: u64, take: &mut dyn FnMut(usize, Message<'_>)) -> Messages {
    let (mut at, mut damaged) = (SEGMENT_HEADER, 0);
    let mut lost = false;
    while at < segment.len() {
        let Some((message, end)) = Message::read(segment, at, Some(number)) else {
            // Unwritten space is zeros.
            let empty = segment[at] == 0;
            damaged += u64::from(!lost && !empty);
            lost |= !empty;
            at += 1;
            continue;
        };
        lost = false;
        let cap = message.kind == CAP;
        take(at, message);
        if cap {
            break;
        }
        at = end;
    }
    Messages { damaged, lost_at_end: lost }
}

fn take(found: &mut Found, pages: &mut HashMap<u64, Page>, lsn: u64, message: Message<'_>) {
    match message.kind {
        FREE => drop(pages.remove(&message.page)),
        NODE => {
            let Some((page, rows)) = node(message.body) else {
                pages.remove(&message.page);
                return;
            };
            let mut page = page;
            for (key, value) in rows {
                let Some(tree) = tree_of(&key, &value) else { continue };
                page.rows.insert((tree as usize, key.clone()));
                found.put(tree, key, lsn, Some(value));
            }
            let hi = page_end(message.body);
            // A row that the page had before, that it lacks now, and that no other page was given, was removed.
            if let Some(before) = pages.get(&message.page).filter(|before| before.lo == page.lo) {
                for (tree, key) in before.rows.difference(&page.rows) {
                    if hi.as_ref().is_none_or(|hi| hi.is_empty() || key < hi)
                        && let Some(tree) = TREES.into_iter().find(|it| *it as usize == *tree)
                    {
                        found.put(tree, key.clone(), lsn, None);
                    }
                }
            }
            pages.insert(message.page, page);
        }
        LINK => {
            let Some(page) = pages.get_mut(&message.page) else { return };
            let mut rest = Bytes(message.body);
            let Some(kind @ (0 | 1)) = rest.byte() else { return };
            let Some(suffix) = rest.bytes() else { return };
            let key = [&page.prefix, suffix].concat();
            if kind == 1 {
                let gone: Vec<usize> = TREES
                    .map(|tree| tree as usize)
                    .into_iter()
                    .filter(|tree| page.rows.contains(&(*tree, key.clone())))
                    .collect();
                for tree in gone {
                    page.rows.remove(&(tree, key.clone()));
                    if let Some(tree) = TREES.into_iter().find(|it| *it as usize == tree) {
                        found.put(tree, key.clone(), lsn, None);
                    }
                }
                return;
            }
            let Some(value) = rest.bytes() else { return };
            if let Some(tree) = tree_of(&key, value) {
                page.rows.insert((tree as usize, key.clone()));
                found.put(tree, key, lsn, Some(value.to_vec()));
            }
        }
        _ => {}
    }
}

const TREES: [Tree; 7] =
    [Tree::Events, Tree::Index, Tree::Heads, Tree::Snapshots, Tree::Outbox, Tree::Meta, Tree::Memos];

/// Parses a page of sled's tree, with its rows if it is a leaf.
fn node(body: &[u8]) -> Option<(Page, Vec<Row>)> {
    let (mut rest, prefix, lo, _) = node_head(body)?;
    let prefix = lo.get(..prefix)?.to_vec();
    let page = Page { lo: lo.to_vec(), prefix, rows: HashSet::new() };
    if rest.byte()? != 0 {
        return Some((page, Vec::new()));
    }
    let count = usize::try_from(rest.number()?).ok().filter(|count| *count <= body.len())?;
    let mut keys = Vec::with_capacity(count);
    for _ in 0..count {
        keys.push([&page.prefix, rest.bytes()?].concat());
    }
    let mut rows = Vec::with_capacity(count);
    for key in keys {
        rows.push((key, rest.bytes()?.to_vec()));
    }
    Some((page, rows))
}

/// Returns the key at which a page of sled's tree ends; empty if it has no end.
fn page_end(body: &[u8]) -> Option<Key> {
    node_head(body).map(|(.., hi)| hi.to_vec())
}

/// Returns the parts of a page's head: the bytes after it, the length of the keys' common prefix, the first key, and
/// the key after the last.
fn node_head(body: &[u8]) -> Option<(Bytes<'_>, usize, &[u8], &[u8])> {
    let mut rest = Bytes(body);
    let (_next, _merging_child, _merging) = (rest.number()?, rest.number()?, rest.byte()?);
    let prefix = usize::from(rest.byte()?);
    let (lo, hi) = (rest.bytes()?, rest.bytes()?);
    Some((rest, prefix, lo, hi))
}

/// Returns the tree that a row belongs to, judged by its key and value.
fn tree_of(key: &[u8], value: &[u8]) -> Option<Tree> {
    if key.first() == Some(&0) {
        return matches!(key.len(), 8 | 10).then_some(Tree::Events).filter(|_| number(key).is_some());
    }
    if let Some(end) = key.iter().position(|byte| *byte == 0) {
        return match key.len() - end - 1 {
            2 => Some(Tree::Snapshots),
            8 if value.len() == 8 => Some(Tree::Index),
            8 | 10 => Some(Tree::Outbox),
            _ => None,
        };
    }
    let text = std::str::from_utf8(key).ok()?;
    match text {
        "journal" | "last" => Some(Tree::Meta),
        _ if value.len() == 27 && text.parse::<super::Stream>().is_ok() => Some(Tree::Heads),
        _ => Some(Tree::Memos).filter(|_| text.contains('/')),
    }
}

/// A reader of sled's own encoding of numbers and bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        Some(match first {
            0..=240 => u64::from(first),
            241..=248 => 240 + 256 * (u64::from(first) - 241) + u64::from(self.byte()?),
            249 => 2288 + 256 * u64::from(self.byte()?) + u64::from(self.byte()?),
            250..=255 => {
                let length = usize::from(first) - 247;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                let mut all = [0; 8];
                all[..length].copy_from_slice(bytes);
                u64::from_le_bytes(all)
            }
        })
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}
