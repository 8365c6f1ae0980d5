//! Sessions of the page and their ends, and the link that a shell gives.

use std::io::Read as _;

use herder::clock;
use herder::core::role::Role;
use reqwest::Client;
use reqwest::redirect::Policy as Redirects;
use serde_json::json;

use super::{House, json as ask, reachable, text};
use crate::process_log::{herder, read_until, start, stop};
use crate::stage::PATIENCE;

/// An hour and a minute, in milliseconds.
const HOUR: i64 = 3_600_000;
const MINUTE: i64 = 60_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_when_it_was_unused_for_a_day() {
    let mut house = House::open("cat").await;
    let (used, unused) = (house.log_in().await, house.log_in().await);
    clock::set(24 * HOUR - 10 * MINUTE);
    assert_eq!(house.see(&used, "/").await.0, 200);
    clock::set(11 * MINUTE);
    assert_eq!(house.see(&unused, "/").await.0, 401, "a day and a minute after its last use");
    let (status, page) = house.see(&used, "/").await;
    assert!(status == 200 && page.contains("alice (admin)"), "each use counts: {status} {page}");
    // A restart brings none back.
    let house = house.restarted("cat").await;
    assert_eq!((house.see(&used, "/").await.0, house.see(&unused, "/").await.0), (200, 401));
    clock::set(24 * HOUR + MINUTE);
    assert_eq!(house.see(&used, "/").await.0, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_after_seven_days_however_much_it_is_used() {
    let mut house = House::open("cat").await;
    let browser = house.log_in().await;
    for day in 1..=7 {
        clock::set(24 * HOUR - MINUTE);
        assert_eq!(house.see(&browser, "/").await.0, 200, "on day {day}");
    }
    let mut stream = house.get("/live").header("cookie", &browser.cookie).send().await.expect("a stream");
    assert_eq!(stream.status(), 200);
    clock::set(8 * MINUTE);
    assert_eq!(house.see(&browser, "/").await.0, 401, "after seven days");
    let (status, page) = house.press(&browser, "pause", "spark", "").await;
    assert!(status == 401 && !page.contains("is paused"), "{status} {page}");
    let (_, spark) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!(spark["phase"], "idle");
    // The stream of a page that is still open ends with the session, at the next change.
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Operator, &pause)).await.0, 200);
    let ended = async { while stream.chunk().await.expect("no error").is_some() {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("the stream ends");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn herder_page_in_a_shell_gives_a_link_that_logs_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = {:?}\n",
        folder.path()
    );
    std::fs::write(folder.path().join("bot.toml"), config).expect("a file");
    let (mut child, mut log) = start(folder.path(), "json");
    read_until(&mut log, "agent added");
    let output = herder(folder.path(), &["page"]).output().expect("the binary starts");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).expect("text");
    let link = said.split_whitespace().find(|word| word.contains("/login/")).expect("a link");
    assert!(super::own_name(link).is_some(), "on this machine the page has a name of its own: {link}");
    let link = reachable(link);
    let client = Client::builder().redirect(Redirects::none()).no_proxy().build().expect("a client");
    let (status, door) = text(client.get(&link)).await;
    assert!(status == 200 && door.contains("<button"), "{status} {door}");
    let entered = client.post(&link).send().await.expect("an answer");
    assert_eq!(entered.status(), 303);
    let cookie = entered.headers()["set-cookie"].to_str().expect("text").split(';').next().expect("a pair");
    let (page, _) = link.split_once("/login/").expect("a link");
    let (status, page) = text(client.get(page).header("cookie", cookie)).await;
    assert!(status == 200 && page.contains("spark") && page.contains("(admin)"), "{status} {page}");
    drop(client);
    // The log is read to its end, so that herder never waits for it.
    let rest = std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
    assert!(child.try_wait().expect("it can be asked").is_none(), "herder runs");
    stop(child);
    rest.join().expect("no panic").expect("it is read");
}
