//! A model API of the tests' own: as much of Anthropic's Messages API, streaming and not, as Claude Code asks for, and of
//! OpenAI's Responses API (`responses`) as the Codex CLI does.
//!
//! One scenario per server. The bodies follow the public documentation; nothing here is recorded from the service.

#[path = "plain_http.rs"]
mod http;
#[path = "responses_api.rs"]
mod responses;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use http::{Request, read, respond};

/// How the API behaves towards every request for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// An answer.
    Success,
    /// Always one more call of a tool, so that the turns never end.
    EndlessTools,
    /// One call of the shell, then an answer.
    OneTool {
        /// What the shell is to do.
        command: &'static str,
    },
    /// One call of the shell that goes beyond what the agent may, then an answer.
    Asks {
        /// What the shell is to do.
        command: &'static str,
    },
    /// One call of a tool of herder's own, then an answer.
    Herder {
        /// Which.
        tool: &'static str,
        /// Its arguments, as JSON.
        arguments: &'static str,
    },
    /// An error with this status, headers and type.
    Refuses { status: u16, headers: Vec<(String, String)>, kind: &'static str, message: &'static str },
    /// The stream begins and the connection is cut.
    Cut,
    /// The stream begins and nothing follows.
    Hang,
}

/// A running server; it ends with the runtime it was started on.
#[derive(Debug)]
pub(crate) struct ModelApi {
    /// What `ANTHROPIC_BASE_URL` is to be; OpenAI's is `/v1` below it.
    pub(crate) url: String,
    messages: Arc<AtomicU32>,
    last: Arc<Mutex<String>>,
}

/// What the model says when all is well.
pub(crate) const ANSWER: &str = "Hello from the model.";

impl ModelApi {
    /// Listens on a free port of loopback.
    pub(crate) async fn start(scenario: Scenario) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is up");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let messages = Arc::new(AtomicU32::new(0));
        let last = Arc::new(Mutex::new(String::new()));
        let (counter, heard) = (Arc::clone(&messages), Arc::clone(&last));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (scenario, counter, heard) = (scenario.clone(), Arc::clone(&counter), Arc::clone(&heard));
                // A client that goes away in mid-answer is its own business.
                tokio::spawn(async move { drop(connection(stream, &scenario, &counter, &heard).await) });
            }
        });
        Self { url, messages, last }
    }

    /// The last request for a message.
    pub(crate) fn last(&self) -> String {
        self.last.lock().expect("nobody panics with it").clone()
    }

    /// How many messages were asked for.
    pub(crate) fn messages(&self) -> u32 {
        self.messages.load(Ordering::SeqCst)
    }
}

async fn connection(
    stream: TcpStream,
    scenario: &Scenario,
    messages: &AtomicU32,
    last: &Mutex<String>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await? {
        let path = request.target.split('?').next().unwrap_or_default();
        match path {
            "/v1/messages" | "/v1/responses" => {
                let number = messages.fetch_add(1, Ordering::SeqCst);
                String::from_utf8_lossy(&request.body)
                    .as_ref()
                    .clone_into(&mut last.lock().expect("nobody panics with it"));
                let answered = if path == "/v1/responses" {
                    responses::answer(&mut stream, &request, scenario, number).await?
                } else {
                    message(&mut stream, &request, scenario, number).await?
                };
                if answered.is_none() {
                    return Ok(());
                }
            }
            "/v1/messages/count_tokens" => {
                respond(&mut stream, 200, &[], &json!({ "input_tokens": 1200 })).await?;
            }
            _ => respond(&mut stream, 404, &[], &error("not_found_error", "there is no such thing")).await?,
        }
    }
    Ok(())
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_test" })
}

