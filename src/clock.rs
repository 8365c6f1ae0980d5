//! The wall clock: the one place that reads it. Everything else is given a [`Timestamp`].

use std::time::{SystemTime, UNIX_EPOCH};

use crate::core::time::Timestamp;

/// Now.
#[must_use]
pub fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
