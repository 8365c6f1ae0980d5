//! The action of each route.

mod channels;
mod commands;
mod guild;
mod interactions;
mod messages;

use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use interactions::{PATIENCE, answer_lost};

use super::refusal::Refusal;
use super::server::Call;
use super::state::{Channel, Id, State};

/// The reason that a request is not done.
#[derive(Debug)]
pub(crate) enum No {
    Refused(Refusal),
    /// 429, with the time to wait.
    Wait(Duration),
}

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Status and body.
pub(crate) type Outcome = Result<(u16, Value), No>;

const NO_CONTENT: (u16, Value) = (204, Value::Null);

/// Does what a request asks, the contract of whose form has been checked.
pub(crate) fn answer(state: &mut State, call: &Call) -> Outcome {
    match call.key().as_str() {
        "GET /gateway" => Ok((200, json!({ "url": state.gateway_url() }))),
        "GET /gateway/bot" => Ok((200, gateway_bot(state))),
        "GET /users/@me" => Ok((200, state.current_user_json())),
        "GET /users/{user_id}" => guild::user(state, call),
        "GET /users/@me/guilds" => Ok((200, guild::own_guilds(state))),
        "POST /users/@me/channels" => channels::direct(state, call),
        "GET /applications/@me" | "GET /oauth2/applications/@me" => Ok((200, state.application_json())),
        "GET /guilds/{guild_id}" => guild::guild(state, call),
        "GET /guilds/{guild_id}/roles" => guild::roles(state, call),
        "GET /guilds/{guild_id}/members" => guild::members(state, call),
        "GET /guilds/{guild_id}/members/search" => guild::search(state, call),
        "GET /guilds/{guild_id}/members/{user_id}" => guild::member(state, call),
        "GET /guilds/{guild_id}/channels" => channels::list(state, call),
        "POST /guilds/{guild_id}/channels" => channels::create(state, call),
        "PATCH /guilds/{guild_id}/channels" => channels::reorder(state, call),
        "GET /channels/{channel_id}" => channels::get(state, call),
        "PATCH /channels/{channel_id}" => channels::edit(state, call),
        "DELETE /channels/{channel_id}" => channels::delete(state, call),
        "PUT /channels/{channel_id}/permissions/{overwrite_id}" => channels::put_overwrite(state, call),
        "DELETE /channels/{channel_id}/permissions/{overwrite_id}" => channels::delete_overwrite(state, call),
        "GET /channels/{channel_id}/threads/archived/public" => channels::archived_threads(state, call),
        "POST /channels/{channel_id}/typing" => channels::typing(state, call),
        "GET /channels/{channel_id}/messages" => messages::list(state, call),
        "POST /channels/{channel_id}/messages" => messages::create(state, call),
        "GET /channels/{channel_id}/messages/{message_id}" => messages::get(state, call),
        "PATCH /channels/{channel_id}/messages/{message_id}" => messages::edit(state, call),
        "DELETE /channels/{channel_id}/messages/{message_id}" => messages::delete(state, call),
        "PUT /channels/{channel_id}/messages/pins/{message_id}"
        | "PUT /channels/{channel_id}/pins/{message_id}" => messages::pin(state, call, true),
        "DELETE /channels/{channel_id}/messages/pins/{message_id}"
        | "DELETE /channels/{channel_id}/pins/{message_id}" => messages::pin(state, call, false),
        "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me" => {
            messages::react(state, call)
        }
        "GET /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}" => {
            messages::reactions(state, call)
        }
        "DELETE /channels/{channel_id}/messages/{message_id}/reactions"
        | "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}" => {
            messages::clear_reactions(state, call)
        }
        "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me"
        | "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/{user_id}" => {
            messages::unreact(state, call)
        }
        "POST /interactions/{interaction_id}/{interaction_token}/callback" => {
            interactions::callback(state, call)
        }
        "POST /webhooks/{webhook_id}/{webhook_token}" => interactions::followup(state, call),
        "GET /webhooks/{webhook_id}/{webhook_token}/messages/@original"
        | "GET /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}" => {
            interactions::get(state, call)
        }
        "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"
        | "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}" => {
            interactions::edit(state, call)
        }
        "DELETE /webhooks/{webhook_id}/{webhook_token}/messages/@original"
        | "DELETE /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}" => {
            interactions::delete(state, call)
        }
        key if call.route.starts_with("/applications/{application_id}") => commands::answer(state, call, key),
        key => Err(Refusal::new(501, 0, &format!("the simulator does not know {key} yet")).into()),
    }
}

fn gateway_bot(state: &State) -> Value {
    json!({
        "url": state.gateway_url(), "shards": state.gateway.shards,
        "session_start_limit": {
            "total": 1000, "remaining": state.gateway.starts_left, "reset_after": 14_400_000, "max_concurrency": 1,
        },
    })
}

/// Returns the channel of the path, if the bot may do all of `needed` in it.
fn channel_for(state: &State, id: Id, needed: u64) -> Result<Channel, Refusal> {
    let was = state.channels.contains_key(&id);
    let Some(channel) = state.channels.get(&id).filter(|channel| !channel.deleted) else {
        return Err(Refusal::unknown(10003, "Channel", was));
    };
    let granted = state.permissions_in(state.bot.id, channel);
    if granted & super::permission::VIEW_CHANNEL == 0 {
        let is_violation = channel.recipient.is_some() || state.is_bot_there();
        return Err(Refusal { is_violation, ..Refusal::missing_access() });
    }
    if granted & needed != needed {
        return Err(Refusal::missing_permissions());
    }
    Ok(channel.clone())
}

/// Checks that the guild of the path exists.
fn in_guild(state: &State, call: &Call) -> Result<(), Refusal> {
    if call.id("guild_id") != state.guild.id {
        return Err(Refusal::unknown(10004, "Guild", false));
    }
    if state.is_bot_there() { Ok(()) } else { Err(Refusal::circumstance(403, 50001, "Missing Access")) }
}
