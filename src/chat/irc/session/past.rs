//! Missed speech: requested where the server keeps a history, and handled as if it had been heard live.
//!
//! A line of the history is attributed to an account only if the server sends `account-tag`, and to nobody otherwise:
//! the mask may belong to somebody else by now. Each line is handled once, by its id.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::super::history::{End, Held, Told};
use super::super::identity::{Answer, Heard, LineId};
use super::super::replay::parse_time;
use super::super::text;
use super::super::wire::{Received, Said};
use super::speech::tagged;
use super::{Now, Phase, Session};
use crate::config::Sasl;
use crate::core::notice::Notice;
use crate::core::post::{Body, Target};
use crate::core::speech::{Author, Origin, Place};
use crate::core::time::Timestamp;

/// Maximum length of a message id that is stored, in bytes: it becomes part of a key in the journal.
const ID_MAX: usize = 100;
/// Maximum number of people per channel, and in private, who are asked to repeat a line that came too early.
const EARLY_MAX: usize = 8;

/// The times for which herder did not hear channels, and what was missed.
#[derive(Debug)]
pub(super) struct Absences {
    /// Time at which herder's absence before this link began, for all channels; `None` if there was none.
    before: Option<Timestamp>,
    /// Channels that herder has joined on this link.
    been: BTreeSet<String>,
    /// Times at which herder was removed from a channel on this link.
    out_since: BTreeMap<String, Timestamp>,
    /// Channels whose missed lines were all fetched from history.
    made_up: BTreeSet<String>,
    /// Channels that herder has joined on this link and had never been in before.
    begun: BTreeSet<String>,
    /// Nicks that spoke in a channel between herder's JOIN and the beginning of live lines, so that their line may be a
    /// replay.
    early: BTreeMap<String, Vec<String>>,
    /// Nicks that wrote in private before live lines began, and the targets for answers to them.
    early_in_private: Vec<(String, Target)>,
    /// True if the control channel was told that lines were missed.
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
            early_in_private: Vec::new(),
            said_in_control: false,
        }
    }

    pub(super) fn is_made_up_for(&self, channel: &str) -> bool {
        self.made_up.contains(channel)
    }
}

