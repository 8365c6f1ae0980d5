//! The API below `/api/v1`: what `herder … --json` prints, and the same commands as chat.

mod events;
mod once;
mod openapi;
mod problem;
mod routes;
mod shapes;

use std::sync::LazyLock;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shared;
use super::who::Caller;
use crate::commands::dispatch::Reply;
use crate::core::role::Role;

pub(super) use once::Known;
pub(super) use problem::Problem;
use problem::{Asked, Named};
pub(super) use routes::routes;

/// Items of a page when no `limit` is given, and the most.
const LIMIT: (usize, usize) = (50, 500);

/// Entries that can be reached by `next` in histories and logs; `herder export` has all.
const REACH_MAX: usize = 10_000;

/// The document that describes all this.
async fn document() -> Response {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| openapi::document().to_json().unwrap_or_else(|_| "{}".to_owned()));
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
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
        let limit = Self::limit(wanted.limit)?;
        let from = wanted.next.as_deref().map_or(Ok(0), Self::place)?;
        match usize::try_from(from) {
            Ok(from) if from <= REACH_MAX => Ok(Self { from, limit }),
            Ok(_) | Err(_) => Err(Self::foreign()),
        }
    }

    /// Maximum number of items in the answer.
    fn limit(limit: Option<usize>) -> Result<usize, Problem> {
        let limit = limit.unwrap_or(LIMIT.0);
        if (1..=LIMIT.1).contains(&limit) {
            return Ok(limit);
        }
        let said = format!("limit is a number from 1 to {}", LIMIT.1);
        Err(Problem::new(StatusCode::BAD_REQUEST, said))
    }

    /// The place that a `next` stands for.
    fn place(next: &str) -> Result<u64, Problem> {
        next.strip_prefix('n').and_then(|place| place.parse().ok()).ok_or_else(Self::foreign)
    }

    /// A `next` for a place.
    fn next(place: u64) -> String {
        format!("n{place}")
    }

    fn foreign() -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "next is not one that herder gave")
    }

    /// Returns the number of entries to read: one more than are shown, to know whether there are more.
    fn reach(self) -> usize {
        self.from + self.limit + 1
    }

    fn cut(self, items: Vec<Value>) -> Json<Value> {
        let end = self.from.saturating_add(self.limit);
        let next = (items.len() > end).then(|| Self::next(end as u64));
        let items: Vec<Value> = items.into_iter().skip(self.from).take(self.limit).collect();
        Json(json!({ "items": items, "next": next }))
    }
}

type Answered = Result<Json<Value>, Problem>;

/// Returns the data for programs of a command that changes nothing.
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

async fn agents(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    Ok(window.cut(agents_of(&app, &caller).await?))
}

async fn agent(State(app): State<Shared>, caller: Caller, Named(name): Named<String>) -> Answered {
    Ok(Json(look(&app, &caller, "status", &[name]).await?))
}

async fn log(
    State(app): State<Shared>,
    caller: Caller,
    Named(name): Named<String>,
    Asked(wanted): Asked<Wanted>,
) -> Answered {
    let window = Window::of(&wanted)?;
    let entries = look(&app, &caller, "log", &[name, window.reach().to_string()]).await?;
    Ok(window.cut(newest_first(entries)))
}

async fn tasks(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let of = wanted.agent.unwrap_or_else(|| "all".to_owned());
    Ok(window.cut(list(look(&app, &caller, "task list", &[of]).await?)))
}

async fn task(State(app): State<Shared>, caller: Caller, Named(id): Named<u64>) -> Answered {
    Ok(Json(look(&app, &caller, "task show", &[id.to_string()]).await?))
}

async fn asks(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let agents = agents_of(&app, &caller).await?;
    let asks = agents.into_iter().flat_map(|mut agent| {
        let name = agent["name"].take();
        let asks = list(agent["asks"].take());
        asks.into_iter().map(move |ask| json!({ "agent": name, "ask": ask })).collect::<Vec<_>>()
    });
    Ok(window.cut(asks.collect()))
}

async fn calls(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let agents = agents_of(&app, &caller).await?;
    let calls = agents.into_iter().filter(|agent| !agent["escalation"].is_null());
    let calls = calls.map(|agent| json!({ "agent": agent["name"], "call": agent["escalation"] }));
    Ok(window.cut(calls.collect()))
}

async fn usage(State(app): State<Shared>, caller: Caller) -> Answered {
    Ok(Json(look(&app, &caller, "usage", &["all".to_owned()]).await?))
}

async fn history(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let of = wanted.agent.unwrap_or_else(|| "all".to_owned());
    let entries = look(&app, &caller, "history", &[of, window.reach().to_string()]).await?;
    Ok(window.cut(newest_first(entries)))
}

async fn audit(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
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

async fn networks(State(app): State<Shared>, caller: Caller, Asked(wanted): Asked<Wanted>) -> Answered {
    let window = Window::of(&wanted)?;
    let mut status = look(&app, &caller, "status", &["all".to_owned()]).await?;
    Ok(window.cut(list(status["links"].take())))
}

/// The command to carry out.
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

/// Carries a command out, once for one `Idempotency-Key`.
async fn commands(State(app): State<Shared>, caller: Caller, request: Request) -> Result<Response, Problem> {
    // A page of another site can send a form in somebody's name, and no JSON.
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if kind != Some("application/json") {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send JSON: Content-Type: application/json",
        ));
    }
    let key = once::key(request.headers())?;
    let body = axum::body::to_bytes(request.into_body(), super::BODY_MAX).await;
    let body =
        body.map_err(|_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than 64 KiB"))?;
    let command: Command = serde_json::from_slice(&body).map_err(|reason| {
        let said = format!("this is no command like {{\"command\":\"pause\",\"agent\":\"spark\"}}: {reason}");
        Problem::new(StatusCode::BAD_REQUEST, said)
    })?;
    let args: Vec<String> = command.agent.into_iter().chain(command.args).chain(command.text).collect();
    if let Some(key) = key {
        return once::carry_out(&app, &caller, &key, (command.command, args)).await;
    }
    let asked = (command.command.as_str(), args.as_slice());
    let asked = app.setup.dispatcher.request_of(&caller.author, asked, None, true).await;
    done(asked).map(IntoResponse::into_response)
}

/// Makes the answer of what a command came to.
fn done(asked: Result<Reply, Vec<String>>) -> Answered {
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
