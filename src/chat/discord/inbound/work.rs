//! Handling of one message, from its line to its answer.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serenity::all::ChannelId;
use tokio::time::Instant;
use tracing::{debug, error, warn};

use super::attached::{self, Attached};
use super::roles::Roles;
use super::said::{self, Names, Replied, Said};
use crate::chat::discord::directory::Purpose;
use crate::chat::discord::{Bot, network};
use crate::clock;
use crate::commands::dispatch::{FAULT, Handled};
use crate::core::agent::Phase;
use crate::core::file::{FILES_MAX, KeptFile};
use crate::core::id::{AgentName, PostId};
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::role::Role;
use crate::core::speech::{Inbound, Place};
use crate::journal::{Batch, Heard, Memo};

/// Maximum time for fetching all files of a message. Later messages of the channel wait meanwhile.
const FILES_WITHIN: Duration = Duration::from_secs(30);

/// Prefix of the journal's keys of the notes that people in a place were told that no agent listens there.
const TOLD: &str = "discord/told/unheard/";

/// Text that stands for the words of a message that has only files.
const FILE: &str = "📎";

/// The result of handling a message.
pub(super) enum Worked {
    /// The message is handled; the field is the stored decision about it, if there is one.
    Over(Option<Heard>),
    /// The handling takes longer; the future ends with the decision. A herder that is killed before reads the message
    /// again.
    Late(Pin<Box<dyn Future<Output = Option<Heard>> + Send>>),
}

/// Handles one message: dispatches its line and answers it. The error means that it is not handled before the next
/// start.
pub(super) async fn carry_out(
    bot: &Arc<Bot>,
    names: &Names,
    roles: &Roles,
    said: Said,
) -> Result<Worked, Unworked> {
    let line = line(bot, names, roles, &said, FILES_WITHIN).await.ok_or(Unworked)?;
    let (inbound, id) = (&line.inbound, said.id.to_string());
    overheard(bot, &said, inbound);
    if let Some(told) = unread(bot, &said, inbound) {
        return Ok(Worked::Over(Some(answered(bot, inbound, &id, vec![told]).await)));
    }
    let handled = AssertUnwindSafe(bot.ports.dispatcher.handled(inbound.clone())).catch_unwind().await;
    // A panic in one line must not stop the handling of others.
    let handled = handled.unwrap_or_else(|_| {
        error!(id, "a message made the dispatcher panic");
        Handled::Lines(vec![FAULT.to_owned()])
    });
    let bot = Arc::clone(bot);
    Ok(match handled {
        Handled::Silently => Worked::Over(became(&bot, &said, &line).await),
        // Discord repeats a message whose answer is not recorded, so that answers to look-ups are recorded too.
        Handled::Lines(lines) | Handled::Looked(lines) => {
            Worked::Over(Some(answered(&bot, inbound, &id, lines).await))
        }
        // The next process would have to give another answer: it reads the message again unless this answer is sent by then.
        Handled::Fleeting(lines) => {
            let gone = say_until_gone(&bot, inbound, lines);
            Worked::Late(Box::pin(async move {
                gone.await;
                None
            }))
        }
        Handled::Late { told, over } => {
            if let Some(told) = told {
                say(&bot, inbound, vec![told]);
            }
            Worked::Late(Box::pin(async move {
                // The handler has ended; its result, if any, is on disk.
                let fleeting = over.await.unwrap_or_default();
                if !fleeting.is_empty() {
                    say_until_gone(&bot, &line.inbound, fleeting).await;
                }
                became(&bot, &said, &line).await
            }))
        }
    })
}

/// Completes the handling of a message to which the dispatcher gave no reply: returns the stored decision, or tells the
/// author that no agent listens there. `None` if nothing is to be stored.
async fn became(bot: &Bot, said: &Said, line: &Line) -> Option<Heard> {
    let Some(heard) = decided(bot, &said.id.to_string()).await else {
        return nobody_hears(bot, said, &line.inbound).await;
    };
    if heard.work.is_some() {
        say_left_out(bot, line);
    }
    Some(heard)
}

