//! Chat networks: the types that all of them share.
//!
//! A network is a task with two channels, not a trait object: it sends [`Inbound`] lines and takes posts from its
//! outbox queue. The network establishes the identity of a speaker ([`Author`]); `crate::access` alone decides the
//! permissions of that person.

mod absence;
pub mod console;
pub mod discord;
pub mod embedded_ircd;
pub mod irc;
mod reconnect;

pub use absence::Silence;

use crate::access::Role;
use crate::config::DISCORD_NETWORK;
use crate::core::card::ChatThread;
use crate::core::detail::Detail;
use crate::core::id::NetworkName;
use crate::core::time::Timestamp;
use crate::outbox::Target;

/// Returns true if the network acknowledges a line only together with its answer and delivers an unacknowledged line
/// again, as Discord does. On such a network a record of the line does not prove that it was answered.
#[must_use]
pub fn notes_lines_with_answers(network: &NetworkName) -> bool {
    network.as_str() == DISCORD_NETWORK
}

/// The place in which a line was said.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A channel, by the network's own name for it, e.g. `#spark`.
    Channel(String),
    /// A thread of a channel. The line is read as if said in the channel, and answered in the thread.
    Thread {
        /// The channel, by the network's own name for it.
        of: String,
        /// The network's id of the thread.
        id: String,
    },
    /// A private conversation with the person of this nick.
    Direct(String),
}

impl Place {
    /// Returns the channel of the place; for a thread the channel around it, `None` for a private conversation.
    #[must_use]
    pub fn channel(&self) -> Option<&str> {
        match self {
            Self::Channel(name) | Self::Thread { of: name, .. } => Some(name),
            Self::Direct(_) => None,
        }
    }
}

/// The author of a line: only facts that the network itself vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The network on which the author speaks.
    pub network: NetworkName,
    /// Nick or display name: used to address a person, never to authorise one.
    pub nick: String,
    /// Services account, from a tag set by the server or from a lookup that no other login can have overtaken; on
    /// Discord the user's id.
    pub account: Option<String>,
    /// The author's `nick!user@host` on IRC; `None` elsewhere.
    pub mask: Option<String>,
    /// Ids of the author's roles on the Discord server; empty elsewhere.
    pub roles: Vec<String>,
    /// The way by which the line reached herder.
    pub origin: Origin,
}

impl Author {
    /// Returns the target for private messages to this author. On IRC it is the whole mask, since anybody can take a
    /// nick; elsewhere it is `id`, which belongs to this person alone.
    #[must_use]
    pub fn in_private(&self, id: &str) -> Target {
        Target::Person(self.mask.clone().unwrap_or_else(|| id.to_owned()))
    }
}

/// The way by which a line or request reached herder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The line was said on a chat network.
    Network,
    /// The request came over the local socket, which only the user that runs herder can open: an admin.
    LocalSocket,
    /// The request came over HTTP with an API token, which carries its role.
    Token(Role),
}

/// A person, role or channel that the network writes as an id, as Discord does.
///
/// Commands are read with the ids in them, because anybody can choose their name. The names are put in only where
/// text is passed on, e.g. to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The mention as it stands in the text: `<@123>`.
    pub written: String,
    /// The mention as people read it: `@alice`.
    pub shown: String,
    /// True if a line that begins with the mention is addressed to the mentioned one: for people and their roles, not
    /// for channels.
    pub addresses: bool,
}

/// One live line. Replayed history, notices, lines of other bots and herder's own echo never become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The person who said the line.
    pub author: Author,
    /// The channel, thread or private conversation in which it was said.
    pub place: Place,
    /// The text of the line, without line breaks and control characters. Mentions stand in it as in
    /// [`Mention::written`].
    pub text: String,
    /// The people, roles and channels that the line mentions by id, apart from herder itself. Empty on networks where
    /// people type names.
    pub mentions: Vec<Mention>,
    /// Text of the files attached to the line. It is passed on with a task, and is not read as part of a command.
    pub attached: String,
    /// herder's own nick on the network at that time, to recognise lines such as `herder: help`.
    pub own_nick: String,
    /// Time at which the line was said.
    pub at: Timestamp,
    /// The network's id of the line; `None` if the network has no message ids.
    pub message: Option<String>,
}

impl Inbound {
    /// Returns the thread in which the line was said; `None` if it was said elsewhere.
    #[must_use]
    pub fn thread(&self) -> Option<ChatThread> {
        match &self.place {
            Place::Thread { id, .. } => {
                Some(ChatThread { network: self.author.network.clone(), id: id.clone() })
            }
            Place::Channel(_) | Place::Direct(_) => None,
        }
    }

    /// Returns `words`, a part of this line, with each mention replaced by the name that people read.
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

/// State of a network's connection, for `status` and the root supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkState {
    /// herder is connecting, or waits for the next attempt.
    Connecting {
        /// Number of failed attempts in a row.
        attempts: u32,
        /// Reason of the last failure; `None` before the first.
        reason: Option<Detail>,
    },
    /// herder is connected, with the channels joined.
    Up {
        /// Time since which the connection is up.
        since: Timestamp,
        /// The services' reason for refusing herder's password, if herder continues without an account; else `None`.
        unidentified: Option<Detail>,
    },
    /// herder is banned; the next attempt is made when the ban may be over.
    Barred {
        /// Number of failed attempts in a row.
        attempts: u32,
        /// The server's reason, with the time of the next attempt.
        reason: Detail,
    },
    /// The network was given up for good, e.g. because of a wrong password.
    Refused {
        /// Reason why the network was given up.
        reason: Detail,
    },
}

/// The report of a change of a network's connection, for the root supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReport {
    /// The network whose connection has changed.
    pub network: NetworkName,
    /// The new state of the connection.
    pub state: LinkState,
}

/// A channel in which herder wants to be, with its topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelWanted {
    /// The target whose posts go to this channel.
    pub target: Target,
    /// The wanted topic of the channel; `None` leaves the present one alone.
    pub topic: Option<String>,
    /// The only network on which the channel is wanted; `None` for every network.
    pub network: Option<NetworkName>,
}
