//! Records that no caller waits for.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use herder::core::id::NetworkName;
use herder::core::post::Post;
use herder::core::time::Timestamp;
use herder::journal::{Batch, Confirmed, Journal, PostSink, Recorded, Settled, Stream};
use tokio::sync::oneshot;

use super::{added, audit, batch, post, settings, write};

fn looked(text: &str) -> Batch {
    batch(vec![write(Stream::Audit, None, vec![audit(text)])])
}

fn trail(journal: &Journal) -> Vec<Recorded> {
    journal.history(&Stream::Audit, 100, None).expect("reads")
}

/// Signals the first post.
struct Told(Mutex<Option<oneshot::Sender<()>>>);

impl PostSink for Told {
    fn accept(&self, _: Vec<Post>) {
        let told = self.0.lock().expect("not poisoned").take();
        let _ = told.map(|told| told.send(()));
    }
}

#[tokio::test]
async fn what_nobody_waits_for_is_stored_before_whatever_is_committed_next() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    for text in ["one", "two"] {
        journal.commit_soon(looked(text)).await.expect("taken");
    }
    journal.commit(looked("three")).await.expect("commits");
    let texts: Vec<_> = trail(&journal).into_iter().map(|one| (one.rev, one.entry)).collect();
    assert_eq!(texts, [(1, audit("one")), (2, audit("two")), (3, audit("three"))]);
}

#[tokio::test]
async fn what_nobody_waits_for_is_stored_soon_although_nothing_follows() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let (tell, told) = oneshot::channel();
    journal.deliver_to(Arc::new(Told(Mutex::new(Some(tell)))));
    let batch = Batch { posts: vec![post("libera", "said")], ..looked("one") };
    journal.commit_soon(batch).await.expect("taken");
    let told = tokio::time::timeout(std::time::Duration::from_secs(60), told).await;
    told.expect("in time").expect("it is stored");
    assert_eq!(trail(&journal).len(), 1);
}

#[tokio::test]
async fn a_journal_that_is_closed_or_let_go_stores_what_waits() {
    for closed in [true, false] {
        let dir = tempfile::tempdir().expect("a folder");
        let settings = settings(dir.path());
        let (journal, _) = Journal::open(&settings).expect("opens");
        journal.commit_soon(looked("one")).await.expect("taken");
        if closed {
            journal.close().await;
            assert!(journal.commit_soon(looked("too late")).await.is_err());
        }
        drop(journal);
        let (journal, _) = Journal::open(&settings).expect("opens");
        assert_eq!(trail(&journal).len(), 1, "closed: {closed}");
    }
}

/// The deliveries of one post are stored with the commit of the next one, which waits for no commit but its own.
#[tokio::test]
async fn what_became_of_a_post_is_known_when_the_next_commit_is_stored() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    let said = Batch { posts: vec![post("libera", "said")], ..looked("one") };
    let network = NetworkName::from("libera");
    let receipt = journal.commit(said).await.expect("commits");
    let delivered = Confirmed { network: network.clone(), post: receipt.posts[0].id, lines: None };
    let mut settling = std::pin::pin!(journal.settle_soon(vec![Settled::Delivered(delivered)]));
    assert!(settling.as_mut().now_or_never().is_none(), "it waits");
    journal.commit(looked("two")).await.expect("commits");
    settling.as_mut().now_or_never().expect("it was stored with it").expect("stored");
    assert_eq!(journal.undelivered(&network).expect("reads"), []);
}

/// A batch that cannot be stored is told at once, and spoils nothing.
#[tokio::test]
async fn what_is_too_long_is_refused_at_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(&settings(dir.path())).expect("opens");
    assert!(journal.commit_soon(looked(&"x".repeat(64 << 20))).await.is_err());
    let at = Timestamp::from_millis(1);
    let fleet = write(Stream::Fleet, None, vec![added("spark")]);
    journal.commit(Batch { at, writes: vec![fleet], ..Batch::default() }).await.expect("commits");
    assert_eq!(trail(&journal).len(), 0);
}
