//! Observation of a running session, divided into turns for the evaluator.
//!
//! The runtimes end their turns differently: one after every answer of its model, another only when it waits for a
//! person. Here a turn is one answer of the model with its tool calls, for every runtime: it ends once its calls have
//! ended and the agent speaks or acts again.

use std::time::Duration;

use tokio::time::Instant;

use crate::core::cut::both_ends;
use crate::core::id::SessionId;
use crate::core::time::Timestamp;
use crate::core::turn::{End, Kind, SAID_MAX, STEPS_MAX, Step, Turn, WHAT_MAX, WORDS_MAX};
use crate::redact::Redactor;

/// Minimum time between two turns; faster answers are merged into one turn, as no model is that fast, and every turn is
/// an event.
const PACE: Duration = Duration::from_millis(10);

/// Maximum length of a text before it is redacted, in bytes. The cut is in its middle, which is not kept anyway.
const RAW_MAX: usize = 64 * 1024;

/// A tool call, as known from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Kind of the action.
    pub kind: Kind,
    /// The exact action as requested, unredacted: the [`Observer`] redacts secrets before it cuts it.
    pub what: String,
    /// Digest of all arguments.
    pub digest: u64,
}

impl Call {
    /// Builds a call that does `what`; `whole` are all of its arguments.
    #[must_use]
    pub fn new(kind: Kind, what: &str, whole: &[u8]) -> Self {
        Self { kind, what: both_ends(what.trim(), RAW_MAX), digest: digest(whole) }
    }
}

/// Builds the end of a call with its output `said`: the [`Observer`] redacts secrets before it cuts it.
#[must_use]
pub fn end(ok: bool, said: &str) -> End {
    End { ok, said: both_ends(said.trim(), RAW_MAX), digest: digest(said.as_bytes()) }
}

/// Returns the first 64 bits of SHA-256, which suffice to distinguish the few texts of one agent.
fn digest(bytes: &[u8]) -> u64 {
    let whole = ring::digest::digest(&ring::digest::SHA256, bytes);
    whole.as_ref().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Collects the words and tool calls of the running turn, for the evaluator.
#[derive(Debug, Default)]
pub(super) struct Observer {
    redactor: Redactor,
    open: Option<Open>,
    /// True if there was any turn in the session.
    seen: bool,
}

#[derive(Debug)]
struct Open {
    at: Timestamp,
    began: Instant,
    words: String,
    /// The tool calls of the turn, with the runtime's ids.
    steps: Vec<(String, Step)>,
    /// Ids of open tool calls beyond the number that is kept.
    beyond: Vec<String>,
    more: u32,
}

/// The wall-clock time and the monotonic time, read at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    pub(super) now: Instant,
}

impl Observer {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Returns a text redacted and then cut to `max` bytes, so that no half of a secret is left.
    fn kept(&self, text: &str, max: usize) -> String {
        both_ends(&self.redactor.redact(text), max)
    }

    /// Records words of the agent. Returns the turn before, if these words begin a new one.
    pub(super) fn words(&mut self, text: &str, moment: Moment, session: SessionId) -> Option<Turn> {
        let over = self.begin(moment, session);
        let text = self.kept(text.trim(), 2 * WORDS_MAX);
        if let Some(open) = &mut self.open {
            if !open.words.is_empty() {
                open.words.push('\n');
            }
            open.words.push_str(&text);
            // Bounded while it grows, so that a flood is never held in memory.
            if open.words.len() > 2 * WORDS_MAX {
                open.words = both_ends(&open.words, WORDS_MAX);
            }
        }
        over
    }

    /// Records the start of a tool call. Returns the turn before, if the call begins a new one.
    pub(super) fn started(
        &mut self,
        id: &str,
        tool: &str,
        call: Call,
        moment: Moment,
        session: SessionId,
    ) -> Option<Turn> {
        let over = self.begin(moment, session);
        let what = self.kept(&call.what, WHAT_MAX);
        if let Some(open) = &mut self.open {
            if open.steps.len() < STEPS_MAX {
                let Call { kind, digest, .. } = call;
                let after_ms = millis(moment.now.saturating_duration_since(open.began));
                let tool = tool.to_owned();
                let step = Step { tool, kind, what, digest, end: None, after_ms, took_ms: 0 };
                open.steps.push((id.to_owned(), step));
            } else {
                open.more = open.more.saturating_add(1);
                if open.beyond.len() < STEPS_MAX {
                    open.beyond.push(id.to_owned());
                }
            }
        }
        over
    }

