//! Who we are to the network's services, where SASL has not told them.
//!
//! A name proves nothing: where no services are, or not for now, anybody can be called NickServ. So the server is asked first
//! who that is, and the password goes to those alone of whom it says that they are services or an operator, or that they are
//! on a server of services.
//!
//! NickServ is asked for once 001 came. If it is not there, or takes our name from us, that is done again, and waited
//! for longer each time. If it says that the password is wrong nobody tells it again on this link: more wrong passwords are
//! what services throw clients out for. That is told further, and the next link tries once.

use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::super::nickserv::{self, Said};
use super::super::text::plain;
use super::super::wire::{Outgoing, Received};
use super::{Effect, IDENTIFY_AGAIN, IDENTIFY_AGAIN_MAX, Now, Session};
use crate::core::cut::one_line;
use crate::core::detail::{Detail, LinkReason};

/// By which name the services that know nicks are spoken to.
const NICKSERV: &str = "NickServ";
/// The most of NickServ's words that is told further.
const SAID_MAX: usize = 200;

/// What NickServ has been told, and what it made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing.
    Nothing,
    /// Nothing, while the server is asked who that is; `services` as soon as it says that it is them.
    Asked { services: bool },
    /// The password; its answer is due.
    Password,
    /// It has answered: it knows us, or it does not.
    Answered,
}

impl Session<'_> {
    /// NickServ, where SASL has not done it: the server is asked who that is.
    pub(super) fn identify(&mut self, now: Now) {
        if self.settings.network.nickserv_password.is_none() || self.logged_in || self.told == Told::Answered
        {
            return;
        }
        // Where that is not answered it is asked again.
        let unanswered = matches!(self.told, Told::Asked { .. });
        let wait = if unanswered { self.next_wait() } else { IDENTIFY_AGAIN };
        (self.told, self.identify_at) = (Told::Asked { services: false }, Some(now.mono + wait));
        self.send(Outgoing::new("WHOIS").word(NICKSERV));
    }

    /// What the server says of whoever is called NickServ.
    pub(super) fn nickserv_is(&mut self, code: u16, params: &[String], now: Now) {
        let Told::Asked { services } = self.told else { return };
        if !params.get(1).is_some_and(|nick| nick.eq_ignore_ascii_case(NICKSERV)) {
            return;
        }
        let said = |index: usize| params.get(index).map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        match code {
            // An operator, as services are.
            313 => self.told = Told::Asked { services: true },
            310 if said(2).contains("service") => self.told = Told::Asked { services: true },
            // Nobody but those who run the network can name a server.
            312 if said(2).starts_with("services.") => self.told = Told::Asked { services: true },
            318 if services => {
                self.identify_at = None;
                self.tell_password();
            }
            318 => {
                tracing::warn!(network = %self.settings.network.name, "NickServ is no services: it is not told the password");
                self.make_known(Some(LinkReason::NoServices.into()));
                self.identify_later(now);
            }
            _ => {}
        }
    }

    fn tell_password(&mut self) {
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
        self.told = Told::Password;
        self.send(Outgoing::new("PRIVMSG").word(NICKSERV).text(text));
    }

    /// NickServ is not there, or has taken our name from us: it is told again, until we are logged in or it says no.
    pub(super) fn identify_later(&mut self, now: Now) {
        let refused = self.lasting.unidentified.is_some() && self.told == Told::Answered;
        if self.logged_in || refused || self.settings.network.nickserv_password.is_none() {
            return;
        }
        // It was told, and knows us no more.
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

    /// The server itself says that we are logged in.
    pub(super) fn known(&mut self) {
        (self.logged_in, self.identify_at, self.told) = (true, None, Told::Answered);
        self.make_known(None);
    }

    /// A notice: it counts if it is NickServ's, and an answer of it is due.
    pub(super) fn noticed(&mut self, line: &Received, text: &str, now: Now) {
        if self.told != Told::Password || !line.source.name.eq_ignore_ascii_case(NICKSERV) {
            return;
        }
        // What a bouncer tells of another day answers nothing.
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
            // Some greet whoever bears a nick that nobody has registered; the one that was named is meant.
            Some(Said::Unregistered) if !self.nick.is_foreign() || self.speaks_of_us(&text) => {
                self.not_identified(&text);
            }
            Some(Said::Unregistered) | None => {}
        }
    }

    /// An error that says the same in the place of a notice.
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

    /// What the services make of us, if that is news.
    fn make_known(&mut self, unidentified: Option<Detail>) {
        if self.lasting.unidentified != unidentified {
            self.lasting.unidentified = unidentified;
            self.effects.push(Effect::Known);
        }
    }

    /// Why the services do not know us, if they have said so, on this link or the one before.
    pub(crate) fn unidentified(&self) -> Option<Detail> {
        self.lasting.unidentified.clone()
    }
}
