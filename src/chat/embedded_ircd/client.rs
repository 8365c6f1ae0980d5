//! One client as the server knows it, and the capabilities it asked for.

use std::collections::BTreeSet;

use irc::proto::Prefix;

use crate::core::time::Timestamp;

/// A connection, counted from 1 and never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// The IRCv3 capabilities that are offered.
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

/// Every capability with its name on the wire.
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
    /// The capability of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        CAPS.iter().find(|(_, known)| *known == name).map(|(cap, _)| *cap)
    }
}

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// Where it comes from, as others see it.
    pub(super) host: &'static str,
    /// Joined from inside herder, as this account: no password is asked, no place is reserved against it.
    pub(super) internal: Option<String>,
    /// Has shown a password that is one, or came from inside.
    pub(super) proven: bool,
    /// The last `PASS`.
    pub(super) password: Option<String>,
    /// The nick, from the first accepted `NICK` on.
    pub(super) nick: Option<String>,
    /// The user name, from `USER` on.
    pub(super) user: Option<String>,
    /// The real name.
    pub(super) realname: String,
    /// What was negotiated.
    pub(super) caps: BTreeSet<Cap>,
    /// Between `CAP LS`/`CAP REQ` and `CAP END`: registration waits.
    pub(super) negotiating: bool,
    /// 001 was sent.
    pub(super) registered: bool,
    /// The account its password belongs to.
    pub(super) account: Option<String>,
    /// See [`Client::is_op`].
    pub(super) op: bool,
    /// User mode `B`.
    pub(super) bot: bool,
    /// Its channels, by their folded names.
    pub(super) channels: BTreeSet<String>,
    /// When it connected.
    pub(super) since: Timestamp,
    /// When it last said something, for WHOIS.
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

    /// The nick, or what a server writes before there is one.
    pub(super) fn nick(&self) -> &str {
        self.nick.as_deref().unwrap_or("*")
    }

    /// The user name.
    pub(super) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("user")
    }

    /// `nick!user@host`.
    pub(super) fn prefix(&self) -> Prefix {
        Prefix::Nickname(self.nick().to_owned(), self.user().to_owned(), self.host.to_owned())
    }

    /// Whether a capability was negotiated.
    pub(super) fn has(&self, cap: Cap) -> bool {
        self.caps.contains(&cap)
    }

    /// Whether it is an operator of every channel: whoever has an account, but those who may only look.
    pub(super) fn is_op(&self) -> bool {
        self.op
    }
}
