//! A split of two InspIRCd servers: posts that an operator on the far side missed are said again.

use std::sync::Arc;

use herder::chat::irc::Connector;
use herder::core::post::{Lane, Target};

use crate::irc_rig::{Rig, network, settings};
use crate::servers::inspircd::{Inspircd, OTHER, Options};
use crate::servers::person::Person;

#[tokio::test]
async fn alerts_that_an_operator_missed_in_a_netsplit_are_repeated_once_they_are_back() {
    let (near, far) = Inspircd::pair(&Options { rate: 100_000, ..Options::default() });
    let mut root = Person::joined(near.port, "root", &["#alerts", "#spark"]).await;
    root.send("OPER root root").await;
    root.until(" 381 ").await;
    root.send(&format!("CONNECT {OTHER}")).await;

    let mut settings = settings(network(near.port));
    settings.needs_account = Arc::new(|| false);
    settings.is_operator = Arc::new(|author| author.nick == "alice");
    let mut rig = Rig::start(settings, Connector::Network, &["spark"]);
    rig.until_up().await;
    // Both are on the far side, but only one of them may command.
    let mut bob = Person::joined(far.port, "bob", &["#alerts", "#spark"]).await;
    let mut alice = Person::joined(far.port, "alice", &["#alerts", "#spark"]).await;
    let here = |line: &str| line.starts_with(":alice!") && line.contains(" JOIN ") && line.contains("#spark");
    while !here(&root.line().await.expect("up")) {}
    alice.say("#spark", "status").await;
    assert_eq!(rig.hear().await.text, "status");
    rig.say(&Target::Alerts, Lane::Urgent, "before the split");
    alice.until("before the split").await;

    root.send(&format!("SQUIT {OTHER}")).await;
    let gone = |line: &str| line.starts_with(":alice!") && line.contains(" QUIT ");
    while !gone(&root.line().await.expect("up")) {}
    // A line that is said now reaches herder after the split has.
    root.say("#spark", "anybody").await;
    assert_eq!(rig.hear().await.text, "anybody");
    rig.say(&Target::Alerts, Lane::Urgent, "the disk is full");
    rig.drained().await;
    root.until("the disk is full").await;

    root.send(&format!("CONNECT {OTHER}")).await;
    alice.until("alice: the network was split. You missed 1").await;
    alice.until("the disk is full").await;
    rig.say(&Target::Alerts, Lane::Urgent, "all is well");
    for (who, person) in [("alice", &mut alice), ("bob", &mut bob)] {
        // bob hears the repetition as well, since it is said in the channel, but nothing is said to him.
        let mut heard = Vec::new();
        while heard.last().is_none_or(|text: &String| text != "all is well") {
            heard.push(person.hear("#alerts").await.expect("up"));
        }
        assert!(!heard.iter().any(|text| text.contains("bob:")), "{who}: {heard:#?}");
        let again = heard.iter().filter(|text| text.contains("before the split") && who == "alice").count();
        assert_eq!(again, 0, "what was heard is not repeated: {heard:#?}");
    }
    rig.stop().await;
}
