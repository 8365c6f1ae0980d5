//! Quotes, and what a dollar sign begins.

use super::super::simple::PRINTED_FILE;
use super::Parser;
use super::open::Open;

impl Parser {
    pub(super) fn single(&mut self, open: &mut Open) {
        open.begin_quoted();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '\'' {
                return;
            }
            open.push(c);
        }
    }

    pub(super) fn double(&mut self, open: &mut Open, depth: usize) -> Option<()> {
        open.begin_quoted();
        self.text(open, Some('"'), depth)
    }

    /// Text up to `close`, and past it, in which only variables and substitutions are resolved.
    pub(super) fn text(&mut self, open: &mut Open, close: Option<char>, depth: usize) -> Option<()> {
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
                '$' => self.dollar(open, true, depth)?,
                '`' => self.substitution(open, '`', depth)?,
                c => open.push(c),
            }
        }
        Some(())
    }

    /// After a `$`: a substitution or a variable. `quoted` says that it stands in double quotes.
    pub(super) fn dollar(&mut self, open: &mut Open, quoted: bool, depth: usize) -> Option<()> {
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.substitution(open, ')', depth)?;
            }
            // `${ command; }` is a substitution, too.
            Some('{') if self.peek(1).is_some_and(|c| c == '|' || c.is_whitespace()) => {
                self.at += 2;
                self.substitution(open, '}', depth)?;
            }
            Some('{') => {
                self.at += 1;
                self.braced(open, quoted, depth)?;
            }
            Some(_) | None => {
                open.word.dynamic = true;
                open.push('$');
            }
        }
        Some(())
    }

    /// After `${`: what stands before the `}` is of one word, blanks and `#` are letters in it.
    fn braced(&mut self, open: &mut Open, quoted: bool, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let apostrophes = quoted && self.is_stood_in_for();
        open.word.dynamic = true;
        open.push('$');
        open.push('{');
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '}' => {
                    open.push('}');
                    break;
                }
                '\\' => {
                    if let Some(escaped) = self.peek(0) {
                        self.at += 1;
                        open.word.quoted = true;
                        open.push(escaped);
                    }
                }
                '\'' if !apostrophes => self.single(open),
                '"' => self.double(open, depth)?,
                '$' if !apostrophes && self.peek(0) == Some('\'') => {
                    self.at += 1;
                    self.ansi(open);
                }
                '$' => self.dollar(open, quoted, depth)?,
                '`' => self.substitution(open, '`', depth)?,
                '<' | '>' if !quoted && self.peek(0) == Some('(') => {
                    self.at += 1;
                    self.nested(')', depth, c == '>')?;
                    open.substitute(PRINTED_FILE);
                }
                c => open.push(c),
            }
        }
        Some(())
    }

    /// Whether what follows `${` is a variable with a text that stands in for it, as in `${x:-it's}`: in double quotes an
    /// apostrophe is a letter there, and begins a quote in a pattern, as in `${x#'it'}`.
    fn is_stood_in_for(&self) -> bool {
        // The first may be a name of its own: `${#x}`, `${?}`.
        let mut rest = self.chars.iter().skip(self.at + 1);
        rest.find(|c| "-=+?#%/^,}".contains(**c)).is_some_and(|c| "-=+?".contains(*c))
    }

    /// `$'…'`, whose escapes can write any letter.
    pub(super) fn ansi(&mut self, open: &mut Open) {
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
                        other => {
                            // A script in it has lines.
                            open.push(match other {
                                'n' => '\n',
                                't' => '\t',
                                'r' => '\r',
                                other => other,
                            });
                            continue;
                        }
                    };
                    self.at += code.len();
                    let letter = u32::from_str_radix(&code, radix).ok();
                    open.push(letter.and_then(char::from_u32).unwrap_or(' '));
                }
                c => open.push(c),
            }
        }
    }
}
