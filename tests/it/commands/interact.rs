//! Commands that a network delivers by name: the same checks, records and effects as lines, and the answer as the
//! return value.

use herder::clock;
use herder::commands::interact::{Answered, Structured};
use herder::commands::options::Given;
use herder::core::agent::Phase;
use herder::core::id::NetworkName;
use herder::core::notice::Notice;
use herder::core::post::{Body, Target};
use herder::core::speech::Place;

use super::rig::{PATIENCE, Rig, inbound};

fn structured(who: &str, place: &str, command: &str, options: &[(&str, &str)]) -> Structured {
    let said = inbound(who, Some(who), place, "");
    Structured {
        under: None,
        author: said.author,
        place: if place.starts_with('#') { said.place } else { Place::Direct(who.to_owned()) },
        command: command.to_owned(),
        given: Given(options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()),
        language: "en-US".to_owned(),
        shown: true,
        owed_under: None,
    }
}

async fn ask(rig: &Rig, structured: &Structured) -> Answered {
    let answered = rig.dispatcher.interact(structured);
    tokio::time::timeout(PATIENCE, answered).await.expect("it is answered")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_structured_command_does_what_the_line_does_and_gives_its_answer_back() {
    let rig = Rig::open().await;
    let added = ask(&rig, &structured("olga", "#spark", "task add", &[("text", "build\nthe parser")])).await;
    assert!(!added.refused, "{added:?}");
    assert!(added.lines[0].starts_with("👀 **spark** takes up task"), "{added:?}");
    assert_eq!(rig.answers("olga"), Vec::<String>::new(), "nothing is posted as an answer");
    rig.until_running("spark").await;

    let paused =
        ask(&rig, &structured("olga", "#work", "pause", &[("agent", "spark"), ("now", "true")])).await;
    assert_eq!(paused.lines.len(), 1, "{paused:?}");
    let view = rig.until("spark", |view| matches!(view.agent.phase, Phase::Paused { .. })).await;
    assert_eq!(view.agent.queue[0].text, "build\nthe parser");
    // The change is said in the agent's channel all the same.
    let posts = rig.journal.undelivered(&NetworkName::from("net")).unwrap();
    let stopping = |body: &Body| matches!(body, Body::Notice(Notice::Stopping { .. }));
    assert!(
        posts.iter().any(|post| stopping(&post.body) && matches!(post.to, Target::Agent(_))),
        "{posts:?}"
    );

    let audit = rig.audit().await;
    let said: Vec<(&str, &str, &str)> =
        audit.iter().map(|entry| (entry.verb.as_str(), entry.text.as_str(), entry.place.as_str())).collect();
    assert_eq!(
        said,
        [("task add", "task add build the parser", "#spark"), ("pause", "pause spark now", "#work")]
    );
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_agents_own_channel_the_same_is_not_said_twice_unless_it_calls_for_somebody() {
    let rig = Rig::open().await;
    let owed = |is: fn(&Notice) -> bool| {
        let posts = rig.journal.undelivered(&NetworkName::from("net")).unwrap();
        posts.iter().filter(|post| matches!(&post.body, Body::Notice(notice) if is(notice))).count()
    };
    let paused = ask(&rig, &structured("olga", "#spark", "pause", &[])).await;
    assert_eq!(paused.lines, ["⏸️ **spark** is paused. `/resume agent:spark` lets it go on."]);
    assert_eq!(owed(|notice| matches!(notice, Notice::Paused { .. })), 1, "the post can be answered");
    let again = ask(&rig, &structured("olga", "#spark", "pause", &[])).await;
    assert!(again.refused && again.lines[0].contains("already paused"), "{again:?}");
    let resumed = ask(&rig, &structured("olga", "#spark", "resume", &[])).await;
    assert!(!resumed.refused && resumed.lines[0].contains("resumes"), "{resumed:?}");
    assert_eq!(owed(|notice| matches!(notice, Notice::Resuming { .. })), 0);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_the_role_in_the_readers_language() {
    let rig = Rig::open().await;
    let before = rig.audit().await;
    let mut refused = Vec::new();
    for (who, language) in [("mallory", "en-GB"), ("vera", "de"), ("vera", "ja"), ("vera", "fr")] {
        let pause = structured(who, "#work", "pause", &[("agent", "spark")]);
        let answered = ask(&rig, &Structured { language: language.to_owned(), ..pause.clone() }).await;
        assert!(answered.refused);
        refused.push(answered.lines.join("\n"));
    }
    insta::assert_snapshot!(refused.join("\n"), @"
    `pause` needs the role operator.
    `pause` braucht die Rolle operator.
    `pause` には operator の権限が必要。
    `pause` needs the role operator.
    ");
    // Told every time: no one else sees it.
    for _ in 0..20 {
        let told = ask(&rig, &structured("mallory", "#work", "stop-all", &[])).await;
        assert!(told.refused && !told.lines.is_empty(), "{told:?}");
    }
    // A stranger does not learn which agents there are.
    let strange = ask(&rig, &structured("mallory", "#work", "pause", &[("agent", "sprak")])).await;
    assert_eq!(strange.lines, ["`pause` needs the role operator."]);
    assert_eq!(rig.audit().await, before, "what was refused is not recorded");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_offered_to_whom_it_is_for() {
    let rig = Rig::open().await;
    let may = |who: &str, command: &str, options: &[(&str, &str)]| {
        rig.dispatcher.may(&structured(who, "#work", command, options))
    };
    assert_eq!(may("olga", "task add", &[("agent", "spark")]), Ok(()));
    assert_eq!(may("alice", "agent add", &[("name", "new"), ("runtime", "claude")]), Ok(()));
    assert_eq!(may("alice", "agent edit", &[("agent", "spark")]), Ok(()));
    assert_eq!(
        may("vera", "task add", &[("agent", "spark")]),
        Err(vec!["`task add` needs the role operator.".to_owned()])
    );
    assert_eq!(may("olga", "task add", &[]), Ok(()), "a task may be anybody's");
    assert!(
        may("olga", "task add", &[("agent", "sprak")]).unwrap_err()[0].contains("Did you mean **spark**?")
    );
    assert_eq!(rig.audit().await, [], "asking for a form does nothing");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_ends_before_stop_all_is_answered() {
    let rig = Rig::open().await;
    rig.do_("olga", "#spark", "build").await;
    rig.until_running("spark").await;
    let stopped = ask(&rig, &structured("olga", "#work", "stop-all", &[])).await;
    assert_eq!(stopped.lines, ["⏸️ 2 agents stopped, 0 processes left."]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_is_confirmed_by_whoever_asked_for_it() {
    let rig = Rig::open().await;
    let asked = ask(&rig, &structured("alice", "#work", "agent remove", &[("agent", "quick")])).await;
    let code = asked.data.as_ref().unwrap()["code"].as_str().unwrap().to_owned();
    let confirm = structured("alice", "#work", "agent remove", &[("agent", "quick"), ("code", &code)]);
    let removed = ask(&rig, &confirm).await;
    assert_eq!(removed.lines, ["👀 **quick** is removed. Its history is kept."], "{removed:?}");
    assert!(ask(&rig, &confirm).await.refused);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_at_once_is_told() {
    let rig = Rig::open().await;
    let now = clock::now();
    let status = structured("vera", "#work", "status", &[]);
    for _ in 0..12 {
        assert_eq!(rig.dispatcher.may(&status), Ok(()), "to be asked about is no answer yet");
        assert!(!rig.dispatcher.interact_at(&status, now).await.refused);
    }
    let told = ["That was too much at once. Try again in a minute."];
    assert_eq!(rig.dispatcher.may(&status), Err(told.map(str::to_owned).to_vec()));
    assert_eq!(rig.dispatcher.interact_at(&status, now).await.lines, told);
    let unknown = ask(&rig, &structured("olga", "#work", "rule remove", &[])).await;
    assert!(unknown.refused && unknown.lines[0].contains("rule remove"), "{unknown:?}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn private_words_are_in_the_history_that_operators_alone_are_shown() {
    let rig = Rig::open().await;
    let words = [("agent", "spark"), ("text", "look at issue 42")];
    assert!(!ask(&rig, &structured("olga", "#herder", "whisper", &words)).await.refused);
    for (who, reads) in [("olga", true), ("alice", true), ("vera", false)] {
        let told = ask(&rig, &structured(who, "#herder", "history", &[("agent", "spark")])).await;
        assert_eq!(told.lines.join("\n").contains("issue 42"), reads, "{who}: {:?}", told.lines);
        let data = told.data.map(|data| data.to_string()).unwrap_or_default();
        assert_eq!(data.contains("issue 42"), reads, "{who}");
    }
    rig.close().await;
}
