//! The timeouts and the end of a session.

use std::time::Duration;

use tokio::time::Instant;

use super::{Cause, LINGER_GRACE, LOOK_MAX, Session, Stage, WEIGHED_EVERY};
use crate::clock;
use crate::core::detail::Own;
use crate::core::input::{Clock, Signal};
use crate::core::machine::Taken;
use crate::core::outcome::{Category, Exit, Outcome};
use crate::runtime::classify::refuses_history;
use crate::runtime::clocks::{CPU_SHARE_MIN, look_pause};
use crate::runtime::observing::Moment;
use crate::runtime::process::stop::Gone;
use crate::runtime::process::{Exhausted, Identity, Weight, lives};
use crate::runtime::text::kept_detail;

impl Session {
    pub(super) fn on_time(&mut self) {
        let now = self.now();
        if self.outgoing.due().is_some_and(|due| now >= due) {
            self.outgoing.flush();
        }
        match &self.stage {
            Stage::Held | Stage::Draining { .. } => {}
            // A session that waits for people does not hang.
            Stage::Working if self.held_since.is_some() => {}
            Stage::Working => {
                let ran_out = self.vitals.ran_out(&self.clocks, self.elapsed());
                if let Some((clock, evidence)) = ran_out.filter(|_| now >= self.clock_due(now)) {
                    self.outgoing.signal(Signal::ClockRanOut { clock, evidence: evidence.clone() });
                    let quiet = clock == Clock::Task && self.vitals.is_quiet(&self.clocks, self.elapsed());
                    if clock == Clock::Silence || quiet {
                        // Before the interrupt, after which the runtime waits for nothing.
                        self.stalled = self.protocol.stalled(&self.tail);
                    }
                    self.stop(Cause::Clock(clock, evidence));
                }
            }
            // The expected next turn did not start.
            Stage::Leaving { until } if now >= *until && self.stdin.is_open() => {
                self.stdin.close();
                self.leave();
            }
            Stage::Leaving { until } if now >= *until => self.end(LINGER_GRACE.min(self.clocks.grace)),
            Stage::Interrupting { until } if now >= *until => self.end(self.clocks.grace),
            Stage::Ending { ladder, until } if now >= *until => {
                ladder.abort();
                let left = self.tree.root.filter(|root| lives(*root));
                self.drain(Gone { ended: 0, survivors: left.map(|root| root.pid).into_iter().collect() });
            }
            Stage::Leaving { .. } | Stage::Interrupting { .. } | Stage::Ending { .. } => {}
        }
        if now >= self.next_beat {
            self.next_beat = now + self.clocks.beat;
            // All timeouts were checked above: a session that is still here has evidence of life, or is being ended in time.
            self.outgoing.beat();
            // The name is gone with the process.
            self.biggest = self.trees.biggest(&self.tree.marker).or_else(|| self.biggest.take());
            self.weigh();
        }
        if self.weighing_due().is_some_and(|due| now >= due) {
            self.begin_weighing();
        }
        if self.look_due().is_some_and(|due| now >= due) {
            self.sample();
        }
    }

    /// Returns the time at which the next time limit takes effect. The silence limit takes effect only if the CPU time
    /// was examined until then, or cannot be examined.
    pub(super) fn clock_due(&self, now: Instant) -> Instant {
        let (clock, at) = self.vitals.next(&self.clocks);
        let due = self.given + self.held + at;
        let looked = || self.looked.is_some_and(|looked| looked + 2 * look_pause(&self.clocks) >= due);
        if clock == Clock::Silence && now >= due && !looked() { due + LOOK_MAX } else { due }
    }

    /// Returns the time of the next look at the process tree's CPU time; `None` if there is other evidence of life.
    pub(super) fn look_due(&self) -> Option<Instant> {
        let looks =
            matches!(self.stage, Stage::Working) && self.held_since.is_none() && self.sampling.is_none();
        let from = self.vitals.needs_cpu(&self.clocks).filter(|_| looks)?;
        let again = self.sampled.map(|(_, at)| at + look_pause(&self.clocks));
        let from = self.given + self.held + from;
        Some(again.map_or(from, |again| from.max(again)))
    }

    fn sample(&mut self) {
        let (trees, tree) = (self.trees.clone(), self.tree.clone());
        #[expect(clippy::disallowed_methods, reason = "the handle is kept and waited for")]
        let sampling = tokio::spawn(async move { trees.ticks(&tree).await });
        self.sampling = Some(sampling);
    }

    pub(super) fn on_sample(&mut self, ticks: u64) {
        self.sampling = None;
        let now = self.now();
        let before = self.sampled.replace((ticks, now));
        // CPU time used long ago is no evidence for the present.
        let recent = |at: &Instant| now.saturating_duration_since(*at) <= LOOK_MAX + look_pause(&self.clocks);
        if let Some((before, at)) = before.filter(|(_, at)| recent(at)) {
            self.looked = Some(now);
            #[expect(clippy::cast_precision_loss, reason = "CPU seconds are far below where it matters")]
            let used = ticks.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64;
            if used > 0.0 && used >= CPU_SHARE_MIN * now.saturating_duration_since(at).as_secs_f64() {
                self.vitals.cpu(self.elapsed());
            }
        }
    }

    /// Returns the time of the next look at the session's memory; `None` if the kernel holds its limit.
    pub(super) fn weighing_due(&self) -> Option<Instant> {
        let runs = !matches!(self.stage, Stage::Ending { .. } | Stage::Draining { .. });
        (runs && self.watched.is_some() && self.weighing.is_none()).then_some(self.next_weighing)
    }

