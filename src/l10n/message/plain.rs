//! Text of others as part of a sentence: on one line, and bounded.

use unicode_segmentation::UnicodeSegmentation;

use super::{DETAIL_MAX, Locale, NAME_MAX};

/// Reduces free text to one line of at most `max` graphemes.
pub(in crate::l10n) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for grapheme in word.graphemes(true) {
            if length >= max {
                line.truncate(line.trim_end().len());
                line.push('…');
                return line;
            }
            line.push_str(grapheme);
            length += 1;
        }
    }
    line
}

/// Removes characters from a person's name that could imitate the quotation or the place that follows it in a sentence.
pub(super) fn bare_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if "():*`：（）".contains(c) { ' ' } else { c }).collect();
    one_line(&name, NAME_MAX)
}

/// Reduces free text to a sentence: one line that ends with a full stop, or says that nothing was given.
pub(in crate::l10n) fn sentence(locale: &Locale, text: &str) -> String {
    let mut line = one_line(text, DETAIL_MAX);
    if line.is_empty() {
        line = locale.text("no-reason", &[]);
    }
    if !line.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        line.push_str(&locale.text("full-stop", &[]));
    }
    line
}
