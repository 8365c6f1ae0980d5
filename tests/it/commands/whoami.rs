//! `whoami`: the subjects that a person is told are those that `[access]` accepts.

use herder::access::Access;
use herder::config::{AccessRules, Subject};
use herder::core::id::NetworkName;
use herder::core::role::Role;
use herder::core::speech::Author;

use super::rig::{Rig, inbound};

async fn asks(rig: &Rig, nick: &str, account: Option<&str>) -> String {
    let answer = rig.dispatcher.handle(inbound(nick, account, "#herder", "!whoami")).await;
    answer.expect("an answer").join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_is_told_who_they_are_also_who_has_no_role() {
    let rig = Rig::open().await;
    let answers = [
        asks(&rig, "alice", Some("alice")).await,
        asks(&rig, "vera", Some("vera")).await,
        asks(&rig, "mallory", Some("mallory")).await,
        asks(&rig, "guest", None).await,
    ];
    insta::assert_snapshot!(answers.join("\n\n"), @r#"
    You are alice on net. Your role: admin.
    Your name for `[access]` in bot.toml: `"irc:net:alice"`

    You are vera on net. Your role: viewer.
    Your name for `[access]` in bot.toml: `"irc:net:vera"`

    You are mallory on net. You have no role.
    Your name for `[access]` in bot.toml: `"irc:net:mallory"`

    You are guest on net. You have no role.
    Your name for `[access]` in bot.toml: `"irc-mask:net:*!guest@guest.example.org"`
    "#);
}

#[test]
fn the_name_that_is_told_is_one_that_access_takes_for_them() {
    let on = |network: &str| Author {
        network: NetworkName::from(network),
        ..inbound("bob", None, "#x", "").author
    };
    let people = [
        Author { account: Some("77".to_owned()), mask: None, ..on("discord") },
        Author { account: Some("bob".to_owned()), ..on("net") },
        // Servers write these for a person who is not logged in.
        Author { account: Some("*".to_owned()), ..on("net") },
        on("net"),
    ];
    for author in people {
        let name = Access::name_of(&author).expect("a name");
        let (kind, rest) = name.split_once(':').expect("a kind");
        let subject = match (kind, rest.split_once(':')) {
            ("discord", None) => Subject::DiscordUser(rest.to_owned()),
            ("irc", Some((network, account))) => {
                Subject::IrcAccount { network: network.into(), account: account.to_owned() }
            }
            ("irc-mask", Some((network, mask))) => {
                Subject::IrcMask { network: network.into(), mask: mask.to_owned() }
            }
            _ => panic!("{name} is no name for [access]"),
        };
        let rules = AccessRules { admins: vec![subject], ..AccessRules::default() };
        assert_eq!(Access::new(&rules).role(&author), Some(Role::Admin), "{name}");
    }
    let nobody = Author { mask: None, ..on("net") };
    assert_eq!(Access::name_of(&nobody), None);
}
