//! A model API of the tests' own: as much of Anthropic's Messages API, streaming and not, as Claude Code asks for, of
//! OpenAI's Responses API (`responses`) as the Codex CLI does, of Google's `generateContent` (`generate`) as Gemini CLI
//! does, and of OpenAI's Chat Completions (`chat`) as opencode does.
//!
//! One scenario per server. The bodies follow the public documentation; nothing here is recorded from the service.

#[path = "chat_api.rs"]
mod chat;
#[path = "generate_api.rs"]
mod generate;
#[path = "plain_http.rs"]
mod http;
#[path = "responses_api.rs"]
mod responses;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use http::{Request, read, respond};

/// The behaviour of the API towards every request for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// An answer.
    Success,
    /// This answer.
    Says {
        /// The text of the model.
        text: &'static str,
    },
    /// These answers, one after the other; the last one again and again.
    SaysInTurn {
        /// The texts of the model.
        texts: &'static [&'static str],
    },
    /// These answers, one after the other, then one call of the shell and an answer.
    Plans {
        /// Answers of the model, in order.
        texts: &'static [&'static str],
        /// Command for the shell.
        command: &'static str,
    },
    /// Always one more call of the shell, each of another command in turn.
    Wanders {
        /// The commands for the shell.
        commands: &'static [&'static str],
    },
    /// Always one more call of a tool, so that the turns never end.
    EndlessTools,
    /// Always the same call of the shell, whatever comes of it.
    Spiral {
        /// The command for the shell.
        command: &'static str,
    },
    /// One call of the shell, then an answer.
    OneTool {
        /// The command for the shell.
        command: &'static str,
    },
    /// An answer once [`ModelApi::release`] is called, then one call of the shell, then another answer.
    Held {
        /// The command for the shell.
        command: &'static str,
    },
    /// One call of the shell that goes beyond what the agent may, then an answer.
    Asks {
        /// The command for the shell.
        command: &'static str,
    },
    /// One call of a tool of herder's own, then an answer.
    Herder {
        /// The name of the tool.
        tool: &'static str,
        /// Its arguments, as JSON.
        arguments: &'static str,
    },
    /// These calls of the CLI's own tools, one after the other, then an answer. `$PLAN` stands for the file that the CLI wants
    /// its plan in, `$PLANS/` for the folder of such files.
    Calls {
        /// Each tool with its arguments, as JSON.
        calls: &'static [(&'static str, &'static str)],
    },
    /// These turns, one after the other; the last one again and again.
    Acts {
        /// The turns.
        turns: &'static [Act],
    },
    /// `count` calls of the shell, one call of a tool of herder's own, then an answer.
    Turns {
        /// The number of shell calls.
        count: u32,
        /// The command for the shell.
        command: &'static str,
        /// The name of the tool.
        tool: &'static str,
        /// Its arguments, as JSON.
        arguments: &'static str,
    },
    /// An error with this status, headers and type.
    Refuses { status: u16, headers: Vec<(String, String)>, kind: &'static str, message: &'static str },
    /// Answers that fill the context window, by what the API counts.
    Full,
    /// The stream begins and the connection is cut.
    Cut,
    /// The stream begins and nothing follows.
    Hang,
    /// The request is taken and never answered.
    Silent,
}