impl Session<'_> {
    /// Stops tracking channels that are not wanted any more.
    pub(super) fn follow_wanted(&mut self) {
        let names: BTreeSet<&str> = self.channels.names().collect();
        self.settings.marks.keep(|channel| names.contains(channel));
        self.history.keep(|channel| names.contains(channel));
    }

    /// Handles channels whose lines are live from now on: requests the missed lines, or starts to track a new channel.
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
                // No line was missed since our JOIN.
                Some(_) if begun && !self.absences.early.contains_key(&channel) => {}
                Some(mark) if self.history.is_known() => {
                    // After a start the time of the last heard line is known, but not the time at which the absence began.
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

    /// Handles that herder has joined a channel: a new channel is tracked from here on.
    pub(super) fn came_in(&mut self, line: &Received, channel: &str, now: Now) {
        let Some(name) = self.channels.wanted_as(channel, &self.server).map(str::to_owned) else { return };
        self.absences.early.remove(&name);
        if self.caps.tell_the_past() && self.settings.marks.of(&name).is_none() {
            let time = line.tag("time").and_then(parse_time);
            self.settings.marks.came_in(&name, time.unwrap_or_else(|| self.replay.by_server(now.wall)));
            self.absences.begun.insert(name);
        }
    }

    /// Records who said a line before the channel's lines were live, so that it may be new or a replay.
    pub(super) fn heard_early(&mut self, line: &Received, to: &str, said: &str, now: Now) {
        if self.is_us(to) {
            return self.heard_early_in_private(line, said, now);
        }
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

    /// Records who wrote in private before live lines began, so that it may be new or a replay.
    fn heard_early_in_private(&mut self, line: &Received, said: &str, now: Now) {
        let nick = &line.source.name;
        let speaks = !line.source.user.is_empty() && text::plain(said).is_some_and(|text| !text.is_empty());
        if self.live || !speaks || self.is_foreign_bot(line) || self.is_known_bot(nick) {
            return;
        }
        self.persons.wrote(&line.source, &self.server, now.mono);
        let to = self.author(&line.source, None).in_private(nick);
        let speakers = &mut self.absences.early_in_private;
        if speakers.len() < EARLY_MAX && !speakers.iter().any(|(known, _)| known == nick) {
            speakers.push((nick.clone(), to));
        }
    }

    /// Asks people to repeat private lines that came before live lines began.
    pub(super) fn began_to_hear(&mut self, now: Now) {
        for (nick, to) in std::mem::take(&mut self.absences.early_in_private) {
            self.post(to, Body::Notice(Notice::TooEarly { nicks: vec![nick] }), now);
        }
    }

    /// Asks people to repeat lines in a channel that came too early and that no history returns.
    fn say_again(&mut self, channel: &str, now: Now) {
        let nicks = self.absences.early.remove(channel).unwrap_or_default();
        if !nicks.is_empty() {
            self.post(Target::Channel(channel.to_owned()), Body::Notice(Notice::TooEarly { nicks }), now);
        }
    }

    /// Handles that herder has left a channel.
    pub(super) fn went_out(&mut self, channel: &str, now: Now) {
        let Some(name) = self.channels.wanted_as(channel, &self.server).map(str::to_owned) else { return };
        self.history.left(&name);
        self.absences.out_since.entry(name).or_insert(now.wall);
    }

    /// Sends the requests for history that are due.
    pub(super) fn ask_for_past(&mut self, now: Now) {
        let labels = self.caps.has("labeled-response");
        let lasting = &mut *self.lasting;
        while let Some(line) =
            self.history.next(&self.server, now.mono, || labels.then(|| format!("p{}", lasting.number())))
        {
            self.effects.push(super::Effect::Send(line));
        }
    }

    /// Handles a line that answers a request for history. Returns true if it is one.
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

    /// Handles one line of a channel's history: dispatches it if it is new and its author is proven by a services
    /// account.
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
            // A bouncer may replay it later; then it is not new.
            self.lasting.seen.first(id);
            return Past::WorkedOn(id.to_owned());
        }
        let (Some(id), Some(_), false) = (id, &answer.account, self.has_our_account(line)) else {
            return if self.would_command(line) { Past::Unproven } else { Past::Nothing };
        };
        self.lasting.seen.first(id);
        let mut source = line.source.clone();
        // Only the account identifies the author.
        source.user.clear();
        let place = Place::Channel(channel.to_owned());
        let known = LineId { id: id.to_owned(), time };
        self.speak(Heard { source, place, text, at: self.replay.by_us(time), id: Some(known) }, &answer);
        Past::WorkedOn(id.to_owned())
    }

    /// Returns true if the line may be by herder itself, under an earlier nick. It may also be by somebody else with
    /// the same account.
    fn has_our_account(&self, line: &Received) -> bool {
        let account = match &self.settings.network.sasl {
            Some(Sasl::Plain { account, .. }) => Some(account.as_str()),
            Some(Sasl::External { .. }) | None => None,
        };
        account.is_some() && line.tag("account") == account
    }

    /// Returns true if the line would be obeyed if it were said now.
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

    /// Announces that the lines of a channel were missed for a time.
    fn missed(&mut self, channel: &str, since: Option<Timestamp>, known_until: Option<Timestamp>, now: Now) {
        // Before the link is up, one announcement covers all channels if a link was lost.
        let is_said = self.phase != Phase::Up && self.lasting.lost_at.is_some();
        let Some(since) = since.filter(|_| !is_said) else { return };
        let from = known_until.map_or(since, |until| until.max(since));
        let is_it = |target: &Target| self.channels.name_of(target).as_deref() == Some(channel);
        let target = self.told_of_absences().into_iter().find(is_it);
        // Channels that are not told themselves get one announcement together, in the control channel.
        if target.is_none() && std::mem::replace(&mut self.absences.said_in_control, true) {
            return;
        }
        let target = target.unwrap_or(Target::Control);
        self.post(target, Body::Notice(Notice::Away { from, to: now.wall }), now);
    }

    /// Passes on a live line whose author is known, after the channel's history that comes before it.
    pub(super) fn speak_in_order(&mut self, heard: Heard, answer: Answer) {
        match &heard.place {
            Place::Channel(channel) if heard.id.is_some() && self.history.covers(channel) => {
                let channel = channel.clone();
                self.history.hold(&channel, Held { heard, answer });
            }
            Place::Channel(_) | Place::Thread { .. } | Place::Direct(_) => self.speak(heard, &answer),
        }
    }

    /// Returns the server's id of a live line, if its channel is tracked.
    pub(super) fn line_id(&self, line: &Received, place: &Place, now: Now) -> Option<LineId> {
        let Place::Channel(_) = place else { return None };
        let id = line.tag("msgid").filter(|id| is_usable(id))?.to_owned();
        let time = line.tag("time").and_then(parse_time);
        Some(LineId { id, time: time.unwrap_or_else(|| self.replay.by_server(now.wall)) })
    }

    /// Records that the handling of a line begins. Returns true if the line is tracked by its id.
    pub(super) fn take(&self, place: &Place, id: &LineId) -> bool {
        let Place::Channel(channel) = place else { return false };
        self.settings.marks.took(channel, &id.id, id.time)
    }

    /// Handles the echo of a line by herder: all lines before it were received.
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

/// The result of handling one line of a channel's history.
enum Past {
    /// The line needs no handling.
    Nothing,
    /// The line with this id is handled or in progress.
    WorkedOn(String),
    /// An operator may have said the line, but the history does not prove it.
    Unproven,
}

/// Returns true if a message id can be stored in a key of the journal.
fn is_usable(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}
