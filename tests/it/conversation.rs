//! The whole conversation: a person on IRC gives work, watches crashes and recoveries, pauses, resumes, aborts.

use std::path::Path;

use herder::run::Options;
use herder::supervisor::FaultInjection;

use crate::stage::{self, Scene};

/// All the channels a test of one agent needs.
const ROOMS: [&str; 3] = ["#spark", "#alerts", "#herder"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_is_done_and_answered_in_the_agents_channel() {
    let mut scene = Scene::open("alice", &ROOMS, |dir| {
        vec![stage::shell("spark", dir, "read -r line; echo \"you said: $line\"")]
    })
    .await;
    let alice = &mut scene.person;

    alice.say("#spark", "count to three").await;
    alice.hears("#spark", "🐜").await;
    alice.hears("#spark", "you said: count to three").await;
    let completed = alice.hears("#spark", "✅").await;
    assert!(completed.contains("spark completed"), "{completed}");

    alice.say("#herder", "@spark status").await;
    let status = alice.hears("#herder", "spark").await;
    assert!(status.starts_with("alice"), "an answer is addressed: {status}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_is_told_the_role_and_changes_nothing() {
    let mut scene = Scene::open("mallory", &ROOMS, |dir| vec![stage::shell("spark", dir, "cat")]).await;
    let mallory = &mut scene.person;
    mallory.say("#spark", "pause").await;
    let refusal = mallory.hears("#spark", "operator").await;
    assert!(refusal.contains("operator"), "{refusal}");
    assert!(!refusal.contains("⏸"), "{refusal}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_is_said_with_its_countdown_and_recovered_from() {
    // It fails once; the second session finds the mark of the first.
    let script = "cat > prompt; [ -e tried ] || { touch tried; echo no luck >&2; exit 3; }; echo recovered";
    let mut scene = Scene::open("alice", &ROOMS, |dir| vec![stage::shell("spark", dir, script)]).await;
    let alice = &mut scene.person;
    alice.say("#spark", "try").await;
    let crashed = alice.hears("#spark", "❌").await;
    assert!(crashed.contains("spark crashed") && crashed.contains("Restarting in 1s"), "{crashed}");
    alice.hears("#spark", "recovered").await;
    alice.hears("#spark", "✅").await;
    let prompt = std::fs::read_to_string(scene.dir.path().join("prompt")).unwrap();
    assert!(
        prompt.trim_end().ends_with("try"),
        "the work is given again, after what became of it: {prompt:?}"
    );
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_agent_says_why_keeps_the_work_and_takes_it_up_when_resumed() {
    let mut scene = Scene::open("alice", &ROOMS, |dir| vec![stage::shell("spark", dir, "cat")]).await;
    let alice = &mut scene.person;
    alice.say("#spark", "pause").await;
    alice.hears("#spark", "⏸").await;
    alice.say("#spark", "first thing").await;
    let queued = alice.hears("#spark", "👀").await;
    assert!(queued.contains("paused") && queued.contains("alice"), "it says why: {queued}");
    alice.say("#herder", "!queue spark").await;
    alice.hears("#herder", "first thing").await;
    alice.say("#herder", "@spark resume").await;
    alice.hears("#herder", "▶").await;
    alice.hears("#spark", "first thing").await;
    alice.hears("#spark", "✅").await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abort_discards_the_work_and_goes_on_with_the_next() {
    let script = "read -r line; case $line in long*) sleep 300;; *) echo \"did $line\";; esac";
    let mut scene = Scene::open("alice", &ROOMS, |dir| vec![stage::shell("spark", dir, script)]).await;
    let alice = &mut scene.person;
    alice.say("#spark", "long work").await;
    alice.hears("#spark", "🐜").await;
    alice.say("#spark", "short work").await;
    alice.hears("#spark", "👀").await;
    alice.say("#herder", "@spark abort").await;
    alice.hears("#spark", "did short work").await;
    alice.say("#herder", "spark: task list").await;
    assert_eq!(
        std::fs::read_dir(scene.dir.path()).unwrap().count(),
        1,
        "nothing but the data folder is left"
    );
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_command_gets_the_nearest_one_and_never_reaches_the_agent() {
    let mut scene =
        Scene::open("alice", &ROOMS, |dir| vec![stage::shell("spark", dir, "cat > reached")]).await;
    let alice = &mut scene.person;
    alice.say("#spark", "!resum").await;
    let answer = alice.hears("#spark", "resume").await;
    assert!(answer.starts_with("alice"), "{answer}");
    alice.say("#herder", "!status sparc").await;
    alice.hears("#herder", "spark").await;
    alice.say("#spark", "!status").await;
    alice.hears("#spark", "idle").await;
    assert!(!scene.dir.path().join("reached").exists());
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_credentials_pause_every_agent_of_the_account_with_one_alert() {
    let mut scene = Scene::open("alice", &["#spark", "#flint", "#alerts", "#herder"], |dir| {
        vec![
            // Refused once; the account is mended when it is opened again.
            stage::scripted("spark", dir, &["claude-auth", "--once"]),
            stage::scripted("flint", dir, &["claude-ok"]),
        ]
    })
    .await;
    let alice = &mut scene.person;
    alice.reaches("herder", "#flint").await;
    alice.say("#spark", "hello").await;
    let mut heard = Vec::new();
    for (channel, wanted) in [("#spark", "🔐"), ("#alerts", "default"), ("#flint", "flint")] {
        heard.push(alice.hears_in_any_order(channel, wanted).await);
    }
    assert!(heard[0].contains("spark failed to authenticate"), "{}", heard[0]);
    alice.say("#flint", "are you there").await;
    let queued = alice.hears("#flint", "👀").await;
    assert!(queued.contains("paused") || queued.contains("account"), "{queued}");
    alice.say("#herder", "@flint resume").await;
    alice.hears("#flint", "✅").await;
    let alerts = alice.heard_in("#alerts").into_iter().filter(|text| text.contains("🔐")).count();
    assert!(alerts <= 2, "closing and opening are said once each");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_is_waited_out_to_its_reset() {
    let mut scene = Scene::open("alice", &ROOMS, |dir| {
        vec![stage::scripted("spark", dir, &["claude-rate-limit", "--reset-in", "3"])]
    })
    .await;
    let alice = &mut scene.person;
    alice.say("#spark", "hello").await;
    let limited = alice.hears("#spark", "⏳").await;
    assert!(limited.contains("spark is rate limited. Resuming in"), "{limited}");
    // The reset was the truth: the next session is started by itself.
    alice.hears("#spark", "🐜").await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_are_added_edited_and_removed_by_command() {
    let mut scene = Scene::open("alice", &["#herder", "#newt"], |_| Vec::new()).await;
    let alice = &mut scene.person;
    let add = format!("!agent add newt command {} command=\"cat\"", scene.dir.path().display());
    alice.say("#herder", &add).await;
    alice.hears("#herder", "newt").await;
    alice.reaches("herder", "#newt").await;
    alice.say("#newt", "hello newt").await;
    alice.hears("#newt", "hello newt").await;
    alice.hears("#newt", "✅").await;
    alice.say("#herder", "!agent remove newt").await;
    let asked = alice.hears("#herder", "!agent remove newt").await;
    let code = asked.rsplit("!agent remove newt ").next().unwrap().split_whitespace().next().unwrap();
    let code = code.trim_matches(|c: char| !c.is_alphanumeric() && c != '-');
    alice.say("#herder", &format!("!agent remove newt {code}")).await;
    alice.hears("#herder", "removed").await;
    alice.say("#herder", "!status newt").await;
    alice.hears("#herder", "newt").await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_all_answers_with_zero_processes() {
    let mut scene = Scene::open("alice", &ROOMS, |dir| {
        vec![
            stage::shell("spark", dir, "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 300' & sleep 300"),
            stage::shell("flint", dir, "cat"),
        ]
    })
    .await;
    let alice = &mut scene.person;
    alice.say("#spark", "run").await;
    alice.hears("#spark", "🐜").await;
    alice.say("#herder", "!stop-all").await;
    alice.hears("#herder", "Stopping 2 agents").await;
    let answer = alice.hears("#herder", "process").await;
    assert!(answer.contains('0') || answer.contains("no process"), "{answer}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_was_commanded_is_on_record() {
    let mut scene = Scene::open("alice", &ROOMS, |dir| vec![stage::shell("spark", dir, "cat")]).await;
    let alice = &mut scene.person;
    alice.say("#spark", "pause").await;
    alice.hears("#spark", "⏸").await;
    alice.say("#herder", "!audit").await;
    let record = alice.hears("#herder", "pause").await;
    assert!(record.contains("alice") && record.contains("#spark"), "{record}");
    alice.overhears("#herder").await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_herder_trips_over_is_answered_and_the_next_one_is_heard() {
    let server = stage::server().await;
    let options = Options {
        fault: FaultInjection::of_lines(|line| assert!(line.text != "trip", "a fault")),
        ..stage::inside(&server)
    };
    let agents = |dir: &Path| vec![stage::shell("spark", dir, "cat")];
    let mut scene = Scene::open_with(server, "alice", &ROOMS, agents, options).await;
    let alice = &mut scene.person;
    alice.say("#spark", "trip").await;
    alice.say("#spark", "walk on").await;
    let answer = alice.hears("#spark", "inside herder").await;
    assert!(answer.starts_with("alice: ") && answer.ends_with("Nothing was done."), "{answer}");
    alice.hears("#spark", "🐜 spark started: walk on").await;
    alice.hears("#spark", "✅").await;
    scene.close().await;
}
