//! Removes here-documents and here-strings from a script before it is parsed, since the grammar fails behind many of
//! them. Each leaves an input redirection that a script cannot contain itself.

use std::rc::Rc;

use super::words::DOCUMENT;

/// Texts of the removed here-documents; the flag is true if the shell leaves the text unexpanded.
pub(super) type Documents = Rc<[(String, bool)]>;

/// A script whose here-documents were taken out.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) text: String,
    /// Texts of the removed here-documents; the flag is true if the shell leaves the text unexpanded.
    pub(super) documents: Vec<(String, bool)>,
    /// Number of here-documents and here-strings that were removed.
    pub(super) taken: usize,
}

/// A syntactic construct that is open at the current position, such as a quotation or `${`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Code,
    Backtick,
    Double,
    Brace,
    Arithmetic,
}

/// A here-document whose body starts on the next line.
struct Pending {
    at: usize,
    delimiter: String,
    indented: bool,
}

struct Lexer<'a> {
    rest: &'a str,
    before: char,
    open: Vec<(Open, Vec<Pending>)>,
    script: Script,
}

impl Script {
    /// Removes the here-documents from a script.
    pub(super) fn new(text: &str) -> Self {
        let joined = text.replace("\r\n", "\n");
        let open = vec![(Open::Code, Vec::new())];
        let mut lexer = Lexer { rest: &joined, before: '\n', open, script: Self::default() };
        while lexer.step() {}
        lexer.script
    }
}

impl<'a> Lexer<'a> {
    fn top(&self) -> Open {
        self.open.last().map_or(Open::Code, |(open, _)| *open)
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        self.before = taken.chars().next_back().unwrap_or(self.before);
        taken
    }

    /// Copies `length` bytes of the input to the output.
    fn copy(&mut self, length: usize) {
        let taken = self.take(length);
        self.script.text.push_str(taken);
    }

    fn begin(&mut self, length: usize, open: Open) {
        self.copy(length);
        self.open.push((open, Vec::new()));
    }

    fn end(&mut self, length: usize) {
        self.copy(length);
        if self.open.len() > 1
            && let Some((_, pending)) = self.open.pop()
            && let Some((_, around)) = self.open.last_mut()
        {
            around.extend(pending);
        }
    }

    fn step(&mut self) -> bool {
        let Some(c) = self.rest.chars().next() else { return false };
        let top = self.top();
        let code = matches!(top, Open::Code | Open::Backtick);
        let after = |text: &str| self.rest.starts_with(text);
        match c {
            '\\' if after("\\\n") => drop(self.take(2)),
            // The grammar takes one at the beginning of a line as part of the line before it.
            '\\' if self.open.iter().all(|(open, _)| matches!(open, Open::Code | Open::Double))
                && top == Open::Code =>
            {
                self.take(1);
                if let Some(c) = self.rest.chars().next() {
                    self.take(c.len_utf8());
                    let quote = if c == '\'' { '"' } else { '\'' };
                    self.script.text.extend([quote, c, quote]);
                }
            }
            '\\' => {
                let escaped = self.rest.chars().nth(1).map_or(0, char::len_utf8);
                self.copy(1 + escaped);
            }
            '\'' if top != Open::Double => self.single(1, false),
            '$' if top != Open::Double && after("$'") => self.single(2, true),
            '"' if top == Open::Double => self.end(1),
            '"' => self.begin(1, Open::Double),
            '`' if top == Open::Backtick => self.end(1),
            '`' => self.begin(1, Open::Backtick),
            '$' if after("$((") => self.begin(3, Open::Arithmetic),
            '$' if after("$(") => self.begin(2, Open::Code),
            '$' if after("${") => self.begin(2, Open::Brace),
            '}' if top == Open::Brace => self.end(1),
            ')' if top == Open::Arithmetic && after("))") => self.end(2),
            '(' if code && after("((") => self.begin(2, Open::Arithmetic),
            '(' if code => self.begin(1, Open::Code),
            ')' if top == Open::Code => self.end(1),
            '#' if code && (self.before.is_whitespace() || ";|&(".contains(self.before)) => {
                self.copy(self.rest.find('\n').unwrap_or(self.rest.len()));
            }
            '<' if code && after("<<<") => {
                self.take(3);
                let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
                self.take(blanks);
                self.script.text.push('<');
                self.script.text.push(DOCUMENT);
                self.script.taken += 1;
            }
            '<' if code && after("<<") => self.document(),
            '\n' if code => {
                self.copy(1);
                self.bodies();
            }
            c => self.copy(c.len_utf8()),
        }
        true
    }

    fn single(&mut self, begin: usize, escapes: bool) {
        let mut escaped = false;
        let inner = self.rest.get(begin..).unwrap_or_default();
        let end = inner.find(|c: char| {
            let ends = c == '\'' && !escaped;
            escaped = escapes && c == '\\' && !escaped;
            ends
        });
        self.copy(end.map_or(self.rest.len(), |end| begin + end + 1));
    }

    fn document(&mut self) {
        self.take(2);
        let indented = self.rest.starts_with('-');
        let skipped = usize::from(indented);
        self.take(skipped);
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.take(blanks);
        let (mut delimiter, mut quote, mut raw) = (String::new(), None, false);
        let mut letters = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = letters.next() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), c) => delimiter.push(c),
                (None, '\'' | '"') => (quote, raw) = (Some(c), true),
                (None, '\\') => {
                    raw = true;
                    delimiter.extend(letters.next().map(|(_, c)| c));
                }
                (None, c) if c.is_whitespace() || ";|&<>()`".contains(c) => {
                    end = at;
                    break;
                }
                (None, c) => delimiter.push(c),
            }
        }
        self.take(end);
        let at = self.script.documents.len();
        self.script.documents.push((String::new(), raw));
        self.script.taken += 1;
        self.script.text.push_str(&format!("<{DOCUMENT}{at}{DOCUMENT} "));
        if let Some((_, pending)) = self.open.last_mut() {
            pending.push(Pending { at, delimiter, indented });
        }
    }

    /// Takes out the bodies of the pending here-documents, which start at the current position.
    fn bodies(&mut self) {
        let Some((_, pending)) = self.open.last_mut() else { return };
        for Pending { at, delimiter, indented } in std::mem::take(pending) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let line = self.take(self.rest.find('\n').map_or(self.rest.len(), |end| end + 1));
                let line = if indented { line.trim_start_matches('\t') } else { line };
                if line.strip_suffix('\n').unwrap_or(line) == delimiter {
                    break;
                }
                body.push_str(line);
            }
            if let Some((text, _)) = self.script.documents.get_mut(at) {
                *text = body;
            }
        }
    }
}
