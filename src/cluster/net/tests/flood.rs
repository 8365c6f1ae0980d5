//! A runner that sends as fast as it can, by its own credentials.

use super::super::super::client::{self, connect_bot, connect_runner};
use super::super::super::runner_folder::RunnerFolder;
use super::super::super::test_server::World;
use super::*;

/// Number of rounds of messages that it sends at least.
const ROUNDS: u64 = 1000;

fn identity(folder: &RunnerFolder) -> Identity {
    Identity {
        bot: folder.bot().to_owned(),
        runner: folder.name().to_owned(),
        bot_key: folder.pinned(),
        incarnation: draw_incarnation().unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_floods_does_not_end_the_connections_of_another() {
    let world = World::new();
    let _server = world.start();
    let (box4, box5) = (world.runner("box4").await, world.runner("box5").await);
    let up = connect_bot(&world.folder).await.unwrap();
    let key = world.folder.messages().clone();
    let hub = Hub::start(up.clone(), world.folder.name().to_owned(), 1, key, Pace::default());
    hub.admit("box4");
    hub.admit("box5");
    let subjects = world.folder.subjects();
    // A subscription of the bot that nobody reads: it overflows for sure.
    let unread = up.client().subscribe(subjects.from("box4", "*")).await.unwrap();

    let station = connect_runner(&box5).await.unwrap();
    let facts = || Facts { machine: "m5".to_owned(), sessions: 0, load: None, free_disk: None };
    let station = Station::new(station, identity(&box5), facts, Pace::default());
    let (offered, mut streams) = mpsc::unbounded_channel();
    let attend = move |stream| -> futures_util::future::BoxFuture<'static, ()> {
        offered.send(stream).unwrap();
        Box::pin(std::future::ready(()))
    };
    let serving = station.serve(attend, CancellationToken::new());

    let flooder = client::connect(&client::runner_login(&box4), |_| {}).await.unwrap();
    let mut grants = flooder.subscribe("_INBOX.box4.grants").await.unwrap();
    let (mut flooding, began) = (JoinSet::new(), tokio::time::Instant::now());
    let (count, sent) = tokio::sync::watch::channel(0_u64);
    flooding.spawn(async move {
        let (from, incarnation) = (subjects.from("box4", "0123456789abcdef"), draw_incarnation().unwrap());
        let beat = serde_json::json!({ "v": 1, "incarnation": incarnation, "machine": "m4", "sessions": 0 });
        let unknown =
            Numbered { id: ConnectionId { epoch: 1, number: 9 }, n: 5, taken: None, payload: Bytes::new() };
        let junk = Bytes::from(vec![b'x'; 16 * 1024]);
        loop {
            let (subject, reply) = (subjects.beat("box4"), "_INBOX.box4.grants");
            let beat = Bytes::from(beat.to_string());
            flooder.publish_with_reply(subject, reply, beat).await.unwrap();
            flooder.publish(from.clone(), junk.clone()).await.unwrap();
            let headers = unknown.headers(&from, None).unwrap();
            flooder.publish_with_headers(from.clone(), headers, Bytes::new()).await.unwrap();
            count.send_modify(|count| *count += 1);
        }
    });
    let scene = async {
        let mut bot = framed(soon("a connection", hub.line("box5").open()).await.unwrap());
        bot.send(Bytes::from_static(b"hello")).await.unwrap();
        let mut host = framed(soon("the connection", streams.recv()).await.unwrap());
        assert_eq!(soon("a word", host.next()).await.unwrap().unwrap(), "hello");
        // It goes on while the other one speaks, however long that takes.
        let mut spoken = 0;
        while spoken < 3 || *sent.borrow() < ROUNDS {
            speak(&mut bot, &mut host).await;
            spoken += 1;
        }
        flooding.shutdown().await;
        speak(&mut bot, &mut host).await;
        assert!(streams.try_recv().is_err(), "the connection was begun anew");
        assert!(station.grant().borrow().granted && hub.seen("box5").unwrap().here);
    };
    tokio::select! {
        () = scene => {}
        ended = serving => panic!("{ended:?}"),
    }
    drop(unread);
    let mut granted = 0_u64;
    while let Ok(Some(_)) = tokio::time::timeout(Duration::from_secs(2), grants.next()).await {
        granted += 1;
    }
    // Four at once, and then one per second.
    let most = 4 + began.elapsed().as_secs() + 1;
    assert!((1..=most).contains(&granted), "{granted} of {most} beats were answered");
    soon("the hub's end", hub.close()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_cannot_let_the_bot_answer_to_somebody_else() {
    let world = World::new();
    let _server = world.start();
    let box4 = world.runner("box4").await;
    let up = connect_bot(&world.folder).await.unwrap();
    let key = world.folder.messages().clone();
    let hub = Hub::start(up.clone(), world.folder.name().to_owned(), 1, key, Pace::default());
    hub.admit("box4");
    let subjects = world.folder.subjects();
    let (to_box5, inbox) = (subjects.to("box5", "0123456789abcdef"), "_INBOX.box5.x".to_owned());
    let mut seen = JoinSet::new();
    let witness = world.witness().await;
    for subject in [to_box5.clone(), inbox.clone()] {
        let mut there = witness.subscribe(subject).await.unwrap();
        seen.spawn(async move { drop(there.next().await) });
    }
    witness.flush().await.unwrap();
    let runner = client::connect(&client::runner_login(&box4), |_| {}).await.unwrap();
    let mut own = runner.subscribe("_INBOX.box4.x").await.unwrap();
    let beat =
        serde_json::json!({ "v": 1, "incarnation": "0123456789abcdef", "machine": "m4", "sessions": 0 });
    for reply in [to_box5, inbox, "_INBOX.box4.x".to_owned()] {
        let beat = Bytes::from(beat.to_string());
        runner.publish_with_reply(subjects.beat("box4"), reply, beat).await.unwrap();
    }
    // Answers come in the order of the beats.
    soon("the answer to the own inbox", own.next()).await.unwrap();
    settled(&up).await;
    assert!(seen.try_join_next().is_none(), "it has answered to somebody else");
}
