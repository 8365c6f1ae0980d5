//! The people who give work, as git names them.

use herder::core::work::Actor;

use super::Folder;

/// A network on which people are known by their accounts.
const LIBERA: &str = "[[irc]]\nname = \"libera\"\nserver = \"irc.libera.chat\"\n";

fn by(network: &str, identity: &str) -> Actor {
    let identity = Some(identity.to_owned());
    Actor { network: network.into(), name: "alice".to_owned(), identity }
}

#[test]
fn people_have_names_and_addresses_for_git() {
    let folder = Folder::new();
    let text = format!(
        "{LIBERA}[people]\n\"irc:libera:alice\" = \"Alice Moss <alice@example.org>\"\n\
         \"discord:123456789012345678\" = \"Bob <bob@example.org>\"\n"
    );
    let config = folder.load(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let author = |network, identity| config.policy.people.author(&by(network, identity));
    assert_eq!(author("libera", "account:alice"), Some("Alice Moss <alice@example.org>"));
    assert_eq!(author("discord", "discord:123456789012345678"), Some("Bob <bob@example.org>"));
    assert_eq!(author("libera", "account:bob"), None);
}

#[test]
fn mistakes_about_people_are_told_with_their_lines() {
    let folder = Folder::new();
    let text = format!(
        "{LIBERA}[people]\n\"alice\" = \"Alice <alice@example.org>\"\n\"irc:libera:bob\" = \"bob@example.org\"\n\
         \"irc:libre:carol\" = \"Carol <carol@example.org>\"\n\"discord-role:123456789012345678\" = \"Ops <ops@example.org>\"\n\
         \"irc:libera:dave\" = {{ file = \"dave\" }}\n\"irc:libera:*!erin@host\" = \"Erin <erin@example.org>\"\n\
         \"irc:libera:Bob\" = \"Bob <bob@example.org>\"\n"
    );
    let problems = folder.load(&text).expect_err("there are mistakes").to_string();
    let problems = problems.replace(&folder.path("bot.toml").display().to_string(), "bot.toml");
    insta::assert_snapshot!(problems, @r#"
    bot.toml:5: people: "alice" names no single person; write irc:<network>:<account> or discord:<user id>
    bot.toml:6: people: "bob@example.org" is no name with an address, by which git knows a person; write e.g. Alice Example <alice@example.org>
    bot.toml:6: people: "irc:libera:bob" is there twice; take one out
    bot.toml:7: people: there is no network "libre"; did you mean "libera"?
    bot.toml:8: people: "discord-role:123456789012345678" names no single person; write irc:<network>:<account> or discord:<user id>
    bot.toml:9: people: "irc:libera:dave" needs a name and an address; write e.g. Alice Example <alice@example.org>
    bot.toml:10: people: "irc:libera:*!erin@host" names no single person; write irc:<network>:<account> or discord:<user id>
    "#);
}
