//! Errors of the API, as RFC 9457 has them, and extractors whose rejections are such errors.

use axum::Json;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::http::Shared;
use crate::http::who::{Caller, Unknown};

/// An error, as RFC 9457 has it.
#[derive(Debug)]
pub(in crate::http) struct Problem {
    status: StatusCode,
    detail: String,
    /// Seconds after which it is worth trying again.
    retry_after: Option<u32>,
}

impl Problem {
    pub(in crate::http) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: None }
    }
}

impl Problem {
    /// Adds the seconds after which it is worth trying again.
    pub(super) fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), ..self }
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
            Unknown::TooMany => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens; wait a minute")
                    .retry_after(60)
            }
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

/// The query of a request.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, app)
            .await
            .map_err(|rejection| Problem::new(StatusCode::BAD_REQUEST, rejection.body_text()))?;
        Ok(Self(asked))
    }
}

/// A part of the path.
pub(super) struct Named<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Shared> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        let Path(named) = Path::from_request_parts(parts, app)
            .await
            .map_err(|rejection| Problem::new(StatusCode::BAD_REQUEST, rejection.body_text()))?;
        Ok(Self(named))
    }
}
