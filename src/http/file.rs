//! Files that agents have sent, for whoever has a link to one.

use std::io;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;

use super::Shared;
use crate::clock;
use crate::core::file::Sha256;
use crate::files::{PIECE_MAX, encoded};

/// Headers of a file beside those of every answer: no browser shows it as a page of herder's, or lets it do anything.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; sandbox");

/// Answers with a file, if the link is a good one. Whether the file was ever there is not to be seen from the answer to
/// any other.
pub(super) async fn serve(
    State(app): State<Shared>,
    Path((until, signature, sha256, name)): Path<(String, String, String, String)>,
) -> Response {
    let parts = until.parse::<i64>().ok().zip(sha256.parse::<Sha256>().ok());
    let good = parts.filter(|(until, of)| {
        let links = app.setup.files.as_ref();
        links.is_some_and(|links| links.is_good((*until, &signature), (*of, &name), clock::now()))
    });
    let Some((_, of)) = good else { return gone() };
    let store = app.setup.fleet.files();
    let sized = store.clone();
    let Ok(Ok(size)) = tokio::task::spawn_blocking(move || sized.size(of)).await else { return gone() };
    // However slowly it is read, no more than a piece of it is in memory.
    let pieces = stream::try_unfold(0_u64, move |from| {
        let store = store.clone();
        async move {
            let piece = tokio::task::spawn_blocking(move || store.piece(of, from, PIECE_MAX)).await;
            let piece = piece.map_err(io::Error::other)??;
            let next = from + piece.len() as u64;
            Ok::<_, io::Error>((!piece.is_empty()).then_some((piece, next)))
        }
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CONTENT_DISPOSITION, disposition(&encoded(&name))),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

/// Returns the header by which a browser stores the file. The encoded name has no sign that ends it.
fn disposition(name: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}"))
        .unwrap_or(HeaderValue::from_static("attachment"))
}

fn gone() -> Response {
    let said = "this link leads to no file, or its time is over\n";
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], said).into_response()
}
