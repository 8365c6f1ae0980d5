//! Queries: WHO and WHOX, WHOIS, MODE, ISON, USERHOST and others that clients send by themselves.

use super::client::{Client, ClientId};
use super::numeric as n;
use super::state::Ircd;
use super::wire::{Request, cut, fold};

/// Letters of the fields that WHOX can ask for, in the order of the answer.
const WHOX_FIELDS: &str = "tcuihsnfdlaor";

/// Maximum number of channels or masks in one WHO or MODE request.
const MASKS_MAX: usize = 20;

/// Maximum number of nicks that one ISON or USERHOST request may name.
const NICKS_MAX: usize = 20;

impl Ircd {
    pub(super) fn who(&mut self, id: ClientId, request: &Request<'_>) {
        // irssi asks for several channels at once when it joins several.
        let mask = request.param(0).unwrap_or("*").to_owned();
        let found: Vec<(String, ClientId)> =
            mask.split(',').take(MASKS_MAX).flat_map(|mask| self.matching(mask)).collect();
        let fields = request.params.get(1).and_then(|fields| fields.strip_prefix('%')).map(str::to_owned);
        for (channel, member) in found {
            let Some(client) = self.clients.get(&member).filter(|client| client.registered) else { continue };
            match &fields {
                None => {
                    let row = self.who_row(client, &channel);
                    self.numeric(id, n::RPL_WHOREPLY, &row.each_ref().map(String::as_str));
                }
                Some(fields) => {
                    let row = self.whox_row(client, &channel, fields);
                    let row: Vec<&str> = row.iter().map(String::as_str).collect();
                    self.numeric(id, n::RPL_WHOSPCRPL, &row);
                }
            }
        }
        self.numeric(id, n::RPL_ENDOFWHO, &[&mask, "End of /WHO list"]);
    }

    /// Returns the clients that match the mask of a WHO request, each with the channel in which it matches.
    fn matching(&self, mask: &str) -> Vec<(String, ClientId)> {
        let key = fold(mask);
        let everywhere = |id: &ClientId| ("*".to_owned(), *id);
        if let Some(channel) = self.channels.get(&key) {
            channel.members.iter().map(|id| (channel.name.clone(), *id)).collect()
        } else if mask == "*" || mask == "0" {
            self.nicks.values().map(everywhere).collect()
        } else {
            self.nicks.get(&key).map(everywhere).into_iter().collect()
        }
    }

    fn who_row(&self, client: &Client, channel: &str) -> [String; 7] {
        [
            channel.to_owned(),
            client.user().to_owned(),
            client.host.to_owned(),
            self.settings.name.clone(),
            client.nick().to_owned(),
            flags(client),
            format!("0 {}", client.realname),
        ]
    }

    fn whox_row(&self, client: &Client, channel: &str, asked: &str) -> Vec<String> {
        let (letters, token) = asked.split_once(',').unwrap_or((asked, ""));
        let token = if token.len() <= 3 && token.bytes().all(|c| c.is_ascii_digit()) { token } else { "" };
        let field = |letter| match letter {
            't' => if token.is_empty() { "0" } else { token }.to_owned(),
            'c' => channel.to_owned(),
            'u' => client.user().to_owned(),
            'i' => "127.0.0.1".to_owned(),
            'h' => client.host.to_owned(),
            's' => self.settings.name.clone(),
            'n' => client.nick().to_owned(),
            'f' => flags(client),
            'd' => "0".to_owned(),
            'l' => (self.now.since(client.spoke).as_secs()).to_string(),
            'a' => client.account.clone().unwrap_or_else(|| "0".to_owned()),
            'o' => "n/a".to_owned(),
            _ => client.realname.clone(),
        };
        WHOX_FIELDS.chars().filter(|letter| letters.contains(*letter)).map(field).collect()
    }

    pub(super) fn whois(&mut self, id: ClientId, request: &Request<'_>) {
        // `WHOIS server nick` and `WHOIS nick nick` ask about the second.
        let nick = request.param(1).unwrap_or(request.params[0]).to_owned();
        let found =
            self.nicks.get(&fold(&nick)).and_then(|found| self.clients.get(found)).filter(|c| c.registered);
        let Some(client) = found else {
            self.numeric(id, n::ERR_NOSUCHNICK, &[&nick, "No such nick"]);
            self.numeric(id, n::RPL_ENDOFWHOIS, &[&nick, "End of /WHOIS list"]);
            return;
        };
        let (user, host, realname) = (client.user().to_owned(), client.host, client.realname.clone());
        let (shown, account, bot) = (client.nick().to_owned(), client.account.clone(), client.bot);
        let prefix = if client.is_op() { "@" } else { "" };
        let channels: Vec<String> = client
            .channels
            .iter()
            .filter_map(|key| self.channels.get(key))
            .map(|channel| format!("{prefix}{}", channel.name))
            .collect();
        let idle = self.now.since(client.spoke).as_secs().to_string();
        let signon = (client.since.as_millis() / 1000).to_string();
        let server = self.settings.name.clone();
        self.numeric(id, n::RPL_WHOISUSER, &[&shown, &user, host, "*", &realname]);
        for line in channels.chunks(6) {
            self.numeric(id, n::RPL_WHOISCHANNELS, &[&shown, &line.join(" ")]);
        }
        self.numeric(id, n::RPL_WHOISSERVER, &[&shown, &server, "inside herder"]);
        if let Some(account) = account {
            self.numeric(id, n::RPL_WHOISACCOUNT, &[&shown, &account, "is logged in as"]);
        }
        if bot {
            self.numeric(id, n::RPL_WHOISBOT, &[&shown, "is a bot"]);
        }
        self.numeric(id, n::RPL_WHOISIDLE, &[&shown, &idle, &signon, "seconds idle, signon time"]);
        self.numeric(id, n::RPL_ENDOFWHOIS, &[&shown, "End of /WHOIS list"]);
    }

