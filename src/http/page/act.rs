//! Logging in and out, and what buttons do.

use axum::Form;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;

use super::{At, layout};
use crate::http::who::{COOKIE, LANGUAGE_COOKIE, Unknown, cookie};
use crate::http::{App, Shared};

/// Shows a button: a program that fetches links to preview them uses nothing up.
pub(in super::super) async fn door(
    State(app): State<Shared>,
    At(code): At<String>,
    parts: Parts,
) -> Response {
    let locale = app.language(&parts.headers);
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

pub(in super::super) async fn enter(
    State(app): State<Shared>,
    At(code): At<String>,
    parts: Parts,
) -> Response {
    let locale = app.language(&parts.headers);
    let Some(made) = app.setup.logins.redeem(&code).await else {
        if app.failed_logins.failed() == Unknown::TooMany {
            return app.locked(&parts, Unknown::TooMany);
        }
        let (title, text) = (locale.text("page-door-title", &[]), locale.text("page-door-over", &[]));
        return (StatusCode::GONE, layout::plain(&app.setup.name, locale, &title, &text, None))
            .into_response();
    };
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, COOKIE, &format!("{made}; Max-Age=604800"), &app);
    response
}

fn set_cookie(response: &mut Response, name: &str, value: &str, app: &App) {
    let is_secure = app.setup.settings.behind_proxy
        || app.setup.settings.tls.is_some()
        || app.setup.settings.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
    if let Ok(text) = HeaderValue::from_str(&text) {
        response.headers_mut().insert(header::SET_COOKIE, text);
    }
}

/// A form of the page.
#[derive(Debug, Default, Deserialize)]
pub(in super::super) struct Act {
    /// Proof that the form is one of this session's.
    #[serde(default)]
    form: String,
    /// The command and its words, as in a shell.
    #[serde(default)]
    command: String,
    /// Whom it is for.
    #[serde(default)]
    agent: String,
    /// Whom it goes to, after the command's words.
    #[serde(default)]
    to: String,
    /// Priority of a task, before the person's words.
    #[serde(default)]
    priority: String,
    /// Words of the person, as the last argument.
    #[serde(default)]
    text: String,
    /// The boxes that are checked, by number.
    #[serde(skip)]
    choices: Vec<String>,
    /// Path to go on to.
    #[serde(default)]
    back: String,
}

impl Act {
    /// Takes the fields that are known, each as it was sent last, and all boxes.
    fn of(sent: Vec<(String, String)>) -> Self {
        let mut act = Self::default();
        for (name, value) in sent {
            match name.as_str() {
                "form" => act.form = value,
                "command" => act.command = value,
                "agent" => act.agent = value,
                "to" => act.to = value,
                "priority" => act.priority = value,
                "text" => act.text = value,
                "back" => act.back = value,
                "choice" => act.choices.push(value),
                _ => {}
            }
        }
        act
    }
}

pub(in super::super) async fn leave(
    State(app): State<Shared>,
    parts: Parts,
    Form(act): Form<Act>,
) -> Response {
    if let (Ok(caller), Some(cookie)) = (app.caller(&parts).await, cookie(&parts.headers, COOKIE))
        && caller.form == act.form
    {
        app.setup.logins.end(cookie).await;
    }
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, COOKIE, "; Max-Age=0", &app);
    response
}

/// Carries out what a button says, and shows what it came to on the page it was on.
pub(in super::super) async fn act(
    State(app): State<Shared>,
    parts: Parts,
    Form(sent): Form<Vec<(String, String)>>,
) -> Response {
    let act = Act::of(sent);
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let locale = app.language(&parts.headers);
    let Some(cookie) = cookie(&parts.headers, COOKIE).filter(|_| !caller.form.is_empty()) else {
        return app.locked(&parts, Unknown::Nothing);
    };
    let said: Vec<String> = if caller.form == act.form {
        let (name, args) = words(&act);
        let asked = (name.as_str(), args.as_slice());
        let done = app.setup.dispatcher.request_of(&caller.author, asked, Some(locale), true).await;
        done.map_or_else(|lines| lines, |reply| reply.lines)
    } else {
        vec![locale.text("page-form-old", &[])]
    };
    app.setup.logins.say(cookie, said);
    back_to(&act.back)
}

/// Leads back to a path of herder's own: nothing that a browser takes for another host.
fn back_to(path: &str) -> Response {
    let is_own = path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains(|c: char| c == '\\' || c.is_control());
    Redirect::to(if is_own { path } else { "/" }).into_response()
}

/// The choice of a language.
#[derive(Debug, Deserialize)]
pub(in super::super) struct Choice {
    #[serde(default)]
    form: String,
    language: String,
    #[serde(default)]
    back: String,
}

/// Keeps the language that a person has chosen in this browser, and shows the page in it.
pub(in super::super) async fn choose_language(
    State(app): State<Shared>,
    parts: Parts,
    Form(choice): Form<Choice>,
) -> Response {
    let caller = match app.caller(&parts).await {
        Ok(caller) => caller,
        Err(unknown) => return app.locked(&parts, unknown),
    };
    let mut response = back_to(&choice.back);
    let is_own = !caller.form.is_empty() && caller.form == choice.form;
    let chosen = app.locales.iter().find(|locale| is_own && locale.name() == choice.language);
    if let Some(locale) = chosen {
        set_cookie(&mut response, LANGUAGE_COOKIE, &format!("{}; Max-Age=31536000", locale.name()), &app);
    }
    response
}

/// The command of a form, and its arguments: the agent first, the person's words last.
fn words(act: &Act) -> (String, Vec<String>) {
    let mut pieces = act.command.split('|').map(str::to_owned);
    let name = pieces.next().unwrap_or_default();
    let given = |word: &str| Some(word.trim().to_owned()).filter(|word| !word.is_empty());
    let priority = given(&act.priority).map(|priority| format!("priority={priority}"));
    let last = given(&act.to)
        .into_iter()
        .chain(priority)
        .chain(given(&act.text))
        .chain(given(&act.choices.join(", ")));
    (name, given(&act.agent).into_iter().chain(pieces).chain(last).collect())
}
