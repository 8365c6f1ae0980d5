//! People: their messages, clicks and commands.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::asked::Asked;
use super::gateway::Hearing;
use super::permission::{USE_APPLICATION_COMMANDS, VIEW_CHANNEL};
use super::state::{
    Attachment, Button, Channel, Id, Interaction, Member, Message, Person, Pings, Role, State, components,
};
use super::{Shared, options};

/// A person on the server. A clone is the same person.
#[derive(Clone)]
pub(crate) struct User {
    shared: Arc<Shared>,
    pub(crate) id: Id,
    pub(crate) name: String,
    locale: String,
}

impl User {
    pub(crate) fn new(shared: Arc<Shared>, name: &str) -> Self {
        let id = shared.with(|state| state.person(name));
        Self { shared, id, name: name.to_owned(), locale: "en-US".to_owned() }
    }

    /// Gives the person these roles and no others; roles that do not exist yet are made, without permissions of their
    /// own.
    pub(crate) fn roles<'a>(self, roles: impl IntoIterator<Item = &'a str>) -> Self {
        self.shared.with(|state| {
            let roles: Vec<Id> = roles.into_iter().map(|role| state.role(role, 0)).collect();
            if let Some(member) = state.guild.members.get_mut(&self.id) {
                member.roles = roles;
            }
            state.tell_member("GUILD_MEMBER_UPDATE", self.id);
        });
        self
    }

    /// Sets the language of the person's client.
    pub(crate) fn locale(mut self, locale: &str) -> Self {
        locale.clone_into(&mut self.locale);
        self
    }

    /// Returns `<@id>`.
    pub(crate) fn mention(&self) -> String {
        format!("<@{}>", self.id)
    }

    /// Leaves the server.
    pub(crate) fn leaves(&self) {
        self.shared.with(|state| {
            state.guild.members.remove(&self.id);
            state.tell_member("GUILD_MEMBER_REMOVE", self.id);
        });
    }

    /// Says something in a channel. `@name` of a member of the server, the bot too, becomes a mention.
    pub(crate) fn says(&self, channel: &str, text: &str) -> Id {
        self.message(channel, text).send()
    }

    /// Says something to the bot alone.
    pub(crate) fn whispers(&self, text: &str) -> Id {
        let channel = self.shared.with(|state| state.direct_channel(self.id));
        Draft::new(self, channel, text).send()
    }

    /// Returns a message that is more than words; [`Draft::send`] sends it.
    pub(crate) fn message(&self, channel: &str, text: &str) -> Draft<'_> {
        let id = self.shared.with(|state| state.expect_channel(channel));
        Draft::new(self, id, text)
    }

    /// Answers a message in its channel, quoting it; the quoted author is notified.
    pub(crate) fn replies(&self, to: Id, text: &str) -> Id {
        let channel = self.shared.with(|state| state.expect_message(to).channel);
        Draft::new(self, channel, text).replying_to(to).send()
    }

    /// Changes what was said.
    pub(crate) fn edits(&self, message: Id, text: &str) {
        self.shared.with(|state| {
            let (content, pings) = state.mentions_in(text);
            let now = state.now();
            let Some(message) = state.messages.get_mut(&message) else { panic!("no message {message}") };
            assert_eq!(message.author, self.id, "nobody edits what somebody else said");
            let before = std::mem::replace(&mut message.content, content);
            message.history.push(before);
            message.pings = pings;
            // Discord tells microseconds, so that no two changes have the same time.
            message.edited = Some(message.edited.map_or(now, |before| now.max(before + 1)));
            let id = message.id;
            state.tell_message("MESSAGE_UPDATE", id);
        });
    }

    /// Pins a message: Discord tells of it as if it were changed.
    pub(crate) fn pins(&self, message: Id) {
        self.shared.with(|state| state.tell_message("MESSAGE_UPDATE", message));
    }

    /// Deletes a message of any author.
    pub(crate) fn deletes(&self, message: Id) {
        self.shared.with(|state| state.remove_message(message));
    }

    pub(crate) fn reacts(&self, message: Id, emoji: &str) {
        self.shared.with(|state| state.add_reaction(message, self.id, emoji));
    }

    pub(crate) fn takes_back(&self, message: Id, emoji: &str) {
        self.shared.with(|state| state.remove_reaction(message, self.id, emoji));
    }

    /// Deletes a channel or, without `#`, a category.
    pub(crate) fn deletes_channel(&self, name: &str) {
        self.shared.with(|state| {
            let id = state.channel(name).or_else(|| state.category(name)).map(|channel| channel.id);
            state.remove_channel(id.unwrap_or_else(|| panic!("no channel {name:?}")));
        });
    }

    pub(crate) fn renames_channel(&self, name: &str, new: &str) {
        self.shared.with(|state| {
            let id = state.expect_channel(name);
            if let Some(channel) = state.channels.get_mut(&id) {
                new.trim_start_matches('#').clone_into(&mut channel.name);
            }
            state.tell_channel("CHANNEL_UPDATE", id);
        });
    }

    /// Returns whether the client offers this command at all.
    pub(crate) fn is_offered(&self, command: &str) -> bool {
        let name = command.split(' ').next().unwrap_or_default();
        self.shared
            .with(|state| state.command(name).is_some_and(|command| state.offers(self.id, &command.body)))
    }

    /// Gives a command as `/agent add`, with its options by name: `json!({ "name": "spark" })`.
    ///
    /// # Panics
    ///
    /// When the client would not have let that happen: no such command, an option that it lacks, a value of the wrong
    /// kind, a required one left out, or a command that is not offered to this person.
    pub(crate) fn slash(&self, channel: &str, command: &str, given: Value) -> Asked {
        self.shared.with(|state| {
            let channel = state.expect_channel(channel);
            let data = options::chosen(state, self.id, channel, command, &given, None);
            self.asks(state, 2, channel, None, data, format!("/{command} {given}"))
        })
    }

    /// Types into an option; `given` is what the other options hold already.
    pub(crate) fn autocompletes(
        &self,
        channel: &str,
        command: &str,
        option: &str,
        typed: &str,
        given: Value,
    ) -> Asked {
        self.shared.with(|state| {
            let channel = state.expect_channel(channel);
            let data = options::chosen(state, self.id, channel, command, &given, Some((option, typed)));
            self.asks(state, 4, channel, None, data, format!("/{command} {option}: {typed}…"))
        })
    }

    /// Clicks a button by its custom id; [`Message::button`] finds it by its label.
    ///
    /// # Panics
    ///
    /// If there is no such button, if it is disabled, or if it is on an ephemeral message for another person.
    pub(crate) fn clicks(&self, message: Id, custom_id: &str) -> Asked {
        let click = self.clicks_if_open(message, custom_id);
        click.unwrap_or_else(|| panic!("{custom_id:?} is no button, or a disabled one"))
    }

    /// Clicks a button as [`User::clicks`] does, if it can be clicked.
    pub(crate) fn clicks_if_open(&self, message: Id, custom_id: &str) -> Option<Asked> {
        self.shared.with(|state| {
            let on = state.expect_message(message);
            assert!(on.ephemeral_to.is_none_or(|to| to == self.id), "{} cannot see that message", self.name);
            let button: Button = on.buttons().into_iter().find(|button| button.custom_id == custom_id)?;
            if button.disabled {
                return None;
            }
            let data = json!({ "custom_id": custom_id, "component_type": 2 });
            let what = format!("click on {:?}", button.label);
            Some(self.asks(state, 3, on.channel, Some(message), data, what))
        })
    }

    /// Chooses these values in the menu under a message.
    ///
    /// # Panics
    ///
    /// When there is no such menu, or it does not offer them, or not as many at once.
    pub(crate) fn chooses(&self, message: Id, values: &[&str]) -> Asked {
        self.shared.with(|state| {
            let on = state.expect_message(message);
            let found =
                components(&on.components).into_iter().find(|component| component["type"] == 3).cloned();
            let menu = found.unwrap_or_else(|| panic!("no menu below {:?}", on.content));
            let offered = menu["options"].as_array().expect("options");
            for value in values {
                assert!(
                    offered.iter().any(|option| option["value"] == *value),
                    "{value:?} is not offered: {menu}"
                );
            }
            let most = menu["max_values"].as_u64().unwrap_or(1);
            assert!(values.len() as u64 <= most, "at most {most} can be chosen");
            let data = json!({ "custom_id": menu["custom_id"], "component_type": 3, "values": values });
            self.asks(state, 3, on.channel, Some(message), data, format!("choice of {values:?}"))
        })
    }

    /// Fills in the modal that was the answer to `asked` and sends it off. Fields that are not named keep what the bot
    /// put there.
    ///
    /// # Panics
    ///
    /// When the answer was no modal, it has no such field, or a text does not fit.
    pub(crate) async fn submits_modal(&self, asked: &Asked, fields: &[(&str, &str)]) -> Asked {
        let modal = asked.modal().await;
        for (name, _) in fields {
            assert!(
                modal.fields.iter().any(|field| field.custom_id == *name),
                "no field {name:?}: {modal:?}"
            );
        }
        let rows: Vec<Value> = modal
            .fields
            .iter()
            .map(|field| {
                let given = fields.iter().find(|(name, _)| *name == field.custom_id).map(|(_, text)| *text);
                let value = given.unwrap_or(&field.value);
                field.assert_takes(value);
                json!({ "type": 1, "components": [
                    { "type": 4, "custom_id": field.custom_id, "value": value }
                ] })
            })
            .collect();
        let data = json!({ "custom_id": modal.custom_id, "components": rows });
        self.shared.with(|state| {
            let source = state.interactions[&asked.id].clone();
            self.asks(state, 5, source.channel, source.message, data, format!("modal {:?}", modal.title))
        })
    }

    fn asks(
        &self,
        state: &mut State,
        kind: u64,
        channel: Id,
        message: Option<Id>,
        data: Value,
        asked: String,
    ) -> Asked {
        let id = state.new_id();
        let token = format!("token-of-interaction-{id}");
        let interaction = Interaction {
            id,
            token,
            kind,
            user: self.id,
            channel,
            message,
            asked,
            created: Instant::now(),
            delivered: None,
            ack: None,
            original: None,
            thinking: false,
            followups: Vec::new(),
            expired: false,
        };
        state.interactions.insert(id, interaction);
        let place = state.channels[&channel].clone();
        let event = self.interaction_json(state, id, kind, &place, message, data);
        let hearing =
            Hearing { event: "INTERACTION_CREATE", intents: 0, is_direct: place.recipient.is_some() };
        if state.dispatch(&hearing, |_, _| event.clone()) {
            state.delivered(id);
        }
        Asked::new(Arc::clone(&self.shared), id)
    }

    fn interaction_json(
        &self,
        state: &State,
        id: Id,
        kind: u64,
        place: &Channel,
        message: Option<Id>,
        data: Value,
    ) -> Value {
        let is_direct = place.recipient.is_some();
        let mut channel = state.channel_json(place);
        channel["permissions"] = json!(state.permissions_in(self.id, place).to_string());
        let mut event = json!({
            "id": id.to_string(), "application_id": state.bot.id.to_string(), "type": kind, "data": data,
            "channel_id": place.id.to_string(), "channel": channel, "token": state.interactions[&id].token,
            "version": 1, "app_permissions": state.permissions_in(state.bot.id, place).to_string(),
            "locale": self.locale, "entitlements": [], "attachment_size_limit": 10_485_760,
            "authorizing_integration_owners": { "0": state.guild.id.to_string() },
            "context": if is_direct { 1 } else { 0 },
        });
        if is_direct {
            event["user"] = state.user_json(self.id);
        } else {
            let mut member = state.member_json(self.id).unwrap_or_default();
            member["permissions"] = json!(state.permissions_in(self.id, place).to_string());
            event["member"] = member;
            event["guild_id"] = json!(state.guild.id.to_string());
            event["guild_locale"] = json!(state.guild.locale);
            event["guild"] =
                json!({ "id": state.guild.id.to_string(), "locale": state.guild.locale, "features": [] });
        }
        if let Some(message) = message.and_then(|id| state.messages.get(&id)) {
            event["message"] = state.message_json(message, true);
        }
        event
    }
}

