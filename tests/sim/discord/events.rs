//! The gateway events of each change.

use serde_json::{Value, json};

use super::gateway::{
    DIRECT_MESSAGES, DIRECT_REACTIONS, GUILD_MESSAGES, GUILD_REACTIONS, GUILDS, Hearing, MEMBERS,
    MESSAGE_CONTENT,
};
use super::permission::VIEW_CHANNEL;
use super::state::{Id, State};

impl State {
    /// Returns whether the channel is a direct one; `None` if its events do not reach the bot.
    fn reaches_bot(&self, channel: Id) -> Option<bool> {
        let channel = self.channels.get(&channel)?;
        let sees = self.permissions_in(self.bot.id, channel) & VIEW_CHANNEL != 0;
        sees.then_some(channel.recipient.is_some())
    }

    /// Sends `MESSAGE_CREATE` or `MESSAGE_UPDATE`.
    pub(crate) fn tell_message(&mut self, event: &str, id: Id) {
        let Some(message) = self.messages.get(&id).cloned() else { return };
        let Some(is_direct) = self.reaches_bot(message.channel) else { return };
        // An ephemeral message appears only in the answer to the request that created it.
        if message.is_ephemeral() {
            return;
        }
        let intents = if is_direct { DIRECT_MESSAGES } else { GUILD_MESSAGES };
        self.dispatch(&Hearing { event, intents, is_direct }, |state, intents| {
            let with_content = intents & MESSAGE_CONTENT != 0 || state.always_sees(&message);
            let mut json = state.message_json(&message, with_content);
            if !is_direct {
                json["guild_id"] = json!(state.guild.id.to_string());
                if let Some(member) = state.partial_member_json(message.author) {
                    json["member"] = member;
                }
                // In an event each mentioned user carries what it is on the server.
                for user in json["mentions"].as_array_mut().into_iter().flatten() {
                    let id = super::gateway::snowflake(&user["id"]).unwrap_or_default();
                    if let Some(member) = state.partial_member_json(id) {
                        user["member"] = member;
                    }
                }
            }
            json
        });
    }

    pub(crate) fn tell_message_deleted(&mut self, id: Id) {
        let Some(message) = self.messages.get(&id) else { return };
        let channel = message.channel;
        let Some(is_direct) = self.reaches_bot(channel) else { return };
        let intents = if is_direct { DIRECT_MESSAGES } else { GUILD_MESSAGES };
        let mut data = json!({ "id": id.to_string(), "channel_id": channel.to_string() });
        if !is_direct {
            data["guild_id"] = json!(self.guild.id.to_string());
        }
        self.dispatch(&Hearing { event: "MESSAGE_DELETE", intents, is_direct }, |_, _| data.clone());
    }

    /// Sends `MESSAGE_REACTION_ADD` or `MESSAGE_REACTION_REMOVE`.
    pub(crate) fn tell_reaction(&mut self, event: &str, message: Id, user: Id, emoji: &str) {
        let Some(reacted) = self.messages.get(&message) else { return };
        let (channel, author) = (reacted.channel, reacted.author);
        let Some(is_direct) = self.reaches_bot(channel) else { return };
        let intents = if is_direct { DIRECT_REACTIONS } else { GUILD_REACTIONS };
        let mut data = json!({
            "user_id": user.to_string(), "channel_id": channel.to_string(), "message_id": message.to_string(),
            "emoji": { "id": null, "name": emoji }, "burst": false, "type": 0,
        });
        if !is_direct {
            data["guild_id"] = json!(self.guild.id.to_string());
        }
        if event == "MESSAGE_REACTION_ADD" {
            data["message_author_id"] = json!(author.to_string());
            if let (false, Some(member)) = (is_direct, self.member_json(user)) {
                data["member"] = member;
            }
        }
        self.dispatch(&Hearing { event, intents, is_direct }, |_, _| data.clone());
    }

    /// Sends `CHANNEL_CREATE`, `CHANNEL_UPDATE` or `CHANNEL_DELETE`.
    pub(crate) fn tell_channel(&mut self, event: &str, id: Id) {
        let Some(data) = self.channels.get(&id).map(|channel| self.channel_json(channel)) else { return };
        self.tell_guild(event, GUILDS, &data);
    }

    /// Sends `GUILD_MEMBER_ADD`, `GUILD_MEMBER_UPDATE`, or `GUILD_MEMBER_REMOVE` for a member that has left.
    pub(crate) fn tell_member(&mut self, event: &str, id: Id) {
        let mut data = self.member_json(id).unwrap_or_else(|| json!({ "user": self.user_json(id) }));
        data["guild_id"] = json!(self.guild.id.to_string());
        // A bot always receives events about itself.
        let intents = if id == self.bot.id { GUILDS } else { MEMBERS };
        self.tell_guild(event, intents, &data);
    }

    /// Sends `GUILD_ROLE_CREATE` or `GUILD_ROLE_UPDATE`.
    pub(crate) fn tell_role(&mut self, event: &str, id: Id) {
        let Some(role) = self.guild.roles.get(&id).map(|role| self.role_json(role)) else { return };
        let data = json!({ "guild_id": self.guild.id.to_string(), "role": role });
        self.tell_guild(event, GUILDS, &data);
    }

    pub(crate) fn tell_guild(&mut self, event: &str, intents: u64, data: &Value) {
        self.dispatch(&Hearing { event, intents, is_direct: false }, |_, _| data.clone());
    }
}
