//! A script as the simple commands in it, each as its words: what a shell makes of quotes, backslashes, substitutions, pipes
//! and braces, as far as it can be known without running it.
//!
//! The body of a here-document is text: no quote in it reaches what follows it. What is done with it is not known here, so
//! that it is read as commands, too, as a whole and line by line, and what has one is read once more as if it had none:
//! where `<<` means something else, nothing hides behind it.

use super::groups::Groups;
use super::simple::{PRINTED, PRINTED_FILE, Simple, Word, printed};

/// Commands of one reading that are kept; nobody writes so many in good faith.
const COMMANDS_MAX: usize = 2000;

/// The commands of a script, whose standard input may be what another command prints; `None` if they are nested deeper than
/// that, or too many.
pub(super) fn commands(script: &str, depth: usize, piped: bool) -> Option<Vec<Simple>> {
    let mut parser = Parser::new(script, true);
    parser.script(depth, piped)?;
    let has_documents = !parser.bodies.is_empty();
    let mut done = parser.finished();
    if has_documents {
        let mut parser = Parser::new(script, false);
        parser.script(depth, piped)?;
        done.extend(parser.done);
    }
    Some(done)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    /// Substitutions that are open.
    level: usize,
    /// Where a line was continued: the characters that the next line follows.
    joints: Vec<usize>,
    /// Whether `<<` begins a here-document.
    documents: bool,
    /// Here-documents whose bodies begin after the line.
    pending: Vec<Document>,
    done: Vec<Simple>,
    /// The commands in the bodies of here-documents.
    inside: Vec<Simple>,
    /// The bodies, and the number of the command that each is for.
    bodies: Vec<(usize, String)>,
}

/// A here-document.
struct Document {
    /// The line that ends it.
    delimiter: String,
    /// Nothing in it is resolved.
    quoted: bool,
    /// Tabs before its lines do not count.
    indented: bool,
    /// The number of the command that it is for.
    command: usize,
}

/// A command that is being read.
#[derive(Default)]
struct Open {
    simple: Simple,
    word: Word,
    /// Whether a word has begun, which an empty one has by its quotes.
    begun: bool,
    /// What the next word is for.
    redirect: Option<Redirect>,
    /// Its here-documents.
    documents: Vec<Document>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
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
    fn piped(piped: bool) -> Self {
        Self { simple: Simple { piped, ..Simple::default() }, ..Self::default() }
    }

    /// Nothing of a command was read yet.
    fn is_empty(&self) -> bool {
        let simple = self.simple.words.is_empty() && self.documents.is_empty();
        simple && !self.begun && self.redirect.is_none()
    }

    /// Whether it is, as far as it was read, a `case` whose pattern stands here.
    fn begins_case(&self) -> bool {
        let leads = |word: &Word| ["{", "if", "while", "until"].iter().any(|opens| word.is_own(opens));
        let first = self.simple.words.iter().find(|word| !leads(word) && !Groups::is_between(word));
        first.is_some_and(|word| word.is_own("case"))
    }

    /// Whether the last word of it closes a `case`.
    fn ends_case(&self) -> bool {
        let last = if self.begun { Some(&self.word) } else { self.simple.words.last() };
        last.is_some_and(|word| word.is_own("esac"))
    }

    fn push(&mut self, c: char) {
        self.word.text.push(c);
        self.begun = true;
    }

    /// A quote begins a word, or goes on with it.
    fn begin_quoted(&mut self) {
        self.begun = true;
        self.word.quoted = true;
    }

    /// A part of the word that is only known when it runs.
    fn substitute(&mut self, text: &str) {
        self.word.dynamic = true;
        text.chars().for_each(|c| self.push(c));
    }

    fn end_word(&mut self) {
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
            None => self.simple.words.extend(word.braces()),
        }
    }
}

impl Parser {
    fn new(script: &str, documents: bool) -> Self {
        let (mut chars, mut joints) = (Vec::new(), Vec::new());
        let shown = script.replace("\\\r\n", "\\\n").replace("${IFS}", " ").replace("$IFS", " ");
        let mut lines = shown.split("\\\n").peekable();
        while let Some(line) = lines.next() {
            chars.extend(line.chars());
            let escaped = line.bytes().rev().take_while(|c| *c == b'\\').count() % 2 == 1;
            match lines.peek() {
                Some(_) if escaped => chars.extend(['\\', '\n']),
                Some(_) => joints.push(chars.len()),
                None => {}
            }
        }
        Self {
            chars,
            joints,
            documents,
            at: 0,
            level: 0,
            pending: Vec::new(),
            done: Vec::new(),
            inside: Vec::new(),
            bodies: Vec::new(),
        }
    }

    /// Reads all of it.
    fn script(&mut self, depth: usize, piped: bool) -> Option<()> {
        while self.at < self.chars.len() {
            self.list(None, depth, piped)?;
            // A closing bracket that closes nothing.
            self.at += 1;
        }
        Some(())
    }

