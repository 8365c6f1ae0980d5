//! Requests to JetStream in JSON, and settings of streams. Each answer comes from the leader of what is asked about.

use std::time::Duration;

use async_nats::{Client, HeaderMap, HeaderValue, Request, RequestErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

/// Time for the servers to answer a question.
pub(in crate::cluster) const PATIENCE: Duration = Duration::from_secs(2);

/// Time for the servers to create a stream: each replica makes its files first.
const PATIENCE_TO_CREATE: Duration = Duration::from_secs(10);

/// Header with the id by which the servers find a message that they have already.
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// Header with the stream that is to store a message.
const EXPECTED_STREAM: &str = "Nats-Expected-Stream";

/// Codes of errors (`err_code`).
const NO_MESSAGE: u64 = 10037;
const NAME_IN_USE: u64 = 10058;
const NO_STREAM: u64 = 10059;

/// The reason why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// No answer has come. A request that changes something may have been performed.
    #[error("the NATS servers have not answered about the stream {stream}: {why}")]
    Silent {
        /// Name of the stream.
        stream: String,
        /// The reason.
        why: String,
    },
    /// The servers refuse, for now or for good.
    #[error("the NATS servers refuse a request about the stream {stream}: {why} (error {code})")]
    Refused {
        /// Name of the stream.
        stream: String,
        /// The number of the error (`err_code`).
        code: u64,
        /// The reason.
        why: String,
    },
    /// The answer cannot be read.
    #[error("the NATS servers answer about the stream {stream} what this herder cannot read: {why}")]
    Unreadable {
        /// Name of the stream.
        stream: String,
        /// The reason.
        why: String,
    },
    /// There is no stream of this name.
    #[error("there is no stream {stream} on the NATS servers")]
    Missing {
        /// Name of the stream.
        stream: String,
    },
    /// The stream has another setting than it must have.
    #[error(
        "the stream {stream} has {setting} = {found}, and herder needs {needed}: somebody else has made or changed it. \
         Change it back with the nats command, or remove the stream if it contains nothing you need"
    )]
    Setting {
        /// Name of the stream.
        stream: String,
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        found: String,
        /// The value that it must have.
        needed: String,
    },
}

/// A stream, asked by its name.
#[derive(Debug, Clone)]
pub(in crate::cluster) struct Stream {
    pub(in crate::cluster) client: Client,
    pub(in crate::cluster) name: String,
}

/// A message of a stream.
#[derive(Debug)]
pub(in crate::cluster) struct Stored {
    pub(in crate::cluster) seq: u64,
    pub(in crate::cluster) body: Vec<u8>,
}

/// The servers' answer to a message for a stream.
#[derive(Debug)]
pub(in crate::cluster) enum Ack {
    Stored(u64),
    Duplicate(u64),
    /// Number and text of the error.
    Refused(u64, String),
    /// The message was not sent, because it is too long.
    TooLong(String),
    /// No answer.
    Silent(String),
}

#[derive(Deserialize)]
struct ApiRefusal {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct AckJson {
    error: Option<ApiRefusal>,
    #[serde(default)]
    seq: u64,
    #[serde(default)]
    duplicate: bool,
}

#[derive(Deserialize)]
struct MessageJson {
    message: Inner,
}

#[derive(Deserialize)]
struct Inner {
    seq: u64,
    #[serde(default)]
    data: String,
}

impl Stream {
    /// Sends a request about the stream, e.g. `STREAM.INFO`, and returns the answer.
    pub(in crate::cluster) async fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<T, ApiError> {
        self.ask_more(&format!("{what}.{}", self.name), body, patience).await
    }

