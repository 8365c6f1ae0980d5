//! Commands with options that a network delivers by name: checked, recorded and carried out like a line, but the
//! reply is returned, in the author's language.

use std::collections::BTreeSet;

use serde_json::Value as Data;
use tracing::info;

pub use super::desk::{Attached, Mistake};
use super::desk::{Desk, Failure};
use super::dispatch::{Dispatcher, Inner, needed, person_key};
use super::grammar::Misfit;
use super::options::{self, Given, SETTINGS};
use super::parse::{Heard, Problem, Room};
use super::say::Voice;
use super::{COMMANDS, Command, Verb};
use crate::access::Standing;
use crate::chart::Chart;
use crate::clock;
use crate::core::id::AgentName;
use crate::core::notice::Refusal;
use crate::core::role::Role;
use crate::core::speech::{Author, Inbound, Place};
use crate::core::time::Timestamp;
use crate::core::usage::Unit;
use crate::l10n::Locale;

/// A command that a network delivers by name with options: a slash command, a button or a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structured {
    /// The person who gives the command.
    pub author: Author,
    /// The channel or conversation in which the command is given.
    pub place: Place,
    /// Name of the command, e.g. `agent add`.
    pub command: String,
    /// The options with their values.
    pub given: Given,
    /// Language of the reply, by the network's name for it; without texts in it, the language of the posts is used.
    pub language: String,
    /// Time of the post under which a button was pressed; `None` for other commands.
    pub under: Option<Timestamp>,
    /// True if the reply is shown in the place of the command: posts with the same content are then not sent there.
    pub shown: bool,
    /// Key under which the reply to a change is stored until it was delivered ([`Fleet::given`]); `None` if it is not
    /// stored.
    ///
    /// [`Fleet::given`]: crate::supervisor::Fleet::given
    pub owed_under: Option<String>,
}

/// The reply to a [`Structured`] command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answered {
    /// True if the command was not carried out.
    pub refused: bool,
    /// The reply as lines for people, in neutral markup.
    pub lines: Vec<String>,
    /// The reply as JSON for programs; `None` if there is none.
    pub data: Option<Data>,
    /// The mistakes in the given options; `lines` name them as well.
    pub mistakes: Vec<Mistake>,
    /// A chart as the bytes of a PNG file; `None` if the reply has none.
    pub picture: Option<Vec<u8>>,
    /// A diff that is shown as a block and as a file; `None` if the reply has none.
    pub diff: Option<Attached>,
}

impl Answered {
    fn refused(lines: Vec<String>) -> Self {
        Self { refused: true, lines, ..Self::default() }
    }
}

/// Draws a chart as PNG on a blocking thread, because that takes some hundredths of a second; `None` if it fails.
async fn drawn((chart, unit): (Chart, Unit), locale: Locale) -> Option<Vec<u8>> {
    let drawing = move || crate::chart::png::png(&chart, |amount| locale.amount(unit, amount));
    tokio::task::spawn_blocking(drawing).await.ok().flatten()
}

impl Dispatcher {
    /// Carries out a command that was given by name and returns its reply. Its effects are posted as for a line in a
    /// channel.
    pub async fn interact(&self, structured: &Structured) -> Answered {
        self.interact_at(structured, clock::now()).await
    }

