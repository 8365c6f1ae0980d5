//! The page in a real browser: what a person sees, presses and types, and what comes of it.

use std::path::{Path, PathBuf};

use herder::core::role::Role;
use herder::core::spec::AgentSpec;
use serde_json::{Value, json};

use super::browser::{Browser, Kind};
use super::{House, json as ask, settings};
use crate::stage::{Scene, asking, inside, scripted, server, shell};

/// An agent that asks which database to take, and says what it was told.
pub(super) fn questioning(agent: &str, dir: &Path) -> AgentSpec {
    questioning_for(agent, dir, false)
}

/// The same; `several` answers can be chosen.
pub(super) fn questioning_for(agent: &str, dir: &Path, several: bool) -> AgentSpec {
    let script = r#"
read -r work
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which database?","header":"DB","multiSelect":false,"options":[{"label":"SQLite","description":"a file"},{"label":"Postgres","description":"a server"}]}]}}}'
answer=none
while [ $answer = none ] && read -r line; do
  case $line in *'"Which database?":"Postgres"'*) answer=Postgres ;; *'"allow"'*|*'"deny"'*) answer=other ;; esac
done
echo '{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"takes '$answer'"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"takes '$answer'","session_id":"s","terminal_reason":"completed"}'
while read -r line; do :; done
"#;
    let file = dir.join(format!("{agent}.sh"));
    let script = script.replace("\"multiSelect\":false", &format!("\"multiSelect\":{several}"));
    std::fs::write(&file, script).expect("a file can be written");
    let mut spec = asking(&format!("{agent}-x"), dir, "true");
    spec.name = herder::core::id::AgentName::new(agent).expect("a name");
    spec.command = vec!["sh".to_owned(), file.display().to_string()];
    spec
}

pub(super) async fn house(rooms: &[&str], agents: impl FnOnce(&Path) -> Vec<AgentSpec>) -> House {
    let server = server().await;
    let options = inside(&server);
    let scene = Scene::open_configured((server, options), "alice", rooms, agents, |config| {
        config.http = Some(settings());
    })
    .await;
    House::of(scene)
}

/// A house with one agent, and a browser that is logged in there.
async fn seen(script: &str, kind: Kind) -> (House, Browser) {
    let script = script.to_owned();
    let mut house = house(&["#spark", "#herder"], |dir| vec![shell("spark", dir, &script)]).await;
    let browser = enter(&mut house, kind).await;
    (house, browser)
}

pub(super) async fn enter(house: &mut House, kind: Kind) -> Browser {
    let browser = Browser::open(kind).await;
    let link = house.link().await;
    browser.log_in(&format!("{}{link}", house.url)).await;
    browser
}

