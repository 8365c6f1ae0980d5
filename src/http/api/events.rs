//! `events`: the whole journal in order, a page at a time or as a stream that goes on with what happens.
//!
//! The number of an event is its place in the journal, whatever agent it is of. A stream reads the journal itself, as fast
//! as its reader takes it, so that nothing is kept for a slow one, and a commit waits for none. While nothing happens it
//! sleeps but for a comment every 15 s.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tracing::error;

use super::Window;
use super::problem::{Asked, Problem};
use crate::core::clean::visible;
use crate::core::id::AgentName;
use crate::core::role::Role;
use crate::http::Shared;
use crate::http::who::Caller;
use crate::journal::{Filter, Followed, Follower, Page, ReadError, Stream, encoding};

/// Events that a stream reads in one go.
const READ_MAX: usize = 200;

/// Pause between two looks of a stream into the journal: at most 50 in a second.
const GATHER: Duration = Duration::from_millis(20);

/// Looks into the journal for one page: of a filter that fits little, some tens of thousands of events.
const LOOKS_MAX: usize = 10;

/// The largest number of an event that every reader of JSON keeps whole.
pub(super) const SEQ_MAX: u64 = (1 << 53) - 1;

/// Names in one filter.
const NAMES_MAX: usize = 100;

/// Characters of a mistaken name that are shown.
const SHOWN_MAX: usize = 60;

/// Numbers that a filter passes over before a stream says where it is, so that whoever comes back need not begin far behind.
const SAY_WHERE: u64 = 1_000;

/// Which events are wanted.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Wanted {
    after: Option<u64>,
    limit: Option<usize>,
    next: Option<String>,
    agent: Option<String>,
    kind: Option<String>,
}

/// Returns the filter of a request.
fn filter(wanted: &Wanted) -> Result<Filter, Problem> {
    let wrong = |said: String| Problem::new(StatusCode::BAD_REQUEST, said);
    let shown = |name: &str| visible(&name.chars().take(SHOWN_MAX).collect::<String>());
    let names = |list: Option<&String>| {
        let names = list?.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some(names.map(str::to_owned).collect::<BTreeSet<_>>()).filter(|names| !names.is_empty())
    };
    let streams = names(wanted.agent.as_ref()).map(|names| {
        let agents = names.into_iter().map(|name| {
            let agent = AgentName::new(&name)
                .map_err(|_| wrong(format!("“{}” is no name of an agent", shown(&name))));
            agent.map(Stream::Agent)
        });
        agents.collect::<Result<BTreeSet<_>, Problem>>()
    });
    let kinds = names(wanted.kind.as_ref()).map(|kinds| {
        let known = encoding::kinds();
        match kinds.iter().find(|kind| !known.contains(&kind.as_str())) {
            Some(kind) => {
                let kind = shown(kind);
                Err(wrong(format!("“{kind}” is no kind of event; there are {}", known.join(", "))))
            }
            None => Ok(kinds),
        }
    });
    let (streams, kinds) = (streams.transpose()?, kinds.transpose()?);
    if streams.as_ref().is_some_and(|all| all.len() > NAMES_MAX) {
        return Err(wrong(format!("a filter has at most {NAMES_MAX} names")));
    }
    Ok(Filter { streams, kinds })
}

/// Something of the journal on its way to a reader.
struct Piece {
    /// The number of the event, or the last one of a gap.
    seq: u64,
    data: Value,
    is_gap: bool,
}

/// Returns the part of a page that somebody with that role may see.
fn pieces(app: &Shared, role: Role, page: Page) -> Vec<Piece> {
    let piece = |step| match step {
        Followed::Event(recorded) => {
            let seq = recorded.seq;
            let data = app.setup.dispatcher.seen_by(role, *recorded)?;
            Some(Piece { seq, data, is_gap: false })
        }
        Followed::Gap(span) => Some(Piece { seq: span.last, data: json!({ "gap": span }), is_gap: true }),
    };
    page.steps.into_iter().filter_map(piece).collect()
}

fn unread(reason: &ReadError) -> Problem {
    error!(%reason, "events could not be read");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the journal cannot be read; herder's log has the cause")
        .retry_after(60)
}