/// A message that is being written.
#[must_use = "nothing is said before `send`"]
pub(crate) struct Draft<'a> {
    user: &'a User,
    channel: Id,
    text: String,
    reply_to: Option<Id>,
    attachments: Vec<Attachment>,
    extra: serde_json::Map<String, Value>,
}

impl<'a> Draft<'a> {
    fn new(user: &'a User, channel: Id, text: &str) -> Self {
        Self {
            user,
            channel,
            text: text.to_owned(),
            reply_to: None,
            attachments: Vec::new(),
            extra: serde_json::Map::new(),
        }
    }

    /// Adds a field that only some messages have.
    pub(crate) fn with(mut self, field: &str, value: Value) -> Self {
        self.extra.insert(field.to_owned(), value);
        self
    }

    /// Passes on what was said somewhere else.
    pub(crate) fn forwarding(self, text: &str) -> Self {
        let snapshot = json!({
            "type": 0, "content": text, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "timestamp": "2026-01-01T00:00:00.000000+00:00", "edited_timestamp": null, "flags": 0, "components": [],
        });
        self.with("message_snapshots", json!([{ "message": snapshot }]))
    }

    pub(crate) fn replying_to(mut self, message: Id) -> Self {
        self.reply_to = Some(message);
        self
    }

    /// Attaches a file, which is served from the simulator.
    pub(crate) fn attaching(mut self, name: &str, content_type: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let (name, content_type) = (name.to_owned(), content_type.to_owned());
        self.attachments.push(Attachment { id: 0, name, content_type, bytes: bytes.into() });
        self
    }

