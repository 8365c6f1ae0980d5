//! Control codes that IRC clients put into text.

/// Returns `text` without colours, formatting codes and other control characters; `None` for a CTCP request, `/me` included.
pub(crate) fn plain(text: &str) -> Option<String> {
    if text.starts_with('\x01') {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\x03' => skip_colours(&mut rest, 2, |c| c.is_ascii_digit()),
            '\x04' => skip_colours(&mut rest, 6, |c| c.is_ascii_hexdigit()),
            '\t' | '\r' | '\n' => plain.push(' '),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    let trimmed = plain.trim();
    Some(trimmed.to_owned())
}

/// Skips a foreground colour of at most `digits` digits and, after a comma followed by a digit, a background colour.
fn skip_colours(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    digits: usize,
    is_digit: fn(char) -> bool,
) {
    let mut skipped = 0;
    while skipped < digits && rest.next_if(|c| is_digit(*c)).is_some() {
        skipped += 1;
    }
    let mut ahead = rest.clone();
    if skipped > 0 && ahead.next() == Some(',') && ahead.next().is_some_and(is_digit) {
        rest.next();
        for _ in 0..digits {
            if rest.next_if(|c| is_digit(*c)).is_none() {
                break;
            }
        }
    }
}

/// Cuts `text` into pieces of at most `room` bytes, at a space if the second half has one. Nothing is lost but the
/// space at a cut.
pub(crate) fn pieces(text: &str, room: usize) -> Vec<&str> {
    let room = room.max(4);
    let mut rest = text;
    let mut pieces = Vec::new();
    while rest.len() > room {
        let mut end = room;
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let cut = rest[..end].rfind(' ').filter(|space| *space > end / 2).unwrap_or(end);
        pieces.push(&rest[..cut]);
        rest = rest[cut..].strip_prefix(' ').unwrap_or(&rest[cut..]);
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_is_taken_off() {
        for (text, expected) in [
            ("\x02bold\x0f plain", Some("bold plain")),
            ("\x0304,12red\x03 and \x033green", Some("red and green")),
            ("\x03,not a background", Some(",not a background")),
            ("\x041a2b3chex", Some("hex")),
            ("a\tb", Some("a b")),
            ("x\x00y\x1bz", Some("xyz")),
            ("\x01ACTION waves\x01", None),
            ("\x01VERSION", None),
            ("   ", Some("")),
        ] {
            assert_eq!(plain(text).as_deref(), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn pieces_fit_and_lose_nothing_but_spaces(text in ".{0,300}", room in 4usize..80) {
            let pieces = pieces(&text, room);
            proptest::prop_assert!(pieces.iter().all(|piece| piece.len() <= room));
            let squeezed = |text: &str| text.replace(' ', "");
            proptest::prop_assert_eq!(squeezed(&pieces.concat()), squeezed(&text));
        }
    }
}
