//! From a message to a line that herder understands.
//!
//! Whoever cannot be answered for is not heard: webhooks, other bots, system messages, herder itself.

use std::collections::HashMap;

use serenity::all::{Attachment, Message, MessageType, MessageUpdateEvent, RoleId, User, UserId};

use super::intake::{Id, millis_of};
use crate::chat::discord::directory::Purpose;
use crate::chat::discord::network;
use crate::chat::{Author, Inbound, Origin, Place};
use crate::core::time::Timestamp;

/// What a mention of herder stands for in a line.
pub(super) const OWN_NAME: &str = "herder";

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) id: Id,
    pub(super) channel: Id,
    /// In private.
    pub(super) direct: bool,
    pub(super) author: UserId,
    pub(super) name: String,
    /// The ids of the author's roles; `None`: Discord did not tell, and they have to be asked for.
    pub(super) roles: Option<Vec<String>>,
    pub(super) text: String,
    pub(super) mentioned: Vec<(Id, String)>,
    pub(super) files: Vec<File>,
}

/// Something attached to a message.
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

/// Who is listened to.
#[derive(Debug, Clone)]
pub(super) struct Ears {
    pub(super) me: UserId,
    pub(super) guild: Id,
    /// Bots that are listened to.
    pub(super) bots: Vec<String>,
}

impl Ears {
    fn hears(&self, author: &User) -> bool {
        author.id != self.me && (!author.bot || self.bots.contains(&author.id.to_string()))
    }

    /// What a message says; `None`: it is none of ours. `direct` is said where the message itself does not tell, as with
    /// those that are fetched.
    pub(super) fn message(&self, message: Message, direct: Option<bool>) -> Option<Said> {
        let elsewhere = message.guild_id.is_some_and(|guild| guild.get() != self.guild);
        let spoken = matches!(message.kind, MessageType::Regular | MessageType::InlineReply);
        if elsewhere || !spoken || message.webhook_id.is_some() || !self.hears(&message.author) {
            return None;
        }
        let member = message.member.as_deref();
        let nick = member.and_then(|member| member.nick.clone());
        Some(Said {
            id: message.id.get(),
            channel: message.channel_id.get(),
            direct: direct.unwrap_or(message.guild_id.is_none()),
            author: message.author.id,
            name: nick.unwrap_or_else(|| shown(&message.author)),
            roles: member.map(|member| role_ids(&member.roles)),
            text: message.content,
            mentioned: mentioned(&message.mentions),
            files: message.attachments.iter().map(File::from).collect(),
        })
    }

    /// What a message says after its author changed it; `None`: nobody changed its words, or it is none of ours.
    pub(super) fn edited(&self, event: MessageUpdateEvent) -> Option<Said> {
        // Discord tells of links that it previews and of pins in the same way.
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
        })
    }
}

fn shown(user: &User) -> String {
    user.global_name.clone().unwrap_or_else(|| user.name.clone())
}

fn mentioned(users: &[User]) -> Vec<(Id, String)> {
    users.iter().map(|user| (user.id.get(), shown(user))).collect()
}

/// Ids of roles, as the configuration has them.
pub(super) fn role_ids(roles: &[RoleId]) -> Vec<String> {
    roles.iter().map(ToString::to_string).collect()
}

/// What ids in messages stand for.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) roles: HashMap<Id, String>,
    pub(super) channels: HashMap<Id, String>,
}

impl Names {
    /// The words of a message as a person reads them: a mention of herder at the head addresses it.
    pub(super) fn words(&self, said: &Said, me: UserId) -> String {
        let mut words = String::with_capacity(said.text.len());
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
            match kind {
                Kind::User if id == me.get() && words.trim().is_empty() && !addressed => {
                    addressed = true;
                    words.clear();
                }
                Kind::User if id == me.get() => push_name(&mut words, '@', Some(OWN_NAME), whole),
                Kind::User => {
                    let name = said.mentioned.iter().find(|(user, _)| *user == id);
                    push_name(&mut words, '@', name.map(|(_, name)| name.as_str()), whole);
                }
                Kind::Role => push_name(&mut words, '@', self.roles.get(&id).map(String::as_str), whole),
                Kind::Channel => {
                    push_name(&mut words, '#', self.channels.get(&id).map(String::as_str), whole)
                }
            }
            rest = &rest[length..];
        }
        words.push_str(rest);
        let words = words.trim();
        if addressed {
            format!("{OWN_NAME}: {}", words.trim_start_matches([':', ',']).trim_start())
        } else {
            words.to_owned()
        }
    }
}

