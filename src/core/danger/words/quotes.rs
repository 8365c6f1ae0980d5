//! Quotes, and what a dollar sign begins.

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
                '$' => self.dollar(open, depth)?,
                '`' => self.substitution(open, '`', depth)?,
                c => open.push(c),
            }
        }
        Some(())
    }

    /// After a `$`: a substitution or a variable.
    pub(super) fn dollar(&mut self, open: &mut Open, depth: usize) -> Option<()> {
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.substitution(open, ')', depth)?;
            }
            Some(_) | None => {
                open.word.dynamic = true;
                open.push('$');
            }
        }
        Some(())
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