    /// Carries out a command like [`Dispatcher::interact`], as at the time `now`.
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
            given: Vec::new(),
            inner,
            fleet: &inner.fleet,
            locale,
            asked,
            role: standing.role,
            now,
            long: false,
            files: true,
            who: person_key(&structured.author),
            author: &structured.author,
            under: structured.under,
            thread: inbound.thread(),
            private,
        };
        let unclosed = matches!(&heard, Heard::Problem(Problem::Usage { why: Misfit::Unclosed(_), .. }));
        // Boxed, so that a task waiting for an interaction reserves no room for the largest command.
        let mut done = Box::pin(desk.carry_out(heard)).await;
        let refused = done.is_err();
        let picture = match done.as_mut().ok().and_then(|answer| answer.picture.take()) {
            Some(picture) => drawn(*picture, locale.clone()).await,
            None => None,
        };
        let diff = done.as_mut().ok().and_then(|answer| answer.diff.take()).map(|diff| *diff);
        let mut mistakes = match &done {
            Err(Failure::Mistakes { mistakes, .. }) => mistakes.clone(),
            _ => Vec::new(),
        };
        let (lines, data) = inner.lines(voice, done);
        if let Some(line) = lines.first().filter(|_| unclosed) {
            mistakes.push(Mistake { key: SETTINGS.to_owned(), line: line.clone() });
        }
        for mistake in &mut mistakes {
            mistake.line = inner.redactor.redact(&mistake.line).into_owned();
        }
        Answered { refused, lines, data, mistakes, picture, diff }
    }

    /// Checks, before a form is shown, that the author may give the command once the form is filled in. The check
    /// counts towards no rate.
    ///
    /// # Errors
    /// The reply instead.
    pub fn may(&self, structured: &Structured) -> Result<(), Vec<String>> {
        let inner = self.inner();
        let mut complete = structured.clone();
        if let Some(command) = named(&structured.command) {
            let missing = command.form().iter().filter(|field| structured.given.get(field.name).is_none());
            // Stands for the values that will be filled in.
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
            Heard::Command(call) if call.command.verb == Verb::AgentAdd => {
                may_be_named(inner, voice, call.word.as_deref().unwrap_or_default())
            }
            Heard::Command(_) | Heard::Work { .. } | Heard::Nothing => Ok(()),
        }
    }

    /// Returns the ids of all Discord users that the access rules name by id.
    #[must_use]
    pub fn discord_users(&self) -> BTreeSet<String> {
        self.inner().access.discord_users()
    }

    /// Returns the role of a person; `None` without one.
    #[must_use]
    pub fn role(&self, author: &Author) -> Option<Role> {
        self.inner().access.role(author)
    }

    /// Returns the locale of that name; that of the posts if herder has no texts in that language.
    #[must_use]
    pub fn locale(&self, name: &str) -> &Locale {
        self.inner().locale(name)
    }
}

/// Checks that a new agent can have the name `word`; the error is the reply.
fn may_be_named(inner: &Inner, voice: Voice<'_>, word: &str) -> Result<(), Vec<String>> {
    let name = super::agent::new_name(inner, voice, word).map_err(|line| vec![line])?;
    if inner.fleet.view(&name).is_some() {
        return Err(vec![voice.locale.refusal(&Refusal::AgentExists { agent: name })]);
    }
    Ok(())
}

fn named(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().copied().find(|command| command.name == name)
}

/// Parses a command that was given by name into the meaning that a line would have.
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

/// Builds the chat line that would have the same meaning as a command given by name.
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
        files: Vec::new(),
        own_nick: String::new(),
        at: now,
        message: None,
    }
}

/// Checks that the author has the role for the command and is within the rates; the error is the reply, which is always
/// given because only the author sees it.
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

/// Checks that the author has the role for the command; the error is the reply.
fn suffices(
    inner: &Inner,
    structured: &Structured,
    heard: &Heard,
    voice: Voice<'_>,
) -> Result<(), Vec<String>> {
    let author = &structured.author;
    // The command's role is also needed for the reason why it does not fit, so that a stranger learns nothing by
    // trying.
    let command = named(&structured.command);
    let needs = command.map_or_else(|| needed(heard), |command| command.role);
    if inner.access.anybody(author).role >= needs {
        return Ok(());
    }
    inner.deny(author, heard);
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

/// True if an author of that role gets one more reply, by the rates that [`Inner::admit`] counts.
fn has_room(inner: &Inner, author: &Author, role: Role, now: Timestamp) -> bool {
    let (key, mut memory) = (person_key(author), inner.memory());
    match role {
        Role::Anybody => memory.refusals.has_room(&key, now),
        Role::Viewer => memory.viewers.has_room(&key, now),
        Role::Operator | Role::Admin => true,
    }
}
