//! The delay until herder receives a person's next line after it has answered the last one.

use std::time::Duration;

use herder::chat::irc::Connector;
use herder::core::post::Lane;
use tokio::time::Instant;

use crate::irc_rig::{PATIENCE, Rig, agent, network, settings};
use crate::servers::inspircd::{Inspircd, Options};
use crate::servers::ngircd::Ngircd;
use crate::servers::person::Person;

/// Questions that are asked, each as soon as the last one is answered.
const QUESTIONS: usize = 50;

/// Less than Linux holds an acknowledgement back (40 ms), which is what a server would wait for before each line.
const HELD_BACK: Duration = Duration::from_millis(35);

/// Returns the usual time of an exchange whose answer is proven by the server, as a post that is stored is.
async fn usual_exchange(port: u16) -> Duration {
    let mut person = Person::joined(port, "carol", &["#spark"]).await;
    let mut rig = Rig::start(settings(network(port)), Connector::Network, &["spark"]);
    rig.until_up().await;
    let mut took = Vec::new();
    for question in 0..QUESTIONS {
        let asked = Instant::now();
        person.say("#spark", &format!("status {question}")).await;
        assert_eq!(rig.hear().await.text, format!("status {question}"));
        rig.say(&agent("spark"), Lane::Urgent, &format!("fine {question}"));
        let answer = tokio::time::timeout(PATIENCE, person.hear("#spark")).await.expect("in time");
        assert_eq!(answer, Some(format!("fine {question}")));
        took.push(asked.elapsed());
    }
    rig.stop().await;
    took.sort();
    took[QUESTIONS / 2]
}

#[tokio::test]
async fn a_line_behind_an_answer_does_not_wait_for_a_delayed_acknowledgement() {
    let ngircd = Ngircd::start("MaxPenaltyTime = 0");
    let inspircd = Inspircd::start(&Options { rate: 1_000_000, ..Options::default() });
    for (server, port) in [("ngircd", ngircd.port), ("InspIRCd", inspircd.port)] {
        let usual = usual_exchange(port).await;
        assert!(usual < HELD_BACK, "{server}: {usual:?} from one answer to the next");
    }
}
