//! What is known of the account's limits: which windows are used up, and when they end.

use super::wire;
use crate::core::time::Timestamp;

/// A window of which so much is used is over.
const USED_UP: i64 = 100;

/// See the module's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Limits {
    primary: Option<Window>,
    secondary: Option<Window>,
    /// Which kind of limit was reached.
    pub(super) reached: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    used_percent: i64,
    resets_at: Option<Timestamp>,
}

impl Limits {
    /// Takes in an update. What it leaves out is as it was.
    pub(super) fn update(&mut self, update: &wire::RateLimits<'_>) {
        for (known, new) in [(&mut self.primary, &update.primary), (&mut self.secondary, &update.secondary)] {
            if let Some(window) = &new.0 {
                *known = Some(Window {
                    used_percent: window.used_percent.integer().unwrap_or(0),
                    resets_at: window.resets_at.integer().map(Timestamp::from_seconds),
                });
            }
        }
        if let Some(reached) = update.rate_limit_reached_type.text() {
            reached.clone_into(&mut self.reached);
        }
    }

    /// Whether any window is known.
    pub(super) const fn has_window(&self) -> bool {
        self.primary.is_some() || self.secondary.is_some()
    }

    /// When the account can be used again: the end of the last window that is used up.
    pub(super) fn resets_at(&self) -> Option<Timestamp> {
        let windows = [self.primary, self.secondary].into_iter().flatten();
        windows.filter(|window| window.used_percent >= USED_UP).filter_map(|window| window.resets_at).max()
    }
}
