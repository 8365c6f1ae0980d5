//! Runtime `acp`: any agent that speaks the Agent Client Protocol, version 1, JSON-RPC over lines.
//!
//! ```text
//!   initialize ──► session/new ─────────────────► mode, model ──► session/prompt ──► session/update … stopReason
//!                  session/load ─► gone: session/new ┘                 └ session/cancel, session/request_permission
//! ```
//!
//! One process has one conversation and one turn of its own. The protocol leaves open what a second prompt does in
//! mid-turn (one agent cancels the first by it), so that messages wait for the next session. It has no kinds of failure
//! either: see [`classify`]; and what is peculiar to the agents that are known stands in [`quirks`]. herder offers them
//! neither files nor terminals: they have their own.

mod asking;
pub mod classify;
pub mod quirks;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::classify::{last_known, left};
use super::command::EXIT_DO_NOT_RESTART;
use super::protocol::{self, Feed, Happening, Invocation, Protocol, Steering};
use super::rpc::{self, Id, Requests};
use super::text::{LINE_MAX, Tail, bounded, one_line};
use super::{Access, Launch};
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Exit, Outcome, Usage};
use crate::core::spec::AgentSpec;
use crate::core::usage::Reading;
use crate::tools::SERVER;
use classify::Failure;
use quirks::Quirks;

/// The version of the protocol that is spoken here.
const VERSION: i64 = 1;

/// The final text that is kept: the longest answers are a few kilobytes.
const TEXT_MAX: usize = 64 * 1024;

/// The reason that is kept, for people: an API's error page is not worth more.
const DETAIL_MAX: usize = 4 * 1024;

/// Speaks with an ACP agent.
#[derive(Debug)]
pub struct Acp {
    spec: Arc<AgentSpec>,
    /// herder's tools, as the protocol names a server.
    tool_server: Option<Value>,
    conversation: Option<String>,
    quirks: Quirks,
    prompt: String,
    requests: Requests<Asked>,
    /// What is set up before the work.
    steps: VecDeque<(Asked, &'static str, Value)>,
    session: Option<String>,
    /// The turn is under way: before it an agent may tell the conversation's past.
    prompted: bool,
    cancelled: bool,
    /// The message that is being said, piece by piece.
    words: String,
    message: String,
    last_words: Option<String>,
    /// The agent's own state says that the turn failed.
    broken: bool,
    /// Money that was spent before the turn.
    spent_before: f64,
    /// The agent names what it costs.
    names_cost: bool,
    usage: Usage,
    model: String,
    turns: u32,
    result: Option<Outcome>,
}

/// What a request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    New,
    Load,
    Mode,
    Model,
    Prompt,
}

impl Acp {
    /// What to run for `launch`.
    ///
    /// # Errors
    /// A sentence, if the agent has no command.
    pub fn prepare(
        launch: &Launch,
        mut environment: BTreeMap<String, String>,
    ) -> Result<(Invocation, Self), String> {
        let Some((program, arguments)) = launch.spec.command.split_first() else {
            return Err(format!("agent {} has no command to run: set `command`", launch.agent));
        };
        let quirks = Quirks::of_program(program);
        for (name, value) in quirks.environment {
            environment.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
        }
        let invocation = Invocation { program: program.clone(), arguments: arguments.to_vec(), environment };
        let acp = Self {
            spec: Arc::clone(&launch.spec),
            tool_server: launch.tools.as_ref().map(|access| tool_server(access, &launch.marker)),
            conversation: launch.conversation.clone(),
            quirks,
            prompt: String::new(),
            requests: Requests::default(),
            steps: VecDeque::new(),
            session: None,
            prompted: false,
            cancelled: false,
            words: String::new(),
            message: String::new(),
            last_words: None,
            broken: false,
            spent_before: 0.0,
            names_cost: false,
            usage: Usage::default(),
            model: String::new(),
            turns: 0,
            result: None,
        };
        Ok((invocation, acp))
    }

    fn answered(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        let Some(asked) = self.requests.answered(&line.id) else { return };
        if let Some(failed) = &line.error.0 {
            self.refused(asked, &Failure::of(failed), happened);
            return;
        }
        let nothing = wire::Answer::default();
        let answer = line.result.0.as_ref().unwrap_or(&nothing);
        match asked {
            Asked::Initialize => self.introduced(answer, happened),
            Asked::New => match answer.session_id.text() {
                Some(session) => self.opened(session.to_owned(), answer, happened),
                None => self.give_up(Category::Permanent, NO_SESSION.to_owned(), happened),
            },
            Asked::Load => {
                let session = self.conversation.take().unwrap_or_default();
                self.opened(session, answer, happened);
            }
            Asked::Mode | Asked::Model => self.step(happened),
            Asked::Prompt => self.stopped(answer, happened),
        }
    }

