//! The versioned JSON of stored values: `{"v":1,…}`.
//!
//! A version stands for shapes that are on disk permanently: a known version stays readable forever; `tests/golden/`
//! has one of every kind of each. A newer one is refused with a sentence, never guessed at.
//!
//! An event's head (its revision, time and stream) is the same in every version and is read without the rest: code
//! that moves events does not need to understand them, and an unreadable event affects only its own stream.
//!
//! The seq of an event is its key; its revision is inserted by the writer, which alone knows it. The caller builds
//! the rest of the text, so that no JSON is written on the writer's thread.

use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::core::board::BoardEvent;
use crate::core::dealings::Onward;
use crate::core::event::Event;
use crate::core::post::Post;
use crate::core::time::Timestamp;

use super::{Entry, FleetEvent, Recorded, Stream};

/// Version of the encoding that this herder writes.
pub const VERSION: u32 = 1;

/// The reason why stored text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A newer herder wrote it, in a later encoding.
    #[error("it has encoding {found} and this herder reads up to {VERSION}; start the newer herder again")]
    Newer {
        /// Version of that encoding.
        found: u32,
    },
    /// A newer herder wrote it, in the known encoding but with an unknown kind of event.
    #[error("it is of a kind that this herder does not know ({kind}); start the newer herder again")]
    Unknown {
        /// Name of the unknown kind.
        kind: String,
    },
    /// The text is not valid JSON, or not of the expected shape.
    #[error("{0}")]
    Malformed(String),
}

