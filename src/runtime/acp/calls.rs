//! What the tool calls of an agent are about, and what came of them.

use std::collections::BTreeSet;

use super::wire;
use crate::core::turn::{End, Kind};
use crate::runtime::observing::{Call, end};
use crate::runtime::protocol::Happening;
use crate::runtime::text::{LINE_MAX, bounded, one_line};

/// Calls that are known to have begun: far above what agents make in one session at the same time. Of those beyond it the
/// agent's word is taken.
const OPEN_MAX: usize = 256;

/// The calls that are open. Agents tell of a call when it begins, or when they ask whether it may be made and not again
/// before it is over.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeSet<String>,
    /// Calls that were not allowed: no more is heard of them.
    refused: Vec<String>,
}

impl Calls {
    /// A call that the agent tells of, or asks about.
    pub(super) fn told(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let id = id_of(update);
        let new = !self.open.contains(&id);
        let call = Box::new(call(update));
        if new {
            if self.open.len() < OPEN_MAX {
                self.open.insert(id.clone());
            }
            let name = update.title.text().or(update.kind.text()).unwrap_or("tool");
            happened.push(Happening::ToolStarted { id, name: one_line(name, 100), call });
        } else if !update.raw_input.json().is_empty() {
            happened.push(Happening::ToolDescribed { id, call });
        }
    }

    /// News of a call.
    pub(super) fn news(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let id = id_of(update);
        if matches!(update.status.text_or_empty(), "completed" | "failed") {
            self.open.remove(&id);
            happened.push(Happening::ToolEnded { id, end: Box::new(end_of(update)) });
        }
    }

    /// Whether one is open.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A call that is not made.
    pub(super) fn refused(&mut self, id: String) {
        if self.open.remove(&id) {
            self.refused.push(id);
        }
    }

    /// Ends the calls that were not allowed.
    pub(super) fn settle(&mut self, happened: &mut Vec<Happening>) {
        let ended = self.refused.drain(..);
        happened.extend(
            ended.map(|id| Happening::ToolEnded { id, end: Box::new(end(false, "it was not allowed")) }),
        );
    }
}

/// The agent's name for a call.
pub(super) fn id_of(update: &wire::Update<'_>) -> String {
    bounded(update.tool_call_id.text_or_empty(), LINE_MAX).to_owned()
}

/// What a tool call is about. Agents tell of it in their own ways: by its arguments, by the files it is about, by a title
/// for people.
fn call(update: &wire::Update<'_>) -> Call {
    let kind = match update.kind.text_or_empty() {
        "execute" => Kind::Command,
        "edit" | "delete" | "move" => Kind::Edit,
        "read" | "search" | "fetch" => Kind::Read,
        _ => Kind::Other,
    };
    let members: &[&str] = match kind {
        Kind::Command => &["command", "cmd", "script"],
        Kind::Edit | Kind::Read => {
            &["file_path", "filePath", "absolute_path", "path", "pattern", "query", "url"]
        }
        Kind::Other => &[],
    };
    let arguments = update.raw_input.json();
    let files = || {
        let paths: Vec<&str> =
            update.locations.0.iter().filter_map(|location| location.path.text()).collect();
        Some(paths.join(", ")).filter(|paths| !paths.is_empty())
    };
    let told = || match kind {
        Kind::Other if !arguments.is_empty() => arguments.to_owned(),
        Kind::Command | Kind::Edit | Kind::Read | Kind::Other => update.title.text_or_empty().to_owned(),
    };
    let what = update.raw_input.member(members).or_else(files).unwrap_or_else(told);
    let mut whole = format!("{what}\n{arguments}");
    for text in update.content.0.iter().filter_map(|piece| piece.new_text.text()) {
        whole.push('\n');
        whole.push_str(text);
    }
    Call::new(kind, &what, whole.as_bytes())
}

/// What came of a tool call.
fn end_of(update: &wire::Update<'_>) -> End {
    let pieces: Vec<&str> = update
        .content
        .0
        .iter()
        .filter_map(|piece| piece.content.0.as_ref().and_then(|words| words.text.text()))
        .collect();
    let said = if pieces.is_empty() {
        let output = update.raw_output.member(&["output", "formatted_output", "stdout"]);
        output.unwrap_or_else(|| update.raw_output.texts())
    } else {
        pieces.join("\n")
    };
    end(update.status.text() != Some("failed"), &said)
}
