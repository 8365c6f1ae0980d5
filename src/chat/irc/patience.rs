//! Timeouts and retry intervals of a network.

use std::time::Duration;

use crate::chat::absence::ABSENCE;
use crate::chat::reconnect::{BARRED, FIRST, MOST};

/// Timeouts and waits of an IRC adapter. The default is for production; tests use shorter ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Time without a line from the server after which a PING is sent.
    pub quiet: Duration,
    /// Time without an answer to the PING after which the link is given up.
    pub answer: Duration,
    /// Maximum time for the server to confirm a window of lines. Servers that throttle take 2 to 6 s; one that is
    /// thirty lines behind takes 20.
    pub flight: Duration,
    /// First wait between two connection attempts; it doubles.
    pub retry: Duration,
    /// Maximum wait between two connection attempts, as a multiple of the first.
    pub most: u32,
    /// First wait after a ban whose duration is unknown; it doubles up to an hour.
    pub barred: Duration,
    /// Minimum absence after which backlogs are shortened.
    pub absence: Duration,
    /// Wait before an adapter that failed too often, or died, is started again. The configured maximum between attempts
    /// counts if it is shorter.
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
            barred: BARRED,
            absence: ABSENCE,
            anew: Duration::from_secs(30),
        }
    }
}