/// A turn of [`Scenario::Acts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Has the shell do something.
    Shell(&'static str),
    /// Calls a tool of herder's own with arguments, as JSON.
    Herder(&'static str, &'static str),
    /// Speaks.
    Says(&'static str),
}

impl Act {
    fn turn(self) -> Turn {
        match self {
            Self::Shell(command) => Turn::Shell { command: command.to_owned() },
            Self::Herder(tool, arguments) => {
                Turn::Herder { tool, arguments: serde_json::from_str(arguments).expect("a test's own JSON") }
            }
            Self::Says(text) => Turn::Says { text },
        }
    }
}

/// The model's action in a turn.
#[derive(Debug)]
enum Turn {
    /// Has the shell do something.
    Shell { command: String },
    /// Calls a tool of herder's own.
    Herder { tool: &'static str, arguments: Value },
    /// Calls a tool of the CLI's own.
    Calls { tool: &'static str, arguments: Value },
    /// Speaks.
    Says { text: &'static str },
}

impl Scenario {
    /// Returns the text of the model at the end, in the answer of this number.
    pub(crate) fn text(&self, number: u32) -> &'static str {
        match self {
            Self::Says { text } => text,
            Self::SaysInTurn { texts } => {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                texts.get(number).or(texts.last()).copied().unwrap_or(ANSWER)
            }
            Self::Success
            | Self::Plans { .. }
            | Self::Wanders { .. }
            | Self::EndlessTools
            | Self::Spiral { .. }
            | Self::OneTool { .. }
            | Self::Held { .. }
            | Self::Asks { .. }
            | Self::Herder { .. }
            | Self::Calls { .. }
            | Self::Acts { .. }
            | Self::Turns { .. }
            | Self::Refuses { .. }
            | Self::Full
            | Self::Cut
            | Self::Hang
            | Self::Silent => ANSWER,
        }
    }

    /// Returns the model's action for the message of this number, after a tool had its result or before.
    fn turn(&self, number: u32, has_result: bool) -> Turn {
        match self {
            Self::Calls { calls } => {
                match usize::try_from(number).ok().and_then(|number| calls.get(number)) {
                    Some((tool, arguments)) => {
                        let arguments = serde_json::from_str(arguments).expect("a test's own JSON");
                        Turn::Calls { tool, arguments }
                    }
                    None => Turn::Says { text: self.text(number) },
                }
            }
            Self::Acts { turns } => {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                turns.get(number).or(turns.last()).map_or(Turn::Says { text: ANSWER }, |act| act.turn())
            }
            Self::Plans { texts, command } => {
                match usize::try_from(number).unwrap_or(usize::MAX).checked_sub(texts.len()) {
                    None => Turn::Says { text: texts[usize::try_from(number).unwrap_or_default()] },
                    Some(0) => Turn::Shell { command: (*command).to_owned() },
                    Some(_) => Turn::Says { text: ANSWER },
                }
            }
            Self::EndlessTools => Turn::Shell { command: format!("echo {number}") },
            Self::Spiral { command } => Turn::Shell { command: (*command).to_owned() },
            Self::Wanders { commands } => {
                let number = usize::try_from(number).unwrap_or_default();
                let command = commands.get(number % commands.len().max(1)).copied().unwrap_or_default();
                Turn::Shell { command: command.to_owned() }
            }
            Self::OneTool { command } | Self::Asks { command } if !has_result => {
                Turn::Shell { command: (*command).to_owned() }
            }
            Self::Held { command } if number == 1 => Turn::Shell { command: (*command).to_owned() },
            Self::Turns { count, command, .. } if number < *count => {
                Turn::Shell { command: (*command).to_owned() }
            }
            Self::Turns { count, tool, arguments, .. } if number == *count => {
                Turn::Herder { tool, arguments: serde_json::from_str(arguments).expect("a test's own JSON") }
            }
            Self::Herder { tool, arguments } if !has_result => {
                Turn::Herder { tool, arguments: serde_json::from_str(arguments).expect("a test's own JSON") }
            }
            Self::Success
            | Self::Says { .. }
            | Self::SaysInTurn { .. }
            | Self::OneTool { .. }
            | Self::Held { .. }
            | Self::Asks { .. }
            | Self::Herder { .. }
            | Self::Turns { .. }
            | Self::Refuses { .. }
            | Self::Full
            | Self::Cut
            | Self::Hang
            | Self::Silent => Turn::Says { text: self.text(number) },
        }
    }
}

/// A running server; it ends with the runtime it was started on.
#[derive(Debug)]
pub(crate) struct ModelApi {
    /// The value of `ANTHROPIC_BASE_URL` and `GOOGLE_GEMINI_BASE_URL`; OpenAI's is `/v1` below it.
    pub(crate) url: String,
    heard: Arc<Heard>,
}

/// The requests that the model received.
#[derive(Debug, Default)]
struct Heard {
    messages: AtomicU32,
    last: Mutex<String>,
    credential: Mutex<String>,
    released: Notify,
    thinks: watch::Sender<bool>,
    /// The number of requests so far.
    taken: watch::Sender<u32>,
}

impl Heard {
    /// Takes in a request for a message: its number.
    fn take(&self, request: &Request) -> u32 {
        String::from_utf8_lossy(&request.body)
            .as_ref()
            .clone_into(&mut self.last.lock().expect("nobody panics with it"));
        request.credential.clone_into(&mut self.credential.lock().expect("nobody panics with it"));
        let number = self.messages.fetch_add(1, Ordering::SeqCst);
        self.taken.send_replace(number + 1);
        number
    }
}

/// The model's text in a successful answer.
pub(crate) const ANSWER: &str = "Hello from the model.";

impl ModelApi {
    /// Listens on a free port of loopback.
    pub(crate) async fn start(scenario: Scenario) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is up");
        let url = format!("http://{}", listener.local_addr().expect("a bound socket has an address"));
        let heard = Arc::new(Heard::default());
        let hears = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (scenario, heard) = (scenario.clone(), Arc::clone(&hears));
                // A client that goes away in mid-answer is its own business.
                tokio::spawn(async move { drop(connection(stream, &scenario, &heard).await) });
            }
        });
        Self { url, heard }
    }

    /// The last request for a message.
    pub(crate) fn last(&self) -> String {
        self.heard.last.lock().expect("nobody panics with it").clone()
    }

    /// Waits for a request for a message that has all these words, and returns it.
    pub(crate) async fn hears(&self, words: &[&str]) -> String {
        let mut taken = self.heard.taken.subscribe();
        loop {
            taken.borrow_and_update();
            let last = self.last();
            if words.iter().all(|word| last.contains(word)) {
                return last;
            }
            taken.changed().await.expect("this keeps the sender");
        }
    }

    /// Sets whether [`Scenario::Wanders`] holds its answers back.
    pub(crate) fn thinks(&self, thinks: bool) {
        self.heard.thinks.send_replace(thinks);
    }

    /// Lets [`Scenario::Held`] answer.
    pub(crate) fn release(&self) {
        self.heard.released.notify_one();
    }

    /// The credential that came with it, as the header has it.
    pub(crate) fn credential(&self) -> String {
        self.heard.credential.lock().expect("nobody panics with it").clone()
    }

    /// Returns the number of messages that were asked for.
    pub(crate) fn messages(&self) -> u32 {
        self.heard.messages.load(Ordering::SeqCst)
    }
}

