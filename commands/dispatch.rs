//! The single entry point: every line of every person is checked, recorded and answered here.
//!
//! A line becomes a [`Heard`] ([`super::parse`]), its author a role ([`crate::access`]). A command that only reads is
//! answered at once and recorded soon after; one that changes something carries its record into the decision
//! ([`Asked`]), so that both are one transaction. The reply to a change is in the outbox by then; every other reply
//! is returned to the caller.

mod fetched;
mod late;
mod request;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Data, json};
use tokio::sync::Semaphore;
use tokio::task::unconstrained;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::info;

use super::desk::{self, Desk, Done, Failure};
use super::grammar::Roster;
use super::later;
use super::limits::Rate;
use super::link::Pending;
use super::parse::{self, Heard, Problem, Room, Scene};
use super::say::Voice;
use super::turns::{Turn, Turns};
use super::words::{bounded, fold};
use crate::access::{Access, Logins, Standing};
use crate::clock;
use crate::core::agent::Phase;
use crate::core::clean::clean;
use crate::core::id::{AgentName, NetworkName, WorkId};
use crate::core::link::DISCORD_NETWORK;
use crate::core::post::Target;
use crate::core::role::Role;
use crate::core::speech::{Author, Inbound, Origin, Place};
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::files::FileRules;
use crate::journal::{AuditEntry, Journal, Stream};
use crate::l10n::{LOCALES, Locale};
use crate::numbers::Unheard;
use crate::redact::Redactor;
use crate::reload::Reloader;
use crate::supervisor::{AnswerTo, Asked, Fleet};
pub use late::{Handled, Over};
use late::{Handling, InHand, LATE_MAX};
pub use request::Reply;

/// Maximum length of a line's text in the audit trail, in characters.
const AUDIT_MAX: usize = 400;

/// Time after which the author of a line is told that its answer takes longer; later lines in the same place are
/// answered from then on.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Reply if herder itself fails over a line; no text of a locale, because the locale may be what failed.
pub(crate) const FAULT: &str = "That went wrong inside herder; its log has the cause. Nothing was done.";

/// Settings and services of a [`Dispatcher`].
pub struct Setup {
    /// The handle to the agents' supervisors.
    pub fleet: Fleet,
    /// The journal, from which logs and histories are read.
    pub journal: Journal,
    /// The access rules, which give people their roles.
    pub access: Access,
    /// The language of posts and replies.
    pub locale: Locale,
    /// Removes secrets from records and replies.
    pub redactor: Redactor,
    /// Name of the control channel of each network.
    pub control: Vec<(NetworkName, String)>,
    /// Names of the fleet's own channels (alerts, work, control); no agent can have such a name.
    pub channels: Vec<String>,
    /// Other bots to whose lines herder reacts, by network and nick or, on Discord, user id.
    pub bots: Vec<(NetworkName, String)>,
    /// Maximum number of lines per hour that another bot can send to one agent before a person speaks.
    pub bot_exchanges: usize,
    /// Reloads the configuration; `None` if there is no file.
    pub reloader: Option<Reloader>,
    /// Logs people in to the web page; `None` if the page is disabled.
    pub page: Option<Logins>,
    /// Limits on files that people attach or name by their addresses.
    pub files: FileRules,
    /// Time after which an author is told that a line takes longer: [`PATIENCE`], except in tests.
    pub patience: Duration,
}

/// Checks, records and carries out the lines of people from all networks. Cheap to clone.
#[derive(Clone)]
pub struct Dispatcher {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").finish_non_exhaustive()
    }
}

