//! `link`: one person on Discord and on IRC, and others who try to be taken for them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use herder::access::Access;
use herder::clock;
use herder::commands::dispatch::Handled;
use herder::commands::interact::{Answered, Structured};
use herder::commands::options::Given;
use herder::core::id::{NetworkName, PostId};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::speech::{Author, Inbound, Origin, Place};
use herder::core::time::Timestamp;
use herder::journal::{Batch, Entry, FleetEvent, Heard, PostSink, Stream};
use herder::supervisor::FaultInjection;

use super::rig::{Rig, account, inbound};

const ANN: &str = "112233445566778899";

fn on_discord(user: &str, command: &str, options: &[(&str, &str)]) -> Structured {
    Structured {
        under: None,
        author: Author {
            network: NetworkName::from("discord"),
            nick: "Ann".to_owned(),
            account: Some(user.to_owned()),
            mask: None,
            roles: Vec::new(),
            origin: Origin::Network,
        },
        place: Place::Channel("42".to_owned()),
        command: command.to_owned(),
        given: Given(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()),
        language: "en-US".to_owned(),
        shown: true,
        owed_under: None,
    }
}

async fn code_at(rig: &Rig, user: &str, now: Timestamp) -> String {
    let answered = rig.dispatcher.interact_at(&on_discord(user, "link", &[]), now).await;
    assert!(!answered.refused, "{answered:?}");
    let code = answered.data.as_ref().and_then(|data| data["code"].as_str()).expect("a code").to_owned();
    assert_eq!(code.len(), 8);
    assert!(answered.lines[0].contains(&format!("`!link {code}`")), "{answered:?}");
    code
}

