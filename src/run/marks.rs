//! Read marks of channels on IRC networks: loaded at the start, and stored shortly after they move.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::chat::irc::Marks;
use crate::config::Config;
use crate::core::id::NetworkName;
use crate::journal::{Journal, ReadError};

/// Delay before moved read marks are stored. Decisions made meanwhile are on disk anyway; a channel that is followed
/// for the first time is stored at once.
const NOTE_AFTER: Duration = Duration::from_secs(5);

/// Loads the read marks of all IRC networks from the journal.
pub(super) async fn load(
    journal: &Journal,
    config: &Config,
) -> Result<BTreeMap<NetworkName, Marks>, super::RunError> {
    let (journal, names) = (journal.clone(), config.irc.iter().map(|network| network.name.clone()));
    let names: Vec<NetworkName> = names.collect();
    let read = move || {
        let one = |name: NetworkName| {
            let (seen, heard) = Marks::keys(&name);
            let marks = Marks::load(name.clone(), journal.memos(&seen)?, journal.memos(&heard)?);
            Ok::<_, ReadError>((name, marks))
        };
        names.into_iter().map(one).collect::<Result<_, _>>()
    };
    Ok(tokio::task::spawn_blocking(read).await??)
}

/// Stores the read marks of a network shortly after they move, until `token` is cancelled because no more lines are
/// accepted.
pub(super) async fn keep(marks: Marks, journal: Journal, token: CancellationToken) {
    loop {
        tokio::select! {
            () = marks.moved() => {}
            () = token.cancelled() => break,
        }
        tokio::select! {
            () = tokio::time::sleep(NOTE_AFTER) => note(&marks, &journal).await,
            () = marks.begun() => note(&marks, &journal).await,
            () = token.cancelled() => break,
        }
    }
    note(&marks, &journal).await;
}

async fn note(marks: &Marks, journal: &Journal) {
    for memos in marks.note() {
        if let Err(reason) = journal.remember(memos).await {
            warn!(%reason, "how far channels are done could not be noted");
        }
    }
}
