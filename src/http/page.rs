//! The page: made on the server, whole without JavaScript. What changes is sent to open pages by [`super::live`].

mod act;
mod agent;
mod board;
mod fleet;
mod history;
mod layout;
mod money;
mod mood;
mod needs;
mod pauses;
mod story;
mod task;
mod timeline;

use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use maud::Markup;
use serde::de::DeserializeOwned;

use super::screen::{Kind, Look};
use super::who::{Caller, LANGUAGE_COOKIE, Unknown, cookie};
use super::{App, Shared, api};
use crate::clock;
use crate::core::id::AgentName;
use crate::core::role::Role;
use crate::l10n::Locale;
use crate::supervisor::View as Seen;
use layout::Page;
use story::{LastWords, Story};

pub(super) use crate::commands::say::Voice;
pub(super) use act::{act, choose_language, door, enter, leave};
pub(super) use fleet::{Filter, changed, row, table_body};
pub(super) use history::{Wanted as Sought, history};
pub(super) use money::{Charts, Wanted as WantedCharts, money, money_csv};
pub(super) use task::task;

/// Files that the page is made of, in the binary. Their names carry the version, so that browsers may keep them.
const ASSETS: [(&str, &str, &[u8]); 5] = [
    ("icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg")),
    ("style.css", "text/css; charset=utf-8", include_bytes!("assets/style.css")),
    ("page.js", "text/javascript; charset=utf-8", include_bytes!("assets/page.js")),
    ("htmx.min.js", "text/javascript; charset=utf-8", include_bytes!("assets/htmx.min.js")),
    ("hx-sse.min.js", "text/javascript; charset=utf-8", include_bytes!("assets/hx-sse.min.js")),
];

/// Context of a rendering: role, language and time.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) app: &'a App,
    pub(super) role: Role,
    pub(super) voice: Voice<'a>,
}

impl View<'_> {
    pub(super) fn text(&self, id: &str) -> String {
        self.voice.text(id, &[])
    }

    /// The word for a role.
    fn role(&self, role: Role) -> String {
        self.voice.text("page-role", &[("role", role.as_str().into())])
    }

    /// Whether buttons are shown.
    pub(super) fn may_steer(&self) -> bool {
        api::may_steer(self.role)
    }
}

/// A piece of a page.
pub(super) struct Piece<'a> {
    pub(super) id: &'static str,
    /// The text that tells whether the piece has changed.
    pub(super) compared: String,
    html: Option<Box<dyn FnOnce() -> String + Send + 'a>>,
}

impl<'a> Piece<'a> {
    /// A piece that changes with each letter of it.
    fn plain(id: &'static str, html: Markup) -> Self {
        Self { id, compared: html.into_string(), html: None }
    }

    /// A piece that is compared by a rendering of another moment, and rendered only if that has changed.
    fn aged(id: &'static str, still: Markup, now: impl FnOnce() -> Markup + Send + 'a) -> Self {
        Self { id, compared: still.into_string(), html: Some(Box::new(|| now().into_string())) }
    }

    /// The HTML.
    pub(super) fn html(&mut self) -> String {
        self.html.take().map_or_else(|| self.compared.clone(), |render| render())
    }
}

/// Contents of a view that are read back once, and then only go on.
#[derive(Debug, Default)]
pub(super) struct Past {
    story: Story,
    words: LastWords,
    booked: money::Booked,
    newest: history::Newest,
}

/// Agents of a view: all, and those that pass its filter but for their phase.
pub(super) type Agents<'a> = (&'a [Seen], &'a [&'a Seen]);

