//! Words of a line: splitting with and without quotes, and comparing them the way people type.

use crate::core::words::{narrow, unseen};

pub use crate::core::words::fold;

/// The words of a line, with the text that follows each of them. The line comes from a chat, or as arguments that a
/// shell has separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    items: Vec<String>,
    /// The line as it was written, and the offset of each word in it, in bytes; `None` for arguments from a shell.
    raw: Option<(String, Vec<usize>)>,
}

impl Words {
    /// Splits a chat line at white space.
    #[must_use]
    pub fn of_line(line: &str) -> Self {
        let line = line.trim();
        let mut items = Vec::new();
        let mut starts = Vec::new();
        for word in line.split_whitespace() {
            // `split_whitespace` gives subslices of `line`, so that the distance is the place in it.
            starts.push(word.as_ptr().addr() - line.as_ptr().addr());
            items.push(word.to_owned());
        }
        Self { items, raw: Some((line.to_owned(), starts)) }
    }

    /// Takes arguments that a shell has separated, each as one word.
    #[must_use]
    pub fn of_args(args: Vec<String>) -> Self {
        Self { items: args, raw: None }
    }

    /// Returns the number of words of the line.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if there are no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the word at this index; `None` beyond the last one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&str> {
        self.items.get(index).map(String::as_str)
    }

    /// Returns the text from the word at this index on, as it was written.
    #[must_use]
    pub fn text_from(&self, index: usize) -> String {
        match &self.raw {
            Some((line, starts)) => {
                starts.get(index).map_or_else(String::new, |start| line[*start..].to_owned())
            }
            None => self.items.get(index..).unwrap_or_default().join(" "),
        }
    }

    /// Returns the word at this index with quotes resolved, and the number of words that its quotes span; an empty one
    /// beyond the last.
    ///
    /// # Errors
    /// [`Unclosed`] if a quote is not closed.
    pub fn quoted_at(&self, index: usize) -> Result<(String, usize), Unclosed> {
        let Some((line, starts)) = &self.raw else {
            return Ok((self.get(index).unwrap_or_default().to_owned(), 1));
        };
        let from = starts.get(index).copied().unwrap_or(line.len());
        let mut unclosed = None;
        for (count, (start, word)) in starts.iter().zip(&self.items).skip(index).enumerate() {
            // An escaped space is within the word.
            let is_escaped = word.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
            match split_quoted(&line[from..start + word.len()]) {
                Ok(_) if is_escaped && index + count + 1 < self.items.len() => {}
                Ok(words) => return Ok((words.concat(), count + 1)),
                Err(error) => unclosed = unclosed.or(Some(error)),
            }
        }
        unclosed.map_or(Ok((String::new(), 1)), Err)
    }

    /// Returns the words from this index on, with quotes resolved if they come from a chat line.
    ///
    /// # Errors
    /// [`Unclosed`] if a quote is not closed.
    pub fn quoted_from(&self, index: usize) -> Result<Vec<String>, Unclosed> {
        match &self.raw {
            Some(_) => split_quoted(&self.text_from(index)),
            None => Ok(self.items.get(index..).unwrap_or_default().to_vec()),
        }
    }
}

/// Returns a value as it is typed after `name=`: in quotes where a space or a quote is in it.
#[must_use]
pub fn in_quotes(value: &str) -> String {
    let is_plain =
        |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '“' | '”' | '„' | '‘' | '’' | '\\');
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The error for an opening quote, the field, that is never closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a quote ({0}) is not closed")]
pub struct Unclosed(pub char);

/// Splits at white space, but not inside quotes. It understands `"…"`, `'…'`, the curly quotes of phones, and `\`
/// before a quote, a space or a backslash. A single quote opens only at the start of a value, so that `don't` stays
/// one word.
///
/// # Errors
/// [`Unclosed`] if a quote is not closed.
pub fn split_quoted(text: &str) -> Result<Vec<String>, Unclosed> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut inside = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let at_value = !inside || word.ends_with('=');
        match c {
            '\\' => {
                let escaped = chars.next_if(|next| matches!(next, '"' | '\'' | '\\' | ' '));
                word.push(escaped.unwrap_or('\\'));
                inside = true;
            }
            '"' | '“' | '”' | '„' => {
                inside = true;
                quoted(c, &mut chars, &mut word)?;
            }
            '\'' | '‘' if at_value => {
                inside = true;
                quoted(c, &mut chars, &mut word)?;
            }
            c if c.is_whitespace() => {
                if inside {
                    words.push(std::mem::take(&mut word));
                }
                inside = false;
            }
            c => {
                word.push(c);
                inside = true;
            }
        }
    }
    if inside {
        words.push(word);
    }
    Ok(words)
}