    /// The commands that were read, with what they are given.
    fn finished(mut self) -> Vec<Simple> {
        for (command, body) in self.bodies {
            if let Some(simple) = self.done.get_mut(command) {
                simple.input.push_str(&body);
            }
        }
        self.done.append(&mut self.inside);
        self.done
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Reads commands up to `close`, and past it; `piped` is what they have for standard input.
    fn list(&mut self, close: Option<char>, depth: usize, piped: bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let mut open = Open::piped(piped);
        let mut groups = Groups::default();
        while let Some(c) = self.peek(0) {
            if self.done.len() > COMMANDS_MAX {
                return None;
            }
            // Behind a pattern of a `case` the bracket closes nothing.
            let pattern = c == ')' && !open.ends_case() && (groups.end_with_case() || open.begins_case());
            if Some(c) == close && !pattern {
                self.at += 1;
                break;
            }
            self.at += 1;
            match c {
                '\\' => {
                    if let Some(escaped) = self.peek(0) {
                        self.at += 1;
                        open.word.quoted = true;
                        open.push(escaped);
                    }
                }
                '\'' => self.single(&mut open),
                '"' => self.double(&mut open, depth)?,
                '$' => self.dollar(&mut open, depth)?,
                '`' => self.substitution(&mut open, '`', depth)?,
                '<' | '>' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    self.nested(')', depth, c == '>')?;
                    open.substitute(PRINTED_FILE);
                }
                '<' | '>' => self.redirection(c, &mut open),
                '#' if !open.begun => {
                    if self.comment() {
                        self.end(&mut open, &mut groups, piped);
                        self.bodies(depth)?;
                    }
                }
                '(' => {
                    open.end_word();
                    open.simple.defines = !open.simple.words.is_empty() && self.closes_at_once();
                    let into = piped || groups.are_piped() || open.simple.piped;
                    self.end(&mut open, &mut groups, piped);
                    self.list(Some(')'), depth, into)?;
                }
                ')' if pattern => self.end(&mut open, &mut groups, piped),
                ')' if close.is_none() => {
                    self.at -= 1;
                    break;
                }
                '|' if self.peek(0) == Some('|') => {
                    self.at += 1;
                    self.end(&mut open, &mut groups, piped);
                }
                '|' => {
                    if self.peek(0) == Some('&') {
                        self.at += 1;
                    }
                    self.end(&mut open, &mut groups, true);
                }
                '&' if self.peek(0) == Some('>') => {
                    open.end_word();
                    self.at += 1;
                    self.redirection('>', &mut open);
                }
                // The command that a pipe leads into may stand on a later line.
                '\n' if open.is_empty() => self.bodies(depth)?,
                '\n' => {
                    self.end(&mut open, &mut groups, piped);
                    self.bodies(depth)?;
                }
                ';' | '&' => self.end(&mut open, &mut groups, piped),
                c if c.is_whitespace() => open.end_word(),
                c => open.push(c),
            }
        }
        self.end(&mut open, &mut groups, false);
        Some(())
    }

    /// A command is over; `piped` is what the next one has for standard input, unless the group it is in has one.
    fn end(&mut self, open: &mut Open, groups: &mut Groups, piped: bool) {
        open.end_word();
        let Open { simple: done, documents, .. } = std::mem::take(open);
        groups.take(&done);
        *open = Open::piped(piped || groups.are_piped());
        let command = self.done.len();
        let given = !documents.is_empty();
        self.pending.extend(documents.into_iter().map(|document| Document { command, ..document }));
        // A redirection alone is a command, too: what follows `done` or `}` is given to all of the group.
        if given || !done.words.is_empty() {
            self.done.push(Simple { level: self.level, ..done });
        }
    }

    /// Whether there is nothing in the brackets that were opened.
    fn closes_at_once(&self) -> bool {
        self.chars.iter().skip(self.at).find(|c| !matches!(c, ' ' | '\t')) == Some(&')')
    }

    /// What commands up to `close` print takes part in a word.
    fn substitution(&mut self, open: &mut Open, close: char, depth: usize) -> Option<()> {
        let before = self.done.len();
        self.nested(close, depth, false)?;
        let inside = self.done.iter().skip(before);
        let own = inside.filter(|simple| simple.level == self.level + 1);
        open.substitute(printed(own).as_deref().unwrap_or(PRINTED));
        Some(())
    }

    /// Commands up to `close`, and past it. The here-documents of the line around them begin after that line.
    fn nested(&mut self, close: char, depth: usize, piped: bool) -> Option<()> {
        let around = std::mem::take(&mut self.pending);
        self.level += 1;
        self.list(Some(close), depth, piped)?;
        self.level -= 1;
        self.pending.splice(0..0, around);
        Some(())
    }

    /// At the beginning of a line: the bodies of the here-documents of the line before it.
    fn bodies(&mut self, depth: usize) -> Option<()> {
        for document in std::mem::take(&mut self.pending) {
            let body = self.body(&document);
            let mut whole = Self::new(&body, true);
            whole.script(depth, false)?;
            self.inside.append(&mut whole.finished());
            for line in body.lines() {
                let mut parser = Self::new(line, false);
                parser.script(depth, false)?;
                self.inside.append(&mut parser.done);
            }
            let text = if document.quoted {
                body
            } else {
                // Quotes are letters in it, and substitutions run.
                let mut open = Open::default();
                let mut parser = Self::new(&body, false);
                parser.text(&mut open, None, depth)?;
                self.inside.append(&mut parser.done);
                open.word.text
            };
            self.bodies.push((document.command, text));
        }
        Some(())
    }

