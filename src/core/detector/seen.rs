//! A step as it is compared with others: what it was, what came of it, what it did.

use super::command::{self, Command, Effect};
use super::line;
use super::shape::{self, Hash};
use super::trouble::Trouble;
use crate::core::turn::{Kind, Step};

/// A shorter result says "ok".
const TERSE: usize = 16;

/// A step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    /// The turn's index in the window.
    pub(super) turn: usize,
    /// The step itself.
    pub(super) step: &'a Step,
    /// The same for the same call.
    pub(super) call: u64,
    /// The same for the same result.
    pub(super) result: u64,
    /// Whether it failed, by the runtime's word or its own.
    pub(super) failed: bool,
    /// What went wrong, if it failed and says so.
    pub(super) trouble: Option<Trouble<'a>>,
    /// What it does.
    pub(super) effect: Effect,
    /// Whether it changed files, if it was not done just so before.
    pub(super) changed: bool,
    /// Whether it waits, or asks how something is getting on.
    pub(super) waits: bool,
}

impl<'a> Seen<'a> {
    pub(super) fn new(turn: usize, step: &'a Step) -> Self {
        let command = (step.kind == Kind::Command).then(|| Command::read(&step.what));
        let failed =
            step.end.as_ref().is_some_and(|end| !end.ok || (command.is_some() && confesses(&end.said)));
        let trouble = step.end.as_ref().filter(|_| failed).and_then(|end| {
            let trouble = Trouble::of(&end.said)?;
            // What a tool refuses is about what it was asked for.
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
        // What comes of a measurement is the times that are else left out.
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

    /// Whether its result says next to nothing: that something was done, not what it came to.
    pub(super) fn is_terse(&self) -> bool {
        self.step.kind != Kind::Read && self.step.end.as_ref().is_none_or(|end| end.said.trim().len() < TERSE)
    }

    /// Whether it is the same call with the same result as `other`.
    pub(super) fn repeats(&self, other: &Seen<'_>) -> bool {
        self.step.kind == other.step.kind && self.call == other.call && self.result == other.result
    }
}

/// The same for the same call. A command that was too long to keep whole counts by all of it.
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

/// The same for the same result: of a failure its error, else all that was said.
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

/// The same for the very same words: a clock that goes on in them shows that the other side does.
fn exactly(step: &Step) -> u64 {
    step.end.as_ref().map_or(0, |end| end.digest)
}

/// Whether a result says that something is still on its way.
fn is_under_way(step: &Step) -> bool {
    const SIGNS: &[&str] =
        &["pending", "queued", "in progress", "in_progress", "still ", "not finished", "not ready"];
    const OF_TOOLS: &[&str] =
        &["running", "waiting", "building", "starting", "processing", "provisioning", "creating"];
    let said = step.end.as_ref().map_or("", |end| end.said.as_str());
    // A long output speaks of many things.
    let signs =
        line::has_one_of(said, SIGNS) || (step.kind == Kind::Other && line::has_one_of(said, OF_TOOLS));
    step.kind != Kind::Read && said.len() <= 200 && signs
}

/// Whether an output says that it failed although its exit code does not: the rule for what runs through a pipe.
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
