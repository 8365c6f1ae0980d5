//! The state of the simulated Discord: one guild, its people, channels, messages, commands and interactions.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fault::Injected;
use super::gateway::Gateway;
use super::limits::Limits;
use super::permission::{SEND_MESSAGES, SEND_MESSAGES_IN_THREADS};

/// A snowflake. The simulator shows them as numbers; on the wire they are strings.
pub(crate) type Id = u64;

/// Discord's epoch, in milliseconds of Unix time.
const EPOCH: u64 = 1_420_070_400_000;

#[derive(Debug)]
pub(crate) struct State {
    /// The address of the simulator: `http://127.0.0.1:PORT`.
    pub(crate) base: String,
    /// The start of the URLs of attachments.
    pub(crate) cdn: String,
    pub(crate) bot: Bot,
    pub(crate) guild: Guild,
    pub(crate) users: BTreeMap<Id, Person>,
    pub(crate) channels: BTreeMap<Id, Channel>,
    /// Everything ever said, deleted messages included, oldest first.
    pub(crate) messages: BTreeMap<Id, Message>,
    pub(crate) commands: Vec<Command>,
    pub(crate) interactions: BTreeMap<Id, Interaction>,
    /// Files that people gave to commands.
    pub(crate) offered: Vec<Attachment>,
    /// Every request that arrived, in order.
    pub(crate) requests: Vec<Request>,
    /// Requests that the real Discord would have refused.
    pub(crate) violations: Vec<String>,
    /// Requests that it would accept but that look like a slip, such as one with an unknown field.
    pub(crate) warnings: Vec<String>,
    pub(crate) gateway: Gateway,
    pub(crate) faults: Vec<Injected>,
    pub(crate) limits: Limits,
    /// Every connection is reset and every request dropped.
    pub(crate) offline: bool,
    /// Number of requests for an attached file to answer with 503.
    pub(crate) files_lost: u32,
    /// The paths of requests that took effect and whose answers are, or were, kept back.
    pub(crate) kept_back: Vec<String>,
    /// The next request for an attached file waits for this.
    pub(crate) held_file: Option<super::Gate>,
    /// The lag of Discord's clock behind the machine's.
    pub(crate) behind: Duration,
    /// Answers say so, because it is the machine's clock that is wrong.
    pub(crate) dates_its_answers: bool,
    /// The number of commands that were created; a guild may create 200 a day.
    pub(crate) commands_made: u32,
    last_id: Id,
}

#[derive(Debug, Clone)]
pub(crate) struct Bot {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) token: String,
    /// The privileged intents that are switched on in the developer portal.
    pub(crate) privileged: u64,
    /// The bot's own role on the server.
    pub(crate) role: Id,
    /// True for another bot than herder.
    pub(crate) is_any: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Guild {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) owner: Id,
    pub(crate) locale: String,
    /// By id; the role `@everyone` has the id of the guild.
    pub(crate) roles: BTreeMap<Id, Role>,
    pub(crate) members: BTreeMap<Id, Member>,
}

#[derive(Debug, Clone)]
pub(crate) struct Role {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) permissions: u64,
    pub(crate) position: u64,
    pub(crate) managed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) roles: Vec<Id>,
    pub(crate) nick: Option<String>,
    pub(crate) joined: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) bot: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Channel {
    pub(crate) id: Id,
    /// 0 text, 1 direct messages, 4 category, 11 a thread.
    pub(crate) kind: u64,
    pub(crate) name: String,
    pub(crate) topic: Option<String>,
    pub(crate) parent: Option<Id>,
    pub(crate) position: u64,
    /// By id of the role or member.
    pub(crate) overwrites: BTreeMap<Id, Overwrite>,
    /// The person of a private channel.
    pub(crate) recipient: Option<Id>,
    pub(crate) deleted: bool,
    /// The newest message in it.
    pub(crate) last_message: Option<Id>,
    /// The number of topics that were accepted.
    pub(crate) topics_set: u32,
    /// A thread: since when it is archived, in milliseconds of Unix time.
    pub(crate) archived: Option<u64>,
    /// A thread: only who manages threads may speak in it.
    pub(crate) locked: bool,
}

impl Channel {
    /// Returns true for a public thread.
    pub(crate) fn is_thread(&self) -> bool {
        self.kind == THREAD
    }

    /// Returns the permission that is needed to speak there.
    pub(crate) fn speaking(&self) -> u64 {
        if self.is_thread() { SEND_MESSAGES_IN_THREADS } else { SEND_MESSAGES }
    }
}

/// A public thread, as a kind of channel.
pub(crate) const THREAD: u64 = 11;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Overwrite {
    /// 0 a role, 1 a member.
    pub(crate) kind: u64,
    pub(crate) allow: u64,
    pub(crate) deny: u64,
}

