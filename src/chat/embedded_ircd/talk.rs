//! Messages between clients: `PRIVMSG`, `NOTICE`, `TAGMSG`.

use std::collections::BTreeSet;

use irc::proto::{Command, Prefix};

use super::channel::{Kind, Said};
use super::client::{Cap, ClientId};
use super::numeric as n;
use super::state::{Ircd, LINE_LEN, Meta};
use super::wire::{Request, cut, fold};

/// Maximum number of targets of one PRIVMSG, NOTICE or TAGMSG.
const TARGETS_MAX: usize = 10;

/// Maximum size of all client-only tags of one line, in bytes (IRCv3 message tags).
const CLIENT_TAGS_MAX: usize = 4094;

/// A resolved target of a line: a channel or a nick.
struct Destination {
    /// Name of the channel or nick, as the server spells it.
    name: String,
    /// Key of the channel in the server's state; `None` for a nick.
    channel: Option<String>,
    /// The clients that get the line, without the sender.
    to: BTreeSet<ClientId>,
}

impl Ircd {
    pub(super) fn say(&mut self, id: ClientId, request: &Request<'_>, kind: Kind) {
        // RFC 2812: a NOTICE is never answered.
        let quiet = kind == Kind::Notice;
        let (Some(targets), text) = (request.param(0), request.param(1)) else {
            if !quiet {
                self.numeric(id, n::ERR_NORECIPIENT, &["No recipient given"]);
            }
            return;
        };
        let Some(text) = text else {
            if !quiet {
                self.numeric(id, n::ERR_NOTEXTTOSEND, &["No text to send"]);
            }
            return;
        };
        let now = self.now;
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.spoke = now;
        let prefix = client.prefix();
        for target in targets.split(',').filter(|target| !target.is_empty()).take(TARGETS_MAX) {
            if let Some(destination) = self.destination(id, target, quiet) {
                self.say_to(id, &prefix, request, &destination, kind, text);
            }
        }
    }

    fn say_to(
        &mut self,
        id: ClientId,
        prefix: &Prefix,
        request: &Request<'_>,
        destination: &Destination,
        kind: Kind,
        text: &str,
    ) {
        let overhead = format!(":{prefix} PRIVMSG {} :", destination.name).len();
        let text = cut(text, LINE_LEN.saturating_sub(overhead)).to_owned();
        let name = destination.name.clone();
        let command = match kind {
            Kind::Privmsg => Command::PRIVMSG(name, text.clone()),
            Kind::Notice => Command::NOTICE(name, text.clone()),
        };
        let meta = Meta { msgid: Some(self.fresh()), client_tags: passed_on(request), ..self.meta(id) };
        self.deliver(id, prefix, destination, &command, &meta);
        if let Some(channel) = destination.channel.as_ref().and_then(|key| self.channels.get_mut(key)) {
            channel.remember(Said {
                at: meta.at.unwrap_or_default(),
                msgid: meta.msgid.unwrap_or_default(),
                from: prefix.clone(),
                account: meta.account,
                bot: meta.bot,
                kind,
                text,
            });
        }
    }

    pub(super) fn tagmsg(&mut self, id: ClientId, request: &Request<'_>) {
        let Some(client) = self.clients.get(&id) else { return };
        let prefix = client.prefix();
        for target in request.params[0].split(',').filter(|target| !target.is_empty()).take(TARGETS_MAX) {
            let Some(mut destination) = self.destination(id, target, false) else { continue };
            let knows =
                |id: &ClientId| self.clients.get(id).is_some_and(|client| client.has(Cap::MessageTags));
            destination.to.retain(knows);
            let command = Command::Raw("TAGMSG".to_owned(), vec![destination.name.clone()]);
            let meta = Meta { msgid: Some(self.fresh()), client_tags: passed_on(request), ..self.meta(id) };
            self.deliver(id, &prefix, &destination, &command, &meta);
        }
    }

    /// Delivers a line to its recipients, and to the sender if that client has enabled echoes.
    fn deliver(
        &mut self,
        id: ClientId,
        prefix: &Prefix,
        destination: &Destination,
        command: &Command,
        meta: &Meta,
    ) {
        let echo = self.clients.get(&id).is_some_and(|client| client.has(Cap::EchoMessage));
        for to in destination.to.iter().copied().chain(echo.then_some(id)) {
            self.relay(to, prefix, command.clone(), meta);
        }
    }

    fn destination(&mut self, id: ClientId, target: &str, quiet: bool) -> Option<Destination> {
        let key = fold(target);
        let found = if let Some(channel) = self.channels.get(&key) {
            let mut to = channel.members.clone();
            if to.remove(&id) {
                Ok(Destination { name: channel.name.clone(), channel: Some(key), to })
            } else {
                Err((n::ERR_CANNOTSENDTOCHAN, "Cannot send to channel: join it first"))
            }
        } else if let Some(other) = self.nicks.get(&key).copied() {
            let client = self.clients.get(&other).filter(|client| client.registered);
            let name = client.map(|client| client.nick().to_owned());
            // A line to oneself arrives once: as the echo, or as the message.
            let echo = self.clients.get(&id).is_some_and(|client| client.has(Cap::EchoMessage));
            let to = BTreeSet::from_iter((other != id || !echo).then_some(other));
            name.map(|name| Destination { name, channel: None, to })
                .ok_or((n::ERR_NOSUCHNICK, "No such nick"))
        } else if target.starts_with('#') {
            Err((n::ERR_NOSUCHCHANNEL, "No such channel"))
        } else {
            Err((n::ERR_NOSUCHNICK, "No such nick"))
        };
        match found {
            Ok(destination) => Some(destination),
            Err((code, text)) => {
                if !quiet {
                    self.numeric(id, code, &[target, text]);
                }
                None
            }
        }
    }
}

/// Returns the client-only tags of a request, which are passed on; none if they are too large.
fn passed_on(request: &Request<'_>) -> Vec<(String, Option<String>)> {
    let weight: usize =
        request.client_tags.iter().map(|(key, value)| key.len() + value.map_or(0, str::len) + 2).sum();
    if weight > CLIENT_TAGS_MAX {
        return Vec::new();
    }
    request
        .client_tags
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.map(super::wire::unescape)))
        .collect()
}
