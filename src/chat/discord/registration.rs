//! Application commands, made from the list of all commands.

use std::sync::Arc;

use super::Bot;

/// Registers the commands if they changed.
pub(super) async fn keep(_bot: Arc<Bot>) {}
