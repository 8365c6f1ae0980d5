//! Conversations with the pure server: the lines that each client receives after each line.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::client::ClientId;
use super::password::Password;
use super::state::{Ircd, Output, Settings};
use super::wire::to_line;
use crate::core::time::Timestamp;

/// A server, and the lines that clients received after the last input, as `client<line`.
struct Talk {
    ircd: Ircd,
    now: i64,
}

fn settings(guests: bool) -> Settings {
    Settings {
        name: "irc.test".to_owned(),
        network: "test".to_owned(),
        reserved: ("herder".to_owned(), "herder".to_owned()),
        accounts: vec![("owner".to_owned(), Password::of("sesame"))],
        onlookers: BTreeSet::new(),
        guests,
        motd: Vec::new(),
        instance: "m".to_owned(),
    }
}

impl Talk {
    fn new(guests: bool) -> Self {
        Self { ircd: Ircd::new(settings(guests), Timestamp::from_millis(0)), now: 0 }
    }

    fn show(outputs: Vec<Output>) -> String {
        let show = |output| match output {
            Output::Message { to, message } => format!("{}< {}", to.0, to_line(&message).trim_end()),
            Output::Close(id) => format!("{}< (closed)", id.0),
        };
        outputs.into_iter().map(show).collect::<Vec<_>>().join("\n")
    }

    fn tick(&mut self) -> Timestamp {
        self.now += 1000;
        Timestamp::from_millis(self.now)
    }

    fn connect(&mut self, id: u64, internal: Option<&str>) -> String {
        let now = self.tick();
        Self::show(self.ircd.connect(ClientId(id), internal.map(str::to_owned), now))
    }

    fn say(&mut self, id: u64, line: &str) -> String {
        let now = self.tick();
        Self::show(self.ircd.line(ClientId(id), line, now))
    }

    /// Registers a client: with the password as the owner, without one as a guest.
    fn register(&mut self, id: u64, nick: &str, password: Option<&str>, caps: &str) -> String {
        self.connect(id, None);
        if let Some(password) = password {
            self.say(id, &format!("PASS {password}"));
        }
        if !caps.is_empty() {
            self.say(id, &format!("CAP REQ :{caps}"));
        }
        self.say(id, &format!("NICK {nick}"));
        let last = self.say(id, "USER ann 0 * :Ann Other");
        if caps.is_empty() { last } else { self.say(id, "CAP END") }
    }
}

