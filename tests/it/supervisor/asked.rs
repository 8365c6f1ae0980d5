//! Records that the root stores with a person's command: that their line was handled, and the answer that is still
//! pending.

use herder::core::tie::Tie;

use super::*;

/// Returns a line that the network knows by this number, the answer to which the network gives itself.
fn line(number: &str) -> Asked {
    let answer = AnswerTo {
        network: NetworkName::from("test"),
        to: Target::Control,
        nick: "alice".to_owned(),
        posted: false,
        owed_under: Some(format!("test/{number}")),
    };
    Asked { answer: Some(answer), message: Some(number.to_owned()), ..asked("test") }
}

fn keys(house: &House, prefix: &str) -> Vec<String> {
    house.journal.memos(prefix).unwrap().into_iter().map(|(key, _)| key).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_adds_an_agent_or_is_tied_is_heard_once_and_owed_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    house.fleet.add(shell("spark", dir.path(), "cat"), line("77")).await.unwrap();
    let tie = Tie { user: "1".to_owned(), network: NetworkName::from("test"), account: "alice".to_owned() };
    house.fleet.link(tie.clone(), "Ann".to_owned(), line("78")).await.unwrap();
    house.fleet.unlink(vec![tie], line("79")).await.unwrap();
    assert_eq!(keys(&house, "heard/"), ["77", "78", "79"].map(|line| format!("heard/test/{line}")));
    assert_eq!(keys(&house, "answer/"), ["77", "78", "79"].map(|line| format!("answer/test/{line}")));
    house.close().await;
    // The next herder says what this one did not.
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    let owed = house.owed("test");
    let said = |(to, body): &(Target, Body)| {
        matches!(body, Body::Notice(Notice::Linked { .. } | Notice::Unlinked { count: 1 }))
            && *to == Target::Control
    };
    assert_eq!(owed.iter().filter(|owed| said(owed)).count(), 2, "{owed:?}");
    assert_eq!(keys(&house, "answer/"), [] as [String; 0]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_answer_that_is_too_long_to_be_owed_it_is_said_that_it_was_done() {
    let dir = tempfile::tempdir().unwrap();
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    let added = (0..400).map(|n| name(&format!("agent-{n:024}"))).collect();
    let reply = Notice::Reloaded {
        added,
        changed: Vec::new(),
        restarted: Vec::new(),
        removed: Vec::new(),
        replaced: Vec::new(),
        stayed: Vec::new(),
        failed: Vec::new(),
        sections: Vec::new(),
        later: Vec::new(),
    };
    house.fleet.owe_answer(&line("80"), &Target::Control, &reply).await.unwrap();
    assert_eq!(keys(&house, "answer/"), ["answer/test/80"]);
    house.close().await;
    let house = House::open(dir.path(), Vec::new(), FaultInjection::default()).await;
    assert_eq!(house.owed("test"), [(Target::Control, Body::Notice(Notice::AnswerTooLong))]);
    house.close().await;
}
