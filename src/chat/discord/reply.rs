//! Answers to interactions: sent at once if they are ready soon, else announced and sent later.
//!
//! Discord waits three seconds. An answer ready within [`SOON`] is sent directly; otherwise it is announced, and
//! replaces the announcement later. If Discord received the first response but its acknowledgement was lost, later
//! ones still reach it. If Discord did not receive it in time, the result is posted in the channel, or in private if
//! it is for one person only.
//!
//! A refusal is always private, also after a public announcement: then the announcement is deleted and the refusal follows.
//!
//! The answer to a command that changed something is stored until it was given, so that a restarted herder can post
//! it. If the interaction cannot be answered any more, it is posted in the channel or to the person instead.
//!
//! An old interaction, as after a broken link, is announced before its command runs: Discord may have told the person
//! that it failed, and then nothing is done.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serenity::all::CreateActionRow;
use tracing::warn;

use super::delivery::doubt;
use super::interactions::{Asker, locale};
use super::owing;
use super::rest::{EPHEMERAL, File, RestError};
use super::{Bot, buttons};
use crate::clock;
use crate::commands::interact::{Answered, Attached};
use crate::core::id::{AgentName, PostId};
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::speech::Place;
use crate::core::time::Timestamp;
use crate::outbox::{Markup, Renderer};

/// Maximum time for an answer before the interaction is acknowledged with "is thinking…": half of what Discord waits,
/// so that the acknowledgement arrives in time.
const SOON: Duration = Duration::from_millis(1500);

/// Maximum age of an interaction at which it is acknowledged, whether or not the answer is ready: Discord counts from
/// its creation.
const ANNOUNCED_BY: Duration = Duration::from_millis(2200);

/// Age of an interaction beyond which it is acknowledged first; its command runs only if Discord accepts that.
const LATE: Duration = Duration::from_secs(2);

/// Returns the time for the answer before the interaction has to be acknowledged; `None` if that has to be done before
/// anything else.
pub(super) fn soon(asker: &Asker) -> Option<Duration> {
    let age = asker.age();
    (age < LATE).then(|| SOON.min(ANNOUNCED_BY.saturating_sub(age)))
}

/// Maximum time in which Discord may still carry out a request for which no response came.
const CARRIED_OUT_WITHIN: Duration = Duration::from_secs(8);

/// Maximum number of messages of an answer; a longer one is attached as a file.
const MESSAGES_MAX: usize = 3;

/// The answer to an interaction.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    /// The text of the answer, in neutral markup.
    pub(super) lines: Vec<String>,
    /// True if only the person who asked may see the answer.
    pub(super) private: bool,
    /// A picture that is sent after the text, as the bytes of a PNG file.
    pub(super) picture: Option<Vec<u8>>,
    /// A diff that is sent after the text, as a block and as a file.
    pub(super) diff: Option<Attached>,
    /// The rows of buttons under the text.
    pub(super) rows: Vec<CreateActionRow>,
    /// The agent that the buttons are about, and the time since which it is stopped, so that answers given elsewhere
    /// are shown on them; `None` without such buttons.
    pub(super) calls: Option<(AgentName, Timestamp)>,
    /// Key under which the answer is stored until it was sent; `None` if it is not stored.
    pub(super) owed: Option<String>,
}

impl Reply {
    pub(super) fn of(answered: Answered) -> Self {
        Self {
            lines: answered.lines,
            private: answered.refused,
            picture: answered.picture,
            diff: answered.diff,
            ..Self::default()
        }
    }

    /// Builds an answer of one line that only the person sees.
    pub(super) fn to_them(line: String) -> Self {
        Self { lines: vec![line], private: true, ..Self::default() }
    }

    fn flags(&self) -> u64 {
        if self.private { EPHEMERAL } else { 0 }
    }
}

/// The rendered messages of an answer, and the whole text as a file if there would be too many.
struct Laid {
    messages: Vec<String>,
    file: Option<File>,
}

