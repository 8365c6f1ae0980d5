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

/// Maximum length of a nick: that of an agent's name (`core::id::AGENT_NAME_MAX`).
pub(super) const NICK_LEN: usize = 30;

/// Maximum length of a channel's name: `#`, the longest agent name, and a reserve.
pub(super) const CHANNEL_LEN: usize = 64;

/// Maximum length of a topic, in bytes, so that its line fits.
pub(super) const TOPIC_LEN: usize = 390;

/// Maximum length of a middle parameter in an answer, in bytes: what a client asked about, e.g. a list of channels.
const MIDDLE_LEN: usize = 200;

/// Maximum length of a line on the wire without its CR LF (RFC 2812).
pub(super) const LINE_LEN: usize = 510;

/// Maximum number of connections with a password: a person with a handful of clients needs ten.
pub(super) const CLIENTS_MAX: usize = 64;

/// Maximum number of guests, who have no password.
pub(super) const GUESTS_MAX: usize = 64;

/// Maximum number of connections without a valid password, guests included. Beyond it the oldest that is not a guest is
/// closed, so that idle connections keep no one out.
const UNPROVEN_MAX: usize = 192;

/// Maximum number of channels per outside client; herder itself has one per agent and is exempt.
pub(super) const CHANNELS_PER_CLIENT: usize = 50;

/// Maximum number of channels: those that outside clients could create, and a thousand agents'.
pub(super) const CHANNELS_MAX: usize = 2000;

/// The server's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's name in prefixes; it contains a dot so that clients recognise a server.
    pub name: String,
    /// The network's name, sent as `NETWORK=` in 005.
    pub network: String,
    /// The bot's nick, and the only account that may use it.
    pub reserved: (String, String),
    /// Accounts and their password digests.
    pub accounts: Vec<(String, Password)>,
    /// Accounts that are no channel operators: they may not set topics or kick.
    pub onlookers: BTreeSet<String>,
    /// True if clients without a password may connect, without an account.
    pub guests: bool,
    /// Lines shown on connecting; if empty, 422 is sent.
    pub motd: Vec<String>,
    /// Prefix of message ids that distinguishes this run from others.
    pub instance: String,
}

/// An action for the tasks around the state machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send a message to one client.
    Message {
        /// The recipient.
        to: ClientId,
        /// The message.
        message: Box<Message>,
    },
    /// Close this client's connection after the queued lines are written.
    Close(ClientId),
}

/// Message tags, sent to clients that negotiated them.
#[derive(Debug, Clone, Default)]
pub(super) struct Meta {
    pub(super) at: Option<Timestamp>,
    pub(super) msgid: Option<String>,
    pub(super) account: Option<String>,
    pub(super) bot: bool,
    pub(super) client_tags: Vec<(String, Option<String>)>,
    pub(super) batch: Option<String>,
}

/// The server's state.
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
    /// Creates a server without clients.
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

    /// Handles a new connection; `internal` is the account of a stream that herder itself opened.
    pub fn connect(&mut self, id: ClientId, internal: Option<String>, now: Timestamp) -> Vec<Output> {
        self.now = now;
        if internal.is_none() {
            self.make_room();
        }
        let host = if internal.is_some() { "herder" } else { "localhost" };
        self.clients.insert(id, Client::new(host, internal, now));
        self.take()
    }

    /// Closes the oldest connection without a valid password if there are too many of them.
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

    /// Number of other clients with a valid password (`proven`), or of other guests.
    pub(super) fn others(&self, id: ClientId, proven: bool) -> usize {
        let is_one = |client: &Client| {
            client.internal.is_none() && client.proven == proven && (proven || client.registered)
        };
        self.clients.iter().filter(|(other, client)| **other != id && is_one(client)).count()
    }

    /// Handles a framed line, or one that was too long.
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

    /// Handles a client's line.
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

    /// Handles the end of a client's connection.
    pub fn disconnect(&mut self, id: ClientId, reason: &str, now: Timestamp) -> Vec<Output> {
        self.now = now;
        self.forget(id, reason);
        self.take()
    }

    /// Sends a PING to a client that was silent for long.
    pub fn idle(&mut self, id: ClientId, now: Timestamp) -> Vec<Output> {
        self.now = now;
        let name = self.settings.name.clone();
        self.push(id, Message { tags: None, prefix: None, command: Command::PING(name, None) });
        self.take()
    }

    /// Closes a client that is not registered when its time is over.
    pub fn registration_due(&mut self, id: ClientId, now: Timestamp) -> Vec<Output> {
        self.now = now;
        if self.clients.get(&id).is_some_and(|client| !client.registered) {
            self.close(id, "Registration timed out: send NICK, USER and PASS, and CAP END after CAP LS");
        }
        self.take()
    }

    /// Ends the server: notifies and closes all clients.
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

    /// Answers a labelled request as `labeled-response` requires: one line carries the label, several become a batch,
    /// none becomes an `ACK`.
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

    /// Returns an id that no message or batch of this run had before.
    pub(super) fn fresh(&mut self) -> String {
        self.counter += 1;
        format!("{}{}", self.settings.instance, self.counter)
    }

    /// Queues a message unchanged.
    pub(super) fn push(&mut self, to: ClientId, message: Message) {
        self.out.push(Output::Message { to, message: Box::new(message) });
    }

    /// Queues a message from the server itself.
    pub(super) fn server_says(&mut self, to: ClientId, command: Command) {
        let prefix = Some(Prefix::ServerName(self.settings.name.clone()));
        self.push(to, Message { tags: None, prefix, command });
    }

    /// Queues a numeric for a client. A middle parameter that is invalid on the wire becomes `*`.
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

    /// Queues an action of one client for another, with the tags that the recipient negotiated.
    pub(super) fn relay(&mut self, to: ClientId, from: &Prefix, command: Command, meta: &Meta) {
        let Some(client) = self.clients.get(&to) else { return };
        let tags = tags_for(client, meta);
        self.push(to, Message { tags, prefix: Some(from.clone()), command });
    }

    /// Returns the tags of a client's present action.
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

    /// Closes a client's connection with a reason.
    pub(super) fn close(&mut self, id: ClientId, reason: &str) {
        self.push_error(id, reason);
        self.out.push(Output::Close(id));
        self.forget(id, reason);
    }

    /// Removes a client from everything and notifies those who share a channel with it.
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

    /// Removes a client from a channel; an empty channel is deleted.
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
    /// Returns true if clients, nicks and channels agree with each other.
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