fn quoted(
    open: char,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    word: &mut String,
) -> Result<(), Unclosed> {
    let closes = |c: char| match open {
        '\'' => c == '\'',
        '‘' => matches!(c, '’' | '‘'),
        '"' => c == '"',
        _ => matches!(c, '“' | '”' | '"'),
    };
    while let Some(c) = chars.next() {
        if closes(c) {
            return Ok(());
        }
        let escaped = if c == '\\' { chars.next_if(|next| matches!(next, '"' | '\'' | '\\')) } else { None };
        word.push(escaped.unwrap_or(c));
    }
    Err(Unclosed(open))
}

/// Returns a word like [`fold`], without the punctuation that ends a sentence.
#[must_use]
pub fn fold_end(word: &str) -> String {
    let mut word = fold(word);
    let end = word.trim_end_matches(['.', '!', '?', '…', '。']).len();
    if end > 0 {
        word.truncate(end);
    }
    word
}

/// Polite phrases at the beginning of a request, the longest first.
const POLITE_BEFORE: [&str; 7] =
    ["can you please", "could you please", "can you", "could you", "would you", "please", "pls"];

/// Polite words at the end of a request.
const POLITE_AFTER: [&str; 4] = ["please", "pls", "thanks", "thx"];

/// Returns a line without polite words around it: `please pause`, `can you pause?` and `pause now please` are `pause`
/// and `pause now`. Returns `None` if it has none, or nothing else.
#[must_use]
pub fn without_courtesy(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let folded: Vec<String> = words.iter().map(|word| fold_end(word.trim_end_matches([',', '，']))).collect();
    let before = POLITE_BEFORE.iter().find_map(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let begins =
            folded.len() > phrase.len() && folded.iter().zip(&phrase).all(|(word, polite)| word == polite);
        begins.then_some(phrase.len())
    });
    let start = before.unwrap_or(0);
    let mut end = words.len();
    while end > start + 1 && POLITE_AFTER.contains(&folded[end - 1].as_str()) {
        end -= 1;
    }
    let is_shorter = start > 0 || end < words.len();
    is_shorter.then(|| words[start..end].join(" ").trim_end_matches([',', '，']).to_owned())
}

/// Splits a line into its first visible character, in normal width, and the rest.
#[must_use]
pub fn head(text: &str) -> (Option<char>, &str) {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || unseen(c)).trim_end();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => (Some(narrow(first)), chars.as_str()),
        None => (None, ""),
    }
}

/// Returns the part of a line that begins with its first visible character.
#[must_use]
pub fn seen(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || unseen(c)).trim_end()
}

/// Returns the candidate that was probably meant, if one is similar enough: one typing mistake in a short word, two
/// in a longer one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = fold_end(word);
    let length = word.chars().count();
    // A longer word is no typing mistake, and comparing it would only take time.
    if !(3..=40).contains(&length) {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, candidate), candidate))
        .filter(|(slips, candidate)| *slips <= if length.min(candidate.chars().count()) < 5 { 1 } else { 2 })
        .min_by_key(|(slips, candidate)| (*slips, candidate.len()))
        .map(|(_, candidate)| candidate)
}

/// Maximum length of a person's words that a reply quotes, in characters.
const QUOTE_MAX: usize = 40;

/// Returns a person's words for quotation in a reply: cut to `QUOTE_MAX`, and without invisible characters.
#[must_use]
pub fn repeat(words: &str) -> String {
    bounded(words, QUOTE_MAX)
}

