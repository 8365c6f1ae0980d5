//! Status messages: one message per agent's session, edited as it progresses.
//!
//! ```text
//!  🐜 started …  ─► posted ─► while it works ([`super::live`]) ─► ✅ completed …      (all of it one message)
//!        └─ overtaken while it waited ─► the session's last words ─► ✅ completed … below them
//! ```
//!
//! Its posts are pending like all others: one that fits into the existing message edits it, and is confirmed then.
//! The message and the post it shows are stored before that, so that a herder that is killed neither loses a status
//! nor shows it twice. If the message cannot be edited any more, the status becomes a message of its own.

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
use crate::core::post::Body;
use crate::core::time::Timestamp;
use crate::journal::{Journal, Memo, ReadError};
use crate::outbox::Line;
use crate::outbox::discord::{MESSAGE_MAX, units};

/// Prefix of the journal's keys under which status messages are stored.
const PREFIX: &str = "discord/live/";

/// The state of a session that its status message shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Says {
    /// The session has begun, as this text says.
    Started(String),
    /// The session is at work, as the message describes. Older versions of herder knew no other state and stored none.
    #[default]
    AtWork,
    /// The message has the agent's last words and shows no state.
    Words(String),
    /// The session is completed.
    Over,
}

/// The message on Discord that shows an agent's session and is edited while it runs, as stored in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Status {
    pub(super) channel: ChannelId,
    pub(super) id: MessageId,
    /// Number of the last session that was seen at work.
    #[serde(default)]
    pub(super) session: SessionId,
    /// Time at which the session began.
    pub(super) since: Timestamp,
    #[serde(default)]
    pub(super) says: Says,
    /// Id of the post that the message shows.
    #[serde(default)]
    pub(super) post: PostId,
    /// Further text in the message: the state of the agent's workspace at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) below: Option<String>,
}

impl Status {
    /// Returns true if the message does not show the session as over.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.says, Says::Started(_) | Says::AtWork)
    }

    /// Returns the whole text of the message, with `text` as the state of the session.
    pub(super) fn with(&self, text: &str) -> String {
        match &self.below {
            Some(below) => format!("{text}\n{below}"),
            None => text.to_owned(),
        }
    }
}

/// The status messages of all agents, each behind a lock.
#[derive(Debug, Default)]
pub(super) struct Statuses(Lock<BTreeMap<AgentName, Arc<Mutex<Option<Status>>>>>);

impl Statuses {
    /// Loads the stored status messages from the journal. Blocks.
    pub(super) fn load(journal: &Journal) -> Result<Self, ReadError> {
        let status = |(key, value): (String, String)| {
            let agent = AgentName::new(key.strip_prefix(PREFIX)?).ok()?;
            Some((agent, Arc::new(Mutex::new(Some(serde_json::from_str(&value).ok()?)))))
        };
        Ok(Self(Lock::new(journal.memos(PREFIX)?.into_iter().filter_map(status).collect())))
    }

    /// Returns an agent's status message. A task that edits the message holds the lock until Discord has answered.
    pub(super) fn of(&self, agent: &AgentName) -> Arc<Mutex<Option<Status>>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(agent.clone()).or_default())
    }

    /// Returns the status messages of all agents, except those that are being edited.
    pub(super) fn all(&self) -> Vec<(AgentName, Status)> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(agent, status): (&AgentName, &Arc<Mutex<Option<Status>>>)| {
            Some((agent.clone(), status.try_lock().ok()?.clone()?))
        };
        known.iter().filter_map(status).collect()
    }
}

/// Replaces an agent's status message, also in the journal.
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

/// The aspect of a session that a post is about.
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
    // Posts outside the journal have no id to recognise them by.
    .filter(|_| line.post != PostId(0))
}

/// Returns the new text and state of the status message if it can show the line; `None` if the line has to be a message
/// of its own.
fn changed(status: &Status, part: Part, line: &Line, channel: ChannelId) -> Option<(String, Status)> {
    let text = line.text.as_str();
    let mut next = Status { post: line.post, ..status.clone() };
    let content = match (part, &status.says) {
        // A restart of herder interrupted the session: it continues in its message.
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
        // The start was never shown. Posts decided at once belong to one session.
        (Part::Completed, Says::Words(words)) if status.since == line.source.at => {
            next.says = Says::Over;
            format!("{words}\n-# {text}")
        }
        (Part::Started | Part::Workspace | Part::Completed | Part::Words, _) => return None,
    };
    (units(&content) <= MESSAGE_MAX).then_some((content, next))
}

/// Shows a line in the agent's status message by editing it, and returns that message; `None` if the line has to be a
/// message of its own.
///
/// # Errors
/// Discord is unreachable now.
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

/// Records that a line was sent as a message of its own: later lines of its session are shown in it.
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
