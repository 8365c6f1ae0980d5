//! The server as it is seen: its channels, and what the bot is there.

use std::collections::BTreeMap;

use serenity::all::{
    ChannelId, GuildChannel, PermissionOverwrite, PermissionOverwriteType, Permissions, RoleId,
};

use super::super::permission::Standing;

/// What a channel is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Category,
    Other,
}

/// A channel that the server has.
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
            // Voice, forums, threads, and kinds to come: nothing that herder makes.
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

/// The whole server, as it was seen at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) channels: BTreeMap<ChannelId, There>,
    /// What the bot is there; `None`: that is not known yet.
    pub(crate) standing: Option<Standing>,
}

/// A channel's settings with its doors closed, or opened again, for everybody but the bot. `None`: the bot may not change
/// them, and the archive is read-only if people make it so.
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
