//! The link: serenity keeps the session, this room keeps serenity.
//!
//! serenity's shard manager runs on a thread of its own ([`session`]), because it can get stuck in a loop that never yields
//! and because nothing else ends all of its tasks. What it tells goes to the parts of the adapter ([`events`]).

mod events;
mod session;

use std::sync::Arc;
use std::time::Duration;

use serenity::all::{ApplicationFlags, ApplicationId, BotGateway, GatewayIntents, UserId};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::inbound::Heard;
use super::rest::{Rest, RestError};
use super::{Bot, report};
use crate::chat::reconnect::{Backoff, FIRST};
use crate::chat::{LinkReport, LinkState};
use events::Fanout;
use session::Session;

/// Who we are at Discord, and how to connect.
pub(super) struct Introduced {
    pub(super) me: UserId,
    pub(super) application: ApplicationId,
    /// Whether the Message Content intent is switched on.
    pub(super) content: bool,
    gateway: BotGateway,
}

/// Asks Discord who we are until it answers. `None`: herder goes down, or Discord refuses the token.
pub(super) async fn introduce(
    rest: &Rest,
    reports: &mpsc::Sender<LinkReport>,
    shutdown: &CancellationToken,
) -> Option<Introduced> {
    let mut backoff = Backoff::new(FIRST);
    loop {
        let asked = tokio::select! {
            asked = ask(rest) => asked,
            () = shutdown.cancelled() => return None,
        };
        let reason = match asked {
            Ok(introduced) => return Some(introduced),
            Err(error) if error.status() == Some(401) => {
                let reason = "Discord does not know the token. Put the bot's token (Developer Portal, Bot, Reset Token) \
                              into `token` of [discord], or into the variable or file that it names, and start herder again"
                    .to_owned();
                error!(reason, "Discord is given up for good");
                report(reports, LinkState::Refused { reason }).await;
                return None;
            }
            Err(error) => error.to_string(),
        };
        let wait = backoff.failed(None, false, jitter(), tokio::time::Instant::now());
        warn!(reason, ?wait, "Discord cannot be asked");
        let attempts = backoff.attempts();
        report(reports, LinkState::Connecting { attempts, reason: Some(reason) }).await;
        if !pause(wait, shutdown).await {
            return None;
        }
    }
}

async fn ask(rest: &Rest) -> Result<Introduced, RestError> {
    let gateway = rest.gateway_bot().await?;
    let me = rest.current_user().await?.id;
    let application = rest.application().await?;
    let flags = application.flags.unwrap_or(ApplicationFlags::empty());
    let content = flags.intersects(
        ApplicationFlags::GATEWAY_MESSAGE_CONTENT | ApplicationFlags::GATEWAY_MESSAGE_CONTENT_LIMITED,
    );
    Ok(Introduced { me, application: application.id, content, gateway })
}

/// Keeps the link until `shutdown`, or until Discord refuses us for good.
pub(super) async fn keep(
    bot: Arc<Bot>,
    introduced: Introduced,
    events: mpsc::Sender<Heard>,
    shutdown: CancellationToken,
) {
    let content = if bot.sees_content() { GatewayIntents::MESSAGE_CONTENT } else { GatewayIntents::empty() };
    let intents =
        GatewayIntents::GUILDS | GatewayIntents::GUILD_MESSAGES | GatewayIntents::DIRECT_MESSAGES | content;
    let fanout = Fanout::new(Arc::clone(&bot), events);
    let mut session = match Session::start(&bot.rest, &introduced.gateway, intents, fanout).await {
        Ok(session) => session,
        Err(reason) => return error!(%reason, "the link's thread cannot be started"),
    };
    tokio::select! {
        ended = session.ended() => {
            let reason = format!("Discord ended the session: {ended}");
            bot.report(LinkState::Refused { reason }).await;
        }
        () = shutdown.cancelled() => {}
    }
    session.close().await;
}

/// Waits; false if herder goes down meanwhile.
async fn pause(wait: Duration, shutdown: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = shutdown.cancelled() => false,
    }
}

/// Between 0 and 1; the same for all only if the system has no randomness, which costs nothing but spread.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}
