//! Connections between bot and runners over core NATS: ordered byte streams that end when anything is lost.
//!
//! A runner's [`Station`] sends beats, which the bot's [`Hub`] answers with signed grants. The hub opens connections to a
//! runner that has beaten. Each message carries a piece of the stream, the connection's id and its own number; a number
//! that is missing ends the connection, and both ends make a new one.
//!
//! Each runner has subscriptions of its own, and what one of them has no room for is dropped: the missing number ends the
//! connections of that runner, and of no other one.

mod bridge;
mod frame;
mod hub;
mod station;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectOptions, Event, ToServerAddrs};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, info, warn};

pub use hub::{Hub, Line, Seen, Twin};
pub use station::{Facts, GrantState, Identity, Station, StationError, draw_incarnation};

/// Version of beats and grants.
pub const BEAT_VERSION: u32 = 1;

/// Maximum number of messages that wait in this process for one subscription; more of them are dropped. A connection never
/// has that many on their way.
const SUBSCRIPTION_MAX: usize = 256;

/// Maximum number of messages that wait in this process to be sent.
const OUTBOX_MAX: usize = 64;

/// Minimum time between two lines of the log about dropped messages.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// The intervals of beats, and of conclusions from their absence.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Time between two beats, time to wait for a grant, and time between two signs of life of a connection.
    pub beat: Duration,
    /// Time without a beat after which a runner is away, and without a message after which a connection ends.
    pub away: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { beat: Duration::from_secs(2), away: Duration::from_secs(6) }
    }
}

/// A client of the NATS server, with a count of everything that may have cost all of its subscriptions messages. Cheap to
/// clone.
#[derive(Clone)]
pub struct Uplink {
    client: Client,
    lost: watch::Receiver<u64>,
}

impl Uplink {
    /// Connects to a NATS server. Event callback and capacities of `options` are replaced.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the client, unless `options` retries the first attempt.
    pub async fn connect(options: ConnectOptions, servers: impl ToServerAddrs) -> Result<Self, ConnectError> {
        let (count, lost) = watch::channel(0_u64);
        let (refused, overflow) = (AtomicBool::new(false), Rejected::default());
        let client = options
            .subscription_capacity(SUBSCRIPTION_MAX)
            .client_capacity(OUTBOX_MAX)
            .event_callback(move |event| {
                let loses = match &event {
                    Event::Disconnected | Event::Closed => {
                        warn!(%event, "the link to the NATS server has lost messages");
                        true
                    }
                    // One subscription's own matter: its messages are numbered.
                    Event::SlowConsumer(_) => {
                        overflow.count("a subscription", &"more came than is read");
                        false
                    }
                    Event::Connected => {
                        refused.store(false, Relaxed);
                        info!("the link to the NATS server is up");
                        false
                    }
                    other => {
                        // It is refused again each second.
                        if other.to_string().contains("authorization") && !refused.swap(true, Relaxed) {
                            warn!("the NATS server refuses the key of this machine: it was taken out, or is another bot's");
                        }
                        debug!(event = %other, "the NATS client reports");
                        false
                    }
                };
                if loses {
                    count.send_modify(|count| *count += 1);
                }
                std::future::ready(())
            })
            .connect(servers)
            .await?;
        Ok(Self { client, lost })
    }

    /// Returns the client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a watch whose value changes whenever messages may have been lost.
    pub(super) fn losses(&self) -> watch::Receiver<u64> {
        let mut lost = self.lost.clone();
        lost.mark_unchanged();
        lost
    }
}

impl fmt::Debug for Uplink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uplink").field("lost", &*self.lost.borrow()).finish_non_exhaustive()
    }
}

/// A sign of life of a runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Beat {
    v: u32,
    incarnation: String,
    machine: String,
    sessions: usize,
    #[serde(default)]
    load: Option<f64>,
    #[serde(default)]
    free_disk: Option<u64>,
}

/// The bot's answer to a beat: its epoch, or the reason of a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Grant {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// A limit to how often something is done: a few times at once, and then once per interval.
#[derive(Debug)]
pub struct Allowance {
    left: u32,
    most: u32,
    every: Duration,
    since: Instant,
}

impl Allowance {
    /// Returns an allowance of `most` times at once, and of one more after each interval of at least a millisecond.
    #[must_use]
    pub fn new(most: u32, every: Duration) -> Self {
        Self { left: most, most, every: every.max(Duration::from_millis(1)), since: Instant::now() }
    }

    /// Returns true if it may be done now, and counts it.
    pub fn take(&mut self) -> bool {
        let gained = self.since.elapsed().as_nanos() / self.every.as_nanos();
        match u32::try_from(gained) {
            Ok(gained) if gained < self.most => {
                self.left = self.left.saturating_add(gained).min(self.most);
                self.since += self.every * gained;
            }
            _ => (self.left, self.since) = (self.most, Instant::now()),
        }
        let is_left = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_left
    }
}

/// A count of dropped messages, told at most once a minute.
#[derive(Debug, Default)]
struct Rejected(Mutex<(u64, Option<Instant>)>);

impl Rejected {
    /// Counts a message.
    fn count(&self, subject: &str, reason: &dyn fmt::Display) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        if state.1.is_none_or(|told| told.elapsed() >= TOLD_EVERY) {
            state.1 = Some(Instant::now());
            warn!(subject, %reason, dropped = state.0, "a message was dropped");
        }
    }

    /// Returns the number of messages that were dropped so far.
    #[cfg(test)]
    fn total(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests;
