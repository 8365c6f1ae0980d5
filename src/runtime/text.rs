//! Bounded texts: only a limited part of an agent's output is kept.

use std::collections::VecDeque;

use super::reason::reason;
use crate::core::cut::{Cut, both_ends, stands_for};
use crate::core::detail::Detail;
use crate::redact::Redactor;

pub use crate::core::cut::{bounded, one_line};

/// Maximum length of a line kept for people, in bytes.
pub const LINE_MAX: usize = 2 * 1024;

/// Maximum length of a failure's reason that is kept for people, in bytes: an API's error page is not worth more.
pub const DETAIL_MAX: usize = 4 * 1024;

/// Maximum length of an error text before secrets are redacted, in bytes: so much longer than what is kept that a
/// secret across this cut is not in the kept part.
pub const RAW_MAX: usize = 64 * 1024;

/// Returns an error text on one line, cut to [`RAW_MAX`] bytes; the session redacts it before it cuts it further.
#[must_use]
pub fn raw_line(text: &str) -> String {
    one_line(text, RAW_MAX)
}

/// Maximum length of an agent's name for a kind or a state that is kept, in bytes.
const WORD_MAX: usize = 100;

/// Returns an agent's name for a kind or a state, redacted and cut to [`WORD_MAX`] bytes.
#[must_use]
pub fn kept_word(text: &str, redactor: &Redactor) -> String {
    one_line(&redactor.redact(text), WORD_MAX)
}

/// Returns the explanation of a failure, redacted and cut to [`DETAIL_MAX`] bytes.
#[must_use]
pub fn kept_detail(detail: &Detail, redactor: &Redactor) -> Detail {
    let mut detail = redactor.of(detail).into_owned();
    detail.said = one_line(&detail.said, DETAIL_MAX);
    detail
}

/// Returns the beginning and the end of a text, about `max` bytes together. If something is left out, the text is
/// redacted first.
#[must_use]
pub fn both_ends_kept(text: &str, max: usize, redactor: &Redactor) -> String {
    if text.len() > max { both_ends(&redactor.redact(text), max) } else { text.to_owned() }
}

/// Number of last lines of standard error that are kept: enough for the end of a stack trace, which has the reason.
const TAIL_LINES: usize = 30;

/// Appends `piece` to a text of which about `max` bytes are kept, from both ends. The middle is dropped while the text
/// grows, so that a flood is never held in memory.
pub fn grow(text: &mut String, piece: &str, max: usize, redactor: &Redactor) {
    text.push_str(piece);
    if text.len() > 2 * max {
        *text = both_ends_kept(text, max, redactor);
    }
}

/// The last lines that a program wrote to standard error, and those on standard output that are not part of its
/// protocol.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    lines: VecDeque<String>,
    /// Lines of plain text on standard output, outside the protocol.
    printed: VecDeque<String>,
    /// Number of lines of standard error that came after the last regular line on standard output.
    newer: usize,
}

impl Tail {
    /// Keeps a line of standard error, and removes the oldest one if there are too many.
    pub fn push(&mut self, line: &[u8]) {
        if keep(&mut self.lines, line) {
            self.newer = (self.newer + 1).min(TAIL_LINES);
        }
    }

    /// Keeps a line of standard output that is not part of the protocol.
    pub fn print(&mut self, line: &[u8]) {
        keep(&mut self.printed, line);
    }

    /// Records that a regular line came on standard output, so that the earlier lines of standard error are old.
    pub fn outdated(&mut self) {
        self.newer = 0;
    }

    /// Returns the lines of standard error after the last regular line on standard output, oldest first.
    pub fn newest(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.lines.range(self.lines.len().saturating_sub(self.newer)..).map(String::as_str)
    }

    /// Returns the last line of standard error that is not empty.
    #[must_use]
    pub fn last(&self) -> Option<&str> {
        self.lines.back().map(String::as_str)
    }

    /// Returns the kept lines of standard error, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Returns the kept lines of plain text on standard output, oldest first.
    pub fn printed(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.printed.iter().map(String::as_str)
    }

