//! Runtime `codex`: the app server of the Codex CLI (JSON-RPC, one message per line).
//!
//! ```text
//!   initialize ──► thread/start ─────────────────────► turn/start ──► items, deltas, tokens … turn/completed
//!                  thread/resume ──► gone: thread/start ┘                └ turn/steer, turn/interrupt, questions
//! ```
//!
//! Each process has one conversation and one turn. The conversation's sandbox enforces the agent's permissions;
//! people are asked about requests beyond them (`asking`). A message during a turn is delivered once the server
//! confirms it; until then it stays queued. After the turn, standard input is closed and the server exits. The server
//! itself retries failed requests: if it goes silent during retries, they are the reason.

mod asking;
pub mod classify;
mod items;
mod limits;
mod meter;
mod opening;
mod planning;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use super::classify::{is_limit, last_known, left};
use super::inbox::Pictures;
use super::protocol::{self, Feed, Happening, Invocation, Protocol, Steering};
use super::rpc::{self, Id, Requests};
use super::text::{LINE_MAX, RAW_MAX, Tail, both_ends_kept, bounded, kept_word, one_line, raw_line};
use super::{Launch, Local, Picture, anew};
use crate::core::ask::{AskKey, Told};
use crate::core::detail::Own;
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Exit, Outcome, Usage};
use crate::core::usage::Reading;
use crate::redact::Redactor;
use asking::Asking;
use classify::Failure;
use items::{Announced, id_of, tokens, tool};
use limits::Limits;
use meter::Meter;
use opening::{Opening, input, quiet};
use planning::Planning;

/// Name of the default program.
pub const PROGRAM: &str = "codex";

/// Argument that starts codex as an app server.
const SERVER: &str = "app-server";

/// Default settings as arguments: no network traffic except the model's, unless the configured command sets them
/// itself.
pub const QUIET: [&str; 3] =
    ["check_for_update_on_startup=false", "analytics.enabled=false", "feedback.enabled=false"];

/// Maximum length of the final text that is kept, in bytes; the longest answers have a few kilobytes.
const TEXT_MAX: usize = 64 * 1024;

/// Maximum number of messages that wait until the server has given the turn an id; a person types one or two in that
/// time.
const HELD_MAX: usize = 64;

/// State of the protocol of `codex app-server` in one session.
#[derive(Debug)]
pub struct Codex {
    redactor: Redactor,
    /// State of the plan that the work begins with; `None` if it begins without one.
    planning: Option<Planning>,
    opening: Opening,
    asking: Asking,
    max_turns: u32,
    prompt: String,
    /// End of the earlier conversation, put before the prompt if that conversation cannot be resumed.
    past: Option<String>,
    requests: Requests<Asked>,
    thread: Option<String>,
    turn: Option<String>,
    held: VecDeque<(WorkId, Vec<Value>)>,
    /// The message that is arriving in pieces.
    partial: String,
    last_words: Option<String>,
    /// The announced file changes of this conversation and of those of its subagents.
    files: Announced,
    /// True if the model's last output was a tool call, so that another model call follows.
    goes_on: bool,
    turn_limit_reached: bool,
    /// The failure that the server is retrying; cleared by any other notification.
    retrying: Option<Failure>,
    limits: Limits,
    /// True if the account's limits were requested, because a limit ended the turn and its end is not known.
    limits_asked: bool,
    meter: Meter,
    /// Name of the conversation's model.
    model: String,
    pictures: Pictures,
    turns: u32,
    /// Tokens of the model's last call.
    last: Usage,
    result: Option<Outcome>,
}

/// The kind of a request that herder sent, by which its response is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    Thread { resuming: bool },
    Turn,
    Steer(WorkId),
    Interrupt,
    Limits,
}

