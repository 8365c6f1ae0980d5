//! The interface between the driver's loop and a runtime's own protocol.
//!
//! A [`Protocol`] turns lines into [`Happening`]s, and intentions (prompt, steer, interrupt) into bytes. It receives
//! everything and acts on nothing: it has no clock, process or channel. A new runtime is one more implementation and
//! one more arm in [`prepare`]; the loop in `session` does not change.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;

use super::acp::Acp;
use super::claude::Claude;
use super::codex::Codex;
use super::command::Command;
use super::observing::Call;
use super::text::Tail;
use super::{Launch, environment, isolation, loose};
use crate::core::ask::{AskKey, Inquiry, Part, Told};
use crate::core::detail::Detail;
use crate::core::id::WorkId;
use crate::core::outcome::{Exit, Outcome};
use crate::core::spec::Runtime;
use crate::core::turn::End;
use crate::core::usage::Reading;

/// The meaning of a line, in terms shared by all runtimes. Any line is also a sign of life.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// The runtime is ready, and may be able to resume this conversation later.
    Ready {
        /// The conversation's id, if it has one.
        conversation: Option<String>,
    },
    /// The conversation cannot be resumed: a new one begins.
    ConversationLost {
        /// The runtime's words.
        why: String,
    },
    /// A turn began: possibly after a result, because a message was steered in at the last moment.
    TurnStarted,
    /// Words of the agent.
    Words(String),
    /// A line of a program's output, which is part of the session's text.
    Output(String),
    /// A tool call began.
    ToolStarted {
        /// The runtime's id of the call.
        id: String,
        /// The tool's name.
        name: String,
        /// Its action.
        call: Box<Call>,
    },
    /// A started tool call has more details.
    ToolDescribed {
        /// The runtime's id of the call.
        id: String,
        /// Its action.
        call: Box<Call>,
    },
    /// A tool call ended.
    ToolEnded {
        /// The runtime's id of the call.
        id: String,
        /// Its result.
        end: Box<End>,
    },
    /// Turns and usage of the session so far.
    Progress {
        /// Number of turns.
        turns: u32,
        /// Tokens and money.
        reading: Reading,
    },
    /// A note for `log`, such as a retry.
    Note(String),
    /// The turn ended. The session ends with it, unless another [`Happening::TurnStarted`] follows.
    TurnEnded,
    /// The turn ended, and messages that it had not processed become another one: the runtime can be answered again.
    AnotherFollows,
    /// Bytes that the runtime waits for on its standard input: an answer, or the next step of the protocol.
    Reply(Vec<u8>),
    /// The runtime accepted a message into the running turn.
    Steered {
        /// The message.
        work: WorkId,
    },
    /// The runtime did not accept a message after all.
    NotTaken {
        /// The message.
        work: WorkId,
    },
    /// The turn was cut short to deliver a message, and another one follows.
    TurnCut,
    /// The agent asks for permission, and waits for [`Protocol::answer`].
    Asked {
        /// The key for the answer.
        key: AskKey,
        /// The tool.
        tool: String,
        /// The exact command, or a description of the action.
        command: String,
        /// True if the command is searched for patterns that are always asked about.
        shell: bool,
        /// True if only a name is known, not the exact action.
        vague: bool,
    },
    /// The agent asks for words or a choice, and waits for [`Protocol::answer`].
    Inquired {
        /// The key for the answer.
        key: AskKey,
        /// The question.
        inquiry: Box<Inquiry>,
        /// Its position among the questions of one call; `None` if it is the only one.
        part: Option<Part>,
    },
    /// The agent does not wait for the answer any more.
    AskWithdrawn {
        /// The key of the request.
        key: AskKey,
    },
    /// The line could not be parsed.
    Malformed,
}

/// Bytes for the child's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feed {
    /// The bytes to write.
    pub bytes: Vec<u8>,
    /// True to close standard input afterwards.
    pub close: bool,
}

/// The handling of a message for the running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steering {
    /// The runtime cannot accept it: it stays queued.
    Refused,
    /// These bytes deliver it: [`Protocol::written`] follows, and it is accepted when [`Happening::Steered`] says so.
    Written(Vec<u8>),
    /// These bytes, if any, request it: it is accepted when [`Happening::Steered`] says so.
    Asked(Vec<u8>),
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program as configured, looked up in the child's own `PATH`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Whether it becomes the program only once its first line of input is [`GO`], and nothing where that never comes.
    pub waits: bool,
}

