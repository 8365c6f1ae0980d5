//! Who we are to the network's services, where SASL has not told them.
//!
//! NickServ is told the password once 001 came. If it is not there, or takes our name from us, it is told again, and waited
//! for longer each time. If it says that the password is wrong nobody tells it again on this link: more wrong passwords are
//! what services throw clients out for. That is told further, and the next link tries once.

use secrecy::ExposeSecret as _;

use super::super::nickserv::{self, Said};
use super::super::text::plain;
use super::super::wire::{Outgoing, Received};
use super::{Effect, IDENTIFY_AGAIN, IDENTIFY_AGAIN_MAX, Now, Session};
use crate::core::cut::one_line;
use crate::core::detail::Detail;

/// The most of NickServ's words that is told further.
const SAID_MAX: usize = 200;

/// What NickServ has been told, and what it made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing.
    Nothing,
    /// The password; its answer is due.
    Password,
    /// It has answered: it knows us, or it does not.
    Answered,
}

impl Session<'_> {
    /// NickServ, where SASL has not done it.
    pub(super) fn identify(&mut self) {
        let Some(password) = &self.settings.network.nickserv_password else { return };
        if self.logged_in || self.told == Told::Answered {
            return;
        }
        let nick = self.nick.wanted();
        let words = if self.nick.is_foreign() { format!("IDENTIFY {nick} ") } else { "IDENTIFY ".to_owned() };
        let text = format!("{words}{}", password.expose_secret());
        self.told = Told::Password;
        self.send(Outgoing::new("PRIVMSG").word("NickServ").text(text));
    }

    /// NickServ is not there, or has taken our name from us: it is told again, until we are logged in or it says no.
    pub(super) fn identify_later(&mut self, now: Now) {
        let refused = self.lasting.unidentified.is_some() && self.told == Told::Answered;
        if self.logged_in || refused || self.settings.network.nickserv_password.is_none() {
            return;
        }
        // It was told, and knows us no more.
        self.told = Told::Nothing;
        let waits = 1_u32.checked_shl(self.nickserv_missed).unwrap_or(u32::MAX);
        self.nickserv_missed = self.nickserv_missed.saturating_add(1);
        let wait = IDENTIFY_AGAIN.saturating_mul(waits).min(IDENTIFY_AGAIN_MAX);
        tracing::warn!(network = %self.settings.network.name, ?wait, "NickServ does not know us: told again");
        self.identify_at = Some(now.mono + wait);
    }

    /// The server itself says that we are logged in.
    pub(super) fn known(&mut self) {
        (self.logged_in, self.identify_at, self.told) = (true, None, Told::Answered);
        self.make_known(None);
    }

    /// A notice: it counts if it is NickServ's, and an answer of it is due.
    pub(super) fn noticed(&mut self, line: &Received, text: &str, now: Now) {
        if self.told != Told::Password || !line.source.name.eq_ignore_ascii_case("NickServ") {
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
