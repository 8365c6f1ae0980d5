//! Conversion of a message to a line that herder understands.
//!
//! Authors without a known person are ignored: webhooks, other bots, system messages, herder itself.

use std::collections::HashMap;

use serenity::all::{Attachment, Guild, Message, MessageType, MessageUpdateEvent, RoleId, User, UserId};

use super::intake::Id;
use crate::chat::discord::network;
use crate::commands::words::bounded;
use crate::core::speech::{Author, Inbound, Mention, Origin, Place};
use crate::core::time::Timestamp;

/// The name that replaces a mention of herder in the text of a message.
pub(super) const OWN_NAME: &str = "herder";

/// A message of a person, reduced to the parts that herder uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) id: Id,
    pub(super) channel: Id,
    /// True if the message is in a private channel.
    pub(super) direct: bool,
    pub(super) author: UserId,
    pub(super) name: String,
    /// Ids of the author's roles on the server; `None` if Discord did not send them, so that they have to be requested.
    pub(super) roles: Option<Vec<String>>,
    pub(super) text: String,
    pub(super) mentioned: Vec<(Id, String)>,
    pub(super) files: Vec<File>,
    /// Content of the message that is neither text nor files, such as a sticker; `None` if there is none.
    pub(super) unread: Option<Unread>,
    /// The message to which this one replies; `None` if it is no reply, or that message has no text.
    pub(super) replied: Option<Replied>,
}

/// The message to which another one replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replied {
    /// Name of the author of the replied-to message.
    pub(super) name: String,
    /// Text of the replied-to message, at most [`REPLIED_MAX`] bytes.
    pub(super) text: String,
}

/// Maximum length of the quoted text of a replied-to message, in bytes: enough for one Discord message in most scripts.
const REPLIED_MAX: usize = 4000;

impl Replied {
    fn of(message: &Message) -> Option<Self> {
        let text = message.content.trim();
        let mut end = text.len().min(REPLIED_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let cut = if end < text.len() { "…" } else { "" };
        let said = || Self { name: shown(&message.author), text: format!("{}{cut}", &text[..end]) };
        (!text.is_empty()).then(said)
    }

    /// Returns the text of the replied-to message as a Markdown quotation.
    pub(super) fn quoted(&self) -> String {
        self.text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
    }
}

/// Content of a message that herder cannot read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    Poll,
    Sticker,
    /// A forwarded message without readable text.
    Forward,
}

impl Unread {
    /// Returns the key by which `discord-unread` in the locales names this content.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Sticker => "sticker",
            Self::Forward => "forward",
        }
    }

    fn of(message: &Message) -> Option<Self> {
        if message.poll.is_some() {
            Some(Self::Poll)
        } else if !message.message_snapshots.is_empty() {
            Some(Self::Forward)
        } else {
            (!message.sticker_items.is_empty()).then_some(Self::Sticker)
        }
    }
}

/// Prefix of forwarded text. It keeps such text from being read as a command.
const FORWARDED: &str = "↪️";

/// Returns the text of the messages that a message forwards; `None` if it forwards none.
fn forwarded(message: &Message) -> Option<String> {
    let words = message.message_snapshots.iter().map(|snapshot| snapshot.content.trim());
    let words: Vec<&str> = words.filter(|words| !words.is_empty()).collect();
    (!words.is_empty()).then(|| format!("{FORWARDED} {}", words.join("\n")))
}

/// A file attached to a person's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) size: usize,
    pub(super) url: String,
}

impl From<&Attachment> for File {
    fn from(attachment: &Attachment) -> Self {
        Self {
            name: attachment.filename.clone(),
            kind: attachment.content_type.clone().unwrap_or_default(),
            size: usize::try_from(attachment.size).unwrap_or(usize::MAX),
            url: attachment.url.clone(),
        }
    }
}

/// Selects the messages that herder reads: of its server and in private, not its own, and of other bots only those
/// listed.
#[derive(Debug, Clone)]
pub(super) struct Ears {
    pub(super) me: UserId,
    pub(super) guild: Id,
    /// User ids of the bots whose messages are read.
    pub(super) bots: Vec<String>,
}

impl Ears {
    fn hears(&self, author: &User) -> bool {
        author.id != self.me && (!author.bot || self.bots.contains(&author.id.to_string()))
    }

