//! Errors of requests to Discord.

use crate::core::detail::{Detail, DiscordReason};

/// The reason why a request to Discord was not carried out, or is not known to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum RestError {
    /// Discord refused the request.
    #[error("Discord refused {request}: {message} (status {status}, code {code})")]
    Refused {
        /// Name of the request, for logs.
        request: String,
        /// HTTP status of the answer.
        status: u16,
        /// Discord's error code; see [`code`].
        code: u32,
        /// Discord's message, with the invalid fields of the request.
        message: String,
    },
    /// Something between herder and Discord answered: a proxy, a guard, a captive portal. The answer says nothing
    /// about the request.
    #[error("{request} was answered by something other than Discord (status {status})")]
    Foreign {
        /// Name of the request, for logs.
        request: String,
        /// HTTP status of the answer.
        status: u16,
    },
    /// Discord did not answer within the request's timeout.
    #[error("{request} was not answered in time: {reason}")]
    Unanswered {
        /// Name of the request, for logs.
        request: String,
        /// Reason why the last attempt failed.
        reason: String,
        /// True if the request may have been carried out.
        maybe_done: bool,
    },
    /// The request was carried out, but the answer cannot be parsed.
    #[error("the answer to {request} cannot be read: {reason}")]
    Unreadable {
        /// Name of the request, for logs.
        request: String,
        /// Reason why the answer cannot be parsed.
        reason: String,
        /// True if the answer is not JSON or incomplete, so that it may not be from Discord.
        foreign: bool,
    },
    /// The request could not be sent: its body is not JSON, or its address is not Discord's.
    #[error("{request} cannot be asked: {reason}")]
    Unaskable {
        /// Name of the request, for logs.
        request: String,
        /// Reason why the request cannot be sent.
        reason: String,
    },
}

/// Converts the error of a request to Discord into a reason that people are told.
impl From<RestError> for Detail {
    fn from(error: RestError) -> Self {
        match error {
            RestError::Refused { request, status, code, message } => {
                DiscordReason::Refused { request, status, code }.with(message)
            }
            RestError::Foreign { request, status } => DiscordReason::Foreign { request, status }.into(),
            RestError::Unanswered { request, reason, maybe_done: _ } => {
                DiscordReason::NotAnswered { request }.with(reason)
            }
            RestError::Unreadable { request, reason, foreign: _ } => {
                DiscordReason::Unreadable { request }.with(reason)
            }
            RestError::Unaskable { request, reason } => DiscordReason::Unaskable { request }.with(reason),
        }
    }
}

/// Discord's error codes that herder handles.
pub(in super::super) mod code {
    /// Discord's error code: the channel does not exist.
    pub(in super::super::super) const UNKNOWN_CHANNEL: u32 = 10003;
    /// Discord's error code: the message does not exist.
    pub(in super::super::super) const UNKNOWN_MESSAGE: u32 = 10008;
    /// Discord's error code: no member of the server has this id.
    pub(in super::super::super) const UNKNOWN_MEMBER: u32 = 10007;
    /// Discord's error code: no user has this id.
    pub(in super::super::super) const UNKNOWN_USER: u32 = 10013;
    /// Discord's error code: the interaction was answered already.
    pub(in super::super::super) const ALREADY_ACKNOWLEDGED: u32 = 40060;
    /// Discord's error code: the channel is not visible to the bot.
    pub(in super::super::super) const MISSING_ACCESS: u32 = 50001;
    /// Discord's error code: the person accepts no messages from the bot.
    pub(in super::super::super) const CANNOT_MESSAGE_USER: u32 = 50007;
    /// Discord's error code: the bot's roles do not allow the request.
    pub(in super::super::super) const MISSING_PERMISSIONS: u32 = 50013;
    /// Discord's error code: the thread is archived and locked.
    pub(in super::super::super) const THREAD_ARCHIVED: u32 = 50083;
    /// Discord's error code: the thread is locked.
    pub(in super::super::super) const THREAD_LOCKED: u32 = 160_005;
    /// Discord's error codes of temporary refusals: unspecified errors, limits other than request rates, disabled
    /// messages, Discord's guard, an overload.
    pub(super) const PASSING: [u32; 8] = [0, 20_016, 20_022, 20_028, 20_029, 40_004, 40_333, 130_000];
}

impl RestError {
    /// Builds the error for an answer to `request` that cannot be parsed.
    pub(super) fn unreadable(request: String, error: &serde_json::Error) -> Self {
        Self::Unreadable { request, reason: error.to_string(), foreign: !error.is_data() }
    }

    /// Returns Discord's code of a refusal. Only the code decides the meaning, since anything in between can send an
    /// HTTP status.
    pub(in super::super) fn code(&self) -> Option<u32> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Foreign { .. }
            | Self::Unanswered { .. }
            | Self::Unreadable { .. }
            | Self::Unaskable { .. } => None,
        }
    }

    /// Returns true if Discord itself rejects the bot's token.
    pub(in super::super) fn is_unknown_token(&self) -> bool {
        matches!(self, Self::Refused { status: 401, code: 0, .. })
    }

    /// Returns true if Discord itself says that the channel does not exist.
    pub(in super::super) fn is_channel_gone(&self) -> bool {
        self.code() == Some(code::UNKNOWN_CHANNEL)
    }

    /// Returns true if Discord itself says that the bot's roles do not allow it.
    pub(in super::super) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(code::MISSING_ACCESS | code::MISSING_PERMISSIONS))
    }

    /// Returns true if Discord itself refused the request for a lasting reason: not because of a token or permission
    /// that may return, and not an answer from something in between.
    pub(in super::super) fn is_final(&self) -> bool {
        match self {
            Self::Refused { status: 401, .. }
            | Self::Foreign { .. }
            | Self::Unanswered { .. }
            | Self::Unreadable { .. } => false,
            Self::Refused { code, .. } => !self.is_denied() && !code::PASSING.contains(code),
            Self::Unaskable { .. } => true,
        }
    }

    /// Returns true if another attempt may succeed. A missing permission does not count: it is announced elsewhere,
    /// and repeated requests would count towards a ban.
    pub(in super::super) fn is_worth_another_try(&self) -> bool {
        !self.is_final() && !self.is_denied()
    }

    /// Returns true if the request may have been carried out although it failed.
    pub(in super::super) fn maybe_done(&self) -> bool {
        match self {
            Self::Unanswered { maybe_done, .. } => *maybe_done,
            Self::Unreadable { .. } => true,
            Self::Refused { .. } | Self::Foreign { .. } | Self::Unaskable { .. } => false,
        }
    }
}
