//! JOINs, PARTs, QUITs and renames: our own, and those of operators lost in a netsplit.

use super::super::persons::nick_of;
use super::super::replay::Kind;
use super::super::wire::{Received, Source};
use super::roster::MARKS;
use super::{Now, Session};
use crate::core::notice::Notice;
use crate::core::post::{Body, Target};

impl Session<'_> {
    pub(super) fn somebody_joined(
        &mut self,
        line: &Received,
        channel: &str,
        account: Option<&str>,
        now: Now,
    ) {
        if self.is_us(&line.source.name) {
            self.learn_own(&line.source);
            self.channels.joined(channel, &self.server, now.mono);
            self.came_in(line, channel, now);
            if self.channels.is_alerts(channel, &self.server) {
                self.count_who_is_there(channel, now);
            }
            return;
        }
        if !self.channels.is_alerts(channel, &self.server) {
            return;
        }
        // People who only read are remembered as well.
        let account = account.filter(|_| self.caps.has("extended-join"));
        if (self.settings.is_operator)(&self.author(&line.source, account.map(str::to_owned))) {
            self.lasting.netsplits.operator_seen(&line.source);
        } else if self.server.whox && !self.caps.has("extended-join") {
            self.count_again(now);
        }
        if let Some(missed) = self.lasting.netsplits.back(&line.source, &self.server) {
            self.repeat(line.source.name.clone(), missed, now);
        }
    }

    /// Handles the list of names of a channel that herder has joined. People lost in a netsplit may have returned
    /// meanwhile.
    pub(super) fn listed(&mut self, channel: &str, names: &str, now: Now) {
        if !self.channels.is_alerts(channel, &self.server) {
            return;
        }
        for name in names.split_ascii_whitespace().map(|name| name.trim_start_matches(MARKS)) {
            if let Some(missed) = self.lasting.netsplits.listed(name, &self.server) {
                self.repeat(nick_of(name).to_owned(), missed, now);
            }
        }
    }

    /// Repeats to a person the alerts that they missed because of a netsplit.
    fn repeat(&mut self, nick: String, missed: Vec<String>, now: Now) {
        let count = u32::try_from(missed.len()).unwrap_or(u32::MAX);
        self.post(Target::Alerts, Body::Notice(Notice::Netsplit { nick, count }), now);
        self.post(Target::Alerts, Body::Lines(missed), now);
    }

    pub(super) fn learn_own(&mut self, source: &Source) {
        if !source.user.is_empty() && !source.host.is_empty() {
            self.own = Some((source.user.clone(), source.host.clone()));
        }
    }

    pub(super) fn somebody_parted(&mut self, line: &Received, channel: &str, now: Now) {
        if self.is_us(&line.source.name) {
            self.left(channel, "taken out of it by the server", now);
        }
    }

    pub(super) fn somebody_kicked(&mut self, channel: &str, nick: &str, reason: &str, now: Now) {
        if self.is_us(nick) {
            self.left(channel, reason, now);
        }
    }

    /// Handles that herder was removed from a channel. A channel that it leaves by itself is forgotten before its PART
    /// is sent.
    fn left(&mut self, channel: &str, reason: &str, now: Now) {
        self.went_out(channel, now);
        let trouble = self.channels.thrown_out(channel, reason, &self.server, now.mono);
        self.tell(trouble, now);
    }

    pub(super) fn renamed(&mut self, source: &Source, to: &str, now: Now) {
        if self.is_us(&source.name) {
            self.nick.renamed(to, now.mono);
            // Services rename a client that has not identified for its nick.
            if self.nick.is_foreign() {
                self.identify_later(now);
            }
            return;
        }
        if self.server.case.same(&source.name, self.nick.wanted()) {
            self.nick.freed(now.mono);
        }
        self.persons.left(&source.name, &self.server);
        self.persons.left(to, &self.server);
        self.lasting.netsplits.renamed(source, to);
    }

    pub(super) fn somebody_quit(&mut self, line: &Received, reason: &str, now: Now) {
        let in_batch = self.replay.batch_of(line) == Some(Kind::Netsplit);
        self.lasting.netsplits.left(&line.source, reason, in_batch);
        self.persons.left(&line.source.name, &self.server);
        if self.server.case.same(&line.source.name, self.nick.wanted()) {
            self.nick.freed(now.mono);
        }
    }
}
