//! The whole conversation: a person on IRC gives work, watches crashes and recoveries, pauses, resumes, aborts.

use std::path::Path;

use herder::core::outcome::Category;
use herder::core::spec::Pattern;
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
    // The shell, and the `sleep` if it had come to that.
    let ended = alice.hears("#spark", "ended:").await;
    assert!(ended.ends_with(" ended, 0 left.") && !ended.contains(" 0 processes ended"), "{ended}");
    alice.hears("#spark", "did short work").await;
    alice.say("#herder", "spark: task list").await;
    let mut left: Vec<_> =
        std::fs::read_dir(scene.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [".herder", "data"], "nothing but herder's own folders is left");
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
async fn a_key_that_was_replaced_is_read_by_the_next_session_and_never_said() {
    let script = "read -r line; case $API_KEY in second-*) echo \"$line with $API_KEY\";; *) echo 401 >&2; exit 1;; esac";
    let key = |dir: &Path| dir.join("key");
    let mut scene = Scene::open("alice", &ROOMS, |dir| {
        std::fs::write(key(dir), "first-key-value\n").expect("the file is written");
        let mut spec = stage::shell("spark", dir, script);
        spec.env_files = [("API_KEY".to_owned(), key(dir))].into();
        spec.patterns = vec![Pattern { matches: "401".to_owned(), category: Category::Auth }];
        vec![spec]
    })
    .await;
    let alice = &mut scene.person;
    alice.say("#spark", "well done").await;
    alice.hears("#spark", "🔐").await;
    std::fs::write(key(scene.dir.path()), "second-key-value\n").expect("the file is written");
    alice.say("#spark", "resume").await;
    alice.hears("#spark", "with [redacted]").await;
    std::fs::remove_file(key(scene.dir.path())).expect("it was there");
    alice.say("#spark", "once more").await;
    let failed = alice.hears("#spark", "🚫").await;
    assert!(failed.contains("holds no line that a variable could be set to"), "{failed}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_credentials_pause_every_agent_of_the_account_with_one_alert() {
    let mut scene = Scene::open("alice", &["#spark", "#flint", "#alerts", "#herder"], |dir| {
        vec![
            // Refused once; the account is mended when it is opened again.
            stage::scripted("spark", dir, &["claude-obey", "--once", "yes"]),
            stage::scripted("flint", dir, &["claude-ok"]),
        ]
    })
    .await;
    let alice = &mut scene.person;
    alice.reaches("herder", "#flint").await;
    alice.say("#spark", "auth").await;
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
async fn a_usage_limit_is_waited_out_to_its_reset() {
    let mut scene = Scene::open("alice", &ROOMS, |dir| {
        vec![stage::scripted("spark", dir, &["claude-rate-limit", "--reset-in", "3"])]
    })
    .await;
    let alice = &mut scene.person;
    alice.say("#spark", "hello").await;
    let limited = alice.hears("#spark", "⏳").await;
    assert!(limited.contains("spark has reached the usage limit of account default"), "{limited}");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_asks_is_answered_from_its_channel_and_remembered_by_rule() {
    let mut scene =
        Scene::open("alice", &ROOMS, |dir| vec![stage::asking("spark", dir, "git push origin main")]).await;
    let alice = &mut scene.person;
    alice.say("#spark", "publish it").await;
    let asked = alice.hears("#spark", "asks for permission").await;
    assert!(asked.contains("⚙️") && asked.contains("always asked: git push"), "{asked}");
    alice.hears("#spark", "git push origin main").await;
    let first = stage::number_of(&asked);
    alice.say("#spark", &format!("deny {first}")).await;
    alice.hears("#spark", "was told no").await;
    alice.hears("#spark", "✅ spark completed").await;
    alice.say("#herder", &format!("@spark approve {first}")).await;
    let late = alice.hears("#herder", "Too late").await;
    assert!(late.contains(&format!("alice (demo) denied {first}")), "{late}");

    alice.say("#spark", "publish it").await;
    let asked = alice.hears("#spark", "asks for permission").await;
    let second = stage::number_of(&asked);
    assert_ne!(first, second);
    alice.say("#herder", &format!("@spark approve {second} always")).await;
    alice.hears("#spark", "was told yes").await;
    alice.hears("#spark", "✅ spark completed").await;
    // From now on it is not asked, until the rule is taken back.
    alice.say("#spark", "publish it").await;
    alice.hears("#spark", "was told yes").await;
    alice.hears("#spark", "✅ spark completed").await;
    assert_eq!(
        alice.heard_in("#spark").iter().filter(|line| line.contains("asks for permission")).count(),
        2
    );
    alice.say("#herder", "!rule list spark").await;
    alice.hears("#herder", "git push origin main").await;
    alice.say("#herder", &format!("!rule remove {second}")).await;
    alice.hears("#herder", "asks again").await;
    alice.say("#spark", "publish it").await;
    alice.hears("#spark", "asks for permission").await;
    scene.close().await;
}

/// The same on Discord is in `discord_asks`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_answers_in_time_is_a_no_and_whoever_comes_later_is_told() {
    let server = stage::server().await;
    let options = stage::inside(&server);
    let agents = |dir: &Path| vec![stage::asking("spark", dir, "git push origin main")];
    let mut scene = Scene::open_configured((server, options), "alice", &ROOMS, agents, |config| {
        config.policy.confirm_timeout = std::time::Duration::from_secs(1);
    })
    .await;
    let alice = &mut scene.person;
    alice.say("#spark", "publish it").await;
    let asked = alice.hears("#spark", "asks for permission").await;
    assert!(asked.contains("within 1s; after that it is a no"), "{asked}");
    let number = stage::number_of(&asked);
    alice.hears("#spark", "was told no").await;
    alice.hears("#spark", "✅ spark completed").await;
    alice.say("#herder", &format!("@spark approve {number} always")).await;
    let late = alice.hears("#herder", "Too late").await;
    assert!(late.contains("ran out") && late.contains("the answer was no"), "{late}");
    alice.say("#herder", "!rule list spark").await;
    alice.hears("#herder", "Nothing is allowed for good").await;
    scene.close().await;
}

/// Another bot is told once that it had its share, under its name, which stands there once.
#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_had_its_share_is_named_once() {
    let server = stage::server().await;
    let options = stage::inside(&server);
    let agents = |dir: &Path| vec![stage::shell("spark", dir, "cat")];
    let scene = Scene::open_configured((server, options), "alice", &ROOMS, agents, |config| {
        config.irc[0].bots = vec!["mallory".to_owned()];
        config.networks.bot_exchanges = 2;
    })
    .await;
    let mut bot = stage::server_person(&scene.server, "mallory", &ROOMS).await;
    for _ in 0..2 {
        bot.say("#spark", "!status").await;
        bot.hears("#spark", "mallory: ").await;
    }
    bot.say("#spark", "!status").await;
    let told = bot.hears("#spark", "is answered").await;
    assert!(told.starts_with("mallory: A bot is answered 2 times an hour here."), "{told}");
    assert_eq!(told.matches("mallory").count(), 1, "{told}");
    scene.close().await;
}
