//! Buttons: Resume, Abort and Transcript under what calls for somebody, ✅ and ❌ under what has to be confirmed.
//!
//! A button's id says all that is needed to act on it ([`super::custom_id`]), so that it works for as long as its message
//! is there, also after a restart. Whether it still means something follows from the agent: a post calls for somebody
//! while the agent stands still since then. The first answer wins, from wherever it comes: messages with buttons are
//! remembered ([`Prompt`]), and when their agent goes on, whoever made it go on takes the place of the buttons.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serenity::all::{
    ButtonStyle, ChannelId, ComponentInteraction, CreateActionRow, CreateButton, MessageId, ReactionType,
};
use tokio::sync::mpsc;
use tracing::{error, warn};

use super::Bot;
use super::custom_id::{Answer, Confirm, CustomId};
use super::interactions::{Asker, locale};
use super::reply::{self, Reply};
use super::rest::{RestError, code};
use crate::commands::interact::{Answered, Structured};
use crate::commands::options::Given;
use crate::commands::{Command, Verb};
use crate::core::agent::Phase;
use crate::core::event::Event;
use crate::core::id::AgentName;
use crate::core::notice::Notice;
use crate::core::time::Timestamp;
use crate::core::work::Actor;
use crate::journal::{Entry, Memo, Stream};
use crate::l10n::Locale;
use crate::outbox::{Body, Post};
use crate::supervisor::View;

/// Messages with buttons that were just sent and are not yet followed. Few posts have buttons; the one who sends them
/// waits for room.
pub(super) const PROMPTS_CAPACITY: usize = 64;

/// Under which keys messages with buttons are remembered.
const PREFIX: &str = "discord/prompt/";

/// The first and the longest wait before a message whose buttons could not be changed is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));

/// Entries of an agent that are looked at for who made it go on.
const LOOK_BACK: usize = 100;

/// The longest label of a button, in characters.
const LABEL_MAX: usize = 80;

/// The longest name of somebody on a button.
const NAME_MAX: usize = 32;

/// A message with buttons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Prompt {
    agent: AgentName,
    at: Timestamp,
    channel: ChannelId,
    message: MessageId,
}

impl Prompt {
    fn key(&self) -> String {
        format!("{PREFIX}{}/{}", self.agent, self.message)
    }
}

/// What somebody did about a post, where it was not done on Discord too.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    /// The command.
    command: &'static str,
    by: Actor,
}

/// The agent that a post calls somebody for.
fn calls_for(body: &Body) -> Option<&AgentName> {
    let Body::Notice(notice) = body else { return None };
    match notice {
        Notice::Billing { agent, .. }
        | Notice::Auth { agent }
        | Notice::Budget { agent }
        | Notice::DoNotRestart { agent, .. }
        | Notice::PausedWithAccount { agent, .. }
        | Notice::AccountBlocked { agent, .. }
        | Notice::NeedsIntervention { agent, .. }
        | Notice::Degraded { agent, .. }
        | Notice::Survivors { agent, .. }
        | Notice::Paused { agent } => Some(agent),
        _ => None,
    }
}

/// The rows of buttons under a post.
pub(super) fn rows(post: &Post, locale: &Locale) -> Vec<CreateActionRow> {
    calls_for(&post.body).map(|agent| open_row(locale, agent, post.at, None)).into_iter().collect()
}

fn answer_button(locale: &Locale, answer: Answer, agent: &AgentName, at: Timestamp) -> CreateButton {
    let (label, style) = match answer {
        Answer::Resume => ("button-resume", ButtonStyle::Success),
        Answer::Abort => ("button-abort", ButtonStyle::Danger),
        Answer::Transcript => ("button-transcript", ButtonStyle::Secondary),
    };
    let id = CustomId::Answer { answer, agent: agent.clone(), at };
    CreateButton::new(id.to_string()).label(locale.text(label, &[])).style(style)
}

