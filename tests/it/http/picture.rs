//! The picture of the page in the README: `HERDER_BLESS=1 cargo nextest run http::picture` takes it anew.

use std::path::PathBuf;

use herder::core::role::Role;
use serde_json::json;

use super::browser::Kind;
use super::json as ask;
use super::looks::{enter, house, questioning};
use crate::stage::{asking, scripted};

/// Width and height of the picture, in pixels.
const SIZE: (u32, u32) = (1280, 1000);

fn file() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "docs/images/page.png"].iter().collect()
}

/// The width and height that a PNG says it has.
fn size_of(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readme_shows_a_fleet_at_work() {
    let mut house = house(&["#nova", "#herder"], |dir| {
        let capped = |name: &str, tag: &str| {
            let script = ["claude-obey", "--once", "yes", "--seconds", "1", "--reset-in", "3600"];
            let mut agent = scripted(name, dir, &script);
            // A login that fails pauses all agents of its account.
            agent.account = name.into();
            agent.caps.usd_per_day = 2.0;
            agent.tags = vec![tag.to_owned()];
            agent
        };
        vec![
            asking("nova", dir, "git push origin main"),
            questioning("ember", dir),
            capped("spark", "web"),
            capped("wren", "web"),
            capped("lark", "parser"),
            capped("finch", "parser"),
        ]
    })
    .await;
    let browser = enter(&mut house, Kind::default()).await;
    browser.window(SIZE.0, SIZE.1).await;
    browser.colours("light").await;
    for (agent, text) in [
        ("nova", "push the release"),
        ("ember", "set the storage up"),
        ("spark", "write a haiku about pipes"),
        ("wren", "port the build, up to the rate limit"),
        ("lark", "think about the parser, then hang"),
        ("spark", "fix the parser's tests"),
        ("finch", "benchmark the parser, with an auth that fails"),
    ] {
        let work = json!({ "command": "task add", "agent": agent, "text": text });
        assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
    }
    // The cards that need a person are there, with their buttons; other agents work, wait and have stopped.
    browser.until("document.querySelector('[aria-label=nova] button.yes')").await;
    browser.until("document.querySelector('[aria-label=ember] input')").await;
    browser
        .until("document.querySelector('#agent-lark.works') && document.querySelector('#agent-wren.waits')")
        .await;
    browser.until("document.querySelector('#agent-finch.failed')").await;
    browser.until("document.querySelector('#agent-spark .cost').textContent.includes('$')").await;
    let picture = browser.client.screenshot().await.expect("a picture");
    assert_eq!(size_of(&picture), SIZE);
    if std::env::var_os("HERDER_BLESS").is_some() {
        std::fs::write(file(), &picture).expect("it can be written");
    }
    let shown = std::fs::read(file()).expect("the README has its picture");
    assert_eq!(size_of(&shown), SIZE, "take it anew: HERDER_BLESS=1 cargo nextest run http::picture");
    browser.close().await;
    house.close().await;
}
