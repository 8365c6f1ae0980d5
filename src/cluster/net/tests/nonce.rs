//! A server that has clients sign texts of its choice: the nonce of its first line.

use jiff::Timestamp;
use nkeys::KeyPairType;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::super::super::client::{self, Login};
use super::super::super::folder::{self, FOLDER, Folder};
use super::super::super::invitation::Invitation;
use super::super::super::joining;
use super::super::frame::{Rejection, grant_text};
use super::*;
use crate::core::id::RunnerName;

/// Has a client sign a text.
async fn signed_for_a_server(login: Login<'_>, text: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let servers = [format!("nats://{}", listener.local_addr().unwrap())];
    let hostile = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let info = json!({
            "server_id": "x", "version": "2.15.1", "proto": 1, "host": "127.0.0.1", "port": 1, "headers": true,
            "max_payload": 1_048_576, "auth_required": true, "nonce": text,
        });
        stream.write_all(format!("INFO {info}\r\n").as_bytes()).await.unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).await.unwrap();
        let connect: Value = serde_json::from_str(line.strip_prefix("CONNECT ").unwrap()).unwrap();
        connect["sig"].as_str().unwrap().to_owned()
    };
    let login = Login { servers: &servers, patient: false, ..login };
    soon("the client's signature", async {
        tokio::select! {
            signature = hostile => signature,
            ended = client::connect(&login, |_| {}) => panic!("{ended:?}"),
        }
    })
    .await
}

fn public(key: &str) -> KeyPair {
    keys::public_key(key, KeyPairType::User).unwrap()
}

fn bot() -> (tempfile::TempDir, Folder, Invitation) {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join(FOLDER);
    folder::init(&path, &["127.0.0.1".to_owned()], 4222, Timestamp::UNIX_EPOCH).unwrap();
    let folder = folder::open(&path).unwrap();
    let token = folder.invite(&RunnerName::new("box4").unwrap(), Timestamp::UNIX_EPOCH).unwrap();
    (data, folder, Invitation::parse(&token).unwrap())
}

#[tokio::test]
async fn what_a_server_has_the_bot_sign_is_neither_a_frame_nor_a_grant() {
    let (_data, folder, invitation) = bot();
    let (user, pinned) = (public(&folder.bot().key.public_key()), public(&invitation.bot_key));

    let subject = folder.subjects().to("box4", "0123456789abcdef");
    let text = format!("{subject}\n9-1\n1\nrun this");
    let signature = signed_for_a_server(client::bot_login(&folder), &text).await;
    assert!(keys::is_signed(&user, text.as_bytes(), &signature), "the server got what it asked for");
    let frame = Numbered {
        id: ConnectionId { epoch: 9, number: 1 },
        n: 1,
        taken: None,
        payload: Bytes::from_static(b"run this"),
    };
    let message = |signature: &str| {
        let mut headers = frame.headers(&subject, None).unwrap();
        headers.insert(frame::SIGNATURE, signature);
        let payload = frame.payload.clone();
        let subject = subject.as_str().into();
        let (status, description) = (None, None);
        Message { subject, reply: None, payload, headers: Some(headers), status, description, length: 0 }
    };
    assert_eq!(Numbered::read(message(&signature), Some(&pinned)), Err(Rejection::Signature));
    let good = keys::sign(folder.messages(), text.as_bytes()).unwrap();
    assert_eq!(
        Numbered::read(message(&good), Some(&pinned)),
        Ok(frame.clone()),
        "this is how a frame is signed"
    );

    let text = grant_text("_INBOX.box4.x", "0123456789abcdef", br#"{"v":1,"epoch":9}"#);
    let asked = String::from_utf8(text.clone()).unwrap();
    let signature = signed_for_a_server(client::bot_login(&folder), &asked).await;
    assert!(keys::is_signed(&user, &text, &signature) && !keys::is_signed(&pinned, &text, &signature));
}

#[tokio::test]
async fn what_a_server_has_an_invitation_sign_admits_nobody() {
    let (_data, folder, invitation) = bot();
    let theirs = joining::new_key().unwrap();
    let text = format!("box4\n{}", theirs.public_key());
    let request = |proof: String| {
        let key_proof = keys::sign(&theirs, text.as_bytes()).unwrap();
        let (key, jwt) = (theirs.public_key(), &invitation.credentials.jwt);
        let request = json!({
            "v": 1, "runner": "box4", "key": key, "invitation": jwt, "proof": proof, "key_proof": key_proof,
        });
        joining::answer(&folder, request.to_string().as_bytes(), Timestamp::UNIX_EPOCH, |_| false).admitted
    };
    let signature = signed_for_a_server(joining::login(&invitation), &text).await;
    let user = public(&invitation.credentials.key.public_key());
    assert!(keys::is_signed(&user, text.as_bytes(), &signature), "the server got what it asked for");
    assert_eq!(request(signature), None);
    assert!(request(keys::sign(&invitation.proof, text.as_bytes()).unwrap()).is_some());
}
