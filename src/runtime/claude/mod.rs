//! Runtime `claude`: Claude Code with stream-json in both directions.
//!
//! The prompt is a user line, and so is a message during a turn: the CLI gives it to the model with the next tool
//! result, or starts another turn with it if the turn is over. The model's next message shows that it was delivered
//! ([`telling`]). After a result, standard input is closed and the process exits, unless a message is still in the
//! CLI's queue: then another turn starts with it, in which permission requests work as before. The last result
//! decides, with two exceptions: a failed turn stays failed even if the next one succeeds, and a turn that started
//! without bringing a result has not succeeded, whatever the one before it brought.
//!
//! Exit codes mean nothing here, and `subtype` is `success` for API errors: see [`classify`].

mod asking;
pub mod classify;
mod command_line;
mod printed;
mod telling;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};

use super::classify::{last_known, left};
use super::command::EXIT_DO_NOT_RESTART;
use super::observing::{Call, end};
use super::protocol::{self, Feed, Happening, Invocation, Protocol, Steering};
use super::text::{LINE_MAX, Tail, both_ends_kept, bounded, kept_word, one_line, raw_line};
use super::{Launch, Local, Picture};
use crate::core::ask::{AskKey, Told};
use crate::core::detail::Own;
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Exit, Outcome, Usage};
use crate::core::time::Timestamp;
use crate::core::turn::Kind;
use crate::core::usage::{PROVISIONAL, Reading};
use crate::redact::Redactor;
use asking::Asking;
use classify::Failure;
use command_line::{arguments_of, tool_server};
use telling::Telling;

pub(super) use asking::offers;
pub(super) use printed::Printed;

/// Name of the default program.
const PROGRAM: &str = "claude";

/// Maximum length of the final text that is kept, in bytes; the longest answers have a few kilobytes.
const TEXT_MAX: usize = 64 * 1024;

/// Maximum number of messages whose counted tokens are remembered, more than the open messages of parallel subagents.
const COUNTED_MAX: usize = 256;

