//! The outbox over the real journal: posts survive a restart, deliveries too.

use super::bare;
use herder::config::History;
use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::notice::Notice;
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::journal::{Batch, Journal, Settings};
use herder::outbox::queue::{ALERTS_MAX, BACKLOG_POSTS_MAX};
use herder::outbox::{BACKLOG_LINES, Outbox, Window, absent};
use std::sync::Arc;
use std::time::Duration;

use super::posts::{post, words};
use super::queue::renderer;

fn open(dir: &std::path::Path) -> (Journal, Arc<Outbox>) {
    let settings = Settings { ballast: 4096, ..Settings::new(dir, History::default()) };
    let (journal, _) = Journal::open(&settings).expect("the journal opens");
    let outbox =
        Outbox::open(&journal, vec![(libera(), renderer())], BACKLOG_LINES).expect("the outbox is read");
    (journal, outbox)
}

fn libera() -> NetworkName {
    NetworkName::from("libera")
}

fn texts(window: &Window) -> Vec<&str> {
    window.lines.iter().map(|line| bare(&line.text)).collect()
}

#[tokio::test]
async fn a_killed_herder_owes_what_was_not_confirmed_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    {
        let (journal, outbox) = open(dir.path());
        let spark = AgentName::new("spark").expect("a good name");
        let posts = vec![
            words("one\ntwo\nthree\nfour\nfive"),
            post(Body::Notice(Notice::Paused { agent: spark })),
            Post { network: NetworkName::from("elsewhere"), ..words("for a network that is not configured") },
        ];
        let receipt = journal.commit(Batch { posts, ..Batch::default() }).await.expect("it is stored");
        assert!(receipt.posts.iter().all(|post| post.id != PostId(0)));
        let queue = outbox.queue(&libera()).expect("it is configured");
        let window = queue.next_window(3, &|_| 400, &|_| true).await;
        assert_eq!(texts(&window), ["one", "two", "three"]);
        queue.confirm(window).await;
        let flying = queue.next_window(1, &|_| 400, &|_| true).await;
        assert_eq!(texts(&flying), ["four"]);
    }
    {
        let (journal, outbox) = open(dir.path());
        let queue = outbox.queue(&libera()).expect("it is configured");
        queue.link_restored();
        let window = queue.next_window(4, &|_| 400, &|_| true).await;
        assert_eq!(texts(&window), ["four", "five", "⏸️ spark is paused. `@spark resume` lets it go on."]);
        queue.confirm(window).await;
        assert!(queue.is_empty());
        let queue = Arc::clone(queue);
        drop(outbox);
        let later = Batch { posts: vec![words("later")], ..Batch::default() };
        journal.commit(later).await.expect("it is stored");
        assert_eq!(texts(&queue.next_window(4, &|_| 400, &|_| true).await), ["later"]);
    }
    let (journal, outbox) = open(dir.path());
    let queue = outbox.queue(&libera()).expect("it is configured");
    assert_eq!(queue.len(), 1, "only the one that was flying");
    assert_eq!(journal.undelivered(&NetworkName::from("elsewhere")).expect("it is read").len(), 1);
}

#[tokio::test]
async fn collapsed_posts_leave_the_disk_at_once_and_their_number_outlives_a_kill() {
    let dir = tempfile::tempdir().expect("a folder");
    {
        let (journal, outbox) = open(dir.path());
        let posts = (1..=50).map(|number| words(&format!("word {number}"))).collect();
        journal.commit(Batch { posts, ..Batch::default() }).await.expect("they are stored");
        let queue = outbox.queue(&libera()).expect("it is configured");
        queue.link_restored();
        queue.settle().await;
        let owed = journal.undelivered(&libera()).expect("it is read");
        assert_eq!(owed.iter().map(|post| post.id.0).collect::<Vec<_>>(), (40..=50).collect::<Vec<_>>());
    }
    {
        let (_journal, outbox) = open(dir.path());
        let queue = outbox.queue(&libera()).expect("it is configured");
        queue.link_restored();
        let window = queue.next_window(1, &|_| 400, &|_| true).await;
        assert_eq!(texts(&window), ["… 40 lines while away; `@spark log`"]);
        queue.confirm(window).await;
    }
    let (_journal, outbox) = open(dir.path());
    let queue = outbox.queue(&libera()).expect("it is configured");
    assert_eq!(queue.len(), 10);
    assert_eq!(texts(&queue.next_window(1, &|_| 400, &|_| true).await), ["word 41"]);
}

