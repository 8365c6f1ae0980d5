//! The queue against a model: whatever a network does with its windows, nothing is lost, nothing is doubled, order is
//! kept.

use super::bare;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt as _;
use herder::core::id::NetworkName;
use herder::core::post::{Body, Lane, Post, Target};
use herder::outbox::{Ledger, Line, NetworkQueue, Window};
use proptest::prelude::*;

use super::queue::{Book, agent, renderer, words};

const WINDOW: usize = 4;

#[derive(Debug, Clone)]
enum Step {
    /// A post with that many lines.
    Push { target: usize, urgent: bool, lines: usize },
    /// The next window, of which the first `arrived` lines are confirmed and the others put back.
    Send { arrived: usize, room: usize, only: Option<usize> },
    /// herder is killed with a window in flight, of which the far side got everything; a new one starts.
    Kill { room: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, any::<bool>(), 0..7_usize).prop_map(|(target, urgent, lines)| Step::Push { target, urgent, lines }),
        4 => (0..=WINDOW, 32..90_usize, prop::option::weighted(0.3, 0..3_usize))
            .prop_map(|(arrived, room, only)| Step::Send { arrived, room, only }),
        1 => (32..90_usize).prop_map(|room| Step::Kill { room }),
    ]
}

fn target(number: usize) -> Target {
    [agent("spark"), agent("flint"), Target::Alerts][number].clone()
}

const WORDS: usize = 8;

/// Returns one line of a post: every word is told from every other, and little room cuts it.
fn line_text(post: u64, line: usize) -> String {
    (0..WORDS).map(|word| format!("p{post}l{line}w{word}")).collect::<Vec<_>>().join(" ")
}

fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn lane_of(target: &Target, urgent: bool) -> String {
    format!("{target:?} urgent: {urgent}")
}

/// The text that the far side saw, and the text that it should have seen.
struct World {
    queue: NetworkQueue,
    book: Arc<Book>,
    pushed: Vec<Post>,
    /// Words as they arrived, per lane and target.
    arrived: BTreeMap<String, Vec<String>>,
    /// The number of words that may arrive a second time: those of a window that was in flight at a kill, and of a
    /// line per lane and target of which a network with little room had confirmed a piece.
    doubled: usize,
}

impl World {
    fn new() -> Self {
        let book = Arc::new(Book::default());
        let queue = fresh(&book);
        Self { queue, book, pushed: Vec::new(), arrived: BTreeMap::new(), doubled: 0 }
    }

    fn push(&mut self, to: usize, urgent: bool, lines: usize) {
        let id = self.pushed.len() as u64 + 1;
        let text: Vec<String> = (0..lines).map(|line| line_text(id, line)).collect();
        let post = words(id, &target(to), if urgent { Lane::Urgent } else { Lane::Normal }, &text.join("\n"));
        self.pushed.push(post.clone());
        self.queue.push(post);
    }

    fn window(&self, room: usize, only: Option<usize>) -> Option<Window> {
        let joined = |to: &Target| only.is_none_or(|only| *to == target(only));
        let window = self.queue.next_window(WINDOW, &|_| room, &joined).now_or_never()?;
        assert!(
            window.lines.len() <= WINDOW && !window.lines.is_empty(),
            "a window is neither empty nor too long"
        );
        for line in &window.lines {
            assert!(
                line.text.len() <= room && !line.text.trim().is_empty(),
                "a line fits and says something"
            );
            assert!(joined(&line.target), "only joined targets are sent to");
        }
        Some(window)
    }

    fn see(&mut self, line: &Line) {
        self.arrived
            .entry(lane_of(&line.target, line.urgent))
            .or_default()
            .extend(words_of(bare(&line.text)));
    }

    /// Kills herder after the far side got `window`, before that was recorded.
    fn kill(&mut self, window: Option<Window>) {
        for line in window.map(|window| window.lines).unwrap_or_default() {
            self.see(&line);
            self.doubled += words_of(bare(&line.text)).len();
        }
        self.doubled += WORDS * 6;
        self.queue = fresh(&self.book);
        let book = self.book.0.lock().expect("no test panics with it").clone();
        for post in &self.pushed {
            match book.get(&post.id) {
                Some(None) => {}
                Some(Some(lines)) => self.queue.push(Post { confirmed_lines: *lines, ..post.clone() }),
                None => self.queue.push(post.clone()),
            }
        }
    }

    fn expected(&self) -> BTreeMap<String, Vec<String>> {
        let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for post in &self.pushed {
            let Body::Agent { text, .. } = &post.body else { unreachable!("only words are pushed") };
            let lane = expected.entry(lane_of(&post.to, post.lane == Lane::Urgent)).or_default();
            lane.extend(words_of(text));
        }
        expected.retain(|_, words| !words.is_empty());
        expected
    }

    fn nothing_is_lost_and_order_is_kept(&self) {
        let first_time = |words: &Vec<String>| {
            let mut seen = BTreeSet::new();
            words.iter().filter(|word| seen.insert(*word)).cloned().collect::<Vec<_>>()
        };
        let arrived: BTreeMap<_, _> =
            self.arrived.iter().map(|(lane, words)| (lane.clone(), first_time(words))).collect();
        assert_eq!(arrived, self.expected(), "nothing is lost and order is kept per lane and target");
    }

    fn what_was_confirmed_is_never_sent_again(&self) {
        let count = |lanes: &BTreeMap<String, Vec<String>>| lanes.values().map(Vec::len).sum::<usize>();
        let again = count(&self.arrived) - count(&self.expected());
        assert!(again <= self.doubled, "{again} words came again, {} may", self.doubled);
    }

    fn every_post_is_recorded(&self) {
        assert!(self.queue.is_empty(), "nothing is owed at the end");
        let ids: Vec<u64> = self.pushed.iter().map(|post| post.id.0).collect();
        assert_eq!(self.book.whole(), ids, "every post is recorded as delivered");
    }
}

fn fresh(book: &Arc<Book>) -> NetworkQueue {
    NetworkQueue::new(NetworkName::from("libera"), renderer(), Arc::clone(book) as Arc<dyn Ledger>)
}

async fn run(steps: Vec<Step>) {
    let mut world = World::new();
    for step in steps {
        match step {
            Step::Push { target, urgent, lines } => world.push(target, urgent, lines),
            Step::Send { arrived, room, only } => {
                let Some(mut window) = world.window(room, only) else { continue };
                let lost = window.lines.split_off(arrived.min(window.lines.len()));
                window.lines.iter().for_each(|line| world.see(line));
                world.queue.confirm(window).await;
                world.queue.requeue(Window { lines: lost });
            }
            Step::Kill { room } => {
                let window = world.window(room, None);
                world.kill(window);
            }
        }
    }
    while let Some(window) = world.window(400, None) {
        window.lines.iter().for_each(|line| world.see(line));
        world.queue.confirm(window).await;
    }
    world.nothing_is_lost_and_order_is_kept();
    world.what_was_confirmed_is_never_sent_again();
    world.every_post_is_recorded();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn nothing_lost_order_kept_confirmed_never_sent_again(steps in prop::collection::vec(step(), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without I/O");
        runtime.block_on(run(steps));
    }
}
