//! Who answers when an agent asks for permission, until people can be asked from chat.

use crate::core::spec::Autonomy;

/// The answer to a question for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Allow,
    /// No, as it was decided for this agent.
    Deny,
    /// No, because a person was to be asked and none can be: said where people read it, so that nobody waits for nothing.
    DenyUnasked,
}

impl Verdict {
    /// What an agent with this autonomy is told.
    #[must_use]
    pub const fn of(autonomy: Autonomy) -> Self {
        match autonomy {
            Autonomy::Full => Self::Allow,
            Autonomy::Strict => Self::Deny,
            Autonomy::Human => Self::DenyUnasked,
        }
    }

    /// Whether it is a yes.
    #[must_use]
    pub const fn allows(self) -> bool {
        match self {
            Self::Allow => true,
            Self::Deny | Self::DenyUnasked => false,
        }
    }
}
