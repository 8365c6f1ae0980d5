//! Changes on their way to open pages: server-sent events whose data are pieces of the page, rendered once by
//! [`super::screen`] for all pages that show the same.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use super::Shared;
use super::page::{Filter, Sought, WantedCharts};
use super::screen::{self, Change, Kind, Look};
use crate::core::id::{AgentName, WorkId};
use crate::core::role::Role;

/// Streams at one time.
const STREAMS_MAX: usize = 64;

/// Places for streams.
#[derive(Debug)]
pub(super) struct Streams(pub(super) Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(STREAMS_MAX)))
    }
}

/// The view that a page shows.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    view: Option<String>,
    agent: Option<String>,
    task: Option<String>,
    /// The version that the page shows.
    #[serde(default)]
    at: String,
    /// Events or audits, of a history.
    #[serde(default)]
    kind: String,
    #[serde(flatten)]
    filter: Filter,
    #[serde(flatten)]
    charts: WantedCharts,
}

impl Wanted {
    fn look(&self) -> Look {
        if let Some(task) = self.task.as_deref().and_then(|id| id.parse().ok()) {
            return Look::Task(WorkId(task));
        }
        let agent = self.agent.as_deref().and_then(|name| AgentName::new(name).ok());
        match (self.view.as_deref(), agent) {
            (Some("board"), _) => Look::Board,
            (Some("still"), _) => Look::Still,
            (Some("money"), _) => Look::Money(self.charts.charts()),
            (Some("history"), agent) => {
                Look::History(Sought::newest(agent.as_ref(), &self.kind, self.filter.text()))
            }
            (_, Some(agent)) => Look::Agent(agent),
            (_, None) => Look::Fleet(self.filter.bounded()),
        }
    }
}

/// A page that is open.
struct Open {
    app: Shared,
    /// The request that opened it: who looks is asked again each time.
    parts: Parts,
    /// The role that the page was made for.
    role: Role,
    missed: VecDeque<Change>,
    changes: broadcast::Receiver<Change>,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn stream(
    State(app): State<Shared>,
    Query(wanted): Query<Wanted>,
    parts: Parts,
) -> Response {
    let Ok(caller) = app.caller(&parts).await else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let Ok(place) = Arc::clone(&app.live.0).try_acquire_owned() else {
        let retry = [(header::RETRY_AFTER, HeaderValue::from_static("10"))];
        return (StatusCode::SERVICE_UNAVAILABLE, retry, "too many pages are open\n").into_response();
    };
    // A page that comes back names the last change that it has heard of.
    let heard = parts.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let since = heard.unwrap_or(&wanted.at).to_owned();
    let kind = Kind { look: wanted.look(), role: caller.role, language: app.language(&parts.headers).name() };
    let followed = screen::follow(&app, &kind, &since).await;
    let open = Open {
        role: caller.role,
        missed: followed.missed.into(),
        changes: followed.changes,
        app,
        parts,
        _place: place,
    };
    let events = stream::unfold(open, |mut open| async move {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl Open {
    /// The next change. `None`: the person may not look any more or has another role, the page reads too slowly, or herder goes
    /// down.
    async fn next(&mut self) -> Option<Event> {
        let change = match self.missed.pop_front() {
            Some(change) => change,
            None => {
                let shutdown = self.app.shutdown.clone();
                tokio::select! {
                    () = shutdown.cancelled() => return None,
                    change = self.changes.recv() => change.ok()?,
                }
            }
        };
        let caller = self.app.caller(&self.parts).await.ok().filter(|caller| caller.role == self.role)?;
        let html = change.html.replace(&self.app.form_mark, &caller.form);
        Some(Event::default().id(&*change.id).data(html))
    }
}
