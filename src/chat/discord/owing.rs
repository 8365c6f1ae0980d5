//! Answers to slash commands that an earlier process did not record as given: Discord is asked for them before they are posted.
//!
//! herder may have been killed after Discord received the answer and before that was on disk. The interaction's
//! token, stored with the answer, gives access to its first message for a quarter of an hour.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::Bot;
use super::rest::RestError;
use crate::clock;
use crate::outbox::{Markup, Post, Renderer};
use crate::supervisor::Ungiven;

/// Lifetime of an interaction's token.
const TOKEN_LIFE: Duration = Duration::from_secs(15 * 60);
/// The wait before another request.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Posts answers that an earlier process did not give, and ends.
pub(super) async fn make_up_for(bot: Arc<Bot>) {
    for owed in bot.ports.fleet.ungiven(&bot.network()) {
        let is_there = is_there(&bot, &owed).await;
        info!(answer = owed.key, is_there, "an answer that herder owed when it ended");
        let instead = if is_there { rest(&bot, owed.post) } else { Some(owed.post) };
        if let Err(refusal) = bot.ports.fleet.given(&owed.key, instead).await {
            warn!(
                refusal = crate::l10n::Locale::default().refusal(&refusal),
                "what an earlier herder owed could not be posted; it is after a restart"
            );
        }
    }
}

/// Returns true if the interaction has the first message of its answer. If that cannot be found out it counts as
/// missing: a duplicate is better than a loss.
async fn is_there(bot: &Bot, owed: &Ungiven) -> bool {
    loop {
        let error = match bot.rest.is_answered(bot.application, &owed.token).await {
            Ok(is_there) => return is_there,
            Err(error) => error,
        };
        let is_over = owed.post.at.after(TOKEN_LIFE) < clock::now();
        if is_over || matches!(error, RestError::Refused { .. }) {
            info!(%error, "it is not told whether an answer was given");
            return false;
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

/// Returns the part of an answer that may be missing although its first message exists.
fn rest(bot: &Bot, post: Post) -> Option<Post> {
    let (locale, redactor) = (bot.ports.locale.clone(), bot.ports.redactor.clone());
    let messages = Renderer::new(locale, redactor, Markup::Discord).lines(&post).len();
    (messages > 1).then_some(Post { confirmed_lines: 1, ..post })
}
