//! The server as a pure state machine: state and one event give the messages to send.
//!
//! Nothing here reads a clock, a socket or a random number. [`super::link`] holds the tasks around it;
//! [`super::session`] (registration), [`super::rooms`] (channels), [`super::talk`] and [`super::query`] implement the
//! commands.

use std::collections::{BTreeMap, BTreeSet};

use irc::proto::message::Tag;
use irc::proto::{Command, Message, Prefix};

use super::channel::Channel;
use super::client::{Cap, Client, ClientId};
use super::password::Password;
use super::wire::{self, Incoming, Request};
use crate::core::time::Timestamp;

/// Maximum length of a nick, in bytes: that of an agent's name (`core::id::AGENT_NAME_MAX`).
pub(super) const NICK_LEN: usize = 30;

/// Maximum length of a channel's name, in bytes: `#`, the longest agent name, and a reserve.
pub(super) const CHANNEL_LEN: usize = 64;

/// Maximum length of a topic, in bytes, so that the line with it fits.
pub(super) const TOPIC_LEN: usize = 390;

/// Maximum length of a parameter that an answer repeats from a request, e.g. a list of channels, in bytes.
const MIDDLE_LEN: usize = 200;

/// Maximum length of a line on the wire, in bytes, without its CR LF (RFC 2812).
pub(super) const LINE_LEN: usize = 510;

/// Maximum number of connections with a password: a person with a handful of clients needs ten.
pub(super) const CLIENTS_MAX: usize = 64;

/// Maximum number of connected guests, who have no password.
pub(super) const GUESTS_MAX: usize = 64;

/// Maximum number of connections without a valid password, guests included. Beyond it the oldest one that is not
/// registered is closed, so that idle connections keep nobody out.
const UNPROVEN_MAX: usize = 192;

/// Maximum number of channels that one client over TCP may be in; herder itself has one per agent and is exempt.
pub(super) const CHANNELS_PER_CLIENT: usize = 50;

/// Maximum number of channels on the server: those that clients over TCP could create, and a thousand agents'.
pub(super) const CHANNELS_MAX: usize = 2000;

/// Settings of the embedded server's state machine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's name in the prefix of its lines; it contains a dot so that clients recognise a server.
    pub name: String,
    /// The network's name, which reply 005 has as `NETWORK=`.
    pub network: String,
    /// The bot's nick, and the name of the only account that may use it.
    pub reserved: (String, String),
    /// Accounts that may connect, with the digests of their passwords.
    pub accounts: Vec<(String, Password)>,
    /// Names of accounts that are no channel operators: they may not set topics or kick.
    pub onlookers: BTreeSet<String>,
    /// True if clients without a password may connect, without an account.
    pub guests: bool,
    /// Lines that a client is shown on connecting (message of the day); if there are none, reply 422 is sent.
    pub motd: Vec<String>,
    /// Prefix of message ids by which this run differs from others.
    pub instance: String,
}

/// An action that the state machine asks the tasks of the connections for.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send this message to one client.
    Message {
        /// The client that gets the message.
        to: ClientId,
        /// The message to send.
        message: Box<Message>,
    },
    /// Close the connection of this client after its queued lines are written.
    Close(ClientId),
}

/// IRCv3 tags of a message; each is sent only to clients that enabled it.
#[derive(Debug, Clone, Default)]
pub(super) struct Meta {
    pub(super) at: Option<Timestamp>,
    pub(super) msgid: Option<String>,
    pub(super) account: Option<String>,
    pub(super) bot: bool,
    pub(super) client_tags: Vec<(String, Option<String>)>,
    pub(super) batch: Option<String>,
}

/// The state machine of the embedded IRC server: clients, nicks and channels. It does no I/O.
#[derive(Debug)]
pub struct Ircd {
    pub(super) settings: Settings,
    pub(super) clients: BTreeMap<ClientId, Client>,
    pub(super) nicks: BTreeMap<String, ClientId>,
    pub(super) channels: BTreeMap<String, Channel>,
    pub(super) now: Timestamp,
    pub(super) started: Timestamp,
    counter: u64,
    out: Vec<Output>,
}

