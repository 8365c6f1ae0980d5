//! The page in a browser without JavaScript: login, reading, buttons; and its live changes.

use herder::core::role::Role;
use serde_json::json;

use super::{House, json as ask, text};
use crate::stage::PATIENCE;

/// A person's browser: a cookie, and what proves its forms.
pub(super) struct Browser {
    pub(super) cookie: String,
    pub(super) form: String,
}

impl House {
    /// A link, as alice is given it in private.
    pub(super) async fn link(&mut self) -> String {
        self.scene.person.say("herder", "!page").await;
        let line = self.scene.person.hears("alice", "/login/").await;
        let at = line.find("/login/").expect("a link");
        line[at..].split_whitespace().next().expect("a path").to_owned()
    }

    pub(super) async fn log_in(&mut self) -> Browser {
        let link = self.link().await;
        self.enter(&link).await
    }

    pub(super) async fn enter(&self, link: &str) -> Browser {
        let response = self.post(link).send().await.expect("an answer");
        assert_eq!(response.status(), 303);
        let cookie = response.headers()["set-cookie"].to_str().expect("text").to_owned();
        for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        let (status, page) = text(self.get("/").header("cookie", &cookie)).await;
        assert_eq!(status, 200, "{page}");
        let form = page.split("name=\"form\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        Browser { cookie, form: form.expect("a form").to_owned() }
    }

    pub(super) async fn see(&self, browser: &Browser, path: &str) -> (u16, String) {
        text(self.get(path).header("cookie", &browser.cookie)).await
    }

    /// Presses a button; gives the status and what the page says then.
    pub(super) async fn press(
        &self,
        browser: &Browser,
        command: &str,
        agent: &str,
        words: &str,
    ) -> (u16, String) {
        let body = [
            ("form", browser.form.as_str()),
            ("command", command),
            ("agent", agent),
            ("text", words),
            ("back", "/"),
        ];
        let (status, _) = text(self.post("/do").header("cookie", &browser.cookie).form(&body)).await;
        (status, self.see(browser, "/").await.1)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_from_chat_logs_in_once_and_previews_use_nothing_up() {
    let mut house = House::open("cat").await;
    let (status, page) = text(house.get("/")).await;
    assert_eq!(status, 401);
    assert!(page.contains("herder page") && !page.contains("spark"), "{page}");
    let link = house.link().await;
    for _ in 0..3 {
        let (status, page) = text(house.get(&link)).await;
        assert!(status == 200 && page.contains("<button"), "{status} {page}");
    }
    let first = house.post(&link).send().await.expect("an answer");
    assert_eq!(first.status(), 303);
    for request in [house.post(&link), house.get(&link), house.post("/login/0123456789abcdef")] {
        assert_eq!(text(request).await.0, 410);
    }
    // In a channel everybody would read it.
    house.scene.person.say("#herder", "!page").await;
    let said = house.scene.person.hears("#herder", "page").await;
    assert!(!said.contains("/login/"), "{said}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buttons_do_what_chat_does_and_are_seen_there() {
    let mut house = House::open("read -r line; echo \"did $line\"").await;
    let browser = house.log_in().await;
    let (status, page) = house.press(&browser, "pause", "spark", "").await;
    assert_eq!(status, 303);
    assert!(page.contains("is paused"), "{page}");
    house.scene.person.hears_in_any_order("#spark", "alice (demo): pause").await;
    let (_, page) = house.press(&browser, "task add", "spark", "sweep the floor").await;
    assert!(page.contains("is queued"), "{page}");
    let (_, spark) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!((spark["phase"].as_str(), spark["queued"].as_u64()), (Some("paused"), Some(1)));
    let (status, page) = house.see(&browser, "/agents/spark").await;
    assert!(status == 200 && page.contains("sweep the floor"), "{page}");
    house.press(&browser, "resume", "spark", "").await;
    house.scene.person.hears_in_any_order("#spark", "did sweep the floor").await;
    let (_, audit) = ask(house.by(Role::Admin, "/audit")).await;
    let by: Vec<(&str, &str)> = audit["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["entry"]["audit"])
        .filter(|audit| audit["place"] == "http")
        .filter_map(|audit| Some((audit["verb"].as_str()?, audit["by"]["name"].as_str()?)))
        .collect();
    assert_eq!(by, [("resume", "alice"), ("task add", "alice"), ("pause", "alice")]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_without_the_sessions_proof_does_nothing() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let other = house.log_in().await;
    for form in ["", "0123", other.form.as_str()] {
        let forged = Browser { cookie: browser.cookie.clone(), form: form.to_owned() };
        let (_, page) = house.press(&forged, "pause", "spark", "").await;
        assert!(page.contains("nothing was done"), "{page}");
    }
    let body = [("form", browser.form.as_str()), ("command", "pause"), ("agent", "spark")];
    assert_eq!(text(house.post("/do").form(&body)).await.0, 401);
    // A token is no session: no form carries it.
    let by_token = house.post("/do").bearer_auth(super::secret(Role::Admin)).form(&body);
    assert_eq!(text(by_token).await.0, 401);
    for (back, to) in [
        ("//evil.example/", "/"),
        ("https://evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/agents/spark", "/agents/spark"),
    ] {
        let body =
            [("form", browser.form.as_str()), ("command", "status"), ("agent", "spark"), ("back", back)];
        let response =
            house.post("/do").header("cookie", &browser.cookie).form(&body).send().await.expect("an answer");
        assert_eq!(response.headers()["location"], to, "{back}");
    }
    let (_, spark) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!(spark["phase"], "idle");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_end_by_logging_out_and_by_revoke() {
    let mut house = House::open("cat").await;
    let (one, two) = (house.log_in().await, house.log_in().await);
    let body = [("form", one.form.as_str())];
    text(house.post("/logout").header("cookie", &one.cookie).form(&body)).await;
    assert_eq!(house.see(&one, "/").await.0, 401);
    assert_eq!(house.see(&two, "/").await.0, 200);
    house.scene.person.say("herder", "!page revoke").await;
    house.scene.person.hears("alice", "is over").await;
    assert_eq!(house.see(&two, "/").await.0, 401);
    let wrong = Browser { cookie: "herder=0123456789".to_owned(), form: String::new() };
    assert_eq!(house.see(&wrong, "/").await.0, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_of_agents_and_people_are_never_markup() {
    let evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    let mut house = House::open(&format!("read -r line; echo '{}'", evil.replace('\'', ""))).await;
    let browser = house.log_in().await;
    house.press(&browser, "task add", "spark", evil).await;
    house.scene.person.hears_in_any_order("#spark", "onerror=alert").await;
    house.press(&browser, "pause", "spark", "").await;
    house.press(&browser, "task add", "spark", evil).await;
    for path in ["/", "/agents/spark"] {
        let (status, page) = house.see(&browser, path).await;
        assert_eq!(status, 200);
        assert!(!page.contains("<script>alert") && !page.contains("<img"), "{path}: {page}");
    }
    let (_, page) = house.see(&browser, "/agents/spark").await;
    assert!(page.contains("&lt;script&gt;alert"), "it is shown as it was said: {page}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_comes_to_an_open_page_and_a_session_that_ends_takes_it_along() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let mut stream = house.get("/live").header("cookie", &browser.cookie).send().await.expect("a stream");
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut heard = String::new();
    // All agents come first: what changed between the page and its stream is not missed.
    until(&mut stream, &mut heard, "id=\"agent-spark\"").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    until(&mut stream, &mut heard, "paused (by the-operator)").await;
    until(&mut stream, &mut heard, "id=\"needs\"").await;
    // A browser reads rows as rows only where nothing else stands beside them.
    for message in heard.split("\n\n").filter(|message| message.contains("<tr")) {
        assert!(!message.contains("<section") && !message.contains("<form"), "{message}");
    }
    house.scene.person.say("herder", "!page revoke").await;
    house.scene.person.hears("alice", "is over").await;
    let resume = json!({ "command": "resume", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &resume)).await.0, 200);
    let ended = async { while stream.chunk().await.expect("no error").is_some() {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("the stream ends");
    house.close().await;
}

pub(super) async fn until(stream: &mut reqwest::Response, heard: &mut String, wanted: &str) {
    let hearing = async {
        while !heard.contains(wanted) {
            let chunk = stream.chunk().await.expect("no error").expect("the stream goes on");
            heard.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(PATIENCE, hearing).await.unwrap_or_else(|_| panic!("no {wanted} in the stream"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_in_the_language_of_the_browser() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    for (asked, shown) in [
        ("de-DE,de;q=0.9,en;q=0.5", "Braucht dich"),
        ("ja", "対応が必要"),
        ("fr", "Needs you"),
        ("", "Needs you"),
    ] {
        let request = house.get("/").header("cookie", &browser.cookie).header("accept-language", asked);
        let (_, page) = text(request).await;
        assert!(page.contains(shown), "{asked}: {page}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_chooses_a_language_and_it_stays() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let choose = |form: &str, language: &str| {
        let body = [("form", form), ("language", language), ("back", "/agents/spark?x=1")];
        house.post("/language").header("cookie", &browser.cookie).form(&body)
    };
    let (_, page) = house.see(&browser, "/agents/spark?x=1").await;
    assert!(page.contains("name=\"back\" value=\"/agents/spark?x=1\""), "{page}");
    for name in ["English", "Deutsch", "日本語"] {
        assert_eq!(page.matches(&format!(">{name}</button>")).count(), 1, "{name}: {page}");
    }
    let chosen = choose(&browser.form, "de").send().await.expect("an answer");
    assert_eq!(
        (chosen.status().as_u16(), &chosen.headers()["location"]),
        (303, &"/agents/spark?x=1".parse().expect("text"))
    );
    let cookie = chosen.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.starts_with("herder-language=de; ") && cookie.contains("SameSite=Strict"), "{cookie}");
    let both = format!("{}; herder-language=de", browser.cookie);
    for (cookies, shown) in [(both.as_str(), "Braucht dich"), (&browser.cookie, "Needs you")] {
        let asked = house.get("/").header("cookie", cookies).header("accept-language", "en");
        let (status, page) = text(asked).await;
        assert!(status == 200 && page.contains(shown), "{cookies}: {page}");
    }
    // A language that herder does not have, and a form of another session, change nothing.
    for (form, language) in [(browser.form.as_str(), "fr"), ("0123", "de")] {
        let answer = choose(form, language).send().await.expect("an answer");
        assert!(answer.status() == 303 && !answer.headers().contains_key("set-cookie"), "{language}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_that_lead_nowhere_are_answered_with_a_page() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    for path in [
        "/nothing",
        "/agents/nobody",
        "/agents/%ff",
        "/agents/spark/sessions/x",
        "/agents/spark/sessions/0",
        "/agents/spark/sessions/7",
        "/agents/nobody/sessions/1",
        "/tasks/x",
        "/tasks/-1",
        "/tasks/99999",
        "/assets/nothing.css",
        "/login/%ff",
        "/?text=a&text=b",
        "/history?kind=a&kind=b",
    ] {
        let (status, page) = house.see(&browser, path).await;
        assert_eq!(status, 404, "{path}: {page}");
        assert!(page.contains("<html") && page.contains("There is nothing here."), "{path}: {page}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_left_open_over_a_restart_has_buttons_that_work() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let house = house.restarted("cat").await;
    let (_, page) = house.press(&browser, "pause", "spark", "").await;
    assert!(page.contains("is paused"), "{page}");
    house.close().await;
}
