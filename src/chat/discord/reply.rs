//! How an interaction is answered: at once if the answer is ready soon, else announced and brought later.
//!
//! Discord waits three seconds. What is ready within [`SOON`] is the answer; else it is announced, and the answer takes
//! the announcement's place. If Discord took the first answer and its acknowledgement was lost, what follows still
//! reaches it; if Discord did not take it in time, what was done is said in the channel, so that it does not go unanswered: or in
//! private, if it is for whoever asked alone.
//!
//! A refusal is for whoever asked alone, also when it was announced to all that there would be an answer: then the
//! announcement goes, and the refusal follows it.
//!
//! What a command has changed is owed as an answer until it was brought, on disk: a herder that is killed on the way posts it
//! when it is back. What can be answered no more is owed to the channel, or to the person, in its place.
//!
//! What comes late, as after a link that was cut off, is announced before anything is done: Discord may have told whoever
//! asked that it failed, and then nothing is done.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serenity::all::CreateActionRow;
use tracing::warn;

use super::Bot;
use super::buttons;
use super::delivery::doubt;
use super::interactions::{Asker, locale};
use super::rest::{EPHEMERAL, File, RestError};
use crate::chat::Place;
use crate::clock;
use crate::commands::interact::Answered;
use crate::core::id::{AgentName, PostId};
use crate::core::time::Timestamp;
use crate::outbox::{Body, Lane, Markup, Post, Renderer, Target};

/// How long an answer may take before it is announced: half of what Discord waits, so that the announcement gets there.
const SOON: Duration = Duration::from_millis(1500);

/// How old what is asked may be before it is announced, answer or not: Discord counts from when it was asked.
const ANNOUNCED_BY: Duration = Duration::from_millis(2200);

/// What is older than this when it comes is announced first, and only done if Discord still waits for it.
const LATE: Duration = Duration::from_secs(2);

/// How long the answer may take before it is announced; `None`: it is announced before anything is done.
pub(super) fn soon(asker: &Asker) -> Option<Duration> {
    let age = asker.age();
    (age < LATE).then(|| SOON.min(ANNOUNCED_BY.saturating_sub(age)))
}

/// How long Discord may take to carry out what it does not answer any more.
const CARRIED_OUT_WITHIN: Duration = Duration::from_secs(8);

/// The most messages of an answer; what is longer goes along as a file.
const MESSAGES_MAX: usize = 3;

/// An answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Reply {
    /// In neutral markup.
    pub(super) lines: Vec<String>,
    /// For them alone.
    pub(super) private: bool,
    /// Buttons under it.
    pub(super) rows: Vec<CreateActionRow>,
    /// The agent that its buttons are about, and since when it stands still: they show who answers them elsewhere.
    pub(super) calls: Option<(AgentName, Timestamp)>,
    /// As what it is owed until it was brought, if it is.
    pub(super) owed: Option<String>,
}

impl Reply {
    pub(super) fn of(answered: Answered) -> Self {
        Self { lines: answered.lines, private: answered.refused, ..Self::default() }
    }

    /// For them alone.
    pub(super) fn to_them(line: String) -> Self {
        Self { lines: vec![line], private: true, ..Self::default() }
    }

    fn flags(&self) -> u64 {
        if self.private { EPHEMERAL } else { 0 }
    }
}

/// What is sent of an answer: messages, and the whole as a file if those would be too many.
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
    if messages.len() <= MESSAGES_MAX {
        return Laid { messages, file: None };
    }
    let whole = bot.ports.redactor.redact(&reply.lines.join("\n")).into_owned();
    messages.truncate(1);
    messages.push(locale.text("answer-file", &[]));
    Laid { messages, file: Some(File { name: "answer.md".to_owned(), bytes: whole.into_bytes() }) }
}

/// The answer as a post. Whoever asked sees it under what they asked, so that it names nobody.
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

/// Answers with what `answering` gives. `private`: what is announced is for them alone.
pub(super) async fn answer(
    bot: &Arc<Bot>,
    asker: &Asker,
    private: bool,
    answering: impl Future<Output = Reply>,
) {
    // It is large, and would lie in the future of each branch.
    let mut answering = Box::pin(answering);
    let Some(soon) = soon(asker) else { return late(bot, asker, private, answering).await };
    match tokio::time::timeout(soon, &mut answering).await {
        Ok(reply) => at_once(bot, asker, &reply).await,
        Err(_) => {
            let announced = announce(bot, asker, private).await;
            let reply = answering.await;
            match announced {
                Err(reason) if !reason.maybe_done() => {
                    warn!(%reason, "an interaction could not be acknowledged");
                    in_channel(bot, asker, &reply).await;
                }
                // Whether a lost acknowledgement was one is seen by whether its answer can be changed.
                Ok(()) | Err(_) => later(bot, asker, &reply, There::Announced { private }).await,
            }
        }
    }
}

async fn announce(bot: &Bot, asker: &Asker, private: bool) -> Result<(), RestError> {
    let flags = if private { EPHEMERAL } else { 0 };
    let announced = json!({ "type": 5, "data": { "flags": flags } });
    bot.rest.respond(asker.id, &asker.token, &announced).await
}

