//! Excerpts of works in answers and posts.

use herder::core::id::NetworkName;
use herder::l10n::Locale;
use herder::outbox::{Markup, Renderer};
use herder::redact::Redactor;

use super::rig::{Rig, SECRET};

/// Lengths of the text before the secret, with which an excerpt of 120 bytes would end in it.
const BEFORE: std::ops::RangeInclusive<usize> = 104..=130;

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_across_the_cut_of_an_excerpt_is_shown_nowhere() {
    let rig = Rig::open().await;
    rig.do_("olga", "#spark", "begin").await;
    rig.until_running("spark").await;
    for before in BEFORE {
        let text = format!("{} {SECRET} and more", "x".repeat(before));
        rig.do_("olga", "#herder", &format!("!task add spark {text}")).await;
        rig.do_("olga", "#herder", &format!("!task add quick {text}")).await;
    }
    let all = u64::try_from(BEFORE.count()).expect("a few");
    rig.until("quick", |view| view.agent.totals.successes == all).await;
    let mut lines = Vec::new();
    for command in
        ["!queue spark", "!status", "!task list", "!history quick 50", "!log quick 50", "!audit 50"]
    {
        let said = rig.say("alice", "herder", command).await;
        assert!(said.iter().any(|line| line.contains("xxxx")) || command == "!status", "{command}: {said:?}");
        lines.extend(said);
    }
    rig.do_("olga", "#spark", "abort").await;
    let (locale, redactor) = (Locale::load("en-US").unwrap(), Redactor::new(&[SECRET.to_owned().into()]));
    let posts = rig.journal.undelivered(&NetworkName::from("net")).unwrap();
    for markup in [Markup::Irc, Markup::Discord, Markup::Plain] {
        let renderer = Renderer::new(locale.clone(), redactor.clone(), markup);
        lines.extend(posts.iter().flat_map(|post| renderer.lines(post)));
    }
    let shown: Vec<&String> = lines.iter().filter(|line| line.contains("hunt")).collect();
    assert_eq!(shown, Vec::<&String>::new());
    rig.close().await;
}