async fn pause(rig: &Rig, user: &str) -> Answered {
    rig.dispatcher.interact(&on_discord(user, "pause", &[("agent", "spark")])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_is_said_ties_both_and_both_have_the_roles_of_both() {
    let rig = Rig::open().await;
    assert!(pause(&rig, ANN).await.refused);
    let now = clock::now();
    let code = code_at(&rig, ANN, now).await;
    let done = rig.do_("olga", "private", &format!("!link {code}")).await;
    insta::assert_snapshot!(done, @r#"Person("olga!olga@olga.example.org"): Tied: the Discord user Ann (112233445566778899) and the account olga on net are one person, with the roles of both. If that is not you, say `!link remove` now."#);
    assert!(!pause(&rig, ANN).await.refused, "an operator now");

    let last = rig.audit().await.pop().expect("recorded");
    assert_eq!(last.by.identity.as_deref(), Some("discord:112233445566778899 = net:olga"));
    let events = rig.journal.history(&Stream::Fleet, 1, None).unwrap();
    let Entry::Fleet(FleetEvent::Linked { tie, name, by }) = &events[0].entry else { panic!("{events:?}") };
    assert_eq!((tie.user.as_str(), tie.account.as_str(), name.as_str()), (ANN, "olga", "Ann"));
    assert_eq!(by.identity.as_deref(), Some("account:olga"));

    // Once, and never again.
    let again = rig.say_at("vera", "private", &format!("!link {code}"), now).await;
    assert!(again[0].contains("not good"), "{again:?}");
    assert_eq!(
        rig.do_("olga", "private", "!link remove").await,
        "Person(\"olga!olga@olga.example.org\"): 1 tie undone."
    );
    assert!(pause(&rig, ANN).await.refused, "nobody again");
    assert_eq!(rig.say("olga", "private", "!link remove").await, ["You are tied to nobody."]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_tied_stays_tied_after_a_restart() {
    let rig = Rig::open().await;
    let now = clock::now();
    let code = code_at(&rig, ANN, now).await;
    rig.say_at("olga", "private", &format!("!link {code}"), now).await;
    let loaded = rig.journal.load::<herder::journal::FleetState>(&Stream::Fleet).unwrap();
    let access = Access::new(&rig.rules()).with(herder::access::Ties::default());
    assert_eq!(access.role(&on_discord(ANN, "", &[]).author), None);
    let ties = herder::access::Ties::default();
    ties.set(loaded.state.ties);
    let access = Access::new(&rig.rules()).with(ties);
    assert_eq!(access.role(&on_discord(ANN, "", &[]).author), Some(herder::core::role::Role::Operator));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_becomes_somebody_else() {
    let rig = Rig::open().await;
    let start = clock::now();
    let later = |minutes: u64| start.after(Duration::from_secs(60 * minutes));

    // Not logged in: the code is used up, because others have read it.
    let code = code_at(&rig, ANN, start).await;
    let said = inbound("olga", None, "#work", &format!("!link {code}"));
    let told = rig.dispatcher.handle_at(said, start).await.unwrap_or_default();
    assert!(told[0].contains("not logged in"), "{told:?}");
    let stolen = rig.say_at("mallory", "#work", &format!("!link {code}"), start).await;
    assert!(stolen[0].contains("not good"), "{stolen:?}");

    // Ten minutes, and only the last one given.
    let old = code_at(&rig, ANN, later(20)).await;
    let late = rig.say_at("olga", "private", &format!("!link {old}"), later(30)).await;
    assert!(late[0].contains("not good"), "{late:?}");
    let first = code_at(&rig, ANN, later(40)).await;
    let second = code_at(&rig, ANN, later(40)).await;
    let replaced = rig.say_at("olga", "private", &format!("!link {first}"), later(40)).await;
    assert!(replaced[0].contains("not good"), "{replaced:?}");

    // On Discord a code proves nothing, and is used up all the same.
    let here = rig.dispatcher.interact_at(&on_discord("9", "link", &[("code", &second)]), later(41)).await;
    assert!(here.refused && here.lines[0].contains("on IRC"), "{here:?}");
    let burnt = rig.say_at("olga", "private", &format!("!link {second}"), later(41)).await;
    assert!(burnt[0].contains("not good"), "{burnt:?}");

    // Guessing: a few tries.
    let mut told = Vec::new();
    for guess in 0..7 {
        told.push(rig.say_at("vera", "private", &format!("!link aaaaaaa{guess}"), later(60)).await.join(" "));
    }
    assert!(told[4].contains("not good") && told[5].contains("too much"), "{told:?}");

    // In a channel that others read no code is given.
    let mut said = inbound("ann", Some(ANN), "#work", "!link");
    said.author.network = NetworkName::from("discord");
    let told = rig.dispatcher.handle_at(said, later(80)).await.unwrap_or_default();
    assert!(told[0].contains("Others would read"), "{told:?}");
    assert!(rig.fleet.ties().all().is_empty());
    rig.close().await;
}

/// Holds the journal up with the first post, until it is let go.
struct Slow {
    reached: tokio::sync::mpsc::UnboundedSender<()>,
    let_go: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl PostSink for Slow {
    fn accept(&self, _: Vec<Post>) {
        let _ = self.reached.send(());
        let _ = self.let_go.lock().expect("not poisoned").recv();
    }
}

/// The next herder does not know it.
#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_took_long_to_draw_is_given_to_whoever_says_it_and_never_kept() {
    let patience = Duration::from_millis(1);
    let rig = Rig::faulty(vec![account("vera")], patience, FaultInjection::default()).await;
    let discord = NetworkName::from("discord");
    let (message, at) = (Some("7".to_owned()), clock::now());
    let mut said = Inbound { message, at, ..inbound("ann", Some(ANN), "private", "!link") };
    said.author.network = discord.clone();
    let (reached, mut is_reached) = tokio::sync::mpsc::unbounded_channel();
    let (release, let_go) = std::sync::mpsc::channel();
    rig.journal.deliver_to(Arc::new(Slow { reached, let_go: Mutex::new(let_go) }));
    let post = Post {
        id: PostId::default(),
        network: NetworkName::from("net"),
        to: Target::Control,
        lane: Lane::Normal,
        at,
        body: Body::Lines(vec!["slow".to_owned()]),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    };
    let (journal, batch) = (rig.journal.clone(), Batch { at, posts: vec![post], ..Batch::default() });
    let slow = tokio::spawn(async move { journal.commit(batch).await });
    is_reached.recv().await.expect("the journal is held up");
    let handled = rig.dispatcher.handled(said.clone()).await;
    let Handled::Late { told: Some(_), over } = handled else { panic!("{handled:?}") };
    let handled = rig.dispatcher.handled(said).await;
    let Handled::Late { told: None, over: again } = handled else { panic!("it is in hand: {handled:?}") };
    drop(release);
    slow.await.expect("it does not panic").expect("it is recorded");
    let code = over.await.expect("it is over");
    assert!(code.iter().any(|line| line.contains("`!link ")), "{code:?}");
    assert_eq!(again.await.expect("it is over"), code);
    assert_eq!(rig.journal.undelivered(&discord).expect("it can be read"), []);
    assert_eq!(rig.journal.memos(&Heard::prefix(&discord)).expect("it can be read"), []);
    rig.close().await;
}