/// The verbs that were asked for over the page, the latest first, and by whom.
pub(super) async fn audited(house: &House) -> Vec<(String, String)> {
    let (_, audit) = ask(house.by(Role::Admin, "/audit")).await;
    let items = audit["items"].as_array().expect("items").clone();
    let audits = items.iter().map(|item| &item["entry"]["audit"]).filter(|audit| audit["place"] == "http");
    audits
        .filter(|audit| audit["by"]["network"] == "demo")
        .map(|audit| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&audit["verb"]), text(&audit["by"]["name"]))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_shows_a_button_that_works_once() {
    let mut house = house(&["#spark", "#herder"], |dir| vec![shell("spark", dir, "cat")]).await;
    let browser = Browser::open(Kind::default()).await;
    let path = house.link().await;
    let own = house.scene.stage.herder.page_url().expect("there is a page").to_owned();
    let link = format!("{own}{path}");
    let has_button = async || browser.has("button.go").await;
    for _ in 0..3 {
        browser.go(&link).await;
        assert!(has_button().await, "looking uses nothing up");
    }
    browser.log_in(&link).await;
    browser.go(&link).await;
    assert!(!has_button().await);
    assert!(browser.text().await.contains("This link was used"), "{}", browser.text().await);
    browser.go(&own).await;
    browser.until("document.querySelector('#agent-spark')").await;
    // A server on another port of this machine, as agents run them, gets no cookie: it has another name.
    browser.go(&house.url).await;
    browser.until_it_says("Who are you?").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_comes_to_the_page_without_a_reload() {
    let (house, browser) = seen("cat", Kind::default()).await;
    browser.script("window.sameAsBefore = true").await;
    browser.until("document.querySelector('#agent-spark .phase').textContent.includes('idle')").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    browser.until("document.querySelector('#agent-spark .phase').textContent.includes('paused')").await;
    // An agent that is added appears, and one that is removed is gone.
    let place = house.scene.dir.path().display().to_string();
    let add = json!({ "command": "agent add", "args": ["nova", "command", place, "command=cat"] });
    let (status, said) = ask(house.command(Role::Admin, &add)).await;
    assert_eq!(status, 200, "{said}");
    browser.until("document.querySelector('#agent-nova') && document.querySelector('#counts').textContent.includes('2')").await;
    assert_eq!(browser.script("return window.sameAsBefore").await, true, "the page was not loaded anew");
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_steered_from_its_page_and_chat_sees_it() {
    let script =
        "while read -r line; do [ \"$line\" = wait ] && exec sleep 600; echo \"did $line\"; exit; done";
    let (mut house, browser) = seen(script, Kind::default()).await;
    browser.press("#agent-spark a").await;
    browser.press("#head button[value=pause]").await;
    browser.until_it_says("is paused").await;
    house.scene.person.hears_in_any_order("#spark", "alice (demo): pause").await;
    browser.types("input[aria-label='Work for spark']", "sweep the floor").await;
    browser.press("button[value='task add']").await;
    browser.until_it_says("is queued").await;
    browser.types("input[aria-label='Whisper to spark']", "mind the corners").await;
    browser.press("button[value=whisper]").await;
    browser.until("document.querySelector('.said')").await;
    browser.press("#head button[value=resume]").await;
    house.scene.person.hears_in_any_order("#spark", "did ").await;
    browser.until("document.querySelector('#tail').textContent.includes('did ')").await;
    browser.until("document.querySelector('#timeline rect.ran')").await;
    browser.types("input[aria-label='Work for spark']", "wait").await;
    browser.press("button[value='task add']").await;
    browser.until("document.querySelector('#head .phase').textContent.includes('running')").await;
    browser.press("#head button[value=abort]").await;
    browser.until("document.querySelector('#head .phase').textContent.includes('idle')").await;
    let verbs: Vec<String> = audited(&house).await.into_iter().map(|(verb, _)| verb).collect();
    assert_eq!(verbs, ["abort", "task add", "resume", "whisper", "task add", "pause"]);
    // A whisper is between its writer and the agent.
    for said in ["resume", "task add", "abort"] {
        house.scene.person.hears_in_any_order("#spark", &format!("alice (demo): {said}")).await;
    }
    browser.press("#timeline tbody tr:last-child a").await;
    browser.until_it_says("did ").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_agents_ask_is_answered_from_the_page() {
    let mut house = house(&["#nova", "#ember", "#herder"], |dir| {
        vec![asking("nova", dir, "git push origin main"), questioning("ember", dir)]
    })
    .await;
    let browser = enter(&mut house, Kind::default()).await;
    for agent in ["nova", "ember"] {
        let work = json!({ "command": "task add", "agent": agent, "text": "go on" });
        assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
    }
    browser.until("document.querySelectorAll('#needs .need').length === 2").await;
    browser.until_it_says("git push origin main").await;
    browser.press("#needs [aria-label=nova] button.yes").await;
    browser.until("document.querySelectorAll('#needs .need').length === 1").await;
    house.scene.person.hears_in_any_order("#nova", "was told yes").await;
    browser.press("#needs [aria-label=ember] form:first-of-type button:nth-of-type(2)").await;
    browser.until("document.querySelectorAll('#needs .need').length === 0").await;
    house.scene.person.hears_in_any_order("#ember", "takes Postgres").await;
    house.scene.person.hears_in_any_order("#nova", "alice (demo): approve").await;
    house.scene.person.hears_in_any_order("#ember", "alice (demo): answer").await;
    assert_eq!(
        audited(&house).await,
        [("answer".to_owned(), "alice".to_owned()), ("approve".to_owned(), "alice".to_owned())]
    );
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_written_answer_survives_what_happens_meanwhile() {
    let mut house =
        house(&["#ember", "#herder"], |dir| vec![questioning("ember", dir), shell("spark", dir, "cat")])
            .await;
    let browser = enter(&mut house, Kind::default()).await;
    let work = json!({ "command": "task add", "agent": "ember", "text": "go on" });
    assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
    browser.until("document.querySelector('#needs input[name=text]')").await;
    browser.types("#needs input[name=text]", "neither of").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    browser.until("document.querySelector('#agent-spark .phase').textContent.includes('paused')").await;
    browser.keys(" them\u{e007}").await;
    house.scene.person.hears_in_any_order("#ember", "neither of them").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_are_filtered_while_one_types_and_without_scripts() {
    for no_scripts in [false, true] {
        let mut house = house(&["#spark", "#herder"], |dir| {
            let mut tagged = shell("nova", dir, "cat");
            tagged.tags = vec!["rust".to_owned()];
            vec![shell("spark", dir, "cat"), tagged]
        })
        .await;
        let browser = enter(&mut house, Kind { no_scripts, ..Kind::default() }).await;
        browser.types(".finder input[name=text]", "rust").await;
        if no_scripts {
            browser.press(".finder button").await;
            // As the server wrote it, into the page that the form led to.
            browser.shows(".finder input[value=rust]").await;
        } else {
            browser
                .until("document.querySelector('#agent-nova') && !document.querySelector('#agent-spark')")
                .await;
        }
        assert!(browser.has("#agent-nova").await && !browser.has("#agent-spark").await);
        if !no_scripts {
            // A filtered table is live as well, and keeps the words of the filter.
            let pause = json!({ "command": "pause", "agent": "nova" });
            assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
            browser
                .until("document.querySelector('#agent-nova .phase').textContent.includes('paused')")
                .await;
            assert_eq!(browser.script("return document.querySelector('.finder input').value").await, "rust");
        }
        browser.go(&format!("{}/?phase=works", house.url)).await;
        assert!(!browser.has("#agents tr").await);
        browser.close().await;
        house.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_without_scripts() {
    let (mut house, browser) = seen("cat", Kind { no_scripts: true, ..Kind::default() }).await;
    browser.says("reload the page").await;
    browser.press("#agent-spark a").await;
    browser.press("#head button[value=pause]").await;
    browser.says("is paused").await;
    house.scene.person.hears_in_any_order("#spark", "alice (demo): pause").await;
    browser.press("header nav a[href='/board']").await;
    browser.types(".add input[name=text]", "mend the roof").await;
    browser.press(".add button").await;
    browser.shows(".said").await;
    browser.says("mend the roof").await;
    browser.press(".card a").await;
    browser.shows("main pre.whole").await;
    browser.says("mend the roof").await;
    browser.press("button[value^='task cancel']").await;
    browser.shows(".said").await;
    for path in ["/money", "/history", "/history?kind=audit"] {
        browser.go(&format!("{}{path}", house.url)).await;
        browser.shows("main h1").await;
    }
    browser.says("task cancel").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_with_a_keyboard_alone_gets_everywhere() {
    let (mut house, browser) = seen("cat", Kind::default()).await;
    // The first stop leads past the menus.
    browser.tab_to("a.skip").await;
    browser.keys("\u{e007}").await;
    browser.tab_to("#agent-spark a").await;
    browser.keys("\u{e007}").await;
    browser.shows("#head").await;
    browser.tab_to("#head button[value=pause]").await;
    browser.keys("\u{e007}").await;
    house.scene.person.hears_in_any_order("#spark", "alice (demo): pause").await;
    browser.shows(".said").await;
    browser.tab_to("input[name=text]").await;
    browser.keys("sweep the floor\u{e007}").await;
    house.scene.person.hears_in_any_order("#spark", "sweep the floor").await;
    browser.close().await;
    house.close().await;
}

/// The text of axe-core, which `scripts/test` installs.
fn axe() -> String {
    let file: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "target/test-tools/axe/node_modules/axe-core/axe.min.js"]
            .iter()
            .collect();
    std::fs::read_to_string(file).expect("axe-core is installed: scripts/test does that")
}

/// The serious faults that axe finds on these paths, in light and dark.
pub(super) async fn faults(browser: &Browser, house: &House, paths: &[&str]) -> Vec<String> {
    let axe = axe();
    let mut faults = Vec::new();
    for (path, scheme) in paths.iter().flat_map(|path| [(path, "light"), (path, "dark")]) {
        browser.colours(scheme).await;
        browser.go(&format!("{}{path}", house.url)).await;
        browser.client.execute(&axe, Vec::new()).await.expect("axe is put in");
        let run = "const done = arguments[0]; axe.run({ resultTypes: ['violations'] }).then(found => done(found.violations), reason => done(String(reason)))";
        let found = browser.client.execute_async(run, Vec::new()).await.expect("axe runs");
        let found = found.as_array().unwrap_or_else(|| panic!("axe failed on {path}: {found}")).clone();
        faults.extend(
            found
                .iter()
                .filter(|one| one["impact"] == "serious" || one["impact"] == "critical")
                .map(|one| format!("{path} {scheme}: {} {}", one["help"], one["nodes"][0]["html"])),
        );
    }
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_view_has_a_serious_fault_for_people_who_see_or_hear_otherwise() {
    let mut house = house(&["#nova", "#spark", "#herder"], |dir| {
        let mut capped = scripted("spark", dir, &["claude-ok"]);
        capped.caps.usd_per_day = 2.0;
        vec![asking("nova", dir, "git push origin main"), capped, shell("ember", dir, "exit 3")]
    })
    .await;
    let browser = enter(&mut house, Kind::default()).await;
    for agent in ["nova", "spark", "ember"] {
        let work = json!({ "command": "task add", "agent": agent, "text": "build it" });
        assert_eq!(ask(house.command(Role::Operator, &work)).await.0, 200);
    }
    let board = json!({ "command": "task add", "args": ["auto", "needs=full,nobody", "wait for somebody"] });
    assert_eq!(ask(house.command(Role::Operator, &board)).await.0, 200);
    browser.until("document.querySelector('#needs .need button.yes')").await;
    browser.until("document.querySelector('#agent-spark .cost').textContent.includes('$')").await;
    let (_, tasks) = ask(house.by(Role::Viewer, "/tasks")).await;
    let task = tasks["items"][0]["work"]["id"].as_u64().expect("a task");
    let paths = [
        "/",
        "/?phase=needs",
        "/agents/spark",
        "/agents/nova",
        "/agents/spark/sessions/1",
        "/board",
        &format!("/tasks/{task}"),
        "/money",
        "/money?by=account&unit=tokens",
        "/history",
        "/history?kind=audit",
        "/nowhere",
    ];
    let faults = faults(&browser, &house, &paths).await;
    assert!(faults.is_empty(), "{faults:#?}");
    browser.close().await;
    house.close().await;
}

/// Agents that a page is left open on, and pauses and resumes of each in a round. `HERDER_PAGE_CHANGES` sets another
/// number:
/// 4200 make a night of 100,000 events.
const ROUND: (usize, usize) = (8, 40);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_left_open_over_many_events_does_not_grow() {
    let (agents, usual) = ROUND;
    let changes: usize =
        std::env::var("HERDER_PAGE_CHANGES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual);
    let mut house =
        house(&["#herder"], |dir| (0..agents).map(|n| shell(&format!("a{n}"), dir, "cat")).collect()).await;
    let browser = enter(&mut house, Kind::default()).await;
    let size = async || {
        browser.devtools("HeapProfiler.collectGarbage", json!({})).await;
        let nodes = browser.script("return document.getElementsByTagName('*').length").await;
        let counters = browser.devtools("Memory.getDOMCounters", json!({})).await;
        let heap = browser.devtools("Runtime.getHeapUsage", json!({})).await;
        let count = |value: &Value| value.as_u64().expect("a count");
        (
            count(&nodes),
            count(&counters["nodes"]),
            count(&counters["jsEventListeners"]),
            heap["usedSize"].as_f64().expect("bytes"),
        )
    };
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let all = (0..agents).map(async |n| {
            for change in 0..changes {
                let command = if change % 2 == 0 { "pause" } else { "resume" };
                let command = json!({ "command": command, "agent": format!("a{n}") });
                let (status, answer) = ask(house.command(Role::Operator, &command)).await;
                assert_eq!(status, 200, "{answer}");
            }
        });
        futures_util::future::join_all(all).await;
        // Shown is the last of them.
        let last = json!({ "command": "pause", "agent": "a0" });
        assert_eq!(ask(house.command(Role::Operator, &last)).await.0, 200);
        browser.until("document.querySelector('#agent-a0 .phase').textContent.includes('paused') && document.querySelectorAll('#agents .phase').length === [...document.querySelectorAll('#agents .phase')].filter(one => one.textContent.includes('idle')).length + 1").await;
        sizes.push(size().await);
        let first = json!({ "command": "resume", "agent": "a0" });
        assert_eq!(ask(house.command(Role::Operator, &first)).await.0, 200);
    }
    let (elements, nodes, listeners, heap) = sizes[0];
    assert!(sizes.iter().all(|(now, ..)| *now == elements), "{sizes:?}");
    let (_, last_nodes, last_listeners, last_heap) = sizes[2];
    assert!(last_nodes < nodes + nodes / 5 + 500 && last_listeners <= listeners + 50, "{sizes:?}");
    assert!(last_heap < heap * 1.2 + 500_000.0, "{sizes:?}");
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_left_open_over_a_restart_is_in_step_again() {
    let (house, browser) = seen("cat", Kind::default()).await;
    browser.script("window.sameAsBefore = true").await;
    let says_so = browser.until("!document.querySelector('.cut').hidden");
    let house = house.restarted_after("cat", says_so).await;
    browser.until("document.querySelector('.cut').hidden").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    browser.until("document.querySelector('#agent-spark .phase').textContent.includes('paused')").await;
    assert_eq!(browser.script("return window.sameAsBefore").await, true, "the page was not loaded anew");
    // Its buttons still work: the session outlived the restart, and so did what proves its forms.
    browser.press("#agent-spark a").await;
    browser.press("#head button[value=resume]").await;
    browser.until("document.querySelector('.said').textContent.includes('spark')").await;
    browser.close().await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_fits_a_telephone_and_a_wide_screen() {
    let (house, browser) = seen("cat", Kind::default()).await;
    for width in [390, 1920] {
        browser.window(width, 900).await;
        for path in ["/", "/agents/spark", "/board", "/money", "/history"] {
            browser.go(&format!("{}{path}", house.url)).await;
            let over = browser.script("return document.documentElement.scrollWidth - innerWidth").await;
            assert!(over.as_i64().is_some_and(|over| over <= 0), "{path} is {over} px too wide at {width}");
        }
    }
    browser.close().await;
    house.close().await;
}
