//! `/metrics`: what herder knows of itself, in numbers. Read from published state when it is asked for; nothing wakes up
//! between two scrapes, and no supervisor waits for one.

mod families;
mod plain;
mod table;
mod writer;

use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::{Shared, api};
use crate::config::Listen;
use families::Scrape;
pub use table::metrics_markdown;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn metrics(State(app): State<Shared>, parts: Parts) -> Response {
    // A proxy in front makes everybody come from this machine.
    let is_local = match &app.setup.settings.listen {
        Listen::Tcp(address) => address.ip().is_loopback(),
        Listen::Unix(_) => true,
    };
    let is_open = is_local && !app.setup.settings.behind_proxy;
    if !is_open && let Err(unknown) = app.caller(&parts).await {
        return api::Problem::from(unknown).into_response();
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape::of(&app.setup)));
    let mut text = String::new();
    if encode(&mut text, &registry).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let accepted = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accepted| accepted.contains("application/openmetrics-text")) {
        ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response()
    } else {
        ([(header::CONTENT_TYPE, PLAIN)], plain::plain(&text)).into_response()
    }
}
