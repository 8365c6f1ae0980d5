//! Posts on their way: channels that cannot be joined, lines that are refused, links that break.

use herder::chat::irc::Memory;
use herder::core::link::{ChannelWanted, LinkState};
use herder::core::post::{Lane, Target};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::time::Instant;

use super::script::{ALL, Script, listen};
use crate::irc_rig::{Rig, agent, network, settings};

async fn up(caps: &str) -> (Rig, Script) {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let server = listener.up(caps).await;
    rig.until_up().await;
    (rig, server)
}

#[tokio::test(start_paused = true)]
async fn a_kick_is_taken_three_times() {
    let (mut rig, mut server) = up("").await;
    for _ in 0..3 {
        server.send(":op!o@h KICK #spark herder :out").await;
        let begin = Instant::now();
        let join = server.until("JOIN #spark").await;
        assert_eq!(begin.elapsed().as_secs(), 5);
        server.answer(&join).await;
    }
    server.send(":op!o@h KICK #spark herder :I said out").await;
    assert!(server.said("#control").await.contains("I said out"));
    rig.say(&agent("spark"), Lane::Normal, "finished");
    assert_eq!(server.said("#control").await, "[spark] finished");
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_cannot_be_joined_is_told_once_and_its_posts_go_to_control() {
    for code in [403, 405, 471, 473, 474, 475, 476] {
        let (connector, mut listener) = listen();
        let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
        let mut server = listener.accept("").await;
        let join = server.until("JOIN").await;
        server.answer(&join.replace(",#spark", "")).await;
        server.send(&format!(":s {code} herder #spark :no")).await;
        rig.say(&agent("spark"), Lane::Normal, "finished");
        assert!(server.posted("#control").await.contains("#spark"), "{code}");
        assert_eq!(server.posted("#control").await, "[spark] finished");
        if code != 405 {
            let begin = Instant::now();
            let join = server.until("JOIN #spark").await;
            assert!((14..=15).contains(&begin.elapsed().as_secs()), "{code}: {:?}", begin.elapsed());
            server.answer(&join).await;
            let fence = server.until("PING :f").await;
            server.answer(&fence).await;
            rig.say(&agent("spark"), Lane::Normal, "again");
            assert_eq!(server.posted("#spark").await, "again");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_fleet_comes_in_with_few_lines() {
    let names: Vec<String> = (0..200).map(|n| format!("agent-{n:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &names);
    let mut server = listener.accept("").await;
    let (mut joins, mut fences) = (0, 0);
    while joins < 203 {
        let line = server.line().await.expect("up");
        assert!(line.len() <= 510, "{line}");
        joins += line.strip_prefix("JOIN ").map_or(0, |list| list.split(',').count());
        fences += usize::from(line.starts_with("PING"));
        server.answer(&line).await;
    }
    assert!(fences < 12, "{fences} fences");
    rig.until_up().await;
    rig.say(&agent("agent-199"), Lane::Normal, "here");
    assert_eq!(server.said("#agent-199").await, "here");
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_channel_is_used_under_its_new_name() {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let mut server = listener.accept("account-tag").await;
    let join = server.until("JOIN").await;
    server.answer(&join.replace(",#spark", "")).await;
    server.send(":s 470 herder #spark ##spark :Forwarding").await;
    server.answer("JOIN ##spark").await;
    rig.say(&agent("spark"), Lane::Normal, "here");
    assert_eq!(server.said("##spark").await, "here");
    server.quiet().await;
    server.send(":alice!a@h PRIVMSG ##spark :status").await;
    assert_eq!(rig.hear().await.place, herder::core::speech::Place::Channel("#spark".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn channels_follow_the_fleet_and_topics_the_agents() {
    let (rig, mut server) = up("").await;
    let wanted = |name, topic: &str| ChannelWanted {
        target: agent(name),
        topic: Some(topic.to_owned()),
        network: None,
    };
    rig.wanted.send(vec![wanted("flint", "idle")]).expect("followed");
    server.until("PART #spark").await;
    let join = server.until("JOIN #flint").await;
    server.answer(&join).await;
    assert_eq!(server.until("TOPIC").await, "TOPIC #flint :idle");
    let begin = Instant::now();
    for topic in ["a", "b", "c"] {
        rig.wanted.send(vec![wanted("flint", topic)]).expect("followed");
        tokio::task::yield_now().await;
    }
    assert_eq!(server.until("TOPIC").await, "TOPIC #flint :c");
    // A change after a rest is shown in its final form, without much delay; repeated changes are shown now and then.
    assert_eq!(begin.elapsed().as_secs(), 2);
    for (topic, after) in [("d", 4), ("e", 30)] {
        rig.wanted.send(vec![wanted("flint", topic)]).expect("followed");
        assert_eq!(server.until("TOPIC").await, format!("TOPIC #flint :{topic}"));
        assert_eq!(begin.elapsed().as_secs(), after);
    }
    server.send(":op!o@h TOPIC #flint :party").await;
    let begin = Instant::now();
    assert_eq!(server.until("TOPIC").await, "TOPIC #flint :e");
    assert_eq!(begin.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_may_not_be_set_is_said_once_and_tried_again_with_other_modes() {
    let (rig, mut server) = up("").await;
    let wanted = |name: &str, topic: &str| ChannelWanted {
        target: agent(name),
        topic: Some(topic.to_owned()),
        network: None,
    };
    rig.wanted.send(vec![wanted("spark", "idle"), wanted("flint", "idle")]).expect("followed");
    let join = server.until("JOIN #flint").await;
    server.answer(&join).await;
    let deny = |topic: &str| {
        let channel = topic.split(' ').nth(1).expect("a channel").to_owned();
        (format!(":s 482 herder {channel} :You're not channel operator"), channel)
    };
    let (denial, first) = deny(&server.until("TOPIC").await);
    server.send(&denial).await;
    let sentence = server.said("#control").await;
    assert!(sentence.contains(&first) && sentence.contains("operator"), "{sentence}");
    let (denial, _) = deny(&server.until("TOPIC").await);
    server.send(&denial).await;
    server.quiet_without("#control").await;
    server.send(&format!(":op!o@h MODE {first} +o herder")).await;
    assert_eq!(server.until("TOPIC").await, format!("TOPIC {first} :idle"));
}

#[tokio::test(start_paused = true)]
async fn a_line_that_was_not_taken_is_sent_again_after_coming_in_anew() {
    for (caps, code) in [("", 404), ("", 442), ("", 403), (ALL, 404)] {
        let (mut rig, mut server) = up(caps).await;
        rig.say(&agent("spark"), Lane::Normal, "one");
        rig.say(&Target::Work, Lane::Normal, "two");
        let line = server.until(if caps.is_empty() { "PRIVMSG #spark" } else { "@label=" }).await;
        let label = line.strip_prefix("@label=").and_then(|line| line.split_once(' '));
        let tag = label.map(|(label, _)| format!("@label={label} ")).unwrap_or_default();
        server.send(&format!("{tag}:s {code} herder #spark :Cannot send")).await;
        let fence = server.until("PING").await;
        server.answer(&fence).await;
        let join = server.until("JOIN #spark").await;
        server.answer(&join).await;
        assert_eq!(server.said("#spark").await, "one", "{caps} {code}");
        rig.drained().await;
    }
}

/// Reads what herder sends until `lines` posts came, each refused; gives where they went.
async fn refuse(server: &mut Script, code: u16, lines: usize) -> Vec<String> {
    let mut went = Vec::new();
    while went.len() < lines {
        let line = server.line().await.expect("the link stays");
        let (tag, bare) = match line.strip_prefix("@label=").and_then(|line| line.split_once(' ')) {
            Some((label, bare)) => (format!("@label={label} "), bare),
            None => (String::new(), line.as_str()),
        };
        if let Some((to, _)) = bare.strip_prefix("PRIVMSG ").and_then(|rest| rest.split_once(" :")) {
            server.send(&format!("{tag}:s {code} herder {to} :no")).await;
            went.push(to.to_owned());
        } else {
            server.answer(bare).await;
        }
    }
    went
}

#[tokio::test(start_paused = true)]
async fn a_single_line_that_is_refused_brings_a_rejoin_and_then_goes_to_control() {
    for (caps, code) in [("", 404), ("", 401), ("", 408), ("", 439), (ALL, 404), (ALL, 408), (ALL, 401)] {
        let (mut rig, mut server) = up(caps).await;
        rig.say(&agent("spark"), Lane::Normal, "one");
        let begin = Instant::now();
        assert_eq!(refuse(&mut server, code, 3).await, ["#spark"; 3], "{caps} {code}");
        assert!(begin.elapsed().as_secs() >= 5, "the third try waits");
        assert!(server.posted("#control").await.contains("#spark"), "{caps} {code}");
        assert_eq!(server.said("#control").await, "[spark] one", "{caps} {code}");
        rig.drained().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_to_a_join_where_we_are_leaves_us_in() {
    let (mut rig, mut server) = up(ALL).await;
    rig.say(&agent("spark"), Lane::Normal, "one");
    assert_eq!(refuse(&mut server, 404, 1).await, ["#spark"]);
    server.until("JOIN #spark").await;
    let begin = Instant::now();
    assert_eq!(server.said("#spark").await, "one");
    assert_eq!(begin.elapsed().as_secs(), 10);
    rig.drained().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_person_does_not_take_is_done_with() {
    for (caps, code) in [("", 477), ("", 404), (ALL, 531), (ALL, 716), (ALL, 486), (ALL, 477), (ALL, 401)] {
        let (mut rig, mut server) = up(caps).await;
        server.writes(":eve!e@h PRIVMSG herder :hello").await;
        rig.say(&Target::Person("eve!e@h".to_owned()), Lane::Urgent, "hello");
        assert_eq!(refuse(&mut server, code, 1).await, ["eve"], "{caps} {code}");
        if caps.is_empty() {
            server.quiet().await;
        }
        rig.drained().await;
    }
}

#[tokio::test(start_paused = true)]
async fn words_that_no_channel_takes_are_given_up_in_the_end() {
    let (mut rig, mut server) = up(ALL).await;
    rig.say(&agent("spark"), Lane::Normal, "poison");
    let mut refused = 0;
    // Everything else is taken: the notices about it, and what comes behind.
    while !rig.queue.is_empty() {
        let line = tokio::select! {
            line = server.line() => line.expect("the link stays"),
            () = rig.queue.drained() => break,
        };
        let Some((label, bare)) = line.strip_prefix("@label=").and_then(|line| line.split_once(' ')) else {
            server.answer(&line).await;
            continue;
        };
        if bare.ends_with("poison") {
            refused += 1;
            server.send(&format!("@label={label} :s FAIL PRIVMSG REJECTED #x :no")).await;
        } else {
            server.send(&format!("@label={label} :herder!h@host {bare}")).await;
        }
    }
    assert_eq!(refused, 13);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_a_batch_is_decided_when_the_batch_ends() {
    let (mut rig, mut server) = up(ALL).await;
    rig.say(&agent("spark"), Lane::Normal, "one");
    let line = server.until("@label=").await;
    let (label, _) = line.split_once(' ').expect("a label and a line");
    server.send(&format!("{label} :s BATCH +r labeled-response")).await;
    server.send("@batch=r :s 404 herder #spark :Cannot send").await;
    server.send("@batch=r :s NOTICE herder :Really not").await;
    server.send(":s BATCH -r").await;
    let join = server.until("JOIN #spark").await;
    server.answer(&join).await;
    assert_eq!(server.said("#spark").await, "one");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_is_gone_does_not_hold_up_the_others() {
    let (mut rig, mut server) = up("").await;
    server.writes(":gone!g@h PRIVMSG herder :hello").await;
    rig.say(&Target::Person("gone!g@h".to_owned()), Lane::Urgent, "hello");
    server.until("PRIVMSG gone").await;
    server.send(":s 401 herder gone :No such nick").await;
    server.quiet().await;
    rig.drained().await;
}

#[tokio::test(start_paused = true)]
async fn after_an_absence_it_is_said_how_long_before_the_backlog() {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let mut server = listener.up("").await;
    rig.until_up().await;
    rig.say(&agent("spark"), Lane::Normal, "in between");
    server.until("PRIVMSG #spark").await;
    drop(server);
    let mut server = listener.accept("").await;
    assert_eq!(server.posted("#work").await, "HEARTBEAT herder");
    assert!(server.posted("#control").await.contains("away"));
    assert!(server.posted("#spark").await.contains("away"));
    assert_eq!(server.posted("#spark").await, "in between");
}

/// A backlog of a moment is said whole: nobody was away.
#[tokio::test(start_paused = true)]
async fn a_backlog_is_shortened_after_an_absence_of_a_minute_alone() {
    for (seconds, before, shortened) in
        [(10, None, false), (10, Some(2), false), (10, Some(300), true), (300, None, true)]
    {
        let (connector, mut listener) = listen();
        let mut settings = settings(network(0));
        settings.patience.retry = std::time::Duration::from_secs(seconds);
        let mut rig = match before {
            // The lines are left from the process before.
            Some(before) => {
                settings.memory = Memory::after(Some(std::time::Duration::from_secs(before)));
                Rig::start(settings, connector, &["spark"])
            }
            None => {
                let mut rig = Rig::start(settings, connector, &["spark"]);
                let server = listener.up("").await;
                rig.until_up().await;
                drop(server);
                while !matches!(rig.report().await, LinkState::Connecting { reason: Some(_), .. }) {}
                rig
            }
        };
        (0..100).for_each(|n| rig.say(&agent("spark"), Lane::Normal, &format!("line {n}")));
        let mut server = listener.accept("").await;
        let (mut said, mut told) = (0, false);
        loop {
            let line = server.posted("#spark").await;
            told |= line.contains("lines while away");
            said += u32::from(line.contains("line "));
            if line.ends_with("line 99") {
                break;
            }
        }
        assert_eq!((told, said < 100), (shortened, shortened), "{seconds} s, {before:?}: {said} lines");
    }
}

#[tokio::test(start_paused = true)]
async fn an_absence_is_told_though_the_adapter_was_started_anew_meanwhile() {
    let (connector, mut listener) = listen();
    let settings = settings(network(0));
    let mut rig = Rig::start(settings.clone(), connector.clone(), &["spark"]);
    let server = listener.up("").await;
    rig.until_up().await;
    drop(server);
    while !matches!(rig.report().await, LinkState::Connecting { reason: Some(_), .. }) {}
    rig.stop().await;
    let _rig = Rig::start(settings, connector, &["spark"]);
    let mut server = listener.accept("").await;
    assert_eq!(server.posted("#work").await, "HEARTBEAT herder");
    assert!(server.posted("#control").await.contains("away"));
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_is_not_answered_for_a_minute_ends_the_link() {
    let (mut rig, mut server) = up("").await;
    rig.say(&agent("spark"), Lane::Normal, "one");
    server.until("PING").await;
    let begin = Instant::now();
    let talk = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            server.send(":s NOTICE herder :I am busy").await;
        }
    };
    tokio::select! {
        state = rig.report() => assert!(matches!(state, LinkState::Connecting { attempts: 0, reason: Some(_) })),
        () = talk => {}
    }
    assert_eq!(begin.elapsed().as_secs(), 60);
    assert_eq!(rig.queue.len(), 1);
}

/// Runs a server that closes each link after its number of bytes in `budgets`; returns the relayed lines and the number
/// of links.
async fn chaos(caps: &'static str, budgets: Vec<usize>, lines: usize) -> (Vec<String>, usize) {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    for n in 0..lines {
        rig.say(&agent("spark"), Lane::Normal, &format!("line {n:04}"));
    }
    let mut relayed = Vec::new();
    let mut links = 0;
    let mut budgets = budgets.into_iter();
    loop {
        let mut server = listener.accept(caps).await;
        links += 1;
        let mut left = budgets.next().unwrap_or(usize::MAX);
        while let Some(line) = tokio::select! {
            line = server.line() => line,
            () = rig.queue.drained() => None,
        } {
            let Some(rest) = left.checked_sub(line.len() + 2) else { break };
            left = rest;
            let (label, bare) = match line.strip_prefix("@label=").and_then(|line| line.split_once(' ')) {
                Some((label, bare)) => (Some(label), bare),
                None => (None, line.as_str()),
            };
            if let Some(text) = bare.strip_prefix("PRIVMSG #spark :") {
                relayed.push(text.to_owned());
                if let Some(label) = label {
                    server.send(&format!("@label={label} :herder!h@host {bare}")).await;
                }
            } else {
                server.answer(bare).await;
            }
        }
        if rig.queue.is_empty() {
            rig.stop().await;
            return (relayed, links);
        }
    }
}

#[test]
fn links_that_break_anywhere_lose_nothing_keep_the_order_and_repeat_a_window_at_most() {
    let budgets = proptest::collection::vec(400..3000_usize, 0..12);
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() });
    let run = runner.run(&(budgets, any::<bool>()), |(budgets, labels)| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let caps = if labels { ALL } else { "" };
        let caps = if labels { caps.split_once(" sasl").map_or(caps, |(without, _)| without) } else { caps };
        let (relayed, links) = runtime.block_on(chaos(caps, budgets, 25));
        let ours: Vec<&String> = relayed.iter().filter(|text| text.starts_with("line ")).collect();
        let mut distinct: Vec<&String> = Vec::new();
        for text in &ours {
            if !distinct.contains(text) {
                distinct.push(text);
            }
        }
        let expected: Vec<String> = (0..25).map(|n| format!("line {n:04}")).collect();
        prop_assert_eq!(distinct, expected.iter().collect::<Vec<_>>());
        prop_assert!(ours.len() - 25 <= 4 * (links - 1), "{} repeats over {} links", ours.len() - 25, links);
        Ok(())
    });
    run.expect("holds");
}

#[tokio::test(start_paused = true)]
async fn each_refusal_of_a_channel_doubles_the_wait_for_the_next_try() {
    let (connector, mut listener) = listen();
    let _rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let mut server = listener.accept("").await;
    let join = server.until("JOIN").await;
    server.answer(&join.replace(",#spark", "")).await;
    for wait in [15, 30, 60, 120] {
        server.send(":s 473 herder #spark :no").await;
        let begin = Instant::now();
        server.until("JOIN #spark").await;
        assert!((wait - 1..=wait).contains(&begin.elapsed().as_secs()), "{wait}: {:?}", begin.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_behind_one_that_was_not_taken_is_sent_again_behind_it() {
    let (mut rig, mut server) = up(ALL).await;
    rig.say(&agent("spark"), Lane::Normal, "one");
    rig.say(&agent("spark"), Lane::Normal, "two");
    let first = server.until("@label=").await;
    let second = server.until("@label=").await;
    let label = |line: &str| line.split_once(' ').expect("a label and a line").0.to_owned();
    server.send(&format!("{} :s 404 herder #spark :no", label(&first))).await;
    server.send(&format!("{} :herder!h@host PRIVMSG #spark :two", label(&second))).await;
    let join = server.until("JOIN #spark").await;
    server.answer(&join).await;
    assert_eq!(server.posted("#spark").await, "one");
    assert_eq!(server.posted("#spark").await, "two");
}
