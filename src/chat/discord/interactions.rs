//! Slash commands, completion, forms and buttons.

use std::sync::Arc;

use serenity::all::Interaction;
use tracing::debug;

use super::Bot;

/// Answers an interaction: acknowledged within three seconds.
pub(super) async fn handle(bot: &Arc<Bot>, interaction: Interaction) {
    debug!(network = %bot.network(), id = %interaction.id(), "an interaction that nobody answers yet");
}
