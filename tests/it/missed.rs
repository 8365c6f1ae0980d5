//! Lines that people say on IRC while herder is cut off, or down: asked for afterwards, where the server keeps them.
//!
//! The server is herder's own, in this process; herder comes to it from outside, by TCP.

use std::path::Path;
use std::time::Duration;

use herder::chat::embedded_ircd::{Options, Password, Server};
use herder::chat::irc::Patience;
use herder::clock;
use herder::config::IrcNetwork;
use herder::core::id::NetworkName;
use herder::core::link::LinkState;
use herder::journal::{self, Journal, Memo};
use herder::local::{self, Request};

use crate::conversation_servers::wire::Wire;
use crate::irc::script::{ALL, listen};
use crate::kill::{Moments, Running, number, reap, signal};
use crate::stage::{self, ALICE, PATIENCE, Person, Stage};

/// herder's password on the server, on which it has an ordinary account.
const HERDER: &str = "herder-password";

const ROOMS: [&str; 2] = ["#spark", "#herder"];

async fn server() -> Server {
    let account = |name: &str, password: &str| (name.to_owned(), Password::of(password));
    let options = Options {
        bot_nick: "nobody".to_owned(),
        accounts: vec![account("alice", ALICE), account("herder", HERDER)],
        ..Options::default()
    };
    Server::start(options).await.expect("a free port")
}

fn network(port: u16) -> IrcNetwork {
    let network = stage::network("demo", ([127, 0, 0, 1], port).into());
    IrcNetwork { server_password: Some(HERDER.into()), ..network }
}

/// Notes the last line of what it is given to do.
const NOTES: &str = "tail -n 1 >> got; echo noted";

fn got(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("got")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_while_the_link_was_cut_is_done_in_order_when_it_is_back() {
    let server = server().await;
    let wire = Wire::to(server.address().port()).await;
    let dir = tempfile::tempdir().unwrap();
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &ROOMS).await;
    let agents = vec![stage::shell("spark", dir.path(), NOTES)];
    let config = stage::config(dir.path(), vec![network(wire.port)], agents);
    let patience = Patience { retry: Duration::from_millis(50), ..Patience::default() };
    let stage = Stage::open(config, herder::run::Options { patience, ..Default::default() }).await;
    alice.reaches("herder", "#spark").await;

    wire.cut();
    stage.link("demo", |state| matches!(state, LinkState::Connecting { .. })).await;
    for line in ["the first job.", "!pause spark", "the second job.", "\u{1}ACTION waits\u{1}"] {
        alice.say("#spark", line).await;
    }
    // All of it is with the server.
    alice.overhears("#spark").await;
    wire.mend();
    alice.hears("#spark", "🐜 spark started: the first job.").await;
    alice.hears_in_any_order("#spark", "⏸️").await;
    alice.hears_in_any_order("#spark", "Queued for spark").await;
    alice.say("#spark", "resume").await;
    alice.hears("#spark", "🐜 spark started: the second job.").await;
    alice.hears("#spark", "✅").await;
    assert_eq!(got(dir.path()), ["the first job.", "the second job."]);
    for room in ROOMS {
        let heard = alice.heard_in(room);
        assert!(!heard.iter().any(|text| text.contains("I was away")), "{room}: {heard:#?}");
    }
    stage.close().await;
}

