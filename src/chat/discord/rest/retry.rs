//! The rules of retries: which failures, after which wait, and how often.

use std::time::Duration;

/// Maximum wait between two attempts of a request.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Number of retries after an answer that is not from Discord; beyond it the caller decides.
const FOREIGN_MAX: u32 = 2;
/// Wait after the first failed attempt of a request.
const WAIT_FIRST: Duration = Duration::from_millis(200);

/// The failure of one attempt of a request, after which it may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Discord answered with 429; the rate limits know the wait.
    Limited,
    /// Discord failed with a status like 500, 502, 503 or 504. The request may have been carried out.
    Server(u16),
    /// Something between herder and Discord refused the request.
    Foreign,
    /// No connection was made, so that nothing was sent.
    Unreached,
    /// The answer was lost by a timeout or a broken connection. The request may have been carried out.
    Lost,
}

impl Failure {
    /// Returns true if the request may have been carried out although the attempt failed.
    pub(super) fn maybe_done(self) -> bool {
        match self {
            Self::Server(_) | Self::Lost => true,
            Self::Limited | Self::Foreign | Self::Unreached => false,
        }
    }
}

/// Counts the attempts of one request and decides about the next.
#[derive(Debug, Default)]
pub(super) struct Retry {
    failures: u32,
    foreign: u32,
    maybe_done: bool,
}

impl Retry {
    /// Returns the wait before the next attempt; `None` if that could carry the request out twice. `jitter` is
    /// between 0 and 1; the number of attempts is bounded by the request's timeout.
    pub(super) fn failed(&mut self, failure: Failure, repeatable: bool, jitter: f64) -> Option<Duration> {
        self.maybe_done |= failure.maybe_done();
        if self.maybe_done && !repeatable {
            return None;
        }
        if failure == Failure::Limited {
            // The limits know the wait; this is not Discord's fault.
            return Some(Duration::ZERO);
        }
        if failure == Failure::Foreign {
            self.foreign += 1;
            if self.foreign > FOREIGN_MAX {
                return None;
            }
        }
        let wait =
            WAIT_FIRST.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(WAIT_MAX);
        self.failures = self.failures.saturating_add(1).min(16);
        Some(wait.mul_f64(0.8 + 0.4 * jitter.clamp(0.0, 1.0)))
    }

    /// Returns true if one of the attempts may have succeeded.
    pub(super) fn maybe_done(&self) -> bool {
        self.maybe_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_ten_seconds() {
        let mut retry = Retry::default();
        let waits: Vec<u128> = (0..8)
            .filter_map(|_| retry.failed(Failure::Server(502), true, 0.5))
            .map(|wait| wait.as_millis())
            .collect();
        assert_eq!(waits, [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        for _ in 0..100 {
            retry.failed(Failure::Lost, true, 1.0);
        }
        assert_eq!(retry.failed(Failure::Lost, true, 1.0), Some(Duration::from_secs(12)));
    }

    #[test]
    fn what_may_have_been_done_is_repeated_only_where_that_is_the_same() {
        let table = [
            (Failure::Limited, true, true, false),
            (Failure::Limited, false, true, false),
            (Failure::Foreign, false, true, false),
            (Failure::Unreached, false, true, false),
            (Failure::Server(500), true, true, true),
            (Failure::Server(500), false, false, true),
            (Failure::Lost, true, true, true),
            (Failure::Lost, false, false, true),
        ];
        for (failure, repeatable, again, maybe_done) in table {
            let mut retry = Retry::default();
            assert_eq!(retry.failed(failure, repeatable, 0.5).is_some(), again, "{failure:?} {repeatable}");
            assert_eq!(retry.maybe_done(), maybe_done, "{failure:?} {repeatable}");
        }
        // A 429 after a lost answer does not prove that nothing was done.
        let mut retry = Retry::default();
        assert!(retry.failed(Failure::Lost, true, 0.5).is_some());
        assert_eq!(retry.failed(Failure::Limited, false, 0.5), None);
    }

    #[test]
    fn what_is_not_from_discord_is_asked_for_a_few_times() {
        let mut retry = Retry::default();
        let again: Vec<bool> = (0..4).map(|_| retry.failed(Failure::Foreign, true, 0.5).is_some()).collect();
        assert_eq!(again, [true, true, false, false]);
    }
}
