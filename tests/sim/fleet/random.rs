//! Randomness that a seed alone decides.

use std::time::Duration;

/// SplitMix64: small, fast, and the same everywhere.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates a generator from a seed and the numbers that tell it from others of that seed.
    pub(crate) fn new(seed: u64, of: &[u64]) -> Self {
        let mut random = Self(seed ^ 0x5EED_0F1E_E700);
        for part in of {
            random.0 = random.next() ^ part;
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let span = u64::try_from((to - from).as_millis()).expect("not that long");
        from + Duration::from_millis(self.below(span + 1))
    }

    /// Draws true in about `part` of `of` cases.
    pub(crate) fn is(&mut self, part: u64, of: u64) -> bool {
        self.below(of) < part
    }

    /// Draws a time around `mean`, never twice the same: from nothing to twice as long.
    pub(crate) fn around(&mut self, mean: Duration) -> Duration {
        self.between(Duration::from_millis(1), mean * 2)
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("an index")
    }

    /// Returns one of them.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.index(of.len())) }
    }

    /// Draws an index by weights.
    pub(crate) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight {
                return at;
            }
            left -= weight;
        }
        0
    }
}
