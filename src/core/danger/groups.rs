//! The groups of commands in a script: what stands between the words that open and close one has its standard input.

use super::simple::{Simple, Word};

/// Groups of commands that are open: `{ …; }`, loops, conditions, `case`. All of a group have its standard input.
#[derive(Default)]
pub(super) struct Groups(Vec<Group>);

#[derive(Clone, Copy)]
struct Group {
    piped: bool,
    case: bool,
}

impl Groups {
    /// Words that may stand before the word that opens or closes a group, or between its commands.
    pub(super) fn is_between(word: &Word) -> bool {
        ["do", "then", "else", "elif", "!"].iter().any(|between| word.is_own(between))
    }

    /// Takes in a command that was read.
    pub(super) fn take(&mut self, simple: &Simple) {
        let mut words = simple.words.iter();
        while let Some(word) = words.next() {
            let text = if word.quoted { "" } else { word.text.as_str() };
            match text {
                "{" | "if" | "while" | "until" => self.0.push(Group { piped: simple.piped, case: false }),
                "for" | "select" | "case" => {
                    self.0.push(Group { piped: simple.piped, case: text == "case" });
                    return;
                }
                "}" | "fi" | "done" | "esac" => drop(self.0.pop()),
                "time" => {
                    let options = words.as_slice().iter().take_while(|word| word.text.starts_with('-'));
                    words = words.as_slice().get(options.count()..).unwrap_or_default().iter();
                }
                // The name of what is defined.
                "function" => drop(words.next()),
                "coproc" => {
                    if words.as_slice().get(1).is_some_and(|word| word.is_own("{")) {
                        words.next();
                    }
                }
                _ if Self::is_between(word) => {}
                _ => return,
            }
        }
    }

    pub(super) fn are_piped(&self) -> bool {
        self.0.iter().any(|group| group.piped)
    }

    pub(super) fn end_with_case(&self) -> bool {
        self.0.last().is_some_and(|group| group.case)
    }
}