pub(super) async fn events(
    State(app): State<Shared>,
    caller: Caller,
    Asked(wanted): Asked<Wanted>,
    parts: Parts,
) -> Result<Response, Problem> {
    let filter = filter(&wanted)?;
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let accepts = header(header::ACCEPT).unwrap_or_default().to_owned();
    // A browser that connects anew asks for the address that it began with.
    let last = header(header::HeaderName::from_static("last-event-id")).map(str::parse::<u64>);
    let last = last.transpose().map_err(|_| {
        Problem::new(StatusCode::BAD_REQUEST, "Last-Event-ID is the number of an event, as herder gave it")
    })?;
    if wanted.after.is_some_and(|after| after > SEQ_MAX) {
        return Err(Problem::new(StatusCode::BAD_REQUEST, format!("after is a number from 0 to {SEQ_MAX}")));
    }
    let after = match &wanted.next {
        Some(next) => Some(Window::place(next)?),
        None => last.or(wanted.after),
    };
    let (after, end) = (after.unwrap_or(0), app.setup.journal.end());
    if after > end {
        let said = format!(
            "the journal ends at event {end}, before {after}: it is another one, or was restored; begin anew, without after"
        );
        return Err(Problem::new(StatusCode::CONFLICT, said));
    }
    let follower = app.setup.journal.follow(after, filter);
    if !accepts.contains("text/event-stream") {
        let limit = Window::limit(wanted.limit)?;
        return page(&app, &caller, follower, limit).await;
    }
    let Ok(place) = Arc::clone(&app.live.0).try_acquire_owned() else {
        let said = "64 streams are open, of this and of pages; close one";
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, said).retry_after(10));
    };
    let open = Open { caller, follower, ready: VecDeque::new(), said: after, app, parts, _place: place };
    let events = stream::unfold(open, |mut open| async move {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

async fn page(
    app: &Shared,
    caller: &Caller,
    mut follower: Follower,
    limit: usize,
) -> Result<Response, Problem> {
    let (mut items, mut upto, mut is_end) = (Vec::new(), 0, false);
    for _ in 0..LOOKS_MAX {
        let page = follower.page(limit - items.len()).await.map_err(|reason| unread(&reason))?;
        (upto, is_end) = (page.upto, page.is_end);
        items.extend(pieces(app, caller.role, page).into_iter().map(|piece| piece.data));
        if is_end || items.len() >= limit {
            break;
        }
    }
    let next = (!is_end).then(|| Window::next(upto));
    Ok(Json(json!({ "items": items, "next": next, "last": upto })).into_response())
}

/// A stream that somebody reads.
struct Open {
    app: Shared,
    /// The request that opened it: whether a session still holds is asked each time.
    parts: Parts,
    caller: Caller,
    follower: Follower,
    ready: VecDeque<Event>,
    /// The last number that the reader knows of.
    said: u64,
    _place: OwnedSemaphorePermit,
}

impl Open {
    /// The next event. `None`: whoever reads may not any more, the journal cannot be read, or herder goes down.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let page = self.follower.page(READ_MAX).await.map_err(|reason| unread(&reason)).ok()?;
            self.caller = self.app.still(&self.parts, &self.caller).await?;
            let (upto, is_end) = (page.upto, page.is_end);
            for piece in pieces(&self.app, self.caller.role, page) {
                self.said = piece.seq;
                let event = Event::default().id(piece.seq.to_string()).data(piece.data.to_string());
                self.ready.push_back(if piece.is_gap { event.event("gap") } else { event });
            }
            if upto >= self.said.saturating_add(SAY_WHERE) {
                self.said = upto;
                self.ready.push_back(Event::default().id(upto.to_string()));
            }
            if !is_end || !self.ready.is_empty() {
                continue;
            }
            let shutdown = self.app.shutdown.clone();
            tokio::select! {
                () = shutdown.cancelled() => return None,
                grows = self.follower.grows() => if !grows { return None },
            }
            tokio::time::sleep(GATHER).await;
        }
    }
}
