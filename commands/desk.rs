//! The context in which a command runs: the line of one person, the services that commands use, and the forms of a
//! reply.

use std::time::Duration;

use serde_json::{Value as Data, json};
use tokio::time::Instant;
use tracing::error;

use super::Verb;
use super::answers::{Found, Last, WholeSession};
use super::dispatch::{Inner, Removal};
use super::grammar::Call;
use super::parse::Heard;
use super::say::Voice;
use crate::chart::Chart;
use crate::core::card::{Card, ChatThread};
use crate::core::file::KeptFile;
use crate::core::id::{AgentName, SessionId, WorkId};
use crate::core::input::Control;
use crate::core::notice::{Notice, Refusal};
use crate::core::role::Role;
use crate::core::speech::Author;
use crate::core::time::Timestamp;
use crate::core::usage::Unit;
use crate::core::watch::Watch;
use crate::core::work::WorkKind;
use crate::journal::{Looked, ReadError, Recorded, Stream};
use crate::l10n::Locale;
use crate::numbers::Unheard;
use crate::supervisor::{Asked, Fleet, View};

/// Maximum number of lines of a list in a chat; a last line tells how many are left out.
const LIST_MAX: usize = 10;

/// Maximum number of journal entries shown in a chat. The shell gets as many as it asks for.
const ENTRIES_MAX: usize = 20;

/// Maximum length of one text in a reply to a chat, and to the shell, in characters.
const TEXT_MAX: (usize, usize) = (1200, 64 * 1024);

/// Time within which the removal of an agent has to be confirmed.
const CONFIRM_WITHIN: Duration = Duration::from_secs(60);

/// The reply of a command that was carried out.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) lines: Vec<String>,
    pub(super) data: Option<Data>,
    /// A chart with the unit of its amounts, for networks that show files; `None` if the reply has none.
    pub(super) picture: Option<Box<(Chart, Unit)>>,
    /// A diff that is shown as a block and as a file, for networks that show files; `None` if the reply has none.
    pub(super) diff: Option<Box<Attached>>,
    /// True if the reply is of no use after a restart of herder, so that it is not stored, e.g. a code.
    pub(super) is_fleeting: bool,
}

impl Answer {
    pub(super) fn lines(lines: Vec<String>) -> Self {
        Self { lines, data: None, picture: None, diff: None, is_fleeting: false }
    }

    pub(super) fn fleeting(self) -> Self {
        Self { is_fleeting: true, ..self }
    }

    pub(super) fn drawn(self, chart: Chart, unit: Unit) -> Self {
        Self { picture: (!chart.is_empty()).then(|| Box::new((chart, unit))), ..self }
    }

    pub(super) fn beside(self, diff: Attached) -> Self {
        Self { diff: Some(Box::new(diff)), ..self }
    }

    pub(super) fn with(self, data: Data) -> Self {
        Self { data: Some(data), ..self }
    }
}

/// A text that is attached to a reply as a file, with its beginning in a block of code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attached {
    /// Name of the file.
    pub name: String,
    /// The text, without secrets.
    pub text: String,
}

/// Reason why a command was not carried out.
#[derive(Debug)]
pub(super) enum Failure {
    /// A refusal by the core, which decides about agents.
    Refusal(Refusal),
    /// Lines that the command itself replies.
    Lines(Vec<String>),
    /// The given options or settings are invalid.
    Mistakes {
        /// The first line of the reply, which says so.
        head: String,
        /// The mistakes, in the order in which they were found.
        mistakes: Vec<Mistake>,
    },
}

/// A mistake in one option or setting of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Name of the option or setting.
    pub key: String,
    /// A sentence about the mistake, which names the key.
    pub line: String,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refusal(refusal)
    }
}

/// The result of a command: its reply, or the reason why it was not carried out.
pub(super) type Done = Result<Answer, Failure>;

/// Returns the name of a line's command for metrics: `work` for work, `unknown` for a line that is no command.
pub(super) fn command_of(heard: &Heard) -> &'static str {
    match heard {
        Heard::Command(call) => call.command.name,
        Heard::Work { .. } => "work",
        Heard::Problem(_) | Heard::Nothing => "unknown",
    }
}

