//! `Idempotency-Key`: a command that comes again is answered as the first time, and not carried out.

use herder::core::role::Role;
use serde_json::{Value, json};

use super::{House, json as ask};

impl House {
    async fn once(&self, role: Role, key: &str, body: &Value) -> (u16, Value, bool) {
        let request = self.command(role, body).header("idempotency-key", key);
        let response = request.send().await.expect("an answer");
        let is_replayed = response.headers().contains_key("idempotency-replayed");
        (response.status().as_u16(), response.json().await.expect("JSON"), is_replayed)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_with_a_key_is_carried_out_once_and_answered_as_often_as_it_comes() {
    let house = House::open("cat").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &pause)).await.0, 200);
    let add = json!({ "command": "task add", "agent": "spark", "text": "sweep the floor" });
    let (status, first, is_replayed) = house.once(Role::Operator, "one", &add).await;
    assert_eq!((status, is_replayed), (200, false), "{first}");
    for _ in 0..3 {
        assert_eq!(house.once(Role::Operator, "one", &add).await, (200, first.clone(), true));
    }
    // A refusal stays one, though what it was refused for is over.
    let (status, refused, _) = house.once(Role::Operator, "two", &pause).await;
    assert_eq!(status, 409, "{refused}");
    let resume = json!({ "command": "resume", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &resume)).await.0, 200);
    assert_eq!(house.once(Role::Operator, "two", &pause).await, (409, refused, true));
    // Another command with the key of the first is a mistake; the same key of somebody else is another one.
    let other = json!({ "command": "task add", "agent": "spark", "text": "sweep the stairs" });
    assert_eq!(house.once(Role::Operator, "one", &other).await.0, 422);
    let (status, _, is_replayed) = house.once(Role::Admin, "one", &other).await;
    assert_eq!((status, is_replayed), (200, false));
    // A refused sender does not use up the key.
    let (status, _, _) = house.once(Role::Viewer, "three", &add).await;
    assert_eq!(status, 403);
    let (status, looked, _) = house.once(Role::Viewer, "three", &json!({ "command": "whoami" })).await;
    assert_eq!(status, 200, "{looked}");
    for wrong in ["", &"x".repeat(256)] {
        assert_eq!(house.once(Role::Operator, wrong, &add).await.0, 400, "{wrong:?}");
    }
    let (_, events) = ask(house.by(Role::Admin, "/events?kind=queued,audit&limit=500")).await;
    let count = |wanted: &str| {
        let all = events["items"].as_array().expect("items").iter();
        all.filter(|event| event["entry"]["agent"]["work"]["text"] == wanted).count()
    };
    assert_eq!((count("sweep the floor"), count("sweep the stairs")), (1, 1), "{events}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_key_at_the_same_time_is_one_command() {
    let house = House::open("cat").await;
    let pause = json!({ "command": "pause", "agent": "spark" });
    assert_eq!(ask(house.command(Role::Admin, &pause)).await.0, 200);
    let add = json!({ "command": "task add", "agent": "spark", "text": "sweep the floor" });
    let all = futures_util::future::join_all((0..20).map(|_| house.once(Role::Operator, "one", &add))).await;
    for (status, answer, _) in &all {
        assert!(
            *status == 200 || (*status == 409 && answer["detail"].to_string().contains("still")),
            "{answer}"
        );
    }
    let (status, answer, is_replayed) = house.once(Role::Operator, "one", &add).await;
    assert_eq!((status, is_replayed), (200, true), "{answer}");
    let (_, spark) = ask(house.by(Role::Viewer, "/agents/spark")).await;
    assert_eq!(spark["queued"], 1);
    house.close().await;
}
