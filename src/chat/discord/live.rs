//! State of a running session, shown in the message that announced its start: tool, last sign of life, turns, tokens,
//! cost, waiting tasks.
//!
//! The message ([`super::status`]) is edited after the session has run for a moment, then at most every few seconds
//! and only if its text changes, and closed if the session fails; a completed session is announced by a post. Times
//! are Discord timestamps, which each client keeps current. A restarted herder continues with the same message. A
//! failed edit is tried again with the next change, and never delays a post.

mod board;

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tracing::debug;

use super::Bot;
use super::rest::{RestError, code};
use super::status::{self, Says, Status};
use crate::clock;
use crate::commands::say::{DOT, Voice, task};
use crate::core::agent::Agent;
use crate::core::id::AgentName;
use crate::core::outcome::{Category, Usage};
use crate::core::time::Timestamp;
use crate::outbox::markup::{self, Markup};
use crate::supervisor::View;
use board::{Board, Message, Seen, Step, Stepped};

/// Interval at which status messages are compared with the agents' state, while a session runs or is shown.
const LOOK: Duration = Duration::from_secs(1);
/// Timeout of a request that edits a status message; the next change supersedes it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum length of a tool's name and of the task's text in a status message, in characters.
const SHORT: usize = 60;

type Stepping = Pin<Box<dyn Future<Output = (AgentName, Stepped)> + Send>>;

/// Keeps the status messages of running sessions up to date, until dropped or until intake closes.
pub(super) async fn run(bot: Arc<Bot>) {
    let mut board = Board::new(at_work(&bot), clock::now());
    let mut shown: HashMap<AgentName, String> = HashMap::new();
    let mut under_way: FuturesUnordered<Stepping> = FuturesUnordered::new();
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut changes, mut is_busy) = (bot.ports.fleet.changes(), true);
    loop {
        tokio::select! {
            // Sessions that end with herder continue in the next process, with the same message.
            () = bot.ports.hearing.cancelled() => break,
            Some((agent, stepped)) = under_way.next(), if !under_way.is_empty() => {
                // A failed edit is not shown, and a closed message shows nothing.
                if stepped != Stepped::Changed {
                    shown.remove(&agent);
                }
                board.stepped(&agent, stepped, clock::now());
            }
            Ok(()) = changes.changed(), if !is_busy => is_busy = true,
            _ = tick.tick(), if is_busy => {
                changes.mark_unchanged();
                let (now, views) = (clock::now(), bot.ports.fleet.agents());
                let open: BTreeMap<AgentName, Status> = open(&bot).collect();
                let seen: Vec<Seen> = views.iter().map(|view| seen(view, open.get(&view.name))).collect();
                let views: BTreeMap<&AgentName, &View> = views.iter().map(|view| (&view.name, view)).collect();
                for (agent, step) in board.look(&seen, now) {
                    let text = text(&bot, &agent, views.get(&agent).copied(), step, now);
                    if matches!(step, Step::Change(_)) && shown.get(&agent) == Some(&text) {
                        board.stepped(&agent, Stepped::Changed, now);
                        continue;
                    }
                    shown.insert(agent.clone(), text.clone());
                    under_way.push(Box::pin(carry_out(Arc::clone(&bot), agent, step, text)));
                }
                is_busy = board.is_shown() || seen.iter().any(|seen| seen.session.is_some());
            }
        }
    }
    // Edits in flight finish, so that the shown text is stored.
    while under_way.next().await.is_some() {}
}

/// Returns the status messages whose session is not over, according to the stored state.
fn open(bot: &Bot) -> impl Iterator<Item = (AgentName, Status)> + use<> {
    bot.statuses.all().into_iter().filter(|(_, status)| status.is_open())
}

/// Returns the status messages that showed a running session when herder last ran.
fn at_work(bot: &Bot) -> Vec<(AgentName, Message)> {
    let at_work = open(bot).filter(|(_, status)| status.says == Says::AtWork);
    at_work.map(|(agent, status)| (agent, message(&status))).collect()
}

fn message(status: &Status) -> Message {
    Message { channel: status.channel, id: status.id, session: status.session, since: status.since }
}

fn seen(view: &View, status: Option<&Status>) -> Seen {
    let agent = &view.agent;
    // Its end is announced by a post, or the next session continues it.
    let goes_well = |outcome: &Category| matches!(outcome, Category::Success | Category::MaxTurns);
    let well = agent.last_outcome.as_ref().filter(|outcome| goes_well(&outcome.category));
    Seen {
        agent: view.name.clone(),
        session: agent.session(),
        well: well.map(|_| agent.last_session),
        message: status.map(message),
    }
}

/// Returns the text of an agent's status message after this step.
fn text(bot: &Bot, agent: &AgentName, view: Option<&View>, step: Step, now: Timestamp) -> String {
    let voice = Voice { locale: &bot.ports.locale, now, redactor: &bot.ports.redactor };
    let text = match (step, view) {
        (Step::Change(Message { since, .. }), Some(view)) => working(voice, view, since),
        (Step::Change(Message { since, .. }), None) => ended(voice, agent, None, since),
        (Step::Close(message), view) => {
            // The view's outcome may belong to a later session.
            let last = view.map(|view| &*view.agent).filter(|agent| agent.last_session == message.session);
            ended(voice, agent, last, message.since)
        }
    };
    bot.ports.redactor.redact_shown(&text).into_owned()
}

