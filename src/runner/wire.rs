//! The messages between bot and runner, and their frames: four bytes of length (big-endian), then one JSON object.
//!
//! Each version is held by its folder in `tests/golden/runner`. Within a version fields are only added, with a default, and unknown
//! fields are ignored. Another kind of message, order, report or signal needs another version: both ends name the
//! versions that they speak before anything else, and the bot starts nothing where none is common.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

use super::job::Job;
use crate::core::file::Sha256;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::runtime::process::descent::Record;
use crate::runtime::{Launch, Live, Order, Report};

/// The newest version that this herder speaks.
pub const VERSION: u32 = 6;

/// The oldest version that this herder speaks.
pub const OLDEST: u32 = 1;

/// Time between two signs of life of a runner.
pub const BEAT: Duration = Duration::from_secs(2);

/// The first version whose runners give signs of life and pass calls of tools on.
pub const CALLS_FROM: u32 = 2;

/// The first version whose runners do jobs.
pub const JOBS_FROM: u32 = 3;

/// The first version whose runners get files from the bot.
pub const FILES_FROM: u32 = 4;

/// The first version whose runners open pull requests and look at them.
pub const PULLS_FROM: u32 = 5;

/// The first version whose runners can be on another machine than the bot.
pub const APART_FROM: u32 = 6;

/// Maximum length of a message, in bytes. A prompt or an answer of a model is far below it.
pub const MESSAGE_MAX: usize = 900 * 1024;

/// A message with what every message carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope<B> {
    /// The version of the message.
    pub v: u32,
    /// The bot's term of office; a runner that has heard a higher one refuses it.
    pub epoch: u64,
    /// The message's number within the epoch, from 1; 0 for a message that is not repeated when it is lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n: u64,
    /// The message.
    pub body: B,
}

impl<B> Envelope<B> {
    /// Returns a message of this herder's version.
    #[must_use]
    pub const fn new(epoch: u64, n: u64, body: B) -> Self {
        Self { v: VERSION, epoch, n, body }
    }
}

/// The identity of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey {
    /// The agent.
    pub agent: AgentName,
    /// Its session.
    pub session: SessionId,
}

/// A message of the bot to a runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToRunner {
    /// The first message of a connection.
    Hello {
        /// The id of the bot's journal: a runner belongs to one bot.
        journal: String,
        /// The oldest version that the bot speaks.
        oldest: u32,
        /// The newest one.
        newest: u32,
    },
    /// Asks for [`FromRunner::Status`], instead of [`ToRunner::Hello`]; the connection ends with the answer.
    Status,
    /// Ends all sessions and jobs, and the runner, instead of [`ToRunner::Hello`]. The answer is [`FromRunner::Status`], and the
    /// connection ends with the runner.
    Stop,
    /// Starts a session. Numbered.
    Launch(Box<Launch>),
    /// An order to a session. Numbered.
    Order {
        /// The session.
        of: SessionKey,
        /// The order.
        order: Order,
    },
    /// Acknowledges the reports of a session up to this number: their consequences are on the bot's disk.
    Heard {
        /// The session.
        of: SessionKey,
        /// Number of the report.
        up_to: u64,
    },
    /// The answer to [`FromRunner::Call`]; from version 2 on.
    Returned {
        /// The session.
        of: SessionKey,
        /// Number of the call.
        call: u64,
        /// The answer.
        returned: Returned,
    },
    /// Ends the runner as soon as it has neither a session nor a job, instead of [`ToRunner::Hello`]; from version 2 on. The answer is
    /// [`FromRunner::Status`], and the connection ends with the runner.
    StopWhenIdle,
    /// Asks for a job, once however often it comes; from version 3 on.
    Job {
        /// Its number, counted by this bot.
        job: u64,
        /// The job.
        what: Box<Job>,
    },
    /// All jobs that the bot waits for; others are ended, and their results forgotten. From version 3 on.
    Jobs {
        /// Their numbers.
        open: Vec<u64>,
        /// The numbers of those that are to be ended; their ends are waited for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stopped: Vec<u64>,
    },
    /// The answer to [`FromRunner::Fetch`]; from version 4 on.
    Piece {
        /// The file.
        file: Sha256,
        /// Number of the first byte.
        from: u64,
        /// The bytes in Base64; `None` if the bot does not have the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        piece: Option<String>,
    },
}

/// The answer to a call of one of herder's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    /// True if the call was carried out, false if it was refused.
    pub ok: bool,
    /// The result or the reason of the refusal, for the model.
    pub text: String,
    /// Whispers that are delivered with it, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub whispers: Vec<(WorkId, String)>,
}

impl Returned {
    /// Returns the answer to a call that was refused.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Self {
        Self { ok: false, text: text.into(), whispers: Vec::new() }
    }
}

