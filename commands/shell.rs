//! herder's own sentences in the form of a shell: without markup, and with commands as they are typed there. Words of
//! others in them are left alone ([`crate::l10n::Form`]).

use super::grammar;
use super::words::Words;
use super::{Arg, Command};
use crate::core::id::AgentName;

/// Converts herder's own sentence for a shell: `!pause [agent]` becomes `herder pause [agent]`, `@spark resume` becomes
/// `herder resume spark`, and bold markup is removed. Only whole commands in backticks are converted.
pub(super) fn line(line: &str) -> String {
    let bare = line.replace("**", "");
    let mut pieces = bare.split('`');
    let mut told = pieces.next().unwrap_or_default().to_owned();
    let rest: Vec<&str> = pieces.collect();
    for (at, piece) in rest.iter().enumerate() {
        told.push('`');
        // Every second piece is between two backticks, except after an unclosed one.
        match typed(piece).filter(|_| at % 2 == 0 && at + 1 < rest.len()) {
            Some(typed) => told.push_str(&typed),
            None => told.push_str(piece),
        }
    }
    told
}

fn typed(said: &str) -> Option<String> {
    if let Some(command) = said.strip_prefix('!') {
        let words = Words::of_line(command);
        let found = grammar::find(&words)?;
        let rest = quoted(found.command, &words.text_from(found.used));
        let name = command.split_whitespace().take(found.used).collect::<Vec<_>>().join(" ");
        return Some(format!("herder {name} {rest}").trim_end().to_owned());
    }
    let (agent, command) = said.strip_prefix('@')?.split_once(' ')?;
    AgentName::new(agent).ok()?;
    let words = Words::of_line(command);
    let Some(found) = grammar::find(&words) else {
        return Some(format!("herder task add {agent} {}", in_quotes(command)));
    };
    let rest = quoted(found.command, &words.text_from(found.used));
    let typed = format!("herder {} {agent} {rest}", found.command.name);
    Some(typed.trim_end().to_owned())
}

/// Quotes the text after a command's name if a shell would interpret it.
fn quoted(command: &Command, rest: &str) -> String {
    let takes_text = command.args.iter().any(|arg| matches!(arg, Arg::Text | Arg::Parts));
    // A usage line has placeholders, which are not typed.
    if !takes_text || rest.contains(['[', '<']) || !rest.contains(is_special) {
        return rest.to_owned();
    }
    // The word before the text is a number, or was meant as a name.
    let first = rest.split_whitespace().next().unwrap_or_default();
    match rest.strip_prefix(first) {
        Some(text) if first.trim_start_matches('#').parse::<u64>().is_ok() => {
            format!("{first} {}", in_quotes(text.trim_start()))
        }
        _ => in_quotes(rest),
    }
}

/// Returns true if a shell gives a character a special meaning.
fn is_special(c: char) -> bool {
    ";|&$()'\"\\*?#~!{}".contains(c)
}

fn in_quotes(text: &str) -> String {
    if text.contains(is_special) { format!("'{}'", text.replace('\'', "'\\''")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_typed_can_be_typed_in_a_shell() {
        let table = [
            ("Usage: `!pause [agent] [now]`", "Usage: `herder pause [agent] [now]`"),
            (
                "**spark** is paused. `@spark resume` lets it go on.",
                "spark is paused. `herder resume spark` lets it go on.",
            ),
            ("`@spark log session 4 page 2` goes on.", "`herder log spark session 4 page 2` goes on."),
            ("`!agent remove spark chgx`", "`herder agent remove spark chgx`"),
            ("`!task split 4 first; second`", "`herder task split 4 'first; second'`"),
            ("`!task split <task> <first; second; …>`", "`herder task split <task> <first; second; …>`"),
            ("`@spark don't stop`", "`herder task add spark 'don'\\''t stop'`"),
            ("`@spark run the tests`", "`herder task add spark run the tests`"),
            ("a `b` c, `!b`, `@b/c d`", "a `b` c, `!b`, `@b/c d`"),
            ("wow `!never closed", "wow `!never closed"),
        ];
        for (said, shown) in table {
            assert_eq!(line(said), shown);
        }
    }
}
