//! Time that passes, and the end.

use tokio::time::Instant;

use super::{Cause, LINGER_GRACE, Session, Stage};
use crate::clock;
use crate::core::input::{Clock, Signal};
use crate::core::outcome::Category;
use crate::runtime::clocks::CPU_SHARE_MIN;
use crate::runtime::observing::Moment;
use crate::runtime::process::lives;
use crate::runtime::process::stop::Gone;

impl Session {
    pub(super) fn on_time(&mut self) {
        let now = Instant::now();
        if self.outgoing.due().is_some_and(|due| now >= due) {
            self.outgoing.flush();
        }
        match &self.stage {
            Stage::Held | Stage::Draining { .. } => {}
            // Whoever waits for people hangs on nothing.
            Stage::Working if self.held_since.is_some() => {}
            Stage::Working => {
                if let Some((clock, evidence)) = self.vitals.ran_out(&self.clocks, self.elapsed()) {
                    self.outgoing.signal(Signal::ClockRanOut { clock, evidence: evidence.clone() });
                    let quiet = clock == Clock::Task && self.vitals.is_quiet(&self.clocks, self.elapsed());
                    if clock == Clock::Silence || quiet {
                        // Asked before the interrupt, after which the runtime waits for nothing any more.
                        self.stalled = self.protocol.stalled(&self.tail);
                    }
                    self.stop(Cause::Clock(clock, evidence));
                }
            }
            // The turn that was to follow did not begin.
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
            // Every clock is looked at above: a session that is still here has evidence of life or is being ended in time.
            self.outgoing.beat();
            self.sample();
        }
    }

    /// Looks at the tree's CPU time if nothing else speaks for the session.
    pub(super) fn sample(&mut self) {
        let working = matches!(self.stage, Stage::Working);
        if working && self.sampling.is_none() && self.vitals.needs_cpu(&self.clocks, self.elapsed()) {
            let (trees, tree) = (self.trees.clone(), self.tree.clone());
            #[expect(clippy::disallowed_methods, reason = "the handle is kept and waited for")]
            let sampling = tokio::spawn(async move { trees.ticks(&tree).await });
            self.sampling = Some(sampling);
        }
    }

    pub(super) fn on_sample(&mut self, ticks: u64) {
        self.sampling = None;
        let now = Instant::now();
        if let Some((before, at)) = self.sampled.replace((ticks, now)) {
            #[expect(clippy::cast_precision_loss, reason = "CPU seconds are far below where it matters")]
            let used = ticks.saturating_sub(before) as f64 / rustix::param::clock_ticks_per_second() as f64;
            if used > 0.0 && used >= CPU_SHARE_MIN * now.duration_since(at).as_secs_f64() {
                self.vitals.cpu(self.elapsed());
            }
        }
    }

    pub(super) async fn finish(mut self) {
        let mut outcome = self.protocol.outcome(self.exit, &self.tail);
        let said = !(self.told_to_leave && self.protocol.tells_by_its_exit());
        let succeeded = outcome.category == Category::Success && said;
        if matches!(self.cause, Some(Cause::Clock(Clock::Silence, _))) && self.stalled.is_none() {
            self.stalled = self.protocol.was_stalled(&self.tail);
        }
        match &self.cause {
            None => {}
            // What was finished before the order reached it is finished.
            Some(Cause::Ordered) if succeeded && self.exit.is_some() => {}
            Some(Cause::Ordered) => {
                outcome.category = Category::Interrupted;
                outcome.unknown = false;
                outcome.resets_at = None;
            }
            Some(Cause::Clock(clock, evidence)) => match self.stalled.take() {
                // It said what it waits for, and fell silent over it.
                Some(stalled) => {
                    outcome.category = stalled.category;
                    outcome.unknown = false;
                    outcome.detail = stalled.detail;
                    outcome.resets_at = stalled.resets_at;
                }
                // It was about to say so.
                None if succeeded => {}
                None => {
                    let hung = *clock != Clock::Task;
                    outcome.category = if hung { Category::Hung } else { Category::TaskTimeout };
                    outcome.unknown = false;
                    // Whoever waits for a login says so at the start, and in plain words.
                    let said = if *clock == Clock::Startup { self.tail.reason() } else { String::new() };
                    outcome.detail = evidence.clone().with(said);
                    outcome.resets_at = None;
                }
            },
        }
        // What it said last is how far it got.
        outcome.text = outcome.text.take().or_else(|| self.last_words.take());
        let over = {
            let now = Instant::now();
            let lasted = now.saturating_duration_since(self.given);
            let began = Moment { at: clock::now().before(lasted), now: self.given };
            self.observer.finish(outcome.text.as_deref(), began, now, self.launch.session)
        };
        self.observed(over);
        outcome.exit = self.exit;
        outcome.duration = self.began.elapsed();
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
        self.outgoing.signal(Signal::Ended { outcome: Box::new(outcome), survivors: gone.survivors });
        self.send_all().await;
    }

    /// Waits until everything is told.
    pub(super) async fn send_all(&mut self) {
        self.outgoing.flush();
        while let Some(report) = self.outgoing.pop() {
            if self.ends.reports.send(report).await.is_err() {
                return;
            }
        }
    }
}