impl Ircd {
    /// Creates the state of a server without clients, started at `now`.
    #[must_use]
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        Self {
            settings,
            clients: BTreeMap::new(),
            nicks: BTreeMap::new(),
            channels: BTreeMap::new(),
            now,
            started: now,
            counter: 0,
            out: Vec::new(),
        }
    }

    /// Handles a new connection; `internal` is the account of an in-memory connection by herder itself, else `None`.
    pub fn connect(&mut self, id: ClientId, internal: Option<String>, now: Timestamp) -> Vec<Output> {
        self.now = now;
        if internal.is_none() {
            self.make_room();
        }
        let host = if internal.is_some() { "herder" } else { "localhost" };
        self.clients.insert(id, Client::new(host, internal, now));
        self.take()
    }

    /// Closes the oldest connection that is not registered if too many have no valid password.
    fn make_room(&mut self) {
        let unproven = self.clients.iter().filter(|(_, client)| !client.proven);
        let count = unproven.clone().count();
        let oldest = unproven.filter(|(_, client)| !client.registered).map(|(id, _)| *id).next();
        if count >= UNPROVEN_MAX
            && let Some(oldest) = oldest
        {
            self.close(oldest, "Others want to come in; send NICK, USER and PASS sooner");
        }
    }

    /// Returns the number of other clients over TCP: of those with a valid password if `proven`, else of guests.
    pub(super) fn others(&self, id: ClientId, proven: bool) -> usize {
        let is_one = |client: &Client| {
            client.internal.is_none() && client.proven == proven && (proven || client.registered)
        };
        self.clients.iter().filter(|(other, client)| **other != id && is_one(client)).count()
    }

    /// Handles a line that a connection has read from a client, or the report of one that was too long.
    pub(super) fn incoming(&mut self, id: ClientId, incoming: &Incoming, now: Timestamp) -> Vec<Output> {
        match incoming {
            Incoming::Line(line) => self.line(id, line, now),
            Incoming::TooLong => {
                self.now = now;
                self.numeric(id, super::numeric::ERR_INPUTTOOLONG, &["Input line was too long"]);
                self.take()
            }
        }
    }

    /// Handles a line from a client. Returns the actions that follow.
    pub fn line(&mut self, id: ClientId, line: &str, now: Timestamp) -> Vec<Output> {
        self.now = now;
        let Some(request) = Request::parse(line) else { return Vec::new() };
        if !self.clients.contains_key(&id) {
            return Vec::new();
        }
        self.dispatch(id, &request);
        match request.label {
            Some(label) => self.labelled(id, &label),
            None => self.take(),
        }
    }

    /// Handles that a client's connection has ended, for this reason. Returns the actions that follow.
    pub fn disconnect(&mut self, id: ClientId, reason: &str, now: Timestamp) -> Vec<Output> {
        self.now = now;
        self.forget(id, reason);
        self.take()
    }

    /// Handles that a client was silent for long: it gets a PING.
    pub fn idle(&mut self, id: ClientId, now: Timestamp) -> Vec<Output> {
        self.now = now;
        let name = self.settings.name.clone();
        self.push(id, Message { tags: None, prefix: None, command: Command::PING(name, None) });
        self.take()
    }

    /// Handles that the time for registration is over: a client that is not registered is closed.
    pub fn registration_due(&mut self, id: ClientId, now: Timestamp) -> Vec<Output> {
        self.now = now;
        if self.clients.get(&id).is_some_and(|client| !client.registered) {
            self.close(id, "Registration timed out: send NICK, USER and PASS, and CAP END after CAP LS");
        }
        self.take()
    }

    /// Ends the server: notifies and closes all clients. Returns the actions that follow.
    pub fn shut_down(&mut self, now: Timestamp) -> Vec<Output> {
        self.now = now;
        for id in self.clients.keys().copied().collect::<Vec<_>>() {
            self.push_error(id, "herder has ended");
            self.out.push(Output::Close(id));
        }
        self.clients.clear();
        self.take()
    }

    fn take(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    /// Formats the answer to a request with a label as `labeled-response` requires: one line carries the label, several
    /// become a batch, none becomes an `ACK`.
    fn labelled(&mut self, id: ClientId, label: &str) -> Vec<Output> {
        let outputs = self.take();
        let supported =
            self.clients.get(&id).is_some_and(|c| c.has(Cap::LabeledResponse) && c.has(Cap::Batch));
        if !supported {
            return outputs;
        }
        let tag = Tag("label".to_owned(), Some(label.to_owned()));
        let server = Some(Prefix::ServerName(self.settings.name.clone()));
        let own = |output: &Output| matches!(output, Output::Message { to, .. } if *to == id);
        let count = outputs.iter().filter(|output| own(output)).count();
        let to_self = |tags, command| Output::Message {
            to: id,
            message: Box::new(Message { tags, prefix: server.clone(), command }),
        };
        if count == 0 {
            let ack = to_self(Some(vec![tag]), Command::Raw("ACK".to_owned(), Vec::new()));
            return outputs.into_iter().chain([ack]).collect();
        }
        let batch = (count > 1).then(|| self.fresh());
        let mut answer = Vec::with_capacity(outputs.len() + 2);
        if let Some(batch) = &batch {
            let start =
                Command::Raw("BATCH".to_owned(), vec![format!("+{batch}"), "labeled-response".to_owned()]);
            answer.push(to_self(Some(vec![tag.clone()]), start));
        }
        for mut output in outputs {
            if let Output::Message { to, message } = &mut output
                && *to == id
            {
                let tags = message.tags.get_or_insert_default();
                match &batch {
                    None => tags.push(tag.clone()),
                    Some(batch) if tags.iter().all(|tag| tag.0 != "batch") => {
                        tags.push(Tag("batch".to_owned(), Some(batch.clone())));
                    }
                    // Part of a batch of its own, whose start is in this one.
                    Some(_) => {}
                }
            }
            answer.push(output);
        }
        if let Some(batch) = batch {
            answer.push(to_self(None, Command::Raw("BATCH".to_owned(), vec![format!("-{batch}")])));
        }
        answer
    }

    /// Returns a new id for a message or batch, which this run has not used before.
    pub(super) fn fresh(&mut self) -> String {
        self.counter += 1;
        format!("{}{}", self.settings.instance, self.counter)
    }

    /// Queues a message for a client, unchanged.
    pub(super) fn push(&mut self, to: ClientId, message: Message) {
        self.out.push(Output::Message { to, message: Box::new(message) });
    }

    /// Queues a command from the server itself for a client.
    pub(super) fn server_says(&mut self, to: ClientId, command: Command) {
        let prefix = Some(Prefix::ServerName(self.settings.name.clone()));
        self.push(to, Message { tags: None, prefix, command });
    }

    /// Queues a numeric reply for a client. A parameter other than the last that is invalid on the wire becomes `*`.
    pub(super) fn numeric(&mut self, to: ClientId, code: &str, params: &[&str]) {
        let Some(client) = self.clients.get(&to) else { return };
        let mut all = vec![client.nick().to_owned()];
        let last = params.len().saturating_sub(1);
        for (index, param) in params.iter().enumerate() {
            let middle = index < last && (param.is_empty() || param.starts_with(':') || param.contains(' '));
            let room = if index < last { MIDDLE_LEN } else { 400 };
            all.push(if middle { "*".to_owned() } else { wire::cut(param, room).to_owned() });
        }
        self.server_says(to, Command::Raw(code.to_owned(), all));
    }

    /// Queues a command of the client `from` for another client, with those tags in `meta` that the other has enabled.
    pub(super) fn relay(&mut self, to: ClientId, from: &Prefix, command: Command, meta: &Meta) {
        let Some(client) = self.clients.get(&to) else { return };
        let tags = tags_for(client, meta);
        self.push(to, Message { tags, prefix: Some(from.clone()), command });
    }

    /// Returns the tags of a message that a client sends now.
    pub(super) fn meta(&self, from: ClientId) -> Meta {
        let client = self.clients.get(&from);
        Meta {
            at: Some(self.now),
            account: client.and_then(|client| client.account.clone()),
            bot: client.is_some_and(|client| client.bot),
            ..Meta::default()
        }
    }

    /// Returns all clients that share a channel with a client, without itself.
    pub(super) fn peers(&self, id: ClientId) -> BTreeSet<ClientId> {
        let Some(client) = self.clients.get(&id) else { return BTreeSet::new() };
        let mut peers: BTreeSet<ClientId> = client
            .channels
            .iter()
            .filter_map(|channel| self.channels.get(channel))
            .flat_map(|channel| channel.members.iter().copied())
            .collect();
        peers.remove(&id);
        peers
    }

    fn push_error(&mut self, id: ClientId, reason: &str) {
        let text = format!("Closing link: {reason}");
        self.push(id, Message { tags: None, prefix: None, command: Command::ERROR(text) });
    }

    /// Closes a client's connection, with a reason for the client and the others.
    pub(super) fn close(&mut self, id: ClientId, reason: &str) {
        self.push_error(id, reason);
        self.out.push(Output::Close(id));
        self.forget(id, reason);
    }

    /// Removes a client from the state and notifies those who share a channel with it.
    fn forget(&mut self, id: ClientId, reason: &str) {
        let peers = self.peers(id);
        let meta = self.meta(id);
        let Some(client) = self.clients.remove(&id) else { return };
        if client.registered {
            for peer in peers {
                self.relay(peer, &client.prefix(), Command::QUIT(Some(reason.to_owned())), &meta);
            }
        }
        for name in &client.channels {
            self.leave(id, name);
        }
        if let Some(nick) = &client.nick {
            self.nicks.remove(&wire::fold(nick));
        }
    }

    /// Removes a client from a channel; a channel without members is deleted.
    pub(super) fn leave(&mut self, id: ClientId, channel: &str) {
        if let Some(room) = self.channels.get_mut(channel) {
            room.members.remove(&id);
            if room.members.is_empty() {
                self.channels.remove(channel);
            }
        }
        if let Some(client) = self.clients.get_mut(&id) {
            client.channels.remove(channel);
        }
    }
}