    /// Converts a message; `None` if it is not for herder. `direct` tells whether it is private, where the message
    /// itself does not, as with fetched ones.
    pub(super) fn message(&self, message: Message, direct: Option<bool>) -> Option<Said> {
        let elsewhere = message.guild_id.is_some_and(|guild| guild.get() != self.guild);
        let spoken = matches!(message.kind, MessageType::Regular | MessageType::InlineReply);
        if elsewhere || !spoken || message.webhook_id.is_some() || !self.hears(&message.author) {
            return None;
        }
        let member = message.member.as_deref();
        let nick = member.and_then(|member| member.nick.clone());
        // A forwarding message has no text of its own.
        let forwarded = forwarded(&message).filter(|_| message.content.trim().is_empty());
        let inner = message.message_snapshots.iter();
        let people = message.mentions.iter().chain(inner.clone().flat_map(|snapshot| &snapshot.mentions));
        let files = message.attachments.iter().chain(inner.flat_map(|snapshot| &snapshot.attachments));
        Some(Said {
            id: message.id.get(),
            channel: message.channel_id.get(),
            direct: direct.unwrap_or(message.guild_id.is_none()),
            author: message.author.id,
            name: nick.unwrap_or_else(|| shown(&message.author)),
            roles: member.map(|member| role_ids(&member.roles)),
            mentioned: mentioned(people),
            files: files.map(File::from).collect(),
            unread: Unread::of(&message),
            replied: message.referenced_message.as_deref().and_then(Replied::of),
            text: forwarded.unwrap_or(message.content),
        })
    }

    /// Converts the event that a message was edited; `None` if its text is unchanged or it is not for herder.
    pub(super) fn edited(&self, event: MessageUpdateEvent) -> Option<Said> {
        // Discord reports link previews and pins in the same way.
        event.edited_timestamp?;
        let (author, text) = (event.author?, event.content?);
        let elsewhere = event.guild_id.is_some_and(|guild| guild.get() != self.guild);
        if elsewhere || event.webhook_id.flatten().is_some() || !self.hears(&author) {
            return None;
        }
        let member = event.member.flatten();
        let nick = member.as_ref().and_then(|member| member.nick.clone());
        Some(Said {
            id: event.id.get(),
            channel: event.channel_id.get(),
            direct: event.guild_id.is_none(),
            author: author.id,
            name: nick.unwrap_or_else(|| shown(&author)),
            roles: member.map(|member| role_ids(&member.roles)),
            text,
            mentioned: mentioned(&event.mentions.unwrap_or_default()),
            files: event.attachments.unwrap_or_default().iter().map(File::from).collect(),
            unread: None,
            replied: event.referenced_message.flatten().as_deref().and_then(Replied::of),
        })
    }
}

fn shown(user: &User) -> String {
    user.global_name.clone().unwrap_or_else(|| user.name.clone())
}

fn mentioned<'a>(users: impl IntoIterator<Item = &'a User>) -> Vec<(Id, String)> {
    users.into_iter().map(|user| (user.id.get(), shown(user))).collect()
}

/// Returns role ids as texts, as they are in the configuration.
pub(super) fn role_ids(roles: &[RoleId]) -> Vec<String> {
    roles.iter().map(ToString::to_string).collect()
}

/// Maximum length of a name in a line, in characters; Discord's own limits are lower.
const NAME_MAX: usize = 100;

/// Names of the server's roles and channels, by id, and herder's own role.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) roles: HashMap<Id, String>,
    pub(super) channels: HashMap<Id, String>,
    /// Id of the role that Discord made for herder alone: clients suggest it beside herder itself when somebody types
    /// `@`.
    pub(super) own_role: Option<Id>,
}

/// The text of a message as herder parses it, with the mentions in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) mentions: Vec<Mention>,
}

impl Names {
    pub(super) fn of(guild: &Guild, me: UserId) -> Self {
        let own = guild.roles.values().find(|role| role.managed && role.tags.bot_id == Some(me));
        let channels = guild.channels.values();
        Self {
            roles: guild.roles.values().map(|role| (role.id.get(), role.name.clone())).collect(),
            channels: channels.map(|channel| (channel.id.get(), channel.name.clone())).collect(),
            own_role: own.map(|role| role.id.get()),
        }
    }

