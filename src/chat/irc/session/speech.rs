//! Lines that people say on IRC: whether they are live, and their place and author.

use super::super::identity::{Answer, Heard, Rank};
use super::super::text;
use super::super::wire::{Received, Source};
use super::{Effect, Now, Session};
use crate::core::speech::{Author, Inbound, Origin, Place};

impl Session<'_> {
    pub(super) fn message(&mut self, line: &Received, to: &str, said: &str, now: Now) {
        if self.is_us(&line.source.name) {
            self.learn_own(&line.source);
            self.replay.own(line, now.wall, &mut self.lasting.seen);
            self.own_passed(line, to);
            return;
        }
        if let Some(why) = self.replay.stale(line, now.wall, &mut self.lasting.seen) {
            tracing::debug!(nick = line.source.name, why, "not live: ignored");
            return;
        }
        let Some(place) = self.place(&line.source, to) else { return self.heard_early(line, to, said, now) };
        if let Place::Direct(_) = place {
            self.persons.wrote(&line.source, &self.server, now.mono);
        }
        if self.is_foreign_bot(line) {
            return;
        }
        let Some(text) = text::plain(said) else { return };
        if text.is_empty() {
            return;
        }
        let id = self.line_id(line, &place, now);
        let heard = Heard { source: line.source.clone(), place, text, at: now.wall, id };
        if self.caps.has("account-tag") {
            self.speak_in_order(heard, tagged(line));
        } else if (self.settings.needs_account)() && self.must_be_known(&heard) {
            let rank = self.rank(&heard.source);
            if let Some(heard) = self.lookups.ask(heard, rank, &self.server, now.mono) {
                self.speak(heard, &Answer::default());
            }
        } else {
            self.speak(heard, &Answer::default());
        }
    }

    /// Returns the place in which a line was said, if lines there are live, not replayed; else `None`.
    fn place(&self, source: &Source, to: &str) -> Option<Place> {
        if self.is_us(to) {
            let person = !source.name.is_empty() && !source.user.is_empty();
            return (self.live && person).then(|| Place::Direct(source.name.clone()));
        }
        let name = self.channels.live(to, &self.server)?;
        Some(Place::Channel(name.to_owned()))
    }

    pub(super) fn is_foreign_bot(&self, line: &Received) -> bool {
        let marked = ["bot", "draft/bot", "inspircd.org/bot"].iter().any(|key| line.tag(key).is_some());
        marked && !self.is_known_bot(&line.source.name)
    }

    pub(super) fn is_known_bot(&self, nick: &str) -> bool {
        self.settings.network.bots.iter().any(|bot| self.server.case.same(bot, nick))
    }

    /// Returns true if the services account of the line's author has to be looked up. That is expensive: in the fleet's
    /// channels only lines that may be addressed to herder need it; in the control channel every line can be a command.
    fn must_be_known(&self, heard: &Heard) -> bool {
        if self.lookups.holds(&heard.source.name, &self.server) {
            return true;
        }
        match &heard.place {
            Place::Direct(_) => true,
            Place::Channel(name) | Place::Thread { of: name, .. } => self.may_be_addressed(name, &heard.text),
        }
    }

    /// Returns true if a line in a channel may be addressed to herder or an agent.
    pub(super) fn may_be_addressed(&self, channel: &str, text: &str) -> bool {
        if self.channels.is_control(channel, &self.server) || !self.channels.is_fleet(channel, &self.server) {
            return true;
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        first.starts_with(|c: char| !c.is_alphanumeric()) || first.contains([':', ',', '：', '、'])
    }

    /// Returns the rank of an author. Somebody probably may give commands if they did before, or if their nick equals
    /// the account of an operator.
    fn rank(&self, source: &Source) -> Rank {
        let named = || (self.settings.is_operator)(&self.author(source, Some(source.name.clone())));
        if self.lasting.netsplits.knows(source) || named() {
            Rank::Expected
        } else if self.settings.rooms.has(&self.settings.network.name, &source.name) {
            Rank::Present
        } else {
            Rank::Stranger
        }
    }

    pub(super) fn author(&self, source: &Source, account: Option<String>) -> Author {
        Author {
            network: self.settings.network.name.clone(),
            nick: source.name.clone(),
            account,
            mask: source.mask(),
            roles: Vec::new(),
            origin: Origin::Network,
        }
    }

    pub(super) fn speak(&mut self, heard: Heard, answer: &Answer) {
        if answer.bot && !self.is_known_bot(&heard.source.name) {
            return;
        }
        let author = self.author(&heard.source, answer.account.clone());
        if (self.settings.is_operator)(&author) {
            self.lasting.netsplits.operator_seen(&heard.source);
            self.lasting.netsplits.found(&heard.source);
        }
        let id = heard.id.filter(|id| self.take(&heard.place, id));
        self.effects.push(Effect::Hear(Inbound {
            author,
            place: heard.place,
            text: heard.text,
            mentions: Vec::new(),
            attached: String::new(),
            files: Vec::new(),
            own_nick: self.nick.current().to_owned(),
            message: id.map(|id| id.id),
            at: heard.at,
        }));
    }
}

/// Returns the author's account from the tag that the server sends with every line.
pub(super) fn tagged(line: &Received) -> Answer {
    let account = line.tag("account").filter(|account| !account.is_empty() && *account != "*");
    Answer { account: account.map(str::to_owned), bot: false }
}
