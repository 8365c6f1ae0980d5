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
use super::{Launch, Local, Picture, environment, isolation, loose};
use crate::core::ask::{AskKey, Inquiry, Part, Told};
use crate::core::detail::Detail;
use crate::core::id::WorkId;
use crate::core::outcome::{Exit, Outcome};
use crate::core::spec::Runtime;
use crate::core::turn::End;
use crate::core::usage::Reading;
use crate::redact::addresses;

/// The meaning of a line of a runtime's output, in terms shared by all runtimes. Any line is also a sign of life.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// The runtime is ready, and may be able to resume the named conversation later.
    Ready {
        /// Id of the conversation, if it has one.
        conversation: Option<String>,
    },
    /// The conversation cannot be resumed: a new one begins.
    ConversationLost {
        /// The runtime's message about it.
        why: String,
    },
    /// A turn began. This may come after a result, because a message was written into the turn at the last moment.
    TurnStarted,
    /// Words of the agent for people.
    Words(String),
    /// A line of a program's output, which is part of the session's text.
    Output(String),
    /// A tool call of the agent began.
    ToolStarted {
        /// The runtime's id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// Content of the call.
        call: Box<Call>,
    },
    /// A started tool call has more details.
    ToolDescribed {
        /// The runtime's id of the call.
        id: String,
        /// Content of the call.
        call: Box<Call>,
    },
    /// A tool call of the agent ended.
    ToolEnded {
        /// The runtime's id of the call.
        id: String,
        /// Result of the call.
        end: Box<End>,
    },
    /// Turns and usage of the session so far.
    Progress {
        /// Number of turns so far.
        turns: u32,
        /// Tokens and dollars used so far.
        reading: Reading,
    },
    /// A note for `log`, such as a retry.
    Note(String),
    /// The turn ended. The session ends with it, unless [`Happening::TurnStarted`] follows.
    TurnEnded,
    /// The turn ended, and messages that it had not processed become another one: the runtime can be answered again.
    AnotherFollows,
    /// Bytes that the runtime waits for on its standard input: an answer, or the next step of the protocol.
    Reply(Vec<u8>),
    /// The runtime accepted a message into the running turn.
    Steered {
        /// Number of the message.
        work: WorkId,
    },
    /// The runtime did not accept a message after all.
    NotTaken {
        /// Number of the message.
        work: WorkId,
    },
    /// The turn was cut short to deliver a message, and another one follows.
    TurnCut,
    /// The agent asks for permission, and waits for [`Protocol::answer`].
    Asked {
        /// The key for the answer.
        key: AskKey,
        /// Name of the tool.
        tool: String,
        /// The exact command that the agent asks to run, or a description of the action.
        command: String,
        /// True if the command is searched for patterns that are always asked about.
        shell: bool,
        /// True if only the action's name is known, and not what exactly it does.
        vague: bool,
    },
    /// The agent asks for words or a choice, and waits for [`Protocol::answer`].
    Inquired {
        /// The key for the answer.
        key: AskKey,
        /// The question or plan.
        inquiry: Box<Inquiry>,
        /// Position among the questions of one tool call; `None` if it is the only one.
        part: Option<Part>,
    },
    /// The agent does not wait for the answer any more.
    AskWithdrawn {
        /// The key of the request.
        key: AskKey,
    },
    /// The line could not be parsed, and is skipped.
    Malformed,
}

/// Bytes to write to the child's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feed {
    /// The bytes to write to standard input.
    pub bytes: Vec<u8>,
    /// True to close standard input afterwards.
    pub close: bool,
}

/// The way in which a runtime takes a message during a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steering {
    /// The runtime cannot accept the message: it stays queued.
    Refused,
    /// These bytes deliver the message: [`Protocol::written`] follows when they are written, and the message is
    /// accepted when [`Happening::Steered`] says so.
    Written(Vec<u8>),
    /// These bytes, if any, ask the runtime to take the message, which is accepted when [`Happening::Steered`] says so.
    Asked(Vec<u8>),
}

/// A program to run, with its arguments and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Name or path of the program as configured, looked up in the child's own `PATH`.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// Whole environment of the process.
    pub environment: BTreeMap<String, String>,
    /// True if a shell waits in the program's place and becomes it only once its first line of input is [`GO`]; then no
    /// work is done before the process is recorded.
    pub waits: bool,
}

/// Digest of an [`Invocation`]: it tells two of them apart, and no secret of theirs.
pub type Digest = [u8; 32];

impl Invocation {
    /// Returns the digest of the program, its arguments and its environment.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut whole = ring::digest::Context::new(&ring::digest::SHA256);
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let variables = self.environment.iter().flat_map(|(name, value)| [name, value]);
        for (part, text) in words.map(|word| (b'w', word)).chain(variables.map(|text| (b'v', text))) {
            whole.update(&[part]);
            whole.update(&text.len().to_be_bytes());
            whole.update(text.as_bytes());
        }
        let mut digest = Digest::default();
        digest.copy_from_slice(whole.finish().as_ref());
        digest
    }
}

/// First line of input to a process that [waits](Invocation::waits). The input after it is the program's.
pub const GO: &[u8] = b"go\n";

