//! The client of Discord's HTTP API: every request to Discord is sent here, except those of serenity's gateway.
//!
//! ```text
//!  part ─► typed function ─► Route + body ─► limits: wait for room ─► one try ─► answer
//!                                  ▲                                     │ 429, 5xx, no connection, no answer
//!                                  └──────────── retry: when, if at all ─┘
//! ```
//!
//! serenity's own client either hides rate limits or ignores them, and never repeats a failed request; so the
//! requests are made here, with serenity's types for bodies and answers. Rules for all requests:
//!
//! - A request waits for its limits ([`limits`]) and is repeated ([`retry`]) until its timeout: [`PATIENCE`], or that
//!   of [`Rest::within`]. [`Rest::urgent`] is for alerts, answers and anything that a person waits for: such requests
//!   come first where all share one limit.
//! - A request that creates something each time (a channel, a follow-up) is not repeated once it may have been
//!   carried out: the error says [`RestError::maybe_done`], and the caller looks before it asks again. A message with
//!   an enforced nonce can be repeated safely.
//! - No message notifies anybody by default, and no address is fetched for a preview: `allowed_mentions` and `flags`
//!   of every message say so, whichever function built the body.
//! - No token is in an error, a log or an address that is logged.
//!
//! | function | request |
//! |---|---|
//! | [`Rest::send_message`], [`Rest::edit_message`] | messages, with files |
//! | [`Rest::messages_after`] | messages after an id, oldest first, a page at a time |
//! | [`Rest::add_reaction`], [`Rest::remove_own_reaction`] | reactions, by a Unicode emoji |
//! | [`Rest::channels`], [`Rest::create_channel`], [`Rest::edit_channel`], [`Rest::create_dm`] | channels |
//! | [`Rest::guild`], [`Rest::member`], [`Rest::current_user`], [`Rest::application`], [`Rest::gateway_bot`] | the server, the bot and the gateway |
//! | [`Rest::put_guild_commands`] | application commands |
//! | [`Rest::respond`], [`Rest::edit_response`], [`Rest::follow_up`] | interactions; not delayed by the bot's limits |
//! | [`Rest::attachment`] | a file that somebody sent |
//! | [`Rest::serenity`] | serenity's client, for the gateway alone |

mod ahead;
mod answer;
mod endpoints;
mod error;
mod interactions;
mod limits;
mod reach;
mod refusals;
mod retry;
mod route;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tracing::{debug, warn};

use ahead::Ahead;
use answer::{date, read, refused, told};
pub(super) use endpoints::{ArchivedThreads, Direct, File, Page, Seen};
pub(super) use error::{RestError, code};
pub(super) use interactions::{EPHEMERAL, Original};
use limits::{Limited, Limits, Permit, Told, Verdict};
use retry::{Failure, Retry};
use route::Route;

use crate::clock;
use crate::config;
use crate::core::detail::brief;
use crate::core::time::Timestamp;
use crate::numbers::Numbers;

/// Default timeout of a request to Discord's API, including its retries and the waits for rate limits.
const PATIENCE: Duration = Duration::from_secs(60);
/// Timeout of one attempt of a request: Discord answers within a second, and gives up itself after some.
const TRY: Duration = Duration::from_secs(12);
/// Timeout of one attempt that creates something: it is longer, because only the answer tells what was created.
const TRY_ONCE: Duration = Duration::from_secs(45);

/// The client of Discord's HTTP API, with retries and rate limits. Cheap to clone.
#[derive(Clone)]
pub(super) struct Rest {
    shared: Arc<Shared>,
    urgent: bool,
    patience: Duration,
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rest").field("base", &self.shared.base).finish_non_exhaustive()
    }
}

struct Shared {
    client: reqwest::Client,
    base: String,
    /// URL prefixes of the hosts that attachments may come from; see [`reach`].
    files: Vec<String>,
    token: SecretString,
    reach: config::Reach,
    limits: Mutex<Limits>,
    /// Signals that a request has ended, so that waiting ones check the rate limits again.
    answered: Notify,
    /// Number of recently refused requests while all others are stopped because of them; `None` otherwise.
    stopped: watch::Sender<Option<u32>>,
    /// Difference between this machine's clock and Discord's.
    ahead: Ahead,
    /// Metrics, in which answers with status 429 ("too many requests") are counted.
    numbers: Arc<Numbers>,
}

