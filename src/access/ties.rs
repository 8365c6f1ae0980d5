//! Links between Discord users and services accounts, as proven with `link`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::present::{Present, RolesWanted};
use super::proof::{is_account, on_discord};
use crate::core::id::NetworkName;
use crate::core::link::DISCORD_NETWORK;
use crate::core::speech::{Author, Origin};
use crate::core::tie::Tie;

/// Maximum age of the Discord roles of a linked user on other networks, counted from Discord's last report of them.
const STALE: Duration = Duration::from_secs(600);

/// Links between Discord users and services accounts. Cheap to clone; all clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Ties(Arc<RwLock<Known>>, Present);

#[derive(Debug, Default)]
struct Known {
    ties: BTreeSet<Tie>,
    /// Discord role ids of linked users, by Discord user id, with the time at which Discord reported them.
    roles: BTreeMap<String, (Instant, Vec<String>)>,
}

impl Ties {
    /// Replaces all links between Discord users and services accounts.
    pub fn set(&self, ties: BTreeSet<Tie>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.roles.retain(|user, _| ties.iter().any(|tie| tie.user == *user));
        known.ties = ties;
    }

    /// Returns all links between Discord users and services accounts.
    #[must_use]
    pub fn all(&self) -> BTreeSet<Tie> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).ties.clone()
    }

    /// Sets a linked user's present roles on Discord. They are valid until the next report, for at most ten minutes.
    pub fn set_roles(&self, user: &str, roles: Vec<String>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.ties.iter().any(|tie| tie.user == user) {
            known.roles.insert(user.to_owned(), (Instant::now(), roles));
        }
    }

    /// Returns the questions about roles of people who have a session of the page, for Discord to answer.
    #[must_use]
    pub fn role_questions(&self) -> mpsc::Receiver<RolesWanted> {
        self.1.questions()
    }

    pub(super) fn present(&self) -> &Present {
        &self.1
    }

    /// Returns true if the author is linked to a Discord user whose present roles are not known, as after a start.
    pub(super) fn waits_for_roles(&self, author: &Author) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(shown) = author.account.as_deref().filter(|shown| is_account(shown)) else { return false };
        let tie = known.ties.iter().find(|tie| tie.is_of(&author.network, shown));
        tie.is_some_and(|tie| known.roles.get(&tie.user).is_none_or(|(told, _)| told.elapsed() >= STALE))
    }

    /// Returns the author's linked identities on other networks; empty if the person has linked none.
    pub(super) fn others(&self, author: &Author) -> Vec<Author> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(shown) = author.account.as_deref().filter(|shown| is_account(shown)) else {
            return Vec::new();
        };
        let user = if on_discord(author) {
            Some(shown)
        } else {
            let tie = known.ties.iter().find(|tie| tie.is_of(&author.network, shown));
            tie.map(|tie| tie.user.as_str())
        };
        let Some(user) = user else { return Vec::new() };
        let ties: Vec<&Tie> = known.ties.iter().filter(|tie| tie.user == user).collect();
        if ties.is_empty() {
            return Vec::new();
        }
        let person = |network: NetworkName, account: &str, roles: Vec<String>| Author {
            network,
            nick: author.nick.clone(),
            account: Some(account.to_owned()),
            mask: None,
            roles,
            origin: Origin::Network,
        };
        let roles = known.roles.get(user).filter(|(told, _)| told.elapsed() < STALE);
        let roles = roles.map(|(_, roles)| roles.clone()).unwrap_or_default();
        let there = person(NetworkName::from(DISCORD_NETWORK), user, roles);
        let elsewhere = ties.iter().map(|tie| person(tie.network.clone(), &tie.account, Vec::new()));
        let is_author = |other: &Author| {
            other.network == author.network
                && other.account.as_deref().is_some_and(|account| account.eq_ignore_ascii_case(shown))
        };
        std::iter::once(there).chain(elsewhere).filter(|other| !is_author(other)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{account, author};
    use super::*;
    use crate::access::{Access, AccessRules, Subject, discord_user};
    use crate::core::role::Role;

    fn tie(user: &str, network: &str, account: &str) -> Tie {
        Tie { user: user.to_owned(), network: network.into(), account: account.to_owned() }
    }

    #[test]
    fn who_is_tied_has_the_higher_role_on_both_sides_and_nobody_else_has() {
        const ALICE: &str = "112233445566778899";
        const BOB: &str = "222233445566778899";
        let ties = Ties::default();
        let access = Access::new(&AccessRules {
            admins: vec![account("libera", "alice")],
            operators: vec![Subject::DiscordUser(BOB.to_owned()), Subject::DiscordRole("7".to_owned())],
            viewers: Vec::new(),
        })
        .with(ties.clone());
        let on_discord = author("discord", Some(ALICE), None);
        assert_eq!(access.role(&on_discord), None);
        ties.set([tie(ALICE, "libera", "Alice"), tie(ALICE, "oftc", "al"), tie(BOB, "oftc", "bob")].into());

        let cases = [
            // Both sides, whatever the case, and a second account of the same person.
            ("discord", Some(ALICE), None, Some(Role::Admin)),
            ("libera", Some("ALICE"), None, Some(Role::Admin)),
            ("oftc", Some("AL"), None, Some(Role::Admin)),
            ("oftc", Some("bob"), None, Some(Role::Operator)),
            ("discord", Some(BOB), None, Some(Role::Operator)),
            // The account's name elsewhere, no account, a mask with that name, an id as an account.
            ("libera", Some("bob"), None, None),
            ("libera", Some("al"), None, None),
            ("oftc", None, Some("bob!bob@bob"), None),
            ("oftc", Some("*"), None, None),
            ("oftc", Some(ALICE), None, None),
            ("discord", Some("al"), None, None),
        ];
        for (network, account, mask, role) in cases {
            let author = author(network, account, mask);
            assert_eq!(access.role(&author), role, "{author:?}");
        }
        let shown = access.standing(&on_discord).and_then(|standing| standing.identity);
        assert_eq!(shown.as_deref(), Some("discord:112233445566778899 = libera:Alice = oftc:al"));
        assert_eq!(shown.as_deref().and_then(discord_user), Some(ALICE));
        let shown =
            access.standing(&author("oftc", Some("bob"), None)).and_then(|standing| standing.identity);
        assert_eq!(shown.as_deref(), Some("account:bob = discord:222233445566778899"));
        assert_eq!(shown.as_deref().and_then(discord_user), Some(BOB));
        assert_eq!(discord_user("account:discord:1"), None);

        // Roles from Discord are valid elsewhere as long as they are known to be held.
        ties.set([tie("33", "oftc", "carl")].into());
        let carl = author("oftc", Some("carl"), None);
        assert_eq!(access.role(&carl), None);
        ties.set_roles("33", vec!["7".to_owned()]);
        ties.set_roles(ALICE, vec!["7".to_owned()]);
        assert_eq!(access.role(&carl), Some(Role::Operator));
        ties.set_roles("33", Vec::new());
        assert_eq!(access.role(&carl), None);
        ties.set(BTreeSet::new());
        assert_eq!(access.role(&on_discord), None, "what is undone gives nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn roles_that_discord_tells_no_more_end() {
        let ties = Ties::default();
        let access = Access::new(&AccessRules {
            admins: Vec::new(),
            operators: vec![Subject::DiscordRole("7".to_owned())],
            viewers: Vec::new(),
        })
        .with(ties.clone());
        let carl = author("oftc", Some("carl"), None);
        ties.set([tie("33", "oftc", "carl")].into());
        ties.set_roles("33", vec!["7".to_owned()]);
        tokio::time::advance(STALE - Duration::from_secs(1)).await;
        assert_eq!(access.role(&carl), Some(Role::Operator));
        // Discord cannot be asked any more, as with a revoked token.
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(access.role(&carl), None);
        ties.set_roles("33", vec!["7".to_owned()]);
        assert_eq!(access.role(&carl), Some(Role::Operator));
    }
}
