//! Problems of a file, in sentences that say where, what, and what to do.

use std::fmt;

use crate::core::unseen::is_hidden;

/// Returns a text from the file for display in a terminal: characters that control the terminal or are invisible are
/// escaped.
pub(crate) fn printable(text: &str) -> String {
    let shown = |c: char| if is_hidden(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// A mistake in the configuration file, or a warning about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line of the file, counted from 1; `None` for the file as a whole.
    pub line: Option<usize>,
    /// Name of the section as written in the file, e.g. `[irc.libera]`; empty at the top.
    pub place: String,
    /// Name of the key; empty for the section as a whole.
    pub key: String,
    /// Description of the problem, with the remedy.
    pub text: String,
}

impl Problem {
    /// Returns the description with its position in `file`: `bot.toml:12: [irc.libera] port: …`.
    #[must_use]
    pub fn sentence(&self, file: &str) -> String {
        let mut sentence = file.to_owned();
        if let Some(line) = self.line {
            sentence.push_str(&format!(":{line}"));
        }
        sentence.push(':');
        for part in [&self.place, &self.key] {
            if !part.is_empty() {
                sentence.push(' ');
                sentence.push_str(part);
            }
        }
        if !self.place.is_empty() || !self.key.is_empty() {
            sentence.push(':');
        }
        sentence.push(' ');
        sentence.push_str(&self.text);
        printable(&sentence)
    }
}

/// All mistakes in a configuration file, in the order of its lines. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// Name of the file, as it was given.
    pub file: String,
    /// The mistakes.
    pub list: Vec<Problem>,
}

impl Problems {
    pub(super) fn whole_file(file: String, text: String) -> Self {
        let problem = Problem { line: None, place: String::new(), key: String::new(), text };
        Self { file, list: vec![problem] }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&problem.sentence(&self.file))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_file_moves_no_cursor() {
        let text = "\"\u{1b}[2J\u{202e}x\u{0}\" is no name".to_owned();
        let problem =
            Problem { line: Some(1), place: "[agents.\u{7}a]".to_owned(), key: "nick".to_owned(), text };
        let shown = problem.sentence("bot.toml");
        assert_eq!(shown, "bot.toml:1: [agents.\\u{7}a] nick: \"\\u{1b}[2J\\u{202e}x\\u{0}\" is no name");
    }
}
