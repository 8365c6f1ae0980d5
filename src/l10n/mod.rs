//! Texts in all languages: only here a [`Notice`] or a [`Refusal`] becomes a sentence.
//!
//! One Fluent file per locale in `locales/` is compiled in. `en-US` is the source and has every message; a message
//! that another locale lacks or gets wrong falls back to it and is logged. A test keeps the ids and variables of all
//! locales the same. Texts use one neutral markup, `**bold**` and `` `code` ``, which [`crate::outbox::render`]
//! converts for each network. Nothing here knows about networks, splitting or redaction.

mod format;
mod message;
mod reason;
mod watching;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};
use jiff::tz::TimeZone;
use unic_langid::LanguageIdentifier;

use crate::core::cut::Cut;
use crate::core::id::AgentName;
use crate::core::notice::{Notice, Refusal};
use crate::core::time::Timestamp;

/// Name of the locale that has every message, on which the others fall back.
pub const SOURCE: &str = "en-US";

/// All locales, as name and text of the Fluent file; `SOURCE` is first.
pub const LOCALES: [(&str, &str); 3] = [
    (SOURCE, include_str!("../../locales/en-US.ftl")),
    ("de", include_str!("../../locales/de.ftl")),
    ("ja", include_str!("../../locales/ja.ftl")),
];

/// A value for a variable in a Fluent message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Text of people, agents or programs, inserted unchanged.
    Text(Cow<'a, str>),
    /// Text of herder with markup, to which a [`Form`] is applied too.
    Own(String),
    /// A whole number; its value also selects the plural form.
    Count(u64),
    /// An amount in US dollars.
    Money(f64),
    /// A duration or countdown, shown in at most two units.
    Duration(Duration),
    /// A point in time, shown in the locale's time zone.
    Time(Timestamp),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a AgentName> for Value<'a> {
    fn from(agent: &'a AgentName) -> Self {
        Self::Text(Cow::Borrowed(agent.as_str()))
    }
}

impl From<u32> for Value<'_> {
    fn from(count: u32) -> Self {
        Self::Count(u64::from(count))
    }
}

impl From<u64> for Value<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<usize> for Value<'_> {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<Duration> for Value<'_> {
    fn from(duration: Duration) -> Self {
        Self::Duration(duration)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(time: Timestamp) -> Self {
        Self::Time(time)
    }
}

/// The error for a locale name for whose language there are no texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no locale \"{0}\"; there are en-US, de and ja")]
pub struct UnknownLocale(pub String);

type Bundle = FluentBundle<FluentResource>;

/// A function that rewrites herder's own sentences for one kind of output, e.g. command names as slash commands for
/// Discord. Markup in text of others is masked before.
pub type Form = fn(&str) -> String;

/// The texts of one language. Cheap to clone.
#[derive(Clone)]
pub struct Locale(Arc<Texts>, Option<Form>);

/// Markup characters and the placeholders that stand for them in text of others while a [`Form`] is applied.
const MASKS: [(char, char); 2] = [('*', '\u{f8f0}'), ('`', '\u{f8f1}')];

/// The parsed Fluent texts, in the order of [`LOCALES`]. Each takes about 2 MB, so it is parsed at its first use.
static BUNDLES: [LazyLock<Bundle>; LOCALES.len()] =
    [LazyLock::new(|| bundle(0)), LazyLock::new(|| bundle(1)), LazyLock::new(|| bundle(2))];

struct Texts {
    /// Index of the locale in [`LOCALES`].
    position: usize,
    zone: TimeZone,
}

impl Texts {
    fn name(&self) -> &'static str {
        LOCALES[self.position].0
    }

    fn bundle(&self) -> &'static Bundle {
        &BUNDLES[self.position]
    }

    /// Returns the texts of `SOURCE`, for messages that this locale lacks; `None` for `SOURCE` itself.
    fn fallback(&self) -> Option<&'static Bundle> {
        (self.position != 0).then(|| &*BUNDLES[0])
    }
}

impl fmt::Debug for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Locale").field(&self.name()).finish()
    }
}

impl Default for Locale {
    fn default() -> Self {
        Self::build(0, TimeZone::system())
    }
}

impl Locale {
    /// Loads the locale of that name, in any case; another region (`de-AT`) or none (`en`) selects the existing one.
    /// Times are shown in the machine's time zone.
    ///
    /// # Errors
    /// There are no texts in that language.
    pub fn load(name: &str) -> Result<Self, UnknownLocale> {
        Self::load_in_zone(name, TimeZone::system())
    }

    /// Loads a locale like [`Locale::load`], with times shown in `zone`.
    ///
    /// # Errors
    /// There are no texts in that language.
    pub fn load_in_zone(name: &str, zone: TimeZone) -> Result<Self, UnknownLocale> {
        let unknown = || UnknownLocale(name.to_owned());
        let wanted: LanguageIdentifier = name.parse().map_err(|_| unknown())?;
        let position = LOCALES
            .iter()
            .position(|(known, _)| language(known).language == wanted.language)
            .ok_or_else(unknown)?;
        Ok(Self::build(position, zone))
    }

    /// Loads another language, with this locale's time zone and form.
    ///
    /// # Errors
    /// There are no texts in that language.
    pub fn other(&self, name: &str) -> Result<Self, UnknownLocale> {
        let other = Self::load_in_zone(name, self.0.zone.clone())?;
        Ok(Self(other.0, self.1))
    }

    /// Returns true if this locale's language is the one that `name` asks for, in any region.
    #[must_use]
    pub fn speaks(&self, name: &str) -> bool {
        let asked = name.parse::<LanguageIdentifier>();
        asked.is_ok_and(|asked| asked.language == language(self.name()).language)
    }