pub(super) struct Inner {
    pub(super) fleet: Fleet,
    pub(super) journal: Journal,
    pub(super) access: Access,
    /// The locales of all languages, with that of the posts first.
    locales: Vec<Locale>,
    /// Those locales, with command names in the form of Discord's slash commands.
    on_discord: Vec<Locale>,
    /// The locale of the posts, with command names in the form of a shell.
    typed: Locale,
    pub(super) redactor: Redactor,
    control: Vec<(NetworkName, String)>,
    channels: Vec<String>,
    bots: Vec<(NetworkName, String)>,
    bot_exchanges: usize,
    pub(super) reloader: Option<Reloader>,
    pub(super) page: Option<Logins>,
    pub(super) files: fetched::Files,
    memory: Mutex<Memory>,
    turns: Turns,
    patience: Duration,
    /// Permits for the lines that take longer than `PATIENCE`, to bound their number.
    late: Arc<Semaphore>,
    /// The tasks that continue lines which take longer.
    tasks: TaskTracker,
    /// The lines that take longer, and the last finished ones, by which a line that arrives again is recognised.
    in_hand: Mutex<InHand>,
}

/// State of the dispatcher between lines: rates and pending codes. Only removals that wait for confirmation survive a
/// restart, because the buttons of their question do too.
pub(super) struct Memory {
    pub(super) refusals: Rate,
    /// Rate of refusals of lines that may be talk among people.
    talk: Rate,
    pub(super) viewers: Rate,
    /// Rate of the remark that a viewer asks too often, which is made once.
    viewers_told: Rate,
    bots: Rate,
    /// Rate of the remark that a bot has used up its lines, which is made once.
    bots_told: Rate,
    pub(super) removals: HashMap<AgentName, Removal>,
    /// People whose `abort` was refused because another person had answered the call, with the call and the time. A
    /// repeated `abort` is carried out.
    pub(super) late_aborts: HashMap<(String, AgentName), (WorkId, Timestamp)>,
    /// Pending codes of `link`, with the Discord user who got each.
    pub(super) links: HashMap<String, Pending>,
    /// Rate of codes that people type for `link`, right or wrong.
    pub(super) link_tries: Rate,
}

/// The request to remove an agent, which has to be confirmed with a code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Removal {
    pub(super) code: String,
    pub(super) who: String,
    pub(super) until: Timestamp,
}

