//! Registration, from a fresh connection to numeric 001: capabilities, login, nick. A pure state machine: lines and
//! time go in, lines to send come out.
//!
//! ```text
//!  CAP LS 302, NICK, USER ─► Listing ─► Requesting ─► LoggingIn ─► Ending ─► 001
//!                              │            │             │
//!                              └ no sasl ───┴► AwaitingLogin (a server whose services are away)
//! ```
//!
//! A refused login ends the network for good: under a wrong name people would see a bot that they cannot command. A
//! login without an answer, or one that the server does not offer while its services are away, has a timeout of its
//! own, shorter than any server's; then the link is tried again later.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::Closing;
use super::nick::NickChoice;
use super::wire::{Cap, Outgoing, Received, Said};
use crate::config::{IrcNetwork, Sasl};
use crate::core::detail::LinkReason;

/// Maximum time for the whole registration with a server; servers give up at 20 to 60 s.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for the SASL login: frozen services do not answer at all.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of one SASL line, in bytes; a payload that is an exact multiple is followed by an empty line.
const SASL_CHUNK: usize = 400;
/// IRCv3 capability by which a server returns earlier messages on request.
const CHATHISTORY: &str = "draft/chathistory";
/// IRCv3 capabilities that herder requests. They make lines safe to obey and delivery provable; only listed names are
/// requested, because some servers deny a whole request because of one unknown name.
const WANTED: [&str; 12] = [
    "batch",
    "server-time",
    "message-tags",
    "account-tag",
    "account-notify",
    "extended-join",
    "chghost",
    "cap-notify",
    "echo-message",
    "labeled-response",
    "multi-prefix",
    CHATHISTORY,
];

/// The IRCv3 capabilities that the server has granted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caps(BTreeSet<String>);

impl Caps {
    /// Returns true if the capability was granted and not withdrawn since.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Returns true if the server returns earlier messages on request, with their time and the author's account.
    pub(crate) fn tell_the_past(&self) -> bool {
        [CHATHISTORY, "batch", "server-time", "message-tags", "account-tag"].iter().all(|name| self.has(name))
    }

    /// Returns those capabilities of a `CAP NEW` list that herder requests.
    pub(crate) fn wanted_of(list: &str) -> Vec<String> {
        names(list).filter(|name| WANTED.contains(name)).map(str::to_owned).collect()
    }

    /// Records capabilities that the server grants (`CAP ACK`) or withdraws (`CAP DEL`).
    pub(crate) fn take(&mut self, sub: Cap, list: &str) {
        for word in list.split_ascii_whitespace() {
            let name = word.strip_prefix('-').unwrap_or(word);
            let name = name.split('=').next().unwrap_or(name).to_owned();
            if sub == Cap::Granted && !word.starts_with('-') {
                self.0.insert(name);
            } else if matches!(sub, Cap::Granted | Cap::Gone) {
                self.0.remove(&name);
            }
        }
    }
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split_ascii_whitespace().map(|word| word.split('=').next().unwrap_or(word))
}

/// The result of a registration with a server.
#[derive(Debug)]
pub(crate) struct Registered {
    /// herder's nick, as the server states it in reply 001.
    pub(crate) nick: String,
    /// The IRCv3 capabilities that the server has granted.
    pub(crate) caps: Caps,
    /// True if herder is logged in to its services account by SASL.
    pub(crate) logged_in: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// `CAP LS` was sent; `offered` has the capabilities listed so far.
    Listing { offered: Vec<String> },
    /// `CAP REQ` was sent for `asked`; `due` answers are missing. `singly` is true if the names are requested one by
    /// one after a denial.
    Requesting { singly: bool, due: usize, asked: Vec<String> },
    /// herder waits for `CAP NEW`, because the server does not list `sasl`, perhaps as its services are away.
    AwaitingLogin,
    /// `AUTHENTICATE` was sent, and the answer is pending.
    LoggingIn,
    /// `CAP END` was sent, and reply 001 is pending.
    Ending,
}

/// The state of herder's registration with a server: capabilities, login and nick.
#[derive(Debug)]
pub(crate) struct Registration {
    sasl: Option<Sasl>,
    may_use_nickserv: bool,
    state: State,
    caps: Caps,
    logged_in: bool,
    nick: NickChoice,
    mechanisms: Option<String>,
    deadline: Instant,
    login_deadline: Option<Instant>,
}

/// The step that follows from a line during the registration.
#[derive(Debug)]
pub(crate) enum Step {
    /// These lines are sent, and the registration continues.
    Send(Vec<Outgoing>),
    /// Reply 001 came: the registration is complete.
    Done(Registered),
    /// The registration has failed, and the link ends.
    End(Closing),
}