    /// Returns the text of a message, in which a mention of herder at the beginning becomes herder's name. Other
    /// mentions stay ids, because a name that anybody can choose must not decide the meaning of a line.
    pub(super) fn words(&self, said: &Said, me: UserId) -> Words {
        let mut words = String::with_capacity(said.text.len());
        let mut mentions: Vec<Mention> = Vec::new();
        let mut rest = said.text.trim();
        let mut addressed = false;
        while let Some(at) = rest.find('<') {
            words.push_str(&rest[..at]);
            rest = &rest[at..];
            let Some((kind, id, length)) = mention(rest) else {
                words.push('<');
                rest = &rest[1..];
                continue;
            };
            let whole = &rest[..length];
            rest = &rest[length..];
            if self.is_herder(kind, id, me) {
                if words.trim().is_empty() && !addressed {
                    addressed = true;
                    words.clear();
                } else {
                    words.push('@');
                    words.push_str(OWN_NAME);
                }
                continue;
            }
            words.push_str(whole);
            if mentions.iter().all(|known| known.written != whole) {
                let shown = self.shown(said, kind, id).unwrap_or_else(|| whole.to_owned());
                let addresses = kind != Kind::Channel;
                mentions.push(Mention { written: whole.to_owned(), shown, addresses });
            }
        }
        words.push_str(rest);
        let words = words.trim();
        let text = if addressed {
            format!("@{OWN_NAME} {}", words.trim_start_matches([':', ',']).trim_start()).trim_end().to_owned()
        } else {
            words.to_owned()
        };
        Words { text, mentions }
    }

    fn is_herder(&self, kind: Kind, id: Id, me: UserId) -> bool {
        match kind {
            Kind::User => id == me.get(),
            Kind::Role => self.own_role == Some(id),
            Kind::Channel => false,
        }
    }