    fn introduced(&mut self, answer: &wire::Answer<'_>, happened: &mut Vec<Happening>) {
        let version = answer.protocol_version.integer();
        if version != Some(VERSION) {
            let spoken =
                version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
            let detail = format!(
                "the agent speaks {spoken} of the Agent Client Protocol and herder speaks version {VERSION}; \
                 use a release of it that does"
            );
            self.give_up(Category::Permanent, detail, happened);
            return;
        }
        if let Some(name) = answer.agent_info.0.as_ref().and_then(|info| info.name.text()) {
            self.quirks = Quirks::of(name);
        }
        let loads = answer.agent_capabilities.0.as_ref().is_some_and(|can| can.load_session.is_true());
        let request = match self.conversation.clone().filter(|_| loads) {
            Some(conversation) => {
                let mut parameters = self.place();
                parameters["sessionId"] = json!(conversation);
                self.requests.ask(Asked::Load, "session/load", &parameters)
            }
            None => self.requests.ask(Asked::New, "session/new", &self.place()),
        };
        happened.push(Happening::Reply(request));
    }

    fn place(&self) -> Value {
        let servers: Vec<&Value> = self.tool_server.iter().collect();
        json!({ "cwd": self.spec.workspace, "mcpServers": servers })
    }

    /// The conversation is there: it is set up, and the session's work begins.
    fn opened(&mut self, session: String, answer: &wire::Answer<'_>, happened: &mut Vec<Happening>) {
        let modes =
            answer.modes.0.as_ref().map(|modes| modes.available_modes.0.as_slice()).unwrap_or_default();
        let offered = |mode: &&str| modes.iter().any(|offered| offered.id.text() == Some(*mode));
        if let Some(mode) = self.quirks.mode(self.spec.permissions).filter(offered) {
            let parameters = json!({ "sessionId": session, "modeId": mode });
            self.steps.push_back((Asked::Mode, "session/set_mode", parameters));
        }
        let model = self.spec.model.clone();
        if model.is_empty() {
            // The agent's own choice.
        } else if answer.config_options.0.iter().any(|option| option.id.text() == Some("model")) {
            let parameters = json!({ "sessionId": session, "configId": "model", "value": model });
            self.steps.push_back((Asked::Model, "session/set_config_option", parameters));
        } else {
            let parameters = json!({ "sessionId": session, "modelId": model });
            self.steps.push_back((Asked::Model, "session/set_model", parameters));
        }
        self.session = Some(session);
        self.step(happened);
    }

    /// The next thing to set up, or the work.
    fn step(&mut self, happened: &mut Vec<Happening>) {
        match self.steps.pop_front() {
            Some((asked, method, parameters)) => {
                happened.push(Happening::Reply(self.requests.ask(asked, method, &parameters)));
            }
            None => self.begin(happened),
        }
    }

    fn begin(&mut self, happened: &mut Vec<Happening>) {
        let Some(session) = self.session.clone() else { return };
        let parameters = json!({
            "sessionId": session,
            "prompt": [{ "type": "text", "text": std::mem::take(&mut self.prompt) }],
        });
        happened.push(Happening::Ready { conversation: Some(session) });
        happened.push(Happening::TurnStarted);
        self.prompted = true;
        self.spent_before = self.usage.cost_usd;
        self.usage.cost_usd = 0.0;
        happened.push(Happening::Reply(self.requests.ask(Asked::Prompt, "session/prompt", &parameters)));
    }

    fn refused(&mut self, asked: Asked, failure: &Failure, happened: &mut Vec<Happening>) {
        let said = one_line(&failure.text, LINE_MAX);
        match asked {
            Asked::Load => {
                happened.push(Happening::Note(format!("the conversation is begun anew: {said}")));
                self.conversation = None;
                let request = self.requests.ask(Asked::New, "session/new", &self.place());
                happened.push(Happening::Reply(request));
            }
            // It asks more than it would have to, and is answered.
            Asked::Mode => {
                happened.push(Happening::Note(format!("the mode stays as it was: {said}")));
                self.step(happened);
            }
            Asked::Model => {
                let detail = format!("the model {} cannot be set: {said}", one_line(&self.spec.model, 100));
                self.give_up(Category::Permanent, detail, happened);
            }
            Asked::Initialize | Asked::New | Asked::Prompt => self.failed(failure, happened),
        }
    }

