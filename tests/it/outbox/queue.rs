//! The queue of one network, by example.

use super::bare;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::notice::Notice;
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::journal::{Confirmed, Settled};
use herder::l10n::Locale;
use herder::outbox::{BACKLOG_LINES, Ledger, Line, Markup, NetworkQueue, Noted, Renderer, Window};
use herder::redact::Redactor;
use tokio::time::timeout;

use crate::irc_rig::nothing_shelved;

/// A journal's knowledge of deliveries: `None` is the whole post.
#[derive(Default)]
pub(super) struct Book(pub(super) Mutex<HashMap<PostId, Option<u32>>>);

impl Ledger for Book {
    fn record(&self, settled: Vec<Settled>) -> Noted<'_> {
        let mut book = self.0.lock().expect("no test panics with it");
        for settled in settled {
            let parts = match settled {
                Settled::Delivered(Confirmed { post, lines, .. }) => vec![(post, lines)],
                Settled::Collapsed(collapsed) => {
                    collapsed.left_out.into_iter().map(|post| (post, None)).collect()
                }
            };
            for (post, lines) in parts {
                let whole = book.get(&post).is_some_and(Option::is_none);
                assert!(!whole, "{post:?} was recorded as delivered before");
                book.insert(post, lines);
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn alerts(&self, _: &NetworkName, _: PostId, _: usize) -> Noted<'_, Vec<Post>> {
        nothing_shelved()
    }
}

impl Book {
    pub(super) fn whole(&self) -> Vec<u64> {
        let book = self.0.lock().expect("no test panics with it");
        let mut whole: Vec<u64> =
            book.iter().filter(|(_, lines)| lines.is_none()).map(|(id, _)| id.0).collect();
        whole.sort_unstable();
        whole
    }