/// Default environment variables: no network traffic except the model's.
pub const QUIET: [(&str, &str); 4] = [
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// Prefix of diagnostic entries in a failed result, which are not for people.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// The CLI's message on standard error for an unknown conversation.
const CONVERSATION_LOST: &str = "No conversation found";

/// State of Claude Code's protocol in one session.
#[derive(Debug)]
pub struct Claude {
    redactor: Redactor,
    asking: Asking,
    telling: Telling,
    resuming: bool,
    conversation: Option<String>,
    interrupts: u32,
    /// The combined outcome of the results so far; `None` while a turn after a success has no result of its own.
    result: Option<Outcome>,
    /// True if the last turn ended because it was interrupted.
    interrupted: bool,
    /// The fields of the latest synthetic message, for the result that follows it.
    failure: Failure,
    resets_at: Option<Timestamp>,
    /// Id and counted tokens of the latest messages; those of parallel subagents interleave.
    counted: VecDeque<(String, Usage)>,
    /// Id of the message that is being streamed, for the agent itself and for each of its subagents, by the tool call
    /// that started it.
    streamed: BTreeMap<String, String>,
    messages: u32,
    turns: u32,
    /// Tokens that the model's latest answer used.
    last: Usage,
    usage: Usage,
    /// Usage of a resumed conversation before this session, as far as it is known; later, the part that the CLI's own
    /// totals include.
    conversed: Usage,
    restored: Option<Usage>,
    /// Tokens since the last result, whose cost is not reported yet.
    unpriced: Usage,
    model: String,
    /// Pictures of the prompt or message that follows.
    pictures: Vec<Picture>,
}

impl Claude {
    /// Returns the command to run for `launch`, and the state of its protocol.
    #[must_use]
    pub fn prepare(
        launch: &Launch,
        local: &Local,
        mut environment: BTreeMap<String, String>,
    ) -> (Invocation, Self) {
        let spec = &launch.spec;
        for (name, value) in QUIET {
            environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        let default = [PROGRAM.to_owned()];
        let command = if spec.command.is_empty() { &default[..] } else { &spec.command };
        let mut arguments = command[1..].to_vec();
        arguments.extend(arguments_of(spec, launch.conversation.as_deref()));
        arguments.extend(local.tools.iter().flat_map(|access| tool_server(access, &launch.marker)));
        let invocation = Invocation { program: command[0].clone(), arguments, environment, waits: false };
        let resuming = launch.conversation.is_some();
        let claude = Self {
            redactor: local.redactor.clone(),
            asking: Asking::of(launch),
            telling: Telling::default(),
            resuming,
            conversed: if resuming { launch.conversed } else { Usage::default() },
            conversation: None,
            interrupts: 0,
            result: None,
            interrupted: false,
            failure: Failure::default(),
            resets_at: None,
            counted: VecDeque::new(),
            streamed: BTreeMap::new(),
            messages: 0,
            turns: 0,
            last: Usage::default(),
            usage: Usage::default(),
            restored: None,
            unpriced: Usage::default(),
            model: String::new(),
            pictures: Vec::new(),
        };
        (invocation, claude)
    }

    fn system(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        match line.subtype.text_or_empty() {
            "init" => {
                let conversation = line.session_id.text().map(str::to_owned);
                happened.push(Happening::TurnStarted);
                self.telling.queue_is_read();
                // A new turn starts with a message that arrived at the last moment, so there is no outcome until its
                // own result.
                self.result.take_if(|result| result.category == Category::Success);
                if self.conversation.is_none() || self.conversation != conversation {
                    self.conversation.clone_from(&conversation);
                    happened.push(Happening::Ready { conversation });
                }
            }
            "api_retry" => {
                let status = line.error_status.integer().map_or(String::new(), |status| format!(" {status}"));
                happened.push(Happening::Note(format!(
                    "API error{status} ({}), try {} of {}, next in {:.1} s",
                    kept_word(line.error.text_or_empty(), &self.redactor),
                    line.attempt.count(),
                    line.max_retries.count(),
                    line.retry_delay_ms.number().unwrap_or(0.0) / 1000.0,
                )));
            }
            // Other notices are only a sign of life.
            _ => {}
        }
    }

    fn assistant(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        if let Some(error) = line.error.text() {
            self.failure.assistant_error = error.to_owned();
            self.remember_api_error(line);
        } else {
            happened.push(Happening::TurnStarted);
        }
        let Some(message) = &line.message.0 else { return };
        let synthetic = message.model.text() == Some("<synthetic>");
        for block in &message.content.0 {
            match block.kind.text_or_empty() {
                // The CLI's own text about an error is part of the outcome, not output of the agent.
                "text" if !synthetic && line.parent_tool_use_id.text().is_none() => {
                    let text = block.text.text_or_empty();
                    if !text.trim().is_empty() {
                        happened.push(Happening::Words(both_ends_kept(text, TEXT_MAX, &self.redactor)));
                    }
                }
                "tool_use" => happened.push(Happening::ToolStarted {
                    id: bounded(block.id.text_or_empty(), LINE_MAX).to_owned(),
                    name: one_line(block.name.text_or_empty(), 100),
                    call: Box::new(call(block)),
                }),
                // Thoughts, images, and later additions.
                _ => {}
            }
        }
        let id = message.id.text_or_empty();
        if !synthetic && line.error.text().is_none() && line.parent_tool_use_id.text().is_none() {
            self.telling.says(id, happened);
        }
        if !synthetic && !self.counted.iter().any(|(counted, _)| counted == id) {
            while self.counted.len() >= COUNTED_MAX {
                self.counted.pop_front();
            }
            self.messages += 1;
            let step = message.usage.0.as_ref().map(tokens).unwrap_or_default();
            self.counted.push_back((id.to_owned(), step));
            self.usage.add(step);
            self.unpriced.add(step);
            if line.parent_tool_use_id.text().is_none() {
                self.last = step;
            }
            message.model.text_or_empty().clone_into(&mut self.model);
            self.progress(happened);
        }
    }

    /// Adds the tokens of a streamed message that its earlier lines did not count yet.
    fn streamed(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        let Some(event) = &line.event.0 else { return };
        let speaker = line.parent_tool_use_id.text_or_empty();
        match (event.kind.text_or_empty(), &event.message.0, &event.usage.0) {
            ("message_start", Some(message), _) => {
                if self.streamed.len() >= COUNTED_MAX {
                    self.streamed.clear();
                }
                let id = bounded(message.id.text_or_empty(), LINE_MAX).to_owned();
                self.streamed.insert(speaker.to_owned(), id);
            }
            ("message_delta", _, Some(used)) => {
                let id = self.streamed.get(speaker).map(String::as_str).unwrap_or_default();
                let Some((_, before)) = self.counted.iter_mut().rev().find(|(counted, _)| counted == id)
                else {
                    return;
                };
                let more = tokens(used).since(*before);
                before.add(more);
                let whole = *before;
                self.usage.add(more);
                self.unpriced.add(more);
                if speaker.is_empty() {
                    self.last = whole;
                }
                self.progress(happened);
            }
            _ => {}
        }
    }

    fn user(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        let blocks = line.message.0.as_ref().map(|message| message.content.0.as_slice()).unwrap_or_default();
        for block in blocks.iter().filter(|block| block.kind.text() == Some("tool_result")) {
            happened.push(Happening::ToolEnded {
                id: bounded(block.tool_use_id.text_or_empty(), LINE_MAX).to_owned(),
                end: Box::new(end(!block.is_error.is_true(), &block.content.texts())),
            });
            // Results for subagents are delivered to them, not to the main conversation.
            if line.parent_tool_use_id.text().is_none() {
                self.telling.queue_is_read();
            }
        }
    }

    fn limit(&mut self, line: &wire::Line<'_>) {
        let Some(info) = &line.rate_limit_info.0 else { return };
        let status = info.status.text_or_empty();
        if status == "rejected" && info.is_using_overage.is_true() {
            return;
        }
        status.clone_into(&mut self.failure.limit);
        if status == "rejected" {
            self.resets_at = info.resets_at.integer().map(Timestamp::from_seconds);
        } else if status.starts_with("allowed") {
            // The limit is over, and so is its reset time.
            self.resets_at = None;
        }
    }

    fn remember_api_error(&mut self, line: &wire::Line<'_>) {
        let status = line.api_error_status.integer();
        for (field, value) in [
            (&mut self.failure.status, status.map(|status| status.to_string())),
            (&mut self.failure.error_type, line.api_error_type.text().map(str::to_owned)),
            (&mut self.failure.api_error, line.api_error.text().map(str::to_owned)),
        ] {
            if let Some(value) = value {
                *field = value;
            }
        }
        let info = line.api_error_params.0.as_ref().and_then(|params| params.rate_limit_info.0.as_ref());
        if let Some(seconds) = info.and_then(|info| info.resets_at.integer()) {
            self.resets_at = Some(Timestamp::from_seconds(seconds));
        }
    }

    fn result(&mut self, line: &wire::Line<'_>, happened: &mut Vec<Happening>) {
        self.turns = self.turns.saturating_add(u32::try_from(line.num_turns.count()).unwrap_or(u32::MAX));
        // If there was only one answer, the result has its full usage.
        let only = line.usage.0.as_ref().map(tokens).filter(|_| self.messages == 1);
        self.last = only.filter(|only| only.tokens() > self.last.tokens()).unwrap_or(self.last);
        self.messages = 0;
        self.count(line);
        let outcome = if line.is_error.is_true() {
            self.remember_api_error(line);
            self.failed(line)
        } else {
            self.telling.answered(happened);
            let mut outcome = Outcome::new(Category::Success, "");
            outcome.text = line.result.text().map(|text| both_ends_kept(text, TEXT_MAX, &self.redactor));
            outcome
        };
        self.keep(outcome);
        // Errors of one turn do not apply to the next; a limit that was reached does.
        self.failure = Failure { limit: std::mem::take(&mut self.failure.limit), ..Failure::default() };
        self.progress(happened);
        // The CLI's own count of queued turns does not include such messages.
        let follows = self.telling.is_untold();
        happened.push(if follows { Happening::AnotherFollows } else { Happening::TurnEnded });
    }

    /// Combines the outcome of a turn with that of the turns before. The task was the first turn, so its failure
    /// stands, with the text of a later turn. An interrupted turn does not count as failed.
    fn keep(&mut self, outcome: Outcome) {
        match &mut self.result {
            Some(before) if before.category != Category::Success && !self.interrupted => {
                if outcome.text.is_some() {
                    before.text = outcome.text;
                }
            }
            Some(_) | None => self.result = Some(outcome),
        }
        self.interrupted = self.failure.terminal_reason.starts_with("aborted");
    }

    fn failed(&mut self, line: &wire::Line<'_>) -> Outcome {
        line.subtype.text_or_empty().clone_into(&mut self.failure.subtype);
        line.terminal_reason.text_or_empty().clone_into(&mut self.failure.terminal_reason);
        let mut errors = line.errors.words();
        // Diagnostics of the CLI's developers for an interrupted turn.
        errors.retain(|error| !error.starts_with(DIAGNOSTIC));
        self.failure.text = match line.result.text() {
            Some(text) if !text.trim().is_empty() => text.to_owned(),
            _ if errors.is_empty() => self.failure.subtype.clone(),
            _ => errors.join("; "),
        };
        self.outcome_of_failure()
    }

    fn outcome_of_failure(&self) -> Outcome {
        let known = self.failure.category();
        let detail = if known.is_none() { self.failure.whole() } else { self.failure.text.clone() };
        let mut outcome = Outcome::failed(known, raw_line(&detail));
        if self.failure.text == self.failure.subtype && self.failure.terminal_reason.starts_with("aborted") {
            outcome.detail = Own::TurnInterrupted.into();
        }
        if matches!(outcome.category, Category::RateLimit | Category::Quota) {
            outcome.resets_at = self.resets_at;
        }
        outcome
    }

    fn progress(&self, happened: &mut Vec<Happening>) {
        let (usage, unpriced, turn) = (self.usage, self.unpriced, self.last);
        let reading = Reading { usage, unpriced, model: self.model.clone(), turn };
        happened.push(Happening::Progress { turns: self.turns.saturating_add(self.messages), reading });
    }

    /// Updates the totals since the process started: per model if they are reported, otherwise summed over the turns.
    fn count(&mut self, line: &wire::Line<'_>) {
        let cost = line.total_cost_usd.number();
        let mut sum = Usage { cost_usd: cost.unwrap_or_default(), ..Usage::default() }.sane();
        for model in line.models() {
            sum.add(Usage {
                input_tokens: model
                    .input_tokens
                    .count()
                    .saturating_add(model.cache_creation_input_tokens.count())
                    .saturating_add(model.cache_read_input_tokens.count()),
                cached_tokens: model.cache_read_input_tokens.count(),
                output_tokens: model.output_tokens.count(),
                ..Usage::default()
            });
        }
        let turn = line.usage.0.as_ref().map(tokens).filter(|turn| turn.tokens() > 0).unwrap_or(self.usage);
        let restored = *self.restored.get_or_insert_with(|| {
            if self.resuming { restored(sum, turn, self.conversed) } else { Usage::default() }
        });
        let sum = sum.since(restored);
        // Totals never decrease, whatever single messages reported before.
        self.usage.input_tokens = self.usage.input_tokens.max(sum.input_tokens);
        self.usage.cached_tokens = self.usage.cached_tokens.max(sum.cached_tokens);
        self.usage.output_tokens = self.usage.output_tokens.max(sum.output_tokens);
        if cost.is_some() {
            self.usage.cost_usd = self.usage.cost_usd.max(sum.cost_usd);
            self.unpriced = Usage::default();
        }
    }
}

/// Returns the content of a tool call from the block that starts it.
fn call(block: &wire::Block<'_>) -> Call {
    let (kind, members): (Kind, &[&str]) = match block.name.text_or_empty() {
        "Bash" => (Kind::Command, &["command"]),
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => (Kind::Edit, &["file_path", "notebook_path"]),
        "Read" | "NotebookRead" | "LS" => (Kind::Read, &["file_path", "notebook_path", "path"]),
        "Glob" | "Grep" => (Kind::Read, &["pattern"]),
        "WebFetch" | "WebSearch" => (Kind::Read, &["url", "query"]),
        _ => (Kind::Other, &[]),
    };
    let arguments = block.input.json();
    let what = block.input.member(members).unwrap_or_else(|| arguments.to_owned());
    Call::new(kind, &what, arguments.as_bytes())
}

/// Returns the part of the CLI's first totals that belongs to earlier processes of a resumed conversation. The CLI
/// restores its totals from the last process that exited in order, so that the usage of a killed one is missing.
fn restored(sum: Usage, turn: Usage, conversed: Usage) -> Usage {
    if conversed.tokens() > 0 && sum.tokens() >= conversed.tokens().saturating_add(turn.tokens()) {
        return Usage { cost_usd: conversed.cost_usd.min(sum.cost_usd), estimated_usd: 0.0, ..conversed };
    }
    let rest = Usage { cost_usd: 0.0, ..sum.since(turn) };
    // Split by the usual costs of tokens: for a single model the proportions are the same.
    let whole = PROVISIONAL.of(sum);
    let part = if whole > 0.0 { PROVISIONAL.of(rest) / whole } else { f64::from(turn.tokens() == 0) };
    Usage { cost_usd: sum.cost_usd * part.clamp(0.0, 1.0), ..rest }
}

fn tokens(tokens: &wire::Tokens<'_>) -> Usage {
    Usage {
        input_tokens: tokens
            .input_tokens
            .count()
            .saturating_add(tokens.cache_creation_input_tokens.count())
            .saturating_add(tokens.cache_read_input_tokens.count()),
        cached_tokens: tokens.cache_read_input_tokens.count(),
        output_tokens: tokens.output_tokens.count(),
        ..Usage::default()
    }
}

impl Protocol for Claude {
    fn ready_at_start(&self) -> bool {
        false
    }

    fn prompt(&mut self, prompt: &str) -> Feed {
        let said = wire::user_line(prompt, &std::mem::take(&mut self.pictures));
        Feed { bytes: [wire::watch_line(asking::WATCHED), said].concat(), close: false }
    }

    fn show(&mut self, pictures: Vec<Picture>) {
        self.pictures = pictures;
    }

    fn steer(&mut self, work: WorkId, text: &str) -> Steering {
        self.telling.sent(work);
        Steering::Written(wire::user_line(text, &std::mem::take(&mut self.pictures)))
    }

    fn written(&mut self, work: WorkId) {
        self.telling.written(work);
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.interrupts += 1;
        Some(wire::interrupt_line(self.interrupts))
    }

    fn answer(&mut self, key: AskKey, told: &Told, happened: &mut Vec<Happening>) {
        self.asking.answer(key, told, happened);
    }

    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut mended = Vec::new();
        let Some(line) = protocol::read(line, &mut mended, wire::parse, happened) else { return };
        match line.kind.text_or_empty() {
            "system" => self.system(&line, happened),
            "assistant" => self.assistant(&line, happened),
            "user" => self.user(&line, happened),
            "stream_event" => self.streamed(&line, happened),
            "rate_limit_event" => self.limit(&line),
            "result" => self.result(&line, happened),
            "control_request" => self.asking.request(&line, happened),
            "control_cancel_request" => self.asking.withdrawn(&line, happened),
            "" => happened.push(Happening::Malformed),
            // Progress of tools, answers to requests, and later additions: only a sign of life.
            _ => {}
        }
    }

    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let mut outcome = match self.result.take() {
            Some(outcome) => outcome,
            None if self.conversation_lost(stderr) => {
                Outcome::new(Category::Transient, stderr.last().unwrap_or(CONVERSATION_LOST))
            }
            None if !self.failure.assistant_error.is_empty() => self.outcome_of_failure(),
            None => self.died(exit, stderr),
        };
        outcome.turns = self.turns.saturating_add(self.messages);
        outcome.usage = self.usage;
        outcome
    }

    fn conversation_lost(&self, stderr: &Tail) -> bool {
        let said = |outcome: &Outcome| outcome.detail.said.contains(CONVERSATION_LOST);
        self.resuming
            && self.conversation.is_none()
            && (stderr.iter().any(|line| line.contains(CONVERSATION_LOST))
                || self.result.as_ref().is_some_and(said))
    }
}

