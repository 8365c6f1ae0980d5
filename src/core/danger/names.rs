//! What a script gives names to: its variables with every value that they are given, whichever branch gives it, and the
//! functions that run what they are given.

use std::collections::{BTreeMap, BTreeSet};

use super::programs::{
    Assignment, DECLARING, RESERVED, assignment, basename, is_script_reader, is_shell, is_wrapper,
};
use super::simple::{Simple, Word};

/// Variables that name a program wherever nothing else is said.
const KNOWN: [(&str, &str); 3] = [("SHELL", "sh"), ("BASH", "bash"), ("PYTHON", "python")];

/// The names in one text.
#[derive(Debug, Default)]
pub(super) struct Names {
    variables: BTreeMap<String, Vec<String>>,
    /// How many values were taken in.
    values: usize,
    /// Functions that run their arguments, and whether one may read a script where it is given one word.
    runners: BTreeMap<String, bool>,
}

impl Names {
    /// What is known before a text is read.
    pub(super) fn new() -> Self {
        let known = KNOWN.map(|(name, program)| (name.to_owned(), vec![program.to_owned()]));
        Self { variables: known.into(), ..Self::default() }
    }

    /// Takes in one value more of a variable, its newest; the number of its values so far.
    pub(super) fn assign(&mut self, name: &str, value: &str) -> usize {
        let values = self.variables.entry(name.to_owned()).or_default();
        match values.iter().position(|known| known == value) {
            Some(at) => values[at..].rotate_left(1),
            None => {
                values.push(value.to_owned());
                self.values += 1;
            }
        }
        values.len()
    }

    /// The number of values that were taken in, of whatever variable.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// The newest value of a variable; nothing if it has none.
    pub(super) fn newest(&self, name: &str) -> &str {
        self.variables.get(name).and_then(|values| values.last()).map_or("", String::as_str)
    }

    /// The number of values that a word may stand for.
    pub(super) fn count(&self, word: &Word) -> usize {
        let Some((name, default)) = variable(word) else { return 0 };
        self.variables.get(name).map_or(0, Vec::len) + usize::from(default.is_some())
    }

    /// The words that a word stands for with one of its values.
    pub(super) fn expanded(&self, word: &Word, value: usize) -> Vec<Word> {
        match self.value(word, value) {
            None => vec![word.clone()],
            Some(value) if word.quoted => vec![Word::of_value(value, true)],
            Some(value) => value.split_whitespace().map(|text| Word::of_value(text, false)).collect(),
        }
    }

    fn value<'a>(&'a self, word: &'a Word, at: usize) -> Option<&'a str> {
        let last = self.count(word).checked_sub(1)?;
        let (name, default) = variable(word)?;
        let known = self.variables.get(name).and_then(|values| values.get(at.min(last)));
        known.map(String::as_str).or(default)
    }

    /// Whether it is a function that runs its arguments.
    pub(super) fn is_runner(&self, name: &str) -> bool {
        self.runners.contains_key(name)
    }

    /// Whether it is one that may read a script where it is given one word.
    pub(super) fn is_script_runner(&self, name: &str) -> bool {
        self.runners.get(name).is_some_and(|reads| *reads)
    }

    /// Takes in the functions of a script that run what they are given, wherever in it they stand; whether one was new.
    /// What stands above a new one may run it.
    pub(super) fn define(&mut self, commands: &[Simple]) -> bool {
        let mut new = false;
        let mut function = None;
        // Variables that have what a function is given.
        let mut carriers = BTreeSet::new();
        for command in commands {
            let mut words = command.words.as_slice();
            while let Some((word, rest)) = words.split_first() {
                words = rest;
                if word.text == "function" {
                    function = rest.first().map(|name| basename(&name.text));
                    words = rest.get(1..).unwrap_or_default();
                } else if let Some(assigned) = assignment(&word.text) {
                    carry(assigned, &mut carriers);
                } else if DECLARING.contains(&word.text.as_str()) {
                    let assigned = rest.iter().filter_map(|word| assignment(&word.text));
                    assigned.for_each(|assigned| carry(assigned, &mut carriers));
                    words = &[];
                } else if command.defines {
                    function = Some(basename(&word.text));
                } else if !RESERVED.contains(&word.text.as_str()) {
                    let reads = self.reads_scripts(word, rest, &carriers);
                    if let (Some(function), Some(reads)) = (&function, reads) {
                        let known = self.runners.get(function).copied();
                        if known.is_none_or(|known| reads && !known) {
                            self.runners.insert(function.clone(), reads);
                            new = true;
                        }
                    }
                    break;
                }
            }
        }
        new
    }

    /// Whether a command that runs what a function is given reads scripts there; `None` if it runs nothing of it.
    fn reads_scripts(&self, program: &Word, arguments: &[Word], carriers: &BTreeSet<&str>) -> Option<bool> {
        if is_given(program, carriers) {
            return Some(!is_word_by_word(program));
        }
        let given: Vec<&Word> = arguments.iter().filter(|word| is_given(word, carriers)).collect();
        let name = basename(&program.text);
        let reads =
            is_shell(&name) || name == "eval" || is_script_reader(&name) || self.is_script_runner(&name);
        let runs = reads || is_wrapper(&name) || self.is_runner(&name);
        (runs && !given.is_empty()).then(|| reads || !given.iter().all(|word| is_word_by_word(word)))
    }
}

/// Whether what a function is given stays one word in it.
fn is_word_by_word(word: &Word) -> bool {
    (word.quoted && !word.text.contains('*')) || word.text == "$@"
}

/// Notes a variable that has what a function is given.
fn carry<'a>(assigned: Assignment<'a>, carriers: &mut BTreeSet<&'a str>) {
    if variables(assigned.value).any(|given| is_positional(given) || carriers.contains(given)) {
        carriers.insert(assigned.name);
    }
}

/// Whether a word has something in it that a function is given.
fn is_given(word: &Word, carriers: &BTreeSet<&str>) -> bool {
    word.dynamic && variables(&word.text).any(|name| is_positional(name) || carriers.contains(name))
}

fn is_positional(name: &str) -> bool {
    name.starts_with(|c: char| matches!(c, '@' | '*' | '1'..='9'))
}

/// The names of the variables in a text.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split('$').skip(1).map(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        match name_length(rest) {
            0 if rest.starts_with(['@', '*']) => &rest[..1],
            length => &rest[..length],
        }
    })
}

fn name_length(text: &str) -> usize {
    text.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count()
}

/// The variable that a word is, and the value that it has unless it is given one, or if it is: `$x`, `${x}`, `${x:-value}`.
fn variable(word: &Word) -> Option<(&str, Option<&str>)> {
    let name = word.text.strip_prefix('$').filter(|_| word.dynamic)?;
    let inner = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let (name, rest) = inner.unwrap_or(name).split_at(name_length(inner.unwrap_or(name)));
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    match (name, rest, inner) {
        ("", ..) => None,
        (name, "", _) => Some((name, None)),
        (name, rest, Some(_)) => Some((name, Some(rest.strip_prefix(['-', '=', '+'])?))),
        (_, _, None) => None,
    }
}
