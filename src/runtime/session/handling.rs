//! The handling of orders, output and events in a session.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::Instant;

use super::{Cause, DRAIN_WAIT, INTERRUPT_WAIT, LADDER_MAX, Session, Stage};
use crate::clock;
use crate::core::ask::{AskKey, Told};
use crate::core::id::WorkId;
use crate::core::input::Signal;
use crate::core::outcome::{Exit, Usage};
use crate::core::spec::Relay;
use crate::core::turn::Turn;
use crate::runtime::Order;
use crate::runtime::lines::Line;
use crate::runtime::observing::Moment;
use crate::runtime::process::stop::Gone;
use crate::runtime::protocol::{Happening, Protocol, Steering};
use crate::runtime::text::{LINE_MAX, bounded, one_line};

/// Maximum length of an unparsable line that is quoted in herder's own log, in bytes.
const LOGGED_MAX: usize = 200;

fn moment(now: Instant) -> Moment {
    Moment { at: clock::now(), now }
}

impl Session {
    pub(super) fn on_order(&mut self, order: Option<Order>) {
        match order {
            Some(Order::Go) => self.go(),
            Some(Order::Steer { work, text, files }) => self.say(work, text, files, false),
            Some(Order::Insist { work, text, files }) => self.say(work, text, files, true),
            Some(Order::Answer { key, told }) => self.answer(key, &told),
            Some(Order::Hold { waits }) => {
                self.waits = waits;
                self.hold();
            }
            Some(Order::Stop) => self.stop(Cause::Ordered),
            None => {
                self.listening = false;
                self.stop(Cause::Ordered);
            }
        }
    }

    pub(super) fn on_supervisor_gone(&mut self) {
        self.heard = false;
        self.stop(Cause::Ordered);
    }

    pub(super) fn go(&mut self) {
        if !matches!(self.stage, Stage::Held) {
            return;
        }
        self.stage = Stage::Working;
        self.given = self.now();
        if self.warm {
            return self.go_on();
        }
        self.protocol.show(std::mem::take(&mut self.local.pictures));
        let feed = self.protocol.prompt(&self.launch.prompt);
        self.stdin.make_room(feed.bytes.len());
        self.stdin.push(feed.bytes, None);
        if feed.close {
            self.stdin.close();
        }
        if self.protocol.ready_at_start() {
            self.vitals.ready();
            self.outgoing.signal(Signal::Ready { conversation: None });
        }
    }

    pub(super) fn tell(&mut self, work: WorkId, say: impl FnOnce(&mut dyn Protocol) -> Steering) {
        if !matches!(self.stage, Stage::Working) || !self.stdin.is_open() {
            return self.outgoing.not_taken(work);
        }
        match say(&mut *self.protocol) {
            Steering::Refused => self.outgoing.not_taken(work),
            Steering::Written(bytes) => self.stdin.push(bytes, Some(work)),
            Steering::Asked(bytes) => self.stdin.push(bytes, None),
        }
    }

    /// Gives the runtime people's answer to a request; a request with several questions continues with the next.
    fn answer(&mut self, key: AskKey, told: &Told) {
        let mut happened = Vec::new();
        self.protocol.answer(key, told, &mut happened);
        if !happened.is_empty() {
            self.vitals.event(self.elapsed());
        }
        self.asked.remove(&key);
        happened.into_iter().for_each(|happening| self.on_happening(happening));
        self.hold();
    }

    pub(super) fn on_fed(&mut self, work: Option<WorkId>) {
        if let Some(work) = work {
            self.protocol.written(work);
        }
    }

    /// Interrupts the turn if the runtime supports it, and otherwise starts the stop ladder.
    pub(super) fn stop(&mut self, cause: Cause) {
        match self.stage {
            Stage::Ending { .. } | Stage::Draining { .. } | Stage::Interrupting { .. } => return,
            Stage::Held | Stage::Leaving { .. } => self.cause = self.cause.take().or(Some(cause)),
            Stage::Working => {
                self.cause = self.cause.take().or(Some(cause));
                if self.stdin.is_open()
                    && let Some(bytes) = self.protocol.interrupt()
                {
                    self.stdin.push(bytes, None);
                    let wait = INTERRUPT_WAIT.min(self.clocks.grace);
                    self.stage = Stage::Interrupting { until: self.now() + wait };
                    return;
                }
            }
        }
        self.end(self.clocks.grace);
    }

    pub(super) fn end(&mut self, grace: Duration) {
        self.told_to_leave |= self.child.is_some();
        let (trees, tree) = (self.trees.clone(), self.tree.clone());
        #[expect(clippy::disallowed_methods, reason = "the handle is kept in the stage and waited for")]
        let ladder = tokio::spawn(async move { trees.end_counted(&tree, grace).await });
        self.stage = Stage::Ending { ladder, until: self.now() + grace + LADDER_MAX };
    }