/// Answers a request for a message; `None`: the connection is not to be used any more.
async fn message(
    stream: &mut BufReader<TcpStream>,
    request: &Request,
    scenario: &Scenario,
    number: u32,
) -> std::io::Result<Option<()>> {
    let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let streaming = asked["stream"] == true;
    let block = match scenario {
        Scenario::Refuses { status, headers, kind, message } => {
            respond(stream, *status, headers, &error(kind, message)).await?;
            return Ok(Some(()));
        }
        Scenario::EndlessTools => json!({
            "type": "tool_use", "id": format!("toolu_{number}"), "name": "Bash",
            "input": { "command": format!("echo {number}"), "description": "says a number" },
        }),
        Scenario::OneTool { command } | Scenario::Asks { command }
            if !asked["messages"].to_string().contains("tool_result") =>
        {
            json!({
                "type": "tool_use", "id": format!("toolu_{number}"), "name": "Bash",
                "input": { "command": command, "description": "takes a while" },
            })
        }
        Scenario::Herder { tool, arguments } if !asked["messages"].to_string().contains("tool_result") => {
            json!({
                "type": "tool_use", "id": format!("toolu_{number}"), "name": format!("mcp__herder__{tool}"),
                "input": serde_json::from_str::<Value>(arguments).expect("a test's own JSON"),
            })
        }
        Scenario::Success
        | Scenario::OneTool { .. }
        | Scenario::Asks { .. }
        | Scenario::Herder { .. }
        | Scenario::Cut
        | Scenario::Hang => {
            json!({ "type": "text", "text": ANSWER })
        }
    };
    let model = asked["model"].as_str().unwrap_or("model");
    if !streaming {
        match scenario {
            Scenario::Cut => return Ok(None),
            Scenario::Hang => std::future::pending().await,
            Scenario::Success
            | Scenario::EndlessTools
            | Scenario::OneTool { .. }
            | Scenario::Asks { .. }
            | Scenario::Herder { .. }
            | Scenario::Refuses { .. } => {}
        }
        respond(stream, 200, &[], &whole(model, &block, number)).await?;
        return Ok(Some(()));
    }
    stream_events(stream, scenario, &events(model, &block, number), 3).await?;
    Ok(None)
}

/// Streams `events`; where the stream is to break, the first few of them.
async fn stream_events(
    stream: &mut BufReader<TcpStream>,
    scenario: &Scenario,
    events: &[Value],
    before_the_break: usize,
) -> std::io::Result<()> {
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        .await?;
    let kept = match scenario {
        Scenario::Cut | Scenario::Hang => before_the_break,
        Scenario::Success
        | Scenario::EndlessTools
        | Scenario::OneTool { .. }
        | Scenario::Asks { .. }
        | Scenario::Herder { .. }
        | Scenario::Refuses { .. } => events.len(),
    };
    for event in &events[..kept] {
        let name = event["type"].as_str().unwrap_or_default();
        stream.write_all(format!("event: {name}\ndata: {event}\n\n").as_bytes()).await?;
    }
    stream.flush().await?;
    match scenario {
        Scenario::Hang => std::future::pending().await,
        // A reset instead of an orderly end: what a crashed proxy looks like.
        Scenario::Cut => stream.get_ref().set_zero_linger()?,
        Scenario::Success
        | Scenario::EndlessTools
        | Scenario::OneTool { .. }
        | Scenario::Asks { .. }
        | Scenario::Herder { .. }
        | Scenario::Refuses { .. } => {}
    }
    Ok(())
}

fn stop_reason(block: &Value) -> &'static str {
    if block["type"] == "tool_use" { "tool_use" } else { "end_turn" }
}

fn whole(model: &str, block: &Value, number: u32) -> Value {
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model,
        "content": [block], "stop_reason": stop_reason(block), "stop_sequence": null,
        "usage": { "input_tokens": 1200, "output_tokens": 30 },
    })
}

fn events(model: &str, block: &Value, number: u32) -> Vec<Value> {
    let (start, delta) = if block["type"] == "tool_use" {
        let mut empty = block.clone();
        empty["input"] = json!({});
        (empty, json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }))
    } else {
        (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": block["text"] }))
    };
    vec![
        json!({ "type": "message_start", "message": {
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1200, "output_tokens": 1 },
        } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop_reason(block), "stop_sequence": null },
            "usage": { "output_tokens": 30 } }),
        json!({ "type": "message_stop" }),
    ]
}
