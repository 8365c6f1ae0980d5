//! The one way in: whoever speaks, from wherever, is checked, recorded and answered here.
//!
//! A line becomes a [`Heard`] ([`super::parse`]), its author a role ([`crate::access`]). What only looks
//! is answered at once and recorded soon after; what changes something carries its record into the decision ([`Asked`]), so that both are one
//! transaction. An answer to a change is in the outbox by then; every other answer is given back to the caller.

mod late;
mod request;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Data, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::info;

use super::desk::{Desk, Done, Failure};
use super::grammar::Roster;
use super::later;
use super::limits::Rate;
use super::link::Pending;
use super::parse::{self, Heard, Problem, Room, Scene};
use super::say::Voice;
use super::turns::{Turn, Turns};
use super::words::{bounded, fold};
use crate::access::{Access, Role, Standing};
use crate::chat::{Author, Inbound, Origin, Place};
use crate::clock;
use crate::config::DISCORD_NETWORK;
use crate::core::agent::Phase;
use crate::core::id::{AgentName, NetworkName, WorkId};
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::http::Logins;
use crate::journal::{AuditEntry, Journal, Stream};
use crate::l10n::{LOCALES, Locale};
use crate::outbox::clean::clean;
use crate::outbox::{Redactor, Target};
use crate::reload::Reloader;
use crate::supervisor::{AnswerTo, Asked, Fleet};
pub use late::{Handled, Over};
use late::{Handling, InHand, LATE_MAX};
pub use request::Reply;

/// The most of somebody's words in the record.
const AUDIT_MAX: usize = 400;

/// How long a line is waited for before whoever said it is told that it takes longer, and before what was said after it in
/// the same place is answered.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Said when herder itself fails over a line; no text of a locale, because whatever failed may be that.
pub(crate) const FAULT: &str = "That went wrong inside herder; its log has the cause. Nothing was done.";

/// What a [`Dispatcher`] is made of.
pub struct Setup {
    /// The agents.
    pub fleet: Fleet,
    /// Where logs and histories are read.
    pub journal: Journal,
    /// Who may do what.
    pub access: Access,
    /// The language of answers.
    pub locale: Locale,
    /// Takes secrets out of records and answers.
    pub redactor: Redactor,
    /// Control channels, by network.
    pub control: Vec<(NetworkName, String)>,
    /// Channels of the fleet, as they are on every network: no agent can be called so.
    pub channels: Vec<String>,
    /// Other bots that are listened to, by network and nick or, on Discord, user id.
    pub bots: Vec<(NetworkName, String)>,
    /// Exchanges of another bot with one agent in an hour, unless a person speaks.
    pub bot_exchanges: usize,
    /// Reads the configuration again, where there is one.
    pub reloader: Option<Reloader>,
    /// Logs people in to the page, where there is one.
    pub page: Option<Logins>,
    /// [`PATIENCE`] but in tests.
    pub patience: Duration,
}

/// Checks, records and carries out what people ask. Cheap to clone.
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
    /// All languages, the one of the posts first.
    locales: Vec<Locale>,
    /// The same with commands as they are given on Discord.
    on_discord: Vec<Locale>,
    /// The language of the posts, as it is typed in a shell.
    typed: Locale,
    redactor: Redactor,
    control: Vec<(NetworkName, String)>,
    channels: Vec<String>,
    bots: Vec<(NetworkName, String)>,
    bot_exchanges: usize,
    pub(super) reloader: Option<Reloader>,
    pub(super) page: Option<Logins>,
    memory: Mutex<Memory>,
    turns: Turns,
    patience: Duration,
    /// Places for lines that take longer.
    late: Arc<Semaphore>,
    /// Those lines.
    tasks: TaskTracker,
    /// The same, and the last ones that are over.
    in_hand: Mutex<InHand>,
}

/// What is remembered between lines. Across a restart only removals that wait to be confirmed are, in the journal: the
/// buttons of the question are still there then.
pub(super) struct Memory {
    pub(super) refusals: Rate,
    /// For lines that may just be talk among people.
    talk: Rate,
    pub(super) viewers: Rate,
    /// That it was too much, said once.
    viewers_told: Rate,
    bots: Rate,
    /// That a bot has had its share, said once.
    bots_told: Rate,
    pub(super) removals: HashMap<AgentName, Removal>,
    /// Who was told that an `abort` came after somebody else's answer to a call: which one, and when. Said again it is meant.
    pub(super) late_aborts: HashMap<(String, AgentName), (WorkId, Timestamp)>,
    /// Codes that were given on Discord.
    pub(super) links: HashMap<String, Pending>,
    /// Codes that were said, right or wrong.
    pub(super) link_tries: Rate,
}

