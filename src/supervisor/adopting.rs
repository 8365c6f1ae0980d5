//! Sessions on a runner in another process: the record of the reports that were decided, in the transaction of the
//! decisions, so that a herder that follows knows from which report on it has to decide.

use serde::{Deserialize, Serialize};

use crate::core::id::{AgentName, SessionId};
use crate::journal::Memo;
use crate::runner::wire::SessionKey;

/// Prefix of the keys of memos about open sessions on a runner; the agent's name follows.
const PREFIX: &str = "session/";

/// Name of the runner on this machine.
const LOCAL: &str = "local";

/// The reports of a session that were decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decided {
    /// The session.
    pub(super) of: SessionKey,
    /// Number of the last of them.
    pub(super) up_to: u64,
    /// True if it was the session's end.
    pub(super) over: bool,
}

/// The record of an open session on a runner.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    runner: String,
    session: SessionId,
    /// Number of the last report whose consequences are on disk.
    heard: u64,
}

impl Decided {
    /// Returns the change of the record that goes with the decisions: the record of a session that is over is removed.
    pub(super) fn memo(&self) -> Memo {
        let record = Record { runner: LOCAL.to_owned(), session: self.of.session, heard: self.up_to };
        // A name and two numbers can always be written as JSON.
        let value = if self.over { None } else { serde_json::to_string(&record).ok() };
        Memo { key: key(&self.of.agent), value }
    }
}

fn key(agent: &AgentName) -> String {
    format!("{PREFIX}{agent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_session_is_on_record_and_one_that_is_over_is_not() {
        let of = SessionKey { agent: AgentName::new("spark").expect("a good name"), session: SessionId(7) };
        let open = Decided { of: of.clone(), up_to: 12, over: false }.memo();
        assert_eq!(open.key, "session/spark");
        assert_eq!(open.value.as_deref(), Some(r#"{"runner":"local","session":7,"heard":12}"#));
        assert_eq!(Decided { of, up_to: 13, over: true }.memo().value, None);
    }
}
