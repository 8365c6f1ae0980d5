//! Extracts the error from a program's output, by which two failures are compared.

use super::line;
use super::shape::{self, Hash};

/// The error in a failed step's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trouble<'a> {
    /// The whole output of the failed step that contains the error.
    said: &'a str,
    /// The first line that names the error.
    pub(super) words: &'a str,
    /// Hash of the lines that name the error.
    pub(super) hash: u64,
    /// Line number in the source file, if the error names a place.
    pub(super) line: Option<u32>,
    /// True if a line of the output reads like an error; else the last line is taken for one.
    pub(super) explicit: bool,
}

/// Maximum number of lines by which an error may move within its file and still count as the same.
const LINES_SHIFTED: u32 = 8;

/// Maximum number of lines that identify an error: its message, its place, its detail.
const LINES_MAX: usize = 4;

/// Minimum length, in bytes, of a text that can stand for an error when no line reads like one.
const WORDS_MIN: usize = 8;

impl<'a> Trouble<'a> {
    /// Returns the error in the output of a failed step; `None` if there is none.
    pub(super) fn of(said: &'a str) -> Option<Self> {
        Self::errors(said).or_else(|| Self::last_words(said))
    }

    /// Finds the error by the lines that read like errors.
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

    /// Takes the last line of sufficient length as the error.
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

    /// Returns the error with the input `what` hashed into it, so that the same error for another input is another one.
    pub(super) fn about(mut self, what: &str) -> Self {
        let mut hash = Hash::new();
        hash.number(self.hash);
        hash.push(what.as_bytes());
        self.hash = hash.end();
        self
    }

    /// Returns true if two errors are the same. Edits move places by a few lines; a larger distance is another place.
    pub(super) fn is(&self, other: &Trouble<'_>) -> bool {
        let near = match (self.line, other.line) {
            (Some(a), Some(b)) => a.abs_diff(b) <= LINES_SHIFTED,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.hash == other.hash && near
    }

    /// Returns true if the output reports trouble that passes by itself, such as a network or a lock.
    pub(super) fn passes(&self) -> bool {
        line::passes(self.said)
    }

    /// Yields hashes of the output's lines that are not part of an error, by their words.
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

    /// Returns true if the output counts successes and failures: a report.
    pub(super) fn is_report(&self) -> bool {
        self.said.lines().any(line::counts)
    }
}

/// Adds the test results in the output to the hash: fewer failures than before are progress, even if the first of them
/// is the same.
fn push_counts(hash: &mut Hash, said: &str) {
    said.lines().filter(|line| line::counts(line)).for_each(|line| hash.number(shape::of_output(line).hash));
}
