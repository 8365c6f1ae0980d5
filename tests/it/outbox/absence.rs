//! Alerts and answers that are shortened after a long absence, and those that are not.

use std::time::Duration;

use herder::core::id::{AgentName, AskId, NetworkName, WorkId};
use herder::core::notice::Notice;
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::watch::{Answer, Why};

use super::queue::{agent, everything, queue, words};

#[tokio::test]
async fn of_a_long_absence_s_alerts_what_somebody_has_to_do_stays_and_the_rest_is_a_number() {
    let (queue, book) = queue();
    let (spark, network) = (AgentName::new("spark").unwrap(), NetworkName::from("far"));
    let mut id = 0;
    let mut alert = |notice: Notice| {
        id += 1;
        let post = words(id, &Target::Alerts, Lane::Urgent, "");
        queue.push(Post { body: Body::Notice(notice), ..post });
    };
    let escalated = |call, reminder| Notice::Escalated {
        agent: spark.clone(),
        id: WorkId(call),
        work: "benchmark".to_owned(),
        why: Why::Said("twice the same".to_owned()),
        times: 1,
        reminder,
        untold: false,
    };
    for call in [1, 2] {
        (0..3).for_each(|reminder| alert(escalated(call, reminder)));
    }
    let (answer, by) = (Answer::Resume, "alice".to_owned());
    alert(Notice::EscalationAnswered { agent: spark.clone(), id: WorkId(1), answer, by });
    alert(Notice::Notified { agent: spark.clone(), detail: "the disk is noisy".into() });
    alert(Notice::DiskLow { free_bytes: 1 });
    for minutes in 1..=20 {
        alert(Notice::NetworkDown { network: network.clone(), attempts: 5, reason: "refused".into() });
        let down_for = Duration::from_secs(60 * minutes);
        alert(Notice::NetworkUp { network: network.clone(), down_for });
    }
    queue.link_restored();
    queue.settle().await;
    let sent = everything(&queue).await;
    let count = |what: &str| sent.iter().filter(|line| line.contains(what)).count();
    // The open call with its last reminder, the answer to the other one, and the remaining alerts that need a person.
    assert_eq!(
        (count("[ESCALATION]"), count("alice"), count("noisy"), count("disk")),
        (1, 1, 1, 2),
        "{sent:#?}"
    );
    let [away] = &sent.iter().filter(|line| line.contains("while away")).collect::<Vec<_>>()[..] else {
        panic!("{sent:#?}")
    };
    assert!(away.ends_with("`!history`"), "{away}");
    let number: usize = away.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a number");
    assert_eq!(number + sent.len() - 1, usize::try_from(id).unwrap(), "{sent:#?}");
    assert!(sent.len() < 20 && sent.last().is_some_and(|line| line.contains("20m")), "{sent:#?}");
    assert_eq!(book.whole(), (1..=id).collect::<Vec<_>>());
}

#[tokio::test]
async fn many_answers_in_one_channel_become_the_last_ones_and_questions_of_agents_stay() {
    let (queue, book) = queue();
    let spark = agent("spark");
    let ask = Notice::QuestionAsked {
        agent: AgentName::new("spark").unwrap(),
        ask: AskId(9),
        text: "Which branch?".to_owned(),
        within: Duration::from_secs(60),
        options: Vec::new(),
        several: false,
    };
    queue.push(Post { body: Body::Notice(ask), ..words(1, &spark, Lane::Urgent, "") });
    let alice = Target::Person("alice".to_owned());
    for id in 2..=41 {
        let answer = |id, to| Post {
            answers: Some("alice".to_owned()),
            ..words(id, to, Lane::Urgent, &format!("answer {id}"))
        };
        queue.push(answer(id, &spark));
        queue.push(answer(100 + id, &alice));
    }
    queue.link_restored();
    let sent = everything(&queue).await;
    let count = |what: &str| sent.iter().filter(|line| line.contains(what)).count();
    let private = sent.iter().filter(|line| line.starts_with("answer 1")).count();
    let answers = sent.iter().filter(|line| line.starts_with("answer ")).count();
    assert_eq!((count("Which branch?"), private, answers - private), (1, 40, 10), "{sent:#?}");
    assert!(sent.contains(&"… 30 lines while away; `@spark log`".to_owned()), "{sent:#?}");
    assert_eq!(book.whole().len(), 81);
}
