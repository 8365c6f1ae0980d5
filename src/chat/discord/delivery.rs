//! What is owed to Discord, from the queue to messages.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Bot;

/// Delivers until `shutdown`.
pub(super) async fn run(_bot: Arc<Bot>, shutdown: CancellationToken) {
    shutdown.cancelled().await;
}
