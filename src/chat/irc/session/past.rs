//! What was said while nobody listened: asked for where the server keeps it, and worked on as if it had been heard.
//!
//! A line of the past is one person's word if the server says so by `account-tag`, and nobody's otherwise: a mask may be
//! somebody else's by now, and there is nobody to ask about. It is worked on once, by its id.

use std::collections::{BTreeMap, BTreeSet, HashSet};

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
/// Speakers of one channel who are told that they came too early.
const EARLY_MAX: usize = 8;

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
    /// Where we came in on this link and nobody had been before.
    begun: BTreeSet<String>,
    /// Who spoke where between our coming in and the moment from which lines there are live.
    early: BTreeMap<String, Vec<String>>,
    /// It was said in the control channel that not all could be heard of.
    said_in_control: bool,
}

impl Absences {
    pub(super) fn since(before: Option<Timestamp>) -> Self {
        Self {
            before,
            been: BTreeSet::new(),
            out_since: BTreeMap::new(),
            made_up: BTreeSet::new(),
            begun: BTreeSet::new(),
            early: BTreeMap::new(),
            said_in_control: false,
        }
    }

    pub(super) fn is_made_up_for(&self, channel: &str) -> bool {
        self.made_up.contains(channel)
    }
}

impl Session<'_> {
    /// Channels that nobody wants any more are not followed.
    pub(super) fn follow_wanted(&mut self) {
        let names: BTreeSet<&str> = self.channels.names().collect();
        self.settings.marks.keep(|channel| names.contains(channel));
        self.history.keep(|channel| names.contains(channel));
    }

    /// What is said in these channels is live from now on: what was missed there is asked for, or, if we were never there,
    /// it begins here.
    pub(super) fn came_live(&mut self, channels: Vec<(String, String)>, now: Now) {
        for (channel, actual) in channels {
            if !self.caps.tell_the_past() {
                self.say_again(&channel, now);
                continue;
            }
            let begun = self.absences.begun.remove(&channel);
            let before = self.absences.before.filter(|_| self.absences.been.insert(channel.clone()));
            let since = self.absences.out_since.remove(&channel).or(before);
            match self.settings.marks.of(&channel) {
                // Nobody has spoken since we came in.
                Some(_) if begun && !self.absences.early.contains_key(&channel) => {}
                Some(mark) if self.history.is_known() => {
                    // After a start it is known up to when something was heard, and not since when nobody listened.
                    let since = since.or_else(|| Some(self.replay.by_us(mark.0))).filter(|_| !begun);
                    self.absences.made_up.remove(&channel);
                    self.history.ask(&channel, &actual, mark, since, &self.server);
                }
                Some(_) => {
                    self.missed(&channel, since.filter(|_| !begun), None, now);
                    self.say_again(&channel, now);
                }
                None => self.settings.marks.begin(&channel, self.replay.by_server(now.wall)),
            }
        }
    }

    /// We have come into a channel: one that nobody has followed before is followed from here on.
    pub(super) fn came_in(&mut self, line: &Received, channel: &str, now: Now) {
        let Some(name) = self.channels.wanted_as(channel, &self.server).map(str::to_owned) else { return };
        self.absences.early.remove(&name);
        if self.caps.tell_the_past() && self.settings.marks.of(&name).is_none() {
            let time = line.tag("time").and_then(parse_time);
            self.settings.marks.came_in(&name, time.unwrap_or_else(|| self.replay.by_server(now.wall)));
            self.absences.begun.insert(name);
        }
    }

    /// A line that may be new and may be told again: it came before its channel was live.
    pub(super) fn heard_early(&mut self, line: &Received, to: &str, said: &str) {
        let Some(channel) = self.channels.coming_live(to, &self.server).map(str::to_owned) else { return };
        let nick = &line.source.name;
        let speaks = text::plain(said).is_some_and(|text| {
            !text.is_empty() && !line.source.user.is_empty() && self.may_be_addressed(&channel, &text)
        });
        if !speaks || self.is_foreign_bot(line) || self.is_known_bot(nick) {
            return;
        }
        let speakers = self.absences.early.entry(channel).or_default();
        if speakers.len() < EARLY_MAX && !speakers.contains(nick) {
            speakers.push(nick.clone());
        }
    }

    /// Those who spoke too early in a channel, and whose lines nothing brings back, are told so.
    fn say_again(&mut self, channel: &str, now: Now) {
        let nicks = self.absences.early.remove(channel).unwrap_or_default();
        if !nicks.is_empty() {
            self.post(Target::Channel(channel.to_owned()), Body::Notice(Notice::TooEarly { nicks }), now);
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
        let (mut unproven, mut done) = (false, HashSet::new());
        for (time, line) in lines {
            match self.past_line(&channel, time, &line) {
                Past::WorkedOn(id) => {
                    done.insert(id);
                    if let Some(early) = self.absences.early.get_mut(&channel) {
                        early.retain(|nick| *nick != line.source.name);
                    }
                }
                Past::Unproven => unproven = true,
                Past::Nothing => {}
            }
        }
        let Some(End { held, worked_on, unknown_since, since }) = end else {
            return self.history.worked_on(&channel, done);
        };
        done.extend(worked_on);
        if unknown_since.is_some() || unproven {
            let known_until = unknown_since.map(|millis| self.replay.by_us(millis));
            self.missed(&channel, since, known_until, now);
            self.say_again(&channel, now);
        } else {
            self.absences.early.remove(&channel);
            self.absences.made_up.insert(channel.clone());
        }
        if unknown_since.is_none() {
            self.settings.marks.told(&channel);
        } else {
            self.settings.marks.begin(&channel, self.replay.by_server(now.wall));
        }
        for Held { heard, answer } in held {
            let is_done = |id: &LineId| done.contains(&id.id) || self.settings.marks.knows(&channel, &id.id);
            if !heard.id.as_ref().is_some_and(is_done) {
                self.speak(heard, &answer);
            }
        }
    }

    /// Works on one line of the past.
    fn past_line(&mut self, channel: &str, time: i64, line: &Received) -> Past {
        let Said::Message { text, .. } = &line.said else { return Past::Nothing };
        let nick = &line.source.name;
        if self.is_us(nick) || self.server.case.same(nick, self.nick.wanted()) || self.is_foreign_bot(line) {
            return Past::Nothing;
        }
        let Some(text) = text::plain(text).filter(|text| !text.is_empty()) else { return Past::Nothing };
        let answer = tagged(line);
        let id = line.tag("msgid").filter(|id| is_usable(id));
        if let Some(id) = id
            && self.settings.marks.meets(channel, id, time)
        {
            // What a bouncer tells once more later is not news.
            self.lasting.seen.first(id);
            return Past::WorkedOn(id.to_owned());
        }
        let (Some(id), Some(_), false) = (id, &answer.account, self.has_our_account(line)) else {
            return if self.would_command(line) { Past::Unproven } else { Past::Nothing };
        };
        self.lasting.seen.first(id);
        let mut source = line.source.clone();
        // The account alone says who it was.
        source.user.clear();
        let place = Place::Channel(channel.to_owned());
        let known = LineId { id: id.to_owned(), time };
        self.speak(Heard { source, place, text, at: self.replay.by_us(time), id: Some(known) }, &answer);
        Past::WorkedOn(id.to_owned())
    }

    /// Whether we may have said it ourselves, under another nick that we had then. It may be somebody else, who shares our
    /// account with us.
    fn has_our_account(&self, line: &Received) -> bool {
        let account = match &self.settings.network.sasl {
            Some(Sasl::Plain { account, .. }) => Some(account.as_str()),
            Some(Sasl::External { .. }) | None => None,
        };
        account.is_some() && line.tag("account") == account
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
        // Before we are up this is said for all channels together, if a link was lost.
        let is_said = self.phase != Phase::Up && self.lasting.lost_at.is_some();
        let Some(since) = since.filter(|_| !is_said) else { return };
        let from = known_until.map_or(since, |until| until.max(since));
        let is_it = |target: &Target| self.channels.name_of(target).as_deref() == Some(channel);
        let target = self.told_of_absences().into_iter().find(is_it);
        // Where it is not said in the channel itself, it is said once for all of these.
        if target.is_none() && std::mem::replace(&mut self.absences.said_in_control, true) {
            return;
        }
        let target = target.unwrap_or(Target::Control);
        self.post(target, Body::Notice(Notice::Away { from, to: now.wall }), now);
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

/// What came of a line of the past.
enum Past {
    /// Nobody works on it.
    Nothing,
    /// It is done, or being worked on, by this id.
    WorkedOn(String),
    /// Somebody who may command may have said it, or somebody else.
    Unproven,
}

/// Whether an id can be kept.
fn is_usable(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}
