//! Scenes with an agent that fails on command, and everything that can be read and changed by command.

use std::path::Path;
use std::time::Instant;

use herder::core::id::AccountName;
use herder::core::spec::AgentSpec;

use super::come_into;
use crate::stage::{self, Person};

/// Returns an agent with an account of its own; what its work names happens once, and the next session succeeds.
pub(super) fn flint(dir: &Path) -> AgentSpec {
    let mut flint = stage::scripted("flint", dir, &["claude-obey", "--once", "yes", "--reset-in", "3"]);
    flint.account = AccountName::from("claude");
    flint
}

/// Checks that a refusal of the whole account pauses its agents until a person has seen to it, with an alert for each
/// time.
pub(super) async fn failures_of_the_account(alice: &mut Person) {
    let failures = [
        ("auth", "🔐 flint failed to authenticate"),
        ("billing", "💳 flint has a billing error — check your claude account."),
        ("budget", "💰 flint exceeded its USD budget cap."),
    ];
    for (before, (work, post)) in failures.into_iter().enumerate() {
        alice.say("#flint", work).await;
        let told = alice.hears("#flint", post).await;
        assert!(told.ends_with("Pausing until resumed."), "{told}");
        let alert = "Account claude: ";
        while alice.heard_in("#alerts").iter().filter(|text| text.contains(alert)).count() <= before {
            alice.hears("#alerts", alert).await;
        }
        alice.say("#flint", "are you there").await;
        let queued = alice.hears("#flint", "👀").await;
        assert!(queued.contains("but it is paused"), "{queued}");
        alice.say("#herder", "@flint resume").await;
        alice.hears("#flint", &format!("Done: {work}")).await;
        alice.hears("#flint", "Done: are you there").await;
        alice.hears("#flint", "✅ flint completed").await;
    }
    // Each was said once when the account was closed, and at most once when it was opened.
    let alerts = alice.heard_in("#alerts").into_iter().filter(|text| text.contains("seen by flint")).count();
    assert_eq!(alerts, failures.len());
}

/// Checks that an agent waits for the reset of a usage limit; a limit of turns is not reported to people.
pub(super) async fn a_usage_limit_and_a_turn_limit(alice: &mut Person) {
    alice.say("#flint", "limit").await;
    alice.hears("#flint", "⏳ flint has reached the usage limit of account claude.").await;
    alice.hears("#flint", "Done: limit").await;
    alice.hears("#flint", "✅ flint completed").await;

    alice.say("#flint", "few turns").await;
    alice.hears("#flint", "🐜 flint started: few turns").await;
    let before = alice.heard_in("#flint").len();
    alice.hears("#flint", "✅ flint completed").await;
    let meanwhile = alice.heard_in("#flint").split_off(before);
    assert!(matches!(&meanwhile[..], [done, _] if done.contains("Done: ")), "{meanwhile:#?}");
    alice.say("#herder", "!history flint 20").await;
    alice.hears("#herder", "turn limit reached").await;
}

pub(super) async fn restart(alice: &mut Person, dir: &Path) {
    alice.say("#flint", "hang on").await;
    alice.hears("#flint", "🐜 flint started: hang on").await;
    // A process that is ended before it has read its work does not remember that it hung, and the next one would as well.
    let asked = Instant::now();
    while !dir.join(".hang").exists() {
        assert!(asked.elapsed() < stage::PATIENCE, "flint never had its work");
        alice.say("#herder", "@flint status").await;
        alice.hears("#herder", "flint: ").await;
    }
    alice.say("#herder", "@flint restart").await;
    alice.hears_in_any_order("#herder", "flint starts afresh in a new conversation, counters reset.").await;
    alice.hears_in_any_order("#flint", "Done: hang on").await;
    alice.say("#herder", "@flint status").await;
    alice.hears("#herder", "flint: idle").await;
}

pub(super) async fn queue_and_clear(alice: &mut Person) {
    alice.say("#herder", "!pause flint").await;
    alice.hears("#herder", "⏸").await;
    for (number, text) in [(1, "first of two"), (2, "second of two")] {
        alice.say("#flint", text).await;
        alice.hears("#flint", &format!("position {number}, but it is paused")).await;
    }
    alice.say("#herder", "!queue flint").await;
    alice.hears("#herder", "second of two").await;
    alice.say("#herder", "!clear flint").await;
    alice.hears("#herder", "2 queued messages of flint dropped.").await;
    alice.say("#herder", "!queue flint").await;
    alice.hears("#herder", "Nothing waits for flint").await;
    alice.say("#herder", "@flint resume").await;
    alice.hears("#herder", "▶️ flint resumes").await;
}

/// Reads the records of its output, its events and its commands, and the list of commands.
pub(super) async fn what_is_on_record(alice: &mut Person) {
    for (asked, answers) in [
        ("@flint log", &["Done: hang on"][..]),
        ("!history flint 10", &["from the queue"]),
        ("!audit", &["#herder): !clear flint"]),
        ("!help", &["viewer: status", "admin: agent add", "`!help pause` explains one command."]),
        ("!help pause", &["!pause [agent] [now]", "Needs the role operator."]),
    ] {
        alice.say("#herder", asked).await;
        for answer in answers {
            alice.hears("#herder", answer).await;
        }
    }
}

pub(super) async fn agents_come_change_and_go(alice: &mut Person, herder: &str, dir: &Path) {
    alice.say("#herder", &format!("!agent add newt command {} command=\"cat\"", dir.display())).await;
    alice.hears("#herder", "newt is here, running command.").await;
    come_into(alice, herder, &["#newt"]).await;
    alice.reaches(herder, "#newt").await;
    alice.say("#newt", "hello newt").await;
    alice.hears("#newt", "hello newt").await;
    alice.hears("#newt", "✅ newt completed").await;
    alice.say("#herder", "!agent edit newt instructions=\"be brief\"").await;
    alice.hears("#herder", "newt changed. The next session uses it.").await;
    alice.say("#newt", "!agent show").await;
    alice.hears("#newt", "instructions=be brief").await;
    alice.say("#herder", "!agent list").await;
    alice.hears("#herder", "newt: command").await;

    alice.say("#herder", "!agent remove newt").await;
    let asked = alice.hears("#herder", "`!agent remove newt ").await;
    let code = asked.rsplit("`!agent remove newt ").next().and_then(|rest| rest.split('`').next());
    alice.say("#herder", &format!("!agent remove newt {}", code.expect("a code"))).await;
    alice.hears("#herder", "newt is removed. Its history is kept.").await;
    alice.say("#herder", "!status newt").await;
    alice.hears("#herder", "no agent “newt”").await;
}