impl Codex {
    /// Returns the command to run for `launch`, and the state of its protocol.
    #[must_use]
    pub fn prepare(
        launch: &Launch,
        local: &Local,
        environment: BTreeMap<String, String>,
    ) -> (Invocation, Self) {
        let spec = &launch.spec;
        let default = [PROGRAM.to_owned()];
        let command = if spec.command.is_empty() { &default[..] } else { &spec.command };
        let mut arguments = command[1..].to_vec();
        let server = arguments.iter().position(|argument| argument == SERVER).unwrap_or_else(|| {
            arguments.push(SERVER.to_owned());
            arguments.len() - 1
        });
        // Directly before `app-server`: earlier arguments may belong to another program, which starts codex.
        let quiet = quiet(command).flat_map(|setting| ["-c".to_owned(), setting.to_owned()]);
        arguments.splice(server..server, quiet);
        let invocation = Invocation { program: command[0].clone(), arguments, environment, waits: false };
        let opening = Opening::of(launch, local);
        let codex = Self {
            redactor: local.redactor.clone(),
            planning: Planning::of(spec.permissions),
            opening,
            asking: Asking::of(launch),
            max_turns: spec.max_turns,
            prompt: String::new(),
            past: launch.past.clone(),
            requests: Requests::default(),
            thread: None,
            turn: None,
            held: VecDeque::new(),
            partial: String::new(),
            last_words: None,
            files: Announced::default(),
            goes_on: false,
            turn_limit_reached: false,
            retrying: None,
            limits: Limits::default(),
            limits_asked: false,
            meter: Meter::default(),
            model: String::new(),
            pictures: Pictures::default(),
            turns: 0,
            last: Usage::default(),
            result: None,
        };
        (invocation, codex)
    }

    /// Returns the category of a failure by an exceeded usage limit, according to the account's limits.
    fn failure_of_limit(&self) -> Category {
        let failure = Failure { reached: self.limits.reached.clone(), ..Failure::default() };
        failure.category().unwrap_or(Category::Quota)
    }

    fn open_thread(&mut self) -> Vec<u8> {
        let (method, parameters, resuming) = self.opening.next();
        self.requests.ask(Asked::Thread { resuming }, method, &parameters)
    }

    fn answered(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        let Some(asked) = self.requests.answered(&line.id) else { return };
        if let Some(failed) = &line.error.0 {
            self.refused(asked, failed, happened);
            return;
        }
        let result = line.result.0.as_ref();
        match asked {
            Asked::Initialize => {
                happened.push(Happening::Reply(rpc::notification("initialized", None)));
                happened.push(Happening::Reply(self.open_thread()));
            }
            Asked::Thread { .. } => {
                if let Some(model) = result.and_then(|result| result.model.text()) {
                    self.model = one_line(model, LINE_MAX);
                }
                let thread = result.and_then(|result| result.thread.0.as_ref());
                match thread.and_then(|thread| thread.id.text()) {
                    Some(thread) => self.opened(thread.to_owned(), happened),
                    None => self.end(Outcome::new(Category::Permanent, Own::NoConversation), happened),
                }
            }
            Asked::Turn => {
                let turn = result.and_then(|result| result.turn.0.as_ref());
                if let Some(turn) = turn.and_then(|turn| turn.id.text()) {
                    self.begun(turn, happened);
                }
            }
            Asked::Steer(work) => happened.push(Happening::Steered { work }),
            Asked::Interrupt => {}
            Asked::Limits => {
                for limit in result.iter().flat_map(|result| result.limits()) {
                    self.limits.update(limit);
                }
                let category = self.failure_of_limit();
                if let Some(outcome) = &mut self.result {
                    outcome.category = category;
                    outcome.resets_at = self.limits.resets_at().filter(|_| category == Category::Quota);
                }
                self.over(happened);
            }
        }
    }

    /// Handles the opened conversation: starts the first turn in it.
    fn opened(&mut self, thread: String, happened: &mut Vec<Happening>) {
        happened.push(Happening::Ready { conversation: Some(thread.clone()) });
        self.thread = Some(thread);
        self.ask_for_a_turn(happened);
    }

    /// Sends the request for a turn, with the prompt that is ready.
    fn ask_for_a_turn(&mut self, happened: &mut Vec<Happening>) {
        let Some(thread) = &self.thread else { return };
        let input = input(&std::mem::take(&mut self.prompt), std::mem::take(&mut self.pictures.prompt));
        let mut parameters = json!({ "threadId": thread, "input": input });
        if let Some(planning) = &self.planning {
            planning.set(&self.model, &mut parameters);
        }
        happened.push(Happening::Reply(self.requests.ask(Asked::Turn, "turn/start", &parameters)));
    }

    /// Stores the id of the turn that began, and sends the messages that waited for it.
    fn begun(&mut self, turn: &str, happened: &mut Vec<Happening>) {
        // A turn that the agent starts by itself after its work (for a goal it has set) does not belong to this session.
        if self.turn.as_deref() == Some(turn) || self.result.is_some() {
            return;
        }
        self.turn = Some(bounded(turn, LINE_MAX).to_owned());
        happened.push(Happening::TurnStarted);
        for (work, input) in std::mem::take(&mut self.held) {
            let steer = self.ask_to_steer(work, &input);
            happened.extend(steer.map(Happening::Reply));
        }
    }

