//! The server's channels: found, created, given topics, archived, and created again when deleted.
//!
//! [`plan`] and [`topics`] decide without I/O; this file sends the requests to Discord and reports their results. The
//! id of each channel is stored before anything is posted there ([`super::directory`]).

mod plan;
#[cfg(test)]
mod plan_tests;
mod seen;
mod topics;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use serenity::all::{ChannelId, ChannelType, Event, GuildChannel, GuildId, Permissions, RoleId, UserId};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tracing::{info, warn};

use super::directory::{Doubt, Purpose};
use super::membership::{self, Membership};
use super::permission::Standing;
use super::rest::{Rest, RestError, code};
use super::{Bot, network};
use crate::core::link::ChannelWanted;
use crate::core::notice::Notice;
use plan::{Failure, GUILD_MAX, Plan, Step, Trouble};
use seen::{Kind, Snapshot, There};
use topics::Edit;

/// Timeout of a request to set a channel's topic, which may be outdated later.
const TOPIC_PATIENCE: Duration = Duration::from_secs(15);

/// Maximum number of problems of one kind announced at once: fifty channels with one problem need no fifty alerts.
const TROUBLES_MAX: usize = 4;

/// Discord's error code: the server has reached its maximum number of channels.
const GUILD_FULL: u32 = 30013;

/// Discord's error code: invalid body, e.g. a category that is full.
const INVALID: u32 = 50035;

