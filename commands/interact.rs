//! Commands that a network delivers by name, with options: checked, recorded and carried out as a line is, but the answer
//! is given back, in the language of whoever asked.

use std::collections::BTreeSet;

use serde_json::Value as Data;
use tracing::info;

use super::desk::Desk;
use super::dispatch::{Dispatcher, Inner, needed, person_key};
use super::options::{self, Given};
use super::parse::{Heard, Problem, Room};
use super::say::Voice;
use super::{COMMANDS, Command};
use crate::access::{Role, Standing};
use crate::chat::{Author, Inbound, Place};
use crate::clock;
use crate::core::id::AgentName;
use crate::core::time::Timestamp;
use crate::l10n::Locale;

/// A command by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured {
    /// Who gives it.
    pub author: Author,
    /// Where.
    pub place: Place,
    /// Its name, e.g. `agent add`.
    pub command: String,
    /// Its options.
    pub given: Given,
    /// The language of the answer, as the network names it; the posts' if there are no texts in it.
    pub language: String,
    /// When the post was decided under which it is a button.
    pub under: Option<Timestamp>,
    /// Whether the answer is shown where it was given: then what would say the same there is left out.
    pub shown: bool,
    /// As what the answer to a change is owed on disk until it was given ([`Fleet::given`]); `None`: herder may be gone before
    /// it is.
    ///
    /// [`Fleet::given`]: crate::supervisor::Fleet::given
    pub owed_under: Option<String>,
}

/// The answer to a [`Structured`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answered {
    /// It was not done.
    pub refused: bool,
    /// For people, in neutral markup.
    pub lines: Vec<String>,
    /// For programs.
    pub data: Option<Data>,
}

impl Answered {
    fn refused(lines: Vec<String>) -> Self {
        Self { refused: true, lines, data: None }
    }
}

impl Dispatcher {
    /// Carries a command out and gives its answer back. What it changes is posted as if it had been said in a channel.
    pub async fn interact(&self, structured: &Structured) -> Answered {
        self.interact_at(structured, clock::now()).await
    }

    /// [`Dispatcher::interact`] at a given time.
    pub async fn interact_at(&self, structured: &Structured, now: Timestamp) -> Answered {
        let inner = self.inner();
        let locale = inner.locale_on_discord(&structured.language);
        let voice = inner.voice(locale, now);
        let heard = heard(inner, structured);
        let standing = match admitted(inner, structured, &heard, voice) {
            Ok(standing) => standing,
            Err(told) => return Answered::refused(told),
        };
        let inbound = as_said(structured, now);
        let room = inner.room(&inbound);
        let mut asked = inner.asked(&inbound, &heard, &room, &standing);
        asked.answer = asked.answer.filter(|_| structured.shown);
        let private = named(&structured.command).is_some_and(|command| command.is_private(standing.role));
        if let Some(answer) = &mut asked.answer {
            (answer.posted, answer.owed_under) = (false, structured.owed_under.clone());
            if let Some(person) = structured.author.account.as_deref().filter(|_| private) {
                answer.to = structured.author.in_private(person);
            }
        }
        let desk = Desk {
            inner,
            fleet: &inner.fleet,
            locale,
            asked,
            role: standing.role,
            now,
            long: false,
            who: person_key(&structured.author),
            author: &structured.author,
            under: structured.under,
            private,
        };
        // Boxed: whoever waits for an interaction has room for the way it came, not for every command.
        let done = Box::pin(desk.carry_out(heard)).await;
        let refused = done.is_err();
        let (lines, data) = inner.lines(voice, done);
        Answered { refused, lines, data }
    }

    /// Whether the author could have this done if what a form asks for were given too: asked before somebody fills one in.
    /// Asking is not having it done, and counts towards no rate.
    ///
    /// # Errors
    /// What they are told instead.
    pub fn may(&self, structured: &Structured) -> Result<(), Vec<String>> {
        let inner = self.inner();
        let mut complete = structured.clone();
        if let Some(command) = named(&structured.command) {
            let missing = command.form().iter().filter(|field| structured.given.get(field.name).is_none());
            // Stands for whatever will be filled in.
            let filled = missing.map(|field| (field.name.to_owned(), "=".to_owned()));
            complete.given.0.retain(|(_, value)| !value.trim().is_empty());
            complete.given.0.extend(filled);
        }
        let voice = inner.voice(inner.locale_on_discord(&structured.language), clock::now());
        let heard = heard(inner, &complete);
        suffices(inner, structured, &heard, voice)?;
        let standing = inner.access.anybody(&structured.author);
        if !has_room(inner, &structured.author, standing.role, voice.now) {
            return Err(vec![voice.text("cmd-too-often", &[])]);
        }
        match heard {
            Heard::Problem(problem) => Err(super::answers::problem(voice, &problem)),
            Heard::Command(_) | Heard::Work { .. } | Heard::Nothing => Ok(()),
        }
    }

