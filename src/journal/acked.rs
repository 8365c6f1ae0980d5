//! Acknowledged revisions, in a small file outside sled.
//!
//! sled silently drops a torn or damaged tail of its log and opens as if it had never existed. Therefore the
//! acknowledged revisions are written here after each durable group, in slots of fixed size, without an fsync: after
//! a power loss the file may state less than the truth, but never more. The next start compares the streams' heads
//! with it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::layout::number;
use super::{Missing, Stream};

/// Size of a slot of the file in bytes: CRC 4, length of the stream's name 1, name 51, revision 8.
const SLOT: usize = 64;
const NAME_AT: usize = 5;
const REV_AT: usize = SLOT - 8;

/// The open file of acknowledged revisions, and its content in memory.
#[derive(Debug)]
pub(super) struct Acked {
    file: File,
    image: Vec<u8>,
    slots: HashMap<Stream, usize>,
    /// True until the first write: slots from before this start may state more than the database holds, and are
    /// overwritten with the first group.
    stale: bool,
}

impl Acked {
    /// Returns true if the file at `path` shows that a journal was ever acknowledged in this folder.
    pub(super) fn exists(path: &Path) -> bool {
        path.metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Opens or creates the file, and returns the acknowledged revision of each stream.
    pub(super) fn open(path: &Path) -> io::Result<(Self, HashMap<Stream, u64>)> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut image = vec![0; length - length % SLOT];
        file.read_exact_at(&mut image, 0)?;
        let mut revs = HashMap::new();
        let mut slots = HashMap::new();
        for (n, slot) in image.chunks_exact(SLOT).enumerate() {
            if let Some((stream, rev)) = read_slot(slot) {
                slots.insert(stream.clone(), n);
                revs.insert(stream, rev);
            }
        }
        Ok((Self { file, image, slots, stale: true }, revs))
    }

    /// Returns true until the first write since the start, which has to contain all revisions, so that a reported loss
    /// is not reported forever.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Writes the acknowledged revisions of these streams with one call.
    pub(super) fn write<'a>(&mut self, revs: impl Iterator<Item = (&'a Stream, u64)>) -> io::Result<()> {
        let (mut from, mut to) = (usize::MAX, 0);
        for (stream, rev) in revs {
            let slot = match self.slots.get(stream) {
                Some(slot) => *slot,
                None => self.new_slot(stream),
            };
            let at = slot * SLOT;
            write_slot(&mut self.image[at..at + SLOT], stream, rev);
            from = from.min(at);
            to = to.max(at + SLOT);
        }
        self.stale = false;
        if from >= to {
            return Ok(());
        }
        self.file.write_all_at(&self.image[from..to], from as u64)
    }

    fn new_slot(&mut self, stream: &Stream) -> usize {
        let slot = self.image.len() / SLOT;
        self.image.resize(self.image.len() + SLOT, 0);
        self.slots.insert(stream.clone(), slot);
        slot
    }

    /// Syncs the file of acknowledged revisions to disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// Returns the streams that end before their acknowledged revision.
pub(super) fn missing(acked: &HashMap<Stream, u64>, found: impl Fn(&Stream) -> u64) -> Vec<Missing> {
    let mut missing: Vec<Missing> = acked
        .iter()
        .map(|(stream, &expected)| Missing { stream: stream.clone(), expected, found: found(stream) })
        .filter(|it| it.found < it.expected)
        .collect();
    missing.sort_by(|a, b| a.stream.cmp(&b.stream));
    missing
}

fn write_slot(slot: &mut [u8], stream: &Stream, rev: u64) {
    let name = stream.to_string();
    // An agent's name has at most 30 bytes, so that every stream fits; a longer one would be left out.
    let Some(room) = slot.get_mut(NAME_AT..NAME_AT + name.len()).filter(|_| NAME_AT + name.len() <= REV_AT)
    else {
        return;
    };
    room.copy_from_slice(name.as_bytes());
    slot[4] = u8::try_from(name.len()).unwrap_or(0);
    slot[REV_AT..].copy_from_slice(&rev.to_be_bytes());
    let crc = crc32fast::hash(&slot[4..]);
    slot[..4].copy_from_slice(&crc.to_be_bytes());
}

fn read_slot(slot: &[u8]) -> Option<(Stream, u64)> {
    let crc = u32::from_be_bytes(slot.get(..4)?.try_into().ok()?);
    if crc32fast::hash(slot.get(4..)?) != crc {
        return None;
    }
    let name = slot.get(NAME_AT..NAME_AT + usize::from(*slot.get(4)?))?;
    let stream = std::str::from_utf8(name).ok()?.parse().ok()?;
    Some((stream, number(slot.get(REV_AT..)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::id::AgentName;

    #[test]
    fn slots_survive_reopening_and_a_torn_one_is_left_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("acked");
        let agent = Stream::Agent(AgentName::new(&"a".repeat(30)).expect("a name"));
        let (mut acked, before) = Acked::open(&path).expect("opens");
        assert!(before.is_empty());
        acked.write([(&Stream::Fleet, 3), (&agent, 7)].into_iter()).expect("writes");
        acked.write([(&agent, 8)].into_iter()).expect("writes");
        drop(acked);
        let (_, revs) = Acked::open(&path).expect("opens");
        assert_eq!(revs, HashMap::from([(Stream::Fleet, 3), (agent.clone(), 8)]));

        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[SLOT + 10] ^= 1;
        bytes.extend_from_slice(b"torn");
        std::fs::write(&path, bytes).expect("writes");
        let (_, revs) = Acked::open(&path).expect("opens");
        assert_eq!(revs, HashMap::from([(Stream::Fleet, 3)]));
    }

    #[test]
    fn only_what_ends_early_is_missing() {
        let acked = HashMap::from([(Stream::Fleet, 3), (Stream::Audit, 5)]);
        let missing = missing(&acked, |stream| if *stream == Stream::Fleet { 3 } else { 4 });
        assert_eq!(missing, [Missing { stream: Stream::Audit, expected: 5, found: 4 }]);
    }

    #[test]
    fn a_slot_whose_revision_was_damaged_is_left_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("acked");
        let (mut acked, _) = Acked::open(&path).expect("opens");
        acked.write([(&Stream::Fleet, 3)].into_iter()).expect("writes");
        drop(acked);
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[SLOT - 1] ^= 0x40;
        std::fs::write(&path, bytes).expect("writes");
        let (_, revs) = Acked::open(&path).expect("opens");
        assert_eq!(revs, HashMap::new());
    }
}
