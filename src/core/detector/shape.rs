//! Decides when two texts count as the same: a hash of a text without the parts that differ from run to run.
//!
//! Durations, clock times, ids, addresses and the random parts of temporary paths are left out; counts stay, since "3
//! failed" after "5 failed" is progress. Places in files (`a.rs:10:5`) are left out of the hash and returned beside
//! it.

use std::borrow::Cow;

/// A hash of texts, FNV-1a with 64 bits. Collisions do little harm: one causes at most a wrong whisper to the agent
/// that made it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn number(&mut self, number: u64) {
        self.push(&number.to_le_bytes());
    }

    pub(super) const fn end(self) -> u64 {
        self.0
    }
}

/// The comparable part of a program's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Hash of the text without the parts that differ from run to run, such as times and ids.
    pub(super) hash: u64,
    /// Number of the line in the first place (such as `a.rs:10:5`) that the text names.
    pub(super) line: Option<u32>,
}

/// Byte that is hashed in place of a part that differs from run to run.
const VARIES: &[u8] = b"\x01";

/// Computes the comparable part of a program's output.
pub(super) fn of_output(text: &str) -> Shape {
    let mut hash = Hash::new();
    let mut line = None;
    let mut after_line = false;
    let text = plain(text);
    let mut words = text.split_whitespace().map(bare).filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        hash.push(b" ");
        if is_number(word) {
            let place = after_line.then(|| word.parse().ok()).flatten();
            line = line.or(place);
            let varies = place.is_some()
                || digits(word) >= 5
                || words.peek().is_some_and(|unit| is_unit(unit) || is_long_unit(unit));
            hash.push(if varies { VARIES } else { word.as_bytes() });
        } else {
            one(&mut hash, &mut line, word);
        }
        after_line = matches!(word, "line" | "Line" | "col" | "column" | "pid" | "PID");
    }
    Shape { hash: hash.end(), line }
}

/// Removes a terminal's colour sequences.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let sequence = part.strip_prefix('[').unwrap_or(part);
        plain.push_str(sequence.find(|c: char| c.is_ascii_alphabetic()).map_or("", |at| &sequence[at + 1..]));
    }
    Cow::Owned(plain)
}

/// Hashes a word of a command line, without values that are made up for the moment.
pub(super) fn of_argument(hash: &mut Hash, word: &str) {
    hash.push(b" ");
    if is_temporary(word) {
        path(hash, word);
    } else if is_moment(word) || (is_number(word) && digits(word) >= 9) {
        hash.push(VARIES);
    } else {
        hash.push(word.as_bytes());
    }
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| c.is_control() || "()[]{}<>,;:\"'`!.|│".contains(c))
}

fn digits(word: &str) -> usize {
    word.bytes().filter(u8::is_ascii_digit).count()
}

/// Returns true for numbers such as `12`, `1,234`, `0.35`, `45%`.
fn is_number(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_'))
}

fn is_unit(word: &str) -> bool {
    matches!(word, "s" | "ms" | "us" | "µs" | "ns" | "m" | "h" | "sec" | "secs" | "min" | "mins" | "d")
}

fn is_long_unit(word: &str) -> bool {
    matches!(word, "second" | "seconds" | "milliseconds" | "minute" | "minutes" | "hour" | "hours")
}

/// Returns true for durations such as `0.35s`, `1m23s`, `120ms`.
fn is_duration(word: &str) -> bool {
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let mut units = word.split(|c: char| c.is_ascii_digit() || c == '.').filter(|unit| !unit.is_empty());
    units.clone().next().is_some() && units.all(is_unit)
}

/// Returns true for points in time such as `12:30:05`, `2026-03-01`, `2026-03-01T12:30:05.123Z`.
fn is_moment(word: &str) -> bool {
    let separators = word.bytes().filter(|b| matches!(b, b':' | b'-' | b'/')).count();
    separators >= 2
        && digits(word) >= 4
        && word
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b':' | b'-' | b'/' | b'.' | b',' | b'T' | b'Z' | b'+'))
}

