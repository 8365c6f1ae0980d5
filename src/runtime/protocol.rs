//! The seam between the driver's loop and a runtime's own language.
//!
//! A [`Protocol`] turns lines into [`Happening`]s and intentions (prompt, steer, interrupt) into bytes. It is told
//! everything and does nothing: no clock, no process, no channel. A new runtime is one more implementation and one more
//! arm in [`prepare`]; the loop in `session` stays as it is.

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

/// What a line on the stream meant, in the terms that all runtimes share. Any line at all is proof of life as well.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// The runtime is up, and can resume this conversation later.
    Ready {
        /// The conversation's name, if it has one.
        conversation: Option<String>,
    },
    /// The conversation that was to be resumed cannot be: a new one begins.
    ConversationLost {
        /// What the runtime said of it.
        why: String,
    },
    /// A turn began: also one that follows a result, because a message had been steered in at the last moment.
    TurnStarted,
    /// Words of the agent.
    Words(String),
    /// A line of a program's output, which as a whole is the session's text.
    Output(String),
    /// A tool call began.
    ToolStarted {
        /// The runtime's id of the call.
        id: String,
        /// The tool's name.
        name: String,
        /// What it is to do.
        call: Box<Call>,
    },
    /// More is known of a tool call that began.
    ToolDescribed {
        /// The runtime's id of the call.
        id: String,
        /// What it is to do.
        call: Box<Call>,
    },
    /// A tool call ended.
    ToolEnded {
        /// The runtime's id of the call.
        id: String,
        /// What came of it.
        end: Box<End>,
    },
    /// Turns and usage of the session so far.
    Progress {
        /// Turns.
        turns: u32,
        /// Tokens and money.
        reading: Reading,
    },
    /// Something worth keeping for `log`, such as a retry.
    Note(String),
    /// The turn is over. Unless another [`Happening::TurnStarted`] follows, the session is.
    TurnEnded,
    /// The turn is over, and what was said in mid-turn and not taken in yet is another one: the runtime can be answered on.
    AnotherFollows,
    /// The runtime waits for this on its standard input: an answer, or the next step of a conversation.
    Reply(Vec<u8>),
    /// The runtime took a message into the running turn.
    Steered {
        /// Which.
        work: WorkId,
    },
    /// The runtime did not take a message after all.
    NotTaken {
        /// Which.
        work: WorkId,
    },
    /// The turn was cut short so that the agent hears of something, and another one follows.
    TurnCut,
    /// The agent asks whether it may do something, and waits for [`Protocol::answer`].
    Asked {
        /// What the answer is given to.
        key: AskKey,
        /// The tool.
        tool: String,
        /// The exact command, or what stands for it.
        command: String,
        /// Whether what is always asked is looked for in it.
        shell: bool,
        /// Whether it is known by a name alone.
        vague: bool,
    },
    /// The agent asks for words or a choice, and waits for [`Protocol::answer`].
    Inquired {
        /// What the answer is given to.
        key: AskKey,
        /// The question.
        inquiry: Box<Inquiry>,
        /// Its place among the questions of one call; `None`: it is the only one.
        part: Option<Part>,
    },
    /// The agent does not wait for the answer any more.
    AskWithdrawn {
        /// Which.
        key: AskKey,
    },
    /// The line could not be understood.
    Malformed,
}

/// Bytes for the child's standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feed {
    /// What to write.
    pub bytes: Vec<u8>,
    /// Whether standard input is closed afterwards.
    pub close: bool,
}

/// What becomes of a message for the running turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steering {
    /// The runtime cannot take it: it stays queued.
    Refused,
    /// These bytes hand it over: [`Protocol::written`] follows, and it is delivered when [`Happening::Steered`] says so.
    Written(Vec<u8>),
    /// These bytes, if any, ask for it: it is delivered when [`Happening::Steered`] says so.
    Asked(Vec<u8>),
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program as it was configured, looked up in the child's own `PATH`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
}

/// A runtime's own language.
pub trait Protocol: Send {
    /// Whether the runtime counts as ready once its process runs, because it says nothing on its own.
    fn ready_at_start(&self) -> bool;

    /// The session's prompt.
    fn prompt(&mut self, prompt: &str) -> Feed;

    /// A message for the running turn.
    fn steer(&mut self, work: WorkId, text: &str) -> Steering;

    /// A message that has waited for long enough: where the running turn takes nothing, it is cut short for it, if the runtime
    /// can be asked for another one in the same session.
    fn insist(&mut self, work: WorkId, text: &str) -> Steering {
        self.steer(work, text)
    }

    /// The bytes of [`Steering::Written`] are where the runtime can read them.
    fn written(&mut self, _work: WorkId) {}

    /// Asks the runtime to end its turn; `None` if there is no way to ask.
    fn interrupt(&mut self) -> Option<Vec<u8>>;

    /// The answer to [`Happening::Asked`] or [`Happening::Inquired`]: a reply follows, or the next question of the same call;
    /// nothing if nothing waits for it.
    fn answer(&mut self, _key: AskKey, _told: &Told, _happened: &mut Vec<Happening>) {}

    /// One line of standard output, without its end.
    fn line(&mut self, line: &[u8], happened: &mut Vec<Happening>);

    /// How the session ended, once its process has left and everything it said was read. `exit` is `None` if the process
    /// could not be waited for. Turns, usage and text are the protocol's to fill; the duration is not.
    fn outcome(&mut self, exit: Option<Exit>, stderr: &Tail) -> Outcome;

    /// What the runtime said last that it waits for, if that is why it is silent: a limit whose end it sleeps through is no
    /// hang.
    fn stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        None
    }

    /// The limit that the runtime was silent over, if it told of it only when it left.
    fn was_stalled(&self, _stderr: &Tail) -> Option<Outcome> {
        None
    }

    /// Whether an exit code is all that it says of how it went: then one of 0 is a success only of a process that was not told
    /// to leave, which many do so in good order with nothing done.
    fn tells_by_its_exit(&self) -> bool {
        false
    }

    /// How long the process is given to leave after its work, if it is known not to leave by itself.
    fn leaves_within(&self) -> Option<Duration> {
        None
    }

    /// Whether the conversation that was to be resumed turned out not to exist.
    fn conversation_lost(&self, _stderr: &Tail) -> bool {
        false
    }
}

/// A line as `parse` reads it. A blank one says nothing; one that is none of the protocol's is counted. One that only half a
/// character is wrong with is read as `mended`.
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

/// What to run for `launch`, and the language to speak with it.
///
/// # Errors
/// What is missing.
pub fn prepare(launch: &Launch) -> Result<(Invocation, Box<dyn Protocol>), Detail> {
    let mut environment = environment::of(launch);
    let read = environment::from_files(&launch.spec)?;
    // Before anything can repeat it.
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
