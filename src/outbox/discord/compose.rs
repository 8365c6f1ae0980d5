//! Joins formatted lines to Discord messages of limited length.

use unicode_segmentation::UnicodeSegmentation as _;

use super::inline::{self, Voice};
use super::units;

/// The line that closes a code block at the end of a message.
const CLOSE: &str = "\n```";
/// Maximum number of characters in one grapheme that is shown: the longest meaningful emoji has ten.
const GRAPHEME_MAX: usize = 24;
/// Maximum number of combining marks on one character that are shown: Vietnamese and phonetics stack three.
const MARKS_MAX: usize = 4;

/// Joins lines to Discord messages of at most `room` UTF-16 units; a code block that is cut is continued in the next
/// message.
pub(super) struct Composer {
    room: usize,
    done: Vec<String>,
    now: String,
    used: usize,
    code: Option<Code>,
    /// True if a blank line has to precede the next line that is added.
    gap: bool,
}

/// The code block that is open where the next line is added.
struct Code {
    language: String,
    /// True if the opening fence is written to the present message.
    shown: bool,
}

impl Composer {
    pub(super) fn new(room: usize) -> Self {
        Self { room, done: Vec::new(), now: String::new(), used: 0, code: None, gap: false }
    }

    /// Adds a line outside a code block.
    pub(super) fn line(&mut self, line: &str, voice: Voice) {
        let line = line.trim_end();
        if !line.chars().any(is_visible) {
            self.gap = true;
            return;
        }
        let whole = inline::line(line, voice);
        if units(&whole) <= self.room {
            return self.add(&whole);
        }
        // Escapes can at most double a text, and add a few characters.
        for piece in pieces(line, self.room / 2 - 16) {
            let mut shown = inline::line(piece, voice);
            if units(&shown) > self.room {
                shown.truncate(end_within(&shown, self.room));
            }
            self.add(&shown);
        }
    }

    fn add(&mut self, line: &str) {
        let gap = if self.gap { 2 } else { 1 };
        if self.used > 0 && self.used + gap + units(line) > self.room {
            self.flush();
        }
        if self.used > 0 {
            self.push(if self.gap { "\n\n" } else { "\n" });
        }
        self.gap = false;
        self.push(line);
    }

    pub(super) fn open_code(&mut self, language: &str) {
        self.code = Some(Code { language: language.to_owned(), shown: false });
    }

    pub(super) fn close_code(&mut self) {
        if self.code.take().is_some_and(|code| code.shown) {
            self.push(CLOSE);
        }
    }

    /// Adds a line inside a code block.
    pub(super) fn code(&mut self, line: &str) {
        let Some(code) = &self.code else { return };
        let open = format!("```{}\n", code.language);
        // Three backticks in a row would close the block.
        let line = line.trim_end();
        let line = if line.contains("```") { inline::apart(line) } else { line.to_owned() };
        let room = self.room - units(&open) - units(CLOSE);
        for piece in pieces(&line, room) {
            self.code_piece(&open, piece);
        }
    }

    fn code_piece(&mut self, open: &str, piece: &str) {
        let shown = self.code.as_ref().is_some_and(|code| code.shown);
        // Blank lines at the start of a block are skipped.
        if !shown && piece.trim().is_empty() {
            return;
        }
        let before = if shown { 1 } else { units(open) + 2 };
        let fits = self.used + before + units(piece) + units(CLOSE) <= self.room;
        if shown && fits {
            self.push("\n");
            return self.push(piece);
        }
        if !fits && self.used > 0 {
            if shown {
                self.push(CLOSE);
            }
            self.flush();
        }
        if self.used > 0 {
            self.push(if self.gap { "\n\n" } else { "\n" });
        }
        self.gap = false;
        self.push(open);
        self.push(piece);
        if let Some(code) = &mut self.code {
            code.shown = true;
        }
    }

    fn push(&mut self, text: &str) {
        self.now.push_str(text);
        self.used += units(text);
    }

    fn flush(&mut self) {
        let message = std::mem::take(&mut self.now);
        self.used = 0;
        if message.chars().any(is_visible) {
            self.done.push(message);
        }
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        // An unclosed block ends with its text.
        self.close_code();
        self.flush();
        self.done
    }
}

/// Cuts a line into pieces of at most `room` units: at the last space of the second half of the room, else between graphemes.
fn pieces(line: &str, room: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let limit = end_within(line, room);
        if limit == line.len() {
            rest = None;
            return Some(line);
        }
        let space = line[..limit].rfind(' ').filter(|space| *space > limit / 2);
        let at = space.unwrap_or(limit).max(1);
        rest = Some(if space.is_some() { line[at..].trim_start_matches(' ') } else { &line[at..] });
        rest = rest.filter(|rest| !rest.is_empty());
        Some(&line[..at])
    })
}

/// Returns the position of the end of the last grapheme within `room` UTF-16 units.
fn end_within(line: &str, room: usize) -> usize {
    // A text never has fewer bytes than units.
    if line.len() <= room {
        return line.len();
    }
    let mut used = 0;
    for (at, grapheme) in line.grapheme_indices(true) {
        used += units(grapheme);
        if used > room {
            return at;
        }
    }
    line.len()
}

/// Removes excessive combining characters, so that no grapheme is longer than a reader can bear, or than a message.
pub(super) fn tame(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        if grapheme.len() <= MARKS_MAX {
            tamed.push_str(grapheme);
            continue;
        }
        let mut marks = 0;
        tamed.extend(
            grapheme
                .chars()
                .filter(|c| {
                    marks += usize::from(is_mark(*c));
                    !is_mark(*c) || marks <= MARKS_MAX
                })
                .take(GRAPHEME_MAX),
        );
    }
    tamed
}

fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Returns true if a reader sees the character. Discord accepts no message without a visible one.
pub(super) fn is_visible(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}');
    !(hidden || c.is_whitespace() || c.is_control() || is_mark(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_at_spaces_or_between_characters() {
        let table: &[(&str, usize, &[&str])] = &[
            ("", 10, &[""]),
            ("the quick brown fox", 10, &["the quick", "brown fox"]),
            ("a verylongwordindeed", 8, &["a verylo", "ngwordin", "deed"]),
            ("    indented", 8, &["    inde", "nted"]),
            ("ääää", 3, &["äää", "ä"]),
            ("ab👨‍👩‍👧‍👦cd", 12, &["ab", "👨‍👩‍👧‍👦c", "d"]),
        ];
        for (line, room, expected) in table {
            assert_eq!(&pieces(line, *room).collect::<Vec<_>>(), expected, "{line:?} in {room}");
        }
    }

    #[test]
    fn characters_are_piled_up_only_so_far() {
        assert_eq!(tame("Tiếng Việt, ệ, 👨‍👩‍👧‍👦, 🏴󠁧󠁢󠁥󠁮󠁧󠁿"), "Tiếng Việt, ệ, 👨‍👩‍👧‍👦, 🏴󠁧󠁢󠁥󠁮󠁧󠁿");
        assert_eq!(
            tame(&format!("z{}a", "\u{338}".repeat(1000))),
            format!("z{}a", "\u{338}".repeat(MARKS_MAX))
        );
        assert_eq!(tame(&"👨\u{200d}".repeat(1000)).chars().count(), GRAPHEME_MAX);
    }
}
