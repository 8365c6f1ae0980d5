//! Permissions that herder needs on a server, and their check.

use std::collections::HashMap;

use serenity::all::{GuildId, PermissionOverwrite, PermissionOverwriteType, Permissions, RoleId, UserId};

/// A Discord permission that the bot needs, with its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Needed {
    bit: u64,
    /// Key of the permission in notices and in `permission-name` of the locales.
    pub(crate) key: &'static str,
    /// English name of the permission in Discord's settings.
    pub(crate) name: &'static str,
    /// The consequence if the permission is missing, for people.
    pub(crate) without: &'static str,
    /// True if the permission counts for the whole server, so that taking it away in one channel has no effect.
    everywhere: bool,
}

const fn needed(
    permission: Permissions,
    key: &'static str,
    name: &'static str,
    without: &'static str,
) -> Needed {
    let everywhere = permission.bits() == Permissions::MANAGE_CHANNELS.bits();
    Needed { bit: permission.bits(), key, name, without, everywhere }
}

/// All permissions that herder needs: the invite link requests exactly these.
pub(crate) const NEEDED: [Needed; 7] = [
    needed(Permissions::VIEW_CHANNEL, "view-channel", "View Channels", "herder sees nothing of what is said"),
    needed(Permissions::SEND_MESSAGES, "send-messages", "Send Messages", "herder can say nothing"),
    needed(
        Permissions::MANAGE_CHANNELS,
        "manage-channels",
        "Manage Channels",
        "no channels are made, no topics set, nothing is archived",
    ),
    needed(
        Permissions::READ_MESSAGE_HISTORY,
        "read-message-history",
        "Read Message History",
        "what was said while herder was away is missed, and answers quote nothing",
    ),
    needed(Permissions::ATTACH_FILES, "attach-files", "Attach Files", "long output cannot be sent as a file"),
    needed(
        Permissions::ADD_REACTIONS,
        "add-reactions",
        "Add Reactions",
        "what is queued or done is not marked with 👀 ⏳ ✅",
    ),
    needed(
        Permissions::SEND_MESSAGES_IN_THREADS,
        "send-in-threads",
        "Send Messages in Threads",
        "what is asked in a thread is answered in the channel that it is in",
    ),
];

impl Needed {
    /// Returns the permission in the type of the library serenity.
    pub(crate) fn permission(self) -> Permissions {
        Permissions::from_bits_retain(self.bit)
    }
}

/// Returns all permissions that the bot needs.
pub(crate) fn all() -> Permissions {
    NEEDED.into_iter().fold(Permissions::empty(), |all, needed| all | needed.permission())
}

/// Returns the needed permissions that `granted` lacks.
pub(crate) fn missing(granted: Permissions) -> impl Iterator<Item = Needed> {
    let granted = if granted.administrator() { Permissions::all() } else { granted };
    NEEDED.into_iter().filter(move |needed| !granted.contains(needed.permission()))
}

/// Returns the needed permissions that `granted` lacks and that a channel's own settings can take away.
pub(super) fn missing_in_channel(granted: Permissions) -> impl Iterator<Item = Needed> {
    missing(granted).filter(|needed| !needed.everywhere)
}

/// Returns the link by which a manager of the server invites the bot, with exactly the permissions it needs.
pub(crate) fn invite(application: u64, guild: u64) -> String {
    let permissions = all().bits();
    format!(
        "https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands\
         &permissions={permissions}&guild_id={guild}"
    )
}

/// The roles of a server and those that the bot has, from which its permissions follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The server, whose id is also that of the role that everybody has.
    pub(crate) guild: GuildId,
    /// Discord user id of the bot.
    pub(crate) me: UserId,
    /// The permissions that each role of the server grants.
    pub(crate) roles: HashMap<RoleId, Permissions>,
    /// Ids of the bot's roles.
    pub(crate) own: Vec<RoleId>,
}

