//! The content of a tool call, merged from everything that the agent said about it: a permission request may contain
//! only the call's id, after the call was announced with its content.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::calls::id_of;
use super::wire::{Piece, Update};
use crate::runtime::text::LINE_MAX;

/// Maximum size of the stored open tool calls of a session, in bytes. A call beyond it is only as detailed as its
/// permission request.
const KEPT_MAX: usize = 4 * 1024 * 1024;

/// Maximum number of tool calls whose content is stored.
const CALLS_MAX: usize = 256;

/// Everything known about a tool call, merged from its announcement, updates and permission request.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) title: String,
    pub(super) kind: String,
    /// The call's arguments: null if there are none, and parsed if they are JSON within a string.
    pub(super) input: Value,
    /// The call's arguments as the agent wrote them.
    pub(super) written: String,
    /// Texts and changed lines of files, in the call's content.
    pub(super) pieces: Vec<String>,
    /// Paths of the files that the call changes; `None` for one without a path.
    pub(super) changed: Vec<Option<String>>,
    /// Paths of the files that the call works on, as the agent reports them.
    pub(super) located: Vec<Option<String>>,
}

impl Known {
    /// Merges an update about the same tool call; empty fields change nothing.
    fn join(&mut self, update: &Update<'_>) {
        let path = |text: Option<&str>| text.map(str::to_owned);
        for (kept, new) in [(&mut self.title, &update.title), (&mut self.kind, &update.kind)] {
            if let Some(text) = new.text().filter(|text| !text.trim().is_empty()) {
                text.clone_into(kept);
            }
        }
        let (input, written) = unpacked(update.raw_input.json());
        // Some agents send empty arguments in later updates.
        if !input.is_null() && input != json!({}) {
            (self.input, self.written) = (input, written);
        }
        if !update.content.0.is_empty() {
            self.pieces = update.content.0.iter().filter_map(piece).collect();
            let changed = update.content.0.iter().filter(|piece| piece.new_text.text().is_some());
            self.changed = changed.map(|piece| path(piece.path.text())).collect();
        }
        if !update.locations.0.is_empty() {
            self.located = update.locations.0.iter().map(|location| path(location.path.text())).collect();
        }
    }

    fn size(&self) -> usize {
        let paths = self.changed.iter().chain(&self.located).flatten();
        let texts = self.pieces.iter().chain(paths).map(String::len).sum::<usize>();
        // The arguments are stored twice, and take more memory parsed than as text.
        self.title.len() + self.kind.len() + 4 * self.written.len() + texts
    }
}

/// Returns the arguments parsed, and as text for people.
fn unpacked(written: &str) -> (Value, String) {
    match serde_json::from_str::<Value>(written).unwrap_or_default() {
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(within @ (Value::Object(_) | Value::Array(_))) => (within, text),
            Ok(_) | Err(_) if text.trim().is_empty() => (Value::Null, String::new()),
            Ok(_) | Err(_) => (Value::String(text.clone()), text),
        },
        given => (given, written.to_owned()),
    }
}

/// The announced tool calls of a session that have not ended, by id.
#[derive(Debug, Default)]
pub(super) struct Announced {
    calls: BTreeMap<String, Known>,
    kept: usize,
}

impl Announced {
    /// Merges what the agent says about a tool call, and returns everything known about it.
    pub(super) fn joined(&mut self, update: &Update<'_>) -> Known {
        let id = update.tool_call_id.text_or_empty();
        // A truncated id could equal another call's.
        let is_named = !id.is_empty() && id.len() <= LINE_MAX;
        let mut known = is_named.then(|| self.forget(id)).flatten().unwrap_or_default();
        known.join(update);
        let size = known.size();
        if is_named && self.calls.len() < CALLS_MAX && self.kept + size <= KEPT_MAX {
            self.kept += size;
            self.calls.insert(id.to_owned(), known.clone());
        }
        known
    }

    /// Handles an update of a tool call that a permission request may follow; a call that has ended is removed.
    pub(super) fn news(&mut self, update: &Update<'_>) {
        if matches!(update.status.text_or_empty(), "completed" | "failed") {
            self.forget(&id_of(update));
        } else {
            self.joined(update);
        }
    }

    fn forget(&mut self, id: &str) -> Option<Known> {
        let known = self.calls.remove(id)?;
        self.kept -= known.size();
        Some(known)
    }
}

/// Returns a piece of a tool call's content as text: its text, or the change of a file.
fn piece(piece: &Piece<'_>) -> Option<String> {
    if piece.path.text().is_some() || piece.new_text.text().is_some() {
        let (old, new) = (piece.old_text.text_or_empty(), piece.new_text.text_or_empty());
        return Some(difference(piece.path.text_or_empty(), old, new));
    }
    let within = piece.content.0.as_ref().and_then(|words| words.text.text());
    let words = piece.text.text().or(within)?;
    (!words.trim().is_empty()).then(|| words.to_owned())
}

/// Returns the changed lines of a file, from the first difference to the last.
fn difference(path: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let mut text = path.to_owned();
    for (sign, lines) in [('-', old), ('+', new)] {
        for line in lines.iter().take(lines.len() - tail) {
            text.push('\n');
            text.push(sign);
            text.push_str(line);
        }
    }
    text
}