/// What can be answered; after the work was given up the agent still stands still.
fn open_row(locale: &Locale, agent: &AgentName, at: Timestamp, aborted: Option<&Done>) -> CreateActionRow {
    let button = |answer| answer_button(locale, answer, agent, at);
    let abort = match aborted {
        Some(done) => answered_button(locale, Some(done), agent, at),
        None => button(Answer::Abort),
    };
    CreateActionRow::Buttons(vec![button(Answer::Resume), abort, button(Answer::Transcript)])
}

/// Who has answered, and what happened can still be read.
fn closed_row(locale: &Locale, prompt: (&AgentName, Timestamp), done: Option<&Done>) -> CreateActionRow {
    let (agent, at) = prompt;
    CreateActionRow::Buttons(vec![
        answered_button(locale, done, agent, at),
        answer_button(locale, Answer::Transcript, agent, at),
    ])
}

/// What stands where buttons were. It cannot be pressed, but Discord wants an id of every button.
fn answered_button(locale: &Locale, done: Option<&Done>, agent: &AgentName, at: Timestamp) -> CreateButton {
    let label = match done {
        Some(done) => locale.text(
            "button-answered",
            &[
                ("action", action(locale, done.command).into()),
                ("name", short(&done.by.name).into()),
                ("network", done.by.network.as_str().into()),
            ],
        ),
        None => locale.text("button-over", &[]),
    };
    let id = CustomId::Answer { answer: Answer::Abort, agent: agent.clone(), at };
    CreateButton::new(id.to_string()).label(cut(&label)).style(ButtonStyle::Secondary).disabled(true)
}

/// A command as a button calls it.
fn action(locale: &Locale, command: &str) -> String {
    match command {
        "resume" => locale.text("button-resume", &[]),
        "abort" => locale.text("button-abort", &[]),
        other => other.to_owned(),
    }
}

fn short(name: &str) -> String {
    crate::commands::words::bounded(name, NAME_MAX)
}

fn cut(label: &str) -> String {
    label.chars().take(LABEL_MAX).collect()
}

/// ✅ and ❌ under the question whether an agent is to be removed.
pub(super) fn confirming(
    locale: &Locale,
    command: Option<&Command>,
    answered: &Answered,
) -> Vec<CreateActionRow> {
    let asks = command.is_some_and(|command| command.verb == Verb::AgentRemove) && !answered.refused;
    let text = |key: &str| answered.data.as_ref().and_then(|data| data[key].as_str());
    let (true, Some(agent), Some(code)) = (asks, text("agent"), text("code")) else { return Vec::new() };
    let Ok(agent) = AgentName::new(agent) else { return Vec::new() };
    let button = |confirm, emoji: &str, label, style| {
        let id = CustomId::Confirm { confirm, agent: agent.clone(), code: code.to_owned() };
        CreateButton::new(id.to_string())
            .label(locale.text(label, &[]))
            .emoji(ReactionType::Unicode(emoji.to_owned()))
            .style(style)
    };
    vec![CreateActionRow::Buttons(vec![
        button(Confirm::Remove, "✅", "button-remove", ButtonStyle::Danger),
        button(Confirm::Keep, "❌", "button-keep", ButtonStyle::Secondary),
    ])]
}

/// Whether a post still calls for somebody: the agent stands still, and has since before the post.
fn is_open(view: &View, at: Timestamp) -> bool {
    let halted = match view.agent.phase {
        Phase::Paused { .. } | Phase::NeedsIntervention | Phase::Degraded => true,
        Phase::Idle
        | Phase::Starting { .. }
        | Phase::Running { .. }
        | Phase::Stopping { .. }
        | Phase::Waiting { .. }
        | Phase::Removed => false,
    };
    halted && view.agent.since <= at
}