    fn news(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let open = self.session.as_deref().or(self.conversation.as_deref());
        let ours = params.session_id.text().is_some() && params.session_id.text() == open;
        let Some(update) = params.update.0.as_ref().filter(|_| ours) else { return };
        match update.session_update.text_or_empty() {
            "agent_message_chunk" if self.prompted => self.piece(update, happened),
            "tool_call" if self.prompted => {
                self.flush(happened);
                let name = update.title.text().or(update.kind.text()).unwrap_or("tool");
                happened.push(Happening::ToolStarted { id: id_of(update), name: one_line(name, 100) });
                self.tool_state(update, happened);
            }
            "tool_call_update" if self.prompted => self.tool_state(update, happened),
            "usage_update" => self.spent(update, happened),
            "session_info_update" => {
                let codex = update.meta.0.as_ref().and_then(|meta| meta.codex.0.as_ref());
                let state = codex.and_then(|codex| codex.thread_status.0.as_ref());
                if state.is_some_and(|state| state.kind.text() == Some("systemError")) {
                    // What it says from here on is why.
                    self.flush(happened);
                    self.broken = true;
                }
            }
            // Thinking, plans, commands, modes, and what is yet to come: proof of life.
            _ => {}
        }
    }

    fn piece(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let message = update.message_id.text_or_empty();
        if self.message != message {
            self.flush(happened);
            self.message = bounded(message, LINE_MAX).to_owned();
        }
        let piece = update.content.0.as_ref().map(|content| content.text.text_or_empty()).unwrap_or_default();
        let room = TEXT_MAX.saturating_sub(self.words.len());
        self.words.push_str(bounded(piece, room));
    }

    /// What was said so far is a message.
    fn flush(&mut self, happened: &mut Vec<Happening>) {
        let words = std::mem::take(&mut self.words);
        if !words.trim().is_empty() {
            self.last_words = Some(words.clone());
            happened.push(Happening::Words(words));
        }
    }

    fn tool_state(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        if matches!(update.status.text_or_empty(), "completed" | "failed") {
            happened.push(Happening::ToolEnded { id: id_of(update) });
        }
    }

    fn spent(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let cost = update.cost.0.as_ref().filter(|cost| cost.currency.text() == Some("USD"));
        if let Some(amount) = cost.and_then(|cost| cost.amount.number()) {
            self.names_cost |= amount > 0.0;
            self.usage.cost_usd = (amount - self.spent_before).max(0.0);
            self.progress(happened);
        }
    }

    fn progress(&self, happened: &mut Vec<Happening>) {
        let unpriced = if self.names_cost { Usage::default() } else { self.usage };
        let reading = Reading { usage: self.usage, unpriced, model: self.model.clone() };
        happened.push(Happening::Progress { turns: self.turns, reading });
    }

    /// The turn is over.
    fn stopped(&mut self, answer: &wire::Answer<'_>, happened: &mut Vec<Happening>) {
        self.turns += 1;
        let quota = answer.meta.0.as_ref().and_then(|meta| meta.quota.0.as_ref());
        let tokens = answer.usage.0.as_ref().or_else(|| quota.and_then(|quota| quota.token_count.0.as_ref()));
        if let Some(tokens) = tokens {
            let (input, output) = (tokens.input_tokens.count(), tokens.output_tokens.count());
            // Where the sum says so, those from the cache are not among those sent.
            self.usage.input_tokens = input.max(tokens.total_tokens.count().saturating_sub(output));
            self.usage.cached_tokens = tokens.cached_read_tokens.count();
            self.usage.output_tokens = output;
        }
        if let Some(model) = quota.and_then(|quota| quota.model_usage.0.first()) {
            self.model = one_line(model.model.text_or_empty(), LINE_MAX);
        }
        self.progress(happened);
        if self.broken && self.quirks.fails_as_words {
            let said = std::mem::take(&mut self.words);
            self.failed(&Failure::said(&said), happened);
            return;
        }
        self.flush(happened);
        let cancelled = self.cancelled && self.quirks.cancelled_as_success;
        let outcome = match answer.stop_reason.text_or_empty() {
            "end_turn" if !cancelled => {
                Outcome { text: self.last_words.clone(), ..Outcome::new(Category::Success, "") }
            }
            "end_turn" | "cancelled" => Outcome::new(Category::Transient, "the turn was cancelled"),
            "max_tokens" => {
                Outcome::new(Category::Transient, "the answer was longer than the model may answer")
            }
            "max_turn_requests" => {
                Outcome::new(Category::MaxTurns, "reached the agent's own maximum number of turns")
            }
            "refusal" => Outcome::new(Category::Permanent, "the model refused"),
            other => {
                let detail = format!("the turn ended as \"{}\"", one_line(other, 100));
                Outcome::new(Category::Transient, detail)
            }
        };
        self.end(outcome, happened);
    }

