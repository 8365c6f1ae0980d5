//! Channels: join with replay, part, topic, names, kick, invite, list.

use irc::proto::{Command, Prefix};

use super::channel::{Channel, Topic, is_channel_name};
use super::client::{Cap, ClientId};
use super::numeric as n;
use super::state::{CHANNELS_MAX, CHANNELS_PER_CLIENT, Ircd, Meta, TOPIC_LEN};
use super::wire::{Request, cut, fold};

/// Maximum number of targets of one JOIN, PART or similar command: more is a mistake or an attack.
const TARGETS_MAX: usize = 100;

/// Number of names in one reply 353 (NAMES), so that the line fits with the longest nicks.
const NAMES_PER_LINE: usize = 12;

impl Ircd {
    pub(super) fn join(&mut self, id: ClientId, request: &Request<'_>) {
        if request.params[0] == "0" {
            let all = self.clients.get(&id).map(|client| client.channels.clone()).unwrap_or_default();
            for channel in all {
                self.part_one(id, &channel, "Left all channels");
            }
            return;
        }
        for name in request.params[0].split(',').filter(|name| !name.is_empty()).take(TARGETS_MAX) {
            self.join_one(id, name);
        }
    }

    fn join_one(&mut self, id: ClientId, name: &str) {
        let key = fold(name);
        let Some(client) = self.clients.get(&id) else { return };
        if client.channels.contains(&key) {
            return;
        }
        if !is_channel_name(name) {
            self.numeric(
                id,
                n::ERR_BADCHANMASK,
                &[name, "A channel is # and up to 63 characters without space and comma"],
            );
            return;
        }
        let too_many = client.internal.is_none() && client.channels.len() >= CHANNELS_PER_CLIENT;
        if too_many || (!self.channels.contains_key(&key) && self.channels.len() >= CHANNELS_MAX) {
            self.numeric(id, n::ERR_TOOMANYCHANNELS, &[name, "You have joined too many channels"]);
            return;
        }
        let (prefix, account, realname) = (
            client.prefix(),
            client.account.clone().unwrap_or_else(|| "*".to_owned()),
            client.realname.clone(),
        );
        let now = self.now;
        let channel = self.channels.entry(key.clone()).or_insert_with(|| Channel::new(name, now));
        channel.members.insert(id);
        let (name, members) = (channel.name.clone(), channel.members.clone());
        if let Some(client) = self.clients.get_mut(&id) {
            client.channels.insert(key.clone());
        }
        let meta = self.meta(id);
        for member in members {
            let extended = self.clients.get(&member).is_some_and(|client| client.has(Cap::ExtendedJoin));
            let params = if extended {
                vec![name.clone(), account.clone(), realname.clone()]
            } else {
                vec![name.clone()]
            };
            self.relay(member, &prefix, Command::Raw("JOIN".to_owned(), params), &meta);
            if self.is_op(id) {
                let server = Prefix::ServerName(self.settings.name.clone());
                let mode = vec![name.clone(), "+o".to_owned(), self.nick_of(id)];
                // A newcomer sees it in the list of names; only the others are told.
                if member != id {
                    self.relay(member, &server, Command::Raw("MODE".to_owned(), mode), &Meta::default());
                }
            }
        }
        self.show_topic(id, &key, false);
        self.show_names(id, &key);
        self.replay(id, &key);
    }

    fn is_op(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_some_and(super::client::Client::is_op)
    }

    fn nick_of(&self, id: ClientId) -> String {
        self.clients.get(&id).map_or_else(String::new, |client| client.nick().to_owned())
    }

    /// Replays the channel's history to a client that joins, marked so that it is never taken for live speech: in a
    /// `chathistory` batch, or as notices for a client that knows times but no batches. Other clients, and those that
    /// can request history, get no replay.
    fn replay(&mut self, id: ClientId, key: &str) {
        let Some(client) = self.clients.get(&id) else { return };
        let (batches, times) = (client.has(Cap::Batch), client.has(Cap::ServerTime));
        let asks = client.has(Cap::ChatHistory);
        let Some(channel) = self.channels.get(key) else { return };
        if channel.history.is_empty() || asks || !(batches || times) {
            return;
        }
        let (name, history) = (channel.name.clone(), channel.history.clone());
        self.tell_past(id, &name, history, batches);
    }

