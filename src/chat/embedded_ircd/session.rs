//! Dispatch of commands, and registration: capabilities, nick, user, password.

use super::password::Password;
use irc::proto::Command;

use super::channel::is_nick;
use super::client::{CAPS, Cap, ClientId};
use super::numeric as n;
use super::past::PAGE_MAX;
use super::state::{CHANNEL_LEN, CHANNELS_PER_CLIENT, CLIENTS_MAX, GUESTS_MAX, Ircd, NICK_LEN, TOPIC_LEN};
use super::wire::{Request, cut, fold};

/// Maximum length of a client's user name, in bytes, so that a prefix stays short.
const USER_LEN: usize = 10;

/// The commands that the embedded server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Away,
    Cap,
    Chathistory,
    Invite,
    Ison,
    Join,
    Kick,
    List,
    Mode,
    Motd,
    Names,
    Nick,
    Notice,
    Oper,
    Part,
    Pass,
    Ping,
    Pong,
    Privmsg,
    Quit,
    Tagmsg,
    Time,
    Topic,
    User,
    Userhost,
    Version,
    Who,
    Whois,
    Whowas,
}

/// The known commands, each with its name and its minimum number of parameters.
const VERBS: [(Verb, &str, usize); 29] = [
    (Verb::Away, "AWAY", 0),
    (Verb::Cap, "CAP", 1),
    (Verb::Chathistory, "CHATHISTORY", 0),
    (Verb::Invite, "INVITE", 2),
    (Verb::Ison, "ISON", 1),
    (Verb::Join, "JOIN", 1),
    (Verb::Kick, "KICK", 2),
    (Verb::List, "LIST", 0),
    (Verb::Mode, "MODE", 1),
    (Verb::Motd, "MOTD", 0),
    (Verb::Names, "NAMES", 0),
    (Verb::Nick, "NICK", 0),
    (Verb::Notice, "NOTICE", 0),
    (Verb::Oper, "OPER", 2),
    (Verb::Part, "PART", 1),
    (Verb::Pass, "PASS", 1),
    (Verb::Ping, "PING", 1),
    (Verb::Pong, "PONG", 0),
    (Verb::Privmsg, "PRIVMSG", 0),
    (Verb::Quit, "QUIT", 0),
    (Verb::Tagmsg, "TAGMSG", 1),
    (Verb::Time, "TIME", 0),
    (Verb::Topic, "TOPIC", 1),
    (Verb::User, "USER", 4),
    (Verb::Userhost, "USERHOST", 1),
    (Verb::Version, "VERSION", 0),
    (Verb::Who, "WHO", 0),
    (Verb::Whois, "WHOIS", 1),
    (Verb::Whowas, "WHOWAS", 1),
];

impl Verb {
    /// Returns true if a client may send the command before it is registered.
    fn before_registration(self) -> bool {
        matches!(
            self,
            Self::Cap | Self::Nick | Self::Pass | Self::Ping | Self::Pong | Self::Quit | Self::User
        )
    }
}

