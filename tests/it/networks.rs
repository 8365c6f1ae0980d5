//! A network whose adapter is refused, dies, or fails too often, while another one continues.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use herder::chat::embedded_ircd::Server;
use herder::chat::irc::{Connecting, Connector, Patience};
use herder::config::{Config, Networks, Subject};
use herder::core::id::NetworkName;
use herder::core::link::LinkState;
use herder::run::Options;

use crate::irc::script::{Listener, listen};
use crate::kill::{Running, reap};
use crate::servers::ngircd::Ngircd;
use crate::stage::{self, Person, Stage};

const ROOMS: [&str; 3] = ["#spark", "#alerts", "#herder"];

/// A herder on two networks: the embedded server, where alice is, and `far`, whose server is a script.
struct Two {
    alice: Person,
    stage: Stage,
    server: Server,
    _dir: tempfile::TempDir,
}

impl Two {
    async fn open(far: Connector) -> Self {
        Self::open_with(far, |_| ()).await
    }

    /// Opens a herder whose configuration `change` edits last.
    async fn open_with(far: Connector, change: impl FnOnce(&mut Config)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = stage::server().await;
        let mut alice = stage::server_person(&server, "alice", &ROOMS).await;
        let networks = vec![
            stage::embedded_network(&server),
            // Never dialled: the connector is used instead.
            stage::network("far", ([127, 0, 0, 1], 9).into()),
        ];
        let agents = vec![stage::shell("spark", dir.path(), "cat")];
        let mut options = stage::inside(&server);
        options.connectors.insert(NetworkName::from("far"), far);
        let moment = Duration::from_millis(10);
        // Every absence is one that shortens a backlog.
        let absence = Duration::ZERO;
        options.patience = Patience { retry: moment, anew: moment, absence, ..Patience::default() };
        let mut config = stage::config(dir.path(), networks, agents);
        change(&mut config);
        let stage = Stage::open(config, options).await;
        alice.reaches("herder", "#spark").await;
        Self { alice, stage, server, _dir: dir }
    }

    /// Checks that alice's network works on.
    async fn works(&mut self) {
        self.alice.say("#spark", "go on").await;
        self.alice.hears("#spark", "✅ spark completed").await;
    }
}

