//! Who may do what: the one place where it is checked.
//!
//! An [`Author`] carries only what a network vouches for. [`Access`] compares that with the people named in `[access]`
//! and says which [`Role`] they have, if any. A nick never counts: it is free to take on every network. Whatever is in
//! doubt gives no role:
//!
//! * letters are compared without case in ASCII alone. A network on which `[` and `{` are one letter would let a person
//!   write their name in two ways; taking that into account everywhere would let a stranger in on every other network.
//! * a mask must say something about the host. `alice!*@*` is a bare nick in disguise and is left out, see
//!   [`mask_problem`].
//! * `*` (everybody) makes viewers alone, wherever it is written.
//!
//! A person who has shown to be a Discord user and the owner of a services account ([`Ties`]) has the higher of the roles
//! of both, wherever they speak.
//!
//! Establishing who is speaking (account tags, WHOX, replayed lines) is the networks' part, `crate::chat`. What each
//! command needs is in the commands' table, `crate::commands`.

mod ties;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::chat::{Author, Origin};
use crate::config::{AccessRules, DISCORD_NETWORK, Subject};

pub use ties::Ties;

/// What a person may do; each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nothing that shows or changes anything of the agents: what everybody may, known or not.
    Anybody,
    /// Look: status, log, help.
    Viewer,
    /// Steer: pause, resume, abort, tasks, work.
    Operator,
    /// Change the fleet: add, edit and remove agents.
    Admin,
}

impl Role {
    /// The role's name as it is written in `bot.toml` and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anybody => "anybody",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A role and what it was given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// The proof they were known by, for the record: `account:alice`, `mask:…`, `local`.
    pub identity: Option<String>,
}

/// The people named in `[access]`, ready for comparing.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Highest role first.
    rules: Vec<(Role, Subject)>,
    /// Subjects that were left out because they would have named too many.
    left_out: Vec<(Role, Subject)>,
    ties: Ties,
}

impl Access {
    /// Takes the rules as they are configured. Subjects that name nobody in particular are left out: [`Access::left_out`].
    #[must_use]
    pub fn new(rules: &AccessRules) -> Self {
        let mut access = Self::default();
        let lists = [
            (Role::Admin, &rules.admins),
            (Role::Operator, &rules.operators),
            (Role::Viewer, &rules.viewers),
        ];
        for (role, subjects) in lists {
            for subject in subjects {
                let usable = match subject {
                    Subject::Everyone => role == Role::Viewer,
                    Subject::DiscordUser(id) | Subject::DiscordRole(id) => is_account(id),
                    Subject::IrcAccount { account, .. } => is_account(account),
                    Subject::IrcMask { mask, .. } => mask_problem(mask).is_none(),
                };
                let list = if usable { &mut access.rules } else { &mut access.left_out };
                list.push((role, subject.clone()));
            }
        }
        access
    }

    /// With what people have shown to be elsewhere.
    #[must_use]
    pub fn with(self, ties: Ties) -> Self {
        Self { ties, ..self }
    }

    /// Whether nobody at all can command: said at start. Viewers only look, so that they do not count.
    #[must_use]
    pub fn nobody(&self) -> bool {
        !self.rules.iter().any(|(role, _)| *role >= Role::Operator)
    }

    /// Subjects that were left out, because they name nobody or everybody; said at start.
    #[must_use]
    pub fn left_out(&self) -> &[(Role, Subject)] {
        &self.left_out
    }

    /// The highest role of `author`, if they have one.
    #[must_use]
    pub fn role(&self, author: &Author) -> Option<Role> {
        self.standing(author).map(|standing| standing.role)
    }

    /// The highest role of `author` and the proof of it.
    #[must_use]
    pub fn standing(&self, author: &Author) -> Option<Standing> {
        match author.origin {
            Origin::LocalSocket => Some(Standing { role: Role::Admin, identity: Some("local".to_owned()) }),
            Origin::Network => {
                let own = self.here(author);
                let others = self.ties.others(author);
                if others.is_empty() {
                    return own;
                }
                let elsewhere = others.iter().filter_map(|other| self.here(other));
                let role = own.iter().cloned().chain(elsewhere).map(|standing| standing.role).max()?;
                let shown = own.and_then(|standing| standing.identity).or_else(|| vouched(author));
                let all = shown.into_iter().chain(others.iter().filter_map(known_as));
                Some(Standing { role, identity: Some(all.collect::<Vec<_>>().join(" = ")) })
            }
        }
    }

