//! Classification of failed turns of codex: structured fields first, the text last; unknown failures are transient.

use serde_json::Value;

use super::wire;
use crate::core::outcome::Category;
use crate::runtime::classify::{self, Row};

/// The value that replaces `codexErrorInfo` if the account's usage limit is exceeded and no window of it is known: an
/// API key without credit looks the same as a subscription whose limits were not sent.
pub const NO_WINDOW: &str = "usageLimitExceeded, no window";

/// The field of a failure that a row of the table examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `rateLimitReachedType` of the account's limits, examined if the usage limit is exceeded.
    Reached,
    /// `codexErrorInfo`: the string, or the only key of the object.
    Info,
    /// `httpStatusCode` in `codexErrorInfo`.
    Status,
    /// A part of the error text, in lower case.
    Text,
}

/// The fields of a failed turn that the table examines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// See [`Field::Reached`].
    pub reached: String,
    /// See [`Field::Info`].
    pub info: String,
    /// See [`Field::Status`], as a string.
    pub status: String,
    /// The full error text, for people.
    pub text: String,
}

/// The classification table of failures. The first matching row decides.
pub const TABLE: &[Row<Field>] = {
    use Category::{
        Auth, Billing, Budget, ContextOverflow, Permanent, Quota, RateLimit, SandboxDenial, Transient,
    };
    &[
        (Field::Reached, "workspace_owner_credits_depleted", Billing),
        (Field::Reached, "workspace_member_credits_depleted", Billing),
        (Field::Info, "contextWindowExceeded", ContextOverflow),
        (Field::Info, "sessionBudgetExceeded", Budget),
        (Field::Info, "usageLimitExceeded", Quota),
        (Field::Info, "rateLimitExceeded", RateLimit),
        (Field::Info, "unauthorized", Auth),
        (Field::Info, "modelNotFound", Permanent),
        (Field::Info, "badRequest", Permanent),
        (Field::Info, "cyberPolicy", Permanent),
        (Field::Info, "misalignmentPolicyViolation", Permanent),
        (Field::Info, "inferenceHookDenied", Permanent),
        (Field::Info, "tooManyDenials", SandboxDenial),
        (Field::Info, "sandboxError", SandboxDenial),
        (Field::Info, "serverOverloaded", Transient),
        (Field::Info, "internalServerError", Transient),
        (Field::Info, "flexUnavailable", Transient),
        (Field::Info, "policyCapacityUnavailable", Transient),
        (Field::Info, "threadRollbackFailed", Transient),
        (Field::Info, "activeTurnNotSteerable", Transient),
        // The status, if there is one, decides about errors of the connection.
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
        // The text for an API key without credit; the limit of a subscription has a different text.
        (Field::Text, "check your plan and billing details", Billing),
        (Field::Info, NO_WINDOW, Quota),
        (Field::Info, "responseStreamDisconnected", Transient),
        (Field::Info, "responseStreamConnectionFailed", Transient),
        (Field::Info, "httpConnectionFailed", Transient),
        (Field::Info, "responseTooManyFailedAttempts", Transient),
        // Fallback for `other`, for lines of standard error, and for versions that report errors only as text.
        (Field::Text, "ran out of room in the model's context window", ContextOverflow),
        (Field::Text, "hit your usage limit", Quota),
        (Field::Text, "rate limit exceeded", RateLimit),
        (Field::Text, "429 too many requests", RateLimit),
        (Field::Text, "missing environment variable", Auth),
        (Field::Text, "401 unauthorized", Auth),
        (Field::Text, "403 forbidden", Auth),
        (Field::Text, "incorrect api key", Auth),
        (Field::Text, "codex login", Auth),
        (Field::Text, "402 payment required", Billing),
        (Field::Text, "do not have access to it", Permanent),
        (Field::Text, "model provider `", Permanent),
        (Field::Text, "error loading config", Permanent),
        (Field::Text, "stream disconnected before completion", Transient),
        (Field::Text, "connection failed", Transient),
        (Field::Text, "experiencing high demand", Transient),
        (Field::Text, "is at capacity", Transient),
        // Somebody has the conversation open in a terminal.
        (Field::Text, "already has an active writer", Transient),
    ]
};

impl Failure {
    /// Returns the fields of an error. `reached`: kind of the account's limit that was reached; `window`: true if any
    /// window of its limits is known.
    #[must_use]
    pub fn of(error: &wire::TurnError<'_>, reached: &str, window: bool) -> Self {
        let (info, status) = error.codex_error_info.as_ref().map(read_info).unwrap_or_default();
        let exceeded = info == "usageLimitExceeded";
        Self {
            reached: if exceeded { reached.to_owned() } else { String::new() },
            info: if exceeded && !window { NO_WINDOW.to_owned() } else { info },
            status,
            text: error.message.text_or_empty().to_owned(),
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
            Field::Reached => self.reached == value,
            Field::Info => self.info == value,
            Field::Status => self.status == value,
            Field::Text => small.contains(value),
        }
    }

    /// True if a refusal to resume a conversation is about the conversation; else another attempt may resume it.
    #[must_use]
    pub fn loses_conversation(&self) -> bool {
        classify::is_gone(&self.text, Self::said(&self.text).category())
            || classify::is_about_the_conversation(&self.text, self.category())
    }

    /// Returns the category of the failure; `None` if no row of the table matches.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let small = classify::small(&self.text);
        classify::category(TABLE, |field, value| self.holds(field, value, &small))
    }
}

/// Returns the kind and the HTTP status in `codexErrorInfo`: from `"other"`, or
/// `{"httpConnectionFailed":{"httpStatusCode":401}}`.
fn read_info(info: &Value) -> (String, String) {
    match info {
        Value::String(word) => (word.clone(), String::new()),
        Value::Object(object) => {
            let Some((word, inner)) = object.iter().next() else { return Default::default() };
            let status = inner.get("httpStatusCode").and_then(Value::as_u64);
            (word.clone(), status.map_or_else(String::new, |status| status.to_string()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Default::default(),
    }
}
