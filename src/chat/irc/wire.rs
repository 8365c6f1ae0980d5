//! What goes over the wire, in herder's own terms.
//!
//! The parser is `irc::proto`'s; [`Received`] keeps of its message types the few that mean something here, so that
//! nothing beyond this file depends on how that crate tells a `Raw` command from a known one. [`Outgoing`] is the only
//! thing that can be sent, and its `Display` is the one place where text becomes protocol.

use std::fmt;

use ::irc::proto::{BatchSubCommand, CapSubCommand, Command, Message, Prefix};

/// The longest line, without tags, in bytes and with its line end.
pub(crate) const LINE_MAX: usize = 512;

/// One line from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// Message tags, keys exactly as the server wrote them: `account` and `+account` are different things.
    pub(crate) tags: Vec<(String, String)>,
    /// Who or what sent it.
    pub(crate) source: Source,
    /// What it says.
    pub(crate) said: Said,
}

/// The source of a line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Source {
    /// A nick, or a server's name.
    pub(crate) name: String,
    /// The user part; empty for servers.
    pub(crate) user: String,
    /// The host part; empty for servers.
    pub(crate) host: String,
}

impl Source {
    /// `nick!user@host`, if the server gave all three.
    pub(crate) fn mask(&self) -> Option<String> {
        let whole = !self.name.is_empty() && !self.user.is_empty() && !self.host.is_empty();
        whole.then(|| format!("{}!{}@{}", self.name, self.user, self.host))
    }
}

/// What a line says, as far as herder cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A numeric with all its parameters.
    Numeric(u16, Vec<String>),
    /// The server wants to know whether we are there.
    Ping(Vec<String>),
    /// The answer to a PING of ours, with its token.
    Pong(String),
    /// The server ends the link.
    Error(String),
    /// Capability negotiation.
    Cap {
        /// Which subcommand.
        sub: Cap,
        /// More lines of the same list follow.
        more: bool,
        /// The capabilities, as written.
        list: String,
    },
    /// A step of SASL.
    Authenticate(String),
    /// `PRIVMSG`.
    Message {
        /// To whom.
        to: String,
        /// The text.
        text: String,
    },
    /// `NOTICE`.
    Notice {
        /// The text.
        text: String,
    },
    /// Somebody came in.
    Join {
        /// Where.
        channel: String,
        /// Under which services account, where the server says so.
        account: Option<String>,
    },
    /// Somebody left.
    Part {
        /// Where.
        channel: String,
    },
    /// Somebody was thrown out.
    Kick {
        /// Where.
        channel: String,
        /// Who.
        nick: String,
        /// Why.
        reason: String,
    },
    /// Somebody has another nick now.
    Nick(String),
    /// Somebody is gone.
    Quit(String),
    /// Somebody logged in to services under this account, or out of them.
    Account(Option<String>),
    /// Somebody's user and host changed.
    ChangeHost {
        /// The new user part.
        user: String,
        /// The new host part.
        host: String,
    },
    /// The topic changed.
    Topic {
        /// Where.
        channel: String,
        /// To what.
        topic: String,
    },
    /// The modes of a channel, or of who is in it, changed.
    Mode {
        /// Where.
        channel: String,
    },
    /// An invitation.
    Invite {
        /// For whom.
        nick: String,
        /// Where.
        channel: String,
    },
    /// A batch begins.
    BatchStart {
        /// Its reference.
        id: String,
        /// Its type, in lower case.
        kind: String,
        /// What it is about: its first parameter, e.g. a channel.
        about: Option<String>,
    },
    /// A batch ends.
    BatchEnd {
        /// Its reference.
        id: String,
    },
    /// `ACK`: a labelled command of ours that has no other answer was carried out.
    Acknowledged,
    /// `FAIL`: a command of ours was not carried out.
    Failed {
        /// Which.
        command: String,
        /// The code, and what it is about.
        about: Vec<String>,
        /// Why.
        reason: String,
    },
    /// Anything else.
    Other,
}

/// The part of capability negotiation that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cap {
    /// The list of what there is.
    List,
    /// Granted.
    Granted,
    /// Denied.
    Denied,
    /// Newly offered.
    New,
    /// Taken away.
    Gone,
}

impl Received {
    /// The value of a tag whose key is exactly `key`; the last one counts.
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

/// An account, where there is one.
fn named(account: Option<String>) -> Option<String> {
    account.filter(|account| !account.is_empty() && account != "*")
}

/// Commands and numerics that the parser does not know. Numerics among them are as good as any other.
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

/// One line to the server.
///
/// Whatever its parts hold, it is one line: control characters cannot get out, a parameter cannot become two, and it is
/// never longer than [`LINE_MAX`].
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    verb: &'static str,
    middle: Vec<String>,
    trailing: Option<String>,
    label: Option<String>,
}

impl Outgoing {
    /// A command without parameters.
    pub(crate) fn new(verb: &'static str) -> Self {
        Self { verb, middle: Vec::new(), trailing: None, label: None }
    }

    /// With one more parameter: a word.
    pub(crate) fn word(mut self, word: impl Into<String>) -> Self {
        self.middle.push(word.into());
        self
    }

    /// With the last parameter: any text.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.trailing = Some(text.into());
        self
    }

    /// With a label, by which the server's answer is known (labeled-response).
    pub(crate) fn label(mut self, label: String) -> Self {
        self.label = Some(label);
        self
    }

    /// The line as it is sent, with its line end.
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

/// Credentials are lines too, so that a line's text is never shown by `Debug`.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outgoing({} …)", self.verb)
    }
}

/// A word has no spaces, is not empty, and does not begin the trailing parameter.
fn push_word(line: &mut String, word: &str) {
    let start = line.len();
    line.extend(word.chars().filter(|c| *c != ' ' && may_be_sent(*c)).skip_while(|c| *c == ':'));
    if line.len() == start {
        line.push('*');
    }
}

/// Everything but control characters; of those, the formatting codes that IRC clients show.
///
/// `\x01` is not among them: it would make a line a CTCP request.
fn may_be_sent(c: char) -> bool {
    matches!(c, '\x02' | '\x03' | '\x0f' | '\x11' | '\x16' | '\x1d' | '\x1e' | '\x1f') || !c.is_control()
}

/// Cuts at a character boundary, `max` bytes at most.
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