    /// Sends a request whose subject has more after the name of the stream.
    pub(in crate::cluster) async fn ask_more<T: DeserializeOwned>(
        &self,
        what: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<T, ApiError> {
        let request = Request::new().timeout(Some(patience)).payload(body.to_string().into());
        let asked = self.client.send_request(format!("$JS.API.{what}"), request);
        let answer = match timeout(patience, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(self.silent(&silence(&error, patience))),
            Err(_) => return Err(self.silent(&late(patience))),
        };
        let unreadable = |why: serde_json::Error| self.unreadable(why.to_string());
        let mut value: Value = serde_json::from_slice(&answer.payload).map_err(unreadable)?;
        if let Some(error) = value.get_mut("error").map(Value::take) {
            let error: ApiRefusal = serde_json::from_value(error).map_err(unreadable)?;
            let stream = self.name.clone();
            return Err(match error.err_code {
                NO_STREAM => ApiError::Missing { stream },
                code => ApiError::Refused { stream, code, why: error.description },
            });
        }
        serde_json::from_value(value).map_err(unreadable)
    }

    /// Creates the stream if there is none, and refuses one with other settings than these.
    pub(in crate::cluster) async fn ensure(&self, settings: &Value) -> Result<(), ApiError> {
        match self.verify(settings).await {
            Err(ApiError::Missing { .. }) => {}
            known => return known,
        }
        match self.ask::<Value>("STREAM.CREATE", settings, PATIENCE_TO_CREATE).await {
            // Another bot was faster.
            Err(ApiError::Refused { code: NAME_IN_USE, .. }) => self.verify(settings).await,
            made => self.check(settings, &made?["config"]),
        }
    }

    /// Refuses a stream with other settings than these.
    pub(in crate::cluster) async fn verify(&self, settings: &Value) -> Result<(), ApiError> {
        let info: Value = self.ask("STREAM.INFO", &json!({}), PATIENCE).await?;
        self.check(settings, &info["config"])
    }

    /// Compares the settings of a stream. A setting that is missing is off, and one that is not named here must be so.
    fn check(&self, needed: &Value, found: &Value) -> Result<(), ApiError> {
        let is_off = |value: &Value| matches!(value, Value::Null | Value::Bool(false)) || *value == json!(0);
        for setting in SETTINGS {
            let (needed, found) = (&needed[setting], &found[setting]);
            if needed != found && !(is_off(needed) && is_off(found)) {
                let text = |value: &Value| match value {
                    Value::Null => "off".to_owned(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let (found, needed) = (text(found), text(needed));
                return Err(ApiError::Setting { stream: self.name.clone(), setting, found, needed });
            }
        }
        Ok(())
    }

    /// Returns the message that a query is about, from the stream's leader. `None` if there is none.
    pub(in crate::cluster) async fn message(&self, query: &Value) -> Result<Option<Stored>, ApiError> {
        match self.ask::<MessageJson>("STREAM.MSG.GET", query, PATIENCE).await {
            Ok(MessageJson { message }) => {
                let body = STANDARD.decode(&message.data).map_err(|why| self.unreadable(why.to_string()))?;
                Ok(Some(Stored { seq: message.seq, body }))
            }
            Err(ApiError::Refused { code: NO_MESSAGE, .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Sends a message to be stored by this stream, once.
    pub(in crate::cluster) async fn publish(
        &self,
        subject: &str,
        id: &str,
        more: &[(&str, &str)],
        body: &[u8],
        patience: Duration,
    ) -> Ack {
        let mut headers = HeaderMap::new();
        for (name, value) in [(MESSAGE_ID, id), (EXPECTED_STREAM, &self.name)].iter().chain(more) {
            match value.parse::<HeaderValue>() {
                Ok(value) => headers.insert(*name, value),
                Err(why) => return Ack::TooLong(format!("\"{value}\" cannot be sent as {name}: {why}")),
            }
        }
        let request = Request::new().timeout(Some(patience)).headers(headers).payload(body.to_vec().into());
        let answer = match timeout(patience, self.client.send_request(subject.to_owned(), request)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) if error.kind() == RequestErrorKind::MaxPayloadExceeded => {
                return Ack::TooLong(error.to_string());
            }
            Ok(Err(error)) => return Ack::Silent(silence(&error, patience)),
            Err(_) => return Ack::Silent(late(patience)),
        };
        match serde_json::from_slice::<AckJson>(&answer.payload) {
            Ok(AckJson { error: Some(error), .. }) => Ack::Refused(error.err_code, error.description),
            Ok(ack) if ack.seq == 0 => Ack::Silent("the answer has no sequence".to_owned()),
            Ok(ack) if ack.duplicate => Ack::Duplicate(ack.seq),
            Ok(ack) => Ack::Stored(ack.seq),
            Err(why) => Ack::Silent(format!("the answer cannot be read: {why}")),
        }
    }

    /// Removes messages.
    pub(in crate::cluster) async fn purge(&self, query: &Value) -> Result<(), ApiError> {
        self.ask::<Value>("STREAM.PURGE", query, PATIENCE).await.map(drop)
    }

    fn silent(&self, why: &str) -> ApiError {
        ApiError::Silent { stream: self.name.clone(), why: why.to_owned() }
    }

    pub(in crate::cluster) fn unreadable(&self, why: String) -> ApiError {
        ApiError::Unreadable { stream: self.name.clone(), why }
    }
}

/// Settings that are compared: all that decide what is stored, and for how long.
const SETTINGS: [&str; 27] = [
    "name",
    "subjects",
    "retention",
    "max_consumers",
    "max_msgs",
    "max_bytes",
    "max_age",
    "max_msgs_per_subject",
    "max_msg_size",
    "discard",
    "discard_new_per_subject",
    "storage",
    "num_replicas",
    "no_ack",
    "duplicate_window",
    "mirror",
    "sources",
    "subject_transform",
    "sealed",
    "deny_delete",
    "deny_purge",
    "allow_rollup_hdrs",
    "allow_direct",
    "allow_msg_ttl",
    "allow_atomic",
    "allow_batched",
    "persist_mode",
];

/// Returns the settings of a stream that keeps everything on disk, and refuses rather than forgets.
pub(in crate::cluster) fn settings(name: &str, subjects: &[String], replicas: usize) -> Value {
    json!({
        "name": name,
        "subjects": subjects,
        "retention": "limits",
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "discard": "new",
        "storage": "file",
        "num_replicas": replicas,
        "duplicate_window": 120_000_000_000_u64,
    })
}

fn late(patience: Duration) -> String {
    format!("nothing has come within {} ms", patience.as_millis())
}

fn silence(error: &async_nats::RequestError, patience: Duration) -> String {
    match error.kind() {
        RequestErrorKind::TimedOut => late(patience),
        RequestErrorKind::NoResponders => "no server leads the stream now".to_owned(),
        RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded | RequestErrorKind::Other => {
            error.to_string()
        }
    }
}