impl Registration {
    /// Starts a registration and returns its first lines.
    pub(crate) fn start(network: &IrcNetwork, name: &str, now: Instant) -> (Self, Vec<Outgoing>) {
        let nick = NickChoice::new(&network.nick);
        let mut lines = Vec::new();
        if let Some(password) = &network.server_password {
            lines.push(Outgoing::new("PASS").text(password.expose_secret()));
        }
        lines.push(Outgoing::new("CAP").word("LS").word("302"));
        lines.push(Outgoing::new("NICK").word(nick.current()));
        let user: String = network.nick.chars().filter(char::is_ascii_alphanumeric).take(9).collect();
        let user = if user.is_empty() { "herder".to_owned() } else { user };
        lines.push(Outgoing::new("USER").word(user).word("0").word("*").text(name));
        let registration = Self {
            sasl: network.sasl.clone(),
            may_use_nickserv: network.nickserv_password.is_some(),
            state: State::Listing { offered: Vec::new() },
            caps: Caps::default(),
            logged_in: false,
            nick,
            mechanisms: None,
            deadline: now + REGISTRATION_TIMEOUT,
            login_deadline: None,
        };
        (registration, lines)
    }

    /// Returns the time at which [`Registration::expired`] has to be called.
    pub(crate) fn deadline(&self) -> Instant {
        self.login_deadline.map_or(self.deadline, |login| login.min(self.deadline))
    }

    /// Returns the reason to end the link if the registration takes too long; else `None`.
    pub(crate) fn expired(&self, now: Instant) -> Option<Closing> {
        if self.login_deadline.is_some_and(|deadline| deadline <= now) {
            let reason = if self.state == State::AwaitingLogin {
                LinkReason::NoLoginNow
            } else {
                LinkReason::LoginNotAnswered { within: LOGIN_TIMEOUT }
            };
            return Some(Closing::Lost(reason.into()));
        }
        let late = LinkReason::NotLetIn { within: REGISTRATION_TIMEOUT };
        (self.deadline <= now).then(|| Closing::Lost(late.into()))
    }

    /// Handles one line from the server during the registration.
    pub(crate) fn receive(&mut self, line: &Received, now: Instant) -> Step {
        match &line.said {
            Said::Ping(params) => Step::Send(vec![pong(params)]),
            Said::Cap { sub, more, list } => self.cap(*sub, *more, list, now),
            Said::Authenticate(data) => self.authenticate(data),
            Said::Numeric(code, params) => self.numeric(*code, params, &line.source.name, now),
            Said::Error(reason) => Step::End(Closing::from_error(reason)),
            Said::Pong(_)
            | Said::Message { .. }
            | Said::Notice { .. }
            | Said::Join { .. }
            | Said::Part { .. }
            | Said::Kick { .. }
            | Said::Nick(_)
            | Said::Quit(_)
            | Said::Account(_)
            | Said::ChangeHost { .. }
            | Said::Topic { .. }
            | Said::Mode { .. }
            | Said::Invite { .. }
            | Said::BatchStart { .. }
            | Said::BatchEnd { .. }
            | Said::Acknowledged
            | Said::Failed { .. }
            | Said::Other => Step::Send(Vec::new()),
        }
    }

    fn cap(&mut self, sub: Cap, more: bool, list: &str, now: Instant) -> Step {
        match sub {
            Cap::List => self.listed(more, list, now),
            Cap::Granted | Cap::Denied => self.answered(sub, list, now),
            Cap::New => self.newly_offered(list),
            Cap::Gone => {
                self.caps.take(sub, list);
                Step::Send(Vec::new())
            }
        }
    }

    fn listed(&mut self, more: bool, list: &str, now: Instant) -> Step {
        let State::Listing { offered } = &mut self.state else { return Step::Send(Vec::new()) };
        offered.extend(names(list).map(str::to_owned));
        if more {
            return Step::Send(Vec::new());
        }
        let sasl = self.sasl.is_some();
        let wanted = |name: &String| WANTED.contains(&name.as_str()) || (sasl && name == "sasl");
        let asked: Vec<String> = offered.iter().filter(|name| wanted(name)).cloned().collect();
        if asked.is_empty() {
            return self.capabilities_settled(now);
        }
        let request = Outgoing::new("CAP").word("REQ").text(asked.join(" "));
        self.state = State::Requesting { singly: false, due: 1, asked };
        Step::Send(vec![request])
    }

    fn answered(&mut self, sub: Cap, list: &str, now: Instant) -> Step {
        self.caps.take(sub, list);
        if self.state == State::AwaitingLogin {
            return self.capabilities_settled(now);
        }
        let State::Requesting { singly, due, asked } = &mut self.state else {
            return Step::Send(Vec::new());
        };
        if sub == Cap::Denied && !*singly {
            // Some servers deny a whole list because of one name in it.
            *singly = true;
            *due = asked.len();
            let one = |name: &String| Outgoing::new("CAP").word("REQ").text(name.as_str());
            return Step::Send(asked.iter().map(one).collect());
        }
        *due = due.saturating_sub(1);
        if *due > 0 {
            return Step::Send(Vec::new());
        }
        self.capabilities_settled(now)
    }

