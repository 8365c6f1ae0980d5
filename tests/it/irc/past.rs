//! Lines from the time without a listener: asked for, handled once and in order, or reported as unknown.

use std::sync::Arc;

use herder::chat::irc::Marks;
use herder::clock;
use herder::core::id::NetworkName;
use herder::core::post::Target;
use herder::core::speech::{Author, Inbound};

use super::script::{ALL, Script, listen};
use crate::irc_rig::{Rig, network, settings};

/// A server that can be asked, gives three lines at a time, and labels its answers.
const THREE: &str = "CASEMAPPING=ascii CHATHISTORY=3 MSGREFTYPES=timestamp,msgid";

fn all() -> String {
    format!("{ALL} draft/chathistory")
}

fn unlabelled() -> String {
    all().replace("labeled-response", "draft/unknown")
}

/// Returns the server's time of that many minutes ago.
fn minutes_ago(minutes: i64) -> String {
    time(clock::now().as_millis() - minutes * 60_000)
}

fn time(millis: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).expect("a time");
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Marks of a network whose `#spark` is done up to an hour ago, and `decided` beyond that.
fn an_hour_ago(decided: &[&str]) -> (Marks, String) {
    let at = clock::now().as_millis() - 3_600_000;
    let network = NetworkName::from("test");
    let heard = |id: &&str| (format!("heard/test/{id}"), r##"{"place":"#spark"}"##.to_owned());
    let noted = vec![("irc/seen/test/#spark".to_owned(), format!("{{\"at\":{at}}}"))];
    (Marks::load(network, noted, decided.iter().map(heard).collect()), time(at - 1))
}

/// A question about the past.
struct Asked {
    label: Option<String>,
    channel: String,
    /// The start of the request, and the number of lines.
    rest: String,
}

async fn asked(server: &mut Script) -> Asked {
    loop {
        let line = server.line().await.expect("herder goes on");
        let (tags, bare) = match line.strip_prefix('@').and_then(|tagged| tagged.split_once(' ')) {
            Some((tags, bare)) => (Some(tags), bare),
            None => (None, line.as_str()),
        };
        let Some(question) = bare.strip_prefix("CHATHISTORY AFTER ") else {
            server.answer(&line).await;
            continue;
        };
        let label = tags.and_then(|tags| tags.strip_prefix("label=")).map(str::to_owned);
        let (channel, rest) = question.split_once(' ').expect("a channel and what follows");
        return Asked { label, channel: channel.to_owned(), rest: rest.to_owned() };
    }
}

/// Answers with these lines: tags, a semicolon's worth of them, and the rest.
async fn tell(server: &mut Script, asked: &Asked, lines: &[String]) {
    let label = asked.label.as_ref().map_or_else(String::new, |label| format!("@label={label} "));
    server.send(&format!("{label}BATCH +past chathistory {}", asked.channel)).await;
    for line in lines {
        server.send(&format!("@batch=past;{line}")).await;
    }
    server.send("BATCH -past").await;
}

fn line(id: &str, minutes: i64, account: &str, text: &str) -> String {
    let (time, account) = (
        minutes_ago(minutes),
        match account {
            "" => String::new(),
            account => format!(";account={account}"),
        },
    );
    format!("msgid={id};time={time}{account} :alice!a@h PRIVMSG #spark :{text}")
}

async fn live(server: &mut Script, id: &str, text: &str) {
    let line = line(id, 0, "alice", text);
    server.send(&format!("@{line}")).await;
}

fn start(marks: &Marks) -> (Rig, super::script::Listener) {
    let (connector, listener) = listen();
    let settings = herder::chat::irc::Settings { marks: marks.clone(), ..settings(network(0)) };
    (Rig::start(settings, connector, &["spark"]), listener)
}

/// Returns the next line that herder receives, which is finished at once.
async fn hear(rig: &mut Rig, marks: &Marks) -> Inbound {
    let heard = rig.hear().await;
    if let Some(id) = &heard.message {
        marks.done("#spark", id);
    }
    heard
}

fn summary(heard: &Inbound) -> (&str, Option<&str>, Option<&str>) {
    (&heard.text, heard.author.account.as_deref(), heard.message.as_deref())
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_is_worked_on_once_in_order_and_before_what_is_said_now() {
    let (marks, after) = an_hour_ago(&["m2"]);
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all()).await;
    THREE.clone_into(&mut server.isupport);
    let first = asked(&mut server).await;
    assert_eq!((first.channel.as_str(), first.rest), ("#spark", format!("timestamp={after} 3")));
    let first = Asked { rest: String::new(), ..first };
    live(&mut server, "m7", "now").await;
    // A batch that was not asked for is no answer.
    server.send("BATCH +replay chathistory #spark").await;
    server.send(&format!("@batch=replay;{}", line("m5", 5, "alice", "abort"))).await;
    server.send("BATCH -replay").await;
    let page = [
        line("m1", 50, "alice", "one"),
        line("m2", 40, "alice", "decided before"),
        line("m3", 30, "eve", "\x01ACTION waves\x01"),
    ];
    tell(&mut server, &first, &page).await;
    let second = asked(&mut server).await;
    assert_eq!(second.rest, "msgid=m3 3");
    // In a batch around the batch, as the label's own extension has it.
    let label = second.label.expect("it labels");
    server.send(&format!("@label={label} BATCH +around labeled-response")).await;
    server.send("@batch=around BATCH +past chathistory #spark").await;
    for line in [
        line("m4", 20, "alice", "two"),
        line("own", 19, "", "said by herder").replace(":alice!a@h", ":herder!h@host"),
        line("m6", 18, "", "nobody vouches for it"),
    ] {
        server.send(&format!("@batch=past;{line}")).await;
    }
    server.send("@batch=around BATCH -past").await;
    server.send("BATCH -around").await;
    let third = asked(&mut server).await;
    assert_eq!(third.rest, "msgid=m6 3");
    server.send(&format!("@label={} :s ACK", third.label.expect("it labels"))).await;

    let one = hear(&mut rig, &marks).await;
    assert_eq!(summary(&one), ("one", Some("alice"), Some("m1")));
    assert_eq!(one.author.mask, None, "the account alone says who it was");
    let age = clock::now().since(one.at).as_secs();
    assert!((49 * 60..=51 * 60).contains(&age), "it was said {age} s ago");
    assert_eq!(summary(&hear(&mut rig, &marks).await), ("two", Some("alice"), Some("m4")));
    assert_eq!(summary(&hear(&mut rig, &marks).await), ("now", Some("alice"), Some("m7")));
    // A message that was replayed is heard again when it is said.
    live(&mut server, "m4", "two").await;
    live(&mut server, "m8", "after that").await;
    assert_eq!(summary(&hear(&mut rig, &marks).await), ("after that", Some("alice"), Some("m8")));
    rig.until_up().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_said_while_the_past_is_told_is_worked_on_once_however_long_that_takes() {
    let (marks, _) = an_hour_ago(&[]);
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all()).await;
    THREE.clone_into(&mut server.isupport);
    let first = asked(&mut server).await;
    live(&mut server, "m2", "now").await;
    // A failure about another channel, or about a question that is over, is not about this one.
    server.send(":s FAIL CHATHISTORY INVALID_TARGET AFTER #gone :No such channel").await;
    server
        .send("@label=p0 :s FAIL CHATHISTORY MESSAGE_ERROR AFTER #spark :Messages could not be retrieved")
        .await;
    let page =
        [line("m1", 50, "alice", "one"), line("m2", 0, "alice", "now"), line("m3", -1, "alice", "later")];
    tell(&mut server, &first, &page).await;
    for (text, id) in [("one", "m1"), ("now", "m2"), ("later", "m3")] {
        assert_eq!(summary(&hear(&mut rig, &marks).await), (text, Some("alice"), Some(id)));
    }
    // They are done, and so old that their ids are not needed.
    let second = asked(&mut server).await;
    tell(&mut server, &second, &[]).await;
    live(&mut server, "m4", "after that").await;
    assert_eq!(summary(&hear(&mut rig, &marks).await), ("after that", Some("alice"), Some("m4")));
    rig.until_up().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_labels_is_understood_and_the_next_link_asks_from_where_it_was_done() {
    let (marks, _) = an_hour_ago(&[]);
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&unlabelled()).await;
    "CASEMAPPING=ascii MSGREFTYPES=timestamp".clone_into(&mut server.isupport);
    let first = asked(&mut server).await;
    assert_eq!(first.label, None);
    // Another channel's, and another kind's.
    server.send("BATCH +a chathistory #alerts").await;
    server.send(&format!("@batch=a;{}", line("x1", 9, "alice", "abort"))).await;
    server.send("BATCH -a").await;
    tell(&mut server, &first, &[line("m1", 9, "alice", "one")]).await;
    assert_eq!(summary(&hear(&mut rig, &marks).await), ("one", Some("alice"), Some("m1")));
    // It sets no limit, so that only an answer without anything new is the last one.
    let second = asked(&mut server).await;
    assert!(second.rest.starts_with("timestamp=") && second.rest.ends_with(" 100"), "{}", second.rest);
    tell(&mut server, &second, &[]).await;
    server.quiet().await;
    rig.until_up().await;
    drop(server);

    let mut server = listener.accept(&unlabelled()).await;
    "CASEMAPPING=ascii CHATHISTORY=50".clone_into(&mut server.isupport);
    let channels = [
        asked(&mut server).await,
        asked(&mut server).await,
        asked(&mut server).await,
        asked(&mut server).await,
    ];
    for question in &channels {
        let known = question.channel == "#spark";
        tell(&mut server, question, &if known { vec![line("m1", 9, "alice", "one")] } else { Vec::new() })
            .await;
    }
    // A page may have fewer lines than there are.
    let more = asked(&mut server).await;
    tell(&mut server, &more, &[]).await;
    live(&mut server, "m2", "two").await;
    assert_eq!(
        summary(&hear(&mut rig, &marks).await),
        ("two", Some("alice"), Some("m2")),
        "one was heard before"
    );
    server.quiet_without("#spark").await;
}

#[tokio::test(start_paused = true)]
async fn where_the_past_is_not_to_be_had_the_absence_is_told_and_nothing_of_it_is_worked_on_later() {
    // Refused by name, refused in general, unknown, silent, without an end.
    for case in 0..5 {
        let (marks, _) = an_hour_ago(&[]);
        let (mut rig, mut listener) = start(&marks);
        let mut server = listener.up(&all()).await;
        rig.until_up().await;
        drop(server);
        server = listener.accept(&all()).await;
        THREE.clone_into(&mut server.isupport);
        let mut question = asked(&mut server).await;
        while question.channel != "#spark" {
            tell(&mut server, &question, &[]).await;
            question = asked(&mut server).await;
        }
        live(&mut server, "m1", "now").await;
        let label = question.label.as_deref().expect("it labels");
        match case {
            0 => {
                let about = "FAIL CHATHISTORY MESSAGE_ERROR AFTER #spark";
                server.send(&format!("@label={label} :s {about} :Messages could not be retrieved")).await;
            }
            1 => server.send(":s FAIL CHATHISTORY UNKNOWN_COMMAND :Not today").await,
            2 => server.send(":s 421 herder CHATHISTORY :Unknown command").await,
            3 => {}
            _ => {
                server.send(&format!("@label={label} BATCH +past chathistory #spark")).await;
                for number in 0..1000 {
                    server
                        .send(&format!("@batch=past;{}", line(&format!("x{number}"), 5, "alice", "abort")))
                        .await;
                }
            }
        }
        let said = server.posted("#spark").await;
        assert!(said.starts_with("I was away from "), "{case}: {said}");
        assert_eq!(summary(&hear(&mut rig, &marks).await), ("now", Some("alice"), Some("m1")), "{case}");
        // It comes after all, when the wait for it is over.
        tell(&mut server, &question, &[line("late", 5, "alice", "abort")]).await;
        live(&mut server, "m2", "after that").await;
        assert_eq!(
            summary(&hear(&mut rig, &marks).await),
            ("after that", Some("alice"), Some("m2")),
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_gives_too_much_is_asked_for_the_rest_and_not_for_ever() {
    let (marks, after) = an_hour_ago(&[]);
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all()).await;
    "CASEMAPPING=ascii".clone_into(&mut server.isupport);
    let first = asked(&mut server).await;
    // Lines from before what was asked for are not believed to be new.
    let mut lines = vec![line("old", 90, "alice", "abort")];
    lines.extend((0..150).map(|number| line(&format!("m{number}"), 30, "alice", &format!("line {number}"))));
    tell(&mut server, &first, &lines).await;
    for number in 0..99 {
        assert_eq!(hear(&mut rig, &marks).await.text, format!("line {number}"));
    }
    // The rest, and then the same page again and again: what is asked for has an end.
    let mut pages = 1;
    let mut question = asked(&mut server).await;
    assert!(!question.rest.contains(&after));
    loop {
        pages += 1;
        let more: Vec<String> =
            (0..100).map(|number| line(&format!("p{pages}-{number}"), 20, "alice", "on and on")).collect();
        tell(&mut server, &question, &more).await;
        for _ in 0..100 {
            assert_eq!(hear(&mut rig, &marks).await.text, "on and on");
        }
        live(&mut server, &format!("now{pages}"), "now").await;
        if pages == 50 {
            break;
        }
        question = asked(&mut server).await;
    }
    for _ in 2..=50 {
        assert_eq!(hear(&mut rig, &marks).await.text, "now");
    }
    server.quiet().await;
}

#[tokio::test(start_paused = true)]
async fn who_is_not_vouched_for_has_no_authority_and_is_told_that_it_was_not_heard() {
    let (marks, _) = an_hour_ago(&[]);
    let (connector, mut listener) = listen();
    let boss = |author: &Author| author.mask.as_deref().is_some_and(|mask| mask.starts_with("boss!"));
    let settings = herder::chat::irc::Settings {
        marks: marks.clone(),
        is_operator: Arc::new(boss),
        ..settings(network(0))
    };
    let mut rig = Rig::start(settings, connector, &["spark"]);
    let server = listener.up(&all()).await;
    rig.until_up().await;
    drop(server);
    for by in ["boss", "visitor"] {
        let mut server = listener.accept(&all()).await;
        THREE.clone_into(&mut server.isupport);
        loop {
            let question = asked(&mut server).await;
            let said = line("m1", 1, "", "abort").replace(":alice!", &format!(":{by}!"));
            let is_spark = question.channel == "#spark";
            tell(&mut server, &question, &if is_spark { vec![said] } else { Vec::new() }).await;
            if is_spark {
                break;
            }
        }
        if by == "boss" {
            assert!(server.posted("#spark").await.starts_with("I was away from "));
        } else {
            server.quiet_without("#spark").await;
        }
        live(&mut server, by, "now").await;
        assert_eq!(summary(&hear(&mut rig, &marks).await), ("now", Some("alice"), Some(by)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_say_who_spoke_is_not_asked_and_nothing_is_asked_about_it_later() {
    let (marks, _) = an_hour_ago(&["m1"]);
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all().replace("account-tag ", "")).await;
    server.settle().await;
    rig.until_up().await;
    let gone: Vec<_> = marks.note().into_iter().flatten().map(|memo| (memo.key, memo.value)).collect();
    assert_eq!(gone, [("irc/seen/test/#spark".to_owned(), None), ("heard/test/m1".to_owned(), None)]);
    rig.say(&Target::Control, herder::core::post::Lane::Urgent, "the next thing that is said");
    assert_eq!(server.posted("#control").await, "the next thing that is said");
}

/// As [`Script::settle`], with a line of alice's right behind our JOIN of `#spark`.
async fn settle_while_alice_speaks(server: &mut Script, tags: &str) {
    let join = server.until("JOIN").await;
    for channel in join.trim_start_matches("JOIN ").split(',') {
        server.send(&format!("@time={} :herder!h@host JOIN {channel}", minutes_ago(0))).await;
        if channel == "#spark" {
            for text in ["status", "are you there"] {
                server.send(&format!("{tags}:alice!a@h PRIVMSG #spark :{text}")).await;
            }
        }
        server.send(&format!(":s 366 herder {channel} :End of names")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_right_behind_the_first_join_is_worked_on_where_the_past_can_be_asked_for() {
    let marks = Marks::new(NetworkName::from("test"));
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all()).await;
    THREE.clone_into(&mut server.isupport);
    settle_while_alice_speaks(&mut server, "").await;
    let question = asked(&mut server).await;
    assert_eq!(question.channel, "#spark", "nobody spoke elsewhere");
    tell(&mut server, &question, &[line("m1", 0, "alice", "status")]).await;
    assert_eq!(summary(&hear(&mut rig, &marks).await), ("status", Some("alice"), Some("m1")));
    let last = asked(&mut server).await;
    tell(&mut server, &last, &[]).await;
    server.quiet_without("#spark").await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_herder_that_was_killed_right_after_it_came_knows_that_it_was_there() {
    let marks = Marks::new(NetworkName::from("test"));
    let (rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all()).await;
    THREE.clone_into(&mut server.isupport);
    let join = server.until("JOIN").await;
    let came = minutes_ago(0);
    for channel in join.trim_start_matches("JOIN ").split(',') {
        server.send(&format!("@time={came} :herder!h@host JOIN {channel}")).await;
    }
    // It is recorded at once, not together with other records.
    marks.begun().await;
    server.writes(":s NOTICE herder :read").await;
    let noted: Vec<(String, String)> =
        marks.note().concat().into_iter().filter_map(|memo| Some((memo.key, memo.value?))).collect();
    rig.task.abort();

    let marks = Marks::load(NetworkName::from("test"), noted, Vec::new());
    let (mut rig, mut listener) = start(&marks);
    let mut server = listener.accept(&all()).await;
    THREE.clone_into(&mut server.isupport);
    let question = loop {
        let question = asked(&mut server).await;
        if question.channel == "#spark" {
            break question;
        }
        tell(&mut server, &question, &[]).await;
    };
    tell(&mut server, &question, &[line("m1", 0, "alice", "said to the first one")]).await;
    assert_eq!(summary(&hear(&mut rig, &marks).await).0, "said to the first one");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_speaks_right_behind_the_join_is_told_once_where_nothing_brings_it_back() {
    for caps in ["", ALL] {
        let marks = Marks::new(NetworkName::from("test"));
        let (rig, mut listener) = start(&marks);
        let mut server = listener.accept(caps).await;
        settle_while_alice_speaks(&mut server, "").await;
        let told = server.said("#spark").await;
        assert_eq!(told, "alice: I was not here yet when you wrote that. Please say it again.", "{caps}");
        server.quiet_without("#spark").await;
        rig.stop().await;
    }
    // A line of another day from a bouncer is no speech.
    let marks = Marks::new(NetworkName::from("test"));
    let (rig, mut listener) = start(&marks);
    let mut server = listener.accept("server-time").await;
    settle_while_alice_speaks(&mut server, &format!("@time={} ", minutes_ago(60))).await;
    server.quiet_without("#spark").await;
    rig.stop().await;
}

/// A line in private needs no channel: who wrote one before herder knew what is new is told so once.
#[tokio::test(start_paused = true)]
async fn who_writes_in_private_before_anything_is_live_is_told_once() {
    for caps in ["", ALL] {
        let marks = Marks::new(NetworkName::from("test"));
        let (mut rig, mut listener) = start(&marks);
        let mut server = listener.accept(caps).await;
        let fence = server.until("PING").await;
        for text in ["status", "are you there"] {
            server.send(&format!(":alice!a@h PRIVMSG {} :{text}", server.nick.clone())).await;
        }
        // Neither is a server somebody, nor what it says a line.
        server.send(&format!(":s PRIVMSG {} :hello", server.nick.clone())).await;
        server.answer(&fence).await;
        let told = server.said("alice").await;
        assert_eq!(told, "alice: I was not here yet when you wrote that. Please say it again.", "{caps}");
        server.quiet_without("alice").await;
        server.send(&format!("@account=alice :alice!a@h PRIVMSG {} :status", server.nick.clone())).await;
        assert_eq!(hear(&mut rig, &marks).await.text, "status");
        rig.stop().await;
    }
}
