//! What stands under posts: buttons, whose ids say all that is needed to act on them.

use serenity::all::{ChannelId, CreateActionRow, MessageId};

use super::Bot;
use crate::outbox::Post;

/// The rows of buttons under a post.
pub(super) fn rows(_post: &Post) -> Vec<CreateActionRow> {
    Vec::new()
}

/// A post that may have buttons is there, as this message.
pub(super) async fn posted(_bot: &Bot, _post: &Post, _channel: ChannelId, _message: MessageId) {}
