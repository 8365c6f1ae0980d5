//! Copies of the bot's journal in an object store of the servers: the last two, each with its place in the log.
//!
//! The layout is that of NATS's object stores, so that the `nats` command shows and fetches them.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use async_nats::Client;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use data_encoding::HEXLOWER;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::log::{Ack, ApiError, PATIENCE, Stored, Stream, settings};
use super::permits::Subjects;

/// Number of copies that are kept.
const KEPT: usize = 2;

/// Length of a message with a part of a copy, in bytes.
const CHUNK: usize = 256 * 1024;

/// Time for one part, through changes of the stream's leader.
const PART_PATIENCE: Duration = Duration::from_secs(30);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Header by which a message replaces all others of its subject.
const ROLLUP: (&str, &str) = ("Nats-Rollup", "sub");

/// The reason why a copy cannot be put or fetched.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The servers do not answer or refuse.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// The file cannot be read or written.
    #[error("the file of a copy of the journal cannot be read or written: {0}")]
    Disk(#[from] io::Error),
    /// The system gives no random bytes.
    #[error("a copy of the journal cannot be named, because the system gives no random bytes: {0}")]
    NoRandom(getrandom::Error),
    /// A part of the copy was not stored.
    #[error(
        "a copy of the journal was not stored by the NATS servers: {0}. It is tried again with the next copy"
    )]
    NotStored(String),
    /// The copy is not whole.
    #[error("the copy {name} of the journal is damaged: {why}. Take the one before, or wait for the next")]
    Damaged {
        /// Name of the copy.
        name: String,
        /// The reason.
        why: String,
    },
}

/// A copy of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCopy {
    /// Its name.
    pub name: String,
    /// Sequence of the last record of the log that is in it.
    pub seq: u64,
    /// SHA-256 of the file, as hex digits.
    pub sha256: String,
    /// Length of the file, in bytes.
    pub size: u64,
    chunks: u64,
    id: String,
}

/// The copies of a bot's journal. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Copies {
    stream: Stream,
    bucket: String,
}

/// The description of an object in an object store.
#[derive(Serialize, Deserialize)]
struct ObjectJson {
    name: String,
    bucket: String,
    nuid: String,
    size: u64,
    chunks: u64,
    digest: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default)]
    options: serde_json::Value,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
struct InfoJson {
    state: StateJson,
}

#[derive(Deserialize)]
struct StateJson {
    #[serde(default)]
    subjects: Option<BTreeMap<String, u64>>,
}

impl Copies {
    /// Opens the copies of a bot, and creates their object store if there is none.
    ///
    /// # Errors
    /// The servers do not answer or refuse, or the object store has other settings.
    pub async fn open(client: &Client, bot: &str, replicas: usize) -> Result<Self, CopyError> {
        let subjects = Subjects::new(bot);
        let stream = Stream { client: client.clone(), name: subjects.copies_stream() };
        let bucket = subjects.copies_bucket();
        let own = [format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")];
        let mut needed = settings(&stream.name, &own, replicas);
        needed["allow_rollup_hdrs"] = json!(true);
        stream.ensure(&needed).await?;
        Ok(Self { stream, bucket })
    }

    /// Stores a file as a copy that has all records up to this sequence, and removes all but the last two copies.
    ///
    /// # Errors
    /// The file cannot be read, or the servers do not answer or refuse.
    pub async fn put(
        &self,
        name: &str,
        file: &mut (impl AsyncRead + Unpin),
        seq: u64,
    ) -> Result<StoredCopy, CopyError> {
        let kept = self.kept().await?;
        self.sweep(&kept).await?;
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(CopyError::NoRandom)?;
        let nuid = HEXLOWER.encode(&random);
        let subject = self.chunks(&nuid);
        let (mut hash, mut size, mut chunks) = (Context::new(&SHA256), 0, 0);
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            file.take(CHUNK as u64).read_to_end(&mut chunk).await?;
            if chunk.is_empty() {
                break;
            }
            chunks += 1;
            size += chunk.len() as u64;
            hash.update(&chunk);
            self.store(&subject, &format!("{nuid}-{chunks}"), &[], &chunk).await?;
        }
        let hash = hash.finish();
        let sha256 = HEXLOWER.encode(hash.as_ref());
        let object = ObjectJson {
            name: name.to_owned(),
            bucket: self.bucket.clone(),
            nuid: nuid.clone(),
            size,
            chunks,
            digest: format!("SHA-256={}", URL_SAFE.encode(hash.as_ref())),
            metadata: [("seq".to_owned(), seq.to_string()), ("sha256".to_owned(), sha256)].into(),
            options: json!({ "max_chunk_size": CHUNK }),
            deleted: false,
        };
        let about = self.about(name);
        self.store(&about, &format!("{nuid}-about"), &[ROLLUP], json!(object).to_string().as_bytes()).await?;
        let stored = self.copy(object)?;
        let mut all: Vec<StoredCopy> = kept.into_iter().filter(|old| old.name != name).collect();
        all.push(stored.clone());
        all.sort_by_key(|copy| copy.seq);
        let old = all.drain(..all.len().saturating_sub(KEPT)).collect::<Vec<_>>();
        for copy in &old {
            self.stream.purge(&json!({ "filter": self.about(&copy.name) })).await?;
        }
        self.sweep(&all).await?;
        Ok(stored)
    }