/// Whom a message really notified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pings {
    pub(crate) everyone: bool,
    pub(crate) users: Vec<Id>,
    pub(crate) roles: Vec<Id>,
}

impl Pings {
    /// Returns whether the message notified no one.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    pub(crate) id: Id,
    pub(crate) channel: Id,
    pub(crate) author: Id,
    pub(crate) content: String,
    /// The content before each edit, oldest first.
    pub(crate) history: Vec<String>,
    pub(crate) nonce: Option<Value>,
    pub(crate) embeds: Vec<Value>,
    pub(crate) components: Vec<Value>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) pings: Pings,
    pub(crate) reply_to: Option<Id>,
    pub(crate) flags: u64,
    /// 0 default, 19 a reply, 20 the answer to a command.
    pub(crate) kind: u64,
    /// Time in milliseconds of Unix time, by Discord's clock.
    pub(crate) at: u64,
    pub(crate) edited: Option<u64>,
    pub(crate) deleted: bool,
    pub(crate) pinned: bool,
    pub(crate) reactions: Vec<Reaction>,
    /// The interaction that it answers.
    pub(crate) interaction: Option<Id>,
    /// The one person who can see it.
    pub(crate) ephemeral_to: Option<Id>,
    /// Fields that only some messages have: a poll, stickers, what is forwarded.
    pub(crate) extra: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone)]
pub(crate) struct Attachment {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
}

impl Attachment {
    /// Returns the content as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    pub(crate) emoji: String,
    pub(crate) users: Vec<Id>,
}

/// A button as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Button {
    pub(crate) label: String,
    pub(crate) custom_id: String,
    pub(crate) disabled: bool,
}

impl Message {
    /// Returns true if only one person can see it.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.ephemeral_to.is_some()
    }

    /// Returns whether the message has this reaction.
    pub(crate) fn has_reaction(&self, emoji: &str) -> bool {
        self.reactions.iter().any(|reaction| reaction.emoji == emoji && !reaction.users.is_empty())
    }

    /// Returns the buttons below it, in reading order. An emoji stands before the label as it is shown.
    pub(crate) fn buttons(&self) -> Vec<Button> {
        components(&self.components).into_iter().filter_map(button).collect()
    }

    /// Returns the button with this label.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub(crate) fn button(&self, label: &str) -> Button {
        let found = self.buttons().into_iter().find(|button| button.label.contains(label));
        found.unwrap_or_else(|| panic!("no button {label:?} below {:?}: {:?}", self.content, self.buttons()))
    }
}

fn button(component: &Value) -> Option<Button> {
    if component["type"] != 2 {
        return None;
    }
    let words = [&component["emoji"]["name"], &component["label"]];
    let label: Vec<&str> = words.into_iter().filter_map(Value::as_str).collect();
    Some(Button {
        label: label.join(" "),
        custom_id: component["custom_id"].as_str().unwrap_or_default().to_owned(),
        disabled: component["disabled"] == true,
    })
}

/// Returns all components, those inside rows and containers too.
pub(crate) fn components(list: &[Value]) -> Vec<&Value> {
    let mut found = Vec::new();
    let mut open: VecDeque<&Value> = list.iter().collect();
    while let Some(component) = open.pop_front() {
        found.push(component);
        let inner = component["components"].as_array().into_iter().flatten();
        for nested in inner.chain(component.get("accessory")).chain(component.get("component")) {
            open.push_back(nested);
        }
    }
    found
}

#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) id: Id,
    /// `None`: everywhere.
    pub(crate) guild: Option<Id>,
    pub(crate) version: Id,
    pub(crate) body: Value,
}

impl Command {
    pub(crate) fn name(&self) -> &str {
        self.body["name"].as_str().unwrap_or_default()
    }
}

/// The bot's acknowledgement of an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ack {
    /// 4 message, 5 deferred message, 6 deferred update, 7 update, 8 choices, 9 modal.
    pub(crate) kind: u64,
    /// The time from the event on the wire to the arrival of the callback.
    pub(crate) latency: Duration,
    pub(crate) ephemeral: bool,
    /// The callback's `data`.
    pub(crate) data: Value,
    /// The bot never got the answer to it, so that it may well ask again.
    pub(crate) is_lost: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Interaction {
    pub(crate) id: Id,
    pub(crate) token: String,
    /// 2 command, 3 component, 4 autocomplete, 5 modal.
    pub(crate) kind: u64,
    pub(crate) user: Id,
    pub(crate) channel: Id,
    /// The message of the component.
    pub(crate) message: Option<Id>,
    /// The request in words, for the message of a failing test.
    pub(crate) asked: String,
    /// The time of the request, from which on Discord waits.
    pub(crate) created: Instant,
    /// The time at which it was sent on a connection; `None`: no connection was open.
    pub(crate) delivered: Option<Instant>,
    pub(crate) ack: Option<Ack>,
    /// The first answer: what `@original` means.
    pub(crate) original: Option<Id>,
    /// The bot has said that it is thinking and nothing more.
    pub(crate) thinking: bool,
    pub(crate) followups: Vec<Id>,
    /// The token no longer works.
    pub(crate) expired: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Method and route, as in the contract: `POST /channels/{channel_id}/messages`.
    pub(crate) route: String,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) at: Instant,
    /// `None`: no answer was given.
    pub(crate) status: Option<u16>,
}

