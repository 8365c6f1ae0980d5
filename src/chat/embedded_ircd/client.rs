//! A connected client, and its capabilities.

use std::collections::BTreeSet;

use irc::proto::Prefix;

use crate::core::time::Timestamp;

/// The id of a connection, counted from 1 and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// The offered IRCv3 capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cap {
    AccountTag,
    Batch,
    ChatHistory,
    EchoMessage,
    ExtendedJoin,
    LabeledResponse,
    MessageTags,
    ServerTime,
}

/// All capabilities with their names on the wire.
pub(super) const CAPS: [(Cap, &str); 8] = [
    (Cap::AccountTag, "account-tag"),
    (Cap::Batch, "batch"),
    (Cap::ChatHistory, "draft/chathistory"),
    (Cap::EchoMessage, "echo-message"),
    (Cap::ExtendedJoin, "extended-join"),
    (Cap::LabeledResponse, "labeled-response"),
    (Cap::MessageTags, "message-tags"),
    (Cap::ServerTime, "server-time"),
];

impl Cap {
    /// Returns the capability of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        CAPS.iter().find(|(_, known)| *known == name).map(|(cap, _)| *cap)
    }
}

/// A connected client.
#[derive(Debug)]
pub(super) struct Client {
    /// Its host, as others see it.
    pub(super) host: &'static str,
    /// The account of a connection from inside herder: it needs no password, and reserved nicks are open to it.
    pub(super) internal: Option<String>,
    /// True if it sent a valid password or came from inside.
    pub(super) proven: bool,
    /// The password of the last `PASS`.
    pub(super) password: Option<String>,
    /// The nick, from the first accepted `NICK` on.
    pub(super) nick: Option<String>,
    /// The user name, from `USER` on.
    pub(super) user: Option<String>,
    /// The real name.
    pub(super) realname: String,
    /// The negotiated capabilities.
    pub(super) caps: BTreeSet<Cap>,
    /// True between `CAP LS`/`CAP REQ` and `CAP END`: registration waits.
    pub(super) negotiating: bool,
    /// True once 001 was sent.
    pub(super) registered: bool,
    /// The account of its password.
    pub(super) account: Option<String>,
    /// True for a channel operator, see [`Client::is_op`].
    pub(super) op: bool,
    /// User mode `B`: a bot.
    pub(super) bot: bool,
    /// The folded names of its channels.
    pub(super) channels: BTreeSet<String>,
    /// The time of its connection.
    pub(super) since: Timestamp,
    /// The time of its last message, for WHOIS.
    pub(super) spoke: Timestamp,
}

impl Client {
    pub(super) fn new(host: &'static str, internal: Option<String>, now: Timestamp) -> Self {
        Self {
            host,
            proven: internal.is_some(),
            internal,
            password: None,
            nick: None,
            user: None,
            realname: String::new(),
            caps: BTreeSet::new(),
            negotiating: false,
            registered: false,
            account: None,
            op: false,
            bot: false,
            channels: BTreeSet::new(),
            since: now,
            spoke: now,
        }
    }

    /// Returns the nick, or `*` before there is one.
    pub(super) fn nick(&self) -> &str {
        self.nick.as_deref().unwrap_or("*")
    }

    /// Returns the user name.
    pub(super) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("user")
    }

    /// Returns the prefix `nick!user@host`.
    pub(super) fn prefix(&self) -> Prefix {
        Prefix::Nickname(self.nick().to_owned(), self.user().to_owned(), self.host.to_owned())
    }

    /// Returns true if the capability was negotiated.
    pub(super) fn has(&self, cap: Cap) -> bool {
        self.caps.contains(&cap)
    }

    /// Returns true if it is an operator of every channel: all clients with an account are, except onlookers.
    pub(super) fn is_op(&self) -> bool {
        self.op
    }
}
