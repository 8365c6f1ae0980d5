//! IRC lines as herder's own types: parsed ones from a server, and ones to be sent.
//!
//! The parser is `irc::proto`'s; [`Received`] keeps only the few message types that herder uses, so that no other
//! file depends on how that crate tells a `Raw` command from a known one. Only an [`Outgoing`] can be sent, and its
//! [`Outgoing::to_line`] alone turns text into protocol.

use std::fmt;

use ::irc::proto::{BatchSubCommand, CapSubCommand, Command, Message, Prefix};

/// Maximum length of an IRC line, in bytes, without tags and with its line end.
pub(crate) const LINE_MAX: usize = 512;

/// One parsed line from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// Message tags of the line, with keys exactly as the server wrote them: `account` and `+account` are different.
    pub(crate) tags: Vec<(String, String)>,
    /// The sender of the line.
    pub(crate) source: Source,
    /// The command of the line, with its parameters.
    pub(crate) said: Said,
}

/// The sender of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Source {
    /// Nick of a person, or name of a server.
    pub(crate) name: String,
    /// User part of `nick!user@host`; empty for servers.
    pub(crate) user: String,
    /// Host part of `nick!user@host`; empty for servers.
    pub(crate) host: String,
}

impl Source {
    /// Returns the sender as `nick!user@host`; `None` if the server did not give all three.
    pub(crate) fn mask(&self) -> Option<String> {
        let whole = !self.name.is_empty() && !self.user.is_empty() && !self.host.is_empty();
        whole.then(|| format!("{}!{}@{}", self.name, self.user, self.host))
    }
}

/// The command of a line from the server, as far as herder uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A numeric reply with all its parameters.
    Numeric(u16, Vec<String>),
    /// `PING`: the server checks the connection; herder answers with the same parameters.
    Ping(Vec<String>),
    /// The answer to a PING by herder, with the token of that PING.
    Pong(String),
    /// `ERROR`: the server ends the connection, for this reason.
    Error(String),
    /// `CAP`: the negotiation of capabilities.
    Cap {
        /// The subcommand, e.g. `ACK`.
        sub: Cap,
        /// True if more lines of the same list follow.
        more: bool,
        /// The capabilities, as the server wrote them.
        list: String,
    },
    /// `AUTHENTICATE`: a step of the SASL login.
    Authenticate(String),
    /// `PRIVMSG`: a message to a channel or to herder.
    Message {
        /// The channel or nick to which the message is sent.
        to: String,
        /// Text of the message.
        text: String,
    },
    /// `NOTICE`: a message that must not be answered.
    Notice {
        /// Text of the notice.
        text: String,
    },
    /// `JOIN`: the sender has joined a channel.
    Join {
        /// Name of the channel.
        channel: String,
        /// The sender's services account; `None` if the server does not send it.
        account: Option<String>,
    },
    /// `PART`: the sender has left a channel.
    Part {
        /// Name of the channel.
        channel: String,
    },
    /// `KICK`: somebody was removed from a channel.
    Kick {
        /// Name of the channel.
        channel: String,
        /// Nick of the person who was removed.
        nick: String,
        /// Reason of the kick, as text.
        reason: String,
    },
    /// `NICK`: the sender has this new nick.
    Nick(String),
    /// `QUIT`: the sender has left the network, for this reason.
    Quit(String),
    /// `ACCOUNT`: the sender has logged in to this services account, or out (`None`).
    Account(Option<String>),
    /// `CHGHOST`: the sender's user and host have changed.
    ChangeHost {
        /// The sender's new user part.
        user: String,
        /// The sender's new host part.
        host: String,
    },
    /// `TOPIC`: the topic of a channel has changed.
    Topic {
        /// Name of the channel.
        channel: String,
        /// The channel's new topic.
        topic: String,
    },
    /// `MODE`: the modes of a channel, or of its members, have changed.
    Mode {
        /// Name of the channel.
        channel: String,
    },
    /// `INVITE`: somebody was invited to a channel.
    Invite {
        /// Nick of the person who was invited.
        nick: String,
        /// Name of the channel.
        channel: String,
    },
    /// `BATCH +`: the start of a batch of lines.
    BatchStart {
        /// Reference by which lines name the batch.
        id: String,
        /// Type of the batch, in lower case.
        kind: String,
        /// First parameter of the batch, e.g. a channel; `None` without one.
        about: Option<String>,
    },
    /// `BATCH -`: the end of a batch of lines.
    BatchEnd {
        /// Reference of the batch.
        id: String,
    },
    /// `ACK`: a labelled command by herder was carried out, and has no other answer.
    Acknowledged,
    /// `FAIL`: a command by herder was refused.
    Failed {
        /// Name of the refused command.
        command: String,
        /// The code of the failure, and its context parameters.
        about: Vec<String>,
        /// Reason of the failure, as text.
        reason: String,
    },
    /// Any other command, which herder ignores.
    Other,
}