    pub(super) fn part(&mut self, id: ClientId, request: &Request<'_>) {
        let reason = cut(request.params.get(1).copied().unwrap_or(""), 200);
        for name in request.params[0].split(',').filter(|name| !name.is_empty()).take(TARGETS_MAX) {
            if self.member_of(id, name) {
                self.part_one(id, &fold(name), reason);
            }
        }
    }

    fn part_one(&mut self, id: ClientId, key: &str, reason: &str) {
        let (Some(client), Some(channel)) = (self.clients.get(&id), self.channels.get(key)) else { return };
        let (prefix, name, members) = (client.prefix(), channel.name.clone(), channel.members.clone());
        let meta = self.meta(id);
        let reason = (!reason.is_empty()).then(|| reason.to_owned());
        for member in members {
            self.relay(member, &prefix, Command::PART(name.clone(), reason.clone()), &meta);
        }
        self.leave(id, key);
    }

    /// Returns true if the client is in the channel; otherwise the client is sent the error.
    fn member_of(&mut self, id: ClientId, name: &str) -> bool {
        let Some(channel) = self.channels.get(&fold(name)) else {
            self.numeric(id, n::ERR_NOSUCHCHANNEL, &[name, "No such channel"]);
            return false;
        };
        let inside = channel.members.contains(&id);
        if !inside {
            self.numeric(id, n::ERR_NOTONCHANNEL, &[name, "You are not on that channel"]);
        }
        inside
    }

    /// Returns true if the client is in the channel as an operator; otherwise the client is sent the error.
    fn op_of(&mut self, id: ClientId, name: &str) -> bool {
        if !self.member_of(id, name) {
            return false;
        }
        let op = self.is_op(id);
        if !op {
            self.numeric(id, n::ERR_CHANOPRIVSNEEDED, &[name, "You are not a channel operator"]);
        }
        op
    }

    pub(super) fn topic(&mut self, id: ClientId, request: &Request<'_>) {
        let name = request.params[0];
        let key = fold(name);
        let Some(text) = request.params.get(1) else {
            if self.channels.contains_key(&key) {
                self.show_topic(id, &key, true);
            } else {
                self.numeric(id, n::ERR_NOSUCHCHANNEL, &[name, "No such channel"]);
            }
            return;
        };
        if !self.op_of(id, name) {
            return;
        }
        let text = cut(text, TOPIC_LEN).to_owned();
        let (now, by) = (self.now, self.nick_of(id));
        let Some(channel) = self.channels.get_mut(&key) else { return };
        channel.topic = (!text.is_empty()).then(|| Topic { text: text.clone(), by, at: now });
        let (name, members) = (channel.name.clone(), channel.members.clone());
        self.announce(id, &members, &Command::TOPIC(name, Some(text)));
    }

