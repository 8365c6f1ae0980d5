//! Output of `gemini --output-format stream-json`. The API's response to a failed request is JSON within the text of
//! the last line.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::classify::{Failure, outcome_of};
use super::format::{Format, Told};
use crate::core::detail::Own;
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::turn::Kind;
use crate::runtime::acp::quirks::Quirks;
use crate::runtime::classify::LOOKED_AT;
use crate::runtime::loose::{self, Loose, Raw, Scalar};
use crate::runtime::observing::{Call, end};
use crate::runtime::protocol::{Happening, read};
use crate::runtime::text::{bounded, raw_line};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    session_id: Scalar<'a>,
    #[serde(borrow)]
    model: Scalar<'a>,
    #[serde(borrow)]
    role: Scalar<'a>,
    #[serde(borrow)]
    content: Scalar<'a>,
    #[serde(borrow)]
    tool_name: Scalar<'a>,
    #[serde(borrow)]
    tool_id: Scalar<'a>,
    #[serde(borrow)]
    parameters: Raw<'a>,
    #[serde(borrow)]
    status: Scalar<'a>,
    #[serde(borrow)]
    output: Scalar<'a>,
    #[serde(borrow)]
    error: Loose<Failed<'a>>,
    #[serde(borrow)]
    severity: Scalar<'a>,
    #[serde(borrow)]
    message: Scalar<'a>,
    #[serde(borrow)]
    stats: Loose<Stats<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    message: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats<'a> {
    #[serde(borrow)]
    total_tokens: Scalar<'a>,
    #[serde(borrow)]
    input_tokens: Scalar<'a>,
    #[serde(borrow)]
    output_tokens: Scalar<'a>,
    #[serde(borrow)]
    cached: Scalar<'a>,
    #[serde(borrow)]
    models: Raw<'a>,
}

impl Stats<'_> {
    /// Returns the name of the model with the most tokens, because a price applies to a single model.
    fn model(&self) -> Option<String> {
        let models: BTreeMap<String, Loose<Stats<'_>>> = serde_json::from_str(self.models.json()).ok()?;
        let used = models.into_iter().filter_map(|(name, stats)| Some((stats.0?.total_tokens.count(), name)));
        used.filter(|(tokens, _)| *tokens > 0).max().map(|(_, name)| name)
    }
}

/// Parser for the output of `gemini --output-format stream-json`.
#[derive(Debug)]
pub(super) struct Gemini {
    told: Told,
    /// An error reported during the turn, which may still end with a normal result.
    wrong: Option<String>,
}

impl Gemini {
    pub(super) fn new(told: Told) -> Self {
        Self { told, wrong: None }
    }

    fn tool(&mut self, line: &Line<'_>, happened: &mut Vec<Happening>) {
        let name = line.tool_name.text_or_empty();
        let (kind, members): (Kind, &[&str]) = match name {
            "run_shell_command" => (Kind::Command, &["command"]),
            "write_file" | "replace" => (Kind::Edit, &["file_path"]),
            "read_file"
            | "read_many_files"
            | "list_directory"
            | "glob"
            | "grep_search"
            | "search_file_content" => {
                (Kind::Read, &["file_path", "absolute_path", "dir_path", "path", "pattern"])
            }
            "google_web_search" | "web_fetch" => (Kind::Read, &["query", "prompt"]),
            _ => (Kind::Other, &[]),
        };
        let arguments = line.parameters.json();
        let what = line.parameters.member(members).unwrap_or_else(|| arguments.to_owned());
        let call = Call::new(kind, &what, arguments.as_bytes());
        self.told.begins(line.tool_id.text_or_empty(), name, call, happened);
    }

    fn over(&mut self, line: &Line<'_>, happened: &mut Vec<Happening>) {
        self.told.flush(happened);
        self.told.turns = self.told.turns.saturating_add(1);
        if let Some(stats) = &line.stats.0 {
            if let Some(model) = stats.model() {
                self.told.model = model;
            }
            let (input, output) = (stats.input_tokens.count(), stats.output_tokens.count());
            // Tokens for thoughts are only in the total.
            let output = output.max(stats.total_tokens.count().saturating_sub(input));
            self.told.used(Usage {
                input_tokens: input,
                cached_tokens: stats.cached.count(),
                output_tokens: output,
                ..Usage::default()
            });
        }
        self.told.counted(happened);
        match (&line.error.0, self.wrong.take()) {
            (Some(error), _) => {
                let kind = error.kind.text_or_empty();
                self.told.goes(outcome_of(&Failure::in_words(kind, error.message.text_or_empty())));
            }
            (None, Some(wrong)) => self.told.goes(outcome_of(&Failure::in_words("", &wrong))),
            (None, None) if line.status.text() == Some("success") => self.told.succeeded(),
            (None, None) => {
                let status = self.told.word(line.status.text_or_empty());
                self.told.goes(Outcome::failed(None, Own::TurnEndedAs { status }));
            }
        }
        happened.push(Happening::TurnEnded);
    }
}

impl Format for Gemini {
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut mended = Vec::new();
        let Some(line) = read(line, &mut mended, loose::object::<Line<'_>>, happened) else { return };
        match line.kind.text_or_empty() {
            "init" => {
                line.model.text_or_empty().clone_into(&mut self.told.model);
                self.told.named(line.session_id.text(), happened);
            }
            "message" if line.role.text() == Some("assistant") => {
                self.wrong = None;
                self.told.piece(line.content.text_or_empty());
            }
            "tool_use" => {
                self.told.flush(happened);
                self.tool(&line, happened);
            }
            "tool_result" => {
                let error = line.error.0.as_ref().map(|error| error.message.text_or_empty());
                let said = error.or(line.output.text()).unwrap_or_default();
                let end = end(line.status.text() == Some("success"), said);
                self.told.ends(line.tool_id.text_or_empty(), end, happened);
            }
            "error" => {
                let message = line.message.text_or_empty();
                happened.push(Happening::Note(raw_line(message)));
                if line.severity.text() == Some("error") {
                    self.wrong = Some(bounded(message, LOOKED_AT).to_owned());
                }
            }
            "result" => self.over(&line, happened),
            "" => happened.push(Happening::Malformed),
            // The person's message, and later additions: only a sign of life.
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

    fn tells_when_it_leaves(&self) -> bool {
        Quirks::of_program("gemini").tells_when_it_leaves
    }
}
