//! The patterns of repetition, each searched for in one window of an agent's turns.

use std::time::Duration;

use super::command::Effect;
use super::finding::{Finding, evidence};
use super::seen::Seen;
use super::shape;
use super::trouble::Trouble;
use crate::turn::{Kind, Turn};

/// Minimum number of turns with the same failing call for a finding, if they follow each other.
const FAILURES: usize = 3;
/// Minimum number of turns with the same failing call for a finding, if other turns are in between: exploring can be a
/// reason to look again.
const FAILURES_SPREAD: usize = 4;
/// Minimum number of turns with the same failing call for a finding, if the trouble passes by itself: a network or a
/// lock is given a few tries.
const FAILURES_PASSING: usize = 5;
/// Minimum number of turns with the same succeeding command for a finding: running a test a few times to see whether it
/// is flaky is honest work.
const SUCCESSES: usize = 5;
/// Minimum number of turns that read the same file, or make the same search, for a finding.
const READS: usize = 4;
/// Minimum number of turns that ask for the same progress and get the same answer, for a finding: builds and
/// deployments take their time.
const POLLS: usize = 10;
/// Minimum number of such turns if the agent pauses in between, for a finding: nearly the whole window.
const POLLS_PAUSING: usize = 18;
/// Minimum duration of a turn that asks for progress to count as a pause.
const PAUSE: Duration = Duration::from_secs(10);
/// Minimum number of turns in which another tool gives the same answer, for a finding: many tools report on something
/// under way.
const ANSWERS: usize = 6;
/// Minimum number of turns that make the same edit, for a finding.
const EDITS: usize = 3;
/// Minimum number of turns with the same error, whichever command is run, for a finding.
const ERRORS: usize = 5;
/// Minimum number of turns with the same error if files were changed in between, for a finding: each change was a try
/// of its own.
const ERRORS_EDITED: usize = 5;
/// Minimum number of turns in which the agent says the same, for a finding.
const SAYINGS: usize = 4;
/// Minimum number of words of a text that is compared with others: shorter ones ("Done.", "Next file.") are courtesies.
const WORDS_MIN: usize = 8;
/// Similarity from which two texts count as the same, in percent of their words.
const LIKENESS: usize = 85;
/// Minimum number of turns without a changed file, for a finding.
const TURNS_UNCHANGED: usize = 12;
/// Minimum share of the turns without a changed file that only repeated something or failed, in percent.
const IDLE: usize = 60;
/// Minimum number of silences for a finding.
const GAPS: usize = 3;
/// Minimum duration of a silence: no model thinks that long, and a person reading along would ask.
const GAP: Duration = Duration::from_secs(180);
/// Maximum age of the last silence for a finding, in turns.
const GAP_TURNS: usize = 5;

/// The turns in which patterns are searched for, with their steps prepared for comparison.
pub(super) struct Window<'a> {
    turns: &'a [&'a Turn],
    seen: Vec<Seen<'a>>,
    /// For each step: true if it succeeded with something not seen before.
    novel: Vec<bool>,
    /// For each step: true if it looks at something not looked at before.
    looks_anew: Vec<bool>,
    /// For each step: true if it changed files.
    changed: Vec<bool>,
    /// Index of the first step after the last change of a file.
    since: usize,
}

/// The turns in which the same step or words came again: the first, the last, and their number.
struct Returns {
    first: usize,
    last: usize,
    times: usize,
}

impl Returns {
    /// Counts the turns in an ascending list of turn numbers, in which one turn may come several times; `None` if it is
    /// empty.
    fn of(turns: impl Iterator<Item = usize>) -> Option<Self> {
        let mut returns: Option<Self> = None;
        for turn in turns {
            match &mut returns {
                None => returns = Some(Self { first: turn, last: turn, times: 1 }),
                Some(returns) if turn > returns.last => {
                    returns.last = turn;
                    returns.times += 1;
                }
                Some(_) => {}
            }
        }
        returns
    }