impl Dispatcher {
    /// Creates the dispatcher that all networks and the local socket share.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let minute = Duration::from_secs(60);
        let memory = Memory {
            // A stranger gets a reply, but a crowd does not cause a flood.
            refusals: Rate::new(minute, 3, 20),
            talk: Rate::new(minute * 10, 1, 20),
            // With `viewers = ["*"]` anybody can ask, and a reply is many times longer than a question.
            viewers: Rate::new(minute, 12, 60),
            viewers_told: Rate::new(minute, 1, 20),
            bots: Rate::new(minute * 60, setup.bot_exchanges, usize::MAX),
            bots_told: Rate::new(minute * 60, 1, usize::MAX),
            removals: HashMap::new(),
            late_aborts: HashMap::new(),
            links: HashMap::new(),
            link_tries: Rate::new(minute * 10, 5, 60),
        };
        Self {
            inner: Arc::new(Inner {
                fleet: setup.fleet,
                journal: setup.journal,
                access: setup.access,
                typed: setup.locale.in_form(super::shell::line),
                on_discord: all_locales(setup.locale.in_form(super::slash::line)),
                locales: all_locales(setup.locale),
                redactor: setup.redactor,
                control: setup.control,
                channels: setup.channels,
                bots: setup.bots,
                bot_exchanges: setup.bot_exchanges,
                reloader: setup.reloader,
                page: setup.page,
                files: fetched::Files::new(setup.files),
                memory: Mutex::new(memory),
                turns: Turns::default(),
                patience: setup.patience,
                late: Arc::new(Semaphore::new(LATE_MAX)),
                tasks: TaskTracker::new(),
                in_hand: Mutex::default(),
            }),
        }
    }

    /// Returns the limits on files that people attach.
    #[must_use]
    pub fn file_rules(&self) -> FileRules {
        self.inner.files.rules
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Handles one line of a person. Returns the lines to reply in the same place; `None` if there is no reply, or if
    /// it is in the outbox already.
    pub async fn handle(&self, inbound: Inbound) -> Option<Vec<String>> {
        self.handle_at(inbound, clock::now()).await
    }

    /// Handles one line like [`Dispatcher::handle`], as at the time `now`.
    pub async fn handle_at(&self, inbound: Inbound, now: Timestamp) -> Option<Vec<String>> {
        self.handled_at(inbound, now).await.said()
    }

    /// Handles one line like [`Dispatcher::handle`] and returns the full result, for a network that stores the result
    /// of each line.
    pub async fn handled(&self, inbound: Inbound) -> Handled {
        self.handled_at(inbound, clock::now()).await
    }

    /// Handles one line. If it takes longer than `PATIENCE`, its author is told so and gets the reply later, because
    /// one hanging line must not block a whole place.
    async fn handled_at(&self, inbound: Inbound, now: Timestamp) -> Handled {
        if let Some(in_hand) = self.in_hand(&inbound) {
            return in_hand;
        }
        let (this, line) = (self.clone(), inbound.clone());
        // A future that yields for the sake of others is woken in any order, and a later line would overtake it.
        let mut handling: Handling = Box::pin(unconstrained(async move { this.work_on(line, now).await }));
        match timeout(self.inner.patience, &mut handling).await {
            Ok(handled) => handled,
            Err(_) => self.go_on(inbound, now, handling),
        }
    }

    async fn work_on(&self, inbound: Inbound, now: Timestamp) -> Handled {
        let inner = &*self.inner;
        // The author may have read a post about an agent, and means the agent as it is since.
        inner.fleet.catch_up().await;
        let (heard, room) = inner.read(&inbound);
        if heard == Heard::Nothing {
            return Handled::Silently;
        }
        let locale = inner.locale_on(&inbound.author.network);
        let voice = inner.voice(locale, now);
        let standing = match inner.admit(&inbound.author, &heard, voice) {
            Ok(standing) => standing,
            Err(refused) => {
                info!(
                    network = %inbound.author.network, nick = inbound.author.nick, account = inbound.author.account,
                    mask = inbound.author.mask, told = refused.is_some(), "somebody without the role for it gave a command"
                );
                return refused.map_or(Handled::Silently, Handled::Lines);
            }
        };
        if let Some(question) = later::still(voice, &inbound, &heard) {
            return Handled::Lines(vec![question]);
        }
        let (given, unfetched) = inner.files_of(&inbound, &heard, voice).await;
        let asked = inner.asked(&inbound, &heard, &room, &standing);
        let desk = Desk {
            given,
            inner,
            fleet: &inner.fleet,
            locale,
            asked,
            role: standing.role,
            now,
            long: inbound.author.origin == Origin::LocalSocket,
            files: false,
            who: person_key(&inbound.author),
            author: &inbound.author,
            private: matches!(inbound.place, Place::Direct(_)),
            under: None,
            thread: inbound.thread(),
        };
        let only_looks = heard.only_looks();
        let done = desk.carry_out(heard).await;
        let is_fleeting = done.as_ref().is_ok_and(|answer| answer.is_fleeting);
        let mut lines = inner.lines(voice, done).0;
        lines.extend(unfetched);
        match lines {
            lines if lines.is_empty() => Handled::Silently,
            lines if is_fleeting => Handled::Fleeting(lines),
            lines if only_looks => Handled::Looked(lines),
            lines => Handled::Lines(lines),
        }
    }
}

/// Returns the locales of all languages, with that of the posts first.
fn all_locales(posts: Locale) -> Vec<Locale> {
    let others = LOCALES.iter().filter(|(name, _)| *name != posts.name());
    let others: Vec<Locale> = others.filter_map(|(name, _)| posts.other(name).ok()).collect();
    std::iter::once(posts).chain(others).collect()
}

/// Returns the key by which a person's rates are counted: the part of their identity that is hardest to change.
pub(super) fn person_key(author: &Author) -> String {
    let host = author.mask.as_deref().and_then(|mask| mask.rsplit_once('@')).map(|(_, host)| host);
    let who = author.account.as_deref().or(host).unwrap_or(&author.nick);
    format!("{} {}", author.network, fold(who))
}

