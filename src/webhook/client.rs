//! The HTTP client for webhooks: one request and the endpoint's answer, of which only the status and `Retry-After` are
//! read.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{StatusCode, Url};

use super::address::{self, AddressError, Guarded};
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

/// Maximum number of redirects of a download.
const REDIRECTS_MAX: usize = 3;

/// The reason why a file was not downloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfetched {
    /// The address, or one that it leads to, is private or no web address.
    Private,
    /// The address leads on too often.
    Redirects,
    /// The server answers with this HTTP status.
    Status(u16),
    /// The file is too long.
    TooLong,
    /// The address is that of a page, and not of a file.
    Page,
    /// The server does not answer, or not in time.
    Unanswered,
}

impl Client {
    /// Downloads a file of at most `most` bytes. Each address that it is redirected to is checked as the first one is.
    ///
    /// # Errors
    /// The reason why there is no file.
    pub async fn fetch(&self, url: &str, most: u64) -> Result<Vec<u8>, Unfetched> {
        let mut url = checked(Url::parse(url).ok(), self.allow_private)?;
        for _ in 0..=REDIRECTS_MAX {
            let mut response = self.http.get(url.clone()).send().await.map_err(|error| unanswered(&error))?;
            let status = response.status();
            let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
            if status.is_redirection() {
                let next = header(LOCATION).ok_or(Unfetched::Status(status.as_u16()))?;
                url = checked(url.join(next).ok(), self.allow_private)?;
                continue;
            }
            if !status.is_success() {
                return Err(Unfetched::Status(status.as_u16()));
            }
            let media = header(CONTENT_TYPE).unwrap_or_default().trim().to_ascii_lowercase();
            if media.starts_with("text/html") || media.starts_with("application/xhtml") {
                return Err(Unfetched::Page);
            }
            if response.content_length().is_some_and(|length| length > most) {
                return Err(Unfetched::TooLong);
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|error| unanswered(&error))? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() as u64 > most {
                    return Err(Unfetched::TooLong);
                }
            }
            return Ok(bytes);
        }
        Err(Unfetched::Redirects)
    }
}

/// Returns an address of the web that herder may go to. The resolver judges a name.
fn checked(url: Option<Url>, allow_private: bool) -> Result<Url, Unfetched> {
    url.filter(|url| matches!(url.scheme(), "http" | "https"))
        .filter(|url| address::check(url.as_str(), allow_private).is_ok())
        .ok_or(Unfetched::Private)
}

/// Returns the reason for a failed request: the resolver refuses private addresses.
fn unanswered(error: &reqwest::Error) -> Unfetched {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(AddressError::Literal(_) | AddressError::Resolved { .. }) = cause.downcast_ref() {
            return Unfetched::Private;
        }
        source = cause.source();
    }
    Unfetched::Unanswered
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
    fn no_redirect_leads_to_a_private_address() {
        let from = Url::parse("https://example.org/a/cat.png").expect("an address");
        let next = |location: &str| checked(from.join(location).ok(), false).map(|url| url.to_string());
        assert_eq!(next("/b.png").as_deref(), Ok("https://example.org/b.png"));
        assert_eq!(next("//example.com/b.png").as_deref(), Ok("https://example.com/b.png"));
        for private in [
            "http://127.0.0.1/b.png",
            "//169.254.169.254/latest/meta-data",
            "http://[::1]/",
            "http://0x7f.1/",
            "http://[::ffff:10.0.0.1]/",
            "file:///etc/passwd",
            "data:image/png;base64,AAAA",
        ] {
            assert_eq!(next(private), Err(Unfetched::Private), "{private}");
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
