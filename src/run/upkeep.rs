//! What has to be done now and then: a sign of life, retention, the daily export, the warning before the disk is full.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{Fuse, FusedFuture as _};
use tokio::time::Instant;
use tracing::{debug, error, warn};

use crate::clock;
use crate::core::notice::Notice;
use crate::journal::{Journal, NoRoom};
use crate::supervisor::Fleet;

/// How often the journal is given a sign of life, so that a start after a kill can say since when herder was away.
const LIVE: Duration = Duration::from_secs(60);

/// How often retention and export are looked at.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// Looks after the journal, until dropped.
pub(super) async fn run(journal: Journal, fleet: Fleet) {
    let mut free = journal.disk_low();
    let mut warned = false;
    let mut next = Instant::now();
    let mut live = Instant::now() + LIVE;
    let mut left_out = false;
    // Beside everything else: it reads and writes files, and takes as long as the disk does.
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
                match done {
                    Ok(done) => {
                        debug!(?done, "the journal was looked after");
                        if let Some(NoRoom { needed, free }) = done.no_room
                            && !left_out
                        {
                            warn!(needed, free, "archives or the daily export are left out");
                            fleet.alert(Notice::UpkeepLeftOut { needed_bytes: needed, free_bytes: free }).await;
                        }
                        left_out = done.no_room.is_some();
                    }
                    Err(reason) => error!(%reason, "the journal's upkeep failed; it is tried again"),
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