impl Roster for Inner {
    fn knows(&self, agent: &AgentName) -> bool {
        let view = self.fleet.view(agent);
        // An agent whose entries cannot be read exists, but has no view.
        view.map_or_else(|| self.fleet.is_deserted(agent), |view| view.agent.phase != Phase::Removed)
    }

    fn names(&self) -> Vec<AgentName> {
        let seen = self.fleet.agents().into_iter().map(|view| view.name);
        seen.chain(self.fleet.unreadable()).collect()
    }

    fn remembers(&self, agent: &AgentName) -> bool {
        self.journal.has(&Stream::Agent(agent.clone()))
    }
}

impl Inner {
    /// Returns the locale of the posts, with command names in the form of a shell.
    pub(super) fn typed(&self) -> &Locale {
        &self.typed
    }

    pub(super) fn voice<'a>(&'a self, locale: &'a Locale, now: Timestamp) -> Voice<'a> {
        Voice { locale, now, redactor: &self.redactor }
    }

    /// Waits until earlier lines about `agent` have been passed to its supervisor: see [`Turns`].
    pub(super) async fn turn(&self, agent: &AgentName) -> Turn {
        self.turns.of(agent).await
    }

    /// Returns the locale of the posts.
    pub(super) fn default_locale(&self) -> &Locale {
        self.locales.first().expect("the language of the posts is always there")
    }

    /// Returns the locale of the posts, with command names in the form that a network uses.
    pub(super) fn locale_on(&self, network: &NetworkName) -> &Locale {
        let of_discord = self.on_discord.first().filter(|_| network.as_str() == DISCORD_NETWORK);
        of_discord.unwrap_or_else(|| self.default_locale())
    }

    /// Returns the locale of a person's Discord client; that of the posts if herder has no texts in that language.
    pub(super) fn locale_on_discord(&self, name: &str) -> &Locale {
        let found = self.on_discord.iter().find(|locale| locale.speaks(name));
        found.or(self.on_discord.first()).unwrap_or_else(|| self.default_locale())
    }