impl Standing {
    /// Returns the bot's permissions in a channel without overwrites.
    pub(crate) fn base(&self) -> Permissions {
        let everyone = RoleId::new(self.guild.get());
        let granted = std::iter::once(&everyone).chain(&self.own).filter_map(|role| self.roles.get(role));
        let granted = granted.fold(Permissions::empty(), |all, role| all | *role);
        if granted.administrator() { Permissions::all() } else { granted }
    }

    /// Returns the bot's permissions in a channel with these overwrites, applied in Discord's order: those for
    /// everybody, for its roles together, for itself.
    pub(crate) fn within(&self, overwrites: &[PermissionOverwrite]) -> Permissions {
        let mut granted = self.base();
        if granted.administrator() {
            return granted;
        }
        let everyone = RoleId::new(self.guild.get());
        let mut of_roles = (Permissions::empty(), Permissions::empty());
        let mut own = (Permissions::empty(), Permissions::empty());
        for overwrite in overwrites {
            match overwrite.kind {
                PermissionOverwriteType::Role(role) if role == everyone => {
                    granted = (granted & !overwrite.deny) | overwrite.allow;
                }
                PermissionOverwriteType::Role(role) if self.own.contains(&role) => {
                    of_roles = (of_roles.0 | overwrite.allow, of_roles.1 | overwrite.deny);
                }
                PermissionOverwriteType::Member(user) if user == self.me => {
                    own = (overwrite.allow, overwrite.deny);
                }
                // Overwrites for other people, other roles, and unknown kinds.
                _ => {}
            }
        }
        granted = (granted & !of_roles.1) | of_roles.0;
        granted = (granted & !own.1) | own.0;
        // Without permission to see a channel no other permission there counts.
        if granted.view_channel() { granted } else { Permissions::empty() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(everyone: Permissions, own: Permissions) -> Standing {
        let roles = HashMap::from([(RoleId::new(1), everyone), (RoleId::new(2), own)]);
        Standing { guild: GuildId::new(1), me: UserId::new(9), roles, own: vec![RoleId::new(2)] }
    }

    fn overwrite(
        kind: PermissionOverwriteType,
        allow: Permissions,
        deny: Permissions,
    ) -> PermissionOverwrite {
        PermissionOverwrite { allow, deny, kind }
    }

    #[test]
    fn the_invitation_asks_for_exactly_what_is_needed() {
        insta::assert_snapshot!(
            invite(7, 8),
            @"https://discord.com/oauth2/authorize?client_id=7&scope=bot+applications.commands&permissions=274878008400&guild_id=8"
        );
        assert!(!all().administrator());
        assert_eq!(missing(all()).count(), 0);
        assert_eq!(missing(Permissions::ADMINISTRATOR).count(), 0);
        let lacking: Vec<_> = missing(all() & !Permissions::MANAGE_CHANNELS).map(|it| it.key).collect();
        assert_eq!(lacking, ["manage-channels"]);
    }

    #[test]
    fn channels_take_and_give_in_discords_order() {
        use PermissionOverwriteType::{Member, Role};
        let (send, view) = (Permissions::SEND_MESSAGES, Permissions::VIEW_CHANNEL);
        let none = Permissions::empty();
        let (everyone, own, me) = (Role(RoleId::new(1)), Role(RoleId::new(2)), Member(UserId::new(9)));
        let stands = standing(view | send, none);
        let table = [
            (vec![], true),
            (vec![overwrite(everyone, none, send)], false),
            (vec![overwrite(everyone, none, send), overwrite(own, send, none)], true),
            (vec![overwrite(own, send, none), overwrite(everyone, none, send)], true),
            (vec![overwrite(own, none, send), overwrite(me, send, none)], true),
            (vec![overwrite(Role(RoleId::new(3)), none, send)], true),
            (vec![overwrite(everyone, none, view)], false),
        ];
        for (overwrites, sends) in table {
            assert_eq!(stands.within(&overwrites).send_messages(), sends, "{overwrites:?}");
        }
        let admin = standing(none, Permissions::ADMINISTRATOR);
        assert!(admin.within(&[overwrite(everyone, none, view)]).send_messages());
    }
}
