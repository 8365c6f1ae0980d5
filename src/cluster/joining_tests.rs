use serde_json::{Value, json};

use super::super::folder::{self, FOLDER};
use super::*;

const START: i64 = 1_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(START + second).unwrap()
}

fn bot() -> (tempfile::TempDir, Folder) {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join(FOLDER);
    folder::init(&path, &["box1".to_owned()], 4222, at(0)).unwrap();
    let folder = folder::open(&path).unwrap();
    (data, folder)
}

fn invited(folder: &Folder) -> Invitation {
    Invitation::parse(&folder.invite(&box4(), at(0)).unwrap()).unwrap()
}

fn box4() -> RunnerName {
    RunnerName::new("box4").unwrap()
}

fn refusal(answer: &Answer) -> String {
    assert_eq!(answer.admitted, None);
    let answer: Value = serde_json::from_slice(&answer.bytes).unwrap();
    assert!(answer.get("jwt").is_none());
    answer["refused"].as_str().unwrap().to_owned()
}

#[test]
fn an_invited_machine_is_admitted() {
    let (_data, folder) = bot();
    let (invitation, key) = (invited(&folder), new_key().unwrap());
    let request = request(&invitation, &key).unwrap();
    let answer = answer(&folder, request.as_bytes(), at(599), |_| false);
    let expected = Admitted {
        runner: box4(),
        key: key.public_key(),
        invitation: invitation.credentials.key.public_key(),
    };
    assert_eq!(answer.admitted, Some(expected));
    let jwt = admission(&invitation, &key, &answer.bytes).unwrap();
    let later = Timestamp::from_second(i64::from(u32::MAX)).unwrap();
    let user = keys::verify_user(&jwt, &folder.account_key(), later).unwrap();
    assert_eq!((user.name.as_str(), user.key), ("box4", key.public_key()));
}

#[test]
fn an_invitation_that_was_used_or_has_expired_is_refused() {
    let (_data, folder) = bot();
    let (invitation, key) = (invited(&folder), new_key().unwrap());
    let request = request(&invitation, &key).unwrap();
    let used = invitation.credentials.key.public_key();
    let refused = answer(&folder, request.as_bytes(), at(1), |it| it == used);
    assert!(refusal(&refused).starts_with("the invitation was used already"));
    let late = answer(&folder, request.as_bytes(), at(600), |_| false);
    assert_eq!(refusal(&late), "the invitation has expired; run herder runner invite box4 again");
    assert!(matches!(admission(&invitation, &key, &late.bytes), Err(JoinError::Refused(_))));
}

#[test]
fn a_request_that_was_changed_is_refused() {
    let (_data, folder) = bot();
    let (invitation, key, other) = (invited(&folder), new_key().unwrap(), new_key().unwrap());
    let good: Value = serde_json::from_str(&request(&invitation, &key).unwrap()).unwrap();
    let signed = |by: &KeyPair, text: String| keys::sign(by, text.as_bytes()).unwrap();
    let text = proven(&box4(), &other.public_key());
    let (by_other, by_invitation) = (signed(&other, text.clone()), signed(&invitation.proof, text));
    // A server has the user of an invitation sign a text like this one.
    let by_user = signed(&invitation.credentials.key, proven(&box4(), &key.public_key()));
    let bot_key = folder.bot().key.public_key();
    let for_bot = signed(&invitation.proof, proven(&box4(), &bot_key));
    let cases = [
        (json!({ "v": 2 }), "the request has version 2"),
        (json!({ "runner": "b x" }), "\"b x\" cannot name a runner: use 1 to 30 small letters"),
        (json!({ "runner": "join" }), "\"join\" cannot name a runner"),
        (json!({ "runner": "box5" }), "the invitation is not one for a runner called box5"),
        (json!({ "key": other.public_key() }), "the request was not signed by the invitation"),
        (json!({ "proof": by_other }), "the request was not signed by the invitation"),
        (json!({ "proof": by_user }), "the request was not signed by the invitation"),
        (json!({ "key": other.public_key(), "proof": by_invitation }), "the runner's key is none"),
        (json!({ "key": bot_key, "proof": for_bot }), "the runner's key is none"),
        (json!({ "key_proof": "" }), "the runner's key is none"),
        (json!({ "invitation": "x" }), "the invitation is not one of this bot"),
        (json!({ "invitation": folder.bot().jwt }), "the invitation is not one for a runner called box4"),
        (json!({ "key": 1 }), "the request cannot be read"),
    ];
    for (change, expected) in cases {
        let mut changed = good.clone();
        for (name, value) in change.as_object().unwrap() {
            changed[name] = value.clone();
        }
        let refused = refusal(&answer(&folder, changed.to_string().as_bytes(), at(1), |_| false));
        assert!(refused.starts_with(expected), "{change}: {refused}");
    }
    assert!(answer(&folder, good.to_string().as_bytes(), at(1), |_| false).admitted.is_some());
    for bytes in [&b""[..], b"{", b"[]", &[b' '; REQUEST_MAX + 1]] {
        let refused = refusal(&answer(&folder, bytes, at(1), |_| false));
        assert!(refused.starts_with("the request cannot be read"), "{refused}");
    }
}