#[cfg(test)]
impl Ircd {
    /// For tests: returns true if clients, nicks and channels agree with each other.
    pub(super) fn is_consistent(&self) -> bool {
        let nicks = self
            .nicks
            .iter()
            .all(|(key, id)| self.clients.get(id).is_some_and(|client| wire::fold(client.nick()) == *key));
        let members = self.channels.iter().all(|(key, channel)| {
            !channel.members.is_empty()
                && channel
                    .members
                    .iter()
                    .all(|id| self.clients.get(id).is_some_and(|c| c.channels.contains(key)))
        });
        let joined = self.clients.iter().all(|(id, client)| {
            client.channels.iter().all(|key| self.channels.get(key).is_some_and(|c| c.members.contains(id)))
        });
        nicks && members && joined
    }
}

fn tags_for(client: &Client, meta: &Meta) -> Option<Vec<Tag>> {
    let mut tags = Vec::new();
    let mut tag = |key: &str, value: Option<String>| tags.push(Tag(key.to_owned(), value));
    if let Some(at) = meta.at
        && client.has(Cap::ServerTime)
    {
        tag("time", Some(server_time(at)));
    }
    if let Some(account) = &meta.account
        && client.has(Cap::AccountTag)
    {
        tag("account", Some(account.clone()));
    }
    if let Some(batch) = &meta.batch
        && client.has(Cap::Batch)
    {
        tag("batch", Some(batch.clone()));
    }
    if client.has(Cap::MessageTags) {
        if let Some(msgid) = &meta.msgid {
            tag("msgid", Some(msgid.clone()));
        }
        if meta.bot {
            tag("bot", None);
        }
        for (key, value) in &meta.client_tags {
            tag(key, value.clone());
        }
    }
    (!tags.is_empty()).then_some(tags)
}

/// Formats a time as `server-time` requires: `2026-11-21T09:50:34.123Z`.
pub(super) fn server_time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .unwrap_or_default()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}
