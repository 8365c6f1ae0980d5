//! Cuts long texts: both ends are kept, with a line between them that says how much is missing; or the beginning
//! alone.
//!
//! That line is part of the text and in English. Where people read the text, [`Cut::of`] recognises the line, so that
//! it is counted and said in the reader's language.

use unicode_segmentation::GraphemeCursor;

use super::unseen::{is_hidden, is_joiner};

/// Maximum length of the line that marks a cut in a text, with the line breaks around it, in bytes.
const MARK_MAX: usize = 48;

/// Amount of text that was left out at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Whole lines were left out: their number.
    Lines(usize),
    /// Bytes of one line were left out: their number.
    Bytes(usize),
}

impl Cut {
    /// Returns the line that stands in the text for what was left out.
    #[must_use]
    pub fn mark(self) -> String {
        let (count, unit) = match self {
            Self::Lines(count) => (count, "lines"),
            Self::Bytes(count) => (count, "bytes"),
        };
        format!("[… {count} {unit} left out …]")
    }

    /// Parses a line that marks a cut; `None` for any other line. An agent may write such a line itself: only a count
    /// depends on it.
    #[must_use]
    pub fn of(line: &str) -> Option<Self> {
        let said = line.trim().strip_prefix("[… ")?.strip_suffix(" left out …]")?;
        let (count, unit) = said.split_once(' ')?;
        let count = count.parse().ok()?;
        match unit {
            "lines" => Some(Self::Lines(count)),
            "bytes" => Some(Self::Bytes(count)),
            _ => None,
        }
    }
}

/// Line counts of a text that may have been shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Number of lines that the text has now, some perhaps in part.
    pub lines: usize,
    /// Number of lines before any were left out.
    pub whole: usize,
    /// True if nothing was left out.
    pub is_complete: bool,
}

impl Extent {
    /// Counts the lines of `text` and those that its cut marks say are missing.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut extent = Self { lines: 0, whole: 0, is_complete: true };
        let mut goes_on = false;
        for line in text.lines() {
            let cut = Cut::of(line);
            extent.is_complete &= cut.is_none();
            match cut {
                Some(Cut::Lines(count)) => extent.whole = extent.whole.saturating_add(count),
                Some(Cut::Bytes(_)) => {}
                // Text after a cut within a line is the end of that line.
                None if goes_on => {}
                None => {
                    extent.lines += 1;
                    extent.whole = extent.whole.saturating_add(1);
                }
            }
            goes_on = matches!(cut, Some(Cut::Bytes(_)));
        }
        extent
    }
}

/// Returns the number of lines that a line stands for: 1, or the number in it if it marks a cut.
#[must_use]
pub fn stands_for(line: &str) -> usize {
    match Cut::of(line) {
        Some(Cut::Lines(count)) => count,
        Some(Cut::Bytes(_)) | None => 1,
    }
}

/// Returns `text` in at most `max` bytes: its beginning and its end, cut between lines if a line break is near
/// enough, else between words.
#[must_use]
pub fn both_ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let half = max.saturating_sub(MARK_MAX) / 2;
    let head = floor(text, half);
    let tail = ceiling(text, text.len() - half);
    let line_end = text[..head].rfind('\n').filter(|at| *at > head / 2);
    let line_start = text[tail..].find('\n').map(|at| tail + at + 1).filter(|at| *at - tail < half / 2);
    match (line_end, line_start) {
        (Some(end), Some(start)) => {
            let missing = text[end + 1..start].lines().map(stands_for).fold(0, usize::saturating_add);
            format!("{}\n{}\n{}", &text[..end], Cut::Lines(missing).mark(), &text[start..])
        }
        (Some(_) | None, Some(_) | None) => {
            let (head, tail) = (word_end(text, head), word_start(text, tail));
            format!("{}\n{}\n{}", &text[..head], Cut::Bytes(tail - head).mark(), &text[tail..])
        }
    }
}

