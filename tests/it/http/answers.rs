//! Approvals, answers, whispers, resume and abort in a browser: by keyboard alone, and without JavaScript.

use herder::core::agent::Phase;
use herder::core::id::AgentName;
use herder::core::role::Role;
use serde_json::json;

use super::browser::{Browser, Kind};
use super::looks::{audited, enter, house, questioning};
use super::{House, json as ask};
use crate::stage::{asking, shell};

/// The Enter key.
const ENTER: &str = "\u{e007}";

/// A house in which nova asks for leave and ember which database to take, as a browser shows it.
async fn asked(kind: Kind) -> (House, Browser) {
    let mut house = house(&["#nova", "#ember", "#spark", "#herder"], |dir| {
        vec![
            asking("nova", dir, "git push origin main"),
            questioning("ember", dir),
            shell("spark", dir, "cat"),
        ]
    })
    .await;
    for agent in ["nova", "ember"] {
        let work = json!({ "command": "task add", "agent": agent, "text": "go on" });
        assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
        let name = AgentName::new(agent).expect("a name");
        let fleet = house.scene.stage.herder.fleet().clone();
        fleet.wait_for(&name, |view| !view.agent.asks.is_empty()).await.expect("it asks");
    }
    let browser = enter(&mut house, kind).await;
    (house, browser)
}

/// Ends a test: all three are in the audit trail, approvals and answers in the agent's channel, and the whisper in none.
async fn told(mut house: House, browser: Browser, answered: &str) {
    for (channel, said) in [
        ("#nova", "was told yes"),
        ("#nova", "alice (demo): approve"),
        ("#ember", answered),
        ("#ember", "alice (demo): answer"),
    ] {
        house.scene.person.hears_in_any_order(channel, said).await;
    }
    let by_alice = |verb: &str| (verb.to_owned(), "alice".to_owned());
    assert_eq!(audited(&house).await, ["whisper", "answer", "approve"].map(by_alice));
    for channel in ["#spark", "#herder"] {
        let heard = house.scene.person.heard_in(channel);
        assert!(!heard.iter().any(|line| line.contains("mind the corners")), "{heard:?}");
    }
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyboard_alone_approves_answers_and_whispers() {
    let (house, browser) = asked(Kind::default()).await;
    browser.until("document.querySelectorAll('#needs .need').length === 2").await;
    browser.tab_to("#needs [aria-label=nova] button.yes").await;
    browser.keys(ENTER).await;
    browser.shows(".said").await;
    browser.until("document.querySelectorAll('#needs .need').length === 1").await;
    browser.tab_to("#needs [aria-label=ember] form:first-of-type button:nth-of-type(2)").await;
    browser.keys(ENTER).await;
    browser.until("document.querySelectorAll('#needs .need').length === 0").await;
    browser.tab_to("#agent-spark a").await;
    browser.keys(ENTER).await;
    browser.shows("#head").await;
    browser.tab_to("input[aria-label='Whisper to spark']").await;
    browser.keys(&format!("mind the corners{ENTER}")).await;
    browser.shows(".said").await;
    told(house, browser, "takes Postgres").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_scripts_one_approves_answers_and_whispers() {
    let (house, browser) = asked(Kind { no_scripts: true, ..Kind::default() }).await;
    browser.says("git push origin main").await;
    browser.press("#needs [aria-label=nova] button.yes").await;
    browser.shows(".said").await;
    browser.types("#needs [aria-label=ember] input[name=text]", "neither of them").await;
    browser.press("#needs [aria-label=ember] form:last-of-type button").await;
    browser.shows("#needs .nobody").await;
    browser.press("#agent-spark a").await;
    browser.types("input[aria-label='Whisper to spark']", "mind the corners").await;
    browser.press("button[value=whisper]").await;
    browser.shows(".said").await;
    told(house, browser, "neither of them").await;
}

/// A house in which spark is at work and paused, as a browser shows it.
async fn paused(kind: Kind) -> (House, Browser) {
    let script = "read -r line; exec sleep 600";
    let mut house = house(&["#spark", "#herder"], |dir| vec![shell("spark", dir, script)]).await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    let work = json!({ "command": "task add", "agent": "spark", "text": "sweep the floor" });
    assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
    let browser = enter(&mut house, kind).await;
    browser.go(&format!("{}/agents/spark", house.url)).await;
    (house, browser)
}

/// Ends a test: both commands are in chat and in the audit trail, and the work was begun and aborted.
async fn resumed_and_aborted(mut house: House, browser: Browser) {
    for said in ["alice (demo): resume", "alice (demo): abort"] {
        house.scene.person.hears_in_any_order("#spark", said).await;
    }
    let by_alice = |verb: &str| (verb.to_owned(), "alice".to_owned());
    assert_eq!(audited(&house).await, ["abort", "resume"].map(by_alice));
    let is_over = |view: &herder::supervisor::View| {
        view.agent.phase == Phase::Idle && view.agent.totals.sessions == 1 && view.agent.queue.is_empty()
    };
    let fleet = house.scene.stage.herder.fleet().clone();
    fleet.wait_for(&AgentName::new("spark").expect("a name"), is_over).await.expect("it is idle");
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keyboard_alone_resumes_and_aborts() {
    let (house, browser) = paused(Kind::default()).await;
    for (verb, phase) in [("resume", "running"), ("abort", "idle")] {
        browser.tab_to(&format!("#head button[value={verb}]")).await;
        browser.keys(ENTER).await;
        let is_so = format!("document.querySelector('#head .phase').textContent.includes('{phase}')");
        browser.until(&is_so).await;
    }
    resumed_and_aborted(house, browser).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_scripts_one_resumes_and_aborts() {
    let (house, browser) = paused(Kind { no_scripts: true, ..Kind::default() }).await;
    for verb in ["resume", "abort"] {
        browser.press(&format!("#head button[value={verb}]")).await;
        browser.shows(".said").await;
    }
    resumed_and_aborted(house, browser).await;
}
