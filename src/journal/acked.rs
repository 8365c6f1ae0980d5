//! What was acknowledged, in a small file outside sled.
//!
//! sled drops a torn or damaged tail of its log without a word and opens as if it had never been. So after each durable
//! group the revisions that were acknowledged are written here, in slots of fixed size, without an fsync: the file says
//! less than the truth after a power loss and never more. At the next start the heads are held against it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::layout::number;
use super::{Missing, Stream};

/// crc 4, length of the name 1, name 51, revision 8.
const SLOT: usize = 64;
const NAME_AT: usize = 5;
const REV_AT: usize = SLOT - 8;

/// The open file and its image.
#[derive(Debug)]
pub(super) struct Acked {
    file: File,
    image: Vec<u8>,
    slots: HashMap<Stream, usize>,
    /// Slots from before this start that may say more than the database holds; written over with the first group.
    stale: bool,
}

impl Acked {
    /// Whether a journal was ever acknowledged in this folder.
    pub(super) fn exists(path: &Path) -> bool {
        path.metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Opens or makes the file, and gives what it says.
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

    /// Sets the revisions of `heads`. The first time since the start all are given, so that what was reported missing
    /// is not reported for ever.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Writes the revisions with one call.
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

    /// Puts the file's existence on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// Which streams end before what was acknowledged.
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
    // An agent's name has at most 30 bytes, so that every stream fits; a longer one could only be left out.
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
