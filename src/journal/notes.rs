//! Notes of the journal about itself: memos under `journal/`, which networks never see and exports contain.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::layout::{Last, Tree, Trees};
use super::{MEMO_MAX, Memo};

/// Prefix of the keys of the journal's own memos.
pub(super) const PREFIX: &str = "journal/";

/// Key of the memo about archives that were set aside, until people are told. It concerns this folder, so that exports
/// lack it.
pub(super) const ASIDE: &str = "journal/aside";

/// Key of the memo about events that are missing and must not be reported again.
pub(super) const SKIPPED: &str = "journal/skipped";

/// Key of the memo about the versions of herder that wrote the journal.
const VERSIONS: &str = "journal/versions";

/// Maximum number of versions that are remembered: years of updates, in one value.
const VERSIONS_MAX: usize = 40;

/// A range of event numbers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// Number of the first event.
    pub first: u64,
    /// Number of the last event.
    pub last: u64,
}

impl Span {
    pub(super) fn meets(&self, first: u64, last: u64) -> bool {
        self.first <= last && first <= self.last
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(f, "{}", self.first),
            false => write!(f, "{}-{}", self.first, self.last),
        }
    }
}

/// Formats ranges of event numbers for people; of many only the first.
#[must_use]
pub fn listed(spans: &[Span]) -> String {
    const MOST: usize = 8;
    let mut text: Vec<String> = spans.iter().take(MOST).map(Span::to_string).collect();
    text.extend((spans.len() > MOST).then(|| "…".to_owned()));
    text.join(", ")
}

/// Returns the parts of `spans` that are in none of `known`. Both are in order.
pub(super) fn without(spans: Vec<Span>, known: &[Span]) -> Vec<Span> {
    let mut left = spans;
    for it in known {
        left = left
            .into_iter()
            .flat_map(|span| {
                let before = Span { first: span.first, last: span.last.min(it.first.saturating_sub(1)) };
                let after = Span { first: span.first.max(it.last.saturating_add(1)), last: span.last };
                [before, after]
            })
            .filter(|span| span.first <= span.last)
            .collect();
        left.dedup();
    }
    left
}

/// A finder of gaps in an ascending sequence of event numbers.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    last: u64,
    pub(super) found: Vec<Span>,
}

impl Gaps {
    /// Records the next existing number.
    pub(super) fn at(&mut self, seq: u64) {
        if seq > self.last + 1 {
            self.found.push(Span { first: self.last + 1, last: seq - 1 });
        }
        self.last = self.last.max(seq);
    }

    /// Records the end of the sequence: all numbers up to `last` should have come.
    pub(super) fn end(&mut self, last: u64) {
        self.at(last.saturating_add(1));
    }
}

/// A version of herder, with the last event and the last post before it began to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    version: String,
    event: u64,
    post: u64,
}

/// The versions of herder that wrote a journal, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Versions(Vec<Written>);

impl Versions {
    pub(super) fn read(trees: &Trees) -> sled::Result<Self> {
        read(trees, VERSIONS)
    }

    /// Records that `version` writes from here on. Returns the memo to store; `None` if it wrote before.
    pub(super) fn begins(&mut self, version: &str, last: Last) -> Option<Memo> {
        if self.0.last().is_some_and(|written| written.version == version) {
            return None;
        }
        self.0.push(Written { version: version.to_owned(), event: last.seq, post: last.post });
        self.0.drain(..self.0.len().saturating_sub(VERSIONS_MAX));
        Some(memo(VERSIONS, self))
    }

    /// Returns the version that wrote an event; `None` if it is not known.
    pub(super) fn of_event(&self, seq: u64) -> Option<&str> {
        self.0.iter().rev().find(|written| written.event < seq).map(|written| &*written.version)
    }

    /// Returns the version that wrote a post; `None` if it is not known.
    pub(super) fn of_post(&self, id: u64) -> Option<&str> {
        self.0.iter().rev().find(|written| written.post < id).map(|written| &*written.version)
    }
}

/// Reads one of the journal's own memos; the default if it is missing or invalid.
pub(super) fn read<T: DeserializeOwned + Default>(trees: &Trees, key: &str) -> sled::Result<T> {
    let Some(text) = trees.get(Tree::Memos).get(key)? else { return Ok(T::default()) };
    Ok(serde_json::from_slice(&text).unwrap_or_else(|error| {
        tracing::warn!(key, %error, "a note of the journal about itself cannot be read");
        T::default()
    }))
}

/// Builds one of the journal's own memos. A value that is too long is dropped: these memos are only a convenience.
pub(super) fn memo<T: Serialize>(key: &str, value: &T) -> Memo {
    let text = serde_json::to_string(value).ok().filter(|text| text.len() <= MEMO_MAX);
    Memo { key: key.to_owned(), value: text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, last: u64) -> Span {
        Span { first, last }
    }

    #[test]
    fn gaps_are_what_is_left_out_before_between_and_behind() {
        let mut gaps = Gaps::default();
        [3, 4, 7, 8].into_iter().for_each(|seq| gaps.at(seq));
        gaps.end(9);
        assert_eq!(gaps.found, [span(1, 2), span(5, 6), span(9, 9)]);
        assert_eq!(listed(&gaps.found), "1-2, 5-6, 9");
    }

    #[test]
    fn known_spans_are_taken_out_of_others() {
        let known = [span(3, 5), span(8, 8), span(20, 30)];
        let left = without(vec![span(1, 10), span(20, 30), span(40, 41)], &known);
        assert_eq!(left, [span(1, 2), span(6, 7), span(9, 10), span(40, 41)]);
    }

    #[test]
    fn the_version_that_wrote_something_is_the_last_that_began_before_it() {
        let mut versions = Versions::default();
        let last = |seq, post| Last { seq, post, ..Last::default() };
        assert!(versions.begins("1.0.0", last(0, 0)).is_some());
        assert_eq!(versions.begins("1.0.0", last(5, 5)), None);
        assert!(versions.begins("1.1.0", last(10, 2)).is_some());
        assert_eq!((versions.of_event(10), versions.of_event(11)), (Some("1.0.0"), Some("1.1.0")));
        assert_eq!((versions.of_post(2), versions.of_post(3)), (Some("1.0.0"), Some("1.1.0")));
        assert_eq!(versions.of_event(0), None);
    }
}
