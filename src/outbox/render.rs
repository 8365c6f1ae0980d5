//! Rendering of a [`Post`] to the lines that are sent.
//!
//! Steps: locale text or the agent's text, then [`clean`], [`redact`](crate::redact), markup, the nick that is
//! answered, cutting. Redaction sees the whole text, after control codes were removed and before anything is cut: a
//! sentence's variables are redacted before they are cut into the sentence.
//!
//! The pieces are at most [`UNIT`] bytes long, whatever the network's room is: the journal counts them for a partly
//! sent post, so that the count must not depend on the length of a host name. The queue cuts them further for a
//! network with less room.

use std::borrow::Cow;

use super::discord::{self, Attachment};
use super::markup::{self, BAR, Markup};
use super::split;
use crate::core::ask::Offer;
use crate::core::clean::{clean, visible};
use crate::core::cut::{Cut, Extent, stands_for};
use crate::core::id::AgentName;
use crate::core::notice::Notice;
use crate::core::post::{Body, Post, SentFile, Target};
use crate::l10n::{Locale, Value};
use crate::redact::{REDACTED, Redactor};

/// Maximum length of a piece, in bytes. An IRC line has 512, less the sender's prefix (94 with a nick of 16, a user
/// of 11 and a host of 63 characters) and the command (41 with the longest channel of an agent): 375 are left.
pub const UNIT: usize = 360;

/// Maximum number of lines of one agent's text in a channel; one of them tells how many are left out, and the log has
/// those.
pub const WORDS_LINES_MAX: usize = 30;

/// Number of first lines of an agent's long text that are shown. The other shown lines are the last ones, which contain
/// the result.
const WORDS_FIRST: usize = 5;

/// Renders posts for one network. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Renderer {
    locale: Locale,
    redactor: Redactor,
    markup: Markup,
}

impl Renderer {
    /// Creates a renderer with the language, the redaction and the markup of a network's posts.
    #[must_use]
    pub fn new(locale: Locale, redactor: Redactor, markup: Markup) -> Self {
        Self { locale, redactor, markup }
    }

    /// Renders a post as lines that are not blank and not longer than [`UNIT`]; for Discord as messages of at most
    /// [`discord::MESSAGE_MAX`]. Empty if the post has no text.
    #[must_use]
    pub fn lines(&self, post: &Post) -> Vec<String> {
        let lines = self.laid_out(post);
        match self.markup {
            Markup::Irc | Markup::Plain => lines.into_iter().map(|line| self.concealed(line)).collect(),
            Markup::Discord => lines.into_iter().map(|line| self.shown(line)).collect(),
        }
    }

    /// Renders the beginning of a diff as one Discord message with a coloured block.
    #[must_use]
    pub fn diff(&self, text: &str) -> String {
        self.shown(discord::diff(&self.redactor.redact(&clean(text))))
    }

    /// Redacts a line again after formatting: marks may have split a secret that is whole now.
    fn concealed(&self, line: String) -> String {
        let read = line.replace('\u{2}', "");
        match self.redactor.redact(&read) {
            Cow::Borrowed(_) => line,
            Cow::Owned(redacted) => redacted,
        }
    }

    /// Redacts a formatted message again, because marks may have split a secret, without exceeding Discord's length
    /// limit.
    fn shown(&self, message: String) -> String {
        match self.redactor.redact_shown(&message) {
            Cow::Borrowed(_) => message,
            Cow::Owned(redacted) if discord::units(&redacted) <= discord::MESSAGE_MAX => redacted,
            Cow::Owned(redacted) => redacted.replace(REDACTED, "…"),
        }
    }

    /// Returns true if the network shows the state of a session in one message that is edited (Discord).
    pub(super) fn changes_statuses(&self) -> bool {
        self.markup == Markup::Discord
    }

