//! The census of the alerts channel: who is in it when we join, and who logs in or out later.
//!
//! A person behind a netsplit counts as missing only if they are known to be an operator ([`netsplit`]), and people
//! who only read send no line that shows it. The server is asked once for all who are present. The answer is used for
//! nothing else: permissions are checked for each line by itself ([`identity`]).
//!
//! [`netsplit`]: super::super::netsplit
//! [`identity`]: super::super::identity

use std::time::Duration;

use tokio::time::Instant;

use super::super::wire::{Outgoing, Source};
use super::{Now, Phase, Session};

/// Token of the WHOX request for the members of the alerts channel, which tells its answer from those to other
/// requests.
const TOKEN: &str = "999";

/// Minimum time between two requests for the members' accounts, on servers that do not send the account with a JOIN.
const AGAIN: Duration = Duration::from_secs(60);

/// The request for the services accounts of the alerts channel's members, by which operators are recognised.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// Name of the alerts channel as the server has it.
    channel: String,
    due: Option<Instant>,
    asked: Option<Instant>,
    answering: bool,
}

impl Census {
    /// Returns the time at which the members' accounts are requested next; `None` if nothing is scheduled.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.answering)
    }
}

impl Session<'_> {
    /// Schedules the request for the members' accounts, after herder has joined the alerts channel.
    pub(super) fn count_who_is_there(&mut self, channel: &str, now: Now) {
        self.census = Census { channel: channel.to_owned(), due: Some(now.mono), ..Census::default() };
    }

    /// Schedules another request for the members' accounts, after somebody has joined without the server sending the
    /// account.
    pub(super) fn count_again(&mut self, now: Now) {
        let soonest = self.census.asked.map_or(now.mono, |asked| asked + AGAIN).max(now.mono);
        self.census.due.get_or_insert(soonest);
    }

    /// Sends the request for the members' accounts if it is due.
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

    /// Handles one member in the answer: if the account is an operator's, the person is remembered.
    pub(super) fn somebody_is_there(&mut self, code: u16, params: &[String]) {
        let (place, source, account) = match (code, params) {
            // Parameters: our nick, token, channel, user, host, nick, account.
            (354, [_, token, channel, user, host, nick, account]) if token == TOKEN => {
                (channel, (nick, user, host), Some(account).filter(|account| *account != "0"))
            }
            // Parameters: our nick, channel, user, host, server, nick, flags, …: without account, so that only
            // operators known by mask are found.
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

    /// Handles the end of the answer about the members.
    pub(super) fn who_answered(&mut self, asked: &str) {
        if self.channels.is_alerts(asked, &self.server) {
            self.census.answering = false;
        }
    }

    /// Handles that the server is too busy for the request: it is repeated later.
    pub(super) fn who_not_answered(&mut self, command: &str, now: Now) {
        if self.census.answering && command.eq_ignore_ascii_case("WHO") {
            self.census.answering = false;
            self.count_again(now);
        }
    }

    /// Handles that somebody in a common channel has logged in to a services account, or out of it (`None`).
    pub(super) fn logged_in_or_out(&mut self, source: &Source, account: Option<&str>) {
        let account = account.filter(|_| self.caps.has("account-notify")).map(str::to_owned);
        if (self.settings.is_operator)(&self.author(source, account)) {
            self.lasting.netsplits.operator_seen(source);
        } else {
            self.lasting.netsplits.no_operator(source);
        }
    }
}
