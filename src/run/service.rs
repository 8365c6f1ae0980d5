//! Notifications to the system's service manager (`Type=notify`). Without one, nothing is sent.

use std::convert::Infallible;
use std::time::Duration;

use sd_notify::NotifyState;
use tracing::debug;

use super::Herder;
use super::tasks::stop_with;
use crate::clock;
use crate::core::link::LinkState;
use crate::journal::{Journal, Memo};
use crate::supervisor::Fleet;

/// Maximum time for the root supervisor to answer; if it takes longer, no sign of life is sent to the service manager.
const ROOT_MAX: Duration = Duration::from_secs(1);

/// Delay after a status line, so that quick changes of the fleet are combined into one.
const GATHER: Duration = Duration::from_secs(1);

/// Interval of requests to the service manager for more time during a long start, and the time that each asks for.
const EXTEND: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(30));

/// Key of the memo that is written to the journal before each sign of life, to prove that it can be written.
const PROBE: &str = "service/probe";

/// Returns true if there is a service manager to notify.
pub(super) fn is_wanted() -> bool {
    std::env::var_os("NOTIFY_SOCKET").is_some()
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(reason) = sd_notify::notify(states) {
        debug!(%reason, "the service manager could not be told");
    }
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// Asks the service manager for more time again and again, until dropped: the recovery of a large journal takes long
/// but is no hang.
pub(super) async fn starting() -> Infallible {
    if !is_wanted() {
        return std::future::pending().await;
    }
    loop {
        tell(&[NotifyState::ExtendTimeoutUsec(microseconds(EXTEND.1))]);
        tokio::time::sleep(EXTEND.0).await;
    }
}

/// Tells the service manager that herder has started.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Tells the service manager that herder is ending, which takes at most `drain`.
pub(super) fn stopping(drain: Duration) {
    tell(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(microseconds(drain.saturating_mul(2)))]);
}

/// Tells the service manager that the configuration is being reloaded; [`ready`] tells that this is done.
pub(super) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// Sends the service manager a status line whenever the state of the fleet changes.
pub(super) async fn keep_status(fleet: Fleet) {
    if !is_wanted() {
        return;
    }
    let mut changes = fleet.changes();
    let mut last = String::new();
    loop {
        let status = status(&fleet);
        if status != last {
            tell(&[NotifyState::Status(&status)]);
            last = status;
        }
        if changes.changed().await.is_err() {
            return;
        }
        tokio::time::sleep(GATHER).await;
    }
}

/// Formats the fleet's state: `12 agents, 3 at work, 1 needs a person; libera up, discord up`.
fn status(fleet: &Fleet) -> String {
    let agents = fleet.agents();
    let busy = agents.iter().filter(|view| view.agent.session().is_some()).count();
    let now = clock::now();
    let needy = agents.iter().filter(|view| view.agent.needs_a_person(now)).count();
    let links = fleet.links().into_iter().map(|link| {
        let state = if matches!(link.state, LinkState::Up { .. }) { "up" } else { "down" };
        format!("{} {state}", link.network)
    });
    let links = links.collect::<Vec<_>>().join(", ");
    let plural = if agents.len() == 1 { "" } else { "s" };
    let person = match needy {
        0 => String::new(),
        1 => ", 1 needs a person".to_owned(),
        count => format!(", {count} need a person"),
    };
    let networks = if links.is_empty() { String::new() } else { format!("; {links}") };
    format!("{} agent{plural}, {busy} at work{person}{networks}", agents.len())
}

/// Sends a sign of life to the service manager at half of its watchdog interval, if the journal could be written and
/// the root supervisor answers.
pub(super) async fn keep_alive(fleet: Fleet, journal: Journal) {
    let Some(limit) = sd_notify::watchdog_enabled().filter(|_| is_wanted()) else { return };
    let every = limit / 2;
    loop {
        let begun = tokio::time::Instant::now();
        let memo = Memo { key: PROBE.to_owned(), value: Some(clock::now().as_millis().to_string()) };
        let (commit, root) = tokio::join!(
            tokio::time::timeout(every, journal.remember(vec![memo])),
            fleet.root_answers(ROOT_MAX.min(every))
        );
        if matches!(commit, Ok(Ok(()))) && root {
            tell(&[NotifyState::Watchdog]);
        }
        tokio::time::sleep_until(begun + every).await;
    }
}

impl Herder {
    /// Tells the service manager that herder has started, and starts the tasks for status lines and signs of life.
    pub(super) fn tell_the_service_manager(&self) {
        ready();
        self.tasks.spawn(stop_with(self.hearing.clone(), keep_status(self.fleet.clone())));
        let alive = keep_alive(self.fleet.clone(), self.journal.clone());
        self.tasks.spawn(stop_with(self.hearing.clone(), alive));
    }
}