/// The context in which a command runs, for one line of one person.
pub(super) struct Desk<'a> {
    pub(super) inner: &'a Inner,
    pub(super) fleet: &'a Fleet,
    /// The language of the reply.
    pub(super) locale: &'a Locale,
    pub(super) asked: Asked,
    pub(super) role: Role,
    pub(super) now: Timestamp,
    /// True if the reply goes to a terminal or program, which gets more than a chat.
    pub(super) long: bool,
    /// True if the reply can be accompanied by a file.
    pub(super) files: bool,
    /// Files that go with the work that the line gives.
    pub(super) given: Vec<KeptFile>,
    /// Key of the person, by which rates are counted and confirmations recognised.
    pub(super) who: String,
    /// The author of the line, as authenticated by the network.
    pub(super) author: &'a Author,
    /// True if only the author sees the reply.
    pub(super) private: bool,
    /// Time of the post under which the author pressed a button; `None` for a line.
    pub(super) under: Option<Timestamp>,
    /// The thread in which the line was said; `None` outside of threads.
    pub(super) thread: Option<ChatThread>,
}

impl<'a> Desk<'a> {
    pub(super) async fn carry_out(&self, heard: Heard) -> Done {
        let command = command_of(&heard);
        self.counted(command, self.carried_out(heard)).await
    }

    /// Runs a command and counts its duration and its refusal, for metrics.
    async fn counted(&self, command: &'static str, done: impl Future<Output = Done>) -> Done {
        let begun = Instant::now();
        let done = done.await;
        let numbers = self.inner.journal.numbers();
        numbers.command_seconds.observe(begun.elapsed());
        if done.is_err() {
            numbers.unheard.add(&(command, self.author.network.clone(), Unheard::Refused), 1);
        }
        done
    }

    async fn carried_out(&self, heard: Heard) -> Done {
        let only_looks = heard.only_looks();
        match heard {
            Heard::Nothing => Ok(Answer::lines(Vec::new())),
            Heard::Problem(problem) => Err(Failure::Lines(super::answers::problem(self.voice(), &problem))),
            Heard::Work { agent, text } => self.give(&agent, WorkKind::Message, text).await,
            Heard::Command(call) => {
                if only_looks {
                    self.fleet.record_soon(&self.asked).await?;
                }
                self.call(&call).await
            }
        }
    }

    /// Carries out a command that only reads, without recording it in the audit trail; any other line as usual.
    pub(super) async fn look(&self, heard: Heard) -> Done {
        match heard {
            Heard::Command(call) if call.command.effect == super::Effect::Looks => {
                self.counted(call.command.name, self.call(&call)).await
            }
            heard => self.carry_out(heard).await,
        }
    }

    async fn call(&self, call: &Call) -> Done {
        match call.command.verb {
            Verb::Pause => super::pause::run(self, call).await,
            Verb::Handoff => super::handoff::run(self, call).await,
            Verb::Resume => super::resume::run(self, call).await,
            Verb::Abort => super::abort::run(self, call).await,
            Verb::Restart => super::restart::run(self, call).await,
            Verb::StopAll => super::stop_all::run(self).await,
            Verb::ResumeAll => super::resume_all::run(self).await,
            Verb::Status => super::status::run(self, call),
            Verb::Usage => super::usage::run(self, call),
            Verb::AgentAdd => super::agent::add(self, call).await,
            Verb::AgentEdit => super::agent::edit(self, call).await,
            Verb::AgentRemove => super::agent::remove(self, call).await,
            Verb::AgentList => super::agent::list(self),
            Verb::AgentShow => super::agent::show(self, call),
            Verb::TaskAdd => super::task::add(self, call).await,
            Verb::TaskNew => super::task::begin(self, call).await,
            Verb::TaskOpen => super::task::open(self, call).await,
            Verb::TaskDrop => super::task::drop_clone(self, call).await,
            Verb::Accept => super::review::accept(self, call).await,
            Verb::Reject => super::review::reject(self, call).await,
            Verb::TaskList => super::task::list(self, call),
            Verb::TaskShow => super::task::show(self, call).await,
            Verb::TaskDiff => super::task::diff::run(self, call).await,
            Verb::TaskAssign => super::task::assign(self, call).await,
            Verb::TaskSplit => super::task::split(self, call).await,
            Verb::TaskCancel => super::task::cancel(self, call).await,
            Verb::Approve => super::approve::approve(self, call).await,
            Verb::Deny => super::approve::deny(self, call).await,
            Verb::Answer => super::approve::answer(self, call).await,
            Verb::RuleList => super::approve::rules(self, call),
            Verb::RuleRemove => super::approve::remove(self, call).await,
            Verb::RunnerList => super::runner::list(self),
            Verb::RunnerDrain => super::runner::drain(self, call, true).await,
            Verb::RunnerOpen => super::runner::drain(self, call, false).await,
            Verb::RunnerRemove => super::runner::remove(self, call).await,
            Verb::Ack => super::ack::run(self, call).await,
            Verb::Mark => super::mark::run(self, call).await,
            Verb::Queue => super::queue::run(self, call),
            Verb::Clear => super::clear::run(self, call).await,
            Verb::Whisper => super::whisper::run(self, call).await,
            Verb::Log => super::log::run(self, call).await,
            Verb::History => super::history::run(self, call).await,
            Verb::Audit => super::audit::run(self, call).await,
            Verb::Reload => super::reload::run(self).await,
            Verb::Help => super::help::run(self, call),
            Verb::Link => super::link::run(self, call).await,
            Verb::Whoami => super::whoami::run(self),
            Verb::Page => super::page::run(self, call).await,
        }
    }

