//! The protection of the page: against another host name, another site, and too many or too slow requests.

use herder::core::role::Role;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{House, json as ask, secret, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_somebody_else_is_refused_on_every_route() {
    let house = House::open("cat").await;
    for path in
        ["/", "/livez", "/readyz", "/api/v1/agents", "/assets/style.css", "/login/x", "/live", "/nothing"]
    {
        for host in ["evil.example", "127.0.0.1.evil.example:7700", "", "[::1"] {
            let request = house.get(path).header("host", host).bearer_auth(secret(Role::Admin));
            let (status, _) = text(request).await;
            assert!(status == 421 || status == 400, "{path} as {host:?}: {status}");
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_a_page_for_browsers_a_problem_for_programs_and_else_a_line() {
    let house = House::open("cat").await;
    let elsewhere =
        |path: &str| house.get(path).header("host", "evil.example").header("accept-language", "de");
    let (status, page) = text(elsewhere("/board").header("accept", "text/html,*/*")).await;
    assert!(status == 421 && page.contains("<html lang=\"de\"") && page.contains("andere Adresse"), "{page}");
    let (status, line) = text(elsewhere("/livez")).await;
    assert!(
        status == 421 && line.starts_with("Diese Seite hat eine andere Adresse.") && line.ends_with(".\n"),
        "{line}"
    );
    let (status, problem) = ask(elsewhere("/api/v1/agents").header("accept", "text/html")).await;
    assert!(status == 421 && problem["status"] == 421, "{problem}");
    let foreign = house.post("/do").header("accept", "text/html").header("origin", "https://evil.example");
    let (status, page) = text(foreign.body("")).await;
    assert!(status == 403 && page.contains("<p>This came from another site"), "{page}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_other_name_below_localhost_than_the_drawn_one_is_herders() {
    let house = House::open("cat").await;
    let url = house.scene.stage.herder.page_url().expect("there is a page").to_owned();
    let own = super::own_name(&url).expect("links on this machine have a name of their own");
    let drawn = own.strip_suffix(".localhost").expect("below localhost");
    for (host, wanted) in [
        (own.as_str(), 200),
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("herder.localhost", 421),
        ("herder-0123456789abcdef.localhost", 421),
        (drawn, 421),
        (&format!("x.{own}"), 421),
    ] {
        assert_eq!(text(house.get("/livez").header("host", host)).await.0, wanted, "{host}");
    }
    // Links hold over a restart.
    let house = house.restarted("cat").await;
    let again = house.scene.stage.herder.page_url().expect("there is a page");
    assert_eq!(super::own_name(again), Some(own));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_the_configuration_are_herders_and_no_others() {
    let names = |_: &mut herder::run::Options, http: &mut herder::config::Http| {
        http.hosts = ["herder.example.org", "10.0.0.7"].map(str::to_owned).into();
    };
    let house = House::open_with("cat", names).await;
    for (host, wanted) in [
        ("herder.example.org", 200),
        ("HERDER.example.org:443", 200),
        ("10.0.0.7:7700", 200),
        ("127.0.0.1", 200),
        ("example.org", 421),
        ("x.herder.example.org", 421),
        ("herder.example.org.evil.example", 421),
        ("10.0.0.8", 421),
    ] {
        assert_eq!(text(house.get("/livez").header("host", host)).await.0, wanted, "{host}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_sites_page_can_change_nothing() {
    let house = House::open("cat").await;
    let body = json!({ "command": "pause", "agent": "spark" });
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let request = house.command(Role::Admin, &body).header(name, value);
        assert_eq!(text(request).await.0, 403, "{name}: {value}");
    }
    // A form of another site can have these kinds of content, and no other.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let request = house.post("/api/v1/commands").bearer_auth(secret(Role::Admin));
        let request = request.header("content-type", kind).body(body.to_string());
        assert_eq!(ask(request).await.0, 415, "{kind}");
    }
    let (_, spark) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!(spark["phase"], "idle");
    // As a browser sends the forms of a page that gives no referrer.
    let own =
        house.command(Role::Admin, &body).header("origin", "null").header("sec-fetch-site", "same-origin");
    assert_eq!(text(own).await.0, 200);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_carries_the_headers_that_keep_a_browser_safe() {
    let house = House::open("cat").await;
    for path in ["/", "/livez", "/api/v1/agents", "/assets/style.css", "/nothing"] {
        let response = house.get(path).send().await.expect("an answer");
        let header =
            |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{path}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(
            (header("x-content-type-options"), header("referrer-policy")),
            ("nosniff", "no-referrer"),
            "{path}"
        );
        assert_eq!(header("access-control-allow-origin"), "", "{path}");
        let is_fixed = path.starts_with("/assets/");
        assert_eq!(header("cache-control") == "no-store", !is_fixed, "{path}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_and_broken_requests_are_refused_and_herder_goes_on() {
    let house = House::open("cat").await;
    let large = json!({ "command": "task add", "agent": "spark", "text": "x".repeat(70_000) });
    assert_eq!(text(house.command(Role::Admin, &large)).await.0, 413);
    for body in ["", "{", "[]", "{\"command\":1}", "{\"command\":\"pause\",\"more\":1}", "\u{0}"] {
        let request = house.post("/api/v1/commands").bearer_auth(secret(Role::Admin));
        let request = request.header("content-type", "application/json").body(body);
        let (status, problem) = ask(request).await;
        assert_eq!(status, 400, "{body:?}: {problem}");
    }
    let address = house.url.trim_start_matches("http://").to_owned();
    let mut raw = TcpStream::connect(&address).await.expect("it listens");
    let bomb = format!("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024));
    // herder may hang up before all of it is sent.
    let _ = raw.write_all(bomb.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = raw.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(text(house.get("/livez")).await.0, 200);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_and_streams_beyond_the_bound_are_told_to_come_again() {
    let house = House::open("cat").await;
    let mut streams = Vec::new();
    let refused = loop {
        let response = house.get("/live").bearer_auth(secret(Role::Viewer)).send().await.expect("an answer");
        if response.status() != 200 {
            break response;
        }
        streams.push(response);
        assert!(streams.len() <= 64, "more than 64 streams");
    };
    assert_eq!((streams.len(), refused.status().as_u16()), (64, 503));
    assert!(refused.headers().contains_key("retry-after"));
    drop(refused);
    // Held and silent, as a slow loris holds them.
    let address = house.url.trim_start_matches("http://").to_owned();
    let mut held = Vec::new();
    let answer = loop {
        let mut raw = TcpStream::connect(&address).await.expect("it listens");
        raw.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n").await.expect("sent");
        held.push(raw);
        assert!(held.len() <= 260, "more than 256 connections");
        if held.len() + streams.len() < 256 {
            continue;
        }
        let mut answer = Vec::new();
        let last = held.last_mut().expect("one");
        let reading = last.read_to_end(&mut answer);
        if tokio::time::timeout(std::time::Duration::from_millis(500), reading).await.is_ok() {
            break String::from_utf8_lossy(&answer).into_owned();
        }
    };
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Retry-After"), "{answer}");
    // A client that never sends the end of a request is dropped, and there is room again.
    let first = held.first_mut().expect("one");
    let mut rest = Vec::new();
    first.read_to_end(&mut rest).await.expect("herder hangs up");
    drop(streams);
    drop(held);
    loop {
        let answer = house.get("/livez").send().await;
        if answer.is_ok_and(|answer| answer.status() == 200) {
            break;
        }
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_are_guessed_are_bounded_as_tokens_are() {
    let mut house = House::open("cat").await;
    let good = house.link().await;
    for n in 0..20 {
        assert_eq!(text(house.post(&format!("/login/{n:064x}"))).await.0, 410);
    }
    // One door for both, and for a minute it is closed to guesses, while whoever has the right key comes in.
    for request in [house.post("/login/guess"), house.get("/api/v1/agents").bearer_auth("a guess")] {
        let response = request.send().await.expect("an answer");
        let retry = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        assert_eq!((response.status().as_u16(), retry), (429, Some("60")));
    }
    assert_eq!(text(house.get("/api/v1/agents").bearer_auth(secret(Role::Admin))).await.0, 200);
    assert_eq!(text(house.post(&good)).await.0, 303);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_a_crowd_beyond_the_bound_is_told_to_come_again() {
    /// More than herder has tasks for.
    const BEYOND: usize = 120;
    let house = House::open("cat").await;
    let address = house.url.trim_start_matches("http://").to_owned();
    let connect = async |request: &str| {
        let mut raw = TcpStream::connect(&address).await.expect("it listens");
        raw.write_all(request.as_bytes()).await.expect("sent");
        raw
    };
    let mut held = Vec::new();
    for _ in 0..256 {
        held.push(connect("GET /livez HTTP/1.1\r\nHost: localhost\r\n").await);
    }
    // None of them reads before all have come.
    let mut beyond = Vec::new();
    for _ in 0..BEYOND {
        beyond.push(connect("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await);
    }
    for (n, mut raw) in beyond.into_iter().enumerate() {
        let mut answer = Vec::new();
        // An answer may be followed by a reset.
        let _ = raw.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Retry-After: 1"), "{n}: {answer}");
    }
    drop(held);
    house.close().await;
}
