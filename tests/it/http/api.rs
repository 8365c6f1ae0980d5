//! The probes and the API.

use herder::core::role::Role;
use serde_json::json;

use super::{House, json as ask, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_need_no_token_and_name_each_part() {
    let house = House::open("cat").await;
    assert_eq!(text(house.get("/livez")).await, (200, "ok\n".to_owned()));
    let (status, parts) = ask(house.get("/readyz")).await;
    let states: Vec<(&str, &str)> = parts
        .as_object()
        .expect("parts")
        .iter()
        .map(|(name, part)| (name.as_str(), part["state"].as_str().expect("a state")))
        .collect();
    assert_eq!(status, 200);
    assert_eq!(states, [("journal", "ok"), ("network", "ok"), ("root", "ok")]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_shows_no_token_learns_nothing() {
    let house = House::open("cat").await;
    for path in
        ["/agents", "/agents/spark", "/tasks", "/audit", "/history", "/usage", "/networks", "/asks", "/calls"]
    {
        let path = format!("/api/v1{path}");
        let response = house.get(&path).send().await.expect("an answer");
        assert_eq!(response.status(), 401, "{path}");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let body = response.text().await.expect("a body");
        assert!(!body.contains("spark"), "{body}");
        // A secret in the address would stand in logs of proxies and in histories of browsers.
        let by_query = house.get(&format!("{path}?token={}&access_token=x", super::secret(Role::Admin)));
        assert_eq!(text(by_query).await.0, 401, "{path}");
    }
    let without = house.post("/api/v1/commands").json(&json!({ "command": "stop-all" }));
    assert_eq!(ask(without).await.0, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_tokens_is_slow() {
    let house = House::open("cat").await;
    for _ in 0..20 {
        assert_eq!(ask(house.get("/api/v1/agents").bearer_auth("a-guess-of-a-token")).await.0, 401);
    }
    let response = house.get("/api/v1/agents").bearer_auth("one more").send().await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["retry-after"].to_str().ok()),
        (429, Some("60"))
    );
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_may_what_it_may_in_chat_and_is_audited_by_its_name() {
    let mut house = House::open("read -r line; echo \"did $line\"").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    let (status, problem) = ask(house.command(Role::Viewer, &pause)).await;
    assert_eq!((status, problem["status"].as_u64()), (403, Some(403)));
    insta::assert_snapshot!(problem["detail"].as_str().expect("words"), @"`pause` needs the role operator.");
    let (status, done) = ask(house.command(Role::Operator, &pause)).await;
    assert_eq!(status, 200, "{done}");
    insta::assert_snapshot!(done["lines"][0].as_str().expect("words"), @"⏸️ spark is paused. `herder resume spark` lets it go on.");
    // The agent's channel shows the operator's name.
    house.scene.person.hears_in_any_order("#spark", "the-operator").await;
    let (status, spark) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!((status, spark["phase"].as_str()), (200, Some("paused")));
    let (status, again) = ask(house.command(Role::Operator, &pause)).await;
    assert_eq!(status, 409, "{again}");
    let (_, audit) = ask(house.by(Role::Operator, "/audit?limit=1")).await;
    let entry = &audit["items"][0]["entry"]["audit"];
    assert_eq!(
        (entry["verb"].as_str(), entry["by"]["identity"].as_str()),
        (Some("pause"), Some("http:the-operator")),
        "{audit}"
    );
    assert_eq!(ask(house.by(Role::Viewer, "/audit")).await.0, 403);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_come_in_pages_and_looking_leaves_no_record() {
    let house = House::open("cat").await;
    let paused = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &paused)).await.0, 200);
    for n in 0..5 {
        let add = json!({ "command": "task add", "agent": "spark", "text": format!("task {n}") });
        assert_eq!(ask(house.command(Role::Admin, &add)).await.0, 200);
    }
    let mut seen = Vec::new();
    let mut next = String::new();
    loop {
        let (status, page) = ask(house.by(Role::Viewer, &format!("/tasks?limit=2{next}"))).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|item| item["work"]["text"].as_str().expect("a text").to_owned()));
        let Some(more) = page["next"].as_str() else { break };
        next = format!("&next={more}");
    }
    seen.sort();
    assert_eq!(seen, ["task 0", "task 1", "task 2", "task 3", "task 4"]);
    for wrong in ["limit=0", "limit=100000", "next=%2e%2e", "next=nonsense", "limit=x"] {
        assert_eq!(text(house.by(Role::Viewer, &format!("/tasks?{wrong}"))).await.0, 400, "{wrong}");
    }
    let (_, audit) = ask(house.by(Role::Admin, "/audit")).await;
    let verbs: Vec<&str> = audit["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["entry"]["audit"]["verb"].as_str())
        .collect();
    assert!(!verbs.is_empty(), "{audit}");
    assert!(!verbs.contains(&"task list") && !verbs.contains(&"audit"), "{verbs:?}");
    assert_eq!(verbs.iter().filter(|verb| **verb == "task add").count(), 5);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_view_of_the_api_answers() {
    let house = House::open("cat").await;
    for path in [
        "/agents",
        "/agents/spark",
        "/agents/spark/log",
        "/tasks",
        "/asks",
        "/calls",
        "/usage",
        "/history",
        "/history?agent=spark",
        "/audit",
        "/networks",
    ] {
        let (status, body) = ask(house.by(Role::Admin, path)).await;
        assert_eq!(status, 200, "{path}: {body}");
    }
    for (path, status) in
        [("/agents/nobody", 404), ("/tasks/99", 404), ("/nothing", 404), ("/agents/..%2f..", 404)]
    {
        let (found, body) = ask(house.by(Role::Admin, path)).await;
        assert_eq!(found, status, "{path}: {body}");
        assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{path}: {body}");
    }
    house.close().await;
}
