//! `context.md`: the state that a session leaves when it did not finish its work, for the next session and for
//! people.
//!
//! It is made from the agent's state alone, so that it can be written again whenever it may be missing.

use super::agent::Agent;
use super::ask::About;
use super::recap::{bounded, ended, one_line};
use super::turn::Turn;
use super::work::{Work, WorkKind};

/// Name of the folder in a workspace that holds one folder per agent.
pub const FOLDER: &str = ".herder";

/// Name of the file in an agent's folder below [`FOLDER`].
pub const FILE: &str = "context.md";

/// Maximum length of the work's own text in `context.md`, in bytes; the whole text is in the journal and in the next
/// prompt.
const TASK_MAX: usize = 4000;

/// Maximum length of each question or message in `context.md`, in bytes.
const LINE_MAX: usize = 500;

/// Maximum length of the one-line summary of a turn, in bytes.
const TURN_MAX: usize = 240;

/// Number of turns of earlier sessions that are kept; the results of older ones are in the workspace.
pub(super) const DONE_KEPT: usize = 20;

/// Maximum length of a command or path in the summary of a turn, in bytes.
const WHAT_MAX: usize = 80;

/// Returns the text of `context.md`; `None` if no session has started work and left it unfinished. It has at most a few
/// kilobytes, whatever the agent said.
#[must_use]
pub fn context(agent: &Agent) -> Option<String> {
    let unfinished = agent.unfinished.as_ref().filter(|unfinished| unfinished.tries > 0)?;
    let mut works = agent.current.iter().chain(&agent.queue);
    let work = works.find(|work| work.id == unfinished.work)?;
    let name = agent.name()?;
    let mut text = format!(
        "# Where {name} left off\n\nherder wrote this when a session ended before its work was done. It is written anew with each such end.\n"
    );
    section(&mut text, &title(work), &bounded(work.text.trim(), TASK_MAX));
    let tries =
        if unfinished.tries == 1 { "1 session".to_owned() } else { format!("{} sessions", unfinished.tries) };
    let why = agent.last_outcome.as_ref().map(ended).unwrap_or_default();
    section(&mut text, "How it ended", format!("{tries} had it so far.{why}").trim());
    let done: Vec<String> = unfinished.done.iter().map(|line| format!("- {line}")).collect();
    section(&mut text, "Done so far", &done.join("\n"));
    section(&mut text, "Last output", &unfinished.progress);
    section(&mut text, "Open questions", &open(agent, work, &unfinished.steered.iter().collect::<Vec<_>>()));
    Some(text)
}

fn title(work: &Work) -> String {
    match work.kind {
        WorkKind::Task => format!("Task {}", work.id),
        WorkKind::Message => format!("Message {}", work.id),
        WorkKind::Round => "Round of a loop".to_owned(),
    }
}

/// Appends a heading and its text, quoted, so that no line of the text becomes a heading.
fn section(text: &mut String, title: &str, body: &str) {
    let body = if body.trim().is_empty() { "nothing that is known" } else { body };
    text.push_str(&format!("\n## {title}\n\n"));
    for line in body.lines() {
        text.push_str(format!("> {}", line.trim_end()).trim_end());
        text.push('\n');
    }
}

fn open(agent: &Agent, work: &Work, steered: &[&String]) -> String {
    let asks = agent.asks.iter().filter(|ask| ask.work == work.id).map(|ask| match &ask.about {
        About::Question { text, .. } => format!("- Nobody has answered yet: {}", line(text)),
        About::Plan { text } => format!("- Nobody has approved yet: {}", line(text)),
        About::Permission { command, .. } => format!("- Nobody has allowed yet: {}", line(command)),
    });
    let report = agent.unfinished.as_ref().and_then(|unfinished| unfinished.report.as_deref());
    let said = report.map(|report| format!("- It said itself: {}", line(&report.note)));
    let messages = steered.iter().map(|text| format!("- A message came in meanwhile: {}", line(text)));
    asks.chain(said).chain(messages).collect::<Vec<_>>().join("\n")
}

fn line(text: &str) -> String {
    bounded(&one_line(text), LINE_MAX)
}

/// Summarises a turn in one line: the steps taken and the words said.
pub(super) fn brief(turn: &Turn) -> Option<String> {
    let steps = turn.steps.iter().map(|step| {
        let failed = step.end.as_ref().is_some_and(|end| !end.ok);
        let mark = if failed { " (failed)" } else { "" };
        format!("{} {}{mark}", step.tool, bounded(&one_line(&step.what), WHAT_MAX))
    });
    let words = Some(one_line(&turn.words)).filter(|words| !words.is_empty());
    let pieces: Vec<String> = words.map(|words| bounded(&words, WHAT_MAX)).into_iter().chain(steps).collect();
    (!pieces.is_empty()).then(|| bounded(&pieces.join("; "), TURN_MAX))
}
