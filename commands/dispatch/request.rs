//! Requests that are no chat lines: from the shell, the web page and the API.

use serde_json::{Value as Data, json};

use super::{Dispatcher, needed, person_key};
use crate::access::Standing;
use crate::clock;
use crate::commands::desk::{Answer, Desk};
use crate::commands::history;
use crate::commands::parse::{self, Heard, Room};
use crate::core::id::NetworkName;
use crate::core::notice::Notice;
use crate::core::role::Role;
use crate::core::speech::{Author, Inbound, Origin, Place};
use crate::journal::Recorded;
use crate::l10n::Locale;

impl Dispatcher {
    /// Carries out a command from the shell, which arrives over the local socket: its author is the user that herder
    /// runs as, an admin.
    pub async fn request(&self, name: &str, args: &[String]) -> Reply {
        let inner = &*self.inner;
        inner.fleet.catch_up().await;
        let heard = parse::request(name, args, inner);
        let author = local_author();
        let standing =
            inner.access.standing(&author).unwrap_or(Standing { role: Role::Viewer, identity: None });
        let (place, locale) = ("local", &inner.typed);
        let asking = Asking { author: &author, standing: &standing, place, locale, key: None };
        self.carry_out(asking, (name, args), heard, true).await
    }

    /// Carries out a command that arrives over HTTP and replies in `locale`, or else in the language of the posts. A
    /// command that only reads is recorded in the audit trail only if `is_recorded`, because an open page repeats it
    /// again and again.
    ///
    /// # Errors
    /// The reply, if the author may not have this done.
    pub(crate) async fn request_of(
        &self,
        author: &Author,
        (name, args): (&str, &[String]),
        locale: Option<&Locale>,
        is_recorded: bool,
    ) -> Result<Reply, Vec<String>> {
        self.request_with((author, None), (name, args), locale, is_recorded).await
    }

    /// Carries out a command like [`Dispatcher::request_of`], under a key: the decision is stored with the key and its
    /// result ([`crate::supervisor::Replied`]), so that a repeated request is not carried out again.
    ///
    /// # Errors
    /// The author may not have this done: what they are told.
    pub(crate) async fn request_once(
        &self,
        author: &Author,
        key: String,
        asked: (&str, &[String]),
    ) -> Result<Reply, Vec<String>> {
        self.request_with((author, Some(key)), asked, None, true).await
    }

    /// Returns the reply to a command that was carried out before, of which only the notice is stored.
    pub(crate) fn reply_of(&self, notice: &Notice) -> Reply {
        let inner = &*self.inner;
        let voice = inner.voice(&inner.typed, clock::now());
        let line = voice.locale.notice(&inner.redactor.of(notice));
        let (lines, data) = inner.lines(voice, Ok(Answer::lines(vec![line]).with(json!(notice))));
        Reply { ok: true, lines, data }
    }

    async fn request_with(
        &self,
        (author, key): (&Author, Option<String>),
        (name, args): (&str, &[String]),
        locale: Option<&Locale>,
        is_recorded: bool,
    ) -> Result<Reply, Vec<String>> {
        let inner = &*self.inner;
        inner.fleet.catch_up().await;
        let heard = parse::request(name, args, inner);
        let locale = locale.unwrap_or(&inner.typed);
        let needed = needed(&heard);
        let Some(standing) = inner.access.standing(author).filter(|standing| standing.role >= needed) else {
            inner.deny(author, &heard);
            return Err(vec![inner.needs_role(inner.voice(locale, clock::now()), &heard, needed)]);
        };
        let asking =
            Asking { author, standing: &standing, place: crate::core::link::HTTP_NETWORK, locale, key };
        Ok(self.carry_out(asking, (name, args), heard, is_recorded).await)
    }

    /// Returns a journal entry as JSON for programs, as `history` shows it to somebody with `role`; `None` if that role
    /// may not see it.
    pub(crate) fn seen_by(&self, role: Role, recorded: Recorded) -> Option<Data> {
        let seen = history::seen_by(role, recorded)?;
        Some(self.inner.without_secrets(json!(seen)))
    }

    async fn carry_out(
        &self,
        asking: Asking<'_>,
        (name, args): (&str, &[String]),
        heard: Heard,
        is_recorded: bool,
    ) -> Reply {
        let inner = &*self.inner;
        let now = clock::now();
        let text = std::iter::once(name).chain(args.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        let inbound = Inbound {
            place: Place::Direct(asking.author.nick.clone()),
            author: asking.author.clone(),
            text,
            mentions: Vec::new(),
            attached: String::new(),
            files: Vec::new(),
            own_nick: String::new(),
            message: asking.key.filter(|_| !heard.only_looks()),
            at: now,
        };
        let mut asked = inner.asked(&inbound, &heard, &Room::Private, asking.standing);
        asking.place.clone_into(&mut asked.audit.place);
        asked.answer = None;
        let desk = Desk {
            given: Vec::new(),
            inner,
            fleet: &inner.fleet,
            locale: asking.locale,
            asked,
            role: asking.standing.role,
            now,
            long: true,
            files: false,
            who: person_key(&inbound.author),
            author: &inbound.author,
            private: true,
            under: None,
            thread: None,
        };
        let done = if is_recorded { desk.carry_out(heard).await } else { desk.look(heard).await };
        let ok = done.is_ok();
        let (lines, data) = inner.lines(inner.voice(asking.locale, now), done);
        Reply { ok, lines, data }
    }
}

/// The author of a request that is no chat line, and the form of its reply.
struct Asking<'a> {
    author: &'a Author,
    standing: &'a Standing,
    /// Name of the request's place in the audit trail.
    place: &'static str,
    locale: &'a Locale,
    /// Key under which the decision is stored; `None` for a request that is not repeated.
    key: Option<String>,
}

/// The reply to a request that is no chat line.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// True if the command was carried out.
    pub ok: bool,
    /// The reply as lines for people.
    pub lines: Vec<String>,
    /// The reply as JSON for programs; `None` if there is none.
    pub data: Option<Data>,
}

/// Returns the author of requests over the local socket: the user that herder runs as.
fn local_author() -> Author {
    let nick = std::env::var("USER").unwrap_or_else(|_| "local".to_owned());
    Author {
        network: NetworkName::from("local"),
        nick,
        account: None,
        mask: None,
        roles: Vec::new(),
        origin: Origin::LocalSocket,
    }
}
