//! Tests of roles by the identity that a network confirms.

use proptest::prelude::*;

use super::mask::mask_problem;
use super::*;
use crate::core::id::NetworkName;

pub(super) fn account(network: &str, account: &str) -> Subject {
    Subject::IrcAccount { network: network.into(), account: account.to_owned() }
}

fn mask(network: &str, mask: &str) -> Subject {
    Subject::IrcMask { network: network.into(), mask: mask.to_owned() }
}

pub(super) fn author(network: &str, account: Option<&str>, mask: Option<&str>) -> Author {
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
        // The nick is alice in every row, and proves nothing by itself.
        ("libera", None, None, None),
        ("libera", None, Some("alice!alice@elsewhere.example.net"), None),
        // Somebody else's account, or the right one on the wrong network.
        ("libera", Some("alice2"), None, None),
        ("oftc", Some("alice"), None, None),
        ("libera", Some("carol"), None, None),
        // Texts by which servers mean "not logged in", and texts that no account can be.
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
        // Text chosen by the user (nick, user) that imitates a host.
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
        // The owner of such an account on an IRC network has no role on Discord.
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
    for text in
        ["alice", "alice!*@*", "*!*@*", "*", "*!bob@*", "alice!*@?*", "a!b", "a@b", "!@", "a b!c@d", "!b@c.d"]
    {
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

proptest! {
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