    fn ask_to_steer(&mut self, work: WorkId, input: &[Value]) -> Option<Vec<u8>> {
        let parameters = json!({
            "threadId": self.thread.as_ref()?,
            "expectedTurnId": self.turn.as_ref()?,
            "input": input,
        });
        Some(self.requests.ask(Asked::Steer(work), "turn/steer", &parameters))
    }

    fn ask_to_interrupt(&mut self) -> Option<Vec<u8>> {
        let parameters = json!({ "threadId": self.thread.as_ref()?, "turnId": self.turn.as_ref()? });
        Some(self.requests.ask(Asked::Interrupt, "turn/interrupt", &parameters))
    }

    fn refused(&mut self, asked: Asked, failed: &wire::Failed<'_>, happened: &mut Vec<Happening>) {
        let said = raw_line(failed.message.text_or_empty());
        let mut failure = failed.data.0.as_ref().map(|data| self.failure(data)).unwrap_or_default();
        failure.text.clone_from(&said);
        match asked {
            Asked::Thread { resuming: true } if failure.loses_conversation() => {
                happened.push(Happening::ConversationLost { why: said });
                self.prompt = anew(self.past.take().as_deref(), &self.prompt);
                happened.push(Happening::Reply(self.open_thread()));
            }
            Asked::Initialize | Asked::Thread { .. } | Asked::Turn => self.fail(&failure, None, happened),
            // The message stays queued.
            Asked::Steer(work) => {
                happened.push(Happening::Note(format!("the running turn does not take a message: {said}")));
                happened.push(Happening::NotTaken { work });
            }
            // The turn was already over.
            Asked::Interrupt => {}
            // An API key has no such limits.
            Asked::Limits => self.over(happened),
        }
    }

    fn notified(&mut self, method: &str, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        if method == "serverRequest/resolved" {
            if let Some(id) = Id::of(&params.request_id) {
                self.asking.resolved(&id, happened);
            }
            return;
        }
        if method == "account/rateLimits/updated" {
            if let Some(update) = &params.rate_limits.0 {
                self.limits.update(update);
            }
            return;
        }
        if method == "thread/tokenUsage/updated" {
            self.count(params, happened);
            return;
        }
        self.files.hear(method, params);
        // Other notifications of a subagent's conversation only show that the process is alive.
        let ours = params.thread_id.text().is_some() && params.thread_id.text() == self.thread.as_deref();
        if !ours {
            return;
        }
        match method {
            "item/agentMessage/delta" => self.delta(params.delta.text_or_empty()),
            "item/started" => self.item_started(params, happened),
            "item/completed" => self.item_completed(params, happened),
            "turn/started" => {
                if let Some(turn) = params.turn.0.as_ref().and_then(|turn| turn.id.text()) {
                    self.begun(turn, happened);
                }
            }
            "error" => self.error(params, happened),
            "turn/completed" => self.completed(params, happened),
            // Output of commands, thoughts, plans, states, warnings, and later additions: only a sign of life.
            _ => {}
        }
    }

    fn delta(&mut self, words: &str) {
        self.retrying = None;
        let room = TEXT_MAX.saturating_sub(self.partial.len());
        self.partial.push_str(bounded(words, room));
    }

    fn item_started(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let Some(item) = &params.item.0 else { return };
        self.retrying = None;
        if item.kind.text() == Some("agentMessage") {
            // An interrupted message restarts as another one.
            self.partial.clear();
        }
        if let Some(name) = tool(item) {
            self.goes_on = true;
            let call = Box::new(items::call(item));
            happened.push(Happening::ToolStarted { id: id_of(&item.id), name, call });
        }
    }

    fn item_completed(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let Some(item) = &params.item.0 else { return };
        if tool(item).is_some() {
            self.goes_on = true;
            happened.push(Happening::ToolEnded { id: id_of(&item.id), end: Box::new(items::end_of(item)) });
        }
        if let (Some("plan"), Some(planning)) = (item.kind.text(), &mut self.planning) {
            planning.proposes(item.text.text_or_empty());
        }
        if item.kind.text() == Some("agentMessage") {
            self.goes_on = false;
            self.partial.clear();
            self.say(item.text.text_or_empty(), happened);
        }
    }

    fn say(&mut self, text: &str, happened: &mut Vec<Happening>) {
        if !text.trim().is_empty() {
            let text = both_ends_kept(text, TEXT_MAX, &self.redactor);
            self.last_words = Some(text.clone());
            happened.push(Happening::Words(text));
        }
    }

