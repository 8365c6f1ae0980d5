//! The API below `/api/v1`: what `herder … --json` prints, and the same commands as chat.

use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::who::{Caller, Unknown};
use crate::access::Role;

/// Items of a page when no `limit` is given, and the most.
const LIMIT: (usize, usize) = (50, 500);

/// Entries that can be reached by `next` in histories and logs; `herder export` has all.
const REACH_MAX: usize = 10_000;

/// What went wrong, as RFC 9457 has it.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    /// Seconds after which it is worth trying again.
    retry_after: Option<u32>,
}

impl Problem {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: None }
    }
}

impl From<Unknown> for Problem {
    fn from(unknown: Unknown) -> Self {
        let said = "say who you are: Authorization: Bearer <secret of a [[http.token]]>";
        match unknown {
            Unknown::Nothing => Self::new(StatusCode::UNAUTHORIZED, said),
            Unknown::Wrong => {
                Self::new(StatusCode::UNAUTHORIZED, format!("this token or session is not known; {said}"))
            }
            Unknown::TooMany => Self {
                retry_after: Some(60),
                ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute")
            },
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("error");
        let body = json!({
            "type": "about:blank", "title": title, "status": self.status.as_u16(), "detail": self.detail
        });
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        Ok(app.caller(parts).await?)
    }
}

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/agents", get(agents))
        .route("/agents/{name}", get(agent))
        .route("/agents/{name}/log", get(log))
        .route("/tasks", get(tasks))
        .route("/tasks/{id}", get(task))
        .route("/asks", get(asks))
        .route("/calls", get(calls))
        .route("/usage", get(usage))
        .route("/history", get(history))
        .route("/audit", get(audit))
        .route("/networks", get(networks))
        .route("/commands", post(commands))
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "there is no such path below /api/v1") })
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this path is asked in another way; the manual has a table",
            )
        })
}

/// Which part of a list is wanted.
#[derive(Debug, Default, Deserialize)]
struct Wanted {
    limit: Option<usize>,
    next: Option<String>,
    agent: Option<String>,
}

/// [`Wanted`], checked.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: usize,
    limit: usize,
}

impl Window {
    fn of(wanted: &Wanted) -> Result<Self, Problem> {
        let limit = wanted.limit.unwrap_or(LIMIT.0);
        if !(1..=LIMIT.1).contains(&limit) {
            let said = format!("limit is a number from 1 to {}", LIMIT.1);
            return Err(Problem::new(StatusCode::BAD_REQUEST, said));
        }
        let from = wanted.next.as_deref().map_or(Some(0), |next| {
            let bytes = URL_SAFE_NO_PAD.decode(next).ok()?;
            std::str::from_utf8(&bytes).ok()?.parse().ok()
        });
        let from = from.filter(|from| *from <= REACH_MAX);
        let from =
            from.ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "next is not one that herder gave"))?;
        Ok(Self { from, limit })
    }

    /// How many entries have to be read, one more than are shown, so that it is known whether there are more.
    fn reach(self) -> usize {
        self.from + self.limit + 1
    }

    fn cut(self, items: Vec<Value>) -> Json<Value> {
        let end = self.from.saturating_add(self.limit);
        let next = (items.len() > end).then(|| URL_SAFE_NO_PAD.encode(end.to_string()));
        let items: Vec<Value> = items.into_iter().skip(self.from).take(self.limit).collect();
        Json(json!({ "items": items, "next": next }))
    }
}

type Answered = Result<Json<Value>, Problem>;