    pub(crate) fn send(self) -> Id {
        let Self { user, channel, text, reply_to, attachments, extra } = self;
        user.shared.with(|state| {
            let place = state.channels[&channel].clone();
            let may = state.permissions_in(user.id, &place);
            assert!(may & place.speaking() != 0, "{} may not speak in #{}", user.name, place.name);
            let (content, mut pings) = state.mentions_in(&text);
            let replied = reply_to.and_then(|id| state.messages.get(&id)).map(|message| message.author);
            pings.users.extend(replied.filter(|author| !pings.users.contains(author)));
            let attachments =
                attachments.into_iter().map(|file| Attachment { id: state.new_id(), ..file }).collect();
            let (id, at) = (state.new_id(), state.now());
            let kind = if reply_to.is_some() { 19 } else { 0 };
            let message = Message {
                id,
                channel,
                author: user.id,
                content,
                pings,
                reply_to,
                kind,
                at,
                attachments,
                extra,
                ..Message::default()
            };
            state.insert_message(message)
        })
    }
}

impl State {
    /// Returns the person with this name, who is made and joins when there is none.
    pub(crate) fn person(&mut self, name: &str) -> Id {
        if let Some(known) = self.users.values().find(|user| user.name == name) {
            return known.id;
        }
        let id = self.new_id();
        self.users.insert(id, Person { id, name: name.to_owned(), bot: false });
        let joined = self.now();
        self.guild.members.insert(id, Member { roles: Vec::new(), nick: None, joined });
        self.tell_member("GUILD_MEMBER_ADD", id);
        id
    }