impl Shared {
    fn limits(&self) -> MutexGuard<'_, Limits> {
        // The limits are counters, which stay valid after a panic.
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a request to Discord's API.
enum Body<'a> {
    Nothing,
    Json(&'a Value),
    Files(&'a Value, &'a [File]),
}

/// A request that the rate limits have admitted; its drop tells the limits that it has ended.
struct UnderWay<'a> {
    shared: &'a Shared,
    permit: Option<Permit>,
}

impl UnderWay<'_> {
    fn answered(mut self, route: &Route, told: &Told) {
        if let Some(permit) = self.permit.take() {
            let stopped = {
                let (mut limits, now) = (self.shared.limits(), Instant::now());
                limits.answered(&permit, route, told, now);
                limits.stopped(now)
            };
            self.shared.answered.notify_waiters();
            self.shared.stopped.send_if_modified(|before| match (*before, stopped) {
                (Some(told), Some(now)) if now < told.saturating_mul(2) => false,
                (before_it, now) if before_it == now => false,
                (_, now) => {
                    *before = now;
                    true
                }
            });
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.shared.limits().abandoned(&permit);
            self.shared.answered.notify_waiters();
        }
    }
}

/// The result of one attempt of a request.
enum Tried {
    Done(Vec<u8>),
    Refused { status: StatusCode, body: Vec<u8> },
    Failed(Failure, String),
}

impl Rest {
    /// Returns a client whose requests come first, for alerts, answers and anything that a person waits for.
    pub(super) fn urgent(&self) -> Self {
        Self { urgent: true, ..self.clone() }
    }

