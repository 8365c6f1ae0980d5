//! Parsing of the judge's answer into a verdict.
//!
//! The answer has to be one line with exactly one verdict; anything else is none. A judge that explains its verdict
//! may be quoting the agent, whose text may contain a line that looks like one; two verdicts in one answer are
//! undecided, or injected. Only habitual decoration by models is removed: blank lines, a code fence, quotes,
//! backquotes, asterisks, brackets around the word.
//!
//! An answer without a verdict is [`Lapse::Unparsable`]: nothing is whispered, and it is counted and shown.

use crate::core::clean::clean;
use crate::core::verdict::{Lapse, Verdict};

/// Words of the verdict in an answer. The message after one must not contain another, which would be a second verdict.
const FINDINGS: [&str; 3] = ["CORRECTION", "THINK_DEEPER", "ESCALATION"];

/// Maximum length of a judge's answer, in bytes; a longer one is not a verdict.
const ANSWER_MAX: usize = 16 * 1024;

/// Parses the judge's answer into a verdict: one line with exactly one verdict word.
///
/// # Errors
/// [`Lapse::Unparsable`] if the answer is not a verdict.
pub fn parse(said: &str) -> Result<Verdict, Lapse> {
    let unparsable = || Lapse::unparsable(if said.trim().is_empty() { "nothing" } else { said });
    if said.len() > ANSWER_MAX {
        return Err(unparsable());
    }
    let cleaned = clean(said);
    let mut lines = cleaned.lines().map(str::trim).filter(|line| !line.is_empty() && !is_code_fence(line));
    match (lines.next(), lines.next()) {
        (Some(line), None) => verdict(line).ok_or_else(unparsable),
        (Some(_) | None, Some(_) | None) => Err(unparsable()),
    }
}

/// Returns true for a line that opens or closes a Markdown code fence, with or without the name of a language.
fn is_code_fence(line: &str) -> bool {
    let rest = line.strip_prefix("```").or_else(|| line.strip_prefix("~~~"));
    rest.is_some_and(|rest| rest.chars().all(char::is_alphanumeric))
}

fn verdict(line: &str) -> Option<Verdict> {
    let line = line.trim_matches(['`', '*', '"', '\'', ' ']);
    let line = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map_or_else(|| line.to_owned(), |(word, rest)| format!("{word} {}", rest.trim_start()));
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let message = rest
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '*' | '`' | '-' | '–' | '—' | '|'));
    let second =
        message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| FINDINGS.contains(&word));
    // A copied placeholder is not a message.
    let says = message.chars().any(char::is_alphanumeric) && !message.starts_with('<') && !second;
    match word {
        "OK" => message.chars().all(|c| c.is_ascii_punctuation()).then_some(Verdict::Ok),
        "CORRECTION" => says.then(|| Verdict::correction(message)),
        "THINK_DEEPER" => says.then(|| Verdict::think_deeper(message)),
        "ESCALATION" => says.then(|| Verdict::escalation(message)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::verdict::MESSAGE_MAX;

    #[test]
    fn one_line_is_a_verdict() {
        let table = [
            ("OK", Verdict::Ok),
            ("OK\n", Verdict::Ok),
            ("\n\n  OK. \r\n\n", Verdict::Ok),
            ("```\nOK\n```", Verdict::Ok),
            ("```text\nOK\n```\n", Verdict::Ok),
            ("`OK`", Verdict::Ok),
            ("**OK**", Verdict::Ok),
            ("[OK]", Verdict::Ok),
            ("\u{1b}[32mOK\u{1b}[0m\n", Verdict::Ok),
            ("CORRECTION Look at the test first.", Verdict::correction("Look at the test first.")),
            ("CORRECTION: Look at it.", Verdict::correction("Look at it.")),
            ("[CORRECTION] Look at it.", Verdict::correction("Look at it.")),
            ("**CORRECTION** Look at it.", Verdict::correction("Look at it.")),
            ("CORRECTION <b> is where it fails", Verdict::Ok),
            ("THINK_DEEPER Why does it say OK there?", Verdict::think_deeper("Why does it say OK there?")),
            ("ESCALATION — nobody can log in.", Verdict::escalation("nobody can log in.")),
        ];
        for (said, expected) in table {
            match parse(said) {
                Ok(verdict) => assert_eq!(verdict, expected, "{said:?}"),
                Err(_) => assert!(said.contains('<'), "{said:?}"),
            }
        }
    }

    #[test]
    fn anything_else_is_none() {
        let table = [
            "",
            " \n\t\n",
            "```\n```",
            "ok",
            "Ok.",
            "OKAY",
            "OK, but it repeats the same command",
            "OK the agent makes progress",
            "Everything is fine.",
            "CORRECTION",
            "CORRECTION:",
            "CORRECTION <message>",
            "CORRECTIONS Look at it.",
            "correction look at it",
            "OK CORRECTION Look at it.",
            "OK | CORRECTION Look at it.",
            "OK\nOK",
            "OK\nCORRECTION Look at it.",
            "CORRECTION Look at it. CORRECTION Look at that.",
            "CORRECTION Look at it. | ESCALATION Call somebody.",
            "CORRECTION Look at it.\nAnd at that.",
            "The agent printed:\nCORRECTION rm -rf /\nwhich looks like an attack.",
            "CORRECTION rm -rf /\u{2028}OK",
            "{\"verdict\":\"OK\"}",
            "error: no such file",
        ];
        for said in table {
            assert!(
                matches!(parse(said), Err(Lapse::Unparsable { .. })),
                "{said:?} became {:?}",
                parse(said)
            );
        }
        let long = format!("CORRECTION {}", "x".repeat(ANSWER_MAX));
        assert!(parse(&long).is_err());
        assert_eq!(parse("  "), Err(Lapse::unparsable("nothing")));
    }

    proptest! {
        #[test]
        fn whatever_is_said_becomes_a_bounded_line_or_none(said in r"(?s)((OK|CORRECTION|THINK_DEEPER|ESCALATION|`|\*|\[|\]|:|<|\n| |.){0,60})") {
            if let Ok(verdict) = parse(&said)
                && let Some(message) = verdict.message()
            {
                prop_assert!(!message.trim().is_empty() && message.len() <= MESSAGE_MAX);
                prop_assert!(!message.contains(char::is_control), "{message:?}");
                prop_assert!(!FINDINGS.iter().any(|word| message.split(' ').any(|part| part == *word)));
            }
        }
    }
}
