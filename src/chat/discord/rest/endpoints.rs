//! Discord's endpoints, one function each.

use reqwest::multipart::{Form, Part};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serenity::all::{
    ApplicationId, Attachment, BotGateway, ChannelId, CurrentApplicationInfo, CurrentUser, GuildChannel,
    GuildId, Member, Message, MessageId, PartialGuild, Timestamp, UserId,
};
use tokio::time::Instant;
use tracing::warn;

use super::retry::{Failure, Retry};
use super::route::{Route, segment};
use super::{Body, Rest, RestError, Tried, code, failed, jitter};

/// Number of messages that are requested at once; Discord's maximum.
const PAGE: usize = 100;
/// Maximum length of an attached file's name, in characters. Discord keeps letters, digits and `._-`.
const FILE_NAME_MAX: usize = 80;

const MESSAGES: &str = "/channels/{channel.id}/messages";
const MESSAGE: &str = "/channels/{channel.id}/messages/{message.id}";
const REACTION: &str = "/channels/{channel.id}/messages/{message.id}/reactions/{emoji}/@me";
const CHANNEL: &str = "/channels/{channel.id}";
const ARCHIVED: &str = "/channels/{channel.id}/threads/archived/public";
const CHANNELS: &str = "/guilds/{guild.id}/channels";
const COMMANDS: &str = "/applications/{application.id}/guilds/{guild.id}/commands";

/// A file that is attached to a message of herder's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct File {
    /// Name of the file, with an extension that tells its type.
    pub(in super::super) name: String,
    /// Content of the file.
    pub(in super::super) bytes: Vec<u8>,
}

/// A page of a channel's messages after a known one, oldest first.
#[derive(Debug, Default)]
pub(in super::super) struct Page {
    /// The messages that could be parsed.
    pub(in super::super) messages: Vec<Message>,
    /// Ids of messages that could not be parsed, not even in part.
    pub(in super::super) unreadable: Vec<MessageId>,
    /// Id of the newest message of the page, after which the next page starts; `None` for an empty page.
    pub(in super::super) newest: Option<MessageId>,
    /// True if more messages may follow.
    pub(in super::super) more: bool,
}

/// The parts of a message by which herder recognises its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Seen {
    /// Id of the message.
    pub(in super::super) id: MessageId,
    /// User id of the author.
    pub(in super::super) author: UserId,
    /// Text of the message.
    pub(in super::super) content: String,
}

impl Seen {
    /// Reads these parts from a message in JSON, whatever else it contains; `None` if one is missing.
    fn of(message: &Value) -> Option<Self> {
        let id = |value: &Value| value["id"].as_str()?.parse::<u64>().ok().filter(|id| *id != 0);
        Some(Self {
            id: id(message).map(MessageId::new)?,
            author: id(&message["author"]).map(UserId::new)?,
            content: message["content"].as_str()?.to_owned(),
        })
    }
}

/// A page of a channel's archived threads.
#[derive(Debug, Default)]
pub(in super::super) struct ArchivedThreads {
    /// The threads that could be parsed.
    pub(in super::super) threads: Vec<GuildChannel>,
    /// True if more threads follow.
    pub(in super::super) more: bool,
}

/// A private channel with a person.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Direct {
    /// Id of the private channel.
    pub(in super::super) id: ChannelId,
    /// Id of the last message in the private channel; `None` if there is none.
    #[serde(default)]
    pub(in super::super) last_message_id: Option<MessageId>,
}

#[derive(Deserialize)]
pub(super) struct WithId<T> {
    pub(super) id: T,
}

/// Methods that call Discord's endpoints for messages.
impl Rest {
    /// Sends a message to a channel. The request is repeated after a failure only if `message` has an enforced nonce.
    pub(in super::super) async fn send_message(
        &self,
        channel: ChannelId,
        message: &impl Serialize,
        files: &[File],
    ) -> Result<MessageId, RestError> {
        let route = Route::post(MESSAGES, format!("/channels/{channel}/messages"), channel);
        let body = new_message(&route, message, files)?;
        let safe = body["enforce_nonce"] == true && body["nonce"].is_string();
        let sent: WithId<MessageId> = self.json(route.repeatable(safe), with_files(&body, files)).await?;
        Ok(sent.id)
    }

