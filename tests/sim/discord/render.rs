//! The state as Discord's objects.

use serde_json::{Value, json};

use super::permission::VIEW_CHANNEL;
use super::state::{Attachment, Channel, Command, Id, Message, Role, State};

/// Milliseconds of Unix time as Discord writes them.
pub(crate) fn time(at: u64) -> String {
    let at = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.unwrap_or_default().to_string()
}

fn ids(ids: &[Id]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

impl State {
    pub(crate) fn user_json(&self, id: Id) -> Value {
        let (name, bot) = self
            .users
            .get(&id)
            .map_or_else(|| (format!("deleted_user_{id}"), false), |user| (user.name.clone(), user.bot));
        json!({
            "id": id.to_string(), "username": name, "discriminator": "0", "global_name": null, "avatar": null,
            "bot": bot, "system": false, "public_flags": 0, "banner": null, "accent_color": null,
        })
    }

    pub(crate) fn current_user_json(&self) -> Value {
        let mut user = self.user_json(self.bot.id);
        user["verified"] = json!(true);
        user["mfa_enabled"] = json!(false);
        user["locale"] = json!("en-US");
        user["email"] = Value::Null;
        user["flags"] = json!(0);
        user
    }

    /// Returns a member without its user, as in messages; `None`: not on the server.
    pub(crate) fn partial_member_json(&self, id: Id) -> Option<Value> {
        let member = self.guild.members.get(&id)?;
        Some(json!({
            "roles": ids(&member.roles), "nick": member.nick, "avatar": null, "joined_at": time(member.joined),
            "premium_since": null, "deaf": false, "mute": false, "pending": false, "flags": 0,
            "communication_disabled_until": null,
        }))
    }

    pub(crate) fn member_json(&self, id: Id) -> Option<Value> {
        let mut member = self.partial_member_json(id)?;
        member["user"] = self.user_json(id);
        Some(member)
    }

    pub(crate) fn role_json(&self, role: &Role) -> Value {
        let mut json = json!({
            "id": role.id.to_string(), "name": role.name, "permissions": role.permissions.to_string(),
            "position": role.position, "color": 0, "hoist": false, "managed": role.managed, "mentionable": false,
            "colors": { "primary_color": 0, "secondary_color": null, "tertiary_color": null },
            "icon": null, "unicode_emoji": null, "flags": 0,
        });
        if role.managed {
            json["tags"] = json!({ "bot_id": self.bot.id.to_string() });
        }
        json
    }

    pub(crate) fn roles_json(&self) -> Value {
        self.guild.roles.values().map(|role| self.role_json(role)).collect()
    }

    pub(crate) fn channel_json(&self, channel: &Channel) -> Value {
        let last = channel.last_message.map(|id| id.to_string());
        if let Some(recipient) = channel.recipient {
            return json!({
                "id": channel.id.to_string(), "type": 1, "last_message_id": last, "flags": 0,
                "recipients": [self.user_json(recipient)],
            });
        }
        let overwrites: Vec<Value> = channel
            .overwrites
            .iter()
            .map(|(id, overwrite)| {
                json!({
                    "id": id.to_string(), "type": overwrite.kind,
                    "allow": overwrite.allow.to_string(), "deny": overwrite.deny.to_string(),
                })
            })
            .collect();
        if channel.is_thread() {
            return json!({
                "id": channel.id.to_string(), "type": channel.kind, "guild_id": self.guild.id.to_string(),
                "name": channel.name, "parent_id": channel.parent.map(|id| id.to_string()),
                "owner_id": self.guild.owner.to_string(), "last_message_id": last, "rate_limit_per_user": 0,
                "message_count": 0, "member_count": 1, "total_message_sent": 0, "flags": 0,
                "thread_metadata": {
                    "archived": channel.archived.is_some(), "auto_archive_duration": 1440,
                    "archive_timestamp": time(channel.archived.unwrap_or_else(|| self.now())),
                    "locked": channel.locked,
                },
            });
        }
        json!({
            "id": channel.id.to_string(), "type": channel.kind, "guild_id": self.guild.id.to_string(),
            "name": channel.name, "topic": channel.topic, "parent_id": channel.parent.map(|id| id.to_string()),
            "position": channel.position, "permission_overwrites": overwrites, "nsfw": false,
            "last_message_id": last, "rate_limit_per_user": 0, "flags": 0,
        })
    }

    pub(crate) fn channels_json(&self) -> Value {
        let channels = self.channels.values();
        channels
            .filter(|channel| !channel.deleted && channel.recipient.is_none() && !channel.is_thread())
            .map(|channel| self.channel_json(channel))
            .collect()
    }

    /// Threads that are there and that the bot can see.
    pub(crate) fn threads(&self) -> impl Iterator<Item = &Channel> {
        let sees = |thread: &&Channel| self.permissions_in(self.bot.id, thread) & VIEW_CHANNEL != 0;
        self.channels.values().filter(|channel| channel.is_thread() && !channel.deleted).filter(sees)
    }

    pub(crate) fn guild_json(&self) -> Value {
        let guild = &self.guild;
        json!({
            "id": guild.id.to_string(), "name": guild.name, "icon": null, "splash": null,
            "discovery_splash": null, "owner_id": guild.owner.to_string(), "afk_channel_id": null,
            "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
            "explicit_content_filter": 0, "roles": self.roles_json(), "emojis": [], "features": [], "mfa_level": 0,
            "application_id": null, "system_channel_id": null, "system_channel_flags": 0,
            "rules_channel_id": null, "max_members": 500_000, "vanity_url_code": null, "description": null,
            "banner": null, "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": guild.locale,
            "public_updates_channel_id": null, "nsfw_level": 0, "stickers": [],
            "premium_progress_bar_enabled": false, "safety_alerts_channel_id": null,
        })
    }

    /// Returns the data of `GUILD_CREATE`.
    pub(crate) fn guild_create_json(&self) -> Value {
        let mut guild = self.guild_json();
        let members: Value = self.guild.members.keys().filter_map(|id| self.member_json(*id)).collect();
        guild["joined_at"] = json!(time(self.now()));
        guild["large"] = json!(false);
        guild["unavailable"] = json!(false);
        guild["member_count"] = json!(self.guild.members.len());
        guild["members"] = members;
        guild["channels"] = self.channels_json();
        let threads = self.threads().filter(|thread| thread.archived.is_none());
        guild["threads"] = threads.map(|thread| self.channel_json(thread)).collect();
        for empty in
            ["voice_states", "presences", "stage_instances", "guild_scheduled_events", "soundboard_sounds"]
        {
            guild[empty] = json!([]);
        }
        guild
    }

    pub(crate) fn attachment_json(&self, channel: Id, attachment: &Attachment) -> Value {
        let url = format!("{}/attachments/{channel}/{}/{}", self.cdn, attachment.id, attachment.name);
        json!({
            "id": attachment.id.to_string(), "filename": attachment.name, "size": attachment.bytes.len(),
            "content_type": attachment.content_type, "proxy_url": url, "url": url,
        })
    }

    /// Returns a message; what is in it is left out unless `with_content`.
    pub(crate) fn message_json(&self, message: &Message, with_content: bool) -> Value {
        let content = |value: Value, none: Value| if with_content { value } else { none };
        let attachments: Value = message
            .attachments
            .iter()
            .map(|attachment| self.attachment_json(message.channel, attachment))
            .collect();
        let mentions: Value = message.pings.users.iter().map(|user| self.user_json(*user)).collect();
        let mut json = json!({
            "id": message.id.to_string(), "channel_id": message.channel.to_string(), "type": message.kind,
            "author": self.user_json(message.author), "content": content(json!(message.content), json!("")),
            "timestamp": time(message.at), "edited_timestamp": message.edited.map(time), "tts": false,
            "mention_everyone": message.pings.everyone, "mentions": mentions,
            "mention_roles": ids(&message.pings.roles), "attachments": content(attachments, json!([])),
            "embeds": content(json!(message.embeds), json!([])),
            "components": content(json!(message.components), json!([])),
            "pinned": message.pinned, "flags": message.flags,
        });
        if let (true, Some(json)) = (with_content, json.as_object_mut()) {
            json.extend(message.extra.clone());
        }
        if let Some(nonce) = &message.nonce {
            json["nonce"] = nonce.clone();
        }
        if !message.reactions.is_empty() {
            json["reactions"] =
                message.reactions.iter().map(|reaction| self.reaction_json(reaction)).collect();
        }
        if let Some(replied) = message.reply_to {
            json["message_reference"] = json!({
                "type": 0, "message_id": replied.to_string(), "channel_id": message.channel.to_string(),
                "guild_id": self.guild.id.to_string(),
            });
            let replied = self.messages.get(&replied).filter(|replied| !replied.deleted);
            // One level, as Discord does: what the quoted message itself quotes is not carried.
            json["referenced_message"] = replied.map_or(Value::Null, |replied| {
                self.message_json(&Message { reply_to: None, ..replied.clone() }, self.sees(replied))
            });
        }
        if message.interaction.is_some() || message.ephemeral_to.is_some() {
            json["webhook_id"] = json!(self.bot.id.to_string());
            json["application_id"] = json!(self.bot.id.to_string());
        }
        json
    }

    fn reaction_json(&self, reaction: &super::state::Reaction) -> Value {
        let count = reaction.users.len();
        json!({
            "count": count, "count_details": { "burst": 0, "normal": count }, "burst_colors": [],
            "me": reaction.users.contains(&self.bot.id), "me_burst": false,
            "emoji": { "id": null, "name": reaction.emoji },
        })
    }

    /// Returns true if the application may see the content of this message: by its intent, or because the message is
    /// for it.
    pub(crate) fn sees(&self, message: &Message) -> bool {
        self.bot.privileged & super::gateway::MESSAGE_CONTENT != 0 || self.always_sees(message)
    }

    /// Returns true if the application sees the content of this message even without the intent.
    pub(crate) fn always_sees(&self, message: &Message) -> bool {
        let direct = self.channels.get(&message.channel).is_some_and(|channel| channel.recipient.is_some());
        direct || message.author == self.bot.id || message.pings.users.contains(&self.bot.id)
    }

    pub(crate) fn command_json(&self, command: &Command) -> Value {
        let mut json = json!({
            "type": 1, "description": "", "options": [], "default_member_permissions": null,
            "nsfw": false, "dm_permission": true, "contexts": null, "integration_types": [0],
            "name_localizations": null, "description_localizations": null,
        });
        if let (Some(json), Some(body)) = (json.as_object_mut(), command.body.as_object()) {
            json.extend(
                body.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        json["id"] = json!(command.id.to_string());
        json["application_id"] = json!(self.bot.id.to_string());
        json["version"] = json!(command.version.to_string());
        if let Some(guild) = command.guild {
            json["guild_id"] = json!(guild.to_string());
        }
        json
    }

    /// Returns the answer of `/oauth2/applications/@me` and `/applications/@me`.
    pub(crate) fn application_json(&self) -> Value {
        // The limited flags: what a bot in fewer than 100 guilds gets by a switch in the portal.
        let switches = [
            (super::gateway::PRESENCES, 13),
            (super::gateway::MEMBERS, 15),
            (super::gateway::MESSAGE_CONTENT, 19),
        ];
        let flags = switches
            .iter()
            .filter(|(intent, _)| self.bot.privileged & intent != 0)
            .fold(1_u64 << 23, |flags, (_, bit)| flags | 1 << bit);
        json!({
            "id": self.bot.id.to_string(), "name": self.bot.name, "icon": null, "description": "",
            "bot_public": true, "bot_require_code_grant": false, "verify_key": "0".repeat(64), "team": null,
            "owner": self.user_json(self.guild.owner), "flags": flags, "summary": "", "type": null,
            "bot": self.user_json(self.bot.id), "hook": true, "integration_types_config": { "0": {} },
            "redirect_uris": [], "interactions_endpoint_url": null, "approximate_guild_count": 1,
            "approximate_user_install_count": 0, "tags": [],
            "install_params": {
                "scopes": ["bot", "applications.commands"],
                "permissions": self.guild.roles.get(&self.bot.role).map_or(0, |role| role.permissions).to_string(),
            },
        })
    }
}
