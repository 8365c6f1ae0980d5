//! The table of routes: what is served, and what the OpenAPI document says of it.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get, post};

use super::{Problem, events};
use crate::http::Shared;

/// Pattern of an `Idempotency-Key`.
pub(super) const KEY_PATTERN: &str = "^[!-~]{1,255}$";

/// A route below `/api/v1`.
pub(super) struct Route {
    pub(super) path: &'static str,
    /// Its name in programs that are made from the document.
    pub(super) id: &'static str,
    /// Its purpose.
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
    pub(super) answer: Answer,
    /// Answers it.
    serve: fn() -> MethodRouter<Shared>,
}

/// A parameter of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Param {
    /// An agent, in the path.
    Name,
    /// A task, in the path.
    Id,
    Limit,
    Next,
    /// The `next` of events, which counts for more than `after`.
    NextEvent,
    /// One agent.
    Agent,
    /// Several.
    Agents,
    Kinds,
    After,
    LastEventId,
    Key,
}

/// The answer of a route, by the name of its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    One(&'static str),
    /// A page of these.
    List(&'static str),
    /// Events, as a page or as a stream.
    Events,
    /// The result of a command: the one route that changes something.
    Done,
    /// The document itself, which needs no token.
    Document,
}

/// Every route.
pub(super) const ROUTES: &[Route] = &[
    Route {
        path: "/agents",
        id: "agents",
        about: "All agents",
        params: &[Param::Limit, Param::Next],
        answer: Answer::List("Agent"),
        serve: || get(super::agents),
    },
    Route {
        path: "/agents/{name}",
        id: "agent",
        about: "One agent",
        params: &[Param::Name],
        answer: Answer::One("Agent"),
        serve: || get(super::agent),
    },
    Route {
        path: "/agents/{name}/log",
        id: "log",
        about: "The last turns of an agent, the newest first",
        params: &[Param::Name, Param::Limit, Param::Next],
        answer: Answer::List("Event"),
        serve: || get(super::log),
    },
    Route {
        path: "/tasks",
        id: "tasks",
        about: "Tasks",
        params: &[Param::Agent, Param::Limit, Param::Next],
        answer: Answer::List("Task"),
        serve: || get(super::tasks),
    },
    Route {
        path: "/tasks/{id}",
        id: "task",
        about: "One task",
        params: &[Param::Id],
        answer: Answer::One("Task"),
        serve: || get(super::task),
    },
    Route {
        path: "/asks",
        id: "asks",
        about: "What agents ask",
        params: &[Param::Limit, Param::Next],
        answer: Answer::List("Asked"),
        serve: || get(super::asks),
    },
    Route {
        path: "/calls",
        id: "calls",
        about: "Calls for a person",
        params: &[Param::Limit, Param::Next],
        answer: Answer::List("Call"),
        serve: || get(super::calls),
    },
    Route {
        path: "/usage",
        id: "usage",
        about: "Tokens and dollars",
        params: &[],
        answer: Answer::One("AllUsage"),
        serve: || get(super::usage),
    },
    Route {
        path: "/history",
        id: "history",
        about: "What happened to the fleet, or to one agent, the newest first",
        params: &[Param::Agent, Param::Limit, Param::Next],
        answer: Answer::List("Event"),
        serve: || get(super::history),
    },
    Route {
        path: "/audit",
        id: "audit",
        about: "Who commanded what, the newest first; for operators",
        params: &[Param::Agent, Param::Limit, Param::Next],
        answer: Answer::List("Event"),
        serve: || get(super::audit),
    },
    Route {
        path: "/networks",
        id: "networks",
        about: "How the networks stand",
        params: &[Param::Limit, Param::Next],
        answer: Answer::List("Network"),
        serve: || get(super::networks),
    },
    Route {
        path: "/events",
        id: "events",
        about: "The whole journal in order, the oldest first, and what happens from then on",
        params: &[
            Param::After,
            Param::LastEventId,
            Param::Agents,
            Param::Kinds,
            Param::Limit,
            Param::NextEvent,
        ],
        answer: Answer::Events,
        serve: || get(events::events),
    },
    Route {
        path: "/commands",
        id: "command",
        about: "Carry a command out, as in chat",
        params: &[Param::Key],
        answer: Answer::Done,
        serve: || post(super::commands),
    },
    Route {
        path: "/openapi.json",
        id: "document",
        about: "This document",
        params: &[],
        answer: Answer::Document,
        serve: || get(super::document),
    },
];

/// All of them, and what is said of paths and methods that are none.
pub(in crate::http) fn routes() -> Router<Shared> {
    let router = ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.serve)()));
    router
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "there is no such path below /api/v1") })
        .method_not_allowed_fallback(|| async {
            let said = "this path is asked by another method; /api/v1/openapi.json has all paths";
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, said)
        })
}