    /// Edits a message of herder's.
    pub(in super::super) async fn edit_message(
        &self,
        channel: ChannelId,
        message: MessageId,
        change: &impl Serialize,
    ) -> Result<(), RestError> {
        let route = Route::patch(MESSAGE, format!("/channels/{channel}/messages/{message}"), channel);
        let body = message_body(&route, change, &[])?;
        self.done(route, Body::Json(&body)).await
    }

    /// Returns the messages of a channel that follow the id `after`, one page.
    pub(in super::super) async fn messages_after(
        &self,
        channel: ChannelId,
        after: MessageId,
    ) -> Result<Page, RestError> {
        let path = format!("/channels/{channel}/messages?after={after}&limit={PAGE}");
        let values: Vec<Value> = self.json(Route::get(MESSAGES, path, channel), Body::Nothing).await?;
        let newest = values.iter().filter_map(id_of).max();
        let more = values.len() >= PAGE;
        let (mut messages, mut unreadable) = (Vec::new(), Vec::new());
        for value in values {
            match message_of(&value) {
                Ok(message) => messages.push(message),
                Err(error) => {
                    warn!(%error, id = %value["id"], "a message cannot be read");
                    unreadable.extend(id_of(&value));
                }
            }
        }
        messages.sort_unstable_by_key(|message| message.id);
        Ok(Page { messages, unreadable, newest, more })
    }

    /// Returns the last messages of a channel, newest first, one page.
    pub(in super::super) async fn last_messages(&self, channel: ChannelId) -> Result<Vec<Seen>, RestError> {
        let path = format!("/channels/{channel}/messages?limit={PAGE}");
        let values: Vec<Value> = self.json(Route::get(MESSAGES, path, channel), Body::Nothing).await?;
        let mut seen: Vec<Seen> = values.iter().filter_map(Seen::of).collect();
        seen.sort_unstable_by_key(|message| std::cmp::Reverse(message.id));
        Ok(seen)
    }

    /// Returns the present state of one message; `None` if it was deleted.
    pub(in super::super) async fn message(
        &self,
        channel: ChannelId,
        message: MessageId,
    ) -> Result<Option<Message>, RestError> {
        let route = Route::get(MESSAGE, format!("/channels/{channel}/messages/{message}"), channel);
        let name = route.name();
        match self.json::<Value>(route, Body::Nothing).await {
            Ok(value) => message_of(&value).map(Some).map_err(|error| RestError::unreadable(name, &error)),
            Err(gone) if gone.code() == Some(code::UNKNOWN_MESSAGE) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds a reaction to a message; succeeds if the message is gone.
    pub(in super::super) async fn add_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        emoji: &str,
    ) -> Result<(), RestError> {
        let path = format!("/channels/{channel}/messages/{message}/reactions/{}/@me", segment(emoji));
        gone_is_done(self.done(Route::put(REACTION, path, channel), Body::Nothing).await)
    }

    /// Removes herder's own reaction from a message.
    pub(in super::super) async fn remove_own_reaction(
        &self,
        channel: ChannelId,
        message: MessageId,
        emoji: &str,
    ) -> Result<(), RestError> {
        let path = format!("/channels/{channel}/messages/{message}/reactions/{}/@me", segment(emoji));
        gone_is_done(self.done(Route::delete(REACTION, path, channel), Body::Nothing).await)
    }
}

/// Methods that call Discord's endpoints for channels.
impl Rest {
    /// Returns all channels of a guild, without threads.
    pub(in super::super) async fn channels(&self, guild: GuildId) -> Result<Vec<GuildChannel>, RestError> {
        let route = Route::get(CHANNELS, format!("/guilds/{guild}/channels"), guild);
        Ok(readable(self.json(route, Body::Nothing).await?, CHANNELS))
    }

    /// Returns one channel or thread by its id.
    pub(in super::super) async fn channel(&self, channel: ChannelId) -> Result<GuildChannel, RestError> {
        self.json(Route::get(CHANNEL, format!("/channels/{channel}"), channel), Body::Nothing).await
    }

