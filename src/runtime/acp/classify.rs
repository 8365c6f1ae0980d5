//! What a failed turn of an ACP agent means. The protocol has no kinds of failure: each agent says it in its own way, by a
//! word beside the error, by the error's code, or in words alone.

use super::wire;
use crate::core::outcome::Category;
use crate::runtime::classify::{self, Row};
use crate::runtime::text::bounded;

/// The longest field that is shown, in bytes: they are words of an API.
const FIELD_MAX: usize = 100;

/// Where a row of the table looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `codexErrorInfo` of codex-acp.
    CodexInfo,
    /// `errorKind` of claude-agent-acp, `errorName` of opencode.
    Kind,
    /// The error's code: gemini's are HTTP statuses.
    Code,
    /// Anywhere in the text, in small letters.
    Text,
}

/// A failed turn, as far as the table looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// See [`Field::CodexInfo`].
    pub codex_info: String,
    /// See [`Field::Kind`].
    pub kind: String,
    /// See [`Field::Code`], as text.
    pub code: String,
    /// The whole text, for people.
    pub text: String,
}

/// The first row that fits decides.
pub const TABLE: &[Row<Field>] = {
    use Category::{Auth, Billing, ContextOverflow, Permanent, Quota, RateLimit, Transient};
    &[
        (Field::CodexInfo, "usageLimitExceeded", Quota),
        (Field::CodexInfo, "contextWindowExceeded", ContextOverflow),
        (Field::CodexInfo, "rateLimitExceeded", RateLimit),
        (Field::CodexInfo, "unauthorized", Auth),
        (Field::CodexInfo, "modelNotFound", Permanent),
        (Field::CodexInfo, "badRequest", Permanent),
        (Field::CodexInfo, "serverOverloaded", Transient),
        (Field::CodexInfo, "internalServerError", Transient),
        // Limits of an account that share a kind or a code with short ones, and overflows that share one with bad requests.
        (Field::Text, "hit your limit", Quota),
        (Field::Text, "hit your usage limit", Quota),
        (Field::Text, "exhausted your daily quota", Quota),
        (Field::Text, "prompt is too long", ContextOverflow),
        (Field::Text, "context_length_exceeded", ContextOverflow),
        (Field::Text, "exceeds the context window", ContextOverflow),
        (Field::Text, "exceeds the maximum number of tokens", ContextOverflow),
        (Field::Text, "ran out of room in the model's context window", ContextOverflow),
        (Field::Text, "session too large to compact", ContextOverflow),
        (Field::Text, "api_key_invalid", Auth),
        (Field::Text, "api key not valid", Auth),
        (Field::Kind, "model_not_found", Permanent),
        (Field::Kind, "rate_limit", RateLimit),
        (Field::Kind, "authentication_failed", Auth),
        (Field::Kind, "billing_error", Billing),
        (Field::Kind, "invalid_request", Permanent),
        (Field::Kind, "server_error", Transient),
        // The protocol's own code for "authentication required".
        (Field::Code, "-32000", Auth),
        (Field::Code, "401", Auth),
        (Field::Code, "402", Billing),
        (Field::Code, "403", Auth),
        (Field::Code, "429", RateLimit),
        (Field::Code, "503", Transient),
        // Words alone, or beside a code that says nothing: an unknown model and a cut stream are 500 with gemini.
        (Field::Text, "incorrect api key", Auth),
        (Field::Text, "invalid api key", Auth),
        (Field::Text, "authentication required", Auth),
        (Field::Text, "not logged in", Auth),
        (Field::Text, "credit balance is too low", Billing),
        // Whoever is too fast is told of billing as well by some.
        (Field::Text, "status 429", RateLimit),
        (Field::Text, "resource_exhausted", RateLimit),
        (Field::Text, "check your plan and billing details", Billing),
        (Field::Text, "payment required", Billing),
        (Field::Text, "too many requests", RateLimit),
        (Field::Text, "rate limit", RateLimit),
        (Field::Text, "resource has been exhausted", RateLimit),
        (Field::Text, "is not found for api version", Permanent),
        (Field::Text, "does not exist or you do not have access", Permanent),
        (Field::Text, "issue with the selected model", Permanent),
        (Field::Text, "region, or territory not supported", Auth),
        (Field::Text, "forbidden", Auth),
        // What passes opencode tries again by itself, for ever.
        (Field::Kind, "APIError", Permanent),
        (Field::Code, "400", Permanent),
        (Field::Code, "404", Permanent),
        (Field::Code, "413", Permanent),
        (Field::Code, "422", Permanent),
        (Field::Code, "408", Transient),
        (Field::Code, "500", Transient),
        (Field::Code, "502", Transient),
        (Field::Code, "504", Transient),
        (Field::Code, "529", Transient),
    ]
};