    /// Returns the role with this name; a new one gets these permissions.
    pub(crate) fn role(&mut self, name: &str, permissions: u64) -> Id {
        if let Some(known) = self.guild.roles.values().find(|role| role.name == name) {
            return known.id;
        }
        let id = self.new_id();
        let position = self.guild.roles.len() as u64;
        self.guild
            .roles
            .insert(id, Role { id, name: name.to_owned(), permissions, position, managed: false });
        self.tell_role("GUILD_ROLE_CREATE", id);
        id
    }

    pub(crate) fn expect_channel(&self, name: &str) -> Id {
        let names =
            || self.channels.values().filter(|c| !c.deleted).map(|c| c.name.clone()).collect::<Vec<_>>();
        self.channel(name).unwrap_or_else(|| panic!("no channel {name:?}; there are {:?}", names())).id
    }

    fn expect_message(&self, id: Id) -> Message {
        let message = self.messages.get(&id).filter(|message| !message.deleted);
        message.cloned().unwrap_or_else(|| panic!("no message {id}"))
    }

    fn direct_channel(&mut self, with: Id) -> Id {
        if let Some(known) = self.channels.values().find(|channel| channel.recipient == Some(with)) {
            return known.id;
        }
        let id = self.new_id();
        self.channels.insert(id, Channel { id, kind: 1, recipient: Some(with), ..Channel::default() });
        id
    }

    /// Returns the content that a client sends for a text with `@name`, and its mentions. The longest fitting name is
    /// meant.
    fn mentions_in(&self, text: &str) -> (String, Pings) {
        let mut names: Vec<(&str, Id)> = self
            .users
            .values()
            .filter(|user| self.guild.members.contains_key(&user.id))
            .map(|user| (user.name.as_str(), user.id))
            .collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut content = text.to_owned();
        for (name, id) in names {
            content = replaced(&content, &format!("@{name}"), &format!("<@{id}>"));
        }
        let ids = self.users.keys().filter(|id| content.contains(&format!("<@{id}>"))).copied().collect();
        (content, Pings { users: ids, ..Pings::default() })
    }

    /// Returns true if a command is offered to a person: they have the permissions that it needs.
    fn offers(&self, user: Id, command: &Value) -> bool {
        let needed = super::gateway::snowflake(&command["default_member_permissions"]);
        let granted = self.permissions(user);
        // Zero means administrators only.
        needed.is_none_or(|needed| {
            if needed == 0 {
                granted & super::permission::ADMINISTRATOR != 0
            } else {
                granted & needed == needed
            }
        })
    }

    /// Panics where the client would not have shown a command.
    pub(super) fn assert_offered(&self, user: Id, channel: Id, command: &Value) {
        let (name, who) = (&command["name"], &self.users[&user].name);
        assert!(self.offers(user, command), "{who} is not offered /{name}: its default_member_permissions");
        let may = self.permissions_in(user, &self.channels[&channel]);
        let needed = VIEW_CHANNEL | USE_APPLICATION_COMMANDS;
        assert!(may & needed == needed, "{who} may not give commands in #{}", self.channels[&channel].name);
    }
}

/// Replaces a word where it stands alone: `@herder`, but not in `@herders`.
fn replaced(text: &str, word: &str, by: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let after = &rest[at + word.len()..];
        let alone = !after.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        out.push_str(&rest[..at]);
        out.push_str(if alone { by } else { word });
        rest = after;
    }
    out + rest
}