    /// Returns the locale of that name; that of the posts if herder has no texts in that language.
    pub(super) fn locale(&self, name: &str) -> &Locale {
        self.locales.iter().find(|locale| locale.speaks(name)).unwrap_or_else(|| self.default_locale())
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the meaning of a line, and the kind of place in which it was said.
    pub(super) fn read(&self, inbound: &Inbound) -> (Heard, Room) {
        let room = self.room(inbound);
        let scene =
            Scene { room: &room, own_nick: &inbound.own_nick, mentions: &inbound.mentions, roster: self };
        let heard = parse::line(&inbound.text, scene);
        (heard.spelled_out(|words| inbound.spelled_out(words)).with(&inbound.attached), room)
    }

    pub(super) fn room(&self, inbound: &Inbound) -> Room {
        let Some(channel) = inbound.place.channel() else { return Room::Private };
        let agent = channel.strip_prefix('#').and_then(|name| AgentName::new(name).ok());
        if let Some(agent) = agent.filter(|agent| self.knows(agent)) {
            return Room::Agent(agent);
        }
        let control = self
            .control
            .iter()
            .any(|(network, name)| *network == inbound.author.network && name.eq_ignore_ascii_case(channel));
        if control { Room::Control } else { Room::Other }
    }

    /// Checks that the author has the role for a line and is within the rates. The error is the reply; `None` if
    /// nothing is to be replied.
    pub(super) fn admit(
        &self,
        author: &Author,
        heard: &Heard,
        voice: Voice<'_>,
    ) -> Result<Standing, Option<Vec<String>>> {
        let now = voice.now;
        let key = person_key(author);
        let needed = needed(heard);
        let standing = match needed {
            Role::Anybody => Some(self.access.anybody(author)),
            Role::Viewer | Role::Operator | Role::Admin => self.access.standing(author),
        };
        let Some(standing) = standing.filter(|standing| standing.role >= needed) else {
            self.deny(author, heard);
            let mut memory = self.memory();
            let told = if is_talk(heard) { &mut memory.talk } else { &mut memory.refusals }.allows(&key, now);
            drop(memory);
            return Err(told.then(|| vec![self.needs_role(voice, heard, needed)]));
        };
        if self.is_bot(author) {
            let pair = format!("{key} {}", agent_of(heard).map_or("", AgentName::as_str));
            let mut memory = self.memory();
            if !memory.bots.allows(&pair, now) {
                let told = memory.bots_told.allows(&pair, now);
                drop(memory);
                let variables = [("count", self.bot_exchanges.into())];
                return Err(told.then(|| vec![voice.text("cmd-bot-has-had-its-share", &variables)]));
            }
        } else if author.origin == Origin::Network {
            self.person_spoke(heard);
        }
        if standing.role == Role::Anybody && !self.memory().refusals.allows(&key, now) {
            return Err(None);
        }
        if standing.role == Role::Viewer {
            let mut memory = self.memory();
            if !memory.viewers.allows(&key, now) {
                let told = memory.viewers_told.allows(&key, now);
                drop(memory);
                return Err(told.then(|| vec![voice.text("cmd-too-often", &[])]));
            }
        }
        Ok(standing)
    }

    /// Counts, for metrics, a line whose author lacks the role for it.
    pub(super) fn deny(&self, author: &Author, heard: &Heard) {
        let key = (desk::command_of(heard), author.network.clone(), Unheard::Denied);
        self.journal.numbers().unheard.add(&key, 1);
    }

    /// Returns true if `name` is also the name of a channel of the fleet, so that no agent can have it.
    pub(super) fn is_channel(&self, name: &AgentName) -> bool {
        let own = |channel: &String| channel.trim_start_matches('#').eq_ignore_ascii_case(name.as_str());
        self.channels.iter().any(own)
    }

    fn is_bot(&self, author: &Author) -> bool {
        // On Discord a name can be chosen, but an id cannot.
        let by_id = author.network.as_str() == DISCORD_NETWORK;
        let named = |bot: &str| {
            if by_id {
                author.account.as_deref() == Some(bot)
            } else {
                bot.eq_ignore_ascii_case(&author.nick)
            }
        };
        self.bots.iter().any(|(network, bot)| *network == author.network && named(bot))
    }

    /// Allows the bots that speak to an agent their full number of lines again, because a person has spoken to it.
    fn person_spoke(&self, heard: &Heard) {
        if self.bots.is_empty() {
            return;
        }
        let agent = agent_of(heard).map_or("", AgentName::as_str);
        let mut memory = self.memory();
        memory.bots.reset(&format!(" {agent}"));
        memory.bots_told.reset(&format!(" {agent}"));
    }

    fn needs_role(&self, voice: Voice<'_>, heard: &Heard, needed: Role) -> String {
        let role = ("role", needed.as_str().into());
        match heard {
            Heard::Work { agent, .. } => voice.text("cmd-needs-role-work", &[("agent", agent.into()), role]),
            Heard::Command(call) => {
                voice.text("cmd-needs-role", &[("command", call.command.name.into()), role])
            }
            Heard::Problem(_) | Heard::Nothing => voice.text("cmd-needs-role-any", &[role]),
        }
    }

    /// Builds the record of a line for the audit trail, and the destination of its reply.
    pub(super) fn asked(&self, inbound: &Inbound, heard: &Heard, room: &Room, standing: &Standing) -> Asked {
        let author = &inbound.author;
        let verb = match heard {
            Heard::Command(call) => call.command.name,
            Heard::Work { .. } => "work",
            Heard::Problem(_) | Heard::Nothing => "",
        };
        let (place, to) = answer_goes_to(inbound, room);
        Asked {
            audit: AuditEntry {
                by: Actor {
                    network: author.network.clone(),
                    name: author.nick.clone(),
                    identity: standing.identity.clone(),
                },
                place,
                agent: agent_of(heard).cloned(),
                verb: verb.to_owned(),
                text: bounded(&self.redactor.redact(&clean(&inbound.spelled_out(&inbound.text))), AUDIT_MAX),
            },
            answer: Some(AnswerTo {
                network: author.network.clone(),
                to,
                nick: author.nick.clone(),
                posted: true,
                owed_under: None,
            }),
            message: inbound.message.clone(),
        }
    }

    /// Returns JSON data with the secrets in every text redacted.
    fn without_secrets(&self, data: Data) -> Data {
        match data {
            Data::String(text) => Data::String(self.redactor.redact(&text).into_owned()),
            Data::Array(items) => items.into_iter().map(|item| self.without_secrets(item)).collect(),
            Data::Object(entries) => {
                entries.into_iter().map(|(key, value)| (key, self.without_secrets(value))).collect()
            }
            Data::Null | Data::Bool(_) | Data::Number(_) => data,
        }
    }

    /// Converts the result of a command to lines for people and data for programs, without secrets.
    pub(super) fn lines(&self, voice: Voice<'_>, done: Done) -> (Vec<String>, Option<Data>) {
        let (lines, data) = match done {
            Ok(answer) => (answer.lines, answer.data),
            Err(Failure::Refusal(refusal)) => {
                (vec![voice.locale.refusal(&self.redactor.of(&refusal))], Some(json!(refusal)))
            }
            Err(Failure::Lines(lines)) => (lines, None),
            Err(Failure::Mistakes { head, mistakes }) => (
                std::iter::once(head).chain(mistakes.into_iter().map(|mistake| mistake.line)).collect(),
                None,
            ),
        };
        let lines = lines.iter().map(|line| self.redactor.redact(&clean(line)).into_owned()).collect();
        (lines, data.map(|data| self.without_secrets(data)))
    }
}

/// Returns the name of a line's place for the audit trail, and the target of replies there.
fn answer_goes_to(inbound: &Inbound, room: &Room) -> (String, Target) {
    match (&inbound.place, room) {
        (Place::Channel(name), Room::Agent(agent)) => (name.clone(), Target::Agent(agent.clone())),
        (Place::Channel(name), Room::Control) => (name.clone(), Target::Control),
        (Place::Channel(name), Room::Other | Room::Private) => (name.clone(), Target::Channel(name.clone())),
        (Place::Thread { id, .. }, _) => (id.clone(), Target::Channel(id.clone())),
        (Place::Direct(id), _) => ("private".to_owned(), inbound.author.in_private(id)),
    }
}

/// Returns true if a line may not have been meant for herder: people also talk in an agent's channel, and must not get
/// a refusal for each of their lines.
fn is_talk(heard: &Heard) -> bool {
    match heard {
        Heard::Work { .. } | Heard::Problem(Problem::NoSuchAgent { .. } | Problem::AskBack { .. }) => true,
        Heard::Command(_) | Heard::Nothing => false,
        Heard::Problem(Problem::Unknown { .. } | Problem::Usage { .. } | Problem::Group { .. }) => false,
    }
}

/// Returns the role that the author of a line needs.
pub(super) fn needed(heard: &Heard) -> Role {
    match heard {
        Heard::Command(call) => call.command.role,
        Heard::Work { .. } => Role::Operator,
        Heard::Problem(_) | Heard::Nothing => Role::Viewer,
    }
}

/// Returns the agent that a line is about; `None` if it is about none.
fn agent_of(heard: &Heard) -> Option<&AgentName> {
    match heard {
        Heard::Command(call) => call.agent.as_ref(),
        Heard::Work { agent, .. } => Some(agent),
        Heard::Problem(Problem::AskBack { agent, .. }) => agent.as_ref(),
        Heard::Problem(_) | Heard::Nothing => None,
    }
}
