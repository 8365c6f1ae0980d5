//! Runtime `command`: any program. It receives the prompt and prints lines; the exit code decides.
//!
//! A one-shot CLI that answers in JSON is read by its format ([`mod@format`]): then its own result decides, and the
//! exit code only if there is none.

pub mod classify;
mod codex;
mod format;
mod gemini;
mod opencode;

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::classify::{is_limit, last_known, last_of, left};
use super::process::spawn;
use super::protocol::{Feed, GO, Happening, Invocation, Protocol, Steering};
use super::text::{HeadTail, Tail, both_ends_kept};
use super::{Launch, Local};
use crate::core::detail::{Detail, Own};
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Exit, Outcome, Usage};
use crate::core::spec::{Pattern, PromptMode};
use crate::redact::Redactor;

pub(super) use format::Format;

/// Maximum length of the final text, which is the program's output, in bytes; half from each end. Thousands of lines,
/// bounded in memory and in one journal entry.
const TEXT_MAX: usize = 256 * 1024;

/// Maximum size of one compiled pattern, in bytes: an operator's pattern is short, and a hostile one fails here.
const PATTERN_SIZE_MAX: usize = 1024 * 1024;

/// Exit code by which a program asks not to be restarted.
pub(super) const EXIT_DO_NOT_RESTART: i32 = 2;

/// Placeholder in the command line that the prompt replaces.
const PLACEHOLDER: &str = "{prompt}";

/// State of a session with [`crate::core::spec::Runtime::Command`]: any program that takes a prompt and prints lines.
#[derive(Debug)]
pub struct Command {
    redactor: Redactor,
    program: String,
    mode: PromptMode,
    text: HeadTail,
    patterns: Vec<(Regex, Category)>,
    /// Parser of the program's output; `None` if that is plain text.
    format: Option<Box<dyn Format>>,
}

impl Command {
    /// Builds the invocation of the agent's command for `launch`, and the state of its protocol.
    ///
    /// # Errors
    /// The agent has no command.
    pub fn prepare(
        launch: &Launch,
        local: &Local,
        mut environment: BTreeMap<String, String>,
    ) -> Result<(Invocation, Self), Detail> {
        let spec = &launch.spec;
        if let Some(quirks) = format::quirks(launch) {
            quirks.furnish(&mut environment);
        }
        let Some((program, arguments)) = spec.command.split_first() else {
            return Err(Own::NoCommand.into());
        };
        let arguments = match spec.prompt {
            PromptMode::Stdin => arguments.to_vec(),
            PromptMode::Arg => {
                // An argument cannot contain a NUL.
                let prompt = launch.prompt.replace('\0', "");
                arguments.iter().map(|argument| filled_in(argument, &prompt)).collect()
            }
        };
        let invocation = Invocation { program: program.clone(), arguments, environment, waits: true };
        let command = Self {
            redactor: local.redactor.clone(),
            program: program.clone(),
            mode: spec.prompt,
            text: HeadTail::new(TEXT_MAX),
            patterns: compile(&spec.patterns),
            format: format::of(launch, local),
        };
        Ok((invocation, command))
    }

    /// Returns the category of the first configured pattern that matches a line.
    fn category_of(&self, line: &str) -> Option<Category> {
        self.patterns.iter().find(|(pattern, _)| pattern.is_match(line)).map(|(_, category)| *category)
    }

    /// Returns the last line of standard error that a configured pattern matches, with its category: the last message
    /// is the decisive one.
    fn recognised<'a>(&self, stderr: &'a Tail) -> Option<(Category, &'a str)> {
        stderr.iter().rev().find_map(|line| self.category_of(line).map(|category| (category, line)))
    }

    /// Returns the result in the program's JSON output; `None` if it has none.
    fn told(&mut self) -> Option<Outcome> {
        let mut outcome = self.format.as_mut()?.result()?;
        // An operator's pattern may know a category that the format does not.
        let known = outcome.unknown.then(|| self.category_of(&outcome.detail.to_string())).flatten();
        if let Some(category) = known {
            (outcome.category, outcome.unknown) = (category, false);
        }
        Some(outcome)
    }

    /// Returns the outcome of a process that exited without a result in its output, by its exit code and standard
    /// error.
    fn left(&self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let failed = match exit {
            Some(Exit::Code(0)) => false,
            Some(Exit::Code(code)) if let Some(said) = spawn::not_started(code, stderr) => {
                let program = self.program.clone();
                return Outcome::new(Category::Permanent, Own::NotStarted { program }.with(said));
            }
            // Code 2 asks not to be restarted, whatever was printed; and a process ended by a signal is not asked for a reason.
            Some(Exit::Code(EXIT_DO_NOT_RESTART) | Exit::Signal(_)) | None => return died(exit, stderr),
            Some(Exit::Code(_)) => true,
        };
        if let Some((category, line)) = self.recognised(stderr).filter(|_| failed) {
            return Outcome::new(category, line);
        }
        match &self.format {
            None if failed => died(exit, stderr),
            None => Outcome::new(Category::Success, ""),
            Some(format) => {
                let known = last_known(stderr, |line| format.category_of(line));
                // A program may exit with success although it was denied permission.
                let counts = |known: &Outcome| failed || known.category == Category::SandboxDenial;
                left(exit, known.filter(counts), stderr)
            }
        }
    }
}

