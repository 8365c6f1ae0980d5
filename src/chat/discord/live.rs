//! One message per running session that says what it does.

use std::sync::Arc;

use super::Bot;

/// Keeps those messages, until dropped.
pub(super) async fn run(_bot: Arc<Bot>) {}