    /// Sends the command that one member of a channel has given to these members.
    fn announce<'a>(&mut self, by: ClientId, to: impl IntoIterator<Item = &'a ClientId>, command: &Command) {
        let Some(client) = self.clients.get(&by) else { return };
        let (prefix, meta) = (client.prefix(), self.meta(by));
        for member in to {
            self.relay(*member, &prefix, command.clone(), &meta);
        }
    }

    fn show_topic(&mut self, id: ClientId, key: &str, also_none: bool) {
        let Some(channel) = self.channels.get(key) else { return };
        let name = channel.name.clone();
        if let Some(topic) = channel.topic.clone() {
            let since = (topic.at.as_millis() / 1000).to_string();
            self.numeric(id, n::RPL_TOPIC, &[&name, &topic.text]);
            self.numeric(id, n::RPL_TOPICWHOTIME, &[&name, &topic.by, &since]);
        } else if also_none {
            self.numeric(id, n::RPL_NOTOPIC, &[&name, "No topic is set"]);
        }
    }

    pub(super) fn names(&mut self, id: ClientId, request: &Request<'_>) {
        match request.param(0) {
            Some(names) => {
                for name in names.split(',').filter(|name| !name.is_empty()).take(TARGETS_MAX) {
                    if self.channels.contains_key(&fold(name)) {
                        self.show_names(id, &fold(name));
                    } else {
                        self.numeric(id, n::RPL_ENDOFNAMES, &[name, "End of /NAMES list"]);
                    }
                }
            }
            None => self.numeric(id, n::RPL_ENDOFNAMES, &["*", "End of /NAMES list"]),
        }
    }

    fn show_names(&mut self, id: ClientId, key: &str) {
        let Some(channel) = self.channels.get(key) else { return };
        let name = channel.name.clone();
        let named = |member| {
            let client = self.clients.get(member)?;
            Some(format!("{}{}", if client.is_op() { "@" } else { "" }, client.nick()))
        };
        let names: Vec<String> = channel.members.iter().filter_map(named).collect();
        for line in names.chunks(NAMES_PER_LINE) {
            self.numeric(id, n::RPL_NAMREPLY, &["=", &name, &line.join(" ")]);
        }
        self.numeric(id, n::RPL_ENDOFNAMES, &[&name, "End of /NAMES list"]);
    }

    pub(super) fn kick(&mut self, id: ClientId, request: &Request<'_>) {
        let (name, nick) = (request.params[0], request.params[1]);
        if !self.op_of(id, name) {
            return;
        }
        let key = fold(name);
        let victim = self.nicks.get(&fold(nick)).copied();
        let Some(channel) = self.channels.get(&key) else { return };
        let (shown, members) = (channel.name.clone(), channel.members.clone());
        let Some(victim) = victim.filter(|victim| members.contains(victim)) else {
            self.numeric(id, n::ERR_USERNOTINCHANNEL, &[nick, name, "They are not on that channel"]);
            return;
        };
        let reason = request.param(2).unwrap_or("No reason given");
        let command = Command::KICK(shown, self.nick_of(victim), Some(cut(reason, 200).to_owned()));
        self.announce(id, &members, &command);
        self.leave(victim, &key);
    }

    pub(super) fn invite(&mut self, id: ClientId, request: &Request<'_>) {
        let (nick, name) = (request.params[0], request.params[1]);
        if !self.member_of(id, name) {
            return;
        }
        let Some(guest) = self.nicks.get(&fold(nick)).copied() else {
            self.numeric(id, n::ERR_NOSUCHNICK, &[nick, "No such nick"]);
            return;
        };
        if self.channels.get(&fold(name)).is_some_and(|channel| channel.members.contains(&guest)) {
            self.numeric(id, n::ERR_USERONCHANNEL, &[nick, name, "is already on channel"]);
            return;
        }
        self.numeric(id, n::RPL_INVITING, &[nick, name]);
        let command = Command::INVITE(self.nick_of(guest), name.to_owned());
        self.announce(id, [&guest], &command);
    }

    pub(super) fn list(&mut self, id: ClientId, request: &Request<'_>) {
        let only: Option<Vec<String>> = request.param(0).map(|names| names.split(',').map(fold).collect());
        let wanted = |key: &String| only.as_ref().is_none_or(|only| only.contains(key));
        let rows: Vec<[String; 3]> = self
            .channels
            .iter()
            .filter(|(key, _)| wanted(key))
            .map(|(_, channel)| {
                let topic = channel.topic.as_ref().map_or_else(String::new, |topic| topic.text.clone());
                [channel.name.clone(), channel.members.len().to_string(), topic]
            })
            .collect();
        self.numeric(id, n::RPL_LISTSTART, &["Channel", "Users  Name"]);
        for row in rows {
            self.numeric(id, n::RPL_LIST, &row.each_ref().map(String::as_str));
        }
        self.numeric(id, n::RPL_LISTEND, &["End of /LIST"]);
    }
}
