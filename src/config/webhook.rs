//! `[[webhook]]` and `[deadman]`: endpoints that receive agents' events, and the dead man's switch.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use super::section::{Section, listed, meant};
use super::{DeadMan, Webhook, validate};
use crate::core::hook::HookEvent;
use crate::core::id::NetworkName;
use crate::webhook::{Format, SigningKey, address};

/// Maximum length of a webhook's name, in bytes.
const NAME_MAX: usize = 60;

/// Minimum of the interval at which the dead man's switch requests its page.
const EVERY_MIN: Duration = Duration::from_secs(1);

/// Parses every `[[webhook]]` section of the file.
pub(super) fn webhooks(top: &Section<'_>) -> Vec<Webhook> {
    let sections = top.tables("webhook");
    let read: Vec<(String, Option<Webhook>)> = sections.iter().map(webhook).collect();
    let names = read.iter().map(|(name, _)| name.as_str());
    validate::duplicates(names.zip(&sections).filter(|(name, _)| !name.is_empty()), "the webhook");
    for section in sections {
        section.finish();
    }
    read.into_iter().filter_map(|(_, webhook)| webhook).collect()
}

fn webhook(section: &Section<'_>) -> (String, Option<Webhook>) {
    let allow_private = section.flag("allow_private").unwrap_or(false);
    let address = address(section, allow_private, "whom it tells, e.g. url = \"https://example.org/hook\"");
    let formats = [("json", Format::Json), ("discord", Format::Discord), ("slack", Format::Slack)];
    let format = section.choice("format", &formats).unwrap_or(Format::Json);
    let secret = section.secret("secret").and_then(|secret| {
        let key = SigningKey::new(secret.expose_secret());
        key.map_err(|error| section.problem("secret", error.to_string())).ok()
    });
    let events = events(section);
    let host = address.as_ref().map(|(_, host)| host.clone()).unwrap_or_default();
    let name = name(section).unwrap_or(host);
    let webhook = address.map(|(url, _)| Webhook {
        name: NetworkName(format!("webhook:{name}")),
        url,
        format,
        secret,
        events,
        allow_private,
    });
    (name, webhook)
}

/// Parses the file's section `[deadman]`; `None` if its URL is invalid.
pub(super) fn deadman(section: Section<'_>) -> Option<DeadMan> {
    let allow_private = section.flag("allow_private").unwrap_or(false);
    let address = address(&section, allow_private, "which page is asked for");
    let every = section.duration("every", EVERY_MIN).unwrap_or(Duration::from_secs(60));
    section.finish();
    address.map(|(url, _)| DeadMan { url, every, allow_private })
}

/// Parses a URL and checks it; returns it with its host.
fn address(section: &Section<'_>, allow_private: bool, what: &str) -> Option<(SecretString, String)> {
    let Some(text) = section.address("url") else {
        if !section.has("url") {
            section.problem("url", format!("the address is missing: {what}"));
        }
        return None;
    };
    // Problems are reported without the URL: the path of many URLs is a password.
    let parsed = Url::parse(text.expose_secret()).ok();
    let parsed = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some((url, host)) = parsed.and_then(|url| Some((url.clone(), url.host_str()?.to_owned()))) else {
        section.problem("url", "this is no address; write one that starts with https:// or http://");
        return None;
    };
    match address::check(url.as_str(), allow_private) {
        Ok(()) if url.scheme() == "http" && !allow_private => {
            section
                .warn("url", "what is sent there crosses the network in the clear; use https:// if you can");
        }
        Ok(()) => {}
        Err(error) => section.problem("url", error.to_string()),
    }
    Some((text, host.trim_matches(['[', ']']).to_owned()))
}

fn name(section: &Section<'_>) -> Option<String> {
    let name = section.filled("name")?;
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.value.len() > NAME_MAX || !name.value.chars().all(is_good) {
        let text = format!(
            "\"{}\" cannot name a webhook; use up to {NAME_MAX} letters, digits, dots and hyphens",
            name.value
        );
        section.problem("name", text);
    }
    Some(name.value)
}

fn events(section: &Section<'_>) -> BTreeSet<HookEvent> {
    let all = || HookEvent::ALL.into_iter().collect();
    let Some(texts) = section.texts("events") else { return all() };
    if texts.is_empty() {
        section.problem("events", "the list is empty, so that nothing is sent; take it out for all events");
        return all();
    }
    let mut events = BTreeSet::new();
    for text in texts {
        match HookEvent::ALL.into_iter().find(|event| event.word() == text.value) {
            Some(event) => {
                events.insert(event);
            }
            None => {
                let words = HookEvent::ALL.map(HookEvent::word);
                let meant = meant(&text.value, &words);
                let why = format!("\"{}\" is not one of {}{meant}", text.value, listed(&words));
                section.problem_at(text.line, "events", why);
            }
        }
    }
    events
}
