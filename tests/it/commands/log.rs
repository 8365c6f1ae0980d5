//! An agent's output is read back whole, also after the agent is gone.

use std::time::Duration;

use herder::clock;
use herder::core::time::Timestamp;
use herder::core::work::Actor;
use herder::journal::{AuditEntry, Batch, Entry, Stream, Write};
use herder::l10n::Locale;
use herder::supervisor::View;

use super::rig::{Rig, name};

/// Runs a session of an agent that prints `count` numbered lines, with `settings` besides its command.
async fn printed(rig: &Rig, count: u32, settings: &str) {
    let dir = rig.dir.path().display();
    let add = format!("!agent add crier command {dir} command=\"seq -f line-%g {count}\" {settings}");
    rig.do_("alice", "#herder", &add).await;
    rig.do_("olga", "#herder", "@crier go").await;
    rig.until("crier", |view| view.agent.totals.successes == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_thousand_lines_are_read_page_by_page_and_none_is_missing() {
    let rig = Rig::open().await;
    printed(&rig, 3000, "").await;
    let brief = rig.say("vera", "#crier", "log").await;
    assert!(brief[0].contains("session 1: success · line-1 line-2"), "{brief:?}");
    assert_eq!(brief[1], "`@crier log session 1` shows all of it.");
    let mut read = Vec::new();
    for page in 1..=150 {
        // A person reads no more than a page in a minute, and the rate of commands is limited.
        let at = clock::now().after(Duration::from_secs(60 * page));
        let mut lines = rig.say_at("vera", "#crier", &format!("log session 1 page {page}"), at).await;
        assert!(lines.remove(0).ends_with(&format!("session 1: success · page {page} of 150")));
        if page < 150 {
            let next = format!("`@crier log session 1 page {}` goes on.", page + 1);
            assert_eq!(lines.pop(), Some(next));
        }
        read.extend(lines);
    }
    let all: Vec<String> = (1..=3000).map(|line| format!("line-{line}")).collect();
    assert_eq!(read, all);
    assert_eq!(rig.say("vera", "#crier", "log 1").await.len(), 22, "a page of one session");
    assert_eq!(
        rig.say("vera", "#crier", "log session 7").await,
        ["**crier** has said nothing in a session 7."]
    );
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_relayed_while_a_session_runs_can_be_read_while_it_runs() {
    let rig = Rig::open().await;
    let dir = rig.dir.path().display();
    let add = format!("!agent add crier command {dir} relay=all command=\"sh -c 'seq 3; exec sleep 600'\"");
    rig.do_("alice", "#herder", &add).await;
    rig.do_("olga", "#herder", "@crier go").await;
    let told =
        |view: &View| view.agent.unfinished.as_ref().is_some_and(|so_far| so_far.progress.ends_with('3'));
    rig.until("crier", told).await;
    let log = rig.say("vera", "#crier", "log 1").await;
    assert!(log[0].ends_with("session 1: running"), "{log:?}");
    assert_eq!(log[1..], ["1", "2", "3"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_an_agent_that_was_removed_can_be_read() {
    let rig = Rig::open().await;
    rig.do_("olga", "#herder", "!task add quick say hello").await;
    let view = rig.until("quick", |view| view.agent.totals.successes == 1).await;
    let task = view.agent.finished.front().expect("it is over").work.id;
    let asked = rig.say("alice", "#herder", "!agent remove quick").await;
    let code = asked[0].split_whitespace().last().unwrap().trim_matches('`').to_owned();
    rig.do_("alice", "#herder", &format!("!agent remove quick {code}")).await;
    while rig.fleet.view(&name("quick")).is_some() {
        tokio::task::yield_now().await;
    }
    for (line, piece) in [
        ("!history quick", "removed"),
        ("!audit quick", "task add quick say hello"),
        ("!log quick", "session 1: success"),
        ("!log quick session 1", "say hello"),
        (&format!("!task show {task}"), "done · **quick** · say hello"),
    ] {
        let lines = rig.say("olga", "#herder", line).await;
        assert!(lines.iter().any(|line| line.contains(piece)), "{line}: {lines:#?}");
    }
    for line in ["!status quick", "!pause quick", "!log quack"] {
        let lines = rig.say("olga", "#herder", line).await;
        assert!(lines.concat().contains("no agent"), "{line}: {lines:?}");
    }
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_looked_at_is_not_said_not_to_have_been() {
    let rig = Rig::open().await;
    rig.do_("olga", "#herder", "!pause quick").await;
    let other = |text: &str| AuditEntry {
        by: Actor::herder(),
        place: "local".to_owned(),
        agent: Some(name("spark")),
        verb: "status".to_owned(),
        text: text.to_owned(),
    };
    let at = Timestamp::from_seconds(1_800_000_000);
    let entries = (0..20_000).map(|_| Entry::Audit(other("status"))).collect();
    let writes = vec![Write { stream: Stream::Audit, expected_rev: None, entries }];
    rig.journal.commit(Batch { at, writes, ..Batch::default() }).await.expect("commits");
    let audit = rig.say("olga", "#herder", "!audit quick").await;
    let since = Locale::load("en-US").expect("a locale").time(at);
    assert_eq!(audit.len(), 2, "{audit:#?}");
    assert_eq!(
        audit[0],
        format!(
            "Out of the last 20,000 entries, since {since}. I looked no further back; an export has all of it."
        )
    );
    assert!(audit[1].contains("audit quick"), "its own line alone: {audit:#?}");
    let whole = rig.say("olga", "#herder", "!audit 3").await;
    assert_eq!(whole.len(), 3, "as many as were asked for are all there is to say: {whole:#?}");
    rig.close().await;
}