    /// Returns a client with this timeout per request, including retries and waits for rate limits.
    pub(super) fn within(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// Converts a time of Discord's clock to this machine's.
    pub(super) fn here(&self, at: Timestamp) -> Timestamp {
        self.shared.ahead.here(at)
    }

    /// Converts a time of this machine's clock to Discord's.
    pub(super) fn there(&self, at: Timestamp) -> Timestamp {
        self.shared.ahead.there(at)
    }

    /// Returns a watch of the number of requests refused within ten minutes; `Some` only while all other requests are
    /// stopped because of it.
    pub(super) fn stopped(&self) -> watch::Receiver<Option<u32>> {
        self.shared.stopped.subscribe()
    }

    async fn json<T: DeserializeOwned>(&self, route: Route, body: Body<'_>) -> Result<T, RestError> {
        let answer = self.request(&route, body).await?;
        serde_json::from_slice(&answer).map_err(|error| RestError::unreadable(route.name(), &error))
    }

    async fn done(&self, route: Route, body: Body<'_>) -> Result<(), RestError> {
        let answer = self.request(&route, body).await?;
        // Discord answers with nothing or with JSON.
        if answer.is_empty() {
            return Ok(());
        }
        let read: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(&answer);
        read.map(drop).map_err(|error| RestError::unreadable(route.name(), &error))
    }

    async fn request(&self, route: &Route, body: Body<'_>) -> Result<Vec<u8>, RestError> {
        self.tries(route, body, &mut Retry::default()).await
    }

    /// Repeats a request until it is answered, its timeout is over, or another attempt could carry it out twice.
    async fn tries(&self, route: &Route, body: Body<'_>, retry: &mut Retry) -> Result<Vec<u8>, RestError> {
        let deadline = Instant::now() + self.patience;
        let mut reason = "too many requests".to_owned();
        loop {
            let unanswered = |retry: &Retry, reason: &str| RestError::Unanswered {
                request: route.name(),
                reason: reason.to_owned(),
                maybe_done: retry.maybe_done(),
            };
            let Some(under_way) = self.admitted(route, deadline).await else {
                return Err(unanswered(retry, &reason));
            };
            let failure = match self.attempt(route, &body, under_way, deadline).await {
                Tried::Done(answer) => return Ok(answer),
                Tried::Refused { status, body } => {
                    let error = refused(route, status, &body);
                    let RestError::Foreign { .. } = error else { return Err(error) };
                    let wait = retry.failed(Failure::Foreign, route.repeatable, jitter());
                    match wait.filter(|wait| Instant::now() + *wait < deadline) {
                        Some(wait) => tokio::time::sleep(wait).await,
                        None => return Err(error),
                    }
                    reason = error.to_string();
                    continue;
                }
                Tried::Failed(failure, because) => {
                    reason = because;
                    failure
                }
            };
            debug!(request = route.name(), ?failure, reason, "a request to Discord failed");
            let Some(wait) = retry.failed(failure, route.repeatable, jitter()) else {
                return Err(unanswered(retry, &reason));
            };
            if Instant::now() + wait >= deadline {
                return Err(unanswered(retry, &reason));
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Waits until the rate limits admit a request; returns `None` if they do not in time.
    async fn admitted(&self, route: &Route, deadline: Instant) -> Option<UnderWay<'_>> {
        loop {
            let answered = self.shared.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            let verdict = self.shared.limits().ask(route, self.urgent, Instant::now());
            match verdict {
                Verdict::Go(permit) => return Some(UnderWay { shared: &self.shared, permit: Some(permit) }),
                Verdict::At(at) if at >= deadline => return None,
                Verdict::At(at) => tokio::time::sleep_until(at).await,
                Verdict::AfterAnswer => tokio::time::timeout_at(deadline, answered).await.ok()?,
            }
        }
    }

    async fn attempt(
        &self,
        route: &Route,
        body: &Body<'_>,
        under_way: UnderWay<'_>,
        deadline: Instant,
    ) -> Tried {
        let request = match self.build(route, body) {
            Ok(request) => request,
            Err(error) => return failed(&error),
        };
        let longest = if route.repeatable { TRY } else { TRY_ONCE };
        let left = deadline.saturating_duration_since(Instant::now()).min(longest);
        let exchange = async {
            let response = self.shared.client.execute(request).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok::<_, reqwest::Error>((status, headers, read(response).await?))
        };
        let (status, headers, answer) = match tokio::time::timeout(left, exchange).await {
            Ok(Ok(exchanged)) => exchanged,
            Ok(Err(error)) => return failed(&error),
            Err(_) => return Tried::Failed(Failure::Lost, format!("no answer within {}", brief(left))),
        };
        let told = told(status, &headers, &answer);
        if let Some(date) = date(&headers) {
            self.shared.ahead.told(date, clock::now());
        }
        let limited = told.limited;
        under_way.answered(route, &told);
        match (status, limited) {
            (_, Some(Limited { after, is_global })) => {
                self.shared.numbers.ratelimited.fetch_add(1, Ordering::Relaxed);
                warn!(request = route.name(), ?after, is_global, "Discord wants fewer requests");
                Tried::Failed(Failure::Limited, "too many requests".to_owned())
            }
            (status, None) if status.is_success() => Tried::Done(answer),
            (status, None) if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => {
                Tried::Failed(
                    Failure::Server(status.as_u16()),
                    format!("Discord answered with status {status}"),
                )
            }
            (status, None) => Tried::Refused { status, body: answer },
        }
    }

    fn build(&self, route: &Route, body: &Body<'_>) -> Result<reqwest::Request, reqwest::Error> {
        let address = format!("{}{}", self.shared.base, route.path);
        let mut request = self.shared.client.request(route.method.clone(), address);
        if route.authorised {
            let value = format!("Bot {}", self.shared.token.expose_secret().trim());
            let mut header = reqwest::header::HeaderValue::try_from(value)
                .unwrap_or_else(|_| reqwest::header::HeaderValue::from_static("Bot"));
            header.set_sensitive(true);
            request = request.header(reqwest::header::AUTHORIZATION, header);
        }
        match body {
            Body::Nothing => request,
            Body::Json(body) => request.json(body),
            Body::Files(body, files) => request.multipart(endpoints::form(body, files)),
        }
        .build()
    }
}

/// Describes a connection error without the URL, which may contain an interaction's token.
fn failed(error: &reqwest::Error) -> Tried {
    let failure = if error.is_connect() || error.is_builder() { Failure::Unreached } else { Failure::Lost };
    let mut reason = if error.is_connect() { "no connection" } else { "the connection broke" }.to_owned();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        // The innermost cause is the most precise ("connection refused", "invalid peer certificate").
        if cause.source().is_none() {
            reason = format!("{reason}: {cause}");
        }
        source = cause.source();
    }
    Tried::Failed(failure, reason)
}

/// Returns a random number between 0 and 1, by which waits between attempts are spread.
fn jitter() -> f64 {
    let random = getrandom::u64().unwrap_or(u64::MAX / 2);
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}
