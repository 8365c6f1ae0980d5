//! What is done about what happened.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::Instant;

use super::{Cause, DENIALS_SAID, DRAIN_WAIT, INTERRUPT_WAIT, LADDER_MAX, Session, Stage};
use crate::clock;
use crate::core::id::WorkId;
use crate::core::input::Signal;
use crate::core::outcome::{Exit, Usage};
use crate::core::spec::Relay;
use crate::runtime::Order;
use crate::runtime::lines::Line;
use crate::runtime::protocol::{Happening, Steering};

impl Session {
    pub(super) fn on_order(&mut self, order: Option<Order>) {
        match order {
            Some(Order::Go) => self.go(),
            Some(Order::Steer { work, text }) => self.steer(work, &text),
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
        self.given = Instant::now();
        let feed = self.protocol.prompt(&self.launch.prompt);
        self.stdin.push(feed.bytes, None);
        if feed.close {
            self.stdin.close();
        }
        if self.protocol.ready_at_start() {
            self.vitals.ready();
            self.outgoing.signal(Signal::Ready { conversation: None });
        }
    }

    pub(super) fn steer(&mut self, work: WorkId, text: &str) {
        if !matches!(self.stage, Stage::Working) || !self.stdin.is_open() {
            return;
        }
        match self.protocol.steer(work, text) {
            Steering::Refused => {}
            Steering::Written(bytes) => self.stdin.push(bytes, Some(work)),
            Steering::Asked(bytes) => self.stdin.push(bytes, None),
        }
    }

    pub(super) fn on_fed(&mut self, work: Option<WorkId>) {
        if let Some(work) = work {
            self.outgoing.signal(Signal::Steered { work });
        }
    }

    /// Asks the runtime first if there is a way to ask, else begins the ladder.
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
                    self.stage = Stage::Interrupting { until: Instant::now() + wait };
                    return;
                }
            }
        }
        self.end(self.clocks.grace);
    }

    pub(super) fn end(&mut self, grace: Duration) {
        let (trees, tree) = (self.trees.clone(), self.tree.clone());
        #[expect(clippy::disallowed_methods, reason = "the handle is kept in the stage and waited for")]
        let ladder = tokio::spawn(async move { trees.end(&tree, grace).await });
        self.stage = Stage::Ending { ladder, until: Instant::now() + grace + LADDER_MAX };
    }

    pub(super) fn drain(&mut self, survivors: Vec<u32>) {
        self.stdin.drop_now();
        self.stage = Stage::Draining { survivors, until: Instant::now() + DRAIN_WAIT };
    }

    pub(super) fn on_exit(&mut self, status: io::Result<ExitStatus>) {
        self.child = None;
        self.exit = status
            .ok()
            .and_then(|status| status.code().map(Exit::Code).or_else(|| status.signal().map(Exit::Signal)));
        match self.stage {
            Stage::Ending { .. } | Stage::Draining { .. } => {}
            Stage::Held | Stage::Working | Stage::Leaving { .. } | Stage::Interrupting { .. } => {
                if self.trees.nothing_left(&self.tree) {
                    self.drain(Vec::new());
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
                Line::Whole(line) => self.protocol.line(line, &mut happened),
                Line::TooLong => bad += 1,
            }
        }
        bad += happened.iter().filter(|happening| **happening == Happening::Malformed).count() as u64;
        if bad > 0 && self.malformed == 0 {
            tracing::warn!(agent = %self.launch.agent, "a line of the agent could not be understood and is left out");
        }
        self.malformed += bad;
        if lines > bad {
            self.vitals.ready();
        }
        if lines > 0 {
            self.vitals.event(self.elapsed());
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
                self.tail.push(line);
            }
        }
        if lines {
            self.vitals.event(self.given.elapsed());
        }
        if !matches!(more, Ok(true)) {
            self.stderr = None;
        }
    }

    pub(super) fn on_happening(&mut self, happening: Happening) {
        let now = Instant::now();
        match happening {
            Happening::Ready { conversation } => self.outgoing.signal(Signal::Ready { conversation }),
            Happening::TurnStarted => {
                if matches!(self.stage, Stage::Leaving { .. }) {
                    self.stage = Stage::Working;
                    self.keep_last_words(now);
                }
            }
            Happening::Words(text) => {
                self.keep_last_words(now);
                self.relay(&text, now);
                self.last_words = Some(text);
            }
            Happening::Output(text) => {
                self.relay(&text, now);
                // What is relayed can be left out of a channel that nobody reads for a while: then the log has it.
                if self.launch.spec.relay == Relay::All {
                    self.outgoing.logged(&text, now);
                }
            }
            Happening::ToolStarted { id, name } => {
                self.outgoing.tool(name.clone(), now);
                self.vitals.tool_started(id, name, self.elapsed());
            }
            Happening::ToolEnded { id } => self.vitals.tool_ended(&id),
            Happening::Progress { turns, reading } => {
                self.ends.live.send_modify(|live| {
                    live.turns = turns;
                    live.usage = reading.usage;
                });
                if reading.usage != Usage::default() {
                    self.outgoing.used(reading, now);
                }
            }
            Happening::Note(text) => self.outgoing.logged(&text, now),
            Happening::Reply(bytes) => self.stdin.push(bytes, None),
            Happening::Steered { work } => self.outgoing.signal(Signal::Steered { work }),
            Happening::Denied { what } => self.on_denied(what, now),
            Happening::TurnEnded => self.on_turn_end(),
            Happening::Malformed => {}
        }
    }

    /// Said where people read it, but not again and again: an agent that is told no may go on asking.
    fn on_denied(&mut self, what: String, now: Instant) {
        self.outgoing.logged(&format!("denied: {what}"), now);
        if self.denied.len() < DENIALS_SAID && self.denied.insert(what.clone()) {
            self.outgoing.signal(Signal::Denied { what });
        }
    }

    pub(super) fn on_turn_end(&mut self) {
        self.vitals.turn_ended();
        self.outgoing.flush();
        self.stdin.close();
        if matches!(self.stage, Stage::Working) {
            let grace = self.clocks.grace;
            let grace = self.protocol.leaves_within().map_or(grace, |within| within.min(grace));
            self.stage = Stage::Leaving { until: Instant::now() + grace };
        }
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
