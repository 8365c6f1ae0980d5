//! Conversion of markup to a network's format.
//!
//! herder's own sentences use `**bold**` and `` `code` ``; agents write Markdown. On IRC bold becomes `\x02`,
//! headings become bold, links show their address, and code is marked by a bar at each line instead of fences. Single
//! `*` and `_` stay: agents use them more often in globs and names than for emphasis. Nicks in an agent's text stay
//! too: changing every word that could be a nick would break commands that people copy, and herder never reads its
//! own lines as commands.

use crate::core::cut::floor;

/// The markup of a network's posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Markup {
    /// IRC formatting: bold as `\x02`.
    #[default]
    Irc,
    /// No markup: terminals and the local socket.
    Plain,
    /// Discord's own Markdown; see [`super::discord`].
    Discord,
}

/// Prefix of every line of an agent's text on IRC and in a terminal, and of no line of herder's own.
pub(super) const BAR: &str = "│ ";

/// Returns the number of bytes at the start of an IRC line that mark it as an agent's: the bar, or the agent's name
/// before a message sent by its tools.
pub(super) fn bar_of(line: &str) -> usize {
    let named = line.strip_prefix('<').and_then(|rest| rest.find("> ")).map_or(0, |at| at + "<> ".len());
    let bar = if line[named..].starts_with(BAR) { BAR.len() } else { 0 };
    named + bar
}

/// One formatted line, before it is cut into pieces that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Laid {
    /// Text of the line, without the bar.
    pub(super) text: String,
    /// True if the line is code, so that each piece of it gets the bar.
    pub(super) code: bool,
}

/// Formats bold text and code spans in one of herder's own sentences.
#[must_use]
pub fn sentence(text: &str, markup: Markup) -> String {
    match markup {
        Markup::Irc | Markup::Plain => inline(text, markup, false),
        Markup::Discord => super::discord::sentence(text),
    }
}

/// Formats an agent's Markdown for a network, line by line; blank lines are left out.
pub(super) fn markdown(text: &str, markup: Markup) -> Vec<Laid> {
    let mut lines = Vec::new();
    let mut fence: Option<Fence> = None;
    for line in text.lines() {
        match (&fence, Fence::at(line)) {
            (None, Some(opened)) => fence = Some(opened),
            (Some(opened), Some(closing)) if closing.closes(opened) => fence = None,
            (Some(_), _) => lines.push(Laid { text: line.trim_end().to_owned(), code: true }),
            (None, None) => lines.push(Laid { text: block(line, markup), code: false }),
        }
    }
    lines.retain(|line| !line.text.trim().is_empty());
    lines
}

/// A line that opens or closes a code block: backticks or tildes, and the language.
pub(super) struct Fence {
    mark: char,
    length: usize,
    bare: bool,
}

impl Fence {
    pub(super) fn at(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let rest = &line[length..];
        // Three backticks with more in the same line are a code span in a sentence.
        (length >= 3 && !rest.contains('`')).then_some(Self { mark, length, bare: rest.is_empty() })
    }

    pub(super) fn closes(&self, opened: &Self) -> bool {
        self.bare && self.mark == opened.mark && self.length >= opened.length
    }
}

/// Formats a Markdown line outside a code block; a heading becomes bold.
fn block(line: &str, markup: Markup) -> String {
    let line = line.trim_end();
    let marks = line.chars().take_while(|c| *c == '#').count();
    let heading = line[marks..].strip_prefix(' ').filter(|_| (1..=6).contains(&marks));
    match heading {
        Some(heading) => bold(&inline(&heading.replace("**", ""), markup, true), markup),
        None => inline(line, markup, true),
    }
}

fn bold(text: &str, markup: Markup) -> String {
    match markup {
        Markup::Irc => format!("\u{2}{text}\u{2}"),
        Markup::Plain => text.to_owned(),
        Markup::Discord => format!("**{text}**"),
    }
}

/// Formats bold text and, with `links`, Markdown links within a line; code spans stay unchanged.
fn inline(text: &str, markup: Markup, links: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let (span, length) = span(rest, markup, links).unwrap_or_else(|| {
            let mark = if rest.starts_with("**") { 2 } else { 1 };
            (rest[..mark].to_owned(), mark)
        });
        shown.push_str(&span);
        rest = &rest[length..];
    }
    shown.push_str(rest);
    shown
}

/// Formats the code span, bold text or link at the start of `text`. Returns it with its length in the source, in bytes.
fn span(text: &str, markup: Markup, links: bool) -> Option<(String, usize)> {
    // Maximum length of a span in bytes, which bounds the search for a closing mark in hostile text.
    const LONGEST: usize = 1000;
    let text = &text[..floor(text, LONGEST)];
    if text.starts_with('`') {
        code_span(text).map(|length| (text[..length].to_owned(), length))
    } else if text.starts_with("**") {
        bold_span(text).map(|length| (bold(&text[2..length - 2], markup), length))
    } else if text.starts_with('[') && links {
        link_span(text)
    } else {
        None
    }
}

/// Returns the length of the code span at the start of `text`, in bytes; `None` if there is none.
fn code_span(text: &str) -> Option<usize> {
    text[1..].find('`').map(|end| end + 2)
}

/// Returns the length of the bold span at the start of `text`, in bytes; it must not be empty or have spaces just
/// inside the marks.
pub(super) fn bold_span(text: &str) -> Option<usize> {
    let end = text[2..].find("**")?;
    let inside = &text[2..2 + end];
    let tight = !inside.is_empty() && !inside.starts_with([' ', '*']) && !inside.ends_with(' ');
    tight.then_some(end + 4)
}

/// Formats the Markdown link at the start of `text` as its text and address. Returns it with its length in the source,
/// in bytes.
fn link_span(text: &str) -> Option<(String, usize)> {
    let (label, address, length) = link_parts(text)?;
    let shown = if label == address { address.to_owned() } else { format!("{label} ({address})") };
    Some((shown, length))
}

/// Returns the text and the address of the Markdown link at the start of `text`, and its length in bytes.
pub(super) fn link_parts(text: &str) -> Option<(&str, &str, usize)> {
    let middle = text.find("](")?;
    let (label, address) = (&text[1..middle], &text[middle + 2..]);
    let end = address.find(')')?;
    let address = &address[..end];
    if label.is_empty() || label.contains('[') || address.is_empty() || address.contains(' ') {
        return None;
    }
    Some((label, address, middle + 2 + end + 1))
}
