//! The frame around every view.

use maud::{DOCTYPE, Markup, html};

use super::View;
use crate::l10n::Locale;

/// What browsers ask for instead of what they kept, when a file of the page has changed.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The page needs no indicator and no eval, which its policy would refuse anyway.
const HTMX: &str = r#"{"includeIndicatorCSS":false,"history":false}"#;

/// A view, and what is said above it.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    /// Where its changes come from.
    pub(super) live: &'a str,
    /// What the last command came to.
    pub(super) said: &'a [String],
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
        }
    }
}

impl Page<'_> {
    pub(super) fn show(&self, view: &View<'_>, body: &Markup) -> Markup {
        let name = &view.app.setup.name;
        html! {
            (DOCTYPE)
            html lang=(view.voice.locale.name()) {
                (head(name, self.title))
                body {
                    header {
                        a.name href="/" { (name) }
                        (super::summary(view))
                        form.leave method="post" action="/logout" {
                            input type="hidden" name="form" value=(view.caller.form);
                            span.who { (view.caller.author.nick) " (" (view.caller.role) ")" }
                            button { (view.text("page-logout")) }
                        }
                    }
                    main {
                        @if !self.said.is_empty() {
                            div.said role="status" { @for line in self.said { p { (line) } } }
                        }
                        (body)
                    }
                    noscript { p.off { (view.text("page-live-off")) } }
                    div hx-sse:connect=(self.live) hx-swap="none" {}
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
