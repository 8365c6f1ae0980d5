//! Attempts to get in: a used link, another's session, a forged form, words that become part of the page.

use std::collections::BTreeSet;
use std::time::Duration;

use herder::core::role::Role;
use herder::reload::Source;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::page::Browser;
use super::{House, json as ask, text};
use crate::stage::PATIENCE;

/// Addresses of every kind, beside those that the API's document and the page's own links name.
const ADDRESSES: [&str; 8] =
    ["/", "/livez", "/readyz", "/metrics", "/assets/style.css", "/login/x", "/live", "/nothing"];

impl House {
    /// Every address that there is: those above, those of the API's document, and what the page leads to.
    async fn addresses(&self, browser: &Browser) -> BTreeSet<String> {
        let mut all: BTreeSet<String> = ADDRESSES.map(str::to_owned).into();
        let (_, document) = ask(self.get("/api/v1/openapi.json")).await;
        let paths = document["paths"].as_object().expect("paths").keys();
        all.extend(
            paths.map(|path| format!("/api/v1{}", path.replace("{name}", "spark").replace("{id}", "1"))),
        );
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut next = vec!["/".to_owned()];
        while let Some(address) = next.pop() {
            if !seen.insert(address.clone()) || seen.len() > 300 {
                continue;
            }
            let (_, body) = self.see(browser, &address).await;
            for link in links(&body).filter(|link| !seen.contains(link)) {
                next.push(link);
            }
        }
        all.extend(seen);
        all
    }
}

