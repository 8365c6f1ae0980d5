//! What has to be done now and then: retention, the daily export, the warning before the disk is full.

use std::time::Duration;

use tracing::{debug, error, warn};

use crate::clock;
use crate::core::notice::Notice;
use crate::journal::Journal;
use crate::supervisor::Fleet;

/// How often retention, export and disk are looked at.
const EVERY: Duration = Duration::from_secs(10 * 60);

/// Looks after the journal, until dropped.
pub(super) async fn run(journal: Journal, fleet: Fleet) {
    let mut warned = false;
    loop {
        match journal.maintain(clock::now()).await {
            Ok(done) => debug!(?done, "the journal was looked after"),
            Err(reason) => error!(%reason, "the journal's upkeep failed; it is tried again"),
        }
        let low = *journal.disk_low().borrow();
        match low {
            Some(free_bytes) if !warned => {
                warn!(free_bytes, "the disk is getting full");
                fleet.alert(Notice::DiskLow { free_bytes }).await;
                warned = true;
            }
            Some(_) => {}
            None => warned = false,
        }
        tokio::time::sleep(EVERY).await;
    }
}
