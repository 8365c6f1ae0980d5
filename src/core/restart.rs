//! Waits before a restart: OTP's restart policy as pure functions.

use std::time::Duration;

use super::policy::{Exponential, Policy};

/// Returns the wait before the next session after `failures` failed ones in a row, counted from 1. The schedule's last
/// entry repeats.
#[must_use]
pub fn session_backoff(policy: &Policy, failures: u32) -> Duration {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    policy.backoff.get(index).or(policy.backoff.last()).copied().unwrap_or_default()
}

/// Returns the wait before the next session after `crashes` process crashes in a row, counted from 1: `min(base *
/// 2^(crashes-1), cap)`.
#[must_use]
pub fn process_backoff(policy: &Policy, crashes: u32) -> Duration {
    exponential(policy.process_backoff, crashes.saturating_sub(1))
}

fn exponential(schedule: Exponential, n: u32) -> Duration {
    let factor = 1u32.checked_shl(n).unwrap_or(u32::MAX);
    schedule.base.checked_mul(factor).map_or(schedule.cap, |wait| wait.min(schedule.cap))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(waits: impl Iterator<Item = Duration>) -> Vec<u64> {
        waits.map(|wait| wait.as_secs()).collect()
    }

    #[test]
    fn the_session_schedule_is_the_contracts_and_its_last_entry_repeats() {
        let policy = Policy::default();
        let waits = seconds((1..=8).map(|n| session_backoff(&policy, n)));
        assert_eq!(waits, [10, 20, 40, 80, 300, 300, 300, 300]);
        assert_eq!(session_backoff(&policy, u32::MAX), Duration::from_secs(300));
    }

    #[test]
    fn the_process_schedule_doubles_from_one_second_up_to_its_cap() {
        let policy = Policy::default();
        let waits = seconds((1..=11).map(|n| process_backoff(&policy, n)));
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        for crashes in [31, 32, 33, 34, 64, u32::MAX] {
            assert_eq!(process_backoff(&policy, crashes), Duration::from_secs(300), "{crashes}");
        }
    }

    #[test]
    fn an_empty_schedule_waits_for_nothing_instead_of_panicking() {
        let policy = Policy { backoff: Vec::new(), ..Policy::default() };
        assert_eq!(session_backoff(&policy, 3), Duration::ZERO);
    }
}
