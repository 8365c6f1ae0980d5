//! The shared log of a bot: one JetStream stream, in which each record stands behind the one that its writer had seen.
//!
//! | file | content |
//! |---|---|
//! | [`api`] | requests to JetStream |
//! | [`follow`] | records in order, for ever |
//! | [`check`] | version and settings of the server beside the bot |
//!
//! Only the leader of the stream is asked. A leader that was cut off answers from what it has until it notices, so that
//! an answer to [`LogStream::end`] or [`LogStream::read`] proves nothing about the moment; a record that was stored does.

mod api;
mod check;
mod follow;

use std::time::Duration;

use async_nats::Client;
use serde::Deserialize;
use serde_json::{Value, json};

pub use api::ApiError;
pub use check::{LocalServer, ServerError, check_server, monitor_port};
pub use follow::Records;

pub(super) use api::{Ack, PATIENCE, Stored, Stream, settings};

use super::permits::Subjects;

/// Header with the sequence that a record is to stand behind.
const EXPECTED: &str = "Nats-Expected-Last-Sequence";

/// Time for the stream's leader to say where it ends, which needs no disk.
const PATIENCE_FOR_END: Duration = Duration::from_millis(700);

/// Maximum length of a message with its headers, in bytes.
const RECORD_MAX: u64 = 1024 * 1024;

/// Codes of errors (`err_code`).
const WRONG_SEQUENCE: u64 = 10071;
const TOO_LONG: u64 = 10054;
const OTHER_STREAM: u64 = 10060;
const SEALED: u64 = 10109;

/// Beginning of the text of a refusal because of the sequence. The stream's last sequence follows.
const WRONG_SEQUENCE_TEXT: &str = "wrong last sequence: ";

/// The reason why the log cannot be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The servers do not answer or refuse.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// Records that were asked for were removed.
    #[error(
        "the log begins with record {first}, and record {wanted} was asked for: it was removed; take a copy of the journal first"
    )]
    Purged {
        /// Sequence of the record that was asked for.
        wanted: u64,
        /// First sequence of the stream.
        first: u64,
    },
    /// The stream's leader cannot be moved, because no other replica is ready.
    #[error("no other server than {server} can lead the log now: none has all its records")]
    NoOther {
        /// Name of the server.
        server: String,
    },
}

/// The ends of the log, and the servers that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// First sequence. In an empty log it is one more than the last.
    pub first: u64,
    /// Last sequence. 0 if nothing was ever stored.
    pub last: u64,
    /// Name of the server that leads the stream.
    pub leader: Option<String>,
    /// Number of servers that have the stream.
    pub replicas: usize,
    /// Number of them that have all records, with the leader.
    pub current: usize,
}

/// The result of one attempt to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attempt {
    /// It is stored, with this sequence.
    Stored(u64),
    /// A record with this id was stored before, within two minutes, with this sequence. A yes if it is the expected one.
    Duplicate(u64),
    /// Not stored: the stream ends after the record that was named, or will if a record in flight is stored. Read the
    /// place: one server answers so to a repeated record as well, and an empty place is no proof of anything.
    Behind,
    /// Not stored: the stream ends at this sequence, before the record that was named. Its leader has lost records.
    Short(u64),
    /// Not stored, now or later, for another reason.
    Refused(String),
    /// It may be stored, now or later, or not.
    Unknown(String),
}

/// The log of a bot. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LogStream {
    stream: Stream,
    subject: String,
}

#[derive(Deserialize)]
struct InfoJson {
    state: StateJson,
    #[serde(default)]
    cluster: Option<ClusterJson>,
}

#[derive(Deserialize)]
struct StateJson {
    first_seq: u64,
    last_seq: u64,
}

#[derive(Deserialize, Default)]
struct ClusterJson {
    #[serde(default)]
    leader: Option<String>,
    #[serde(default)]
    replicas: Vec<ReplicaJson>,
}

#[derive(Deserialize)]
struct ReplicaJson {
    name: String,
    #[serde(default)]
    current: bool,
    #[serde(default)]
    offline: bool,
}

impl LogStream {
    /// Opens the log of a bot, and creates it if there is none.
    ///
    /// For a bot whose journal has nothing of a log: an empty one is no successor of another that the servers have lost.
    ///
    /// # Errors
    /// The servers do not answer or refuse, or the stream has other settings.
    pub async fn open(client: &Client, bot: &str, replicas: usize) -> Result<Self, LogError> {
        let (log, needed) = Self::needed(client, bot, replicas);
        log.stream.ensure(&needed).await?;
        Ok(log)
    }