/// What a command that only looks has for programs.
async fn look(app: &Shared, caller: &Caller, command: &str, args: &[String]) -> Result<Value, Problem> {
    let asked = app.setup.dispatcher.request_of(&caller.author, (command, args), None, false).await;
    let reply = asked.map_err(|lines| Problem::new(StatusCode::FORBIDDEN, lines.join("\n")))?;
    if !reply.ok {
        return Err(Problem::new(StatusCode::NOT_FOUND, reply.lines.join("\n")));
    }
    Ok(reply.data.unwrap_or(Value::Null))
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

async fn agents_of(app: &Shared, caller: &Caller) -> Result<Vec<Value>, Problem> {
    let mut status = look(app, caller, "status", &["all".to_owned()]).await?;
    Ok(list(status["agents"].take()))
}

async fn agents(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    Ok(window.cut(agents_of(&app, &caller).await?))
}

async fn agent(State(app): State<Shared>, caller: Caller, Path(name): Path<String>) -> Answered {
    Ok(Json(look(&app, &caller, "status", &[name]).await?))
}

async fn log(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answered {
    let window = Window::of(&wanted)?;
    let entries = look(&app, &caller, "log", &[name, window.reach().to_string()]).await?;
    Ok(window.cut(newest_first(entries)))
}

async fn tasks(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let of = wanted.agent.unwrap_or_else(|| "all".to_owned());
    Ok(window.cut(list(look(&app, &caller, "task list", &[of]).await?)))
}

async fn task(State(app): State<Shared>, caller: Caller, Path(id): Path<u64>) -> Answered {
    Ok(Json(look(&app, &caller, "task show", &[id.to_string()]).await?))
}

async fn asks(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let agents = agents_of(&app, &caller).await?;
    let asks = agents.into_iter().flat_map(|mut agent| {
        let name = agent["name"].take();
        let asks = list(agent["asks"].take());
        asks.into_iter().map(move |ask| json!({ "agent": name, "ask": ask })).collect::<Vec<_>>()
    });
    Ok(window.cut(asks.collect()))
}

async fn calls(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let agents = agents_of(&app, &caller).await?;
    let calls = agents.into_iter().filter(|agent| !agent["escalation"].is_null());
    let calls = calls.map(|agent| json!({ "agent": agent["name"], "call": agent["escalation"] }));
    Ok(window.cut(calls.collect()))
}

async fn usage(State(app): State<Shared>, caller: Caller) -> Answered {
    Ok(Json(look(&app, &caller, "usage", &["all".to_owned()]).await?))
}

async fn history(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let of = wanted.agent.unwrap_or_else(|| "all".to_owned());
    let entries = look(&app, &caller, "history", &[of, window.reach().to_string()]).await?;
    Ok(window.cut(newest_first(entries)))
}

async fn audit(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let of = wanted.agent.unwrap_or_else(|| "all".to_owned());
    let entries = look(&app, &caller, "audit", &[of, window.reach().to_string()]).await?;
    Ok(window.cut(newest_first(entries)))
}

/// Commands answer as people read, the oldest first; a page of a list begins with the newest.
fn newest_first(entries: Value) -> Vec<Value> {
    let mut entries = list(entries);
    entries.reverse();
    entries
}

async fn networks(State(app): State<Shared>, caller: Caller, Query(wanted): Query<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let mut status = look(&app, &caller, "status", &["all".to_owned()]).await?;
    Ok(window.cut(list(status["links"].take())))
}

/// What is to be done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    /// As in chat: `pause`, `task add`.
    command: String,
    /// Whom it is for.
    agent: Option<String>,
    /// More words, in the order of the command's usage.
    #[serde(default)]
    args: Vec<String>,
    /// The text at its end.
    text: Option<String>,
}

async fn commands(State(app): State<Shared>, caller: Caller, request: Request) -> Answered {
    // A page of another site can send a form in somebody's name, and no JSON.
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if kind != Some("application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send JSON: Content-Type: application/json",
        ));
    }
    let body = axum::body::to_bytes(request.into_body(), super::BODY_MAX).await;
    let body =
        body.map_err(|_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than 64 KiB"))?;
    let command: Command = serde_json::from_slice(&body).map_err(|reason| {
        let said = format!("this is no command like {{\"command\":\"pause\",\"agent\":\"spark\"}}: {reason}");
        Problem::new(StatusCode::BAD_REQUEST, said)
    })?;
    let args: Vec<String> = command.agent.into_iter().chain(command.args).chain(command.text).collect();
    let asked = app.setup.dispatcher.request_of(&caller.author, (&command.command, &args), None, true).await;
    let reply = asked.map_err(|lines| Problem::new(StatusCode::FORBIDDEN, lines.join("\n")))?;
    if !reply.ok {
        return Err(Problem::new(StatusCode::CONFLICT, reply.lines.join("\n")));
    }
    Ok(Json(json!({ "lines": reply.lines, "data": reply.data })))
}

/// Whether a role may steer: the page shows buttons to those alone.
pub(super) fn may_steer(role: Role) -> bool {
    role >= Role::Operator
}