impl State {
    pub(crate) fn new(base: String, bot: Bot, guild: Guild, behind: Duration) -> Self {
        let cdn = base.clone();
        Self {
            base,
            cdn,
            bot,
            guild,
            users: BTreeMap::new(),
            channels: BTreeMap::new(),
            messages: BTreeMap::new(),
            commands: Vec::new(),
            interactions: BTreeMap::new(),
            offered: Vec::new(),
            requests: Vec::new(),
            violations: Vec::new(),
            warnings: Vec::new(),
            gateway: Gateway::default(),
            faults: Vec::new(),
            limits: Limits::default(),
            offline: false,
            files_lost: 0,
            kept_back: Vec::new(),
            held_file: None,
            behind,
            dates_its_answers: false,
            commands_made: 0,
            last_id: 0,
        }
    }

    /// Returns the `Date` of answers if it differs from the machine's time.
    pub(crate) fn date(&self) -> Option<String> {
        let now = i64::try_from(self.now()).ok().filter(|_| self.dates_its_answers)?;
        let now = jiff::Timestamp::from_millisecond(now).ok()?;
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).ok()
    }

    /// Returns the present time by Discord's clock, in milliseconds of Unix time.
    pub(crate) fn now(&self) -> u64 {
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(unix.saturating_sub(self.behind).as_millis()).unwrap_or(u64::MAX)
    }

    /// Adds a message and returns its id.
    pub(crate) fn insert_message(&mut self, message: Message) -> Id {
        let id = message.id;
        self.wakes(message.channel);
        if let Some(channel) = self.channels.get_mut(&message.channel) {
            channel.last_message = Some(id);
        }
        self.messages.insert(id, message);
        self.tell_message("MESSAGE_CREATE", id);
        id
    }

    /// Takes an archived thread out of the archive, as a new message does.
    fn wakes(&mut self, thread: Id) {
        let archived = self.channels.get_mut(&thread).and_then(|thread| thread.archived.take());
        if archived.is_some() {
            self.tell_channel("THREAD_UPDATE", thread);
        }
    }

    /// Returns a new snowflake: later than all before it.
    pub(crate) fn new_id(&mut self) -> Id {
        self.last_id = (self.last_id + 1).max((self.now() - EPOCH) << 22);
        self.last_id
    }

    pub(crate) fn violation(&mut self, text: impl Into<String>) {
        self.violations.push(text.into());
    }

    /// Returns the channel with this name, with or without `#`; deleted ones are not found.
    pub(crate) fn channel(&self, name: &str) -> Option<&Channel> {
        let name = name.trim_start_matches('#');
        self.channels.values().find(|channel| channel.name == name && !channel.deleted && channel.kind != 4)
    }

    /// Returns the category with this name.
    pub(crate) fn category(&self, name: &str) -> Option<&Channel> {
        self.channels.values().find(|channel| channel.name == name && !channel.deleted && channel.kind == 4)
    }

    /// Returns the bot's public messages in a channel that are not deleted, oldest first.
    pub(crate) fn posts<'a>(&'a self, channel: &str) -> impl Iterator<Item = &'a Message> {
        let channel = self.channel(channel).map(|channel| channel.id);
        self.messages.values().filter(move |message| {
            Some(message.channel) == channel
                && message.author == self.bot.id
                && !message.deleted
                && !message.is_ephemeral()
                && message.flags & LOADING == 0
        })
    }

    /// Returns true if the bot is in the guild.
    pub(crate) fn is_bot_there(&self) -> bool {
        self.guild.members.contains_key(&self.bot.id)
    }

    /// Returns the registered command that a person on the server would get under this name.
    pub(crate) fn command(&self, name: &str) -> Option<&Command> {
        let of = |guild: Option<Id>| {
            self.commands.iter().find(move |command| command.guild == guild && command.name() == name)
        };
        of(Some(self.guild.id)).or_else(|| of(None))
    }
}

/// Only the user who asked can see the message.
pub(crate) const EPHEMERAL: u64 = 1 << 6;
/// The bot is thinking.
pub(crate) const LOADING: u64 = 1 << 7;
/// The content stands in the components.
pub(crate) const COMPONENTS_V2: u64 = 1 << 15;
