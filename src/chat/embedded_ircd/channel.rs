//! A channel of the server: its members, topic, and the lines replayed on joining.

use std::collections::{BTreeSet, VecDeque};

use irc::proto::Prefix;

use super::client::ClientId;
use crate::core::time::Timestamp;

/// Number of lines replayed on joining: an evening of three agents, and little enough for every client to show at once.
pub(super) const HISTORY_MAX: usize = 200;

/// `PRIVMSG` or `NOTICE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Privmsg,
    Notice,
}

/// A line in a channel's history.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// The time at which it was said.
    pub(super) at: Timestamp,
    /// Its id.
    pub(super) msgid: String,
    /// The sender.
    pub(super) from: Prefix,
    /// The sender's account.
    pub(super) account: Option<String>,
    /// True if the sender is marked as a bot.
    pub(super) bot: bool,
    /// `PRIVMSG` or `NOTICE`.
    pub(super) kind: Kind,
    /// The text.
    pub(super) text: String,
}

/// A topic, with its author and time.
#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub(super) text: String,
    pub(super) by: String,
    pub(super) at: Timestamp,
}

/// A channel. It exists while it has members.
#[derive(Debug)]
pub(super) struct Channel {
    /// Its name as first written.
    pub(super) name: String,
    /// The time of its creation.
    pub(super) created: Timestamp,
    /// The topic.
    pub(super) topic: Option<Topic>,
    /// Its members.
    pub(super) members: BTreeSet<ClientId>,
    /// The last [`HISTORY_MAX`] lines.
    pub(super) history: VecDeque<Said>,
}

impl Channel {
    pub(super) fn new(name: &str, now: Timestamp) -> Self {
        Self {
            name: name.to_owned(),
            created: now,
            topic: None,
            members: BTreeSet::new(),
            history: VecDeque::new(),
        }
    }

    /// Adds a line to the history, except CTCP other than actions.
    pub(super) fn remember(&mut self, said: Said) {
        if said.text.starts_with('\u{1}') && !said.text.starts_with("\u{1}ACTION ") {
            return;
        }
        if self.history.len() == HISTORY_MAX {
            self.history.pop_front();
        }
        self.history.push_back(said);
    }
}

/// Returns true if the name is valid for a channel.
pub(super) fn is_channel_name(name: &str) -> bool {
    (2..=super::state::CHANNEL_LEN).contains(&name.len())
        && name.starts_with('#')
        && !name.chars().any(|c| c.is_control() || c.is_whitespace() || c == ',' || c == ':')
}

/// Returns true if the nick is valid.
pub(super) fn is_nick(nick: &str) -> bool {
    let special = |c: u8| matches!(c, b'[' | b']' | b'\\' | b'`' | b'_' | b'^' | b'{' | b'|' | b'}');
    let first = |c: u8| c.is_ascii_alphabetic() || special(c);
    let inner = |c: u8| first(c) || c.is_ascii_digit() || c == b'-';
    let bytes = nick.as_bytes();
    (1..=super::state::NICK_LEN).contains(&bytes.len()) && first(bytes[0]) && bytes.iter().copied().all(inner)
}