    /// Returns the agent for which `known` is true, i.e. to which the number of a call or whisper belongs.
    pub(super) fn one_of(
        &self,
        id: WorkId,
        views: Vec<View>,
        known: impl Fn(&Watch) -> bool,
    ) -> Result<AgentName, Failure> {
        let view = views.into_iter().find(|view| known(&view.agent.watch));
        Ok(view.ok_or(Refusal::NoSuchNumber { id })?.name)
    }

    pub(super) fn voice(&self) -> Voice<'a> {
        self.inner.voice(self.locale, self.now)
    }

    /// Returns the agent that a command names; the error is the usage line.
    pub(super) fn agent<'c>(&self, call: &'c Call) -> Result<&'c AgentName, Failure> {
        call.agent.as_ref().ok_or_else(|| Failure::Lines(vec![format!("!{}", call.command.usage())]))
    }

    /// Returns the state of the agent that a command names.
    pub(super) fn view(&self, call: &Call) -> Result<View, Failure> {
        let agent = self.agent(call)?;
        let unseen = || match self.fleet.is_deserted(agent) {
            true => Refusal::Deserted { agent: agent.clone() },
            false => Refusal::NoSuchAgent { agent: agent.to_string(), nearest: None },
        };
        Ok(self.fleet.view(agent).ok_or_else(unseen)?)
    }

    /// Returns the record of the line with `agent` as the agent that it is about.
    pub(super) fn asked_for(&self, agent: &AgentName) -> Asked {
        let mut asked = self.asked.clone();
        asked.audit.agent = Some(agent.clone());
        asked
    }

    pub(super) async fn control(&self, call: &Call, control: Control) -> Done {
        let notice = self.ask(self.agent(call)?, control, self.asked.clone()).await?;
        Ok(self.accepted(&notice))
    }

    /// Passes a command to an agent's supervisor, once earlier lines about the same agent have reached it.
    pub(super) async fn ask(
        &self,
        agent: &AgentName,
        control: Control,
        asked: Asked,
    ) -> Result<Notice, Refusal> {
        drop(self.inner.turn(agent).await);
        self.fleet.control(agent, control, asked).await
    }

    pub(super) async fn give(&self, agent: &AgentName, kind: WorkKind, text: String) -> Done {
        drop(self.inner.turn(agent).await);
        let card = Card { thread: self.thread.clone(), files: self.given.clone(), ..Card::default() };
        let card = (card != Card::default()).then(|| Box::new(card));
        let notice = self.fleet.give_with(agent, (kind, text), card, self.asked.clone()).await?;
        Ok(self.accepted(&notice))
    }

    /// Returns the reply to an accepted change: without lines if the reply is posted with the decision.
    pub(super) fn accepted(&self, notice: &Notice) -> Answer {
        let lines = if self.posted() {
            Vec::new()
        } else {
            vec![self.locale.notice(&self.voice().redactor.of(notice))]
        };
        Answer::lines(lines).with(json!(notice))
    }

    /// Returns true if the reply to a change is posted with the decision, and not returned to the caller.
    pub(super) fn posted(&self) -> bool {
        self.asked.answer.as_ref().is_some_and(|answer| answer.posted)
    }

    /// Returns as many lines of a list as fit a chat, and a line that tells how many are left out.
    pub(super) fn first(&self, lines: impl ExactSizeIterator<Item = String>) -> Vec<String> {
        let all = lines.len();
        if self.long || all <= LIST_MAX {
            return lines.collect();
        }
        let mut lines: Vec<String> = lines.take(LIST_MAX).collect();
        lines.push(self.voice().text("cmd-more", &[("count", (all - LIST_MAX).into())]));
        lines
    }

    /// Returns the number of journal entries to show: the one that the command names, else `usual`; bounded in a chat.
    pub(super) fn wanted(&self, call: &Call, usual: usize) -> usize {
        let count = call.count.map_or(usual, |count| usize::try_from(count).unwrap_or(usize::MAX));
        if self.long { count } else { count.min(ENTRIES_MAX) }
    }

    /// Returns the maximum length of one text in the reply, in characters.
    pub(super) fn text_max(&self) -> usize {
        if self.long { TEXT_MAX.1 } else { TEXT_MAX.0 }
    }

    /// Returns the last entries of a journal stream that match `fits`.
    pub(super) async fn history(
        &self,
        stream: Stream,
        wanted: usize,
        fits: impl Fn(&Recorded) -> bool + Send + 'static,
    ) -> Result<Found, Failure> {
        let looked = self.inner.journal.look_back(stream, Last::new(wanted, fits), Last::take).await;
        let Looked { gathered, whole, unreadable } = looked.map_err(|reason| self.unread(&reason))?;
        Ok(gathered.found(whole, unreadable))
    }

    /// Returns the turns and the end of one session from the journal.
    pub(super) async fn session(&self, agent: &AgentName, session: SessionId) -> Result<Found, Failure> {
        let stream = Stream::Agent(agent.clone());
        let looked =
            self.inner.journal.look_back(stream, WholeSession::of(session), WholeSession::take).await;
        let Looked { gathered, whole, unreadable } = looked.map_err(|reason| self.unread(&reason))?;
        Ok(gathered.found(whole, unreadable))
    }

    /// Runs a read of the journal on a blocking thread; the error is the reply.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, Failure> {
        let read = tokio::task::spawn_blocking(read).await.map_err(|panic| self.unread(&panic))?;
        read.map_err(|reason| self.unread(&reason))
    }

    fn unread(&self, reason: &dyn std::fmt::Display) -> Failure {
        error!(%reason, "history could not be read");
        Failure::Lines(vec![self.voice().text("cmd-history-failed", &[])])
    }

    /// Records that the author wants to remove an agent, and returns the code that confirms it.
    pub(super) async fn ask_removal(&self, agent: &AgentName) -> Result<String, Failure> {
        self.fleet.record(&self.asked_for(agent)).await?;
        let code = code::<4>().ok_or_else(|| Refusal::Fault { agent: agent.clone() })?;
        let until = self.now.after(CONFIRM_WITHIN);
        let removal = Removal { code: code.clone(), who: self.who.clone(), until };
        if !self.inner.removal_asked(agent, removal, self.now).await {
            return Err(Refusal::Fault { agent: agent.clone() }.into());
        }
        Ok(code)
    }

    /// Returns true if `word` is the code that confirms a removal which the same person requested. A code can be tried
    /// once, by that person only.
    pub(super) async fn removal_confirmed(&self, agent: &AgentName, word: &str) -> bool {
        let taken = self.inner.removal_taken(agent, |removal| removal.who == self.who).await;
        taken.is_some_and(|removal| removal.until > self.now && removal.code == word)
    }
}

/// Returns a random code of characters that are not easily confused.
pub(super) fn code<const LENGTH: usize>() -> Option<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = [0_u8; LENGTH];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}
