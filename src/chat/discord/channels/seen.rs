//! The server's state as last seen: its channels, and the bot's permissions.

use std::collections::BTreeMap;

use serenity::all::{
    ChannelId, GuildChannel, PermissionOverwrite, PermissionOverwriteType, Permissions, RoleId,
};

use super::super::permission::Standing;

/// The kind of a channel on Discord, as far as herder distinguishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Category,
    Other,
}

/// The properties of a channel on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct There {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) parent: Option<ChannelId>,
    pub(crate) topic: Option<String>,
    pub(crate) overwrites: Vec<PermissionOverwrite>,
}

impl From<&GuildChannel> for There {
    fn from(channel: &GuildChannel) -> Self {
        use serenity::all::ChannelType;
        let kind = match channel.kind {
            ChannelType::Text | ChannelType::News => Kind::Text,
            ChannelType::Category => Kind::Category,
            // Voice, forums, threads and future kinds: herder creates none of them.
            _ => Kind::Other,
        };
        Self {
            name: channel.name.clone(),
            kind,
            parent: channel.parent_id,
            topic: channel.topic.clone(),
            overwrites: channel.permission_overwrites.clone(),
        }
    }
}

/// The state of the whole server at one moment: its channels, and the bot's permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) channels: BTreeMap<ChannelId, There>,
    /// The bot's roles and permissions; `None` if not known yet.
    pub(crate) standing: Option<Standing>,
}

/// Returns a channel's permission overwrites, changed so that only the bot can write there, or back. `None` if the bot
/// may not change them; then people have to make the archive read-only.
pub(super) fn sealed(
    standing: &Standing,
    mut overwrites: Vec<PermissionOverwrite>,
    seal: bool,
) -> Option<Vec<PermissionOverwrite>> {
    if !standing.within(&overwrites).contains(Permissions::MANAGE_ROLES | Permissions::SEND_MESSAGES) {
        return None;
    }
    let everyone = PermissionOverwriteType::Role(RoleId::new(standing.guild.get()));
    let me = PermissionOverwriteType::Member(standing.me);
    let send = Permissions::SEND_MESSAGES;
    for kind in [everyone, me] {
        if !overwrites.iter().any(|overwrite| overwrite.kind == kind) {
            let none = Permissions::empty();
            overwrites.push(PermissionOverwrite { allow: none, deny: none, kind });
        }
    }
    for overwrite in &mut overwrites {
        if overwrite.kind == everyone {
            overwrite.deny.set(send, seal);
            overwrite.allow &= if seal { !send } else { Permissions::all() };
        } else if overwrite.kind == me {
            overwrite.allow.set(send, seal);
        }
    }
    overwrites.retain(|overwrite| !(overwrite.allow | overwrite.deny).is_empty());
    Some(overwrites)
}
