//! Periodic work: a sign of life, retention, the daily export, the warning before the disk is full.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Fuse, FusedFuture as _};
use tokio::time::Instant;
use tracing::{debug, error, warn};

use crate::clock;
use crate::core::notice::Notice;
use crate::journal::{ExportError, Journal, MaintainError, Maintained, NoRoom, Span, listed};
use crate::supervisor::Fleet;

/// Interval at which a sign of life is written to the journal. After a kill it tells the next herder how long herder
/// was away.
const LIVE: Duration = Duration::from_secs(60);

/// Interval of the journal's maintenance: retention of old events and the daily export.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// Problems of the journal's maintenance that were already reported, so that each is reported once until it is solved.
#[derive(Debug, Default)]
struct Troubles {
    left_out: bool,
    failed: bool,
    lacks: Vec<Span>,
}

impl Troubles {
    /// Returns the notice to post after one run of the maintenance; `None` if there is no new problem.
    fn after(&mut self, done: &Result<Maintained, MaintainError>) -> Option<Notice> {
        match done {
            Ok(done) => {
                debug!(?done, "the journal was looked after");
                self.failed = false;
                if let Some(notice) = self.lacking(&done.lacks) {
                    return Some(notice);
                }
                let told = std::mem::replace(&mut self.left_out, done.no_room.is_some());
                let NoRoom { needed, free } = done.no_room.filter(|_| !told)?;
                warn!(needed, free, "archives or the daily export are left out");
                Some(Notice::UpkeepLeftOut { needed_bytes: needed, free_bytes: free })
            }
            Err(reason) => {
                error!(%reason, "the journal's upkeep failed; it is tried again");
                match reason {
                    // A journal that cannot be written ends herder, which is reported elsewhere.
                    MaintainError::Commit(_) | MaintainError::Export(ExportError::Commit(_)) => None,
                    MaintainError::Read(_) | MaintainError::Export(_) => {
                        let told = std::mem::replace(&mut self.failed, true);
                        (!told).then(|| Notice::UpkeepFailed { reason: reason.to_string() })
                    }
                }
            }
        }
    }

    /// Returns the notice about events that no archive has; `None` if all of `lacks` were reported before.
    fn lacking(&mut self, lacks: &[Span]) -> Option<Notice> {
        if lacks.iter().all(|span| self.lacks.contains(span)) {
            return None;
        }
        self.lacks = lacks.to_vec();
        let events = listed(lacks);
        error!(events, "events of the journal are in no archive that can be read");
        Some(Notice::EventsMissing { events })
    }
}

/// Maintains the journal until dropped: signs of life, retention, daily export, and the warning before the disk is
/// full.
pub(super) async fn run(journal: Journal, fleet: Fleet) {
    let mut free = journal.disk_low();
    let mut warned = false;
    let mut next = Instant::now();
    let mut live = Instant::now() + LIVE;
    let mut troubles = Troubles::default();
    // It runs beside everything else, because it takes as long as the disk does.
    let mut maintaining = pin!(Fuse::terminated());
    loop {
        let low = *free.borrow_and_update();
        if let Some(free_bytes) = low
            && !warned
        {
            warn!(free_bytes, "the disk is getting full");
            fleet.alert(Notice::DiskLow { free_bytes }).await;
        }
        warned = low.is_some();
        tokio::select! {
            () = tokio::time::sleep_until(next), if maintaining.is_terminated() => {
                maintaining.set(journal.maintain(clock::now()).fuse());
            }
            done = &mut maintaining, if !maintaining.is_terminated() => {
                next = Instant::now() + EVERY;
                prune_files(&fleet).await;
                if let Some(notice) = troubles.after(&done) {
                    fleet.alert(notice).await;
                }
            }
            () = tokio::time::sleep_until(live) => {
                live = Instant::now() + LIVE;
                if let Err(reason) = journal.live(clock::now()).await {
                    error!(%reason, "a sign of life could not be noted");
                }
            }
            changed = free.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

/// Removes files that no work names any more.
async fn prune_files(fleet: &Fleet) {
    let (fleet, now) = (fleet.clone(), clock::now());
    let pruned = tokio::task::spawn_blocking(move || fleet.files().prune(now, || fleet.named_files()));
    match pruned.await {
        Ok(Ok(0)) => {}
        Ok(Ok(files)) => debug!(files, "files that nothing names were removed"),
        Ok(Err(reason)) => warn!(%reason, "files that nothing names stay"),
        Err(reason) => warn!(%reason, "files that nothing names stay"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{CommitError, ReadError};

    #[test]
    fn events_that_are_missed_are_told_once_and_further_ones_with_them() {
        let lacks = |spans: &[(u64, u64)]| {
            let lacks = spans.iter().map(|(first, last)| Span { first: *first, last: *last }).collect();
            Ok(Maintained { lacks, ..Maintained::default() })
        };
        let mut troubles = Troubles::default();
        let mut told = |spans: &[(u64, u64)]| match troubles.after(&lacks(spans)) {
            Some(Notice::EventsMissing { events }) => Some(events),
            Some(other) => panic!("{other:?}"),
            None => None,
        };
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[(1, 9)]).as_deref(), Some("1-9"));
        assert_eq!(told(&[(1, 9)]), None);
        assert_eq!(told(&[(1, 9), (20, 20)]).as_deref(), Some("1-9, 20"));
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn a_trouble_is_told_once_until_it_is_over() {
        let damaged = || {
            let (file, why) = ("/data/archive/1-9.jsonl.gz".into(), "line 3: damaged".to_owned());
            Err(MaintainError::Read(ReadError::Archive { file, why }))
        };
        let short =
            || Ok(Maintained { no_room: Some(NoRoom { needed: 9, free: 5 }), ..Maintained::default() });
        let well = || Ok(Maintained::default());
        let ended = || Err(MaintainError::Commit(CommitError::Closed));
        let mut troubles = Troubles::default();
        let told: Vec<&str> = [
            damaged(),
            damaged(),
            ended(),
            damaged(),
            well(),
            damaged(),
            short(),
            short(),
            damaged(),
            well(),
            short(),
            ended(),
        ]
        .iter()
        .map(|done| match troubles.after(done) {
            Some(Notice::UpkeepFailed { reason }) => {
                assert_eq!(reason, "the archive /data/archive/1-9.jsonl.gz cannot be read: line 3: damaged");
                "failed"
            }
            Some(Notice::UpkeepLeftOut { .. }) => "left out",
            Some(other) => panic!("{other:?}"),
            None => "-",
        })
        .collect();
        let expected =
            ["failed", "-", "-", "-", "-", "failed", "left out", "-", "failed", "-", "left out", "-"];
        assert_eq!(told, expected);
    }
}
