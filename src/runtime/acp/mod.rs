//! Runtime `acp`: any agent that speaks the Agent Client Protocol, version 1 (JSON-RPC, one message per line).
//!
//! ```text
//!   initialize ──► session/new ─────────────────► mode, model ──► session/prompt ──► session/update … stopReason
//!                  session/load ─► gone: session/new ┘                 └ session/cancel, session/request_permission
//! ```
//!
//! Each process has one conversation and one turn. The protocol does not define a second prompt during a turn (one
//! agent cancels the first), so messages wait for the next session. An urgent message cancels the turn with
//! `session/cancel`, and the next prompt starts with it ([`telling`]). The protocol has no error kinds either: see
//! [`classify`]. Peculiarities of known agents are listed in [`quirks`]. herder offers agents neither files nor
//! terminals, because they have their own.

mod asking;
mod calls;
pub mod classify;
mod content;
mod ending;
mod known;
mod planning;
pub mod quirks;
mod staying;
mod telling;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::classify::{is_limit, last_known, last_of, left};
use super::command::EXIT_DO_NOT_RESTART;
use super::inbox::Pictures;
use super::protocol::{self, Feed, Happening, Invocation, Protocol, Steering};
use super::rpc::{self, Id, Requests};
use super::text::{LINE_MAX, RAW_MAX, Tail, both_ends_kept, bounded, grow, one_line, raw_line};
use super::{Access, Launch, Local, Picture, anew};
use crate::core::ask::{AskKey, Told};
use crate::core::detail::{Detail, Own};
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Exit, Outcome, Usage};
use crate::core::spec::AgentSpec;
use crate::core::tools::SERVER;
use crate::core::usage::Reading;
use crate::redact::Redactor;
use asking::Asking;
use calls::Calls;
use classify::Failure;
use ending::outcome_of;
use known::Announced;
use planning::Planning;
use quirks::Quirks;
use telling::Telling;

/// Version of the Agent Client Protocol that herder speaks.
const VERSION: i64 = 1;

/// Maximum length of the final text that is kept, in bytes; the longest answers have a few kilobytes.
const TEXT_MAX: usize = 64 * 1024;