    /// Adds details to a tool call that has started.
    pub(super) fn described(&mut self, id: &str, call: Call) {
        let what = self.kept(&call.what, WHAT_MAX);
        let steps = self.open.as_mut().map(|open| open.steps.iter_mut()).into_iter().flatten();
        if let Some((_, step)) = steps.rev().find(|(of, step)| of == id && step.end.is_none()) {
            (step.kind, step.what, step.digest) = (call.kind, what, call.digest);
        }
    }

    /// Records the end of a tool call.
    pub(super) fn ended(&mut self, id: &str, end: End, now: Instant) {
        let end = End { said: self.kept(&end.said, SAID_MAX), ..end };
        let Some(open) = &mut self.open else { return };
        open.beyond.retain(|of| of != id);
        if let Some((_, step)) = open.steps.iter_mut().find(|(of, step)| of == id && step.end.is_none()) {
            step.end = Some(end);
            step.took_ms = millis(now.saturating_duration_since(open.began)).saturating_sub(step.after_ms);
        }
    }

    /// Ends the running turn and returns it; `None` if there is none.
    pub(super) fn close(&mut self, now: Instant, session: SessionId) -> Option<Turn> {
        let open = self.open.take()?;
        self.seen = true;
        Some(Turn {
            session,
            work: None,
            at: open.at,
            took_ms: millis(now.saturating_duration_since(open.began)),
            words: both_ends(&open.words, WORDS_MAX),
            steps: open.steps.into_iter().map(|(_, step)| step).collect(),
            more: open.more,
        })
    }

    /// Returns a round of output that keeps repeating, as a turn of its own, for a program that reports no turns.
    pub(super) fn round(&self, text: &str, began: Moment, now: Instant, session: SessionId) -> Turn {
        Turn {
            session,
            work: None,
            at: began.at,
            took_ms: millis(now.saturating_duration_since(began.now)),
            words: self.kept(text.trim(), WORDS_MAX),
            steps: Vec::new(),
            more: 0,
        }
    }

    /// Ends the session and returns its last turn. `text` is the whole output, which makes the only turn of a program
    /// that reports none.
    pub(super) fn finish(
        &mut self,
        text: Option<&str>,
        began: Moment,
        now: Instant,
        session: SessionId,
    ) -> Option<Turn> {
        if self.open.is_none() && !self.seen {
            self.words(text.filter(|text| !text.trim().is_empty())?, began, session);
        }
        self.close(now, session)
    }

    fn begin(&mut self, moment: Moment, session: SessionId) -> Option<Turn> {
        let answered = self.open.as_ref().is_some_and(|open| open.is_answered(moment.now));
        let over = if answered { self.close(moment.now, session) } else { None };
        self.open.get_or_insert_with(|| Open {
            at: moment.at,
            began: moment.now,
            words: String::new(),
            steps: Vec::new(),
            beyond: Vec::new(),
            more: 0,
        });
        over
    }
}

