//! Behaviours of scripted agents.

use std::io;

/// The behaviour of a scripted agent that imitates the claude CLI, once it has received its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Ok,
    Obey,
    Crash,
    RateLimit,
    Auth,
    Billing,
    Budget,
    ServerError,
    MaxTurns,
    Hang,
    Tool,
    NoExit,
    Flood,
    Fork,
    Spiral,
    Ask,
    Mend,
    Lost,
}

impl Act {
    pub(super) fn of(script: &str) -> Option<Self> {
        Some(match script.strip_prefix("claude-")? {
            "ok" => Self::Ok,
            "obey" => Self::Obey,
            "crash" => Self::Crash,
            "rate-limit" => Self::RateLimit,
            "auth" => Self::Auth,
            "billing" => Self::Billing,
            "budget" => Self::Budget,
            "server-error" => Self::ServerError,
            "max-turns" => Self::MaxTurns,
            "hang" => Self::Hang,
            "tool" => Self::Tool,
            "no-exit" => Self::NoExit,
            "flood" => Self::Flood,
            "fork" => Self::Fork,
            "spiral" => Self::Spiral,
            "ask" => Self::Ask,
            "mend" => Self::Mend,
            "lost" => Self::Lost,
            _ => return None,
        })
    }

    /// Returns this behaviour, or success (`Act::Ok`) if it is a failure that already happened in this workspace. A
    /// file in the workspace remembers that.
    pub(super) fn once(self) -> io::Result<Self> {
        match self {
            Self::Crash
            | Self::RateLimit
            | Self::Auth
            | Self::Billing
            | Self::Budget
            | Self::Hang
            | Self::MaxTurns
            | Self::Spiral => {
                let memory = format!(".{self:?}").to_lowercase();
                if std::fs::remove_file(&memory).is_ok() {
                    return Ok(Self::Ok);
                }
                std::fs::write(&memory, "")?;
                Ok(self)
            }
            Self::Ok
            | Self::Obey
            | Self::ServerError
            | Self::Tool
            | Self::NoExit
            | Self::Flood
            | Self::Fork
            | Self::Ask
            | Self::Mend
            | Self::Lost => Ok(self),
        }
    }

    /// Returns the behaviour that a word in the last line of a prompt selects, e.g. `crash` or `hang`; `Act::Ok` if
    /// there is none.
    pub(super) fn asked_for(prompt: &str) -> Self {
        let words =
            prompt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_lowercase();
        let known = [
            ("crash", Self::Crash),
            ("limit", Self::RateLimit),
            ("auth", Self::Auth),
            ("billing", Self::Billing),
            ("budget", Self::Budget),
            ("turns", Self::MaxTurns),
            ("hang", Self::Hang),
            ("tool", Self::Tool),
            ("flood", Self::Flood),
            ("fork", Self::Fork),
            ("spiral", Self::Spiral),
            ("push", Self::Ask),
        ];
        known.into_iter().find(|(word, _)| words.contains(word)).map_or(Self::Ok, |(_, act)| act)
    }
}
