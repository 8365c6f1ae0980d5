//! Permission bits, and the permissions of each member in each channel.

use super::state::{Channel, Id, State};

pub(crate) const MANAGE_CHANNELS: u64 = 1 << 4;
pub(crate) const ADMINISTRATOR: u64 = 1 << 3;
pub(crate) const MANAGE_GUILD: u64 = 1 << 5;
pub(crate) const ADD_REACTIONS: u64 = 1 << 6;
pub(crate) const VIEW_CHANNEL: u64 = 1 << 10;
pub(crate) const SEND_MESSAGES: u64 = 1 << 11;
pub(crate) const MANAGE_MESSAGES: u64 = 1 << 13;
pub(crate) const EMBED_LINKS: u64 = 1 << 14;
pub(crate) const ATTACH_FILES: u64 = 1 << 15;
pub(crate) const READ_MESSAGE_HISTORY: u64 = 1 << 16;
pub(crate) const MENTION_EVERYONE: u64 = 1 << 17;
pub(crate) const MANAGE_ROLES: u64 = 1 << 28;
pub(crate) const USE_APPLICATION_COMMANDS: u64 = 1 << 31;
pub(crate) const SEND_MESSAGES_IN_THREADS: u64 = 1 << 38;
pub(crate) const PIN_MESSAGES: u64 = 1 << 51;

/// The permissions of people. They have them through a role that bots do not get, as on a careful server: there
/// `@everyone` grants nothing, and the bot has the permissions of its invitation and no more.
pub(crate) const EVERYONE: u64 = ADD_REACTIONS
    | VIEW_CHANNEL
    | SEND_MESSAGES
    | SEND_MESSAGES_IN_THREADS
    | EMBED_LINKS
    | ATTACH_FILES
    | READ_MESSAGE_HISTORY
    | USE_APPLICATION_COMMANDS;

/// The permissions of the bot's invitation: exactly those that herder's invite link asks for.
pub(crate) const BOT: u64 = VIEW_CHANNEL
    | SEND_MESSAGES
    | SEND_MESSAGES_IN_THREADS
    | MANAGE_CHANNELS
    | READ_MESSAGE_HISTORY
    | ATTACH_FILES
    | ADD_REACTIONS;

const ALL: u64 = (1 << 53) - 1;

impl State {
    /// Returns the permissions of a member on the server as a whole.
    pub(crate) fn permissions(&self, user: Id) -> u64 {
        if user == self.guild.owner {
            return ALL;
        }
        let Some(member) = self.guild.members.get(&user) else { return 0 };
        let is_bot = self.users.get(&user).is_some_and(|user| user.bot);
        let everyone = if is_bot { 0 } else { EVERYONE };
        let roles = member.roles.iter().filter_map(|role| self.guild.roles.get(role));
        let granted = roles.fold(everyone, |sum, role| sum | role.permissions);
        if granted & ADMINISTRATOR != 0 { ALL } else { granted }
    }

    /// Returns the permissions of a member in a channel, after the overwrites of everyone, then of all roles, then of
    /// the member.
    pub(crate) fn permissions_in(&self, user: Id, channel: &Channel) -> u64 {
        if channel.recipient.is_some() {
            return EVERYONE;
        }
        let mut granted = self.permissions(user);
        if granted == ALL {
            return ALL;
        }
        let Some(member) = self.guild.members.get(&user) else { return 0 };
        // A thread has no settings of its own: what its channel says counts.
        let parent = channel.parent.filter(|_| channel.is_thread()).and_then(|id| self.channels.get(&id));
        let channel = parent.unwrap_or(channel);
        if let Some(everyone) = channel.overwrites.get(&self.guild.id) {
            granted = granted & !everyone.deny | everyone.allow;
        }
        let (allow, deny) = member
            .roles
            .iter()
            .filter_map(|role| channel.overwrites.get(role))
            .fold((0, 0), |(allow, deny), overwrite| (allow | overwrite.allow, deny | overwrite.deny));
        granted = granted & !deny | allow;
        if let Some(own) = channel.overwrites.get(&user) {
            granted = granted & !own.deny | own.allow;
        }
        // A member who cannot see a channel has no permission in it.
        if granted & VIEW_CHANNEL == 0 { 0 } else { granted }
    }
}
