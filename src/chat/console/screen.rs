//! Formatting of lines for the terminal.

use irc::proto::FormattedStringExt as _;
use jiff::tz::TimeZone;

use crate::core::time::Timestamp;

/// Minimum width of channel names on the console's screen, in columns, so that the texts are aligned.
const CHANNEL_WIDTH: usize = 8;

/// The formatting of the console's output: colours, prompt and time zone.
#[derive(Debug, Clone)]
pub struct Style {
    /// True to use colours: for a terminal whose user did not disable them.
    pub colours: bool,
    /// Width in columns of a terminal that is typed into, for a prompt with the current channel; `None` for no prompt.
    pub prompt: Option<u16>,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
}

impl Style {
    /// Formats a line that `nick` said in the channel `place`, with its time; `urgent` highlights it.
    pub(super) fn said(&self, at: Timestamp, place: &str, nick: &str, text: &str, urgent: bool) -> String {
        let text = self.emphasised(text);
        let nick_colour = NICK_COLOURS[nick.bytes().map(usize::from).sum::<usize>() % NICK_COLOURS.len()];
        let place = format!("{place:<CHANNEL_WIDTH$}");
        let place = self.paint(if urgent { RED } else { DIM }, &place);
        format!("{} {place} {} {text}\n", self.time(at), self.paint(nick_colour, &format!("{nick}:")))
    }

    /// Formats an event in a channel, or a message of the console itself.
    pub(super) fn aside(&self, text: &str) -> String {
        let lines = text.lines().map(|line| format!("{}\n", self.paint(DIM, &format!("-- {}", plain(line)))));
        lines.collect()
    }

    /// Returns the control sequence that removes the prompt from the terminal's last line; empty without a prompt.
    pub(super) fn clear(&self) -> &'static str {
        if self.prompt.is_some() { "\r\u{1b}[K" } else { "" }
    }

    /// Returns the prompt with the draft, to follow any output. Only the end of a long draft is shown, so that it
    /// stays on one line, since [`Style::clear`] clears only one.
    pub(super) fn ask(&self, channel: &str, draft: &str) -> String {
        let Some(width) = self.prompt else { return String::new() };
        let room = usize::from(width).saturating_sub(channel.len() + 3).max(8);
        // Characters outside ASCII may take two columns, which is assumed for all of them.
        let columns = |text: &[char]| text.iter().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>();
        let letters: Vec<char> = draft.chars().collect();
        let mut shown = letters.as_slice();
        while columns(shown) > room {
            shown = &shown[1..];
        }
        let shown: String = shown.iter().collect();
        format!("{} {shown}", self.paint(BOLD, &format!("{channel}>")))
    }

    /// Shows bold parts of a text in bold, or removes the formatting codes if the terminal has no colours.
    fn emphasised(&self, text: &str) -> String {
        let parts = text.split('\u{2}').enumerate();
        let paint = |(index, part): (usize, &str)| {
            let part = plain(part);
            if index % 2 == 1 && !part.is_empty() { self.paint(BOLD, &part) } else { part }
        };
        parts.map(paint).collect()
    }

    fn time(&self, at: Timestamp) -> String {
        let moment = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
        self.paint(DIM, &moment.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string())
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "1;31";
const NICK_COLOURS: [&str; 6] = ["36", "32", "33", "35", "34", "1;36"];

/// Removes IRC formatting and all control characters from text that others wrote.
fn plain(text: &str) -> String {
    text.strip_formatting().chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(colours: bool) -> Style {
        Style { colours, prompt: None, zone: TimeZone::UTC }
    }

    #[test]
    fn a_long_draft_stays_on_one_line() {
        let style = Style { prompt: Some(30), ..style(false) };
        assert_eq!(style.ask("#herder", "hello"), "#herder> hello");
        assert_eq!(
            style.ask("#herder", &"0123456789".repeat(5)),
            format!("#herder> {}", "01234567890123456789")
        );
        assert_eq!(style.ask("#herder", &"🐜".repeat(50)).chars().filter(|c| *c == '🐜').count(), 10);
    }

    #[test]
    fn a_line_has_time_channel_nick_and_nothing_a_terminal_obeys() {
        let at = Timestamp::from_millis(45_296_000);
        let hostile = "\u{2}bold\u{2} \u{3}04red\u{3} \u{1b}]0;title\u{7}\u{1b}[2J";
        let shown = style(false).said(at, "#spark", "herder", hostile, false);
        insta::assert_snapshot!(shown, @"12:34:56 #spark   herder: bold red ]0;title[2J");
        let coloured = style(true).said(at, "#alerts", "herder", "🚨 \u{2}spark\u{2} is stuck", true);
        insta::assert_debug_snapshot!(coloured, @r#""\u{1b}[2m12:34:56\u{1b}[0m \u{1b}[1;31m#alerts \u{1b}[0m \u{1b}[34mherder:\u{1b}[0m 🚨 \u{1b}[1mspark\u{1b}[0m is stuck\n""#);
    }
}