    /// Returns public threads of a channel that were archived before a time, latest first.
    pub(in super::super) async fn archived_threads(
        &self,
        channel: ChannelId,
        before: Option<Timestamp>,
    ) -> Result<ArchivedThreads, RestError> {
        #[derive(Deserialize)]
        struct Answer {
            threads: Vec<Value>,
            #[serde(default)]
            has_more: bool,
        }
        let before = before.and_then(|before| before.to_rfc3339()).map(|before| segment(&before));
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        let path = format!("/channels/{channel}/threads/archived/public?limit={PAGE}{before}");
        let answer: Answer = self.json(Route::get(ARCHIVED, path, channel), Body::Nothing).await?;
        Ok(ArchivedThreads { threads: readable(answer.threads, ARCHIVED), more: answer.has_more })
    }

    /// Creates a channel. After [`RestError::maybe_done`] it may exist: look before asking again.
    pub(in super::super) async fn create_channel(
        &self,
        guild: GuildId,
        channel: &impl Serialize,
    ) -> Result<GuildChannel, RestError> {
        let route = Route::post(CHANNELS, format!("/guilds/{guild}/channels"), guild);
        let body = value(&route, channel)?;
        self.json(route, Body::Json(&body)).await
    }

    /// Edits the properties of a channel.
    pub(in super::super) async fn edit_channel(
        &self,
        channel: ChannelId,
        change: &impl Serialize,
    ) -> Result<(), RestError> {
        let route = Route::patch(CHANNEL, format!("/channels/{channel}"), channel);
        let body = value(&route, change)?;
        self.done(route, Body::Json(&body)).await
    }

    /// Returns the private channel with a person; creates it on first use.
    pub(in super::super) async fn create_dm(&self, person: UserId) -> Result<ChannelId, RestError> {
        self.direct(person).await.map(|direct| direct.id)
    }

    /// Returns the private channel with a person, and the id of the last message in it.
    pub(in super::super) async fn direct(&self, person: UserId) -> Result<Direct, RestError> {
        let route = Route::post("/users/@me/channels", "/users/@me/channels".to_owned(), "").repeatable(true);
        let body = json!({ "recipient_id": person.to_string() });
        self.json(route, Body::Json(&body)).await
    }
}

/// Methods that call Discord's endpoints for the guild, the bot and the gateway.
impl Rest {
    /// Returns the server with its roles.
    pub(in super::super) async fn guild(&self, guild: GuildId) -> Result<PartialGuild, RestError> {
        self.json(Route::get("/guilds/{guild.id}", format!("/guilds/{guild}"), guild), Body::Nothing).await
    }

    /// Returns a member of the server with the ids of their roles.
    pub(in super::super) async fn member(&self, guild: GuildId, user: UserId) -> Result<Member, RestError> {
        let route = Route::get(
            "/guilds/{guild.id}/members/{user.id}",
            format!("/guilds/{guild}/members/{user}"),
            guild,
        );
        let mut answer: Value = self.json(route, Body::Nothing).await?;
        // The type requires the guild's id, which the answer lacks.
        if let Some(member) = answer.as_object_mut() {
            member.entry("guild_id").or_insert_with(|| guild.to_string().into());
        }
        let request = || "GET /guilds/{guild.id}/members/{user.id}".to_owned();
        serde_json::from_value(answer).map_err(|error| RestError::unreadable(request(), &error))
    }

    /// Returns the user account of the bot.
    pub(in super::super) async fn current_user(&self) -> Result<CurrentUser, RestError> {
        self.json(Route::get("/users/@me", "/users/@me".to_owned(), ""), Body::Nothing).await
    }

    /// Returns the application of the bot, with its flags, which tell the enabled intents.
    pub(in super::super) async fn application(&self) -> Result<CurrentApplicationInfo, RestError> {
        self.json(Route::get("/applications/@me", "/applications/@me".to_owned(), ""), Body::Nothing).await
    }

    /// Returns the gateway's address, and the number of logins that Discord still allows.
    pub(in super::super) async fn gateway_bot(&self) -> Result<BotGateway, RestError> {
        self.json(Route::get("/gateway/bot", "/gateway/bot".to_owned(), ""), Body::Nothing).await
    }

