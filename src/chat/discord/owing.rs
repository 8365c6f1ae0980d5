//! Answers to slash commands that an earlier process did not record as given. Discord is asked for each of them: an announced
//! answer is put in place of its announcement, and a missing one is posted.
//!
//! herder may have been killed after Discord received the answer and before that was on disk, or between the announcement and
//! the answer. The interaction's token, stored until the answer is given, gives access to its first message for a quarter of
//! an hour.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::{info, warn};

use super::Bot;
use super::delivery::run_of_process;
use super::interactions::Asker;
use super::rest::{Original, RestError};
use crate::clock;
use crate::core::post::Post;
use crate::core::time::Timestamp;
use crate::journal::Memo;
use crate::outbox::{Markup, Renderer};
use crate::supervisor::Ungiven;

/// Time for which Discord accepts an interaction's token.
const TOKEN_LIFE: Duration = Duration::from_secs(15 * 60);
/// Wait before a request is repeated after a failure.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Prefix of the journal's keys under which announced answers are stored.
const PREFIX: &str = "discord/announced/";

/// An interaction that was acknowledged with "is thinking…" and whose answer is not sent yet.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    token: String,
    at: Timestamp,
    language: String,
    /// Identifies the process that has to send the answer.
    run: String,
}

fn key(asker: &Asker) -> String {
    format!("{PREFIX}{}", asker.id)
}

/// Stores that an interaction was acknowledged: if herder ends before the answer is sent, the next process ends the "is
/// thinking…".
pub(super) async fn announced(bot: &Bot, asker: &Asker) {
    let (token, language) = (asker.token.clone(), asker.language.clone());
    let announced = Announced { token, at: clock::now(), language, run: run_of_process().to_owned() };
    let value = serde_json::to_string(&announced).ok();
    remember(bot, Memo { key: key(asker), value }).await;
}

/// Removes the stored acknowledgement of an interaction, because its answer was sent.
pub(super) async fn brought(bot: &Bot, asker: &Asker) {
    remember(bot, Memo { key: key(asker), value: None }).await;
}

async fn remember(bot: &Bot, memo: Memo) {
    if let Err(reason) = bot.ports.journal.remember(vec![memo]).await {
        warn!(%reason, "that an answer is announced could not be noted");
    }
}

/// Sends the answers that an earlier process owed, ends its acknowledgements, and returns.
pub(super) async fn make_up_for(bot: Arc<Bot>) {
    for owed in bot.ports.fleet.ungiven(&bot.network()) {
        make_up(&bot, owed).await;
    }
    let reading = Arc::clone(&bot);
    let read = tokio::task::spawn_blocking(move || reading.ports.journal.memos(PREFIX)).await;
    let Ok(Ok(memos)) = read else {
        return warn!("which answers an earlier herder had announced cannot be read");
    };
    for (key, value) in memos {
        let announced = serde_json::from_str::<Announced>(&value).ok();
        // An earlier adapter of this process may still give its answer.
        if announced.as_ref().is_some_and(|announced| announced.run == run_of_process()) {
            continue;
        }
        if let Some(Announced { token, at, language, .. }) = announced {
            let told = bot.ports.dispatcher.locale(&language).text("answer-interrupted", &[]);
            let is_ended = is_brought(&bot, &token, at, &told).await;
            info!(is_ended, "an answer that an earlier herder had announced when it ended");
        }
        remember(&bot, Memo { key, value: None }).await;
    }
}

async fn make_up(bot: &Bot, owed: Ungiven) {
    // It appears below the command, so that it names nobody.
    let post = Post { answers: None, ..owed.post.clone() };
    let (locale, redactor) = (bot.ports.locale.clone(), bot.ports.redactor.clone());
    let messages = Renderer::new(locale, redactor, Markup::Discord).lines(&post);
    let first = messages.first().map(String::as_str).unwrap_or_default();
    let is_brought = is_brought(bot, &owed.token, post.at, first).await;
    info!(answer = owed.key, is_brought, "an answer that herder owed when it ended");
    let instead = match is_brought {
        true => (messages.len() > 1).then_some(Post { confirmed_lines: 1, ..post }),
        false => Some(owed.post),
    };
    if let Err(refusal) = bot.ports.fleet.given(&owed.key, instead).await {
        warn!(
            refusal = crate::l10n::Locale::default().refusal(&refusal),
            "what an earlier herder owed could not be posted; it is after a restart"
        );
    }
}

/// Returns true if the interaction has the first message of its answer, or gets it now in place of the acknowledgement.
/// If that cannot be found out it counts as missing: a duplicate is better than a loss.
async fn is_brought(bot: &Bot, token: &str, at: Timestamp, first: &str) -> bool {
    loop {
        let error = match bring(bot, token, first).await {
            Ok(is_there) => return is_there,
            Err(error) => error,
        };
        let is_over = at.after(TOKEN_LIFE) < clock::now();
        if is_over || matches!(error, RestError::Refused { .. }) {
            info!(%error, "it is not told whether an answer was given");
            return false;
        }
        tokio::time::sleep(ASK_AGAIN).await;
    }
}

async fn bring(bot: &Bot, token: &str, first: &str) -> Result<bool, RestError> {
    match bot.rest.original(bot.application, token).await? {
        Original::Answer => Ok(true),
        Original::Nothing => Ok(false),
        Original::Announced => {
            bot.rest.edit_response(bot.application, token, &json!({ "content": first })).await?;
            Ok(true)
        }
    }
}
