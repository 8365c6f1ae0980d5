//! Chat networks, in neutral terms.
//!
//! A network is a task with two channels, not a trait object: it sends [`Inbound`] lines and pulls posts from its outbox
//! queue. It establishes who is speaking ([`Author`]); what that person may do is decided in one place, `crate::access`.

pub mod console;
pub mod discord;
pub mod embedded_ircd;
pub mod irc;
mod reconnect;

use crate::core::id::NetworkName;
use crate::core::time::Timestamp;
use crate::outbox::Target;

/// Where something was said.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a channel, by the network's own name for it, e.g. `#spark`.
    Channel(String),
    /// In private, to this nick.
    Direct(String),
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

/// How an author reached herder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A chat network.
    Network,
    /// The local socket, which only the user herder runs as can open: an admin.
    LocalSocket,
}

/// One live line. Replayed history, notices, other bots and herder's own echo never become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// Who.
    pub author: Author,
    /// Where.
    pub place: Place,
    /// What, without line breaks and control characters.
    pub text: String,
    /// herder's own nick on that network at that time, for `herder: help`.
    pub own_nick: String,
    /// When it was said.
    pub at: Timestamp,
    /// What the network calls it, where lines have ids.
    pub message: Option<String>,
}

/// How a network stands, for `status` and the root supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// Trying; attempts so far since the last time it was up.
    Connecting {
        /// Failed attempts in a row.
        attempts: u32,
        /// The last failure.
        reason: Option<String>,
    },
    /// Registered and joined.
    Up {
        /// Since when.
        since: Timestamp,
    },
    /// Given up for good: bad password, ban.
    Refused {
        /// Why, in words for people.
        reason: String,
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
}
