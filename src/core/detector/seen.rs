//! A step prepared for comparison: the call, its result and its effect.

use super::command::{self, Command, Effect};
use super::line;
use super::shape::{self, Hash};
use super::trouble::Trouble;
use crate::turn::{Kind, Step};

/// Maximum length of a result that only says "ok", in bytes, exclusive.
const TERSE: usize = 16;

/// A step of a turn, prepared for comparison.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    /// Index of the turn in the window.
    pub(super) turn: usize,
    /// The step itself, as it was recorded.
    pub(super) step: &'a Step,
    /// Hash of the tool call, by which calls are compared.
    pub(super) call: u64,
    /// Hash of the result, by which results are compared.
    pub(super) result: u64,
    /// True if the step failed, by the runtime's report or its own output.
    pub(super) failed: bool,
    /// The error in the output, if the step failed and names one.
    pub(super) trouble: Option<Trouble<'a>>,
    /// Effect of the step on files.
    pub(super) effect: Effect,
    /// True if the step changed files, or may have.
    pub(super) changed: bool,
    /// True if the step waits or asks for the progress of something.
    pub(super) waits: bool,
}

impl<'a> Seen<'a> {
    pub(super) fn new(turn: usize, step: &'a Step) -> Self {
        let command = (step.kind == Kind::Command).then(|| Command::read(&step.what));
        let failed =
            step.end.as_ref().is_some_and(|end| !end.ok || (command.is_some() && confesses(&end.said)));
        let trouble = step.end.as_ref().filter(|_| failed).and_then(|end| {
            let trouble = Trouble::of(&end.said)?;
            // The refusal of a tool concerns its input.
            Some(if command.is_some() { trouble } else { trouble.about(&step.what) })
        });
        let effect = match (step.kind, command) {
            (Kind::Command, Some(command)) => command.effect,
            (Kind::Edit, _) => Effect::Changes,
            (Kind::Read, _) => Effect::Looks,
            (Kind::Other, _) if command::tool_writes(&step.tool) => Effect::Changes,
            (Kind::Other | Kind::Command, _) => Effect::Runs,
        };
        let changed = match command {
            Some(command) => {
                command.changes_first || (!failed && matches!(effect, Effect::Changes | Effect::Unknown))
            }
            None => effect == Effect::Changes && !failed,
        };
        let asks = command.map_or_else(|| command::tool_waits(&step.tool), |command| command.waits);
        // The result of a measurement is the durations that are otherwise ignored.
        let measures = ["bench", "perf", "time "].iter().any(|sign| step.what.contains(sign));
        let pauses = command.is_some_and(|command| command.pauses);
        let waits = asks || (!failed && (pauses || is_under_way(step)));
        Self {
            turn,
            step,
            call: call(step, command),
            result: if (waits || measures) && !failed {
                exactly(step)
            } else {
                result(step, failed, trouble)
            },
            failed,
            trouble,
            effect,
            changed,
            waits,
        }
    }

    /// Returns true if the step's result says hardly more than that something was done.
    pub(super) fn is_terse(&self) -> bool {
        self.step.kind != Kind::Read && self.step.end.as_ref().is_none_or(|end| end.said.trim().len() < TERSE)
    }

    /// Returns true if the step is the same call with the same result as `other`.
    pub(super) fn repeats(&self, other: &Seen<'_>) -> bool {
        self.step.kind == other.step.kind && self.call == other.call && self.result == other.result
    }
}

/// Hashes the tool call of a step. A command that was too long to be kept whole is hashed by its digest.
fn call(step: &Step, command: Option<Command>) -> u64 {
    match command {
        Some(command) if !step.what.contains(" left out …]") => command.run,
        Some(_) | None => {
            let mut hash = Hash::new();
            hash.push(step.tool.as_bytes());
            hash.push(step.what.as_bytes());
            hash.number(step.digest);
            hash.end()
        }
    }
}

/// Hashes the result of a step: the error of a failure, else the whole output.
fn result(step: &Step, failed: bool, trouble: Option<Trouble<'_>>) -> u64 {
    let mut hash = Hash::new();
    hash.push(&[u8::from(failed), u8::from(step.end.is_some())]);
    let Some(end) = &step.end else { return hash.end() };
    match (step.kind, trouble) {
        (Kind::Command | Kind::Other | Kind::Edit, Some(trouble)) => {
            hash.number(trouble.hash);
            hash.number(u64::from(trouble.line.unwrap_or(0)));
        }
        (Kind::Command | Kind::Other, None) => hash.number(shape::of_output(&end.said).hash),
        (Kind::Read | Kind::Edit, _) => hash.number(end.digest),
    }
    hash.end()
}

/// Hashes the exact output of a step, so that a clock that advances in it counts as progress.
fn exactly(step: &Step) -> u64 {
    step.end.as_ref().map_or(0, |end| end.digest)
}

/// Returns true if the result of a step says that something is still under way.
fn is_under_way(step: &Step) -> bool {
    const SIGNS: &[&str] =
        &["pending", "queued", "in progress", "in_progress", "still ", "not finished", "not ready"];
    const OF_TOOLS: &[&str] =
        &["running", "waiting", "building", "starting", "processing", "provisioning", "creating"];
    let said = step.end.as_ref().map_or("", |end| end.said.as_str());
    // A long output mentions many things.
    let signs =
        line::has_one_of(said, SIGNS) || (step.kind == Kind::Other && line::has_one_of(said, OF_TOOLS));
    step.kind != Kind::Read && said.len() <= 200 && signs
}

/// Returns true if an output reports a failure although the exit code does not, as is usual for pipes.
fn confesses(said: &str) -> bool {
    const SIGNS: &[&str] = &[
        "error[e",
        "error: ",
        "panicked at",
        "traceback (most recent call last)",
        "fatal: ",
        "npm err",
        "command not found",
        "build failure",
        "build failed",
        "tests failed",
        "--- fail",
        "error ts",
        "segmentation fault",
        "undefined reference",
        "assertionerror",
        "fail\t",
        "failed tests",
        "test result: failed",
    ];
    line::has_one_of(said, SIGNS)
        || said.lines().any(|line| line.starts_with("FAIL") || line.ends_with("FAILED"))
}
