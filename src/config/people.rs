//! `[people]`: names and addresses for git of the people who give work.

use super::access::subject;
use super::section::{At, Section, TextOrFile};
use super::{IrcNetwork, Subject};
use crate::core::people::People;

/// Text for error messages: the form of a name and address.
const FORM: &str = "write e.g. Alice Example <alice@example.org>";

/// Parses `[people]`, and checks the networks in it against those of the file.
pub(super) fn people(top: &Section<'_>, networks: (bool, &[IrcNetwork])) -> People {
    let mut people = People::default();
    for (name, At { value, line }) in top.texts_by_name("people").unwrap_or_default() {
        let TextOrFile::Text(author) = value else {
            top.problem_at(line, "people", format!("\"{name}\" needs a name and an address; {FORM}"));
            continue;
        };
        if !is_author(&author) {
            let why = format!("\"{author}\" is no name with an address, by which git knows a person; {FORM}");
            top.problem_at(line, "people", why);
        }
        if !["irc:", "discord:"].iter().any(|kind| name.starts_with(kind)) {
            let why =
                format!("\"{name}\" is no single person; write irc:<network>:<account> or discord:<user id>");
            top.problem_at(line, "people", why);
            continue;
        }
        match subject(top, "people", &At { value: name, line }, networks) {
            Some(Subject::IrcAccount { network, account }) => people.add_irc(&network, &account, author),
            Some(Subject::DiscordUser(id)) => people.add_discord(&id, author),
            // The problem is recorded.
            _ => {}
        }
    }
    people
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