    /// Returns the line that tells why the program exited, on standard error, else on standard output; empty if there
    /// is none.
    #[must_use]
    pub fn reason(&self) -> String {
        let said = reason(self.iter()).or_else(|| reason(self.printed()));
        said.map(|said| one_line(&said, LINE_MAX)).unwrap_or_default()
    }
}

/// Appends a line to the last ones, unless it is empty; returns true if it was appended.
fn keep(lines: &mut VecDeque<String>, line: &[u8]) -> bool {
    let line = one_line(&String::from_utf8_lossy(line), LINE_MAX);
    if line.is_empty() {
        return false;
    }
    if lines.len() == TAIL_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
    true
}

/// A long text of which the beginning and the end are kept.
#[derive(Debug)]
pub struct HeadTail {
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: usize,
    half: usize,
}

impl HeadTail {
    /// Creates a text of which about `max` bytes are kept.
    #[must_use]
    pub const fn new(max: usize) -> Self {
        Self { head: String::new(), tail: VecDeque::new(), tail_bytes: 0, left_out: 0, half: max / 2 }
    }

    /// Appends a text, line by line; a line that would displace all others is reduced to its ends.
    pub fn push(&mut self, text: &str) {
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            if line.len() <= self.half / 2 {
                self.line(line);
            } else {
                both_ends(line, self.half / 2).lines().for_each(|piece| self.line(piece));
            }
        }
    }

    fn line(&mut self, line: &str) {
        if self.tail.is_empty() && self.left_out == 0 && self.head.len() + line.len() < self.half {
            self.head.push_str(line);
            self.head.push('\n');
            return;
        }
        self.tail_bytes += line.len() + 1;
        self.tail.push_back(line.to_owned());
        while self.tail_bytes > self.half {
            let Some(dropped) = self.tail.pop_front() else { break };
            self.tail_bytes -= dropped.len() + 1;
            self.left_out = self.left_out.saturating_add(stands_for(&dropped));
        }
    }

    /// Returns the text, with a line in the middle that tells how many are left out; `None` if nothing was added.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let mut text = self.head.clone();
        if self.left_out > 0 {
            text.push_str(&Cut::Lines(self.left_out).mark());
            text.push('\n');
        }
        for line in &self.tail {
            text.push_str(line);
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(bounded("aöü", 2), "a");
        assert_eq!(bounded("aöü", 3), "aö");
        assert_eq!(one_line("  a\r\n\u{7}b\t c ", 100), "a b c");
        assert_eq!(one_line("öööö", 5), "ö…");
    }

    #[test]
    fn of_a_long_text_both_ends_are_kept() {
        let mut text = HeadTail::new(64);
        for n in 0..100 {
            text.push(&format!("line {n}"));
        }
        let kept = text.text().expect("lines were added");
        assert!(kept.starts_with("line 0\nline 1\n"), "{kept}");
        assert!(kept.ends_with("line 98\nline 99"), "{kept}");
        assert!(kept.contains("lines left out"), "{kept}");
        assert!(kept.len() < 128);
        assert_eq!(kept.lines().map(stands_for).sum::<usize>(), 100, "{kept}");
        assert_eq!(HeadTail::new(64).text(), None);
    }

    #[test]
    fn of_a_message_of_many_lines_and_of_a_long_line_both_ends_are_kept() {
        let mut text = HeadTail::new(1024);
        let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
        text.push(&lines.join("\n"));
        assert_eq!(text.text(), Some(lines.join("\n")));
        let mut text = HeadTail::new(1024);
        text.push(&format!("begin{}end", "x".repeat(5000)));
        let kept = text.text().expect("a line was added");
        assert!(
            kept.starts_with("begin") && kept.ends_with("end") && kept.contains("bytes left out"),
            "{kept}"
        );
    }

    #[test]
    fn the_tail_keeps_the_last_lines() {
        let mut tail = Tail::default();
        for n in 0..100 {
            tail.push(format!("{n}\r").as_bytes());
        }
        tail.push(b"   ");
        assert_eq!(tail.last(), Some("99"));
        assert_eq!(tail.iter().count(), TAIL_LINES);
    }
}