    pub(super) fn whowas(&mut self, id: ClientId, request: &Request<'_>) {
        self.numeric(id, n::ERR_WASNOSUCHNICK, &[request.params[0], "There was no such nickname"]);
        self.numeric(id, n::RPL_ENDOFWHOWAS, &[request.params[0], "End of WHOWAS"]);
    }

    pub(super) fn mode(&mut self, id: ClientId, request: &Request<'_>) {
        let target = request.params[0];
        if target.starts_with('#') {
            for name in target.split(',').filter(|name| !name.is_empty()).take(MASKS_MAX) {
                self.channel_mode(id, name, request);
            }
        } else {
            self.user_mode(id, target, request);
        }
    }

    fn channel_mode(&mut self, id: ClientId, name: &str, request: &Request<'_>) {
        let Some(channel) = self.channels.get(&fold(name)) else {
            self.numeric(id, n::ERR_NOSUCHCHANNEL, &[name, "No such channel"]);
            return;
        };
        let (shown, created) = (channel.name.clone(), (channel.created.as_millis() / 1000).to_string());
        match request.param(1) {
            None => {
                self.numeric(id, n::RPL_CHANNELMODEIS, &[&shown, "+nt"]);
                self.numeric(id, n::RPL_CREATIONTIME, &[&shown, &created]);
            }
            Some("b" | "+b") if request.params.len() == 2 => {
                self.numeric(id, n::RPL_ENDOFBANLIST, &[&shown, "End of channel ban list"]);
            }
            Some(modes) => {
                let letter: String = modes.chars().find(char::is_ascii_alphabetic).into_iter().collect();
                let text = "The modes of this server's channels are fixed: +nt, and everybody with the password is an operator";
                self.numeric(id, n::ERR_UNKNOWNMODE, &[&letter, text]);
            }
        }
    }

    fn user_mode(&mut self, id: ClientId, nick: &str, request: &Request<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if fold(nick) != fold(client.nick()) {
            self.numeric(id, n::ERR_USERSDONTMATCH, &["You can only see and change your own modes"]);
            return;
        }
        let Some(modes) = request.param(1) else {
            let own = if client.bot { "+B" } else { "+" };
            self.numeric(id, n::RPL_UMODEIS, &[own]);
            return;
        };
        let mut on = true;
        let mut unknown = false;
        let before = client.bot;
        for letter in modes.chars() {
            match letter {
                '+' => on = true,
                '-' => on = false,
                'B' => client.bot = on,
                // Clients set `+i` by default; this server hides no one anyway.
                'i' | 'w' => {}
                _ => unknown = true,
            }
        }
        if client.bot != before {
            let (prefix, nick) = (client.prefix(), client.nick().to_owned());
            let change = if client.bot { "+B" } else { "-B" };
            let command = irc::proto::Command::Raw("MODE".to_owned(), vec![nick, change.to_owned()]);
            self.relay(id, &prefix, command, &super::state::Meta::default());
        }
        if unknown {
            self.numeric(id, n::ERR_UMODEUNKNOWNFLAG, &["Unknown mode flag"]);
        }
    }

    pub(super) fn ison(&mut self, id: ClientId, request: &Request<'_>) {
        let asked = request.params.iter().flat_map(|words| words.split(' ')).take(NICKS_MAX);
        let here: Vec<&str> =
            asked.filter(|nick| !nick.is_empty() && self.nicks.contains_key(&fold(nick))).collect();
        self.numeric(id, n::RPL_ISON, &[&here.join(" ")]);
    }

    pub(super) fn userhost(&mut self, id: ClientId, request: &Request<'_>) {
        let line: Vec<String> = request
            .params
            .iter()
            .take(NICKS_MAX)
            .filter_map(|nick| self.clients.get(self.nicks.get(&fold(nick))?))
            .map(|client| format!("{}=+{}@{}", client.nick(), client.user(), client.host))
            .collect();
        self.numeric(id, n::RPL_USERHOST, &[&line.join(" ")]);
    }

    pub(super) fn away(&mut self, id: ClientId, request: &Request<'_>) {
        match request.param(0) {
            Some(_) => self.numeric(id, n::RPL_AWAY_ON, &["You have been marked as being away"]),
            None => self.numeric(id, n::RPL_AWAY_OFF, &["You are no longer marked as being away"]),
        }
    }

    pub(super) fn version(&mut self, id: ClientId) {
        let name = self.settings.name.clone();
        let version = concat!("herder-", env!("CARGO_PKG_VERSION"));
        self.numeric(id, n::RPL_VERSION, &[version, &name, "the server inside herder"]);
    }

    pub(super) fn time(&mut self, id: ClientId) {
        let (name, up) = (self.settings.name.clone(), self.now.since(self.started).as_secs());
        let text = jiff::Timestamp::from_millisecond(self.now.as_millis()).unwrap_or_default().to_string();
        self.numeric(id, n::RPL_TIME, &[&name, &format!("{} (up {up}s)", cut(&text, 40))]);
    }
}

fn flags(client: &Client) -> String {
    format!("H{}{}", if client.bot { "B" } else { "" }, if client.is_op() { "@" } else { "" })
}
