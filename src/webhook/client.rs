//! The HTTP client for webhooks: one request and the endpoint's answer, of which only the status and `Retry-After` are
//! read.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};

use super::address::{self, Guarded};
use crate::core::time::Timestamp;

/// Timeout of a request, from the DNS lookup to the answer (contract, section 8).
pub const TIMEOUT: Duration = Duration::from_secs(10);

const USER_AGENT: &str = concat!("herder/", env!("CARGO_PKG_VERSION"));

/// The result of one attempt to deliver an event to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The endpoint accepted the event.
    Taken {
        /// HTTP status of the response, 2xx.
        status: u16,
    },
    /// The endpoint did not answer, or reported a temporary failure: the same event is sent again later.
    Later {
        /// Description of the failed delivery attempt, without the endpoint's URL.
        reason: String,
        /// The wait that the endpoint asks for with `Retry-After`; `None` if it states none.
        after: Option<Duration>,
    },
    /// The endpoint refused the event with an HTTP status that is not temporary.
    Refused {
        /// Description of the refusal with its HTTP status.
        reason: String,
    },
    /// The endpoint wants no more events: HTTP status 410.
    Gone {
        /// Description of the refusal with its HTTP status.
        reason: String,
    },
}

/// The error for an HTTP client for webhooks that cannot be built, with the reason.
#[derive(Debug, thiserror::Error)]
#[error("no client for HTTP can be made: {0}")]
pub struct ClientError(String);

/// The HTTP client for webhooks and the dead man's switch, which connects to checked addresses only. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    allow_private: bool,
}

impl Client {
    /// Builds a client; `allow_private` permits private addresses, `timeout` applies to each request.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub fn new(allow_private: bool, timeout: Duration) -> Result<Self, ClientError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // A proxy could connect to any address.
            .no_proxy()
            .timeout(timeout)
            // Events are rare, and every connection has to go to a checked address.
            .pool_max_idle_per_host(0)
            .use_rustls_tls()
            .dns_resolver(Arc::new(Guarded { allow_private }));
        if allow_private {
            // Private services often use certificates of an organisation's own authority.
            let found = rustls_native_certs::load_native_certs().certs;
            for certificate in found.iter().filter_map(|der| reqwest::Certificate::from_der(der).ok()) {
                builder = builder.add_root_certificate(certificate);
            }
        }
        let http = builder.build().map_err(|error| ClientError(reason(&error)))?;
        Ok(Self { http, allow_private })
    }

    /// Sends a POST request with a JSON body and additional headers, and classifies the response.
    pub async fn post(&self, url: &str, body: Vec<u8>, headers: Vec<(&'static str, String)>) -> Answer {
        let mut request = self.http.post(url).header(CONTENT_TYPE, "application/json").body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        self.ask(url, request).await
    }

    /// Sends a GET request, discards the content and classifies the response.
    pub async fn get(&self, url: &str) -> Answer {
        self.ask(url, self.http.get(url)).await
    }

    async fn ask(&self, url: &str, request: reqwest::RequestBuilder) -> Answer {
        // An address in the URL does not pass the resolver.
        if let Err(error) = address::check(url, self.allow_private) {
            return Answer::Later { reason: error.to_string(), after: None };
        }
        match request.send().await {
            Ok(response) => answered(response.status(), response.headers(), crate::clock::now()),
            Err(error) => Answer::Later { reason: reason(&error), after: None },
        }
    }
}

fn answered(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Answer {
    if status.is_success() {
        return Answer::Taken { status: status.as_u16() };
    }
    let mut reason = format!("it answered with status {status}");
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    if status.is_server_error() || passing.contains(&status) {
        let after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        return Answer::Later { reason, after: after.and_then(|text| retry_after(text, now)) };
    }
    if status == StatusCode::GONE {
        return Answer::Gone { reason };
    }
    if status.is_redirection() {
        reason.push_str(", and redirects are not followed; write the address that it leads to");
    }
    Answer::Refused { reason }
}

/// Parses the value of a `Retry-After` header, in seconds or as a date, into a wait.
fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()).since(now))
}

/// Describes a failed request without its URL, which may contain a secret.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let mut reason = if error.is_connect() { "no connection" } else { "the connection broke" }.to_owned();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        // The innermost cause is the most precise ("connection refused", "invalid peer certificate").
        if cause.source().is_none() {
            reason = format!("{reason}: {cause}");
        }
        source = cause.source();
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(784_111_777);

    #[test]
    fn answers_are_told_apart_by_their_status() {
        let shown = |status: u16| {
            let status = StatusCode::from_u16(status).expect("a status");
            match answered(status, &HeaderMap::new(), NOW) {
                Answer::Taken { .. } => "taken",
                Answer::Later { .. } => "later",
                Answer::Refused { .. } => "refused",
                Answer::Gone { .. } => "gone",
            }
        };
        for (statuses, wanted) in [
            (&[200, 201, 202, 204][..], "taken"),
            (&[408, 425, 429, 500, 502, 503, 504], "later"),
            (&[301, 302, 307, 308, 400, 401, 403, 404, 413], "refused"),
            (&[410], "gone"),
        ] {
            for status in statuses {
                assert_eq!(shown(*status), wanted, "{status}");
            }
        }
    }

    #[test]
    fn how_long_to_wait_is_said_in_seconds_or_by_a_date() {
        for (text, seconds) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("soon", None),
            ("-5", None),
        ] {
            assert_eq!(retry_after(text, NOW).map(|wait| wait.as_secs()), seconds, "{text}");
        }
    }
}
