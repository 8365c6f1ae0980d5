//! Subjects of a bot, and the table of who may publish and subscribe to which.
//!
//! | user | publish | subscribe |
//! |---|---|---|
//! | bot | `herder.<bot>.>`, `_INBOX.>` | `herder.<bot>.>`, `_INBOX.bot.>` |
//! | runner `r` | `herder.<bot>.beat.r`, `herder.<bot>.from.r.*` | `herder.<bot>.to.r.*`, `_INBOX.r.>` |
//! | invitation | `herder.<bot>.join` | `_INBOX.join.>` |
//! | system | `$SYS.REQ.CLAIMS.UPDATE` | `_INBOX.system.>` |
//!
//! Runners and invitations have limits as well, which the server enforces: too many subscriptions are refused, and too
//! long a message ends the connection. The number of connections of one user cannot be limited by its JWT.

/// Maximum number of subscriptions of a runner, which needs two: messages of the bot, and answers.
const RUNNER_SUBSCRIPTIONS: u32 = 8;

/// Maximum length of a runner's message with its headers, in bytes: a piece of a stream has a quarter of it.
const RUNNER_PAYLOAD: u32 = 64 * 1024;

/// Maximum number of subscriptions of a machine with an invitation, which needs one: answers.
const INVITATION_SUBSCRIPTIONS: u32 = 4;

/// Maximum length of a message of a machine with an invitation, in bytes: a request to join has at most half of it.
const INVITATION_PAYLOAD: u32 = 32 * 1024;

/// Subject on which the servers take JWTs of accounts.
pub(super) const UPDATE: &str = "$SYS.REQ.CLAIMS.UPDATE";

/// Subjects that a user may publish and subscribe to, and its limits. Everything else is refused by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permits {
    /// Subjects that it may publish to.
    pub publish: Vec<String>,
    /// Subjects that it may subscribe to.
    pub subscribe: Vec<String>,
    /// Maximum number of subscriptions; `None` if it has no limit.
    pub subscriptions: Option<u32>,
    /// Maximum length of a message with its headers, in bytes; `None` is the server's own limit.
    pub payload: Option<u32>,
}

impl Permits {
    /// Returns permits without limits.
    #[must_use]
    pub fn new(publish: Vec<String>, subscribe: Vec<String>) -> Self {
        Self { publish, subscribe, subscriptions: None, payload: None }
    }

    /// Returns the permits with limits to subscriptions and to the length of a message.
    fn limited(self, subscriptions: u32, payload: u32) -> Self {
        Self { subscriptions: Some(subscriptions), payload: Some(payload), ..self }
    }
}

/// Subjects of a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    root: String,
}

impl Subjects {
    /// Returns the subjects of the bot of this name.
    #[must_use]
    pub fn new(bot: &str) -> Self {
        Self { root: format!("herder.{bot}") }
    }

    /// Returns the subject of a runner's beats.
    #[must_use]
    pub fn beat(&self, runner: &str) -> String {
        format!("{}.beat.{runner}", self.root)
    }

    /// Returns the subject of messages to a runner.
    #[must_use]
    pub fn to(&self, runner: &str, incarnation: &str) -> String {
        format!("{}.to.{runner}.{incarnation}", self.root)
    }

    /// Returns the subject of messages from a runner.
    #[must_use]
    pub fn from(&self, runner: &str, incarnation: &str) -> String {
        format!("{}.from.{runner}.{incarnation}", self.root)
    }

    /// Returns the subject of requests to join.
    #[must_use]
    pub fn join(&self) -> String {
        format!("{}.join", self.root)
    }

    /// Returns what the bot may do: everything below its own name, and answers to everybody.
    #[must_use]
    pub fn of_bot(&self) -> Permits {
        let own = format!("{}.>", self.root);
        Permits::new(vec![own.clone(), "_INBOX.>".to_owned()], vec![own, wildcard(&bot_inbox())])
    }

    /// Returns what a runner may do.
    #[must_use]
    pub fn of_runner(&self, runner: &str) -> Permits {
        let publish = vec![self.beat(runner), self.from(runner, "*")];
        let subscribe = vec![self.to(runner, "*"), wildcard(&runner_inbox(runner))];
        Permits::new(publish, subscribe).limited(RUNNER_SUBSCRIPTIONS, RUNNER_PAYLOAD)
    }

    /// Returns what a machine with an invitation may do.
    #[must_use]
    pub fn of_invitation(&self) -> Permits {
        let permits = Permits::new(vec![self.join()], vec![wildcard(&join_inbox())]);
        permits.limited(INVITATION_SUBSCRIPTIONS, INVITATION_PAYLOAD)
    }
}

/// Returns what the user of the system account may do: bring JWTs of accounts to the servers.
#[must_use]
pub fn of_system() -> Permits {
    Permits::new(vec![UPDATE.to_owned()], vec![wildcard(&system_inbox())])
}

/// Returns the prefix of the bot's inboxes.
#[must_use]
pub fn bot_inbox() -> String {
    inbox("bot")
}

/// Returns the prefix of a runner's inboxes.
#[must_use]
pub fn runner_inbox(runner: &str) -> String {
    inbox(runner)
}

/// Returns the prefix of the inboxes of machines with an invitation.
#[must_use]
pub fn join_inbox() -> String {
    inbox("join")
}

/// Returns the prefix of the inboxes of the system account's user.
#[must_use]
pub fn system_inbox() -> String {
    inbox("system")
}

/// Returns true if a subject is one of these inboxes.
#[must_use]
pub fn is_in(subject: &str, inbox: &str) -> bool {
    subject.strip_prefix(inbox).is_some_and(|rest| rest.starts_with('.'))
}

fn inbox(owner: &str) -> String {
    format!("_INBOX.{owner}")
}

fn wildcard(prefix: &str) -> String {
    format!("{prefix}.>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_name_the_bot_first() {
        let subjects = Subjects::new("0a1b2c3d");
        assert_eq!(subjects.beat("box4"), "herder.0a1b2c3d.beat.box4");
        assert_eq!(subjects.to("box4", "77"), "herder.0a1b2c3d.to.box4.77");
        assert_eq!(subjects.from("box4", "77"), "herder.0a1b2c3d.from.box4.77");
        assert_eq!(subjects.join(), "herder.0a1b2c3d.join");
    }

    #[test]
    fn a_runner_has_its_own_subjects_alone() {
        let permits = Subjects::new("b").of_runner("box4");
        assert_eq!(permits.publish, ["herder.b.beat.box4", "herder.b.from.box4.*"]);
        assert_eq!(permits.subscribe, ["herder.b.to.box4.*", "_INBOX.box4.>"]);
        assert_eq!((permits.subscriptions, permits.payload), (Some(8), Some(64 * 1024)));
    }
}