impl Open {
    fn is_answered(&self, now: Instant) -> bool {
        let over = !self.steps.is_empty() && self.beyond.is_empty();
        over && self.steps.iter().all(|(_, step)| step.end.is_some())
            && now.saturating_duration_since(self.began) >= PACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId(3);

    fn moment(base: Instant, ms: u64) -> Moment {
        Moment {
            at: Timestamp::from_millis(i64::try_from(ms).expect("small")),
            now: base + Duration::from_millis(ms),
        }
    }

    fn bash(command: &str) -> Call {
        Call::new(Kind::Command, command, command.as_bytes())
    }

    #[test]
    fn a_turn_is_over_when_its_calls_are_and_the_agent_goes_on() {
        let base = Instant::now();
        let mut seen = Observer::default();
        assert_eq!(seen.words("I will test it.", moment(base, 0), SESSION), None);
        assert_eq!(seen.started("a", "Bash", bash("cargo test"), moment(base, 20), SESSION), None);
        assert_eq!(seen.started("b", "Bash", bash("cargo doc"), moment(base, 40), SESSION), None);
        seen.ended("a", end(false, "1 failed"), base + Duration::from_millis(50));
        assert_eq!(seen.words("While it builds …", moment(base, 60), SESSION), None, "a call is open");
        seen.ended("b", end(true, "ok"), base + Duration::from_millis(70));
        let over = seen.words("Fixing it.", moment(base, 80), SESSION).expect("the next answer");
        assert_eq!(over.words, "I will test it.\nWhile it builds …");
        let whats: Vec<_> = over.steps.iter().map(|step| (step.what.as_str(), step.end.is_some())).collect();
        assert_eq!(whats, [("cargo test", true), ("cargo doc", true)]);
        assert_eq!((over.took_ms, over.session), (80, SESSION));
        let times: Vec<_> = over.steps.iter().map(|step| (step.after_ms, step.took_ms)).collect();
        assert_eq!(times, [(20, 30), (40, 30)]);
        let last = seen.finish(Some("Fixing it."), moment(base, 0), base + Duration::from_secs(1), SESSION);
        assert_eq!(last.map(|turn| (turn.words, turn.took_ms)), Some(("Fixing it.".to_owned(), 920)));
        assert_eq!(seen.finish(Some("Fixing it."), moment(base, 0), base, SESSION), None, "said before");
    }

    #[test]
    fn a_program_that_tells_of_no_turn_had_one() {
        let base = Instant::now();
        let mut seen = Observer::default();
        let turn = seen.finish(Some("41 beans"), moment(base, 5), base + Duration::from_millis(105), SESSION);
        let turn = turn.expect("it said something");
        assert_eq!((turn.words.as_str(), turn.at.as_millis(), turn.took_ms), ("41 beans", 5, 100));
        assert_eq!(Observer::default().finish(Some(" \n"), moment(base, 0), base, SESSION), None);
    }

    #[test]
    fn a_flood_is_bounded_and_counted() {
        let base = Instant::now();
        let mut seen = Observer::default();
        for n in 0..1_000 {
            seen.words(&"word ".repeat(100), moment(base, 0), SESSION);
            seen.started(&n.to_string(), "Bash", bash(&"x".repeat(5_000)), moment(base, 0), SESSION);
        }
        let turn = seen.close(base, SESSION).expect("a turn");
        assert!(turn.words.len() <= WORDS_MAX && turn.steps.iter().all(|step| step.what.len() <= WHAT_MAX));
        assert_eq!((turn.steps.len(), turn.more), (STEPS_MAX, 1_000 - 12));
    }

    #[test]
    fn a_secret_across_a_cut_does_not_stay_in_halves() {
        const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        let base = Instant::now();
        // For one of these lengths the secret lies across the cut.
        for before in (0..WORDS_MAX).step_by(10) {
            let long = format!("{} {TOKEN} {}", "x".repeat(before), "y".repeat(2_000));
            let mut seen = Observer::default();
            seen.words(&long, moment(base, 0), SESSION);
            seen.started("a", "Bash", bash("ls"), moment(base, 0), SESSION);
            seen.described("a", bash(&long));
            seen.ended("a", end(true, &long), base);
            seen.started("b", "Bash", bash(&long), moment(base, 0), SESSION);
            let turn = seen.close(base, SESSION).expect("a turn");
            let said = turn.steps[0].end.as_ref().map(|end| end.said.as_str()).unwrap_or_default();
            for text in [&turn.words, &turn.steps[0].what, said, &turn.steps[1].what] {
                assert!(!text.contains("ghp_") && !text.contains("456789"), "{before}: {text}");
            }
            assert_eq!(turn.steps[0].digest, bash(&long).digest, "two texts are told apart by all of them");
        }
    }

    #[test]
    fn long_texts_are_the_same_only_as_a_whole() {
        let long = |middle: &str| format!("{}{middle}{}", "a".repeat(4_000), "b".repeat(4_000));
        let seen = |middle: &str| {
            let mut seen = Observer::default();
            let base = Instant::now();
            seen.started("a", "Bash", bash("ls"), moment(base, 0), SESSION);
            seen.ended("a", end(true, &long(middle)), base);
            seen.close(base, SESSION).and_then(|turn| turn.steps[0].end.clone()).expect("it has ended")
        };
        let (one, other) = (seen("1"), seen("2"));
        assert_eq!(one.said, other.said, "the excerpts do not show it");
        assert_ne!(one.digest, other.digest);
        assert_eq!(one, seen("1"));
    }
}