/// Posts the answer to a message and returns the decision that is stored with it.
async fn answered(bot: &Bot, inbound: &Inbound, id: &str, lines: Vec<String>) -> Heard {
    // Recorded together with the answer: a question that is read twice is answered once, even if herder ends before
    // the answer is sent.
    let heard = Heard { agent: None, work: None, place: Some(shown(&inbound.place)) };
    let said: Vec<Post> =
        (!lines.is_empty()).then(|| answer(bot, inbound, Body::Kept(lines))).into_iter().collect();
    let memos = vec![heard.memo(&network(), id)];
    let batch = Batch { at: clock::now(), memos, posts: said.clone(), ..Batch::default() };
    if let Err(reason) = bot.ports.journal.commit(batch).await {
        warn!(%reason, id, "that a message was answered could not be noted");
        said.into_iter().for_each(|post| bot.ports.queue.push(post));
    }
    heard
}

/// Returns a sentence for the author of a message that would be a task if it had readable content; else `None`.
fn unread(bot: &Bot, said: &Said, inbound: &Inbound) -> Option<String> {
    let unread = said.unread.filter(|_| inbound.text.is_empty())?;
    let dispatcher = &bot.ports.dispatcher;
    let is_heard = dispatcher.role(&inbound.author) >= Some(Role::Operator);
    let is_meant = dispatcher.is_work(&Inbound { text: FILE.to_owned(), ..inbound.clone() });
    (is_heard && is_meant).then(|| bot.ports.locale.text("discord-unread", &[("what", unread.key().into())]))
}

/// Tells a person who may give tasks that no agent listens in this channel or thread, once per place, because people
/// may well talk there among themselves.
async fn nobody_hears(bot: &Bot, said: &Said, inbound: &Inbound) -> Option<Heard> {
    if said.direct || bot.ports.dispatcher.role(&inbound.author) < Some(Role::Operator) {
        return None;
    }
    let channel = ChannelId::new(said.channel);
    let agent = match bot.purpose_around(channel) {
        Some(Purpose::Agent(agent)) if !is_there(bot, &agent) => agent,
        Some(_) | None => return None,
    };
    let told = format!("{TOLD}{channel}");
    let (journal, wanted) = (bot.ports.journal.clone(), told.clone());
    let before = tokio::task::spawn_blocking(move || journal.memos(&wanted)).await;
    if !matches!(before, Ok(Ok(before)) if before.iter().all(|(key, _)| *key != told)) {
        return None;
    }
    if let Err(reason) =
        bot.ports.journal.remember(vec![Memo { key: told, value: Some("true".to_owned()) }]).await
    {
        warn!(%reason, "it could not be noted what was said in a channel");
    }
    let line = bot.ports.locale.text("discord-agent-removed", &[("agent", (&agent).into())]);
    Some(answered(bot, inbound, &said.id.to_string(), vec![line]).await)
}

fn is_there(bot: &Bot, agent: &AgentName) -> bool {
    let view = bot.ports.fleet.view(agent);
    view.map_or_else(|| bot.ports.fleet.is_deserted(agent), |view| view.agent.phase != Phase::Removed)
}

/// The error for a message that cannot be handled because its author's roles were not known when intake closed.
#[derive(Debug)]
pub(super) struct Unworked;

/// Records a line of a channel, for agents that may read there with their tools.
fn overheard(bot: &Bot, said: &Said, inbound: &Inbound) {
    let Some(place) = inbound.place.channel() else { return };
    let purpose = bot.directory.purpose(ChannelId::new(said.channel));
    let work = format!("#{}", bot.ports.settings.work_channel);
    let channel = if purpose == Some(Purpose::Work) { work.as_str() } else { place };
    bot.ports.rooms.said(&network(), channel, &inbound.author.nick, &inbound.text, inbound.at);
}

