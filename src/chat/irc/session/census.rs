//! Who is in the alerts channel already when we come in, and who logs in or out meanwhile.
//!
//! Whoever is on the other side of a netsplit is missed only if it is known that they are an operator ([`netsplit`]), and those
//! who just read say nothing by which that could be seen. The server is asked once for all who are there. What it answers is
//! used for that alone: what somebody may do is found out about each line by itself ([`identity`]).
//!
//! [`netsplit`]: super::super::netsplit
//! [`identity`]: super::super::identity

use std::time::Duration;

use tokio::time::Instant;

use super::super::wire::{Outgoing, Source};
use super::{Now, Phase, Session};

/// By which the answer is known from those to other questions.
const TOKEN: &str = "999";

/// Where the server does not say who comes in, all are asked about again no sooner than this.
const AGAIN: Duration = Duration::from_secs(60);

/// The question, when it is asked, and whether its answer is due.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// The alerts channel, as the server calls it.
    channel: String,
    due: Option<Instant>,
    asked: Option<Instant>,
    answering: bool,
}

impl Census {
    /// When it is to be asked.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.answering)
    }
}

impl Session<'_> {
    /// We have come in.
    pub(super) fn count_who_is_there(&mut self, channel: &str, now: Now) {
        self.census = Census { channel: channel.to_owned(), due: Some(now.mono), ..Census::default() };
    }

    /// Somebody has come in, and nobody has said who that is.
    pub(super) fn count_again(&mut self, now: Now) {
        let soonest = self.census.asked.map_or(now.mono, |asked| asked + AGAIN).max(now.mono);
        self.census.due.get_or_insert(soonest);
    }

    /// Asks, if it is time.
    pub(super) fn ask_who_is_there(&mut self, now: Now) {
        if self.census.deadline().is_none_or(|due| due > now.mono)
            || matches!(self.phase, Phase::Greeting { .. })
        {
            return;
        }
        let question = Outgoing::new("WHO").word(self.census.channel.as_str());
        (self.census.due, self.census.asked, self.census.answering) = (None, Some(now.mono), true);
        let fields = self.server.whox.then(|| format!("%tcuhna,{TOKEN}"));
        self.send(fields.into_iter().fold(question, Outgoing::word));
    }

    /// One of those who are there.
    pub(super) fn somebody_is_there(&mut self, code: u16, params: &[String]) {
        let (place, source, account) = match (code, params) {
            // me, token, channel, user, host, nick, account
            (354, [_, token, channel, user, host, nick, account]) if token == TOKEN => {
                (channel, (nick, user, host), Some(account).filter(|account| *account != "0"))
            }
            // me, channel, user, host, server, nick, flags, …: no account, which leaves whom a mask describes.
            (352, [_, channel, user, host, _, nick, ..]) => (channel, (nick, user, host), None),
            _ => return,
        };
        if !self.census.answering || !self.channels.is_alerts(place, &self.server) {
            return;
        }
        let (name, user, host) = source;
        let source = Source { name: name.clone(), user: user.clone(), host: host.clone() };
        if !self.is_us(&source.name) && (self.settings.is_operator)(&self.author(&source, account.cloned())) {
            self.lasting.netsplits.operator_seen(&source);
        }
    }

    /// That was everybody.
    pub(super) fn who_answered(&mut self, asked: &str) {
        if self.channels.is_alerts(asked, &self.server) {
            self.census.answering = false;
        }
    }

    /// The server is too busy for a question, or for another one of the kind.
    pub(super) fn who_not_answered(&mut self, command: &str, now: Now) {
        if self.census.answering && command.eq_ignore_ascii_case("WHO") {
            self.census.answering = false;
            self.count_again(now);
        }
    }

    /// Somebody who shares a channel with us has logged in to services, or out of them.
    pub(super) fn logged_in_or_out(&mut self, source: &Source, account: Option<&str>) {
        let account = account.filter(|_| self.caps.has("account-notify")).map(str::to_owned);
        if (self.settings.is_operator)(&self.author(source, account)) {
            self.lasting.netsplits.operator_seen(source);
        } else {
            self.lasting.netsplits.no_operator(source);
        }
    }
}