    /// Opens the log of a bot, which must be there.
    ///
    /// # Errors
    /// There is none, the servers do not answer or refuse, or the stream has other settings.
    pub async fn open_existing(client: &Client, bot: &str, replicas: usize) -> Result<Self, LogError> {
        let (log, needed) = Self::needed(client, bot, replicas);
        log.stream.verify(&needed).await?;
        Ok(log)
    }

    /// Returns the log of a bot with the settings that its stream must have.
    fn needed(client: &Client, bot: &str, replicas: usize) -> (Self, Value) {
        let subjects = Subjects::new(bot);
        let stream = Stream { client: client.clone(), name: subjects.log_stream() };
        let subject = subjects.log();
        let mut needed = settings(&stream.name, std::slice::from_ref(&subject), replicas);
        needed["max_msg_size"] = json!(RECORD_MAX);
        needed["deny_delete"] = json!(true);
        (Self { stream, subject }, needed)
    }

    /// Returns the ends of the log, as the stream's leader knows them, within 0.7 s.
    ///
    /// # Errors
    /// The servers do not answer or refuse.
    pub async fn end(&self) -> Result<End, LogError> {
        let InfoJson { state, cluster } = self.info().await?;
        let ClusterJson { leader, replicas } = cluster.unwrap_or_default();
        let current = replicas.iter().filter(|replica| replica.current && !replica.offline).count();
        // A server that does not lead any more lists itself with the others.
        let itself = usize::from(leader.is_some());
        Ok(End {
            first: state.first_seq,
            last: state.last_seq,
            replicas: replicas.len() + itself,
            current: current + itself,
            leader,
        })
    }

    /// Returns the record with this sequence, as the stream's leader has it. `None` if it is not there.
    ///
    /// # Errors
    /// The servers do not answer or refuse.
    pub async fn read(&self, seq: u64) -> Result<Option<Vec<u8>>, LogError> {
        let stored = self.stream.message(&json!({ "seq": seq })).await?;
        Ok(stored.map(|stored| stored.body))
    }

    /// Attempts once to append a record behind the one with this sequence. After [`Attempt::Unknown`] nothing but the
    /// same record with the same id may be tried behind it.
    pub async fn attempt(&self, id: &str, body: &[u8], behind: u64, patience: Duration) -> Attempt {
        let expected = [(EXPECTED, &*behind.to_string())];
        match self.stream.publish(&self.subject, id, &expected, body, patience).await {
            Ack::Stored(seq) => Attempt::Stored(seq),
            Ack::Duplicate(seq) => Attempt::Duplicate(seq),
            Ack::Refused(WRONG_SEQUENCE, why) => {
                match why.strip_prefix(WRONG_SEQUENCE_TEXT).and_then(|last| last.trim().parse().ok()) {
                    Some(last) if last < behind => Attempt::Short(last),
                    _ => Attempt::Behind,
                }
            }
            Ack::Refused(TOO_LONG | OTHER_STREAM | SEALED, why) | Ack::TooLong(why) => Attempt::Refused(why),
            Ack::Refused(code, why) => Attempt::Unknown(format!("{why} (error {code})")),
            Ack::Silent(why) => Attempt::Unknown(why),
        }
    }

    /// Returns the records from this sequence on.
    #[must_use]
    pub fn follow(&self, from: u64) -> Records {
        Records::new(self.clone(), from)
    }

    /// Removes the records below this sequence. The sequence of the next record stays what it is.
    ///
    /// # Errors
    /// The servers do not answer or refuse.
    pub async fn purge_below(&self, seq: u64) -> Result<(), LogError> {
        // NATS takes 0 for everything, and a sequence after the end for that of the next record.
        let seq = seq.min(self.end().await?.last + 1);
        if seq <= 1 {
            return Ok(());
        }
        Ok(self.stream.purge(&json!({ "seq": seq })).await?)
    }

    /// Asks for another leader of the stream if the server of this name leads it. The new one is known a moment later.
    ///
    /// # Errors
    /// No other replica has all records, or the servers do not answer or refuse.
    pub async fn move_leader_from(&self, server: &str) -> Result<(), LogError> {
        let cluster = self.info().await?.cluster.unwrap_or_default();
        if cluster.leader.as_deref() != Some(server) {
            return Ok(());
        }
        let ready = cluster.replicas.iter().find(|replica| replica.current && !replica.offline);
        let other = ready.ok_or_else(|| LogError::NoOther { server: server.to_owned() })?;
        let body = json!({ "placement": { "preferred": other.name } });
        self.stream.ask::<Value>("STREAM.LEADER.STEPDOWN", &body, PATIENCE).await?;
        Ok(())
    }

    async fn info(&self) -> Result<InfoJson, ApiError> {
        self.stream.ask("STREAM.INFO", &json!({}), PATIENCE_FOR_END).await
    }
}
