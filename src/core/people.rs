//! Names and addresses under which git knows the people who give work.

use std::collections::BTreeMap;

use super::id::NetworkName;
use super::work::Actor;

/// People with a name and an address for git, from `[people]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct People(BTreeMap<String, String>);

impl People {
    /// Adds a services account of an IRC network. `author`: `Alice Example <alice@example.org>`.
    pub fn add_irc(&mut self, network: &NetworkName, account: &str, author: String) {
        self.0.insert(irc(network, account), author);
    }

    /// Adds a user of Discord by id, likewise.
    pub fn add_discord(&mut self, id: &str, author: String) {
        self.0.insert(format!("discord:{id}"), author);
    }

    /// Returns the name and address of an author whose identity the network has confirmed.
    #[must_use]
    pub fn author(&self, by: &Actor) -> Option<&str> {
        let identity = by.identity.as_deref()?;
        let key = match identity.split_once(':')? {
            ("discord", _) => identity.to_owned(),
            ("account", account) => irc(&by.network, account),
            _ => return None,
        };
        self.0.get(&key).map(String::as_str)
    }
}

/// Services take accounts without regard to case.
fn irc(network: &NetworkName, account: &str) -> String {
    format!("irc:{network}:{}", account.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_known_by_an_identity_that_their_network_confirms() {
        let mut people = People::default();
        people.add_irc(&"libera".into(), "Alice", "Alice <a@example.org>".to_owned());
        people.add_discord("12", "Bob <b@example.org>".to_owned());
        for (network, identity, author) in [
            ("libera", Some("account:alice"), Some("Alice <a@example.org>")),
            ("libera", Some("account:ALICE"), Some("Alice <a@example.org>")),
            ("oftc", Some("account:alice"), None),
            ("libera", Some("mask:alice!a@host"), None),
            ("libera", None, None),
            ("discord", Some("discord:12"), Some("Bob <b@example.org>")),
            ("discord", Some("discord:13"), None),
            ("discord", Some("account:12"), None),
        ] {
            let identity = identity.map(str::to_owned);
            let by = Actor { network: network.into(), name: "alice".to_owned(), identity };
            assert_eq!(people.author(&by), author, "{by:?}");
        }
    }
}
