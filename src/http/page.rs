//! The page: made on the server, whole without JavaScript. What changes is sent to open pages by [`super::live`].

mod agent;
mod fleet;
mod layout;

use axum::Form;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::who::{COOKIE, Caller, Unknown, cookie};
use super::{App, Shared, api};
use crate::clock;
use crate::commands::say::Voice;
use crate::core::id::AgentName;
use crate::l10n::Locale;
use layout::Page;

pub(super) use agent::parts as agent_parts;
pub(super) use fleet::{changed, needs, row, summary};

/// Files that the page is made of, in the binary. Their names carry the version, so that browsers may keep them.
const ASSETS: [(&str, &str, &[u8]); 4] = [
    ("icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg")),
    ("style.css", "text/css; charset=utf-8", include_bytes!("assets/style.css")),
    ("htmx.min.js", "text/javascript; charset=utf-8", include_bytes!("assets/htmx.min.js")),
    ("hx-sse.min.js", "text/javascript; charset=utf-8", include_bytes!("assets/hx-sse.min.js")),
];

/// What a page is made with: who looks, in which language, and when.
pub(super) struct View<'a> {
    pub(super) app: &'a App,
    pub(super) caller: &'a Caller,
    pub(super) voice: Voice<'a>,
}

impl View<'_> {
    pub(super) fn text(&self, id: &str) -> String {
        self.voice.text(id, &[])
    }

    /// Whether buttons are shown.
    pub(super) fn may_steer(&self) -> bool {
        api::may_steer(self.caller)
    }
}

impl App {
    /// The language that a browser asks for first and herder has; else that of the posts.
    pub(super) fn language(&self, parts: &Parts) -> &Locale {
        let wanted = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let mut names = wanted
            .unwrap_or_default()
            .split(',')
            .map(|name| name.split(';').next().unwrap_or_default().trim());
        let found =
            names.find_map(|name| self.locales.iter().find(|locale| !name.is_empty() && locale.speaks(name)));
        found.unwrap_or(&self.locales[0])
    }

    pub(super) fn view<'a>(&'a self, caller: &'a Caller, locale: &'a Locale) -> View<'a> {
        View { app: self, caller, voice: Voice { locale, now: clock::now(), redactor: &self.setup.redactor } }
    }

    /// What somebody sees who is not logged in.
    fn locked(&self, parts: &Parts, unknown: Unknown) -> Response {
        let locale = self.language(parts);
        let status = match unknown {
            Unknown::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Unknown::Nothing | Unknown::Wrong => StatusCode::UNAUTHORIZED,
        };
        let (title, text) = (locale.text("page-locked-title", &[]), locale.text("page-locked-text", &[]));
        (status, layout::plain(&self.setup.name, locale, &title, &text, None)).into_response()
    }
}

pub(super) async fn fleet(State(app): State<Shared>, parts: Parts) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let view = app.view(&caller, app.language(&parts));
    let said = cookie(&parts).map(|cookie| app.setup.logins.said(cookie)).unwrap_or_default();
    let title = view.text("page-title-fleet");
    Page { title: &title, live: "/live", said: &said }.show(&view, &fleet::body(&view)).into_response()
}

pub(super) async fn agent(State(app): State<Shared>, Path(name): Path<String>, parts: Parts) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let locale = app.language(&parts);
    let view = app.view(&caller, locale);
    let seen = AgentName::new(&name).ok().and_then(|name| app.setup.fleet.view(&name));
    let Some(seen) = seen else { return missing(&app, locale) };
    let said = cookie(&parts).map(|cookie| app.setup.logins.said(cookie)).unwrap_or_default();
    let body = agent::body(&view, &seen).await;
    let live = format!("/live?agent={}", seen.name);
    Page { title: seen.name.as_str(), live: &live, said: &said }.show(&view, &body).into_response()
}

fn missing(app: &App, locale: &Locale) -> Response {
    let text = locale.text("page-nowhere", &[]);
    (StatusCode::NOT_FOUND, layout::plain(&app.setup.name, locale, &text, "", None)).into_response()
}

pub(super) async fn nowhere(State(app): State<Shared>, parts: Parts) -> Response {
    missing(&app, app.language(&parts))
}

