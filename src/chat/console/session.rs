//! Logic of the console, without I/O: input from server and keyboard gives lines to send and text to print.

use std::collections::BTreeSet;

use irc::proto::{Command, Message, Response};

use super::screen::Style;
use crate::core::time::Timestamp;

/// Maximum length of the text in one line that the console sends, in bytes; it leaves room for the longest prefix and
/// target.
const TEXT_MAX: usize = 400;

/// Settings of the console in the terminal.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Nick under which the console joins the IRC server.
    pub nick: String,
    /// The channel to which typed lines go at first, with `#`.
    pub channel: String,
    /// The alerts channel, whose lines are highlighted.
    pub alerts: String,
    /// Further channels to join at the start; others are found with LIST.
    pub channels: Vec<String>,
    /// The formatting of the output.
    pub style: Style,
    /// True to print typed lines as lines said in the channel; false if the terminal shows them already.
    pub echo: bool,
}

/// The effects of an input on the console: lines to send, text to print, and whether to quit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Does {
    /// Lines to send to the IRC server.
    pub(super) send: Vec<String>,
    /// Text to print on the terminal.
    pub(super) show: String,
    /// True if the person has asked to quit.
    pub(super) quit: bool,
}

/// The state of the console as an IRC client: its channels and the text being typed.
#[derive(Debug)]
pub(super) struct Session {
    settings: Settings,
    current: String,
    joined: BTreeSet<String>,
    /// Number of initial channels that the console has not joined yet and that have not refused it.
    owed: usize,
    /// The text being typed.
    draft: String,
}

const HELP: &str = "What you type goes to the current channel; an agent's channel is work for that agent.\n\
    @spark status, @spark pause, @spark resume, @spark log: to an agent from anywhere; !help lists all commands.\n\
    /channel #spark changes the channel, /channel shows them, /quit ends everything.";

impl Session {
    pub(super) fn new(settings: Settings) -> Self {
        let current = settings.channel.clone();
        Self { settings, current, joined: BTreeSet::new(), owed: usize::MAX, draft: String::new() }
    }

    /// Returns the lines by which the console registers with the server and joins its channels.
    pub(super) fn start(&mut self) -> Does {
        let nick = &self.settings.nick;
        let mut channels = vec![self.settings.channel.clone()];
        channels.extend(self.settings.channels.iter().cloned());
        self.owed = channels.len();
        let send = vec![
            "CAP REQ :batch server-time".to_owned(),
            format!("NICK {nick}"),
            format!("USER {nick} 0 * :the console"),
            "CAP END".to_owned(),
            format!("JOIN {}", channels.join(",")),
        ];
        Does { send, ..Does::default() }
    }

    /// Returns true if typed lines can be sent: all initial channels are joined or refused.
    pub(super) fn is_ready(&self) -> bool {
        self.owed == 0
    }

