//! Posts to render and to store.

use std::sync::LazyLock;

use herder::core::id::{AgentName, NetworkName, PostId};
use herder::core::post::{Body, Lane, Post, Target};
use herder::core::time::Timestamp;
use herder::l10n::Locale;
use herder::outbox::{Markup, Renderer};
use herder::redact::Redactor;
use secrecy::SecretString;

/// Returns the agent that all of it is about.
pub(super) fn spark() -> AgentName {
    AgentName::new("spark").expect("a good name")
}

/// Returns a renderer for English, with one secret.
pub(super) fn renderer(markup: Markup) -> Renderer {
    static KNOWN: LazyLock<(Locale, Redactor)> = LazyLock::new(|| {
        let redactor = Redactor::new(&[SecretString::from("hunter2")]);
        (Locale::load("en-US").expect("the source"), redactor)
    });
    Renderer::new(KNOWN.0.clone(), KNOWN.1.clone(), markup)
}

/// Returns a post in its form before it is stored.
pub(super) fn post(body: Body) -> Post {
    Post {
        id: PostId(0),
        network: NetworkName::from("libera"),
        to: Target::Agent(spark()),
        lane: Lane::Normal,
        at: Timestamp::from_millis(0),
        body,
        answers: None,
        quotes: None,
        confirmed_lines: 0,
    }
}

/// Returns a post with the agent's words.
pub(super) fn words(text: &str) -> Post {
    post(Body::Agent { agent: spark(), text: text.to_owned(), is_result: false })
}
