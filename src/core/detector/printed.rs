//! Rounds in the output of a program that reports no turns: the lines from one line to where the same line comes again.
//!
//! A program that does the same thing over and over prints the same lines over and over, so that its rounds begin at
//! the same line each time. Rounds with an error that does not pass by itself are compared as turns are.

use std::collections::HashSet;
use std::time::Duration;

use super::line;
use super::shape;

/// Minimum duration of a round: a line that comes again sooner belongs to the same round.
const ROUND_MIN: Duration = Duration::from_secs(3);

/// Maximum number of different lines of a round; then it begins anew, since a build prints thousands.
const LINES_MAX: usize = 1000;

/// Maximum number of bytes of a round that are kept; later lines are dropped.
const BYTES_MAX: usize = 64 * 1024;

/// A round of a program's output that is over: from a line to where the same line comes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Start of the round, by the clock by which its lines were reported.
    pub began: Duration,
    /// The text printed in the round.
    pub text: String,
}

/// The round that goes on, in the output of a program that reports no turns.
#[derive(Debug, Default)]
pub struct Rounds {
    began: Duration,
    /// Hashes of the lines of the round, without the parts that differ from run to run.
    known: HashSet<u64>,
    text: String,
    /// True if a line of the round reports an error.
    failed: bool,
}

impl Rounds {
    /// Adds a line that was printed at `at`. Returns the round that it ends, if that one had an error which does not
    /// pass by itself.
    pub fn line(&mut self, line: &str, at: Duration) -> Option<Round> {
        let shape = shape::of_output(line).hash;
        let says = line.chars().any(char::is_alphabetic);
        let again = says && self.known.contains(&shape) && at.saturating_sub(self.began) >= ROUND_MIN;
        let over =
            if again || self.known.len() >= LINES_MAX { std::mem::take(self) } else { Self::default() };
        if self.text.is_empty() {
            self.began = at;
        }
        if says {
            self.known.insert(shape);
            self.failed |= line::is_error(line) && !line::is_summary(line);
        }
        if self.text.len() + line.len() <= BYTES_MAX {
            self.text.push_str(line);
            self.text.push('\n');
        }
        let stuck = again && over.failed && !line::passes(&over.text);
        stuck.then_some(Round { began: over.began, text: over.text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds of a program that prints `lines` again and again, a line each second.
    fn rounds(first: &[&str], lines: &[&str], times: usize) -> Vec<Round> {
        let mut rounds = Rounds::default();
        let all = first.iter().chain(std::iter::repeat_n(lines, times).flatten());
        all.zip(0..).filter_map(|(line, second)| rounds.line(line, Duration::from_secs(second))).collect()
    }

    const TRIES: [&str; 4] = [
        "I run the tests again.",
        "error[E0308]: mismatched types",
        "test result: FAILED. 3 passed; 1 failed; finished in 0.12s",
        "I change the type back.",
    ];

    #[test]
    fn a_round_is_from_a_line_to_where_it_comes_again() {
        let seen = rounds(&["Hello.", ""], &TRIES, 5);
        assert_eq!(seen.len(), 4);
        let text = format!("{}\n", TRIES.join("\n"));
        assert_eq!(seen[0].text, format!("Hello.\n\n{text}"));
        assert!(seen[1..].iter().all(|round| round.text == text), "{seen:?}");
        let began: Vec<u64> = seen.iter().map(|round| round.began.as_secs()).collect();
        assert_eq!(began, [0, 6, 10, 14]);
    }

    #[test]
    fn who_gets_on_waits_or_meets_with_what_passes_has_none() {
        let passing = ["I ask the server.", "error: connection refused", "I wait.", "I try again."];
        let fine = ["GET /health 200 in 5 ms", "GET /page 200 in 7 ms", "all is well", "and again"];
        for lines in [passing, fine] {
            assert_eq!(rounds(&[], &lines, 5), []);
        }
        // Each line is another one.
        let names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
        let mut getting_on = Rounds::default();
        for (second, name) in (0..).zip(names.repeat(2)) {
            let line = format!("error: {name} of {} is missing", names[usize::try_from(second).unwrap() / 8]);
            assert_eq!(getting_on.line(&line, Duration::from_secs(second)), None, "{line}");
        }
        // Faster than anybody tries again.
        let mut spinner = Rounds::default();
        assert!((0..1000).all(|_| spinner.line("error: no", Duration::from_secs(1)).is_none()));
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut rounds = Rounds::default();
        for n in 0..100_000_u64 {
            rounds.line(&format!("error: {} {}", "x".repeat(500), letters(n)), Duration::from_millis(n));
            assert!(rounds.known.len() <= LINES_MAX && rounds.text.len() <= BYTES_MAX);
        }
    }

    /// A number as letters: no two look alike.
    fn letters(mut n: u64) -> String {
        let mut word = String::new();
        loop {
            word.push(char::from(b'a' + u8::try_from(n % 26).unwrap()));
            n /= 26;
            if n == 0 {
                return word;
            }
        }
    }
}
