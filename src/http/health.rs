//! `/livez` and `/readyz`: whether the process serves, and whether its parts do. Neither needs a token, and neither
//! tells more.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Shared;
use crate::clock;
use crate::clock::busy::Busy;
use crate::core::time::Timestamp;
use crate::journal::Memo;

/// Maximum duration of a commit of the journal; a longer one makes the probe fail.
const COMMIT_MAX: Duration = Duration::from_secs(10);

/// Time for which the result of a probe is reused, so that frequent requests cost no commits.
const GOOD_FOR: Duration = Duration::from_secs(5);

/// Maximum time for the root supervisor to answer a probe.
const ROOT_MAX: Duration = Duration::from_secs(1);

/// The memo that a probe writes.
const PROBE: &str = "http/probe";

/// The result of the last probe.
#[derive(Debug, Default)]
pub(super) struct Health {
    last: tokio::sync::Mutex<Option<(Timestamp, [bool; 2])>>,
    /// State of each part at the last look, and since when it is so.
    seen: Mutex<BTreeMap<&'static str, (bool, Timestamp)>>,
}

impl Health {
    /// Returns the time since which a task is well or is not: that of its own note, or that of the first look that saw it.
    fn since(&self, name: &'static str, is_well: bool, busy: &Busy, now: Timestamp) -> Timestamp {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen.get(name).copied();
        let well = busy.well_since();
        let since = match (is_well, known) {
            (true, None) => well,
            (true, Some((true, since))) => since.max(well),
            // It may have failed without being at work, as a task that has ended does.
            (true, Some((false, failed))) => Some(well).filter(|well| *well > failed).unwrap_or(now),
            (false, known) => {
                let first_look = known.filter(|known| !known.0).map_or(now, |known| known.1);
                busy.since().map_or(first_look, |since| since.min(first_look))
            }
        };
        seen.insert(name, (is_well, since));
        since
    }
}

pub(super) async fn live() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(State(app): State<Shared>) -> (StatusCode, Json<Value>) {
    let now = clock::now();
    let [journal, root] = probe(&app, now).await;
    let numbers = app.setup.journal.numbers();
    let mut parts = vec![
        ("journal", journal, app.health.since("journal", journal, &numbers.writer, now)),
        ("root", root, app.health.since("root", root, &numbers.root, now)),
    ];
    if !app.setup.networks.is_empty() {
        let (is_joined, since) = app.setup.fleet.joined();
        parts.push(("network", is_joined, since));
    }
    let is_ready = parts.iter().all(|(_, is_well, _)| *is_well);
    let body = parts.into_iter().map(|(name, is_well, since)| {
        let state = if is_well { "ok" } else { "failing" };
        (name.to_owned(), json!({ "state": state, "since": since }))
    });
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(Value::Object(body.collect())))
}

/// Whether the journal takes a commit and the root answers. Several who ask at once share one look.
async fn probe(app: &Shared, now: Timestamp) -> [bool; 2] {
    let mut last = app.health.last.lock().await;
    if let Some((at, found)) = *last
        && now.since(at) < GOOD_FOR
        && at <= now
    {
        return found;
    }
    let memo = Memo { key: PROBE.to_owned(), value: Some(now.as_millis().to_string()) };
    let commit = tokio::time::timeout(COMMIT_MAX, app.setup.journal.remember(vec![memo]));
    let (commit, root) = tokio::join!(commit, app.setup.fleet.root_answers(ROOT_MAX));
    let found = [matches!(commit, Ok(Ok(()))), root];
    *last = Some((clock::now(), found));
    found
}