/// Returns the links and forms of a page that lead to this herder.
fn links(body: &str) -> impl Iterator<Item = String> + '_ {
    let values = ["href=\"", "src=\"", "action=\"", "connect=\"", "data-src=\""]
        .into_iter()
        .flat_map(|name| body.split(name).skip(1).filter_map(|rest| rest.split('"').next()));
    values
        .filter(|value| value.starts_with('/') && !value.starts_with("//"))
        .map(|value| value.replace("&amp;", "&").split('#').next().unwrap_or_default().to_owned())
        // A stream does not end; it is looked at by itself.
        .filter(|value| !["/logout", "/do"].contains(&value.as_str()) && !value.starts_with("/live"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_address_keeps_what_it_has_for_those_who_may_see_it_and_is_safe_to_show() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let addresses = house.addresses(&browser).await;
    assert!(addresses.len() > 20, "{addresses:?}");
    let open = ["/livez", "/readyz", "/metrics", "/login/x", "/nothing", "/api/v1/openapi.json"];
    for address in &addresses {
        let response = house.get(address).send().await.expect("an answer");
        let status = response.status().as_u16();
        let header = |name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        assert!(header("content-security-policy").contains("frame-ancestors 'none'"), "{address}");
        assert!(!header("content-security-policy").contains("unsafe"), "{address}");
        assert_eq!(
            (header("x-frame-options"), header("x-content-type-options")),
            ("DENY".into(), "nosniff".into())
        );
        assert_eq!(header("access-control-allow-origin"), "", "{address}");
        let kind = header("content-type");
        let body = response.text().await.expect("text");
        assert!(!kind.is_empty() || body.is_empty(), "{address}: {status}");
        let is_open = open.contains(&address.as_str()) || address.starts_with("/assets/");
        if !is_open {
            // Routes that need POST refuse GET.
            assert!(matches!(status, 401 | 405), "{address}: {status}");
            assert!(!body.contains("spark"), "{address}: {body}");
        }
        let other = house.get(address).header("host", "evil.example").bearer_auth(super::secret(Role::Admin));
        assert_eq!(text(other).await.0, 421, "{address}");
    }
    house.close().await;
}

/// Words that would be part of a page if they were not written as text.
const HOSTILE: &str =
    "<xss-probe onclick=x> \"><xss-probe> ' xss-attribute=1 </script></style></text></title><xss-probe>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_words_stay_words_in_every_view_and_picture() {
    let script = format!("cat >/dev/null; cat <<'END'\n{HOSTILE}\nEND\nexit 3");
    let mut house = House::open(&script).await;
    let browser = house.log_in().await;
    for (command, args) in [("task add", json!(["tags=x"])), ("task add", json!([])), ("whisper", json!([]))]
    {
        let body = json!({ "command": command, "agent": "spark", "args": args, "text": format!("prompt {HOSTILE}") });
        ask(house.command(Role::Admin, &body)).await;
    }
    house.press(&browser, "task add", "spark", HOSTILE).await;
    // A topic, a name and a channel are what others chose.
    house.scene.person.send(&format!("TOPIC #spark :{HOSTILE}")).await;
    house.scene.person.say("#spark", &format!("@spark {HOSTILE}")).await;
    house.scene.person.hears_in_any_order("#spark", "xss-probe").await;
    let mut stream = house.get("/live").header("cookie", &browser.cookie).send().await.expect("a stream");
    let mut shown = 0;
    for language in ["en", "de", "ja"] {
        for address in house.addresses(&browser).await {
            if address.starts_with("/live") || address == "/api/v1/events" {
                continue;
            }
            let request =
                house.get(&address).header("cookie", &browser.cookie).header("accept-language", language);
            let response = request.send().await.expect("an answer");
            let kind =
                response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or("");
            let is_markup = kind.contains("html") || kind.contains("svg") || kind.contains("xml");
            let kind = kind.to_owned();
            let body = response.text().await.expect("text");
            assert!(!is_markup || is_harmless(&body), "{address} ({kind}): {body}");
            shown += usize::from(is_markup && body.contains("xss-probe"));
        }
    }
    assert!(shown >= 3, "the words are shown somewhere");
    let mut heard = String::new();
    let hearing = async {
        while !heard.contains("xss-probe") {
            let chunk = stream.chunk().await.expect("no error").expect("the stream goes on");
            heard.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(PATIENCE, hearing).await.expect("the stream shows them");
    assert!(is_harmless(&heard), "{heard}");
    house.close().await;
}

/// Whether nothing of [`HOSTILE`] is markup: no element of it, and no attribute.
fn is_harmless(body: &str) -> bool {
    let tags = body.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
    !body.contains("<xss-probe")
        && tags.into_iter().all(|tag| {
            // Within quotes it is a value; outside of them an attribute.
            let outside: String = tag.split('"').step_by(2).collect();
            !outside.contains("xss-attribute") && !outside.contains("onclick")
        })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_late_and_a_cookie_that_somebody_chose_open_nothing() {
    let mut house = House::open("cat").await;
    let late = house.scene.stage.herder.page_link("alice", Duration::ZERO).expect("a link");
    let late = super::reachable(&late).trim_start_matches(&house.url).to_owned();
    for request in [house.get(&late), house.post(&late)] {
        assert_eq!(text(request).await.0, 410);
    }
    // A cookie that was planted before the login is not the cookie of the session.
    let chosen = format!("herder={}", "a".repeat(64));
    let link = house.link().await;
    let response = house.post(&link).header("cookie", &chosen).send().await.expect("an answer");
    assert_eq!(response.status(), 303);
    let given = response.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(!given.starts_with(&chosen), "{given}");
    assert_eq!(house.get("/").header("cookie", &chosen).send().await.expect("an answer").status(), 401);
    let given = given.split(';').next().expect("a pair");
    assert_eq!(house.get("/").header("cookie", given).send().await.expect("an answer").status(), 200);
    // Two cookies of that name: neither one that is wrong nor its order lets anybody else in.
    let both = format!("{chosen}; {given}");
    assert_eq!(house.get("/").header("cookie", both).send().await.expect("an answer").status(), 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_with_the_role_of_its_person() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("bot.toml");
    let write = |access: &str| {
        let agent = format!(
            "[[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = {:?}\ncommand = [\"cat\"]\n",
            dir.path()
        );
        let irc = "[[irc]]\nname = \"demo\"\nserver = \"127.0.0.1\"\nport = 6667\ntls = false\n";
        std::fs::write(&file, format!("{irc}{access}\n{agent}")).expect("written");
    };
    let source = Source { file: file.clone(), data_dir: None };
    let mut house = House::open_with("cat", |options, _| options.source = Some(source)).await;
    let browser = house.log_in().await;
    let mut stream = house.get("/live").header("cookie", &browser.cookie).send().await.expect("a stream");
    let reload = json!({ "command": "reload" });
    for (access, role, status) in [
        ("[access]\noperators = [\"irc:demo:alice\"]", "operator", 200),
        ("[access]\nviewers = [\"irc:demo:alice\"]", "viewer", 200),
        ("[access]\nviewers = [\"irc:demo:bob\"]", "", 401),
        // An ended session stays ended.
        ("[access]\nadmins = [\"irc:demo:alice\"]", "", 401),
    ] {
        write(access);
        let (done, answer) = ask(house.command(Role::Admin, &reload)).await;
        assert_eq!(done, 200, "{answer}");
        let (found, page) = house.see(&browser, "/").await;
        assert_eq!(found, status, "{access}");
        assert!(role.is_empty() || page.contains(&format!("alice ({role})")), "{access}: {page}");
        let (_, said) = house.press(&browser, "reload", "", "").await;
        assert!(!said.contains("was read again"), "{access}: {said}");
    }
    let ended = async { while stream.chunk().await.expect("no error").is_some() {} };
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &pause)).await.0, 200);
    tokio::time::timeout(PATIENCE, ended).await.expect("the stream ends");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_leads_out_of_herders_own_files() {
    let house = House::open("cat").await;
    let address = house.url.trim_start_matches("http://").to_owned();
    for path in [
        "/assets/../../../../etc/passwd",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets/....//....//etc/passwd",
        "/assets/%5c..%5c..%5cbot.toml",
        "/assets//etc/passwd",
        "/assets/style.css%00.html",
        "/assets/style.css/",
        "//etc/passwd",
        "/./agents/spark",
        "/agents/%2e%2e%2f%2e%2e%2fdata",
        "/agents/..;/spark",
        "/api/v1/agents/../../../livez",
        "/api/v1//agents",
        "/API/V1/agents",
        "/login/../api/v1/agents",
        "/login/%0d%0aSet-Cookie:%20x=y",
        "http://evil.example/api/v1/agents",
        "*",
    ] {
        let mut raw = TcpStream::connect(&address).await.expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        raw.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        raw.read_to_end(&mut answer).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(matches!(status, "400" | "401" | "404" | "410" | "421"), "{path}: {answer}");
        for secret in ["root:", "data_dir", "Set-Cookie", "set-cookie", "\"spark\""] {
            assert!(!answer.contains(secret), "{path}: {answer}");
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_of_another_site_changes_nothing_wherever_it_is_sent() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    let form = [("form", browser.form.as_str()), ("command", "pause"), ("agent", "spark"), ("back", "/")];
    for path in ["/do", "/logout", "/api/v1/commands", "/login/x", "/", "/agents/spark", "/live"] {
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            let request = house.post(path).header("cookie", &browser.cookie).header(name, value).form(&form);
            assert_eq!(text(request).await.0, 403, "{path}, {name}: {value}");
        }
        // As a form can send it that needs no leave of a browser.
        for kind in ["text/plain", "multipart/form-data; boundary=x", ""] {
            let body = json!({ "command": "pause", "agent": "spark" }).to_string();
            let request =
                house.post(path).header("cookie", &browser.cookie).header("content-type", kind).body(body);
            let status = text(request).await.0;
            assert!((400..500).contains(&status) || status == 303, "{path}, {kind}: {status}");
        }
    }
    let (_, spark): (u16, Value) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!(spark["phase"], "idle");
    assert_eq!(house.see(&browser, "/").await.0, 200, "nobody was logged out");
    house.close().await;
}
