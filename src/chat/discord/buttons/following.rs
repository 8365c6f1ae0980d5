//! Tracking of messages with buttons: they are remembered until their agent continues, and then show who made it continue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serenity::all::{ChannelId, CreateActionRow, MessageId};
use tokio::sync::mpsc;
use tracing::{error, warn};

use super::rows::closed_row;
use super::{Done, calls_for, is_of_account, is_open};
use crate::chat::discord::rest::{RestError, code};
use crate::chat::discord::{Bot, asks};
use crate::clock;
use crate::core::event::Event;
use crate::core::id::{AgentName, AskId};
use crate::core::post::Post;
use crate::core::time::Timestamp;
use crate::core::watch::Answer;
use crate::journal::{Entry, Memo, Stream};
use crate::supervisor::View;

/// Capacity of the channel of sent messages with buttons that are not yet tracked. Few posts have buttons; the sender
/// waits for room.
pub(in crate::chat::discord) const PROMPTS_CAPACITY: usize = 64;

/// Prefix of the journal's keys under which messages with buttons are stored.
const PREFIX: &str = "discord/prompt/";

/// The first and the longest wait before another attempt to change a message's buttons after a failure.
const AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));

/// Number of an agent's last journal entries that are searched for the person who made it continue.
const LOOK_BACK: usize = 100;

/// A sent message with buttons that is tracked until somebody has answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::chat::discord) struct Prompt {
    agent: AgentName,
    at: Timestamp,
    channel: ChannelId,
    message: MessageId,
    /// Number of the agent's request in the message; `None` if the message calls for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<AskId>,
    /// True if the message is about the agent's account, not the agent itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    account: bool,
}

impl Prompt {
    fn key(&self) -> String {
        format!("{PREFIX}{}/{}", self.agent, self.message)
    }
}

/// Replaces the buttons of a message. Succeeds also if the message is gone or Discord rejects the change for good.
///
/// # Errors
/// A failure that another attempt may overcome.
pub(super) async fn change(
    bot: &Bot,
    channel: ChannelId,
    message: MessageId,
    rows: &[CreateActionRow],
) -> Result<(), RestError> {
    let change = json!({ "components": rows });
    match bot.rest.edit_message(channel, message, &change).await {
        Err(gone) if matches!(gone.code(), Some(code::UNKNOWN_MESSAGE | code::UNKNOWN_CHANNEL)) => Ok(()),
        Err(reason @ RestError::Refused { .. }) if reason.is_final() => {
            warn!(%reason, "the buttons of a message cannot be changed");
            Ok(())
        }
        answer => answer,
    }
}

/// Searches the journal for the command that made an agent continue since time `at`; `None` if there is none.
pub(super) async fn who(bot: &Bot, agent: &AgentName, at: Timestamp) -> Option<Done> {
    let entries = match bot.ports.journal.latest(Stream::Agent(agent.clone()), LOOK_BACK).await {
        Ok(entries) => entries,
        Err(reason) => {
            error!(%reason, "who answered a post cannot be read");
            return None;
        }
    };
    entries.into_iter().filter(|recorded| recorded.at >= at).find_map(|recorded| match recorded.entry {
        Entry::Agent(event) => went_on(event),
        Entry::Fleet(_) | Entry::Audit(_) => None,
    })
}

/// Returns the command and the person that made an agent continue, if an event records such a command.
fn went_on(event: Event) -> Option<Done> {
    match event {
        // A call with this answer is over before the agent continues with other work.
        Event::EscalationAnswered { answer: Answer::Abort, by, .. } => Some(Done { command: "abort", by }),
        Event::EscalationAnswered { answer: Answer::Moved, by, .. } => Some(Done { command: "task", by }),
        Event::Resumed { by } | Event::AccountOpened { by } => Some(Done { command: "resume", by }),
        Event::Reset { by } => Some(Done { command: "restart", by }),
        Event::Removed { by } => Some(Done { command: "agent remove", by }),
        _ => None,
    }
}

/// Stores a post with buttons that was sent to a channel, and starts to track it; other posts are ignored.
pub(in crate::chat::discord) async fn posted(bot: &Bot, post: &Post, channel: ChannelId, message: MessageId) {
    let called = calls_for(&post.body).map(|agent| (agent, None));
    let asked = || asks::asked(&post.body).map(|(agent, ask)| (agent, Some(ask)));
    let Some((agent, ask)) = called.or_else(asked) else { return };
    let account = is_of_account(&post.body);
    follow(bot, Prompt { agent: agent.clone(), at: post.at, channel, message, ask, account }).await;
}

