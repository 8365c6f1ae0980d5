//! What people write: from messages to lines that herder understands.

use std::sync::Arc;

use serenity::all::{Event, Message};
use tokio::sync::mpsc;
use tracing::debug;

use super::Bot;

/// Events that wait to be looked at. What does not fit is fetched like what was missed.
pub(super) const EVENTS_CAPACITY: usize = 1024;

/// What the gateway tells of messages.
pub(super) enum Heard {
    /// Somebody wrote something.
    Said(Box<Message>),
    /// A message was changed or deleted.
    Changed(Box<Event>),
    /// A new session: whatever was written meanwhile is to be fetched.
    Ready,
}

/// Takes in what people write, until dropped.
pub(super) async fn run(bot: Arc<Bot>, mut heard: mpsc::Receiver<Heard>) {
    while let Some(heard) = heard.recv().await {
        match heard {
            Heard::Said(message) => debug!(id = %message.id, content = bot.sees_content(), "a message"),
            Heard::Changed(event) => debug!(name = ?event.name(), "a message was changed"),
            Heard::Ready => debug!("a new session"),
        }
    }
}
