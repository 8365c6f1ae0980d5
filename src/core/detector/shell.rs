//! Splits a command line into program calls with their arguments. It is no shell: text that it cannot parse is taken
//! as plain words.

/// A program call of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Call<'a> {
    /// Program and arguments, without quotation marks around them.
    pub(super) words: Vec<&'a str>,
    /// The file that its output is redirected to.
    pub(super) into: Option<&'a str>,
    /// The text that is given to its standard input.
    pub(super) fed: &'a str,
    /// True if the call reads the output of the call before it.
    pub(super) piped: bool,
}

/// Returns the program calls of a command line, at most [`CALLS_MAX`].
pub(super) fn calls(line: &str) -> Vec<Call<'_>> {
    let mut rest = unwrapped(line);
    let mut calls = Vec::new();
    let mut call = Call::default();
    while calls.len() < CALLS_MAX {
        let (token, after) = next(rest);
        rest = after;
        match token {
            Token::End => break,
            Token::Word(word) => call.words.push(word),
            Token::Into(file) => call.into = call.into.or(Some(file)),
            Token::Fed(text) => call.fed = text,
            Token::Then { piped } => {
                if !call.words.is_empty() || call.into.is_some() {
                    calls.push(std::mem::take(&mut call));
                }
                call.piped = piped;
            }
        }
    }
    if !call.words.is_empty() || call.into.is_some() {
        calls.push(call);
    }
    calls
}

/// Maximum number of program calls that are taken from a line. A longer line is a script, and its beginning suffices.
const CALLS_MAX: usize = 24;

enum Token<'a> {
    Word(&'a str),
    /// A redirection of the output to a file.
    Into(&'a str),
    /// The text of a here-document or here-string.
    Fed(&'a str),
    /// The end of one call and the start of another.
    Then {
        piped: bool,
    },
    End,
}

/// Returns the script in `bash -lc '…'`; some runtimes write every command in that form.
fn unwrapped(line: &str) -> &str {
    let line = line.trim();
    let Some((shell, rest)) = line.split_once(char::is_whitespace) else { return line };
    if !matches!(base(shell), "bash" | "sh" | "zsh") {
        return line;
    }
    let rest = rest.trim_start();
    let Some(script) = rest.strip_prefix("-lc").or_else(|| rest.strip_prefix("-c")) else { return line };
    let script = script.trim();
    let quote = |mark: char| script.strip_prefix(mark).map(|inner| inner.strip_suffix(mark).unwrap_or(inner));
    quote('\'').or_else(|| quote('"')).unwrap_or(script)
}

/// Returns a program's name without its folder.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn next(text: &str) -> (Token<'_>, &str) {
    let text = text.trim_start_matches([' ', '\t', '\r']);
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return (Token::End, text) };
    let second = chars.next();
    match (first, second) {
        ('|', Some('|')) | ('&', Some('&')) => (Token::Then { piped: false }, &text[2..]),
        ('|', _) => (Token::Then { piped: true }, text[1..].trim_start_matches('&')),
        (';' | '\n' | '(' | ')', _) => (Token::Then { piped: false }, &text[1..]),
        ('&', Some('>')) => into(&text[2..]),
        ('&', _) => (Token::Then { piped: false }, &text[1..]),
        ('#', _) => (Token::Then { piped: false }, text.find('\n').map_or("", |at| &text[at..])),
        ('>', _) => into(text[1..].trim_start_matches(['>', '|'])),
        ('1' | '2', Some('>')) => into(text[2..].trim_start_matches('>')),
        ('<', Some('<')) => fed(&text[2..]),
        _ => word(text),
    }
}

fn into(text: &str) -> (Token<'_>, &str) {
    if let Some(rest) = text.strip_prefix('&') {
        // `2>&1` goes to the same place as the other output.
        return (Token::Into("/dev/null"), rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-'));
    }
    let text = text.trim_start_matches([' ', '\t']);
    match word(text) {
        (Token::Word(file), rest) => (Token::Into(file), rest),
        (_, rest) => (Token::End, rest),
    }
}

/// Parses a here-document or here-string. The text from the second line to the delimiter is given to the call's
/// standard input; the rest of the first line is rarely present and ignored.
fn fed(text: &str) -> (Token<'_>, &str) {
    if let Some(string) = text.strip_prefix('<') {
        return match word(string.trim_start()) {
            (Token::Word(fed), rest) => (Token::Fed(fed), rest),
            (_, rest) => (Token::End, rest),
        };
    }
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let mark = head.trim_start_matches(['-', '~', ' ']);
    let mark = mark.split([' ', '>', '|', '&', ';']).next().unwrap_or(mark).trim_matches(['\'', '"', '\\']);
    let end = body.match_indices(mark).find(|(at, _)| {
        let alone = body[at + mark.len()..].starts_with('\n') || at + mark.len() == body.len();
        alone && (*at == 0 || body[..*at].ends_with(['\n', '\t', ' ']))
    });
    match end {
        Some((at, _)) if !mark.is_empty() => (Token::Fed(&body[..at]), &body[at + mark.len()..]),
        _ => (Token::Fed(body), ""),
    }
}

/// Parses one word. Quotation marks around the whole word are removed; inside they keep it together.
fn word(text: &str) -> (Token<'_>, &str) {
    let mut quote = None;
    let mut escaped = false;
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote != Some('\'') {
            escaped = true;
        } else if let Some(mark) = quote {
            if c == mark {
                quote = None;
            }
        } else if matches!(c, '\'' | '"' | '`') {
            quote = Some(c);
        } else if c.is_whitespace() || matches!(c, '|' | ';' | '&' | '>' | '<' | '(' | ')') {
            end = at;
            break;
        }
    }
    if end == 0 {
        // A character that starts no known token is skipped, so that every call makes progress.
        let width = text.chars().next().map_or(0, char::len_utf8);
        return (Token::Word(&text[..width]), &text[width..]);
    }
    let word = &text[..end];
    let whole = ['\'', '"'].iter().find_map(|mark| {
        let inner = word.strip_prefix(*mark)?.strip_suffix(*mark)?;
        (!inner.contains(*mark)).then_some(inner)
    });
    (Token::Word(whole.unwrap_or(word)), &text[end..])
}
