//! The journal's events: pages, and streams that go on with what happens.

use std::collections::BTreeSet;

use herder::core::role::Role;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::{House, json as ask, secret, text};
use crate::stage::PATIENCE;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) data: String,
}

/// A reader of an event stream, as a browser's EventSource is one.
pub(super) struct Reader {
    response: reqwest::Response,
    heard: String,
}

impl Reader {
    pub(super) async fn open(request: RequestBuilder) -> Self {
        let response = request.header("accept", "text/event-stream").send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self::of(response)
    }

    pub(super) fn of(response: reqwest::Response) -> Self {
        Self { response, heard: String::new() }
    }

    /// The next event with data; `None`: the stream is over.
    pub(super) async fn next(&mut self) -> Option<Told> {
        loop {
            while let Some(end) = self.heard.find("\n\n") {
                let message: String = self.heard.drain(..end + 2).collect();
                let field = |name: &str| {
                    let lines = message.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    lines.map(str::trim).collect::<Vec<_>>().join("\n")
                };
                if let (data, Ok(id)) = (field("data"), field("id").parse())
                    && !data.is_empty()
                {
                    return Some(Told { id, name: field("event"), data });
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk())
                .await
                .expect("the stream says something");
            self.heard.push_str(&String::from_utf8_lossy(&chunk.ok()??));
        }
    }

    /// Reads up to the first event that is as it should be.
    pub(super) async fn until(&mut self, wanted: impl Fn(&Told) -> bool) -> Vec<Told> {
        let mut all = Vec::new();
        loop {
            let told = self.next().await.expect("the stream goes on");
            let is_wanted = wanted(&told);
            all.push(told);
            if is_wanted {
                return all;
            }
        }
    }
}

/// All events, a page at a time.
pub(super) async fn all(house: &House, role: Role, limit: usize, more: &str) -> Vec<Value> {
    let (mut items, mut next) = (Vec::new(), String::new());
    loop {
        let (status, page) = ask(house.by(role, &format!("/events?limit={limit}{next}{more}"))).await;
        assert_eq!(status, 200, "{page}");
        items.extend(page["items"].as_array().expect("items").iter().cloned());
        let Some(more) = page["next"].as_str() else { return items };
        next = format!("&next={more}");
    }
}

fn seqs(items: &[Value]) -> Vec<u64> {
    items.iter().map(|item| item["seq"].as_u64().expect("a number")).collect()
}

fn kind(event: &Value) -> &str {
    let entry = &event["entry"];
    entry["agent"]["type"].as_str().or(entry["fleet"]["type"].as_str()).unwrap_or("audit")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_has_what_was_missed_and_then_what_happens_in_order_and_once() {
    let house = House::open("read -r line; echo \"did $line\"").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &pause)).await.0, 200);
    let mut reader = Reader::open(house.by(Role::Admin, "/events?after=0")).await;
    let mut told = reader.until(|told| told.data.contains("\"type\":\"paused\"")).await;
    let resume = json!({ "command": "resume", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &resume)).await.0, 200);
    told.extend(reader.until(|told| told.data.contains("\"type\":\"resumed\"")).await);
    drop(reader);
    // Events from a time without a reader are sent to the next one.
    assert_eq!(ask(house.command(Role::Admin, &pause)).await.0, 200);
    let last = told.last().expect("events").id;
    // The address is still the first one: a browser does not change it.
    let again = house.by(Role::Admin, "/events?after=0").header("last-event-id", last.to_string());
    let mut reader = Reader::open(again).await;
    told.extend(reader.until(|told| told.data.contains("\"type\":\"paused\"")).await);
    let ids: Vec<u64> = told.iter().map(|told| told.id).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "each once, in order");
    let pages = all(&house, Role::Admin, 7, "").await;
    assert_eq!(seqs(&pages), (1..=pages.len() as u64).collect::<Vec<_>>());
    for (told, page) in told.iter().zip(&pages) {
        assert_eq!(&serde_json::from_str::<Value>(&told.data).expect("JSON"), page);
    }
    // The shell prints the answer of the API.
    let (_, history) = ask(house.by(Role::Admin, "/history?agent=spark&limit=500")).await;
    for entry in history["items"].as_array().expect("items") {
        assert!(pages.contains(entry), "{entry}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whispers_and_the_audit_trail_are_for_operators_alone() {
    let house = House::open("cat").await;
    let whisper = json!({ "command": "whisper", "agent": "spark", "text": "a-private-word" });
    let (status, done) = ask(house.command(Role::Operator, &whisper)).await;
    assert_eq!(status, 200, "{done}");
    for (role, sees) in [(Role::Viewer, false), (Role::Operator, true), (Role::Admin, true)] {
        let events = all(&house, role, 100, "").await;
        let said = events.iter().any(|event| event.to_string().contains("a-private-word"));
        let audited = events.iter().any(|event| kind(event) == "audit");
        assert_eq!((said, audited), (sees, sees), "{role}");
        let last = *seqs(&events).last().expect("events");
        let mut reader = Reader::open(house.by(role, "/events")).await;
        let told = reader.until(|told| told.id == last).await;
        let said = told.iter().any(|told| told.data.contains("a-private-word"));
        assert_eq!((said, told.iter().any(|told| told.data.contains("\"audit\""))), (sees, sees), "{role}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_filtered_by_agent_and_kind_and_mistakes_get_a_sentence() {
    let house = House::open("cat").await;
    for command in ["pause", "resume", "pause"] {
        let body = json!({ "command": command, "agent": "spark" });
        assert_eq!(ask(house.command(Role::Admin, &body)).await.0, 200);
    }
    let of_spark = all(&house, Role::Admin, 50, "&agent=spark").await;
    assert!(
        of_spark.len() >= 3 && of_spark.iter().all(|event| event["stream"] == "agent:spark"),
        "{of_spark:?}"
    );
    assert_eq!(all(&house, Role::Admin, 50, "&agent=nobody,nothing").await, [] as [Value; 0]);
    let paused = all(&house, Role::Admin, 1, "&kind=paused,resumed").await;
    assert_eq!(paused.iter().map(kind).collect::<Vec<_>>(), ["paused", "resumed", "paused"]);
    let audit: BTreeSet<String> = all(&house, Role::Admin, 50, "&kind=audit")
        .await
        .iter()
        .map(|event| kind(event).to_owned())
        .collect();
    assert_eq!(audit, ["audit".to_owned()].into());
    let mut reader = Reader::open(house.by(Role::Admin, "/events?agent=spark&kind=resumed")).await;
    assert!(reader.next().await.expect("one").data.contains("\"type\":\"resumed\""));
    for (wrong, status, said) in [
        ("after=x", 400, "after"),
        ("after=9007199254740992", 400, "after"),
        ("kind=nonsense", 400, "there are"),
        ("agent=..%2f..", 400, "no name"),
        ("limit=0", 400, "limit"),
        ("next=nonsense", 400, "next"),
        ("after=1000000", 409, "begin anew"),
    ] {
        let (found, problem) = ask(house.by(Role::Admin, &format!("/events?{wrong}"))).await;
        assert_eq!(found, status, "{wrong}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(said)), "{wrong}: {problem}");
    }
    let request = house.by(Role::Admin, "/events").header("last-event-id", "yesterday");
    assert_eq!(text(request).await.0, 400);
    assert_eq!(text(house.get("/api/v1/events").header("accept", "text/event-stream")).await.0, 401);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_pages_and_of_programs_share_their_places_and_give_them_back() {
    let house = House::open("cat").await;
    let mut streams = Vec::new();
    for n in 0..64 {
        let path = if n % 2 == 0 { "/api/v1/events" } else { "/live" };
        let request = house.get(path).bearer_auth(secret(Role::Viewer)).header("accept", "text/event-stream");
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200, "{n}");
        streams.push(response);
    }
    let more = house.by(Role::Viewer, "/events").header("accept", "text/event-stream");
    let refused = more.send().await.expect("an answer");
    assert_eq!(
        (refused.status().as_u16(), refused.headers()["retry-after"].to_str().ok()),
        (503, Some("10"))
    );
    // A page of events is no stream.
    assert_eq!(text(house.by(Role::Viewer, "/events")).await.0, 200);
    drop(streams);
    let back = async {
        loop {
            let request = house.by(Role::Viewer, "/events").header("accept", "text/event-stream");
            if request.send().await.expect("an answer").status() == 200 {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, back).await.expect("there is room again");
    house.close().await;
}
