//! What a program's output says went wrong: the error by which two failures are the same.

use super::line;
use super::shape::{self, Hash};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trouble<'a> {
    /// All that was said.
    said: &'a str,
    /// The first line that says it.
    pub(super) words: &'a str,
    /// Of the lines that say it; the same for the same error.
    pub(super) hash: u64,
    /// The line of the file where it is, if it says one.
    pub(super) line: Option<u32>,
    /// Whether a line of it reads like an error; else it is only the last that was said.
    pub(super) explicit: bool,
}

/// How far an error may wander in its file and still be the same.
const LINES_SHIFTED: u32 = 8;

/// The most lines that make an error what it is: its message, its place, its detail.
const LINES_MAX: usize = 4;

/// The shortest text that can stand for an error when no line reads like one.
const WORDS_MIN: usize = 8;

impl<'a> Trouble<'a> {
    /// What went wrong by what a failed step said; `None`: it says nothing.
    pub(super) fn of(said: &'a str) -> Option<Self> {
        Self::errors(said).or_else(|| Self::last_words(said))
    }

    /// By the lines that read like errors.
    fn errors(said: &'a str) -> Option<Self> {
        let mut words = None;
        let mut hash = Hash::new();
        let mut place = None;
        let mut lines = 0;
        let mut after_error = false;
        for message in line::messages(said) {
            let error = line::is_error(message.text);
            let detail = after_error && line::is_detail(message.text);
            after_error = error;
            if (!error && !detail) || line::is_summary(message.line) {
                continue;
            }
            let shape = shape::of_output(line::core(message.text));
            words = words.or(Some(message.text));
            place = place.or(shape.line);
            hash.number(shape.hash);
            lines += 1;
            if lines == LINES_MAX {
                break;
            }
        }
        let words = words?;
        push_counts(&mut hash, said);
        Some(Self { said, words, hash: hash.end(), line: place, explicit: true })
    }

    /// By what was said last.
    fn last_words(said: &'a str) -> Option<Self> {
        let long =
            |message: &line::Message<'_>| message.text.len() >= WORDS_MIN && !line::is_summary(message.line);
        let words = line::messages(said).filter(long).last()?.text;
        let shape = shape::of_output(line::core(words));
        let mut hash = Hash::new();
        hash.number(shape.hash);
        push_counts(&mut hash, said);
        Some(Self { said, words, hash: hash.end(), line: shape.line, explicit: false })
    }

    /// The same trouble, with what it is about.
    pub(super) fn about(mut self, what: &str) -> Self {
        let mut hash = Hash::new();
        hash.number(self.hash);
        hash.push(what.as_bytes());
        self.hash = hash.end();
        self
    }

    /// Whether it is the same as `other`. Edits shift places by a few lines; farther off it is another place.
    pub(super) fn is(&self, other: &Trouble<'_>) -> bool {
        let near = match (self.line, other.line) {
            (Some(a), Some(b)) => a.abs_diff(b) <= LINES_SHIFTED,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.hash == other.hash && near
    }

    /// Whether it is the kind that passes by itself.
    pub(super) fn passes(&self) -> bool {
        line::passes(self.said)
    }

    /// The lines beside its errors, by their words.
    pub(super) fn around(&self) -> impl Iterator<Item = u64> {
        let beside = |message: &line::Message<'_>| {
            !line::is_error(message.text) && !line::is_detail(message.text) && !line::is_summary(message.line)
        };
        line::messages(self.said).filter(beside).filter_map(|message| {
            let mut hash = Hash::new();
            let words = shape::words(message.text);
            words.iter().for_each(|word| hash.number(u64::from(*word)));
            (words.len() > 1).then(|| hash.end())
        })
    }

    /// Whether it comes with a count of what went well and what did not: a report.
    pub(super) fn is_report(&self) -> bool {
        self.said.lines().any(line::counts)
    }
}

/// Fewer failures than before are progress, whatever the first of them says.
fn push_counts(hash: &mut Hash, said: &str) {
    said.lines().filter(|line| line::counts(line)).for_each(|line| hash.number(shape::of_output(line).hash));
}