/// A removal that waits to be confirmed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Removal {
    pub(super) code: String,
    pub(super) who: String,
    pub(super) until: Timestamp,
}

impl Dispatcher {
    /// Made once, shared by all networks and the local socket.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let minute = Duration::from_secs(60);
        let memory = Memory {
            // A stranger gets a word, a crowd of them does not get a flood.
            refusals: Rate::new(minute, 3, 20),
            talk: Rate::new(minute * 10, 1, 20),
            // With `viewers = ["*"]` anybody can ask; an answer is many times longer than a question.
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
                memory: Mutex::new(memory),
                turns: Turns::default(),
                patience: setup.patience,
                late: Arc::new(Semaphore::new(LATE_MAX)),
                tasks: TaskTracker::new(),
                in_hand: Mutex::default(),
            }),
        }
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Handles a live line. Answers the lines to give back where it was said; `None`: nothing is to be said, or the answer
    /// is already in the outbox.
    pub async fn handle(&self, inbound: Inbound) -> Option<Vec<String>> {
        self.handle_at(inbound, clock::now()).await
    }

    /// [`Dispatcher::handle`] at a given time.
    pub async fn handle_at(&self, inbound: Inbound, now: Timestamp) -> Option<Vec<String>> {
        self.handled_at(inbound, now).await.said()
    }

    /// [`Dispatcher::handle`] for a network that notes what became of each line.
    pub async fn handled(&self, inbound: Inbound) -> Handled {
        self.handled_at(inbound, clock::now()).await
    }

    /// Whoever says something that takes long is told so and answered later: one line that hangs, on a folder or on a
    /// supervisor that is ending what will not end, must not keep a whole place from being heard.
    async fn handled_at(&self, inbound: Inbound, now: Timestamp) -> Handled {
        if let Some(in_hand) = self.in_hand(&inbound) {
            return in_hand;
        }
        let (this, line) = (self.clone(), inbound.clone());
        let mut handling: Handling = Box::pin(async move { this.work_on(line, now).await });
        match timeout(self.inner.patience, &mut handling).await {
            Ok(handled) => handled,
            Err(_) => self.go_on(inbound, now, handling),
        }
    }

    async fn work_on(&self, inbound: Inbound, now: Timestamp) -> Handled {
        let inner = &*self.inner;
        // Whoever has read what became of an agent means the agent as it is since.
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
        let asked = inner.asked(&inbound, &heard, &room, &standing);
        let desk = Desk {
            inner,
            fleet: &inner.fleet,
            locale,
            asked,
            role: standing.role,
            now,
            long: inbound.author.origin == Origin::LocalSocket,
            who: person_key(&inbound.author),
            author: &inbound.author,
            private: matches!(inbound.place, Place::Direct(_)),
            under: None,
        };
        let only_looks = heard.only_looks();
        let done = desk.carry_out(heard).await;
        let is_fleeting = done.as_ref().is_ok_and(|answer| answer.is_fleeting);
        match inner.lines(voice, done).0 {
            lines if lines.is_empty() => Handled::Silently,
            lines if is_fleeting => Handled::Fleeting(lines),
            lines if only_looks => Handled::Looked(lines),
            lines => Handled::Lines(lines),
        }
    }
}

/// All languages, the one of the posts first.
fn all_locales(posts: Locale) -> Vec<Locale> {
    let others = LOCALES.iter().filter(|(name, _)| *name != posts.name());
    let others: Vec<Locale> = others.filter_map(|(name, _)| posts.other(name).ok()).collect();
    std::iter::once(posts).chain(others).collect()
}

/// Whom a rate counts for: whatever costs most to change.
pub(super) fn person_key(author: &Author) -> String {
    let host = author.mask.as_deref().and_then(|mask| mask.rsplit_once('@')).map(|(_, host)| host);
    let who = author.account.as_deref().or(host).unwrap_or(&author.nick);
    format!("{} {}", author.network, fold(who))
}

