//! How long a network is waited for.

use std::time::Duration;

use crate::chat::reconnect::{FIRST, MOST};

/// What herder runs with is the default; tests have less time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Silence before the server is asked for a sign of life.
    pub quiet: Duration,
    /// Silence after it was asked before the link is given up.
    pub answer: Duration,
    /// How long a window of lines may be on its way. Servers that brake take 2 to 6 s; one that is thirty lines behind
    /// takes 20.
    pub flight: Duration,
    /// The first wait between two attempts to connect; it doubles.
    pub retry: Duration,
    /// The longest wait, in first ones.
    pub most: u32,
    /// Between an adapter that failed too often, or died, and its successor: the longest wait between two attempts, since
    /// there were too many. Where the configuration has a shorter one, that counts.
    pub anew: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(60),
            answer: Duration::from_secs(30),
            flight: Duration::from_secs(60),
            retry: FIRST,
            most: MOST,
            anew: Duration::from_secs(30),
        }
    }
}
