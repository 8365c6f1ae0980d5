//! How a request can fail.

use crate::core::detail::{Detail, DiscordReason};

/// Why a request was not done, or is not known to be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum RestError {
    /// Discord says no, and will say so again.
    #[error("Discord refused {request}: {message} (status {status}, code {code})")]
    Refused {
        /// What was asked.
        request: String,
        /// The status of HTTP.
        status: u16,
        /// Discord's own code; see [`code`].
        code: u32,
        /// Its words, and for a form what was wrong where.
        message: String,
    },
    /// Something between herder and Discord answered in its place: a proxy, a guard, a captive portal. It says nothing of
    /// what was asked for.
    #[error("{request} was answered by something other than Discord (status {status})")]
    Foreign {
        /// What was asked.
        request: String,
        /// The status of HTTP.
        status: u16,
    },
    /// There was no answer within the time that the request had.
    #[error("{request} was not answered in time: {reason}")]
    Unanswered {
        /// What was asked.
        request: String,
        /// What the last try failed of.
        reason: String,
        /// Whether it may have been done all the same.
        maybe_done: bool,
    },
    /// It was done, but the answer is none that can be read.
    #[error("the answer to {request} cannot be read: {reason}")]
    Unreadable {
        /// What was asked.
        request: String,
        /// What is wrong with it.
        reason: String,
        /// It is no JSON, or not all of it: perhaps not from Discord at all.
        foreign: bool,
    },
    /// It could not even be asked: a body that is no JSON, an address that is not Discord's.
    #[error("{request} cannot be asked: {reason}")]
    Unaskable {
        /// What was to be asked.
        request: String,
        /// Why not.
        reason: String,
    },
}

/// Why Discord cannot be asked, for people.
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

/// Discord's codes that are acted on.
pub(in super::super) mod code {
    /// The channel is gone.
    pub(in super::super::super) const UNKNOWN_CHANNEL: u32 = 10003;
    /// The message is gone.
    pub(in super::super::super) const UNKNOWN_MESSAGE: u32 = 10008;
    /// Nobody of this id is on the server.
    pub(in super::super::super) const UNKNOWN_MEMBER: u32 = 10007;
    /// Nobody has this id.
    pub(in super::super::super) const UNKNOWN_USER: u32 = 10013;
    /// The interaction was answered already.
    pub(in super::super::super) const ALREADY_ACKNOWLEDGED: u32 = 40060;
    /// A channel that cannot be seen.
    pub(in super::super::super) const MISSING_ACCESS: u32 = 50001;
    /// The person takes no messages from the bot.
    pub(in super::super::super) const CANNOT_MESSAGE_USER: u32 = 50007;
    /// Something that the bot's roles do not allow.
    pub(in super::super::super) const MISSING_PERMISSIONS: u32 = 50013;
    /// A thread that is archived and locked.
    pub(in super::super::super) const THREAD_ARCHIVED: u32 = 50083;
    /// A thread that is locked.
    pub(in super::super::super) const THREAD_LOCKED: u32 = 160_005;
    /// Refusals that pass by themselves: none that is named, limits of other kinds than requests, messages that are switched
    /// off for a while, Discord's guard, an overload.
    pub(super) const PASSING: [u32; 8] = [0, 20_016, 20_022, 20_028, 20_029, 40_004, 40_333, 130_000];
}

impl RestError {
    /// An answer that does not say what it should.
    pub(super) fn unreadable(request: String, error: &serde_json::Error) -> Self {
        Self::Unreadable { request, reason: error.to_string(), foreign: !error.is_data() }
    }

    /// Discord's code, if it refused. It alone decides what a refusal means; the status of HTTP may be anybody's.
    pub(in super::super) fn code(&self) -> Option<u32> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Foreign { .. }
            | Self::Unanswered { .. }
            | Self::Unreadable { .. }
            | Self::Unaskable { .. } => None,
        }
    }

    /// Whether Discord itself does not know the bot's token.
    pub(in super::super) fn is_unknown_token(&self) -> bool {
        matches!(self, Self::Refused { status: 401, code: 0, .. })
    }

    /// Whether the channel that was asked about is gone, as Discord itself says.
    pub(in super::super) fn is_channel_gone(&self) -> bool {
        self.code() == Some(code::UNKNOWN_CHANNEL)
    }

    /// Whether Discord itself says that the bot's roles do not allow it.
    pub(in super::super) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(code::MISSING_ACCESS | code::MISSING_PERMISSIONS))
    }

    /// Whether Discord itself has refused it for something that does not change by itself: not for a token or a permission
    /// that may come back, and not in the words of whatever stands between it and herder.
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

    /// Whether it may be taken later. A permission that is missing is said elsewhere; asking on for it would count towards a
    /// ban.
    pub(in super::super) fn is_worth_another_try(&self) -> bool {
        !self.is_final() && !self.is_denied()
    }

    /// Whether it may have been done although it failed.
    pub(in super::super) fn maybe_done(&self) -> bool {
        match self {
            Self::Unanswered { maybe_done, .. } => *maybe_done,
            Self::Unreadable { .. } => true,
            Self::Refused { .. } | Self::Foreign { .. } | Self::Unaskable { .. } => false,
        }
    }
}
