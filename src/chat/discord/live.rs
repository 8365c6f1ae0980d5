//! One message per running session that says what it does: tool, last sign of life, turns, tokens, cost, what waits.
//!
//! It is posted in the agent's channel when a session has lasted a moment, changed at most every few seconds and only when it
//! would say something else, and closed when the session is over. How long ago something was is told as Discord's own
//! timestamps, which every client keeps current by itself. The message is remembered, so that a restart of herder goes on
//! with it. None of this is owed: what fails is tried again with the next change, and never holds up a post.

mod board;

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use tracing::{debug, warn};

use super::Bot;
use super::rest::{RestError, code};
use crate::clock;
use crate::commands::say::{DOT, Voice, task};
use crate::core::agent::Agent;
use crate::core::id::{AgentName, SessionId};
use crate::core::outcome::Usage;
use crate::core::time::Timestamp;
use crate::journal::Memo;
use crate::outbox::Target;
use crate::outbox::markup::{self, Markup};
use crate::supervisor::View;
use board::{Board, Message, Seen, Step, Stepped};

/// How often it is looked whether something changed, while a session runs or is shown.
const LOOK: Duration = Duration::from_secs(1);
/// How long a request is tried for; the next change is a better one.
const PATIENCE: Duration = Duration::from_secs(20);
/// Under which keys the messages are remembered.
const PREFIX: &str = "discord/live/";
/// The longest name of a tool, and of the work.
const SHORT: usize = 60;

type Stepping = Pin<Box<dyn Future<Output = (AgentName, Stepped)> + Send>>;

/// Keeps those messages, until dropped.
pub(super) async fn run(bot: Arc<Bot>) {
    let mut board = Board::new(known(&bot).await, clock::now());
    let mut shown: HashMap<AgentName, String> = HashMap::new();
    let mut under_way: FuturesUnordered<Stepping> = FuturesUnordered::new();
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut changes, mut is_busy) = (bot.ports.fleet.changes(), true);
    loop {
        tokio::select! {
            // Sessions that end with herder go on with the next one, in the same message.
            () = bot.ports.hearing.cancelled() => break,
            Some((agent, stepped)) = under_way.next(), if !under_way.is_empty() => {
                // What did not arrive is not shown; a message that is over shows nothing.
                if stepped != Stepped::Changed && !matches!(stepped, Stepped::Posted(_)) {
                    shown.remove(&agent);
                }
                board.stepped(&agent, stepped, clock::now());
            }
            Ok(()) = changes.changed(), if !is_busy => is_busy = true,
            _ = tick.tick(), if is_busy => {
                changes.mark_unchanged();
                let (now, views) = (clock::now(), bot.ports.fleet.agents());
                let seen: Vec<Seen> = views.iter().map(|view| seen(&bot, view)).collect();
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
    // What is posted is remembered.
    while under_way.next().await.is_some() {}
}

fn seen(bot: &Bot, view: &View) -> Seen {
    let channel = bot.directory.of_target(&Target::Agent(view.name.clone()));
    Seen { agent: view.name.clone(), session: view.agent.session(), channel }
}

/// What the message says.
fn text(bot: &Bot, agent: &AgentName, view: Option<&View>, step: Step, now: Timestamp) -> String {
    let voice = Voice { locale: &bot.ports.locale, now, redactor: &bot.ports.redactor };
    let text = match (step, view) {
        (Step::Post { since, .. } | Step::Change(Message { since, .. }), Some(view)) => {
            working(voice, view, since)
        }
        (Step::Post { since, .. } | Step::Change(Message { since, .. }), None) => {
            ended(voice, agent, None, since)
        }
        (Step::Close(message), view) => {
            // The outcome is that of the last session: of another one if this was long ago.
            let last = view.map(|view| &*view.agent).filter(|agent| agent.last_session == message.session);
            ended(voice, agent, last, message.since)
        }
    };
    bot.ports.redactor.redact_shown(&text).into_owned()
}

/// Every piece is herder's own but for what it is given, and that has no marks any more.
fn safe(text: &str) -> String {
    markup::sentence(text, Markup::Discord)
}

/// A moment, which each reader's client shows as "5 minutes ago" in their language.
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
    let rest = bot.rest.within(PATIENCE);
    let stepped = match step {
        Step::Post { channel, session, since } => {
            let nonce = nonce(&agent, session, since);
            let body =
                json!({ "content": text, "nonce": nonce, "enforce_nonce": true, "flags": 1_u64 << 12 });
            match rest.send_message(channel, &body, &[]).await {
                Ok(id) => Stepped::Posted(Message { channel, id, session, since }),
                Err(error) => failed(&agent, &error),
            }
        }
        Step::Change(message) => {
            match rest.edit_message(message.channel, message.id, &json!({ "content": text })).await {
                Ok(()) => Stepped::Changed,
                Err(error) => failed(&agent, &error),
            }
        }
        Step::Close(message) => {
            match rest.edit_message(message.channel, message.id, &json!({ "content": text })).await {
                Ok(()) => Stepped::Closed,
                Err(error) if failed(&agent, &error) == Stepped::Failed => Stepped::Failed,
                Err(_) => Stepped::Closed,
            }
        }
    };
    let remembered = match stepped {
        Stepped::Posted(message) => serde_json::to_string(&message).ok(),
        Stepped::Closed | Stepped::Gone => None,
        Stepped::Changed | Stepped::Failed => return (agent, stepped),
    };
    let memo = Memo { key: format!("{PREFIX}{agent}"), value: remembered };
    if let Err(error) = bot.ports.journal.remember(vec![memo]).await {
        debug!(%agent, %error, "the message of a running session could not be remembered");
    }
    (agent, stepped)
}

/// What Discord refuses is refused for this session; the channels are another part's business. What a proxy or a guard says
/// is over sooner or later.
fn failed(agent: &AgentName, error: &RestError) -> Stepped {
    let gone = error.code() == Some(code::UNKNOWN_MESSAGE);
    if !gone && error.is_worth_another_try() {
        return Stepped::Failed;
    }
    debug!(%agent, %error, "a running session cannot be shown");
    Stepped::Gone
}

/// A post that is repeated is shown once, also across a restart.
fn nonce(agent: &AgentName, session: SessionId, since: Timestamp) -> String {
    let what = format!("{agent} {session} {}", since.as_millis());
    format!(
        "live-{:08x}-{:08x}",
        crc32fast::hash(what.as_bytes()),
        crc32fast::hash(agent.as_str().as_bytes())
    )
}

/// The messages that are remembered.
async fn known(bot: &Arc<Bot>) -> Vec<(AgentName, Message)> {
    let reading = Arc::clone(bot);
    let read = tokio::task::spawn_blocking(move || reading.ports.journal.memos(PREFIX)).await;
    let memos = match read {
        Ok(Ok(memos)) => memos,
        Ok(Err(error)) => {
            warn!(%error, "the messages of running sessions are not known any more");
            Vec::new()
        }
        Err(error) => {
            warn!(%error, "the messages of running sessions are not known any more");
            Vec::new()
        }
    };
    let message = |(key, value): (String, String)| {
        Some((AgentName::new(key.strip_prefix(PREFIX)?).ok()?, serde_json::from_str(&value).ok()?))
    };
    memos.into_iter().filter_map(message).collect()
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
