//! The guild, its roles and its members.

use serde_json::{Value, json};

use super::super::gateway::MEMBERS;
use super::super::refusal::Refusal;
use super::super::server::Call;
use super::super::state::State;
use super::{Outcome, in_guild};

pub(super) fn user(state: &State, call: &Call) -> Outcome {
    let id = call.id("user_id");
    if !state.users.contains_key(&id) {
        return Err(Refusal::unknown(10013, "User", false).into());
    }
    Ok((200, state.user_json(id)))
}

pub(super) fn own_guilds(state: &State) -> Value {
    json!([{
        "id": state.guild.id.to_string(), "name": state.guild.name, "icon": null, "banner": null,
        "owner": false, "features": [], "permissions": state.permissions(state.bot.id).to_string(),
    }])
}

pub(super) fn guild(state: &State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    let mut guild = state.guild_json();
    if call.query.get("with_counts").is_some_and(|with| with == "true") {
        guild["approximate_member_count"] = json!(state.guild.members.len());
        guild["approximate_presence_count"] = json!(state.guild.members.len());
    }
    Ok((200, guild))
}

pub(super) fn roles(state: &State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    Ok((200, state.roles_json()))
}

pub(super) fn members(state: &State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    if state.bot.privileged & MEMBERS == 0 {
        return Err(Refusal::missing_access().into());
    }
    let after = call.query.get("after").and_then(|after| after.parse().ok()).unwrap_or(0);
    let limit = call.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(1);
    let members = state.guild.members.keys().filter(|id| **id > after).take(limit);
    Ok((200, members.filter_map(|id| state.member_json(*id)).collect()))
}

pub(super) fn search(state: &State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    let query = call.query.get("query").map(String::as_str).unwrap_or_default().to_lowercase();
    let limit = call.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(1);
    let fits =
        |id: &&u64| state.users.get(id).is_some_and(|user| user.name.to_lowercase().starts_with(&query));
    let members = state.guild.members.keys().filter(fits).take(limit);
    Ok((200, members.filter_map(|id| state.member_json(*id)).collect()))
}

pub(super) fn member(state: &State, call: &Call) -> Outcome {
    in_guild(state, call)?;
    let id = call.id("user_id");
    match state.member_json(id) {
        Some(member) => Ok((200, member)),
        // A member that has left; a lookup of an id that never existed is no violation either.
        None => Err(Refusal::circumstance(404, 10007, "Unknown Member").into()),
    }
}
