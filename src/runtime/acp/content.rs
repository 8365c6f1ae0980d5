//! Content of an answer that is not text, rendered as one line for people: images, audio, files, links, plans.

use serde_json::{Value, json};

use super::wire::{Piece, Step};
use crate::core::cut::excerpt;
use crate::runtime::Picture;
use crate::runtime::text::LINE_MAX;

/// Maximum number of steps of a plan that are shown; the longest plans of agents have a dozen.
const STEPS_MAX: usize = 50;

/// Returns the content of a prompt: pictures before the text.
pub(super) fn prompt<'a>(text: &str, pictures: impl Iterator<Item = &'a Picture>) -> Vec<Value> {
    let shown = pictures
        .map(|picture| json!({ "type": "image", "mimeType": picture.media, "data": picture.base64() }));
    shown.chain([json!({ "type": "text", "text": text })]).collect()
}

/// Returns a piece of an answer as text: text unchanged, other content as a line of its own.
pub(super) fn text(piece: &Piece<'_>) -> String {
    let size = |data: &str| format!("{} kB", (data.len() / 4 * 3).div_ceil(1000));
    let named = |names: [&str; 2], uri: &str| {
        let name = names.into_iter().find(|name| !name.trim().is_empty() && *name != uri);
        [name, Some(uri)].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let uri = piece.uri.text_or_empty();
    let line = match piece.kind.text_or_empty() {
        kind @ ("image" | "audio") => {
            let mime = piece.mime_type.text().unwrap_or(kind);
            let data = piece.data.text_or_empty();
            let place = if uri.is_empty() { size(data) } else { uri.to_owned() };
            format!("[{mime}: {place}]")
        }
        "resource_link" => named([piece.title.text_or_empty(), piece.name.text_or_empty()], uri),
        "resource" => {
            let Some(resource) = &piece.resource.0 else { return String::new() };
            match resource.text.text() {
                Some(text) => {
                    return format!("\n{}\n{text}\n", excerpt(resource.uri.text_or_empty(), LINE_MAX));
                }
                None => format!(
                    "[{}: {}]",
                    resource.mime_type.text().unwrap_or("file"),
                    named(["", ""], resource.uri.text_or_empty())
                ),
            }
        }
        _ => return piece.text.text_or_empty().to_owned(),
    };
    let line = excerpt(&line, LINE_MAX);
    if line.is_empty() { line } else { format!("\n{line}\n") }
}

/// Returns a plan as a list with one line per step; `None` if it has no steps.
pub(super) fn plan(steps: &[Step<'_>]) -> Option<String> {
    let line = |step: &Step<'_>| {
        let mark = match step.status.text_or_empty() {
            "completed" => "✓",
            "in_progress" => "▸",
            _ => "·",
        };
        format!("{mark} {}", excerpt(step.content.text_or_empty(), LINE_MAX))
    };
    let lines: Vec<String> = steps.iter().take(STEPS_MAX).map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