impl Claude {
    /// Returns the outcome of a process that exited without a result; its last lines may match the table of failures.
    fn died(&self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let known = match exit {
            // Exit code 2 asks not to be restarted, regardless of the output.
            Some(Exit::Code(0 | EXIT_DO_NOT_RESTART) | Exit::Signal(_)) | None => None,
            Some(Exit::Code(_)) => last_known(stderr, |line| Failure::said(line).category()),
        };
        left(exit, known, stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input_tokens: u64, cost_usd: f64) -> Usage {
        Usage { input_tokens, cost_usd, ..Usage::default() }
    }

    #[test]
    fn what_a_conversation_has_used_before_is_not_charged_again() {
        for (sum, turn, conversed, own) in [
            // The totals match herder's; they include a subagent's tokens; they were not restored.
            (used(3000, 3.0), used(1000, 0.0), used(2000, 2.0), used(1000, 1.0)),
            (used(3500, 3.25), used(1000, 0.0), used(2000, 2.0), used(1500, 1.25)),
            (used(1000, 1.0), used(1000, 0.0), used(2000, 2.0), used(1000, 1.0)),
            // A killed process saved less than it used; the earlier usage is unknown.
            (used(2500, 2.5), used(1000, 0.0), used(2000, 2.0), used(1000, 1.0)),
            (used(3000, 3.0), used(1000, 0.0), used(0, 0.0), used(1000, 1.0)),
            // The turn failed before it used anything.
            (used(2000, 2.0), used(0, 0.0), used(2000, 2.0), used(0, 0.0)),
            (used(0, 2.0), used(0, 0.0), used(2000, 2.0), used(0, 0.0)),
        ] {
            assert_eq!(sum.since(restored(sum, turn, conversed)), own, "{sum:?} {turn:?} {conversed:?}");
        }
    }
}
