//! What the CLIs print that are asked once and answer in JSON, a line each.
//!
//! It is read by its structure: words, tools, tokens, the conversation's name, and how it went. What a line does not say
//! stays what it is with any program: the exit code decides, and the operator's patterns.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::codex::Codex;
use super::gemini::Gemini;
use super::opencode::Opencode;
use crate::core::cut::both_ends;
use crate::core::detail::Own;
use crate::core::outcome::{Category, Outcome, Usage};
use crate::core::spec::Output;
use crate::core::turn::End;
use crate::core::usage::Reading;
use crate::runtime::Launch;
use crate::runtime::acp::quirks::Quirks;
use crate::runtime::classify::last_of;
use crate::runtime::claude::Printed;
use crate::runtime::observing::Call;
use crate::runtime::protocol::Happening;
use crate::runtime::text::{LINE_MAX, Tail, grow, one_line};

/// The final text that is kept: the longest answers are a few kilobytes.
const TEXT_MAX: usize = 64 * 1024;

/// The reason that is kept, for people: an API's error page is not worth more.
pub(super) const DETAIL_MAX: usize = 4 * 1024;

/// Calls that are known to have begun: far above what agents make at the same time.
const OPEN_MAX: usize = 256;

/// How one of them prints.
pub(in crate::runtime) trait Format: Debug + Send {
    /// One line of standard output, without its end.
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>);

    /// How it went, if it said so.
    fn result(&mut self) -> Option<Outcome>;

    /// Turns and usage so far.
    fn used(&self) -> (u32, Usage);

    /// What a line of standard error means.
    fn category_of(&self, line: &str) -> Option<Category>;

    /// What it waits for, by what it said last; where it prints nothing of that, by what stands on standard error since it last
    /// printed anything: a stack trace may follow the reason.
    fn retrying(&self, stderr: &Tail) -> Option<Outcome> {
        last_of(stderr.newest(), |line| self.category_of(line))
    }

    /// Whether it keeps what it writes to standard error until it leaves.
    fn tells_when_it_leaves(&self) -> bool {
        false
    }
}

/// The one of `launch`; none: text.
pub(super) fn of(launch: &Launch) -> Option<Box<dyn Format>> {
    let told = Told { model: launch.spec.model.clone(), ..Told::default() };
    match launch.spec.output {
        Output::Text => None,
        Output::Claude => Some(Box::new(Printed::of(launch))),
        Output::Codex => Some(Box::new(Codex::new(told))),
        Output::Gemini => Some(Box::new(Gemini::new(told))),
        Output::Opencode => Some(Box::new(Opencode::new(told))),
    }
}

/// What is peculiar to the one of `launch`, if it is known by more than by what it prints.
pub(super) fn quirks(launch: &Launch) -> Option<Quirks> {
    match launch.spec.output {
        Output::Text | Output::Claude | Output::Codex => None,
        Output::Gemini => Some(Quirks::of_program("gemini")),
        Output::Opencode => Some(Quirks::of_program("opencode")),
    }
}

/// What was told so far, in the terms that they share.
#[derive(Debug, Default)]
pub(super) struct Told {
    named: bool,
    words: String,
    last_words: Option<String>,
    calls: BTreeSet<String>,
    /// It made a call.
    acted: bool,
    /// The model, as far as it is known.
    pub(super) model: String,
    /// Turns, as the CLI counts them.
    pub(super) turns: u32,
    /// What was used.
    pub(super) usage: Usage,
    /// What the last turn used of it.
    turn: Usage,
    /// The CLI names what it costs.
    pub(super) names_cost: bool,
    result: Option<Outcome>,
}

impl Told {
    /// The conversation has a name: it is no use to the next session, and of use to a person who takes it up.
    pub(super) fn named(&mut self, conversation: Option<&str>, happened: &mut Vec<Happening>) {
        if let Some(name) = conversation.filter(|name| !self.named && !name.trim().is_empty()) {
            self.named = true;
            happened.push(Happening::TurnStarted);
            happened.push(Happening::Note(format!("conversation {}", one_line(name, 100))));
        }
    }

    /// A piece of a message.
    pub(super) fn piece(&mut self, text: &str) {
        grow(&mut self.words, text, TEXT_MAX);
    }

    /// A whole message.
    pub(super) fn say(&mut self, text: &str, happened: &mut Vec<Happening>) {
        if !text.trim().is_empty() {
            let text = both_ends(text, TEXT_MAX);
            self.last_words = Some(text.clone());
            happened.push(Happening::Words(text));
        }
    }

    /// What was said in pieces is a message.
    pub(super) fn flush(&mut self, happened: &mut Vec<Happening>) {
        let words = std::mem::take(&mut self.words);
        self.say(&words, happened);
    }

    /// A call begins; one that has begun already does not.
    pub(super) fn begins(&mut self, id: &str, name: &str, call: Call, happened: &mut Vec<Happening>) {
        let id = one_line(id, LINE_MAX);
        self.acted = true;
        if self.calls.len() < OPEN_MAX && self.calls.insert(id.clone()) {
            let name = one_line(name, 100);
            happened.push(Happening::ToolStarted { id, name, call: Box::new(call) });
        }
    }

    /// A call ends that has begun.
    pub(super) fn ends(&mut self, id: &str, end: End, happened: &mut Vec<Happening>) {
        let id = one_line(id, LINE_MAX);
        if self.calls.remove(&id) {
            happened.push(Happening::ToolEnded { id, end: Box::new(end) });
        }
    }

    /// A turn is over that used this.
    pub(super) fn used(&mut self, turn: Usage) {
        self.usage.add(turn);
        self.turn = turn;
    }

    /// There is more to count.
    pub(super) fn counted(&self, happened: &mut Vec<Happening>) {
        let unpriced = if self.names_cost { Usage::default() } else { self.usage };
        let (model, turn) = (one_line(&self.model, LINE_MAX), self.turn);
        let reading = Reading { usage: self.usage, unpriced, model, turn };
        happened.push(Happening::Progress { turns: self.turns, reading });
    }

    /// This is how it goes, as far as it is known by now.
    pub(super) fn goes(&mut self, outcome: Outcome) {
        self.result = Some(outcome);
    }

    /// It went well, by its own word: without a word and without a call it did not.
    pub(super) fn succeeded(&mut self) {
        if self.last_words.is_none() && !self.acted {
            return self.goes(Outcome::new(Category::Transient, Own::NothingSaid));
        }
        self.result = Some(Outcome { text: self.last_words.clone(), ..Outcome::new(Category::Success, "") });
    }

    /// Whether it is known how it goes.
    pub(super) fn is_known(&self) -> bool {
        self.result.is_some()
    }

    /// See [`Format::result`].
    pub(super) fn result(&mut self) -> Option<Outcome> {
        self.result.take()
    }
}