    /// Counts tokens. The reported totals are those of the conversation across processes; the session's usage is the increase.
    fn count(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let Some(usage) = &params.token_usage.0 else { return };
        let Some(thread) = params.thread_id.text() else { return };
        let total = usage.total.0.as_ref().map(tokens).unwrap_or_default();
        let last = usage.last.0.as_ref().map(tokens).unwrap_or_default();
        let ours = self.thread.as_deref() == Some(thread);
        let in_turn = ours && self.turn.is_some() && params.turn_id.text() == self.turn.as_deref();
        // The first report of a resumed conversation is its earlier usage.
        if ours && !in_turn && (self.turn.is_none() || !self.meter.knows(thread)) {
            self.meter.begins_at(thread, total);
            return;
        }
        self.meter.read(thread, total, last);
        self.turns = self.turns.saturating_add(u32::from(in_turn));
        let usage = self.meter.usage();
        if in_turn {
            self.last = last;
        }
        let reading = Reading { usage, unpriced: usage, model: self.model.clone(), turn: self.last };
        happened.push(Happening::Progress { turns: self.turns, reading });
        if !in_turn {
            return;
        }
        // codex has no turn limit of its own.
        if self.max_turns > 0 && self.turns >= self.max_turns && self.goes_on && !self.turn_limit_reached {
            self.turn_limit_reached = true;
            let interrupt = self.ask_to_interrupt();
            happened.extend(interrupt.map(Happening::Reply));
        }
    }

    fn failure(&self, error: &wire::TurnError<'_>) -> Failure {
        Failure::of(error, &self.limits.reached, self.limits.has_window())
    }

    /// Handles an error during the turn. An error that is not retried is reported again at the end of the turn.
    fn error(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let Some(error) = &params.error.0 else { return };
        let failure = self.failure(error);
        if params.will_retry.is_true() {
            let details = error.additional_details.text_or_empty();
            happened.push(Happening::Note(raw_line(&format!("{} {details}", failure.text))));
            self.retrying = Some(Failure { text: format!("{} {details}", failure.text), ..failure });
        } else {
            self.retrying = None;
            // The outcome if the process dies before it reports the end of the turn.
            self.result = Some(self.outcome_of(&failure, error.codex_error_info.as_ref(), None));
        }
    }

    fn completed(&mut self, params: &wire::Params<'_>, happened: &mut Vec<Happening>) {
        let Some(turn) = &params.turn.0 else { return };
        if self.turn.is_some() && turn.id.text() != self.turn.as_deref() {
            return;
        }
        self.retrying = None;
        let completed = turn.status.text() == Some("completed");
        let proposed = self.planning.as_mut().and_then(Planning::proposed).filter(|_| completed);
        if let Some(plan) = proposed {
            return self.propose(plan, happened);
        }
        let outcome = match turn.status.text_or_empty() {
            "completed" => Outcome { text: self.last_words.clone(), ..Outcome::new(Category::Success, "") },
            "interrupted" if self.turn_limit_reached => {
                Outcome::new(Category::MaxTurns, Own::TurnLimit { turns: self.max_turns })
            }
            "interrupted" => Outcome::new(Category::Transient, Own::TurnInterrupted),
            status => match &turn.error.0 {
                Some(error) => self.outcome_of(
                    &self.failure(error),
                    error.codex_error_info.as_ref(),
                    error.additional_details.text(),
                ),
                None => self.result.take().unwrap_or_else(|| {
                    Outcome::failed(None, Own::TurnEndedAs { status: kept_word(status, &self.redactor) })
                }),
            },
        };
        self.end(outcome, happened);
    }

    /// Submits the plan that the turn has come to. Another turn follows, whatever people answer.
    fn propose(&mut self, plan: String, happened: &mut Vec<Happening>) {
        let partial = std::mem::take(&mut self.partial);
        self.say(&partial, happened);
        self.turn = None;
        self.last_words = None;
        happened.push(Happening::TurnCut);
        self.asking.propose(plan, happened);
    }

    fn fail(&mut self, failure: &Failure, category: Option<Category>, happened: &mut Vec<Happening>) {
        let mut outcome = self.outcome_of(failure, None, None);
        if let Some(category) = category {
            (outcome.category, outcome.unknown) = (category, false);
        }
        self.end(outcome, happened);
    }

