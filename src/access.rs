//! Access control: the one place where roles are checked.
//!
//! An [`Author`] carries only what a network confirms. [`Access`] compares that with the people named in `[access]`
//! and returns their [`Role`], if any. A nick never counts: it is free to take on every network. In doubt there is no
//! role:
//!
//! * letters are compared without case in ASCII alone. A network on which `[` and `{` are one letter would let a person
//!   write their name in two ways; taking that into account everywhere would let a stranger in on every other network.
//! * a mask must say something about the host. `alice!*@*` is a bare nick in disguise and is left out, see
//!   `mask`.
//! * `*` (everybody) makes viewers alone, wherever it is written.
//!
//! A person who has proven to be a Discord user and the owner of a services account ([`Ties`]) has the higher role of
//! both, on either network.
//!
//! Establishing the speaker's identity (account tags, WHOX, replayed lines) is the networks' part, `crate::chat`. The
//! roles that commands need are in the commands' table, `crate::commands`.

pub(crate) mod digest;
pub(crate) mod logins;
mod mask;
mod present;
mod proof;
mod rules;
#[cfg(test)]
mod tests;
mod ties;

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use crate::core::id::NetworkName;
use crate::core::role::Role;
use crate::core::speech::{Author, Origin};
use mask::mask_problem;
use proof::{is_account, known_as, on_discord, proof, vouched};

pub use logins::Logins;
pub use present::RolesWanted;
pub use rules::{AccessRules, Subject};
pub use ties::Ties;

/// Separator of the names that one person has on several networks, in the record of a command.
const SAME_PERSON: &str = " = ";

/// Returns the Discord user id from a person's identity in the record ([`Standing::identity`]). A person who has used
/// `link` is recorded with all names.
#[must_use]
pub fn discord_user(identity: &str) -> Option<&str> {
    identity.split(SAME_PERSON).find_map(|name| name.strip_prefix("discord:"))
}

/// A role and the proof that it was given for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// The identity for the record: `account:alice`, `mask:…`, `discord:<id>`, `http:<name>` or `local`; with linked
    /// accounts all of them. `None` if the network confirms nothing.
    pub identity: Option<String>,
}

/// The people named in `[access]`, prepared for comparison. Cheap to clone; all clones share the rules, also after
/// the file was read again.
#[derive(Debug, Clone, Default)]
pub struct Access {
    named: Arc<RwLock<Named>>,
    ties: Ties,
}

/// The rules of the last reading of the file.
#[derive(Debug, Default)]
struct Named {
    /// The rules, highest role first.
    rules: Vec<(Role, Subject)>,
    /// Subjects that were left out because they would match too many people.
    left_out: Vec<(Role, Subject)>,
}

impl Named {
    fn new(rules: &AccessRules) -> Self {
        let mut named = Self::default();
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
                let list = if usable { &mut named.rules } else { &mut named.left_out };
                list.push((role, subject.clone()));
            }
        }
        named
    }
}

impl Access {
    /// Takes the configured rules. Subjects that match no one in particular are left out: [`Access::left_out`].
    #[must_use]
    pub fn new(rules: &AccessRules) -> Self {
        Self { named: Arc::new(RwLock::new(Named::new(rules))), ties: Ties::default() }
    }

    /// Replaces the rules, for every check from now on.
    pub fn set(&self, rules: &AccessRules) {
        *self.named.write().unwrap_or_else(PoisonError::into_inner) = Named::new(rules);
    }

    fn named(&self) -> RwLockReadGuard<'_, Named> {
        self.named.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a rule names services accounts of an IRC network.
    #[must_use]
    pub fn names_accounts_of(&self, network: &NetworkName) -> bool {
        let is_of =
            |subject: &Subject| matches!(subject, Subject::IrcAccount { network: of, .. } if of == network);
        self.named().rules.iter().any(|(_, subject)| is_of(subject))
    }

    /// Returns the ids of all Discord users that the rules name by id.
    #[must_use]
    pub fn discord_users(&self) -> BTreeSet<String> {
        let id = |(_, subject): &(Role, Subject)| match subject {
            Subject::DiscordUser(id) => Some(id.clone()),
            _ => None,
        };
        self.named().rules.iter().filter_map(id).collect()
    }

    /// Adds the links between people's accounts.
    #[must_use]
    pub fn with(self, ties: Ties) -> Self {
        Self { ties, ..self }
    }

    /// Returns true if `[access]` names no operator or admin in force, so that nobody can command in chat (the local
    /// shell still can). Reported at start.
    #[must_use]
    pub fn nobody(&self) -> bool {
        !self.named().rules.iter().any(|(role, _)| *role >= Role::Operator)
    }

    /// Returns the subjects that were left out because they match no one or everyone, for the report at start.
    #[must_use]
    pub fn left_out(&self) -> Vec<(Role, Subject)> {
        self.named().left_out.clone()
    }

    /// Returns the highest role of `author`, if they have one.
    #[must_use]
    pub fn role(&self, author: &Author) -> Option<Role> {
        self.standing(author).map(|standing| standing.role)
    }

    /// Returns the highest role of `author` and its proof.
    #[must_use]
    pub fn standing(&self, author: &Author) -> Option<Standing> {
        match author.origin {
            Origin::LocalSocket => Some(Standing { role: Role::Admin, identity: Some("local".to_owned()) }),
            Origin::Token(role) => Some(Standing { role, identity: Some(format!("http:{}", author.nick)) }),
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
                Some(Standing { role, identity: Some(all.collect::<Vec<_>>().join(SAME_PERSON)) })
            }
        }
    }

    /// Returns the author of a session with the Discord roles that they hold now, where their role here depends on
    /// those. `None`: Discord does not tell, so that they have no role for now.
    pub(crate) async fn at_present(&self, author: Author) -> Option<Author> {
        if self.role(&author).is_none() && self.ties.waits_for_roles(&author) {
            return None;
        }
        let without = Author { roles: Vec::new(), ..author.clone() };
        if author.roles.is_empty() || self.role(&author) == self.role(&without) {
            return Some(author);
        }
        let Some(user) = author.account.as_deref().filter(|_| on_discord(&author)) else {
            return Some(author);
        };
        let roles = self.ties.present().roles(user).await;
        match roles {
            Some(roles) => Some(Author { roles, ..author }),
            None => self.role(&without).map(|_| without),
        }
    }

    /// Returns the standing of any author, at least as [`Role::Anybody`].
    #[must_use]
    pub fn anybody(&self, author: &Author) -> Standing {
        let unknown = || Standing { role: Role::Anybody, identity: vouched(author) };
        self.standing(author).unwrap_or_else(unknown)
    }

    /// Returns the entry for `[access]` that the network proves: the user id on Discord, else the services account,
    /// else the mask of the address, whose nick anybody can take. Returns `None` if nothing is proven.
    #[must_use]
    pub fn name_of(author: &Author) -> Option<String> {
        let account = author.account.as_deref().filter(|account| is_account(account));
        match account {
            Some(user) if on_discord(author) => Some(format!("discord:{user}")),
            Some(account) => Some(format!("irc:{}:{account}", author.network)),
            None => {
                let (_, address) = author.mask.as_deref()?.split_once('!')?;
                let mask = format!("*!{address}");
                mask_problem(&mask).is_none().then(|| format!("irc-mask:{}:{mask}", author.network))
            }
        }
    }

    /// Returns the highest role that an author has on their own network.
    fn here(&self, author: &Author) -> Option<Standing> {
        self.named().rules.iter().find_map(|(role, subject)| {
            let identity = proof(subject, author)?;
            Some(Standing { role: *role, identity })
        })
    }
}
