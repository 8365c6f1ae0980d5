//! Classification of failed results of Claude Code: structured fields first, the text last; unknown failures are transient.

use crate::core::outcome::Category;
use crate::runtime::classify::{self, Row};

/// The field of a failure that a row of the table examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `result.subtype`.
    Subtype,
    /// `result.terminal_reason`.
    TerminalReason,
    /// `api_error` of the result or of the assistant's latest synthetic message.
    ApiError,
    /// `error` of the assistant's latest synthetic message.
    AssistantError,
    /// `api_error_status`, the API's HTTP status.
    Status,
    /// `api_error_type`, the API's own error type.
    ErrorType,
    /// `status` of the latest `rate_limit_event`.
    Limit,
    /// A part of the error text, in lower case.
    Text,
}

/// The fields of a failed result that the table examines.
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
    /// See [`Field::Status`], as a string.
    pub status: String,
    /// See [`Field::ErrorType`].
    pub error_type: String,
    /// See [`Field::Limit`].
    pub limit: String,
    /// The full error text, for people.
    pub text: String,
}

/// The classification table of failures. The first matching row decides.
pub const TABLE: &[Row<Field>] = {
    use Category::{
        Auth, Billing, Budget, ContextOverflow, MaxTurns, Permanent, Quota, RateLimit, Transient,
    };
    &[
        // Ends that the CLI itself decided.
        (Field::Subtype, "error_max_turns", MaxTurns),
        (Field::TerminalReason, "max_turns", MaxTurns),
        (Field::Subtype, "error_max_budget_usd", Budget),
        (Field::TerminalReason, "budget_exhausted", Budget),
        (Field::Subtype, "error_max_structured_output_retries", Permanent),
        // Specific API errors, before the general ones that include them.
        (Field::ApiError, "prompt_too_long", ContextOverflow),
        (Field::TerminalReason, "prompt_too_long", ContextOverflow),
        (Field::ApiError, "usage_limit_reached", Quota),
        (Field::ApiError, "max_output_tokens", Transient),
        (Field::ApiError, "connection_failed", Transient),
        // The CLI's own error kinds.
        (Field::AssistantError, "authentication_failed", Auth),
        (Field::AssistantError, "billing_error", Billing),
        (Field::AssistantError, "rate_limit", RateLimit),
        (Field::AssistantError, "model_not_found", Permanent),
        (Field::AssistantError, "invalid_request", Permanent),
        (Field::AssistantError, "max_output_tokens", Transient),
        (Field::AssistantError, "server_error", Transient),
        // The API's error types, for which the CLI's kind is "unknown".
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
        // Fallback for versions that report errors only as text.
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
        // The CLI's subtype for every other error.
        (Field::Subtype, "error_during_execution", Transient),
    ]
};

impl Failure {
    /// Returns a failure of which only the text is known.
    #[must_use]
    pub fn said(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Returns true if the field has the value; `small` is the text in lower case.
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

    /// Returns all fields that a row could examine, for a maintainer who adds one, followed by the text, which may be
    /// truncated later.
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
        classify::whole(&fields, &self.text)
    }

    /// Returns the category of the failure; `None` if no row of the table matches.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let small = classify::small(&self.text);
        classify::category(TABLE, |field, value| self.holds(field, value, &small))
    }
}
