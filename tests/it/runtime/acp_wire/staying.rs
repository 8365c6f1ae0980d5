//! An agent that stays after its session is given another one.

use std::cell::RefCell;
use std::sync::Arc;

use herder::core::outcome::Category;
use herder::core::spec::Permissions;
use herder::runtime::Launch;
use herder::runtime::protocol::{Happening, Protocol};
use herder::runtime::text::Tail;
use serde_json::{Value, json};

use super::super::replayed::{as_line, replies};
use super::launched;

/// Lets the agent answer each request of herder until it waits for the end of its turn, which costs so much in all.
/// Returns what herder asked.
fn works(
    acp: &mut dyn Protocol,
    mut asked: Vec<Value>,
    total: f64,
    happened: &mut Vec<Happening>,
) -> Vec<Value> {
    let modes =
        json!({ "currentModeId": "default", "availableModes": [{ "id": "default" }, { "id": "plan" }] });
    let mut at = 0;
    while let Some(request) = asked.get(at).cloned() {
        at += 1;
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "protocolVersion": 1 }),
            "session/new" => json!({ "sessionId": "c-1", "modes": modes }),
            "session/prompt" => {
                let update = json!({ "sessionUpdate": "usage_update", "cost": { "amount": total, "currency": "USD" } });
                let words = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "done" } });
                for update in [update, words] {
                    let line = json!({ "method": "session/update", "params": { "sessionId": "c-1", "update": update } });
                    acp.line(line.to_string().as_bytes(), happened);
                }
                json!({ "stopReason": "end_turn" })
            }
            _ => json!({}),
        };
        acp.line(json!({ "id": request["id"], "result": result }).to_string().as_bytes(), happened);
        asked.extend(replies(happened));
    }
    asked
}

fn methods(asked: &[Value]) -> Vec<&str> {
    asked.iter().filter_map(|line| line["method"].as_str()).collect()
}

#[test]
fn another_session_gets_its_prompt_alone_and_pays_for_itself_alone() {
    let given = RefCell::new(None);
    let (_, mut acp) = launched(|launch, _| *given.borrow_mut() = Some(launch.clone()));
    let again = Launch { prompt: "and this".to_owned(), ..given.take().expect("it was given") };
    let mut happened = Vec::new();
    assert!(!acp.stays());
    let first = vec![as_line(&acp.prompt("do this").bytes)];
    let first = works(&mut *acp, first, 0.5, &mut happened);
    assert_eq!(methods(&first), ["initialize", "session/new", "session/set_mode", "session/prompt"]);
    assert!(acp.stays());
    let outcome = acp.outcome(None, &Tail::default());
    assert_eq!((outcome.category, outcome.usage.cost_usd), (Category::Success, 0.5));

    let mut happened = Vec::new();
    acp.again(&again, &mut happened);
    let second = replies(&mut happened);
    assert_eq!(second[0]["params"]["prompt"][0]["text"], "and this");
    let second = works(&mut *acp, second, 0.75, &mut happened);
    assert_eq!(methods(&second), ["session/prompt"]);
    assert!(happened.contains(&Happening::Ready { conversation: Some("c-1".to_owned()) }));
    let outcome = acp.outcome(None, &Tail::default());
    assert_eq!((outcome.category, outcome.usage.cost_usd, outcome.turns), (Category::Success, 0.25, 1));
    assert_eq!(outcome.text.as_deref(), Some("done"));
}

#[test]
fn another_session_of_an_agent_that_plans_begins_with_a_plan() {
    let given = RefCell::new(None);
    let (_, mut acp) = launched(|launch, spec| {
        spec.permissions = Permissions::Plan;
        *given.borrow_mut() = Some(Launch { spec: Arc::new(spec.clone()), ..launch.clone() });
    });
    let launch = given.take().expect("it was given");
    let mut happened = Vec::new();
    let first = vec![as_line(&acp.prompt("do this").bytes)];
    let first = works(&mut *acp, first, 0.0, &mut happened);
    assert_eq!(methods(&first), ["initialize", "session/new", "session/set_mode", "session/prompt"]);
    let mut happened = Vec::new();
    acp.again(&launch, &mut happened);
    let second = replies(&mut happened);
    assert_eq!(
        (&second[0]["method"], &second[0]["params"]["modeId"]),
        (&json!("session/set_mode"), &json!("plan"))
    );
}

#[test]
fn an_agent_that_asks_between_two_sessions_is_not_given_another_one() {
    let (_, mut acp) = launched(|_, _| ());
    for (line, is_free) in [
        ("", true),
        ("warming up", true),
        (r#"{"method":"session/update","params":{"sessionId":"c-1"}}"#, true),
        (r#"{"id":7,"result":{}}"#, true),
        (r#"{"id":7,"method":"session/request_permission","params":{"sessionId":"c-1"}}"#, false),
    ] {
        assert_eq!(acp.between(line.as_bytes()), is_free, "{line}");
    }
}
