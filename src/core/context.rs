//! `context.md`: what a session that did not finish its work leaves behind, for the next one and for people who look.
//!
//! It is made of the state alone, so that it can be written anew whenever it may be missing.

use super::agent::Agent;
use super::ask::About;
use super::recap::{bounded, ended, one_line};
use super::turn::Turn;
use super::work::{Work, WorkKind};

/// The folder of all agents of a workspace, and the file in the agent's own folder there.
pub const FOLDER: &str = ".herder";

/// See [`FOLDER`].
pub const FILE: &str = "context.md";

/// The most of the work's own text: the whole of it is in the journal and in the next prompt.
const TASK_MAX: usize = 4000;

/// The most of each question or message.
const LINE_MAX: usize = 500;

/// The most of what is said of one turn.
const TURN_MAX: usize = 240;

/// The turns of lost sessions that are kept: what came before them is in the workspace by now.
pub(super) const DONE_KEPT: usize = 20;

/// The most of a command or a path in it.
const WHAT_MAX: usize = 80;

/// The file's whole text, if a session has begun the work that the agent has at hand and not finished it. At most a few
/// kilobytes, whatever the agent has said.
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

/// A heading and what stands below it, quoted: nothing in it becomes a heading of its own.
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
    let report = agent.unfinished.as_ref().and_then(|unfinished| unfinished.report.as_ref());
    let said = report.map(|report| format!("- It said itself: {}", line(&report.note)));
    let messages = steered.iter().map(|text| format!("- A message came in meanwhile: {}", line(text)));
    asks.chain(said).chain(messages).collect::<Vec<_>>().join("\n")
}

fn line(text: &str) -> String {
    bounded(&one_line(text), LINE_MAX)
}

/// One turn in a line: what it did and what it said.
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
