//! How far the channels of IRC networks are done: read at the start, and noted a little after it moves.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::chat::irc::Marks;
use crate::config::Config;
use crate::core::id::NetworkName;
use crate::journal::{Journal, ReadError};

/// Between a mark that moved and its note. What was decided meanwhile is on disk with the decision; a channel that was never
/// followed before is noted at once.
const NOTE_AFTER: Duration = Duration::from_secs(5);

/// The marks of all networks, as they are on disk.
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

/// Notes the marks of a network until no more speech is taken in.
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