/// Words before an HTTP status: "(HTTP 401)", "status=401", "status code 401", "Error 401".
const BEFORE_STATUS: [&str; 5] = ["http", "status", "statuscode", "code", "error"];

/// Words after one: "403 Forbidden".
const AFTER_STATUS: [&str; 5] = ["unauthorized", "forbidden", "payment", "too", "bad"];

/// The HTTP status of a failed call that a text in small letters names.
fn status_in(small: &str) -> Option<&str> {
    let words: Vec<&str> =
        small.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let failed =
            word.len() == 3 && word.starts_with(['4', '5']) && word.bytes().all(|byte| byte.is_ascii_digit());
        let beside = |at: Option<usize>, known: &[&str]| {
            at.and_then(|at| words.get(at)).is_some_and(|word| known.contains(word))
        };
        let named = beside(at.checked_sub(1), &BEFORE_STATUS) || beside(Some(at + 1), &AFTER_STATUS);
        (failed && named).then_some(*word)
    })
}

/// The most of a text in which an error begins: marks and a name come before it.
const HEAD_MAX: usize = 200;

/// Whether an agent's words begin as an error does, and not as an answer. `surely`: an answer may speak of errors, so that
/// only words count that call themselves one ("Error: …", "APIError: …").
#[must_use]
pub fn is_error(words: &str, surely: bool) -> bool {
    let head = bounded(words.trim_start_matches(|c: char| !c.is_alphanumeric()), HEAD_MAX).to_lowercase();
    let name = head.split_once(':').map_or("", |(name, _)| name.trim_end_matches('*'));
    let named = name.ends_with("error") || name.ends_with("exception") || name == "fatal";
    let begins = ["error", "api error", "request failed", "failed to", "unauthorized", "authentication"];
    named || !surely && (begins.iter().any(|begin| head.starts_with(begin)) || status_in(&head).is_some())
}

impl Failure {
    /// What the error says.
    #[must_use]
    pub fn of(error: &wire::Failed<'_>) -> Self {
        let nothing = wire::Details::default();
        let data = error.data.0.as_ref().unwrap_or(&nothing);
        let message = error.message.text_or_empty();
        let more = [&data.message, &data.details].into_iter().find_map(|field| field.text());
        let text = match more {
            Some(more) if !message.contains(more) => format!("{message}: {more}"),
            Some(_) | None => message.to_owned(),
        };
        Self {
            codex_info: data.codex_error_info.text_or_empty().to_owned(),
            kind: data.error_kind.text().or(data.error_name.text()).unwrap_or_default().to_owned(),
            code: error.code.integer().map_or_else(String::new, |code| code.to_string()),
            text,
        }
    }

    /// A failure of which there are words alone.
    #[must_use]
    pub fn said(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// `small`: its text in small letters.
    fn holds(&self, field: Field, value: &str, small: &str) -> bool {
        match field {
            Field::CodexInfo => self.codex_info == value,
            Field::Kind => self.kind == value,
            Field::Code => self.code == value,
            Field::Text => small.contains(value),
        }
    }

    /// Every field that a row could look at, for whoever adds one, and the text, which may be cut somewhere.
    #[must_use]
    pub fn whole(&self) -> String {
        let fields = [("code", &self.code), ("kind", &self.kind), ("codexErrorInfo", &self.codex_info)];
        let said = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let said: Vec<String> =
            said.map(|(name, value)| format!("{name} {}", bounded(value, FIELD_MAX))).collect();
        if said.is_empty() { self.text.clone() } else { format!("{}: {}", said.join(", "), self.text) }
    }

    /// The class, if a row of the table knows it.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let small = classify::small(&self.text);
        let known = classify::category(TABLE, |field, value| self.holds(field, value, &small));
        known.or_else(|| {
            let status = status_in(&small)?;
            classify::category(TABLE, |field, value| field == Field::Code && value == status)
        })
    }
}