/// Creates and moves herder's channels on the server so that they are as wanted, until dropped.
pub(super) async fn keep(
    bot: Arc<Bot>,
    mut wanted: watch::Receiver<Vec<ChannelWanted>>,
    mut changes: broadcast::Receiver<Arc<Event>>,
) {
    let mut plan = Plan::new(&bot.ports.settings, bot.directory.all());
    plan.want(&wanted.borrow_and_update(), Instant::now());
    let mut requests = FuturesUnordered::new();
    loop {
        let now = Instant::now();
        // Channels found by name change the next step.
        while let Some(step) = plan.next(now) {
            requests.push(change(Arc::clone(&bot), step));
        }
        while let Some(edit) = plan.next_topic(now) {
            requests.push(set_topic(bot.rest.within(TOPIC_PATIENCE), edit));
        }
        remember(&bot, &mut plan).await;
        bot.directory.is_as_sure(plan.outlook(now));
        if let Some(readable) = plan.readable() {
            *bot.unmarkable.lock().unwrap_or_else(PoisonError::into_inner) = plan.unmarkable();
            bot.readable.send_if_modified(|known| {
                *known != readable && {
                    *known = readable;
                    true
                }
            });
        }
        say(&bot, &mut plan).await;
        let due = [plan.deadline(now), plan.topic_deadline()].into_iter().flatten().min();
        let due = async {
            match due {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(done) = requests.next(), if !requests.is_empty() => took(&mut plan, done),
            change = changes.recv() => match change {
                Ok(event) => heard(&mut plan, &event, &bot),
                Err(broadcast::error::RecvError::Lagged(_)) => plan.doubt(),
                Err(broadcast::error::RecvError::Closed) => return,
            },
            doubts = bot.directory.doubted() => doubted(&mut plan, doubts),
            changed = wanted.changed() => match changed {
                Ok(()) => plan.want(&wanted.borrow_and_update(), Instant::now()),
                // herder shuts down.
                Err(_) => return,
            },
            () = due => {}
        }
    }
}

/// The result of a request that changes or reads the server's channels.
enum Done {
    Look(Result<Box<Snapshot>, Failure>),
    Step(Step, Result<Option<(ChannelId, There)>, Failure>),
    Topic(Edit, Result<(), Failure>),
}

fn took(plan: &mut Plan, done: Done) {
    let now = Instant::now();
    match done {
        Done::Look(Ok(snapshot)) => {
            plan.done(&Step::Look, Ok(None), now);
            plan.saw(*snapshot, now);
        }
        Done::Look(Err(failure)) => plan.done(&Step::Look, Err(failure), now),
        Done::Step(step, result) => plan.done(&step, result, now),
        Done::Topic(edit, result) => plan.topic_done(&edit, result, now),
    }
}

fn doubted(plan: &mut Plan, doubts: BTreeMap<ChannelId, Doubt>) {
    for (channel, doubt) in doubts {
        match doubt {
            Doubt::Gone => plan.saw_gone(channel, Instant::now()),
            Doubt::Denied => plan.doubt(),
        }
    }
}

/// Updates the plan of channels from a gateway event.
fn heard(plan: &mut Plan, event: &Event, bot: &Bot) {
    let (guild, now) = (bot.guild(), Instant::now());
    if membership::told(event, guild) == Some(Membership::Outside) {
        return plan.left();
    }
    match event {
        Event::GuildCreate(created) if created.guild.id == guild => {
            let seen = &created.guild;
            let channels = seen.channels.values().map(|channel| (channel.id, There::from(channel))).collect();
            let standing = seen.members.get(&bot.me).map(|me| Standing {
                guild,
                me: bot.me,
                roles: seen.roles.values().map(|role| (role.id, role.permissions)).collect(),
                own: me.roles.clone(),
            });
            plan.told(Snapshot { channels, standing }, now);
        }
        Event::ChannelCreate(created) if created.channel.guild_id == guild => {
            plan.saw_channel(created.channel.id, There::from(&created.channel), now);
        }
        Event::ChannelUpdate(updated) if updated.channel.guild_id == guild => {
            plan.saw_channel(updated.channel.id, There::from(&updated.channel), now);
        }
        Event::ChannelDelete(deleted) if deleted.channel.guild_id == guild => {
            plan.saw_gone(deleted.channel.id, now);
        }
        Event::GuildRoleCreate(created) if created.role.guild_id == guild => {
            plan.saw_role(created.role.id, Some(created.role.permissions));
        }
        Event::GuildRoleUpdate(updated) if updated.role.guild_id == guild => {
            plan.saw_role(updated.role.id, Some(updated.role.permissions));
        }
        Event::GuildRoleDelete(deleted) if deleted.guild_id == guild => plan.saw_role(deleted.role_id, None),
        Event::GuildMemberUpdate(updated) if updated.guild_id == guild && updated.user.id == bot.me => {
            plan.saw_own_roles(updated.roles.clone());
        }
        // An unreadable event about channels or permissions: the server is read again.
        Event::Unknown(_) => plan.saw_nothing(),
        // All other events do not concern channels or permissions.
        _ => {}
    }
}

/// Stores the ids of channels that were found or created and removes those of lost ones, before anything is posted
/// there. A failure is only logged.
async fn remember(bot: &Bot, plan: &mut Plan) {
    for (purpose, channel) in plan.changes() {
        let journal = &bot.ports.journal;
        let remembered = match channel {
            Some(channel) => bot.directory.learn(journal, purpose.clone(), channel).await,
            None => bot.directory.forget(journal, &purpose).await,
        };
        if let Err(reason) = remembered {
            warn!(?purpose, %reason, "it cannot be remembered which channel is which");
        }
    }
}

/// Announces problems with channels that people have to solve: in the log, and in every channel in which herder can
/// post.
async fn say(bot: &Bot, plan: &mut Plan) {
    let troubles = plan.troubles();
    for trouble in troubles.iter().take(TROUBLES_MAX) {
        let notice = match trouble {
            Trouble::Permission { needed, channel } => {
                let channel = channel.map(|channel| plan.shown(channel));
                warn!(
                    permission = needed.name,
                    channel, "{}: a permission is missing on Discord", needed.without
                );
                let permission = needed.key.to_owned();
                Notice::PermissionMissing { network: network(), permission, channel }
            }
            Trouble::Full => {
                let missing = u32::try_from(plan.lacking()).unwrap_or(u32::MAX);
                warn!(missing, "the server on Discord has all the channels it can have");
                Notice::ChannelsFull { network: network(), missing, max: GUILD_MAX }
            }
        };
        if plan.can_post(&Purpose::Alerts) {
            bot.ports.fleet.alert(notice).await;
        } else {
            bot.ports.fleet.alert_elsewhere(notice, &network()).await;
        }
    }
    if let Some(more) = troubles.len().checked_sub(TROUBLES_MAX + 1) {
        warn!(more = more + 1, "more permissions are missing on Discord; `herder check` names them");
    }
}

/// Sends the request for one step of the plan of channels.
fn change(bot: Arc<Bot>, step: Step) -> BoxFuture<'static, Done> {
    let guild = bot.guild();
    Box::pin(async move {
        match &step {
            Step::Look => Done::Look(look(&bot.rest, guild, bot.me).await.map(Box::new).map_err(|e| why(&e))),
            Step::Create { purpose, name, kind, parent, topic } => {
                let made = create(&bot.rest, guild, (name, *kind), *parent, topic.as_deref()).await;
                match &made {
                    Ok(channel) => info!(name, id = %channel.id, ?purpose, "a channel was made"),
                    Err(error) => warn!(name, %error, "a channel could not be made"),
                }
                let made = made.map(|channel| Some((channel.id, There::from(&channel))));
                Done::Step(step, made.map_err(|error| why(&error)))
            }
            Step::Move { purpose, channel, parent, overwrites } => {
                let mut body = json!({ "parent_id": parent.to_string() });
                if let Some(overwrites) = overwrites {
                    body["permission_overwrites"] = json!(overwrites);
                }
                let moved = bot.rest.edit_channel(*channel, &body).await;
                match &moved {
                    Ok(()) => info!(?purpose, id = %channel, "a channel was moved"),
                    Err(error) => warn!(?purpose, %error, "a channel could not be moved"),
                }
                Done::Step(step, moved.map(|()| None).map_err(|error| why(&error)))
            }
        }
    })
}

