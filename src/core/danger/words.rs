//! Words of a command, and marks for parts of them that are only known at run time. The marks are noncharacters of
//! Unicode, which no text contains.

/// Mark for a part of a word that comes from another command, a file or a person, and so may be anything.
pub(super) const HOLE: char = '\u{fdd0}';

/// Mark for a part of a word that comes from the environment: a folder, a file name, a number.
pub(super) const PLACE: char = '\u{fdd1}';

/// Mark for an argument of a function that is never called.
pub(super) const ARGUMENT: char = '\u{fdd2}';

/// Mark for the boundary between two words in a variable's value.
pub(super) const BOUNDARY: char = '\u{fdd3}';

/// Mark that a here-document or here-string leaves in the script.
pub(super) const DOCUMENT: char = '\u{fdd4}';

/// Path that a shell gives to a file that holds another command's output.
pub(super) const PRINTED_FILE: &str = "/dev/fd/63";

/// Returns true if a text from outside contains one of these marks.
pub(super) fn has_marks(text: &str) -> bool {
    text.contains([HOLE, PLACE, ARGUMENT, BOUNDARY, DOCUMENT])
}

/// A word of a command after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Text of the word without its quotes.
    pub(super) text: String,
    /// True if a part of the word was quoted.
    pub(super) quoted: bool,
    /// True if the word is a file pattern.
    pub(super) glob: bool,
}

impl Word {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Returns true if the word is only known at run time.
    pub(super) fn is_unknown(&self) -> bool {
        self.glob || self.text.contains([HOLE, PLACE])
    }
}

/// A character of a word before the word is split.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letter {
    pub(super) c: char,
    pub(super) kind: Kind,
}

/// The origin of a character, which decides whether the shell splits or matches there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The character is unquoted text of the command.
    Plain,
    Quoted,
    /// The value of a variable or substitution, which the shell splits into words.
    Value,
}

/// Maximum number of words that `{a,b}` expands to.
const BRACES_MAX: usize = 64;

/// Splits characters into the words that a shell makes of them. Values are split at blanks and at `separators`.
pub(super) fn split(letters: &[Letter], quoted: bool, separators: &str) -> Vec<Word> {
    let mut done = Vec::new();
    let mut open = vec![letters.to_vec()];
    while let Some(letters) = open.pop() {
        match braces(&letters) {
            Some(more) if open.len() + done.len() + more.len() <= BRACES_MAX => {
                open.extend(more.into_iter().rev());
            }
            Some(_) => done.push(Word { text: HOLE.to_string(), quoted: false, glob: false }),
            None => fields(&letters, quoted, separators, &mut done),
        }
    }
    done
}

fn fields(letters: &[Letter], quoted: bool, separators: &str, done: &mut Vec<Word>) {
    let mut word = Word::default();
    let mut begun = quoted && letters.is_empty();
    for &Letter { c, kind } in letters {
        if c == BOUNDARY || (kind == Kind::Value && (c.is_whitespace() || separators.contains(c))) {
            if std::mem::take(&mut begun) {
                done.push(std::mem::take(&mut word));
            }
            continue;
        }
        begun = true;
        word.text.push(c);
        word.quoted |= kind == Kind::Quoted;
        word.glob |= kind != Kind::Quoted && matches!(c, '*' | '?' | '[');
    }
    if begun {
        // These are programs, not patterns.
        word.glob &= !matches!(word.text.as_str(), "[" | "[[");
        done.push(word);
    }
}

/// Returns the words that the first list in braces (`{a,b}`) expands to; `None` if there is none.
fn braces(letters: &[Letter]) -> Option<Vec<Vec<Letter>>> {
    let plain = |letter: &Letter, c| letter.kind == Kind::Plain && letter.c == c;
    let mut begins: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        if plain(letter, '{') {
            begins.push((at, Vec::new()));
        } else if plain(letter, ',') {
            if let Some((_, commas)) = begins.last_mut() {
                commas.push(at);
            }
        } else if plain(letter, '}')
            && let Some((begin, commas)) = begins.pop()
            && !commas.is_empty()
        {
            let mut parts = Vec::new();
            let mut from = begin + 1;
            for to in commas.into_iter().chain([at]) {
                let whole = [&letters[..begin], &letters[from..to], &letters[at + 1..]].concat();
                parts.push(whole);
                from = to + 1;
            }
            return Some(parts);
        }
    }
    None
}

/// Decodes the escapes of `$'…'`.
pub(super) fn ansi(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        shown.push_str(before);
        let Some(escaped) = after.chars().next() else { break };
        let (skipped, most, radix) = match escaped {
            'x' => (1, 2, 16),
            'u' => (1, 4, 16),
            'U' => (1, 8, 16),
            '0'..='7' => (0, 3, 8),
            'c' => (1, 0, 8),
            other => {
                shown.push(match other {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'v' | 'f' => ' ',
                    other => other,
                });
                rest = &after[escaped.len_utf8()..];
                continue;
            }
        };
        let code = &after[skipped..];
        let digits = code.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let letter = u32::from_str_radix(&code[..digits], radix).ok().and_then(char::from_u32);
        shown.push(letter.filter(|c| *c != '\0').unwrap_or(' '));
        rest = &code[digits..];
    }
    shown.push_str(rest);
    shown
}
