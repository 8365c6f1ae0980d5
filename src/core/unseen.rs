//! The table of characters that a reader does not see, or that act on the reader's client.
//!
//! It covers all control characters and everything that Unicode calls default ignorable. [`crate::clean`]
//! removes these characters from posts and writes them out in commands; a command that holds one is always asked about.

/// Returns true if a text contains characters that a reader cannot see, or that change how the text is displayed. A
/// line break of any system is no such character, and neither is a joiner that has a visible effect.
#[must_use]
pub fn hides(text: &str) -> bool {
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let line_break = c == '\r' && next == Some('\n');
        if is_hidden(c) && !line_break || is_joiner(c) && !joins(before, c, next) {
            return true;
        }
        before = Some(c);
    }
    false
}

/// Returns true if a character acts instead of being shown, or is shown as nothing or as a blank: control characters,
/// bidirectional controls, characters of zero width and fillers. Joiners are exempt, see [`is_joiner`].
#[must_use]
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// Returns true for characters of zero width that emoji and several scripts need: joiners and variation selectors.
#[must_use]
pub fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}') || is_selector(c)
}

/// Returns true if the joiner `c` has a visible effect between its neighbours: after a character beyond ASCII and, unless
/// it is a variation selector, before one; or before the frame of a keycap. Of two selectors the second has none: a
/// row of them can hide any text.
#[must_use]
pub fn joins(before: Option<char>, c: char, next: Option<char>) -> bool {
    let is_letter = |c: char| !c.is_ascii() && !is_hidden(c);
    if is_selector(c) {
        return next == Some('\u{20e3}')
            || before.is_some_and(|before| is_letter(before) && !is_joiner(before));
    }
    before.is_some_and(is_letter) && next.is_some_and(|next| is_letter(next) && !is_joiner(next))
}

/// Returns true for variation selectors, which choose between two shapes of a character.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn every_character_that_unicode_calls_ignorable_is_in_the_table() {
        let ignorable =
            Regex::new(r"^[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]$").unwrap();
        let missing: Vec<String> = ('\0'..=char::MAX)
            .filter(|c| !matches!(c, '\n' | '\t') && ignorable.is_match(c.encode_utf8(&mut [0; 4])))
            .filter(|c| !is_hidden(*c) && !is_joiner(*c))
            .map(|c| format!("U+{:04X}", u32::from(c)))
            .collect();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn a_text_hides_what_a_reader_cannot_see() {
        let table = [
            ("cargo test", false),
            ("a\r\nb\tc", false),
            ("a\rb", true),
            ("rm\u{3164}-rf", true),
            ("rm \u{115f}x", true),
            ("a\u{34f}b", true),
            ("a\u{200d}b", true),
            ("a\u{fe0f}b", true),
            ("\u{200d}", true),
            ("ä\u{200d}", true),
            ("漢\u{e0121}", false),
            ("漢\u{e0121}\u{e0122}\u{e0123}", true),
            ("ä\u{200d}\u{fe0f}b", true),
            ("git commit -m '❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} می\u{200c}خواهم'", false),
        ];
        for (text, expected) in table {
            assert_eq!(hides(text), expected, "{text:?}");
        }
    }
}
