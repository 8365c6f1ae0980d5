//! From serenity's events to the parts of the adapter.
//!
//! serenity runs each event in a task of its own. On a thread of its own those are first polled in order, and nothing here
//! waits before an event is handed on, so the order is kept.

use std::sync::Arc;

use serenity::all::{Context, Event, RawEventHandler};
use serenity::async_trait;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tracing::warn;

use super::super::inbound::Heard;
use super::super::{Bot, interactions};
use crate::chat::LinkState;
use crate::clock;

/// Hands events on.
pub(super) struct Fanout {
    bot: Arc<Bot>,
    heard: mpsc::Sender<Heard>,
    /// Where everything but the link runs.
    runtime: Handle,
}

impl Fanout {
    /// To be made on the runtime that the parts run on.
    pub(super) fn new(bot: Arc<Bot>, heard: mpsc::Sender<Heard>) -> Self {
        Self { bot, heard, runtime: Handle::current() }
    }

    fn hear(&self, heard: Heard) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.heard.try_send(heard) {
            warn!("messages come faster than they are taken in");
        }
    }
}

#[async_trait]
impl RawEventHandler for Fanout {
    async fn raw_event(&self, _: Context, event: Event) {
        match event {
            Event::MessageCreate(event) => self.hear(Heard::Said(Box::new(event.message))),
            Event::MessageUpdate(event) => self.hear(Heard::Edited(Box::new(event))),
            Event::MessageDelete(event) => {
                self.hear(Heard::Deleted(event.channel_id, vec![event.message_id]));
            }
            Event::MessageDeleteBulk(event) => self.hear(Heard::Deleted(event.channel_id, event.ids)),
            Event::InteractionCreate(event) => {
                let bot = Arc::clone(&self.bot);
                let answer = async move { interactions::handle(&bot, event.interaction).await };
                self.bot.tasks.spawn_on(answer, &self.runtime);
            }
            Event::Ready(_) => {
                self.hear(Heard::Ready);
                let bot = Arc::clone(&self.bot);
                let up = async move { bot.report(LinkState::Up { since: clock::now() }).await };
                self.bot.tasks.spawn_on(up, &self.runtime);
                self.tell(event);
            }
            other => self.tell(other),
        }
    }
}

impl Fanout {
    /// What is no message and no interaction goes to whoever follows the guild.
    fn tell(&self, event: Event) {
        // Nobody follows: nobody needs it.
        let _ = self.bot.changes.send(Arc::new(event));
    }
}
