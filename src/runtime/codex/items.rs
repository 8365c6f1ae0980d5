//! Conversion of a turn's items and tokens into the types that all runtimes share.

use std::collections::VecDeque;

use super::wire;
use crate::core::outcome::Usage;
use crate::core::turn::{End, Kind};
use crate::runtime::loose::Scalar;
use crate::runtime::observing::{Call, end};
use crate::runtime::text::{LINE_MAX, bounded, one_line};

/// Returns the name of the tool that an item of a turn calls; `None` if it is no tool call.
pub(super) fn tool(item: &wire::Item<'_>) -> Option<String> {
    let named = |fallback: &str| one_line(item.tool.text().unwrap_or(fallback), 100);
    match item.kind.text_or_empty() {
        "commandExecution" => Some("shell".to_owned()),
        "fileChange" => Some("edit".to_owned()),
        "mcpToolCall" => {
            let server = one_line(item.server.text_or_empty(), 100);
            Some(format!("{server}/{}", named("tool")))
        }
        "dynamicToolCall" | "collabAgentToolCall" => Some(named("tool")),
        "webSearch" => Some("web search".to_owned()),
        "imageGeneration" => Some("image generation".to_owned()),
        "sleep" => Some("sleep".to_owned()),
        // Text, thoughts, plans, and later additions.
        _ => None,
    }
}

/// Returns the content of a tool call: its kind and what it does.
pub(super) fn call(item: &wire::Item<'_>) -> Call {
    match item.kind.text_or_empty() {
        "commandExecution" => {
            let command = item.command.text_or_empty();
            Call::new(Kind::Command, command, command.as_bytes())
        }
        "fileChange" => {
            let texts = |of: fn(&wire::Change<'_>) -> String| -> Vec<String> {
                item.changes.0.iter().map(of).collect()
            };
            let paths = texts(|change| change.path.text_or_empty().to_owned()).join(", ");
            let diffs = texts(|change| change.diff.text_or_empty().to_owned()).join("\n");
            Call::new(Kind::Edit, &paths, format!("{paths}\n{diffs}").as_bytes())
        }
        "webSearch" => {
            let query = item.query.text_or_empty();
            Call::new(Kind::Read, query, query.as_bytes())
        }
        _ => {
            let arguments = item.arguments.json();
            Call::new(Kind::Other, arguments, arguments.as_bytes())
        }
    }
}

/// Returns the result of a tool call.
pub(super) fn end_of(item: &wire::Item<'_>) -> End {
    let failed = matches!(item.status.text_or_empty(), "failed" | "declined");
    let ok = !failed && item.exit_code.integer().unwrap_or(0) == 0;
    let said = match item.output.text() {
        Some(output) => output.to_owned(),
        None => [item.error.member(&["message"]).unwrap_or_default(), item.result.texts()].join("\n"),
    };
    end(ok, &said)
}

/// Returns an id, bounded in length.
pub(super) fn id_of(id: &Scalar<'_>) -> String {
    bounded(id.text_or_empty(), LINE_MAX).to_owned()
}

/// Converts numbers of tokens from the protocol's form to usage.
pub(super) fn tokens(tokens: &wire::Tokens<'_>) -> Usage {
    Usage {
        input_tokens: tokens.input_tokens.count(),
        cached_tokens: tokens.cached_input_tokens.count(),
        output_tokens: tokens.output_tokens.count(),
        ..Usage::default()
    }
}

/// Maximum number of announced file changes that are tracked, far above the number of simultaneous questions.
const ANNOUNCED_MAX: usize = 64;

/// The announced file changes that have not ended, as conversation, item and text, because a permission request
/// contains only the item's id.
#[derive(Debug, Default)]
pub(super) struct Announced(VecDeque<(String, String, String)>);

impl Announced {
    /// Handles a notification about an item of any conversation: keeps or drops its file change.
    pub(super) fn hear(&mut self, method: &str, params: &wire::Params<'_>) {
        let item = params.item.0.as_ref().filter(|item| item.kind.text() == Some("fileChange"));
        match (method, item) {
            ("item/started", Some(item)) => self.keep(params, &item.id, &item.changes.0),
            ("item/fileChange/patchUpdated", _) => self.keep(params, &params.item_id, &params.changes.0),
            ("item/completed", Some(item)) => self.forget(params, &item.id),
            _ => {}
        }
    }

    /// Returns the text of the announced change that a permission request is about.
    pub(super) fn asked(&self, params: &wire::Params<'_>) -> Option<&str> {
        let (thread, item) = key(params, &params.item_id)?;
        let found = self.0.iter().find(|(of, id, _)| of == thread && id == item);
        found.map(|(.., changes)| changes.as_str())
    }

    fn keep(&mut self, params: &wire::Params<'_>, item: &Scalar<'_>, changes: &[wire::Change<'_>]) {
        self.forget(params, item);
        let Some((thread, item)) = key(params, item) else { return };
        let text = shown(changes);
        if text.trim().is_empty() {
            return;
        }
        if self.0.len() == ANNOUNCED_MAX {
            self.0.pop_front();
        }
        self.0.push_back((thread.to_owned(), item.to_owned(), text));
    }

    fn forget(&mut self, params: &wire::Params<'_>, item: &Scalar<'_>) {
        if let Some((thread, item)) = key(params, item) {
            self.0.retain(|(of, id, _)| of != thread || id != item);
        }
    }
}

/// Returns the ids of an item's conversation and of the item; `None` if one is too long to be stored.
fn key<'a>(params: &'a wire::Params<'_>, item: &'a Scalar<'_>) -> Option<(&'a str, &'a str)> {
    let (thread, item) = (params.thread_id.text()?, item.text()?);
    (thread.len() <= LINE_MAX && item.len() <= LINE_MAX).then_some((thread, item))
}

/// Returns the changed files and their changes as text for people.
fn shown(changes: &[wire::Change<'_>]) -> String {
    /// Maximum length of the text, in bytes; files and lines beyond it are left out.
    const LONGEST: usize = 32 * 1024;
    let mut text = String::new();
    for change in changes {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(change.path.text_or_empty());
        if let Some(kind) = &change.kind.0 {
            if kind.kind.text() == Some("delete") {
                text.push_str(" (delete)");
            }
            if let Some(to) = kind.move_path.text() {
                text.push_str(" -> ");
                text.push_str(to);
            }
        }
        let diff = change.diff.text_or_empty();
        if !diff.is_empty() {
            text.push('\n');
            text.push_str(diff.trim_end());
        }
        if text.len() > LONGEST {
            text.truncate(bounded(&text, LONGEST).len());
            break;
        }
    }
    text
}
