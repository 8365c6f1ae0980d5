//! A channel of the server: its members, topic, and the lines replayed on joining.

use std::collections::{BTreeSet, VecDeque};

use irc::proto::Prefix;

use super::client::ClientId;
use crate::core::time::Timestamp;

/// Number of lines of a channel that are kept and replayed to a client that joins: an evening of three agents, and
/// little enough for every client to show at once.
pub(super) const HISTORY_MAX: usize = 200;

/// The command by which a line was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Privmsg,
    Notice,
}

/// A line in the history of a channel.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// Time at which the line was said.
    pub(super) at: Timestamp,
    /// Message id of the line.
    pub(super) msgid: String,
    /// The sender of the line, as `nick!user@host`.
    pub(super) from: Prefix,
    /// Account of the sender; `None` without one.
    pub(super) account: Option<String>,
    /// True if the sender is marked as a bot (user mode `B`).
    pub(super) bot: bool,
    /// The command by which the line was said.
    pub(super) kind: Kind,
    /// Text of the line.
    pub(super) text: String,
}

/// The topic of a channel, with its author and time.
#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub(super) text: String,
    pub(super) by: String,
    pub(super) at: Timestamp,
}

/// A channel of the embedded server. It exists while it has members.
#[derive(Debug)]
pub(super) struct Channel {
    /// Name of the channel in the spelling of its first use.
    pub(super) name: String,
    /// Time at which the channel was created.
    pub(super) created: Timestamp,
    /// Topic of the channel; `None` if none is set.
    pub(super) topic: Option<Topic>,
    /// The clients that are in the channel.
    pub(super) members: BTreeSet<ClientId>,
    /// The last lines of the channel, at most [`HISTORY_MAX`].
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

    /// Adds a line to the channel's history, unless it is a CTCP request other than an action.
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

/// Returns true if `name` is valid as the name of a channel.
pub(super) fn is_channel_name(name: &str) -> bool {
    (2..=super::state::CHANNEL_LEN).contains(&name.len())
        && name.starts_with('#')
        && !name.chars().any(|c| c.is_control() || c.is_whitespace() || c == ',' || c == ':')
}

/// Returns true if `nick` is valid as a nick.
pub(super) fn is_nick(nick: &str) -> bool {
    let special = |c: u8| matches!(c, b'[' | b']' | b'\\' | b'`' | b'_' | b'^' | b'{' | b'|' | b'}');
    let first = |c: u8| c.is_ascii_alphabetic() || special(c);
    let inner = |c: u8| first(c) || c.is_ascii_digit() || c == b'-';
    let bytes = nick.as_bytes();
    (1..=super::state::NICK_LEN).contains(&bytes.len()) && first(bytes[0]) && bytes.iter().copied().all(inner)
}
