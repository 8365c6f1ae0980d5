//! The shared log and the copies against real `nats-server`, one and three.

#![expect(clippy::print_stdout, reason = "times depend on the machine, and are shown instead of judged")]
#![expect(clippy::large_futures, reason = "a test has one of them")]

use std::fs;
use std::time::Duration;

use async_nats::Client;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::client::{self, Login};
use super::copies::Copies;
use super::log::{Attempt, LogError, LogStream, ServerError, check_server, monitor_port};
use super::test_cluster::Nodes;
use super::test_server::{TestServer, World, free_port, soon};

const PATIENCE: Duration = Duration::from_secs(2);

/// Records of a writer in tests with faults.
const RECORDS: u64 = 500;

/// A bot's single server, and a connection of the bot.
async fn single() -> (World, TestServer, Client) {
    let world = World::new();
    let server = world.start();
    let bot = client::connect(&client::bot_login(&world.folder), |_| {}).await.unwrap();
    soon(bot.flush()).await.unwrap();
    (world, server, bot)
}

async fn single_log() -> (World, TestServer, LogStream) {
    let (world, server, bot) = single().await;
    let log = LogStream::open(&bot, world.folder.name(), 1).await.unwrap();
    (world, server, log)
}

/// Appends as a bot does: the same record again until it is known.
async fn append(log: &LogStream, id: &str, body: &[u8], behind: u64) -> u64 {
    loop {
        match log.attempt(id, body, behind, PATIENCE).await {
            Attempt::Stored(seq) | Attempt::Duplicate(seq) => {
                assert_eq!(seq, behind + 1);
                return seq;
            }
            Attempt::Behind => {
                if let Ok(Some(found)) = log.read(behind + 1).await {
                    assert_eq!(found, body, "somebody else has written");
                    return behind + 1;
                }
            }
            Attempt::Short(_) | Attempt::Unknown(_) => {}
            Attempt::Refused(why) => panic!("{why}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_record_stands_behind_the_one_that_its_writer_names() {
    let (world, _server, log) = single_log().await;
    assert_eq!(log.end().await.unwrap().last, 0);
    assert_eq!(log.attempt("a", b"one", 0, PATIENCE).await, Attempt::Stored(1));
    assert_eq!(log.attempt("b", b"two", 0, PATIENCE).await, Attempt::Behind);
    assert_eq!(log.attempt("b", b"two", 5, PATIENCE).await, Attempt::Short(1));
    assert_eq!(log.attempt("b", b"two", 1, PATIENCE).await, Attempt::Stored(2));
    let long = vec![7; 900 * 1024];
    assert_eq!(log.attempt("c", &long, 2, PATIENCE).await, Attempt::Stored(3));
    assert_eq!(log.read(3).await.unwrap().unwrap(), long);
    let refused = log.attempt("d", &vec![7; 1024 * 1024 + 1], 3, PATIENCE).await;
    assert!(matches!(&refused, Attempt::Refused(_)), "{refused:?}");
    assert_eq!(log.attempt("e", b"", 3, PATIENCE).await, Attempt::Stored(4));
    assert_eq!(log.read(4).await.unwrap().unwrap(), b"");
    assert_eq!(log.read(2).await.unwrap().unwrap(), b"two");
    assert_eq!(log.read(5).await.unwrap(), None);
    let end = log.end().await.unwrap();
    assert_eq!((end.first, end.last, end.replicas, end.current), (1, 4, 1, 1));
    assert_eq!(end.leader, Some(format!("{}-1", world.folder.name())));
}

/// Three servers compare the id before the place, and one does it the other way round.
#[tokio::test]
async fn a_repeated_record_is_a_duplicate_of_three_servers_and_behind_for_one() {
    let ((_world, _server, one), nodes) = (single_log().await, Nodes::start());
    let three = nodes.log(0).await;
    for log in [&one, &three] {
        assert_eq!(append(log, "a", b"one", 0).await, 1);
        assert_eq!(append(log, "b", b"two", 1).await, 2);
        assert_eq!(append(log, "b", b"two", 1).await, 2);
        assert_eq!(log.attempt("b", b"two", 2, PATIENCE).await, Attempt::Duplicate(2));
        assert_eq!(log.attempt("c", b"two", 1, PATIENCE).await, Attempt::Behind);
        assert_eq!(log.attempt("c", b"two", 7, PATIENCE).await, Attempt::Short(2));
    }
    assert_eq!(one.attempt("b", b"two", 1, PATIENCE).await, Attempt::Behind);
    assert_eq!(one.attempt("b", b"two", 7, PATIENCE).await, Attempt::Short(2));
    assert_eq!(three.attempt("b", b"two", 1, PATIENCE).await, Attempt::Duplicate(2));
    assert_eq!(three.attempt("b", b"two", 7, PATIENCE).await, Attempt::Duplicate(2));
}

#[tokio::test]
async fn of_two_writers_one_is_accepted() {
    let nodes = Nodes::start();
    let (one, other) = (nodes.log(0).await, nodes.log(1).await);
    nodes.whole(&one).await;
    let (mut wins, mut empty) = ([0, 0], 0);
    for behind in 0..200_u64 {
        let (id, id_of_other) = (format!("one-{behind}"), format!("other-{behind}"));
        let pair = tokio::join!(
            one.attempt(&id, b"one", behind, PATIENCE),
            other.attempt(&id_of_other, b"other", behind, PATIENCE)
        );
        let at = match pair {
            (Attempt::Stored(seq), Attempt::Behind) => (seq, 0),
            (Attempt::Behind, Attempt::Stored(seq)) => (seq, 1),
            odd => panic!("{odd:?}"),
        };
        assert_eq!(at.0, behind + 1);
        wins[at.1] += 1;
        let body = other.read(behind + 1).await.unwrap();
        empty += u64::from(body.is_none());
        assert!(body.is_none_or(|body| body == if at.1 == 0 { &b"one"[..] } else { b"other" }));
    }
    println!("{wins:?}, {empty} places empty when they were read");
    assert_eq!(one.end().await.unwrap().last, 200);
}

#[tokio::test]
async fn the_log_is_followed_from_the_middle_and_not_from_what_was_removed() {
    let (_world, _server, log) = single_log().await;
    for seq in 0..20_u64 {
        append(&log, &format!("r{seq}"), &seq.to_le_bytes(), seq).await;
    }
    let mut records = log.follow(8);
    for seq in 8..=20_u64 {
        assert_eq!(soon(records.next()).await.unwrap(), (seq, (seq - 1).to_le_bytes().to_vec()));
    }
    for seq in [0, 1, 11, 11, 5, 0] {
        log.purge_below(seq).await.unwrap();
    }
    let end = log.end().await.unwrap();
    assert_eq!((end.first, end.last), (11, 20));
    assert_eq!(log.read(10).await.unwrap(), None);
    let refused = soon(log.follow(8).next()).await.unwrap_err();
    assert_eq!(refused, LogError::Purged { wanted: 8, first: 11 });
    assert_eq!(soon(log.follow(11).next()).await.unwrap().0, 11);
    // It waits for what is not there yet, through more than one heartbeat.
    assert!(timeout(Duration::from_millis(1300), records.next()).await.is_err());
    append(&log, "r20", b"last", 20).await;
    assert_eq!(soon(records.next()).await.unwrap(), (21, b"last".to_vec()));
    // The numbers go on after a removal of everything.
    log.purge_below(99).await.unwrap();
    let end = log.end().await.unwrap();
    assert_eq!((end.first, end.last), (22, 21));
    assert_eq!(append(&log, "r21", b"more", 21).await, 22);
    assert_eq!(soon(records.next()).await.unwrap(), (22, b"more".to_vec()));
}

#[tokio::test]
async fn long_records_are_followed() {
    let (_world, _server, log) = single_log().await;
    for seq in 0..80_u64 {
        let body = vec![u8::try_from(seq).unwrap(); 700 * 1024];
        append(&log, &format!("r{seq}"), &body, seq).await;
    }
    let mut records = log.follow(1);
    for seq in 1..=80_u64 {
        let (found, body) = soon(records.next()).await.unwrap();
        assert_eq!((found, body[9], body.len()), (seq, u8::try_from(seq - 1).unwrap(), 700 * 1024));
    }
}

#[tokio::test]
async fn a_record_whose_answer_is_lost_is_stored_once() {
    let nodes = Nodes::start();
    let log = nodes.log(0).await;
    let (mut last, mut unknown) = (0, 0);
    for number in 0..100_u64 {
        let (id, body) = (format!("r{number}"), number.to_le_bytes());
        // Its answer comes too late, mostly.
        let first = log.attempt(&id, &body, last, Duration::from_micros(100 + number * 20)).await;
        unknown += u64::from(matches!(first, Attempt::Unknown(_)));
        assert!(!matches!(first, Attempt::Duplicate(_) | Attempt::Short(_)), "{first:?}");
        last = append(&log, &id, &body, last).await;
    }
    println!("{unknown} of 100 answers were lost");
    assert!(unknown > 10, "{unknown}");
    assert_eq!(log.end().await.unwrap().last, 100);
}

/// Writes and follows while `fault` does something to the servers, and compares.
async fn survives(mut nodes: Nodes, fault: impl AsyncFnOnce(&mut Nodes, &LogStream)) {
    let (log, watching) = (nodes.log(0).await, nodes.log(1).await);
    nodes.whole(&log).await;
    let writer = nodes.log(2).await;
    let body = |number: u64| format!("record {number}").into_bytes();
    let write = async {
        let mut longest = Duration::ZERO;
        for number in 0..RECORDS {
            let since = Instant::now();
            append(&writer, &format!("1-{number}"), &body(number), number).await;
            longest = longest.max(since.elapsed());
            sleep(Duration::from_millis(2)).await;
        }
        longest
    };
    let follow = async {
        let mut records = watching.follow(1);
        let (mut longest, mut since) = (Duration::ZERO, Instant::now());
        for number in 0..RECORDS {
            assert_eq!(records.next().await.unwrap(), (number + 1, body(number)));
            longest = longest.max(since.elapsed());
            since = Instant::now();
        }
        longest
    };
    let harm = async {
        while !log.end().await.is_ok_and(|end| end.last >= 100) {
            sleep(Duration::from_millis(10)).await;
        }
        let since = Instant::now();
        fault(&mut nodes, &log).await;
        since.elapsed()
    };
    let all = async { tokio::join!(write, follow, harm) };
    let (written, followed, harmed) =
        timeout(Duration::from_secs(180), all).await.expect("it takes too long");
    println!("longest append {written:?}, longest silence of a follower {followed:?}, fault took {harmed:?}");
    let end = nodes.whole(&log).await;
    assert_eq!((end.first, end.last), (1, RECORDS));
    for number in 0..RECORDS {
        assert_eq!(log.read(number + 1).await.unwrap().unwrap(), body(number));
    }
}

/// Returns the place of the stream's leader.
async fn leader(nodes: &Nodes, log: &LogStream) -> usize {
    nodes.place(&log.end().await.unwrap().leader.unwrap())
}

/// Waits until the stream is led by another server.
async fn led_by_another(nodes: &Nodes, log: &LogStream, old: usize) -> Duration {
    let since = Instant::now();
    loop {
        let leader = log.end().await.ok().and_then(|end| end.leader);
        if leader.is_some_and(|name| nodes.place(&name) != old) {
            return since.elapsed();
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_death_of_the_stream_leader_loses_nothing() {
    survives(Nodes::start(), async |nodes, log| {
        let at = leader(nodes, log).await;
        nodes.kill(at);
        println!("led again after {:?}", led_by_another(nodes, log, at).await);
        sleep(Duration::from_secs(1)).await;
        nodes.restart(at);
    })
    .await;
}

#[tokio::test]
async fn the_death_of_a_replica_loses_nothing() {
    survives(Nodes::start(), async |nodes, log| {
        let at = (leader(nodes, log).await + 1) % 3;
        nodes.kill(at);
        sleep(Duration::from_secs(1)).await;
        nodes.restart(at);
    })
    .await;
}

#[tokio::test]
async fn a_stream_leader_that_hangs_loses_nothing() {
    survives(Nodes::start(), async |nodes, log| {
        let at = leader(nodes, log).await;
        nodes.signal(at, Signal::STOP);
        let until = Instant::now() + Duration::from_secs(8);
        println!("led again after {:?}", led_by_another(nodes, log, at).await);
        tokio::time::sleep_until(until).await;
        nodes.signal(at, Signal::CONT);
    })
    .await;
}

#[tokio::test]
async fn a_restart_of_all_servers_loses_nothing() {
    survives(Nodes::start(), async |nodes, _| {
        (0..3).for_each(|at| nodes.kill(at));
        sleep(Duration::from_millis(300)).await;
        (0..3).for_each(|at| nodes.restart(at));
    })
    .await;
}

#[tokio::test]
async fn the_stream_is_led_elsewhere_when_asked() {
    let nodes = Nodes::start();
    let log = nodes.log(0).await;
    for round in 0..3 {
        let end = nodes.whole(&log).await;
        let old = end.leader.unwrap();
        let other = nodes.nodes.iter().find(|node| node.name != old).unwrap().name.clone();
        log.move_leader_from(&other).await.unwrap();
        log.move_leader_from(&old).await.unwrap();
        let took = soon(led_by_another(&nodes, &log, nodes.place(&old))).await;
        let since = Instant::now();
        append(&log, &format!("r{round}"), b"x", round).await;
        println!("led elsewhere after {took:?}, written after {:?}", since.elapsed());
    }
}

async fn raw(client: &Client, subject: String, body: &Value) -> Result<Value, String> {
    let answer = timeout(Duration::from_millis(700), client.request(subject, body.to_string().into())).await;
    let answer = answer.map_err(|_| "silent".to_owned())?.map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&answer.payload).unwrap())
}

#[tokio::test]
async fn a_stream_with_other_settings_is_refused() {
    let (world, _server, log) = single_log().await;
    let bot = client::connect(&client::bot_login(&world.folder), |_| {}).await.unwrap();
    let (name, witness) = (world.folder.subjects().log_stream(), world.witness().await);
    let info = raw(&witness, format!("$JS.API.STREAM.INFO.{name}"), &json!({})).await.unwrap();
    append(&log, "a", b"x", 0).await;
    let good = info["config"].clone();
    for (setting, value) in [
        ("discard", json!("old")),
        ("deny_delete", json!(false)),
        ("deny_purge", json!(true)),
        ("storage", json!("memory")),
        ("max_msg_size", json!(1000)),
        ("max_msgs", json!(1000)),
        ("max_bytes", json!(100_000_000)),
        ("max_age", json!(3_600_000_000_000_u64)),
        ("duplicate_window", json!(1_000_000_000)),
        ("allow_direct", json!(true)),
        ("allow_rollup_hdrs", json!(true)),
        ("no_ack", json!(true)),
        ("retention", json!("interest")),
        ("subjects", json!(["herder.other.log"])),
        ("persist_mode", json!("async")),
    ] {
        raw(&witness, format!("$JS.API.STREAM.DELETE.{name}"), &json!({})).await.unwrap();
        let mut other = good.clone();
        other[setting] = value.clone();
        if setting == "storage" {
            continue;
        }
        let made = raw(&witness, format!("$JS.API.STREAM.CREATE.{name}"), &other).await.unwrap();
        if made.get("error").is_some() {
            panic!("{setting}: {}", made["error"]);
        }
        let refused = LogStream::open(&bot, world.folder.name(), 1).await.map(drop).unwrap_err().to_string();
        assert!(refused.contains(setting), "{setting}: {refused}");
        println!("{refused}");
    }
    raw(&witness, format!("$JS.API.STREAM.DELETE.{name}"), &json!({})).await.unwrap();
    let missing = LogStream::open_existing(&bot, world.folder.name(), 1).await.map(drop).unwrap_err();
    assert_eq!(missing.to_string(), format!("there is no stream {name} on the NATS servers"));
    LogStream::open(&bot, world.folder.name(), 1).await.unwrap();
    LogStream::open_existing(&bot, world.folder.name(), 1).await.unwrap();
}

#[tokio::test]
async fn a_stream_with_one_replica_is_refused_where_there_should_be_three() {
    let nodes = Nodes::start();
    let three = nodes.log(0).await;
    let end = nodes.whole(&three).await;
    assert_eq!((end.replicas, end.current), (3, 3));
    let bot = nodes.bot(2).await;
    bot.flush().await.unwrap();
    let refused = LogStream::open(&bot, nodes.world.folder.name(), 1).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("has num_replicas = 3, and herder needs 1"), "{refused}");
    for node in &nodes.nodes {
        assert_eq!(check_server(monitor_port(node.port)).await.unwrap().name, node.name);
    }
}

/// Starts a server whose configuration is the bot's, changed.
fn changed(world: &World, change: impl Fn(&str) -> String) -> TestServer {
    let conf = world.folder.conf();
    fs::write(&conf, change(&fs::read_to_string(&conf).unwrap())).unwrap();
    world.start()
}

fn port(world: &World) -> u16 {
    monitor_port(world.folder.servers()[0].rsplit(':').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_server_that_acknowledges_before_the_disk_is_refused() {
    let world = World::new();
    {
        let _server = world.start();
        let local = check_server(port(&world)).await.unwrap();
        assert_eq!(local.name, format!("{}-1", world.folder.name()));
    }
    {
        let _server = changed(&world, |conf| conf.replace("  sync_interval: always\n", ""));
        assert!(matches!(check_server(port(&world)).await, Err(ServerError::NotSynced)));
    }
    assert!(matches!(check_server(port(&world)).await, Err(ServerError::Silent { .. })));
    assert!(matches!(check_server(free_port()).await, Err(ServerError::Silent { .. })));
}

#[tokio::test]
async fn a_server_without_jetstream_carries_runners_and_no_log() {
    let world = World::new();
    let _server = changed(&world, |conf| {
        let (before, rest) = conf.split_once("jetstream {").unwrap();
        let (_, after) = rest.split_once("}\n").unwrap();
        format!("{before}{after}")
    });
    assert!(matches!(check_server(port(&world)).await, Err(ServerError::NoJetStream)));
    let bot = client::connect(&client::bot_login(&world.folder), |_| {}).await.unwrap();
    let refused = LogStream::open(&bot, world.folder.name(), 1).await.map(drop).unwrap_err();
    println!("{refused}");
    world.runner("box4").await;
}

#[tokio::test]
async fn a_copy_is_put_and_fetched() {
    let nodes = Nodes::start();
    let log = nodes.log(0).await;
    nodes.whole(&log).await;
    let bot = nodes.bot(0).await;
    let copies = Copies::open(&bot, nodes.world.folder.name(), 3).await.unwrap();
    assert_eq!(copies.newest().await.unwrap(), None);
    let mut content = vec![0; 20_000_000];
    getrandom::fill(&mut content).unwrap();
    // One that does not come to its end leaves nothing for good.
    let half = timeout(Duration::from_millis(60), copies.put("half", &mut &content[..], 5)).await;
    assert!(half.is_err());
    let since = Instant::now();
    let put = copies.put("copy-17", &mut &content[..], 17).await.unwrap();
    println!("20 MB put in {:?}", since.elapsed());
    assert_eq!(copies.newest().await.unwrap(), Some(put.clone()));
    assert_eq!((put.seq, put.size), (17, 20_000_000));
    let (since, mut fetched) = (Instant::now(), Vec::new());
    copies.fetch(&put, &mut fetched).await.unwrap();
    println!("20 MB fetched in {:?}", since.elapsed());
    assert!(fetched == content);
    copies.put("copy-18", &mut &content[..1000], 18).await.unwrap();
    let third = copies.put("copy-19", &mut &b""[..], 19).await.unwrap();
    let kept: Vec<_> = copies.kept().await.unwrap().into_iter().map(|copy| copy.name).collect();
    assert_eq!(kept, ["copy-18", "copy-19"]);
    let mut empty = Vec::new();
    copies.fetch(&third, &mut empty).await.unwrap();
    assert!(empty.is_empty());
    let gone = copies.fetch(&put, &mut empty).await.unwrap_err().to_string();
    assert!(gone.contains("a part is missing"), "{gone}");
    let info = format!("$JS.API.STREAM.INFO.{}", nodes.world.folder.subjects().copies_stream());
    let info = raw(&bot, info, &json!({})).await.unwrap();
    assert_eq!(info["state"]["messages"], 3, "{}", info["state"]);
}

#[tokio::test]
async fn nobody_but_the_bot_touches_the_log() {
    let (world, _server, log) = single_log().await;
    append(&log, "a", b"x", 0).await;
    let runner = world.runner("box4").await;
    let invitation = world.invite("box5");
    let (runner_login, bot_login) = (client::runner_login(&runner), client::bot_login(&world.folder));
    let joiner = Login {
        credentials: &invitation.credentials,
        inbox: super::permits::join_inbox(),
        patient: false,
        ..client::bot_login(&world.folder)
    };
    let (name, copies) = (world.folder.subjects().log_stream(), world.folder.subjects().copies_stream());
    let attempts = |stream: &str| {
        [
            (format!("$JS.API.STREAM.INFO.{stream}"), json!({})),
            (format!("$JS.API.STREAM.MSG.GET.{stream}"), json!({ "seq": 1 })),
            (format!("$JS.API.STREAM.PURGE.{stream}"), json!({})),
            (format!("$JS.API.STREAM.DELETE.{stream}"), json!({})),
            (format!("$JS.API.STREAM.MSG.DELETE.{stream}"), json!({ "seq": 1 })),
            (format!("$JS.API.STREAM.LEADER.STEPDOWN.{stream}"), json!({})),
            (
                format!("$JS.API.CONSUMER.CREATE.{stream}"),
                json!({ "stream_name": stream, "config": { "deliver_subject": "_INBOX.box4.x" } }),
            ),
            (format!("$JS.API.DIRECT.GET.{stream}"), json!({ "seq": 1 })),
            ("$JS.API.STREAM.NAMES".to_owned(), json!({})),
            ("$JS.API.INFO".to_owned(), json!({})),
            (
                "$JS.API.STREAM.CREATE.OTHER".to_owned(),
                json!({ "name": "OTHER", "subjects": ["x"], "storage": "file" }),
            ),
            (world.folder.subjects().log(), json!({})),
            (format!("$O.{}.M.x", world.folder.subjects().copies_bucket()), json!({})),
        ]
    };
    for login in [&runner_login, &joiner] {
        let client = client::connect(login, |_| {}).await.unwrap();
        for (subject, body) in attempts(&name).into_iter().chain(attempts(&copies)) {
            let answer = raw(&client, subject.clone(), &body).await;
            assert_eq!(answer.map_err(|why| why.contains("silent")), Err(true), "{} {subject}", login.name);
        }
    }
    let bot = client::connect(&bot_login, |_| {}).await.unwrap();
    for (subject, body) in [
        (format!("$JS.API.STREAM.DELETE.{name}"), json!({})),
        (format!("$JS.API.STREAM.MSG.DELETE.{name}"), json!({ "seq": 1 })),
        ("$JS.API.STREAM.INFO.OTHER".to_owned(), json!({})),
        (
            "$JS.API.STREAM.CREATE.OTHER".to_owned(),
            json!({ "name": "OTHER", "subjects": ["x"], "storage": "file" }),
        ),
        ("$JS.API.STREAM.NAMES".to_owned(), json!({})),
    ] {
        let answer = raw(&bot, subject.clone(), &body).await;
        assert_eq!(answer.map_err(|why| why.contains("silent")), Err(true), "{subject}");
    }
    let end = log.end().await.unwrap();
    assert_eq!((end.first, end.last), (1, 1));
}

/// Prints how long a record takes, beside a bare request of the same bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn measure_one_writer() {
    let nodes = Nodes::start();
    let log = nodes.log(0).await;
    nodes.whole(&log).await;
    let bot = nodes.bot(0).await;
    let (body, mut last) = (vec![7_u8; 400], 0);
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for round in 0..2000_u64 {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("bare{round}"));
        headers.insert("Nats-Expected-Last-Sequence", last.to_string());
        let since = Instant::now();
        let subject = nodes.world.folder.subjects().log();
        let answer = bot.request_with_headers(subject, headers, body.clone().into()).await.unwrap();
        bare.push(since.elapsed());
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        assert_eq!(answer["seq"], last + 1, "{answer}");
        let since = Instant::now();
        assert_eq!(
            log.attempt(&format!("ours{round}"), &body, last + 1, PATIENCE).await,
            Attempt::Stored(last + 2)
        );
        ours.push(since.elapsed());
        last += 2;
    }
    for (name, mut times) in [("bare", bare), ("attempt", ours)] {
        times.sort();
        println!("{name}: p50 {:?}, p99 {:?}", times[times.len() / 2], times[times.len() * 99 / 100]);
    }
    println!("leader {:?}", log.end().await.unwrap().leader);
}
