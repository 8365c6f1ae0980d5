//! Extraction of the one line with a program's reason to exit from its last lines: the message of a crash, not its
//! stack frames.

/// Maximum number of lines that are searched for the reason of an exit: a crash with its causes has fewer.
const LINES_MAX: usize = 30;

/// Number of lines between a Rust panic's location and the end of its message: `assert_eq!` prints three.
const PANIC_LINES: usize = 6;

/// Returns the line that tells why a program ended, among the last `lines` of its output, oldest first; `None` if there
/// is none.
///
/// Node ends a crash with its own version, and Rust with a hint; both print the message before that.
#[must_use]
pub fn reason<'a>(lines: impl DoubleEndedIterator<Item = &'a str>) -> Option<String> {
    let mut lines: Vec<&str> = lines.rev().take(LINES_MAX).map(str::trim).collect();
    lines.reverse();
    let last = lines.iter().rposition(|line| !is_noise(line))?;
    let node = lines[last..].iter().any(|line| is_runtime_version(line));
    if node && let Some(head) = lines.iter().rposition(|line| is_error_head(line)) {
        return Some(lines[head].trim_end_matches([' ', '{']).to_owned());
    }
    let from = last.saturating_sub(PANIC_LINES);
    if let Some(panic) = lines[from..=last].iter().rposition(|line| line.contains("panicked at ")) {
        let (place, message) = (lines[from + panic], lines.get(from + panic + 1));
        return Some(match message.filter(|_| place.ends_with(':')) {
            Some(message) => format!("{place} {message}"),
            None => place.to_owned(),
        });
    }
    // `anyhow` and similar: the error, then its causes, numbered if there are several.
    if let Some(caused) = lines[..last].iter().rposition(|line| *line == "Caused by:")
        && let Some(head) = lines[..caused].iter().rposition(|line| !is_noise(line))
    {
        let deepest = lines[last].split_once(": ").filter(|(number, _)| is_number(number));
        return Some(format!("{}: {}", lines[head], deepest.map_or(lines[last], |(_, cause)| cause)));
    }
    // A Go panic is followed by the stacks of every goroutine.
    let go = lines.iter().rposition(|line| line.starts_with("panic: "));
    if let Some(panic) = go.filter(|panic| lines[*panic..].iter().any(|line| line.starts_with("goroutine ")))
    {
        return Some(lines[panic].to_owned());
    }
    Some(lines[last].to_owned())
}

/// Returns true if a line is the message of an uncaught error: `Error: …`, `TypeError: …`, `Error [ERR_X]: …`.
fn is_error_head(line: &str) -> bool {
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let name = line.split([':', ' ', '[']).next().unwrap_or_default();
    let named = ["Error", "Exception", "Rejection"].iter().any(|end| name.ends_with(end));
    (named && line.contains(':')) || line.starts_with("[UnhandledPromiseRejection")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_runtime_version(line: &str) -> bool {
    ["Node.js v", "Bun v", "Deno "].iter().any(|name| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    })
}

/// Returns true if a line belongs to a crash or a warning and does not tell the reason, such as a line of a stack
/// trace.
fn is_noise(line: &str) -> bool {
    // Rules, brackets and the caret below a line of source.
    if !line.chars().any(char::is_alphanumeric) {
        return true;
    }
    let starts = |begins: &[&str]| begins.iter().any(|begin| line.starts_with(begin));
    if starts(&["note: run with `RUST_BACKTRACE", "note: Some details are omitted", "stack backtrace:"]) {
        return true;
    }
    // Warnings of Node, and the hint after them.
    if (line.starts_with("(node:") && line.contains("Warning")) || line.starts_with("(Use `node --trace-") {
        return true;
    }
    // Members of a printed error: `code: 'ENOENT',`.
    let member = line.split_once(": ").is_some_and(|(name, value)| {
        let known = ["code", "errno", "syscall", "path", "requireStack", "address", "port", "hostname"];
        known.contains(&name)
            && (value.starts_with('\'')
                || value.starts_with(['-', '['])
                || is_number(value.trim_end_matches(',')))
    });
    // Stack frames: `at f (/x.js:1:2)`, `at /x.js:1:2`, `12: core::panicking::panic`.
    let frame = line.strip_prefix("at ").is_some_and(|place| place.contains(':') || place.contains('<'));
    let numbered =
        line.split_once(": ").is_some_and(|(number, symbol)| is_number(number) && symbol.contains("::"));
    member || frame || numbered || is_runtime_version(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        reason(text.lines())
    }

    /// As Node 20, Python 3.11, Rust 1.8x and Go 1.2x print them.
    #[test]
    fn of_a_crash_the_message_is_the_reason() {
        let table = [
            (
                "/tmp/x.js:1\nthrow new Error('no key: run `x login`')\n^\n\nError: no key: run `x login`\n    at Object.<anonymous> (/tmp/x.js:1:7)\n    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n\nNode.js v20.20.2",
                "Error: no key: run `x login`",
            ),
            (
                "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/tmp/y.js'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n    at node:internal/main/run_main_module:28:49 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.20.2",
                "Error: Cannot find module '/tmp/y.js'",
            ),
            (
                "node:internal/process/promises:288\n            triggerUncaughtException(err, true /* fromPromise */);\n            ^\n\n[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason \"no\".] {\n  code: 'ERR_UNHANDLED_REJECTION'\n}\n\nNode.js v20.20.2",
                "[UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block. The promise rejected with the reason \"no\".]",
            ),
            (
                "TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be of type string {\n  code: 'ERR_INVALID_ARG_TYPE'\n}\n\nNode.js v22.1.0",
                "TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be of type string",
            ),
            (
                "Traceback (most recent call last):\n  File \"/tmp/x.py\", line 1, in <module>\n    raise ValueError('no key')\n    ^^^^^^^^^^^^^^^^^^^^^^^^^\nValueError: no key",
                "ValueError: no key",
            ),
            (
                "  | Traceback (most recent call last):\n    +-+---------------- 1 ----------------\n      | ValueError: no key\n      +------------------------------------",
                "| ValueError: no key",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nno key\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
                "thread 'main' panicked at src/main.rs:2:5: no key",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:5:\nassertion `left == right` failed\n  left: 1\n right: 2\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/abc/library/std/src/panicking.rs:697:5\n   1: core::panicking::panic_fmt\n             at /rustc/abc/library/core/src/panicking.rs:75:14\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.",
                "thread 'main' panicked at src/main.rs:2:5: assertion `left == right` failed",
            ),
            (
                "thread 'main' panicked at 'no key', src/main.rs:2:5\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
                "thread 'main' panicked at 'no key', src/main.rs:2:5",
            ),
            (
                "Error: cannot start\n\nCaused by:\n    0: reading /x\n    1: no such file",
                "Error: cannot start: no such file",
            ),
            (
                "panic: no key\n\ngoroutine 1 [running]:\nmain.main()\n\t/tmp/x.go:3 +0x2c\nexit status 2",
                "panic: no key",
            ),
            ("first\nout of cheese", "out of cheese"),
            (
                "not logged in\n(node:12) ExperimentalWarning: SQLite\n(Use `node --trace-warnings ...` to show where the warning was created)",
                "not logged in",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(of(text).as_deref(), Some(expected), "{text}");
        }
        for nothing in ["", "\n\n", "}\n^^^^\n----", "(node:12) Warning: x"] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }
}
