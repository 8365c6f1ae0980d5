//! What a failed result of Claude Code means: structured fields first, text last, anything unknown is transient.

use crate::core::outcome::Category;
use crate::runtime::classify::{self, Row};
use crate::runtime::text::bounded;

/// The longest field that is shown, in bytes: they are words of an API.
const FIELD_MAX: usize = 100;

/// Where a row of the table looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `result.subtype`.
    Subtype,
    /// `result.terminal_reason`.
    TerminalReason,
    /// `api_error` of the result or of the assistant's last synthetic message.
    ApiError,
    /// `error` of the assistant's last synthetic message.
    AssistantError,
    /// `api_error_status`, the API's HTTP status.
    Status,
    /// `api_error_type`, the API's own word.
    ErrorType,
    /// `status` of the last `rate_limit_event`.
    Limit,
    /// Anywhere in the text, in small letters.
    Text,
}

/// A failed result, as far as the table looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// See [`Field::Subtype`].
    pub subtype: String,
    /// See [`Field::TerminalReason`].
    pub terminal_reason: String,
    /// See [`Field::ApiError`].
    pub api_error: String,
    /// See [`Field::AssistantError`].
    pub assistant_error: String,
    /// See [`Field::Status`], as text.
    pub status: String,
    /// See [`Field::ErrorType`].
    pub error_type: String,
    /// See [`Field::Limit`].
    pub limit: String,
    /// The whole text, for people.
    pub text: String,
}

/// The first row that fits decides.
pub const TABLE: &[Row<Field>] = {
    use Category::{
        Auth, Billing, Budget, ContextOverflow, MaxTurns, Permanent, Quota, RateLimit, Transient,
    };
    &[
        // Ends that the CLI itself decided on.
        (Field::Subtype, "error_max_turns", MaxTurns),
        (Field::TerminalReason, "max_turns", MaxTurns),
        (Field::Subtype, "error_max_budget_usd", Budget),
        (Field::TerminalReason, "budget_exhausted", Budget),
        (Field::Subtype, "error_max_structured_output_retries", Permanent),
        // The finest words for an API error come before the coarse ones they are a case of.
        (Field::ApiError, "prompt_too_long", ContextOverflow),
        (Field::TerminalReason, "prompt_too_long", ContextOverflow),
        (Field::ApiError, "usage_limit_reached", Quota),
        (Field::ApiError, "max_output_tokens", Transient),
        (Field::ApiError, "connection_failed", Transient),
        // The CLI's own kind of error.
        (Field::AssistantError, "authentication_failed", Auth),
        (Field::AssistantError, "billing_error", Billing),
        (Field::AssistantError, "rate_limit", RateLimit),
        (Field::AssistantError, "model_not_found", Permanent),
        (Field::AssistantError, "invalid_request", Permanent),
        (Field::AssistantError, "max_output_tokens", Transient),
        (Field::AssistantError, "server_error", Transient),
        // The API's words, for which the CLI's kind is "unknown".
        (Field::ErrorType, "billing_error", Billing),
        (Field::ErrorType, "authentication_error", Auth),
        (Field::ErrorType, "permission_error", Auth),
        (Field::ErrorType, "rate_limit_error", RateLimit),
        (Field::ErrorType, "overloaded_error", Transient),
        (Field::ErrorType, "invalid_request_error", Permanent),
        (Field::ErrorType, "not_found_error", Permanent),
        (Field::Status, "401", Auth),
        (Field::Status, "402", Billing),
        (Field::Status, "403", Auth),
        (Field::Status, "429", RateLimit),
        (Field::Status, "400", Permanent),
        (Field::Status, "404", Permanent),
        (Field::Status, "413", Permanent),
        (Field::Status, "422", Permanent),
        (Field::Limit, "rejected", RateLimit),
        // A last resort, for versions that say it in words alone.
        (Field::Text, "credit balance is too low", Billing),
        (Field::Text, "invalid api key", Auth),
        (Field::Text, "not logged in", Auth),
        (Field::Text, "failed to authenticate", Auth),
        (Field::Text, "prompt is too long", ContextOverflow),
        (Field::Text, "hit your limit", Quota),
        (Field::Text, "usage limit reached", Quota),
        (Field::Text, "maximum number of turns", MaxTurns),
        (Field::Text, "reached maximum budget", Budget),
        (Field::Text, "issue with the selected model", Permanent),
        (Field::Text, "cannot be used with root/sudo privileges", Permanent),
        // The CLI's own word for whatever has no other.
        (Field::Subtype, "error_during_execution", Transient),
    ]
};

impl Failure {
    /// A failure of which there are words alone.
    #[must_use]
    pub fn said(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// `small`: its text in small letters.
    fn holds(&self, field: Field, value: &str, small: &str) -> bool {
        match field {
            Field::Subtype => self.subtype == value,
            Field::TerminalReason => self.terminal_reason == value,
            Field::ApiError => self.api_error == value,
            Field::AssistantError => self.assistant_error == value,
            Field::Status => self.status == value,
            Field::ErrorType => self.error_type == value,
            Field::Limit => self.limit == value,
            Field::Text => small.contains(value),
        }
    }

    /// Every field that a row could look at, for whoever adds one, and the text, which may be cut somewhere.
    #[must_use]
    pub fn whole(&self) -> String {
        let fields = [
            ("status", &self.status),
            ("type", &self.error_type),
            ("api_error", &self.api_error),
            ("error", &self.assistant_error),
            ("terminal_reason", &self.terminal_reason),
            ("subtype", &self.subtype),
        ];
        let said = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let said: Vec<String> =
            said.map(|(name, value)| format!("{name} {}", bounded(value, FIELD_MAX))).collect();
        if said.is_empty() { self.text.clone() } else { format!("{}: {}", said.join(", "), self.text) }
    }

    /// The class, if a row of the table knows it.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let small = classify::small(&self.text);
        classify::category(TABLE, |field, value| self.holds(field, value, &small))
    }
}
