//! Splits text into lines for a network: by bytes, at character boundaries, if possible at a space.
//!
//! A grapheme (one character as a person counts, e.g. a family emoji of 25 bytes) is split only if it is longer than
//! a whole line. Only spaces at a cut, NUL and line breaks are lost.

use crate::core::cut::{floor, grapheme_floor};

/// Minimum room in bytes for [`split`]: the longest UTF-8 character fits. A smaller room is raised to it.
pub const ROOM_MIN: usize = 4;

/// Splits `text` at its line breaks and then into pieces of at most `room` bytes. No piece is empty or blank.
#[must_use]
pub fn split(text: &str, room: usize) -> Vec<String> {
    text.split(['\n', '\r'])
        .map(|line| line.replace('\0', ""))
        .flat_map(|line| pieces(&line, room).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Cuts one line into pieces of at most `room` bytes, without the spaces at the cuts; none is blank.
pub(super) fn pieces(line: &str, room: usize) -> impl Iterator<Item = &str> {
    let room = room.max(ROOM_MIN);
    let mut rest = line.trim_end();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = cut(rest, room);
        let piece = &rest[..at];
        rest = if at < rest.len() { rest[at..].trim_start_matches(' ') } else { "" };
        Some(piece.trim_end())
    })
    .filter(|piece| !piece.is_empty())
}

/// Returns the position at which to cut `line`: its end, else the last space of the second half of the room, else
/// between two graphemes, else between two characters.
fn cut(line: &str, room: usize) -> usize {
    if line.len() <= room {
        return line.len();
    }
    let limit = floor(line, room);
    if line.as_bytes()[limit] == b' ' {
        return limit;
    }
    if let Some(space) = line[..limit].rfind(' ').filter(|space| *space > room / 2) {
        return space;
    }
    match grapheme_floor(line, limit) {
        0 => limit,
        boundary => boundary,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_where_a_person_would() {
        let table: &[(&str, usize, &[&str])] = &[
            ("one\ntwo\r\nthree\rfour", 100, &["one", "two", "three", "four"]),
            ("", 10, &[]),
            ("\n \n\r\n", 10, &[]),
            ("nul\0led", 10, &["nulled"]),
            ("the quick brown fox", 10, &["the quick", "brown fox"]),
            ("exactly ten", 7, &["exactly", "ten"]),
            ("a verylongwordindeed", 8, &["a verylo", "ngwordin", "deed"]),
            ("  indented code stays", 14, &["  indented", "code stays"]),
            ("ääää", 5, &["ää", "ää"]),
            ("ab👨‍👩‍👧‍👦cd", 26, &["ab", "👨‍👩‍👧‍👦c", "d"]),
            ("👨‍👩‍👧‍👦", 8, &["👨\u{200d}", "👩\u{200d}", "👧\u{200d}", "👦"]),
            ("x", 0, &["x"]),
        ];
        for (text, room, expected) in table {
            assert_eq!(&split(text, *room), expected, "{text:?} in {room}");
        }
    }

    proptest! {
        #[test]
        fn never_over_the_room_never_blank_and_only_spaces_are_lost(
            text in r"(?s)([a-zäß漢👨‍👩‍👧e\u{301}\u{200d}]|[ \n\r\x00]){0,200}",
            room in 4_usize..60,
        ) {
            let lines = split(&text, room);
            for line in &lines {
                prop_assert!(line.len() <= room, "{line:?} is over {room}");
                prop_assert!(!line.trim().is_empty());
                prop_assert!(!line.contains(['\n', '\r', '\0']));
            }
            let solid = |text: &str| text.replace([' ', '\n', '\r', '\0'], "");
            prop_assert_eq!(solid(&lines.concat()), solid(&text));
        }

        #[test]
        fn a_line_that_fits_is_left_alone(text in "[a-zäö漢 ]{0,40}") {
            let line = text.trim_end();
            let whole: Vec<String> = if line.is_empty() { vec![] } else { vec![line.to_owned()] };
            prop_assert_eq!(split(&text, 400), whole);
        }
    }
}
