//! Pending posts of networks that are not configured any more.
//!
//! A section that is commented out for a day must not lose its posts; one that is gone for good must not keep them on
//! disk forever. A memo in the journal holds the time since which a network is missing.

use std::collections::BTreeMap;
use std::time::Duration;

use tracing::{info, warn};

use crate::core::id::NetworkName;
use crate::core::time::Timestamp;
use crate::journal::{CommitError, Confirmed, Journal, Memo, ReadError};

const PREFIX: &str = "unconfigured/";

/// The reason why pending posts of networks that are not configured any more could not be dropped.
#[derive(Debug, thiserror::Error)]
pub enum LetGoError {
    /// The journal cannot be read.
    #[error("the journal cannot be read: {0}")]
    Read(#[from] ReadError),
    /// The journal cannot be written.
    #[error("the journal cannot be written: {0}")]
    Commit(#[from] CommitError),
    /// The task that reads the journal panicked.
    #[error("reading the journal was cut short: {0}")]
    Join(#[from] tokio::task::JoinError),
}

/// Drops the pending posts of networks that have been missing in the configuration for `keep`, and returns the number
/// of dropped posts.
///
/// # Errors
/// The journal cannot be read or written. The rest is dropped at a later start.
pub async fn let_go(
    journal: &Journal,
    configured: &[NetworkName],
    keep: Duration,
    now: Timestamp,
) -> Result<usize, LetGoError> {
    let reading = journal.clone();
    let (owed, known) = tokio::task::spawn_blocking(move || {
        Ok::<_, ReadError>((reading.networks_owed()?, reading.memos(PREFIX)?))
    })
    .await??;
    let missed: BTreeMap<String, Timestamp> = known
        .into_iter()
        .filter_map(|(key, at)| Some((key, Timestamp::from_millis(at.parse().ok()?))))
        .collect();
    let gone: Vec<NetworkName> = owed.into_iter().filter(|network| !configured.contains(network)).collect();
    let still: Vec<String> = gone.iter().map(key).collect();
    let mut memos: Vec<Memo> = missed
        .keys()
        .filter(|key| !still.contains(key))
        .map(|key| Memo { key: key.clone(), value: None })
        .collect();
    let mut dropped = 0;
    for network in gone {
        match missed.get(&key(&network)) {
            None => {
                info!(%network, "is owed posts and is not configured; they are kept for a while");
                memos.push(Memo { key: key(&network), value: Some(now.as_millis().to_string()) });
            }
            Some(since) if now.since(*since) < keep => {}
            Some(_) => {
                dropped += drop_all(journal, &network).await?;
                memos.push(Memo { key: key(&network), value: None });
            }
        }
    }
    journal.remember(memos).await?;
    Ok(dropped)
}

fn key(network: &NetworkName) -> String {
    format!("{PREFIX}{network}")
}

async fn drop_all(journal: &Journal, network: &NetworkName) -> Result<usize, LetGoError> {
    let (reading, of) = (journal.clone(), network.clone());
    let posts = tokio::task::spawn_blocking(move || reading.owed_ids(&of)).await??;
    let count = posts.len();
    let confirmed = |post| Confirmed { network: network.clone(), post, lines: None };
    journal.confirm(posts.into_iter().map(confirmed).collect()).await?;
    warn!(%network, posts = count, "has not been configured for long; what was owed to it is dropped");
    Ok(count)
}
