//! The part of Google's `generateContent`, streaming and not, that Gemini CLI uses. The bodies follow the public
//! documentation.

use serde_json::{Value, json};
use tokio::io::BufReader;
use tokio::net::TcpStream;

use super::http::respond;
use super::{Scenario, Turn, stream_events};

/// Answers a request for content; `None`: the connection is not to be used any more.
pub(super) async fn answer(
    stream: &mut BufReader<TcpStream>,
    asked: &Value,
    streaming: bool,
    scenario: &Scenario,
    number: u32,
) -> std::io::Result<Option<()>> {
    if let Scenario::Refuses { status, headers, kind, message } = scenario {
        let error = json!({ "error": { "code": status, "message": message, "status": kind } });
        respond(stream, *status, headers, &error).await?;
        return Ok(Some(()));
    }
    // A call that was cut off leaves no trace in the conversation when that is taken up again.
    let was_called = matches!(scenario, Scenario::OneTool { .. }) && number > 0;
    let has_result = was_called || asked["contents"].to_string().contains("functionResponse");
    let call =
        |name: String, arguments: Value| json!({ "functionCall": { "name": name, "args": arguments } });
    let part = match scenario.turn(number, has_result) {
        Turn::Shell { command } => call(
            "run_shell_command".to_owned(),
            json!({ "command": command, "description": "does something" }),
        ),
        Turn::Herder { tool, arguments } => call(format!("mcp_herder_{tool}"), arguments),
        Turn::Calls { tool, arguments } => call(tool.to_owned(), super::placed(&arguments, asked)),
        Turn::Says { text } => json!({ "text": text }),
    };
    let whole = |part: Value, end: bool| {
        let mut candidate = json!({ "content": { "role": "model", "parts": [part] }, "index": 0 });
        if end {
            candidate["finishReason"] = json!("STOP");
        }
        json!({
            "candidates": [candidate], "modelVersion": "some-model", "responseId": format!("resp-{number}"),
            "usageMetadata": {
                "promptTokenCount": 1200, "candidatesTokenCount": 30, "totalTokenCount": 1230,
            },
        })
    };
    if !streaming {
        respond(stream, 200, &[], &whole(part, true)).await?;
        return Ok(Some(()));
    }
    let frame = |content: Value| format!("data: {content}\r\n\r\n");
    let frames = [frame(whole(part, false)), frame(whole(json!({ "text": "" }), true))];
    stream_events(stream, scenario, &frames, 1).await?;
    Ok(None)
}
