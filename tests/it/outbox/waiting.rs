//! A waiter of a queue is woken, and posts that are recorded at the same time are not lost.

use super::bare;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herder::core::id::{NetworkName, PostId};
use herder::core::post::{Lane, Post, Target};
use herder::journal::Settled;
use herder::outbox::{Ledger, NetworkQueue, Noted};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::irc_rig::nothing_shelved;

use super::queue::{agent, queue, renderer, words};

/// Longer than anything here takes; reached only when the test has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A disk that takes its time: each record waits for a permit.
struct Slow {
    permits: Semaphore,
    begun: Semaphore,
    recorded: Mutex<Vec<PostId>>,
}

impl Ledger for Slow {
    fn record(&self, settled: Vec<Settled>) -> Noted<'_> {
        Box::pin(async move {
            self.begun.add_permits(1);
            self.permits.acquire().await.map_err(|error| error.to_string())?.forget();
            let mut recorded = self.recorded.lock().expect("no test panics with it");
            recorded.extend(settled.into_iter().filter_map(|settled| match settled {
                Settled::Delivered(part) => Some(part.post),
                Settled::Collapsed(_) => None,
            }));
            Ok(())
        })
    }

    fn alerts(&self, _: &NetworkName, _: PostId, _: usize) -> Noted<'_, Vec<Post>> {
        nothing_shelved()
    }
}

#[tokio::test]
async fn what_arrives_while_the_disk_is_busy_is_recorded_after_it() {
    let slow =
        Arc::new(Slow { permits: Semaphore::new(0), begun: Semaphore::new(0), recorded: Mutex::default() });
    let ledger = Arc::clone(&slow) as Arc<dyn Ledger>;
    let queue = NetworkQueue::new(NetworkName::from("libera"), renderer(), ledger);
    let one_window = || queue.try_window(1, &|_| 400, &|_| true).expect("one is owed");
    queue.push(words(1, &agent("spark"), Lane::Normal, "one"));
    queue.push(words(2, &agent("spark"), Lane::Normal, "two"));
    let (first, second) = (one_window(), one_window());
    let both = async {
        tokio::join!(queue.confirm(first), async {
            slow.begun.acquire().await.expect("open").forget();
            // The first is being recorded now.
            tokio::join!(queue.confirm(second), async { slow.permits.add_permits(2) })
        })
    };
    timeout(PATIENCE, both).await.expect("both are recorded");
    assert_eq!(*slow.recorded.lock().unwrap(), [PostId(1), PostId(2)]);
}

#[tokio::test]
async fn a_post_that_says_nothing_is_no_reason_to_wait_for_the_end() {
    let (queue, _book) = queue();
    queue.push(words(1, &agent("spark"), Lane::Normal, " \n "));
    let silent = async { assert!(queue.try_window(4, &|_| 400, &|_| true).is_none()) };
    let (drained, ()) = tokio::join!(timeout(PATIENCE, queue.drained()), silent);
    drained.expect("nothing is owed any more");
}

#[tokio::test]
async fn who_waits_for_a_window_is_woken_by_what_comes_back() {
    let (queue, _book) = queue();
    queue.push(words(1, &agent("spark"), Lane::Normal, "again"));
    let flying = queue.try_window(4, &|_| 400, &|_| true).expect("one is owed");
    let waiting = async {
        // The wakeup that the push left behind is used up first.
        let push = timeout(Duration::from_millis(1), queue.next_window(4, &|_| 400, &|_| true)).await;
        assert!(push.is_err(), "all of it is flying");
        let next = timeout(PATIENCE, queue.next_window(4, &|_| 400, &|_| true));
        tokio::join!(next, async { queue.requeue(flying) }).0
    };
    let window = waiting.await.expect("it is woken");
    assert!(window.lines[0].resent);
}

#[tokio::test]
async fn a_target_that_was_forgotten_has_one_turn_when_it_is_back() {
    let (queue, _book) = queue();
    let bob = Target::Person("bob".to_owned());
    queue.push(words(1, &bob, Lane::Urgent, "old"));
    queue.forget(&bob).await;
    queue.push(words(2, &bob, Lane::Urgent, "first\nsecond\nthird"));
    queue.push(words(3, &agent("spark"), Lane::Urgent, "word\nword\nword"));
    let window = queue.try_window(4, &|_| 400, &|_| true).expect("some are owed");
    let texts: Vec<&str> = window.lines.iter().map(|line| bare(&line.text)).collect();
    assert_eq!(texts, ["first", "word", "second", "word"]);
}

/// A journal in which what can wait does so until it is hurried.
struct Patient {
    waits: Semaphore,
    hurried: Semaphore,
}

impl Ledger for Patient {
    fn record(&self, _: Vec<Settled>) -> Noted<'_> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn record_soon(&self, _: Vec<Settled>) -> Noted<'_> {
        Box::pin(async move {
            self.waits.add_permits(1);
            self.hurried.acquire().await.map_err(|error| error.to_string())?.forget();
            Ok(())
        })
    }

    fn hurry(&self) {
        self.hurried.add_permits(1);
    }

    fn alerts(&self, _: &NetworkName, _: PostId, _: usize) -> Noted<'_, Vec<Post>> {
        nothing_shelved()
    }
}

#[tokio::test]
async fn what_arrived_last_is_recorded_later_unless_something_else_is_to_be_said() {
    let patient = Arc::new(Patient { waits: Semaphore::new(0), hurried: Semaphore::new(0) });
    let ledger = Arc::clone(&patient) as Arc<dyn Ledger>;
    let queue = NetworkQueue::new(NetworkName::from("libera"), renderer(), ledger);
    let one_window = || queue.try_window(1, &|_| 400, &|_| true).expect("one is owed");
    queue.push(words(1, &agent("spark"), Lane::Normal, "one"));
    queue.push(words(2, &agent("spark"), Lane::Normal, "two"));
    let first = one_window();
    timeout(PATIENCE, queue.confirm(first)).await.expect("another waits: it is recorded at once");
    assert_eq!(patient.waits.available_permits(), 0);
    let last = one_window();
    let both = async {
        tokio::join!(queue.confirm(last), async {
            patient.waits.acquire().await.expect("open").forget();
            queue.push(words(3, &agent("spark"), Lane::Normal, "three"));
        })
    };
    timeout(PATIENCE, both).await.expect("what was pushed does not wait for it");
}
