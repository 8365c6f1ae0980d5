//! The views of the page as a browser without JavaScript has them: their contents, and who is shown what.

use herder::core::id::AccountName;
use herder::core::outcome::Category;
use herder::core::role::Role;
use herder::core::spec::{AgentSpec, Pattern};
use herder::core::usage::Caps;
use serde_json::json;

use super::page::{Browser, until};
use super::{House, json as ask, text};
use crate::stage::{Scene, inside, scripted, server, server_person, shell};

impl House {
    /// A browser of mallory's, who may only look.
    async fn log_in_as_viewer(&mut self) -> Browser {
        let mut mallory = server_person(&self.scene.server, "mallory", &["#herder"]).await;
        mallory.reaches("herder", "#herder").await;
        mallory.say("herder", "!page").await;
        let line = mallory.hears("mallory", "/login/").await;
        let at = line.find("/login/").expect("a link");
        let link = line[at..].split_whitespace().next().expect("a path").to_owned();
        self.enter(&link).await
    }

    async fn give(&self, agent: &str, words: &str) {
        let work = json!({ "command": "task add", "agent": agent, "text": words });
        assert_eq!(ask(self.command(Role::Operator, &work)).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_of_agents_and_people_are_markup_in_no_view() {
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"&";
    let mut house = House::open(&format!("read -r line; echo '{evil}'")).await;
    let browser = house.log_in().await;
    house.give("spark", evil).await;
    house.scene.person.hears_in_any_order("#spark", "onerror=alert").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    house.give("spark", evil).await;
    let (_, tasks) = ask(house.by(Role::Viewer, "/tasks")).await;
    let ids: Vec<u64> = tasks["items"]
        .as_array()
        .expect("tasks")
        .iter()
        .filter_map(|item| item["work"]["id"].as_u64())
        .collect();
    assert_eq!(ids.len(), 2, "{tasks}");
    let mut paths: Vec<String> = ids.iter().map(|id| format!("/tasks/{id}")).collect();
    let others = [
        "/",
        "/agents/spark",
        "/agents/spark/sessions/1",
        "/board",
        "/money",
        "/history",
        "/history?kind=audit",
    ];
    paths.extend(others.map(str::to_owned));
    paths.push("/?text=%3Cscript%3Ealert(1)".to_owned());
    paths.push(
        "/history?text=%3Cscript%3Ealert(1)&from=%3Cscript%3E&agent=%22%3E%3Cscript%3Ealert(1)".to_owned(),
    );
    for path in paths {
        let (status, page) = house.see(&browser, &path).await;
        assert_eq!(status, 200, "{path}");
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{path}: {page}");
    }
    house.close().await;
}

/// The first element of a page that has an attribute twice: a browser ignores the second one.
fn attribute_twice(page: &str) -> Option<String> {
    let tags = page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    tags.into_iter().find_map(|tag| {
        let outside: String = tag.split('"').step_by(2).collect();
        let mut names: Vec<&str> = outside.split_whitespace().skip(1).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        (names.len() < count).then(|| tag.to_owned())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_comes_with_the_last_words_of_its_agent() {
    let mut house = super::looks::house(&["#nova", "#herder"], |dir| {
        vec![crate::stage::asking("nova", dir, "git push origin main")]
    })
    .await;
    let browser = house.log_in().await;
    let name = herder::core::id::AgentName::new("nova").expect("a name");
    let fleet = house.scene.stage.herder.fleet().clone();
    for round in 0..2 {
        house.give("nova", "go on").await;
        let asks = fleet.wait_for(&name, |view| !view.agent.asks.is_empty()).await.expect("nova");
        let (_, page) = house.see(&browser, "/").await;
        let card = page.split("<article").nth(1).and_then(|rest| rest.split("</article>").next());
        let card = card.unwrap_or_else(|| panic!("no card: {page}"));
        assert!(card.contains("git push origin main"), "{card}");
        assert_eq!(card.contains("was told yes"), round == 1, "{card}");
        assert!(page.contains("<span class=\"asked\">waits for an answer</span>"), "in words: {page}");
        for path in ["/", "/agents/nova", "/board", "/money", "/history", "/history?kind=audit"] {
            assert_eq!(attribute_twice(&house.see(&browser, path).await.1), None, "{path}");
        }
        house.press(&browser, &format!("approve|{}", asks.agent.asks[0].id), "", "").await;
        fleet.wait_for(&name, |view| view.agent.totals.successes == round + 1).await.expect("nova");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stars_in_somebodys_words_stay_and_those_of_chat_do_not() {
    let mut house = House::open("read -r line; echo \"did $line\"").await;
    let browser = house.log_in().await;
    house.give("spark", "compute 2**10 in **bold**").await;
    house.scene.person.hears_in_any_order("#spark", "did compute").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    let (_, after) = house.press(&browser, "task add", "spark", "2**11").await;
    assert!(!after.contains("**spark**"), "{after}");
    for path in ["/agents/spark", "/agents/spark/sessions/1", "/history", "/history?kind=audit"] {
        let (_, page) = house.see(&browser, path).await;
        assert!(page.contains("2**10 in **bold**") && !page.contains("**spark**"), "{path}: {page}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_on_no_page_and_a_broken_one_is_not_made_whole() {
    let broken = "hunt**er**2-canary 2**10 src/**/*.rs";
    let server = server().await;
    let options = inside(&server);
    let words = format!("said {broken}\nkey hunter2-canary\nhunter2\n-canary\n");
    let agents = |dir: &std::path::Path| {
        std::fs::write(dir.join("words"), words).expect("the words are written");
        vec![shell("spark", dir, "cat; echo; cat words")]
    };
    let rooms = ["#spark", "#herder"];
    let scene = Scene::open_configured((server, options), "alice", &rooms, agents, |config| {
        config.http = Some(super::settings());
        config.redactor.learn(&["hunter2-canary".into()]);
    })
    .await;
    let mut house = House::of(scene);
    let browser = house.log_in().await;
    house.give("spark", &format!("given {broken}")).await;
    house.scene.person.hears_in_any_order("#spark", "completed").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    house.give("spark", &format!("waits {broken}")).await;
    let (_, tasks) = ask(house.by(Role::Viewer, "/tasks")).await;
    let task = tasks["items"].as_array().into_iter().flatten().find(|item| !item["work"]["id"].is_null());
    let task = format!("/tasks/{}", task.expect("a task")["work"]["id"]);
    for (path, said) in [
        ("/agents/spark", "said"),
        ("/agents/spark", "waits"),
        ("/agents/spark/sessions/1", "said"),
        ("/history", "given"),
        ("/history?kind=audit", "waits"),
        ("/board", "waits"),
        ("/", ""),
        (&task, ""),
    ] {
        let (status, page) = house.see(&browser, path).await;
        assert_eq!(status, 200, "{path}");
        assert!(!page.contains("hunter2"), "{path}: {page}");
        assert!(said.is_empty() || page.contains(&format!("{said} {broken}")), "{path}: {page}");
    }
    let (_, page) = house.see(&browser, "/agents/spark/sessions/1").await;
    assert!(page.contains("key [redacted]"), "{page}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_is_shown_as_pictures_sums_and_rows() {
    let server = server().await;
    let options = inside(&server);
    let agents = |dir: &std::path::Path| {
        let mut spark = scripted("spark", dir, &["claude-ok"]);
        spark.caps.usd_per_day = 2.0;
        vec![spark]
    };
    let scene =
        Scene::open_configured((server, options), "alice", &["#spark", "#herder"], agents, |config| {
            config.http = Some(super::settings());
            let caps = |usd_per_hour| Caps { usd_per_hour, ..Caps::default() };
            config.policy.caps.fleet = caps(9.0);
            config.policy.caps.accounts = [(AccountName::from("default"), caps(3.0))].into();
        })
        .await;
    let mut house = House::of(scene);
    let browser = house.log_in().await;
    let (_, nothing) = house.see(&browser, "/money").await;
    assert!(nothing.contains("Nothing was spent."), "{nothing}");
    house.give("spark", "write a haiku").await;
    let name = herder::core::id::AgentName::new("spark").expect("a name");
    let done =
        house.scene.stage.herder.fleet().wait_for(&name, |view| view.agent.totals.successes == 1).await;
    let spent = done.expect("spark").agent.totals.usage;
    assert!(spent.cost_usd > 0.0);
    for (query, key) in [("", "spark"), ("?by=account", "default"), ("?unit=tokens", "spark")] {
        let (_, page) = house.see(&browser, &format!("/money{query}")).await;
        assert_eq!(page.matches("<svg xmlns").count(), 2, "{query}: {page}");
        assert!(page.contains(&format!(" · {key} · ")), "{query}: {page}");
        assert!(page.contains("write a haiku"), "the task and its cost are listed: {page}");
        // A cap in dollars is a line in a picture of dollars.
        let has = |line: &str| page.contains(&format!("{line}</li>"));
        assert_eq!(has("</svg>cap $9.00"), query != "?unit=tokens", "{query}: {page}");
        // The cap of one account is no line across the bars of all, but stands beside what the account used.
        assert_eq!(page.matches("class=\"cap\"").count(), usize::from(query != "?unit=tokens"), "{page}");
        let caps = page.split("id=\"money-caps\"").nth(1).and_then(|rest| rest.split("</section>").next());
        let caps = caps.expect("caps");
        let (fleet, account) = caps.split_once("account default</th>").expect("an account");
        assert!(fleet.contains("fleet</th>") && fleet.contains(" of $9.00 per hour"), "{caps}");
        assert!(account.contains(" of $3.00 per hour") && account.contains("class=\"bar\""), "{caps}");
    }
    for window in ["hour", "day"] {
        let (status, csv) = house.see(&browser, &format!("/money.csv?window={window}")).await;
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!((status, rows.len()), (200, 2), "{csv}");
        let figures = format!(
            ",\"spark\",\"default\",{},{},{},{},",
            spent.input_tokens, spent.cached_tokens, spent.output_tokens, spent.cost_usd
        );
        assert!(rows[1].contains(&figures), "{csv} {figures}");
    }
    assert_eq!(text(house.get("/money.csv")).await.0, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_is_searched_and_bounded_in_time() {
    let mut house = House::open("read -r line; echo \"did $line\"").await;
    let browser = house.log_in().await;
    house.give("spark", "sweep the floor").await;
    house.scene.person.hears_in_any_order("#spark", "did sweep the floor").await;
    for (query, is_found) in [
        ("", true),
        ("?agent=spark", true),
        ("?text=SWEEP", true),
        ("?text=mop", false),
        ("?from=2999-01-01", false),
        ("?to=2000-01-01", false),
        ("?from=2000-01-01&to=2999-01-01&text=floor&agent=spark", true),
        ("?from=no-day&before=no-number", true),
    ] {
        let (status, page) = house.see(&browser, &format!("/history{query}")).await;
        let events = page.split("<ul class=\"events\">").nth(1).unwrap_or_default();
        assert_eq!((status, events.contains("sweep the floor")), (200, is_found), "{query}: {page}");
    }
    let (_, audit) = house.see(&browser, "/history?kind=audit&text=sweep").await;
    assert!(audit.contains("the-operator"), "{audit}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_only_look_is_shown_no_buttons_no_audit_and_no_private_words() {
    let mut house = House::open("cat").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    let whisper = json!({ "command": "whisper", "agent": "spark", "text": "mind the corners" });
    assert_eq!(ask(house.command(Role::Operator, &whisper)).await.0, 200);
    let (alice, mallory) = (house.log_in().await, house.log_in_as_viewer().await);
    for path in ["/", "/agents/spark", "/board", "/history", "/history?kind=audit"] {
        let (status, page) = house.see(&mallory, path).await;
        assert_eq!(status, 200, "{path}");
        assert!(!page.contains("action=\"/do\""), "{path}: {page}");
        assert!(!page.contains("mind the corners"), "{path}: {page}");
    }
    let (_, page) = house.see(&mallory, "/history?kind=audit").await;
    assert!(page.contains("This needs the role operator."), "{page}");
    // The same moment, for somebody who may read it.
    let (_, page) = house.see(&alice, "/agents/spark").await;
    assert!(page.contains("mind the corners") && page.contains("action=\"/do\""), "{page}");
    assert!(page.contains(&alice.form) && !page.contains(&mallory.form), "each session has its own proof");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_with_several_answers_has_boxes_to_check() {
    let mut house = super::looks::house(&["#ember", "#herder"], |dir| {
        vec![super::looks::questioning_for("ember", dir, true)]
    })
    .await;
    let browser = house.log_in().await;
    let name = herder::core::id::AgentName::new("ember").expect("a name");
    let fleet = house.scene.stage.herder.fleet().clone();
    house.give("ember", "go on").await;
    let asks = fleet.wait_for(&name, |view| !view.agent.asks.is_empty()).await.expect("ember");
    let (_, page) = house.see(&browser, "/").await;
    assert_eq!(page.matches("type=\"checkbox\" name=\"choice\"").count(), 2, "{page}");
    let command = format!("answer|{}", asks.agent.asks[0].id);
    let body = [
        ("form", browser.form.as_str()),
        ("command", &command),
        ("choice", "1"),
        ("choice", "2"),
        ("back", "/"),
    ];
    let sent = text(house.post("/do").header("cookie", &browser.cookie).form(&body)).await;
    assert_eq!(sent.0, 303);
    let done = fleet.wait_for(&name, |view| view.agent.asks.is_empty()).await.expect("ember");
    assert!(done.agent.asks.is_empty());
    let (_, events) = ask(house.by(Role::Admin, "/events?kind=answered&limit=10")).await;
    let said = events["items"].to_string();
    assert!(said.contains("SQLite") && said.contains("Postgres"), "{said}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tasks_page_is_live() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    house.give("spark", "sweep the floor").await;
    let (_, tasks) = ask(house.by(Role::Viewer, "/tasks")).await;
    let id = tasks["items"][0]["work"]["id"].as_u64().expect("a task");
    let (_, page) = house.see(&browser, &format!("/tasks/{id}")).await;
    let at = page.find("/live?task=").expect("a stream");
    let live = page[at..].split('"').next().expect("an address").replace("&amp;", "&");
    let mut stream = house.get(&live).header("cookie", &browser.cookie).send().await.expect("a stream");
    let cancel = json!({ "command": "task cancel", "args": [id.to_string()] });
    let (status, said) = ask(house.command(Role::Operator, &cancel)).await;
    assert_eq!(status, 200, "{said}");
    let mut heard = String::new();
    until(&mut stream, &mut heard, "cancelled").await;
    assert!(heard.contains("id=\"task\""), "{heard}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_a_closed_account_are_one_card_and_all_are_counted() {
    let script = "read -r line; echo pay first >&2; exit 1";
    let agents = |dir: &std::path::Path| {
        let matches = "pay first".to_owned();
        let patterns = vec![Pattern { matches, category: Category::Billing }];
        let agent = |name: &str| AgentSpec {
            account: AccountName::from("openai"),
            patterns: patterns.clone(),
            ..shell(name, dir, script)
        };
        ["spark", "flint", "nova"].map(agent).to_vec()
    };
    let mut house = super::looks::house(&["#spark", "#herder"], agents).await;
    let browser = house.log_in().await;
    house.give("spark", "count the beans").await;
    let fleet = house.scene.stage.herder.fleet().clone();
    for name in ["spark", "flint", "nova"] {
        let name = herder::core::id::AgentName::new(name).expect("a name");
        fleet.wait_for(&name, |view| view.agent.closed_account().is_some()).await.expect("it stands still");
    }
    let (_, page) = house.see(&browser, "/").await;
    let cards: Vec<&str> =
        page.split("<article").skip(1).filter_map(|rest| rest.split("</article>").next()).collect();
    assert_eq!(cards.len(), 1, "{page}");
    for shown in ["spark", "flint", "nova", "account openai is closed", "resume"] {
        assert!(cards[0].contains(shown), "{shown}: {}", cards[0]);
    }
    // The filter, its count and the metrics say the same.
    let (_, page) = house.see(&browser, "/?phase=needs").await;
    for name in ["spark", "flint", "nova"] {
        assert!(page.contains(&format!("id=\"agent-{name}\"")), "{name}: {page}");
    }
    assert!(page.contains("needs a person 3"), "{page}");
    let (_, metrics) = text(house.get("/metrics")).await;
    assert!(metrics.contains("herder_agents_needing_person 3"), "{metrics}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_are_told_apart_on_an_agents_timeline_and_on_the_board() {
    let mut house = super::looks::house(&["#ember", "#herder"], |dir| {
        vec![super::looks::questioning("ember", dir), shell("spark", dir, "cat")]
    })
    .await;
    let browser = house.log_in().await;
    let fleet = house.scene.stage.herder.fleet().clone();
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    house.give("spark", "sweep the floor").await;
    house.give("ember", "choose a database").await;
    let ember = herder::core::id::AgentName::new("ember").expect("a name");
    fleet.wait_for(&ember, |view| !view.agent.asks.is_empty()).await.expect("ember");
    let (person, question) = ("paused by a person", "waits for a person&#39;s answer");
    for (agent, wanted, other, class) in
        [("spark", person, question, "pause cut"), ("ember", question, person, "pause asks")]
    {
        let (_, page) = house.see(&browser, &format!("/agents/{agent}")).await;
        let timeline = page.split("id=\"timeline\"").nth(1).expect("a timeline");
        let timeline = timeline.split("</section>").next().expect("its end").replace("'", "&#39;");
        assert!(timeline.contains(&format!("class=\"{class}\"")), "{agent}: {timeline}");
        assert!(timeline.contains(wanted) && !timeline.contains(other), "{agent}: {timeline}");
    }
    let (_, board) = house.see(&browser, "/board").await;
    let card = |text: &str| {
        let cards = board.split("<article").find(|card| card.contains(text)).expect("a card");
        cards.split("</article>").next().expect("its end").replace("'", "&#39;")
    };
    assert!(card("sweep the floor").contains(person), "{board}");
    assert!(card("choose a database").contains(question), "{board}");
    // A pause that is over stays on the timeline, and leaves the board.
    let resume = json!({ "command": "resume", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &resume)).await.0, 200);
    let spark = herder::core::id::AgentName::new("spark").expect("a name");
    fleet.wait_for(&spark, |view| view.agent.totals.successes == 1).await.expect("spark");
    let (_, page) = house.see(&browser, "/agents/spark").await;
    assert!(page.contains(person), "{page}");
    let (_, board) = house.see(&browser, "/board").await;
    assert!(!board.contains(person), "{board}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_move_on_the_board_is_a_button() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let add = |args: serde_json::Value| json!({ "command": "task add", "args": args });
    for args in [
        json!(["auto", "needs=full,nobody", "wait for somebody"]),
        json!(["auto", "needs=nobody", "in two steps"]),
    ] {
        assert_eq!(ask(house.command(Role::Operator, &add(args))).await.0, 200);
    }
    let (_, tasks) = ask(house.by(Role::Viewer, "/tasks")).await;
    let id = |text: &str| {
        let items = tasks["items"].as_array().expect("tasks");
        let task = items.iter().find(|task| task["work"]["text"] == text).expect("it is listed");
        task["work"]["id"].as_u64().expect("a number")
    };
    let (waits, steps) = (id("wait for somebody"), id("in two steps"));
    let (_, board) = house.see(&browser, "/board").await;
    for command in ["task assign", "task cancel"] {
        let button = format!("value=\"{command}|{waits}\"");
        assert!(board.contains(&button), "{button}: {board}");
    }
    let press = async |house: &House, command: String, fields: &[(&str, &str)]| {
        let mut body = vec![("form", browser.form.as_str()), ("command", &command), ("back", "/board")];
        body.extend_from_slice(fields);
        text(house.post("/do").header("cookie", &browser.cookie).form(&body)).await
    };
    let (status, said) = press(&house, format!("task cancel|{waits}"), &[]).await;
    assert_eq!(status, 303, "{said}");
    let (status, said) = press(&house, format!("task split|{steps}"), &[("text", "sand it; paint it")]).await;
    assert_eq!(status, 303, "{said}");
    let (_, board) = house.see(&browser, "/board").await;
    assert!(board.contains("sand it") && board.contains("paint it"), "{board}");
    let (_, audit) = house.see(&browser, "/history?kind=audit").await;
    assert!(audit.contains("task split") && audit.contains("task cancel"), "{audit}");
    // Times are relative, with the moment on hover.
    assert!(audit.contains("<time class=\"since\" title=\""), "{audit}");
    house.close().await;
}
