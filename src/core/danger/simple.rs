//! A simple command: its words, and what it is given.

use super::programs::RESERVED;

/// What stands in a word for what another command prints.
pub(super) const PRINTED: &str = "\u{fffc}";

/// What stands in a word for a file with what another command prints, as a shell names one.
pub(super) const PRINTED_FILE: &str = "/dev/fd/63";

/// One word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word, quotes resolved.
    pub(super) text: String,
    /// Some of it is only known when it runs: a variable or a substitution.
    pub(super) dynamic: bool,
    /// Some of it is quoted, so that it is no word of the shell's own.
    pub(super) quoted: bool,
}

/// One command: a program and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// Its standard input is what another command prints.
    pub(super) piped: bool,
    /// The here-documents and here-strings that it is given, as it reads them.
    pub(super) input: String,
    /// It is the name of a function, whose body follows.
    pub(super) defines: bool,
    /// The substitutions that it is in.
    pub(super) level: usize,
}

impl Word {
    /// A word that a shell makes of the value of a variable.
    pub(super) fn of_value(text: &str, quoted: bool) -> Self {
        Self { text: text.to_owned(), dynamic: text.contains('$') || text.contains(PRINTED), quoted }
    }

    /// Whether it is this word of the shell's own.
    pub(super) fn is_own(&self, word: &str) -> bool {
        !self.quoted && self.text == word
    }

    /// Whether it begins with what another command prints. A folder that is printed makes it the path of a file.
    pub(super) fn is_printed(&self) -> bool {
        self.text.strip_prefix(PRINTED).is_some_and(|rest| !rest.starts_with('/'))
    }

    /// `{a,b}` is `a b`.
    pub(super) fn braces(self) -> Vec<Self> {
        let inner = self.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match inner.filter(|inner| inner.contains(',')) {
            Some(inner) => inner
                .split(',')
                .map(|text| Self { text: text.to_owned(), dynamic: self.dynamic, ..Self::default() })
                .collect(),
            None => vec![self],
        }
    }
}

/// What commands print, if that can be known: the program that one looks up, or the text that one says.
pub(super) fn printed<'a>(commands: impl Iterator<Item = &'a Simple>) -> Option<String> {
    let mut printed = None;
    for command in commands {
        printed = Some(command.prints()?).filter(|text| !text.is_empty()).or(printed);
    }
    printed
}

impl Simple {
    /// Whether the value of a variable may change what it does.
    pub(super) fn varies(&self) -> bool {
        self.input.contains('$') || self.words.iter().any(|word| word.text.contains('$'))
    }

    /// What it prints, which may be nothing; `None` if it cannot be known.
    fn prints(&self) -> Option<String> {
        let is_reserved = |word: &&Word| !word.quoted && RESERVED.contains(&word.text.as_str());
        let mut words = self.words.iter().skip_while(is_reserved).map(|word| word.text.as_str());
        let program = words.next().unwrap_or("true");
        let rest: Vec<&str> = words.collect();
        let arguments = rest.iter().skip_while(|word| word.starts_with('-')).copied();
        match (program, rest.first()) {
            ("true" | ":" | "[" | "[[" | "test", _) => Some(String::new()),
            ("which", _) | ("command", Some(&"-v")) | ("type", Some(&("-p" | "-P"))) => {
                arguments.map(str::to_owned).next()
            }
            ("echo", _) => Some(arguments.collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }
}
