//! Subjects of a bot, and the table of who may publish and subscribe to which.
//!
//! | user | publish | subscribe |
//! |---|---|---|
//! | bot | `herder.<bot>.>`, `_INBOX.>` | `herder.<bot>.>`, `_INBOX.bot.>` |
//! | runner `r` | `herder.<bot>.beat.r`, `herder.<bot>.from.r.*` | `herder.<bot>.to.r.*`, `_INBOX.r.>` |
//! | invitation | `herder.<bot>.join` | `_INBOX.join.>` |
//! | system | `$SYS.REQ.CLAIMS.>` | `_INBOX.system.>` |

/// Maximum length of the name of a runner, in characters.
pub const NAME_MAX: usize = 32;

/// Names that would give a runner the inbox of somebody else.
const RESERVED: [&str; 3] = ["bot", "join", "system"];

/// The reason why a text cannot be the name of a runner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is too long, begins with something else than a letter, or has another character in it.
    #[error(
        "\"{0}\" cannot be the name of a runner: write 1 to {NAME_MAX} characters of a-z, 0-9 and \"-\", beginning with a letter"
    )]
    Form(String),
    /// The name is used by herder itself.
    #[error("a runner cannot be called \"{0}\", because herder uses this name itself: choose another one")]
    Reserved(String),
}

/// Subjects that a user may publish and subscribe to. Everything else is refused by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permits {
    /// Subjects that it may publish to.
    pub publish: Vec<String>,
    /// Subjects that it may subscribe to.
    pub subscribe: Vec<String>,
}

/// Subjects of a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    root: String,
}

/// Checks a text that is to be the name of a runner.
///
/// # Errors
/// It has another form, or herder uses the name itself.
pub fn check_name(name: &str) -> Result<(), NameError> {
    let is_ours = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > NAME_MAX
        || !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(is_ours)
    {
        return Err(NameError::Form(name.to_owned()));
    }
    if RESERVED.contains(&name) {
        return Err(NameError::Reserved(name.to_owned()));
    }
    Ok(())
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

    /// Returns the subject of the beats of all runners.
    #[must_use]
    pub fn all_beats(&self) -> String {
        self.beat("*")
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

    /// Returns the subject of messages from all runners.
    #[must_use]
    pub fn all_from(&self) -> String {
        self.from("*", "*")
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
        Permits {
            publish: vec![own.clone(), "_INBOX.>".to_owned()],
            subscribe: vec![own, wildcard(&bot_inbox())],
        }
    }

    /// Returns what a runner may do.
    #[must_use]
    pub fn of_runner(&self, runner: &str) -> Permits {
        Permits {
            publish: vec![self.beat(runner), self.from(runner, "*")],
            subscribe: vec![self.to(runner, "*"), wildcard(&runner_inbox(runner))],
        }
    }

    /// Returns what a machine with an invitation may do.
    #[must_use]
    pub fn of_invitation(&self) -> Permits {
        Permits { publish: vec![self.join()], subscribe: vec![wildcard(&join_inbox())] }
    }
}

/// Returns what the user of the system account may do: bring JWTs of accounts to the servers.
#[must_use]
pub fn of_system() -> Permits {
    Permits { publish: vec!["$SYS.REQ.CLAIMS.>".to_owned()], subscribe: vec![wildcard(&system_inbox())] }
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
    fn a_name_is_short_and_plain() {
        for name in ["a", "box4", "box-4", "a--", &"x".repeat(32)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "4box", "-box", "Box", "box.4", "box*", ">", "b x", "bä", "box_4", &"x".repeat(33)]
        {
            assert_eq!(check_name(name), Err(NameError::Form(name.to_owned())));
        }
        for name in ["bot", "join", "system"] {
            assert_eq!(check_name(name), Err(NameError::Reserved(name.to_owned())));
        }
    }

    #[test]
    fn subjects_name_the_bot_first() {
        let subjects = Subjects::new("0a1b2c3d");
        assert_eq!(subjects.beat("box4"), "herder.0a1b2c3d.beat.box4");
        assert_eq!(subjects.all_beats(), "herder.0a1b2c3d.beat.*");
        assert_eq!(subjects.to("box4", "77"), "herder.0a1b2c3d.to.box4.77");
        assert_eq!(subjects.from("box4", "77"), "herder.0a1b2c3d.from.box4.77");
        assert_eq!(subjects.all_from(), "herder.0a1b2c3d.from.*.*");
        assert_eq!(subjects.join(), "herder.0a1b2c3d.join");
    }

    #[test]
    fn a_runner_has_its_own_subjects_alone() {
        let permits = Subjects::new("b").of_runner("box4");
        assert_eq!(permits.publish, ["herder.b.beat.box4", "herder.b.from.box4.*"]);
        assert_eq!(permits.subscribe, ["herder.b.to.box4.*", "_INBOX.box4.>"]);
    }
}