/// A button was pressed.
pub(super) async fn pressed(bot: &Arc<Bot>, asker: &Asker, press: &ComponentInteraction) {
    match press.data.custom_id.parse() {
        Ok(CustomId::Answer { answer: Answer::Transcript, agent, .. }) => {
            let structured = asker.structured(Answer::Transcript.command(), of(&agent, None));
            let answering = async {
                let answered = bot.ports.dispatcher.interact(&structured).await;
                Reply { private: true, ..Reply::of(answered) }
            };
            reply::answer(bot, asker, true, answering).await;
        }
        Ok(CustomId::Answer { answer, agent, at }) => answered(bot, asker, press, (answer, &agent, at)).await,
        Ok(CustomId::Confirm { confirm, agent, code }) => {
            confirmed(bot, asker, press, (confirm, &agent, &code)).await;
        }
        Ok(CustomId::Form { .. }) | Err(_) => {
            let told = Reply::to_them(locale(bot, asker).text("answer-unknown", &[]));
            reply::at_once(bot, asker, &told).await;
        }
    }
}

fn of(agent: &AgentName, code: Option<&str>) -> Given {
    let agent = ("agent".to_owned(), agent.to_string());
    let code = code.map(|code| ("code".to_owned(), code.to_owned()));
    Given(std::iter::once(agent).chain(code).collect())
}

/// What a press leads to: the message with other buttons, or something for whoever pressed.
enum Pressed {
    Buttons(Vec<CreateActionRow>),
    Told(Reply),
}

async fn answered(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    (answer, agent, at): (Answer, &AgentName, Timestamp),
) {
    let deciding = async {
        // One press at a time, so that the second sees what the first has done.
        let _first = bot.pressing.lock().await;
        let open = bot.ports.fleet.view(agent).is_some_and(|view| is_open(&view, at));
        if !open {
            return Pressed::Told(too_late(bot, asker, agent, at).await);
        }
        let structured = Structured {
            // The message shows who answered, not what the agent does now.
            shown: false,
            ..asker.structured(answer.command(), of(agent, None))
        };
        let answered = bot.ports.dispatcher.interact(&structured).await;
        if answered.refused {
            return Pressed::Told(Reply { private: true, ..Reply::of(answered) });
        }
        let by = Actor { network: bot.network(), name: asker.author.nick.clone(), identity: None };
        let done = Done { command: answer.command(), by };
        let still = bot.ports.fleet.view(agent).is_some_and(|view| is_open(&view, at));
        let posts = &bot.ports.locale;
        Pressed::Buttons(vec![if still {
            open_row(posts, agent, at, Some(&done))
        } else {
            closed_row(posts, (agent, at), Some(&done))
        }])
    };
    show(bot, asker, press, deciding).await;
}

async fn confirmed(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    (confirm, agent, code): (Confirm, &AgentName, &str),
) {
    let posts = &bot.ports.locale;
    let structured = asker.structured("agent remove", of(agent, Some(code)));
    let deciding = async {
        if let Err(lines) = bot.ports.dispatcher.may(&structured) {
            return Pressed::Told(Reply { lines, private: true, rows: Vec::new() });
        }
        let waits = bot.ports.dispatcher.removal_waits(agent, code).await;
        let (label, id) = match confirm {
            // The question is over: its buttons say so from now on.
            _ if !waits => (posts.text("button-over", &[]), confirm),
            Confirm::Remove => {
                let answered = bot.ports.dispatcher.interact(&structured).await;
                if answered.refused {
                    return Pressed::Told(Reply { private: true, ..Reply::of(answered) });
                }
                let name = short(&asker.author.nick);
                let action = posts.text("button-remove", &[]);
                let variables = [
                    ("action", action.into()),
                    ("name", name.into()),
                    ("network", bot.network().as_str().to_owned().into()),
                ];
                (posts.text("button-answered", &variables), Confirm::Remove)
            }
            Confirm::Keep => {
                if let Err(lines) = bot.ports.dispatcher.keep_agent(&structured, agent, code).await {
                    return Pressed::Told(Reply { lines, private: true, rows: Vec::new() });
                }
                let name = short(&asker.author.nick);
                (posts.text("button-kept", &[("name", name.into())]), Confirm::Keep)
            }
        };
        let id = CustomId::Confirm { confirm: id, agent: agent.clone(), code: code.to_owned() };
        let button = CreateButton::new(id.to_string()).label(cut(&label)).style(ButtonStyle::Secondary);
        Pressed::Buttons(vec![CreateActionRow::Buttons(vec![button.disabled(true)])])
    };
    show(bot, asker, press, deciding).await;
}

