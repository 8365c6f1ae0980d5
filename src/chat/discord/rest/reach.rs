//! The connection to Discord: direct, or as configured.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serenity::all::{CreateAllowedMentions, Http, HttpBuilder};
use tokio::sync::{Notify, watch};

use super::ahead::Ahead;
use super::limits::Limits;
use super::{PATIENCE, Rest, Shared};
use crate::config::{self, API_URL, Reach};
use crate::numbers::Numbers;

/// URL prefixes of the hosts from which Discord serves attachments.
const FILES: [&str; 2] = ["https://cdn.discordapp.com/", "https://media.discordapp.net/"];
/// Timeout for opening a connection to Discord's API.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of a request that serenity makes by itself.
const SERENITY: Duration = Duration::from_secs(15);
/// Value of the header `User-Agent`: Discord requires a library's name and refuses requests without it.
const USER_AGENT: &str = concat!(
    "DiscordBot (https://github.com/serenity-rs/serenity, 0.12.5) herder/",
    env!("CARGO_PKG_VERSION")
);

/// The reason why no client for Discord's API can be built.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum ReachError {
    /// The configured certificate of a certificate authority cannot be read.
    #[error("the certificate {path} of [discord] ca cannot be used: {reason}")]
    Ca {
        /// Path of the certificate file.
        path: String,
        /// Reason why the file cannot be read.
        reason: String,
    },
    /// The HTTP client cannot be built, for this reason.
    #[error("no client for Discord can be made: {0}")]
    Client(String),
}

impl Rest {
    /// Builds the client for Discord's API from the configuration.
    ///
    /// # Errors
    /// The configured CA certificate cannot be read, or no client can be built.
    pub(in super::super) async fn new(
        settings: &config::Discord,
        numbers: Arc<Numbers>,
    ) -> Result<Self, ReachError> {
        let client = client(&settings.reach).await?;
        let mut files: Vec<String> = FILES.map(str::to_owned).to_vec();
        let base = match &settings.reach {
            Reach::Internet | Reach::At { .. } => format!("{API_URL}/api/v10"),
            Reach::Plain(url) => {
                // A stand-in for Discord hosts its own files.
                files.push(format!("{url}/"));
                format!("{url}/api/v10")
            }
        };
        let shared = Shared {
            client,
            base,
            files,
            token: settings.token.clone(),
            reach: settings.reach.clone(),
            limits: Mutex::new(Limits::new()),
            answered: Notify::new(),
            stopped: watch::Sender::default(),
            ahead: Ahead::default(),
            numbers,
        };
        Ok(Self { shared: Arc::new(shared), urgent: false, patience: PATIENCE })
    }

    /// Builds the client that serenity's gateway uses to request the gateway's address.
    pub(in super::super) fn serenity(&self) -> Arc<Http> {
        let builder = HttpBuilder::new(self.shared.token.expose_secret().trim())
            .client(self.shared.client.clone())
            .default_allowed_mentions(CreateAllowedMentions::new());
        let builder = match &self.shared.reach {
            Reach::Internet | Reach::At { .. } => builder,
            // serenity ignores a proxy while its rate limiter is on.
            Reach::Plain(url) => builder.proxy(url.clone()).ratelimiter_disabled(true),
        };
        Arc::new(builder.build())
    }
}

async fn client(reach: &Reach) -> Result<reqwest::Client, ReachError> {
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        // The requests of this room have shorter timeouts of their own; serenity's have none.
        .timeout(SERENITY)
        .use_rustls_tls();
    let builder = match reach {
        Reach::Internet => builder,
        Reach::Plain(_) => builder.no_proxy(),
        Reach::At { address, ca } => {
            let unusable = |reason: String| ReachError::Ca { path: ca.display().to_string(), reason };
            let pem = tokio::fs::read(ca).await.map_err(|error| unusable(error.to_string()))?;
            let authority =
                reqwest::Certificate::from_pem(&pem).map_err(|error| unusable(error.to_string()))?;
            let host = API_URL.trim_start_matches("https://");
            builder.no_proxy().add_root_certificate(authority).resolve(host, *address)
        }
    };
    builder.build().map_err(|error| ReachError::Client(error.without_url().to_string()))
}
