//! Classification of failures of gemini and opencode in single requests: structured fields first, the text last;
//! unknown failures are transient. Failures of claude and codex are in the tables of their own runtimes.

use serde_json::Value;

use crate::clock;
use crate::core::outcome::{Category, Outcome};
use crate::core::time::Timestamp;
use crate::runtime::classify::{self, Row};
use crate::runtime::text::{bounded, raw_line};

/// Maximum plausible time until a limit ends, in seconds; a later end is ignored.
const WAIT_MAX_SECONDS: i64 = 40 * 24 * 3600;

/// The field of a failure that a row of the table examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The CLI's own error kind: gemini's `error.type`, opencode's `error.name`.
    Kind,
    /// The API's HTTP status.
    Status,
    /// The API's own error name.
    Word,
    /// A part of the error text, in lower case.
    Text,
}

/// The fields of a failure that the table examines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// See [`Field::Kind`].
    pub kind: String,
    /// See [`Field::Status`], as a string.
    pub status: String,
    /// See [`Field::Word`].
    pub word: String,
    /// The full error text, for people.
    pub text: String,
}

/// The classification table of failures. The first matching row decides.
pub const TABLE: &[Row<Field>] = {
    use Category::{
        Auth, Billing, ContextOverflow, MaxTurns, Permanent, Quota, RateLimit, SandboxDenial, Transient,
    };
    &[
        (Field::Kind, "FatalTurnLimitedError", MaxTurns),
        (Field::Kind, "FatalAuthenticationError", Auth),
        (Field::Kind, "FatalUntrustedWorkspaceError", Permanent),
        (Field::Kind, "ProviderAuthError", Auth),
        (Field::Kind, "ContextOverflowError", ContextOverflow),
        (Field::Kind, "MessageOutputLengthError", Transient),
        (Field::Kind, "ProviderModelNotFoundError", Permanent),
        // Specific API errors, before the statuses they share with others.
        (Field::Word, "context_length_exceeded", ContextOverflow),
        (Field::Word, "insufficient_quota", Billing),
        (Field::Word, "invalid_api_key", Auth),
        (Field::Word, "model_not_found", Permanent),
        (Field::Word, "rate_limit_exceeded", RateLimit),
        (Field::Word, "UNAUTHENTICATED", Auth),
        (Field::Word, "overloaded_error", Transient),
        (Field::Text, "exceeds the maximum number of tokens", ContextOverflow),
        (Field::Text, "exceeds the context window", ContextOverflow),
        (Field::Text, "prompt is too long", ContextOverflow),
        (Field::Text, "api key not valid", Auth),
        (Field::Text, "exhausted your daily quota", Quota),
        (Field::Text, "credit balance is too low", Billing),
        // Google's rate limit errors mention plan and billing, so that those words alone prove nothing.
        (Field::Word, "RESOURCE_EXHAUSTED", RateLimit),
        (Field::Status, "401", Auth),
        (Field::Status, "402", Billing),
        (Field::Status, "403", Auth),
        (Field::Status, "429", RateLimit),
        (Field::Status, "400", Permanent),
        (Field::Status, "404", Permanent),
        (Field::Status, "413", Permanent),
        (Field::Status, "422", Permanent),
        (Field::Status, "500", Transient),
        (Field::Status, "502", Transient),
        (Field::Status, "503", Transient),
        (Field::Status, "504", Transient),
        (Field::Status, "529", Transient),
        // Texts only.
        (Field::Text, "resource has been exhausted", RateLimit),
        (Field::Text, "request a quota increase", RateLimit),
        (Field::Text, "status 429", RateLimit),
        (Field::Text, "rate limit", RateLimit),
        (Field::Text, "not running in a trusted directory", Permanent),
        (Field::Text, "; auto-rejecting", SandboxDenial),
        (Field::Text, "is not found for api version", Permanent),
        (Field::Text, "set an auth method", Auth),
        (Field::Text, "maximum session turns exceeded", MaxTurns),
        (Field::Text, "api error: terminated", Transient),
    ]
};

impl Failure {
    /// Returns a failure of this kind with a text, which may contain the API's response.
    #[must_use]
    pub fn in_words(kind: &str, text: &str) -> Self {
        let text = bounded(text, classify::LOOKED_AT);
        let mut failure = Self { kind: kind.to_owned(), text: text.to_owned(), ..Self::default() };
        if let (Some(begin), Some(end)) = (text.find('{'), text.rfind('}')) {
            failure.read_body(text.get(begin..=end).unwrap_or_default());
        }
        failure
    }

    /// Reads the fields of a failure from the body of the API's response, if that is JSON: `{"error": {"code": …,
    /// "status": …}}`.
    pub fn read_body(&mut self, body: &str) {
        let Ok(body) = serde_json::from_str::<Value>(body) else { return };
        let error = &body["error"];
        let words = ["code", "status", "type"].into_iter().filter_map(|name| error[name].as_str());
        let known =
            |word: &&str| TABLE.iter().any(|(field, value, _)| *field == Field::Word && value == word);
        if let Some(word) = words.clone().find(known).or_else(|| words.clone().next()) {
            word.clone_into(&mut self.word);
        }
        if let (true, Some(status)) = (self.status.is_empty(), error["code"].as_u64()) {
            self.status = status.to_string();
        }
    }

    /// Returns true if the field has the value; `small` is the text in lower case.
    fn holds(&self, field: Field, value: &str, small: &str) -> bool {
        match field {
            Field::Kind => self.kind == value,
            Field::Status => self.status == value,
            Field::Word => self.word == value,
            Field::Text => small.contains(value),
        }
    }

    /// Returns the category of the failure; `None` if no row of the table matches.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let small = classify::small(&self.text);
        classify::category(TABLE, |field, value| self.holds(field, value, &small))
    }

    /// Returns all fields that a row could examine, for a maintainer who adds one, followed by the text, which may be
    /// truncated later.
    fn whole(&self) -> String {
        let fields = [("kind", &self.kind), ("status", &self.status), ("word", &self.word)];
        classify::whole(&fields, &self.text)
    }
}

pub(super) fn outcome_of(failure: &Failure) -> Outcome {
    let known = failure.category();
    let detail = if known.is_none() { failure.whole() } else { failure.text.clone() };
    let wait = known.filter(|known| is_wait(*known)).and_then(|_| wait_in(&failure.text));
    Outcome { resets_at: wait.and_then(after), ..Outcome::failed(known, raw_line(&detail)) }
}

/// Returns true if the category is a limit that ends by itself.
pub(super) const fn is_wait(category: Category) -> bool {
    matches!(category, Category::RateLimit | Category::Quota)
}

/// Returns the number of seconds until the next attempt, as reported by Google's API or gemini: "Please retry in
/// 15.2s", "Suggested retry after 3600s".
fn wait_in(text: &str) -> Option<i64> {
    let small = classify::small(text);
    let (_, said) =
        ["suggested retry after ", "please retry in "].iter().find_map(|words| small.split_once(words))?;
    let (number, _) = said.split_once('s')?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: i64 = whole.parse().ok().filter(|_| digits(whole) && digits(part))?;
    seconds.checked_add(i64::from(!part.is_empty()))
}

/// Returns the time at which a limit ends that lasts this many seconds from now, if the duration is plausible.
pub(super) fn after(seconds: i64) -> Option<Timestamp> {
    let meant = (0..=WAIT_MAX_SECONDS).contains(&seconds);
    meant.then(|| Timestamp::from_seconds(clock::now().as_millis() / 1000 + seconds))
}
