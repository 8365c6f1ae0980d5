//! Login at the network's services by NickServ, where SASL has not done it.
//!
//! A name proves nothing: where services are absent, anybody can be called NickServ. The server is therefore asked
//! first, and the password is sent only if the server says that NickServ is a service or an operator, or is on a
//! services server. It is addressed to `NickServ@server`, or to the nick alone if the network does not know that form.
//!
//! NickServ is asked for after 001. If it is absent or takes our nick away, the login is repeated with growing waits.
//! If it refuses the password, the login is not repeated on this link, because services disconnect clients that send
//! more wrong passwords. The refusal is reported, and the next link tries once.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::super::nickserv::{self, Said};
use super::super::text::plain;
use super::super::wire::{Outgoing, Received};
use super::{Effect, IDENTIFY_AGAIN, IDENTIFY_AGAIN_MAX, Now, Session};
use crate::core::cut::one_line;
use crate::core::detail::{Detail, LinkReason};

/// The usual nick of the service for registered nicks.
const NICKSERV: &str = "NickServ";
/// Maximum length of NickServ's words in a report, in characters.
const SAID_MAX: usize = 200;

/// The state of herder's login at NickServ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// NickServ was told nothing yet.
    Nothing,
    /// The server was asked who NickServ is; `services` is true once the server says that it is a service, and `at` is
    /// the server that NickServ is on.
    Asked { services: bool, at: Option<String> },
    /// The password was sent to NickServ, and the answer is pending.
    Password,
    /// NickServ has accepted or refused the password.
    Answered,
}

/// Returns true if a word can be the name of a server, as in `NickServ@server`.
fn is_server(word: &str) -> bool {
    word.contains('.') && word.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_'))
}

/// Returns true if a target is NickServ, by its nick or as `NickServ@server`.
pub(super) fn is_nickserv(target: &str) -> bool {
    target.split('@').next().is_some_and(|nick| nick.eq_ignore_ascii_case(NICKSERV))
}

