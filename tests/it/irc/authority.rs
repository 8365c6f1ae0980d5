//! Authority: live speech of a person the server vouches for, and nothing else.

use herder::config::IrcNetwork;
use herder::core::post::{Lane, Target};
use herder::core::speech::{Inbound, Place};

use super::script::{ALL, Script, listen};
use crate::irc_rig::{Rig, agent, network, settings};

async fn up(caps: &str, isupport: &str) -> (Rig, Script) {
    let (connector, mut listener) = listen();
    start(Rig::start(settings(network(0)), connector, &["spark"]), listener.accept(caps).await, isupport)
        .await
}

async fn start(mut rig: Rig, mut server: Script, isupport: &str) -> (Rig, Script) {
    isupport.clone_into(&mut server.isupport);
    server.settle().await;
    rig.until_up().await;
    (rig, server)
}

fn summary(heard: &Inbound) -> (&str, Option<&str>) {
    (&heard.text, heard.author.account.as_deref())
}

#[tokio::test(start_paused = true)]
async fn only_live_speech_is_heard() {
    let (mut rig, mut server) = up(ALL, "CASEMAPPING=ascii").await;
    let now = "2026-01-01T00:00:00.000Z";
    for line in [
        "BATCH +1 chathistory #spark",
        "@batch=1;account=alice :alice!a@h PRIVMSG #spark :in history",
        "BATCH +2 labeled-response",
        "@batch=1 BATCH +3 other",
        "@batch=3;account=alice :alice!a@h PRIVMSG #spark :in a batch in history",
        "BATCH -1",
        "BATCH +4 znc.in/playback #spark",
        "@batch=4;account=alice :alice!a@h PRIVMSG #spark :in a playback",
        "@time=2011-01-01T00:00:00.000Z;account=alice :alice!a@h PRIVMSG #spark :years ago",
        "@time=yesterday;account=alice :alice!a@h PRIVMSG #spark :some time",
        "@account=alice :alice!a@h NOTICE #spark :a notice",
        "@account=alice :alice!a@h PRIVMSG #spark :\x01ACTION aborts\x01",
        "@account=alice :alice!a@h PRIVMSG #spark :\x01VERSION\x01",
        "@bot;account=bob :bob!a@h PRIVMSG #spark :a bot",
        "@account=herder :herder!h@host PRIVMSG #spark :our own echo",
        "@account=alice :alice!a@h PRIVMSG #elsewhere :not our channel",
        "@account=alice :alice!a@h PRIVMSG @#spark :not quite our channel",
        "@account=alice :alice!a@h PRIVMSG #spark : \x02\x0f ",
        "@account=alice :alice!a@h TAGMSG #spark",
    ] {
        server.send(line).await;
    }
    server.send(&format!("@msgid=m1;account=alice :alice!a@h PRIVMSG #SPARK :\x0304pause\x03 {now}")).await;
    server.send(&format!("@msgid=m1;account=alice :alice!a@h PRIVMSG #spark :again {now}")).await;
    server.send("@+account=alice :eve!e@h PRIVMSG #spark :spoofed").await;
    server.send("@account=* :eve!e@h PRIVMSG #spark :starred").await;
    let heard = rig.hear().await;
    assert_eq!(summary(&heard), (format!("pause {now}").as_str(), Some("alice")));
    assert_eq!(heard.place, Place::Channel("#spark".to_owned()));
    assert_eq!(summary(&rig.hear().await), ("spoofed", None));
    assert_eq!(summary(&rig.hear().await), ("starred", None));
}