    pub(super) fn drain(&mut self, gone: Gone) {
        self.stdin.drop_now();
        self.stage = Stage::Draining { gone, until: self.now() + DRAIN_WAIT };
    }

    pub(super) fn on_exit(&mut self, status: io::Result<ExitStatus>) {
        self.child = None;
        // Before the group is removed, which knows it.
        self.exhausted = self.exhausted.or_else(|| self.trees.exhausted(&self.tree.marker));
        self.weigh();
        self.exit = status
            .ok()
            .and_then(|status| status.code().map(Exit::Code).or_else(|| status.signal().map(Exit::Signal)));
        match self.stage {
            Stage::Ending { .. } | Stage::Draining { .. } => {}
            Stage::Held | Stage::Working | Stage::Leaving { .. } | Stage::Interrupting { .. } => {
                if self.trees.nothing_left(&self.tree) {
                    // The process exited by itself, or on request.
                    self.drain(Gone { ended: 1, survivors: Vec::new() });
                } else {
                    self.end(self.clocks.grace);
                }
            }
        }
    }

    pub(super) fn on_stdout(&mut self, more: io::Result<bool>) {
        let Some(mut stdout) = self.stdout.take() else { return };
        let mut happened = Vec::new();
        let (mut lines, mut bad) = (0_u64, 0_u64);
        while let Some(line) = stdout.next_line() {
            lines += 1;
            match line {
                Line::Whole(line) => {
                    let before = happened.len();
                    self.protocol.line(line, &mut happened);
                    if happened[before..].contains(&Happening::Malformed) {
                        // Redaction comes before truncation.
                        let line = String::from_utf8_lossy(line);
                        self.tail.print(self.local.redactor.redact(&line).as_bytes());
                    }
                }
                Line::TooLong => bad += 1,
            }
        }
        bad += happened.iter().filter(|happening| **happening == Happening::Malformed).count() as u64;
        if bad > 0 && self.malformed == 0 {
            let line =
                self.tail.printed().next_back().map(|line| bounded(line, LOGGED_MAX)).unwrap_or_default();
            tracing::warn!(agent = %self.launch.agent, line, "a line of the agent could not be understood and is left out");
        }
        self.malformed += bad;
        if lines > bad {
            self.vitals.ready();
        }
        if lines > 0 {
            self.vitals.event(self.elapsed());
            // The response to an interrupt is no evidence that the agent continued by itself.
            if self.cause.is_none() {
                self.tail.outdated();
            }
        }
        for happening in happened {
            self.on_happening(happening);
        }
        self.show(lines > 0);
        if matches!(more, Ok(true)) {
            self.stdout = Some(stdout);
        }
    }

    pub(super) fn on_stderr(&mut self, more: io::Result<bool>) {
        let Some(stderr) = &mut self.stderr else { return };
        let mut lines = false;
        while let Some(line) = stderr.next_line() {
            lines = true;
            if let Line::Whole(line) = line {
                // Redaction comes before truncation.
                let line = String::from_utf8_lossy(line);
                self.tail.push(self.local.redactor.redact(&line).as_bytes());
            }
        }
        if lines {
            self.vitals.event(self.elapsed());
        }
        if !matches!(more, Ok(true)) {
            self.stderr = None;
        }
    }

