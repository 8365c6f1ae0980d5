//! `/livez` and `/readyz`: whether the process serves, and whether its parts do. Neither needs a token, and neither
//! tells more.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::Shared;
use crate::clock;
use crate::core::link::LinkState;
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
    /// Since when each part is as it is.
    since: Mutex<BTreeMap<&'static str, (bool, Timestamp)>>,
}

pub(super) async fn live() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(State(app): State<Shared>) -> (StatusCode, Json<Value>) {
    let now = clock::now();
    let [journal, root] = probe(&app, now).await;
    let mut parts = vec![("journal", journal), ("root", root)];
    if !app.setup.networks.is_empty() {
        let links = app.setup.fleet.links();
        parts.push(("network", links.iter().any(|link| matches!(link.state, LinkState::Up { .. }))));
    }
    let mut since = app.health.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let body: serde_json::Map<String, Value> = parts
        .iter()
        .map(|(name, is_well)| {
            let known = since.entry(name).or_insert((*is_well, now));
            if known.0 != *is_well {
                *known = (*is_well, now);
            }
            let state = if *is_well { "ok" } else { "failing" };
            ((*name).to_owned(), json!({ "state": state, "since": known.1 }))
        })
        .collect();
    let status = if parts.iter().all(|(_, is_well)| *is_well) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(Value::Object(body)))
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
