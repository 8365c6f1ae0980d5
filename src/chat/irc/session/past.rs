//! What was said while nobody listened: asked for where the server keeps it, and worked on as if it had been heard.
//!
//! A line of the past is one person's word if the server says so by `account-tag`, and nobody's otherwise: a mask may be
//! somebody else's by now, and there is nobody to ask about. It is worked on once, by its id.

use std::collections::{BTreeMap, BTreeSet};

use super::super::history::{End, Held, Told};
use super::super::identity::{Answer, Heard, LineId};
use super::super::replay::parse_time;
use super::super::text;
use super::super::wire::{Received, Said};
use super::speech::tagged;
use super::{Now, Phase, Session};
use crate::chat::{Author, Origin, Place};
use crate::config::Sasl;
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::outbox::{Body, Target};

/// The longest id by which a line is known, in bytes: it becomes part of a key on disk.
const ID_MAX: usize = 100;

/// Since when we have not heard what is said in the channels.
#[derive(Debug)]
pub(super) struct Absences {
    /// In all of them, before this link.
    before: Option<Timestamp>,
    /// Where we have been on this link.
    been: BTreeSet<String>,
    /// In one that we were taken out of.
    out_since: BTreeMap<String, Timestamp>,
    /// Where all that was missed was told since.
    made_up: BTreeSet<String>,
}

impl Absences {
    pub(super) fn since(before: Option<Timestamp>) -> Self {
        Self { before, been: BTreeSet::new(), out_since: BTreeMap::new(), made_up: BTreeSet::new() }
    }

    pub(super) fn is_made_up_for(&self, channel: &str) -> bool {
        self.made_up.contains(channel)
    }
}