    /// The lines of a here-document, and past the one that ends it.
    fn body(&mut self, document: &Document) -> String {
        let mut body = String::new();
        while self.at < self.chars.len() {
            let line = self.line(document.quoted);
            let line = if document.indented { line.trim_start_matches('\t') } else { &line };
            if line.strip_suffix('\r').unwrap_or(line) == document.delimiter {
                break;
            }
            body.push_str(line);
            body.push('\n');
        }
        body
    }

    /// One line, and past its end; `raw` is one that a backslash does not continue.
    fn line(&mut self, raw: bool) -> String {
        let mut line = String::new();
        while let Some(c) = self.peek(0) {
            if raw && self.is_joint() {
                let at = self.at;
                self.joints.retain(|joint| *joint != at);
                line.push('\\');
                break;
            }
            self.at += 1;
            if c == '\n' {
                break;
            }
            line.push(c);
        }
        line
    }

    /// Whether a line was continued right here.
    fn is_joint(&self) -> bool {
        self.joints.binary_search(&self.at).is_ok()
    }

    /// Whether the line is over with it though its end was taken away: a backslash continues no comment.
    fn comment(&mut self) -> bool {
        while self.peek(0).is_some_and(|c| c != '\n') {
            if self.is_joint() {
                return true;
            }
            self.at += 1;
        }
        false
    }

    fn single(&mut self, open: &mut Open) {
        open.begin_quoted();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            open.push(c);
        }
    }

    fn double(&mut self, open: &mut Open, depth: usize) -> Option<()> {
        open.begin_quoted();
        self.text(open, Some('"'), depth)
    }

    /// Text up to `close`, and past it, in which only variables and substitutions are resolved.
    fn text(&mut self, open: &mut Open, close: Option<char>, depth: usize) -> Option<()> {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                c if Some(c) == close => break,
                '\\' => match self.peek(0) {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                        self.at += 1;
                        open.push(escaped);
                    }
                    Some(_) | None => open.push('\\'),
                },
                '$' => self.dollar(open, depth)?,
                '`' => self.substitution(open, '`', depth)?,
                c => open.push(c),
            }
        }
        Some(())
    }

    /// After a `$`: a substitution, a quote of its own kind, or a variable.
    fn dollar(&mut self, open: &mut Open, depth: usize) -> Option<()> {
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.substitution(open, ')', depth)?;
            }
            Some('\'') => {
                self.at += 1;
                self.ansi(open);
            }
            Some(_) | None => {
                open.word.dynamic = true;
                open.push('$');
            }
        }
        Some(())
    }

    /// `$'…'`, whose escapes can write any letter.
    fn ansi(&mut self, open: &mut Open) {
        open.begin_quoted();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\'' => return,
                '\\' => {
                    let Some(escaped) = self.peek(0) else { return };
                    self.at += 1;
                    let digits = |most, radix| {
                        let rest = self.chars.iter().skip(self.at);
                        rest.take(most).take_while(|c| c.is_digit(radix)).collect::<String>()
                    };
                    let (code, radix) = match escaped {
                        'x' => (digits(2, 16), 16),
                        'u' => (digits(4, 16), 16),
                        'U' => (digits(8, 16), 16),
                        '0'..='7' => {
                            self.at -= 1;
                            let rest = self.chars.iter().skip(self.at);
                            (rest.take(3).take_while(|c| c.is_digit(8)).collect(), 8)
                        }
                        'n' | 't' | 'r' => (String::new(), 0),
                        other => {
                            open.push(other);
                            continue;
                        }
                    };
                    self.at += code.len();
                    let letter = if radix == 0 { None } else { u32::from_str_radix(&code, radix).ok() };
                    open.push(letter.and_then(char::from_u32).unwrap_or(' '));
                }
                c => open.push(c),
            }
        }
    }

    fn redirection(&mut self, c: char, open: &mut Open) {
        // `2>`: the number is part of the redirection.
        if open.begun && open.word.text.bytes().all(|c| c.is_ascii_digit()) {
            open.word = Word::default();
            open.begun = false;
        }
        open.end_word();
        let mut length = 1;
        while self.peek(0) == Some(c) && length < 3 {
            self.at += 1;
            length += 1;
        }
        let document = self.documents && c == '<' && length == 2;
        if document && self.peek(0) == Some('-') {
            self.at += 1;
            open.redirect = Some(Redirect::Document { indented: true });
            return;
        }
        // `2>&1`, `>|`.
        if matches!(self.peek(0), Some('&' | '|')) {
            self.at += 1;
        }
        open.redirect = Some(match (c, length) {
            ('<', 3) => Redirect::HereString,
            ('<', 1) => Redirect::Input,
            _ if document => Redirect::Document { indented: false },
            _ => Redirect::Other,
        });
    }
}