/// The pieces of a view that change while it is looked at, but for the fleet's rows. `still` is the same view at a moment that
/// changes less often.
pub(super) async fn pieces<'a>(
    look: &'a Look,
    (view, still): (&'a View<'a>, &'a View<'a>),
    (agents, fitting): Agents<'a>,
    past: &'a mut Past,
) -> Vec<Piece<'a>> {
    let summary = |view: &View<'_>| fleet::summary(view, agents);
    let mut pieces = vec![Piece::aged("summary", summary(still), move || summary(view))];
    match look {
        Look::Fleet(filter) => {
            past.words.go_on(view.app, &needs::first(view, agents)).await;
            let words = &past.words;
            let needs = move |view: &View<'_>| needs::needs(view, agents, &filter.path(), words);
            pieces.push(Piece::aged("needs", needs(still), move || needs(view)));
            pieces.push(Piece::plain("counts", fleet::counts(view, fitting, filter)));
            pieces.push(Piece::plain("spend", fleet::spend(view, agents)));
        }
        Look::Agent(name) => {
            if let Some(seen) = agents.iter().find(|seen| seen.name == *name) {
                past.story.go_on(view.app, name).await;
                let story = &past.story;
                pieces.push(Piece::aged("head", agent::head(still, seen), move || agent::head(view, seen)));
                let sessions = move |view: &View<'_>| timeline::timeline(view, seen, story);
                pieces.push(Piece::aged("timeline", sessions(still), move || sessions(view)));
                let tail = move |view: &View<'_>| agent::tail(view, seen, story);
                pieces.push(Piece::aged("tail", tail(still), move || tail(view)));
            }
        }
        Look::Board => {
            let board = move |view: &View<'_>| board::board(view, agents);
            pieces.push(Piece::aged("board", board(still), move || board(view)));
        }
        Look::Task(id) => {
            // An empty piece takes the place of a task that is not kept any more.
            let task = move |view: &View<'_>| {
                task::piece(view, agents, *id).unwrap_or_else(|| maud::PreEscaped(String::new()))
            };
            pieces.push(Piece::aged("task", task(still), move || task(view)));
        }
        Look::Money(charts) => pieces.extend(money::pieces(view, *charts, agents, &mut past.booked)),
        Look::History(sought) => {
            past.newest.go_on(view, sought).await;
            let newest = &past.newest;
            let events = move |view: &View<'_>| newest.shown(view, sought);
            pieces.push(Piece::aged("history", events(still), move || events(view)));
        }
        Look::Still => {}
    }
    pieces
}

impl App {
    /// The language that its person has chosen; else the one that a browser asks for first and herder has; else that of
    /// the posts.
    pub(super) fn language(&self, headers: &HeaderMap) -> &Locale {
        let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let asked = wanted
            .unwrap_or_default()
            .split(',')
            .map(|name| name.split(';').next().unwrap_or_default().trim());
        let mut names = cookie(headers, LANGUAGE_COOKIE).into_iter().chain(asked);
        let found =
            names.find_map(|name| self.locales.iter().find(|locale| !name.is_empty() && locale.speaks(name)));
        found.unwrap_or(&self.locales[0])
    }

    /// The language of that name.
    pub(super) fn locale(&self, name: &str) -> &Locale {
        self.locales.iter().find(|locale| locale.name() == name).unwrap_or(&self.locales[0])
    }

    pub(super) fn view<'a>(&'a self, role: Role, locale: &'a Locale) -> View<'a> {
        View { app: self, role, voice: Voice { locale, now: clock::now(), redactor: &self.setup.redactor } }
    }

    /// Page for people who are not logged in.
    fn locked(&self, parts: &Parts, unknown: Unknown) -> Response {
        let locale = self.language(&parts.headers);
        let status = match unknown {
            Unknown::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Unknown::Nothing | Unknown::Wrong => StatusCode::UNAUTHORIZED,
        };
        let (title, text) = (locale.text("page-locked-title", &[]), locale.text("page-locked-text", &[]));
        (status, layout::plain(&self.setup.name, locale, &title, &text, None)).into_response()
    }

    /// Page for a request that is refused, with the sentence of that Fluent id.
    pub(super) fn refused(&self, headers: &HeaderMap, status: StatusCode, sentence: &str) -> Response {
        let locale = self.language(headers);
        let (title, text) = (locale.text("page-refused", &[]), locale.text(sentence, &[]));
        (status, layout::plain(&self.setup.name, locale, &title, &text, None)).into_response()
    }

    fn missing(&self, parts: &Parts) -> Response {
        self.missing_as(parts, &[])
    }

    /// The page of an address that leads nowhere, with the reason if one is known.
    fn missing_as(&self, parts: &Parts, reason: &[String]) -> Response {
        let locale = self.language(&parts.headers);
        let title = locale.text("page-nowhere", &[]);
        let page = layout::plain(&self.setup.name, locale, &title, &reason.join(" "), None);
        (StatusCode::NOT_FOUND, page).into_response()
    }

    /// Lines that a command which only looks has for this person; an error if there is nothing of that name.
    async fn lines(
        &self,
        caller: &Caller,
        locale: &Locale,
        command: &str,
        args: &[String],
    ) -> Result<Vec<String>, Vec<String>> {
        let asked = (command, args);
        let reply = self.setup.dispatcher.request_of(&caller.author, asked, Some(locale), false).await;
        reply.and_then(|reply| if reply.ok { Ok(reply.lines) } else { Err(reply.lines) })
    }
}