    /// The ids of everybody on Discord who is named by theirs in the rules.
    #[must_use]
    pub fn discord_users(&self) -> BTreeSet<String> {
        self.inner().access.discord_users()
    }

    /// The role of somebody, if they have one.
    #[must_use]
    pub fn role(&self, author: &Author) -> Option<Role> {
        self.inner().access.role(author)
    }

    /// The language that `name` asks for; the posts' if there are no texts in it.
    #[must_use]
    pub fn locale(&self, name: &str) -> &Locale {
        self.inner().locale(name)
    }
}

fn named(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().copied().find(|command| command.name == name)
}

/// What the command means, in the same terms as a line.
fn heard(inner: &Inner, structured: &Structured) -> Heard {
    let Some(command) = named(&structured.command) else {
        return Heard::Problem(Problem::Unknown { word: structured.command.clone(), nearest: None });
    };
    let room = inner.room(&as_said(structured, Timestamp::default()));
    match options::fit(command, &structured.given, here(&room), inner) {
        Ok(call) => Heard::Command(call),
        Err(why) => Heard::Problem(Problem::Usage { command, why, or_work: None }),
    }
}

fn here(room: &Room) -> Option<&AgentName> {
    match room {
        Room::Agent(agent) => Some(agent),
        Room::Control | Room::Other | Room::Private => None,
    }
}

/// The line that would have said the same.
fn as_said(structured: &Structured, now: Timestamp) -> Inbound {
    let text = match named(&structured.command) {
        Some(command) => structured.given.said(command),
        None => structured.command.clone(),
    };
    Inbound {
        author: structured.author.clone(),
        place: structured.place.clone(),
        text,
        mentions: Vec::new(),
        attached: String::new(),
        own_nick: String::new(),
        at: now,
        message: None,
    }
}

/// Who it is, if they may; else what they are told. Nobody but they see it, so that it is never left out.
fn admitted(
    inner: &Inner,
    structured: &Structured,
    heard: &Heard,
    voice: Voice<'_>,
) -> Result<Standing, Vec<String>> {
    suffices(inner, structured, heard, voice)?;
    inner
        .admit(&structured.author, heard, voice)
        .map_err(|told| told.unwrap_or_else(|| vec![voice.text("cmd-too-often", &[])]))
}

/// Whether their role is enough for the command; else what they are told.
fn suffices(
    inner: &Inner,
    structured: &Structured,
    heard: &Heard,
    voice: Voice<'_>,
) -> Result<(), Vec<String>> {
    let author = &structured.author;
    // What a command needs is needed to be told why it does not fit, too: a stranger learns nothing by trying.
    let command = named(&structured.command);
    let needs = command.map_or_else(|| needed(heard), |command| command.role);
    if inner.access.anybody(author).role >= needs {
        return Ok(());
    }
    info!(
        network = %author.network, nick = author.nick, account = author.account, command = structured.command,
        "somebody without the role for it gave a command"
    );
    let role = ("role", needs.as_str().into());
    Err(vec![match command {
        Some(command) => voice.text("cmd-needs-role", &[("command", command.name.into()), role]),
        None => voice.text("cmd-needs-role-any", &[role]),
    }])
}

/// Whether somebody of that role is answered once more, by the rates that [`Inner::admit`] counts.
fn has_room(inner: &Inner, author: &Author, role: Role, now: Timestamp) -> bool {
    let (key, mut memory) = (person_key(author), inner.memory());
    match role {
        Role::Anybody => memory.refusals.has_room(&key, now),
        Role::Viewer => memory.viewers.has_room(&key, now),
        Role::Operator | Role::Admin => true,
    }
}