    fn newly_offered(&mut self, list: &str) -> Step {
        let sasl = self.state == State::AwaitingLogin && names(list).any(|name| name == "sasl");
        if !sasl {
            return Step::Send(Vec::new());
        }
        Step::Send(vec![Outgoing::new("CAP").word("REQ").text("sasl")])
    }

    /// Continues after all capabilities were granted or denied: logs in, or ends the negotiation.
    fn capabilities_settled(&mut self, now: Instant) -> Step {
        let Some(sasl) = &self.sasl else { return self.end() };
        if !self.caps.has("sasl") {
            if self.may_use_nickserv {
                return self.end();
            }
            self.state = State::AwaitingLogin;
            self.login_deadline.get_or_insert(now + LOGIN_TIMEOUT);
            return Step::Send(Vec::new());
        }
        let mechanism = match sasl {
            Sasl::Plain { .. } => "PLAIN",
            Sasl::External { .. } => "EXTERNAL",
        };
        self.state = State::LoggingIn;
        self.login_deadline = Some(now + LOGIN_TIMEOUT);
        Step::Send(vec![Outgoing::new("AUTHENTICATE").word(mechanism)])
    }

    fn end(&mut self) -> Step {
        self.state = State::Ending;
        self.login_deadline = None;
        Step::Send(vec![Outgoing::new("CAP").word("END")])
    }

    fn authenticate(&mut self, data: &str) -> Step {
        if self.state != State::LoggingIn || data != "+" {
            return Step::Send(Vec::new());
        }
        match &self.sasl {
            Some(Sasl::Plain { account, password }) => Step::Send(plain(account, password)),
            Some(Sasl::External { .. }) => Step::Send(vec![Outgoing::new("AUTHENTICATE").word("+")]),
            None => Step::Send(Vec::new()),
        }
    }

    fn numeric(&mut self, code: u16, params: &[String], server: &str, now: Instant) -> Step {
        let text = params.last().map(String::as_str).unwrap_or_default();
        match code {
            1 => self.welcomed(params),
            // The server does not know `CAP`.
            410 | 421 if params.iter().any(|word| word.eq_ignore_ascii_case("CAP")) => {
                self.state = State::Requesting { singly: true, due: 0, asked: Vec::new() };
                self.capabilities_settled(now)
            }
            432 => self.next_nick(self.nick.clone().refused(server, text)),
            433 | 436 | 437 => self.next_nick(self.nick.clone().taken()),
            464 => refused(LinkReason::ServerPassword, text),
            463 | 465 | 466 => Step::End(Closing::barred(text)),
            900 | 903 | 907 => self.logged_in(code),
            902 | 904 | 905 => self.login_refused(text),
            906 => Step::End(Closing::Lost(LinkReason::LoginBrokenOff.with(text))),
            908 => {
                self.mechanisms = params.get(1).cloned();
                Step::Send(Vec::new())
            }
            _ => Step::Send(Vec::new()),
        }
    }

    fn welcomed(&mut self, params: &[String]) -> Step {
        if self.sasl.is_some() && !self.logged_in && !self.may_use_nickserv {
            return Step::End(Closing::Lost(LinkReason::LetInWithoutLogin.into()));
        }
        let nick = params.first().cloned().unwrap_or_else(|| self.nick.current().to_owned());
        let caps = std::mem::take(&mut self.caps);
        Step::Done(Registered { nick, caps, logged_in: self.logged_in })
    }

    fn logged_in(&mut self, code: u16) -> Step {
        self.logged_in = true;
        // 900 only names the account; 903 (or 907, already logged in) ends the login.
        if code == 900 || self.state != State::LoggingIn { Step::Send(Vec::new()) } else { self.end() }
    }

    fn login_refused(&self, text: &str) -> Step {
        refused(LinkReason::LoginRefused { offered: self.mechanisms.clone() }, text)
    }

    fn next_nick(&mut self, next: Option<NickChoice>) -> Step {
        let Some(next) = next else {
            return Step::End(Closing::Lost(LinkReason::NoNick.into()));
        };
        self.nick = next;
        Step::Send(vec![Outgoing::new("NICK").word(self.nick.current())])
    }
}

fn refused(what: LinkReason, text: &str) -> Step {
    Step::End(Closing::Refused(what.with(text)))
}

/// Builds the answer to a PING, with the same parameter.
pub(crate) fn pong(params: &[String]) -> Outgoing {
    Outgoing::new("PONG").text(params.first().map(String::as_str).unwrap_or_default())
}

fn plain(account: &str, password: &SecretString) -> Vec<Outgoing> {
    let encoded = BASE64.encode(format!("\0{account}\0{}", password.expose_secret()));
    let mut chunks: VecDeque<&str> = VecDeque::new();
    let mut rest = encoded.as_str();
    while rest.len() >= SASL_CHUNK {
        let (chunk, after) = rest.split_at(SASL_CHUNK);
        chunks.push_back(chunk);
        rest = after;
    }
    chunks.push_back(if rest.is_empty() { "+" } else { rest });
    chunks.into_iter().map(|chunk| Outgoing::new("AUTHENTICATE").word(chunk)).collect()
}