    /// What somebody is who may be nobody: good for what anybody may.
    #[must_use]
    pub fn anybody(&self, author: &Author) -> Standing {
        let unknown = || Standing { role: Role::Anybody, identity: vouched(author) };
        self.standing(author).unwrap_or_else(unknown)
    }

    /// The highest role that somebody has on the network where they speak.
    fn here(&self, author: &Author) -> Option<Standing> {
        self.rules.iter().find_map(|(role, subject)| {
            let identity = proof(subject, author)?;
            Some(Standing { role: *role, identity })
        })
    }
}

/// What proves that `author` is `subject`; `None`: nothing does. The inner `None` is everybody who shows no proof.
fn proof(subject: &Subject, author: &Author) -> Option<Option<String>> {
    match subject {
        Subject::Everyone => Some(vouched(author)),
        Subject::DiscordUser(id) => {
            let shown = author.account.as_deref().filter(|_| on_discord(author))?;
            (shown == id).then(|| Some(format!("discord:{shown}")))
        }
        Subject::DiscordRole(id) => {
            let has = on_discord(author) && author.roles.contains(id);
            has.then(|| author.account.as_ref().map(|user| format!("discord:{user}")))
        }
        Subject::IrcAccount { network, account } => {
            let shown = author.account.as_deref()?;
            (*network == author.network && is_account(shown) && shown.eq_ignore_ascii_case(account))
                .then(|| Some(format!("account:{shown}")))
        }
        Subject::IrcMask { network, mask } => {
            let shown = author.mask.as_deref()?;
            (*network == author.network && mask_matches(mask, shown)).then(|| Some(format!("mask:{shown}")))
        }
    }
}

/// Ids are Discord's only on Discord: an account of that name elsewhere is somebody else.
fn on_discord(author: &Author) -> bool {
    author.network.as_str() == DISCORD_NETWORK
}

/// The best the network says about somebody, for the record alone.
fn vouched(author: &Author) -> Option<String> {
    if on_discord(author) {
        return author.account.as_ref().map(|user| format!("discord:{user}"));
    }
    let account = author.account.as_deref().filter(|account| is_account(account));
    account.map_or_else(
        || author.mask.as_ref().map(|mask| format!("mask:{mask}")),
        |account| Some(format!("account:{account}")),
    )
}

/// What somebody is known as elsewhere, with the network, since several can have accounts.
fn known_as(author: &Author) -> Option<String> {
    let account = author.account.as_deref()?;
    Some(if on_discord(author) {
        format!("discord:{account}")
    } else {
        format!("{}:{account}", author.network)
    })
}

/// Whether a text can be a services account. Servers write `*` and `0` for "not logged in".
fn is_account(text: &str) -> bool {
    !matches!(text, "" | "*" | "0") && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// What is wrong with a mask in `irc-mask:<network>:<mask>`, if anything: a mask must have the form `nick!user@host`
/// and say something about the host, because nick and user are the client's own words.
#[must_use]
pub fn mask_problem(mask: &str) -> Option<&'static str> {
    let Some(parts) = Mask::of(mask) else {
        return Some("a mask has the form nick!user@host, e.g. *!bob@bob.example.org");
    };
    if !parts.host.contains(|c: char| c.is_ascii_alphanumeric()) {
        return Some("the host is left open, so that anybody who takes the nick would match: name the host");
    }
    None
}

/// The three parts of `nick!user@host`, so that a `*` in one of them can never reach into the next.
struct Mask<'a> {
    nick: &'a str,
    user: &'a str,
    host: &'a str,
}

impl<'a> Mask<'a> {
    fn of(text: &'a str) -> Option<Self> {
        // A nick has no `!`, a host no `@`; what is odd about the user stays in the user.
        let (nick, rest) = text.split_once('!')?;
        let (user, host) = rest.rsplit_once('@')?;
        let whole = !nick.is_empty() && !user.is_empty() && !host.is_empty();
        (whole && !text.contains(|c: char| c.is_whitespace() || c.is_control())).then_some(Self {
            nick,
            user,
            host,
        })
    }
}

/// Whether `shown`, a full `nick!user@host` from the network, matches `mask` with its `*` and `?`.
#[must_use]
pub fn mask_matches(mask: &str, shown: &str) -> bool {
    let (Some(mask), Some(shown)) = (Mask::of(mask), Mask::of(shown)) else { return false };
    glob(mask.nick, shown.nick) && glob(mask.user, shown.user) && glob(mask.host, shown.host)
}

