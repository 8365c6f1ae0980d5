//! The views of money and history in a real browser, left open while something happens.

use herder::core::role::Role;
use serde_json::json;

use super::browser::Kind;
use super::looks::{enter, house};
use super::page::until;
use super::{House, json as ask, secret};
use crate::stage::{scripted, shell};

async fn command(house: &House, command: &str, agent: &str) {
    let command = json!({ "command": command, "agent": agent });
    let (status, said) = ask(house.command(Role::Operator, &command)).await;
    assert_eq!(status, 200, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_turn_costs_comes_to_the_open_page_of_money() {
    let mut house = house(&["#spark", "#herder"], |dir| vec![scripted("spark", dir, &["claude-ok"])]).await;
    let browser = enter(&mut house, Kind::default()).await;
    for (path, owner) in [("/money", "spark"), ("/money?by=account&unit=tokens", "default")] {
        browser.go(&format!("{}{path}", house.url)).await;
        browser.script("window.sameAsBefore = true").await;
        let before = browser.script("return document.querySelector('#money-days').innerText").await;
        let work = json!({ "command": "task add", "agent": "spark", "text": format!("write for {owner}") });
        assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
        browser
            .until(&format!("document.querySelector('#money-tasks').innerText.includes('write for {owner}')"))
            .await;
        for chart in ["#money-hours", "#money-days"] {
            let legend = format!("document.querySelector('{chart} .legend').innerText");
            browser.until(&format!("{legend}.includes('{owner}')")).await;
        }
        browser.until(&format!("document.querySelector('#money-days').innerText !== {before}")).await;
        browser.until("document.querySelector('#money-months tbody tr')").await;
        assert_eq!(browser.script("return window.sameAsBefore").await, true, "the page was not loaded anew");
    }
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happens_comes_to_the_open_page_of_history() {
    let mut house = house(&["#spark", "#nova", "#herder"], |dir| {
        vec![shell("spark", dir, "cat"), shell("nova", dir, "cat")]
    })
    .await;
    let browser = enter(&mut house, Kind::default()).await;
    command(&house, "pause", "spark").await;
    browser.go(&format!("{}/history", house.url)).await;
    browser.script("window.sameAsBefore = true").await;
    let first = "document.querySelector('#history li')";
    // The newest entry stands first; one that has the focus keeps it.
    browser.until(&format!("{first}.innerText.includes('paused')")).await;
    browser.script("document.querySelector('#history li a').focus()").await;
    command(&house, "resume", "spark").await;
    browser.until(&format!("!{first}.innerText.includes('paused')")).await;
    let focus = "return document.activeElement.closest('li').innerText.includes('paused')";
    assert_eq!(browser.script(focus).await, true, "the focus stays on its entry");
    assert_eq!(browser.script("return window.sameAsBefore").await, true, "the page was not loaded anew");
    // A search shows what is new of the same kind: events of one agent, or the audit trail.
    for (path, comes) in [
        ("/history?agent=nova", "nova"),
        ("/history?text=NOVA", "nova"),
        ("/history?kind=audit", "the-operator"),
    ] {
        browser.go(&format!("{}{path}", house.url)).await;
        let count = "document.querySelectorAll('#history li').length";
        let before = browser.script(&format!("return {count}")).await;
        command(&house, "pause", "spark").await;
        command(&house, "pause", "nova").await;
        browser.until(&format!("{count} > {before} && {first}.innerText.includes('{comes}')")).await;
        let spark =
            "[...document.querySelectorAll('#history li')].some(one => one.innerText.includes('spark'))";
        assert_eq!(browser.script(&format!("return {spark}")).await, path.contains("audit"), "{path}");
        command(&house, "resume", "spark").await;
        command(&house, "resume", "nova").await;
    }
    // A page that has an end in time is as it was found.
    browser.go(&format!("{}/history?from=2000-01-01", house.url)).await;
    browser.shows("[hx-sse\\:connect*='view=still']").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_the_history_shows_nobody_more_than_their_page() {
    let house = House::open("cat").await;
    let whisper = json!({ "command": "whisper", "agent": "spark", "text": "mind the corners" });
    assert_eq!(ask(house.command(Role::Operator, &whisper)).await.0, 200);
    let streams = [
        (Role::Viewer, "", "id=\"event-", false),
        (Role::Viewer, "&kind=audit", "id=\"history\"", false),
        (Role::Operator, "", "mind the corners", true),
    ];
    for (role, query, comes, may_read) in streams {
        let request = house.get(&format!("/live?view=history{query}")).bearer_auth(secret(role));
        let mut stream = request.send().await.expect("a stream");
        let mut heard = String::new();
        until(&mut stream, &mut heard, comes).await;
        until(&mut stream, &mut heard, "\n\n").await;
        assert_eq!(heard.contains("mind the corners"), may_read, "{role} {query}: {heard}");
        assert_eq!(heard.contains("id=\"event-"), !query.contains("audit"), "{role} {query}: {heard}");
    }
    house.close().await;
}