    fn end(&mut self, outcome: Outcome, happened: &mut Vec<Happening>) {
        let asks = outcome.category == Category::Quota && !self.limits.has_window() && !self.limits_asked;
        self.result = Some(outcome);
        if asks {
            // The server knows the end of the limit, but has not reported it.
            self.limits_asked = true;
            let read = self.requests.ask(Asked::Limits, "account/rateLimits/read", &Value::Null);
            happened.push(Happening::Reply(read));
        } else {
            self.over(happened);
        }
    }

    fn over(&mut self, happened: &mut Vec<Happening>) {
        let partial = std::mem::take(&mut self.partial);
        self.say(&partial, happened);
        self.held.clear();
        happened.push(Happening::TurnEnded);
    }

    /// Returns the outcome of a failed turn. An unknown failure is shown in full, so that a row can be added for it.
    fn outcome_of(&self, failure: &Failure, info: Option<&Value>, details: Option<&str>) -> Outcome {
        let known = failure.category();
        let mut detail = failure.text.clone();
        if known.is_none() {
            if let Some(details) = details {
                detail = format!("{detail} {details}");
            }
            // First, so that truncation does not remove it.
            if let Some(info) = info {
                detail = format!("codexErrorInfo {}: {detail}", bounded(&info.to_string(), RAW_MAX));
            }
        }
        let mut outcome = Outcome::failed(known, raw_line(&detail));
        if matches!(outcome.category, Category::RateLimit | Category::Quota) {
            outcome.resets_at = self.limits.resets_at();
        }
        outcome
    }

    /// Returns the outcome of a process that exited without a result; its last lines may match the table of failures.
    fn died(&self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let known = match exit {
            Some(Exit::Code(1)) => last_known(stderr, |line| Failure::said(line).category()),
            Some(Exit::Code(_) | Exit::Signal(_)) | None => None,
        };
        left(exit, known, stderr)
    }
}

impl Protocol for Codex {
    fn ready_at_start(&self) -> bool {
        false
    }

    fn prompt(&mut self, prompt: &str) -> Feed {
        prompt.clone_into(&mut self.prompt);
        self.pictures.are_of_prompt();
        let parameters = json!({
            "clientInfo": { "name": "herder", "title": "herder", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": { "experimentalApi": self.planning.is_some() },
        });
        Feed { bytes: self.requests.ask(Asked::Initialize, "initialize", &parameters), close: false }
    }

    fn show(&mut self, pictures: Vec<Picture>) {
        self.pictures.shown = pictures;
    }

    fn steer(&mut self, work: WorkId, text: &str) -> Steering {
        if self.result.is_some() {
            return Steering::Refused;
        }
        let input = input(text, std::mem::take(&mut self.pictures.shown));
        match self.ask_to_steer(work, &input) {
            Some(bytes) => Steering::Asked(bytes),
            None if self.held.len() < HELD_MAX => {
                self.held.push_back((work, input));
                Steering::Asked(Vec::new())
            }
            None => Steering::Refused,
        }
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.ask_to_interrupt()
    }

    fn answer(&mut self, key: AskKey, told: &Told, happened: &mut Vec<Happening>) {
        let planned = self.asking.is_plan(key);
        self.asking.answer(key, told, happened);
        if let Some(planning) = self.planning.as_mut().filter(|_| planned) {
            self.prompt = planning.answered(told);
            self.ask_for_a_turn(happened);
        }
    }

    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut mended = Vec::new();
        let Some(line) = protocol::read(line, &mut mended, wire::parse, happened) else { return };
        let nothing = wire::Params::default();
        let params = line.params.0.as_ref().unwrap_or(&nothing);
        match (line.method.text(), Id::of(&line.id)) {
            (Some(method), Some(id)) => {
                self.asking.request((&id, method), params, &self.files, happened);
            }
            (Some(method), None) => self.notified(method, params, happened),
            (None, Some(_)) => self.answered(&line, happened),
            (None, None) => happened.push(Happening::Malformed),
        }
    }

    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let mut outcome = self.result.take().unwrap_or_else(|| self.died(exit, stderr));
        outcome.turns = self.turns;
        outcome.usage = self.meter.usage();
        outcome
    }

    fn stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        // Without a retry, the silence may be a missing answer to the request for the limits.
        let Some(failure) = self.retrying.as_ref() else {
            return self.result.clone().filter(|_| self.limits_asked);
        };
        let outcome = self.outcome_of(failure, None, None);
        is_limit(outcome.category).then_some(outcome)
    }
}
