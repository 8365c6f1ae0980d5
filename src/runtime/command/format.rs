//! The JSON output of CLIs in single requests, one object per line.
//!
//! The structure gives the text, the tools, the tokens, the name of the conversation, and the outcome. Without an
//! outcome, the exit code and the operator's patterns decide, as for any other program.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::codex::Codex;
use super::gemini::Gemini;
use super::opencode::Opencode;
use crate::core::detail::Own;
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::spec::Output;
use crate::core::turn::End;
use crate::core::usage::Reading;
use crate::redact::Redactor;
use crate::runtime::acp::quirks::Quirks;
use crate::runtime::classify::last_of;
use crate::runtime::claude::Printed;
use crate::runtime::observing::Call;
use crate::runtime::protocol::Happening;
use crate::runtime::text::{LINE_MAX, Tail, both_ends_kept, grow, kept_word, one_line};
use crate::runtime::{Launch, Local};

/// Maximum length of the final text that is kept, in bytes; the longest answers have a few kilobytes.
const TEXT_MAX: usize = 64 * 1024;

/// Maximum number of open tool calls that are tracked, far above the number of parallel calls of any agent.
const OPEN_MAX: usize = 256;

/// A parser for the output of one CLI.
pub(in crate::runtime) trait Format: Debug + Send {
    /// Handles a line of standard output, without its line end.
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>);

    /// Returns the outcome of the session, if the output reported it.
    fn result(&mut self) -> Option<Outcome>;

    /// Returns the number of turns and the usage so far.
    fn used(&self) -> (u32, Usage);

    /// Returns the category of the failure that a line of standard error reports, if it does.
    fn category_of(&self, line: &str) -> Option<Category>;

    /// Returns the limit for which the CLI waits, according to its latest output. If standard output does not show it,
    /// the lines of standard error since then do; a stack trace may follow the reason.
    fn retrying(&self, stderr: &Tail) -> Option<Outcome> {
        last_of(stderr.newest(), |line| self.category_of(line))
    }

    /// Returns true if the CLI writes to standard error only when it exits.
    fn tells_when_it_leaves(&self) -> bool {
        false
    }
}

/// Returns the parser for the output of the agent in `launch`; `None` for plain text.
pub(super) fn of(launch: &Launch, local: &Local) -> Option<Box<dyn Format>> {
    let (model, redactor) = (launch.spec.model.clone(), local.redactor.clone());
    let told = Told { model, redactor, ..Told::default() };
    match launch.spec.output {
        Output::Text => None,
        Output::Claude => Some(Box::new(Printed::of(launch, local))),
        Output::Codex => Some(Box::new(Codex::new(told))),
        Output::Gemini => Some(Box::new(Gemini::new(told))),
        Output::Opencode => Some(Box::new(Opencode::new(told))),
    }
}

/// Returns the peculiarities of the program in `launch`, if the output format identifies it.
pub(super) fn quirks(launch: &Launch) -> Option<Quirks> {
    match launch.spec.output {
        Output::Text | Output::Claude | Output::Codex => None,
        Output::Gemini => Some(Quirks::of_program("gemini")),
        Output::Opencode => Some(Quirks::of_program("opencode")),
    }
}

/// The state that the output has reported so far, in the form that all parsers share.
#[derive(Debug, Default)]
pub(super) struct Told {
    redactor: Redactor,
    named: bool,
    words: String,
    last_words: Option<String>,
    calls: BTreeSet<String>,
    /// True if the agent called a tool.
    acted: bool,
    /// Name of the model; empty if it is not known.
    pub(super) model: String,
    /// Number of turns, as counted by the CLI.
    pub(super) turns: u32,
    /// Usage of the session so far.
    pub(super) usage: Usage,
    /// Usage of the last turn.
    turn: Usage,
    /// True if the CLI reports the cost in dollars.
    pub(super) names_cost: bool,
    result: Option<Outcome>,
}

impl Told {
    /// Handles the id of the conversation: notes it in the log. The next session does not use it, but a person can
    /// resume the conversation with it.
    pub(super) fn named(&mut self, conversation: Option<&str>, happened: &mut Vec<Happening>) {
        if let Some(name) = conversation.filter(|name| !self.named && !name.trim().is_empty()) {
            self.named = true;
            happened.push(Happening::TurnStarted);
            happened.push(Happening::Note(format!("conversation {}", one_line(name, 100))));
        }
    }

    /// Returns a word of the CLI without secrets and cut.
    pub(super) fn word(&self, text: &str) -> String {
        kept_word(text, &self.redactor)
    }

    /// Adds a piece to the message that arrives in pieces.
    pub(super) fn piece(&mut self, text: &str) {
        grow(&mut self.words, text, TEXT_MAX, &self.redactor);
    }

    /// Handles a complete message: reports it as the agent's words.
    pub(super) fn say(&mut self, text: &str, happened: &mut Vec<Happening>) {
        if !text.trim().is_empty() {
            let text = both_ends_kept(text, TEXT_MAX, &self.redactor);
            self.last_words = Some(text.clone());
            happened.push(Happening::Words(text));
        }
    }

    /// Ends the message that arrived in pieces.
    pub(super) fn flush(&mut self, happened: &mut Vec<Happening>) {
        let words = std::mem::take(&mut self.words);
        self.say(&words, happened);
    }

    /// Handles the start of a tool call, once per call.
    pub(super) fn begins(&mut self, id: &str, name: &str, call: Call, happened: &mut Vec<Happening>) {
        let id = one_line(id, LINE_MAX);
        self.acted = true;
        if self.calls.len() < OPEN_MAX && self.calls.insert(id.clone()) {
            let name = one_line(name, 100);
            happened.push(Happening::ToolStarted { id, name, call: Box::new(call) });
        }
    }

    /// Handles the end of a tool call that has started.
    pub(super) fn ends(&mut self, id: &str, end: End, happened: &mut Vec<Happening>) {
        let id = one_line(id, LINE_MAX);
        if self.calls.remove(&id) {
            happened.push(Happening::ToolEnded { id, end: Box::new(end) });
        }
    }

    /// Adds the usage of a turn that has ended.
    pub(super) fn used(&mut self, turn: Usage) {
        self.usage.add(turn);
        self.turn = turn;
    }

    /// Reports the turns and the usage so far.
    pub(super) fn counted(&self, happened: &mut Vec<Happening>) {
        let unpriced = if self.names_cost { Usage::default() } else { self.usage };
        let (model, turn) = (one_line(&self.model, LINE_MAX), self.turn);
        let reading = Reading { usage: self.usage, unpriced, model, turn };
        happened.push(Happening::Progress { turns: self.turns, reading });
    }

    /// Sets the outcome of the session, as far as it is known.
    pub(super) fn goes(&mut self, outcome: Outcome) {
        self.result = Some(outcome);
    }

    /// Handles a reported success. Without any text or tool call, it counts as a failure.
    pub(super) fn succeeded(&mut self) {
        if self.last_words.is_none() && !self.acted {
            return self.goes(Outcome::new(Category::Transient, Own::NothingSaid));
        }
        self.result = Some(Outcome { text: self.last_words.clone(), ..Outcome::new(Category::Success, "") });
    }

    /// Returns true if the outcome of the session is known.
    pub(super) fn is_known(&self) -> bool {
        self.result.is_some()
    }

    /// Takes the outcome of the session, see [`Format::result`].
    pub(super) fn result(&mut self) -> Option<Outcome> {
        self.result.take()
    }
}