fn set_topic(rest: Rest, edit: Edit) -> BoxFuture<'static, Done> {
    Box::pin(async move {
        let set = rest.edit_channel(edit.channel, &json!({ "topic": edit.topic })).await;
        if let Err(error) = &set {
            info!(agent = %edit.agent, %error, "a topic could not be set");
        }
        Done::Topic(edit, set.map_err(|error| why(&error)))
    })
}

async fn create(
    rest: &Rest,
    guild: GuildId,
    (name, kind): (&str, Kind),
    parent: Option<ChannelId>,
    topic: Option<&str>,
) -> Result<GuildChannel, RestError> {
    let kind = match kind {
        Kind::Category => ChannelType::Category,
        Kind::Text | Kind::Other => ChannelType::Text,
    };
    let mut body = json!({ "name": name, "type": u8::from(kind) });
    if let Some(parent) = parent {
        body["parent_id"] = Value::String(parent.to_string());
    }
    if let Some(topic) = topic {
        body["topic"] = Value::String(topic.to_owned());
    }
    rest.create_channel(guild, &body).await
}

/// Requests the whole state of the server: its channels and the bot's permissions.
async fn look(rest: &Rest, guild: GuildId, me: UserId) -> Result<Snapshot, RestError> {
    let channels = rest.channels(guild).await?;
    let standing = standing(rest, guild, me).await?;
    let channels = channels.iter().map(|channel| (channel.id, There::from(channel))).collect();
    Ok(Snapshot { channels, standing: Some(standing) })
}

/// Reads the bot's roles and permissions on the server.
pub(super) async fn standing(rest: &Rest, guild: GuildId, me: UserId) -> Result<Standing, RestError> {
    let roles: BTreeMap<RoleId, Permissions> =
        rest.guild(guild).await?.roles.values().map(|role| (role.id, role.permissions)).collect();
    let own = rest.member(guild, me).await?.roles;
    Ok(Standing { guild, me, roles: roles.into_iter().collect(), own })
}

/// Returns the meaning of a failed request for the plan of channels.
fn why(error: &RestError) -> Failure {
    match error.code() {
        Some(code::MISSING_PERMISSIONS | code::MISSING_ACCESS) => Failure::Denied,
        Some(code::UNKNOWN_CHANNEL) => Failure::Gone,
        Some(GUILD_FULL) => Failure::GuildFull,
        Some(INVALID) => {
            let words = error.to_string().to_lowercase();
            if words.contains("maximum number of channels in category") {
                Failure::CategoryFull
            } else if words.contains("category does not exist") {
                Failure::Gone
            } else {
                Failure::Failed
            }
        }
        Some(_) | None if error.maybe_done() => Failure::Unsure,
        Some(_) | None => Failure::Failed,
    }
}
