//! The part of OpenAI's Responses API, streaming, that the Codex CLI uses. The bodies follow the public
//! documentation.

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::http::respond;
use super::{Scenario, Turn, named, stream_events};

/// Answers a request for a response; `None`: the connection is not to be used any more.
pub(super) async fn answer(
    stream: &mut BufReader<TcpStream>,
    asked: &Value,
    scenario: &Scenario,
    number: u32,
) -> std::io::Result<Option<()>> {
    if let Scenario::Refuses { status, headers, kind, message } = scenario {
        let error = json!({ "error": { "message": message, "type": kind, "code": kind, "param": null } });
        respond(stream, *status, headers, &error).await?;
        return Ok(Some(()));
    }
    let item = match scenario.turn(number, has_result(asked)) {
        Turn::Shell { command } if matches!(scenario, Scenario::Asks { .. } | Scenario::Plans { .. }) => {
            let escalated = "require_escalated";
            call(
                number,
                &json!({ "cmd": command, "sandbox_permissions": escalated, "justification": "May I?" }),
            )
        }
        Turn::Shell { command } => call(number, &json!({ "cmd": command })),
        Turn::Herder { tool, arguments } => json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": tool, "namespace": "mcp__herder", "arguments": arguments.to_string(),
        }),
        Turn::Calls { tool, arguments } => json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": tool, "arguments": arguments.to_string(),
        }),
        Turn::Says { text } => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "content": [{ "type": "output_text", "text": text }],
        }),
    };
    stream_events(stream, scenario, &named(&events(&item, number)), 2).await?;
    Ok(None)
}

/// Returns whether a tool had a result, and no new question came after a cut.
fn has_result(asked: &Value) -> bool {
    let last = asked["input"].as_array().and_then(|items| items.last());
    let is_told_anew =
        last.is_some_and(|item| item["role"] == "user" && item.to_string().contains("make it"));
    let had_result = asked["input"].to_string().contains("function_call_output");
    (had_result || super::goes_on(&asked["input"])) && !is_told_anew
}

fn call(number: u32, arguments: &Value) -> Value {
    json!({
        "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
        "name": "exec_command", "arguments": arguments.to_string(),
    })
}

fn events(item: &Value, number: u32) -> Vec<Value> {
    let id = format!("resp_{number}");
    vec![
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "response": { "id": id, "usage": {
            "input_tokens": 1200, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 30,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1230,
        } } }),
    ]
}
