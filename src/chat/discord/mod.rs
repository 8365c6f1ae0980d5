//! Discord, by serenity and poise.
//!
//! ```text
//!  gateway ── events ─┬─► inbound       messages ─► commands ─► supervisors      (missed ones fetched, each worked on once)
//!   (serenity)        ├─► interactions  slash commands, completion, forms, buttons
//!                     └─► channels      what is gone is made again
//!  outbox queue ──────► delivery ─► rest ─► Discord                              (nonce, own retries, order per channel)
//!  fleet's views ─────► live, reactions, channels (topics)
//! ```
//!
//! | file | what happens there |
//! |---|---|
//! | `directory` | which channel is which, remembered by id |
//! | `rest` | the one way out: limits, retries, one function per request |
//!
//! What somebody may do, what a line means and what is said in which words is not known here: `crate::access`,
//! `crate::commands`, `crate::outbox`, `crate::l10n`.

#[expect(dead_code, reason = "the parts that work with it come next")]
mod directory;
#[expect(dead_code, unused_imports, reason = "the parts that work with it come next")]
mod rest;

use std::sync::Arc;

use tokio::sync::watch;

use crate::chat::ChannelWanted;
use crate::commands::Dispatcher;
use crate::config;
use crate::journal::Journal;
use crate::l10n::Locale;
use crate::outbox::{NetworkQueue, Redactor};
use crate::supervisor::Fleet;

/// What the adapter works with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ports {
    /// What the configuration says.
    pub settings: config::Discord,
    /// The agents.
    pub fleet: Fleet,
    /// What people ask goes here.
    pub dispatcher: Dispatcher,
    /// Where ids are remembered.
    pub journal: Journal,
    /// What is owed to Discord.
    pub queue: Arc<NetworkQueue>,
    /// The agents' channels and their topics, as they should be.
    pub channels: watch::Receiver<Vec<ChannelWanted>>,
    /// The language of posts.
    pub locale: Locale,
    /// Takes secrets out of what does not pass the outbox.
    pub redactor: Redactor,
}
