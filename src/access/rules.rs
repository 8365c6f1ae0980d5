//! The people named in `[access]`.

use crate::core::id::NetworkName;

/// The people who may give commands, by role, as `[access]` names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// People who may give every command.
    pub admins: Vec<Subject>,
    /// People who may pause, resume and abort agents, and give tasks and other work.
    pub operators: Vec<Subject>,
    /// People who may only look: status, log, help.
    pub viewers: Vec<Subject>,
}

/// A person or a group of people, as named in `[access]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// `*`: everyone; allowed for viewers only.
    Everyone,
    /// `discord:<user id>`: one Discord user.
    DiscordUser(String),
    /// `discord-role:<role id>`: everyone with this role on the Discord server.
    DiscordRole(String),
    /// `irc:<network>:<account>`: the owner of a services account.
    IrcAccount {
        /// Name of the network.
        network: NetworkName,
        /// Name of the services account.
        account: String,
    },
    /// `irc-mask:<network>:<nick!user@host>`, with `*` and `?`: everyone whose address matches.
    IrcMask {
        /// Name of the network.
        network: NetworkName,
        /// The mask itself.
        mask: String,
    },
}
