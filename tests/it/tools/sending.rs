//! Files that agents give people: an attachment on Discord, a link or the first lines on IRC.

use std::os::unix::fs::symlink;

use herder::files::FileRules;
use herder::redact::Redactor;
use serde_json::json;

use super::{Client, agent};
use crate::http::{reachable, settings};
use crate::stage::{self, Scene};

const ROOMS: [&str; 3] = ["#spark", "#alerts", "#herder"];

/// Returns a scene with spark at work, and its client.
async fn at_work(change: impl FnOnce(&mut herder::config::Config)) -> (Scene, Client) {
    let server = stage::server().await;
    let options = stage::inside(&server);
    let agents = |dir: &std::path::Path| vec![agent("spark", dir)];
    let mut scene = Scene::open_configured((server, options), "alice", &ROOMS, agents, change).await;
    scene.person.say("#spark", "look around").await;
    let client = Client::meet(scene.dir.path(), "spark").await;
    (scene, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn irc_gets_a_link_that_is_good_for_the_file_alone() {
    let (mut scene, mut client) = at_work(|config| {
        config.http = Some(settings());
        config.redactor = Redactor::new(&["a-long-secret-of-tests".to_owned().into()]);
    })
    .await;
    let home = scene.dir.path().join("spark");
    std::fs::create_dir(home.join("out")).expect("a folder");
    std::fs::write(home.join("out/report.html"), "<b>the key is a-long-secret-of-tests</b>\n")
        .expect("a file");
    let told = client.does("send_file", json!({ "path": "out/report.html", "text": "what I found" })).await;
    assert!(told.starts_with("Sent report.html"), "{told}");
    let post = scene.person.hears("#spark", "📎").await;
    assert!(post.contains("spark sends report.html") && post.contains("for 24 hours at http"), "{post}");
    scene.person.hears("#spark", "<spark> what I found").await;

    let link = reachable(&post[post.find("http").expect("a link")..]);
    let web = reqwest::Client::builder().no_proxy().build().expect("a client");
    let got = web.get(&link).send().await.expect("an answer");
    assert_eq!(got.status(), 200, "{link}");
    let header = |name: &str| got.headers()[name].to_str().expect("text").to_owned();
    assert_eq!(header("content-disposition"), "attachment; filename*=UTF-8''report.html");
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
    let body = got.text().await.expect("a body");
    assert!(body.starts_with("<b>the key is ") && !body.contains("a-long-secret-of-tests"), "{body}");

    // Another file, another name, another time, no signature.
    let other = herder::files::digest(b"other").to_string();
    let parts: Vec<String> = link.rsplitn(5, '/').map(str::to_owned).collect();
    let [name, sha256, signature, until, base] = &parts[..] else { panic!("{link}") };
    let later = (until.parse::<u64>().expect("a time") + 1).to_string();
    for forged in [
        [until, signature, &other, name],
        [until, signature, sha256, &"report.txt".to_owned()],
        [&later, signature, sha256, name],
        [until, &"0".repeat(43), sha256, name],
        [until, signature, &"..%2f..%2fbot.toml".to_owned(), name],
    ] {
        let path = format!("{base}/{}/{}/{}/{}", forged[0], forged[1], forged[2], forged[3]);
        let refused = web.get(&path).send().await.expect("an answer");
        assert_eq!(refused.status(), 404, "{path}");
        assert!(refused.text().await.expect("a body").contains("its time is over"), "{path}");
    }
    scene.person.say("#herder", "!audit").await;
    let audited = scene.person.hears_in_any_order("#herder", "report.html").await;
    assert!(audited.contains("spark"), "{audited}");
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn irc_gets_the_first_lines_without_a_page() {
    let (mut scene, mut client) = at_work(|_| ()).await;
    let home = scene.dir.path().join("spark");
    let lines: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    std::fs::write(home.join("log.txt"), lines).expect("a file");
    client.does("send_file", json!({ "path": home.join("log.txt") })).await;
    let post = scene.person.hears("#spark", "📎").await;
    assert!(post.ends_with("log.txt (792 bytes). It begins:"), "{post}");
    scene.person.hears("#spark", "<spark> line 1").await;
    scene.person.hears("#spark", "<spark> line 10").await;
    std::fs::write(home.join("core.bin"), b"\0\x01").expect("a file");
    client.does("send_file", json!({ "path": "core.bin" })).await;
    let post = scene.person.hears("#spark", "core.bin (2 bytes)").await;
    assert!(post.contains("This network takes no files"), "{post}");
    assert!(!scene.person.heard_in("#spark").iter().any(|line| line.contains("line 11")));
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_in_the_workspace_or_is_too_much_is_refused_with_a_sentence() {
    let rules = FileRules { max: 1000, per_hour: 2, ..FileRules::default() };
    let (scene, mut client) = at_work(|config| config.files = rules).await;
    let home = scene.dir.path().join("spark");
    std::fs::write(scene.dir.path().join("outside"), "outside").expect("a file");
    std::fs::write(home.join("large"), [b'a'; 1001]).expect("a file");
    std::fs::write(home.join("small"), [b'a'; 1000]).expect("a file");
    symlink(scene.dir.path().join("outside"), home.join("link")).expect("a link");
    symlink(scene.dir.path(), home.join("folder")).expect("a link");
    for (path, wanted) in [
        ("../outside", "without `..`"),
        ("link", "links are not followed"),
        ("folder/outside", "a link or no folder"),
        ("/etc/passwd", "not in your workspace"),
        ("none", "no such file"),
        ("calls", "no regular file"),
        (".git/config", "stay here"),
        ("./.git/../.git/config", "stay here"),
        ("large", "at most 1000 bytes"),
    ] {
        let why = client.is_refused("send_file", json!({ "path": path })).await;
        assert!(why.contains(wanted), "{path}: {why}");
    }
    client.is_refused("send_file", json!({})).await;
    // Refusals do not count.
    for _ in 0..2 {
        client.does("send_file", json!({ "path": "small" })).await;
    }
    let why = client.is_refused("send_file", json!({ "path": "small" })).await;
    assert!(why.contains("2 files within an hour, which is the limit. Wait 3"), "{why}");
    scene.close().await;
}