/// A message of a runner to the bot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromRunner {
    /// The answer to [`ToRunner::Hello`].
    Welcome {
        /// A random id of this run of the runner.
        incarnation: String,
        /// The version that both speak from now on.
        version: u32,
        /// Its sessions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sessions: Vec<Standing>,
        /// The record of runners that were killed, if processes of theirs may still run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        past: Option<Box<Record>>,
    },
    /// A sign of life of the runner, every [`BEAT`]; from version 2 on.
    Beat,
    /// The answer to a [`ToRunner::Hello`] that cannot be followed by anything; the connection ends.
    Refused(HelloRefusal),
    /// State of the runner.
    Status(Status),
    /// The runner has taken the bot's messages up to this number.
    Took {
        /// Number of the message.
        up_to: u64,
    },
    /// A report of a session, kept until it is heard.
    Report {
        /// The session.
        of: SessionKey,
        /// The report's number within the session, from 1.
        n: u64,
        /// The report; never [`Report::Beat`].
        report: Report,
    },
    /// The session's driver has evidence that its process is alive.
    Alive {
        /// The session.
        of: SessionKey,
    },
    /// State of the session at present.
    Live {
        /// The session.
        of: SessionKey,
        /// The state.
        live: Live,
    },
    /// A call of one of herder's tools, from a process of the session; from version 2 on. It comes again on a new
    /// connection until it is answered.
    Call {
        /// The session.
        of: SessionKey,
        /// Number of the call, counted by this run of the runner.
        call: u64,
        /// Name of the tool.
        tool: String,
        /// Arguments of the call, by name.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        arguments: Map<String, Value>,
    },
    /// A call has its answer, or its caller is gone; from version 2 on.
    CallOver {
        /// The session.
        of: SessionKey,
        /// Number of the call.
        call: u64,
    },
    /// A part of a job's result, which comes again on a new connection until the bot does not wait for the job any more;
    /// from version 3 on.
    Done {
        /// Number of the job.
        job: u64,
        /// The part. All parts together are JSON: the result, or `null` for a job that was ended.
        part: String,
        /// True for the last part.
        last: bool,
    },
    /// Asks for the next piece of a file that a session gets. It comes again on a new connection until it is answered; from
    /// version 4 on.
    Fetch {
        /// The file.
        file: Sha256,
        /// Number of the first byte.
        from: u64,
    },
}

/// A session on a runner, as it stands when the bot connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The session.
    pub of: SessionKey,
    /// Number of the first report that was not heard.
    pub unheard: u64,
    /// Number of the next report.
    pub next: u64,
}

/// State of a runner, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its process id.
    pub pid: u32,
    /// See [`FromRunner::Welcome`].
    pub incarnation: String,
    /// The id of its bot's journal; `None` until a bot has connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
    /// True if a bot is connected.
    pub attended: bool,
    /// Its sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionStatus>,
    /// Number of jobs that run: git, checks and merges.
    #[serde(default, skip_serializing_if = "is_none")]
    pub jobs: usize,
}

/// State of a session on a runner, for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// The session.
    pub of: SessionKey,
    /// True if it has ended, and its last reports are not heard yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
    /// Number of its reports that are not heard yet.
    pub kept: u64,
    /// Its present state.
    #[serde(default)]
    pub live: Live,
}

/// Reason why a runner refuses a bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum HelloRefusal {
    /// No version is common.
    #[error("it speaks the versions {oldest} to {newest}, and this herder {OLDEST} to {VERSION}")]
    Version {
        /// The oldest version that the runner speaks.
        oldest: u32,
        /// The newest one.
        newest: u32,
    },
    /// It belongs to the bot of another journal.
    #[error(
        "it runs the agents of another journal: end it (`herder runner stop`), and remove runner.journal from the data folder"
    )]
    Journal,
    /// It has heard a bot of a later term of office.
    #[error(
        "another herder has been started since; if the journal is an older copy, `herder runner stop` lets this one in"
    )]
    Epoch {
        /// The highest term that it has heard.
        highest: u64,
    },
}

/// Reason why a message cannot be sent or read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// It is too long.
    #[error("a message between bot and runner has {0} bytes, more than the {MESSAGE_MAX} that are allowed")]
    TooLong(usize),
    /// The connection is broken, or a frame is longer than allowed.
    #[error("the connection between bot and runner is broken: {0}")]
    Io(#[from] std::io::Error),
    /// It is no message.
    #[error("a message between bot and runner cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// Returns the newest version that both ends speak; `None` if there is none.
#[must_use]
pub const fn common_version(oldest: u32, newest: u32) -> Option<u32> {
    let highest = if newest < VERSION { newest } else { VERSION };
    let lowest = if oldest > OLDEST { oldest } else { OLDEST };
    if lowest <= highest { Some(highest) } else { None }
}

/// Frames and messages of one connection.
#[derive(Debug)]
pub struct Frames(LengthDelimitedCodec);

impl Default for Frames {
    fn default() -> Self {
        Self(LengthDelimitedCodec::builder().length_field_length(4).max_frame_length(MESSAGE_MAX).new_codec())
    }
}

impl Frames {
    /// Appends a message to `out`, with its length.
    ///
    /// # Errors
    /// The message is too long; nothing is appended.
    pub fn write<B: Serialize>(
        &mut self,
        message: &Envelope<B>,
        out: &mut BytesMut,
    ) -> Result<(), WireError> {
        self.write_encoded(encode(message)?, out)
    }

    /// Appends a message that is encoded already.
    ///
    /// # Errors
    /// The message is too long; nothing is appended.
    pub fn write_encoded(&mut self, message: Bytes, out: &mut BytesMut) -> Result<(), WireError> {
        if message.len() > MESSAGE_MAX {
            return Err(WireError::TooLong(message.len()));
        }
        Ok(self.0.encode(message, out)?)
    }

    /// Takes the next whole message from the front of `read`; `None` if it is not there yet.
    ///
    /// # Errors
    /// The bytes are no message. Nothing after them can be read.
    pub fn read<B: DeserializeOwned>(
        &mut self,
        read: &mut BytesMut,
    ) -> Result<Option<Envelope<B>>, WireError> {
        match self.0.decode(read)? {
            Some(frame) => Ok(Some(serde_json::from_slice(&frame)?)),
            None => Ok(None),
        }
    }
}

/// Encodes a message.
///
/// # Errors
/// A number in it that JSON cannot hold.
pub fn encode<B: Serialize>(message: &Envelope<B>) -> Result<Bytes, WireError> {
    Ok(serde_json::to_vec(message)?.into())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_none(n: &usize) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(n: &u64) -> bool {
    *n == 0
}