#[tokio::test]
async fn a_network_that_stays_away_does_not_fill_the_disk() {
    let dir = tempfile::tempdir().expect("a folder");
    let count = 2 * BACKLOG_POSTS_MAX + 500;
    {
        let (journal, outbox) = open(dir.path());
        let queue = Arc::clone(outbox.queue(&libera()).expect("it is configured"));
        let keeping = queue.keep_settled();
        let filling = async {
            for _ in 0..count / 100 {
                let posts = (0..100).map(|_| words("a word")).collect();
                journal.commit(Batch { posts, ..Batch::default() }).await.expect("they are stored");
            }
        };
        tokio::select! {
            () = keeping => unreachable!("it goes on as long as it is kept"),
            () = filling => {}
        }
        queue.settle().await;
        let owed = journal.undelivered(&libera()).expect("it is read").len();
        assert!(owed <= BACKLOG_POSTS_MAX, "{owed} posts are on the disk");
    }
    let (_journal, outbox) = open(dir.path());
    let queue = outbox.queue(&libera()).expect("it is configured");
    queue.link_restored();
    let away = format!("… {} lines while away; `@spark log`", count - 10);
    assert_eq!(texts(&queue.next_window(1, &|_| 400, &|_| true).await), [away]);
}

#[tokio::test]
async fn what_is_owed_to_a_network_that_is_not_configured_is_kept_for_a_while() {
    const DAY: Duration = Duration::from_secs(86_400);
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, _outbox) = open(dir.path());
    let posts = vec![words("one"), Post { network: NetworkName::from("gone"), ..words("two") }];
    journal.commit(Batch { posts, ..Batch::default() }).await.expect("it is stored");
    let begin = Timestamp::from_millis(1_763_700_000_000);
    let (keep, gone) = (30 * DAY, NetworkName::from("gone"));
    let start = async |configured: &[NetworkName], day: u32| {
        let dropped = absent::let_go(&journal, configured, keep, begin.after(day * DAY)).await;
        let owed = journal.undelivered(&gone).expect("it is read").len();
        (dropped.expect("it is looked through"), owed)
    };
    assert_eq!(start(&[libera()], 0).await, (0, 1));
    assert_eq!(start(&[libera(), gone.clone()], 20).await, (0, 1), "it was back for a day");
    assert_eq!(start(&[libera()], 31).await, (0, 1));
    assert_eq!(start(&[libera()], 60).await, (0, 1));
    assert_eq!(start(&[libera()], 61).await, (1, 0));
    assert_eq!(journal.memos("").expect("it is read"), [], "nothing is remembered of it");
    assert_eq!(journal.undelivered(&libera()).expect("it is read").len(), 1);
}

#[tokio::test]
async fn alerts_for_a_network_that_stays_away_are_held_on_the_disk_alone_and_are_all_said_in_order() {
    let dir = tempfile::tempdir().expect("a folder");
    let (journal, outbox) = open(dir.path());
    let queue = Arc::clone(outbox.queue(&libera()).expect("it is configured"));
    let count = 2 * ALERTS_MAX + 700;
    let alert = |number: usize| Post {
        to: Target::Alerts,
        lane: Lane::Urgent,
        ..words(&format!("somebody has to do {number}"))
    };
    for first in (0..count).step_by(100) {
        let posts = (first..first + 100).map(alert).collect();
        journal.commit(Batch { posts, ..Batch::default() }).await.expect("they are stored");
    }
    assert_eq!((queue.held(), queue.len()), (ALERTS_MAX, count));
    assert_eq!(journal.undelivered(&libera()).expect("it is read").len(), count, "nothing is left out");
    drop((queue, outbox, journal));

    // A herder that is started again holds no more.
    let (journal, outbox) = open(dir.path());
    let queue = outbox.queue(&libera()).expect("it is configured");
    assert_eq!((queue.held(), queue.len()), (ALERTS_MAX, count));
    queue.link_restored();
    let mut sent = Vec::new();
    while sent.len() <= count {
        if sent.len() == 100 {
            // A post that comes while others are on the disk is behind them.
            let late = Batch { posts: vec![alert(count)], ..Batch::default() };
            journal.commit(late).await.expect("it is stored");
        }
        let window = queue.next_window(100, &|_| 400, &|_| true).await;
        sent.extend(texts(&window).into_iter().map(str::to_owned));
        queue.confirm(window).await;
        assert!(queue.held() <= ALERTS_MAX);
    }
    assert_eq!(sent, (0..=count).map(|number| format!("somebody has to do {number}")).collect::<Vec<_>>());
    assert!(queue.is_empty());
    assert_eq!(journal.undelivered(&libera()).expect("it is read"), []);
}
