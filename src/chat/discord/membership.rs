//! The bot's membership of its server. Discord does not report it directly: a new session lists the servers, and
//! later events add and remove them.

use serenity::all::{Event, GuildId};

/// The bot's membership of its Discord server, as far as is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Membership {
    /// Nothing is known, because no session with the gateway has begun yet.
    #[default]
    Unknown,
    /// The bot is a member, even if the server is unreachable now.
    Inside,
    /// The bot is not a member of the server: it was never invited, or was removed.
    Outside,
}

/// Returns the membership that an event of the gateway shows; `None` if it shows none.
pub(super) fn told(event: &Event, guild: GuildId) -> Option<Membership> {
    match event {
        Event::Ready(ready) => {
            let ready = &ready.ready;
            let shards =
                ready.shard.map_or((0, 1), |shard| (u64::from(shard.id.0), u64::from(shard.total.max(1))));
            if ready.guilds.iter().any(|listed| listed.id == guild) {
                Some(Membership::Inside)
            } else {
                // Each shard lists its own servers.
                ((guild.get() >> 22) % shards.1 == shards.0).then_some(Membership::Outside)
            }
        }
        Event::GuildCreate(created) if created.guild.id == guild => Some(Membership::Inside),
        // An unavailable server has a fault, and the bot is still a member.
        Event::GuildDelete(deleted) if deleted.guild.id == guild && !deleted.guild.unavailable => {
            Some(Membership::Outside)
        }
        // Events that do not concern membership.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const OURS: u64 = 100_000_000_000_000_003;

    fn event(name: &str, data: &Value) -> Event {
        let payload = json!({ "op": 0, "s": 1, "t": name, "d": data });
        match serde_json::from_value(payload).expect("an event as Discord sends it") {
            serenity::all::GatewayEvent::Dispatch(_, event) => event,
            other => panic!("{other:?}"),
        }
    }

    fn ready(guilds: &[u64], shard: [u64; 2]) -> Event {
        let guilds: Vec<Value> =
            guilds.iter().map(|id| json!({ "id": id.to_string(), "unavailable": true })).collect();
        let user =
            json!({ "id": "1", "username": "herder", "discriminator": "0", "avatar": null, "bot": true });
        event(
            "READY",
            &json!({
                "v": 10, "user": user, "guilds": guilds, "session_id": "s", "resume_gateway_url": "wss://x",
                "shard": shard, "application": { "id": "1", "flags": 0 },
            }),
        )
    }

    #[test]
    fn it_is_known_by_what_sessions_list_and_by_what_comes_and_goes() {
        let guild = GuildId::new(OURS);
        let shard = (OURS >> 22) % 2;
        let gone = |id: u64, rest: Value| {
            let mut data = json!({ "id": id.to_string() });
            data.as_object_mut().expect("an object").extend(rest.as_object().cloned().unwrap_or_default());
            event("GUILD_DELETE", &data)
        };
        let table = [
            (ready(&[OURS], [0, 1]), Some(Membership::Inside)),
            (ready(&[7], [0, 1]), Some(Membership::Outside)),
            (ready(&[], [shard, 2]), Some(Membership::Outside)),
            (ready(&[], [1 - shard, 2]), None),
            (gone(OURS, json!({})), Some(Membership::Outside)),
            (gone(OURS, json!({ "unavailable": true })), None),
            (gone(7, json!({})), None),
        ];
        for (event, expected) in table {
            assert_eq!(told(&event, guild), expected, "{event:?}");
        }
    }
}
