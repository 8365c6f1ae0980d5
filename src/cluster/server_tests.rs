//! Keys, permissions, joining and revoking against a real `nats-server`.

use std::process::Command;

use async_nats::{Event, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use jiff::ToSpan as _;

use super::client::{self, LinkError, Login};
use super::invitation::Invitation;
use super::joining::{self, JoinError};
use super::revoking::{self, PushError, RevokeError};
use super::runner_folder::{self, StoreError};
use super::test_server::{TestServer, Watched, World, now, program, soon};
use crate::core::id::RunnerName;

#[test]
fn the_server_accepts_its_configuration() {
    let world = World::new();
    let test = || Command::new(program()).arg("-t").arg("-c").arg(world.folder.conf()).output().unwrap();
    let output = test();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_file(world.folder.path().join("server.key")).unwrap();
    assert!(!test().status.success());
}

/// A user, with what it may do for sure.
struct Actor {
    link: Watched,
    /// Subject that it may publish to.
    speaks: String,
    /// Subject of its own inbox.
    hears: String,
    inbox: Subscriber,
}

impl Actor {
    async fn new(login: &Login<'_>, speaks: String) -> Self {
        let hears = format!("{}.s", login.inbox);
        let link = Watched::connect(login).await;
        let inbox = link.client.subscribe(hears.clone()).await.unwrap();
        Self { link, speaks, hears, inbox }
    }

    /// Waits until the server has said that this subject is refused.
    async fn refused(&mut self, kind: &str, subject: &str) {
        let expected = format!("permissions violation for {kind} to \"{subject}\"").to_lowercase();
        let is_it = |event: &Event| event.to_string().to_lowercase().contains(&expected);
        self.link.until(is_it).await;
    }
}

async fn until(subscriber: &mut Subscriber, payload: &str) -> Vec<String> {
    let mut seen = Vec::new();
    soon(async {
        loop {
            let message = subscriber.next().await.unwrap();
            let text = String::from_utf8_lossy(&message.payload).into_owned();
            if text == payload {
                break;
            }
            seen.push(format!("{text} {}", message.subject));
        }
    })
    .await;
    seen
}

/// Tries each subject: a publication that is allowed arrives before the next message of the same user, others never; a
/// subscription that is allowed gets a message before the user's inbox gets the next one.
async fn try_all(
    world: &World,
    actor: &mut Actor,
    publish: &[(&str, bool)],
    subscribe: &[(&str, &str, bool)],
) {
    let witness = world.witness().await;
    let mut all = witness.subscribe(">").await.unwrap();
    witness.publish("ready", "ready".into()).await.unwrap();
    until(&mut all, "ready").await;
    let client = actor.link.client.clone();
    for &(subject, is_allowed) in publish {
        client.publish(subject.to_owned(), "tried".into()).await.unwrap();
        client.publish(actor.speaks.clone(), "after".into()).await.unwrap();
        let seen = until(&mut all, "after").await;
        assert_eq!(seen.contains(&format!("tried {subject}")), is_allowed, "publish {subject}: {seen:?}");
        if !is_allowed {
            actor.refused("publish", subject).await;
        }
    }
    for &(subject, sample, is_allowed) in subscribe {
        let mut subscriber = client.subscribe(subject.to_owned()).await.unwrap();
        client.publish(actor.speaks.clone(), "subscribed".into()).await.unwrap();
        until(&mut all, "subscribed").await;
        witness.publish(sample.to_owned(), "tried".into()).await.unwrap();
        witness.publish(actor.hears.clone(), "after".into()).await.unwrap();
        until(&mut actor.inbox, "after").await;
        // The own message of before may be among them.
        let heard = std::iter::from_fn(|| subscriber.next().now_or_never().flatten());
        let heard: Vec<_> =
            heard.map(|it| format!("{} {}", String::from_utf8_lossy(&it.payload), it.subject)).collect();
        assert_eq!(heard.contains(&format!("tried {sample}")), is_allowed, "subscribe {subject}: {heard:?}");
        if is_allowed {
            subscriber.unsubscribe().await.unwrap();
        } else {
            assert!(heard.is_empty(), "subscribe {subject}: {heard:?}");
            actor.refused("subscription", subject).await;
        }
    }
}

/// Subjects to publish to, and who of bot, runner `box4` and an invitation may.
fn publications(bot: &str) -> Vec<(String, [bool; 3])> {
    let own = |subject: &str| format!("herder.{bot}.{subject}");
    vec![
        (own("beat.box4"), [true, true, false]),
        (own("beat.box5"), [true, false, false]),
        (own("beat.box4.more"), [true, false, false]),
        (own("from.box4.i1"), [true, true, false]),
        (own("from.box4"), [true, false, false]),
        (own("from.box4.i1.more"), [true, false, false]),
        (own("from.box5.i1"), [true, false, false]),
        (own("to.box4.i1"), [true, false, false]),
        (own("to.box5.i1"), [true, false, false]),
        (own("join"), [true, false, true]),
        (own("log"), [true, false, false]),
        ("_INBOX.bot.x".to_owned(), [true, false, false]),
        ("_INBOX.box4.x".to_owned(), [true, false, false]),
        ("_INBOX.box5.x".to_owned(), [true, false, false]),
        ("_INBOX.join.x".to_owned(), [true, false, false]),
        ("herder.00000000.join".to_owned(), [false; 3]),
        ("herder.00000000.beat.box4".to_owned(), [false; 3]),
        ("elsewhere".to_owned(), [false; 3]),
        ("$JS.API.INFO".to_owned(), [false; 3]),
        (format!("$JS.API.STREAM.DELETE.HERDER_{bot}_LOG"), [false; 3]),
        (format!("$JS.API.STREAM.MSG.DELETE.HERDER_{bot}_LOG"), [false; 3]),
        (format!("$JS.API.STREAM.PURGE.HERDER_{bot}_OTHER"), [false; 3]),
        (format!("$JS.FC.HERDER_{bot}_LOG.c.1"), [true, false, false]),
        (format!("$O.HERDER_{bot}_COPY.C.x"), [true, false, false]),
        (format!("$O.HERDER_{bot}_OTHER.C.x"), [false; 3]),
        ("$SYS.REQ.CLAIMS.UPDATE".to_owned(), [false; 3]),
    ]
}

/// Subjects to subscribe to, a subject in each of them, and who of bot, runner `box4` and an invitation may.
fn subscriptions(bot: &str) -> Vec<(String, String, [bool; 3])> {
    let own = |subject: &str| format!("herder.{bot}.{subject}");
    let plain = |(subject, who): (&str, [bool; 3])| (own(subject), own(subject), who);
    let inbox = |owner: &str, who| (format!("_INBOX.{owner}.>"), format!("_INBOX.{owner}.y"), who);
    let mut all: Vec<_> = [
        ("beat.box4", [true, false, false]),
        ("beat.box5", [true, false, false]),
        ("from.box4.i1", [true, false, false]),
        ("to.box4.i1", [true, true, false]),
        ("to.box5.i1", [true, false, false]),
        ("join", [true, false, false]),
    ]
    .map(plain)
    .into();
    all.extend([
        (own("to.box4.*"), own("to.box4.i2"), [true, true, false]),
        // The server takes "*" for ">" as well, which reaches nothing but more of the runner's own.
        (own("to.box4.>"), own("to.box4.i2"), [true, true, false]),
        (own("to.>"), own("to.box5.i1"), [true, false, false]),
        (own("to.*.i1"), own("to.box5.i1"), [true, false, false]),
        (own("to.*.*"), own("to.box5.i1"), [true, false, false]),
        (own(">"), own("to.box5.i1"), [true, false, false]),
        inbox("bot", [true, false, false]),
        inbox("box4", [false, true, false]),
        inbox("box5", [false, false, false]),
        inbox("join", [false, false, true]),
        ("_INBOX.>".to_owned(), "_INBOX.box5.y".to_owned(), [false; 3]),
        ("_INBOX.*.y".to_owned(), "_INBOX.box5.y".to_owned(), [false; 3]),
        ("herder.>".to_owned(), own("to.box5.i1"), [false; 3]),
        ("herder.*.join".to_owned(), own("join"), [false; 3]),
        (">".to_owned(), own("to.box5.i1"), [false; 3]),
    ]);
    all
}

#[tokio::test]
async fn each_user_may_do_what_the_table_says_and_nothing_else() {
    let world = World::new();
    let _server = world.start();
    let (box4, invitation) = (world.runner("box4").await, world.invite("box5"));
    let subjects = world.folder.subjects();
    let mut actors = [
        Actor::new(&client::bot_login(&world.folder), subjects.join()).await,
        Actor::new(&client::runner_login(&box4), subjects.beat("box4")).await,
        Actor::new(&joining::login(&invitation), subjects.join()).await,
    ];
    let bot = world.folder.name();
    for (who, actor) in actors.iter_mut().enumerate() {
        let publications = publications(bot);
        let publish: Vec<_> = publications.iter().map(|(it, may)| (it.as_str(), may[who])).collect();
        let subscriptions = subscriptions(bot);
        let subscribe: Vec<_> =
            subscriptions.iter().map(|(it, sample, may)| (it.as_str(), sample.as_str(), may[who])).collect();
        try_all(&world, actor, &publish, &subscribe).await;
    }
}

#[tokio::test]
async fn a_runner_and_an_invitation_have_limits() {
    let world = World::new();
    let _server = world.start();
    let (box4, invitation) = (world.runner("box4").await, world.invite("box5"));
    let (runner, invited) = (client::runner_login(&box4), joining::login(&invitation));
    let subjects = world.folder.subjects();
    for (login, most, payload, subject) in
        [(runner, 8, 64 * 1024, subjects.beat("box4")), (invited, 4, 32 * 1024, subjects.join())]
    {
        let witness = world.witness().await;
        let mut heard = super::test_server::subscribed(&witness, subject.clone(), "witness").await;
        let mut link = Watched::connect(&login).await;
        let mut held = Vec::new();
        for n in 0..=most {
            held.push(link.client.subscribe(format!("{}.{n}", login.inbox)).await.unwrap());
        }
        link.until(|event| event.to_string().contains("maximum subscriptions exceeded")).await;
        link.client.publish(subject.clone(), vec![b'x'; payload].into()).await.unwrap();
        assert_eq!(soon(heard.next()).await.unwrap().payload.len(), payload);
        // The library knows the limit, or the server ends the connection.
        if link.client.publish(subject, vec![b'x'; payload + 1].into()).await.is_ok() {
            link.until(|event| matches!(event, Event::Disconnected)).await;
        }
    }
}

#[tokio::test]
async fn the_system_user_brings_jwts_and_does_nothing_else() {
    let world = World::new();
    let _server = world.start();
    let mut system = Watched::connect(&client::system_login(&world.folder)).await;
    for subject in ["$SYS.REQ.CLAIMS.DELETE", "$SYS.REQ.CLAIMS.LIST", "$SYS.REQ.SERVER.PING"] {
        system.client.publish(subject, "{}".into()).await.unwrap();
        let expected = format!("permissions violation for publish to \"{subject}\"").to_lowercase();
        system.until(|event| event.to_string().to_lowercase().contains(&expected)).await;
    }
}

#[tokio::test]
async fn an_invitation_joins_once() {
    let world = World::new();
    let _server = world.start();
    let invitation = world.invite("box4");
    let (joined, answer) = world.join(&invitation, "").await;
    let (joined, admitted) = (joined.unwrap(), answer.admitted.unwrap());
    assert_eq!(admitted.runner.as_str(), "box4");
    assert_eq!(admitted.invitation, invitation.credentials.key.public_key());

    let path = world.runner_path("box4");
    runner_folder::store(&path, &joined).unwrap();
    let again = runner_folder::store(&path, &joined).unwrap_err();
    assert!(matches!(again, StoreError::There { .. }), "{again}");
    let folder = runner_folder::open_runner(&path).unwrap();
    assert_eq!(folder.credentials().key.public_key(), admitted.key);
    assert_eq!(folder.pinned().public_key(), world.folder.messages().public_key());

    let (second, answer) = world.join(&invitation, &admitted.invitation).await;
    assert_eq!(answer.admitted, None);
    let refused = second.unwrap_err().to_string();
    assert!(refused.starts_with("the bot refuses: the invitation was used already"), "{refused}");
}

#[tokio::test]
async fn a_runner_is_answered() {
    let world = World::new();
    let _server = world.start();
    let box4 = world.runner("box4").await;
    let bot = Watched::connect(&client::bot_login(&world.folder)).await.client;
    let runner = Watched::connect(&client::runner_login(&box4)).await.client;
    let beats = world.folder.subjects().beat("*");
    let mut beats = super::test_server::subscribed(&bot, beats, "bot").await;
    let answers = async {
        let beat = beats.next().await.unwrap();
        bot.publish(beat.reply.unwrap(), "granted".into()).await.unwrap();
    };
    let request = runner.request(box4.subjects().beat("box4"), "beat".into());
    let (answer, ()) = soon(async { tokio::join!(request, answers) }).await;
    assert_eq!(&answer.unwrap().payload[..], b"granted");
}

#[tokio::test]
async fn an_invitation_without_a_bot_says_so() {
    let world = World::new();
    let _server = world.start();
    let refused = soon(joining::join(&world.invite("box4"), joining::new_key().unwrap())).await.unwrap_err();
    assert!(matches!(refused, JoinError::NoBot), "{refused}");
}

#[tokio::test]
async fn an_invitation_that_has_expired_is_refused_by_the_server() {
    let world = World::new();
    let _server = world.start();
    let at = |earlier: jiff::Span| now().checked_sub(earlier).unwrap();
    let invited =
        |at| Invitation::parse(&world.folder.invite(&RunnerName::new("box4").unwrap(), at).unwrap()).unwrap();
    let join =
        |invitation| async move { soon(joining::join(&invitation, joining::new_key().unwrap())).await };
    let refused = join(invited(at(601.seconds()))).await.unwrap_err();
    assert!(matches!(refused, JoinError::Expired(_)), "{refused}");
    // Nine minutes old: the server lets it in, and no bot is there.
    let accepted = join(invited(at(540.seconds()))).await.unwrap_err();
    assert!(matches!(accepted, JoinError::NoBot), "{accepted}");
}

async fn is_refused(login: Login<'_>) -> bool {
    match soon(client::connect(&Login { patient: false, ..login }, |_| {})).await {
        Ok(_) => false,
        Err(LinkError::Refused { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

async fn revoke(world: &World, key: &str, now: jiff::Timestamp) {
    revoking::note(&world.folder, key, now).unwrap();
    soon(revoking::push(&world.folder)).await.unwrap();
}

#[tokio::test]
async fn a_runner_that_is_revoked_is_thrown_out_and_cannot_come_back() {
    let world = World::new();
    let server = world.start();
    let (box4, box5) = (world.runner("box4").await, world.runner("box5").await);
    let mut out = Watched::connect(&client::runner_login(&box4)).await;
    let stays = Watched::connect(&client::runner_login(&box5)).await;
    let mut stays_inbox = stays.client.subscribe("_INBOX.box5.x").await.unwrap();
    let key = |runner: &runner_folder::RunnerFolder| runner.credentials().key.public_key();
    assert!(!is_refused(client::runner_login(&box4)).await);

    revoke(&world, &key(&box4), now()).await;
    out.until(|event| matches!(event, Event::Disconnected)).await;
    out.until(|event| event.to_string().contains("authorization violation")).await;
    assert!(is_refused(client::runner_login(&box4)).await);
    assert!(!is_refused(client::runner_login(&box5)).await);
    // The other one was not disturbed: it is still subscribed.
    let witness = world.witness().await;
    witness.publish("_INBOX.box5.x", "still here".into()).await.unwrap();
    until(&mut stays_inbox, "still here").await;
    assert_eq!(stays.client.statistics().connects.load(std::sync::atomic::Ordering::Relaxed), 1);

    // Revocations add up, also when the clock was set back.
    let earlier = now().checked_sub(1.hour()).unwrap();
    revoke(&world, &key(&box5), earlier).await;
    assert!(is_refused(client::runner_login(&box5)).await);
    assert!(is_refused(client::runner_login(&box4)).await);

    // A server that starts again with its old configuration knows it, and one that has lost everything is told.
    drop(server);
    let server = world.start();
    assert!(is_refused(client::runner_login(&box4)).await);
    drop(server);
    std::fs::remove_dir_all(world.folder.path().join("jwt")).unwrap();
    let _server = world.start();
    assert!(!is_refused(client::runner_login(&box4)).await);
    soon(revoking::push(&world.folder)).await.unwrap();
    assert!(is_refused(client::runner_login(&box4)).await);
    assert!(is_refused(client::runner_login(&box5)).await);
    assert!(!is_refused(client::bot_login(&world.folder)).await);
}

#[tokio::test]
async fn a_revocation_without_a_server_is_brought_later() {
    let world = World::new();
    let server = world.start();
    let box4 = world.runner("box4").await;
    drop(server);
    let key = box4.credentials().key.public_key();
    revoking::note(&world.folder, &key, now()).unwrap();
    let late = soon(revoking::push(&world.folder)).await.unwrap_err();
    assert!(matches!(late, PushError::Link(LinkError::Unreachable { .. })), "{late}");
    let _server = world.start();
    assert!(!is_refused(client::runner_login(&box4)).await);
    soon(revoking::push(&world.folder)).await.unwrap();
    assert!(is_refused(client::runner_login(&box4)).await);
}

#[tokio::test]
async fn keys_that_are_not_a_runners_are_not_revoked() {
    let world = World::new();
    let own = world.folder.bot().key.public_key();
    assert!(matches!(revoking::note(&world.folder, &own, now()), Err(RevokeError::Own)));
    let account = world.folder.account_key();
    for key in ["", "*", "box4", &account] {
        assert!(matches!(revoking::note(&world.folder, key, now()), Err(RevokeError::NoKey(_))), "{key}");
    }
}

#[tokio::test]
async fn a_server_of_another_ca_is_refused() {
    let (world, other) = (World::new(), World::new());
    let _server = world.start();
    let login = Login { ca: other.folder.ca(), patient: false, ..client::bot_login(&world.folder) };
    let refused = soon(client::connect(&login, |_| {})).await.unwrap_err();
    assert!(matches!(refused, LinkError::Stranger { .. }), "{refused}");
    // The right CA, and the user of another bot.
    let login = Login { credentials: other.folder.bot(), ..client::bot_login(&world.folder) };
    assert!(is_refused(login).await);
    assert!(!is_refused(client::bot_login(&world.folder)).await);
}

#[tokio::test]
async fn the_certificate_is_for_localhost_as_well() {
    let world = World::new();
    let _server = world.start();
    let servers = [world.folder.servers()[0].replace("127.0.0.1", "localhost")];
    let login = Login { servers: &servers, patient: false, ..client::bot_login(&world.folder) };
    assert!(soon(client::connect(&login, |_| {})).await.is_ok());
}

#[tokio::test]
async fn a_name_that_is_not_in_the_certificate_is_refused() {
    let world = World::new();
    // The server's certificate is one of the same CA, for other names.
    let _server = TestServer::start_at(&world.folder.conf(), "127.0.0.2");
    let servers = [world.folder.servers()[0].replace("127.0.0.1", "127.0.0.2")];
    let login = Login { servers: &servers, patient: false, ..client::bot_login(&world.folder) };
    let refused = soon(client::connect(&login, |_| {})).await.unwrap_err();
    assert!(matches!(refused, LinkError::Stranger { .. }), "{refused}");
}

#[tokio::test]
async fn a_server_without_tls_is_used_on_this_machine_alone() {
    let world = World::new();
    let conf = std::fs::read_to_string(world.folder.conf()).unwrap();
    let (before, rest) = conf.split_once("tls {").unwrap();
    let (_, after) = rest.split_once("}\n").unwrap();
    std::fs::write(world.folder.conf(), format!("{before}{after}")).unwrap();
    let _server = world.start();
    let encrypted = [world.folder.servers()[0].clone()];
    let login = |servers| Login { servers, patient: false, ..client::bot_login(&world.folder) };
    let plain = [encrypted[0].replace("tls://", "nats://")];
    assert!(soon(client::connect(&login(&plain), |_| {})).await.is_ok());
    let refused = soon(client::connect(&login(&encrypted), |_| {})).await.unwrap_err();
    assert!(matches!(refused, LinkError::Unreachable { .. }), "{refused}");
    let elsewhere = ["nats://box1.example.org:4222".to_owned()];
    let refused = soon(client::connect(&login(&elsewhere), |_| {})).await.unwrap_err();
    assert!(matches!(refused, LinkError::Address(_)), "{refused}");
}

#[tokio::test]
async fn a_bot_waits_for_its_server() {
    let world = World::new();
    let client = soon(client::connect(&client::bot_login(&world.folder), |_| {})).await.unwrap();
    let mut inbox = client.subscribe("_INBOX.bot.x").await.unwrap();
    client.publish("_INBOX.bot.x", "back".into()).await.unwrap();
    let _server = world.start();
    until(&mut inbox, "back").await;
}