/// Returns true for ids such as `0x7ffe…`, `3f9a2c1`, `550e8400-e29b-…`.
fn is_id(word: &str) -> bool {
    let hex = word.strip_prefix("0x").unwrap_or(word);
    let marked = hex.len() < word.len() && hex.len() >= 4;
    (marked || (hex.len() >= 7 && digits(hex) > 0 && digits(hex) < hex.len()))
        && hex.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn is_temporary(word: &str) -> bool {
    ["/tmp/", "/var/tmp/", "/var/folders/", "/private/var/"].iter().any(|start| word.starts_with(start))
}

/// Hashes a path without its random parts.
fn path(hash: &mut Hash, path: &str) {
    for part in path.split('/') {
        hash.push(b"/");
        let random = digits(part) > 0 || part.starts_with("tmp") || part.starts_with('.');
        // The extension is kept: a script is no log.
        let extension = part.rsplit_once('.').map_or("", |(_, extension)| extension);
        if random && part != "tmp" {
            hash.push(VARIES);
            if digits(extension) == 0 {
                hash.push(extension.as_bytes());
            }
        } else {
            hash.push(part.as_bytes());
        }
    }
}

/// Hashes a word of an output, other than a plain number, without the parts that differ from run to run; `line` becomes
/// the first line number found.
fn one(hash: &mut Hash, line: &mut Option<u32>, word: &str) {
    if is_duration(word) || is_moment(word) || is_id(word) {
        hash.push(VARIES);
    } else if is_temporary(word) {
        path(hash, word);
    } else if let Some((file, number, rest)) = place(word) {
        *line = line.or(Some(number));
        without_long_numbers(hash, file);
        hash.push(VARIES);
        hash.push(rest.as_bytes());
    } else if let Some((name, value)) = word.split_once('=') {
        hash.push(name.as_bytes());
        hash.push(b"=");
        let value = bare(value);
        if is_number(value) {
            hash.push(if digits(value) >= 5 { VARIES } else { value.as_bytes() });
        } else if !value.contains('=') {
            one(hash, line, value);
        } else {
            hash.push(value.as_bytes());
        }
    } else {
        without_long_numbers(hash, word);
    }
}

/// Splits a place such as `src/a.rs:10:5` or `a.ts(12,5)` into the file, the line and the rest.
fn place(word: &str) -> Option<(&str, u32, &str)> {
    let at = word.find([':', '('])?;
    let (file, rest) = (&word[..at], &word[at + 1..]);
    if !file.contains(['.', '/']) {
        return None;
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..end].parse().ok()?;
    let tail = rest[end..].trim_start_matches(|c: char| c.is_ascii_digit() || ":,)".contains(c));
    Some((file, number, tail))
}

/// Hashes a word without long numbers: ids of threads, processes and requests.
fn without_long_numbers(hash: &mut Hash, word: &str) {
    let mut rest = word;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| at + end);
        hash.push(&rest.as_bytes()[..at]);
        hash.push(if end - at >= 5 { VARIES } else { &rest.as_bytes()[at..end] });
        rest = &rest[end..];
    }
    hash.push(rest.as_bytes());
}

/// Returns the words of a text as sorted numbers, for [`likeness`]. Text in a script without spaces is split into
/// characters.
pub(super) fn words(text: &str) -> Vec<u32> {
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.is_ascii() {
            let mut hash = Hash::new();
            if word.starts_with(|c: char| c.is_ascii_digit()) {
                hash.push(VARIES);
            } else {
                word.bytes().for_each(|byte| hash.push(&[byte.to_ascii_lowercase()]));
            }
            words.push(fold(hash.end()));
        } else if word.chars().any(|c| c >= '\u{2e80}') {
            words.extend(word.chars().map(u32::from));
        } else {
            let mut hash = Hash::new();
            hash.push(word.as_bytes());
            words.push(fold(hash.end()));
        }
    }
    words.sort_unstable();
    words
}

#[expect(clippy::cast_possible_truncation, reason = "both halves of the hash are folded into one")]
const fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// Returns how much two sorted lists have in common, in percent of the length of both.
pub(super) fn likeness(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        common += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    (200 * common).checked_div(a.len() + b.len()).unwrap_or(0)
}