impl Ircd {
    /// Passes a client's request to the function that handles its command.
    pub(super) fn dispatch(&mut self, id: ClientId, request: &Request<'_>) {
        let registered = self.clients.get(&id).is_some_and(|client| client.registered);
        let Some((verb, name, needs)) =
            VERBS.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(request.verb))
        else {
            let code = if registered { n::ERR_UNKNOWNCOMMAND } else { n::ERR_NOTREGISTERED };
            let text = if registered { "Unknown command" } else { "You have not registered" };
            self.numeric(id, code, &[cut(request.verb, 32), text]);
            return;
        };
        if !registered && !verb.before_registration() {
            self.numeric(id, n::ERR_NOTREGISTERED, &["You have not registered"]);
        } else if *needs > 0 && request.param(needs - 1).is_none() {
            self.numeric(id, n::ERR_NEEDMOREPARAMS, &[name, "Not enough parameters"]);
        } else {
            self.perform(*verb, id, request);
        }
    }

    fn perform(&mut self, verb: Verb, id: ClientId, request: &Request<'_>) {
        match verb {
            Verb::Away => self.away(id, request),
            Verb::Cap => self.cap(id, request),
            Verb::Chathistory => self.past(id, request),
            Verb::Invite => self.invite(id, request),
            Verb::Ison => self.ison(id, request),
            Verb::Join => self.join(id, request),
            Verb::Kick => self.kick(id, request),
            Verb::List => self.list(id, request),
            Verb::Mode => self.mode(id, request),
            Verb::Motd => self.motd(id),
            Verb::Names => self.names(id, request),
            Verb::Nick => self.nick(id, request),
            Verb::Notice => self.say(id, request, super::channel::Kind::Notice),
            Verb::Oper => self.numeric(id, n::ERR_NOPRIVILEGES, &["There are no server operators here"]),
            Verb::Part => self.part(id, request),
            Verb::Pass => self.pass(id, request),
            Verb::Ping => self.ping(id, request),
            Verb::Pong => {}
            Verb::Privmsg => self.say(id, request, super::channel::Kind::Privmsg),
            Verb::Quit => self.quit(id, request),
            Verb::Tagmsg => self.tagmsg(id, request),
            Verb::Time => self.time(id),
            Verb::Topic => self.topic(id, request),
            Verb::User => self.user(id, request),
            Verb::Userhost => self.userhost(id, request),
            Verb::Version => self.version(id),
            Verb::Who => self.who(id, request),
            Verb::Whois => self.whois(id, request),
            Verb::Whowas => self.whowas(id, request),
        }
    }

    fn cap(&mut self, id: ClientId, request: &Request<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let nick = client.nick().to_owned();
        let reply = |sub: &str, caps: String| {
            Command::Raw("CAP".to_owned(), vec![nick.clone(), sub.to_owned(), caps])
        };
        let sub = request.params[0].to_ascii_uppercase();
        match sub.as_str() {
            "LS" => {
                client.negotiating |= !client.registered;
                let all: Vec<&str> = CAPS.iter().map(|(_, name)| *name).collect();
                self.server_says(id, reply("LS", all.join(" ")));
            }
            "LIST" => {
                let own: Vec<&str> =
                    CAPS.iter().filter(|(cap, _)| client.has(*cap)).map(|(_, name)| *name).collect();
                self.server_says(id, reply("LIST", own.join(" ")));
            }
            "REQ" => {
                client.negotiating |= !client.registered;
                let asked = request.params.get(1).copied().unwrap_or("");
                let answer = if request_caps(&mut client.caps, asked) { "ACK" } else { "NAK" };
                self.server_says(id, reply(answer, cut(asked, 400).to_owned()));
            }
            "END" => {
                client.negotiating = false;
                self.register(id);
            }
            unknown => self.numeric(id, n::ERR_INVALIDCAPCMD, &[cut(unknown, 32), "Invalid CAP command"]),
        }
    }

    fn pass(&mut self, id: ClientId, request: &Request<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.registered {
            self.numeric(id, n::ERR_ALREADYREGISTERED, &["You may not register again"]);
        } else {
            client.password = request.param(0).map(str::to_owned);
            let proven = request.param(0).is_some_and(|password| self.account_of(password).is_some());
            if let Some(client) = self.clients.get_mut(&id) {
                client.proven |= proven;
            }
        }
    }

    fn user(&mut self, id: ClientId, request: &Request<'_>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.registered {
            self.numeric(id, n::ERR_ALREADYREGISTERED, &["You may not register again"]);
            return;
        }
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let user: String = request.params[0].chars().filter(plain).take(USER_LEN).collect();
        client.user = Some(if user.is_empty() { "user".to_owned() } else { user });
        client.realname = cut(request.params[3], 100).to_owned();
        self.register(id);
    }

    fn nick(&mut self, id: ClientId, request: &Request<'_>) {
        let Some(wanted) = request.param(0) else {
            self.numeric(id, n::ERR_NONICKNAMEGIVEN, &["No nickname given"]);
            return;
        };
        let wanted_folded = fold(wanted);
        if !is_nick(wanted) {
            let text = "Erroneous nickname: letters, digits and []\\`_^{|}- only, not starting with a digit or hyphen, at most 30";
            self.numeric(id, n::ERR_ERRONEUSNICKNAME, &[cut(wanted, NICK_LEN), text]);
            return;
        }
        if self.nicks.get(&wanted_folded).is_some_and(|holder| *holder != id) {
            self.numeric(id, n::ERR_NICKNAMEINUSE, &[wanted, "Nickname is already in use"]);
            return;
        }
        let Some(client) = self.clients.get(&id) else { return };
        let (reserved, account) = &self.settings.reserved;
        if fold(reserved) == wanted_folded && client.internal.as_ref() != Some(account) {
            self.numeric(
                id,
                n::ERR_NICKNAMEINUSE,
                &[wanted, "Nickname is reserved for the bot; choose another one"],
            );
            return;
        }
        self.rename(id, wanted);
    }

    fn rename(&mut self, id: ClientId, wanted: &str) {
        let meta = self.meta(id);
        let Some(client) = self.clients.get_mut(&id) else { return };
        let (old, prefix, registered) = (client.nick.clone(), client.prefix(), client.registered);
        if old.as_deref() == Some(wanted) {
            return;
        }
        client.nick = Some(wanted.to_owned());
        if let Some(old) = old {
            self.nicks.remove(&fold(&old));
        }
        self.nicks.insert(fold(wanted), id);
        if registered {
            let mut told = self.peers(id);
            told.insert(id);
            for peer in told {
                self.relay(peer, &prefix, Command::NICK(wanted.to_owned()), &meta);
            }
        } else {
            self.register(id);
        }
    }

    fn quit(&mut self, id: ClientId, request: &Request<'_>) {
        let reason =
            request.param(0).map_or("Quit".to_owned(), |reason| format!("Quit: {}", cut(reason, 200)));
        self.close(id, &reason);
    }

    fn ping(&mut self, id: ClientId, request: &Request<'_>) {
        let name = self.settings.name.clone();
        self.server_says(id, Command::PONG(name, Some(cut(request.params[0], 400).to_owned())));
    }

    /// Registers a client once all parts have arrived: nick, user name, end of the negotiation, and a password where
    /// needed.
    fn register(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(&id) else { return };
        if client.registered || client.negotiating || client.nick.is_none() || client.user.is_none() {
            return;
        }
        let account = match (&client.internal, &client.password) {
            (Some(account), _) => Some(account.clone()),
            (None, Some(password)) => match self.account_of(password) {
                Some(account) => Some(account),
                None => {
                    return self
                        .refuse(id, "Wrong password: use the one that herder printed at its first start");
                }
            },
            (None, None) if self.settings.guests => None,
            (None, None) => {
                return self.refuse(
                    id,
                    "This server needs the password that herder printed at its first start (PASS)",
                );
            }
        };
        let (proven, most) = if account.is_some() { (true, CLIENTS_MAX) } else { (false, GUESTS_MAX) };
        let internal = client.internal.is_some();
        if !internal && self.others(id, proven) >= most {
            return self.close(id, "Too many connections to this server; close another one first");
        }
        let op = account.as_ref().is_some_and(|account| !self.settings.onlookers.contains(account));
        if let Some(client) = self.clients.get_mut(&id) {
            client.proven = account.is_some();
            client.account = account;
            client.op = op;
            client.registered = true;
            client.password = None;
        }
        self.welcome(id);
    }

    fn account_of(&self, password: &str) -> Option<String> {
        let said = Password::of(password);
        let mut accounts = self.settings.accounts.iter();
        accounts.find(|(_, password)| *password == said).map(|(account, _)| account.clone())
    }

    fn refuse(&mut self, id: ClientId, why: &str) {
        self.numeric(id, n::ERR_PASSWDMISMATCH, &[why]);
        self.close(id, why);
    }

    fn welcome(&mut self, id: ClientId) {
        let Some(client) = self.clients.get(&id) else { return };
        let (nick, account) = (client.nick().to_owned(), client.account.clone());
        let (name, network) = (self.settings.name.clone(), self.settings.network.clone());
        let known = account.map_or("as a guest".to_owned(), |account| format!("as {account}"));
        self.numeric(
            id,
            n::RPL_WELCOME,
            &[&format!("Welcome to {network}, {nick}: you are known here {known}")],
        );
        let version = concat!("herder-", env!("CARGO_PKG_VERSION"));
        self.numeric(id, n::RPL_YOURHOST, &[&format!("Your host is {name}, running {version}")]);
        self.numeric(id, n::RPL_CREATED, &["This server lives inside herder and ends with it"]);
        self.numeric(id, n::RPL_MYINFO, &[&name, version, "B", "bnt", "b"]);
        let support = [
            "CASEMAPPING=ascii".to_owned(),
            "CHANTYPES=#".to_owned(),
            "PREFIX=(o)@".to_owned(),
            "CHANMODES=b,,,nt".to_owned(),
            format!("NETWORK={network}"),
            format!("NICKLEN={NICK_LEN}"),
            format!("CHANNELLEN={CHANNEL_LEN}"),
            format!("TOPICLEN={TOPIC_LEN}"),
            format!("CHANLIMIT=#:{CHANNELS_PER_CLIENT}"),
            format!("CHATHISTORY={PAGE_MAX}"),
            "MSGREFTYPES=timestamp,msgid".to_owned(),
            "WHOX".to_owned(),
            "BOT=B".to_owned(),
            "are supported by this server".to_owned(),
        ];
        self.numeric(id, n::RPL_ISUPPORT, &support.each_ref().map(String::as_str));
        self.motd(id);
    }

    fn motd(&mut self, id: ClientId) {
        if self.settings.motd.is_empty() {
            self.numeric(id, n::ERR_NOMOTD, &["There is no message of the day"]);
            return;
        }
        let lines = self.settings.motd.clone();
        self.numeric(id, n::RPL_MOTDSTART, &[&format!("- {}", self.settings.name)]);
        for line in lines {
            self.numeric(id, n::RPL_MOTD, &[&format!("- {line}")]);
        }
        self.numeric(id, n::RPL_ENDOFMOTD, &["End of message of the day"]);
    }
}

/// Applies a `CAP REQ` of a client completely or not at all, as the specification requires. Returns false if it asks
/// for an unknown capability.
fn request_caps(caps: &mut std::collections::BTreeSet<Cap>, asked: &str) -> bool {
    let mut changed = caps.clone();
    for word in asked.split_ascii_whitespace() {
        let (name, wanted) = word.strip_prefix('-').map_or((word, true), |name| (name, false));
        let Some(cap) = Cap::named(name) else { return false };
        if wanted {
            changed.insert(cap);
        } else {
            changed.remove(&cap);
        }
    }
    *caps = changed;
    true
}