    /// Returns the slash commands registered on the server, in all languages.
    pub(in super::super) async fn guild_commands(
        &self,
        application: ApplicationId,
        guild: GuildId,
    ) -> Result<Value, RestError> {
        let path = format!("/applications/{application}/guilds/{guild}/commands?with_localizations=true");
        self.json(Route::get(COMMANDS, path, guild), Body::Nothing).await
    }

    /// Replaces the slash commands of the server, and returns them as Discord has stored them.
    pub(in super::super) async fn put_guild_commands(
        &self,
        application: ApplicationId,
        guild: GuildId,
        commands: &impl Serialize,
    ) -> Result<Value, RestError> {
        let path = format!("/applications/{application}/guilds/{guild}/commands");
        let route = Route::put(COMMANDS, path, guild);
        let body = value(&route, commands)?;
        self.json(route, Body::Json(&body)).await
    }
}

/// Methods that download attached files.
impl Rest {
    /// Downloads an attached file of at most `most` bytes, from Discord's own hosts only.
    pub(in super::super) async fn attachment(&self, url: &str, most: usize) -> Result<Vec<u8>, RestError> {
        let request = || "GET an attachment".to_owned();
        if !self.shared.files.iter().any(|place| url.starts_with(place.as_str())) {
            return Err(RestError::Unaskable {
                request: request(),
                reason: "it is not at Discord".to_owned(),
            });
        }
        let (deadline, mut retry) = (Instant::now() + self.patience, Retry::default());
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).min(super::TRY);
            let fetched = tokio::time::timeout(left, self.fetch(url, most)).await;
            let unfetched = match fetched {
                Ok(Ok(bytes)) => return Ok(bytes),
                Ok(Err(unfetched)) => unfetched,
                Err(_) => Unfetched { failure: Some(Failure::Lost), reason: "it took too long".to_owned() },
            };
            // A download can always be repeated.
            let reason = unfetched.reason;
            let Some(failure) = unfetched.failure else {
                return Err(RestError::Unaskable { request: request(), reason });
            };
            let wait = retry.failed(failure, true, jitter());
            match wait.filter(|wait| Instant::now() + *wait < deadline) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(RestError::Unanswered { request: request(), reason, maybe_done: false }),
            }
        }
    }

    async fn fetch(&self, url: &str, most: usize) -> Result<Vec<u8>, Unfetched> {
        let mut response = self.shared.client.get(url).send().await.map_err(|error| Unfetched::of(&error))?;
        let status = response.status();
        if !status.is_success() {
            let failure = status.is_server_error().then_some(Failure::Server(status.as_u16()));
            return Err(Unfetched { failure, reason: format!("the answer has status {status}") });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| Unfetched::of(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > most {
                return Err(Unfetched { failure: None, reason: format!("it is longer than {most} bytes") });
            }
        }
        Ok(bytes)
    }
}

/// The failed download of an attached file.
struct Unfetched {
    /// The failure, if another attempt may succeed; `None` if it is final.
    failure: Option<Failure>,
    reason: String,
}

impl Unfetched {
    fn of(error: &reqwest::Error) -> Self {
        match failed(error) {
            Tried::Failed(failure, reason) => Self { failure: Some(failure), reason },
            Tried::Done(_) | Tried::Refused { .. } => Self { failure: None, reason: String::new() },
        }
    }
}

pub(super) fn gone_is_done(result: Result<(), RestError>) -> Result<(), RestError> {
    match result {
        Err(error) if error.code() == Some(code::UNKNOWN_MESSAGE) => Ok(()),
        result => result,
    }
}

fn id_of(value: &Value) -> Option<MessageId> {
    value["id"].as_str()?.parse().ok().filter(|id| *id != 0).map(MessageId::new)
}

/// Parses a message. If a part is of a kind that serenity does not know, only the author, the text and the files are
/// kept.
fn message_of(value: &Value) -> Result<Message, serde_json::Error> {
    Message::deserialize(value).or_else(|error| {
        let message = serde_json::from_value(plain(value))?;
        warn!(%error, id = %value["id"], "a part of a message cannot be read; it is left out");
        Ok(message)
    })
}