/// Shows a button: a program that fetches links to preview them uses nothing up.
pub(super) async fn door(State(app): State<Shared>, Path(code): Path<String>, parts: Parts) -> Response {
    let locale = app.language(&parts);
    let title = locale.text("page-door-title", &[]);
    if !app.setup.logins.is_good(&code) {
        let text = locale.text("page-door-over", &[]);
        return (StatusCode::GONE, layout::plain(&app.setup.name, locale, &title, &text, None))
            .into_response();
    }
    let text = locale.text("page-door-text", &[]);
    let button = locale.text("page-door-button", &[("name", app.setup.name.as_str().into())]);
    layout::plain(&app.setup.name, locale, &title, &text, Some((&format!("/login/{code}"), &button)))
        .into_response()
}

pub(super) async fn enter(State(app): State<Shared>, Path(code): Path<String>, parts: Parts) -> Response {
    let locale = app.language(&parts);
    if !app.failed_logins.allow() {
        return app.locked(&parts, Unknown::TooMany);
    }
    let Some(made) = app.setup.logins.redeem(&code).await else {
        app.failed_logins.count();
        let (title, text) = (locale.text("page-door-title", &[]), locale.text("page-door-over", &[]));
        return (StatusCode::GONE, layout::plain(&app.setup.name, locale, &title, &text, None))
            .into_response();
    };
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, &format!("{made}; Max-Age=604800"), &app);
    response
}

fn set_cookie(response: &mut Response, value: &str, app: &App) {
    let is_secure = app.setup.settings.behind_proxy
        || app.setup.settings.tls.is_some()
        || app.setup.settings.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
    if let Ok(text) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(header::SET_COOKIE, text);
    }
}

/// A form of the page.
#[derive(Debug, Deserialize)]
pub(super) struct Act {
    /// What proves that the form is one of this session's.
    #[serde(default)]
    form: String,
    /// The command and its words, as in a shell.
    #[serde(default)]
    command: String,
    /// Whom it is for.
    #[serde(default)]
    agent: String,
    /// Words of the person, as the last argument.
    #[serde(default)]
    text: String,
    /// Where to go on.
    #[serde(default)]
    back: String,
}

pub(super) async fn leave(State(app): State<Shared>, parts: Parts, Form(act): Form<Act>) -> Response {
    if let (Ok(caller), Some(cookie)) = (app.caller(&parts).await, cookie(&parts))
        && caller.form == act.form
    {
        app.setup.logins.end(cookie).await;
    }
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, "; Max-Age=0", &app);
    response
}

/// Carries out what a button says, and shows what it came to on the page it was on.
pub(super) async fn act(State(app): State<Shared>, parts: Parts, Form(act): Form<Act>) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let locale = app.language(&parts);
    let Some(cookie) = cookie(&parts).filter(|_| !caller.form.is_empty()) else {
        return app.locked(&parts, Unknown::Nothing);
    };
    let said: Vec<String> = if caller.form == act.form {
        let (name, args) = words(&act);
        let asked = (name.as_str(), args.as_slice());
        let done = app.setup.dispatcher.request_of(&caller.author, asked, Some(locale.name()), true).await;
        done.map_or_else(|lines| lines, |reply| reply.lines)
    } else {
        vec![locale.text("page-form-old", &[])]
    };
    // Names are bold in chat.
    app.setup.logins.say(cookie, said.iter().map(|line| line.replace("**", "")).collect());
    // A path of herder's own, and nothing that a browser takes for another host.
    let is_own =
        act.back.starts_with('/') && !act.back.starts_with("//") && !act.back.contains(['\\', '\r', '\n']);
    Redirect::to(if is_own { &act.back } else { "/" }).into_response()
}

/// The command of a form, and its arguments: the agent first, the person's words last.
fn words(act: &Act) -> (String, Vec<String>) {
    let mut pieces = act.command.split('|').map(str::to_owned);
    let name = pieces.next().unwrap_or_default();
    let agent = Some(act.agent.clone()).filter(|agent| !agent.is_empty());
    let text = Some(act.text.trim().to_owned()).filter(|text| !text.is_empty());
    (name, agent.into_iter().chain(pieces).chain(text).collect())
}

pub(super) async fn asset(Path(file): Path<String>) -> Response {
    let Some((_, kind, bytes)) = ASSETS.iter().find(|(name, ..)| *name == file) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers =
        [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, *bytes).into_response()
}
