//! Classification of failed turns of ACP agents. The protocol has no error kinds: depending on the agent, the kind is
//! a word beside the error, its code, or only in its text.

use super::wire;
use crate::core::outcome::Category;
use crate::runtime::classify::{self, Row};
use crate::runtime::text::bounded;

/// The field of a failure that a row of the table examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `codexErrorInfo` of codex-acp.
    CodexInfo,
    /// `errorKind` of claude-agent-acp, `errorName` of opencode.
    Kind,
    /// JSON-RPC code of the error; gemini uses HTTP statuses.
    Code,
    /// A part of the error text, in lower case.
    Text,
}

/// The fields of a failed turn that the table examines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// See [`Field::CodexInfo`].
    pub codex_info: String,
    /// See [`Field::Kind`].
    pub kind: String,
    /// See [`Field::Code`], as a string.
    pub code: String,
    /// The full error text, for people.
    pub text: String,
}

/// The classification table of failures. The first matching row decides.
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
        // Account limits that share a kind or code with short rate limits, and overflows that share one with invalid requests.
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
        // Errors without a code, or with a meaningless one: gemini reports unknown models and broken streams as 500.
        (Field::Text, "incorrect api key", Auth),
        (Field::Text, "invalid api key", Auth),
        (Field::Text, "authentication required", Auth),
        (Field::Text, "not logged in", Auth),
        (Field::Text, "credit balance is too low", Billing),
        // Rate limits, whose texts mention billing in some APIs.
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
        // opencode itself retries every other error without an end.
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

/// The protocol's own code for a resource that is not there.
const NOT_FOUND: &str = "-32002";

/// Words before an HTTP status: "(HTTP 401)", "status=401", "status code 401", "Error 401".
const BEFORE_STATUS: [&str; 5] = ["http", "status", "statuscode", "code", "error"];

/// Words after an HTTP status: "403 Forbidden".
const AFTER_STATUS: [&str; 5] = ["unauthorized", "forbidden", "payment", "too", "bad"];

/// Returns the HTTP status of a failed request that a text mentions; `small` is the text in lower case.
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

/// Length of the part of a text in which an error starts, in bytes; symbols and a name may precede it.
const HEAD_MAX: usize = 200;

/// Returns true if a message starts like an error instead of an answer. With `surely`, only a text that calls itself an
/// error counts ("Error: …", "APIError: …"), because an answer may mention errors.
#[must_use]
pub fn is_error(words: &str, surely: bool) -> bool {
    let head = bounded(words.trim_start_matches(|c: char| !c.is_alphanumeric()), HEAD_MAX).to_lowercase();
    let name = head.split_once(':').map_or("", |(name, _)| name.trim_end_matches('*'));
    let named = name.ends_with("error") || name.ends_with("exception") || name == "fatal";
    let begins = ["error", "api error", "request failed", "failed to", "unauthorized", "authentication"];
    named || !surely && (begins.iter().any(|begin| head.starts_with(begin)) || status_in(&head).is_some())
}

impl Failure {
    /// Returns the fields of a JSON-RPC error.
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

    /// Returns a failure of which only the text is known.
    #[must_use]
    pub fn said(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Returns true if the field has the value; `small` is the text in lower case.
    fn holds(&self, field: Field, value: &str, small: &str) -> bool {
        match field {
            Field::CodexInfo => self.codex_info == value,
            Field::Kind => self.kind == value,
            Field::Code => self.code == value,
            Field::Text => small.contains(value),
        }
    }

    /// Returns all fields that a row could examine, for a maintainer who adds one, followed by the text, which may be
    /// truncated later.
    #[must_use]
    pub fn whole(&self) -> String {
        let fields = [("code", &self.code), ("kind", &self.kind), ("codexErrorInfo", &self.codex_info)];
        classify::whole(&fields, &self.text)
    }

    /// True if a refusal to load a conversation is about the conversation; else another attempt may load it.
    #[must_use]
    pub fn loses_conversation(&self) -> bool {
        let missing =
            self.code == NOT_FOUND || self.code == "404" && !classify::small(&self.text).contains("model");
        missing
            || classify::is_gone(&self.text, Self::said(&self.text).category())
            || classify::is_about_the_conversation(&self.whole(), self.category())
    }

    /// Returns the category of the failure; `None` if no row of the table matches.
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
