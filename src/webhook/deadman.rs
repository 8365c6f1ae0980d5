//! The dead man's switch: a page elsewhere is asked for while herder is well, and who watches that page calls somebody
//! when it is not asked for any more. What has died cannot say so itself.

use std::future::Future;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::time::MissedTickBehavior;
use tracing::{debug, warn};

use super::client::{Answer, Client};
use crate::chat::LinkState;
use crate::clock;
use crate::config::DeadMan;
use crate::core::detail::brief;
use crate::core::id::NetworkName;
use crate::core::time::Timestamp;
use crate::journal::Journal;
use crate::supervisor::Fleet;

/// How often it is logged that something is wrong with it: the silence itself is what is noticed.
const COMPLAIN_EVERY: Duration = Duration::from_secs(3600);

/// How long the journal may take to write a sign of life.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(10);

/// What is asked for, and when that has to be complained about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pulse {
    complained: Option<Timestamp>,
}

impl Pulse {
    /// Whether something that is wrong `now` is to be logged: once an hour, and at once again after all was well.
    pub fn complains(&mut self, now: Timestamp) -> bool {
        let due = self.complained.is_none_or(|at| now.since(at) >= COMPLAIN_EVERY);
        if due {
            self.complained = Some(now);
        }
        due
    }

    /// All is well.
    pub fn is_well(&mut self) {
        self.complained = None;
    }
}

/// Asks for the page as often as the settings say, as long as the journal can be written and one of `networks` is up;
/// until dropped.
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

/// What is wrong with herder, if anything is.
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