/// Returns a text on one line, without invisible characters, of at most `max` characters.
#[must_use]
pub fn bounded(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut space = false;
    for c in text.chars() {
        if c.is_whitespace() {
            space = !line.is_empty();
            continue;
        }
        if unseen(c) {
            continue;
        }
        if count + usize::from(space) >= max {
            line.push('…');
            return line;
        }
        if std::mem::take(&mut space) {
            line.push(' ');
            count += 1;
        }
        line.push(c);
        count += 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  a  b ", &["a", "b"]),
            (r#"a "b c" d"#, &["a", "b c", "d"]),
            (r#"instructions="do it, don't ask" x"#, &["instructions=do it, don't ask", "x"]),
            ("a='b \"c\" d'", &["a=b \"c\" d"]),
            (r#"say "a \"b\" c""#, &["say", "a \"b\" c"]),
            (r"a\ b c\d", &["a b", r"c\d"]),
            ("a=“b c” d", &["a=b c", "d"]),
            ("don't stop", &["don't", "stop"]),
            ("empty=\"\" x", &["empty=", "x"]),
            ("\"\"", &[""]),
        ];
        for (text, words) in cases {
            assert_eq!(
                split_quoted(text).as_deref(),
                Ok(*words).map(|w| w.map_to_owned()).as_deref(),
                "{text}"
            );
        }
        assert_eq!(split_quoted("a \"b"), Err(Unclosed('"')));
    }

    trait ToOwnedWords {
        fn map_to_owned(&self) -> Vec<String>;
    }

    impl ToOwnedWords for &[&str] {
        fn map_to_owned(&self) -> Vec<String> {
            self.iter().map(|word| (*word).to_owned()).collect()
        }
    }

    #[test]
    fn a_quoted_word_spans_words_of_the_line() {
        let words = Words::of_line("check=\"make  test\" fix it “a b” c 'd");
        let table = [(0, "check=make  test", 2), (2, "fix", 1), (4, "a b", 2), (6, "c", 1), (9, "", 1)];
        let escaped = Words::of_line("check=make\\ test all");
        assert_eq!(escaped.quoted_at(0), Ok(("check=make test".to_owned(), 2)));
        for (index, word, count) in table {
            assert_eq!(words.quoted_at(index), Ok((word.to_owned(), count)), "{index}");
        }
        assert_eq!(words.quoted_at(7), Err(Unclosed('\'')));
        let words = Words::of_args(vec!["check=make \"test".to_owned()]);
        assert_eq!(words.quoted_at(0), Ok(("check=make \"test".to_owned(), 1)));
    }

    #[test]
    fn text_after_a_word_is_kept_as_it_was_written() {
        let words = Words::of_line("  task  add   fix  the   é test ");
        assert_eq!(words.len(), 6);
        assert_eq!(words.text_from(2), "fix  the   é test");
        assert_eq!(words.text_from(9), "");
        let words = Words::of_args(vec!["a b".to_owned(), "c".to_owned()]);
        assert_eq!(words.text_from(0), "a b c");
        assert_eq!(words.quoted_from(0), Ok(vec!["a b".to_owned(), "c".to_owned()]));
    }

    #[test]
    fn words_are_compared_as_people_type_them() {
        assert_eq!(fold("Ｐａｕｓｅ"), "pause");
        assert_eq!(fold("PAU\u{200b}SE"), "pause");
        assert_eq!(fold_end("status?"), "status");
        assert_eq!(fold_end("!!!"), "!!!");
        assert_eq!(head("\u{feff} \u{2}！pause "), (Some('!'), "pause"));
        assert_eq!(bounded("a\n b\u{202e}c  d", 100), "a bc d");
        assert_eq!(bounded("abcdef", 3), "abc…");
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let verbs = ["pause", "resume", "task", "log", "stop-all"];
        for (word, found) in [
            ("resum", Some("resume")),
            ("puase", Some("pause")),
            ("paaause", Some("pause")),
            ("tsk", Some("task")),
            ("test", None),
            ("text", None),
            ("lgo", Some("log")),
            ("stopall", Some("stop-all")),
            ("раuse", Some("pause")),
            ("xy", None),
            ("refactor", None),
        ] {
            assert_eq!(nearest(word, verbs), found, "{word}");
        }
        assert_eq!(nearest(&"pause".repeat(100_000), verbs), None);
    }

    proptest! {
        #[test]
        fn splitting_never_panics(text in "\\PC*|[ \"'\\\\=a]*") {
            let _ = split_quoted(&text);
            let words = Words::of_line(&text);
            for index in 0..=words.len() {
                let _ = words.text_from(index);
            }
            prop_assert!(bounded(&text, 5).chars().count() <= 6);
        }
    }
}