/// Stores the answer to an interaction that has a post's buttons, and starts to track it.
pub(in crate::chat::discord) async fn answers(
    bot: &Bot,
    (agent, at): (&AgentName, Timestamp),
    channel: ChannelId,
    message: MessageId,
) {
    follow(bot, Prompt { agent: agent.clone(), at, channel, message, ask: None, account: false }).await;
}

async fn follow(bot: &Bot, prompt: Prompt) {
    let Ok(value) = serde_json::to_string(&prompt) else { return };
    if let Err(reason) =
        bot.ports.journal.remember(vec![Memo { key: prompt.key(), value: Some(value) }]).await
    {
        error!(%reason, "a message with buttons could not be remembered");
    }
    if bot.prompts.send(prompt).await.is_err() {
        warn!("nobody follows the messages with buttons; the next start does");
    }
}

/// Tracks the messages with buttons, until dropped: when somebody has answered, the buttons of the message are
/// replaced.
pub(in crate::chat::discord) async fn keep(bot: Arc<Bot>, mut sent: mpsc::Receiver<Prompt>) {
    let mut followed = FuturesUnordered::new();
    for prompt in remembered(&bot).await.into_values() {
        followed.push(followed_to_its_end(&bot, prompt));
    }
    loop {
        tokio::select! {
            prompt = sent.recv() => {
                let Some(prompt) = prompt else { return };
                followed.push(followed_to_its_end(&bot, prompt));
            }
            Some(()) = followed.next(), if !followed.is_empty() => {}
        }
    }
}

/// Waits until a message with buttons is answered, then replaces its buttons, however long Discord is unreachable. Only
/// then it is removed from the journal, so that a restart continues here.
async fn followed_to_its_end(bot: &Bot, prompt: Prompt) {
    let prompt = settled(bot, prompt).await;
    let row = [match prompt.ask {
        Some(ask) => asks::closed_row(&bot.ports.locale, bot.ports.fleet.view(&prompt.agent), ask),
        None => {
            let done = who(bot, &prompt.agent, prompt.at).await;
            closed_row(&bot.ports.locale, (&prompt.agent, prompt.at), done.as_ref())
        }
    }];
    let (mut wait, longest) = AGAIN;
    while let Err(reason) = change(bot, prompt.channel, prompt.message, &row).await {
        warn!(%reason, agent = %prompt.agent, "who answered a post could not be shown; it is tried again");
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(longest);
    }
    let forgotten = Memo { key: prompt.key(), value: None };
    if let Err(reason) = bot.ports.journal.remember(vec![forgotten]).await {
        error!(%reason, "a message with buttons could not be forgotten");
    }
}

async fn remembered(bot: &Bot) -> BTreeMap<String, Prompt> {
    let journal = bot.ports.journal.clone();
    let memos = match tokio::task::spawn_blocking(move || journal.memos(PREFIX)).await {
        Ok(Ok(memos)) => memos,
        Ok(Err(reason)) => {
            error!(%reason, "the messages with buttons cannot be read");
            return BTreeMap::new();
        }
        Err(_) => return BTreeMap::new(),
    };
    memos.into_iter().filter_map(|(key, value)| Some((key, serde_json::from_str(&value).ok()?))).collect()
}

/// Maximum delay, on a busy machine, between a stored post and the agent's published state that belongs to it.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);

/// Waits until a message with buttons no longer calls for a person.
async fn settled(bot: &Bot, prompt: Prompt) -> Prompt {
    let fleet = &bot.ports.fleet;
    let is_over = |view: &View| match prompt.ask {
        Some(ask) => view.agent.open_ask(ask).is_none(),
        None => !is_open(view, prompt.at),
    };
    loop {
        // A change of an account does not notify the waiters of its agent.
        let over = if prompt.account {
            fleet.wait_among_all(&prompt.agent, is_over).await
        } else {
            fleet.wait_for(&prompt.agent, is_over).await
        };
        // A removed agent calls for no one; if it is still known, herder is shutting down and the call stays open.
        if over.is_none() && fleet.view(&prompt.agent).is_some() {
            std::future::pending::<()>().await;
        }
        if over.is_none() || clock::now().since(prompt.at) >= SHOWN_WITHIN {
            return prompt;
        }
        // The view of the agent may be older than so young a post.
        tokio::time::sleep(SHOWN_WITHIN).await;
    }
}
