//! Output of `codex exec --json`. It has no error kinds, only texts, and a retry is reported like a final error.

use serde::Deserialize;

use super::format::{Format, Told};
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::turn::{End, Kind};
use crate::runtime::classify::LOOKED_AT;
use crate::runtime::codex::classify::Failure;
use crate::runtime::loose::{self, Loose, Many, Raw, Scalar};
use crate::runtime::observing::{Call, end};
use crate::runtime::protocol::{Happening, read};
use crate::runtime::text::{LINE_MAX, Tail, bounded, one_line, raw_line};

/// Prefix of error messages after which codex retries.
const RETRY: &str = "Reconnecting...";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    thread_id: Scalar<'a>,
    #[serde(borrow)]
    item: Loose<Item<'a>>,
    #[serde(borrow)]
    usage: Loose<Tokens<'a>>,
    #[serde(borrow)]
    message: Scalar<'a>,
    #[serde(borrow)]
    error: Loose<Failed<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failed<'a> {
    #[serde(borrow)]
    message: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens<'a> {
    #[serde(borrow)]
    input_tokens: Scalar<'a>,
    #[serde(borrow)]
    cached_input_tokens: Scalar<'a>,
    #[serde(borrow)]
    output_tokens: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    text: Scalar<'a>,
    #[serde(borrow)]
    message: Scalar<'a>,
    #[serde(borrow)]
    command: Scalar<'a>,
    #[serde(borrow)]
    aggregated_output: Scalar<'a>,
    #[serde(borrow)]
    exit_code: Scalar<'a>,
    #[serde(borrow)]
    status: Scalar<'a>,
    #[serde(borrow)]
    changes: Many<Change<'a>>,
    #[serde(borrow)]
    server: Scalar<'a>,
    #[serde(borrow)]
    tool: Scalar<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    result: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    query: Scalar<'a>,
    #[serde(borrow)]
    prompt: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Change<'a> {
    #[serde(borrow)]
    path: Scalar<'a>,
}

impl Item<'_> {
    /// Returns the name of the tool and the content of the call, if the item is a tool call of this conversation.
    fn call(&self, thread: &str) -> Option<(String, Call)> {
        let of = |kind, what: &str| Call::new(kind, what, what.as_bytes());
        match self.kind.text_or_empty() {
            "command_execution" => {
                Some(("shell".to_owned(), of(Kind::Command, self.command.text_or_empty())))
            }
            "file_change" => {
                let paths: Vec<&str> =
                    self.changes.0.iter().map(|change| change.path.text_or_empty()).collect();
                let paths = paths.join(", ");
                // The changes are not reported, so each edit counts as a different one.
                let whole = format!("{thread}\n{}\n{paths}", self.id.text_or_empty());
                Some(("edit".to_owned(), Call::new(Kind::Edit, &paths, whole.as_bytes())))
            }
            "mcp_tool_call" => {
                let name = format!("{}/{}", self.server.text_or_empty(), self.tool.text_or_empty());
                Some((name, of(Kind::Other, self.arguments.json())))
            }
            "collab_tool_call" => {
                let name = self.tool.text().unwrap_or("tool").to_owned();
                Some((name, of(Kind::Other, self.prompt.text_or_empty())))
            }
            "web_search" => Some(("web search".to_owned(), of(Kind::Read, self.query.text_or_empty()))),
            // Text, thoughts, plans, warnings, and later additions.
            _ => None,
        }
    }

    fn end(&self) -> End {
        let failed = matches!(self.status.text_or_empty(), "failed" | "declined");
        let ok = !failed && self.exit_code.integer().unwrap_or(0) == 0;
        let said = match self.aggregated_output.text() {
            Some(output) => output.to_owned(),
            None => [self.error.member(&["message"]).unwrap_or_default(), self.result.texts()].join("\n"),
        };
        end(ok, &said)
    }
}

/// Parser for the output of `codex exec --json`.
#[derive(Debug)]
pub(super) struct Codex {
    told: Told,
    thread: String,
    /// The error that codex is retrying; cleared by any other line.
    retrying: Option<String>,
}

impl Codex {
    pub(super) fn new(told: Told) -> Self {
        Self { told, thread: String::new(), retrying: None }
    }

    fn item(&mut self, item: &Item<'_>, over: bool, happened: &mut Vec<Happening>) {
        self.retrying = None;
        if let Some((name, call)) = item.call(&self.thread) {
            let id = item.id.text_or_empty();
            self.told.begins(id, &name, call, happened);
            if over {
                self.told.ends(id, item.end(), happened);
            }
            return;
        }
        match item.kind.text_or_empty() {
            "agent_message" if over => self.told.say(item.text.text_or_empty(), happened),
            // A warning.
            "error" if over => {
                happened.push(Happening::Note(raw_line(item.message.text_or_empty())));
            }
            _ => {}
        }
    }

    fn wrong(&mut self, message: &str, happened: &mut Vec<Happening>) {
        if message.starts_with(RETRY) {
            happened.push(Happening::Note(raw_line(message)));
            self.retrying = Some(bounded(message, LOOKED_AT).to_owned());
        } else {
            // Reported again when the turn fails; the outcome if the process dies before.
            self.retrying = None;
            self.told.goes(outcome_of(message));
        }
    }
}

fn outcome_of(message: &str) -> Outcome {
    let message = bounded(message, LOOKED_AT);
    Outcome::failed(Failure::said(message).category(), raw_line(message))
}

impl Format for Codex {
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut mended = Vec::new();
        let Some(line) = read(line, &mut mended, loose::object::<Line<'_>>, happened) else { return };
        match line.kind.text_or_empty() {
            "thread.started" => {
                self.thread = one_line(line.thread_id.text_or_empty(), LINE_MAX);
                self.told.named(line.thread_id.text(), happened);
            }
            "item.started" | "item.updated" | "item.completed" => {
                if let Some(item) = &line.item.0 {
                    self.item(item, line.kind.text() == Some("item.completed"), happened);
                }
            }
            "error" => self.wrong(line.message.text_or_empty(), happened),
            "turn.completed" => {
                self.retrying = None;
                self.told.turns = self.told.turns.saturating_add(1);
                if let Some(tokens) = &line.usage.0 {
                    self.told.used(Usage {
                        input_tokens: tokens.input_tokens.count(),
                        cached_tokens: tokens.cached_input_tokens.count(),
                        output_tokens: tokens.output_tokens.count(),
                        ..Usage::default()
                    });
                }
                self.told.counted(happened);
                self.told.succeeded();
                happened.push(Happening::TurnEnded);
            }
            "turn.failed" => {
                self.retrying = None;
                if let Some(message) = line.error.0.as_ref().and_then(|error| error.message.text()) {
                    self.told.goes(outcome_of(message));
                }
                happened.push(Happening::TurnEnded);
            }
            "" => happened.push(Happening::Malformed),
            // Later additions: only a sign of life.
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
        Failure::said(line).category()
    }

    fn retrying(&self, _stderr: &Tail) -> Option<Outcome> {
        self.retrying.as_deref().map(outcome_of)
    }
}