/// Tells the author of a message which of its files do not reach the agent in full, if any.
pub(super) fn say_left_out(bot: &Bot, line: &Line) {
    if !line.left_out.is_empty() {
        say(bot, &line.inbound, vec![left_out_line(bot, &line.left_out)]);
    }
}

fn left_out_line(bot: &Bot, left_out: &[String]) -> String {
    let files = left_out.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !bot.ports.fleet.takes_files() {
        return bot.ports.locale.text("files-old-runner", &[("files", files.into())]);
    }
    let max = bot.ports.dispatcher.file_rules().max_mebibytes();
    let variables = [("files", files.into()), ("count", (FILES_MAX as u64).into()), ("max", max.into())];
    bot.ports.locale.text("discord-left-out", &variables)
}

/// A message that was converted to a line for the dispatcher.
pub(super) struct Line {
    /// The line, with its attachments if it is a task.
    pub(super) inbound: Inbound,
    /// Names of files that the line does not contain in full.
    left_out: Vec<String>,
    /// True if a file is missing that another attempt may fetch.
    pub(super) is_short: bool,
}

impl Line {
    fn alone(inbound: Inbound) -> Self {
        Self { inbound, left_out: Vec::new(), is_short: false }
    }
}

/// Converts a message to a line; its files are fetched for at most `within`. `None` if the author's roles cannot be
/// found out any more.
pub(super) async fn line(
    bot: &Bot,
    names: &Names,
    roles: &Roles,
    said: &Said,
    within: Duration,
) -> Option<Line> {
    let words = names.words(said, bot.me);
    let place = place(bot, said).await?;
    let roles = match &said.roles {
        Some(roles) => roles.clone(),
        None => roles.of(bot, said.author).await?,
    };
    let mut inbound = said::line(said, words, place, roles, bot.said_at(said.id));
    inbound.attached = said.replied.as_ref().map(|replied| reply_note(bot, replied)).unwrap_or_default();
    if said.files.is_empty() {
        return Some(Line::alone(inbound));
    }
    // A message of files alone is meant for an agent too.
    let wordless = inbound.text.is_empty();
    if wordless {
        // The sign keeps a file's name from being read as a command.
        let names: Vec<String> = said.files.iter().map(attached::name).collect();
        inbound.text = format!("{FILE} {}", names.join(", "));
    }
    // No file is fetched for people who may not give tasks.
    let dispatcher = &bot.ports.dispatcher;
    if dispatcher.role(&inbound.author) < Some(Role::Operator) || !dispatcher.is_work(&inbound) {
        return Some(Line::alone(inbound));
    }
    let (deadline, mut is_short) = (Instant::now() + within, false);
    let mut attached = Attached::beside(&inbound.spelled_out(&inbound.text));
    let max = usize::try_from(dispatcher.file_rules().max).unwrap_or(usize::MAX);
    let takes_files = bot.ports.fleet.takes_files();
    for file in &said.files {
        let comes = takes_files && file.size <= max && inbound.files.len() < FILES_MAX;
        let room = if comes { Some(max) } else { attached.room(file) };
        let Some(room) = room else { continue };
        let left = deadline.saturating_duration_since(Instant::now());
        match bot.rest.within(left).attachment(&file.url, room).await {
            Ok(bytes) if comes => {
                attached.add_if_whole(file, &bytes);
                match keep(bot, file, bytes).await {
                    Some(kept) => inbound.files.push(kept),
                    None => attached.failed(file),
                }
            }
            Ok(bytes) => attached.add(file, &bytes),
            Err(error) => {
                debug!(name = file.name, %error, "an attached file could not be read");
                is_short |= error.is_worth_another_try();
                attached.failed(file);
            }
        }
    }
    let (text, left_out) = attached.finish();
    let replied = std::mem::take(&mut inbound.attached);
    inbound.attached =
        [replied, text].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    Some(Line { inbound, left_out, is_short })
}