    fn laid_out(&self, post: &Post) -> Vec<String> {
        match &post.body {
            Body::Notice(Notice::PermissionAsked { agent, command, .. }) => {
                self.asked(post, agent, command, true)
            }
            Body::Notice(Notice::QuestionAsked { agent, text, options, .. }) => {
                self.asked(post, agent, &with_offers(text, options), false)
            }
            Body::Notice(notice @ Notice::WorkLine { .. }) => self.verbatim(notice),
            Body::Notice(notice) => self.sentences(&self.locale.notice(&self.redactor.of(notice)), post),
            Body::Hook(hook) => self.told(&hook.notice),
            Body::Refusal(refusal) => self.sentences(&self.locale.refusal(&self.redactor.of(refusal)), post),
            Body::Lines(lines) | Body::Looked(lines) | Body::Kept(lines) => {
                self.sentences(&lines.join("\n"), post)
            }
            Body::Said { agent, text } => {
                let text = clean(text);
                let text = self.redactor.redact(&text);
                match self.markup {
                    Markup::Irc | Markup::Plain => self.said(agent, &text),
                    Markup::Discord => discord::said(agent.as_str(), &text),
                }
            }
            Body::File(sent) => self.sent(sent, post),
            Body::Agent { agent, text, .. } => {
                let text = clean(text);
                let text = self.redactor.redact(&text);
                match self.markup {
                    Markup::Irc | Markup::Plain => self.words(agent, &text),
                    Markup::Discord => self.messages(agent, &text),
                }
            }
        }
    }

    /// Returns the file attached to the first line of a post, if its network accepts files and its text is long.
    #[must_use]
    pub fn attachment(&self, post: &Post) -> Option<Attachment> {
        let Body::Agent { agent, text, .. } = &post.body else { return None };
        let text = clean(text);
        let text = self.redactor.redact(&text);
        let long =
            self.markup == Markup::Discord && discord::words(&text).len() > discord::WORDS_MESSAGES_MAX;
        long.then(|| discord::file(agent.as_str(), &text))
    }

    /// Renders an agent's text as a limited number of lines. Each begins with a bar, which herder's own lines lack, so
    /// that an agent cannot imitate herder.
    fn words(&self, agent: &AgentName, text: &str) -> Vec<String> {
        let laid = markup::markdown(text, self.markup);
        // Each line with the number of source lines that it stands for.
        let mut lines: Vec<(String, usize)> = Vec::new();
        for line in &laid {
            let text = self.locale.cut(&line.text);
            lines.extend(cut(&text, BAR).into_iter().map(|piece| (piece, stands_for(&line.text))));
        }
        if lines.len() > WORDS_LINES_MAX {
            let last = lines.split_off(lines.len() - (WORDS_LINES_MAX - WORDS_FIRST));
            let rest = lines.split_off(WORDS_FIRST);
            let rest = rest.iter().fold(0_usize, |sum, (_, count)| sum.saturating_add(*count));
            let text = self.locale.text("words-cut", &[("agent", agent.into()), ("count", rest.into())]);
            lines.extend(cut(&text, "").into_iter().map(|piece| (piece, rest)));
            lines.extend(last);
        }
        lines.into_iter().map(|(line, _)| line).collect()
    }

    /// Renders a message sent by an agent's tools. No line can be taken for herder's own.
    fn said(&self, agent: &AgentName, text: &str) -> Vec<String> {
        let bar = format!("<{agent}> ");
        let laid = markup::markdown(text, self.markup);
        let lines = laid.iter().flat_map(|line| {
            let bar = if line.code { format!("{bar}{BAR}") } else { bar.clone() };
            cut(&line.text, &bar)
        });
        lines.take(WORDS_LINES_MAX).collect()
    }

