//! Alerts about a damaged journal, which are stored before any other post of a run.

use tracing::error;

use crate::clock;
use crate::core::id::{NetworkName, PostId};
use crate::core::notice::Notice;
use crate::core::post::{Body, Lane, Post, Target};
use crate::journal::{Aside, Batch, Journal, Opening};
use crate::outbox::Markup;

/// Builds an urgent post of a notice, with the id 0: it is stored only if it is committed.
pub(super) fn urgent(network: &NetworkName, to: &Target, notice: &Notice) -> Post {
    Post {
        id: PostId::default(),
        network: network.clone(),
        to: to.clone(),
        lane: Lane::Urgent,
        at: clock::now(),
        body: Body::Notice(notice.clone()),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

/// Stores alerts about lost revisions and about archives of another database. They belong to the very first transaction
/// of a run, because a later one would record that nothing is missing.
pub(super) async fn owe_missing(journal: &Journal, networks: &[(NetworkName, Markup)], opening: &Opening) {
    let mut posts = Vec::new();
    for missing in &opening.missing {
        error!(?missing, "acknowledged revisions are missing from the journal");
        let notice = Notice::RevisionsMissing {
            stream: missing.stream.to_string(),
            expected: missing.expected,
            found: missing.found,
        };
        posts.extend(networks.iter().map(|(network, _)| urgent(network, &Target::Alerts, &notice)));
    }
    let mut memos = Vec::new();
    if let Some(Aside { folder, events, ends }) = &opening.aside {
        let (folder, ends) = (folder.clone(), *ends);
        let notice = Notice::ArchivesAside { folder, first: events.first, last: events.last, ends };
        posts.extend(networks.iter().map(|(network, _)| urgent(network, &Target::Alerts, &notice)));
        memos.push(Journal::told_aside());
    }
    if posts.is_empty() {
        return;
    }
    if let Err(reason) = journal.commit(Batch { at: clock::now(), posts, memos, ..Batch::default() }).await {
        error!(%reason, "the alert of revisions that are missing could not be recorded");
    }
}