    /// What no row of the table knows is transient, and shown whole, so that somebody can add the row.
    fn failed(&mut self, failure: &Failure, happened: &mut Vec<Happening>) {
        // Some say the error as the agent's words, too.
        if !self.words.trim().is_empty() && failure.text.contains(self.words.trim()) {
            self.words.clear();
        }
        self.flush(happened);
        let outcome = outcome_of(failure);
        self.end(outcome, happened);
    }

    fn give_up(&mut self, category: Category, detail: String, happened: &mut Vec<Happening>) {
        self.end(Outcome::new(category, one_line(&detail, DETAIL_MAX)), happened);
    }

    fn end(&mut self, outcome: Outcome, happened: &mut Vec<Happening>) {
        self.result = Some(outcome);
        happened.push(Happening::TurnEnded);
    }
}

const NO_SESSION: &str = "the agent opened no session, or one without an id";

fn outcome_of(failure: &Failure) -> Outcome {
    let known = failure.category();
    let code = if known.is_none() && !failure.code.is_empty() {
        format!(" (code {})", failure.code)
    } else {
        String::new()
    };
    let detail = one_line(&format!("{}{code}", failure.text), DETAIL_MAX);
    Outcome::new(known.unwrap_or(Category::Transient), detail)
}

fn id_of(update: &wire::Update<'_>) -> String {
    bounded(update.tool_call_id.text_or_empty(), LINE_MAX).to_owned()
}

/// herder's tool server beside those of the user's own.
fn tool_server(access: &Access, marker: &str) -> Value {
    let environment = access.environment(marker).map(|(name, value)| json!({ "name": name, "value": value }));
    json!({ "name": SERVER, "command": access.program, "args": ["mcp"], "env": environment })
}

impl Protocol for Acp {
    fn ready_at_start(&self) -> bool {
        false
    }

    fn prompt(&mut self, prompt: &str) -> Feed {
        prompt.clone_into(&mut self.prompt);
        let parameters = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "herder", "title": "herder", "version": env!("CARGO_PKG_VERSION") },
        });
        Feed { bytes: self.requests.ask(Asked::Initialize, "initialize", &parameters), close: false }
    }

    fn steer(&mut self, _work: WorkId, _text: &str) -> Steering {
        Steering::Refused
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        let session = self.session.as_ref().filter(|_| self.prompted)?;
        self.cancelled = true;
        Some(rpc::notification("session/cancel", Some(&json!({ "sessionId": session }))))
    }

    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let Some(line) = protocol::read(line, wire::parse, happened) else { return };
        let nothing = wire::Params::default();
        let params = line.params.0.as_ref().unwrap_or(&nothing);
        match (line.method.text(), Id::of(&line.id)) {
            (Some("session/request_permission"), Some(id)) => {
                asking::answer(&self.spec, &id, params, happened);
            }
            (Some(method), Some(id)) => happened.push(Happening::Reply(rpc::not_offered(&id, method))),
            (Some("session/update"), None) => self.news(params, happened),
            (Some(_), None) => {}
            (None, Some(_)) => self.answered(&line, happened),
            (None, None) => happened.push(Happening::Malformed),
        }
    }

    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let mut outcome = self.result.take().unwrap_or_else(|| {
            let known = match exit {
                // Code 2 asks not to be restarted, whatever was said.
                Some(Exit::Code(0 | EXIT_DO_NOT_RESTART) | Exit::Signal(_)) | None => None,
                Some(Exit::Code(_)) => last_known(stderr, |line| Failure::said(line).category()),
            };
            left(exit, known, stderr)
        });
        outcome.turns = self.turns;
        outcome.usage = self.usage;
        outcome
    }

    /// Retries are said on standard error alone, if at all.
    fn stalled(&self, stderr: &Tail) -> Option<Outcome> {
        let outcome = outcome_of(&Failure::said(stderr.last()?));
        matches!(outcome.category, Category::RateLimit | Category::Quota).then_some(outcome)
    }

    fn leaves_within(&self) -> Option<Duration> {
        self.quirks.leaves_within
    }
}
