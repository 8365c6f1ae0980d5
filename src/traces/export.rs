//! The request to the collector: OTLP in protobuf over HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use secrecy::ExposeSecret as _;

use crate::config::Telemetry;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of an answer, in bytes; it says at most how many spans were refused.
const ANSWER_MAX: usize = 64 * 1024;

/// The exporter cannot be built.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be sent: {0}")]
pub struct ExportError(String);

/// Reason why spans were not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The collector cannot be reached, or is overloaded.
    ForNow {
        /// The reason.
        reason: String,
    },
    /// The collector does not want these spans.
    ForGood {
        /// The reason.
        reason: String,
    },
}

/// The way to the collector.
#[derive(Debug)]
pub(super) struct Exporter {
    otlp: SpanExporter,
    /// The last status; 0 if there was no answer.
    status: Arc<AtomicU16>,
}

impl Exporter {
    pub(super) fn new(settings: &Telemetry, instance: &str) -> Result<Self, ExportError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("herder/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(TIMEOUT)
            .use_rustls_tls();
        // Collectors often have certificates of an organisation's own authority.
        let found = rustls_native_certs::load_native_certs().certs;
        for certificate in found.iter().filter_map(|der| reqwest::Certificate::from_der(der).ok()) {
            builder = builder.add_root_certificate(certificate);
        }
        let http = builder.build().map_err(|error| ExportError(error.without_url().to_string()))?;
        let status = Arc::new(AtomicU16::new(0));
        let address = settings.otlp.expose_secret().trim_end_matches('/');
        let mut otlp = SpanExporter::builder()
            .with_http()
            .with_http_client(Sender { http, status: Arc::clone(&status) })
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{address}/v1/traces"))
            .with_timeout(TIMEOUT)
            // Its own retries would sleep in a thread that others need.
            .with_retry_policy(RetryPolicy::disabled())
            .build()
            .map_err(|_| ExportError("the collector's address cannot be used".to_owned()))?;
        let attributes = [
            KeyValue::new("service.name", "herder"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance.to_owned()),
        ];
        otlp.set_resource(&Resource::builder_empty().with_attributes(attributes).build());
        Ok(Self { otlp, status })
    }

    pub(super) async fn send(&self, spans: Vec<SpanData>) -> Result<(), Refused> {
        self.status.store(0, Ordering::Relaxed);
        if self.otlp.export(spans).await.is_ok() {
            return Ok(());
        }
        Err(refused(self.status.load(Ordering::Relaxed)))
    }
}

/// Sorts a failed request by its status, as the OTLP specification does; 0 stands for no answer. A wrong key is mended by
/// a person, and an answer that breaks off may have been a success: both are tried again.
fn refused(status: u16) -> Refused {
    match status {
        0 => Refused::ForNow { reason: "the collector does not answer".to_owned() },
        200..=299 | 401 | 403 | 408 | 429 | 500..=599 => {
            Refused::ForNow { reason: format!("it answered with status {status}") }
        }
        _ => Refused::ForGood { reason: format!("it answered with status {status}") },
    }
}

/// Sends the requests of the exporter.
#[derive(Debug)]
struct Sender {
    http: reqwest::Client,
    status: Arc<AtomicU16>,
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        // `Request::try_from` would leave a login in the address out.
        let (parts, body) = request.into_parts();
        let request =
            self.http.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body);
        let request = request.build().map_err(reqwest::Error::without_url)?;
        let mut answer = self.http.execute(request).await.map_err(reqwest::Error::without_url)?;
        let status = answer.status();
        self.status.store(status.as_u16(), Ordering::Relaxed);
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
            if body.len() + part.len() > ANSWER_MAX {
                break;
            }
            body.extend_from_slice(&part);
        }
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = status;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_try_may_mend_is_tried_again() {
        for status in [0, 200, 401, 403, 408, 429, 500, 502, 503, 504] {
            assert!(matches!(refused(status), Refused::ForNow { .. }), "{status}");
        }
        for status in [301, 400, 404, 413] {
            assert!(matches!(refused(status), Refused::ForGood { .. }), "{status}");
        }
    }
}
