//! Answers to commands that change nothing: sent without a fence behind each, and never more than a server takes at
//! once.

use herder::core::post::{Lane, Target};

use super::script::{Script, listen};
use crate::irc_rig::{Rig, agent, network, settings};

async fn up() -> (Rig, Script) {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    let server = listener.up("").await;
    rig.until_up().await;
    (rig, server)
}

/// Returns the text of herder's next line, which is a post.
async fn post(server: &mut Script, to: &str) -> String {
    let line = server.line().await.expect("up");
    line.strip_prefix(&format!("PRIVMSG {to} :")).unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[tokio::test(start_paused = true)]
async fn four_answers_go_without_a_fence_and_the_fifth_waits_for_its_own() {
    let (rig, mut server) = up().await;
    let spark = agent("spark");
    for round in ["one", "two"] {
        for answer in 0..4 {
            rig.answer(&spark, &format!("{round} {answer}"));
            assert_eq!(post(&mut server, "#spark").await, format!("{round} {answer}"));
        }
        rig.answer(&spark, &format!("{round} 4"));
        assert_eq!(post(&mut server, "#spark").await, format!("{round} 4"));
        rig.answer(&spark, &format!("{round} behind"));
        let fence = server.line().await.expect("up");
        assert!(fence.starts_with("PING :f"), "{fence}");
        server.quiet_without("#spark").await;
        server.answer(&fence).await;
        assert_eq!(post(&mut server, "#spark").await, format!("{round} behind"));
        // A post that is stored has its fence whatever went before it, and four more go without one after it.
        rig.queue.push(stored(&rig, "stored"));
        assert_eq!(server.said("#spark").await, "stored");
    }
    rig.stop().await;
}

fn stored(rig: &Rig, text: &str) -> herder::core::post::Post {
    herder::core::post::Post {
        id: herder::core::id::PostId(1),
        network: rig.queue.network().clone(),
        to: agent("spark"),
        lane: Lane::Urgent,
        at: herder::clock::now(),
        body: herder::core::post::Body::Lines(vec![text.to_owned()]),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

#[tokio::test(start_paused = true)]
async fn answers_and_posts_of_one_channel_keep_their_order() {
    let (mut rig, mut server) = up().await;
    let spark = agent("spark");
    rig.say(&spark, Lane::Urgent, "first");
    assert_eq!(post(&mut server, "#spark").await, "first");
    rig.answer(&spark, "second");
    rig.say(&spark, Lane::Urgent, "third");
    let fence = server.until("PING :f").await;
    server.quiet_without("#spark").await;
    server.answer(&fence).await;
    assert_eq!(post(&mut server, "#spark").await, "second");
    assert_eq!(server.said("#spark").await, "third");
    rig.drained().await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_for_the_link_and_one_to_somebody_unknown_for_who_it_is() {
    let (connector, mut listener) = listen();
    let mut rig = Rig::start(settings(network(0)), connector, &["spark"]);
    rig.answer(&agent("spark"), "early");
    let mut server = listener.up("").await;
    rig.until_up().await;
    assert!(server.seen.iter().any(|line| line == "PRIVMSG #spark :early"), "{:#?}", server.seen);
    rig.answer(&Target::Person("alice!a@h".to_owned()), "for alice");
    assert_eq!(server.line().await.expect("up"), "USERHOST alice");
    let fence = server.line().await.expect("up");
    server.send(":s 302 herder :alice=+a@h").await;
    server.answer(&fence).await;
    assert_eq!(post(&mut server, "alice").await, "for alice");
    rig.stop().await;
}

/// The one that was refused is lost, and asked for again. From then on the server's word is waited for.
#[tokio::test(start_paused = true)]
async fn an_answer_behind_one_that_a_channel_did_not_take_is_brought_elsewhere_in_the_end() {
    let (rig, mut server) = up().await;
    let spark = agent("spark");
    rig.answer(&spark, "lost");
    assert_eq!(post(&mut server, "#spark").await, "lost");
    server.writes(":s 404 herder #spark :Cannot send to channel").await;
    rig.answer(&spark, "not lost");
    loop {
        let line = server.line().await.expect("up");
        if line.starts_with("PRIVMSG #spark ") {
            server.send(":s 404 herder #spark :Cannot send to channel").await;
        }
        server.answer(&line).await;
        if line == "PRIVMSG #control :[spark] not lost" {
            break;
        }
    }
    rig.stop().await;
}
