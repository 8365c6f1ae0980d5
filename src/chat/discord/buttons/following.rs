//! Messages with buttons are remembered and followed until their agent goes on; then they show who made it.

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
use crate::core::time::Timestamp;
use crate::core::watch::Answer;
use crate::journal::{Entry, Memo, Stream};
use crate::outbox::Post;
use crate::supervisor::View;

/// Messages with buttons that were just sent and are not yet followed. Few posts have buttons; the one who sends them
/// waits for room.
pub(in crate::chat::discord) const PROMPTS_CAPACITY: usize = 64;

/// Under which keys messages with buttons are remembered.
const PREFIX: &str = "discord/prompt/";

/// The first and the longest wait before a message whose buttons could not be changed is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));

/// Entries of an agent that are looked at for who made it go on.
const LOOK_BACK: usize = 100;

/// A message with buttons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::chat::discord) struct Prompt {
    agent: AgentName,
    at: Timestamp,
    channel: ChannelId,
    message: MessageId,
    /// What the agent asks in it, if that is what it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<AskId>,
    /// Whether it is about the agent's account.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    account: bool,
}

impl Prompt {
    fn key(&self) -> String {
        format!("{PREFIX}{}/{}", self.agent, self.message)
    }
}

/// Puts other buttons under a message. One that is gone needs none, and what Discord does not take it will never take.
///
/// # Errors
/// It may be taken later.
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

/// Who made an agent go on since a post.
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

/// The command that made an agent go on, if the event is from one.
fn went_on(event: Event) -> Option<Done> {
    match event {
        // A call that is answered so is over before the agent goes on with other work.
        Event::EscalationAnswered { answer: Answer::Abort, by, .. } => Some(Done { command: "abort", by }),
        Event::EscalationAnswered { answer: Answer::Moved, by, .. } => Some(Done { command: "task", by }),
        Event::Resumed { by } | Event::AccountOpened { by } => Some(Done { command: "resume", by }),
        Event::Reset { by } => Some(Done { command: "restart", by }),
        Event::Removed { by } => Some(Done { command: "agent remove", by }),
        _ => None,
    }
}

/// A post with buttons reached a channel: remembered, and followed.
pub(in crate::chat::discord) async fn posted(bot: &Bot, post: &Post, channel: ChannelId, message: MessageId) {
    let called = calls_for(&post.body).map(|agent| (agent, None));
    let asked = || asks::asked(&post.body).map(|(agent, ask)| (agent, Some(ask)));
    let Some((agent, ask)) = called.or_else(asked) else { return };
    let account = is_of_account(&post.body);
    follow(bot, Prompt { agent: agent.clone(), at: post.at, channel, message, ask, account }).await;
}

/// An answer to an interaction has the buttons of a post.
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

/// Follows the messages with buttons, until dropped: when their agent goes on, they show who made it.
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

/// Shows who answered once somebody has, however long Discord is away. A message is forgotten when that is done, so that
/// after a restart it is gone on with.
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

/// A post leaves when it is on the disk; what it is about is shown right after that, on a busy machine a moment later.
const SHOWN_WITHIN: Duration = Duration::from_secs(1);

/// Resolves when a prompt does not call for anybody any more.
async fn settled(bot: &Bot, prompt: Prompt) -> Prompt {
    let fleet = &bot.ports.fleet;
    let is_over = |view: &View| match prompt.ask {
        Some(ask) => view.agent.open_ask(ask).is_none(),
        None => !is_open(view, prompt.at),
    };
    loop {
        // What happens to an account is no news of its agent.
        let over = if prompt.account {
            fleet.wait_among_all(&prompt.agent, is_over).await
        } else {
            fleet.wait_for(&prompt.agent, is_over).await
        };
        // An agent that is gone calls for nobody either; one that is still known went down with herder, and calls on.
        if over.is_none() && fleet.view(&prompt.agent).is_some() {
            std::future::pending::<()>().await;
        }
        if over.is_none() || clock::now().since(prompt.at) >= SHOWN_WITHIN {
            return prompt;
        }
        // So young a post may be there before the view of its agent shows what it is about.
        tokio::time::sleep(SHOWN_WITHIN).await;
    }
}