/// State and rules of one runtime's own protocol, for one session: from lines of output to [`Happening`]s, and from
/// prompts to input.
pub trait Protocol: Send {
    /// Returns true if the runtime counts as ready once its process runs, because it prints nothing on its own.
    fn ready_at_start(&self) -> bool;

    /// Returns the bytes that give the runtime the session's prompt.
    fn prompt(&mut self, prompt: &str) -> Feed;

    /// Takes the pictures of the prompt or message that follows. A runtime without pictures ignores them.
    fn show(&mut self, _pictures: Vec<Picture>) {}

    /// Returns the way in which the runtime takes a message during the running turn.
    fn steer(&mut self, work: WorkId, text: &str) -> Steering;

    /// Returns the same as [`Protocol::steer`], for a message that has waited for long: if the running turn accepts
    /// nothing, it is cut short, provided that the runtime can start another one in the same session.
    fn insist(&mut self, work: WorkId, text: &str) -> Steering {
        self.steer(work, text)
    }

    /// Records that the bytes of [`Steering::Written`] are readable by the runtime.
    fn written(&mut self, _work: WorkId) {}

    /// Returns true if the session succeeded and the process can be given another one of the same conversation.
    fn stays(&self) -> bool {
        false
    }

    /// Handles a line that the process prints between two sessions. Returns true if it can still be given another one:
    /// it waits for nothing.
    fn between(&mut self, _line: &[u8]) -> bool {
        false
    }

    /// Gives a process that has stayed the prompt of another session.
    fn again(&mut self, _launch: &Launch, _happened: &mut Vec<Happening>) {}

    /// Returns the bytes that ask the runtime to end its turn; `None` if there is no way to ask.
    fn interrupt(&mut self) -> Option<Vec<u8>>;

    /// Answers [`Happening::Asked`] or [`Happening::Inquired`] with people's answer: produces a reply, or the next
    /// question of the same request; nothing if it does not wait any more.
    fn answer(&mut self, _key: AskKey, _told: &Told, _happened: &mut Vec<Happening>) {}

    /// Handles one line of standard output, without its end.
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>);

    /// Returns the outcome of the session, after its process exited and all output was read. `exit` is `None` if the
    /// process could not be waited for. Turns, usage and text are filled in here; the duration is not.
    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome;

    /// Returns the limit for which the runtime waits in silence, if it does: waiting for the end of a limit is not a
    /// hang.
    fn stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        None
    }

    /// Returns the limit for which the runtime waited in silence, for a runtime that reports it only when it exits.
    fn was_stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        None
    }

    /// Returns true if the exit code is the only result. Then 0 is a success only if the process was not told to exit,
    /// since many programs then exit with 0 without having done anything.
    fn tells_by_its_exit(&self) -> bool {
        false
    }

    /// Returns the maximum time for the process to exit after its result, if it is known not to exit by itself.
    fn leaves_within(&self) -> Option<Duration> {
        None
    }

    /// Returns true if the conversation to resume turned out not to exist.
    fn conversation_lost(&self, _stderr: &Tail) -> bool {
        false
    }
}

/// Reads a line of a protocol with `parse`. A blank line is ignored and an invalid one reported; a line with unpaired
/// surrogates is read as `mended`.
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

/// Builds the invocation for `launch` on this machine, and its protocol.
///
/// # Errors
/// The part that is missing.
pub fn prepare(launch: &Launch, local: &Local) -> Result<(Invocation, Box<dyn Protocol>), Detail> {
    let environment = furnished(launch, local)?;
    let (mut invocation, protocol): (Invocation, Box<dyn Protocol>) = match launch.spec.runtime {
        Runtime::Claude => {
            let (invocation, claude) = Claude::prepare(launch, local, environment);
            (invocation, Box::new(claude))
        }
        Runtime::Codex => {
            let (invocation, codex) = Codex::prepare(launch, local, environment);
            (invocation, Box::new(codex))
        }
        Runtime::Acp => {
            let (invocation, acp) = Acp::prepare(launch, local, environment)?;
            (invocation, Box::new(acp))
        }
        Runtime::Command => {
            let (invocation, command) = Command::prepare(launch, local, environment)?;
            (invocation, Box::new(command))
        }
    };
    isolation::enclose(launch, local, &mut invocation);
    Ok((invocation, protocol))
}

/// Returns the environment of an agent's process, once the folders are there that it names.
///
/// # Errors
/// The folder or file that cannot be created, or is missing.
pub(super) fn furnished(launch: &Launch, local: &Local) -> Result<BTreeMap<String, String>, Detail> {
    let mut environment = environment::of(launch, local);
    let read = environment::from_files(&launch.spec.env_files)?;
    // Before anything can print it; settings by command have not been looked at before.
    let texts = read.values().chain(launch.spec.env.values()).chain(&launch.spec.command);
    let mut secrets: Vec<SecretString> = texts.flat_map(|text| addresses::in_text(text)).collect();
    secrets.extend(read.values().cloned().map(SecretString::from));
    local.redactor.learn(&secrets);
    environment.extend(read);
    isolation::furnish(launch, local, &mut environment)?;
    Ok(environment)
}