/// The subcommand of a `CAP` line from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cap {
    /// `LS`: the capabilities that the server offers.
    List,
    /// `ACK`: capabilities that are granted.
    Granted,
    /// `NAK`: capabilities that are denied.
    Denied,
    /// `NEW`: capabilities that the server offers from now on.
    New,
    /// `DEL`: capabilities that the server withdraws.
    Gone,
}

impl Received {
    /// Returns the value of the message tag with exactly this key; of several the last, `None` without one.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

impl From<Message> for Received {
    fn from(message: Message) -> Self {
        let tags = message.tags.unwrap_or_default().into_iter();
        let source = match message.prefix {
            Some(Prefix::ServerName(name)) => Source { name, ..Source::default() },
            Some(Prefix::Nickname(name, user, host)) => Source { name, user, host },
            None => Source::default(),
        };
        Self {
            tags: tags.map(|tag| (tag.0, tag.1.unwrap_or_default())).collect(),
            source,
            said: said(message.command),
        }
    }
}

fn said(command: Command) -> Said {
    match command {
        Command::Response(response, params) => Said::Numeric(response as u16, params),
        Command::Raw(verb, params) => raw(&verb, params),
        Command::PING(first, second) => Said::Ping(std::iter::once(first).chain(second).collect()),
        Command::PONG(first, second) => Said::Pong(second.unwrap_or(first)),
        Command::ERROR(reason) => Said::Error(reason),
        Command::CAP(_, sub, third, fourth) => cap(sub, third, fourth),
        Command::AUTHENTICATE(data) => Said::Authenticate(data),
        Command::PRIVMSG(to, text) => Said::Message { to, text },
        Command::NOTICE(_, text) => Said::Notice { text },
        Command::JOIN(channel, account, _) => Said::Join { channel, account: named(account) },
        Command::PART(channel, _) => Said::Part { channel },
        Command::KICK(channel, nick, reason) => {
            Said::Kick { channel, nick, reason: reason.unwrap_or_default() }
        }
        Command::NICK(nick) => Said::Nick(nick),
        Command::QUIT(reason) => Said::Quit(reason.unwrap_or_default()),
        Command::ACCOUNT(account) => Said::Account(named(Some(account))),
        Command::CHGHOST(user, host) => Said::ChangeHost { user, host },
        Command::TOPIC(channel, topic) => Said::Topic { channel, topic: topic.unwrap_or_default() },
        Command::ChannelMODE(channel, _) => Said::Mode { channel },
        Command::INVITE(nick, channel) => Said::Invite { nick, channel },
        Command::BATCH(reference, kind, params) => {
            batch(&reference, kind.as_ref(), params.into_iter().flatten().next())
        }
        _ => Said::Other,
    }
}

/// Returns the account; `None` if it is empty or `*`, which stand for nobody.
fn named(account: Option<String>) -> Option<String> {
    account.filter(|account| !account.is_empty() && account != "*")
}

/// Converts a command or numeric reply that the parser does not know.
fn raw(verb: &str, mut params: Vec<String>) -> Said {
    if verb.len() == 3
        && let Ok(code) = verb.parse()
    {
        return Said::Numeric(code, params);
    }
    match verb.to_ascii_uppercase().as_str() {
        "ACK" => Said::Acknowledged,
        "FAIL" => {
            let reason = params.pop().unwrap_or_default();
            let command = if params.is_empty() { String::new() } else { params.remove(0) };
            Said::Failed { command: command.to_ascii_uppercase(), about: params, reason }
        }
        _ => Said::Other,
    }
}

fn cap(sub: CapSubCommand, third: Option<String>, fourth: Option<String>) -> Said {
    let (more, list) = match (third, fourth) {
        (Some(star), Some(list)) => (star == "*", list),
        (Some(list), None) | (None, Some(list)) => (false, list),
        (None, None) => (false, String::new()),
    };
    let sub = match sub {
        CapSubCommand::LS => Cap::List,
        CapSubCommand::ACK => Cap::Granted,
        CapSubCommand::NAK => Cap::Denied,
        CapSubCommand::NEW => Cap::New,
        CapSubCommand::DEL => Cap::Gone,
        CapSubCommand::LIST | CapSubCommand::REQ | CapSubCommand::END => return Said::Other,
    };
    Said::Cap { sub, more, list }
}

fn batch(reference: &str, kind: Option<&BatchSubCommand>, about: Option<String>) -> Said {
    if let Some(id) = reference.strip_prefix('+') {
        let kind = kind.map(|kind| kind.to_str().to_ascii_lowercase()).unwrap_or_default();
        return Said::BatchStart { id: id.to_owned(), kind, about };
    }
    match reference.strip_prefix('-') {
        Some(id) => Said::BatchEnd { id: id.to_owned() },
        None => Said::Other,
    }
}

/// One line to the server, which is built part by part.
///
/// Whatever its parts contain, the result is one line: control characters are removed, a parameter cannot become two,
/// and the line is at most [`LINE_MAX`] bytes long.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    verb: &'static str,
    middle: Vec<String>,
    trailing: Option<String>,
    label: Option<String>,
}