#[test]
fn the_invitation_of_another_bot_is_refused() {
    let ((_a, folder), (_b, other)) = (bot(), bot());
    let request = request(&invited(&other), &new_key().unwrap()).unwrap();
    let refused = refusal(&answer(&folder, request.as_bytes(), at(1), |_| false));
    assert!(refused.starts_with("the invitation is not one of this bot"), "{refused}");
}

#[test]
fn the_key_of_a_runner_on_the_roster_joins_under_no_other_name() {
    let (_data, folder) = bot();
    let (invitation, key) = (invited(&folder), new_key().unwrap());
    let request = request(&invitation, &key).unwrap();
    let known = key.public_key();
    let refused = refusal(&answer(&folder, request.as_bytes(), at(1), |it| it == known));
    assert!(refused.starts_with("the runner's key is none, or somebody else has it"), "{refused}");
}

#[test]
fn the_invitations_own_key_is_not_a_runners() {
    let (_data, folder) = bot();
    let invitation = invited(&folder);
    let request = request(&invitation, &invitation.credentials.key).unwrap();
    let refused = refusal(&answer(&folder, request.as_bytes(), at(1), |_| false));
    assert!(refused.starts_with("the runner's key is none"), "{refused}");
}

#[test]
fn an_answer_of_somebody_else_is_refused() {
    let ((_a, folder), (_b, other)) = (bot(), bot());
    let (invitation, key) = (invited(&folder), new_key().unwrap());
    let good = answer(&folder, request(&invitation, &key).unwrap().as_bytes(), at(1), |_| false);

    // Another bot's signature below the same JWT, and one that a server has got from the bot's user.
    let refused = |answer: &Value| admission(&invitation, &key, answer.to_string().as_bytes()).unwrap_err();
    for signer in [other.messages(), &folder.bot().key] {
        let mut forged: Value = serde_json::from_slice(&good.bytes).unwrap();
        let jwt = forged["jwt"].as_str().unwrap().to_owned();
        forged["sig"] = keys::sign(signer, jwt.as_bytes()).unwrap().into();
        assert!(matches!(refused(&forged), JoinError::Forged(_)));
    }

    // The bot's answer to another machine.
    let another = invited(&folder);
    let key_of_another = new_key().unwrap();
    let request = request(&another, &key_of_another).unwrap();
    let for_another = answer(&folder, request.as_bytes(), at(1), |_| false);
    assert!(matches!(admission(&invitation, &key, &for_another.bytes), Err(JoinError::Forged(_))));

    assert!(matches!(refused(&json!({ "v": 2, "refused": "x" })), JoinError::Broken(_)));
    assert!(matches!(refused(&json!({ "v": 1 })), JoinError::Broken(_)));
    assert!(admission(&invitation, &key, &good.bytes).is_ok());
}