impl Session<'_> {
    /// Channels that nobody wants any more are not followed.
    pub(super) fn follow_wanted(&self) {
        let names: BTreeSet<&str> = self.channels.names().collect();
        self.settings.marks.keep(|channel| names.contains(channel));
    }

    /// What is said in these channels is live from now on: what was missed there is asked for, or, if we were never there,
    /// it begins here.
    pub(super) fn came_live(&mut self, channels: Vec<(String, String)>, now: Now) {
        if !self.caps.tell_the_past() {
            return;
        }
        for (channel, actual) in channels {
            let before = self.absences.before.filter(|_| self.absences.been.insert(channel.clone()));
            let since = self.absences.out_since.remove(&channel).or(before);
            match self.settings.marks.of(&channel) {
                Some(mark) if self.history.is_known() => {
                    self.absences.made_up.remove(&channel);
                    self.history.ask(&channel, &actual, mark, since, &self.server);
                }
                Some(_) => self.missed(&channel, since, None, now),
                None => self.settings.marks.begin(&channel, self.replay.by_server(now.wall)),
            }
        }
    }

    /// We are out of a channel.
    pub(super) fn went_out(&mut self, channel: &str, now: Now) {
        let Some(name) = self.channels.wanted_as(channel, &self.server).map(str::to_owned) else { return };
        self.history.left(&name);
        self.absences.out_since.entry(name).or_insert(now.wall);
    }

    /// Asks what is next to be asked.
    pub(super) fn ask_for_past(&mut self, now: Now) {
        let labels = self.caps.has("labeled-response");
        let lasting = &mut *self.lasting;
        while let Some(line) =
            self.history.next(&self.server, now.mono, || labels.then(|| format!("p{}", lasting.number())))
        {
            self.effects.push(super::Effect::Send(line));
        }
    }

    /// Takes what answers a question about the past. Answers whether this line does.
    pub(super) fn past_told(&mut self, line: &Received, now: Now) -> bool {
        let Some(told) = self.history.receive(line, &self.server) else { return false };
        for told in told {
            self.past_page(told, now);
        }
        true
    }

    pub(super) fn past_expired(&mut self, now: Now) {
        for told in self.history.expired(now.mono) {
            self.past_page(told, now);
        }
    }

    fn past_page(&mut self, told: Told, now: Now) {
        let Told { channel, lines, end } = told;
        let mut unproven = false;
        for (time, line) in lines {
            unproven |= !self.past_line(&channel, time, &line);
        }
        let Some(End { held, unknown_since, since }) = end else { return };
        if unknown_since.is_some() || unproven {
            let known_until = unknown_since.map(|millis| self.replay.by_us(millis));
            self.missed(&channel, since, known_until, now);
        } else {
            self.absences.made_up.insert(channel.clone());
        }
        if unknown_since.is_none() {
            self.settings.marks.told(&channel);
        } else {
            self.settings.marks.begin(&channel, self.replay.by_server(now.wall));
        }
        for Held { heard, answer } in held {
            let known = heard.id.as_ref().is_some_and(|id| self.settings.marks.knows(&channel, &id.id));
            if !known {
                self.speak(heard, &answer);
            }
        }
    }

    /// Works on one line of the past. False if somebody who may command was not proven to have said it.
    fn past_line(&mut self, channel: &str, time: i64, line: &Received) -> bool {
        let Said::Message { text, .. } = &line.said else { return true };
        if self.is_own(line) || self.is_foreign_bot(line) {
            return true;
        }
        let Some(text) = text::plain(text).filter(|text| !text.is_empty()) else { return true };
        let answer = tagged(line);
        let id = line.tag("msgid").filter(|id| is_usable(id));
        let (Some(id), true) = (id, answer.account.is_some()) else {
            return !self.would_command(line);
        };
        // What a bouncer tells once more later is not news.
        self.lasting.seen.first(id);
        if self.settings.marks.meets(channel, id, time) {
            return true;
        }
        let mut source = line.source.clone();
        // The account alone says who it was.
        source.user.clear();
        let place = Place::Channel(channel.to_owned());
        let id = Some(LineId { id: id.to_owned(), time });
        self.speak(Heard { source, place, text, at: self.replay.by_us(time), id }, &answer);
        true
    }

    /// Whether we said it ourselves, under whatever nick we had then.
    fn is_own(&self, line: &Received) -> bool {
        let account = match &self.settings.network.sasl {
            Some(Sasl::Plain { account, .. }) => Some(account.as_str()),
            Some(Sasl::External { .. }) | None => None,
        };
        let nick = &line.source.name;
        self.is_us(nick)
            || self.server.case.same(nick, self.nick.wanted())
            || (account.is_some() && line.tag("account") == account)
    }

    /// Whether this line would be obeyed if it were said now.
    fn would_command(&self, line: &Received) -> bool {
        (self.settings.is_operator)(&Author {
            network: self.settings.network.name.clone(),
            nick: line.source.name.clone(),
            account: tagged(line).account,
            mask: line.source.mask(),
            roles: Vec::new(),
            origin: Origin::Network,
        })
    }

    /// It is not known what was said in a channel.
    fn missed(&mut self, channel: &str, since: Option<Timestamp>, known_until: Option<Timestamp>, now: Now) {
        // Before we are up this is said for all channels together.
        let (Phase::Up, Some(since)) = (self.phase, since) else { return };
        let from = known_until.map_or(since, |until| until.max(since));
        let is_it = |target: &Target| self.channels.name_of(target).as_deref() == Some(channel);
        if let Some(target) = self.told_of_absences().into_iter().find(is_it) {
            self.post(target, Body::Notice(Notice::Away { from, to: now.wall }), now);
        }
    }

    /// Says a live line when what was said before it has been told.
    pub(super) fn speak_in_order(&mut self, heard: Heard, answer: Answer) {
        match &heard.place {
            Place::Channel(channel) if heard.id.is_some() && self.history.covers(channel) => {
                let channel = channel.clone();
                self.history.hold(&channel, Held { heard, answer });
            }
            Place::Channel(_) | Place::Thread { .. } | Place::Direct(_) => self.speak(heard, &answer),
        }
    }

    /// By what a live line is known, where that matters.
    pub(super) fn line_id(&self, line: &Received, place: &Place, now: Now) -> Option<LineId> {
        let Place::Channel(_) = place else { return None };
        let id = line.tag("msgid").filter(|id| is_usable(id))?.to_owned();
        let time = line.tag("time").and_then(parse_time);
        Some(LineId { id, time: time.unwrap_or_else(|| self.replay.by_server(now.wall)) })
    }

    /// A line is about to be worked on. Answers whether it is to be known by its id from then on.
    pub(super) fn take(&self, place: &Place, id: &LineId) -> bool {
        let Place::Channel(channel) = place else { return false };
        self.settings.marks.took(channel, &id.id, id.time)
    }

    /// A line of ours came back: up to there everything has been heard.
    pub(super) fn own_passed(&self, line: &Received, to: &str) {
        let live = self.channels.live(to, &self.server).filter(|channel| !self.history.covers(channel));
        if let Some(channel) = live
            && self.replay.batch_of(line).is_none()
            && let Some(time) = line.tag("time").and_then(parse_time)
        {
            self.settings.marks.passed(channel, time);
        }
    }
}

/// Whether an id can be kept.
fn is_usable(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}
