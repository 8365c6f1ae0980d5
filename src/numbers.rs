//! Counters and histograms of this run, for `/metrics`.
//!
//! Counting is an atomic addition; reading takes no lock that a decision or a commit waits for. Counts of journal entries
//! are in [`crate::journal::Tally`] and go on over restarts; these begin at 0.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::clock::busy::Busy;
use crate::core::id::{AccountName, NetworkName};
use crate::core::outcome::Category;

/// Upper bounds of the buckets for the durations of commits and commands, in seconds.
const LATENCIES: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Upper bounds of the buckets for the durations of sessions, in seconds: from one that fails at once to one of eight
/// hours.
const SESSIONS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0];

/// Maximum duration of a group of commits, and of a message that the root supervisor handles; after a longer one
/// `/readyz` names the part.
const STUCK_AFTER: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

/// A histogram of durations with fixed buckets, filled by atomic additions.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// Number of durations in each bucket; the last bucket has those above all bounds.
    buckets: Box<[AtomicU64]>,
    micros: AtomicU64,
}

/// The content of a histogram at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Upper bound of each bucket in seconds, with the number of durations in the bucket alone; the last bound is
    /// `f64::INFINITY`.
    pub buckets: Vec<(f64, u64)>,
    /// Number of all durations.
    pub count: u64,
    /// Sum of all durations, in seconds.
    pub sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, micros: AtomicU64::new(0) }
    }

    /// Adds one duration to its bucket.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let index = self.bounds.partition_point(|bound| *bound < seconds);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if let Some(bucket) = self.buckets.get(index) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the present content of the histogram.
    #[must_use]
    pub fn read(&self) -> Distribution {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> =
            bounds.zip(self.buckets.iter().map(|count| count.load(Ordering::Relaxed))).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64();
        Distribution { buckets, count, sum }
    }
}

/// Counters by a label whose values are not known in advance.
pub struct Counts<K>(RwLock<BTreeMap<K, Arc<AtomicU64>>>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K> fmt::Debug for Counts<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").finish_non_exhaustive()
    }
}

impl<K: Ord + Clone> Counts<K> {
    /// Adds `more` to the counter of a key; the counter is created if it is missing, also with 0.
    pub fn add(&self, key: &K, more: u64) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        let count = known.unwrap_or_else(|| {
            let mut counts = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(counts.entry(key.clone()).or_default())
        });
        count.fetch_add(more, Ordering::Relaxed);
    }

    /// Returns the counter of a key; 0 if it is missing.
    #[must_use]
    pub fn get(&self, key: &K) -> u64 {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counts.get(key).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Returns all counters with their keys.
    #[must_use]
    pub fn read(&self) -> Vec<(K, u64)> {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(key, count)| (key.clone(), count.load(Ordering::Relaxed))).collect()
    }
}

/// The reason why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unheard {
    /// The command could not be carried out in the present state.
    Refused,
    /// The author lacks the role for the command.
    Denied,
}

/// The counters and histograms of one run of herder, for `/metrics`.
#[derive(Debug)]
pub struct Numbers {
    /// Time from a command to its reply.
    pub command_seconds: Histogram,
    /// Time until a group of commits is on disk.
    pub commit_seconds: Histogram,
    /// Duration of sessions, in seconds.
    pub session_seconds: Histogram,
    /// Number of commands that were not carried out, by command, network and reason.
    pub unheard: Counts<(&'static str, NetworkName, Unheard)>,
    /// Number of times that a network was connected again after it had been lost.
    pub reconnects: Counts<NetworkName>,
    /// Number of requests that Discord answered with "too many requests".
    pub ratelimited: AtomicU64,
    /// Number of failed attempts to deliver an event, by webhook.
    pub webhook_failures: Counts<NetworkName>,
    /// Size of the database in bytes, as last measured.
    pub journal_bytes: AtomicU64,
    /// Free space on the database's disk in bytes, as last measured.
    pub disk_free_bytes: AtomicU64,
    /// The journal's writer at work.
    pub writer: Busy,
    /// The root supervisor at work.
    pub root: Busy,
    closed: RwLock<Arc<BTreeMap<AccountName, Category>>>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            command_seconds: Histogram::new(LATENCIES),
            commit_seconds: Histogram::new(LATENCIES),
            session_seconds: Histogram::new(SESSIONS),
            unheard: Counts::default(),
            reconnects: Counts::default(),
            ratelimited: AtomicU64::new(0),
            webhook_failures: Counts::default(),
            journal_bytes: AtomicU64::new(0),
            disk_free_bytes: AtomicU64::new(0),
            writer: Busy::new(STUCK_AFTER.0),
            root: Busy::new(STUCK_AFTER.1),
            closed: RwLock::default(),
        }
    }
}

impl Numbers {
    /// Replaces the list of closed accounts and the reasons why they are closed.
    pub fn set_closed(&self, accounts: BTreeMap<AccountName, Category>) {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(accounts);
    }

    /// Returns the closed accounts, each with the reason why it is closed.
    #[must_use]
    pub fn closed(&self) -> Arc<BTreeMap<AccountName, Category>> {
        Arc::clone(&self.closed.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_holds_it() {
        let histogram = Histogram::new(LATENCIES);
        for millis in [0, 1, 2, 10_000, 10_001, 3_600_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let read = histogram.read();
        let filled: Vec<(f64, u64)> = read.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
        assert_eq!(filled, [(0.0005, 1), (0.001, 1), (0.0025, 1), (10.0, 1), (f64::INFINITY, 2)]);
        assert_eq!((read.count, read.sum), (6, 3_620.004));
    }

    #[test]
    fn a_count_begins_with_its_first_addition() {
        let counts = Counts::default();
        assert_eq!((counts.get(&"a"), counts.read()), (0, Vec::new()));
        counts.add(&"b", 1);
        counts.add(&"a", 2);
        counts.add(&"b", 3);
        assert_eq!(counts.read(), [("a", 2), ("b", 4)]);
    }
}