impl Roster for Inner {
    fn knows(&self, agent: &AgentName) -> bool {
        let view = self.fleet.view(agent);
        // One whose entries cannot be read is there, and cannot be seen.
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
    pub(super) fn voice<'a>(&'a self, locale: &'a Locale, now: Timestamp) -> Voice<'a> {
        Voice { locale, now, redactor: &self.redactor }
    }

    /// Waits until what was said of `agent` before is on its way to it: see [`Turns`].
    pub(super) async fn turn(&self, agent: &AgentName) -> Turn {
        self.turns.of(agent).await
    }

    /// The language of the posts.
    pub(super) fn default_locale(&self) -> &Locale {
        self.locales.first().expect("the language of the posts is always there")
    }

    /// The language of the posts, with commands as they are given on a network.
    pub(super) fn locale_on(&self, network: &NetworkName) -> &Locale {
        let of_discord = self.on_discord.first().filter(|_| network.as_str() == DISCORD_NETWORK);
        of_discord.unwrap_or_else(|| self.default_locale())
    }

    /// The language that somebody's Discord has; the posts' if there are no texts in it.
    pub(super) fn locale_on_discord(&self, name: &str) -> &Locale {
        let found = self.on_discord.iter().find(|locale| locale.speaks(name));
        found.or(self.on_discord.first()).unwrap_or_else(|| self.default_locale())
    }

    /// The language that `name` asks for; the posts' if there are no texts in it.
    pub(super) fn locale(&self, name: &str) -> &Locale {
        self.locales.iter().find(|locale| locale.speaks(name)).unwrap_or_else(|| self.default_locale())
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a line means, and in which room it was said.
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

    /// Whether the author may have this done. `Err`: no, and what they are told, if anything.
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

    /// Whether an agent's channel of this name is one of the fleet's.
    pub(super) fn is_channel(&self, name: &AgentName) -> bool {
        let own = |channel: &String| channel.trim_start_matches('#').eq_ignore_ascii_case(name.as_str());
        self.channels.iter().any(own)
    }

    fn is_bot(&self, author: &Author) -> bool {
        // On Discord a name can be chosen, an id cannot.
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

    /// A person's words let the bots of that agent speak again.
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

    /// The record of a line, and where its answer goes.
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

    /// The data with every text in it redacted.
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

    /// What was done, in lines without secrets.
    pub(super) fn lines(&self, voice: Voice<'_>, done: Done) -> (Vec<String>, Option<Data>) {
        let (lines, data) = match done {
            Ok(answer) => (answer.lines, answer.data),
            Err(Failure::Refusal(refusal)) => {
                (vec![voice.locale.refusal(&self.redactor.of(&refusal))], Some(json!(refusal)))
            }
            Err(Failure::Lines(lines)) => (lines, None),
        };
        let lines = lines.iter().map(|line| self.redactor.redact(line).into_owned()).collect();
        (lines, data.map(|data| self.without_secrets(data)))
    }
}

/// What a place is called in the record, and where what is said there is answered.
fn answer_goes_to(inbound: &Inbound, room: &Room) -> (String, Target) {
    match (&inbound.place, room) {
        (Place::Channel(name), Room::Agent(agent)) => (name.clone(), Target::Agent(agent.clone())),
        (Place::Channel(name), Room::Control) => (name.clone(), Target::Control),
        (Place::Channel(name), Room::Other | Room::Private) => (name.clone(), Target::Channel(name.clone())),
        (Place::Thread { id, .. }, _) => (id.clone(), Target::Channel(id.clone())),
        (Place::Direct(id), _) => ("private".to_owned(), inbound.author.in_private(id)),
    }
}

/// Whether a line may not have been meant for herder: people also talk in an agent's channel, and a refusal under each
/// of their lines would drown them.
fn is_talk(heard: &Heard) -> bool {
    match heard {
        Heard::Work { .. } | Heard::Problem(Problem::NoSuchAgent { .. } | Problem::AskBack { .. }) => true,
        Heard::Command(_) | Heard::Nothing => false,
        Heard::Problem(Problem::Unknown { .. } | Problem::Usage { .. } | Problem::Group { .. }) => false,
    }
}

/// The role that a line needs.
pub(super) fn needed(heard: &Heard) -> Role {
    match heard {
        Heard::Command(call) => call.command.role,
        Heard::Work { .. } => Role::Operator,
        Heard::Problem(_) | Heard::Nothing => Role::Viewer,
    }
}

/// The agent that a line is about.
fn agent_of(heard: &Heard) -> Option<&AgentName> {
    match heard {
        Heard::Command(call) => call.agent.as_ref(),
        Heard::Work { agent, .. } => Some(agent),
        Heard::Problem(Problem::AskBack { agent, .. }) => agent.as_ref(),
        Heard::Problem(_) | Heard::Nothing => None,
    }
}