/// Keeps an attached file, and returns it once it is on disk.
async fn keep(bot: &Bot, file: &said::File, bytes: Vec<u8>) -> Option<KeptFile> {
    let (store, name) = (bot.ports.fleet.files(), file.name.clone());
    let kept = tokio::task::spawn_blocking(move || store.keep(&name, &bytes)).await.ok()?;
    kept.inspect_err(|reason| warn!(%reason, "an attached file cannot be kept")).ok()
}

/// Returns the quoted message of a reply, in the form given to an agent.
fn reply_note(bot: &Bot, replied: &Replied) -> String {
    let head = bot.ports.locale.text("discord-replied", &[("name", replied.name.as_str().into())]);
    format!("{head}\n{}", replied.quoted())
}

/// Returns the place of a message for the dispatcher; `None` if it cannot be found out any more whether the channel is
/// a thread.
pub(super) async fn place(bot: &Bot, said: &Said) -> Option<Place> {
    if said.direct {
        return Some(Place::Direct(said.author.to_string()));
    }
    let channel = ChannelId::new(said.channel);
    let own = bot.directory.purpose(channel).is_some();
    let parent = if own { None } else { bot.parent_of(channel).await.ok()? };
    Some(bot.place_of(channel, parent))
}

/// Returns the decision about a message that is stored in the journal; `None` if there is none.
async fn decided(bot: &Bot, id: &str) -> Option<Heard> {
    let journal = bot.ports.journal.clone();
    let key = format!("{}{id}", Heard::prefix(&network()));
    let wanted = key.clone();
    let found = tokio::task::spawn_blocking(move || journal.memos(&wanted)).await;
    match found {
        Ok(Ok(found)) => {
            let value = found.into_iter().find(|(found, _)| *found == key)?.1;
            serde_json::from_str(&value).ok()
        }
        Ok(Err(reason)) => {
            warn!(%reason, "what a message became cannot be read");
            None
        }
        Err(reason) => {
            warn!(%reason, "what a message became could not be read");
            None
        }
    }
}

/// Posts lines in answer to a message; they are not stored in the journal.
pub(super) fn say(bot: &Bot, inbound: &Inbound, lines: Vec<String>) {
    bot.ports.queue.push(answer(bot, inbound, Body::Lines(lines)));
}

/// Posts lines as [`say`] does; the future resolves when they are sent or dropped.
fn say_until_gone(
    bot: &Bot,
    inbound: &Inbound,
    lines: Vec<String>,
) -> impl Future<Output = ()> + Send + use<> {
    bot.ports.queue.push_until_gone(answer(bot, inbound, Body::Lines(lines)))
}

/// Builds the post that answers a message in the same place.
fn answer(bot: &Bot, inbound: &Inbound, body: Body) -> Post {
    let to = match &inbound.place {
        Place::Channel(channel) => target(bot, channel),
        Place::Thread { id, .. } => Target::Channel(id.clone()),
        Place::Direct(user) => Target::Person(user.clone()),
    };
    Post {
        id: PostId::default(),
        network: network(),
        to,
        lane: Lane::Urgent,
        at: clock::now(),
        body,
        answers: Some(inbound.author.nick.clone()),
        quotes: inbound.message.clone(),
        confirmed_lines: 0,
    }
}

fn target(bot: &Bot, channel: &str) -> Target {
    match channel.strip_prefix('#') {
        Some(name) if name == bot.ports.settings.control_channel => Target::Control,
        Some(name) => match AgentName::new(name) {
            Ok(agent) => Target::Agent(agent),
            Err(_) => Target::Channel(channel.to_owned()),
        },
        None => Target::Channel(channel.to_owned()),
    }
}

/// Returns the name of a place in the audit trail.
fn shown(place: &Place) -> String {
    match place {
        Place::Channel(name) | Place::Thread { id: name, .. } => name.clone(),
        Place::Direct(_) => "private".to_owned(),
    }
}