/// Returns the last character boundary at or before `at`.
#[must_use]
pub fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Returns the first character boundary at or after `at`.
fn ceiling(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Returns the last grapheme boundary at or before `limit`, which is a character boundary.
#[must_use]
pub fn grapheme_floor(text: &str, limit: usize) -> usize {
    let mut cursor = GraphemeCursor::new(limit, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return limit;
    }
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// Returns the offset, at most `limit`, at which to end the beginning of `text`: before a space or after a sentence if
/// there is one in the second half, else between graphemes.
fn word_end(text: &str, limit: usize) -> usize {
    let near = floor(text, limit / 2);
    let space = text[limit..].starts_with(char::is_whitespace).then_some(limit);
    let space = space.or_else(|| text[near..limit].rfind(char::is_whitespace).map(|at| near + at));
    let sentence = || text[near..limit].rfind(is_stop).map(|at| ceiling(text, near + at + 1));
    match space.or_else(sentence) {
        Some(end) if end > near => end,
        Some(_) | None => Some(grapheme_floor(text, limit)).filter(|end| *end > 0).unwrap_or(limit),
    }
}

/// Returns the offset, at least `limit`, at which to start the end of `text`, by the rules of [`word_end`].
fn word_start(text: &str, limit: usize) -> usize {
    let near = floor(text, limit + (text.len() - limit) / 2);
    let after = |at: usize| ceiling(text, limit + at + 1);
    if text[..limit].ends_with(char::is_whitespace) {
        return limit;
    }
    let space = text[limit..near].find(char::is_whitespace).map(after);
    space.or_else(|| text[limit..near].find(is_stop).map(after)).unwrap_or_else(|| {
        let mut cursor = GraphemeCursor::new(limit, text.len(), true);
        let is_boundary = cursor.is_boundary(text, 0).unwrap_or(true);
        if is_boundary { limit } else { cursor.next_boundary(text, 0).ok().flatten().unwrap_or(limit) }
    })
}

/// Returns true if `c` ends a sentence, or a part of one, in a language without spaces.
fn is_stop(c: char) -> bool {
    matches!(c, '。' | '、' | '！' | '？' | '，' | '；' | '」' | '）')
}

/// Cuts `text` to at most `max` bytes, at a character boundary.
#[must_use]
pub fn bounded(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    &text[..floor(text, max)]
}

/// Returns the beginning of `text` as one line of at most `max` bytes that ends with no part of a word, and so with no
/// part of a secret that is redacted later. A word is a run of ASCII characters, with what is invisible among them;
/// other scripts are cut between characters.
#[must_use]
pub fn excerpt(text: &str, max: usize) -> String {
    let line = one_line(text, text.len());
    if line.len() <= max {
        return line;
    }
    let is_of_a_word = |c: char| c.is_ascii_graphic() || is_hidden(c) || is_joiner(c);
    let head = bounded(&line, max.saturating_sub('…'.len_utf8()));
    let is_inside = line[head.len()..].starts_with(is_of_a_word);
    let whole = if is_inside { head.trim_end_matches(is_of_a_word) } else { head };
    format!("{}…", whole.trim_end())
}

/// Returns `text` as one line of at most `max` bytes: each run of white space becomes one blank, control characters
/// are removed.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max));
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > max {
            let keep = bounded(&line, max.saturating_sub('…'.len_utf8())).len();
            line.truncate(keep);
            line.push('…');
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_ends_of_a_long_text_stay_and_what_is_missing_is_counted() {
        let text: Vec<String> = (1..=1000).map(|line| format!("line {line}")).collect();
        let cut = both_ends(&text.join("\n"), 200);
        assert!(cut.starts_with("line 1\nline 2\n"), "{cut}");
        assert!(cut.ends_with("\nline 999\nline 1000"), "{cut}");
        assert_eq!(cut.lines().map(stands_for).sum::<usize>(), 1000, "{cut}");
        let again = both_ends(&cut, 150);
        assert_eq!(again.lines().map(stands_for).sum::<usize>(), 1000, "cut twice: {again}");
    }

    #[test]
    fn an_excerpt_ends_with_no_part_of_a_secret() {
        let key = "sk-abcdefghijklmnopqrstuvwxyz";
        let parted: String = key.chars().flat_map(|c| [c, '\u{200b}']).collect();
        for before in 0..=130 {
            for key in [key, &parted] {
                let text = format!("{} {key} and more", "x".repeat(before));
                let shown = excerpt(&text, 120);
                assert!(shown.len() <= 120, "{shown}");
                assert!(shown.contains(key) || !shown.contains('s'), "{shown}");
            }
        }
        assert_eq!(excerpt("日本語の文", 10), "日本…");
    }

    #[test]
    fn of_one_long_line_bytes_are_missing() {
        let cut = both_ends(&"x".repeat(1000), 148);
        assert_eq!(cut, format!("{0}\n[… 900 bytes left out …]\n{0}", "x".repeat(50)));
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        let cut = both_ends(&"fourteen words ".repeat(40), 148);
        let (head, tail) = cut.split_once("\n[… ").expect("it says that it was cut");
        assert!(head.ends_with(" words") || head.ends_with(" fourteen"), "{cut}");
        assert!(
            tail.contains("left out …]\nfourteen words ") || tail.contains("left out …]\nwords "),
            "{cut}"
        );
        // Text without spaces is cut at the end of a sentence; without that, never within a grapheme.
        let cut = both_ends(&"これは日本語の文です。".repeat(40), 248);
        let lines: Vec<&str> = cut.lines().collect();
        assert!(lines[0].ends_with("です。") && lines[2].starts_with("これは"), "{cut}");
        let cut = both_ends(&"👨‍👩‍👧‍👦".repeat(40), 148);
        let lines: Vec<&str> = cut.lines().collect();
        assert!(lines[0].ends_with('👦') && lines[2].starts_with('👨'), "{cut}");
    }

    #[test]
    fn what_is_left_of_a_text_is_counted() {
        let of = |text: &str| {
            let Extent { lines, whole, is_complete } = Extent::of(text);
            (lines, whole, is_complete)
        };
        assert_eq!(of("a\n\nb\n"), (3, 3, true));
        assert_eq!(of("a\n[… 7 lines left out …]\nb"), (2, 9, false));
        assert_eq!(of("a\n[… 70 bytes left out …]\nb\nc\n[… 9 bytes left out …]"), (2, 2, false));
    }

    proptest! {
        #[test]
        fn a_cut_text_is_within_its_bound(text in "[aö👨 。\u{200d}\n]{0,400}", max in 60_usize..400) {
            prop_assert!(both_ends(&text, max).len() <= max);
        }

        #[test]
        fn a_mark_is_known_again(count in 0_usize..1_000_000) {
            for cut in [Cut::Lines(count), Cut::Bytes(count)] {
                prop_assert_eq!(Cut::of(&cut.mark()), Some(cut));
            }
        }
    }
}
