//! Retention of the history, as configured.

use std::path::PathBuf;
use std::time::Duration;

/// Limits on the history that is kept in the database; older events move to archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Age from which events move to archives.
    pub keep: Duration,
    /// Number of events beyond which older ones move to archives.
    pub keep_events: u64,
    /// True if an export is written every day.
    pub daily_export: bool,
    /// A second folder to which the daily export is copied, if there is one.
    pub export_copy: Option<PathBuf>,
    /// Free disk space below which a warning is posted, in bytes.
    pub warn_free: u64,
}

impl Default for History {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 24 * 3600),
            keep_events: 500_000,
            daily_export: true,
            export_copy: None,
            warn_free: 1_000_000_000,
        }
    }
}
