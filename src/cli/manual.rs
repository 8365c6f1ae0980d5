//! The manual pages: `herder(1)`, one for each command, and `bot.toml(5)`, made from the example that has every key.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::config;

/// Writes all manual pages into `folder`, which is created if it does not exist.
///
/// # Errors
/// A page cannot be written.
pub(super) fn write(command: Command, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder)?;
    fs::write(folder.join("bot.toml.5"), bot_toml()?)
}

fn source() -> String {
    format!("herder {}", env!("CARGO_PKG_VERSION"))
}

/// Formats the example configuration as the manual page `bot.toml(5)`: each section becomes a section of the page, each
/// key an entry with the text of its comment.
fn bot_toml() -> io::Result<Vec<u8>> {
    let mut roff = Roff::new();
    roff.control("TH", ["bot.toml", "5", "", &source(), "herder"]);
    roff.control("SH", ["NAME"]).text([roman("bot.toml - configuration of herder(1)")]);
    roff.control("SH", ["DESCRIPTION"]);
    let mut lines = config::EXAMPLE.lines();
    let head: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).map(bare).collect();
    roff.text([roman(head.join(" "))]);
    roff.control("SH", ["AT THE TOP"]);
    let mut words = String::new();
    for line in lines {
        match part(line) {
            Part::Section(name) => {
                roff.control("SH", [name.as_str()]);
                paragraph(&mut roff, &mut words);
            }
            Part::Key { key, value, comment } => {
                let said = std::mem::take(&mut words);
                roff.control("TP", []).text([bold(key), roman(" = "), italic(value)]);
                roff.text([roman(format!("{said}{comment}"))]);
            }
            Part::More(more) => {
                roff.text([roman(more)]);
            }
            Part::Words(more) => {
                words.push_str(more);
                words.push(' ');
            }
            Part::Nothing => {}
        }
    }
    paragraph(&mut roff, &mut words);
    roff.control("SH", ["SEE ALSO"]).text([roman("herder(1)")]);
    let mut text = Vec::new();
    roff.to_writer(&mut text)?;
    Ok(text)
}

fn paragraph(roff: &mut Roff, words: &mut String) {
    let said = std::mem::take(words);
    if !said.trim().is_empty() {
        let said: Vec<Inline> = vec![roman(said.trim())];
        roff.control("PP", []).text(said);
    }
}

/// The meaning of one line of the example configuration.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    Section(String),
    Key {
        key: &'a str,
        value: &'a str,
        comment: &'a str,
    },
    /// A line that continues the comment of the key before it.
    More(&'a str),
    Words(&'a str),
    Nothing,
}

fn bare(line: &str) -> &str {
    line.trim_start_matches(['#', ' '])
}

fn part(line: &str) -> Part<'_> {
    if let Some(more) = line.strip_prefix("#  ") {
        return Part::More(bare(more));
    }
    // A key or a section that is commented out is one all the same.
    let code = line.strip_prefix("# ").unwrap_or(line);
    if code.starts_with('[') && code.trim_end().ends_with(']') && !code.contains(' ') {
        return Part::Section(code.trim().to_owned());
    }
    let is_key = |key: &str| key.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '"' || c == '*');
    match code.split_once(" = ") {
        Some((key, rest)) if is_key(key) => {
            let (value, comment) = cut(rest);
            Part::Key { key, value, comment }
        }
        _ if bare(line).is_empty() => Part::Nothing,
        _ => Part::Words(bare(line)),
    }
}

/// Splits the part of a line after ` = ` into the value and the comment.
fn cut(rest: &str) -> (&str, &str) {
    let mut is_quoted = false;
    for (at, c) in rest.char_indices() {
        is_quoted ^= c == '"';
        if c == '#' && !is_quoted {
            return (rest[..at].trim_end(), rest[at + 1..].trim());
        }
    }
    (rest.trim_end(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_example_are_sections_keys_and_words() {
        assert_eq!(part("[discord]"), Part::Section("[discord]".to_owned()));
        assert_eq!(part("# [[webhook]]"), Part::Section("[[webhook]]".to_owned()));
        let key = Part::Key { key: "token", value: r##"{ a = "#" }"##, comment: "Words, a # more." };
        assert_eq!(part(r##"# token = { a = "#" }   # Words, a # more."##), key);
        assert_eq!(
            part("# Hours and days are those of UTC."),
            Part::Words("Hours and days are those of UTC.")
        );
        assert_eq!(part("#                # and so on."), Part::More("and so on."));
        assert_eq!(part("#"), Part::Nothing);
    }
}
