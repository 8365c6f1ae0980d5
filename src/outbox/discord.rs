//! Text for Discord: whole messages, in harmless Markdown.
//!
//! Discord renders Markdown itself, so that an agent's text keeps its own, and herder's sentences keep `**bold**` and
//! `` `code` ``; marks that could act on a reader are disabled ([`inline`]). Lines of a text are joined to one
//! message up to [`MESSAGE_MAX`]. A code block that is cut is closed and opened again, with its language. Characters
//! are never split.
//!
//! The number of messages of a post depends on its text alone, because the journal counts them. An agent's text that
//! would need more than [`WORDS_MESSAGES_MAX`] becomes one message with its first lines, and the whole text is
//! attached as a file.

mod compose;
mod inline;

use super::markup::Fence;
use crate::core::cut::{Cut, Extent, floor};
use compose::Composer;
use inline::Voice;

/// Maximum length of a message, in UTF-16 units: Discord counts characters, which are never more.
pub const MESSAGE_MAX: usize = 2000;

/// Maximum number of messages for one text of an agent; a longer one is attached as a file.
pub(super) const WORDS_MESSAGES_MAX: usize = 3;

/// Maximum size of the file with an agent's text, in bytes: hours of talk, and a tenth of Discord's limit.
const FILE_MAX: usize = 1024 * 1024;

/// A text file that herder attaches to its own message: the whole of an agent's long text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the attached file.
    pub name: String,
    /// Content of the attached file.
    pub text: String,
}

/// Returns the length of a text in UTF-16 units.
#[must_use]
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Formats one of herder's own sentences as Discord Markdown, without line breaks.
pub(super) fn sentence(text: &str) -> String {
    inline::line(&compose::tame(text), Voice::Own)
}

/// Formats herder's own sentences as Discord messages. The text has to be clean and redacted.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut composer = Composer::new(MESSAGE_MAX);
    for line in compose::tame(text).lines() {
        composer.line(line, Voice::Own);
    }
    composer.finish()
}

/// Formats lines that programs read as Discord messages, unchanged; the request disables all notifications. The text
/// has to be clean and redacted.
pub(super) fn verbatim(text: &str) -> Vec<String> {
    let mut composer = Composer::new(MESSAGE_MAX);
    for line in compose::tame(text).lines() {
        composer.line(line, Voice::Machine);
    }
    composer.finish()
}

/// Formats herder's sentence `head` and under it an agent's request as Discord messages; with `code` the request is in
/// a code block. Both have to be clean and redacted.
pub(super) fn asked(head: &str, asked: &str, code: bool) -> Vec<String> {
    let mut composer = Composer::new(MESSAGE_MAX);
    for line in compose::tame(head).lines() {
        composer.line(line, Voice::Own);
    }
    let asked = compose::tame(asked);
    if code {
        composer.open_code("");
    }
    for line in asked.lines() {
        if code { composer.code(line) } else { composer.line(line, Voice::Agent) }
    }
    composer.finish()
}

/// Formats the beginning of a diff as one Discord message with a coloured block. The text has to be clean and redacted.
pub(super) fn diff(text: &str) -> String {
    let text = compose::tame(&text[..floor(text, 8 * MESSAGE_MAX)]);
    let mut composer = Composer::new(MESSAGE_MAX);
    composer.open_code("diff");
    for line in text.lines() {
        composer.code(line);
    }
    composer.finish().into_iter().next().unwrap_or_default()
}

/// Formats an agent's Markdown as Discord messages. The text has to be clean and redacted.
pub(super) fn words(text: &str) -> Vec<String> {
    compose(text, MESSAGE_MAX)
}

/// Formats a message that an agent sends by its tools as Discord messages: under the agent's name, with each line
/// quoted, so that none can be taken for herder's.
pub(super) fn said(agent: &str, text: &str) -> Vec<String> {
    /// Maximum length of the unquoted text of one message, in UTF-16 units: it leaves room for the name and the
    /// quotation marks.
    const ROOM: usize = MESSAGE_MAX - 40 - 3 * super::render::WORDS_LINES_MAX;
    let lines: Vec<&str> = text.lines().take(super::render::WORDS_LINES_MAX).collect();
    let quoted = compose(&lines.join("\n"), ROOM).into_iter().map(|message| {
        let quoted: Vec<String> = message.lines().map(|line| format!("> {line}")).collect();
        format!("**<{agent}>**\n{}", quoted.join("\n"))
    });
    quoted.collect()
}

/// Returns the first Discord message of an agent's long text, with `note` under it.
pub(super) fn head(text: &str, note: &str) -> String {
    let note = sentence(note);
    let room = MESSAGE_MAX.saturating_sub(units(&note) + 1);
    // No more source than can fill one message is examined.
    let beginning = &text[..floor(text, 8 * MESSAGE_MAX)];
    let head = compose(beginning, room).into_iter().next().unwrap_or_default();
    format!("{head}\n{note}")
}

/// Builds the attached file with an agent's text. A text longer than `FILE_MAX` is cut at the end, and the file says
/// so.
pub(super) fn file(agent: &str, text: &str) -> Attachment {
    let name = format!("{agent}.txt");
    if text.len() <= FILE_MAX {
        return Attachment { name, text: format!("{text}\n") };
    }
    let end = floor(text, FILE_MAX);
    let (end, cut) = match text[..end].rfind('\n').filter(|at| *at > end / 2) {
        Some(line_end) => (line_end, Cut::Lines(Extent::of(&text[line_end + 1..]).whole)),
        None => (end, Cut::Bytes(text.len() - end)),
    };
    Attachment { name, text: format!("{}\n{}\n", &text[..end], cut.mark()) }
}

/// Formats an agent's Markdown as messages of at most `room` UTF-16 units.
fn compose(text: &str, room: usize) -> Vec<String> {
    let mut composer = Composer::new(room);
    let mut fence: Option<Fence> = None;
    for line in compose::tame(text).lines() {
        match (&fence, Fence::at(line)) {
            (None, Some(opened)) => {
                composer.open_code(language(line));
                fence = Some(opened);
            }
            (Some(opened), Some(closing)) if closing.closes(opened) => {
                composer.close_code();
                fence = None;
            }
            (Some(_), _) => composer.code(line),
            (None, None) => composer.line(line, Voice::Agent),
        }
    }
    composer.finish()
}

/// Returns the word after the marks of a code fence if it can name a language, else an empty text.
fn language(fence: &str) -> &str {
    const LONGEST: usize = 20;
    let name = fence.trim().trim_start_matches(['`', '~']).trim();
    let name = name.split([' ', ',', '{']).next().unwrap_or_default();
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '#' | '.');
    if name.len() <= LONGEST && name.chars().all(named) { name } else { "" }
}