    /// Renders an agent's text as Discord messages; of a long text the first message is shown, and the whole is
    /// attached as a file.
    fn messages(&self, agent: &AgentName, text: &str) -> Vec<String> {
        let messages = discord::words(text);
        if messages.len() <= discord::WORDS_MESSAGES_MAX {
            return messages;
        }
        let held = Extent::of(&discord::file(agent.as_str(), text).text);
        let (count, whole) = (held.lines.into(), held.whole.into());
        let note = if held.is_complete {
            self.locale.text("words-attached", &[("agent", agent.into()), ("count", count)])
        } else {
            self.locale.text("words-attached-in-part", &[("count", count), ("whole", whole)])
        };
        vec![discord::head(text, &note)]
    }

    /// Renders an agent's request: herder's sentence, and under it the request in the agent's own words, cleaned and
    /// redacted. `code` is true for a command, whose hidden characters are made visible.
    fn asked(&self, post: &Post, agent: &AgentName, asked: &str, code: bool) -> Vec<String> {
        let Body::Notice(notice) = &post.body else { return Vec::new() };
        let (head, asked) = (clean(&self.locale.notice(&self.redactor.of(notice))), as_asked(asked, code));
        let (head, asked) = (self.redactor.redact(&head), self.redactor.redact(&asked));
        if self.markup == Markup::Discord {
            return discord::asked(&head, &asked, code);
        }
        let mut lines: Vec<String> =
            head.lines().flat_map(|line| cut(&markup::sentence(line, self.markup), "")).collect();
        if code {
            let shown = asked.lines().filter(|line| !line.trim().is_empty());
            lines.extend(shown.flat_map(|line| cut(line, BAR)));
        } else {
            lines.extend(self.words(agent, &asked));
        }
        lines
    }

    /// Renders the text of a webhook's event, whole and in one piece; for Discord as much as one message holds.
    fn told(&self, notice: &Notice) -> Vec<String> {
        let head = clean(&self.locale.notice(&self.redactor.of(notice)));
        let head = self.redactor.redact(&head);
        let (asked, code) = if let Notice::PermissionAsked { command, .. } = notice {
            (as_asked(command, true), true)
        } else if let Notice::QuestionAsked { text, options, .. } = notice {
            (clean(&with_offers(text, options)), false)
        } else {
            (String::new(), false)
        };
        let asked = self.redactor.redact(&asked);
        if self.markup == Markup::Discord {
            let messages = if asked.is_empty() {
                discord::sentences(&head)
            } else {
                discord::asked(&head, &asked, code)
            };
            return messages.into_iter().take(1).collect();
        }
        let sentences = head.lines().map(|line| markup::sentence(line, self.markup));
        let lines: Vec<String> = sentences.chain(asked.lines().map(str::to_owned)).collect();
        vec![lines.join("\n")]
    }

    /// Renders a line that programs read: the same characters on every network, so that a reader of several networks
    /// gets identical lines.
    fn verbatim(&self, notice: &Notice) -> Vec<String> {
        let text = clean(&self.locale.notice(&self.redactor.of(notice)));
        let text = self.redactor.redact(&text);
        match self.markup {
            Markup::Irc | Markup::Plain => text.lines().flat_map(|line| cut(line, "")).collect(),
            Markup::Discord => discord::verbatim(&text),
        }
    }

    /// Formats a file of an agent: Discord takes the file itself, elsewhere there is a link, or its first lines.
    fn sent(&self, sent: &SentFile, post: &Post) -> Vec<String> {
        let SentFile { agent, file, text, link, first } = sent;
        let variables = |more: (&'static str, Value<'static>)| {
            [
                ("agent", agent.to_string().into()),
                ("file", file.name.clone().into()),
                ("size", file.size.into()),
                more,
            ]
        };
        let has_it = self.markup == Markup::Discord;
        let (id, link) = match link {
            _ if has_it => ("file-sent", String::new()),
            Some(link) => ("file-sent-link", link.clone()),
            None if first.is_empty() => ("file-sent-alone", String::new()),
            None => ("file-sent-first", String::new()),
        };
        let mut lines = self.sentences(&self.locale.text(id, &variables(("link", link.into()))), post);
        let words = [text.as_str(), if has_it { "" } else { first.as_str() }];
        for words in words.into_iter().filter(|words| !words.is_empty()) {
            let words = clean(words);
            let words = self.redactor.redact(&words);
            lines.extend(match self.markup {
                Markup::Irc | Markup::Plain => self.said(agent, &words),
                Markup::Discord => discord::said(agent.as_str(), &words),
            });
        }
        lines
    }

