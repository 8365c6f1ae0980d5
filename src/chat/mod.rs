//! Chat networks, in neutral terms.
//!
//! A network is a task with two channels, not a trait object: it sends [`Inbound`] lines and pulls posts from its outbox
//! queue. It establishes who is speaking ([`Author`]); what that person may do is decided in one place, `crate::access`.

pub mod console;
pub mod discord;
pub mod embedded_ircd;
pub mod irc;
mod reconnect;

use crate::access::Role;
use crate::config::DISCORD_NETWORK;
use crate::core::detail::Detail;
use crate::core::id::NetworkName;
use crate::core::time::Timestamp;
use crate::outbox::Target;

/// Whether a network notes what was said with its answer, and gives a line again whose answer is not noted: what is recorded of
/// a line before that is no sign that it was answered.
#[must_use]
pub fn notes_lines_with_answers(network: &NetworkName) -> bool {
    network.as_str() == DISCORD_NETWORK
}

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a channel, by the network's own name for it, e.g. `#spark`.
    Channel(String),
    /// In a thread of a channel: it is read as if it had been said in the channel, and answered in the thread.
    Thread {
        /// The channel, by the network's own name for it.
        of: String,
        /// The network's id of the thread.
        id: String,
    },
    /// In private, to this nick.
    Direct(String),
}

impl Place {
    /// The channel by which it is told what is meant there; `None`: it is private.
    #[must_use]
    pub fn channel(&self) -> Option<&str> {
        match self {
            Self::Channel(name) | Self::Thread { of: name, .. } => Some(name),
            Self::Direct(_) => None,
        }
    }
}

/// Who said it: only what the network itself vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The network.
    pub network: NetworkName,
    /// Nick or display name: for addressing, never for authorising.
    pub nick: String,
    /// Services account, by server-set tag or by a lookup that cannot have been overtaken; on Discord the user's id.
    pub account: Option<String>,
    /// `nick!user@host`, on IRC.
    pub mask: Option<String>,
    /// Ids of the roles they have there, on Discord.
    pub roles: Vec<String>,
    /// How they came in.
    pub origin: Origin,
}

impl Author {
    /// Where what is said to them in private goes. On IRC a nick is anybody's, so that it goes to the whole of what the
    /// network says they are; elsewhere `id` is theirs alone.
    #[must_use]
    pub fn in_private(&self, id: &str) -> Target {
        Target::Person(self.mask.clone().unwrap_or_else(|| id.to_owned()))
    }
}

/// How an author reached herder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A chat network.
    Network,
    /// The local socket, which only the user herder runs as can open: an admin.
    LocalSocket,
    /// A program's token, which carries its role.
    Token(Role),
}

/// Somebody or something that a network writes as an id, as Discord does.
///
/// A name is chosen by whoever bears it, so that it takes no part in what a line means: that is read with the ids in it,
/// and the names stand in what is handed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// As it stands in the text: `<@123>`.
    pub written: String,
    /// As a person reads it: `@alice`.
    pub shown: String,
    /// A line that begins with it is addressed to it: people and their roles, not channels.
    pub addresses: bool,
}

/// One live line. Replayed history, notices, other bots and herder's own echo never become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Who.
    pub author: Author,
    /// Where.
    pub place: Place,
    /// What, without line breaks and control characters. Whoever is mentioned stands in it as `mentions` has it written.
    pub text: String,
    /// Who is mentioned by id, apart from herder itself. On networks where people type names nobody is.
    pub mentions: Vec<Mention>,
    /// The text that is attached to it: it goes with work, and says nothing about what the line means.
    pub attached: String,
    /// herder's own nick on that network at that time, for `herder: help`.
    pub own_nick: String,
    /// When it was said.
    pub at: Timestamp,
    /// What the network calls it, where lines have ids.
    pub message: Option<String>,
}

impl Inbound {
    /// Words of this line as a person reads them.
    #[must_use]
    pub fn spelled_out(&self, words: &str) -> String {
        let mut out = String::with_capacity(words.len());
        let mut rest = words;
        while let Some(at) = rest.find('<') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let mention = self.mentions.iter().find(|mention| from.starts_with(&mention.written));
            let (shown, length) = mention.map_or(("<", 1), |found| (&found.shown, found.written.len()));
            out.push_str(shown);
            rest = &from[length..];
        }
        out.push_str(rest);
        out
    }
}

/// How a network stands, for `status` and the root supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// Trying; attempts so far since the last time it was up.
    Connecting {
        /// Failed attempts in a row.
        attempts: u32,
        /// The last failure.
        reason: Option<Detail>,
    },
    /// Registered and joined.
    Up {
        /// Since when.
        since: Timestamp,
        /// The services do not take the password, and herder goes on without their account: what they said.
        unidentified: Option<Detail>,
    },
    /// Banned; it is tried again when that may be over.
    Barred {
        /// Failed attempts in a row.
        attempts: u32,
        /// What the server says, and when the next attempt is.
        reason: Detail,
    },
    /// Given up for good: bad password.
    Refused {
        /// Why.
        reason: Detail,
    },
}

/// What a network tells the root supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReport {
    /// Which network.
    pub network: NetworkName,
    /// How it stands now.
    pub state: LinkState,
}

/// A channel that is wanted, and what its topic should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelWanted {
    /// Whose posts go there.
    pub target: Target,
    /// The topic; `None` leaves it alone.
    pub topic: Option<String>,
    /// On which network alone; `None`: on every one.
    pub network: Option<NetworkName>,
}
