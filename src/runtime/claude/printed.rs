//! Output of `claude -p` with `--output-format stream-json --verbose` or `json`: the same lines as in a long session,
//! for a single turn without further input.

use std::collections::BTreeMap;

use super::Claude;
use super::classify::Failure;
use crate::core::outcome::{Category, Outcome, Usage};
use crate::runtime::command::Format;
use crate::runtime::protocol::{Happening, Protocol as _};
use crate::runtime::text::{Tail, one_line};
use crate::runtime::{Launch, Local};

/// Parser for the output of `claude -p`, run by a [`crate::core::spec::Runtime::Command`].
#[derive(Debug)]
pub(in crate::runtime) struct Printed {
    claude: Claude,
    named: bool,
}

impl Printed {
    pub(in crate::runtime) fn of(launch: &Launch, local: &Local) -> Self {
        let launch = Launch { conversation: None, ..launch.clone() };
        let local = Local { redactor: local.redactor.clone(), ..Local::default() };
        Self { claude: Claude::prepare(&launch, &local, BTreeMap::new()).1, named: false }
    }
}

impl Format for Printed {
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>) {
        let mut said = Vec::new();
        self.claude.line(line, &mut said);
        for happening in said {
            match happening {
                Happening::Ready { conversation: Some(name) } if !self.named => {
                    self.named = true;
                    happened.push(Happening::Note(format!("conversation {}", one_line(&name, 100))));
                }
                // There is no input on which to answer.
                Happening::Ready { .. }
                | Happening::Reply(_)
                | Happening::Asked { .. }
                | Happening::ConversationLost { .. }
                | Happening::AskWithdrawn { .. } => {}
                other => happened.push(other),
            }
        }
    }

    fn result(&mut self) -> Option<Outcome> {
        let claude = &mut self.claude;
        let said = claude.result.is_some() || !claude.failure.assistant_error.is_empty();
        said.then(|| claude.outcome(None, &Tail::default()))
    }

    fn used(&self) -> (u32, Usage) {
        (self.claude.turns.saturating_add(self.claude.messages), self.claude.usage)
    }

    fn category_of(&self, line: &str) -> Option<Category> {
        Failure::said(line).category()
    }
}