fn lay(bot: &Bot, asker: &Asker, reply: &Reply) -> Laid {
    let locale = locale(bot, asker);
    let post = post(bot, asker, reply.lines.clone());
    let renderer = Renderer::new(locale.clone(), bot.ports.redactor.clone(), Markup::Discord);
    let mut messages = renderer.lines(&post);
    if messages.is_empty() {
        messages.push("👀".to_owned());
    }
    if let Some(picture) = &reply.picture {
        messages.truncate(MESSAGES_MAX);
        // A file comes with a message of its own, which may be empty beside it.
        messages.push(String::new());
        return Laid { messages, file: Some(File { name: "chart.png".to_owned(), bytes: picture.clone() }) };
    }
    if let Some(Attached { name, text }) = &reply.diff {
        messages.truncate(MESSAGES_MAX - 1);
        messages.push(renderer.diff(text));
        let file = File { name: name.clone(), bytes: format!("{text}\n").into_bytes() };
        return Laid { messages, file: Some(file) };
    }
    if messages.len() <= MESSAGES_MAX {
        return Laid { messages, file: None };
    }
    let whole = bot.ports.redactor.redact(&reply.lines.join("\n")).into_owned();
    messages.truncate(1);
    messages.push(locale.text("answer-file", &[]));
    Laid { messages, file: Some(File { name: "answer.md".to_owned(), bytes: whole.into_bytes() }) }
}

