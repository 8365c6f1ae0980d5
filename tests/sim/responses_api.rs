//! As much of OpenAI's Responses API, streaming, as the Codex CLI asks for. The bodies follow the public documentation.

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::http::{Request, respond};
use super::{ANSWER, Scenario, stream_events};

/// Answers a request for a response; `None`: the connection is not to be used any more.
pub(super) async fn answer(
    stream: &mut BufReader<TcpStream>,
    request: &Request,
    scenario: &Scenario,
    number: u32,
) -> std::io::Result<Option<()>> {
    let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let item = match scenario {
        Scenario::Refuses { status, headers, kind, message } => {
            let error = json!({ "error": { "message": message, "type": kind, "code": kind, "param": null } });
            respond(stream, *status, headers, &error).await?;
            return Ok(Some(()));
        }
        Scenario::EndlessTools => call(number, &json!({ "cmd": format!("echo {number}") })),
        Scenario::OneTool { command } if !has_result(&asked) => call(number, &json!({ "cmd": command })),
        Scenario::Asks { command } if !has_result(&asked) => {
            let escalated = "require_escalated";
            call(
                number,
                &json!({ "cmd": command, "sandbox_permissions": escalated, "justification": "May I?" }),
            )
        }
        Scenario::Herder { tool, arguments } if !has_result(&asked) => json!({
            "type": "function_call", "id": format!("fc_{number}"), "call_id": format!("call_{number}"),
            "name": tool, "namespace": "mcp__herder", "arguments": arguments,
        }),
        Scenario::Success
        | Scenario::OneTool { .. }
        | Scenario::Asks { .. }
        | Scenario::Herder { .. }
        | Scenario::Cut
        | Scenario::Hang => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "content": [{ "type": "output_text", "text": ANSWER }],
        }),
    };
    stream_events(stream, scenario, &events(&item, number), 2).await?;
    Ok(None)
}

fn has_result(asked: &Value) -> bool {
    asked["input"].to_string().contains("function_call_output")
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
