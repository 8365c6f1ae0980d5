//! The server as a pure state machine: state and one thing that happened give the messages that follow.
//!
//! Nothing here reads a clock, a socket or a random number. The tasks around it are in [`super::link`]; what each verb does
//! is in [`super::session`] (registration), [`super::rooms`] (channels), [`super::talk`] and [`super::query`].

use std::collections::{BTreeMap, BTreeSet};

use irc::proto::message::Tag;
use irc::proto::{Command, Message, Prefix};

use super::channel::Channel;
use super::client::{Cap, Client, ClientId};
use super::password::Password;
use super::wire::{self, Incoming, Request};
use crate::core::time::Timestamp;

/// Nicks are as long as agent names may be (`core::id::AGENT_NAME_MAX`).
pub(super) const NICK_LEN: usize = 30;

/// A channel of the longest agent name, `#` and room to spare.
pub(super) const CHANNEL_LEN: usize = 64;

/// The longest topic, so that its line fits.
pub(super) const TOPIC_LEN: usize = 390;

/// The longest middle parameter of an answer: what a client asked about, a list of channels at most.
const MIDDLE_LEN: usize = 200;

/// A line on the wire without its CR LF (RFC 2812).
pub(super) const LINE_LEN: usize = 510;

/// Connections with a password: a person with a handful of clients needs ten.
pub(super) const CLIENTS_MAX: usize = 64;

/// Guests, who come without one.
pub(super) const GUESTS_MAX: usize = 64;

/// Connections that have shown no password, guests among them. With more, the oldest that is no guest has to go, so that
/// whoever holds them open keeps nobody out who has one.
const UNPROVEN_MAX: usize = 192;

/// Channels one outside client may be in; herder itself has one per agent and is not counted.
pub(super) const CHANNELS_PER_CLIENT: usize = 50;

/// Channels altogether: what the outside clients could make, and a thousand agents.
pub(super) const CHANNELS_MAX: usize = 2000;

/// What the server is told at start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's own name, as a prefix; it has a dot so that clients know it for a server.
    pub name: String,
    /// `NETWORK=` in 005.
    pub network: String,
    /// The nick and the account that alone may use it.
    pub reserved: (String, String),
    /// Accounts and their passwords.
    pub accounts: Vec<(String, Password)>,
    /// Accounts that are no operators of the channels: they may not set topics or throw anybody out.
    pub onlookers: BTreeSet<String>,
    /// Whether somebody without a password may come in, without an account.
    pub guests: bool,
    /// Lines shown on joining; none: 422.
    pub motd: Vec<String>,
    /// Makes message ids of this run differ from those of others.
    pub instance: String,
}

/// What is to be done after something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A message for one client.
    Message {
        /// Whom.
        to: ClientId,
        /// What.
        message: Box<Message>,
    },
    /// Close this client's connection once what it was sent before is written.
    Close(ClientId),
}

/// What travels beside a message, to those who negotiated it.
#[derive(Debug, Clone, Default)]
pub(super) struct Meta {
    pub(super) at: Option<Timestamp>,
    pub(super) msgid: Option<String>,
    pub(super) account: Option<String>,
    pub(super) bot: bool,
    pub(super) client_tags: Vec<(String, Option<String>)>,
    pub(super) batch: Option<String>,
}

/// The server.
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
    /// A server that nobody is on.
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

    /// Somebody connected; `internal` is the account of a stream that herder itself opened.
    pub fn connect(&mut self, id: ClientId, internal: Option<String>, now: Timestamp) -> Vec<Output> {
        self.now = now;
        if internal.is_none() {
            self.make_room();
        }
        let host = if internal.is_some() { "herder" } else { "localhost" };
        self.clients.insert(id, Client::new(host, internal, now));
        self.take()
    }

    /// Sends the oldest connection away that has shown no password, where there are too many of them.
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

    /// How many others have shown a password, or have come in without one.
    pub(super) fn others(&self, id: ClientId, proven: bool) -> usize {
        let is_one = |client: &Client| {
            client.internal.is_none() && client.proven == proven && (proven || client.registered)
        };
        self.clients.iter().filter(|(other, client)| **other != id && is_one(client)).count()
    }

    /// A client said something.
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

    /// A client sent a line.
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

    /// A client's connection ended.
    pub fn disconnect(&mut self, id: ClientId, reason: &str, now: Timestamp) -> Vec<Output> {
        self.now = now;
        self.forget(id, reason);
        self.take()
    }

    /// A client was silent for long: it is asked for a sign of life.
    pub fn idle(&mut self, id: ClientId, now: Timestamp) -> Vec<Output> {
        self.now = now;
        let name = self.settings.name.clone();
        self.push(id, Message { tags: None, prefix: None, command: Command::PING(name, None) });
        self.take()
    }

    /// A client had the time that registration may take.
    pub fn registration_due(&mut self, id: ClientId, now: Timestamp) -> Vec<Output> {
        self.now = now;
        if self.clients.get(&id).is_some_and(|client| !client.registered) {
            self.close(id, "Registration timed out: send NICK, USER and PASS, and CAP END after CAP LS");
        }
        self.take()
    }

    /// The server ends: everybody is told and closed.
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

    /// Answers a labelled request as `labeled-response` says: one line carries the label, several are a batch, none is `ACK`.
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
                    // Inside a batch of its own, whose start is in this one.
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

    /// A name that no message or batch of this run had before.
    pub(super) fn fresh(&mut self) -> String {
        self.counter += 1;
        format!("{}{}", self.settings.instance, self.counter)
    }

    /// Queues a message as it is.
    pub(super) fn push(&mut self, to: ClientId, message: Message) {
        self.out.push(Output::Message { to, message: Box::new(message) });
    }

    /// A message from the server itself.
    pub(super) fn server_says(&mut self, to: ClientId, command: Command) {
        let prefix = Some(Prefix::ServerName(self.settings.name.clone()));
        self.push(to, Message { tags: None, prefix, command });
    }

    /// A numeric, addressed to the client. A middle parameter that could not be one on the wire becomes `*`.
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

    /// Something one client did, told to another one with the tags that one negotiated.
    pub(super) fn relay(&mut self, to: ClientId, from: &Prefix, command: Command, meta: &Meta) {
        let Some(client) = self.clients.get(&to) else { return };
        let tags = tags_for(client, meta);
        self.push(to, Message { tags, prefix: Some(from.clone()), command });
    }

    /// The tags that what a client does now travels with.
    pub(super) fn meta(&self, from: ClientId) -> Meta {
        let client = self.clients.get(&from);
        Meta {
            at: Some(self.now),
            account: client.and_then(|client| client.account.clone()),
            bot: client.is_some_and(|client| client.bot),
            ..Meta::default()
        }
    }

    /// Everybody who shares a channel with a client, without itself.
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

    /// Ends a client's connection with a reason.
    pub(super) fn close(&mut self, id: ClientId, reason: &str) {
        self.push_error(id, reason);
        self.out.push(Output::Close(id));
        self.forget(id, reason);
    }

    /// Takes a client out of everything and tells those who could see it.
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

    /// Takes a client out of a channel, which ends when it is empty.
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
    /// Clients, nicks and channels agree with each other.
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

/// `2026-11-21T09:50:34.123Z`, as `server-time` wants it.
pub(super) fn server_time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .unwrap_or_default()
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}
