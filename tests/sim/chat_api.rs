//! The part of OpenAI's Chat Completions, streaming, that opencode and others use. The bodies follow the public
//! documentation.

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::http::respond;
use super::{Scenario, Turn, stream_events};

/// The shell of qwen-code.
const QWENS_SHELL: &str = "run_shell_command";

/// Returns the shell among the tools that are offered: each agent has a name of its own for it.
fn shell(asked: &Value) -> &'static str {
    let tools = asked["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let offered = |name: &str| tools.iter().any(|tool| tool["function"]["name"] == name);
    ["bash", QWENS_SHELL, "Bash"].into_iter().find(|name| offered(name)).unwrap_or("bash")
}

/// Answers a request for a completion; `None`: the connection is not to be used any more.
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
    let told = asked["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    // A session that continues after a cut is asked again.
    let is_told_anew =
        told.last().is_some_and(|last| last["role"] == "user" && last.to_string().contains("make it"));
    let had_result =
        told.iter().any(|message| message["role"] == "tool") || super::goes_on(&asked["messages"]);
    let has_result = had_result && !is_told_anew;
    let call = |name: String, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        let call = json!({
            "index": 0, "id": format!("call_{number}"), "type": "function", "function": function,
        });
        (json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls")
    };
    let (delta, reason) = match scenario.turn(number, has_result) {
        Turn::Shell { command } => {
            let mut arguments = json!({ "command": command, "description": "does something" });
            let name = shell(asked);
            if name == QWENS_SHELL {
                arguments["is_background"] = json!(false);
            }
            call(name.to_owned(), arguments)
        }
        Turn::Herder { tool, arguments } => call(format!("herder_{tool}"), arguments),
        Turn::Calls { tool, arguments } => call(tool.to_owned(), arguments),
        Turn::Says { text } => (json!({ "role": "assistant", "content": text }), "stop"),
    };
    let chunk = |choices: Value, usage: Value| {
        let model = asked["model"].as_str().unwrap_or("model");
        let chunk = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1,
            "model": model, "choices": choices, "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let sent = if *scenario == Scenario::Full { 200_000 } else { 1200 };
    let usage = json!({ "prompt_tokens": sent, "completion_tokens": 30, "total_tokens": sent + 30 });
    let frames = [
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null),
        chunk(json!([]), usage),
        "data: [DONE]\n\n".to_owned(),
    ];
    stream_events(stream, scenario, &frames, 1).await?;
    Ok(None)
}
