//! The frame around every view.

use axum::http::request::Parts;
use axum::response::{Html, IntoResponse as _, Response};
use maud::{DOCTYPE, Markup, html};

use super::View;
use crate::http::screen::Shown;
use crate::http::who::{COOKIE, Caller, cookie};
use crate::l10n::Locale;

/// Version in the addresses of files: browsers fetch a changed file anew.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The page needs no indicator and no eval, which its policy would refuse anyway.
const HTMX: &str = r#"{"includeIndicatorCSS":false,"history":false,"sse":{"reconnectMaxDelay":5000}}"#;

/// The views, by their paths.
const VIEWS: [(&str, &str); 4] = [
    ("/", "page-title-fleet"),
    ("/board", "page-title-board"),
    ("/money", "page-title-money"),
    ("/history", "page-title-history"),
];

/// A view, and what is said above it.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// Its path, if it is one of the views.
    pub(super) at: Option<&'a str>,
    /// Address of its stream, unless the body names one.
    pub(super) live: Option<&'a str>,
}

fn head(name: &str, title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="htmx-config" content=(HTMX);
            title { (title) " · " (name) }
            link rel="icon" href={ "/assets/icon.svg?" (VERSION) };
            link rel="stylesheet" href={ "/assets/style.css?" (VERSION) };
            script defer src={ "/assets/htmx.min.js?" (VERSION) } {}
            script defer src={ "/assets/hx-sse.min.js?" (VERSION) } {}
            script defer src={ "/assets/page.js?" (VERSION) } {}
        }
    }
}

impl Page<'_> {
    /// The whole page for one session: what proves its forms is put in here.
    pub(super) fn show(
        &self,
        view: &View<'_>,
        (caller, parts): (&Caller, &Parts),
        shown: &Shown,
        body: &Markup,
    ) -> Response {
        let said = cookie(&parts.headers, COOKIE)
            .map(|cookie| view.app.setup.logins.said(cookie))
            .unwrap_or_default();
        let still = format!("/live?view=still&at={}", shown.id);
        let live = self.live.or_else(|| (self.at != Some("/")).then_some(&*still));
        let page = self.markup(view, (caller, parts), shown, (&said, live, body)).into_string();
        Html(page.replace(&view.app.form_mark, &caller.form)).into_response()
    }

    fn markup(
        &self,
        view: &View<'_>,
        (caller, parts): (&Caller, &Parts),
        shown: &Shown,
        (said, live, body): (&[String], Option<&str>, &Markup),
    ) -> Markup {
        let name = &view.app.setup.name;
        html! {
            (DOCTYPE)
            html lang=(view.voice.locale.name()) {
                (head(name, self.title))
                body {
                    a.skip href="#main" { (view.text("page-skip")) }
                    header {
                        a.name href="/" { (name) }
                        (shown.piece("summary"))
                        (languages(view, parts))
                        form.leave method="post" action="/logout" {
                            input type="hidden" name="form" value=(view.app.form_mark);
                            span.who { (caller.author.nick) " (" (view.role(caller.role)) ")" }
                            button { (view.text("page-logout")) }
                        }
                        nav aria-label=(view.text("page-views")) {
                            @for (path, title) in VIEWS {
                                a href=(path) aria-current=[(self.at == Some(path)).then_some("page")] { (view.text(title)) }
                            }
                        }
                    }
                    main #main tabindex="-1" {
                        @if !said.is_empty() {
                            div.said role="status" { @for line in said { p { (line) } } }
                        }
                        (body)
                    }
                    p.cut hidden role="status" { (view.text("page-cut")) }
                    noscript { p.off { (view.text("page-live-off")) } }
                    @if let Some(live) = live { div hx-sse:connect=(live) hx-swap="none" {} }
                }
            }
        }
    }
}

/// The choice of a language, each in its own words. It leads back to the page that is shown.
fn languages(view: &View<'_>, parts: &Parts) -> Markup {
    let shown = view.voice.locale.name();
    let back = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    html! {
        details.languages {
            summary { span.unseen { (view.text("page-language")) ": " } (view.text("page-language-name")) }
            form method="post" action="/language" {
                input type="hidden" name="form" value=(view.app.form_mark);
                input type="hidden" name="back" value=(back);
                @for locale in &view.app.locales {
                    @let name = locale.name();
                    button name="language" value=(name) lang=(name) aria-current=[(name == shown).then_some("true")] {
                        (locale.text("page-language-name", &[]))
                    }
                }
            }
        }
    }
}

/// A page for somebody who is not logged in: a heading, a sentence, at most one button.
pub(super) fn plain(
    name: &str,
    locale: &Locale,
    title: &str,
    text: &str,
    button: Option<(&str, &str)>,
) -> Markup {
    html! {
        (DOCTYPE)
        html lang=(locale.name()) {
            (head(name, title))
            body.plain {
                main {
                    h1 { (title) }
                    @if !text.is_empty() { p { (text) } }
                    @if let Some((to, said)) = button {
                        form method="post" action=(to) { button.go { (said) } }
                    }
                }
            }
        }
    }
}
