//! Pages that are made from the code: commands, command line, configuration, events. `HERDER_BLESS=1` rewrites them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use herder::commands::COMMANDS;
use herder::l10n::Locale;

use super::{read, root};

/// Holds what stands between two markers of a page to what was made.
pub(crate) fn hold(page: &str, marker: &str, made: &str) {
    let text = read(Path::new(page));
    let (begin, end) = (format!("<!-- {marker} -->\n"), format!("<!-- /{marker} -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} lacks {begin}"));
    let (written, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} lacks {end}"));
    if std::env::var_os("HERDER_BLESS").is_some() {
        fs::write(root().join(page), format!("{before}{begin}{made}{end}{after}"))
            .expect("a page can be written");
        return;
    }
    assert_eq!(written, made, "{page} is not what the code says: HERDER_BLESS=1 writes it anew");
}

#[test]
fn the_commands_are_those_of_the_table() {
    let locale = Locale::load("en-US").expect("the source");
    hold("docs/reference/commands.md", "commands", &herder::commands::table_markdown(&locale));
}

#[test]
fn the_numbers_are_those_of_the_table() {
    hold("docs/reference/metrics.md", "metrics", &herder::http::metrics_markdown());
}

#[test]
fn the_command_line_is_that_of_the_binary() {
    let help = |arguments: &[&str]| {
        let mut herder = Command::new(env!("CARGO_BIN_EXE_herder"));
        let output = herder.args(arguments).env_remove("COLUMNS").output().expect("herder runs");
        String::from_utf8(output.stdout).expect("help is text")
    };
    let mut made = format!("```text\n{}```\n", help(&["--help"]));
    let all = help(&["--help"]);
    let names =
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = names.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        // Those about runners are herder's own as well.
        let of_chat =
            name != "runner" && COMMANDS.iter().any(|command| command.name.split(' ').next() == Some(name));
        if !of_chat && name != "help" {
            write!(made, "\n## `herder {name}`\n\n```text\n{}```\n", help(&[name, "--help"]))
                .expect("a text");
        }
    }
    hold("docs/reference/cli.md", "cli", &made);
}

/// Text that is no markup: signs that Markdown or HTML would take are escaped, but for those in code.
fn prose(text: &str) -> String {
    let pieces = text.split('`').enumerate().map(|(n, piece)| {
        if n % 2 == 1 {
            return piece.replace('|', "\\|");
        }
        piece.replace('<', "&lt;").replace('*', "\\*").replace('|', "\\|").replace("[", "\\[")
    });
    pieces.collect::<Vec<_>>().join("`")
}

/// A line of the example, cut where its comment begins.
fn cut(line: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in line.char_indices() {
        quoted ^= c == '"';
        if c == '#' && !quoted && line[..at].ends_with(' ') {
            return (line[..at].trim_end(), line[at + 1..].trim());
        }
    }
    (line, "")
}

fn configuration() -> String {
    let key = regex::Regex::new(r#"^(# )?([a-z_]+|"[^"]+") = (.*)$"#).expect("a pattern");
    let section = regex::Regex::new(r"^(# )?(\[\[?[a-z]+\]\]?)$").expect("a pattern");
    let mut made = String::from("\n## At the top\n");
    let mut rows = 0;
    let mut words = String::new();
    let heading = "\n| key | default | meaning |\n|---|---|---|\n";
    for line in herder::config::EXAMPLE.lines().skip(3) {
        let (code, comment) = cut(line);
        if let Some(found) = section.captures(code) {
            write!(made, "\n## `{}`\n", &found[2]).expect("a text");
            if !words.is_empty() {
                write!(made, "\n{}\n", prose(words.trim())).expect("a text");
            }
            words.clear();
            rows = 0;
        } else if let Some(found) = key.captures(code) {
            if rows == 0 {
                made.push_str(heading);
            }
            rows += 1;
            let value = found[3].replace('|', "\\|");
            let default =
                if found.get(1).is_some() { format!("none; as in `{value}`") } else { format!("`{value}`") };
            let meaning = format!("{} {comment}", words.trim());
            writeln!(made, "| `{}` | {default} | {} |", &found[2], prose(meaning.trim())).expect("a text");
            words.clear();
        } else if let Some(more) = line.strip_prefix("#  ") {
            // A comment that continues belongs to the row before it.
            let more = prose(more.trim_start_matches(['#', ' ']));
            let end = made.trim_end().strip_suffix(" |").map(str::len).expect("a row stands before it");
            made.truncate(end);
            writeln!(made, " {more} |").expect("a text");
        } else {
            words.push_str(line.trim_start_matches('#').trim());
            words.push(' ');
        }
    }
    made.push('\n');
    made
}

#[test]
fn the_configuration_is_that_of_the_example() {
    hold("docs/reference/configuration.md", "configuration", &configuration());
}

/// The variants of an enum of events, as they are spelled on disk, each with its sentence.
fn variants(source: &str, name: &str) -> String {
    let text = read(Path::new(source));
    let (_, body) = text.split_once(&format!("pub enum {name} {{\n")).expect("the enum is there");
    let (body, _) = body.split_once("\n}\n").expect("the enum has an end");
    let mut made = String::from("| event | meaning |\n|---|---|\n");
    let link = regex::Regex::new(r"\[(`[^`]+`)\](\([^)]*\))?").expect("a pattern");
    let mut words = String::new();
    for line in body.lines() {
        let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with([' ', '}'])) else {
            continue;
        };
        if let Some(more) = line.strip_prefix("/// ") {
            words.push_str(more);
            words.push(' ');
        } else if line.starts_with(|c: char| c.is_ascii_uppercase()) {
            let variant: String = line.chars().take_while(char::is_ascii_alphanumeric).collect();
            let mut kebab = String::new();
            for (at, c) in variant.char_indices() {
                if c.is_ascii_uppercase() && at > 0 {
                    kebab.push('-');
                }
                kebab.push(c.to_ascii_lowercase());
            }
            let meaning = link.replace_all(words.trim(), "$1").into_owned();
            writeln!(made, "| `{kebab}` | {} |", prose(&meaning)).expect("a text");
            words.clear();
        }
    }
    made
}

#[test]
fn the_events_are_those_of_the_journal() {
    hold("docs/reference/events.md", "agent-events", &variants("src/core/event.rs", "Event"));
    hold("docs/reference/events.md", "fleet-events", &variants("src/journal/mod.rs", "FleetEvent"));
}
