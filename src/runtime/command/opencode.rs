//! Output of `opencode run --format json`. It has no final line: the end is a step whose reason is that it is done,
//! or an error.

use serde::Deserialize;

use super::classify::{Failure, after, is_wait, outcome_of};
use super::format::{Format, Told};
use crate::core::detail::Own;
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::turn::Kind;
use crate::runtime::loose::{self, Loose, Raw, Scalar};
use crate::runtime::observing::{Call, end};
use crate::runtime::protocol::{Happening, read};

/// Maximum number of consecutive steps that end without a reason and without a tool call. The stream of such a step
/// ended early, and opencode retries it without pause or end.
const BROKEN_MAX: u32 = 10;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow, rename = "sessionID")]
    session_id: Scalar<'a>,
    #[serde(borrow)]
    part: Loose<Part<'a>>,
    #[serde(borrow)]
    error: Loose<Failed<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: Scalar<'a>,
    #[serde(borrow)]
    reason: Scalar<'a>,
    #[serde(borrow)]
    tokens: Loose<Tokens<'a>>,
    #[serde(borrow)]
    cost: Scalar<'a>,
    #[serde(borrow)]
    tool: Scalar<'a>,
    #[serde(borrow, rename = "callID")]
    call_id: Scalar<'a>,
    #[serde(borrow)]
    state: Loose<State<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Scalar<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    output: Scalar<'a>,
    #[serde(borrow)]
    error: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens<'a> {
    #[serde(borrow)]
    total: Scalar<'a>,
    #[serde(borrow)]
    input: Scalar<'a>,
    #[serde(borrow)]
    output: Scalar<'a>,
    #[serde(borrow)]
    cache: Loose<Cache<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Cache<'a> {
    #[serde(borrow)]
    read: Scalar<'a>,
    #[serde(borrow)]
    write: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failed<'a> {
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    data: Loose<Details<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details<'a> {
    #[serde(borrow)]
    message: Scalar<'a>,
    #[serde(borrow)]
    status_code: Scalar<'a>,
    #[serde(borrow)]
    response_headers: Loose<Headers<'a>>,
    #[serde(borrow)]
    response_body: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Headers<'a> {
    #[serde(borrow, rename = "retry-after")]
    retry_after: Scalar<'a>,
}

/// Parser for the output of `opencode run --format json`.
#[derive(Debug)]
pub(super) struct Opencode {
    told: Told,
    /// Number of steps in a row that ended without a reason and without a tool call.
    broken: u32,
}

impl Opencode {
    pub(super) fn new(told: Told) -> Self {
        Self { told, broken: 0 }
    }

    fn tool(&mut self, part: &Part<'_>, happened: &mut Vec<Happening>) {
        self.broken = 0;
        let Some(state) = &part.state.0 else { return };
        let name = part.tool.text_or_empty();
        let (kind, members): (Kind, &[&str]) = match name {
            "bash" => (Kind::Command, &["command"]),
            "edit" | "write" | "multiedit" | "patch" => (Kind::Edit, &["filePath"]),
            "read" | "list" | "glob" | "grep" => (Kind::Read, &["filePath", "path", "pattern"]),
            "webfetch" | "websearch" => (Kind::Read, &["url", "query"]),
            _ => (Kind::Other, &[]),
        };
        let arguments = state.input.json();
        let what = state.input.member(members).unwrap_or_else(|| arguments.to_owned());
        let id = part.call_id.text_or_empty();
        // As far as is known, it reports a call only after its end.
        self.told.begins(id, name, Call::new(kind, &what, arguments.as_bytes()), happened);
        let said = state.error.text().or(state.output.text()).unwrap_or_default();
        if let Some(status @ ("completed" | "error")) = state.status.text() {
            self.told.ends(id, end(status == "completed", said), happened);
        }
    }