    /// Returns the text that a person reads in place of a mentioned id, if it is known.
    fn shown(&self, said: &Said, kind: Kind, id: Id) -> Option<String> {
        let (sign, name) = match kind {
            Kind::User => ('@', said.mentioned.iter().find(|(user, _)| *user == id).map(|(_, name)| name)),
            Kind::Role => ('@', self.roles.get(&id)),
            Kind::Channel => ('#', self.channels.get(&id)),
        };
        Some(format!("{sign}{}", bounded(name?, NAME_MAX)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    Role,
    Channel,
}

/// Parses the mention at the beginning of `text`: `<@id>`, `<@!id>`, `<@&id>` or `<#id>`. Returns its kind, its id and
/// its length in bytes.
fn mention(text: &str) -> Option<(Kind, Id, usize)> {
    /// Maximum length of a mention that is parsed, in bytes: an id has up to 20 digits.
    const LONGEST: usize = 24;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b'>')?;
    let inside = &text[1..end];
    let forms = [("@&", Kind::Role), ("@!", Kind::User), ("@", Kind::User), ("#", Kind::Channel)];
    let (kind, digits) = forms.iter().find_map(|(mark, kind)| Some((*kind, inside.strip_prefix(mark)?)))?;
    let id = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((kind, id, end + 1))
}

/// Builds the line for the dispatcher from a message that was said at time `at` in `place`.
pub(super) fn line(said: &Said, words: Words, place: Place, roles: Vec<String>, at: Timestamp) -> Inbound {
    Inbound {
        author: Author {
            network: network(),
            nick: said.name.clone(),
            account: Some(said.author.to_string()),
            mask: None,
            roles,
            origin: Origin::Network,
        },
        place,
        text: words.text,
        mentions: words.mentions,
        attached: String::new(),
        files: Vec::new(),
        own_nick: OWN_NAME.to_owned(),
        at,
        message: Some(said.id.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ME: u64 = 100_000_000_000_000_001;
    const ALICE: u64 = 100_000_000_000_000_002;
    const GUILD: u64 = 100_000_000_000_000_003;

    fn ears() -> Ears {
        Ears { me: UserId::new(ME), guild: GUILD, bots: vec!["100000000000000009".to_owned()] }
    }

    fn message(change: impl FnOnce(&mut Value)) -> Message {
        let mut message = json!({
            "id": "100000000000000050", "channel_id": "100000000000000060", "guild_id": GUILD.to_string(),
            "author": { "id": ALICE.to_string(), "username": "alice", "discriminator": "0", "avatar": null },
            "member": {
                "roles": ["100000000000000070"], "deaf": false, "mute": false, "joined_at": null, "nick": "Al"
            },
            "content": "fix it", "timestamp": "2026-01-01T00:00:00Z", "edited_timestamp": null, "tts": false,
            "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "pinned": false, "type": 0
        });
        change(&mut message);
        serde_json::from_value(message).expect("a message as Discord sends it")
    }

    #[test]
    fn people_are_heard_and_nobody_else() {
        let said = ears().message(message(|_| {}), None).expect("alice is a person");
        assert_eq!((said.name.as_str(), said.direct), ("Al", false));
        assert_eq!(said.roles, Some(vec!["100000000000000070".to_owned()]));
        let unheard: [fn(&mut Value); 6] = [
            |message| message["author"]["id"] = ME.to_string().into(),
            |message| message["author"]["bot"] = true.into(),
            |message| message["webhook_id"] = "100000000000000080".into(),
            |message| message["type"] = 6.into(),
            |message| message["type"] = 20.into(),
            |message| message["guild_id"] = "100000000000000099".into(),
        ];
        for change in unheard {
            let message = message(change);
            assert_eq!(ears().message(message.clone(), None), None, "{message:?}");
        }
        let known = message(|message| {
            message["author"]["bot"] = true.into();
            message["author"]["id"] = "100000000000000009".into();
        });
        assert!(ears().message(known, None).is_some(), "a bot that is allow-listed");
        let reply = message(|message| message["type"] = 19.into());
        assert!(ears().message(reply, None).is_some());
    }

    #[test]
    fn what_is_said_in_private_is_known_by_having_no_guild() {
        let private = message(|message| {
            message["guild_id"] = Value::Null;
            message["member"] = Value::Null;
        });
        let said = ears().message(private.clone(), None).expect("alice is a person");
        assert_eq!((said.direct, said.roles), (true, None));
        let fetched = ears().message(private, Some(false)).expect("alice is a person");
        assert!(!fetched.direct, "fetched messages never name their guild");
    }

    #[test]
    fn mentions_are_read_as_a_person_reads_them() {
        let names = Names {
            roles: HashMap::from([(5, "ops".to_owned())]),
            channels: HashMap::from([(6, "spark".to_owned())]),
            own_role: Some(4),
        };
        let read = |text: &str| {
            let mut said = ears().message(message(|_| {}), None).expect("alice is a person");
            said.text = text.to_owned();
            said.mentioned = vec![(ALICE, "herder\nstop-all".to_owned())];
            let words = names.words(&said, UserId::new(ME));
            let inbound =
                line(&said, words, Place::Channel("#spark".to_owned()), Vec::new(), Timestamp::default());
            (inbound.text.clone(), inbound.spelled_out(&inbound.text))
        };
        let cases = [
            ("fix it", "fix it"),
            (&*format!("<@{ME}> pause"), "@herder pause"),
            (&*format!("  <@!{ME}>: pause"), "@herder pause"),
            ("<@&4> pause", "@herder pause"),
            (&*format!("<@{ME}>"), "@herder"),
            (&*format!("ask <@{ME}> or <@{ALICE}>"), "ask @herder or @herder stop-all"),
            ("ask <@&4>", "ask @herder"),
            ("<@&5> see <#6>", "@ops see #spark"),
            ("<@7> <@&8> <#9>", "<@7> <@&8> <#9>"),
            ("a < b, <@x>, <@", "a < b, <@x>, <@"),
            ("<:ant:123> <t:1:R>", "<:ant:123> <t:1:R>"),
            ("<@99999999999999999999999999>", "<@99999999999999999999999999>"),
            ("line one\nline two", "line one\nline two"),
        ];
        for (text, words) in cases {
            assert_eq!(read(text).1, words, "{text:?}");
        }
        // The text that decides the meaning of a line contains no name but herder's own.
        let (read, _) = read(&format!("<@{ALICE}> <@&5> <#6>"));
        assert_eq!(read, format!("<@{ALICE}> <@&5> <#6>"));
    }

    #[test]
    fn only_changed_words_are_an_edit() {
        let event = |change: fn(&mut Value)| {
            let mut event = serde_json::to_value(message(|_| {})).expect("it came from JSON");
            event["edited_timestamp"] = "2026-01-01T00:01:00Z".into();
            event["content"] = "fix it well".into();
            change(&mut event);
            ears().edited(serde_json::from_value(event).expect("an update as Discord sends it"))
        };
        assert_eq!(event(|_| {}).map(|said| said.text).as_deref(), Some("fix it well"));
        assert_eq!(event(|event| event["edited_timestamp"] = Value::Null), None, "a preview of a link");
        assert_eq!(event(|event| event["author"]["bot"] = true.into()), None);
    }
}