/// Glob with `*` and `?`, without case in ASCII. Greedy with one point to come back to, so that no pattern takes more
/// than pattern times text steps, however hostile.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || c.eq_ignore_ascii_case(&text[t]) => {
                p += 1;
                t += 1;
            }
            Some(_) | None => match back {
                // The last `*` takes one character more. Earlier ones need never be tried again.
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    p = star + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::id::NetworkName;

    fn account(network: &str, account: &str) -> Subject {
        Subject::IrcAccount { network: network.into(), account: account.to_owned() }
    }

    fn mask(network: &str, mask: &str) -> Subject {
        Subject::IrcMask { network: network.into(), mask: mask.to_owned() }
    }

    fn author(network: &str, account: Option<&str>, mask: Option<&str>) -> Author {
        Author {
            network: network.into(),
            nick: "alice".to_owned(),
            account: account.map(str::to_owned),
            mask: mask.map(str::to_owned),
            roles: Vec::new(),
            origin: Origin::Network,
        }
    }

    fn access() -> Access {
        Access::new(&AccessRules {
            admins: vec![account("libera", "Alice")],
            operators: vec![account("oftc", "carol"), mask("libera", "*!bob@*.example.org")],
            viewers: vec![mask("home", "dan?!*@10.0.0.*")],
        })
    }

    #[test]
    fn roles_follow_from_what_the_network_vouches_for() {
        type Case = (&'static str, Option<&'static str>, Option<&'static str>, Option<Role>);
        let cases: &[Case] = &[
            ("libera", Some("alice"), None, Some(Role::Admin)),
            ("libera", Some("ALICE"), Some("x!y@z"), Some(Role::Admin)),
            ("libera", None, Some("whoever!bob@a.example.org"), Some(Role::Operator)),
            ("libera", None, Some("WHOEVER!BOB@A.EXAMPLE.ORG"), Some(Role::Operator)),
            ("oftc", Some("carol"), None, Some(Role::Operator)),
            ("home", None, Some("dan1!d@10.0.0.7"), Some(Role::Viewer)),
            // The nick is alice in every row, and that alone is never anything.
            ("libera", None, None, None),
            ("libera", None, Some("alice!alice@elsewhere.example.net"), None),
            // Somebody else's account, or the right one on the wrong network.
            ("libera", Some("alice2"), None, None),
            ("oftc", Some("alice"), None, None),
            ("libera", Some("carol"), None, None),
            // What servers write for "not logged in", and what no account can be.
            ("libera", Some("*"), None, None),
            ("libera", Some("0"), None, None),
            ("libera", Some(""), None, None),
            ("libera", Some("alice "), None, None),
            ("libera", Some("alice\u{0}"), None, None),
            // Letters that look alike, or fold together outside ASCII.
            ("libera", Some("аlice"), None, None),
            ("libera", Some("alıce"), None, None),
            // An account that carries a whole mask, and the other way round.
            ("libera", Some("x!bob@a.example.org"), None, None),
            ("libera", None, Some("alice"), None),
            // The user's own words (nick, user) dressed up as a host.
            ("libera", None, Some("x!bob@a.example.org!y@evil.example.net"), None),
            ("libera", None, Some("x!bob@a.example.org@evil.example.net"), None),
            ("libera", None, Some("bob@a.example.org!y@evil.example.net"), None),
            ("libera", None, Some("x!bob@a.example.org.evil.net"), None),
            ("libera", None, Some("x!bob@example.org"), None),
            ("libera", None, Some("x!bobby@a.example.org"), None),
            ("home", None, Some("dan!d@10.0.0.7"), None),
            ("home", None, Some("dan1!d@110.0.0.7"), None),
        ];
        for (network, account, mask, role) in cases {
            let author = author(network, *account, *mask);
            assert_eq!(access().role(&author), *role, "{author:?}");
        }
    }

    #[test]
    fn on_discord_ids_count_and_only_there() {
        let access = Access::new(&AccessRules {
            admins: vec![Subject::DiscordUser("112233445566778899".to_owned())],
            operators: vec![Subject::DiscordRole("998877665544332211".to_owned())],
            viewers: Vec::new(),
        });
        let member = |network: &str, user: &str, role: &str| Author {
            roles: vec![role.to_owned()],
            ..author(network, Some(user), None)
        };
        let cases = [
            ("discord", "112233445566778899", "1", Some(Role::Admin)),
            ("discord", "1", "998877665544332211", Some(Role::Operator)),
            ("discord", "998877665544332211", "112233445566778899", None),
            ("discord", "alice", "1", None),
            // Whoever registers such an account on an IRC network is nobody on Discord.
            ("libera", "112233445566778899", "998877665544332211", None),
        ];
        for (network, user, role, expected) in cases {
            let author = member(network, user, role);
            assert_eq!(access.role(&author), expected, "{author:?}");
        }
    }

    #[test]
    fn everybody_makes_viewers_alone() {
        let access = Access::new(&AccessRules {
            admins: vec![Subject::Everyone],
            operators: vec![Subject::Everyone],
            viewers: vec![Subject::Everyone],
        });
        let stranger = author("libera", None, Some("x!y@z.example.net"));
        assert_eq!(
            access.standing(&stranger),
            Some(Standing { role: Role::Viewer, identity: Some("mask:x!y@z.example.net".to_owned()) })
        );
        assert!(access.nobody(), "viewers cannot command");
        assert_eq!(access.left_out().len(), 2);
    }

    #[test]
    fn masks_that_are_a_bare_nick_in_disguise_name_nobody() {
        for text in [
            "alice",
            "alice!*@*",
            "*!*@*",
            "*",
            "*!bob@*",
            "alice!*@?*",
            "a!b",
            "a@b",
            "!@",
            "a b!c@d",
            "!b@c.d",
        ] {
            assert!(mask_problem(text).is_some(), "{text}");
            let access =
                Access::new(&AccessRules { admins: vec![mask("libera", text)], ..AccessRules::default() });
            assert!(access.nobody(), "{text}");
            assert_eq!(access.role(&author("libera", None, Some("alice!bob@c.example.org"))), None, "{text}");
        }
        for text in ["*!bob@bob.example.org", "*!*@10.0.0.1", "*!*@user/alice", "a!b@c"] {
            assert_eq!(mask_problem(text), None, "{text}");
        }
    }

    #[test]
    fn the_highest_role_counts_whatever_the_order() {
        let access = Access::new(&AccessRules {
            admins: vec![account("libera", "alice")],
            operators: vec![account("libera", "alice")],
            viewers: vec![Subject::Everyone, account("libera", "alice")],
        });
        assert_eq!(access.role(&author("libera", Some("alice"), None)), Some(Role::Admin));
        assert!(!access.nobody());
    }

    #[test]
    fn the_local_socket_is_the_user_herder_runs_as() {
        let access = Access::new(&AccessRules::default());
        assert!(access.nobody());
        let mut author = author("local", None, None);
        assert_eq!(access.role(&author), None, "the name of the network gives nothing");
        author.origin = Origin::LocalSocket;
        assert_eq!(access.role(&author), Some(Role::Admin));
    }

    #[test]
    fn hostile_masks_take_no_time() {
        let pattern = format!("*!*@{}b.org", "*a".repeat(200));
        let shown = format!("n!u@{}", "a".repeat(4000));
        assert!(!mask_matches(&pattern, &shown));
    }

    /// The obvious way, by trying every split, for comparison.
    fn slow_glob(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|n| slow_glob(rest, &text[n..])),
            Some((c, rest)) => text
                .split_first()
                .is_some_and(|(t, tail)| (*c == '?' || c.eq_ignore_ascii_case(t)) && slow_glob(rest, tail)),
        }
    }

    proptest! {
        #[test]
        fn glob_is_what_the_obvious_way_says(pattern in "[aAb*?]{0,8}", text in "[aAb]{0,8}") {
            let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
            prop_assert_eq!(glob(&pattern, &text), slow_glob(&p, &t));
        }

        #[test]
        fn no_nick_ever_gives_a_role(nick in "\\PC{0,20}", mask in proptest::option::of("\\PC{0,40}")) {
            let author = Author { nick, ..author("libera", None, mask.as_deref()) };
            let by_host = mask.as_deref().is_some_and(|mask| mask.to_ascii_lowercase().ends_with(".example.org"));
            prop_assert!(access().role(&author).is_none() || by_host);
        }
    }

    #[test]
    fn a_network_name_is_compared_as_it_is_written() {
        assert_eq!(access().role(&author("Libera", Some("alice"), None)), None);
        assert_eq!(NetworkName::from("libera").as_str(), "libera");
    }

    #[test]
    fn what_servers_write_for_nobody_is_no_identity() {
        let everybody = AccessRules { viewers: vec![Subject::Everyone], ..AccessRules::default() };
        for nobody in ["*", "0", ""] {
            let standing = Access::new(&everybody).standing(&author("libera", Some(nobody), None));
            assert_eq!(standing, Some(Standing { role: Role::Viewer, identity: None }), "{nobody:?}");
        }
    }
}