impl Session<'_> {
    /// Starts the login at NickServ, if SASL has not logged herder in: asks the server who NickServ is.
    pub(super) fn identify(&mut self, now: Now) {
        if self.settings.network.nickserv_password.is_none() || self.logged_in || self.told == Told::Answered
        {
            return;
        }
        // An unanswered request is repeated.
        let unanswered = matches!(self.told, Told::Asked { .. });
        let wait = if unanswered { self.next_wait() } else { IDENTIFY_AGAIN };
        (self.told, self.identify_at) = (Told::Asked { services: false, at: None }, Some(now.mono + wait));
        self.send(Outgoing::new("WHOIS").word(NICKSERV));
    }

    /// Handles a reply of the server about NickServ (WHOIS).
    pub(super) fn nickserv_is(&mut self, code: u16, params: &[String], now: Now) {
        let Told::Asked { services, at } = &mut self.told else { return };
        if !params.get(1).is_some_and(|nick| nick.eq_ignore_ascii_case(NICKSERV)) {
            return;
        }
        let said = |index: usize| params.get(index).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        match code {
            // An operator, as services are.
            313 => *services = true,
            310 if said(2).contains("service") => *services = true,
            312 => {
                // Only the people who run the network can name a server.
                *services |= said(2).starts_with("services.");
                *at = params.get(2).cloned();
            }
            318 if *services => {
                let at = at.take();
                self.identify_at = None;
                self.tell_password(at.as_deref());
            }
            318 => {
                tracing::warn!(network = %self.settings.network.name, "NickServ is no services: it is not told the password");
                self.make_known(Some(LinkReason::NoServices.into()));
                self.identify_later(now);
            }
            _ => {}
        }
    }

    /// Sends NickServ the password, on the server `at` if that is known: a thief of the nick is on another one.
    fn tell_password(&mut self, at: Option<&str>) {
        let settings = self.settings;
        let Some(password) = &settings.network.nickserv_password else { return };
        let untrusted =
            self.lasting.unidentified.as_ref().is_some_and(|why| why.is(&LinkReason::NoServices.into()));
        if untrusted {
            self.make_known(None);
        }
        let nick = self.nick.wanted();
        let words = if self.nick.is_foreign() { format!("IDENTIFY {nick} ") } else { "IDENTIFY ".to_owned() };
        let text = format!("{words}{}", password.expose_secret());
        let to = match at.filter(|at| !self.nickserv_only_by_nick && is_server(at)) {
            Some(at) => format!("{NICKSERV}@{at}"),
            None => NICKSERV.to_owned(),
        };
        self.told = Told::Password;
        self.send(Outgoing::new("PRIVMSG").word(to).text(text));
    }

    /// Handles the reply that nobody has NickServ's name: it is absent, or known by its nick alone.
    pub(super) fn nickserv_unknown(&mut self, now: Now) {
        // It was there when the server was asked.
        self.nickserv_only_by_nick |= self.told == Told::Password;
        self.identify_later(now);
    }

    /// Schedules another login because NickServ is absent or has renamed herder; it is repeated until herder is logged
    /// in or refused.
    pub(super) fn identify_later(&mut self, now: Now) {
        let refused = self.lasting.unidentified.is_some() && self.told == Told::Answered;
        if self.logged_in || refused || self.settings.network.nickserv_password.is_none() {
            return;
        }
        // The password was sent before, and the login is lost.
        self.told = Told::Nothing;
        let wait = self.next_wait();
        tracing::warn!(network = %self.settings.network.name, ?wait, "NickServ does not know us: told again");
        self.identify_at = Some(now.mono + wait);
    }

    fn next_wait(&mut self) -> Duration {
        let waits = 1_u32.checked_shl(self.nickserv_missed).unwrap_or(u32::MAX);
        self.nickserv_missed = self.nickserv_missed.saturating_add(1);
        IDENTIFY_AGAIN.saturating_mul(waits).min(IDENTIFY_AGAIN_MAX)
    }

    /// Handles the server's confirmation that herder is logged in to its account.
    pub(super) fn known(&mut self) {
        (self.logged_in, self.identify_at, self.told) = (true, None, Told::Answered);
        self.make_known(None);
    }

    /// Handles a notice: if it is from NickServ and an answer is pending, it decides about the login.
    pub(super) fn noticed(&mut self, line: &Received, text: &str, now: Now) {
        if self.told != Told::Password || !line.source.name.eq_ignore_ascii_case(NICKSERV) {
            return;
        }
        // A replay of a bouncer is not an answer.
        if self.replay.stale(line, now.wall, &mut self.lasting.seen).is_some() {
            return;
        }
        let Some(text) = plain(text) else { return };
        match nickserv::said(&text) {
            Some(Said::Accepted) => {
                (self.told, self.identify_at) = (Told::Answered, None);
                self.make_known(None);
            }
            Some(Said::Refused) => self.not_identified(&text),
            // Some services greet each nick that is not registered; only a sentence about our nick counts.
            Some(Said::Unregistered) if !self.nick.is_foreign() || self.speaks_of_us(&text) => {
                self.not_identified(&text);
            }
            Some(Said::Unregistered) | None => {}
        }
    }

    /// Handles an error reply by which the server, instead of a notice, says that NickServ has refused the password.
    pub(super) fn password_refused(&mut self, reason: &str) {
        if self.told == Told::Password {
            self.not_identified(reason);
        }
    }

    fn speaks_of_us(&self, text: &str) -> bool {
        let marks = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '.' | ',' | ':');
        text.split(marks).any(|word| self.server.case.same(word, self.nick.wanted()))
    }

    fn not_identified(&mut self, said: &str) {
        let said = one_line(said, SAID_MAX);
        tracing::error!(network = %self.settings.network.name, said, "NickServ refuses the password");
        (self.told, self.identify_at) = (Told::Answered, None);
        self.make_known(Some(said.into()));
    }

    /// Records and reports the state of herder's login if it has changed: `unidentified` is the reason of a refusal.
    fn make_known(&mut self, unidentified: Option<Detail>) {
        if self.lasting.unidentified != unidentified {
            self.lasting.unidentified = unidentified;
            self.effects.push(Effect::Known);
        }
    }

    /// Returns the reason why the services refuse herder's password; `None` if they do not.
    pub(crate) fn unidentified(&self) -> Option<Detail> {
        self.lasting.unidentified.clone()
    }
}