    fn step(&mut self, part: &Part<'_>, happened: &mut Vec<Happening>) {
        self.told.turns = self.told.turns.saturating_add(1);
        if let Some(tokens) = &part.tokens.0 {
            let nothing = Cache::default();
            let cache = tokens.cache.0.as_ref().unwrap_or(&nothing);
            let cached = cache.read.count();
            let input = tokens.input.count().saturating_add(cached).saturating_add(cache.write.count());
            self.told.used(Usage {
                input_tokens: input,
                cached_tokens: cached,
                // Tokens for thoughts are in the total.
                output_tokens: tokens.output.count().max(tokens.total.count().saturating_sub(input)),
                cost_usd: part.cost.number().unwrap_or_default().max(0.0),
                ..Usage::default()
            });
            self.told.names_cost |= self.told.usage.cost_usd > 0.0;
        }
        self.told.counted(happened);
        match part.reason.text_or_empty() {
            "stop" => self.told.succeeded(),
            // Another step follows.
            "tool-calls" => drop(self.told.result()),
            "length" => self.told.goes(Outcome::new(Category::Transient, Own::AnswerTooLong)),
            "content-filter" => self.told.goes(Outcome::new(Category::Permanent, Own::ModelRefused)),
            _ => {
                self.broken += 1;
                self.told.goes(Outcome::new(Category::Transient, Own::AnswerBrokenOff));
                if self.broken > BROKEN_MAX {
                    happened.push(Happening::TurnEnded);
                }
                return;
            }
        }
        self.broken = 0;
        if self.told.is_known() {
            // The process may keep running nevertheless.
            happened.push(Happening::TurnEnded);
        }
    }

    fn failed(&mut self, error: &Failed<'_>, happened: &mut Vec<Happening>) {
        let nothing = Details::default();
        let details = error.data.0.as_ref().unwrap_or(&nothing);
        let status = details.status_code.integer().map_or_else(String::new, |status| status.to_string());
        let mut failure = Failure::in_words(error.name.text_or_empty(), details.message.text_or_empty());
        if !status.is_empty() {
            failure.status = status;
        }
        failure.read_body(details.response_body.text_or_empty());
        let mut outcome = outcome_of(&failure);
        if is_wait(outcome.category) {
            let headers = details.response_headers.0.as_ref();
            let wait = headers.and_then(|headers| seconds(&headers.retry_after));
            outcome.resets_at = wait.and_then(after).or(outcome.resets_at);
        }
        // It compacts a full context without a message, and continues.
        if outcome.category != Category::ContextOverflow {
            happened.push(Happening::TurnEnded);
        }
        self.told.goes(outcome);
    }
}

/// Returns the number in an HTTP header's value, which is always a string.
fn seconds(header: &Scalar<'_>) -> Option<i64> {
    header.integer().or_else(|| header.text()?.trim().parse().ok())
}

impl Format for Opencode {
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut mended = Vec::new();
        let Some(line) = read(line, &mut mended, loose::object::<Line<'_>>, happened) else { return };
        self.told.named(line.session_id.text(), happened);
        let nothing = Part::default();
        let part = line.part.0.as_ref().unwrap_or(&nothing);
        match line.kind.text_or_empty() {
            "text" => self.told.say(part.text.text_or_empty(), happened),
            "tool_use" => self.tool(part, happened),
            // Also after an end, which therefore was none.
            "step_start" => happened.push(Happening::TurnStarted),
            "step_finish" => self.step(part, happened),
            "error" => {
                if let Some(error) = &line.error.0 {
                    self.failed(error, happened);
                }
            }
            "" => happened.push(Happening::Malformed),
            // Thoughts, and later additions: only a sign of life.
            _ => {}
        }
    }

    fn result(&mut self) -> Option<Outcome> {
        self.told.result()
    }

    fn used(&self) -> (u32, Usage) {
        (self.told.turns, self.told.usage)
    }

    fn category_of(&self, line: &str) -> Option<Category> {
        Failure::in_words("", line).category()
    }
}
