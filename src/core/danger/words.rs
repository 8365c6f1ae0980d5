//! A script as the simple commands in it, each as its words: what a shell makes of quotes, backslashes, substitutions, pipes
//! and braces, as far as it can be known without running it.
//!
//! The body of a here-document is text: no quote in it reaches what follows it. What is done with it is not known here, so
//! that it is read as commands, too, as a whole and line by line, and what has one is read once more as if it had none:
//! where `<<` means something else, nothing hides behind it.

mod open;
mod quotes;

use super::groups::Groups;
use super::simple::{PRINTED, PRINTED_FILE, Simple, Word, printed};
use open::{Document, Open, Redirect};

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
            let in_case = || !open.ends_case() && (groups.end_with_case() || open.begins_case());
            let pattern = c == ')' && (open.is_pattern() || in_case());
            let letter = open.is_test() && matches!(c, '(' | ')' | '|' | '#' | '<' | '>');
            if Some(c) == close && !pattern && !letter {
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
                // In double quotes it begins nothing.
                '$' if self.peek(0) == Some('\'') => {
                    self.at += 1;
                    self.ansi(&mut open);
                }
                '$' => self.dollar(&mut open, false, depth)?,
                '`' => self.substitution(&mut open, '`', depth)?,
                '<' | '>' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    self.nested(')', depth, c == '>')?;
                    open.substitute(PRINTED_FILE);
                }
                // `[[ a || b ]]` goes on.
                '|' | '&' if open.is_test() && self.peek(0) == Some(c) => {
                    self.at += 1;
                    self.end(&mut open, &mut groups, piped);
                    open.test = true;
                }
                c if letter => open.push(c),
                '(' | '|' if open.is_pattern() => open.end_word(),
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
                ')' if pattern => {
                    open.end_pattern();
                    self.end(&mut open, &mut groups, piped);
                }
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
                    open.end_word();
                    let pattern = open.awaits_pattern();
                    self.end(&mut open, &mut groups, piped);
                    open.pattern = pattern.then_some(0);
                    self.bodies(depth)?;
                }
                ';' | '&' => {
                    self.end(&mut open, &mut groups, piped);
                    // `;;`, `;&` and `;;&`
                    if c == ';' && groups.end_with_case() && matches!(self.peek(0), Some(';' | '&')) {
                        open.pattern = Some(0);
                        self.at += if self.peek(1) == Some('&') { 2 } else { 1 };
                    }
                }
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
