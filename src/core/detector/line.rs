//! Classifies lines of an output (error, detail, summary, count), and detects outputs about trouble that passes by
//! itself.

/// Words that mark an output line as an error, in lower case.
const ERRORS: &[&str] = &[
    "error",
    "errors",
    "err",
    "exception",
    "panicked",
    "panic",
    "failed",
    "failure",
    "fatal",
    "denied",
    "refused",
    "rejected",
    "cannot",
    "undefined",
    "assertion",
    "segmentation",
    "unexpected",
    "invalid",
    "expected",
    "errored",
    "unsupported",
    "unknown",
    "unable",
    "unresolved",
    "undeclared",
    "forbidden",
    "unauthorized",
];

/// Pairs of adjacent words that mark an output line as an error.
const PAIRS: &[(&str, &str)] = &[
    ("not", "found"),
    ("not", "supported"),
    ("not", "exist"),
    ("no", "such"),
    ("no", "module"),
    ("could", "not"),
    ("timed", "out"),
    ("not", "permitted"),
    ("not", "defined"),
    ("can", "t"),
    ("couldn", "t"),
    ("not", "ok"),
];

/// Prefixes that mark an output line as the report of a failure.
const MARKS: &[&str] = &["-->", "E  ", "✗", "✕", "×", "✘", "--- FAIL", "FAIL", "ld:", "caused by"];

/// Returns true if an output line reports an error.
pub(super) fn is_error(line: &str) -> bool {
    let mut before = "";
    let says = words(line).any(|word| {
        let pair = PAIRS.iter().any(|(a, b)| before.eq_ignore_ascii_case(a) && word.eq_ignore_ascii_case(b));
        before = word;
        pair || is_one_of(word, ERRORS)
            || (word.len() > 9 && (word.ends_with("Error") || word.ends_with("Exception")))
    });
    says || MARKS.iter().any(|mark| starts(line, mark))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|other| word.eq_ignore_ascii_case(other))
}

/// Returns true if a text has one of the phrases at the start of a word, in any case.
pub(super) fn has_one_of(text: &str, phrases: &[&str]) -> bool {
    let bytes = text.as_bytes();
    let mut inside = false;
    for (at, byte) in bytes.iter().enumerate() {
        if !inside {
            let rest = &bytes[at..];
            let first = byte.to_ascii_lowercase();
            let found = |phrase: &&str| {
                let phrase = phrase.as_bytes();
                phrase.first() == Some(&first)
                    && rest.get(..phrase.len()).is_some_and(|head| head.eq_ignore_ascii_case(phrase))
            };
            if phrases.iter().any(found) {
                return true;
            }
        }
        inside = byte.is_ascii_alphanumeric();
    }
    false
}

fn starts(line: &str, start: &str) -> bool {
    line.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Returns true if an output line right after an error belongs to the error: the place, the expected and the actual
/// value.
pub(super) fn is_detail(line: &str) -> bool {
    ["-->", "at ", "left:", "right:", "got", "actual", "received", "E  ", "in "]
        .iter()
        .any(|start| starts(line, start))
}

/// Returns true if an output line only says that something failed, as it would for any error.
pub(super) fn is_summary(line: &str) -> bool {
    const SUMMARIES: &[&str] = &[
        "could not compile",
        "test failed, to rerun",
        "test result:",
        "exit code",
        "exit status",
        "exited with",
        "elifecycle",
        "lifecycle script",
        "make: ***",
        "make[",
        "build failed",
        "aborting due to",
        "for more information",
        "command failed",
        "some tests failed",
        "process completed",
        "short test summary",
        "a complete log of this run",
        "failed to compile",
        "compilation failed",
        "build failure",
        "failed with an exception",
        "try:",
        "tests failed",
        "traceback (most",
        "test run failed",
        "finished in",
        "time elapsed",
        "duration",
    ];
    if !line.bytes().any(|b| b.is_ascii_alphanumeric()) {
        return !line.is_empty() && line.is_ascii();
    }
    has_one_of(line, SUMMARIES)
        || (line.len() < 100 && counts(line))
        || line.strip_suffix(':').is_some_and(|head| !head.contains([' ', '/']))
}

/// Returns true if an output line counts test results or errors: `3 failed, 12 passed in 0.4s`, `Tests: 1 failed, 7
/// passed`, `2 errors generated`.
pub(super) fn counts(line: &str) -> bool {
    const COUNTED: &[&str] = &[
        "failed",
        "failure",
        "failures",
        "error",
        "errors",
        "problems",
        "passed",
        "passing",
        "failing",
        "warnings",
        "previous",
        "examples",
        "assertions",
    ];
    if !line.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let mut number = false;
    line.split_whitespace().map(|word| word.trim_matches(|c: char| "()[];,.=:".contains(c))).any(|word| {
        let counted = number && is_one_of(word, COUNTED);
        number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        counted
    })
}

/// Returns true if an output reports trouble that passes by itself: networks, locks, limits.
pub(super) fn passes(said: &str) -> bool {
    const SIGNS: &[&str] = &[
        "timed out",
        "timeout",
        "connection reset",
        "connection refused",
        "econnreset",
        "econnrefused",
        "etimedout",
        "eai_again",
        "temporary failure",
        "temporarily",
        "could not resolve",
        "couldn't resolve",
        "network",
        "too many requests",
        "rate limit",
        "try again",
        "could not get lock",
        "file lock",
        "tls handshake",
        "unreachable",
        "ssl_connect",
        "unexpected eof",
        "broken pipe",
        "early eof",
        "rpc failed",
        "service unavailable",
        "bad gateway",
        "socket hang up",
        "remote end hung up",
        "max retries exceeded",
        "failed to connect",
        "could not connect",
        "couldn't connect",
        "cannot connect",
        "unable to connect",
        "can't connect",
        "connection error",
        "connectionerror",
        "connectexception",
        "host is down",
        "no response",
        "busy",
        "locked",
        "not ready",
        "in progress",
        "starting up",
        "try later",
        "throttl",
        "connection closed",
        "no route to host",
        "name resolution",
        "overloaded",
        "quota",
    ];
    has_one_of(said, SIGNS) || words(said).any(|word| matches!(word, "429" | "502" | "503" | "504"))
}

/// Yields the lines of an output, without prefixes that logs add.
pub(super) fn messages(said: &str) -> impl Iterator<Item = Message<'_>> {
    said.lines().map(|line| Message { line: line.trim(), text: message(line) })
}

/// A line of a program's output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    /// The whole line without outer blanks, including any prefix that a log added.
    pub(super) line: &'a str,
    /// The line without the prefix that a log adds.
    pub(super) text: &'a str,
}

/// Returns a line without a log's prefix: times, counters, bars, names of jobs in brackets.
fn message(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((token, after)) = rest.split_once(char::is_whitespace) {
        let bar =
            token.chars().all(|c| c.is_ascii_digit() || c.is_ascii_punctuation() || "│┃•╷╵".contains(c));
        let name = token.starts_with('[') && token.ends_with(']');
        if token == "-->" || !(bar || name) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

/// Returns an error without the names of the programs that pass it on: `bash: line 1: protoc: command not found`
/// equals `make: protoc: command not found`.
pub(super) fn core(text: &str) -> &str {
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once(": ") {
        let shell = head.rsplit('/').next().is_some_and(|base| matches!(base, "bash" | "sh" | "zsh"));
        let place = head.strip_prefix("line ").unwrap_or(head).bytes().all(|b| b.is_ascii_digit());
        let name = head.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if !(shell || place || name) || !tail.contains(": ") {
            break;
        }
        rest = tail;
    }
    rest
}
