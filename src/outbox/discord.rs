//! What is said, as Discord shows it: whole messages, in a Markdown that does no harm.
//!
//! Discord renders Markdown itself, so an agent's words keep theirs, and herder's sentences keep `**bold**` and `` `code` ``;
//! what could act on a reader instead of being read is taken out ([`inline`]). What is sent together is one message: the
//! lines of a text are put together until [`MESSAGE_MAX`], and a block of code that is cut is closed and opened again, with
//! its language. Characters are never cut in the middle.
//!
//! How many messages a post becomes depends on its text alone: it is what the journal counts. A text of an agent that would
//! become more than [`WORDS_MESSAGES_MAX`] is one message with its first lines; the whole goes along as a file.

mod compose;
mod inline;

use super::markup::Fence;
use crate::core::cut::{Cut, Extent, floor};
use compose::Composer;
use inline::Voice;

/// The longest message, in units of UTF-16: Discord counts characters, which are never more.
pub const MESSAGE_MAX: usize = 2000;

/// The most messages of one text of an agent; longer ones become a file.
pub(super) const WORDS_MESSAGES_MAX: usize = 3;

/// The longest file of an agent's words, in bytes: hours of talk, and a tenth of what Discord takes.
const FILE_MAX: usize = 1024 * 1024;

/// A file that goes along with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// The length of a text as it is counted here.
#[must_use]
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// One of herder's own sentences, without line breaks.
pub(super) fn sentence(text: &str) -> String {
    inline::line(&compose::tame(text), Voice::Own)
}

/// herder's own sentences, in as many messages as they need. The text is clean and holds no secrets.
pub(super) fn sentences(text: &str) -> Vec<String> {
    let mut composer = Composer::new(MESSAGE_MAX);
    for line in compose::tame(text).lines() {
        composer.line(line, Voice::Own);
    }
    composer.finish()
}

/// Lines for machines, as they are: nobody is pinged by what is sent, whatever stands in it. The text is clean and holds no
/// secrets.
pub(super) fn verbatim(text: &str) -> Vec<String> {
    let mut composer = Composer::new(MESSAGE_MAX);
    for line in compose::tame(text).lines() {
        composer.line(line, Voice::Machine);
    }
    composer.finish()
}

/// herder's sentence and what an agent asks, as it is. Both are clean and hold no secrets.
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

/// An agent's words. The text is clean and holds no secrets.
pub(super) fn words(text: &str) -> Vec<String> {
    compose(text, MESSAGE_MAX)
}

/// What an agent says by its tools: under its name, and each line quoted, so that nothing in it can be taken for herder's.
pub(super) fn said(agent: &str, text: &str) -> Vec<String> {
    /// Room for the name and for the marks of as many lines as there can be.
    const ROOM: usize = MESSAGE_MAX - 40 - 3 * super::render::WORDS_LINES_MAX;
    let lines: Vec<&str> = text.lines().take(super::render::WORDS_LINES_MAX).collect();
    let quoted = compose(&lines.join("\n"), ROOM).into_iter().map(|message| {
        let quoted: Vec<String> = message.lines().map(|line| format!("> {line}")).collect();
        format!("**<{agent}>**\n{}", quoted.join("\n"))
    });
    quoted.collect()
}

/// The first message of an agent's words, with `note` under it.
pub(super) fn head(text: &str, note: &str) -> String {
    let note = sentence(note);
    let room = MESSAGE_MAX.saturating_sub(units(&note) + 1);
    // More than one message's worth of source is never looked at.
    let beginning = &text[..floor(text, 8 * MESSAGE_MAX)];
    let head = compose(beginning, room).into_iter().next().unwrap_or_default();
    format!("{head}\n{note}")
}

/// An agent's words as a file. What it cannot hold is left out at its end, and it says so.
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

/// Lays out an agent's Markdown in messages of at most `room`.
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

/// What stands behind the marks of a fence, if it can name a language.
fn language(fence: &str) -> &str {
    const LONGEST: usize = 20;
    let name = fence.trim().trim_start_matches(['`', '~']).trim();
    let name = name.split([' ', ',', '{']).next().unwrap_or_default();
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '#' | '.');
    if name.len() <= LONGEST && name.chars().all(named) { name } else { "" }
}