/// Builds the answer as a post, without the person's name: the person sees it under their command.
fn post(bot: &Bot, asker: &Asker, lines: Vec<String>) -> Post {
    let to = match &asker.place {
        Place::Channel(channel) => match channel.strip_prefix('#') {
            Some(name) if name == bot.ports.settings.control_channel => Target::Control,
            Some(name) => AgentName::new(name).map_or(Target::Control, Target::Agent),
            None => Target::Channel(channel.clone()),
        },
        Place::Thread { id, .. } => Target::Channel(id.clone()),
        Place::Direct(person) => Target::Person(person.clone()),
    };
    Post {
        id: PostId::default(),
        network: bot.network(),
        to,
        lane: Lane::Urgent,
        at: clock::now(),
        body: Body::Lines(lines),
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

/// Answers an interaction with the result of `answering`; if that takes long, the interaction is acknowledged first,
/// privately if `private`.
pub(super) async fn answer(
    bot: &Arc<Bot>,
    asker: &Asker,
    private: bool,
    answering: impl Future<Output = Reply>,
) {
    // Boxed, since it is large and would be part of each branch's future.
    let mut answering = Box::pin(answering);
    let Some(soon) = soon(asker) else { return late(bot, asker, private, answering).await };
    match tokio::time::timeout(soon, &mut answering).await {
        Ok(reply) => at_once(bot, asker, &reply).await,
        Err(_) => {
            let announced = announce(bot, asker, private).await;
            let reply = answering.await;
            match &announced {
                Err(reason) if !reason.maybe_done() => {
                    warn!(%reason, "an interaction could not be acknowledged");
                    in_channel(bot, asker, &reply).await;
                }
                // If the acknowledgement was lost, an edit of the answer shows whether it exists.
                Ok(()) | Err(_) => later(bot, asker, &reply, There::Announced { private }).await,
            }
            owing::brought(bot, asker).await;
        }
    }
}

async fn announce(bot: &Bot, asker: &Asker, private: bool) -> Result<(), RestError> {
    let flags = if private { EPHEMERAL } else { 0 };
    let announced = json!({ "type": 5, "data": { "flags": flags } });
    // Neither waits for the other: Discord waits for three seconds, and the disk may be what takes so long.
    tokio::join!(bot.rest.respond(asker.id, &asker.token, &announced), owing::announced(bot, asker)).0
}

/// Answers an interaction that is already old, if Discord still accepts the acknowledgement. Its command is not run
/// before that.
async fn late(bot: &Arc<Bot>, asker: &Asker, private: bool, answering: impl Future<Output = Reply>) {
    match announce(bot, asker, private).await {
        Ok(()) => later(bot, asker, &answering.await, There::Announced { private }).await,
        // It may be announced; then a failure is reported there.
        Err(reason) if reason.maybe_done() => {
            warn!(%reason, "an interaction came late and its acknowledgement was lost; nothing was done");
            let told = Reply::to_them(locale(bot, asker).text("answer-failed", &[]));
            later(bot, asker, &told, There::Announced { private }).await;
        }
        Err(reason) => warn!(%reason, "an interaction came too late; nothing was done"),
    }
    owing::brought(bot, asker).await;
}

/// Sends the answer as the first response to the interaction.
pub(super) async fn at_once(bot: &Bot, asker: &Asker, reply: &Reply) {
    let laid = lay(bot, asker, reply);
    let first = laid.messages.first().cloned().unwrap_or_default();
    let mut data = json!({ "content": first, "flags": reply.flags() });
    if !reply.rows.is_empty() {
        data["components"] = json!(reply.rows);
    }
    let response = json!({ "type": 4, "data": data });
    match bot.rest.respond(asker.id, &asker.token, &response).await {
        Ok(()) => {
            is_watched(bot, asker, reply).await;
            follow(bot, asker, reply, &laid, 1).await;
        }
        Err(reason) if reason.maybe_done() => later(bot, asker, reply, There::Answer).await,
        Err(reason) => {
            warn!(%reason, "an interaction could not be answered");
            in_channel(bot, asker, reply).await;
        }
    }
}

/// The response to an interaction that exists, or may exist, before the answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum There {
    /// The acknowledgement "is thinking…", visible to all or only to the person.
    Announced { private: bool },
    /// Perhaps the answer itself, if only Discord's response was lost.
    Answer,
}

/// Replaces the existing response to an interaction by the answer.
async fn later(bot: &Bot, asker: &Asker, reply: &Reply, there: There) {
    let laid = lay(bot, asker, reply);
    // A public announcement cannot become a private answer: it is deleted, and the refusal follows.
    if reply.private && there == (There::Announced { private: false }) {
        match bot.rest.delete_response(asker.application, &asker.token).await {
            Ok(()) => follow(bot, asker, reply, &laid, 0).await,
            Err(reason) => {
                warn!(%reason, "what is for one person could not be told to them alone where they asked");
                in_channel(bot, asker, reply).await;
            }
        }
        return;
    }
    let first = laid.messages.first().cloned().unwrap_or_default();
    let change = json!({ "content": first, "components": reply.rows });
    match bot.rest.edit_response(asker.application, &asker.token, &change).await {
        Ok(()) => {
            is_watched(bot, asker, reply).await;
            follow(bot, asker, reply, &laid, 1).await;
        }
        Err(reason) => {
            warn!(%reason, ?there, "an answer could not be brought");
            in_channel(bot, asker, reply).await;
        }
    }
}

/// Tracks the buttons of an answer, as those of a post, so that they change when somebody has answered. They work even
/// if that fails.
async fn is_watched(bot: &Bot, asker: &Asker, reply: &Reply) {
    let Some((agent, at)) = &reply.calls else { return };
    match bot.rest.response(asker.application, &asker.token).await {
        Ok(message) => buttons::answers(bot, (agent, *at), asker.channel, message).await,
        Err(reason) => warn!(%reason, "which message an answer is cannot be asked"),
    }
}

/// Sends the messages of an answer from index `from` on, and records that the answer was given.
async fn follow(bot: &Bot, asker: &Asker, reply: &Reply, laid: &Laid, from: usize) {
    let rest = follow_up(bot, asker, reply, laid, from).await;
    given(bot, reply, rest).await;
}

/// Sends the messages of an answer from index `from` on. Returns those that Discord refused, as a post to be sent
/// instead.
async fn follow_up(bot: &Bot, asker: &Asker, reply: &Reply, laid: &Laid, from: usize) -> Option<Post> {
    let last = laid.messages.len().saturating_sub(1);
    for (at, message) in laid.messages.iter().enumerate().skip(from) {
        let files = laid.file.as_ref().filter(|_| at == last).map(std::slice::from_ref).unwrap_or_default();
        let mut body = json!({ "content": message, "flags": reply.flags() });
        if at == 0 && !reply.rows.is_empty() {
            body["components"] = json!(reply.rows);
        }
        if let Err(reason) = bot.rest.follow_up(asker.application, &asker.token, &body, files).await {
            // Several answers with a file have the same text.
            if reason.maybe_done() && files.is_empty() && is_there(bot, asker, reply, message).await {
                continue;
            }
            warn!(%reason, "the rest of an answer could not be brought");
            // The file contains the whole answer.
            let said = if laid.file.is_some() { 0 } else { at };
            return Some(rest(bot, asker, reply, said));
        }
    }
    None
}

/// Returns true if a message of an answer is found in its channel, so that only Discord's response was lost. Waits
/// once, because Discord may still be working on it.
async fn is_there(bot: &Bot, asker: &Asker, reply: &Reply, message: &str) -> bool {
    // A private message is in no channel.
    if reply.private {
        return false;
    }
    if is_seen(bot, asker, message).await {
        return true;
    }
    tokio::time::sleep(CARRIED_OUT_WITHIN).await;
    is_seen(bot, asker, message).await
}

async fn is_seen(bot: &Bot, asker: &Asker, message: &str) -> bool {
    match bot.rest.last_messages(asker.channel).await {
        Ok(seen) => doubt::find(&seen, bot.me, asker.id.get(), &[message]).is_some(),
        Err(reason) => {
            warn!(%reason, "whether the rest of an answer is there cannot be seen");
            false
        }
    }
}

/// Builds a post of an answer's messages from index `from` on, in the channel or to the person, for delivery at any
/// later time. They are the messages that [`lay`] has made of the same lines.
fn rest(bot: &Bot, asker: &Asker, reply: &Reply, from: usize) -> Post {
    let confirmed_lines = u32::try_from(from).unwrap_or_default();
    let post = post(bot, asker, reply.lines.clone());
    Post { to: to_them(asker, reply).unwrap_or(post.to), confirmed_lines, ..post }
}

/// Returns the person as the target of a private answer; `None` for a public one.
fn to_them(asker: &Asker, reply: &Reply) -> Option<Target> {
    asker.author.account.clone().filter(|_| reply.private).map(Target::Person)
}

/// Records that an answer was given, except for the part that is posted as `instead`.
async fn given(bot: &Bot, reply: &Reply, instead: Option<Post>) {
    let Some(owed) = &reply.owed else {
        instead.into_iter().for_each(|post| bot.ports.queue.push(post));
        return;
    };
    let kept = instead.clone().map(|post| Post { body: Body::Kept(reply.lines.clone()), ..post });
    if let Err(refusal) = bot.ports.fleet.given(owed, kept).await {
        warn!(
            refusal = crate::l10n::Locale::default().refusal(&refusal),
            "that an answer was given could not be noted; it is given again after a restart"
        );
        instead.into_iter().for_each(|post| bot.ports.queue.push(post));
    }
}

/// Sends a further message to a person whose interaction is acknowledged.
pub(super) async fn aside(bot: &Bot, asker: &Asker, reply: &Reply) -> Result<(), RestError> {
    let laid = lay(bot, asker, reply);
    let body = json!({ "content": laid.messages.first(), "flags": reply.flags() });
    bot.rest.follow_up(asker.application, &asker.token, &body, &[]).await.map(drop)
}

/// Posts the answer in the channel, or to the person if it is private, because Discord accepts no answer to the
/// interaction any more.
async fn in_channel(bot: &Bot, asker: &Asker, reply: &Reply) {
    let post = post(bot, asker, reply.lines.clone());
    let instead = match to_them(asker, reply) {
        Some(to) => Post { to, ..post },
        None => Post { answers: Some(asker.author.nick.clone()), ..post },
    };
    given(bot, reply, Some(instead)).await;
}