/// Returns a time of the server's, some hours ago.
fn hours_ago(hours: i64) -> String {
    let now = jiff::Timestamp::from_millisecond(herder::clock::now().as_millis()).expect("a time");
    let then = now - jiff::SignedDuration::from_hours(hours);
    then.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[tokio::test(start_paused = true)]
async fn our_own_lines_told_again_make_no_old_command_live() {
    let (mut rig, mut server) = up(ALL, "CASEMAPPING=ascii").await;
    let time = hours_ago(3);
    server.send("BATCH +1 chathistory #spark").await;
    for (tags, text) in [("batch=1;", "in a batch"), ("msgid=a;", "without a mark"), ("msgid=a;", "again")] {
        server.send(&format!("@{tags}time={time} :herder!h@host PRIVMSG #spark :{text}")).await;
        server.send(&format!("@time={time};account=alice :alice!a@h PRIVMSG #spark :abort")).await;
    }
    server.send(&format!("@time={};account=alice :alice!a@h PRIVMSG #spark :status", hours_ago(0))).await;
    assert_eq!(summary(&rig.hear().await), ("status", Some("alice")));
}

#[tokio::test(start_paused = true)]
async fn the_echo_of_a_line_just_sent_says_how_late_the_servers_clock_is() {
    let (mut rig, mut server) = up(ALL, "CASEMAPPING=ascii").await;
    let time = hours_ago(1);
    rig.say(&Target::Alerts, Lane::Urgent, "one");
    let line = server.until("@label=").await;
    let label = line.split(' ').next().expect("the tags");
    server.send(&format!("{label};time={time} :herder!h@host PRIVMSG #alerts :one")).await;
    server.send(&format!("@time={time};account=alice :alice!a@h PRIVMSG #spark :status")).await;
    assert_eq!(summary(&rig.hear().await), ("status", Some("alice")));
}

#[tokio::test(start_paused = true)]
async fn a_tag_without_the_capability_is_worth_nothing() {
    let (mut rig, mut server) = up("message-tags", "CASEMAPPING=ascii").await;
    server.send("@account=alice :eve!e@h PRIVMSG #spark :pause").await;
    server.until("WHOIS eve").await;
    server.send(":s 311 herder eve e h * :real").await;
    server.send(":s 318 herder eve :End").await;
    assert_eq!(summary(&rig.hear().await), ("pause", None));
}

#[tokio::test(start_paused = true)]
async fn a_lookup_counts_only_for_whom_it_was_about() {
    // The lines between the command and the end of the answer, and the account that the command has then.
    let who = ":s 354 herder 1 a h alice H alice";
    let table: [(&[&str], Option<&str>); 8] = [
        (&[who], Some("alice")),
        (&[":alice!a@h NICK bob", ":eve!a@h NICK alice", who], None),
        (&[":alice!a@h QUIT :bye", who], None),
        (&[who, ":alice!a@h ACCOUNT *"], None),
        (&[":alice!a@h PART #spark", who], None),
        (&[":s 354 herder 1 other host alice H alice"], None),
        (&[":s 354 herder 1 a h alice H 0"], None),
        (&[":s 354 herder 9 a h alice H alice"], None),
    ];
    for (between, account) in table {
        let (mut rig, mut server) = up("", "CASEMAPPING=ascii WHOX").await;
        server.send(":alice!a@h PRIVMSG #spark :pause").await;
        assert_eq!(server.until("WHO ").await, "WHO alice %tuhnfa,1");
        for line in between {
            server.send(line).await;
        }
        server.send(":s 315 herder alice :End").await;
        assert_eq!(summary(&rig.hear().await), ("pause", account), "{between:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_after_the_answer_is_asked_about_anew_and_keeps_its_place() {
    let (mut rig, mut server) = up("", "CASEMAPPING=ascii WHOX").await;
    server.send(":alice!a@h PRIVMSG #spark :one").await;
    server.until("WHO alice").await;
    server.send(":s 354 herder 1 a h alice H alice").await;
    server.send(":alice!a@h PRIVMSG #work :two, not addressed to anybody").await;
    server.send(":s 315 herder alice :End").await;
    assert_eq!(summary(&rig.hear().await), ("one", Some("alice")));
    assert_eq!(server.until("WHO ").await, "WHO alice %tuhnfa,2");
    server.send(":s 354 herder 2 a h alice H 0").await;
    server.send(":s 315 herder alice :End").await;
    assert_eq!(rig.hear().await.author.account, None);
}

#[tokio::test(start_paused = true)]
async fn a_command_without_a_mark_in_the_control_channel_has_its_author_looked_up() {
    for (channel, text) in [
        ("#control", "status"),
        ("#CONTROL", "pause spark"),
        ("#work", "/status"),
        ("#alerts", "spark：pause"),
    ] {
        let (mut rig, mut server) = up("", "CASEMAPPING=ascii WHOX").await;
        server.send(&format!(":alice!a@h PRIVMSG {channel} :{text}")).await;
        assert_eq!(server.until("WHO ").await, "WHO alice %tuhnfa,1", "{text}");
        server.send(":s 354 herder 1 a h alice H alice").await;
        server.send(":s 315 herder alice :End").await;
        assert_eq!(summary(&rig.hear().await), (text, Some("alice")));
    }
    let (mut rig, mut server) = up("", "CASEMAPPING=ascii WHOX").await;
    server.send(":alice!a@h PRIVMSG #work :nice weather").await;
    assert_eq!(summary(&rig.hear().await), ("nice weather", None), "talk costs no question");
}

#[tokio::test(start_paused = true)]
async fn a_lookup_without_an_answer_makes_nobody_of_who_asked() {
    let (mut rig, mut server) = up("", "CASEMAPPING=ascii WHOX").await;
    server.send(":alice!a@h PRIVMSG #spark :pause").await;
    server.until("WHO alice").await;
    assert_eq!(summary(&rig.hear().await), ("pause", None));
    // Its late answer is not taken for the next one's.
    server.send(":alice!a@h PRIVMSG #spark :resume").await;
    server.send(":s 354 herder 1 a h alice H alice").await;
    server.send(":s 315 herder alice :End").await;
    assert_eq!(server.until("WHO ").await, "WHO alice %tuhnfa,2");
    server.send(":s 315 herder alice :End").await;
    assert_eq!(summary(&rig.hear().await), ("resume", None));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_never_answered_costs_one_line_and_not_the_network() {
    // The server's reply in place of a complete answer: nothing, that it is too busy, half of one.
    let half = ":s 354 herder 1 a h alice H alice";
    let table: [(&[&str], Option<&str>); 3] =
        [(&[], None), (&[":s 263 herder WHO :Try again"], Some("alice")), (&[half], Some("alice"))];
    for (instead, account) in table {
        let (mut rig, mut server) = up("", "CASEMAPPING=ascii WHOX").await;
        server.send(":alice!a@h PRIVMSG #spark :pause").await;
        server.until("WHO alice").await;
        for line in instead {
            server.send(line).await;
        }
        let fence = server.until("PING :f").await;
        server.answer(&fence).await;
        if instead.first().is_some_and(|line| line.contains(" 263 ")) {
            server.until("WHO alice").await;
            server.send(":s 354 herder 2 a h alice H alice").await;
            server.send(":s 315 herder alice :End").await;
        }
        assert_eq!(summary(&rig.hear().await), ("pause", account), "{instead:?}");
        server.send(":bob!b@h PRIVMSG #spark :resume").await;
        server.until("WHO bob").await;
        server.send(":s 315 herder bob :End").await;
        assert_eq!(summary(&rig.hear().await), ("resume", None), "{instead:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn until_a_channel_is_live_nothing_in_it_is_heard() {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let mut server = listener.accept("account-tag message-tags").await;
    let early = "@account=alice :alice!a@h PRIVMSG herder :before the first fence";
    let first = server.until("PING :f").await;
    server.send(early).await;
    server.answer(&first).await;
    server.until("JOIN").await;
    for channel in ["#control", "#alerts", "#work", "#spark"] {
        server.send(&format!(":herder!h@host JOIN {channel}")).await;
        server.send("@account=alice :alice!a@h PRIVMSG #spark :abort, replayed without a mark").await;
        server.send(&format!(":s 366 herder {channel} :End")).await;
        let fence = server.until("PING :f").await;
        server.send("@account=alice :alice!a@h PRIVMSG #spark :abort, replayed after the names").await;
        server.answer(&fence).await;
    }
    server.send("@account=alice :alice!a@h PRIVMSG #spark :live").await;
    assert_eq!(summary(&rig.hear().await), ("live", Some("alice")));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_lists_no_names_is_heard_a_little_later() {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &[]);
    let mut server = listener.accept("account-tag").await;
    server.until("JOIN").await;
    for channel in ["#control", "#alerts", "#work"] {
        server.send(&format!(":herder!h@host JOIN {channel}")).await;
    }
    server.send("@account=alice :alice!a@h PRIVMSG #work :!status, too early").await;
    let fence = server.until("PING :f").await;
    server.answer(&fence).await;
    server.send("@account=alice :alice!a@h PRIVMSG #work :!status").await;
    assert_eq!(summary(&rig.hear().await), ("!status", Some("alice")));
}

#[tokio::test(start_paused = true)]
async fn a_bot_is_heard_only_if_it_is_named() {
    let (connector, mut listener) = listen();
    let named = IrcNetwork { bots: vec!["Friend".to_owned()], ..network(0) };
    let rig = Rig::start(settings(named), connector, &["spark"]);
    let (mut rig, mut server) = start(rig, listener.accept(ALL).await, "CASEMAPPING=ascii").await;
    server.send("@bot :stranger!b@h PRIVMSG #spark :hello").await;
    server.send("@bot :friend!b@h PRIVMSG #spark :hello").await;
    assert_eq!(rig.hear().await.author.nick, "friend");
}

#[tokio::test(start_paused = true)]
async fn an_operator_lost_in_a_netsplit_gets_the_alerts_of_the_gap() {
    // Those who only read are missed as well, and a link that was lost in the meantime is no reason to forget them.
    for (reads, lost) in [(false, false), (true, false), (true, true)] {
        gets_the_alerts_of_the_gap(reads, lost).await;
    }
}

async fn gets_the_alerts_of_the_gap(reads: bool, lost: bool) {
    let caps = "account-tag message-tags extended-join";
    let (connector, mut listener) = listen();
    let rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let (mut rig, mut server) = start(rig, listener.accept(caps).await, "CASEMAPPING=ascii").await;
    if reads {
        server.writes(":alice!a@h JOIN #alerts alice :Alice").await;
        server.writes(":carol!c@h JOIN #alerts * :Carol").await;
    } else {
        server.send("@account=alice :alice!a@h PRIVMSG #spark :status").await;
        server.send(":carol!c@h PRIVMSG #spark :me too").await;
        rig.hear().await;
        rig.hear().await;
    }
    if lost {
        drop(server);
        server = listener.accept(caps).await;
        "CASEMAPPING=ascii".clone_into(&mut server.isupport);
        server.settle().await;
    }
    rig.say(&Target::Alerts, Lane::Urgent, "before");
    assert_eq!(server.said("#alerts").await, "before");
    server.send(":alice!a@h QUIT :irc.one.test irc.two.test").await;
    server.send(":carol!c@h QUIT :irc.one.test irc.two.test").await;
    server.send("PING :sync").await;
    server.until("PONG").await;
    rig.say(&Target::Alerts, Lane::Urgent, "spark is stuck");
    assert_eq!(server.said("#alerts").await, "spark is stuck");
    server.send(":carol!c@h JOIN #alerts").await;
    server.send(":alice!a@h JOIN #spark").await;
    server.send(":alice!a@h JOIN #alerts").await;
    assert!(server.posted("#alerts").await.contains("alice"));
    assert_eq!(server.posted("#alerts").await, "spark is stuck");
}

/// Returns the lines in the alerts channel once alice is back from the other side of a netsplit, without the last
/// one.
async fn told_after_a_netsplit(rig: &mut Rig, server: &mut Script, alice: &str) -> Vec<String> {
    rig.say(&Target::Alerts, Lane::Urgent, "before");
    assert_eq!(server.said("#alerts").await, "before");
    server.writes(&format!(":{alice} QUIT :irc.one.test irc.two.test")).await;
    // Posts from here on are missed: alice is gone by then.
    server.quiet().await;
    rig.say(&Target::Alerts, Lane::Urgent, "missed");
    assert_eq!(server.said("#alerts").await, "missed");
    let before = server.seen.len();
    server.writes(&format!(":{alice} JOIN #alerts")).await;
    server.quiet().await;
    let told = server.seen[before..].iter().filter_map(|line| line.strip_prefix("PRIVMSG #alerts :"));
    told.map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn operators_who_were_there_before_or_log_in_later_are_missed_in_a_netsplit() {
    let is_operator = |author: &herder::core::speech::Author| {
        author.account.as_deref() == Some("alice") || author.mask.as_deref() == Some("mel!m@h")
    };
    let (whox, plain) = ("WHO #alerts %tcuhna,999", "WHO #alerts");
    let notify = "extended-join account-notify chghost";
    // The server's abilities, its reply to the question and its later lines, the person who was split off, and
    // whether they are told.
    let table: [(&str, &str, &[&str], &str, bool); 9] = [
        ("", whox, &[":s 354 herder 999 #alerts a h alice alice"], "alice!a@h", true),
        ("", whox, &[":s 354 herder 999 #alerts a h alice 0"], "alice!a@h", false),
        ("", whox, &[":s 354 herder 7 #alerts a h alice alice"], "alice!a@h", false),
        ("", plain, &[":s 352 herder #alerts m h s mel H :0 Mel"], "mel!m@h", true),
        (notify, whox, &[":alice!a@h JOIN #alerts * :Alice", ":alice!a@h ACCOUNT alice"], "alice!a@h", true),
        (notify, whox, &[":alice!a@h JOIN #alerts alice :Alice", ":alice!a@h ACCOUNT *"], "alice!a@h", false),
        (
            notify,
            whox,
            &[":alice!a@h JOIN #alerts alice :Alice", ":alice!a@h CHGHOST b g"],
            "alice!b@g",
            true,
        ),
        // The server does not say who joins: the question is repeated.
        ("", whox, &[":s 315 herder #alerts :End", ":alice!a@h JOIN #alerts", "WHO"], "alice!a@h", true),
        ("", whox, &[":s 263 herder WHO :Try again", "WHO"], "alice!a@h", true),
    ];
    for (caps, question, lines, who, told) in table {
        let (connector, mut listener) = listen();
        let settings = herder::chat::irc::Settings {
            is_operator: std::sync::Arc::new(is_operator),
            ..settings(network(0))
        };
        let mut rig = Rig::start(settings, connector, &[]);
        let mut server = listener.accept(caps).await;
        let isupport = if question == whox { "CASEMAPPING=ascii WHOX" } else { "CASEMAPPING=ascii" };
        isupport.clone_into(&mut server.isupport);
        assert_eq!(server.until("WHO").await, question);
        for line in lines {
            if *line == "WHO" {
                assert_eq!(server.until("WHO").await, question);
                server.writes(":s 354 herder 999 #alerts a h alice alice").await;
            } else {
                server.writes(line).await;
            }
        }
        server.writes(":s 315 herder #alerts :End").await;
        server.quiet().await;
        rig.until_up().await;
        let texts = told_after_a_netsplit(&mut rig, &mut server, who).await;
        assert_eq!(texts.iter().any(|text| text == "missed"), told, "{lines:?}: {texts:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hostile_lines_cost_nothing_but_themselves() {
    let (mut rig, mut server) = up(ALL, "CASEMAPPING=ascii").await;
    let mut long = b":eve!e@h PRIVMSG #spark :".to_vec();
    long.resize(64 * 1024, b'x');
    long.extend_from_slice(b"\r\n");
    let lines: [&[u8]; 16] = [
        b"\r\n",
        b":\r\n",
        b": \r\n",
        b"@\r\n",
        b"@a\r\n",
        b":eve!e@h\r\n",
        b"PRIVMSG\r\n",
        b":x PRIVMSG #spark\r\n",
        b"MODE #spark +ooo\r\n",
        b"CAP * WHAT :x\r\n",
        b"BATCH +\r\n",
        b"BATCH -never\r\n",
        b":s 005\r\n",
        b":s 353 a\r\n",
        b"\0\0\0\r\n",
        b"\xff\xfe\xfd\r\n",
    ];
    for line in lines {
        server.send_bytes(line).await;
    }
    server.send_bytes(&long).await;
    server
        .send_bytes(
            b"@account=alice :alice!a@h PRIVMSG #spark :caf\xe9 \xf0\x9f\x90 a\x00b\x1bc\x07\rQUIT\r\n",
        )
        .await;
    let heard = rig.hear().await;
    assert_eq!(heard.text, "caf\u{fffd} \u{fffd} abc QUIT");
}

#[tokio::test(start_paused = true)]
async fn what_is_said_in_private_is_for_who_asked_and_not_for_who_has_the_nick_later() {
    let alice = Target::Person("alice!a@h".to_owned());
    for (reply, is_alice) in [("alice=+a@h", true), ("alice=+mallory@elsewhere", false), ("", false)] {
        let (connector, mut listener) = listen();
        let rig = Rig::start(settings(network(0)), connector, &["spark"]);
        let server = listener.accept("account-tag message-tags").await;
        let (mut rig, mut server) = start(rig, server, "CASEMAPPING=ascii").await;
        server.send(":alice!a@h PRIVMSG herder :!tail spark").await;
        assert_eq!(rig.hear().await.place, Place::Direct("alice".to_owned()));
        rig.say(&alice, Lane::Urgent, "at once");
        assert_eq!(server.said("alice").await, "at once");
        // She leaves, and the name is free.
        server.send(":alice!a@h QUIT :bye").await;
        server.quiet().await;
        for broken in [false, true] {
            rig.say(&alice, Lane::Urgent, "a secret");
            if broken {
                server.until("USERHOST alice").await;
                drop(server);
                server = listener.accept("").await;
            }
            server.until("USERHOST alice").await;
            server.send(&format!(":s 302 herder :{reply}")).await;
            if is_alice {
                assert_eq!(server.said("alice").await, "a secret", "{reply} {broken}");
                server.send(":alice!a@h QUIT :bye").await;
                server.quiet().await;
            } else {
                // Longer than an answer is waited for behind its fence.
                for _ in 0..5 {
                    server.quiet_without("alice").await;
                }
                // No other person counts as absent for long.
                tokio::time::advance(std::time::Duration::from_secs(20)).await;
            }
            rig.drained().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn behind_a_bouncer_that_answers_fences_itself_what_is_said_in_private_arrives() {
    let (mut rig, mut server) = up("", "CASEMAPPING=ascii").await;
    rig.say(&Target::Person("alice!a@h".to_owned()), Lane::Urgent, "a secret");
    server.until("USERHOST alice").await;
    let fence = server.until("PING").await;
    server.answer(&fence).await;
    server.quiet_without("alice").await;
    // The server itself is further away.
    server.send(":s 302 herder :alice=+a@h").await;
    assert_eq!(server.said("alice").await, "a secret");
    rig.drained().await;
}

#[tokio::test(start_paused = true)]
async fn text_cannot_become_protocol() {
    let (mut rig, mut server) = up("", "CASEMAPPING=ascii").await;
    let words = "x\r\nQUIT :y\0\x01z";
    rig.say(&Target::Person("eve\r\nQUIT!e@h".to_owned()), Lane::Urgent, words);
    rig.say(&agent("spark"), Lane::Normal, words);
    let mut lines = Vec::new();
    loop {
        let line = server.line().await.expect("still there");
        server.answer(&line).await;
        let fence = line.starts_with("PING");
        lines.push(line);
        if fence && rig.queue.is_empty() || lines.len() > 8 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(
        lines.iter().all(|line| {
            ["USERHOST eveQUIT", "PRIVMSG #spark :", "PING"].iter().any(|start| line.starts_with(start))
        }),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn commands_that_fall_behind_stop_the_reading_and_lose_nothing() {
    let (connector, mut listener) = listen();
    let rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let (mut rig, mut server) = start(rig, listener.accept(ALL).await, "CASEMAPPING=ascii").await;
    let feed = tokio::spawn(async move {
        for n in 0..2000 {
            server.send(&format!("@account=alice :alice!a@h PRIVMSG #spark :command {n}")).await;
        }
        server
    });
    // Long enough for every buffer on the way to fill, and for a link that counted our own deafness to be given up.
    tokio::time::sleep(std::time::Duration::from_secs(300)).await;
    for n in 0..2000 {
        assert_eq!(rig.hear().await.text, format!("command {n}"));
    }
    feed.await.expect("all taken");
}

/// 100 nicks say 50 lines a second, and each question takes the server 300 ms.
#[tokio::test(start_paused = true)]
async fn strangers_who_flood_do_not_keep_an_admin_from_being_known() {
    // The nick equals the account, or says nothing, and its bearer is in the channel.
    for nick in ["alice", "ada"] {
        flooded(nick).await;
    }
}

async fn flooded(admin: &str) {
    let tick = std::time::Duration::from_millis(20);
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let mut server = listener.accept("").await;
    "CASEMAPPING=ascii WHOX".clone_into(&mut server.isupport);
    server.settle().await;
    server.send(&format!(":s 353 herder = #spark :@{admin} herder")).await;
    let (mut said, mut known) = (0, 0);
    let mut owed: std::collections::VecDeque<(tokio::time::Instant, String)> =
        std::collections::VecDeque::new();
    for round in 0..1500 {
        server.send(&format!(":s{0}!u@h{0} PRIVMSG #spark :!stop-all", round % 100)).await;
        if round % 250 == 100 {
            said += 1;
            server.send(&format!(":{admin}!a@home PRIVMSG #spark :status")).await;
        }
        let next = tokio::time::Instant::now() + tick;
        while let Ok(line) = tokio::time::timeout_at(next, server.line()).await {
            let due = tokio::time::Instant::now() + std::time::Duration::from_millis(300);
            owed.push_back((due, line.expect("herder goes on")));
        }
        while owed.front().is_some_and(|(due, _)| *due <= tokio::time::Instant::now()) {
            let (_, line) = owed.pop_front().expect("one");
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["WHO", nick, fields] if fields.contains(',') => {
                    let token = fields.rsplit(',').next().expect("a token");
                    let (user, host, account) = match nick.strip_prefix('s') {
                        Some(number) => ("u", format!("h{number}"), "0"),
                        None => ("a", "home".to_owned(), "alice"),
                    };
                    server.send(&format!(":s 354 herder {token} {user} {host} {nick} H {account}")).await;
                    server.send(&format!(":s 315 herder {nick} :End")).await;
                }
                _ => server.answer(&line).await,
            }
        }
        while let Ok(heard) = rig.inbound.try_recv() {
            known += usize::from(heard.author.account.as_deref() == Some("alice"));
            assert!(heard.author.account.is_none() || heard.author.nick == admin);
        }
    }
    assert_eq!((said, known), (6, 6), "{admin} was obeyed {known} of {said} times");
    rig.stop().await;
}
