//! One channel: who is in it, its topic, and the lines that are replayed to those who join.

use std::collections::{BTreeSet, VecDeque};

use irc::proto::Prefix;

use super::client::ClientId;
use crate::core::time::Timestamp;

/// Lines replayed on joining: an evening of three agents, and little enough for every client to show at once.
pub(super) const HISTORY_MAX: usize = 200;

/// `PRIVMSG` or `NOTICE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Privmsg,
    Notice,
}

/// A line as it was said.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// When.
    pub(super) at: Timestamp,
    /// Its id.
    pub(super) msgid: String,
    /// By whom.
    pub(super) from: Prefix,
    /// Their account.
    pub(super) account: Option<String>,
    /// Whether they are marked as a bot.
    pub(super) bot: bool,
    /// How.
    pub(super) kind: Kind,
    /// What.
    pub(super) text: String,
}

/// Who set the topic to what, and when.
#[derive(Debug, Clone)]
pub(super) struct Topic {
    pub(super) text: String,
    pub(super) by: String,
    pub(super) at: Timestamp,
}

/// One channel. It exists while somebody is in it.
#[derive(Debug)]
pub(super) struct Channel {
    /// Its name as it was first written.
    pub(super) name: String,
    /// When it was made.
    pub(super) created: Timestamp,
    /// The topic.
    pub(super) topic: Option<Topic>,
    /// Who is in it.
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

    /// Keeps a line; CTCP other than an action is between clients and not worth replaying.
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

/// Whether a client may name a channel so.
pub(super) fn is_channel_name(name: &str) -> bool {
    (2..=super::state::CHANNEL_LEN).contains(&name.len())
        && name.starts_with('#')
        && !name.chars().any(|c| c.is_control() || c.is_whitespace() || c == ',' || c == ':')
}

/// Whether a client may call itself so.
pub(super) fn is_nick(nick: &str) -> bool {
    let special = |c: u8| matches!(c, b'[' | b']' | b'\\' | b'`' | b'_' | b'^' | b'{' | b'|' | b'}');
    let first = |c: u8| c.is_ascii_alphabetic() || special(c);
    let inner = |c: u8| first(c) || c.is_ascii_digit() || c == b'-';
    let bytes = nick.as_bytes();
    (1..=super::state::NICK_LEN).contains(&bytes.len()) && first(bytes[0]) && bytes.iter().copied().all(inner)
}
