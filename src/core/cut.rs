//! Long texts: both ends are kept, and a line of its own says how much is missing between them; or the beginning alone.
//!
//! The line is part of the text, in English like the text around it may be anything. Where people read the text,
//! [`Cut::of`] knows the line again, so that it is counted, and said in their language.

/// The most bytes of a line that says what is missing, and of the line breaks around it.
const MARK_MAX: usize = 48;

/// How much was left out of a text at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Whole lines.
    Lines(usize),
    /// Bytes of one line.
    Bytes(usize),
}

impl Cut {
    /// The line that says so.
    #[must_use]
    pub fn mark(self) -> String {
        let (count, unit) = match self {
            Self::Lines(count) => (count, "lines"),
            Self::Bytes(count) => (count, "bytes"),
        };
        format!("[… {count} {unit} left out …]")
    }

    /// What a line says is missing, if it is such a line. An agent that writes one itself is believed: nothing but a
    /// count depends on it.
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

/// How many lines a line stands for: itself, or those that it says are missing.
#[must_use]
pub fn stands_for(line: &str) -> usize {
    match Cut::of(line) {
        Some(Cut::Lines(count)) => count,
        Some(Cut::Bytes(_)) | None => 1,
    }
}

/// `text` in at most `max` bytes: its beginning and its end, cut between lines if it has any near enough.
#[must_use]
pub fn both_ends(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let half = max.saturating_sub(MARK_MAX) / 2;
    let head = (0..=half).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (text.len() - half..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let line_end = text[..head].rfind('\n').filter(|at| *at > head / 2);
    let line_start = text[tail..].find('\n').map(|at| tail + at + 1).filter(|at| *at - tail < half / 2);
    match (line_end, line_start) {
        (Some(end), Some(start)) => {
            let missing = text[end + 1..start].lines().map(stands_for).fold(0, usize::saturating_add);
            format!("{}\n{}\n{}", &text[..end], Cut::Lines(missing).mark(), &text[start..])
        }
        (Some(_) | None, Some(_) | None) => {
            format!("{}\n{}\n{}", &text[..head], Cut::Bytes(tail - head).mark(), &text[tail..])
        }
    }
}

/// Cuts `text` to at most `max` bytes at a character's border.
#[must_use]
pub fn bounded(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// `text` as one line: every run of white space is one blank, control characters are gone, at most `max` bytes.
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
    fn of_one_long_line_bytes_are_missing() {
        let cut = both_ends(&"x".repeat(1000), 148);
        assert_eq!(cut, format!("{0}\n[… 900 bytes left out …]\n{0}", "x".repeat(50)));
    }

    proptest! {
        #[test]
        fn a_cut_text_is_within_its_bound(text in "[aö👨\n]{0,400}", max in 60_usize..400) {
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