/// The first line of input to a process that [waits](Invocation::waits). What follows is the program's.
pub const GO: &[u8] = b"go\n";

/// A runtime's own protocol.
pub trait Protocol: Send {
    /// True if the runtime counts as ready once its process runs, because it prints nothing on its own.
    fn ready_at_start(&self) -> bool;

    /// Returns the bytes of the session's prompt.
    fn prompt(&mut self, prompt: &str) -> Feed;

    /// Returns the handling of a message for the running turn.
    fn steer(&mut self, work: WorkId, text: &str) -> Steering;

    /// Like [`Protocol::steer`], for a message that has waited for long: if the running turn accepts nothing, it is
    /// cut short, provided that the runtime can start another one in the same session.
    fn insist(&mut self, work: WorkId, text: &str) -> Steering {
        self.steer(work, text)
    }

    /// Records that the bytes of [`Steering::Written`] are readable by the runtime.
    fn written(&mut self, _work: WorkId) {}

    /// Whether its work is done well, and the process can be given other work of the same conversation.
    fn stays(&self) -> bool {
        false
    }

    /// Gives a process that has stayed the work of another session.
    fn again(&mut self, _launch: &Launch, _happened: &mut Vec<Happening>) {}

    /// Returns the bytes that ask the runtime to end its turn; `None` if there is no way to ask.
    fn interrupt(&mut self) -> Option<Vec<u8>>;

    /// Answers [`Happening::Asked`] or [`Happening::Inquired`]: produces a reply, or the next question of the same
    /// call; nothing if nothing waits for it.
    fn answer(&mut self, _key: AskKey, _told: &Told, _happened: &mut Vec<Happening>) {}

    /// Handles one line of standard output, without its end.
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>);

    /// Returns how the session ended, after its process exited and all output was read. `exit` is `None` if the
    /// process could not be waited for. Turns, usage and text are filled in here; the duration is not.
    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome;

    /// Returns the limit for which the runtime waits in silence, if that is its reason: waiting for the end of a
    /// limit is not a hang.
    fn stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        None
    }

    /// Returns the limit for which the runtime waited in silence, if it reported it only when it exited.
    fn was_stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        None
    }

    /// True if the exit code is the only result: then 0 is a success only if the process was not told to exit, since
    /// many programs then exit with 0 without having done anything.
    fn tells_by_its_exit(&self) -> bool {
        false
    }

    /// Returns the time for the process to exit after its result, if it is known not to exit by itself.
    fn leaves_within(&self) -> Option<Duration> {
        None
    }

    /// True if the conversation to resume turned out not to exist.
    fn conversation_lost(&self, _stderr: &Tail) -> bool {
        false
    }
}

/// Reads a line with `parse`. A blank line is ignored, an invalid one is counted; a line with unpaired surrogates is
/// read as `mended`.
pub(super) fn read<'line, L, E>(
    line: &'line [u8],
    mended: &'line mut Vec<u8>,
    parse: impl Fn(&'line [u8]) -> Result<L, E>,
    happened: &mut Vec<Happening>,
) -> Option<L> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let read = parse(line).ok().or_else(|| {
        *mended = loose::mended(line)?;
        parse(mended).ok()
    });
    if read.is_none() {
        happened.push(Happening::Malformed);
    }
    read
}

/// Builds the invocation for `launch`, and its protocol.
///
/// # Errors
/// The part that is missing.
pub fn prepare(launch: &Launch) -> Result<(Invocation, Box<dyn Protocol>), Detail> {
    let mut environment = environment::of(launch);
    let read = environment::from_files(&launch.spec)?;
    // Before anything can print it.
    launch.redactor.learn(&read.values().cloned().map(SecretString::from).collect::<Vec<_>>());
    environment.extend(read);
    isolation::furnish(launch, &mut environment)?;
    let (mut invocation, protocol): (Invocation, Box<dyn Protocol>) = match launch.spec.runtime {
        Runtime::Claude => {
            let (invocation, claude) = Claude::prepare(launch, environment);
            (invocation, Box::new(claude))
        }
        Runtime::Codex => {
            let (invocation, codex) = Codex::prepare(launch, environment);
            (invocation, Box::new(codex))
        }
        Runtime::Acp => {
            let (invocation, acp) = Acp::prepare(launch, environment)?;
            (invocation, Box::new(acp))
        }
        Runtime::Command => {
            let (invocation, command) = Command::prepare(launch, environment)?;
            (invocation, Box::new(command))
        }
    };
    isolation::enclose(launch, &mut invocation);
    Ok((invocation, protocol))
}