/// Answers what comes late, if Discord still waits for it. Nothing is done before that is known.
async fn late(bot: &Arc<Bot>, asker: &Asker, private: bool, answering: impl Future<Output = Reply>) {
    match announce(bot, asker, private).await {
        Ok(()) => later(bot, asker, &answering.await, There::Announced { private }).await,
        // It may be announced; then it is told that nothing comes.
        Err(reason) if reason.maybe_done() => {
            warn!(%reason, "an interaction came late and its acknowledgement was lost; nothing was done");
            let told = Reply::to_them(locale(bot, asker).text("answer-failed", &[]));
            later(bot, asker, &told, There::Announced { private }).await;
        }
        Err(reason) => warn!(%reason, "an interaction came too late; nothing was done"),
    }
}

/// Answers now.
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

/// What stands there before the answer is brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum There {
    /// That there will be one, for whoever asked or for all.
    Announced { private: bool },
    /// Perhaps the answer itself.
    Answer,
}

/// Puts the answer in place of what is there.
async fn later(bot: &Bot, asker: &Asker, reply: &Reply, there: There) {
    let laid = lay(bot, asker, reply);
    // What was announced to all can only be answered to all: a refusal is nobody else's business.
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

/// The buttons of an answer show who answers them, like those of a post. They work all the same if that fails.
async fn is_watched(bot: &Bot, asker: &Asker, reply: &Reply) {
    let Some((agent, at)) = &reply.calls else { return };
    match bot.rest.response(asker.application, &asker.token).await {
        Ok(message) => buttons::answers(bot, (agent, *at), asker.channel, message).await,
        Err(reason) => warn!(%reason, "which message an answer is cannot be asked"),
    }
}

/// The messages of an answer from `from` on; those before are there.
async fn follow(bot: &Bot, asker: &Asker, reply: &Reply, laid: &Laid, from: usize) {
    let rest = follow_up(bot, asker, reply, laid, from).await;
    given(bot, reply, rest).await;
}

/// Brings the messages of an answer from `from` on. What Discord does not take is posted instead.
async fn follow_up(bot: &Bot, asker: &Asker, reply: &Reply, laid: &Laid, from: usize) -> Option<Post> {
    let last = laid.messages.len().saturating_sub(1);
    for (at, message) in laid.messages.iter().enumerate().skip(from) {
        let files = laid.file.as_ref().filter(|_| at == last).map(std::slice::from_ref).unwrap_or_default();
        let mut body = json!({ "content": message, "flags": reply.flags() });
        if at == 0 && !reply.rows.is_empty() {
            body["components"] = json!(reply.rows);
        }
        if let Err(reason) = bot.rest.follow_up(asker.application, &asker.token, &body, files).await {
            // Beside a file every answer says the same.
            if reason.maybe_done() && files.is_empty() && is_there(bot, asker, reply, message).await {
                continue;
            }
            warn!(%reason, "the rest of an answer could not be brought");
            // A file is of the whole.
            let said = if laid.file.is_some() { 0 } else { at };
            return Some(rest(bot, asker, reply, said));
        }
    }
    None
}

/// Whether a message of an answer can be seen where it was asked for: its acknowledgement alone was lost then. Discord may
/// still be at it.
async fn is_there(bot: &Bot, asker: &Asker, reply: &Reply, message: &str) -> bool {
    // What is for one person alone is in no channel.
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

/// The messages of an answer from `from` on as a post, which comes however long that takes: where it was asked for, or to whom
/// it is for alone. They are those that [`lay`] has made of the same lines.
fn rest(bot: &Bot, asker: &Asker, reply: &Reply, from: usize) -> Post {
    let confirmed_lines = u32::try_from(from).unwrap_or_default();
    let post = post(bot, asker, reply.lines.clone());
    Post { to: to_them(asker, reply).unwrap_or(post.to), confirmed_lines, ..post }
}

/// Whom an answer is for, if it is for one person alone.
fn to_them(asker: &Asker, reply: &Reply) -> Option<Target> {
    asker.author.account.clone().filter(|_| reply.private).map(Target::Person)
}

/// An answer was brought, but for what is posted instead. What is owed is so no more from here on.
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

/// Says one more thing to somebody whose interaction is acknowledged.
pub(super) async fn aside(bot: &Bot, asker: &Asker, reply: &Reply) -> Result<(), RestError> {
    let laid = lay(bot, asker, reply);
    let body = json!({ "content": laid.messages.first(), "flags": reply.flags() });
    bot.rest.follow_up(asker.application, &asker.token, &body, &[]).await.map(drop)
}

/// What was done is said where it was asked for, if Discord lets herder answer no more; what is for one person is told to them
/// in private.
async fn in_channel(bot: &Bot, asker: &Asker, reply: &Reply) {
    let post = post(bot, asker, reply.lines.clone());
    let instead = match to_them(asker, reply) {
        Some(to) => Post { to, ..post },
        None => Post { answers: Some(asker.author.nick.clone()), ..post },
    };
    given(bot, reply, Some(instead)).await;
}