/// Shows what a press led to: at once, or after an acknowledgement that nobody sees.
async fn show(
    bot: &Arc<Bot>,
    asker: &Asker,
    press: &ComponentInteraction,
    deciding: impl Future<Output = Pressed>,
) {
    let mut deciding = std::pin::pin!(deciding);
    let soon = reply::soon(asker);
    if let Some(soon) = soon
        && let Ok(pressed) = tokio::time::timeout(soon, &mut deciding).await
    {
        match pressed {
            Pressed::Told(told) => reply::at_once(bot, asker, &told).await,
            Pressed::Buttons(rows) => {
                let update = json!({ "type": 7, "data": { "components": rows } });
                if let Err(reason) = bot.rest.respond(asker.id, &asker.token, &update).await {
                    warn!(%reason, "a press could not be acknowledged");
                    change_once(bot, press, &rows).await;
                }
            }
        }
        return;
    }
    if let Err(reason) = bot.rest.respond(asker.id, &asker.token, &json!({ "type": 6 })).await {
        warn!(%reason, "a press could not be acknowledged");
        if soon.is_none() {
            // It came late, and whoever pressed was told that it failed.
            return;
        }
    }
    match deciding.await {
        Pressed::Told(told) => {
            if let Err(reason) = reply::aside(bot, asker, &told).await {
                warn!(%reason, "whoever pressed a button could not be told");
            }
        }
        Pressed::Buttons(rows) => change_once(bot, press, &rows).await,
    }
}

async fn change_once(bot: &Bot, press: &ComponentInteraction, rows: &[CreateActionRow]) {
    if let Err(reason) = change(bot, press.channel_id, press.message.id, rows).await {
        warn!(%reason, "the buttons of a message could not be changed");
    }
}

/// Puts other buttons under a message. One that is gone needs none, and what Discord does not take it will never take.
///
/// # Errors
/// It may be taken later.
async fn change(
    bot: &Bot,
    channel: ChannelId,
    message: MessageId,
    rows: &[CreateActionRow],
) -> Result<(), RestError> {
    let change = json!({ "components": rows });
    match bot.rest.edit_message(channel, message, &change).await {
        Err(gone) if matches!(gone.code(), Some(code::UNKNOWN_MESSAGE | code::UNKNOWN_CHANNEL)) => Ok(()),
        Err(reason @ RestError::Refused { .. }) if reason.is_final() => {
            warn!(%reason, "the buttons of a message cannot be changed");
            Ok(())
        }
        answer => answer,
    }
}

/// To somebody whose answer comes after another.
async fn too_late(bot: &Bot, asker: &Asker, agent: &AgentName, at: Timestamp) -> Reply {
    let locale = locale(bot, asker);
    // Who may not answer is told that, and not who did.
    if let Err(lines) = bot.ports.dispatcher.may(&asker.structured(Answer::Resume.command(), of(agent, None)))
    {
        return Reply { lines, private: true, rows: Vec::new() };
    }
    Reply::to_them(match who(bot, agent, at).await {
        Some(done) => locale.text(
            "prompt-late",
            &[
                ("name", short(&done.by.name).into()),
                ("network", done.by.network.as_str().into()),
                ("action", action(locale, done.command).into()),
            ],
        ),
        None => locale.text("prompt-over", &[("agent", agent.into())]),
    })
}

/// Who made an agent go on since a post.
async fn who(bot: &Bot, agent: &AgentName, at: Timestamp) -> Option<Done> {
    let (journal, stream) = (bot.ports.journal.clone(), Stream::Agent(agent.clone()));
    let read = tokio::task::spawn_blocking(move || journal.history(&stream, LOOK_BACK, None)).await;
    let entries = match read {
        Ok(Ok(entries)) => entries,
        Ok(Err(reason)) => {
            error!(%reason, "who answered a post cannot be read");
            return None;
        }
        Err(_) => return None,
    };
    entries.into_iter().filter(|recorded| recorded.at >= at).find_map(|recorded| match recorded.entry {
        Entry::Agent(event) => went_on(event),
        Entry::Fleet(_) | Entry::Audit(_) => None,
    })
}

