//! Removal of characters that would act on the reader's client instead of being read.
//!
//! Removes ANSI escape sequences, IRC formatting codes, all other control characters, and characters that reorder
//! text or are invisible; the table of those is [`crate::unseen`]. Line breaks of every kind become `\n`, tabs
//! become spaces. The result means what it shows, and is the input of the redactor: a colour code cannot split a
//! secret.

use std::iter::Peekable;
use std::str::Chars;

use crate::unseen::{is_hidden, is_joiner, joins};

/// Returns the text without control characters, ANSI and IRC formatting sequences.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            c if is_joiner(c) => {
                // Allowed between letters of scripts that need it, and in emoji; a secret contains none.
                if joins(cleaned.chars().next_back(), c, rest.peek().copied()) {
                    cleaned.push(c);
                }
            }
            '\u{1b}' => escape(&mut rest),
            '\u{9b}' => control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => control_string(&mut rest),
            '\u{3}' => colour(&mut rest),
            '\u{4}' => hex_colour(&mut rest),
            '\t' => cleaned.push_str("    "),
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            '\r' => {
                rest.next_if_eq(&'\n');
                cleaned.push('\n');
            }
            c if is_hidden(c) => {}
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// Returns the text with every character written out that [`clean`] would remove, so that a person who allows a command
/// sees everything that runs.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\u{1b}' => shown.push('␛'),
            c if is_joiner(c) && joins(shown.chars().next_back(), c, rest.peek().copied()) => shown.push(c),
            c if !is_hidden(c) && !is_joiner(c) => shown.push(c),
            c if u32::from(c) < 0x100 => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push_str(&format!("<U+{:04X}>", u32::from(c))),
        }
    }
    shown
}

type Rest<'a> = Peekable<Chars<'a>>;

/// Skips an ANSI escape sequence after its ESC.
fn escape(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            control_string(rest);
        }
        _ => {
            while rest.next_if(|c| ('\u{20}'..='\u{2f}').contains(c)).is_some() {}
            rest.next_if(|c| ('\u{30}'..='\u{7e}').contains(c));
        }
    }
}

/// Skips the parameters and the final byte of an ANSI control sequence (`ESC [`). An incomplete one removes no text.
fn control_sequence(rest: &mut Rest<'_>) {
    while rest.next_if(|c| ('\u{20}'..='\u{3f}').contains(c)).is_some() {}
    rest.next_if(|c| ('\u{40}'..='\u{7e}').contains(c));
}