/// The kinds of API, by where they are asked for a message.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Messages,
    Responses,
    Chat,
    Generate { streaming: bool },
}

impl Kind {
    fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/messages" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            "/v1/chat/completions" => Some(Self::Chat),
            _ if path.ends_with(":streamGenerateContent") => Some(Self::Generate { streaming: true }),
            _ if path.ends_with(":generateContent") => Some(Self::Generate { streaming: false }),
            _ => None,
        }
    }

    /// Returns whether the agent asks: these CLIs also let models name and route their conversations.
    fn is_work(self, asked: &Value) -> bool {
        match self {
            Self::Messages | Self::Responses => true,
            Self::Chat | Self::Generate { .. } => {
                asked["tools"].as_array().is_some_and(|tools| !tools.is_empty())
            }
        }
    }
}

async fn connection(stream: TcpStream, scenario: &Scenario, heard: &Heard) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await? {
        let path = request.target.split('?').next().unwrap_or_default();
        let Some(kind) = Kind::of(path) else {
            if path == "/v1/messages/count_tokens" {
                respond(&mut stream, 200, &[], &json!({ "input_tokens": 1200 })).await?;
            } else {
                let nothing = error("not_found_error", "there is no such thing");
                respond(&mut stream, 404, &[], &nothing).await?;
            }
            continue;
        };
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let work = kind.is_work(&asked);
        let number = if work { heard.take(&request) } else { heard.messages.load(Ordering::SeqCst) };
        // Requests beside the work are answered whatever happens to the work, unless it is refused: then they are
        // refused too.
        let scenario = match scenario {
            Scenario::Refuses { .. } => scenario,
            _ if work => scenario,
            _ => &Scenario::Success,
        };
        if *scenario == Scenario::Silent {
            std::future::pending::<()>().await;
        }
        if matches!(scenario, Scenario::Wanders { .. }) {
            let mut thinks = heard.thinks.subscribe();
            thinks.wait_for(|thinks| !thinks).await.expect("it is there");
        }
        if matches!(scenario, Scenario::Held { .. }) && number == 0 {
            heard.released.notified().await;
        }
        let answered = match kind {
            Kind::Messages => message(&mut stream, &asked, scenario, number).await?,
            Kind::Responses => responses::answer(&mut stream, &asked, scenario, number).await?,
            Kind::Chat => chat::answer(&mut stream, &asked, scenario, number).await?,
            Kind::Generate { streaming } => {
                generate::answer(&mut stream, &asked, streaming, scenario, number).await?
            }
        };
        if answered.is_none() {
            return Ok(());
        }
    }
    Ok(())
}

