//! The listener encrypts by itself: with a certificate that is read again at a reload.

use std::path::Path;

use herder::config::TlsFiles;
use herder::core::role::Role;
use herder::reload::Source;
use reqwest::Client;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{House, json as ask, secret};
use crate::stage::PATIENCE;

/// Writes a certificate and its key; answers the certificate.
fn write(dir: &Path) -> String {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    std::fs::write(dir.join("cert.pem"), made.cert.pem()).expect("written");
    std::fs::write(dir.join("key.pem"), made.signing_key.serialize_pem()).expect("written");
    made.cert.pem()
}

/// Returns a client that trusts only that certificate and shares no connections.
fn trusting(certificate: &str) -> Client {
    let certificate = reqwest::Certificate::from_pem(certificate.as_bytes()).expect("a certificate");
    Client::builder()
        .add_root_certificate(certificate)
        .tls_built_in_root_certs(false)
        .use_rustls_tls()
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .no_proxy()
        .build()
        .expect("a client")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_with_a_certificate_encrypts_and_reads_it_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let first = write(dir.path());
    let files = TlsFiles { cert: dir.path().join("cert.pem"), key: dir.path().join("key.pem") };
    let file = dir.path().join("bot.toml");
    let agent = format!(
        "[[agent]]\nname = \"spark\"\nruntime = \"command\"\nworkspace = {:?}\ncommand = [\"cat\"]\n",
        dir.path()
    );
    std::fs::write(&file, agent).expect("written");
    let source = Source { file, data_dir: None };
    let mut house = House::open_with("cat", move |options, http| {
        options.source = Some(source);
        http.tls = Some(files);
    })
    .await;
    assert!(house.url.starts_with("https://127.0.0.1:"), "{}", house.url);
    house.client = trusting(&first);
    assert_eq!(ask(house.by(Role::Viewer, "/agents")).await.0, 200);
    // A cookie of such a page is for encrypted connections alone.
    let link = house.link().await;
    let response = house.post(&link).send().await.expect("an answer");
    assert!(response.headers()["set-cookie"].to_str().expect("text").ends_with("; Secure"));
    // A client without TLS gets no answer.
    let address = house.url.trim_start_matches("https://").to_owned();
    let mut raw = TcpStream::connect(&address).await.expect("it listens");
    raw.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("sent");
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(PATIENCE, raw.read_to_end(&mut answer)).await.expect("herder hangs up");
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
    // One that says nothing at all is let go, too.
    let mut silent = TcpStream::connect(&address).await.expect("it listens");
    let _ = tokio::time::timeout(PATIENCE, silent.read_to_end(&mut answer)).await.expect("herder hangs up");

    let second = write(dir.path());
    let reload = json!({ "command": "reload" });
    let (status, done) = ask(house.command(Role::Admin, &reload)).await;
    assert_eq!(status, 200, "{done}");
    let agents = format!("{}/api/v1/agents", house.url);
    let by = |client: Client| client.get(&agents).bearer_auth(secret(Role::Viewer)).send();
    assert!(by(trusting(&first)).await.is_err(), "the first one is gone");
    assert_eq!(by(trusting(&second)).await.expect("an answer").status(), 200);
    // A file that is no certificate changes nothing, and is named.
    house.client = trusting(&second);
    std::fs::write(dir.path().join("cert.pem"), "nonsense").expect("written");
    let (status, problem) = ask(house.command(Role::Admin, &reload)).await;
    let said = problem["detail"].as_str().unwrap_or_default();
    assert!(status == 409 && said.contains("tls_cert") && said.contains("cert.pem"), "{status} {problem}");
    assert_eq!(by(trusting(&second)).await.expect("an answer").status(), 200);
    house.close().await;
}