/// State of the Agent Client Protocol in one session.
#[derive(Debug)]
pub struct Acp {
    redactor: Redactor,
    planning: Planning,
    spec: Arc<AgentSpec>,
    /// herder's tool server, in the protocol's form; `None` if it is not offered to the agent.
    tool_server: Option<Value>,
    asking: Asking,
    calls: Calls,
    announced: Announced,
    conversation: Option<String>,
    quirks: Quirks,
    prompt: String,
    /// End of the earlier conversation, put before the prompt if that conversation cannot be resumed.
    past: Option<String>,
    requests: Requests<Asked>,
    /// Requests that set up the session before its work starts.
    steps: VecDeque<(Asked, &'static str, Value)>,
    session: Option<String>,
    /// True once the turn has started; before that, the agent may replay the earlier conversation, which is ignored.
    prompted: bool,
    cancelled: bool,
    telling: Telling,
    /// The text of the message that is arriving in pieces.
    words: String,
    message: String,
    /// The latest piece of text, unchanged: it may be a complete error after other pieces.
    last_piece: String,
    last_words: Option<String>,
    /// The agent's latest plan, as a list of steps.
    plan: Option<String>,
    /// True if the agent called a tool, or asked for permission.
    acted: bool,
    /// Number of messages since the last action, and of those among them that are summaries of the conversation.
    in_a_row: u32,
    summaries: u32,
    /// True if the turn was cancelled because it looped.
    circles: bool,
    /// True if the agent's own state says that the turn failed.
    broken: bool,
    /// Cost of the conversation before this session, in dollars, because agents report the total of the conversation.
    spent_before: f64,
    /// Cost of the conversation before this session by herder's own records, in dollars, for agents that do not report
    /// it.
    conversed_usd: f64,
    /// True if the agent reports its cost.
    names_cost: bool,
    usage: Usage,
    /// True if the agent reports the tokens of each model call, and not only of the turn.
    counts_calls: bool,
    /// Tokens of the last turn, or of the last model call in it.
    turn: Usage,
    model: String,
    /// True if the agent takes pictures.
    sees: bool,
    pictures: Pictures,
    turns: u32,
    result: Option<Outcome>,
}

/// The kind of a request that herder sent, by which its response is handled.
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
    /// Returns the command to run for `launch`, and the state of its protocol.
    ///
    /// # Errors
    /// The agent has no command.
    pub fn prepare(
        launch: &Launch,
        local: &Local,
        mut environment: BTreeMap<String, String>,
    ) -> Result<(Invocation, Self), Detail> {
        let Some((program, arguments)) = launch.spec.command.split_first() else {
            return Err(Own::NoCommand.into());
        };
        let quirks = Quirks::of_program(program);
        Quirks::furnish_to_ask(program, &mut environment);
        let invocation =
            Invocation { program: program.clone(), arguments: arguments.to_vec(), environment, waits: false };
        let acp = Self {
            redactor: local.redactor.clone(),
            planning: Planning::default(),
            spec: Arc::clone(&launch.spec),
            tool_server: local.tools.as_ref().map(|access| tool_server(access, &launch.marker)),
            asking: Asking::of(launch),
            calls: Calls::default(),
            announced: Announced::default(),
            conversation: launch.conversation.clone(),
            quirks,
            prompt: String::new(),
            past: launch.past.clone(),
            requests: Requests::default(),
            steps: VecDeque::new(),
            session: None,
            prompted: false,
            cancelled: false,
            telling: Telling::default(),
            words: String::new(),
            message: String::new(),
            last_piece: String::new(),
            last_words: None,
            plan: None,
            acted: false,
            in_a_row: 0,
            summaries: 0,
            circles: false,
            broken: false,
            spent_before: 0.0,
            conversed_usd: launch.conversed.cost_usd - launch.conversed.estimated_usd,
            names_cost: false,
            usage: Usage::default(),
            counts_calls: false,
            turn: Usage::default(),
            model: String::new(),
            sees: false,
            pictures: Pictures::default(),
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
                None => self.give_up(Category::Permanent, Own::NoConversation, happened),
            },
            Asked::Load => {
                let session = self.conversation.take().unwrap_or_default();
                if self.spent_before == 0.0 {
                    self.spent_before = self.conversed_usd;
                }
                self.opened(session, answer, happened);
            }
            Asked::Mode | Asked::Model => self.step(happened),
            Asked::Prompt => self.stopped(answer, happened),
        }
    }

    fn introduced(&mut self, answer: &wire::Answer<'_>, happened: &mut Vec<Happening>) {
        let version = answer.protocol_version.integer();
        if version != Some(VERSION) {
            let other = Own::OtherProtocol { spoken: version, ours: VERSION };
            self.give_up(Category::Permanent, other, happened);
            return;
        }
        if let Some(name) = answer.agent_info.0.as_ref().and_then(|info| info.name.text()) {
            self.quirks = Quirks::of(name);
        }
        let can = answer.agent_capabilities.0.as_ref();
        let loads = can.is_some_and(|can| can.load_session.is_true());
        self.sees = can.is_some_and(wire::Capabilities::takes_pictures);
        let request = match self.conversation.clone().filter(|_| loads) {
            Some(conversation) => {
                let mut parameters = self.place();
                parameters["sessionId"] = json!(conversation);
                self.requests.ask(Asked::Load, "session/load", &parameters)
            }
            None => self.open_anew(),
        };
        happened.push(Happening::Reply(request));
    }

    /// Returns the request for a new conversation, whose prompt starts with the end of the earlier one, if there was one.
    fn open_anew(&mut self) -> Vec<u8> {
        self.conversation = None;
        self.prompt = anew(self.past.take().as_deref(), &self.prompt);
        self.requests.ask(Asked::New, "session/new", &self.place())
    }

    fn place(&self) -> Value {
        let servers: Vec<&Value> = self.tool_server.iter().collect();
        json!({ "cwd": self.spec.workspace, "mcpServers": servers })
    }

    /// Handles the opened conversation: sets the mode and model, then starts the work.
    fn opened(&mut self, session: String, answer: &wire::Answer<'_>, happened: &mut Vec<Happening>) {
        if !self.set_mode(&session, answer, happened) {
            return;
        }
        let model = self.spec.model.clone();
        if model.is_empty() {
            // Keeps the agent's default model.
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

    /// Sends the next setup request, or starts the work.
    fn step(&mut self, happened: &mut Vec<Happening>) {
        match self.steps.pop_front() {
            Some((asked, method, parameters)) => {
                happened.push(Happening::Reply(self.requests.ask(asked, method, &parameters)));
            }
            None => self.begin(happened),
        }
    }

    /// Returns the line that cancels the turn so that waiting messages can be delivered; `None` while a tool call is
    /// open or a question waits for a person.
    fn cut_short(&mut self) -> Option<Vec<u8>> {
        let busy = self.calls.is_open() || self.asking.is_open();
        if !self.telling.wants_to_cut() || busy || self.cancelled || self.result.is_some() {
            return None;
        }
        let session = self.session.as_ref()?;
        self.telling.cut();
        Some(cancel(session))
    }

    fn begin(&mut self, happened: &mut Vec<Happening>) {
        let Some(session) = self.session.clone() else { return };
        let (text, pictures) = (std::mem::take(&mut self.prompt), std::mem::take(&mut self.pictures.prompt));
        let prompt = content::prompt(&text, pictures.iter().filter(|_| self.sees));
        let parameters = json!({ "sessionId": session, "prompt": prompt });
        if !self.prompted {
            happened.push(Happening::Ready { conversation: Some(session) });
            happened.push(Happening::TurnStarted);
        }
        self.prompted = true;
        happened.push(Happening::Reply(self.requests.ask(Asked::Prompt, "session/prompt", &parameters)));
    }

    fn refused(&mut self, asked: Asked, failure: &Failure, happened: &mut Vec<Happening>) {
        let said = raw_line(&failure.text);
        match asked {
            Asked::Load if failure.loses_conversation() => {
                happened.push(Happening::ConversationLost { why: said });
                happened.push(Happening::Reply(self.open_anew()));
            }
            Asked::Mode if self.planning.plans() => {
                self.give_up(Category::Permanent, Own::NoPlanMode.with(said), happened);
            }
            // Not fatal: the agent asks more often than necessary, and gets its answers.
            Asked::Mode => {
                happened.push(Happening::Note(format!("the mode stays as it was: {said}")));
                self.step(happened);
            }
            Asked::Model => {
                let detail = Own::ModelNotSet { model: one_line(&self.spec.model, 100) }.with(said);
                self.give_up(Category::Permanent, detail, happened);
            }
            // A cancelled turn must not return an error, but does with some agents.
            Asked::Prompt if self.circles => self.circled(happened),
            Asked::Prompt if self.telling.was_cut() && !self.cancelled => self.go_on(happened),
            Asked::Prompt if self.goes_on_planning(happened) => {}
            Asked::Initialize | Asked::New | Asked::Load | Asked::Prompt => self.failed(failure, happened),
        }
    }

    fn news(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let open = self.session.as_deref().or(self.conversation.as_deref());
        let ours = params.session_id.text().is_some() && params.session_id.text() == open;
        let Some(update) = params.update.0.as_ref().filter(|_| ours) else { return };
        let kind = update.session_update.text_or_empty();
        // Output and actions of the agent itself, in contrast to information about the session.
        if matches!(
            kind,
            "agent_message_chunk" | "agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan"
        ) {
            self.telling.arrived(happened);
        }
        match kind {
            "agent_message_chunk" if self.prompted => {
                self.piece(update, happened);
                let tokens = update.meta.0.as_ref().and_then(|meta| meta.usage.0.as_ref());
                if let Some(tokens) = tokens.filter(|tokens| tokens.total_tokens.count() > 0) {
                    self.counts_calls = true;
                    self.count(tokens);
                    self.progress(happened);
                }
            }
            "tool_call" if self.prompted => {
                self.telling.begins(happened);
                self.acts(update, happened);
                self.announced.news(update);
                self.asking.writes(update);
                self.calls.news(update, happened);
            }
            "tool_call_update" if self.prompted => {
                if !update.raw_input.json().is_empty() {
                    self.calls.told(update, happened);
                }
                self.asking.writes(update);
                self.announced.news(update);
                self.calls.news(update, happened);
            }
            "plan" if self.prompted => self.plan = content::plan(&update.entries.0),
            "usage_update" => self.spent(update, happened),
            "session_info_update" => {
                let codex = update.meta.0.as_ref().and_then(|meta| meta.codex.0.as_ref());
                let state = codex.and_then(|codex| codex.thread_status.0.as_ref());
                if state.is_some_and(|state| state.kind.text() == Some("systemError")) {
                    // Text after this is the reason.
                    self.flush(happened);
                    self.broken = true;
                }
            }
            // Thoughts, plans, commands, modes, and later additions: only a sign of life.
            _ => {}
        }
    }

    fn piece(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let message = update.message_id.text_or_empty();
        if self.message != message {
            self.flush(happened);
            self.message = bounded(message, LINE_MAX).to_owned();
        }
        let piece = update.content.0.first().map(content::text).unwrap_or_default();
        grow(&mut self.words, &piece, TEXT_MAX, &self.redactor);
        if !piece.trim().is_empty() {
            bounded(&piece, RAW_MAX).clone_into(&mut self.last_piece);
        }
    }

    /// Ends the current message and reports it.
    fn flush(&mut self, happened: &mut Vec<Happening>) {
        let words = both_ends_kept(&std::mem::take(&mut self.words), TEXT_MAX, &self.redactor);
        if !words.trim().is_empty() {
            let sums_up =
                self.quirks.sums_up_by.is_some_and(|parts| parts.iter().all(|part| words.contains(part)));
            self.summaries += u32::from(sums_up);
            self.last_words = Some(words.clone());
            happened.push(Happening::Words(words));
            self.in_a_row += 1;
            self.look_for_circles(happened);
        }
    }

    /// Handles a tool call of the agent, or its request for permission.
    fn acts(&mut self, call: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        self.flush(happened);
        (self.in_a_row, self.summaries) = (0, 0);
        self.acted = true;
        self.calls.told(call, happened);
    }

    fn spent(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let cost = update.cost.0.as_ref().filter(|cost| cost.currency.text() == Some("USD"));
        let Some(amount) = cost.and_then(|cost| cost.amount.number()) else { return };
        let amount = amount.max(0.0);
        self.names_cost |= amount > 0.0;
        if self.prompted {
            // An agent that reports less than was known before has lost a part, and counts on from there.
            self.spent_before = self.spent_before.min(amount);
            self.usage.cost_usd = self.usage.cost_usd.max(amount - self.spent_before);
            self.progress(happened);
        } else {
            self.spent_before = amount;
        }
    }

    fn progress(&self, happened: &mut Vec<Happening>) {
        let unpriced = if self.names_cost { Usage::default() } else { self.usage };
        let (usage, model, turn) = (self.usage, self.model.clone(), self.turn);
        let reading = Reading { usage, unpriced, model, turn };
        happened.push(Happening::Progress { turns: self.turns, reading });
    }
}

fn cancel(session: &str) -> Vec<u8> {
    rpc::notification("session/cancel", Some(&json!({ "sessionId": session })))
}

/// Returns the entry for herder's tool server, which the agent uses beside the user's own servers.
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
        self.pictures.are_of_prompt();
        let parameters = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false,
                "elicitation": { "form": {} },
            },
            "clientInfo": { "name": "herder", "title": "herder", "version": env!("CARGO_PKG_VERSION") },
        });
        Feed { bytes: self.requests.ask(Asked::Initialize, "initialize", &parameters), close: false }
    }

    fn show(&mut self, pictures: Vec<Picture>) {
        self.pictures.shown = pictures;
    }

    fn steer(&mut self, _work: WorkId, _text: &str) -> Steering {
        Steering::Refused
    }

    fn insist(&mut self, work: WorkId, text: &str) -> Steering {
        let told = self.quirks.prompted_again && !self.telling.is_deaf() && self.session.is_some();
        if !(told && self.prompted && !self.cancelled && self.result.is_none()) {
            return Steering::Refused;
        }
        self.telling.add(work, text, std::mem::take(&mut self.pictures.shown));
        Steering::Asked(self.cut_short().unwrap_or_default())
    }

    fn stays(&self) -> bool {
        self.session.is_some()
            && self.result.as_ref().is_some_and(|result| result.category == Category::Success)
    }

    fn between(&mut self, line: &[u8]) -> bool {
        let (mut mended, mut happened) = (Vec::new(), Vec::new());
        let read = protocol::read(line, &mut mended, wire::parse, &mut happened);
        // A request wants an answer from a session that is over.
        read.is_none_or(|line| line.method.text().is_none() || Id::of(&line.id).is_none())
    }

    fn again(&mut self, launch: &Launch, happened: &mut Vec<Happening>) {
        self.takes_up(launch);
        self.step(happened);
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        let session = self.session.as_ref().filter(|_| self.prompted)?;
        self.cancelled = true;
        Some(cancel(session))
    }

    fn answer(&mut self, key: AskKey, told: &Told, happened: &mut Vec<Happening>) {
        let plan = self.asking.plan(key);
        let call = self.asking.answer(key, told, happened);
        if let Some(call) = call.filter(|_| *told != Told::Yes) {
            self.calls.refused(call);
        }
        if let Some(own) = plan {
            self.planned(told, own, happened);
        }
    }

    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut mended = Vec::new();
        let Some(line) = protocol::read(line, &mut mended, wire::parse, happened) else { return };
        self.calls.settle(happened);
        let nothing = wire::Params::default();
        let params = line.params.0.as_ref().unwrap_or(&nothing);
        match (line.method.text(), Id::of(&line.id)) {
            // The protocol requires this answer for a turn that is being cancelled.
            (Some("session/request_permission"), Some(id)) if self.telling.cuts() => {
                self.telling.begins(happened);
                if let Some(call) = params.tool_call.0.as_ref() {
                    self.calls.refused(calls::id_of(call));
                }
                happened.push(Happening::Note("a question was cancelled with its turn".to_owned()));
                happened.push(Happening::Reply(asking::cancelled(&id)));
            }
            (Some("session/request_permission"), Some(id)) => {
                let nothing = wire::Update::default();
                let call = params.tool_call.0.as_ref().unwrap_or(&nothing);
                if self.prompted && params.tool_call.0.is_some() {
                    self.acts(call, happened);
                }
                let known = (calls::id_of(call), &self.announced.joined(call));
                if let Some(call) = self.asking.request(&id, params, known, happened) {
                    self.calls.refused(call);
                }
            }
            // The old and the new name of the method.
            (Some("session/elicitation" | "elicitation/create"), Some(id)) => {
                self.asking.elicit(&id, params, happened);
            }
            (Some(method), Some(id)) => happened.push(Happening::Reply(rpc::not_offered(&id, method))),
            (Some("session/update"), None) => self.news(params, happened),
            (Some(_), None) => {}
            (None, Some(_)) => self.answered(&line, happened),
            (None, None) => happened.push(Happening::Malformed),
        }
        happened.extend(self.cut_short().map(Happening::Reply));
    }

    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let mut outcome = self.result.take().unwrap_or_else(|| {
            let known = match exit {
                // Exit code 2 asks not to be restarted, regardless of the output.
                Some(Exit::Code(0 | EXIT_DO_NOT_RESTART) | Exit::Signal(_)) | None => None,
                Some(Exit::Code(_)) => last_known(stderr, |line| Failure::said(line).category()),
            };
            left(exit, known, stderr)
        });
        if outcome.detail.is(&Own::NothingSaid) {
            outcome = self.explained(outcome, stderr);
        }
        outcome.turns = self.turns;
        outcome.usage = self.usage;
        outcome
    }

    /// Returns the limit that the agent waits for; retries are visible on standard error only, if at all.
    fn stalled(&self, stderr: &Tail) -> Option<Outcome> {
        let outcome = outcome_of(&Failure::said(stderr.newest().next_back()?));
        is_limit(outcome.category).then_some(outcome)
    }

    fn was_stalled(&self, stderr: &Tail) -> Option<Outcome> {
        let limit = |line: &str| Failure::said(line).category().filter(|category| is_limit(*category));
        // A limit followed by more work was over by then.
        last_of(stderr.newest(), limit).filter(|_| self.quirks.tells_when_it_leaves)
    }

    fn leaves_within(&self) -> Option<Duration> {
        self.quirks.leaves_within
    }
}