    /// Returns the distance from the first to the last turn, both included.
    fn span(&self) -> usize {
        self.last - self.first + 1
    }

    /// Returns true if the repeated step came in every turn from the first to the last.
    fn each(&self) -> bool {
        self.span() == self.times
    }

    /// Returns the usual interval between two repetitions, in turns.
    fn pace(&self) -> usize {
        (self.last - self.first).div_ceil(self.times.saturating_sub(1).max(1))
    }

    fn count(&self) -> u32 {
        u32::try_from(self.times).unwrap_or(u32::MAX)
    }
}

impl<'a> Window<'a> {
    pub(super) fn new(turns: &'a [&'a Turn]) -> Self {
        let steps =
            turns.iter().enumerate().flat_map(|(at, turn)| turn.steps.iter().map(move |step| (at, step)));
        let seen: Vec<Seen<'a>> = steps.map(|(at, step)| Seen::new(at, step)).collect();
        let mut novel = Vec::with_capacity(seen.len());
        let mut changed = Vec::with_capacity(seen.len());
        let mut looks_anew = Vec::with_capacity(seen.len());
        for (at, this) in seen.iter().enumerate() {
            let before = &seen[..at];
            let again = before.iter().any(|other| this.repeats(other));
            let edited_so = this.step.kind == Kind::Edit
                && before.iter().any(|other| same_edit(this, other) && !other.failed);
            novel.push(!this.failed && !again);
            looks_anew
                .push(this.effect == Effect::Looks && !before.iter().any(|other| this.call == other.call));
            changed.push(this.changed && !edited_so && (this.step.kind == Kind::Edit || !again));
        }
        let seen_change = changed.iter().rposition(|changed| *changed).map_or(0, |at| at + 1);
        // Steps that were not kept may have changed anything.
        let hidden = turns.iter().rposition(|turn| turn.more > 0);
        let after_hidden = hidden.map_or(0, |turn| seen.partition_point(|seen| seen.turn <= turn));
        let since = seen_change.max(after_hidden);
        Self { turns, seen, novel, looks_anew, changed, since }
    }

    pub(super) fn find(&self) -> Option<Finding> {
        self.same_edit()
            .or_else(|| self.same_run())
            .or_else(|| self.same_error())
            .or_else(|| self.same_words())
            .or_else(|| self.no_change())
            .or_else(|| self.long_gaps())
    }

    /// Returns true if a repetition still lasts: the next one is not overdue, or nothing new was done since the last.
    fn goes_on(&self, returns: &Returns) -> bool {
        let ago = self.turns.len() - 1 - returns.last;
        let pace = returns.pace();
        ago < pace || (ago == pace && !self.is_novel_after(returns.last))
    }

    fn is_novel_after(&self, turn: usize) -> bool {
        self.seen.iter().zip(&self.novel).any(|(seen, novel)| seen.turn > turn && *novel)
    }

    /// Returns the first turn whose steps all come after the last change.
    fn first_unchanged(&self) -> usize {
        self.since.checked_sub(1).and_then(|at| self.seen.get(at)).map_or(0, |seen| seen.turn + 1)
    }

    /// Searches for one edit that is made many times.
    fn same_edit(&self) -> Option<Finding> {
        let edits = || self.seen.iter().filter(|seen| seen.step.kind == Kind::Edit);
        let last = edits().next_back()?;
        let same = || edits().filter(|seen| same_edit(seen, last));
        let returns = Returns::of(same().map(|seen| seen.turn))?;
        let at = self.seen.iter().rposition(|seen| same_edit(seen, last))?;
        let tries = self.tries(at, 0, |seen| same_edit(seen, last));
        // Switching back and forth between two measurements brings a result each time.
        let measures = !last.failed && self.brings_news(last, &tries);
        (returns.times >= EDITS && !measures && self.goes_on(&returns)).then(|| Finding::SameEdit {
            file: evidence(&last.step.what),
            times: returns.count(),
            failed: same().all(|seen| seen.failed),
        })
    }

    /// Searches for one command or call that gives one result many times, since the last change of a file.
    fn same_run(&self) -> Option<Finding> {
        let mut best: Option<(Returns, &Seen<'_>)> = None;
        for (at, this) in self.seen.iter().enumerate().skip(self.since).rev() {
            let later = self.seen.iter().skip(at + 1).any(|other| this.repeats(other));
            if later || this.step.kind == Kind::Edit {
                continue;
            }
            let tries = self.tries(at, self.since, |other| this.repeats(other));
            let Some(returns) = Returns::of(tries.iter().map(|at| self.seen[*at].turn)) else { continue };
            let more = best.as_ref().is_none_or(|(best, _)| returns.times > best.times);
            let enough = self.is_enough(this, &tries, &returns) && self.goes_on(&returns);
            if more && enough && !self.brings_news(this, &tries) && !self.reads_on(&tries) {
                best = Some((returns, this));
            }
        }
        let (returns, seen) = best?;
        let times = returns.count();
        Some(match seen.step.kind {
            Kind::Command => {
                Finding::SameCommand { command: evidence(&seen.step.what), times, failed: seen.failed }
            }
            Kind::Edit | Kind::Read | Kind::Other => {
                Finding::SameCall { tool: evidence(&seen.step.tool), what: evidence(&seen.step.what), times }
            }
        })
    }

    /// Searches for one error that comes many times, whichever command was run and whatever was changed.
    fn same_error(&self) -> Option<Finding> {
        // A failed search counts as looking around.
        let counts = |seen: &Seen<'_>| !seen.waits && seen.effect != Effect::Looks;
        let mut troubled = self.seen.iter().enumerate().rev().filter(|(_, seen)| counts(seen));
        let (last_at, last, trouble) =
            troubled.find_map(|(at, seen)| Some((at, seen, seen.trouble.as_ref()?)))?;
        let same = |other: &Seen<'_>| counts(other) && other.trouble.is_some_and(|other| other.is(trouble));
        let tries = self.tries(last_at, 0, same);
        let returns = Returns::of(tries.iter().map(|at| self.seen[*at].turn))?;
        let first_at = *tries.first()?;
        let edited = self.changed.get(first_at..last_at).is_some_and(|changed| changed.contains(&true));
        let differs = tries.iter().any(|at| self.seen[*at].call != last.call);
        let mut enough = if edited { ERRORS_EDITED } else { ERRORS };
        if trouble.passes() {
            enough += 2;
        }
        let clear = trouble.explicit || !edited;
        let found =
            clear && (edited || differs) && returns.times >= enough && returns.span() <= 3 * returns.times;
        (found && self.goes_on(&returns) && !self.reads_on(&tries)).then(|| Finding::SameError {
            error: evidence(trouble.words),
            times: returns.count(),
            edited,
        })
    }

    /// Searches for the same words said many times, without anything new done.
    fn same_words(&self) -> Option<Finding> {
        let from = self.first_unchanged();
        let tail = self.turns.iter().enumerate().skip(from);
        let mut said: Vec<(usize, Vec<u32>)> = tail
            .map(|(at, turn)| (at, shape::words(&turn.words)))
            .filter(|(_, words)| words.len() >= WORDS_MIN)
            .collect();
        said.retain(|(at, _)| !self.is_getting_on(*at));
        let (last, words) = said.last()?;
        // Without a tool call each of them answers someone: then they are the same only with nothing else said in
        // between.
        let answers = self.turns[*last].steps.is_empty();
        let same = said.iter().filter(|(_, other)| shape::likeness(words, other) >= LIKENESS);
        let returns = Returns::of(same.map(|(at, _)| *at))?;
        let dense = returns.each() || (!answers && returns.span() <= 2 * returns.times);
        (returns.times >= SAYINGS && dense && self.goes_on(&returns))
            .then(|| Finding::SameWords { words: evidence(&self.turns[*last].words), times: returns.count() })
    }

    /// Returns true if a turn does something new, reads something new, waits, or meets trouble that passes by itself or
    /// comes and goes.
    fn is_getting_on(&self, turn: usize) -> bool {
        let steps = self
            .seen
            .iter()
            .zip(&self.novel)
            .zip(&self.looks_anew)
            .filter(|((seen, _), _)| seen.turn == turn);
        let passing = |seen: &Seen<'_>| {
            seen.trouble.is_some_and(|trouble| trouble.passes())
                || self.seen.iter().any(|other| other.call == seen.call && other.failed != seen.failed)
        };
        steps.into_iter().any(|((seen, novel), anew)| *novel || *anew || seen.waits || passing(seen))
    }

    /// Returns the indices of the equal steps up to `last`, back to `from` or to where one of them had the other
    /// result: then it was solved, or comes and goes.
    fn tries(&self, last: usize, from: usize, same: impl Fn(&Seen<'_>) -> bool) -> Vec<usize> {
        let failed = self.seen[last].failed;
        let mut tries: Vec<usize> = Vec::new();
        for at in (from..=last).rev() {
            let this = &self.seen[at];
            if same(this) {
                tries.push(at);
            } else if failed != this.failed {
                let later = tries.iter().any(|at| self.seen[*at].call == this.call);
                let earlier =
                    || self.seen[from..at].iter().any(|other| other.call == this.call && same(other));
                if later || earlier() {
                    break;
                }
            }
        }
        tries.reverse();
        tries
    }

    /// Returns true if something new is mostly done between two repetitions of a step.
    fn brings_news(&self, of: &Seen<'_>, tries: &[usize]) -> bool {
        let is_news = |at: usize| {
            let seen = &self.seen[at];
            self.novel[at] && seen.call != of.call && (!of.failed || seen.effect != Effect::Looks)
        };
        // A turn without a step ends a request; what follows was requested by someone.
        let asked = |pair: &[usize]| {
            let mut turns = self.seen[pair[0]].turn..self.seen[pair[1]].turn;
            turns.any(|turn| self.turns[turn].steps.is_empty())
        };
        let between = tries.windows(2).filter(|pair| (pair[0]..pair[1]).any(is_news) || asked(pair)).count();
        2 * between > tries.len().saturating_sub(1)
    }

    /// Returns true if most of the repeated failures show lines, beside their error, that earlier ones did not: output
    /// of a probe, another part of a long output.
    fn reads_on(&self, tries: &[usize]) -> bool {
        let mut known: Vec<u64> = Vec::new();
        let mut anew = 0;
        for at in tries {
            let seen = &self.seen[*at];
            if !seen.failed {
                return false;
            }
            let before = known.len();
            for line in seen.trouble.iter().flat_map(Trouble::around) {
                if !known.contains(&line) {
                    known.push(line);
                }
            }
            anew += usize::from(known.len() > before);
        }
        // The first one shows all its lines for the first time.
        2 * anew.saturating_sub(1) > tries.len().saturating_sub(1)
    }

    /// Returns true if something waits between most of the repetitions of a step.
    fn pauses(&self, tries: &[usize]) -> bool {
        let waits = |at: usize| self.seen[at].waits;
        let between = tries.windows(2).filter(|pair| (pair[0] + 1..pair[1]).any(waits)).count();
        tries.len() > 1 && 2 * between >= tries.len() - 1
    }

    /// Returns true if a step was repeated often and densely enough for a finding.
    fn is_enough(&self, seen: &Seen<'_>, tries: &[usize], returns: &Returns) -> bool {
        let passing = seen.trouble.is_some_and(|trouble| trouble.passes());
        let long = |at: &usize| Duration::from_millis(self.turns[self.seen[*at].turn].took_ms) >= PAUSE;
        let pausing = self.pauses(tries) || (seen.waits && tries.iter().all(long));
        let (times, turns_each) = match (seen.waits, seen.failed) {
            (true, _) if pausing => (POLLS_PAUSING, 2),
            (false, _) if pausing => (POLLS, 3),
            (true, _) => (POLLS, 2),
            (false, true) if passing => (FAILURES_PASSING, 3),
            (false, true) if returns.each() => (FAILURES, 1),
            (false, true) => (FAILURES_SPREAD, 3),
            (false, false) if seen.step.kind == Kind::Read => (READS, 2),
            // A result such as "ok" only says that something was done, and some things are done many times.
            (false, false) if seen.is_terse() => (POLLS, 2),
            (false, false) if seen.step.kind == Kind::Other => (ANSWERS, 2),
            (false, false) => (SUCCESSES, 2),
        };
        returns.times >= times && returns.span() <= returns.times * turns_each
    }

    /// Yields the steps of a turn, each with whether it succeeded with something not seen before.
    fn of_turn(&self, turn: usize) -> impl Iterator<Item = (&Seen<'a>, bool)> {
        self.seen
            .iter()
            .zip(&self.novel)
            .filter(move |(seen, _)| seen.turn == turn)
            .map(|(seen, novel)| (seen, *novel))
    }

    /// Searches for many turns without a change, most of which bring nothing new. Turns that only read or wait do not
    /// count as idle.
    fn no_change(&self) -> Option<Finding> {
        let from = self.first_unchanged();
        let turns = self.turns.len() - from;
        let idle = (from..self.turns.len()).filter(|turn| self.is_idle(*turn)).count();
        let found =
            turns >= TURNS_UNCHANGED && idle * 100 >= turns * IDLE && self.is_idle(self.turns.len() - 1);
        found.then(|| Finding::NoChange {
            turns: u32::try_from(turns).unwrap_or(u32::MAX),
            idle: u32::try_from(idle).unwrap_or(u32::MAX),
        })
    }

    /// Returns true if a turn tried something, and all of it failed or was a repetition.
    fn is_idle(&self, turn: usize) -> bool {
        let mut tried = false;
        for (seen, novel) in self.of_turn(turn) {
            if novel || seen.waits || self.reports(seen) {
                return false;
            }
            tried |= seen.effect != Effect::Looks;
        }
        tried
    }

    /// Returns true if a failure shows test results for the first time, which is new information.
    fn reports(&self, seen: &Seen<'_>) -> bool {
        seen.trouble.is_some_and(|trouble| trouble.is_report())
            && self.seen.iter().filter(|other| other.repeats(seen)).count() == 1
    }

    /// Searches for long silences between a tool's result and the model's next answer.
    fn long_gaps(&self) -> Option<Finding> {
        let mut gaps = Vec::new();
        for (at, pair) in self.turns.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let owed = before.session == after.session && self.of_turn(at).any(|(seen, _)| !seen.waits);
            let silent = after.at.since(before.at).saturating_sub(Duration::from_millis(before.took_ms));
            if owed && silent >= GAP {
                gaps.push((at, silent));
            }
        }
        let (first, last) = (gaps.first()?.0, gaps.last()?.0);
        let changed =
            self.seen.iter().zip(&self.changed).any(|(seen, changed)| seen.turn > first && *changed);
        let recent = self.turns.len() - 1 - last <= GAP_TURNS;
        let longest = gaps.iter().map(|(_, silent)| *silent).max()?;
        (gaps.len() >= GAPS && recent && !changed).then(|| Finding::LongGaps {
            times: u32::try_from(gaps.len()).unwrap_or(u32::MAX),
            longest_ms: u64::try_from(longest.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

fn same_edit(a: &Seen<'_>, b: &Seen<'_>) -> bool {
    a.step.kind == b.step.kind && a.step.digest == b.step.digest && a.step.what == b.step.what
}