/// Replaces the placeholder in an argument by the prompt. A blank is put before a prompt that would otherwise become an
/// option: the author of a task supplies text, not options.
fn filled_in(argument: &str, prompt: &str) -> String {
    let filled = argument.replace(PLACEHOLDER, prompt);
    if argument.starts_with(PLACEHOLDER) && filled.starts_with('-') { format!(" {filled}") } else { filled }
}

/// Compiles the configured patterns; invalid ones are left out, since the configuration is checked when it is read.
fn compile(patterns: &[Pattern]) -> Vec<(Regex, Category)> {
    let compiled = patterns.iter().filter_map(|pattern| {
        let regex = RegexBuilder::new(&pattern.matches).size_limit(PATTERN_SIZE_MAX).build();
        match regex {
            Ok(regex) => Some((regex, pattern.category)),
            Err(error) => {
                tracing::warn!(pattern = pattern.matches, %error, "pattern left out");
                None
            }
        }
    });
    compiled.collect()
}

impl Protocol for Command {
    fn ready_at_start(&self) -> bool {
        true
    }

    fn prompt(&mut self, prompt: &str) -> Feed {
        let mut bytes = GO.to_vec();
        if self.mode == PromptMode::Stdin {
            bytes.extend(prompt.trim_end_matches('\n').as_bytes());
            bytes.push(b'\n');
        }
        Feed { bytes, close: true }
    }

    fn steer(&mut self, _work: WorkId, _text: &str) -> Steering {
        Steering::Refused
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        if let Some(format) = &mut self.format {
            return format.line(line, happened);
        }
        let text = both_ends_kept(&String::from_utf8_lossy(line), TEXT_MAX / 4, &self.redactor);
        self.text.push(&text);
        if !text.trim().is_empty() {
            happened.push(Happening::Output(text));
        }
    }

    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let text = self.text.text().filter(|_| self.format.is_none());
        let mut tail = stderr.clone();
        // Many programs print their reason on standard output.
        text.iter()
            .flat_map(|text| text.lines())
            .for_each(|line| tail.print(self.redactor.redact(line).as_bytes()));
        let mut outcome = self.told().unwrap_or_else(|| self.left(exit, &tail));
        (outcome.turns, outcome.usage) = match &self.format {
            Some(format) => format.used(),
            None => {
                outcome.text = text;
                (1, Usage::default())
            }
        };
        outcome
    }

    /// Returns the limit for which the program waits, by the last line that the configured patterns or its format's
    /// table know.
    fn stalled(&self, stderr: &Tail) -> Option<Outcome> {
        let last = stderr.newest().next_back();
        let by_pattern = last.and_then(|line| Some(Outcome::new(self.category_of(line)?, line)));
        let outcome = by_pattern.or_else(|| self.format.as_ref()?.retrying(stderr))?;
        is_limit(outcome.category).then_some(outcome)
    }

    fn tells_by_its_exit(&self) -> bool {
        self.format.is_none()
    }

    fn was_stalled(&self, stderr: &Tail) -> Option<Outcome> {
        let format = self.format.as_ref().filter(|format| format.tells_when_it_leaves())?;
        last_of(stderr.newest(), |line| format.category_of(line).filter(|category| is_limit(*category)))
    }
}

/// Returns the outcome of a process that exited without a result, by its exit code or signal alone.
#[must_use]
pub fn died(exit: Option<Exit>, stderr: &Tail) -> Outcome {
    let how = match exit {
        Some(Exit::Code(code)) => Own::ExitCode { code },
        Some(Exit::Signal(signal)) => Own::Signal { signal },
        None => Own::NotWaitedFor,
    };
    let detail = how.with(stderr.reason());
    let category = match exit {
        Some(Exit::Code(EXIT_DO_NOT_RESTART)) => Category::DoNotRestart,
        Some(Exit::Code(_) | Exit::Signal(_)) | None => Category::Crash,
    };
    Outcome::new(category, detail)
}
