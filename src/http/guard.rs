//! Checks for every request: its Host and Origin, its duration, the headers of its response.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::api::Problem;
use super::{App, Shared};
use crate::config::Http;

/// Maximum duration of a request, with its body. Streams answer at once and are not limited.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// Seconds after which a bound is worth trying again, where nobody knows better.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("60");

/// Headers of every answer. Scripts and styles come from herder alone, and no page may show herder's in a frame.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The names under which herder can be asked. Any other one is somebody else's, pointed at this address (DNS
/// rebinding).
#[derive(Debug)]
pub(super) struct Own(BTreeSet<String>);

impl Own {
    /// `label` is the name that links give on this machine.
    pub(super) fn new(settings: &Http, address: Option<SocketAddr>, label: Option<String>) -> Self {
        let mut names: BTreeSet<String> = ["localhost".to_owned()].into();
        names.extend(label);
        names.extend(address.map(|address| address.ip().to_string()));
        names.extend(settings.hosts.iter().cloned());
        Self(names)
    }

    fn is(&self, host: &str) -> bool {
        self.0.contains(&name_of(host))
    }
}

/// The name in `name:port` or `[address]:port`, in small letters.
fn name_of(host: &str) -> String {
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.to_ascii_lowercase()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a request that changes something comes from a page of herder's, or from no page at all.
fn is_from_here(headers: &HeaderMap, own: &Own) -> bool {
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        // Browsers say `Origin: null` for forms of a page with the policy `no-referrer`, as herder's have it.
        Some(b"same-origin") => return true,
        None | Some(b"none") => {}
        Some(_) => return false,
    }
    match headers.get(header::ORIGIN) {
        None => true,
        Some(origin) => origin
            .to_str()
            .ok()
            .and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")))
            .is_some_and(|host| own.is(host)),
    }
}

pub(super) async fn guard(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let host =
        text(request.headers(), &header::HOST).or_else(|| request.uri().authority().map(|a| a.as_str()));
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut response = if !host.is_some_and(|host| app.own.is(host)) {
        Asker::of(&request).refused(&app, StatusCode::MISDIRECTED_REQUEST, "page-other-host")
    } else if !is_safe && !is_from_here(request.headers(), &app.own) {
        Asker::of(&request).refused(&app, StatusCode::FORBIDDEN, "page-other-site")
    } else {
        next.run(request).await
    };
    let is_bound =
        matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let headers = response.headers_mut();
    if is_bound {
        headers.entry(header::RETRY_AFTER).or_insert(RETRY_AFTER);
    }
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

pub(super) async fn timely(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let asker = Asker::of(&request);
    match tokio::time::timeout(REQUEST_MAX, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let mut response = asker.refused(&app, StatusCode::REQUEST_TIMEOUT, "page-too-slow");
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

/// The form and the language in which a refusal is told.
struct Asker {
    form: Form,
    headers: HeaderMap,
}

#[derive(Clone, Copy)]
enum Form {
    /// A problem, for programs that use the API.
    Problem,
    /// A page, for browsers.
    Page,
    /// A line, for everybody else.
    Line,
}

impl Asker {
    fn of(request: &Request) -> Self {
        let takes_pages =
            text(request.headers(), &header::ACCEPT).is_some_and(|accept| accept.contains("text/html"));
        let form = match request.uri().path().starts_with("/api/") {
            true => Form::Problem,
            false if takes_pages => Form::Page,
            false => Form::Line,
        };
        Self { form, headers: request.headers().clone() }
    }

    /// Refuses with the sentence of that Fluent id.
    fn refused(&self, app: &App, status: StatusCode, sentence: &str) -> Response {
        let said = app.language(&self.headers).text(sentence, &[]);
        match self.form {
            Form::Problem => Problem::new(status, &said).into_response(),
            Form::Page => app.refused(&self.headers, status, sentence),
            Form::Line => (status, format!("{said}\n")).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_name_alone() {
        let own = Own(["localhost", "::1", "herder.example.org"].map(str::to_owned).into());
        for host in ["localhost", "LOCALHOST:7700", "[::1]:80", "herder.example.org:443"] {
            assert!(own.is(host), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example", "herder.example.org.evil:80", "[::2]"] {
            assert!(!own.is(host), "{host}");
        }
    }
}