/// Skips the text of an ANSI control string (a title, a link) up to its terminator; an unterminated one ends with its
/// line.
fn control_string(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next_if(|c| !matches!(c, '\n' | '\r')) {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Skips the digits of IRC's `\x03`: one or two, and again after a comma.
fn colour(rest: &mut Rest<'_>) {
    if !digits(rest) {
        return;
    }
    let mut ahead = rest.clone();
    if ahead.next() == Some(',') && ahead.next().is_some_and(|c| c.is_ascii_digit()) {
        rest.next();
        digits(rest);
    }
}

fn digits(rest: &mut Rest<'_>) -> bool {
    let first = rest.next_if(char::is_ascii_digit).is_some();
    if first {
        rest.next_if(char::is_ascii_digit);
    }
    first
}

/// Skips the six hexadecimal digits of IRC's `\x04`, and again after a comma.
fn hex_colour(rest: &mut Rest<'_>) {
    let six = |from: &Rest<'_>| from.clone().take(6).filter(char::is_ascii_hexdigit).count() == 6;
    if !six(rest) {
        return;
    }
    rest.nth(5);
    let mut ahead = rest.clone();
    if ahead.next() == Some(',') && six(&ahead) {
        rest.nth(6);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{clean, visible};
    use crate::unseen::hides;

    #[test]
    fn what_acts_is_shown_where_all_of_it_counts() {
        let table = [
            ("a\u{1b}]; b; #\u{7}", "a␛]; b; #\\x07"),
            ("a\u{9d} b\u{202e}c\u{e0041}", "a\\x9d b<U+202E>c<U+E0041>"),
            ("a\r\nb\rc\td", "a\nb\\x0dc\td"),
            ("👨\u{200d}👩 e\u{301}", "👨\u{200d}👩 e\u{301}"),
            ("rm\u{3164}-rf\u{34f} x\u{115f}", "rm<U+3164>-rf<U+034F> x<U+115F>"),
            ("漢\u{e0121}\u{e0122}\u{e0123}", "漢\u{e0121}<U+E0122><U+E0123>"),
            ("r\u{200d}m \u{fe0f}x 漢\u{200d}\u{200c}y", "r<U+200D>m <U+FE0F>x 漢<U+200D><U+200C>y"),
        ];
        for (text, expected) in table {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_acts_goes_and_what_reads_stays() {
        let table = [
            ("\u{1b}[1;31merror\u{1b}[0m: no", "error: no"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;https://a.example\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]never closed\nnext line", "\nnext line"),
            ("\u{1b}(Btext\u{1b}=", "text"),
            ("\u{1b}[12", ""),
            ("\u{1b}[ä", "ä"),
            ("\u{9b}31mred", "red"),
            ("\u{3}04,12red\u{3} \u{3}9,x \u{2}bold\u{f}", "red ,x bold"),
            ("\u{4}ff0000,00ff00hex \u{4}xyz", "hex xyz"),
            ("\u{1}ACTION waves\u{1}", "ACTION waves"),
            ("a\r\nb\rc\u{2028}d\u{85}e", "a\nb\nc\nd\ne"),
            ("a\tb", "a    b"),
            ("nul\0 bell\u{7} del\u{7f}", "nul bell del"),
            ("abc\u{202e}txt.exe", "abctxt.exe"),
            (
                "a\u{200b}b\u{ad}c\u{2060}d\u{34f}e\u{3164}f\u{e0041}g\u{61c}h\u{200d}i\u{200c}j\u{fe0f}k",
                "abcdefghijk",
            ),
            ("⚙\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم", "⚙\u{fe0f} 1\u{fe0f}\u{20e3} می\u{200c}خواهم"),
            ("👨\u{200d}👩\u{200d}👧 e\u{301}", "👨\u{200d}👩\u{200d}👧 e\u{301}"),
        ];
        for (text, expected) in table {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_control_character_survives_but_the_line_break(text in r"(?s)([\x00-\x1f\x7f-\x9f\[\];0-9mB,a-f]|.){0,200}") {
            let cleaned = clean(&text);
            prop_assert!(cleaned.chars().all(|c| c == '\n' || !c.is_control()));
            prop_assert_eq!(&clean(&cleaned), &cleaned);
        }

        #[test]
        fn nothing_is_removed_from_a_text_that_was_made_visible(
            text in r"(?s)([a漢👩 \t\r\n\x1b\x03\x04\x9b0-9,\[\]m\u{34f}\u{115f}\u{3164}\u{200b}-\u{200f}\u{fe0f}\u{20e3}\u{e0101}\u{202e}]|.){0,60}",
        ) {
            let shown = visible(&text);
            prop_assert_eq!(clean(&shown), shown.replace('\t', "    "));
            prop_assert!(!hides(&shown));
            prop_assert_eq!(clean(&clean(&text)), clean(&text));
        }

        #[test]
        fn a_command_is_shown_as_it_is_unless_it_hides_something(
            text in r"(?s)([a漢👩❤ \t\r\n\x1b\x03\u{9b}\u{ad}\u{34f}\u{115f}\u{3164}\u{200b}-\u{200f}\u{fe0f}\u{20e3}\u{e0101}\u{202e}]|.){0,40}",
        ) {
            prop_assert_eq!(visible(&text) == text.replace("\r\n", "\n"), !hides(&text));
        }

        #[test]
        fn plain_text_is_left_alone(text in "[a-zA-Z0-9äöü漢字 .,:;!?*`_#|/\\-\n]{0,200}") {
            prop_assert_eq!(clean(&text), text);
        }
    }
}
