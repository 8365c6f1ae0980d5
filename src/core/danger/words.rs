//! A script as the simple commands in it, each as its words: what a shell makes of quotes, backslashes, substitutions, pipes
//! and braces, as far as it can be known without running it.

/// One word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// The word, quotes resolved.
    pub(super) text: String,
    /// Some of it is only known when it runs: a variable or a substitution.
    pub(super) dynamic: bool,
    /// It begins with what another command prints.
    pub(super) substituted: bool,
    /// Some of it is quoted, so that it is no word of the shell's own.
    pub(super) quoted: bool,
}

/// One command: a program and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// Its standard input is what another command prints.
    pub(super) piped: bool,
}

/// The commands of a script, whose standard input may be what another command prints; `None` if they are nested deeper than
/// that.
pub(super) fn commands(script: &str, depth: usize, piped: bool) -> Option<Vec<Simple>> {
    let joined = script.replace("\\\r\n", "").replace("\\\n", "").replace("${IFS}", " ").replace("$IFS", " ");
    let mut parser = Parser { chars: joined.chars().collect(), at: 0, done: Vec::new() };
    while parser.at < parser.chars.len() {
        parser.list(None, depth, piped)?;
        // A closing bracket that closes nothing.
        parser.at += 1;
    }
    Some(parser.done)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    done: Vec<Simple>,
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
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    /// `<<<`: its text is the standard input.
    HereString,
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
        self.simple.words.is_empty() && !self.begun && self.redirect.is_none()
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

    /// What a substitution prints takes part in the word.
    fn substitute(&mut self) {
        self.word.substituted |= self.word.text.is_empty();
        self.word.dynamic = true;
        self.push('\u{fffc}');
    }

    fn end_word(&mut self) {
        if !std::mem::take(&mut self.begun) {
            return;
        }
        let word = std::mem::take(&mut self.word);
        match self.redirect.take() {
            Some(Redirect::HereString) => self.simple.piped = true,
            Some(Redirect::Input) => self.simple.piped |= word.substituted,
            Some(Redirect::Other) => {}
            None => self.simple.words.extend(braces(word)),
        }
    }
}

impl Word {
    /// Whether it is this word of the shell's own.
    fn is_own(&self, word: &str) -> bool {
        !self.quoted && self.text == word
    }
}

/// Groups of commands that are open: `{ …; }`, loops, conditions, `case`. All of a group have its standard input.
#[derive(Default)]
struct Groups(Vec<Group>);

#[derive(Clone, Copy)]
struct Group {
    piped: bool,
    case: bool,
}

impl Groups {
    /// Words that may stand before the word that opens or closes a group, or between its commands.
    fn is_between(word: &Word) -> bool {
        ["do", "then", "else", "elif", "!"].iter().any(|between| word.is_own(between))
    }

    /// Takes in a command that was read.
    fn take(&mut self, simple: &Simple) {
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

    fn are_piped(&self) -> bool {
        self.0.iter().any(|group| group.piped)
    }

    fn end_with_case(&self) -> bool {
        self.0.last().is_some_and(|group| group.case)
    }
}

/// `{a,b}` is `a b`.
fn braces(word: Word) -> Vec<Word> {
    let inner = word.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inner.filter(|inner| inner.contains(',')) {
        Some(inner) => inner
            .split(',')
            .map(|text| Word { text: text.to_owned(), dynamic: word.dynamic, ..Word::default() })
            .collect(),
        None => vec![word],
    }
}

impl Parser {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Reads commands up to `close`, and past it; `piped` is what they have for standard input.
    fn list(&mut self, close: Option<char>, depth: usize, piped: bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let mut open = Open::piped(piped);
        let mut groups = Groups::default();
        while let Some(c) = self.peek(0) {
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
                '`' => {
                    self.list(Some('`'), depth, false)?;
                    open.substitute();
                }
                '<' | '>' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    self.list(Some(')'), depth, c == '>')?;
                    open.substitute();
                }
                '<' | '>' => self.redirection(c, &mut open),
                '#' if !open.begun => self.comment(),
                '(' => {
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
                '&' if self.peek(0) == Some('>') => self.at += 1,
                // The command that a pipe leads into may stand on a later line.
                '\n' if open.is_empty() => {}
                ';' | '&' | '\n' => self.end(&mut open, &mut groups, piped),
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
        let done = std::mem::take(open).simple;
        groups.take(&done);
        *open = Open::piped(piped || groups.are_piped());
        if !done.words.is_empty() {
            self.done.push(done);
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
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
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '"' => break,
                '\\' => match self.peek(0) {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                        self.at += 1;
                        open.push(escaped);
                    }
                    Some(_) | None => open.push('\\'),
                },
                '$' => self.dollar(open, depth)?,
                '`' => {
                    self.list(Some('`'), depth, false)?;
                    open.substitute();
                }
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
                self.list(Some(')'), depth, false)?;
                open.substitute();
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
        // `2>&1`, `>|`.
        if matches!(self.peek(0), Some('&' | '|')) {
            self.at += 1;
        }
        open.redirect = Some(match (c, length) {
            ('<', 3) => Redirect::HereString,
            ('<', 1) => Redirect::Input,
            _ => Redirect::Other,
        });
    }
}
