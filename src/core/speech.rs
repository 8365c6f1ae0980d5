//! Lines of people, and their authors, as the networks vouch for them.

use crate::card::ChatThread;
use crate::file::KeptFile;
use crate::id::NetworkName;
use crate::post::Target;
use crate::role::Role;
use crate::time::Timestamp;

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
    /// The files that were attached to the line, and whose bytes are kept. They go with a task or a message.
    pub files: Vec<KeptFile>,
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
