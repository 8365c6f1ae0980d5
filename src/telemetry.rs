//! Logs: `tracing` events as text or JSON on standard error, with secrets redacted. Under systemd each line begins with
//! its priority.
//!
//! The filter is `HERDER_LOG`, else `RUST_LOG`, else `info`. Messages for people go to chat, never here; and no log
//! line is needed to understand what herder said there.

use std::env;
use std::io::{self, IsTerminal as _, Write};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::redact::Redactor;

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// Log lines as text, for people.
    #[default]
    Text,
    /// Log lines as one JSON object each, for machines.
    Json,
}

/// The error for an invalid filter in `HERDER_LOG` or `RUST_LOG`.
#[derive(Debug, thiserror::Error)]
#[error("{variable} = \"{value}\" is not a log filter: {why}; write e.g. info or herder=debug")]
pub struct FilterError {
    variable: &'static str,
    value: String,
    why: String,
}

/// Starts logging to standard error, also of panics. A second call has no effect.
///
/// # Errors
/// The filter in the environment is invalid.
pub fn start(format: LogFormat, redactor: Redactor) -> Result<(), FilterError> {
    let filter = filter()?;
    let writer = Redacting { redactor, is_journal: is_journal() };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let colours = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    // An error means that a test in this process already logs, whose settings stay.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(colours).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = text.unwrap_or("something that is not a text");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic: {message}");
    }));
    Ok(())
}

/// The environment variables with the log filter, in order of precedence.
const VARIABLES: [&str; 2] = ["HERDER_LOG", "RUST_LOG"];

/// Returns true if the environment sets a log filter.
#[must_use]
pub fn asked_for() -> bool {
    VARIABLES.iter().any(|variable| env::var(variable).is_ok_and(|value| !value.trim().is_empty()))
}

fn filter() -> Result<EnvFilter, FilterError> {
    for variable in VARIABLES {
        let Some(value) = env::var(variable).ok().filter(|value| !value.trim().is_empty()) else { continue };
        return EnvFilter::try_new(&value).map_err(|error| FilterError {
            variable,
            value,
            why: error.to_string(),
        });
    }
    // sled logs its internals at info; herder logs the relevant parts itself.
    Ok(EnvFilter::new("info,sled=warn,async_nats=off"))
}

/// A writer to standard error that redacts secrets. The formatter passes whole events, so that no secret is split.
struct Redacting {
    redactor: Redactor,
    /// True if each line begins with its priority, for systemd's journal, which removes it.
    is_journal: bool,
}

struct Line<'a> {
    redactor: &'a Redactor,
    priority: Option<u8>,
}

/// Returns true if standard error is systemd's journal, which `JOURNAL_STREAM` identifies.
fn is_journal() -> bool {
    let Some(stream) = env::var("JOURNAL_STREAM").ok() else { return false };
    let Ok(found) = rustix::fs::fstat(io::stderr()) else { return false };
    stream.split_once(':').is_some_and(|(device, inode)| {
        device.parse() == Ok(found.st_dev) && inode.parse() == Ok(found.st_ino)
    })
}

/// Returns the syslog priority of a log level, as in sd-daemon(3).
fn priority(level: tracing::Level) -> u8 {
    match level {
        tracing::Level::ERROR => 3,
        tracing::Level::WARN => 4,
        tracing::Level::INFO => 6,
        tracing::Level::DEBUG | tracing::Level::TRACE => 7,
    }
}

/// Returns a text with the priority before each of its lines, as `<6>`.
fn prefixed(text: &str, priority: u8) -> String {
    text.split_inclusive('\n').map(|line| format!("<{priority}>{line}")).collect()
}

impl<'a> MakeWriter<'a> for Redacting {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { redactor: &self.redactor, priority: None }
    }

    fn make_writer_for(&'a self, meta: &tracing::Metadata<'_>) -> Self::Writer {
        let priority = self.is_journal.then(|| priority(*meta.level()));
        Line { redactor: &self.redactor, priority }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = self.redactor.redact(&text);
        let text = self.priority.map_or(text.clone(), |priority| prefixed(&text, priority).into());
        // A full or closed standard error must not become an error of the code that logs.
        let _ = io::stderr().lock().write_all(text.as_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_begins_with_its_priority() {
        assert_eq!(prefixed("one\n", 6), "<6>one\n");
        assert_eq!(prefixed("one\ntwo\n", 4), "<4>one\n<4>two\n");
        assert_eq!(prefixed("", 4), "");
    }
}
