//! How an agent's session stands: one message that changes with it.
//!
//! ```text
//!  🐜 started …  ─► posted ─► while it works ([`super::live`]) ─► ✅ completed …      (all of it one message)
//!        └─ overtaken while it waited ─► the session's last words ─► ✅ completed … below them
//! ```
//!
//! The posts are owed like all others: one that can go into the message that is there changes it, and is confirmed then. What
//! the message is and which post it shows is remembered before that, so that a herder that is killed at any moment neither
//! loses a status nor shows it twice. Where the message cannot be changed any more, the status is a message of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as Lock, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;
use serenity::all::{ChannelId, MessageId};
use tokio::sync::{Mutex, MutexGuard};
use tracing::{info, warn};

use super::rest::{Rest, RestError};
use crate::core::id::{AgentName, PostId, SessionId};
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::journal::{Journal, Memo, ReadError};
use crate::outbox::discord::{MESSAGE_MAX, units};
use crate::outbox::{Body, Line};

/// Under which keys the messages are remembered.
const PREFIX: &str = "discord/live/";

/// What a message says of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Says {
    /// It started, in these words.
    Started(String),
    /// What it does now. Versions of herder that told no other state wrote none.
    #[default]
    AtWork,
    /// Nothing: these are the last words of its agent.
    Words(String),
    /// It completed.
    Over,
}

/// The last message that says how a session of an agent stands, as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    pub(super) channel: ChannelId,
    pub(super) id: MessageId,
    /// The session that was last seen at work.
    #[serde(default)]
    pub(super) session: SessionId,
    /// Since when.
    pub(super) since: Timestamp,
    #[serde(default)]
    pub(super) says: Says,
    /// The post that it shows.
    #[serde(default)]
    pub(super) post: PostId,
    /// What else is to be said of the session: how it found its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) below: Option<String>,
}

impl Status {
    /// Whether the session goes on, as far as the message says.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.says, Says::Started(_) | Says::AtWork)
    }

    /// The whole message, with this as what it says of the session.
    pub(super) fn with(&self, text: &str) -> String {
        match &self.below {
            Some(below) => format!("{text}\n{below}"),
            None => text.to_owned(),
        }
    }
}

/// The messages of all agents.
#[derive(Debug, Default)]
pub(super) struct Statuses(Lock<BTreeMap<AgentName, Arc<Mutex<Option<Status>>>>>);

impl Statuses {
    /// Those that the journal knows. Blocks.
    pub(super) fn load(journal: &Journal) -> Result<Self, ReadError> {
        let status = |(key, value): (String, String)| {
            let agent = AgentName::new(key.strip_prefix(PREFIX)?).ok()?;
            Some((agent, Arc::new(Mutex::new(Some(serde_json::from_str(&value).ok()?)))))
        };
        Ok(Self(Lock::new(journal.memos(PREFIX)?.into_iter().filter_map(status).collect())))
    }

    /// That of an agent. Whoever changes the message holds it until Discord has answered.
    pub(super) fn of(&self, agent: &AgentName) -> Arc<Mutex<Option<Status>>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(agent.clone()).or_default())
    }

    /// Those that are there now, but for those that are being changed.
    pub(super) fn all(&self) -> Vec<(AgentName, Status)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(agent, status): (&AgentName, &Arc<Mutex<Option<Status>>>)| {
            Some((agent.clone(), status.try_lock().ok()?.clone()?))
        };
        known.iter().filter_map(status).collect()
    }
}

/// Puts another status in place of the one that is remembered.
pub(super) async fn remember(
    journal: &Journal,
    agent: &AgentName,
    held: &mut MutexGuard<'_, Option<Status>>,
    status: Option<Status>,
) {
    let value = status.as_ref().and_then(|status| serde_json::to_string(status).ok());
    let memo = Memo { key: format!("{PREFIX}{agent}"), value };
    if let Err(reason) = journal.remember(vec![memo]).await {
        warn!(%reason, %agent, "the message that shows a session could not be remembered");
    }
    **held = status;
}

