//! A connected client, and its capabilities.

use std::collections::BTreeSet;

use irc::proto::Prefix;

use crate::core::time::Timestamp;

/// The id of a connection to the embedded server, counted from 1 and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// The IRCv3 capabilities that the embedded server offers.
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

/// All offered capabilities, each with its name in the protocol.
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
    /// Returns the capability of this name; `None` if it is not offered.
    pub(super) fn named(name: &str) -> Option<Self> {
        CAPS.iter().find(|(_, known)| *known == name).map(|(cap, _)| *cap)
    }
}

/// A client that is connected to the embedded server.
#[derive(Debug)]
pub(super) struct Client {
    /// Host of the client, as other clients see it.
    pub(super) host: &'static str,
    /// Account of a connection that herder opened in memory: it needs no password and may use reserved nicks. `None`
    /// for a connection over TCP.
    pub(super) internal: Option<String>,
    /// True if the client sent a valid password, or was connected by herder itself.
    pub(super) proven: bool,
    /// Password of the client's last `PASS`, before registration.
    pub(super) password: Option<String>,
    /// Nick of the client; `None` before the first accepted `NICK`.
    pub(super) nick: Option<String>,
    /// User name of the client; `None` before `USER`.
    pub(super) user: Option<String>,
    /// Real name of the client, from `USER`.
    pub(super) realname: String,
    /// Capabilities that the client has enabled.
    pub(super) caps: BTreeSet<Cap>,
    /// True between `CAP LS`/`CAP REQ` and `CAP END`: registration waits.
    pub(super) negotiating: bool,
    /// True once the client is registered (001 was sent).
    pub(super) registered: bool,
    /// Account that the client's password belongs to; `None` for a guest.
    pub(super) account: Option<String>,
    /// True if the client is an operator of every channel, see [`Client::is_op`].
    pub(super) op: bool,
    /// True if the client is marked as a bot (user mode `B`).
    pub(super) bot: bool,
    /// Names of the channels that the client is in, in lower case.
    pub(super) channels: BTreeSet<String>,
    /// Time at which the client connected.
    pub(super) since: Timestamp,
    /// Time of the client's last message, which WHOIS shows as idle time.
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

    /// Returns the client's nick; `*` before it has one.
    pub(super) fn nick(&self) -> &str {
        self.nick.as_deref().unwrap_or("*")
    }

    /// Returns the client's user name; `user` before it has one.
    pub(super) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("user")
    }

    /// Returns the client as the sender of lines: `nick!user@host`.
    pub(super) fn prefix(&self) -> Prefix {
        Prefix::Nickname(self.nick().to_owned(), self.user().to_owned(), self.host.to_owned())
    }

    /// Returns true if the client has enabled a capability.
    pub(super) fn has(&self, cap: Cap) -> bool {
        self.caps.contains(&cap)
    }

    /// Returns true if the client is an operator of every channel: all clients with an account are, except onlookers.
    pub(super) fn is_op(&self) -> bool {
        self.op
    }
}
