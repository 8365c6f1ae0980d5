//! Searches text in other languages than a shell's, such as SQL and Python, for dangerous commands.

use super::{DROP, PUSH, REMOVE, SUDO, TRUNCATE};

/// Finds SQL that removes or empties a table, in the words of a command or in a text given to it. A comment must open
/// and close in one word: `/*` in a word may also be a file pattern.
pub(super) fn sql(words: &[&str]) -> Option<&'static str> {
    let words: Vec<String> = words.iter().map(|word| without_comments(word)).collect();
    let text = words.join(" ").to_ascii_lowercase();
    let mut verb = None;
    let mut rest = text.as_str();
    while let Some((token, after)) = next_token(rest, "_") {
        rest = after;
        match (token, verb) {
            ("drop", _) => verb = Some(DROP),
            ("truncate", _) => verb = Some(TRUNCATE),
            ("table", Some(found)) => return Some(found),
            ("temporary" | "foreign", _) => {}
            _ => verb = None,
        }
    }
    None
}

/// Replaces SQL comments with a blank. An unclosed comment is left.
fn without_comments(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        let Some((_, after)) = comment.split_once("*/") else { break };
        shown.push_str(before);
        shown.push(' ');
        rest = after;
    }
    shown.push_str(rest);
    shown
}

/// Returns the next word of a text, of letters, digits and the characters in `inside`, and the rest.
fn next_token<'a>(text: &'a str, inside: &str) -> Option<(&'a str, &'a str)> {
    let is_inside = |c: char| c.is_alphanumeric() || inside.contains(c);
    let text = &text[text.find(is_inside)?..];
    Some(text.split_at(text.find(|c| !is_inside(c)).unwrap_or(text.len())))
}

/// Calls in other languages that remove folders.
const REMOVERS: [&str; 5] = ["rmtree", "rmSync", "rm_rf", "rm_r", "remove_dir_all"];

/// Calls in other languages that run a command.
const RUNS: [&str; 13] = [
    "system",
    "exec",
    "spawn",
    "open",
    "subprocess",
    "run",
    "call",
    "check_",
    "Command",
    "sh",
    "`",
    "qx",
    "%x",
];

/// Searches a script in another language for dangerous commands, provided that it runs any. `broken`: a shell script
/// that the grammar could not parse.
pub(super) fn loose(text: &str, broken: bool) -> Option<&'static str> {
    let runs = broken || RUNS.iter().any(|call| text.contains(call));
    let mut before = "";
    let mut rest = text;
    while let Some((token, after)) = next_token(rest, "_-") {
        rest = after;
        if token == "sudo" && runs {
            return Some(SUDO);
        }
        if REMOVERS.contains(&token) {
            return Some(REMOVE);
        }
        match before {
            _ if !runs => {}
            "git" if token == "push" => return Some(PUSH),
            "git" if matches!(token, "-C" | "-c") => rest = after_argument(rest),
            "rm" if token.starts_with("--r") || (token.starts_with('-') && token.contains(['r', 'R'])) => {
                return Some(REMOVE);
            }
            // Options of the command.
            "git" | "rm" if token.starts_with('-') => {}
            _ => before = token,
        }
    }
    None
}

/// Returns the text after the next argument, in a command or in a list of quoted words.
fn after_argument(text: &str) -> &str {
    let is_between = |c: char| c.is_whitespace() || "'\"`,".contains(c);
    let argument = text.trim_start_matches(is_between);
    &argument[argument.find(is_between).unwrap_or(argument.len())..]
}