    pub(super) fn lines(&self, post: u64) -> Option<u32> {
        self.0.lock().expect("no test panics with it").get(&PostId(post)).copied().flatten()
    }
}

pub(super) fn renderer() -> Renderer {
    static SOURCE: LazyLock<Locale> = LazyLock::new(|| Locale::load("en-US").expect("the source"));
    Renderer::new(SOURCE.clone(), Redactor::default(), Markup::Plain)
}

pub(super) fn queue() -> (Arc<NetworkQueue>, Arc<Book>) {
    let book = Arc::new(Book::default());
    let ledger = Arc::clone(&book) as Arc<dyn Ledger>;
    (Arc::new(NetworkQueue::new(NetworkName::from("libera"), renderer(), ledger)), book)
}

pub(super) fn agent(name: &str) -> Target {
    Target::Agent(AgentName::new(name).expect("a good name"))
}

fn spark_name() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

pub(super) fn words(id: u64, target: &Target, lane: Lane, text: &str) -> Post {
    let body = Body::Agent { agent: spark_name(), text: text.to_owned(), is_result: false };
    Post {
        id: PostId(id),
        network: NetworkName::from("libera"),
        to: target.clone(),
        lane,
        at: Timestamp::from_millis(0),
        body,
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

fn notice(id: u64, target: &Target, text: &str) -> Post {
    Post {
        body: Body::Notice(Notice::WorkLine { line: text.to_owned() }),
        ..words(id, target, Lane::Normal, "")
    }
}

fn window_of(queue: &NetworkQueue, max: usize) -> Window {
    queue.try_window(max, &|_| 400, &|_| true).unwrap_or_default()
}

fn texts(window: &Window) -> Vec<&str> {
    window.lines.iter().map(|line| bare(&line.text)).collect()
}

/// Returns everything the queue sends, window by window, each confirmed.
pub(super) async fn everything(queue: &NetworkQueue) -> Vec<String> {
    let mut sent = Vec::new();
    while let Some(window) = queue.next_window(4, &|_| 400, &|_| true).now_or_never() {
        sent.extend(window.lines.iter().map(|line| bare(&line.text).to_owned()));
        queue.confirm(window).await;
    }
    sent
}

#[tokio::test]
async fn posts_of_a_channel_leave_in_order_over_several_windows() {
    let (queue, book) = queue();
    let spark = agent("spark");
    queue.push(words(1, &spark, Lane::Normal, "one\ntwo\nthree\nfour\nfive"));
    queue.push(words(2, &spark, Lane::Normal, "six"));
    let first = window_of(&queue, 4);
    assert_eq!(texts(&first), ["one", "two", "three", "four"]);
    queue.confirm(first).await;
    assert_eq!((book.lines(1), book.whole()), (Some(4), vec![]), "a part of a post is recorded as a part");
    let second = window_of(&queue, 4);
    assert_eq!(texts(&second), ["five", "six"]);
    queue.confirm(second).await;
    assert_eq!(book.whole(), [1, 2]);
    assert!(queue.is_empty());
}

#[tokio::test]
async fn alerts_and_answers_overtake() {
    let (queue, _book) = queue();
    let spark = agent("spark");
    queue.push(words(1, &spark, Lane::Normal, "log\nlog"));
    queue.push(words(2, &Target::Alerts, Lane::Urgent, "alert"));
    queue.push(words(3, &spark, Lane::Urgent, "answer"));
    assert_eq!(everything(&queue).await, ["alert", "answer", "log", "log"]);
}

#[tokio::test]
async fn a_chatty_agent_does_not_starve_others() {
    let (queue, _book) = queue();
    let (chatty, quiet) = (agent("chatty"), agent("quiet"));
    for id in 1..=20 {
        queue.push(words(id, &chatty, Lane::Normal, "chatter"));
    }
    queue.push(words(21, &quiet, Lane::Normal, "a word"));
    assert!(texts(&window_of(&queue, 4)).contains(&"a word"));
}

#[tokio::test]
async fn a_channel_that_is_not_joined_blocks_nobody() {
    let (queue, _book) = queue();
    let (closed, open) = (agent("closed"), agent("open"));
    queue.push(words(1, &closed, Lane::Normal, "later"));
    queue.push(words(2, &open, Lane::Normal, "now"));
    let joined = |target: &Target| *target == agent("open");
    let window = queue.try_window(4, &|_| 400, &joined).expect("one is open");
    assert_eq!(texts(&window), ["now"]);
    queue.confirm(window).await;
    assert_eq!(queue.try_window(4, &|_| 400, &joined), None);
    assert_eq!(everything(&queue).await, ["later"]);
}

#[tokio::test]
async fn what_was_not_confirmed_goes_again_in_order_and_says_so() {
    let (queue, book) = queue();
    let spark = agent("spark");
    queue.push(words(1, &spark, Lane::Normal, "one\ntwo\nthree"));
    queue.push(words(2, &spark, Lane::Normal, "four"));
    let mut window = window_of(&queue, 4);
    let lost = Window { lines: window.lines.split_off(1) };
    queue.confirm(window).await;
    queue.requeue(lost);
    assert_eq!(book.lines(1), Some(1));
    let again = window_of(&queue, 4);
    assert_eq!(texts(&again), ["two", "three", "four"]);
    assert!(again.lines.iter().all(|line| line.resent));
    queue.confirm(again).await;
    assert_eq!(book.whole(), [1, 2]);
}

#[tokio::test]
async fn a_window_that_was_forgotten_flies_no_longer_once_the_link_is_new() {
    let (queue, _book) = queue();
    queue.push(words(1, &agent("spark"), Lane::Normal, "one"));
    drop(window_of(&queue, 4));
    assert_eq!(window_of(&queue, 4).lines, []);
    queue.link_restored();
    assert_eq!(everything(&queue).await, ["one"]);
}

#[tokio::test]
async fn lines_of_a_post_can_be_confirmed_one_by_one_in_any_order() {
    let (queue, book) = queue();
    queue.push(words(1, &agent("spark"), Lane::Normal, "one\ntwo\nthree"));
    let mut lines = window_of(&queue, 4).lines.into_iter();
    let (one, two, three) = (lines.next(), lines.next(), lines.next());
    let of = |line: Option<Line>| Window { lines: line.into_iter().collect() };
    queue.confirm(of(three)).await;
    assert_eq!(book.lines(1), None, "a gap before it: a restart would have to send it again");
    queue.confirm(of(one)).await;
    assert_eq!(book.lines(1), Some(1));
    queue.requeue(of(two));
    assert_eq!(everything(&queue).await, ["two"]);
    assert_eq!(book.whole(), [1]);
}

#[tokio::test]
async fn little_room_cuts_further_without_losing_count() {
    let (queue, book) = queue();
    let text = "alpha beta gamma delta epsilon zeta eta theta iota kappa";
    queue.push(words(1, &agent("spark"), Lane::Normal, &format!("{text}\nlast")));
    let window = queue.try_window(1, &|_| 40, &|_| true).expect("there is a post");
    assert_eq!(texts(&window), ["alpha beta gamma delta epsilon zeta"]);
    queue.confirm(window).await;
    assert_eq!(book.lines(1), None, "half a line is none");
    let window = queue.try_window(1, &|_| 40, &|_| true).expect("there is more");
    assert_eq!(texts(&window), ["eta theta iota kappa"]);
    assert!(window.lines[0].text.starts_with("│ "), "also the rest of a line says whose it is");
    queue.confirm(window).await;
    assert_eq!(book.lines(1), Some(1));
    assert_eq!(everything(&queue).await, ["last"]);
    assert_eq!(book.whole(), [1]);
}

#[tokio::test]
async fn a_post_that_comes_twice_is_sent_once_and_one_without_words_is_done() {
    let (queue, book) = queue();
    let spark = agent("spark");
    queue.push(words(1, &spark, Lane::Normal, "once"));
    queue.push(words(1, &spark, Lane::Normal, "once"));
    queue.push(words(2, &spark, Lane::Normal, "\n \u{1b}[0m\n"));
    queue.push(words(3, &spark, Lane::Normal, "more"));
    assert_eq!(everything(&queue).await, ["once", "more"]);
    assert_eq!(book.whole(), [1, 2, 3]);
}

#[tokio::test]
async fn what_was_confirmed_before_a_restart_is_not_sent_again() {
    let (queue, book) = queue();
    queue.push(Post { confirmed_lines: 2, ..words(1, &agent("spark"), Lane::Normal, "one\ntwo\nthree") });
    assert_eq!(everything(&queue).await, ["three"]);
    assert_eq!(book.whole(), [1]);
}

#[tokio::test]
async fn a_long_backlog_becomes_its_last_lines() {
    let (queue, book) = queue();
    let spark = agent("spark");
    queue.push(notice(1, &spark, "status before"));
    for id in 2..=41 {
        queue.push(words(id, &spark, Lane::Normal, &format!("word {id}")));
    }
    queue.push(notice(42, &spark, "status after"));
    queue.push(words(43, &spark, Lane::Urgent, "answer"));
    queue.link_restored();
    queue.settle().await;
    assert_eq!(
        book.whole(),
        (2..=30).collect::<Vec<_>>(),
        "the line is owed in the place of the last of them"
    );
    let sent = everything(&queue).await;
    insta::assert_snapshot!(sent.join("\n"), @r"
    answer
    status before
    … 30 lines while away; `@spark log`
    word 32
    word 33
    word 34
    word 35
    word 36
    word 37
    word 38
    word 39
    word 40
    word 41
    status after
    ");
    assert_eq!(book.whole(), (1..=43).collect::<Vec<_>>());
}

/// Results of the work are always shown, however long the backlog; an agent's words on its way and status posts are
/// dropped first.
#[tokio::test]
async fn results_stay_in_a_long_backlog() {
    let (queue, book) = queue();
    let spark = agent("spark");
    let result = |id: u64| {
        let post = words(id, &spark, Lane::Normal, "");
        let body = Body::Agent { agent: spark_name(), text: format!("result {id}"), is_result: true };
        Post { body, ..post }
    };
    for id in 0..20 {
        queue.push(notice(10 * id + 1, &spark, "started"));
        queue.push(words(10 * id + 2, &spark, Lane::Normal, "on the way"));
        queue.push(result(10 * id + 3));
        queue.push(notice(10 * id + 4, &spark, "completed"));
    }
    queue.link_restored();
    let sent = everything(&queue).await;
    let count = |what: &str| sent.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!(count("result"), 20, "{sent:#?}");
    assert!(count("on the way") < 10 && count("started") + count("completed") < 10, "{sent:#?}");
    assert!(sent.contains(&"… 50 lines while away; `@spark log`".to_owned()), "{sent:#?}");
    assert_eq!(sent[sent.len() - 2..], ["result 193", "completed"]);
    assert_eq!(book.whole().len(), 80);
    // There is a bound to that as well.
    for id in 1_000..3_000 {
        queue.push(result(id));
    }
    queue.link_restored();
    let sent = everything(&queue).await;
    assert_eq!(sent[0], "… 1800 lines while away; `@spark log`");
    assert_eq!((sent.len(), sent[1].as_str()), (201, "result 2800"));
}

#[tokio::test]
async fn a_backlog_of_status_posts_collapses_too_but_never_alerts_or_lines_for_machines() {
    let (queue, book) = queue();
    let spark = agent("spark");
    for id in 1..=40 {
        queue.push(notice(id, &spark, &format!("status {id}")));
        queue.push(notice(100 + id, &Target::Work, &format!("FAIL {id}")));
        queue.push(words(200 + id, &Target::Alerts, Lane::Urgent, &format!("alert {id}")));
    }
    queue.link_restored();
    let sent = everything(&queue).await;
    let count = |what: &str| sent.iter().filter(|line| line.starts_with(what)).count();
    assert_eq!((count("alert"), count("FAIL"), count("status")), (40, 40, 10));
    assert!(sent.contains(&"… 30 lines while away; `@spark log`".to_owned()));
    assert_eq!(book.whole().len(), 120);
}

#[tokio::test]
async fn a_short_backlog_is_sent_as_it_is() {
    let (queue, _book) = queue();
    let spark = agent("spark");
    for id in 1..=u64::from(BACKLOG_LINES) {
        queue.push(words(id, &spark, Lane::Normal, "word"));
    }
    queue.link_restored();
    assert_eq!(everything(&queue).await.len(), 30);
}

#[tokio::test]
async fn collapsing_twice_adds_up_and_a_post_on_its_way_is_finished() {
    let (queue, book) = queue();
    let spark = agent("spark");
    queue.push(words(1, &spark, Lane::Normal, "begun\nto be finished"));
    queue.confirm(window_of(&queue, 1)).await;
    for id in 2..=40 {
        queue.push(words(id, &spark, Lane::Normal, "word"));
    }
    queue.link_restored();
    for id in 41..=80 {
        queue.push(words(id, &spark, Lane::Normal, "word"));
    }
    queue.link_restored();
    let sent = everything(&queue).await;
    assert_eq!(sent[..2], ["to be finished", "… 69 lines while away; `@spark log`"]);
    assert_eq!(sent.len(), 12);
    assert_eq!(book.whole(), (1..=80).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_network_that_is_down_for_days_costs_bounded_memory_and_loses_no_count() {
    let (queue, book) = queue();
    let spark = agent("spark");
    for id in 1..=5000 {
        queue.push(words(id, &spark, Lane::Normal, "word"));
    }
    assert!(queue.len() <= herder::outbox::queue::BACKLOG_POSTS_MAX);
    queue.link_restored();
    assert_eq!(everything(&queue).await[0], "… 4990 lines while away; `@spark log`");
    assert_eq!(book.whole().len(), 5000);
}

#[tokio::test]
async fn waiting_ends_with_a_push_and_dropping_the_wait_loses_nothing() {
    let (queue, _book) = queue();
    let waiting = timeout(Duration::from_millis(1), queue.next_window(4, &|_| 400, &|_| true)).await;
    assert!(waiting.is_err(), "there is nothing to send");
    let pushed = Arc::clone(&queue);
    let taken = tokio::join!(
        timeout(Duration::from_secs(30), queue.next_window(4, &|_| 400, &|_| true)),
        async move { pushed.push(words(1, &agent("spark"), Lane::Normal, "here")) },
    );
    assert_eq!(texts(&taken.0.expect("the push wakes it")), ["here"]);
}

#[tokio::test]
async fn the_end_waits_until_nothing_is_owed() {
    let (queue, _book) = queue();
    queue.drained().await;
    queue.push(words(1, &agent("spark"), Lane::Normal, "last words"));
    let window = window_of(&queue, 4);
    let confirming = Arc::clone(&queue);
    let (drained, ()) = tokio::join!(timeout(Duration::from_secs(30), queue.drained()), async move {
        confirming.confirm(window).await
    });
    drained.expect("nothing is owed any more");
}

#[tokio::test]
async fn a_target_that_is_gone_is_forgotten_on_disk_too() {
    let (queue, book) = queue();
    let gone = Target::Person("bob".to_owned());
    queue.push(words(1, &gone, Lane::Urgent, "hello"));
    queue.push(words(2, &gone, Lane::Normal, "bob"));
    let flying = window_of(&queue, 1);
    queue.forget(&gone).await;
    queue.requeue(flying);
    assert!(queue.is_empty());
    assert_eq!(book.whole(), [1, 2]);
}

#[tokio::test]
async fn a_person_who_asks_without_end_does_not_silence_the_agents() {
    let (queue, _book) = queue();
    let spark = agent("spark");
    for id in 1..=20 {
        queue.push(words(id, &spark, Lane::Urgent, "answer"));
    }
    queue.push(words(21, &spark, Lane::Normal, "word"));
    assert_eq!(texts(&window_of(&queue, 4)), ["answer", "answer", "answer", "word"]);
    assert_eq!(
        texts(&window_of(&queue, 4)).len(),
        4,
        "with nothing else to say a window is not left half empty"
    );
}

#[tokio::test]
async fn of_one_long_post_the_last_lines_stay() {
    let (queue, book) = queue();
    let spark = agent("spark");
    let text: Vec<String> = (1..=40).map(|line| format!("line {line}")).collect();
    queue.push(words(1, &spark, Lane::Normal, &text.join("\n")));
    queue.push(notice(2, &spark, "status"));
    queue.link_restored();
    queue.link_restored();
    let sent = everything(&queue).await;
    insta::assert_snapshot!(sent.join("\n"), @r"
    … 30 lines while away; `@spark log`
    line 31
    line 32
    line 33
    line 34
    line 35
    line 36
    line 37
    line 38
    line 39
    line 40
    status
    ");
    assert_eq!(book.whole(), [1, 2]);
}

#[tokio::test]
async fn a_long_post_that_was_cut_once_is_counted_once_when_it_is_left_out_later() {
    let (queue, book) = queue();
    let spark = agent("spark");
    let text = ["word"; 31].join("\n");
    queue.push(words(1, &spark, Lane::Normal, "before"));
    queue.push(words(2, &spark, Lane::Normal, &text));
    queue.link_restored();
    for id in 3..=42 {
        queue.push(words(id, &spark, Lane::Normal, "later"));
    }
    queue.link_restored();
    let sent = everything(&queue).await;
    // One before, all of the long one, thirty later ones.
    assert_eq!(sent[0], "… 62 lines while away; `@spark log`");
    assert_eq!(sent.len(), 11);
    assert_eq!(book.whole(), (1..=42).collect::<Vec<_>>());
}

#[tokio::test]
async fn lines_for_machines_and_answers_are_bounded_and_no_alert_is_left_out() {
    const ALERTS: u64 = herder::outbox::queue::ALERTS_MAX as u64;
    let (queue, book) = queue();
    let channel = Target::Channel("#dev".to_owned());
    for id in 1..=2000 {
        queue.push(notice(id, &Target::Work, &format!("FAIL {id}")));
        let answer = words(10_000 + id, &channel, Lane::Urgent, "an answer");
        queue.push(Post { answers: Some("alice".to_owned()), ..answer });
        if id <= ALERTS {
            queue.push(words(20_000 + id, &Target::Alerts, Lane::Urgent, "alert"));
        }
    }
    assert!(
        queue.len() <= 1000 + herder::outbox::queue::BACKLOG_POSTS_MAX + herder::outbox::queue::ANSWERS_MAX
    );
    let sent = everything(&queue).await;
    assert_eq!(sent.iter().filter(|line| *line == "alert").count(), 1000);
    let away: Vec<&String> = sent.iter().filter(|line| line.contains("while away")).collect();
    let kept = |what: &str| sent.iter().filter(|line| line.contains(what)).count();
    let number = |line: &str| line.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    assert_eq!(away.len(), 2, "{away:?}");
    assert_eq!(number(away[0]) + kept("an answer"), 2000);
    assert_eq!(number(away[1]) + kept("FAIL"), 2000);
    assert_eq!(sent.last().map(String::as_str), Some("FAIL 2000"), "the last ones stay");
    assert_eq!(book.whole().len(), 5000);
}

#[tokio::test]
async fn people_who_wait_for_answers_in_private_are_bounded() {
    let (queue, book) = queue();
    let most = herder::outbox::queue::PERSONS_MAX;
    for id in 1..=most as u64 + 2 {
        queue.push(words(id, &Target::Person(format!("nick{id}")), Lane::Urgent, "an answer"));
    }
    assert_eq!(queue.len(), most);
    queue.settle().await;
    assert_eq!(book.whole(), [1, 2], "who waits longest is let go");
}
