//! The channels as they should be: made, found again, kept.

use std::sync::Arc;

use serenity::all::Event;
use tokio::sync::{broadcast, watch};

use super::Bot;
use crate::chat::ChannelWanted;

/// Keeps the channels as they are wanted, until dropped.
pub(super) async fn keep(
    _bot: Arc<Bot>,
    _wanted: watch::Receiver<Vec<ChannelWanted>>,
    _changes: broadcast::Receiver<Arc<Event>>,
) {
}