    pub(super) fn on_happening(&mut self, happening: Happening) {
        let now = self.now();
        match happening {
            Happening::Ready { conversation } => self.outgoing.signal(Signal::Ready { conversation }),
            Happening::TurnStarted => {
                if matches!(self.stage, Stage::Leaving { .. }) {
                    self.stage = Stage::Working;
                    self.keep_last_words(now);
                }
            }
            Happening::Words(text) => {
                let over = self.observer.words(&text, moment(now), self.launch.session);
                self.observed(over);
                self.keep_last_words(now);
                self.relay(&text, now);
                self.last_words = Some(text);
            }
            Happening::Output(text) => {
                self.relay(&text, now);
                self.look_for_a_round(&text, now);
                // Relayed text may be left out of a channel that nobody reads for a while, so it is logged as well.
                if self.launch.spec.relay == Relay::All {
                    self.outgoing.logged(&text, now);
                }
            }
            Happening::ToolStarted { id, name, call } => {
                let over = self.observer.started(&id, &name, *call, moment(now), self.launch.session);
                self.observed(over);
                self.outgoing.tool(&name, now);
                self.vitals.tool_started(id, name, self.elapsed());
            }
            Happening::ToolDescribed { id, call } => self.observer.described(&id, *call),
            Happening::ToolEnded { id, end } => {
                self.observer.ended(&id, *end, now);
                self.vitals.tool_ended(&id);
            }
            Happening::Progress { turns, reading } => {
                self.ends.live.send_modify(|live| {
                    live.turns = turns;
                    live.usage = reading.usage;
                });
                if reading.usage != Usage::default() {
                    self.outgoing.used(reading, now);
                }
            }
            Happening::Note(text) => {
                let text = one_line(&self.local.redactor.redact(&text), LINE_MAX);
                self.outgoing.logged(&text, now);
            }
            Happening::Reply(bytes) => self.stdin.answer(bytes),
            Happening::Steered { work } => self.outgoing.signal(Signal::Steered { work }),
            Happening::NotTaken { work } => self.outgoing.not_taken(work),
            Happening::TurnCut => {
                let over = self.observer.close(now, self.launch.session);
                self.observed(over);
                self.vitals.turn_ended();
                self.keep_last_words(now);
            }
            Happening::Asked { key, tool, command, shell, vague } => {
                self.asked.insert(key);
                self.hold();
                self.outgoing.signal(Signal::Asked { key, tool, command, redacted: None, shell, vague });
            }
            Happening::Inquired { key, inquiry, part } => {
                self.asked.insert(key);
                self.hold();
                self.outgoing.signal(Signal::Inquired { key, inquiry, part });
            }
            Happening::AskWithdrawn { key } => self.withdrawn(key),
            Happening::ConversationLost { why } => {
                let why = one_line(&self.local.redactor.redact(&why), LINE_MAX);
                self.outgoing.signal(Signal::ConversationLost { why });
            }
            Happening::TurnEnded => self.on_turn_end(false),
            Happening::AnotherFollows => self.on_turn_end(true),
            Happening::Malformed => {}
        }
    }

    /// Looks for repeated rounds in the output of a program that reports no turns, and reports one as a turn of its
    /// own.
    fn look_for_a_round(&mut self, text: &str, now: Instant) {
        let since = now.saturating_duration_since(self.began);
        let Some(round) = self.rounds.line(text, since) else { return };
        let took = since.saturating_sub(round.began);
        let began = Moment { at: clock::now().before(took), now: self.began + round.began };
        let turn = self.observer.round(&round.text, began, now, self.launch.session);
        self.observed(Some(turn));
    }

    /// Handles the withdrawal of a question: the runtime no longer waits for its answer.
    fn withdrawn(&mut self, key: AskKey) {
        if self.asked.remove(&key) {
            self.outgoing.signal(Signal::AskWithdrawn { key });
        }
        self.hold();
    }

    /// Reports a turn that has ended to the supervisor, for the evaluator.
    pub(super) fn observed(&mut self, turn: Option<Turn>) {
        if let Some(turn) = turn {
            self.outgoing.observed(turn);
        }
    }

    /// Handles the end of a turn: the session ends with it, unless `goes_on` is true and another turn follows. Then
    /// standard input stays open, because the runtime may ask, and takes a closed one for a no.
    fn on_turn_end(&mut self, goes_on: bool) {
        let over = self.observer.close(self.now(), self.launch.session);
        self.observed(over);
        self.vitals.turn_ended();
        // A turn that has ended waits for no answer.
        while let Some(key) = self.asked.first().copied() {
            self.withdrawn(key);
        }
        self.outgoing.flush();
        match self.stage {
            Stage::Working if goes_on => {
                self.stage = Stage::Leaving { until: self.now() + self.clocks.grace }
            }
            // After an interrupt no turn is to follow.
            Stage::Interrupting { .. } if goes_on => self.end(self.clocks.grace),
            Stage::Working if self.may_stay() => self.staying = true,
            Stage::Working => {
                self.stdin.close();
                self.leave();
            }
            Stage::Held
            | Stage::Leaving { .. }
            | Stage::Interrupting { .. }
            | Stage::Ending { .. }
            | Stage::Draining { .. } => self.stdin.close(),
        }
    }

    /// Gives the runtime time to exit by itself, because it has no more work.
    pub(super) fn leave(&mut self) {
        let grace = self.clocks.grace;
        let grace = self.protocol.leaves_within().map_or(grace, |within| within.min(grace));
        self.stage = Stage::Leaving { until: self.now() + grace };
    }

    pub(super) fn relay(&mut self, text: &str, now: Instant) {
        if self.launch.spec.relay == Relay::All {
            self.outgoing.words(text, now);
        }
    }

    pub(super) fn keep_last_words(&mut self, now: Instant) {
        if let Some(text) = self.last_words.take() {
            self.outgoing.logged(&text, now);
        }
    }

    pub(super) fn show(&self, event: bool) {
        let tool = self.vitals.oldest_tool().map(|tool| tool.name.clone());
        self.ends.live.send_modify(|live| {
            live.tool = tool;
            if event {
                live.last_event = Some(clock::now());
            }
        });
    }
}