impl Outgoing {
    /// Begins a line with a command.
    pub(crate) fn new(verb: &'static str) -> Self {
        Self { verb, middle: Vec::new(), trailing: None, label: None }
    }

    /// Adds a parameter, from which spaces are removed.
    pub(crate) fn word(mut self, word: impl Into<String>) -> Self {
        self.middle.push(word.into());
        self
    }

    /// Sets the last parameter of the line, which can be any text.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.trailing = Some(text.into());
        self
    }

    /// Adds a label, which the server repeats in its answer (IRCv3 labeled-response).
    pub(crate) fn label(mut self, label: String) -> Self {
        self.label = Some(label);
        self
    }

    /// Returns the line as it is sent, with its line end.
    pub(crate) fn to_line(&self) -> String {
        let mut line = String::with_capacity(128);
        line.push_str(self.verb);
        for word in &self.middle {
            line.push(' ');
            push_word(&mut line, word);
        }
        if let Some(text) = &self.trailing {
            line.push_str(" :");
            line.extend(text.chars().filter(|c| may_be_sent(*c)));
        }
        truncate(&mut line, LINE_MAX - 2);
        line.push_str("\r\n");
        let Some(label) = &self.label else { return line };
        let label: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
        format!("@label={label} {line}")
    }
}

/// Lines can contain credentials, so that `Debug` never shows their text.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} …)", self.verb)
    }
}

/// Appends a parameter: without spaces, not empty, and not beginning with a colon, which would start the trailing parameter.
fn push_word(line: &mut String, word: &str) {
    let start = line.len();
    line.extend(word.chars().filter(|c| *c != ' ' && may_be_sent(*c)).skip_while(|c| *c == ':'));
    if line.len() == start {
        line.push('*');
    }
}

/// Returns true for characters that may be sent: all but control characters, of which only formatting codes are allowed
/// that IRC clients show.
///
/// `\x01` is not allowed: it would make a line a CTCP request.
fn may_be_sent(c: char) -> bool {
    matches!(c, '\x02' | '\x03' | '\x0f' | '\x11' | '\x16' | '\x1d' | '\x1e' | '\x1f') || !c.is_control()
}

/// Cuts the line at a character boundary, to at most `max` bytes.
fn truncate(line: &mut String, max: usize) {
    if line.len() > max {
        let mut end = max;
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        line.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(line: &str) -> Received {
        line.parse::<Message>().expect("a line").into()
    }

    #[test]
    fn numerics_are_the_same_whether_the_parser_knows_them() {
        let known = parse(":irc.test 433 * herder :in use").said;
        assert_eq!(known, Said::Numeric(433, ["*", "herder", "in use"].map(str::to_owned).to_vec()));
        let unknown = parse(":irc.test 354 me 152 u h n acc").said;
        assert!(matches!(unknown, Said::Numeric(354, params) if params.len() == 6));
    }

    #[test]
    fn a_capability_list_says_whether_more_follows() {
        let more = parse(":irc.test CAP * LS * :batch sasl").said;
        assert_eq!(more, Said::Cap { sub: Cap::List, more: true, list: "batch sasl".to_owned() });
        let last = parse(":irc.test CAP * LS :server-time").said;
        assert_eq!(last, Said::Cap { sub: Cap::List, more: false, list: "server-time".to_owned() });
    }

    #[test]
    fn a_clients_own_account_tag_is_not_the_servers() {
        let spoofed = parse("@+account=alice :eve!e@h PRIVMSG #c :hi");
        assert_eq!(spoofed.tag("account"), None);
    }

    #[test]
    fn a_pong_carries_its_token_with_and_without_a_server_name() {
        assert_eq!(parse(":s PONG s :f7").said, Said::Pong("f7".to_owned()));
        assert_eq!(parse("PONG :f7").said, Said::Pong("f7".to_owned()));
    }

    proptest! {
        #[test]
        fn one_line_whatever_it_is_made_of(
            words in proptest::collection::vec(any::<String>(), 0..4),
            text in proptest::option::of(any::<String>()),
            label in proptest::option::of(any::<String>()),
            repeat in 1usize..20,
        ) {
            let mut line = Outgoing::new("PRIVMSG");
            let count = words.len();
            for word in words {
                line = line.word(word);
            }
            if let Some(text) = &text {
                line = line.text(text.repeat(repeat));
            }
            let untagged = line.to_line();
            prop_assert!(untagged.len() <= LINE_MAX);
            let body = untagged.strip_suffix("\r\n").expect("a line end");
            prop_assert!(!body.contains(['\r', '\n', '\0', '\x01']));
            let before_text = body.split(" :").next().expect("the first piece");
            prop_assert!(before_text.split(' ').count() <= count + 1);
            if let Some(label) = label {
                let tagged = line.label(label).to_line();
                prop_assert!(tagged.starts_with("@label="));
                prop_assert_eq!(tagged.split_once(' ').map(|(_, rest)| rest.to_owned()), Some(untagged));
            }
        }
    }
}