/// The command that made an agent go on, if the event is from one.
fn went_on(event: Event) -> Option<Done> {
    match event {
        Event::Resumed { by } | Event::AccountOpened { by } => Some(Done { command: "resume", by }),
        Event::Reset { by } => Some(Done { command: "restart", by }),
        Event::Removed { by } => Some(Done { command: "agent remove", by }),
        _ => None,
    }
}

/// A post with buttons reached a channel: remembered, and followed.
pub(super) async fn posted(bot: &Bot, post: &Post, channel: ChannelId, message: MessageId) {
    let Some(agent) = calls_for(&post.body) else { return };
    let prompt = Prompt { agent: agent.clone(), at: post.at, channel, message };
    let Ok(value) = serde_json::to_string(&prompt) else { return };
    if let Err(reason) =
        bot.ports.journal.remember(vec![Memo { key: prompt.key(), value: Some(value) }]).await
    {
        error!(%reason, "a message with buttons could not be remembered");
    }
    if bot.prompts.send(prompt).await.is_err() {
        warn!("nobody follows the messages with buttons; the next start does");
    }
}

/// Follows the messages with buttons, until dropped: when their agent goes on, they show who made it.
pub(super) async fn keep(bot: Arc<Bot>, mut sent: mpsc::Receiver<Prompt>) {
    let mut followed = FuturesUnordered::new();
    for prompt in remembered(&bot).await.into_values() {
        followed.push(followed_to_its_end(&bot, prompt));
    }
    loop {
        tokio::select! {
            prompt = sent.recv() => {
                let Some(prompt) = prompt else { return };
                followed.push(followed_to_its_end(&bot, prompt));
            }
            Some(()) = followed.next(), if !followed.is_empty() => {}
        }
    }
}

/// Shows who answered once somebody has, however long Discord is away. A message is forgotten when that is done, so that
/// after a restart it is gone on with.
async fn followed_to_its_end(bot: &Bot, prompt: Prompt) {
    let prompt = settled(bot, prompt).await;
    let done = who(bot, &prompt.agent, prompt.at).await;
    let row = [closed_row(&bot.ports.locale, (&prompt.agent, prompt.at), done.as_ref())];
    let (mut wait, longest) = AGAIN;
    while let Err(reason) = change(bot, prompt.channel, prompt.message, &row).await {
        warn!(%reason, agent = %prompt.agent, "who answered a post could not be shown; it is tried again");
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(longest);
    }
    let forgotten = Memo { key: prompt.key(), value: None };
    if let Err(reason) = bot.ports.journal.remember(vec![forgotten]).await {
        error!(%reason, "a message with buttons could not be forgotten");
    }
}

async fn remembered(bot: &Bot) -> BTreeMap<String, Prompt> {
    let journal = bot.ports.journal.clone();
    let memos = match tokio::task::spawn_blocking(move || journal.memos(PREFIX)).await {
        Ok(Ok(memos)) => memos,
        Ok(Err(reason)) => {
            error!(%reason, "the messages with buttons cannot be read");
            return BTreeMap::new();
        }
        Err(_) => return BTreeMap::new(),
    };
    memos.into_iter().filter_map(|(key, value)| Some((key, serde_json::from_str(&value).ok()?))).collect()
}

/// Resolves when a prompt does not call for anybody any more.
async fn settled(bot: &Bot, prompt: Prompt) -> Prompt {
    let fleet = &bot.ports.fleet;
    let over = fleet.wait_for(&prompt.agent, |view| !is_open(view, prompt.at)).await;
    // An agent that is gone calls for nobody either; one that is still known went down with herder, and calls on.
    if over.is_none() && fleet.view(&prompt.agent).is_some() {
        std::future::pending::<()>().await;
    }
    prompt
}