    /// Returns the copy with the most records. `None` if there is none.
    ///
    /// # Errors
    /// The servers do not answer or refuse.
    pub async fn newest(&self) -> Result<Option<StoredCopy>, CopyError> {
        Ok(self.kept().await?.pop())
    }

    /// Returns the copies, the one with the most records last.
    ///
    /// # Errors
    /// The servers do not answer or refuse.
    pub async fn kept(&self) -> Result<Vec<StoredCopy>, CopyError> {
        let mut copies = Vec::new();
        for subject in self.subjects("M").await? {
            let Some(message) = self.stream.message(&json!({ "last_by_subj": subject })).await? else {
                continue;
            };
            let object: ObjectJson = serde_json::from_slice(&message.body)
                .map_err(|why| CopyError::Damaged { name: subject.clone(), why: why.to_string() })?;
            if !object.deleted {
                copies.push(self.copy(object)?);
            }
        }
        copies.sort_by_key(|copy| copy.seq);
        Ok(copies)
    }

    /// Writes a copy into a file, and verifies it. After an error the file is worth nothing.
    ///
    /// # Errors
    /// The copy is damaged or was removed meanwhile, the file cannot be written, or the servers do not answer or refuse.
    pub async fn fetch(
        &self,
        copy: &StoredCopy,
        file: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), CopyError> {
        let damaged = |why: &str| CopyError::Damaged { name: copy.name.clone(), why: why.to_owned() };
        let subject = self.chunks(&copy.id);
        let (mut hash, mut size, mut next) = (Context::new(&SHA256), 0, 1);
        for _ in 0..copy.chunks {
            let chunk = self.chunk(&subject, next).await?.ok_or_else(|| damaged("a part is missing"))?;
            next = chunk.seq + 1;
            size += chunk.body.len() as u64;
            hash.update(&chunk.body);
            file.write_all(&chunk.body).await?;
        }
        file.flush().await?;
        if size != copy.size || HEXLOWER.encode(hash.finish().as_ref()) != copy.sha256 {
            return Err(damaged("its SHA-256 is another one"));
        }
        Ok(())
    }

    /// Returns the first message of a subject from a sequence on, asking as long as nobody answers.
    async fn chunk(&self, subject: &str, from: u64) -> Result<Option<Stored>, ApiError> {
        let since = Instant::now();
        loop {
            match self.stream.message(&json!({ "seq": from, "next_by_subj": subject })).await {
                Err(error @ (ApiError::Silent { .. } | ApiError::Refused { .. }))
                    if since.elapsed() < PART_PATIENCE =>
                {
                    debug!(%error, "a part of a copy cannot be read yet");
                }
                known => return known,
            }
            sleep(PAUSE).await;
        }
    }

    /// Stores a message, the same again until it is known that it is stored.
    async fn store(
        &self,
        subject: &str,
        id: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(), CopyError> {
        let since = Instant::now();
        loop {
            let why = match self.stream.publish(subject, id, more, body, PATIENCE).await {
                Ack::Stored(_) | Ack::Duplicate(_) => return Ok(()),
                Ack::TooLong(why) => return Err(CopyError::NotStored(why)),
                Ack::Refused(code, why) => format!("{why} (error {code})"),
                Ack::Silent(why) => why,
            };
            if since.elapsed() >= PART_PATIENCE {
                return Err(CopyError::NotStored(why));
            }
            debug!(why, "a part of a copy was not stored yet");
            sleep(PAUSE).await;
        }
    }

    /// Removes the parts of all copies but these, e.g. of one that was not put to its end.
    async fn sweep(&self, kept: &[StoredCopy]) -> Result<(), CopyError> {
        for subject in self.subjects("C").await? {
            if !kept.iter().any(|copy| self.chunks(&copy.id) == subject) {
                self.stream.purge(&json!({ "filter": subject })).await?;
            }
        }
        Ok(())
    }

    /// Returns the subjects of a kind that have messages.
    async fn subjects(&self, kind: &str) -> Result<Vec<String>, ApiError> {
        let filter = json!({ "subjects_filter": format!("$O.{}.{kind}.>", self.bucket) });
        let info: InfoJson = self.stream.ask("STREAM.INFO", &filter, PATIENCE).await?;
        Ok(info.state.subjects.unwrap_or_default().into_keys().collect())
    }

    fn copy(&self, object: ObjectJson) -> Result<StoredCopy, CopyError> {
        let ObjectJson { name, nuid, size, chunks, metadata, .. } = object;
        let of = |key: &str| metadata.get(key).cloned();
        let seq = of("seq").and_then(|seq| seq.parse().ok());
        match seq.zip(of("sha256")) {
            Some((seq, sha256)) => Ok(StoredCopy { name, seq, sha256, size, chunks, id: nuid }),
            None => Err(CopyError::Damaged { name, why: "its place in the log is not noted".to_owned() }),
        }
    }

    fn chunks(&self, id: &str) -> String {
        format!("$O.{}.C.{id}", self.bucket)
    }

    fn about(&self, name: &str) -> String {
        format!("$O.{}.M.{}", self.bucket, URL_SAFE.encode(name))
    }
}