#[test]
fn registration_waits_for_cap_end_and_names_the_account() {
    let mut talk = Talk::new(false);
    talk.connect(1, None);
    assert_snapshot!(talk.say(1, "CAP LS 302"), @"1< :irc.test CAP * LS :account-tag batch draft/chathistory echo-message extended-join labeled-response message-tags server-time");
    assert_snapshot!(talk.say(1, "CAP REQ :batch nonsense"), @"1< :irc.test CAP * NAK :batch nonsense");
    assert_snapshot!(talk.say(1, "CAP REQ :batch server-time"), @"1< :irc.test CAP * ACK :batch server-time");
    assert_snapshot!(talk.say(1, "JOIN #a"), @"1< :irc.test 451 * :You have not registered");
    assert_snapshot!(talk.say(1, "PASS sesame"), @"");
    assert_snapshot!(talk.say(1, "NICK ann"), @"");
    assert_snapshot!(talk.say(1, "USER ann 0 * :Ann Other"), @"");
    assert_snapshot!(talk.say(1, "CAP END"), @"
    1< :irc.test 001 ann :Welcome to test, ann: you are known here as owner
    1< :irc.test 002 ann :Your host is irc.test, running herder-0.1.0
    1< :irc.test 003 ann :This server lives inside herder and ends with it
    1< :irc.test 004 ann irc.test herder-0.1.0 B bnt b
    1< :irc.test 005 ann CASEMAPPING=ascii CHANTYPES=# PREFIX=(o)@ CHANMODES=b,,,nt NETWORK=test NICKLEN=30 CHANNELLEN=64 TOPICLEN=390 CHANLIMIT=#:50 CHATHISTORY=100 MSGREFTYPES=timestamp,msgid WHOX BOT=B :are supported by this server
    1< :irc.test 422 ann :There is no message of the day
    ");
    assert_snapshot!(talk.say(1, "CAP LIST"), @"1< :irc.test CAP ann LIST :batch server-time");
    assert_snapshot!(talk.say(1, "PASS again"), @"1< :irc.test 462 ann :You may not register again");
}

#[test]
fn what_was_said_is_given_to_whoever_asks_and_is_in_the_channel() {
    let mut talk = Talk::new(false);
    let caps = "batch server-time message-tags account-tag draft/chathistory";
    talk.register(1, "ann", Some("sesame"), "");
    talk.say(1, "JOIN #c");
    for text in ["one", "two", "three"] {
        talk.say(1, &format!("PRIVMSG #c :{text}"));
    }
    talk.register(2, "bot", Some("sesame"), caps);
    assert_snapshot!(talk.say(2, "CHATHISTORY LATEST #c * 10"), @"2< :irc.test FAIL CHATHISTORY INVALID_TARGET LATEST #c :Messages could not be retrieved: join it first");
    assert!(!talk.say(2, "JOIN #c").contains("BATCH"), "nothing is replayed to who asks");
    assert_snapshot!(talk.say(2, "CHATHISTORY AFTER #c timestamp=1970-01-01T00:00:00.000Z 2"), @"
    2< :irc.test BATCH +m4 chathistory #c
    2< @time=1970-01-01T00:00:06.000Z;account=owner;batch=m4;msgid=m1 :ann!ann@localhost PRIVMSG #c one
    2< @time=1970-01-01T00:00:07.000Z;account=owner;batch=m4;msgid=m2 :ann!ann@localhost PRIVMSG #c two
    2< :irc.test BATCH -m4
    ");
    let texts = |answer: &str| {
        let said = answer.lines().filter(|line| line.contains("PRIVMSG"));
        said.map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    for (question, expected) in [
        ("AFTER #c msgid=m1 10", &["two", "three"][..]),
        ("AFTER #c msgid=m3 10", &[]),
        ("AFTER #C timestamp=1970-01-01T00:00:07Z 10", &["three"]),
        ("BEFORE #c msgid=m3 1", &["two"]),
        ("LATEST #c * 2", &["two", "three"]),
        ("LATEST #c msgid=m1 1", &["three"]),
        ("AROUND #c msgid=m2 3", &["one", "two", "three"]),
        ("BETWEEN #c msgid=m1 msgid=m3 5", &["two"]),
        ("BETWEEN #c msgid=m3 msgid=m1 5", &["two"]),
        ("BETWEEN #c msgid=m3 msgid=m3 5", &[]),
    ] {
        let answer = talk.say(2, &format!("CHATHISTORY {question}"));
        assert!(answer.contains("BATCH +"), "{question}: {answer}");
        assert_eq!(texts(&answer), expected, "{question}");
    }
    for (question, code) in [
        ("AFTER #c msgid=gone 5", "MESSAGE_ERROR AFTER #c"),
        ("AFTER #c yesterday 5", "INVALID_PARAMS AFTER #c"),
        ("AFTER #c msgid=m1 many", "INVALID_PARAMS AFTER #c"),
        ("AFTER #c msgid=m1", "INVALID_PARAMS AFTER #c"),
        ("SIDEWAYS #c msgid=m1 5", "INVALID_PARAMS SIDEWAYS #c"),
        ("AFTER #nowhere msgid=m1 5", "INVALID_TARGET AFTER #nowhere"),
        ("AFTER", "NEED_MORE_PARAMS AFTER"),
        ("TARGETS now then 5", "INVALID_PARAMS TARGETS"),
    ] {
        let answer = talk.say(2, &format!("CHATHISTORY {question}"));
        assert!(answer.contains(&format!(" FAIL CHATHISTORY {code} :")), "{question}: {answer}");
    }
    let targets =
        talk.say(2, "CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00Z timestamp=1980-01-01T00:00:00Z 5");
    assert!(targets.contains("CHATHISTORY TARGETS #c 1970-01-01T00:00:08.000Z"), "{targets}");
    // A client without the capability gets the replay as before, and no such answers.
    talk.register(3, "eve", Some("sesame"), "batch server-time");
    assert!(talk.say(3, "JOIN #c").contains("chathistory #c"));
    assert_snapshot!(talk.say(3, "CHATHISTORY LATEST #c * 10"), @"3< :irc.test 421 eve CHATHISTORY :Unknown command");
}

#[test]
fn a_wrong_or_missing_password_is_refused_with_a_sentence() {
    let mut talk = Talk::new(false);
    assert_snapshot!(talk.register(1, "eve", Some("sesam"), ""), @"
    1< :irc.test 464 eve :Wrong password: use the one that herder printed at its first start
    1< ERROR :Closing link: Wrong password: use the one that herder printed at its first start
    1< (closed)
    ");
    assert_snapshot!(talk.register(2, "eve", None, ""), @"
    2< :irc.test 464 eve :This server needs the password that herder printed at its first start (PASS)
    2< ERROR :Closing link: This server needs the password that herder printed at its first start (PASS)
    2< (closed)
    ");
    assert!(talk.register(3, "eve", Some("sesame"), "").contains("001 eve"), "the nick is free again");
    assert!(Talk::new(true).register(1, "guest", None, "").contains("as a guest"));
}

#[test]
fn nicks_are_checked_unique_and_the_bots_is_kept_for_it() {
    let mut talk = Talk::new(false);
    talk.register(1, "ann", Some("sesame"), "");
    talk.connect(2, None);
    assert_snapshot!(talk.say(2, "NICK ANN"), @"2< :irc.test 433 * ANN :Nickname is already in use");
    assert_snapshot!(talk.say(2, "NICK :a b"), @r"2< :irc.test 432 * * :Erroneous nickname: letters, digits and []\`_^{|}- only, not starting with a digit or hyphen, at most 30");
    assert_snapshot!(talk.say(2, "NICK"), @"2< :irc.test 431 * :No nickname given");
    assert_snapshot!(talk.say(2, "NICK Herder"), @"2< :irc.test 433 * Herder :Nickname is reserved for the bot; choose another one");
    talk.connect(3, Some("owner"));
    assert_snapshot!(talk.say(3, "NICK herder"), @"3< :irc.test 433 * herder :Nickname is reserved for the bot; choose another one");
    talk.connect(4, Some("herder"));
    talk.say(4, "NICK herder");
    assert!(
        talk.say(4, "USER herder 0 * :bot").contains("001 herder"),
        "no password is asked of herder itself"
    );
    assert_snapshot!(talk.say(1, "NICK anna"), @"1< :ann!ann@localhost NICK anna");
}

#[test]
fn lines_carry_time_account_id_and_bot_for_those_who_asked() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "server-time account-tag message-tags echo-message");
    talk.register(2, "bob", None, "");
    talk.say(1, "JOIN #c");
    assert_snapshot!(talk.say(2, "JOIN #C"), @"
    1< @time=1970-01-01T00:00:11.000Z :bob!ann@localhost JOIN #c
    2< :bob!ann@localhost JOIN #c
    2< :irc.test 353 bob = #c :@ann bob
    2< :irc.test 366 bob #c :End of /NAMES list
    ");
    assert_snapshot!(talk.say(1, "@+x=1;account=root;label=z PRIVMSG #c :hello  there"), @r"
    2< :ann!ann@localhost PRIVMSG #c :hello  there
    1< @time=1970-01-01T00:00:12.000Z;account=owner;msgid=m1;+x=1 :ann!ann@localhost PRIVMSG #c :hello  there
    ");
    assert_snapshot!(talk.say(2, "@+account=owner;account=owner PRIVMSG #c :abort"), @"1< @time=1970-01-01T00:00:13.000Z;msgid=m2;+account=owner :bob!ann@localhost PRIVMSG #c abort");
    assert_snapshot!(talk.say(2, "MODE bob +B"), @"2< :bob!ann@localhost MODE bob +B");
    assert_snapshot!(talk.say(2, "NOTICE ann :beep"), @"1< @time=1970-01-01T00:00:15.000Z;msgid=m3;bot :bob!ann@localhost NOTICE ann beep");
    assert_snapshot!(talk.say(1, "PRIVMSG ann :note to self"), @"1< @time=1970-01-01T00:00:16.000Z;account=owner;msgid=m4 :ann!ann@localhost PRIVMSG ann :note to self");
    assert_snapshot!(talk.say(1, "PRIVMSG nobody :x"), @"1< :irc.test 401 ann nobody :No such nick");
    assert_snapshot!(talk.say(1, "PRIVMSG #nowhere :x"), @"1< :irc.test 403 ann #nowhere :No such channel");
    assert_snapshot!(talk.say(1, "NOTICE #nowhere :x"), @"");
}

#[test]
fn history_is_replayed_in_a_batch_or_as_notices_or_not_at_all() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "");
    talk.say(1, "JOIN #c");
    talk.say(1, "PRIVMSG #c :@spark abort");
    talk.say(1, "PRIVMSG #c :\u{1}VERSION\u{1}");
    talk.register(2, "bat", None, "batch server-time message-tags account-tag");
    assert_snapshot!(talk.say(2, "JOIN #c"), @"
    1< :bat!ann@localhost JOIN #c
    2< @time=1970-01-01T00:00:13.000Z :bat!ann@localhost JOIN #c
    2< :irc.test 353 bat = #c :@ann bat
    2< :irc.test 366 bat #c :End of /NAMES list
    2< :irc.test BATCH +m3 chathistory #c
    2< @time=1970-01-01T00:00:06.000Z;account=owner;batch=m3;msgid=m1 :ann!ann@localhost PRIVMSG #c :@spark abort
    2< :irc.test BATCH -m3
    ");
    talk.register(3, "irssi", None, "server-time");
    assert_snapshot!(talk.say(3, "JOIN #c").lines().last().unwrap(), @"3< @time=1970-01-01T00:00:06.000Z :ann!ann@localhost NOTICE #c :@spark abort");
    talk.register(4, "old", None, "");
    assert_snapshot!(talk.say(4, "JOIN #c").lines().last().unwrap(), @"4< :irc.test 366 old #c :End of /NAMES list");
}

#[test]
fn history_keeps_the_last_two_hundred_lines() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "");
    talk.say(1, "JOIN #c");
    for number in 1..=250 {
        talk.say(1, &format!("PRIVMSG #c :line {number}"));
    }
    talk.register(2, "bat", None, "batch");
    let replayed = talk.say(2, "JOIN #c");
    let lines: Vec<&str> = replayed.lines().filter(|line| line.contains("PRIVMSG")).collect();
    assert_eq!(lines.len(), 200);
    assert!(lines[0].ends_with("line 51") && lines[199].ends_with("line 250"), "{lines:?}");
}

#[test]
fn labels_come_back_on_one_line_on_a_batch_or_on_an_ack() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "labeled-response batch echo-message message-tags");
    talk.say(1, "JOIN #c");
    assert_snapshot!(talk.say(1, "@label=7 PRIVMSG #c :hi"), @"1< @msgid=m1;label=7 :ann!ann@localhost PRIVMSG #c hi");
    assert_snapshot!(talk.say(1, "@label=8 PONG x"), @"1< @label=8 :irc.test ACK");
    assert_snapshot!(talk.say(1, "@label=9 WHO #c"), @"
    1< @label=9 :irc.test BATCH +m2 labeled-response
    1< @batch=m2 :irc.test 352 ann #c ann localhost irc.test ann H@ :0 Ann Other
    1< @batch=m2 :irc.test 315 ann #c :End of /WHO list
    1< :irc.test BATCH -m2
    ");
    assert_snapshot!(talk.say(1, "@label=10 PRIVMSG #gone :hi"), @"1< @label=10 :irc.test 403 ann #gone :No such channel");
}

#[test]
fn questions_are_answered_as_clients_need_them() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "");
    talk.register(2, "bob", None, "");
    talk.say(1, "JOIN #c");
    talk.say(2, "JOIN #c");
    assert_snapshot!(talk.say(1, "WHO #c %tcuihsnfdlar,42"), @"
    1< :irc.test 354 ann 42 #c ann 127.0.0.1 localhost irc.test ann H@ 0 9 owner :Ann Other
    1< :irc.test 354 ann 42 #c ann 127.0.0.1 localhost irc.test bob H 0 5 0 :Ann Other
    1< :irc.test 315 ann #c :End of /WHO list
    ");
    assert_snapshot!(talk.say(2, "WHOIS ann ann"), @"
    2< :irc.test 311 bob ann ann localhost * :Ann Other
    2< :irc.test 319 bob ann @#c
    2< :irc.test 312 bob ann irc.test :inside herder
    2< :irc.test 330 bob ann owner :is logged in as
    2< :irc.test 317 bob ann 10 1 :seconds idle, signon time
    2< :irc.test 318 bob ann :End of /WHOIS list
    ");
    assert_snapshot!(talk.say(1, "WHOIS nobody"), @"
    1< :irc.test 401 ann nobody :No such nick
    1< :irc.test 318 ann nobody :End of /WHOIS list
    ");
    assert_snapshot!(talk.say(1, "MODE #c"), @"
    1< :irc.test 324 ann #c +nt
    1< :irc.test 329 ann #c 8
    ");
    talk.say(1, "JOIN #d");
    assert_snapshot!(talk.say(1, "WHO #c,#d"), @"
    1< :irc.test 352 ann #c ann localhost irc.test ann H@ :0 Ann Other
    1< :irc.test 352 ann #c ann localhost irc.test bob H :0 Ann Other
    1< :irc.test 352 ann #d ann localhost irc.test ann H@ :0 Ann Other
    1< :irc.test 315 ann #c,#d :End of /WHO list
    ");
    assert_snapshot!(talk.say(1, "MODE #c,#d"), @"
    1< :irc.test 324 ann #c +nt
    1< :irc.test 329 ann #c 8
    1< :irc.test 324 ann #d +nt
    1< :irc.test 329 ann #d 14
    ");
    talk.say(1, "PART #d");
    assert_snapshot!(talk.say(1, "MODE #c b"), @"1< :irc.test 368 ann #c :End of channel ban list");
    assert_snapshot!(talk.say(1, "MODE #c +o bob"), @"1< :irc.test 472 ann o :The modes of this server's channels are fixed: +nt, and everybody with the password is an operator");
    assert_snapshot!(talk.say(1, "MODE ann"), @"1< :irc.test 221 ann +");
    assert_snapshot!(talk.say(1, "ISON bob nobody :ANN x"), @"1< :irc.test 303 ann :bob ANN");
    assert_snapshot!(talk.say(1, "USERHOST bob"), @"1< :irc.test 302 ann bob=+ann@localhost");
    assert_snapshot!(talk.say(1, "LIST"), @"
    1< :irc.test 321 ann Channel :Users  Name
    1< :irc.test 322 ann #c 2 :
    1< :irc.test 323 ann :End of /LIST
    ");
    assert_snapshot!(talk.say(1, "FROB x"), @"1< :irc.test 421 ann FROB :Unknown command");
}

#[test]
fn topics_kicks_and_invitations_need_the_password() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "");
    talk.register(2, "bob", None, "");
    talk.say(1, "JOIN #c");
    assert_snapshot!(talk.say(1, "INVITE bob #c"), @"
    1< :irc.test 341 ann bob #c
    2< :ann!ann@localhost INVITE bob #c
    ");
    talk.say(2, "JOIN #c");
    assert_snapshot!(talk.say(2, "TOPIC #c :mine"), @"2< :irc.test 482 bob #c :You are not a channel operator");
    assert_snapshot!(talk.say(1, "TOPIC #c :idle · no task"), @"
    1< :ann!ann@localhost TOPIC #c :idle · no task
    2< :ann!ann@localhost TOPIC #c :idle · no task
    ");
    assert_snapshot!(talk.say(2, "KICK #c ann"), @"2< :irc.test 482 bob #c :You are not a channel operator");
    assert_snapshot!(talk.say(1, "KICK #c bob :enough"), @"
    1< :ann!ann@localhost KICK #c bob enough
    2< :ann!ann@localhost KICK #c bob enough
    ");
    assert_snapshot!(talk.say(2, "PRIVMSG #c :still here?"), @"2< :irc.test 404 bob #c :Cannot send to channel: join it first");
    assert_snapshot!(talk.say(2, "PART #c"), @"2< :irc.test 442 bob #c :You are not on that channel");
    talk.say(2, "JOIN #c");
    assert_snapshot!(talk.say(2, "QUIT :bye"), @"
    2< ERROR :Closing link: Quit: bye
    2< (closed)
    1< :bob!ann@localhost QUIT :Quit: bye
    ");
}

#[test]
fn a_relayed_line_fits_and_is_cut_between_characters() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "echo-message");
    talk.say(1, "JOIN #c");
    let echoed = talk.say(1, &format!("PRIVMSG #c :{}", "ü".repeat(600)));
    let line = echoed.strip_prefix("1< ").unwrap();
    assert!((500..=510).contains(&line.len()), "{} bytes", line.len());
    assert!(!line.contains('\u{fffd}'));
}

#[test]
fn limits_hold_for_connections_and_channels() {
    let mut talk = Talk::new(true);
    talk.register(1, "ann", Some("sesame"), "");
    for number in 0..50 {
        assert!(talk.say(1, &format!("JOIN #c{number}")).contains("366"));
    }
    assert_snapshot!(talk.say(1, "JOIN #more"), @"1< :irc.test 405 ann #more :You have joined too many channels");
    assert_snapshot!(talk.say(1, "JOIN nohash"), @"1< :irc.test 476 ann nohash :A channel is # and up to 63 characters without space and comma");
    // Connections that stay silent give way to newer ones, and keep no one out who has a password.
    for id in 2..=193 {
        assert_eq!(talk.connect(id, None), "");
    }
    assert!(talk.connect(194, None).contains("2< (closed)"));
    assert!(talk.connect(195, None).contains("3< (closed)"));
    talk.say(195, "PASS sesame");
    talk.say(195, "NICK bob");
    assert!(talk.say(195, "USER bob 0 * :Bob").contains(" 001 "));
    for id in 300..362 {
        assert!(talk.register(id, &format!("p{id}"), Some("sesame"), "").contains(" 001 "));
    }
    assert!(talk.register(362, "p362", Some("sesame"), "").contains("Too many connections"));
    for id in 400..464 {
        assert!(talk.register(id, &format!("g{id}"), None, "").contains(" 001 "));
    }
    assert!(talk.register(464, "g464", None, "").contains("Too many connections"));
    assert_snapshot!(talk.connect(500, Some("herder")), @"");
    let now = talk.tick();
    assert!(Talk::show(talk.ircd.registration_due(ClientId(194), now)).contains("Registration timed out"));
    assert_eq!(Talk::show(talk.ircd.registration_due(ClientId(1), now)), "");
}

/// Generates lines of the server's own words in any order, and of noise.
fn hostile_line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "NICK",
            "USER",
            "PASS",
            "sesame",
            "CAP",
            "LS",
            "REQ",
            "END",
            ":batch",
            "JOIN",
            "PART",
            "PRIVMSG",
            "NOTICE",
            "TOPIC",
            "NAMES",
            "WHO",
            "WHOIS",
            "LIST",
            "MODE",
            "KICK",
            "INVITE",
            "QUIT",
            "TAGMSG",
            "ISON",
            "#a",
            "#b",
            "#a,#b",
            "ann",
            "bob",
            "herder",
            "*",
            "0",
            ":",
            "@label=1",
            "@+t=;x",
            "%tna,1",
            "+b",
            "-B",
            "\u{1}ACTION x\u{1}",
            "é",
        ])
        .prop_map(str::to_owned),
        "[^\r\n\0]{0,8}",
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn no_conversation_breaks_the_server(lines in prop::collection::vec((1u64..4, hostile_line()), 0..80)) {
        let mut talk = Talk::new(true);
        talk.register(1, "ann", Some("sesame"), "batch labeled-response server-time");
        talk.register(2, "bob", None, "");
        talk.connect(3, None);
        for (id, line) in lines {
            let now = talk.tick();
            for output in talk.ircd.line(ClientId(id), &line, now) {
                if let Output::Message { message, .. } = output {
                    let line = to_line(&message);
                    prop_assert_eq!(line.find(['\r', '\n', '\0']), Some(line.len() - 2), "one line each: {:?}", line);
                    let without_tags = line.strip_prefix('@').map_or(&line[..], |tagged| tagged.split_once(' ').unwrap().1);
                    prop_assert!(without_tags.len() <= 512, "{} bytes: {:?}", without_tags.len(), without_tags);
                }
            }
            prop_assert!(talk.ircd.is_consistent(), "clients, nicks and channels agree");
        }
    }
}
