//! Networks by name, and the state of their connections.

use crate::detail::Detail;
use crate::id::NetworkName;
use crate::post::Target;
use crate::time::Timestamp;

/// Name of the embedded server as a network, in `[access]` and in posts.
pub const EMBEDDED_NETWORK: &str = "embedded";

/// Name of Discord as a network, in posts and in the audit trail.
pub const DISCORD_NETWORK: &str = "discord";

/// The name of the page and the API as a network, and as the place of what is said there.
pub const HTTP_NETWORK: &str = "http";

/// Returns true if the network acknowledges a line only together with its answer and delivers an unacknowledged line
/// again, as Discord does. On such a network a record of the line does not prove that it was answered.
#[must_use]
pub fn notes_lines_with_answers(network: &NetworkName) -> bool {
    network.as_str() == DISCORD_NETWORK
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
