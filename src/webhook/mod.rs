//! Webhooks: events of agents, sent to programs by HTTP.
//!
//! ```text
//!  event ─► post in the journal ─► queue of the endpoint ─► body, signature ─► POST ─► 2xx: confirmed
//!                                       ▲                                        │
//!                                       └───── after a wait: the same id ◄───────┘ no answer, 5xx, 429 …
//! ```
//!
//! To the outbox an endpoint is like a network: its posts are committed with the decision that causes them, one per
//! transition ([`HookEvent::of`](crate::core::hook::HookEvent::of)), and sent one after the other until they are
//! confirmed. A receiver may get one twice, after a crash between the answer and its record, and recognises it by its
//! id, which stays the same across retries and restarts.
//!
//! An endpoint that does not answer is tried again without end; an event that it refuses for minutes is dropped, and
//! people are told; one that says that it is gone gets no more events until herder is restarted ([`retry`]). The
//! address of the connection decides whether it is allowed ([`address`]). An endpoint's URL may be a secret, so that
//! it is in no log and no post.

pub mod address;
mod body;
mod client;
mod deadman;
mod retry;
mod settings;
mod signature;

use std::sync::Arc;

use secrecy::ExposeSecret as _;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::clock;
use crate::core::link::{LinkReport, LinkState};
use crate::core::post::Body;
use crate::core::time::Timestamp;
use crate::outbox::{Line, NetworkQueue};
use crate::redact::Redactor;
use crate::supervisor::Fleet;

pub use body::{Format, Telling, encode};
pub use client::{Answer, Client, ClientError, TIMEOUT, Unfetched};
pub use deadman::{Pulse, watch};
pub use retry::{Next, Standing};
pub use settings::{DeadMan, Webhook};
pub use signature::{SecretError, SigningKey};

/// Settings and services for the task of one webhook endpoint.
#[derive(Debug, Clone)]
pub struct Ports {
    /// Settings of the endpoint.
    pub settings: Webhook,
    /// The queue of the endpoint's pending events.
    pub queue: Arc<NetworkQueue>,
    /// The HTTP client that sends the events.
    pub client: Client,
    /// The handle to the fleet, to which the state of the endpoint is reported.
    pub fleet: Fleet,
    /// The journal's id, which is part of every event's id.
    pub journal: String,
    /// Redacts secrets in the text of a task; other text is redacted by the queue.
    pub redactor: Redactor,
}

impl Ports {
    fn count_failure(&self) {
        self.fleet.journal().numbers().webhook_failures.add(&self.settings.name, 1);
    }
}

/// Sends an endpoint its pending events, one after the other, until `shutdown` is cancelled or the endpoint is gone.
pub async fn run(ports: Ports, shutdown: CancellationToken) {
    // Returns lines that an earlier task had in flight.
    ports.queue.link_restored();
    let mut standing = Standing::default();
    let mut up = false;
    while let Some(window) =
        shutdown.run_until_cancelled(ports.queue.next_window(1, &|_| usize::MAX, &|_| true)).await
    {
        let Some(line) = window.lines.first() else { continue };
        let Some(answer) = shutdown.run_until_cancelled(tell(&ports, line)).await else {
            ports.queue.requeue(window);
            return;
        };
        let now = clock::now();
        match standing.after(&answer, jitter()) {
            Next::Done => {
                ports.queue.confirm(window).await;
                if !std::mem::replace(&mut up, true) {
                    report(&ports, LinkState::Up { since: now, unidentified: None });
                }
            }
            Next::Again { wait, attempts, reason } => {
                ports.count_failure();
                debug!(endpoint = %ports.settings.name, reason, ?wait, "a webhook is tried again");
                up = false;
                report(&ports, LinkState::Connecting { attempts, reason: Some(reason.into()) });
                ports.queue.requeue(window);
                if shutdown.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                    return;
                }
            }
            Next::Dropped { attempts, reason } => {
                ports.count_failure();
                let post = line.post.0;
                warn!(endpoint = %ports.settings.name, post, reason, "a webhook refuses an event; it is dropped");
                ports.queue.confirm(window).await;
                up = false;
                ports.fleet.report_dropped(ports.settings.name.clone(), attempts, reason.into());
            }
            Next::Gone { reason } => {
                ports.count_failure();
                report(&ports, LinkState::Refused { reason: reason.into() });
                ports.queue.confirm(window).await;
                return forget(&ports, shutdown).await;
            }
        }
    }
}

/// Discards the events of an endpoint that wants no more, until `shutdown` is cancelled.
async fn forget(ports: &Ports, shutdown: CancellationToken) {
    while let Some(window) =
        shutdown.run_until_cancelled(ports.queue.next_window(1, &|_| usize::MAX, &|_| true)).await
    {
        ports.queue.confirm(window).await;
    }
}

fn report(ports: &Ports, state: LinkState) {
    ports.fleet.report_link(LinkReport { network: ports.settings.name.clone(), state });
}

/// Sends one pending event to the endpoint, in a single attempt, and returns the endpoint's answer.
async fn tell(ports: &Ports, line: &Line) -> Answer {
    let Body::Hook(hook) = &line.source.body else {
        // No other post has an endpoint as its target.
        return Answer::Taken { status: 0 };
    };
    let task = hook.task.as_ref().map(|task| (task.id.0, ports.redactor.redact(&task.text)));
    let telling = Telling {
        id: &format!("evt_{}_{}", ports.journal, line.post),
        event: hook.event.word(),
        agent: Some(hook.agent.as_str()),
        task: task.as_ref().map(|(id, text)| (*id, text.as_ref())),
        text: &line.text,
        at: line.source.at,
    };
    send(&ports.settings, &ports.client, &telling, clock::now()).await
}

async fn send(settings: &Webhook, client: &Client, telling: &Telling<'_>, now: Timestamp) -> Answer {
    let body = encode(settings.format, telling);
    let signed = settings.secret.as_ref().map(|key| key.headers(telling.id, now, &body));
    client.post(settings.url.expose_secret(), body, signed.unwrap_or_default()).await
}

/// Sends a test event to an endpoint for `herder check`. Returns the endpoint's answer as a sentence.
///
/// # Errors
/// The failure, as a sentence.
pub async fn examine(settings: &Webhook) -> Result<String, String> {
    let name = &settings.name;
    let client = Client::new(settings.allow_private, TIMEOUT).map_err(|error| format!("{name}: {error}"))?;
    let now = clock::now();
    let id = format!("evt_test_{:016x}", getrandom::u64().unwrap_or_default());
    let text = "This is a test of herder's webhooks.";
    let telling = Telling { id: &id, event: TEST, agent: None, task: None, text, at: now };
    match send(settings, &client, &telling, now).await {
        Answer::Taken { status } => Ok(format!("{name} took the test event, with status {status}")),
        Answer::Later { reason, .. } | Answer::Refused { reason } | Answer::Gone { reason } => {
            Err(format!("{name}: {reason}"))
        }
    }
}

/// Name of the event of [`examine`]; no [`HookEvent`](crate::core::hook::HookEvent) has it.
const TEST: &str = "test";

/// Returns a random number between 0 and 1, by which waits differ between endpoints.
fn jitter() -> f64 {
    let random = getrandom::u64().unwrap_or(u64::MAX / 2);
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::hook::HookEvent;

    #[test]
    fn a_test_is_no_event() {
        assert!(HookEvent::ALL.iter().all(|event| event.word() != TEST));
    }
}
