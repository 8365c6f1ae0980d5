//! `[people]`: names and addresses for git of the people who give work.

use std::collections::BTreeSet;

use super::IrcNetwork;
use super::access::no_network;
use super::discord::is_id;
use super::section::{At, Section, TextOrFile};
use crate::core::people::People;

/// Text for error messages: the form of a name and address.
const FORM: &str = "write e.g. Alice Example <alice@example.org>";

/// Text for error messages: the forms in which people are named.
const NAMES: &str = "write irc:<network>:<account> or discord:<user id>";

/// Parses `[people]`, and checks the networks in it against those of the file.
pub(super) fn people(top: &Section<'_>, irc: &[IrcNetwork]) -> People {
    let (mut people, mut known) = (People::default(), BTreeSet::new());
    for (name, At { value, line }) in top.texts_by_name("people").unwrap_or_default() {
        let refuse = |why: String| top.problem_at(line, "people", why);
        let TextOrFile::Text(author) = value else {
            refuse(format!("\"{name}\" needs a name and an address; {FORM}"));
            continue;
        };
        if !is_author(&author) {
            refuse(format!("\"{author}\" is no name with an address, by which git knows a person; {FORM}"));
        }
        // Services take accounts without regard to case.
        if !known.insert(name.to_ascii_lowercase()) {
            refuse(format!("\"{name}\" is there twice; take one out"));
        }
        match name.split(':').collect::<Vec<_>>()[..] {
            ["discord", id] if is_id(id) => people.add_discord(id, author),
            ["irc", network, account] if is_account(account) => {
                if let Some(why) = no_network(network, irc) {
                    refuse(why);
                }
                people.add_irc(&network.into(), account, author);
            }
            _ => refuse(format!("\"{name}\" names no single person; {NAMES}")),
        }
    }
    people
}

/// Returns true if a text can be a services account.
fn is_account(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "*?!@".contains(c))
}

/// Returns true if a text is a name with an address, as in a commit's trailer.
fn is_author(text: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '<' | '>');
    let Some((name, rest)) = text.split_once(" <") else { return false };
    let Some(address) = rest.strip_suffix('>') else { return false };
    let parts = address.split_once('@');
    !name.trim().is_empty()
        && !name.contains(odd)
        && !address.contains(|c: char| odd(c) || c.is_whitespace())
        && parts.is_some_and(|(local, host)| !local.is_empty() && !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::is_author;

    #[test]
    fn a_person_has_a_name_and_an_address() {
        for text in ["Alice <a@example.org>", "Zoë van der Moss <z.m+git@example.org>"] {
            assert!(is_author(text), "{text}");
        }
        for text in [
            "",
            "Alice",
            "a@example.org",
            "<a@example.org>",
            " <a@example.org>",
            "Alice <a>",
            "Alice <@example.org>",
            "Alice <a@example.org> x",
            "Alice <a@example.org",
            "A <b <a@example.org>",
            "Alice <a@exam ple.org>",
            "Alice\n <a@example.org>",
        ] {
            assert!(!is_author(text), "{text}");
        }
    }
}