/// Makes the next connection fail at once.
async fn fails(far: &mut Listener) {
    drop(far.accept("").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_refuses_herder_is_given_up_and_that_is_said_on_the_other() {
    let (connector, mut far) = listen();
    let mut two = Two::open(connector).await;
    let mut server = far.accept("").await;
    server.until("NICK").await;
    server.send("ERROR :Closing Link: (Bad Password)").await;
    let alert = two.alice.hears_in_any_order("#alerts", "does not let herder in").await;
    assert!(alert.contains("far") && alert.contains("Password"), "{alert}");
    assert!(far.is_left().await, "nobody may come back to a server that has refused");
    two.works().await;
    assert_eq!(two.alice.heard_in("#alerts").len(), 1, "it is said once");
    two.stage.close().await;
}

/// Without another network no person can reach it: it ends with the exit code of a mistake in its settings, and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herder_that_its_only_network_refuses_for_good_ends_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let server = Ngircd::start_with("Password = secret", "");
    let config = dir.path().join("bot.toml");
    let text = format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {}\n\
         tls = false\nserver_password = {{ env = \"SERVER_PASSWORD\" }}\n[[agent]]\nname = \"spark\"\n\
         runtime = \"command\"\nworkspace = \"{}\"\ncommand = [\"cat\"]\n",
        server.port,
        dir.path().display()
    );
    std::fs::write(&config, text).unwrap();
    let herder = Running::start(dir.path(), &config, &[("SERVER_PASSWORD", "wrong")]);
    let ended = tokio::time::timeout(stage::PATIENCE, reap(herder)).await.expect("it ends");
    let said = std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert_eq!(ended.code(), Some(78), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("herder: ") && last.contains("assword"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adapter_that_dies_is_started_anew() {
    let (connector, mut far) = listen();
    let Connector::Factory(connect) = connector else { panic!("a listener is a factory") };
    let armed = AtomicBool::new(true);
    let connector = Connector::Factory(Arc::new(move || {
        assert!(!armed.swap(false, Ordering::SeqCst), "a fault");
        connect()
    }));
    let mut two = Two::open(connector).await;
    let mut server = far.up("").await;
    two.works().await;
    // The new one does the work of the old.
    while !server.posted("#spark").await.contains("🐜") {}
    two.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_five_failures_the_other_network_is_told_and_the_adapter_starts_clean() {
    let (connector, mut far) = listen();
    let mut two = Two::open(connector).await;
    for _ in 0..4 {
        fails(&mut far).await;
    }
    let fifth = far.accept("").await;
    two.works().await;
    assert_eq!(two.alice.heard_in("#alerts"), Vec::<String>::new(), "four failures are nobody's business");
    drop(fifth);
    let alert = two.alice.hears_in_any_order("#alerts", "cannot be reached").await;
    assert!(alert.contains("far") && alert.contains("after 5 attempts"), "{alert}");

    // A new adapter counts from one.
    fails(&mut far).await;
    let clean = |state: &LinkState| matches!(state, LinkState::Connecting { attempts: 1, .. });
    two.stage.link("far", clean).await;
    let _server = far.up("").await;
    let back = two.alice.hears_in_any_order("#alerts", "is back").await;
    assert!(back.contains("far"), "{back}");
    two.stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_configuration_says_of_networks_is_what_counts() {
    let (connector, mut far) = listen();
    let Connector::Factory(connect) = connector else { panic!("a listener is a factory") };
    let away = Arc::new(AtomicBool::new(true));
    let is_away = Arc::clone(&away);
    let connector = Connector::Factory(Arc::new(move || -> Connecting {
        if is_away.load(Ordering::SeqCst) {
            return Box::pin(std::future::ready(Err(std::io::ErrorKind::ConnectionRefused.into())));
        }
        connect()
    }));
    let mut two = Two::open_with(connector, |config| {
        config.networks = Networks { attempts: 2, backlog_lines: 4, bot_exchanges: 1, ..Networks::default() };
        config.irc[0].bots = vec!["mallory".to_owned()];
        let network = config.irc[0].name.clone();
        let mallory = Subject::IrcAccount { network, account: "mallory".to_owned() };
        config.access.operators.push(mallory);
    })
    .await;
    let alert = two.alice.hears_in_any_order("#alerts", "cannot be reached").await;
    assert!(alert.contains("after 2 attempts"), "{alert}");

    let mut bot = stage::server_person(&two.server, "mallory", &["#spark"]).await;
    bot.say("#spark", "status").await;
    bot.hears("#spark", "mallory: spark").await;
    bot.say("#spark", "status").await;
    bot.hears("#spark", "mallory: A bot is answered 1 times an hour here").await;

    // Results stay; of the many posts about work the older ones are left out.
    for _ in 0..8 {
        two.works().await;
    }
    away.store(false, Ordering::SeqCst);
    let mut server = far.accept("").await;
    while !server.posted("#spark").await.contains("lines while away; `@spark log`") {}
    let answering = async {
        while let Some(line) = server.line().await {
            server.answer(&line).await
        }
    };
    tokio::join!(two.stage.close(), answering);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wait_is_longer_than_the_longest_that_is_configured() {
    const FAILURES: usize = 9;
    let (connector, mut far) = listen();
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.connectors.insert(NetworkName::from("far"), connector);
    // The first wait is short, and so are the others that are counted in it; the one before a new adapter is as in production.
    options.patience = Patience { retry: Duration::from_millis(50), ..Patience::default() };
    let far_away = vec![stage::network("far", ([127, 0, 0, 1], 9).into())];
    let mut config = stage::config(dir.path(), far_away, Vec::new());
    config.networks = Networks { reconnect_max: Duration::from_secs(1), attempts: 4, ..Networks::default() };
    let stage = Stage::open(config, options).await;
    let mut waits = Vec::new();
    let mut attempt = far.accept("").await;
    for _ in 0..FAILURES {
        drop(attempt);
        let failed = Instant::now();
        attempt = far.accept("").await;
        waits.push(failed.elapsed());
    }
    // Every fourth failure is followed by a new adapter, which without a shorter longest wait takes half a minute.
    let longest = waits.iter().max().unwrap();
    assert!(*longest < Duration::from_secs(15), "{waits:?}");
    // Doubled again and again the first wait would have become the longest of the default, 1.5 s. A busy machine may take its
    // time with one of them.
    let last = waits[FAILURES - 4..].iter().min().unwrap();
    assert!(*last < Duration::from_millis(600), "{waits:?}");
    stage.close().await;
}
