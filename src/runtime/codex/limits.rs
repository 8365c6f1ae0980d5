//! The known usage limits of the account: which windows are used up, and when they end.

use std::collections::BTreeMap;

use super::wire;
use crate::core::time::Timestamp;
use crate::runtime::text::bounded;

/// Share of a limit's window from which it counts as used up, in percent.
const USED_UP: i64 = 100;

/// Name of the limit in updates that do not name it.
const USUAL: &str = "codex";

/// Maximum number of limits that are stored; an account has one or two.
const LIMITS_MAX: usize = 16;

/// Maximum length of a limit's name, in bytes.
const NAME_MAX: usize = 100;

/// The known usage limits of the account, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Limits {
    known: BTreeMap<String, Limit>,
    /// Kind of the limit that was reached last; empty if none was.
    pub(super) reached: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Limit {
    primary: Option<Window>,
    secondary: Option<Window>,
    reached: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    used_percent: i64,
    resets_at: Option<Timestamp>,
}

impl Limits {
    /// Handles an update about a limit. Omitted fields keep their values.
    pub(super) fn update(&mut self, update: &wire::RateLimits<'_>) {
        let name = bounded(update.limit_id.text().unwrap_or(USUAL), NAME_MAX);
        if self.known.len() >= LIMITS_MAX && !self.known.contains_key(name) {
            return;
        }
        let limit = self.known.entry(name.to_owned()).or_default();
        for (known, new) in [(&mut limit.primary, &update.primary), (&mut limit.secondary, &update.secondary)]
        {
            if let Some(window) = &new.0 {
                *known = Some(Window {
                    used_percent: window.used_percent.integer().unwrap_or(0),
                    resets_at: window.resets_at.integer().map(Timestamp::from_seconds),
                });
            }
        }
        if let Some(reached) = update.rate_limit_reached_type.text() {
            limit.reached = true;
            reached.clone_into(&mut self.reached);
        }
    }

    /// Returns true if the use of any limit's window is known.
    pub(super) fn has_window(&self) -> bool {
        self.known.values().any(|limit| limit.primary.is_some() || limit.secondary.is_some())
    }

    /// Returns the time at which the account can be used again: the end of the limit that was reached; otherwise of
    /// the usual one; otherwise of any that is used up.
    pub(super) fn resets_at(&self) -> Option<Timestamp> {
        let reached = self.known.values().filter(|limit| limit.reached).filter_map(Limit::resets_at).max();
        let usual = || self.known.get(USUAL).and_then(Limit::resets_at);
        reached.or_else(usual).or_else(|| self.known.values().filter_map(Limit::resets_at).max())
    }
}

impl Limit {
    /// Returns the end of the last window that is used up.
    fn resets_at(&self) -> Option<Timestamp> {
        let windows = [self.primary, self.secondary].into_iter().flatten();
        windows.filter(|window| window.used_percent >= USED_UP).filter_map(|window| window.resets_at).max()
    }
}
