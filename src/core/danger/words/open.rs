//! A command while it is being read.

use super::super::programs::RESERVED;
use super::super::simple::{PRINTED_FILE, Simple, Word};

/// A here-document.
pub(super) struct Document {
    /// The line that ends it.
    pub(super) delimiter: String,
    /// Nothing in it is resolved.
    pub(super) quoted: bool,
    /// Tabs before its lines do not count.
    pub(super) indented: bool,
    /// The number of the command that it is for.
    pub(super) command: usize,
}

/// A command that is being read.
#[derive(Default)]
pub(super) struct Open {
    pub(super) simple: Simple,
    pub(super) word: Word,
    /// Whether a word has begun, which an empty one has by its quotes.
    pub(super) begun: bool,
    /// What the next word is for.
    pub(super) redirect: Option<Redirect>,
    /// Its here-documents.
    pub(super) documents: Vec<Document>,
    /// Words of it that stand before its program.
    leading: usize,
    /// Whether a `[[` is open in it.
    pub(super) test: bool,
    /// The words of it before a pattern of a `case`, if one may stand behind them.
    pub(super) pattern: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirect {
    /// `<<<`: its text is the standard input.
    HereString,
    /// `<<` and `<<-`, whose tabs do not count: the line that ends a here-document.
    Document { indented: bool },
    /// `<`.
    Input,
    /// `>` and the rest.
    Other,
}

impl Open {
    pub(super) fn piped(piped: bool) -> Self {
        Self { simple: Simple { piped, ..Simple::default() }, ..Self::default() }
    }

    /// Nothing of a command was read yet.
    pub(super) fn is_empty(&self) -> bool {
        let simple = self.simple.words.is_empty() && self.documents.is_empty();
        simple && !self.begun && self.redirect.is_none()
    }

    /// Whether it is, as far as it was read, a `case` whose pattern stands here.
    pub(super) fn begins_case(&self) -> bool {
        self.simple.words.get(self.leading).is_some_and(|word| word.is_own("case"))
    }

    /// Whether it is between `[[` and `]]`, where brackets, bars and the like are letters.
    pub(super) fn is_test(&self) -> bool {
        self.test && !(self.begun && self.word.is_own("]]"))
    }

    /// Whether a pattern of a `case` stands here, or may: bars and brackets are part of it.
    pub(super) fn is_pattern(&self) -> bool {
        self.pattern.is_some_and(|before| {
            let first = self.simple.words.get(before).or(self.begun.then_some(&self.word));
            !first.is_some_and(|word| word.is_own("esac"))
        })
    }

    /// Whether one may stand here, and has not begun.
    pub(super) fn awaits_pattern(&self) -> bool {
        self.pattern == Some(self.simple.words.len())
    }

    /// A pattern is over: its words are no command's.
    pub(super) fn end_pattern(&mut self) {
        self.end_word();
        if let Some(before) = self.pattern.take() {
            self.simple.words.truncate(before);
        }
    }

    /// Whether the last word of it closes a `case`.
    pub(super) fn ends_case(&self) -> bool {
        let last = if self.begun { Some(&self.word) } else { self.simple.words.last() };
        last.is_some_and(|word| word.is_own("esac"))
    }

    pub(super) fn push(&mut self, c: char) {
        self.word.text.push(c);
        self.begun = true;
    }

    /// A quote begins a word, or goes on with it.
    pub(super) fn begin_quoted(&mut self) {
        self.begun = true;
        self.word.quoted = true;
    }

    /// A part of the word that is only known when it runs.
    pub(super) fn substitute(&mut self, text: &str) {
        self.word.dynamic = true;
        text.chars().for_each(|c| self.push(c));
    }

    pub(super) fn end_word(&mut self) {
        if !std::mem::take(&mut self.begun) {
            return;
        }
        let word = std::mem::take(&mut self.word);
        match self.redirect.take() {
            Some(Redirect::HereString) => {
                self.simple.piped |= word.is_printed() || (word.dynamic && word.text.starts_with('$'));
                self.simple.input.push_str(&word.text);
                self.simple.input.push('\n');
            }
            Some(Redirect::Document { indented }) => {
                let Word { text: delimiter, quoted, .. } = word;
                self.documents.push(Document { delimiter, quoted, indented, command: 0 });
            }
            Some(Redirect::Input) => self.simple.piped |= word.text == PRINTED_FILE,
            Some(Redirect::Other) => {}
            None => self.take(word),
        }
    }

    fn take(&mut self, word: Word) {
        let words = &mut self.simple.words;
        let leads = self.leading == words.len();
        // The name of what is defined is none of a program.
        let names = words.last().is_some_and(|before| before.is_own("function"));
        let own = if word.quoted { "" } else { word.text.as_str() };
        if leads && (names || matches!(own, "function" | "time") || RESERVED.contains(&own)) {
            self.leading += 1;
        }
        self.test = (self.test || (leads && own == "[[")) && own != "]]";
        words.extend(word.braces());
        let case = |at: usize, own: &str| words.get(self.leading + at).is_some_and(|word| word.is_own(own));
        if words.len() == self.leading + 3 && case(0, "case") && case(2, "in") {
            self.pattern = Some(words.len());
        }
    }
}
