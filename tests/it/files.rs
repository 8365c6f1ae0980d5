//! Files that people give agents on IRC, by their addresses, and the rules by which they are fetched.

use std::path::Path;
use std::time::Duration;

use herder::config::Config;
use herder::files::FileRules;
use herder::webhook::{Client, Unfetched};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::stage::{self, Scene};

/// Returns the address of a server on loopback that answers by the path of a request.
async fn served(answer: impl Fn(&str, &str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let own = base.clone();
    drop(TaskTracker::new().spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            let mut first = String::new();
            let mut line = String::from("first");
            while !line.trim().is_empty() {
                line.clear();
                let read = stream.read_line(&mut line).await;
                if first.is_empty() {
                    first.clone_from(&line);
                }
                if !matches!(read, Ok(1..)) {
                    break;
                }
            }
            let path = first.split(' ').nth(1).unwrap_or_default();
            // The client may have seen enough.
            let _ = stream.write_all(&answer(path, &own)).await;
        }
    }));
    base
}

fn found(media: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn moved(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn a_file_is_fetched_under_the_rules_of_webhooks() {
    let base = served(|path, own| match path {
        "/a.txt" => found("text/plain", b"one\n"),
        "/moved.txt" => moved("/a.txt"),
        "/circle.txt" => moved("/circle.txt"),
        "/out.txt" => moved("file:///etc/passwd"),
        "/page.txt" => found("text/html; charset=utf-8", b"<html>"),
        "/nowhere.txt" => moved(""),
        "/stated.txt" => b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n".to_vec(),
        "/unstated.txt" => b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n123456789".to_vec(),
        "/short.txt" => b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\n1".to_vec(),
        _ => format!("HTTP/1.1 404 Not Found\r\nx: {own}\r\ncontent-length: 0\r\n\r\n").into_bytes(),
    })
    .await;
    let client = Client::new(true, Duration::from_secs(30)).expect("a client");
    for (path, wanted) in [
        ("/a.txt", Ok(b"one\n".to_vec())),
        ("/moved.txt", Ok(b"one\n".to_vec())),
        ("/circle.txt", Err(Unfetched::Redirects)),
        ("/out.txt", Err(Unfetched::Private)),
        ("/page.txt", Err(Unfetched::Page)),
        ("/stated.txt", Err(Unfetched::TooLong)),
        ("/unstated.txt", Err(Unfetched::TooLong)),
        ("/short.txt", Err(Unfetched::Unanswered)),
        ("/none.txt", Err(Unfetched::Status(404))),
    ] {
        assert_eq!(client.fetch(&format!("{base}{path}"), 8).await, wanted, "{path}");
    }
    let strict = Client::new(false, Duration::from_secs(30)).expect("a client");
    let port = base.rsplit_once(':').expect("a port").1;
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let fetched = strict.fetch(&format!("http://{host}:{port}/a.txt"), 8).await;
        assert_eq!(fetched, Err(Unfetched::Private), "{host}");
    }
}

const ROOMS: [&str; 3] = ["#spark", "#alerts", "#herder"];

/// The agent prints its prompt, and what is in its inbox.
const SHOWS: &str =
    "cat; cd .herder/spark/inbox && for file in *; do echo \"got $file $(sha256sum < $file)\"; done";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_of_a_file_on_irc_brings_the_file() {
    let base = served(|path, _| match path {
        "/shot.png" => found("text/plain", b"\x89PNG\r\n\x1a\nrest"),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
    })
    .await;
    let server = stage::server().await;
    let options = stage::inside(&server);
    let agents = |dir: &Path| vec![stage::shell("spark", dir, SHOWS)];
    let allow =
        |config: &mut Config| config.files = FileRules { allow_private: true, ..FileRules::default() };
    let mut scene = Scene::open_configured((server, options), "alice", &ROOMS, agents, allow).await;
    let alice = &mut scene.person;
    alice.say("#spark", &format!("see {base}/shot.png and <{base}/none.pdf>, please")).await;
    let missing = alice.hears_in_any_order("#spark", "Not with the message").await;
    assert!(missing.contains("none.pdf (the server refuses it)"), "{missing}");
    let named = alice.hears_in_any_order("#spark", "- 1-1-shot.png").await;
    let sha256 = herder::files::digest(b"\x89PNG\r\n\x1a\nrest");
    assert!(named.contains(&format!("(image/png, 12 bytes, SHA-256 {sha256})")), "{named}");
    alice.hears_in_any_order("#spark", &format!("got 1-1-shot.png {sha256}")).await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_address_is_not_fetched_unless_that_is_allowed() {
    let base = served(|path, _| panic!("{path} was asked for")).await;
    let mut scene = Scene::open("alice", &ROOMS, |dir| vec![stage::shell("spark", dir, "cat")]).await;
    let alice = &mut scene.person;
    alice.say("#spark", &format!("see {base}/shot.png")).await;
    let told = alice.hears_in_any_order("#spark", "Not with the message").await;
    assert!(told.contains("shot.png (its address is private, or none of the web)"), "{told}");
    // The words reach the agent all the same.
    alice.hears_in_any_order("#spark", "/shot.png").await;
    alice.hears_in_any_order("#spark", "✅").await;
    assert!(!scene.dir.path().join(".herder/spark/inbox").exists());
    scene.close().await;
}