/// Whatever is said is asked of the agent once, whenever herder is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_around_kills_becomes_work_once() {
    let server = server().await;
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("bot.toml");
    let text = format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"demo\"\nserver = \"127.0.0.1\"\nport = {}\ntls = false\n\
         server_password = {{ env = \"SERVER_PASSWORD\" }}\n[access]\nadmins = [\"irc:demo:alice\"]\n[evaluator]\nkind = \"builtin\"\n\
         [[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = \"{}\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null\"]\n",
        server.address().port(),
        dir.path().display()
    );
    std::fs::write(&config, text).unwrap();
    let start = || Running::start(dir.path(), &config, &[("SERVER_PASSWORD", HERDER)]);
    let mut alice = Person::join(server.address(), "alice", Some(ALICE), &ROOMS).await;
    // The first one is there for long enough to note where it begins, and ends in order.
    let first = start();
    alice.reaches("herder", "#spark").await;
    signal(&first, rustix::process::Signal::TERM);
    assert!(reap(first).await.success());

    let seed = number("HERDER_SEED", u64::from(std::process::id()));
    let (mut moments, mut said) = (Moments::new(seed), Vec::new());
    for kill in 0..6 {
        let mut words = async |when: &str| {
            let job = format!("job {kill} {when}.");
            alice.say("#spark", &job).await;
            // It is with the server, and comes before whatever follows.
            alice.overhears("#spark").await;
            said.push(job);
        };
        words("before").await;
        let herder = start();
        words("while it starts").await;
        if kill % 2 == 0 {
            alice.sees("herder", "#spark").await;
            alice.say("#spark", &format!("job {kill} when it is there.")).await;
            alice.overhears("#spark").await;
            said.push(format!("job {kill} when it is there."));
        }
        tokio::time::sleep(moments.millis(300)).await;
        signal(&herder, rustix::process::Signal::KILL);
        reap(herder).await;
    }
    let last = start();
    let socket = dir.path().join("data").join(local::FILE_NAME);
    let audited = async {
        loop {
            let request =
                Request { command: "audit".to_owned(), args: vec!["spark".to_owned(), "100".to_owned()] };
            if let Ok(answer) = local::ask(&socket, &request).await {
                let times =
                    |job: &String| answer.lines.iter().filter(|line| line.contains(job.as_str())).count();
                let counted: Vec<usize> = said.iter().map(times).collect();
                if counted.iter().all(|times| *times > 0) {
                    return counted;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let counted = tokio::time::timeout(PATIENCE, audited).await.unwrap_or_else(|_| {
        panic!(
            "seed {seed}: not all became work\n{}",
            std::fs::read_to_string(dir.path().join("log")).unwrap()
        )
    });
    assert!(counted.iter().all(|times| *times == 1), "seed {seed}: {said:#?}: {counted:?}");
    signal(&last, rustix::process::Signal::TERM);
    assert!(reap(last).await.success());
}

/// A command that is read late may not be meant any more; work is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_read_late_is_asked_back_and_work_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let far = NetworkName::from("far");
    let agents = vec![stage::shell("spark", dir.path(), NOTES)];
    let config = stage::config(dir.path(), vec![stage::network("far", ([127, 0, 0, 1], 9).into())], agents);
    let settings = journal::Settings::new(config.data_dir.clone(), config.history.clone());
    let opened = tokio::task::spawn_blocking(move || Journal::open(&settings)).await.unwrap();
    let (journal, _) = opened.unwrap();
    let now = clock::now().as_millis();
    let noted = Memo {
        key: "irc/seen/far/#spark".to_owned(),
        value: Some(format!("{{\"at\":{}}}", now - 3_600_000)),
    };
    journal.remember(vec![noted]).await.unwrap();
    journal.close().await;
    drop(journal);

    let (connector, mut listener) = listen();
    let options = herder::run::Options { connectors: [(far, connector)].into(), ..Default::default() };
    let stage = Stage::open(config, options).await;
    let mut server = listener.accept(&format!("{ALL} draft/chathistory")).await;
    let question = server.until("@label=p").await;
    let label = question.strip_prefix("@label=").and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(question.contains(" CHATHISTORY AFTER #spark timestamp="), "{question}");
    server.send(&format!("@label={label} BATCH +past chathistory #spark")).await;
    let ten_minutes_ago = jiff::Timestamp::from_millisecond(now - 600_000).unwrap();
    for (id, text) in [("m1", "pause"), ("m2", "the old job.")] {
        let tags = format!("batch=past;msgid={id};time={ten_minutes_ago};account=alice");
        server.send(&format!("@{tags} :alice!a@h PRIVMSG #spark :{text}")).await;
    }
    server.send("BATCH -past").await;
    let asked_back = server.said("#spark").await;
    assert!(asked_back.contains("`pause`") && asked_back.contains("If you still mean it"), "{asked_back}");
    while !server.said("#spark").await.contains("noted") {}
    assert_eq!(got(dir.path()), ["the old job."]);
    // Answering what is left until herder has said goodbye.
    let answering = async {
        while let Some(line) = server.line().await {
            server.answer(&line).await
        }
    };
    tokio::join!(stage.close(), answering);
}