/// The variable parts of a path. An address that has no such parts leads nowhere, and is answered as a page.
pub(super) struct At<T>(T);

impl<T: DeserializeOwned + Send> FromRequestParts<Shared> for At<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let at = Path::<T>::from_request_parts(parts, app).await;
        at.map(|Path(at)| Self(at)).map_err(|_| app.missing(parts))
    }
}

/// The query of an address, likewise.
pub(super) struct Asked<T>(T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Asked<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let asked = Query::<T>::from_request_parts(parts, app).await;
        asked.map(|Query(asked)| Self(asked)).map_err(|_| app.missing(parts))
    }
}

/// Takes the marks of chat out of a sentence of herder's own; the words of others in it stay as they are.
pub(super) fn sentence(text: &str) -> String {
    text.replace("**", "")
}

pub(super) async fn fleet(State(app): State<Shared>, Asked(filter): Asked<Filter>, parts: Parts) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let filter = filter.bounded();
    let locale = app.language(&parts.headers);
    let kind = Kind { look: Look::Fleet(filter.clone()), role: caller.role, language: locale.name() };
    let shown = app.shown(&kind).await;
    let view = app.view(caller.role, locale);
    let body = fleet::body(&view, &shown, &filter);
    let title = view.text("page-title-fleet");
    Page { title: &title, at: Some("/"), live: None }.show(&view, (&caller, &parts), &shown, &body)
}

pub(super) async fn agent(State(app): State<Shared>, At(name): At<String>, parts: Parts) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let seen = AgentName::new(&name).ok().and_then(|name| app.setup.fleet.view(&name));
    let Some(seen) = seen else { return app.missing(&parts) };
    let locale = app.language(&parts.headers);
    let kind = Kind { look: Look::Agent(seen.name.clone()), role: caller.role, language: locale.name() };
    let shown = app.shown(&kind).await;
    let view = app.view(caller.role, locale);
    let settings = app.lines(&caller, locale, "agent show", &[seen.name.to_string()]).await;
    let settings = settings.unwrap_or_else(|refused| refused);
    let body = agent::body(&view, &seen, &shown, &settings);
    let live = format!("/live?agent={}&at={}", seen.name, shown.id);
    Page { title: seen.name.as_str(), at: None, live: Some(&live) }.show(
        &view,
        (&caller, &parts),
        &shown,
        &body,
    )
}

/// All that was said in one session.
pub(super) async fn transcript(
    State(app): State<Shared>,
    At((name, session)): At<(String, u64)>,
    parts: Parts,
) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let Ok(name) = AgentName::new(&name) else { return app.missing(&parts) };
    let locale = app.language(&parts.headers);
    let args = [name.to_string(), "session".to_owned(), session.to_string()];
    let last = app.setup.fleet.view(&name).map(|seen| seen.agent.last_session.0);
    if session == 0 || last.is_some_and(|last| session > last) {
        return app.missing(&parts);
    }
    let lines = match app.lines(&caller, locale, "log", &args).await {
        Ok(lines) => lines,
        Err(reason) => return app.missing_as(&parts, &reason),
    };
    let shown = app.shown(&Kind { look: Look::Still, role: caller.role, language: locale.name() }).await;
    let view = app.view(caller.role, locale);
    let body = agent::transcript(&view, &name, session, &lines);
    let title = format!("{name} {session}");
    Page { title: &title, at: None, live: None }.show(&view, (&caller, &parts), &shown, &body)
}

pub(super) async fn board(State(app): State<Shared>, parts: Parts) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let locale = app.language(&parts.headers);
    let kind = Kind { look: Look::Board, role: caller.role, language: locale.name() };
    let shown = app.shown(&kind).await;
    let view = app.view(caller.role, locale);
    let body = board::body(&view, &shown);
    let title = view.text("page-title-board");
    let live = format!("/live?view=board&at={}", shown.id);
    Page { title: &title, at: Some("/board"), live: Some(&live) }.show(
        &view,
        (&caller, &parts),
        &shown,
        &body,
    )
}

pub(super) async fn nowhere(State(app): State<Shared>, parts: Parts) -> Response {
    app.missing(&parts)
}

pub(super) async fn asset(State(app): State<Shared>, At(file): At<String>, parts: Parts) -> Response {
    let Some((_, kind, bytes)) = ASSETS.iter().find(|(name, ..)| *name == file) else {
        return app.missing(&parts);
    };
    let headers =
        [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, *bytes).into_response()
}
