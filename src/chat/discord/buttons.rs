//! What stands under posts: buttons, whose ids say all that is needed to act on them.

use serenity::all::CreateActionRow;

use crate::outbox::Post;

/// The rows of buttons under a post.
#[expect(dead_code, reason = "delivery asks for them")]
pub(super) fn rows(_post: &Post) -> Vec<CreateActionRow> {
    Vec::new()
}
