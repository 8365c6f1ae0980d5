//! Endpoints of interactions.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serenity::all::{ApplicationId, InteractionId, MessageId};

use super::endpoints::{WithId, fetch_nothing, gone_is_done, new_message, ping_nobody, value, with_files};
use super::retry::Retry;
use super::route::{Route, segment};
use super::{Body, File, Rest, RestError, code};

/// Timeout of an interaction's acknowledgement: Discord gives an interaction up after three seconds.
const ACKNOWLEDGE: Duration = Duration::from_millis(2800);
/// The flag of a message that only the person who asked sees.
pub(in super::super) const EPHEMERAL: u64 = 1 << 6;

/// The state of the first message that answers an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Original {
    /// There is no such message.
    Nothing,
    /// The message is the acknowledgement "is thinking…".
    Announced,
    /// The message is the answer itself.
    Answer,
}

const WEBHOOK: &str = "/webhooks/{application.id}/{interaction.token}";
const WEBHOOK_MESSAGE: &str = "/webhooks/{application.id}/{interaction.token}/messages/{message.id}";

/// Endpoints of interactions. They are authorised by the interaction's token, and do not count against the bot's limits.
impl Rest {
    /// Acknowledges an interaction, within three seconds; only the first response counts. If an attempt's answer is
    /// lost and the next one finds the interaction answered, the first attempt has succeeded.
    pub(in super::super) async fn respond(
        &self,
        interaction: InteractionId,
        token: &str,
        response: &impl Serialize,
    ) -> Result<(), RestError> {
        let path = format!("/interactions/{interaction}/{}/callback", segment(token));
        let template = "/interactions/{interaction.id}/{interaction.token}/callback";
        let route = Route::post(template, path, interaction).by_interaction().repeatable(true);
        let mut body = value(&route, response)?;
        // Type 4 sends a message and 7 edits one; the others carry none.
        let kind = body["type"].as_u64();
        if matches!(kind, Some(4 | 7)) {
            ping_nobody(&mut body["data"]);
        }
        if kind == Some(4) {
            fetch_nothing(&mut body["data"]);
        }
        let mut retry = Retry::default();
        match self.within(self.patience.min(ACKNOWLEDGE)).tries(&route, Body::Json(&body), &mut retry).await {
            Err(error) if retry.maybe_done() && error.code() == Some(code::ALREADY_ACKNOWLEDGED) => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// Edits the first response to an interaction, or replaces the acknowledgement.
    pub(in super::super) async fn edit_response(
        &self,
        application: ApplicationId,
        token: &str,
        change: &impl Serialize,
    ) -> Result<(), RestError> {
        let path = format!("/webhooks/{application}/{}/messages/@original", segment(token));
        let route = Route::patch(WEBHOOK_MESSAGE, path, token).by_interaction();
        // Replacing an announcement is like sending a new message.
        let body = new_message(&route, change, &[])?;
        self.done(route, Body::Json(&body)).await
    }

    /// Returns the message id of the first response to an interaction.
    pub(in super::super) async fn response(
        &self,
        application: ApplicationId,
        token: &str,
    ) -> Result<MessageId, RestError> {
        let path = format!("/webhooks/{application}/{}/messages/@original", segment(token));
        let route = Route::get(WEBHOOK_MESSAGE, path, token).by_interaction();
        let found: WithId<MessageId> = self.json(route, Body::Nothing).await?;
        Ok(found.id)
    }

    /// Returns the state of an interaction's first response. Discord does not know one that was never acknowledged.
    pub(in super::super) async fn original(
        &self,
        application: ApplicationId,
        token: &str,
    ) -> Result<Original, RestError> {
        const LOADING: u64 = 1 << 7;
        const UNKNOWN_WEBHOOK: u32 = 10_015;
        let path = format!("/webhooks/{application}/{}/messages/@original", segment(token));
        let route = Route::get(WEBHOOK_MESSAGE, path, token).by_interaction();
        match self.json::<Value>(route, Body::Nothing).await {
            Ok(message) if message["flags"].as_u64().unwrap_or_default() & LOADING == 0 => {
                Ok(Original::Answer)
            }
            Ok(_) => Ok(Original::Announced),
            Err(error) if matches!(error.code(), Some(code::UNKNOWN_MESSAGE | UNKNOWN_WEBHOOK)) => {
                Ok(Original::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes the first response to an interaction, or the acknowledgement. Succeeds if it is gone.
    pub(in super::super) async fn delete_response(
        &self,
        application: ApplicationId,
        token: &str,
    ) -> Result<(), RestError> {
        let path = format!("/webhooks/{application}/{}/messages/@original", segment(token));
        let route = Route::delete(WEBHOOK_MESSAGE, path, token).by_interaction();
        gone_is_done(self.done(route, Body::Nothing).await)
    }

    /// Sends another message after the response to an interaction. A private one is repeated: a duplicate is better
    /// than a loss. Any other may exist after [`RestError::maybe_done`].
    pub(in super::super) async fn follow_up(
        &self,
        application: ApplicationId,
        token: &str,
        message: &impl Serialize,
        files: &[File],
    ) -> Result<MessageId, RestError> {
        let path = format!("/webhooks/{application}/{}", segment(token));
        let route = Route::post(WEBHOOK, path, token).by_interaction();
        let body = new_message(&route, message, files)?;
        let private = body["flags"].as_u64().unwrap_or_default() & EPHEMERAL != 0;
        // The first attempt gets the full timeout.
        let sent: WithId<MessageId> = match self.json(route.clone(), with_files(&body, files)).await {
            Err(error) if private && error.maybe_done() => {
                self.json(route.repeatable(true), with_files(&body, files)).await?
            }
            sent => sent?,
        };
        Ok(sent.id)
    }
}
