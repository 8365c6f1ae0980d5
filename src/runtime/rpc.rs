//! JSON-RPC over lines: parsing, formatting, and open requests.
//!
//! Each protocol defines its own parameters and results; see `codex::wire` and `acp::wire`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::loose::{Loose, Scalar};

/// JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

/// A line of JSON-RPC: a response (an id and no method), a request of the other side (both), or a notification (no id).
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>, A: Deserialize<'de>, E: Deserialize<'de>"))]
pub struct Line<'a, P, A, E> {
    /// Id of the request or response.
    #[serde(borrow, default)]
    pub id: Scalar<'a>,
    /// The name of the method.
    #[serde(borrow, default)]
    pub method: Scalar<'a>,
    /// Parameters of the request or notification.
    #[serde(default)]
    pub params: Loose<P>,
    /// Result in a response; may be null.
    #[serde(default)]
    pub result: Loose<A>,
    /// Error in a response, if the request failed.
    #[serde(default)]
    pub error: Loose<E>,
}

/// The requests to the other side that are not answered yet.
#[derive(Debug)]
pub struct Requests<T> {
    /// The last id used for a request.
    last: i64,
    open: BTreeMap<i64, T>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { last: 0, open: BTreeMap::new() }
    }
}

impl<T> Requests<T> {
    /// Builds the line of a new request; `what` is returned by [`Requests::answered`] with its response.
    pub fn ask(&mut self, what: T, method: &str, params: &Value) -> Vec<u8> {
        self.last += 1;
        self.open.insert(self.last, what);
        request(self.last, method, params)
    }

    /// Returns the `what` of the request that a response with this id answers; `None` for an unknown or repeated
    /// response.
    pub fn answered(&mut self, id: &Scalar<'_>) -> Option<T> {
        self.open.remove(&id.integer()?)
    }
}

/// Id of a request of the other side, which chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A number as the id.
    Number(i64),
    /// A text as the id.
    Text(String),
}

impl Id {
    /// Returns the id in a line; `None` if there is none.
    #[must_use]
    pub fn of(scalar: &Scalar<'_>) -> Option<Self> {
        match scalar {
            Scalar::Integer(number) => Some(Self::Number(*number)),
            Scalar::Text(text) => Some(Self::Text(text.clone().into_owned())),
            Scalar::Number(_) | Scalar::Bool(_) | Scalar::Nothing => None,
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

/// Builds a request line.
fn request(id: i64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Builds a notification line.
#[must_use]
pub fn notification(method: &str, params: Option<&Value>) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let Some(params) = params {
        message["params"] = params.clone();
    }
    line(&message)
}

/// Builds a response line.
#[must_use]
pub fn answer(id: &Id, result: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id.value(), "result": result }))
}

/// Builds the error response to a request for an unsupported method.
#[must_use]
pub fn not_offered(id: &Id, method: &str) -> Vec<u8> {
    let error = json!({ "code": METHOD_NOT_FOUND, "message": format!("{method} is not offered") });
    line(&json!({ "jsonrpc": "2.0", "id": id.value(), "error": error }))
}

fn line(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
