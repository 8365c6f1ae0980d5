//! The reason why Discord refuses the bot, and its remedy.
//!
//! serenity reports only some of the codes with which Discord closes a link for good; with others it reconnects
//! forever, or spins. When a link does not come up, this file logs in once by itself to learn the code.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use serenity::all::{GatewayError, GatewayIntents};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tracing::debug;

use crate::core::detail::DiscordReason;

/// Timeout of a login that is made only to learn the close code.
const PATIENCE: Duration = Duration::from_secs(15);

/// Discord's close code for a wrong bot token.
pub(super) const TOKEN: u16 = 4004;
/// Discord's close code for intents that are not enabled for the bot.
pub(super) const DISALLOWED_INTENTS: u16 = 4014;

/// Returns the meaning of a close code after which no attempt can help; `None` if another attempt may help.
pub(super) fn reason(code: u16) -> Option<DiscordReason> {
    Some(match code {
        TOKEN => DiscordReason::Token,
        4010 => DiscordReason::Shard,
        4011 => DiscordReason::MoreShards,
        4012 => DiscordReason::Version,
        4013 => DiscordReason::IntentUnknown,
        DISALLOWED_INTENTS => DiscordReason::IntentRefused,
        _ => return None,
    })
}

/// Returns the close code that corresponds to the error with which serenity gave up; `None` for other errors.
pub(super) fn code(error: &GatewayError) -> Option<u16> {
    match error {
        GatewayError::InvalidAuthentication => Some(TOKEN),
        GatewayError::InvalidShardData => Some(4010),
        GatewayError::OverloadedShard => Some(4011),
        GatewayError::InvalidGatewayIntents => Some(4013),
        GatewayError::DisallowedGatewayIntents => Some(DISALLOWED_INTENTS),
        _ => None,
    }
}

/// Logs in to the gateway once and returns the close code with which Discord ends the link; `None` if it does not, or
/// is unreachable.
pub(super) async fn ask(url: &str, token: &str, intents: GatewayIntents, shards: u32) -> Option<u16> {
    match tokio::time::timeout(PATIENCE, log_in(url, token, intents, shards)).await {
        Ok(code) => code,
        Err(_) => {
            debug!("Discord does not say why the link does not come about");
            None
        }
    }
}

async fn log_in(url: &str, token: &str, intents: GatewayIntents, shards: u32) -> Option<u16> {
    // An address without a path gets one, since a request without a path is invalid.
    let address = reqwest::Url::parse(&format!("{url}?v=10&encoding=json")).ok()?;
    let (mut link, _) = connect_async(address.as_str()).await.ok()?;
    loop {
        match link.next().await?.ok()? {
            Message::Close(frame) => return frame.map(|CloseFrame { code, .. }| code.into()),
            Message::Text(text) => {
                let said: Value = serde_json::from_str(&text).ok()?;
                match (said["op"].as_u64(), said["t"].as_str()) {
                    (Some(10), _) => {
                        let login = json!({ "op": 2, "d": {
                            "token": token, "intents": intents.bits(), "shard": [0, shards],
                            "properties": { "os": "linux", "browser": "herder", "device": "herder" },
                        }});
                        link.send(Message::Text(login.to_string())).await.ok()?;
                    }
                    (Some(0), Some("READY")) | (Some(9), _) => {
                        // Discord accepts the login after all; this session is not needed.
                        link.close(None).await.ok()?;
                        return None;
                    }
                    _ => {}
                }
            }
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_no_other_try_mends_are_explained() {
        for code in [4004, 4010, 4011, 4012, 4013, 4014] {
            let sentence = reason(code).expect("it is for good").to_string();
            assert!(sentence.starts_with("Discord ") && !sentence.ends_with('.'), "{sentence}");
        }
        for code in [1000, 1001, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009] {
            assert_eq!(reason(code), None, "{code}");
        }
    }

    #[test]
    fn the_sentences_name_what_to_mend() {
        let sentence = |code| reason(code).expect("it is for good").to_string();
        assert!(sentence(4004).contains("`token` of [discord]"));
        assert!(sentence(4014).contains("Message Content Intent in the Developer Portal"));
        let errors = [
            (GatewayError::InvalidAuthentication, Some(4004)),
            (GatewayError::DisallowedGatewayIntents, Some(4014)),
            (GatewayError::HeartbeatFailed, None),
        ];
        for (error, expected) in errors {
            assert_eq!(code(&error), expected);
        }
    }
}