/// What a post says of its agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Started,
    Workspace,
    Completed,
    Words,
}

fn part(line: &Line) -> Option<(&AgentName, Part)> {
    match &line.source.body {
        Body::Notice(Notice::Started { agent, .. }) => Some((agent, Part::Started)),
        Body::Notice(Notice::WorkspaceSeen { agent, .. }) => Some((agent, Part::Workspace)),
        Body::Notice(Notice::Completed { agent, .. }) => Some((agent, Part::Completed)),
        Body::Agent { agent, .. } => Some((agent, Part::Words)),
        _ => None,
    }
    // What is in no journal is told apart from nothing.
    .filter(|_| line.post != PostId(0))
}

/// What the message says once it shows a line; `None`: the line is to be a message of its own.
fn changed(status: &Status, part: Part, line: &Line, channel: ChannelId) -> Option<(String, Status)> {
    let text = line.text.as_str();
    let mut next = Status { post: line.post, ..status.clone() };
    let content = match (part, &status.says) {
        // A restart of herder cut the session short: it is shown where it was.
        (Part::Started, Says::AtWork) if status.channel == channel => {
            (next.says, next.below) = (Says::Started(text.to_owned()), None);
            text.to_owned()
        }
        (Part::Workspace, Says::Started(started)) => {
            next.below = Some(text.to_owned());
            next.with(started)
        }
        (Part::Completed, Says::Started(_) | Says::AtWork) => {
            next.says = Says::Over;
            next.with(text)
        }
        // The beginning was never shown. What was decided at once is of one session.
        (Part::Completed, Says::Words(words)) if status.since == line.source.at => {
            next.says = Says::Over;
            format!("{words}\n-# {text}")
        }
        (Part::Started | Part::Workspace | Part::Completed | Part::Words, _) => return None,
    };
    (units(&content) <= MESSAGE_MAX).then_some((content, next))
}

/// Shows a line in the message that is there. Answers which that is; `None`: the line is to be a message of its own.
///
/// # Errors
/// Discord cannot be asked now.
pub(super) async fn tell(
    statuses: &Statuses,
    journal: &Journal,
    rest: &Rest,
    line: &Line,
    channel: ChannelId,
) -> Result<Option<MessageId>, RestError> {
    let Some((agent, part)) = part(line) else { return Ok(None) };
    let status = statuses.of(agent);
    let mut held = status.lock().await;
    let Some(status) = held.clone() else { return Ok(None) };
    if status.post == line.post && part != Part::Words {
        return Ok(Some(status.id));
    }
    let Some((content, next)) = changed(&status, part, line, channel) else { return Ok(None) };
    match rest.edit_message(status.channel, status.id, &json!({ "content": content })).await {
        Ok(()) | Err(RestError::Unreadable { foreign: false, .. }) => {
            remember(journal, agent, &mut held, Some(next)).await;
            Ok(Some(status.id))
        }
        Err(error) if error.is_worth_another_try() => Err(error),
        Err(error) => {
            info!(%agent, %error, "the message that shows a session cannot be changed; another one is posted");
            remember(journal, agent, &mut held, None).await;
            Ok(None)
        }
    }
}

/// A line became a message: what follows of its session goes in there.
pub(super) async fn posted(
    statuses: &Statuses,
    journal: &Journal,
    line: &Line,
    channel: ChannelId,
    id: MessageId,
) {
    let Some((agent, part)) = part(line) else { return };
    let says = match part {
        Part::Started if line.index == 0 => Says::Started(line.text.clone()),
        Part::Words => Says::Words(line.text.clone()),
        Part::Started | Part::Workspace | Part::Completed => return,
    };
    let status = statuses.of(agent);
    let mut held = status.lock().await;
    if part == Part::Words && held.as_ref().is_some_and(Status::is_open) {
        return;
    }
    let (session, since, post) = (SessionId::default(), line.source.at, line.post);
    let next = Status { channel, id, session, since, says, post, below: None };
    if held.as_ref() != Some(&next) {
        remember(journal, agent, &mut held, Some(next)).await;
    }
}
