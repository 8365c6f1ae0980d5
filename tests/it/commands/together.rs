//! Lines that are said at the same time, and lines that take long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use herder::clock;
use herder::core::event::Event;
use herder::core::input::{Control, Input};
use herder::core::post::{Body, Post, Target};
use herder::core::work::Actor;
use herder::journal::{Batch, Entry, PostSink, Stream, Write};
use herder::supervisor::FaultInjection;
use tokio::sync::mpsc;

use super::rig::{PATIENCE, Rig, account, inbound, name};

#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_agent_at_the_same_time_all_count() {
    let rig = Rig::open().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = format!("!agent edit spark workspace={}", elsewhere.path().display());
    tokio::join!(
        rig.say("alice", "#herder", "!agent edit spark max_turns=3"),
        rig.say("alice", "#spark", &folder),
        rig.say("alice", "#work", "!agent edit spark model=opus"),
    );
    let spec = rig.fleet.view(&name("spark")).unwrap().agent.spec.clone().unwrap();
    assert_eq!(
        (spec.max_turns, spec.model.as_str(), spec.workspace.as_path()),
        (3, "opus", elsewhere.path()),
        "{:?}",
        rig.answers("alice")
    );
    assert_eq!(rig.answers("alice").len(), 3, "each is answered once");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_is_given_after_an_edit_is_done_as_edited() {
    let rig = Rig::open().await;
    let elsewhere = tempfile::tempdir().unwrap();
    // The folder is asked for first, which takes its time.
    let folder = format!("!agent edit spark workspace={}", elsewhere.path().display());
    tokio::join!(rig.say("alice", "#herder", &folder), rig.say("olga", "#spark", "build"));
    let recorded = rig.journal.history(&Stream::Agent(name("spark")), 100, None).unwrap();
    let place = |wanted: fn(&Event) -> bool| {
        let found = recorded.iter().find(|it| matches!(&it.entry, Entry::Agent(event) if wanted(event)));
        found.map(|it| it.rev).expect("it happened")
    };
    let edited = place(|event| matches!(event, Event::Edited { .. }));
    let queued = place(|event| matches!(event, Event::Queued { .. } | Event::SessionStarted { .. }));
    assert!(edited < queued, "{edited} {queued}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_said_of_an_agent_after_an_edit_comes_after_it() {
    let rig = Rig::open().await;
    let elsewhere = tempfile::tempdir().unwrap();
    // No agent suffices for it, so that it waits on the board.
    rig.do_("olga", "#herder", "!task add auto needs=nothing-that-is-there build").await;
    let task = rig.fleet.board().tasks.keys().next().copied().expect("it is on the board");
    let folder = format!("!agent edit spark workspace={}", elsewhere.path().display());
    let assign = format!("!task assign {task} spark");
    tokio::join!(
        rig.say("alice", "#herder", &folder),
        rig.say("olga", "olga", "!whisper spark the folder is another one now"),
        rig.say("olga", "#work", &assign),
    );
    rig.until("spark", |view| view.agent.current.is_some() || !view.agent.queue.is_empty()).await;
    let recorded = rig.journal.history(&Stream::Agent(name("spark")), 100, None).unwrap();
    let place = |wanted: fn(&Event) -> bool| {
        let found = recorded.iter().find(|it| matches!(&it.entry, Entry::Agent(event) if wanted(event)));
        found.map(|it| it.rev).expect("it happened")
    };
    let edited = place(|event| matches!(event, Event::Edited { .. }));
    let whispered = place(|event| matches!(event, Event::Whispered { .. }));
    let taken = place(|event| matches!(event, Event::TaskTaken { .. }));
    assert!(edited < whispered && edited < taken, "{edited} {whispered} {taken}");
    rig.close().await;
}

/// Collects posts when they are posted: answers in lines are not stored.
struct Sink(mpsc::UnboundedSender<Post>);

impl PostSink for Sink {
    fn accept(&self, posts: Vec<Post>) {
        for post in posts {
            self.0.send(post).ok();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn whoever_says_what_takes_long_is_told_so_and_answered_later() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Mutex::new(held);
    let fault = FaultInjection::new(move |_, input| {
        if matches!(input, Input::Control { control: Control::Abort, .. }) {
            held.lock().unwrap().recv().ok();
        }
    });
    let rig = Rig::faulty(vec![account("vera")], Duration::from_millis(100), fault).await;
    let (posts, mut posted) = mpsc::unbounded_channel();
    rig.journal.deliver_to(Arc::new(Sink(posts)));
    assert_eq!(rig.say("olga", "#spark", "abort").await, ["Still working on it; the answer follows."]);
    drop(release);
    let late = async {
        loop {
            let post = posted.recv().await.expect("the journal is there");
            if let Body::Lines(lines) | Body::Kept(lines) = post.body {
                break (post.answers, post.to, lines);
            }
        }
    };
    let (answers, to, lines) = tokio::time::timeout(PATIENCE, late).await.expect("it is answered");
    assert_eq!((answers.as_deref(), to), (Some("olga"), Target::Agent(name("spark"))));
    assert!(lines.concat().contains("nothing to abort"), "{lines:?}");
    rig.close().await;
}

/// Stores an event of an agent that nobody shows, so that every line waits for its view.
async fn hold_a_view_back(rig: &Rig) {
    let writes = vec![Write {
        stream: Stream::Agent(name("ghost")),
        expected_rev: None,
        entries: vec![Entry::Agent(Event::Resumed { by: Actor::herder() })],
    }];
    let batch = Batch { at: clock::now(), writes, ..Batch::default() };
    rig.journal.commit(batch).await.expect("it is stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_to_one_agent_are_decided_in_their_order_while_a_view_is_late() {
    for is_shown_at_last in [true, false] {
        let rig = Rig::open().await;
        hold_a_view_back(&rig).await;
        let texts: Vec<String> = (0..400).map(|number| format!("step {number:03}")).collect();
        let handle = |text: &String| {
            let (dispatcher, line) = (rig.dispatcher.clone(), inbound("olga", Some("olga"), "#spark", text));
            async move { dispatcher.handle(line).await }
        };
        let mut under_way = FuturesUnordered::new();
        let (early, late) = texts.split_at(200);
        under_way.extend(early.iter().map(handle));
        assert!(futures_util::poll!(under_way.next()).is_pending(), "they wait for the view");
        if is_shown_at_last {
            rig.journal.seen(&name("ghost"), None);
        }
        // Their first poll finds nothing to wait for.
        under_way.extend(late.iter().map(handle));
        while under_way.next().await.is_some() {}
        let recorded = rig.journal.history(&Stream::Agent(name("spark")), 5000, None).expect("it is read");
        let queued = recorded.iter().filter_map(|it| match &it.entry {
            Entry::Agent(Event::Queued { work }) => Some(work.text.clone()),
            _ => None,
        });
        let decided: Vec<String> = queued.collect();
        assert_eq!(decided, texts, "shown at last: {is_shown_at_last}");
        rig.close().await;
    }
}
