//! Runtime `command`: any program. The prompt goes in, lines come out, the exit code decides.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::Launch;
use super::protocol::{Feed, Happening, Invocation, Protocol, Steering};
use super::text::{HeadTail, LINE_MAX, Tail, one_line};
use crate::core::cut::both_ends;
use crate::core::detail::{Detail, Own};
use crate::core::id::WorkId;
use crate::core::outcome::{Category, Exit, Outcome};
use crate::core::spec::{Pattern, PromptMode};

/// The final text is what the program printed: this much of it, half from each end. Thousands of lines, and no more in
/// memory and in one entry of the journal than a program may take that prints without end.
const TEXT_MAX: usize = 256 * 1024;

/// What one compiled pattern may take: an operator's pattern is short, and a hostile one fails here.
const PATTERN_SIZE_MAX: usize = 1024 * 1024;

/// By which a program says that it must not be started again.
pub(super) const EXIT_DO_NOT_RESTART: i32 = 2;

/// The place of the prompt in the command line.
const PLACEHOLDER: &str = "{prompt}";

/// Speaks with any program.
#[derive(Debug)]
pub struct Command {
    mode: PromptMode,
    text: HeadTail,
    patterns: Vec<(Regex, Category)>,
}

impl Command {
    /// What to run for `launch`.
    ///
    /// # Errors
    /// If the agent has no command.
    pub fn prepare(
        launch: &Launch,
        environment: BTreeMap<String, String>,
    ) -> Result<(Invocation, Self), Detail> {
        let spec = &launch.spec;
        let Some((program, arguments)) = spec.command.split_first() else {
            return Err(Own::NoCommand.into());
        };
        let arguments = match spec.prompt {
            PromptMode::Stdin => arguments.to_vec(),
            PromptMode::Arg => {
                // A NUL cannot be part of an argument.
                let prompt = launch.prompt.replace('\0', "");
                arguments.iter().map(|argument| argument.replace(PLACEHOLDER, &prompt)).collect()
            }
        };
        let invocation = Invocation { program: program.clone(), arguments, environment };
        let command =
            Self { mode: spec.prompt, text: HeadTail::new(TEXT_MAX), patterns: compile(&spec.patterns) };
        Ok((invocation, command))
    }

    /// The last line of standard error that a pattern knows: what is said last is what it ended with.
    fn recognised<'a>(&self, stderr: &'a Tail) -> Option<(Category, &'a str)> {
        stderr.iter().rev().find_map(|line| {
            let known = self.patterns.iter().find(|(pattern, _)| pattern.is_match(line));
            known.map(|(_, category)| (*category, line))
        })
    }
}

/// Patterns that cannot be compiled are left out: the configuration is checked where it is read.
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
        let bytes = match self.mode {
            PromptMode::Stdin => format!("{}\n", prompt.trim_end_matches('\n')).into_bytes(),
            PromptMode::Arg => Vec::new(),
        };
        Feed { bytes, close: true }
    }

    fn steer(&mut self, _work: WorkId, _text: &str) -> Steering {
        Steering::Refused
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let text = String::from_utf8_lossy(line);
        self.text.push(&text);
        if !text.trim().is_empty() {
            happened.push(Happening::Output(both_ends(&text, LINE_MAX)));
        }
    }

    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome {
        let mut outcome = match exit {
            Some(Exit::Code(0)) => Outcome::new(Category::Success, ""),
            _ => match self.recognised(stderr) {
                Some((category, line)) => Outcome::new(category, line),
                None => died(exit, stderr),
            },
        };
        outcome.text = self.text.text();
        outcome.turns = 1;
        outcome
    }
}

/// The outcome of a process that left without saying how it went.
#[must_use]
pub fn died(exit: Option<Exit>, stderr: &Tail) -> Outcome {
    let how = match exit {
        Some(Exit::Code(code)) => Own::ExitCode { code },
        Some(Exit::Signal(signal)) => Own::Signal { signal },
        None => Own::NotWaitedFor,
    };
    let detail = how.with(stderr.last().map(|line| one_line(line, LINE_MAX)).unwrap_or_default());
    let category = match exit {
        Some(Exit::Code(EXIT_DO_NOT_RESTART)) => Category::DoNotRestart,
        Some(Exit::Code(_) | Exit::Signal(_)) | None => Category::Crash,
    };
    Outcome::new(category, detail)
}