    fn sentences(&self, text: &str, post: &Post) -> Vec<String> {
        let text = clean(text);
        let redacted = self.redactor.redact(&text);
        if self.markup == Markup::Discord {
            // A quotation shows better than a name which line is answered.
            return match post.quotes {
                Some(_) => discord::sentences(&redacted),
                None => discord::sentences(&addressed(post, &redacted)),
            };
        }
        let shown = addressed(post, &redacted);
        shown.lines().flat_map(|line| cut(&markup::sentence(line, self.markup), "")).collect()
    }
}

/// Returns the text of a question followed by its offered answers, numbered.
fn with_offers(text: &str, options: &[Offer]) -> String {
    let mut asked = text.to_owned();
    for (number, offer) in (1_u32..).zip(options) {
        asked.push_str(&format!("\n{number}. {}", offer.label));
        if !offer.description.is_empty() {
            asked.push_str(&format!(" — {}", offer.description));
        }
    }
    asked
}

/// Returns the cleaned text of an agent's request; `code` is true for a command, of which every hidden character is
/// made visible.
fn as_asked(asked: &str, code: bool) -> String {
    if code { clean(&visible(asked)) } else { clean(asked) }
}

/// Puts the nick of the person who is answered before the text, except in private.
fn addressed(post: &Post, text: &str) -> String {
    match (&post.answers, &post.to) {
        (None, _) | (Some(_), Target::Person(_)) => text.to_owned(),
        (
            Some(nick),
            Target::Agent(_) | Target::Alerts | Target::Work | Target::Control | Target::Channel(_),
        ) => format!("{}: {text}", clean(nick).replace('\n', " ")),
    }
}

/// Cuts one line into pieces of at most `UNIT` bytes, each after `bar`; bold text is continued in the next piece.
fn cut(line: &str, bar: &str) -> Vec<String> {
    const BOLD: char = '\u{2}';
    // Reserves one byte for the mark that continues bold.
    let room = UNIT - bar.len() - 1;
    let mut open = false;
    split::pieces(line, room)
        .filter_map(|piece| {
            let again = if open { "\u{2}" } else { "" };
            open ^= piece.matches(BOLD).count() % 2 == 1;
            // A cut right before a mark leaves a piece of nothing else.
            (!piece.trim_matches([BOLD, ' ']).is_empty()).then(|| format!("{bar}{again}{piece}"))
        })
        .collect()
}

/// Returns the approximate number of lines of a post without rendering it: enough to recognise a long backlog.
pub(super) fn estimate(post: &Post) -> u32 {
    let count = match &post.body {
        Body::Notice(_) | Body::Refusal(_) | Body::Hook(_) => 1,
        Body::Lines(texts) | Body::Looked(texts) | Body::Kept(texts) => {
            texts.iter().map(|text| whole(text)).sum()
        }
        Body::Agent { text, .. } | Body::Said { text, .. } => whole(text).min(WORDS_LINES_MAX + 1),
        Body::File(sent) => 1 + whole(&sent.text) + whole(&sent.first),
    };
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// Returns the approximate number of lines of an agent's text, including the lines that were cut from it before.
pub(super) fn whole(text: &str) -> usize {
    let lines = |line: &str| match Cut::of(line) {
        Some(Cut::Lines(count)) => count,
        Some(Cut::Bytes(_)) | None => line.len().div_ceil(UNIT),
    };
    text.lines().map(lines).fold(0, usize::saturating_add)
}