    /// Returns the text to print at the end, which removes the prompt.
    pub(super) fn end(&self) -> &'static str {
        self.settings.style.clear()
    }

    /// Returns the request for the list of channels, by which new ones are found.
    pub(super) fn look(&self) -> Does {
        Does { send: vec!["LIST".to_owned()], ..Does::default() }
    }

    /// Handles a line from the IRC server.
    pub(super) fn heard(&mut self, line: &str, now: Timestamp) -> Does {
        let Ok(message) = line.parse::<Message>() else { return Does::default() };
        let nick = message.source_nickname().unwrap_or("server").to_owned();
        let own = nick == self.settings.nick;
        // Lines replayed on joining are older.
        let now = said_at(&message).unwrap_or(now);
        match message.command {
            Command::PING(token, _) => Does { send: vec![format!("PONG :{token}")], ..Does::default() },
            Command::PRIVMSG(target, text) | Command::NOTICE(target, text) => {
                self.said(&nick, &target, &text, now)
            }
            Command::JOIN(channel, ..) if own => {
                self.owed = self.owed.saturating_sub(1);
                self.joined.insert(channel);
                Does::default()
            }
            // A newcomer joins many channels; one announcement is enough.
            Command::JOIN(channel, ..) if channel == self.settings.channel => {
                self.happened(&format!("{nick} joined"))
            }
            Command::PART(channel, _) if channel == self.settings.channel => {
                self.happened(&format!("{nick} left {channel}"))
            }
            Command::QUIT(_) => self.happened(&format!("{nick} left")),
            Command::NICK(new) if own => {
                self.settings.nick = new;
                Does::default()
            }
            Command::NICK(new) => self.happened(&format!("{nick} is now known as {new}")),
            Command::KICK(channel, who, _) => {
                if who == self.settings.nick {
                    self.joined.remove(&channel);
                }
                self.happened(&format!("{nick} kicked {who} from {channel}"))
            }
            Command::Response(Response::RPL_LIST, params) => self.listed(&params),
            Command::Response(code, params) if code.is_error() => self.refused(&params),
            Command::ERROR(text) => self.happened(&text),
            // Other lines are not shown: greetings, topics, names, modes.
            _ => Does::default(),
        }
    }

    fn said(&self, nick: &str, target: &str, text: &str, now: Timestamp) -> Does {
        let place = if target.starts_with('#') { target } else { "private" };
        let text = text.strip_prefix("\u{1}ACTION ").map_or(text.to_owned(), |deed| format!("* {deed}"));
        self.show(&self.settings.style.said(now, place, nick, &text, target == self.settings.alerts))
    }

    fn listed(&self, params: &[String]) -> Does {
        match params.get(1) {
            Some(channel) if !self.joined.contains(channel) => {
                Does { send: vec![format!("JOIN {channel}")], ..Does::default() }
            }
            Some(_) | None => Does::default(),
        }
    }

    fn refused(&mut self, params: &[String]) -> Does {
        let text = params.get(1..).unwrap_or_default().join(" ");
        if text.starts_with('#') {
            self.owed = self.owed.saturating_sub(1);
        }
        // 422: a missing message of the day is not an error.
        if text.contains("message of the day") { Does::default() } else { self.happened(&text) }
    }

    fn happened(&self, text: &str) -> Does {
        self.show(&self.settings.style.aside(text))
    }

    fn show(&self, text: &str) -> Does {
        let style = &self.settings.style;
        let show = format!("{}{text}{}", style.clear(), style.ask(&self.current, &self.draft));
        Does { show, ..Does::default() }
    }

    /// Handles a change of the text being typed, which is shown after the prompt.
    pub(super) fn draft(&mut self, draft: String) -> Does {
        self.draft = draft;
        self.show("")
    }

    /// Handles an entered line: a command of the console such as `/channel`, or text for the current channel.
    pub(super) fn typed(&mut self, line: &str, now: Timestamp) -> Does {
        self.draft.clear();
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = line.trim();
        if line.is_empty() {
            return self.show("");
        }
        match line.strip_prefix('/') {
            Some(text) if text.starts_with('/') => self.say(text, now),
            Some(command) => self.command(command),
            None => self.say(line, now),
        }
    }

    fn command(&mut self, command: &str) -> Does {
        let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
        match verb {
            "channel" | "c" | "join" | "j" => self.change(rest.trim()),
            "help" | "h" => self.happened(HELP),
            "quit" | "q" | "exit" => Does { quit: true, ..Does::default() },
            unknown => self.happened(&format!(
                "There is no /{unknown} here, only /channel, /help and /quit; commands for agents start with @ or !"
            )),
        }
    }

    fn change(&mut self, wanted: &str) -> Does {
        if wanted.is_empty() {
            let all: Vec<&str> = self.joined.iter().map(String::as_str).collect();
            return self.happened(&format!("You talk in {}; there are {}", self.current, all.join(" ")));
        }
        let wanted = if wanted.starts_with('#') { wanted.to_owned() } else { format!("#{wanted}") };
        let known = self.joined.iter().find(|channel| channel.eq_ignore_ascii_case(&wanted));
        let Some(channel) = known else {
            let all: Vec<&str> = self.joined.iter().map(String::as_str).collect();
            return self.happened(&format!("There is no {wanted}; there are {}", all.join(" ")));
        };
        self.current = channel.clone();
        self.happened(&format!("You talk in {} now", self.current))
    }

    fn say(&self, text: &str, now: Timestamp) -> Does {
        if text.len() > TEXT_MAX {
            let text =
                format!("That line has {} bytes and IRC takes {TEXT_MAX}; nothing was sent", text.len());
            return self.happened(&text);
        }
        let Settings { nick, style, echo, .. } = &self.settings;
        let shown = if *echo { style.said(now, &self.current, nick, text, false) } else { String::new() };
        Does { send: vec![format!("PRIVMSG {} :{text}", self.current)], ..self.show(&shown) }
    }
}