/// Reduces a message to the parts that herder needs and the fields that serenity requires.
fn plain(message: &Value) -> Value {
    let files = message["attachments"].as_array().into_iter().flatten();
    let files: Vec<&Value> = files.filter(|file| Attachment::deserialize(*file).is_ok()).collect();
    let author = &message["author"];
    let mut plain = json!({
        "id": message["id"], "channel_id": message["channel_id"], "content": message["content"],
        "timestamp": message["timestamp"], "edited_timestamp": message["edited_timestamp"],
        "type": message["type"].as_u64().unwrap_or_default(), "attachments": files, "tts": false,
        "mention_everyone": false, "mentions": [], "mention_roles": [], "embeds": [], "pinned": false,
        "author": {
            "id": author["id"], "username": author["username"].as_str().unwrap_or_default(),
            "global_name": author["global_name"].as_str(), "avatar": null,
            "bot": author["bot"].as_bool().unwrap_or_default(),
        },
    });
    if !message["webhook_id"].is_null() {
        plain["webhook_id"] = message["webhook_id"].clone();
    }
    plain
}

/// Parses the entries of a list, e.g. of channels; entries of an unknown kind are left out. `what` names the list in
/// the log.
fn readable<T: DeserializeOwned>(values: Vec<Value>, what: &str) -> Vec<T> {
    let read = |value: Value| match serde_json::from_value(value) {
        Ok(read) => Some(read),
        Err(error) => {
            warn!(what, %error, "an entry of Discord's answer cannot be read; it is left out");
            None
        }
    };
    values.into_iter().filter_map(read).collect()
}

pub(super) fn value(route: &Route, body: &impl Serialize) -> Result<Value, RestError> {
    serde_json::to_value(body)
        .map_err(|error| RestError::Unaskable { request: route.name(), reason: error.to_string() })
}

fn message_body(route: &Route, message: &impl Serialize, files: &[File]) -> Result<Value, RestError> {
    let mut body = value(route, message)?;
    ping_nobody(&mut body);
    if !files.is_empty() {
        let described =
            |(id, file): (usize, &File)| json!({ "id": id.to_string(), "filename": file_name(&file.name) });
        body["attachments"] = files.iter().enumerate().map(described).collect();
    } else if let Some(fields) = body.as_object_mut() {
        // An empty list in an edit would remove the attachments.
        fields.remove("attachments");
    }
    Ok(body)
}

pub(super) fn new_message(
    route: &Route,
    message: &impl Serialize,
    files: &[File],
) -> Result<Value, RestError> {
    let mut body = message_body(route, message, files)?;
    fetch_nothing(&mut body);
    Ok(body)
}

/// Suppresses previews: otherwise Discord would fetch any address that an agent names. The flag stays when the
/// message is edited.
pub(super) fn fetch_nothing(message: &mut Value) {
    const SUPPRESS_EMBEDS: u64 = 1 << 2;
    let flags = message["flags"].as_u64().unwrap_or_default();
    if let Some(fields) = message.as_object_mut() {
        fields.insert("flags".to_owned(), (flags | SUPPRESS_EMBEDS).into());
    }
}

/// Restricts the notifications of a message to the people that its field `allowed_mentions` lists; nobody without it.
pub(super) fn ping_nobody(message: &mut Value) {
    if let Some(fields) = message.as_object_mut() {
        let nobody = || json!({ "parse": [], "replied_user": false });
        fields.entry("allowed_mentions").or_insert_with(nobody);
    }
}

pub(super) fn with_files<'a>(body: &'a Value, files: &'a [File]) -> Body<'a> {
    if files.is_empty() { Body::Json(body) } else { Body::Files(body, files) }
}

fn file_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    name.chars().take(FILE_NAME_MAX).map(safe).collect()
}

/// Builds the multipart body of a request from its JSON body and its files.
pub(super) fn form(body: &Value, files: &[File]) -> Form {
    let json = Part::text(body.to_string());
    let json = json.mime_str("application/json").unwrap_or_else(|_| Part::text(body.to_string()));
    let mut form = Form::new().part("payload_json", json);
    for (id, file) in files.iter().enumerate() {
        let part = Part::bytes(file.bytes.clone()).file_name(file_name(&file.name));
        form = form.part(format!("files[{id}]"), part);
    }
    form
}
