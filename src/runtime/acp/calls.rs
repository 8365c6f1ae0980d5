//! Tool calls of an ACP agent: their content and their results.

use std::collections::BTreeSet;

use super::wire;
use crate::core::turn::{End, Kind};
use crate::runtime::observing::{Call, end};
use crate::runtime::protocol::Happening;
use crate::runtime::text::{LINE_MAX, bounded, one_line};

/// Maximum number of open tool calls that are tracked per session, far above the number of parallel calls of any agent.
/// Beyond it, every announcement counts as a new call.
const OPEN_MAX: usize = 256;

/// The open tool calls of a session. Some agents announce a call at its start; others only ask for permission and
/// report nothing more before its end.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeSet<String>,
    /// Ids of tool calls that were denied; the agent reports nothing more about them.
    refused: Vec<String>,
}

impl Calls {
    /// Handles a tool call that the agent announces, or asks permission for: reports its start, or more details.
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

    /// Handles an update of a tool call: reports its end.
    pub(super) fn news(&mut self, update: &wire::Update<'_>, happened: &mut Vec<Happening>) {
        let id = id_of(update);
        if matches!(update.status.text_or_empty(), "completed" | "failed") {
            self.open.remove(&id);
            happened.push(Happening::ToolEnded { id, end: Box::new(end_of(update)) });
        }
    }

    /// Returns true if a tool call is open.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Marks a tool call as denied.
    pub(super) fn refused(&mut self, id: String) {
        if self.open.remove(&id) {
            self.refused.push(id);
        }
    }

    /// Reports the end of the tool calls that were denied.
    pub(super) fn settle(&mut self, happened: &mut Vec<Happening>) {
        let ended = self.refused.drain(..);
        happened.extend(
            ended.map(|id| Happening::ToolEnded { id, end: Box::new(end(false, "it was not allowed")) }),
        );
    }
}

/// Returns the agent's id of a tool call, bounded in length.
pub(super) fn id_of(update: &wire::Update<'_>) -> String {
    bounded(update.tool_call_id.text_or_empty(), LINE_MAX).to_owned()
}

/// Returns the content of a tool call. Each agent gives it in its own way: in the arguments, the files, or a title for people.
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

/// Returns the result of a tool call.
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