/// Returns the time that the server gave a message with the tag `time`; `None` without one.
fn said_at(message: &Message) -> Option<Timestamp> {
    let tag = message.tags.as_ref()?.iter().find(|tag| tag.0 == "time")?;
    let at: jiff::Timestamp = tag.1.as_ref()?.parse().ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;

    fn session(echo: bool) -> Session {
        let mut session = Session::new(Settings {
            nick: "console".to_owned(),
            channel: "#herder".to_owned(),
            alerts: "#alerts".to_owned(),
            channels: vec!["#spark".to_owned()],
            style: Style { colours: false, prompt: None, zone: TimeZone::UTC },
            echo,
        });
        for channel in ["#herder", "#spark", "#alerts"] {
            session.heard(&format!(":console!c@herder JOIN {channel}"), NOW);
        }
        session
    }

    const NOW: Timestamp = Timestamp::from_millis(45_296_000);

    fn show(does: &Does) -> String {
        let sent: String = does.send.iter().map(|line| format!("> {line}\n")).collect();
        format!("{sent}{}{}", does.show, if does.quit { "(quit)" } else { "" })
    }

    #[test]
    fn what_is_typed_goes_to_the_current_channel() {
        let mut session = session(false);
        assert_snapshot!(show(&session.typed("@spark status", NOW)), @"> PRIVMSG #herder :@spark status");
        assert_snapshot!(show(&session.typed("/channel spark", NOW)), @"-- You talk in #spark now");
        assert_snapshot!(show(&session.typed("fix the tests", NOW)), @"> PRIVMSG #spark :fix the tests");
        assert_snapshot!(show(&session.typed("//etc is a folder", NOW)), @"> PRIVMSG #spark :/etc is a folder");
        assert_snapshot!(show(&session.typed("/channel", NOW)), @"-- You talk in #spark; there are #alerts #herder #spark");
        assert_snapshot!(show(&session.typed("/channel #gone", NOW)), @"-- There is no #gone; there are #alerts #herder #spark");
        assert_snapshot!(show(&session.typed("/pause spark", NOW)), @"-- There is no /pause here, only /channel, /help and /quit; commands for agents start with @ or !");
        assert_snapshot!(show(&session.typed("  ", NOW)), @"");
        assert_snapshot!(show(&session.typed("/quit", NOW)), @"(quit)");
        assert_snapshot!(show(&session.typed(&"x".repeat(500), NOW)), @"-- That line has 500 bytes and IRC takes 400; nothing was sent");
    }

    #[test]
    fn nothing_is_taken_from_the_keyboard_before_the_channels_are_joined() {
        let mut session = session(false);
        session.start();
        assert!(!session.is_ready());
        session.heard(":console!c@herder JOIN #herder", NOW);
        session.heard(":irc.herder.local 422 console :There is no message of the day", NOW);
        assert!(!session.is_ready());
        session.heard(":irc.herder.local 405 console #spark :You have joined too many channels", NOW);
        assert!(session.is_ready());
    }

    #[test]
    fn a_script_that_types_sees_its_own_lines() {
        assert_snapshot!(show(&session(true).typed("!status", NOW)), @"
        > PRIVMSG #herder :!status
        12:34:56 #herder  console: !status
        ");
    }

    #[test]
    fn what_is_heard_is_shown_and_new_channels_are_joined() {
        let mut session = session(false);
        let mut heard = |line: &str| show(&session.heard(line, NOW));
        assert_snapshot!(heard(":herder!h@herder PRIVMSG #spark :🐜 **spark** started"), @"12:34:56 #spark   herder: 🐜 **spark** started");
        assert_snapshot!(heard("@time=2026-11-21T09:00:00.000Z;batch=1 :herder!h@herder PRIVMSG #spark :earlier"), @"09:00:00 #spark   herder: earlier");
        assert_snapshot!(heard(":herder!h@herder PRIVMSG console :psst"), @"12:34:56 private  herder: psst");
        assert_snapshot!(heard(":ann!a@localhost JOIN #herder"), @"-- ann joined");
        assert_snapshot!(heard(":ann!a@localhost JOIN #spark"), @"");
        assert_snapshot!(heard(":irc.herder.local 322 console #nova 1 :"), @"> JOIN #nova");
        assert_snapshot!(heard(":irc.herder.local 322 console #spark 1 :"), @"");
        assert_snapshot!(heard("PING :irc.herder.local"), @"> PONG :irc.herder.local");
        assert_snapshot!(heard(":irc.herder.local 404 console #x :Cannot send to channel"), @"-- #x Cannot send to channel");
        assert_snapshot!(heard(":irc.herder.local 422 console :There is no message of the day"), @"");
    }

    proptest! {
        #[test]
        fn one_typed_line_is_never_more_than_one_line_of_irc(line in any::<String>()) {
            for sent in session(false).typed(&line, NOW).send {
                prop_assert!(!sent.contains(['\r', '\n', '\0']), "{:?}", sent);
                prop_assert!(sent.starts_with("PRIVMSG #herder :"), "{:?}", sent);
            }
        }

        #[test]
        fn nothing_heard_breaks_the_console_or_moves_the_cursor(line in any::<String>()) {
            let does = session(false).heard(&line, NOW);
            prop_assert!(!does.show.chars().any(|c| c.is_control() && c != '\n'), "{:?}", does.show);
        }
    }
}