fn push_name(words: &mut String, sign: char, name: Option<&str>, whole: &str) {
    match name {
        Some(name) => {
            words.push(sign);
            words.push_str(name);
        }
        None => words.push_str(whole),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    Role,
    Channel,
}

/// The mention that `text` begins with: `<@id>`, `<@!id>`, `<@&id>` or `<#id>`, and its length.
fn mention(text: &str) -> Option<(Kind, Id, usize)> {
    /// The longest id has 20 digits.
    const LONGEST: usize = 24;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b'>')?;
    let inside = &text[1..end];
    let forms = [("@&", Kind::Role), ("@!", Kind::User), ("@", Kind::User), ("#", Kind::Channel)];
    let (kind, digits) = forms.iter().find_map(|(mark, kind)| Some((*kind, inside.strip_prefix(mark)?)))?;
    let id = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((kind, id, end + 1))
}

/// Where something was said, in the words of commands.
pub(super) fn place(said: &Said, purpose: Option<Purpose>, control: &str) -> Place {
    match purpose {
        _ if said.direct => Place::Direct(said.author.to_string()),
        Some(Purpose::Agent(agent)) => Place::Channel(format!("#{agent}")),
        Some(Purpose::Control) => Place::Channel(format!("#{control}")),
        Some(Purpose::Alerts | Purpose::Work | Purpose::Category(_) | Purpose::Archive(_)) | None => {
            Place::Channel(said.channel.to_string())
        }
    }
}

/// The line of a message.
pub(super) fn line(said: &Said, text: String, place: Place, roles: Vec<String>) -> Inbound {
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
        text,
        own_nick: OWN_NAME.to_owned(),
        at: Timestamp::from_millis(millis_of(said.id)),
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
        };
        let read = |text: &str| {
            let mut said = ears().message(message(|_| {}), None).expect("alice is a person");
            said.text = text.to_owned();
            said.mentioned = vec![(ALICE, "Alice".to_owned())];
            names.words(&said, UserId::new(ME))
        };
        let cases = [
            ("fix it", "fix it"),
            (&*format!("<@{ME}> pause"), "herder: pause"),
            (&*format!("  <@!{ME}>: pause"), "herder: pause"),
            (&*format!("<@{ME}>"), "herder: "),
            (&*format!("ask <@{ME}> or <@{ALICE}>"), "ask @herder or @Alice"),
            ("<@&5> see <#6>", "@ops see #spark"),
            ("<@7> <@&8> <#9>", "<@7> <@&8> <#9>"),
            ("a < b, <@x>, <@", "a < b, <@x>, <@"),
            ("<:ant:123> <t:1:R>", "<:ant:123> <t:1:R>"),
            ("<@99999999999999999999999999>", "<@99999999999999999999999999>"),
            ("line one\nline two", "line one\nline two"),
        ];
        for (text, words) in cases {
            assert_eq!(read(text), words, "{text:?}");
        }
    }

    #[test]
    fn places_have_the_names_that_commands_know() {
        let mut said = ears().message(message(|_| {}), None).expect("alice is a person");
        let agent = crate::core::id::AgentName::new("spark").expect("a good name");
        let of = |purpose, said: &Said| place(said, purpose, "herder");
        assert_eq!(of(Some(Purpose::Agent(agent)), &said), Place::Channel("#spark".to_owned()));
        assert_eq!(of(Some(Purpose::Control), &said), Place::Channel("#herder".to_owned()));
        assert_eq!(of(Some(Purpose::Alerts), &said), Place::Channel("100000000000000060".to_owned()));
        assert_eq!(of(None, &said), Place::Channel("100000000000000060".to_owned()));
        said.direct = true;
        assert_eq!(of(None, &said), Place::Direct(ALICE.to_string()));
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