    fn build(position: usize, zone: TimeZone) -> Self {
        Self(Arc::new(Texts { position, zone }), None)
    }

    /// Returns this locale with `form` applied to herder's own sentences.
    #[must_use]
    pub fn in_form(&self, form: Form) -> Self {
        Self(Arc::clone(&self.0), Some(form))
    }

    /// Returns the locale's name, as in [`LOCALES`].
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Returns the sentence of a notice, in neutral markup, which each network's renderer converts.
    #[must_use]
    pub fn notice(&self, notice: &Notice) -> String {
        let message = message::notice(self, notice);
        self.text(message.id, &message.args)
    }

    /// Returns the sentence of a refusal, in neutral markup, which each network's renderer converts.
    #[must_use]
    pub fn refusal(&self, refusal: &Refusal) -> String {
        let message = message::refusal(self, refusal);
        self.text(message.id, &message.args)
    }

    /// Translates a line that marks an omission in an agent's text; other lines are returned unchanged.
    #[must_use]
    pub fn cut<'a>(&self, line: &'a str) -> Cow<'a, str> {
        match Cut::of(line) {
            Some(Cut::Lines(count)) => Cow::Owned(self.text("cut-lines", &[("count", count.into())])),
            Some(Cut::Bytes(count)) => Cow::Owned(self.text("cut-bytes", &[("count", count.into())])),
            None => Cow::Borrowed(line),
        }
    }

    /// Returns the text of the Fluent message `id` with these variables.
    ///
    /// If a message or variable is missing, that is logged and the text of `SOURCE` is used; if that fails too, the
    /// result is incomplete, or the id. Never panics: an incomplete answer is better than none.
    #[must_use]
    pub fn text(&self, id: &str, args: &[(&str, Value<'_>)]) -> String {
        let mut values = FluentArgs::with_capacity(args.len());
        for (name, value) in args {
            values.set((*name).to_owned(), self.value(value));
        }
        let text = self.composed(id, &values);
        match self.1 {
            Some(form) => {
                MASKS.iter().fold(form(&text), |text, (mark, mask)| text.replace(*mask, &mark.to_string()))
            }
            None => text,
        }
    }

    fn composed(&self, id: &str, values: &FluentArgs<'_>) -> String {
        let own = compose(self.0.bundle(), id, values);
        if let Composed::Whole(text) = own {
            return text;
        }
        tracing::error!(locale = self.name(), id, "message is missing or lacks a variable");
        match self.0.fallback().map(|source| compose(source, id, values)) {
            Some(Composed::Whole(text) | Composed::Holed(text)) => text,
            Some(Composed::Missing) | None => match own {
                Composed::Whole(text) | Composed::Holed(text) => text,
                Composed::Missing => id.to_owned(),
            },
        }
    }

    /// Returns true if the Fluent message `id` exists in this locale or in `SOURCE`.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.bundle().has_message(id) || self.0.fallback().is_some_and(|source| source.has_message(id))
    }

    fn value<'a>(&self, value: &'a Value<'a>) -> FluentValue<'a> {
        match value {
            Value::Text(text) if self.1.is_some() && text.contains(['*', '`']) => {
                let masked = MASKS
                    .iter()
                    .fold(text.to_string(), |text, (mark, mask)| text.replace(*mark, &mask.to_string()));
                FluentValue::String(Cow::Owned(masked))
            }
            Value::Text(text) => FluentValue::String(Cow::Borrowed(text.as_ref())),
            Value::Own(text) => FluentValue::String(Cow::Borrowed(text)),
            Value::Count(count) => FluentValue::from(*count),
            Value::Money(amount) => FluentValue::from(self.money(*amount)),
            Value::Duration(duration) => FluentValue::from(self.duration(*duration)),
            Value::Time(time) => FluentValue::from(self.time(*time)),
        }
    }
}

enum Composed {
    Whole(String),
    /// The formatted text, in which missing variables are replaced by their names.
    Holed(String),
    Missing,
}

fn compose(bundle: &Bundle, id: &str, args: &FluentArgs<'_>) -> Composed {
    let Some(pattern) = bundle.get_message(id).and_then(|message| message.value()) else {
        return Composed::Missing;
    };
    let mut errors = Vec::new();
    let text = bundle.format_pattern(pattern, Some(args), &mut errors).into_owned();
    if errors.is_empty() { Composed::Whole(text) } else { Composed::Holed(text) }
}

fn language(name: &str) -> LanguageIdentifier {
    name.parse().unwrap_or_default()
}

/// Parses the Fluent file of the locale at this position. Faulty messages are logged and left out; tests keep the files
/// correct.
fn bundle(position: usize) -> Bundle {
    let (name, source) = LOCALES[position];
    let resource = FluentResource::try_new(source.to_owned()).unwrap_or_else(|(resource, errors)| {
        tracing::error!(locale = name, ?errors, "locale file has faulty messages");
        resource
    });
    let mut bundle = Bundle::new_concurrent(vec![language(name)]);
    // Isolation marks are for mixed scripts in rich text; in a chat line they are stray characters.
    bundle.set_use_isolating(false);
    if let Err(errors) = bundle.add_resource(resource) {
        tracing::error!(locale = name, ?errors, "locale file has messages twice");
    }
    bundle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_language_are_there_once() {
        let [first, second] =
            [Locale::load("de"), Locale::load("de-AT")].map(|locale| locale.expect("it is there"));
        let formed = second.in_form(|text| text.to_owned());
        assert!(std::ptr::eq(first.0.bundle(), formed.0.bundle()));
        assert!(first.0.fallback().is_some_and(|source| std::ptr::eq(source, Locale::default().0.bundle())));
        assert!(Locale::default().0.fallback().is_none());
    }
}