/// Escapes Markdown in text that herder did not write itself.
fn safe(text: &str) -> String {
    markup::sentence(text, Markup::Discord)
}

/// Formats a time so that each reader's client shows it as "5 minutes ago" in their language.
fn ago(moment: Timestamp) -> String {
    format!("<t:{}:R>", moment.as_millis().div_euclid(1000))
}

fn working(voice: Voice<'_>, view: &View, since: Timestamp) -> String {
    let (agent, live) = (&view.agent, &view.live);
    let variables = [("agent", (&view.name).into()), ("since", ago(since).into())];
    let mut first = vec![voice.text("live-working", &variables)];
    if let Some(work) = &agent.current {
        first.push(format!("{} “{}”", task(work.id), safe(&voice.short(&work.text, SHORT))));
    }
    let mut second = Vec::new();
    if let Some(tool) = &live.tool {
        second.push(voice.text("cmd-status-tool", &[("tool", safe(&voice.short(tool, SHORT)).into())]));
    }
    if let Some(last) = live.last_event {
        second.push(voice.text("live-last", &[("when", ago(last).into())]));
    }
    second.extend(spent(voice, live.turns, live.usage));
    if !agent.queue.is_empty() {
        second.push(voice.text("cmd-status-queued", &[("count", agent.queue.len().into())]));
    }
    [first.join(DOT), second.join(DOT)].join("\n").trim_end().to_owned()
}

fn ended(voice: Voice<'_>, name: &AgentName, agent: Option<&Agent>, since: Timestamp) -> String {
    let worked = voice.now.since(since);
    let mut pieces = vec![voice.text("live-ended", &[("agent", name.into()), ("duration", worked.into())])];
    if let Some(outcome) = agent.and_then(|agent| agent.last_outcome.as_ref()) {
        pieces.push(voice.locale.category(outcome.category));
        pieces.extend(spent(voice, outcome.turns, outcome.usage));
    }
    pieces.join(DOT)
}

fn spent(voice: Voice<'_>, turns: u32, usage: Usage) -> Vec<String> {
    let mut pieces = Vec::new();
    if turns > 0 {
        pieces.push(voice.text("cmd-status-turns", &[("count", turns.into())]));
    }
    if usage != Usage::default() {
        pieces.push(voice.usage(usage));
    }
    pieces
}

async fn carry_out(bot: Arc<Bot>, agent: AgentName, step: Step, text: String) -> (AgentName, Stepped) {
    let (Step::Change(shown) | Step::Close(shown)) = step;
    let status = bot.statuses.of(&agent);
    let mut held = status.lock().await;
    // It may show the end of the session by now, or belong to the next one.
    let Some(status) = held.clone().filter(|status| status.id == shown.id && status.is_open()) else {
        return (agent, if matches!(step, Step::Close(_)) { Stepped::Closed } else { Stepped::Gone });
    };
    let content = json!({ "content": status.with(&text) });
    let answer = bot.rest.within(PATIENCE).edit_message(status.channel, status.id, &content).await;
    let (stepped, next) = match (step, answer.map_err(|error| failed(&agent, &error))) {
        (Step::Change(Message { session, .. }), Ok(())) => {
            let next = Status { session, says: Says::AtWork, ..status.clone() };
            if next == status {
                return (agent, Stepped::Changed);
            }
            (Stepped::Changed, Some(next))
        }
        (_, Err(Stepped::Failed)) => return (agent, Stepped::Failed),
        (Step::Change(_), Err(_)) => (Stepped::Gone, None),
        (Step::Close(_), Ok(()) | Err(_)) => (Stepped::Closed, None),
    };
    status::remember(&bot.ports.journal, &agent, &mut held, next).await;
    drop(held);
    (agent, stepped)
}

/// Returns the result of a failed edit of a status message: a refusal by Discord ends the message, an error of a proxy
/// is tried again.
fn failed(agent: &AgentName, error: &RestError) -> Stepped {
    let gone = error.code() == Some(code::UNKNOWN_MESSAGE);
    if !gone && error.is_worth_another_try() {
        return Stepped::Failed;
    }
    debug!(%agent, %error, "a running session cannot be shown");
    Stepped::Gone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_discord_itself_refuses_ends_the_message_of_a_session() {
        let refused = |status, code| RestError::Refused {
            request: "PATCH".to_owned(),
            status,
            code,
            message: "no".to_owned(),
        };
        let table = [
            (refused(403, 0), Stepped::Failed),
            (refused(404, 0), Stepped::Failed),
            (refused(401, 0), Stepped::Failed),
            (refused(404, code::UNKNOWN_MESSAGE), Stepped::Gone),
            (refused(404, code::UNKNOWN_CHANNEL), Stepped::Gone),
            (refused(403, code::MISSING_PERMISSIONS), Stepped::Gone),
            (refused(403, code::MISSING_ACCESS), Stepped::Gone),
            (refused(400, 50035), Stepped::Gone),
        ];
        let agent = AgentName::new("spark").expect("a good name");
        for (error, expected) in table {
            assert_eq!(failed(&agent, &error), expected, "{error}");
        }
    }
}
