//! Changes on their way to open pages: server-sent events whose data are pieces of the page.
//!
//! Nobody looking means no work: a stream waits for the fleet's own signal, looks which agents look otherwise than they
//! did on this page, and sends those alone. Several changes within [`GATHER`] are one message.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Shared, page};
use crate::clock;
use crate::commands::say::Voice;
use crate::core::id::AgentName;
use crate::core::time::Timestamp;
use crate::supervisor::View as Seen;

/// Streams at one time.
const STREAMS_MAX: usize = 64;

/// How long changes are gathered; a change is on the page this long after its commit, and the time that it takes to send.
const GATHER: Duration = Duration::from_millis(100);

/// How often a page looks again though nothing happened: times pass, and sessions end.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Places for streams.
#[derive(Debug)]
pub(super) struct Streams(pub(super) Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(STREAMS_MAX)))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    agent: Option<String>,
}

/// A page that is open.
struct Open {
    app: Shared,
    /// The request that opened it: who looks is asked again each time.
    parts: Parts,
    agent: Option<AgentName>,
    changes: tokio::sync::watch::Receiver<()>,
    shown: BTreeMap<AgentName, Seen>,
    /// When it was opened.
    opened: Timestamp,
    needs: String,
    summary: String,
    /// Messages on their way.
    ready: VecDeque<String>,
    _place: OwnedSemaphorePermit,
}

pub(super) async fn stream(
    State(app): State<Shared>,
    Query(wanted): Query<Wanted>,
    parts: Parts,
) -> Response {
    if app.caller(&parts).await.is_err() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let Ok(place) = Arc::clone(&app.live.0).try_acquire_owned() else {
        let retry = [(header::RETRY_AFTER, HeaderValue::from_static("10"))];
        return (StatusCode::SERVICE_UNAVAILABLE, retry, "too many pages are open\n").into_response();
    };
    let mut changes = app.setup.fleet.changes();
    // What changed between the page and this stream is sent first.
    changes.mark_changed();
    let open = Open {
        agent: wanted.agent.and_then(|name| AgentName::new(&name).ok()),
        changes,
        shown: BTreeMap::new(),
        opened: clock::now(),
        needs: String::new(),
        summary: String::new(),
        ready: VecDeque::new(),
        app,
        parts,
        _place: place,
    };
    let events = stream::unfold(open, |mut open| async move {
        let html = open.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(html)), open))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl Open {
    /// The next pieces that have changed. `None`: whoever looks may not any more, or herder goes down.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(html) = self.ready.pop_front() {
                return Some(html);
            }
            let shutdown = self.app.shutdown.clone();
            tokio::select! {
                () = shutdown.cancelled() => return None,
                changed = self.changes.changed() => {
                    changed.ok()?;
                    tokio::time::sleep(GATHER).await;
                    self.changes.borrow_and_update();
                }
                () = tokio::time::sleep(LOOK_AGAIN) => {
                    // Idle times and countdowns are part of what is shown of those that work or wait.
                    self.shown.retain(|_, seen| seen.agent.session().is_none() && seen.agent.countdown().is_none());
                }
            }
            self.look().await?;
        }
    }

    /// Looks what is shown otherwise by now. Rows of a table are a message of their own: beside anything else a browser reads
    /// them as no rows, or the forms after them as empty.
    async fn look(&mut self) -> Option<()> {
        let app = Arc::clone(&self.app);
        let caller = app.caller(&self.parts).await.ok()?;
        let view = app.view(&caller, app.language(&self.parts));
        // What has only become older is no change, and takes nobody's half-written answer away.
        let still = page::View {
            voice: Voice { now: self.opened, ..view.voice },
            ..app.view(&caller, view.voice.locale)
        };
        let (mut rows, mut html) = (String::new(), String::new());
        if let Some(name) = &self.agent {
            let seen = app.setup.fleet.view(name)?;
            if self.shown.get(name).is_none_or(|before| page::changed(before, &seen)) {
                html.push_str(&page::agent_parts(&view, &seen, true).await.into_string());
                self.shown.insert(name.clone(), seen);
            }
        } else {
            for seen in app.setup.fleet.agents() {
                if self.shown.get(&seen.name).is_none_or(|before| page::changed(before, &seen)) {
                    rows.push_str(&page::row(&view, &seen, true).into_string());
                    self.shown.insert(seen.name.clone(), seen);
                }
            }
            let needs = page::needs(&still).into_string();
            if needs != self.needs {
                html.push_str(&page::needs(&view).into_string());
                self.needs = needs;
            }
        }
        let summary = page::summary(&still).into_string();
        if summary != self.summary {
            html.push_str(&page::summary(&view).into_string());
            self.summary = summary;
        }
        self.ready.extend([rows, html].into_iter().filter(|html| !html.is_empty()));
        Some(())
    }
}