impl DecodeError {
    fn json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // serde lists all known kinds; only the unknown one is useful.
        let unknown = text.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`'));
        match unknown {
            Some((kind, _)) => Self::Unknown { kind: kind.chars().take(60).collect() },
            None => Self::Malformed(text),
        }
    }
}

/// Returns the names of all kinds of entries, as they stand in the JSON field `type`, each once and in alphabetical
/// order; `audit` stands for the audit trail's.
#[must_use]
pub fn kinds() -> Vec<&'static str> {
    let mut kinds = [names::<Event>(), names::<FleetEvent>(), &["audit"]].concat();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Returns the names of an enum's variants, as serde lists them in its error for an unknown variant.
fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let unknown = MapDeserializer::<_, Names>::new(std::iter::once(("type", "")));
    T::deserialize(unknown).err().map_or(&[] as &[&str], |Names(names)| names)
}

/// The names of variants that serde's error lists.
#[derive(Debug)]
struct Names(&'static [&'static str]);

impl std::fmt::Display for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl std::error::Error for Names {}

impl serde::de::Error for Names {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self(expected)
    }
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

#[derive(Serialize)]
struct EventBodyRef<'a> {
    at: Timestamp,
    stream: &'a Stream,
    entry: &'a Entry,
}

#[derive(Deserialize)]
struct StoredEvent {
    rev: u64,
    at: Timestamp,
    stream: Stream,
    entry: Entry,
}

/// The fields that stand at the start of every recorded event, in any version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct EventHead {
    pub(super) rev: u64,
    pub(super) at: Timestamp,
    pub(super) stream: Stream,
}

/// Reads the fields at the start of an event of any version.
pub(super) fn event_head(text: &[u8]) -> Result<EventHead, DecodeError> {
    serde_json::from_slice(text).map_err(|e| DecodeError::json(&e))
}

/// The stream of an event, and the name of its kind as in [`kinds`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Labels {
    pub(super) stream: Stream,
    pub(super) kind: String,
}

/// Reads the stream and the kind of an event, without the rest of it.
pub(super) fn labels(text: &[u8]) -> Result<Labels, DecodeError> {
    #[derive(Deserialize)]
    struct Tagged {
        #[serde(rename = "type")]
        kind: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Entry {
        Agent(Tagged),
        Fleet(Tagged),
        Audit(IgnoredAny),
    }
    #[derive(Deserialize)]
    struct Event {
        stream: Stream,
        entry: Entry,
    }
    let Event { stream, entry } = serde_json::from_slice(text).map_err(|e| DecodeError::json(&e))?;
    let kind = match entry {
        Entry::Agent(Tagged { kind }) | Entry::Fleet(Tagged { kind }) => kind,
        Entry::Audit(IgnoredAny) => "audit".to_owned(),
    };
    Ok(Labels { stream, kind })
}

/// Builds an event's JSON without its revision, on the caller's thread; [`event`] completes it.
pub(super) fn event_body(
    at: Timestamp,
    stream: &Stream,
    entry: &Entry,
) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&EventBodyRef { at, stream, entry })
}

/// Completes the JSON of an event by its revision.
pub(super) fn event(rev: u64, body: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut text = Vec::with_capacity(body.len() + 32);
    write!(text, "{{\"v\":{VERSION},\"rev\":{rev},").expect("writing to memory does not fail");
    text.extend_from_slice(body.get(1..).unwrap_or_default());
    text
}

/// Returns the JSON text under which a recorded event is stored.
///
/// # Errors
/// A value cannot be represented in JSON.
pub fn encode_event(recorded: &Recorded) -> Result<Vec<u8>, DecodeError> {
    let body =
        event_body(recorded.at, &recorded.stream, &recorded.entry).map_err(|e| DecodeError::json(&e))?;
    Ok(event(recorded.rev, &body))
}

/// Parses the stored text of the event with the number `seq`.
///
/// # Errors
/// A newer version, or text that is not an event.
pub fn decode_event(seq: u64, text: &[u8]) -> Result<Recorded, DecodeError> {
    let StoredEvent { rev, at, stream, entry } = versioned(text)?;
    Ok(Recorded { seq, stream, rev, at, entry })
}

/// Returns the JSON text under which a post is stored.
///
/// # Errors
/// A value cannot be represented in JSON.
pub fn encode_post(post: &Post) -> Result<Vec<u8>, DecodeError> {
    encode(post)
}

/// Parses the stored text of a post.
///
/// # Errors
/// A newer version, or text that is not a post.
pub fn decode_post(text: &[u8]) -> Result<Post, DecodeError> {
    versioned(text)
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    v: u32,
    #[serde(flatten)]
    value: &'a T,
}

/// Returns a value as JSON with the version of the encoding; it must be an object.
pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, DecodeError> {
    serde_json::to_vec(&Versioned { v: VERSION, value }).map_err(|e| DecodeError::json(&e))
}

/// Parses a value that [`encode`] wrote. The version is parsed separately only if the value cannot be read in the
/// current one.
pub(super) fn versioned<T: DeserializeOwned>(text: &[u8]) -> Result<T, DecodeError> {
    let current = text.starts_with(b"{\"v\":1,");
    if !current {
        let Version { v } = serde_json::from_slice(text).map_err(|e| DecodeError::json(&e))?;
        if v > VERSION {
            return Err(DecodeError::Newer { found: v });
        }
    }
    serde_json::from_slice(text).map_err(|e| DecodeError::json(&e))
}

/// Returns the greatest work id that occurs in an entry, so that ids are not assigned twice; 0 if there is none.
pub(super) fn work_id(entry: &Entry) -> u64 {
    match entry {
        Entry::Agent(
            Event::Queued { work } | Event::SessionStarted { work, .. } | Event::TaskTaken { work, .. },
        ) => work.id.0,
        Entry::Agent(Event::TaskHandedBack { onward: Onward::Split(cuts), .. }) => {
            cuts.iter().map(|cut| cut.id.0).max().unwrap_or_default()
        }
        Entry::Fleet(FleetEvent::Board {
            event: BoardEvent::Added { work } | BoardEvent::Taken { work, .. },
        }) => work.id.0,
        Entry::Fleet(FleetEvent::Board { event: BoardEvent::Split { parts, .. } }) => {
            parts.iter().map(|part| part.id.0).max().unwrap_or_default()
        }
        // One sequence for all of them: people refer to any by its number alone.
        Entry::Agent(Event::Asked { ask }) => ask.id.0,
        Entry::Agent(Event::Whispered { whisper }) => whisper.id.0,
        Entry::Agent(Event::Escalated { escalation }) => escalation.id.0,
        Entry::Agent(_) | Entry::Fleet(_) | Entry::Audit(_) => 0,
    }
}
