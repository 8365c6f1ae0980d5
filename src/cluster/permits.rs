//! Subjects of a bot, and the table of who may publish and subscribe to which.
//!
//! | user | publish | subscribe |
//! |---|---|---|
//! | bot | `herder.<bot>.>`, `_INBOX.>`, and of JetStream what [`Subjects::of_jetstream`] lists | `herder.<bot>.>`, `_INBOX.bot.>` |
//! | runner `r` | `herder.<bot>.beat.r`, `herder.<bot>.from.r.*` | `herder.<bot>.to.r.*`, `_INBOX.r.>` |
//! | invitation | `herder.<bot>.join` | `_INBOX.join.>` |
//! | system | `$SYS.REQ.CLAIMS.UPDATE` | `_INBOX.system.>` |
//!
//! Runners and invitations have limits as well, which the server enforces: too many subscriptions are refused, and too
//! long a message ends the connection. The number of connections of one user cannot be limited by its JWT.

/// Beginning of all subjects.
const ROOT: &str = "herder.";

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
        Self { root: format!("{ROOT}{bot}") }
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

    /// Returns the subject of records of the shared log.
    #[must_use]
    pub fn log(&self) -> String {
        format!("{}.log", self.root)
    }

    /// Returns the name of the stream with the shared log.
    #[must_use]
    pub fn log_stream(&self) -> String {
        format!("HERDER_{}_LOG", self.bot())
    }

    /// Returns the name of the object store with copies of the journal.
    #[must_use]
    pub fn copies_bucket(&self) -> String {
        format!("HERDER_{}_COPY", self.bot())
    }

    /// Returns the name of the stream below that object store.
    #[must_use]
    pub fn copies_stream(&self) -> String {
        format!("OBJ_{}", self.copies_bucket())
    }

    /// Returns what the bot may do: everything below its own name, answers to everybody, its log and its copies.
    #[must_use]
    pub fn of_bot(&self) -> Permits {
        let own = format!("{}.>", self.root);
        let mut publish = vec![own.clone(), "_INBOX.>".to_owned()];
        publish.extend(self.of_jetstream());
        Permits::new(publish, vec![own, wildcard(&bot_inbox())])
    }

    /// Returns the subjects by which the bot uses its log and its copies. It may create the two streams and not remove
    /// them, and it may not remove single messages.
    #[must_use]
    pub fn of_jetstream(&self) -> Vec<String> {
        let (log, copies) = (self.log_stream(), self.copies_stream());
        let both = ["INFO", "CREATE", "UPDATE", "PURGE", "MSG.GET"];
        let api = |what: &str, stream: &str| format!("$JS.API.{what}.{stream}");
        let mut all: Vec<String> = [&log, &copies]
            .iter()
            .flat_map(|stream| both.map(|what| api(&format!("STREAM.{what}"), stream)))
            .collect();
        all.extend([
            api("STREAM.LEADER.STEPDOWN", &log),
            api("CONSUMER.CREATE", &format!("{log}.*")),
            format!("$JS.FC.{log}.>"),
            format!("$O.{}.>", self.copies_bucket()),
        ]);
        all
    }

    fn bot(&self) -> &str {
        self.root.strip_prefix(ROOT).unwrap_or_default()
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
    fn the_bot_has_two_streams_alone() {
        let subjects = Subjects::new("0a1b2c3d");
        let permits = subjects.of_bot();
        assert_eq!(
            permits.publish,
            [
                "herder.0a1b2c3d.>",
                "_INBOX.>",
                "$JS.API.STREAM.INFO.HERDER_0a1b2c3d_LOG",
                "$JS.API.STREAM.CREATE.HERDER_0a1b2c3d_LOG",
                "$JS.API.STREAM.UPDATE.HERDER_0a1b2c3d_LOG",
                "$JS.API.STREAM.PURGE.HERDER_0a1b2c3d_LOG",
                "$JS.API.STREAM.MSG.GET.HERDER_0a1b2c3d_LOG",
                "$JS.API.STREAM.INFO.OBJ_HERDER_0a1b2c3d_COPY",
                "$JS.API.STREAM.CREATE.OBJ_HERDER_0a1b2c3d_COPY",
                "$JS.API.STREAM.UPDATE.OBJ_HERDER_0a1b2c3d_COPY",
                "$JS.API.STREAM.PURGE.OBJ_HERDER_0a1b2c3d_COPY",
                "$JS.API.STREAM.MSG.GET.OBJ_HERDER_0a1b2c3d_COPY",
                "$JS.API.STREAM.LEADER.STEPDOWN.HERDER_0a1b2c3d_LOG",
                "$JS.API.CONSUMER.CREATE.HERDER_0a1b2c3d_LOG.*",
                "$JS.FC.HERDER_0a1b2c3d_LOG.>",
                "$O.HERDER_0a1b2c3d_COPY.>",
            ]
        );
        assert_eq!(permits.subscribe, ["herder.0a1b2c3d.>", "_INBOX.bot.>"]);
        assert_eq!(subjects.log(), "herder.0a1b2c3d.log");
    }

    #[test]
    fn an_inbox_is_told_from_other_subjects() {
        for subject in ["_INBOX.box4.x", "_INBOX.box4.x.y"] {
            assert!(is_in(subject, &runner_inbox("box4")), "{subject}");
        }
        for subject in
            ["herder.b.log", "$JS.API.STREAM.PURGE.HERDER_b_LOG", "_INBOX.box41.x", "_INBOX.box4", ""]
        {
            assert!(!is_in(subject, &runner_inbox("box4")), "{subject}");
        }
    }

    #[test]
    fn a_runner_has_its_own_subjects_alone() {
        let permits = Subjects::new("b").of_runner("box4");
        assert_eq!(permits.publish, ["herder.b.beat.box4", "herder.b.from.box4.*"]);
        assert_eq!(permits.subscribe, ["herder.b.to.box4.*", "_INBOX.box4.>"]);
        assert_eq!((permits.subscriptions, permits.payload), (Some(8), Some(64 * 1024)));
    }
}
