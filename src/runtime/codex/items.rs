//! The items of a turn and the tokens of a conversation, in the terms that all runtimes share.

use super::wire;
use crate::core::outcome::Usage;
use crate::runtime::loose::Scalar;
use crate::runtime::text::{LINE_MAX, bounded, one_line};

/// The tool's name, if the item is a call of one.
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
        // Words, thinking, plans, and what is yet to come.
        _ => None,
    }
}

/// An id, bounded.
pub(super) fn id_of(id: &Scalar<'_>) -> String {
    bounded(id.text_or_empty(), LINE_MAX).to_owned()
}

/// Tokens as they are counted here.
pub(super) fn tokens(tokens: &wire::Tokens<'_>) -> Usage {
    Usage {
        input_tokens: tokens.input_tokens.count(),
        cached_tokens: tokens.cached_input_tokens.count(),
        output_tokens: tokens.output_tokens.count(),
        ..Usage::default()
    }
}
