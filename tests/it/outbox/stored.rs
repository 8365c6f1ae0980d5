//! The outbox over the real journal: posts survive a restart, deliveries too.

use herder::config::History;
use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::notice::Notice;
use herder::core::time::Timestamp;
use herder::journal::{Batch, Journal, Settings};
use herder::outbox::{Body, Lane, Outbox, Post, Target, Window};
use std::sync::Arc;

use super::queue::renderer;

fn open(dir: &std::path::Path) -> (Journal, Arc<Outbox>) {
    let settings = Settings { ballast: 4096, ..Settings::new(dir, History::default()) };
    let (journal, _) = Journal::open(&settings).expect("the journal opens");
    let outbox = Outbox::open(&journal, vec![(libera(), renderer())]).expect("the outbox is read");
    (journal, outbox)
}

fn libera() -> NetworkName {
    NetworkName::from("libera")
}

fn post(body: Body) -> Post {
    Post {
        id: PostId(0),
        network: libera(),
        to: Target::Agent(AgentName::new("spark").expect("a good name")),
        lane: Lane::Normal,
        at: Timestamp::from_millis(0),
        body,
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

fn words(text: &str) -> Post {
    let agent = AgentName::new("spark").expect("a good name");
    post(Body::Agent { agent, text: text.to_owned() })
}

fn texts(window: &Window) -> Vec<&str> {
    window.lines.iter().map(|line| line.text.as_str()).collect()
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
async fn collapsed_posts_are_owed_until_the_line_that_stands_for_them_arrived() {
    let dir = tempfile::tempdir().expect("a folder");
    {
        let (journal, outbox) = open(dir.path());
        let posts = (1..=50).map(|number| words(&format!("word {number}"))).collect();
        journal.commit(Batch { posts, ..Batch::default() }).await.expect("they are stored");
        let queue = outbox.queue(&libera()).expect("it is configured");
        queue.link_restored();
        assert_eq!(
            texts(&queue.next_window(1, &|_| 400, &|_| true).await),
            ["… 40 lines while away; `@spark log`"]
        );
    }
    {
        let (_journal, outbox) = open(dir.path());
        let queue = outbox.queue(&libera()).expect("it is configured");
        assert_eq!(queue.len(), 50);
        queue.link_restored();
        let window = queue.next_window(1, &|_| 400, &|_| true).await;
        assert_eq!(texts(&window), ["… 40 lines while away; `@spark log`"]);
        queue.confirm(window).await;
    }
    let (_journal, outbox) = open(dir.path());
    assert_eq!(outbox.queue(&libera()).expect("it is configured").len(), 10);
}