    fn begin_weighing(&mut self) {
        self.next_weighing = self.now() + WEIGHED_EVERY;
        let (trees, tree) = (self.trees.clone(), self.tree.clone());
        #[expect(clippy::disallowed_methods, reason = "the handle is kept and waited for")]
        let weighing = tokio::spawn(async move { trees.weight(&tree).await });
        self.weighing = Some(weighing);
    }

    pub(super) fn on_weight(&mut self, weight: Weight) {
        self.weighing = None;
        let Some(limit) = self.watched else { return };
        let now = weight.memory;
        self.peak = self.peak.max(now);
        let taken = Taken { now, peak: self.peak, limit };
        self.ends.live.send_modify(|live| live.memory = Some(taken));
        if now > limit && !matches!(self.stage, Stage::Ending { .. } | Stage::Draining { .. }) {
            self.biggest = weight.biggest;
            self.exhausted = Some(Exhausted { used: now, limit });
            self.cause = Some(Cause::Memory);
            self.end(Duration::ZERO);
        }
    }

    /// Reports the end of the session. `kept` is its process, if that stays.
    pub(super) async fn finish(&mut self, kept: Option<Identity>) {
        let mut outcome = self.protocol.outcome(self.exit, &self.tail);
        let said = !(self.told_to_leave && self.protocol.tells_by_its_exit());
        let succeeded = outcome.category == Category::Success && said;
        if matches!(self.cause, Some(Cause::Clock(Clock::Silence, _))) && self.stalled.is_none() {
            self.stalled = self.protocol.was_stalled(&self.tail);
        }
        match &self.cause {
            // The last words of a process that was killed for want of memory tell nothing of it.
            None if !succeeded && matches!(self.exit, Some(Exit::Signal(9))) => self.starved(&mut outcome),
            Some(Cause::Memory) => self.starved(&mut outcome),
            None => {}
            // A turn that finished before the stop order arrived counts as finished.
            Some(Cause::Ordered) if succeeded && self.exit.is_some() => {}
            Some(Cause::Ordered) => {
                outcome.category = Category::Interrupted;
                outcome.unknown = false;
                outcome.resets_at = None;
            }
            Some(Cause::Clock(clock, evidence)) => match self.stalled.take() {
                // The agent reported what it waits for before it went silent.
                Some(stalled) => {
                    outcome.category = stalled.category;
                    outcome.unknown = false;
                    outcome.detail = stalled.detail;
                    outcome.resets_at = stalled.resets_at;
                }
                // The agent was about to report its success.
                None if succeeded => {}
                None => {
                    let hung = *clock != Clock::Task;
                    outcome.category = if hung { Category::Hung } else { Category::TaskTimeout };
                    outcome.unknown = false;
                    // A login prompt at the start is in the output in plain words.
                    let said = if *clock == Clock::Startup { self.tail.reason() } else { String::new() };
                    outcome.detail = evidence.clone().with(said);
                    outcome.resets_at = None;
                }
            },
        }
        outcome.detail = kept_detail(&outcome.detail, &self.local.redactor);
        outcome.history_refused = matches!(outcome.category, Category::Permanent | Category::Transient)
            && refuses_history(&outcome.detail.said);
        // The last words show how far it got.
        outcome.text = outcome.text.take().or_else(|| self.last_words.take());
        let over = {
            let now = self.now();
            let lasted = now.saturating_duration_since(self.given);
            let began = Moment { at: clock::now().before(lasted), now: self.given };
            self.observer.finish(outcome.text.as_deref(), began, now, self.launch.session)
        };
        self.observed(over);
        outcome.exit = self.exit;
        outcome.peak = outcome.peak.max(self.peak);
        outcome.duration = self.now().saturating_duration_since(self.began);
        let gone = match &mut self.stage {
            Stage::Draining { gone, .. } => std::mem::take(gone),
            Stage::Held
            | Stage::Working
            | Stage::Leaving { .. }
            | Stage::Interrupting { .. }
            | Stage::Ending { .. } => Gone::default(),
        };
        if self.cause.is_some() {
            outcome.ended = u32::try_from(gone.ended).unwrap_or(u32::MAX);
        }
        if self.malformed > 0 {
            tracing::info!(agent = %self.launch.agent, lines = self.malformed, "lines that could not be understood");
        }
        self.ends.kept.send_replace(kept);
        self.outgoing.signal(Signal::Ended { outcome: Box::new(outcome), survivors: gone.survivors });
        self.send_all().await;
    }

    /// Looks at the memory that the session takes, if it is limited.
    pub(super) fn weigh(&mut self) {
        let Some(taken) = self.trees.taken(&self.tree.marker) else { return };
        self.peak = self.peak.max(taken.peak);
        self.ends.live.send_modify(|live| live.memory = Some(Taken { peak: self.peak, ..taken }));
    }

    /// Turns the outcome of a session into that of one which ran out of memory, if it did.
    fn starved(&mut self, outcome: &mut Outcome) {
        let Some(Exhausted { used, limit }) = self.exhausted else { return };
        outcome.category = Category::OutOfMemory;
        outcome.unknown = false;
        outcome.peak = outcome.peak.max(used);
        let program = self.biggest.take().unwrap_or_default();
        outcome.detail = Own::OutOfMemory { used, limit, program }.into();
        outcome.resets_at = None;
    }

    /// Waits until all reports are sent to the supervisor.
    pub(super) async fn send_all(&mut self) {
        self.outgoing.flush();
        while let Some(report) = self.outgoing.pop() {
            if self.ends.reports.send(report).await.is_err() {
                return;
            }
        }
    }
}
