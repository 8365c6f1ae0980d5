//! JSON-RPC over lines: what is written, and who is asked.
//!
//! What is read is each runtime's own; see `codex::wire` and `acp::wire`.

use serde_json::{Value, json};

use super::loose::Scalar;

/// A method that is asked for and not known.
const METHOD_NOT_FOUND: i64 = -32601;

/// A request's id, as the other side chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

impl Id {
    /// The id, if there is one.
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

/// A request, as a line.
#[must_use]
pub fn request(id: i64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A notification, as a line.
#[must_use]
pub fn notification(method: &str, params: Option<&Value>) -> Vec<u8> {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if let Some(params) = params {
        message["params"] = params.clone();
    }
    line(&message)
}

/// An answer, as a line.
#[must_use]
pub fn answer(id: &Id, result: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id.value(), "result": result }))
}

/// The answer to a request for something that is not offered here, as a line.
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
