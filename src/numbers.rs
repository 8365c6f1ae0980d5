//! Counters and histograms of this run, for `/metrics`.
//!
//! Counting is an atomic addition; reading takes no lock that a decision or a commit waits for. Counts of journal entries
//! are in [`crate::journal::Tally`] and go on over restarts; these begin at 0.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::core::id::{AccountName, NetworkName};
use crate::core::outcome::Category;

/// Upper bounds of what a commit or a command takes, in seconds.
const LATENCIES: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Upper bounds of how long a session runs, in seconds: from one that fails at once to one of eight hours.
const SESSIONS: &[f64] = &[1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 28800.0];

/// A histogram of durations with fixed bounds.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    /// One more than there are bounds.
    buckets: Box<[AtomicU64]>,
    micros: AtomicU64,
}

/// A histogram as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// Each upper bound with the count of its own bucket; the last bound is `f64::INFINITY`.
    pub buckets: Vec<(f64, u64)>,
    /// All of them.
    pub count: u64,
    /// The sum in seconds.
    pub sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, micros: AtomicU64::new(0) }
    }

    /// Counts one duration.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let index = self.bounds.partition_point(|bound| *bound < seconds);
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if let Some(bucket) = self.buckets.get(index) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// All counts.
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

/// Counts by a label whose values are not known before.
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
    /// Adds to a count; the first time of a key also notes that it is there.
    pub fn add(&self, key: &K, more: u64) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        let count = known.unwrap_or_else(|| {
            let mut counts = self.0.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(counts.entry(key.clone()).or_default())
        });
        count.fetch_add(more, Ordering::Relaxed);
    }

    /// One count.
    #[must_use]
    pub fn get(&self, key: &K) -> u64 {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counts.get(key).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// All counts, by key.
    #[must_use]
    pub fn read(&self) -> Vec<(K, u64)> {
        let counts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(key, count)| (key.clone(), count.load(Ordering::Relaxed))).collect()
    }
}

/// Why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unheard {
    /// As things were it could not be.
    Refused,
    /// The author lacks the role for it.
    Denied,
}

/// The numbers of one herder.
#[derive(Debug)]
pub struct Numbers {
    /// Time until a command is answered.
    pub command_seconds: Histogram,
    /// Time of a group of commits until it is on the disk.
    pub commit_seconds: Histogram,
    /// Duration of sessions.
    pub session_seconds: Histogram,
    /// Commands that were not carried out, by command and network.
    pub unheard: Counts<(&'static str, NetworkName, Unheard)>,
    /// Networks that were up once more after they had been lost.
    pub reconnects: Counts<NetworkName>,
    /// Requests that Discord answered with "too many".
    pub ratelimited: AtomicU64,
    /// Tries of webhooks that failed, by endpoint.
    pub webhook_failures: Counts<NetworkName>,
    /// Bytes of the database, as they were last seen.
    pub journal_bytes: AtomicU64,
    /// Free bytes of its disk, as they were last seen.
    pub disk_free_bytes: AtomicU64,
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
            closed: RwLock::default(),
        }
    }
}

impl Numbers {
    /// Publishes which accounts are closed, and why.
    pub fn set_closed(&self, accounts: BTreeMap<AccountName, Category>) {
        *self.closed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(accounts);
    }

    /// The accounts that are closed, and why.
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