/// Arguments with the places in them: the CLI names them in what it asks.
fn placed(arguments: &Value, asked: &Value) -> Value {
    let (text, asked) = (arguments.to_string(), asked.to_string());
    if !text.contains("$PLAN") {
        return arguments.clone();
    }
    let begins = |at: usize| asked[..at].rfind(['"', '`', ' ', '\\']).map_or(0, |before| before + 1);
    let folders = asked.match_indices("/plans/").map(|(at, folder)| (begins(at), at + folder.len()));
    let file = folders.clone().find_map(|(from, to)| {
        let rest = &asked[to..];
        let end = rest.find(".md").filter(|end| !rest[..*end].contains(['"', '`', ' ', '\\']))?;
        Some(asked[from..to + end + 3].to_owned())
    });
    let folder = folders.map(|(from, to)| asked[from..to].to_owned()).next();
    let text =
        text.replace("$PLANS/", &folder.unwrap_or_default()).replace("$PLAN", &file.unwrap_or_default());
    serde_json::from_str(&text).expect("a path needs no quotes")
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_test" })
}

/// Answers a request for a message; `None`: the connection is not to be used any more.
async fn message(
    stream: &mut BufReader<TcpStream>,
    asked: &Value,
    scenario: &Scenario,
    number: u32,
) -> std::io::Result<Option<()>> {
    let streaming = asked["stream"] == true;
    if let Scenario::Refuses { status, headers, kind, message } = scenario {
        respond(stream, *status, headers, &error(kind, message)).await?;
        return Ok(Some(()));
    }
    let had_result = asked["messages"].to_string().contains("tool_result") || goes_on(&asked["messages"]);
    let has_result = had_result && !is_told_anew(asked);
    let call = |name: String, input: Value| json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input });
    let block = match scenario.turn(number, has_result) {
        Turn::Shell { command } => {
            call("Bash".to_owned(), json!({ "command": command, "description": "does something" }))
        }
        Turn::Herder { tool, arguments } => call(format!("mcp__herder__{tool}"), arguments),
        Turn::Calls { tool, arguments } => call(tool.to_owned(), placed(&arguments, asked)),
        Turn::Says { text } => json!({ "type": "text", "text": text }),
    };
    let model = asked["model"].as_str().unwrap_or("model");
    if !streaming {
        if *scenario == Scenario::Cut {
            return Ok(None);
        }
        if *scenario == Scenario::Hang {
            std::future::pending::<()>().await;
        }
        respond(stream, 200, &[], &whole(model, &block, number)).await?;
        return Ok(Some(()));
    }
    stream_events(stream, scenario, &named(&events(model, &block, number)), 3).await?;
    Ok(None)
}

/// Returns whether a session continues that was killed in the middle of a call: its CLI may not have stored the call.
fn goes_on(conversation: &Value) -> bool {
    conversation.to_string().contains("Go on.")
}

/// Returns whether the last message holds more than a tool's result: a session that continues after a cut.
fn is_told_anew(asked: &Value) -> bool {
    let last = asked["messages"].as_array().and_then(|messages| messages.last());
    let blocks = last.and_then(|message| message["content"].as_array()).into_iter().flatten();
    let mut texts = blocks.filter_map(|block| block["text"].as_str());
    texts.any(|text| text.contains("make it"))
}

/// Events as they are streamed where each has a name.
fn named(events: &[Value]) -> Vec<String> {
    let frame = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(frame).collect()
}

/// Streams `frames`; where the stream is to break, the first few of them.
async fn stream_events(
    stream: &mut BufReader<TcpStream>,
    scenario: &Scenario,
    frames: &[String],
    before_the_break: usize,
) -> std::io::Result<()> {
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        .await?;
    let breaks = matches!(scenario, Scenario::Cut | Scenario::Hang);
    let kept = if breaks { before_the_break } else { frames.len() };
    for frame in &frames[..kept] {
        stream.write_all(frame.as_bytes()).await?;
    }
    stream.flush().await?;
    if *scenario == Scenario::Hang {
        std::future::pending::<()>().await;
    }
    if *scenario == Scenario::Cut {
        // A reset instead of an orderly end: what a crashed proxy looks like.
        stream.get_ref().set_zero_linger()?;
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
