//! The frames of messages: any cut of the bytes, and bytes that are none.

use herder::runner::wire::{Envelope, Frames, MESSAGE_MAX, ToRunner, WireError, common_version};
use proptest::prelude::*;
use tokio_util::bytes::{BufMut as _, BytesMut};

fn hello(journal: String) -> Envelope<ToRunner> {
    Envelope::new(1, 0, ToRunner::Hello { journal, oldest: 1, newest: 1 })
}

proptest! {
    #[test]
    fn messages_arrive_whole_however_their_bytes_are_cut(
        journals in prop::collection::vec(".{0,200}", 1..8),
        cut in 1_usize..300,
    ) {
        let messages: Vec<_> = journals.into_iter().map(hello).collect();
        let (mut writer, mut reader) = (Frames::default(), Frames::default());
        let (mut sent, mut read, mut heard) = (BytesMut::new(), BytesMut::new(), Vec::new());
        for message in &messages {
            writer.write(message, &mut sent).expect("it is short");
        }
        for piece in sent.chunks(cut) {
            read.extend_from_slice(piece);
            while let Some(message) = reader.read(&mut read).expect("these are messages") {
                heard.push(message);
            }
        }
        prop_assert_eq!(heard, messages);
        prop_assert!(read.is_empty());
    }

    #[test]
    fn no_bytes_make_a_reader_panic_or_take_more_room_than_a_message(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut read = BytesMut::from(&bytes[..]);
        let mut reader = Frames::default();
        while matches!(reader.read::<ToRunner>(&mut read), Ok(Some(_))) {}
        prop_assert!(read.capacity() <= MESSAGE_MAX + 1024);
    }
}

#[test]
fn a_message_at_the_bound_passes_and_a_longer_one_is_refused_at_both_ends() {
    let mut frames = Frames::default();
    let mut out = BytesMut::new();
    let around = serde_json::to_vec(&hello(String::new())).expect("JSON").len();
    frames.write(&hello("x".repeat(MESSAGE_MAX - around)), &mut out).expect("it is just short enough");
    let read: Option<Envelope<ToRunner>> = frames.read(&mut out).expect("it is whole");
    assert!(read.is_some() && out.is_empty());
    let refused = frames.write(&hello("x".repeat(MESSAGE_MAX - around + 1)), &mut out);
    assert!(matches!(refused, Err(WireError::TooLong(length)) if length == MESSAGE_MAX + 1), "{refused:?}");
    assert!(out.is_empty(), "nothing of it is sent");
    out.put_u32(u32::try_from(MESSAGE_MAX + 1).expect("small"));
    frames.read::<ToRunner>(&mut out).expect_err("its length alone is enough to refuse it");
}

#[test]
fn a_version_is_common_or_there_is_none() {
    for ((oldest, newest), common) in [
        ((1, 1), Some(1)),
        ((1, 9), Some(6)),
        ((2, 2), Some(2)),
        ((3, 3), Some(3)),
        ((4, 4), Some(4)),
        ((5, 9), Some(6)),
        ((7, 9), None),
        ((0, 0), None),
    ] {
        assert_eq!(common_version(oldest, newest), common, "{oldest} {newest}");
    }
}
