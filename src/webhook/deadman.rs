//! The dead man's switch: herder requests a page elsewhere while it is well, and a service that watches that page
//! alerts people when the requests stop. A dead herder cannot report itself.

use std::future::Future;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::time::MissedTickBehavior;
use tracing::{debug, warn};

use super::client::{Answer, Client};
use crate::clock;
use crate::core::detail::brief;
use crate::core::id::NetworkName;
use crate::core::link::LinkState;
use crate::core::time::Timestamp;
use crate::journal::Journal;
use crate::supervisor::Fleet;
use crate::webhook::DeadMan;

/// Minimum interval of log messages about a problem: the missing requests are the actual alarm.
const COMPLAIN_EVERY: Duration = Duration::from_secs(3600);

/// Maximum time for the journal to write a sign of life before it counts as failed.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(10);

/// Decides when a problem of the dead man's switch is logged, so that a lasting one does not fill the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulse {
    complained: Option<Timestamp>,
}

impl Pulse {
    /// Returns true if a problem has to be logged `now`: once an hour, and at once after a healthy time.
    pub fn complains(&mut self, now: Timestamp) -> bool {
        let due = self.complained.is_none_or(|at| now.since(at) >= COMPLAIN_EVERY || at > now);
        if due {
            self.complained = Some(now);
        }
        due
    }

    /// Records that there is no problem now, so that the next one is logged at once.
    pub fn is_well(&mut self) {
        self.complained = None;
    }
}

/// Requests the page of the dead man's switch at the configured interval, while the journal can be written and one of
/// `networks` is up. Runs until dropped.
pub async fn watch(
    settings: DeadMan,
    client: Client,
    journal: Journal,
    fleet: Fleet,
    networks: Vec<NetworkName>,
) {
    let mut ticks = tokio::time::interval(settings.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut pulse = Pulse::default();
    loop {
        ticks.tick().await;
        let wrong = match ill(&journal, &fleet, &networks).await {
            Some(reason) => Some(reason),
            None => asked(client.get(settings.url.expose_secret())).await,
        };
        match wrong {
            None => pulse.is_well(),
            Some(reason) if pulse.complains(clock::now()) => {
                warn!(reason, "the dead man's switch is silent");
            }
            Some(reason) => debug!(reason, "the dead man's switch is silent"),
        }
    }
}

async fn asked(answer: impl Future<Output = Answer>) -> Option<String> {
    match answer.await {
        Answer::Taken { .. } => None,
        Answer::Later { reason, .. } | Answer::Refused { reason } | Answer::Gone { reason } => Some(reason),
    }
}

/// Checks whether herder is well: returns a description of the problem if no network of `networks` is up or the journal
/// cannot be written, else `None`.
async fn ill(journal: &Journal, fleet: &Fleet, networks: &[NetworkName]) -> Option<String> {
    let up = fleet
        .links()
        .iter()
        .any(|link| networks.contains(&link.network) && matches!(link.state, LinkState::Up { .. }));
    if !up {
        return Some("no chat network is up".to_owned());
    }
    match tokio::time::timeout(JOURNAL_PATIENCE, journal.live(clock::now())).await {
        Ok(Ok(())) => None,
        Ok(Err(reason)) => Some(format!("the journal cannot be written: {reason}")),
        Err(_) => Some(format!("the journal has not written anything for {}", brief(JOURNAL_PATIENCE))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_logged_once_an_hour() {
        let mut pulse = Pulse::default();
        let at = |minutes: i64| Timestamp::from_seconds(minutes * 60);
        let said: Vec<i64> = (0..150).filter(|minute| pulse.complains(at(*minute))).collect();
        assert_eq!(said, [0, 60, 120]);
        pulse.is_well();
        assert!(pulse.complains(at(151)), "what is wrong again is news");
    }
}
