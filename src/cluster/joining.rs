//! Admission of a runner: the request of a machine with an invitation, and the bot's answer.
//!
//! ```text
//!  new machine: key made here ── request: name, public key, invitation, two proofs ──► bot
//!                             ◄─ answer: JWT of the runner, signed by its key ──
//! ```
//!
//! The bot writes its roster before it sends the answer. No proof and no answer is signed by a key with which somebody
//! connects, but for the runner's own: servers have those sign texts of their choice.

use std::fmt;
use std::time::Duration;

use async_nats::{Request, RequestErrorKind};
use jiff::Timestamp;
use nkeys::{KeyPair, KeyPairType};
use serde::{Deserialize, Serialize};

use super::client::{self, LinkError, Login};
use super::folder::Folder;
use super::invitation::{Invitation, prover, tag};
use super::keys::{self, Credentials, JwtError, KeyError, NewUser};
use super::permits::{self, Subjects};
use crate::core::id::{RunnerName, RunnerNameError};

/// Version of request and answer.
const VERSION: u64 = 1;

/// Time for the bot to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum length of a request, in bytes.
const REQUEST_MAX: usize = 16 * 1024;

/// The reason why a machine has not joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no connection with the invitation.
    #[error("{0}")]
    Link(#[from] LinkError),
    /// The invitation has expired, or was made by another bot.
    #[error(
        "the server refuses the invitation: it is valid for ten minutes; run herder runner invite {0} again on the bot's machine"
    )]
    Expired(RunnerName),
    /// The key has no seed.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The server runs, and the bot is not connected to it.
    #[error(
        "the server can be reached, but the bot is not connected to it: start herder on the bot's machine and try again"
    )]
    NoBot,
    /// The bot has not answered in time.
    #[error("the bot has not answered within {} seconds; see its log and try again with a new invitation", PATIENCE.as_secs())]
    Silent,
    /// The request was not sent.
    #[error("the bot cannot be asked: {0}")]
    Request(String),
    /// The bot refuses.
    #[error("the bot refuses: {0}")]
    Refused(String),
    /// The answer is not the bot's.
    #[error("the answer is not the bot's ({0}); somebody else answers on its server, so do not trust it")]
    Forged(&'static str),
    /// The answer cannot be read.
    #[error("the bot's answer cannot be read ({0}); install the bot's version of herder here")]
    Broken(String),
}

/// The admission of this machine. It contains a secret; its `Debug` shows none.
#[derive(Debug)]
pub struct Joined {
    pub(super) invitation: Invitation,
    pub(super) credentials: Credentials,
}

/// The bot's answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Bytes to send, once the roster has what was admitted.
    pub bytes: Vec<u8>,
    /// The runner that was admitted.
    pub admitted: Option<Admitted>,
}

/// A runner that was admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Name of the runner.
    pub runner: RunnerName,
    /// Public key of the runner.
    pub key: String,
    /// Public key of the invitation, which is used from now on.
    pub invitation: String,
}

/// The reason why the bot does not admit a machine.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the request cannot be read ({0})")]
    Request(String),
    #[error(
        "the request has version {0}, and the bot reads version {VERSION}: install its version of herder"
    )]
    Version(u64),
    #[error("{0}")]
    Name(#[from] RunnerNameError),
    #[error("the invitation has expired; run herder runner invite {0} again")]
    Expired(RunnerName),
    #[error("the invitation is not one of this bot: {0}")]
    Invitation(JwtError),
    #[error("the invitation is not one for a runner called {0}")]
    OtherName(RunnerName),
    #[error("the runner's key is none, or somebody else has it")]
    Key,
    #[error("the request was not signed by the invitation")]
    Proof,
    #[error(
        "the invitation was used already; run herder runner invite {0} again, and remove the runner if you do not know who used it"
    )]
    Used(RunnerName),
    #[error("the bot cannot sign: {0}")]
    Sign(#[from] KeyError),
}

#[derive(Serialize, Deserialize)]
struct JoinRequest {
    v: u64,
    runner: String,
    key: String,
    invitation: String,
    /// Signature by the invitation's key of proofs.
    proof: String,
    /// Signature by the runner's own key. It only keeps mistakes out, since a server can have a runner sign such a text;
    /// the bot itself knows the keys of its runners.
    key_proof: String,
}

#[derive(Deserialize)]
struct Versioned {
    v: u64,
}

#[derive(Serialize, Deserialize)]
struct JoinAnswer {
    v: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sig: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Makes the key of a new runner.
///
/// # Errors
/// The system gives no random bytes.
pub fn new_key() -> Result<KeyPair, KeyError> {
    keys::draw(KeyPairType::User)
}

/// Asks the bot to admit this machine. `key` was made here; its seed stays here.
///
/// # Errors
/// The server or the bot cannot be reached or refuses, or the answer is not the bot's.
pub async fn join(invitation: &Invitation, key: KeyPair) -> Result<Joined, JoinError> {
    let link = client::connect(&login(invitation), |_| {}).await.map_err(|error| match error {
        LinkError::Refused { .. } => JoinError::Expired(invitation.runner.clone()),
        other => JoinError::Link(other),
    })?;
    let request = Request::new().payload(request(invitation, &key)?.into()).timeout(Some(PATIENCE));
    let answer = link.send_request(Subjects::new(&invitation.bot).join(), request).await;
    let answer = answer.map_err(|error| match error.kind() {
        RequestErrorKind::NoResponders => JoinError::NoBot,
        RequestErrorKind::TimedOut => JoinError::Silent,
        _ => JoinError::Request(error.to_string()),
    })?;
    let jwt = admission(invitation, &key, &answer.payload)?;
    Ok(Joined { invitation: invitation.clone(), credentials: Credentials { jwt, key } })
}

pub(super) fn login(invitation: &Invitation) -> Login<'_> {
    Login {
        name: "invitation".to_owned(),
        servers: &invitation.servers,
        ca: &invitation.ca,
        credentials: &invitation.credentials,
        inbox: permits::join_inbox(),
        patient: false,
    }
}

/// Decides about a request to join. `is_used` returns true for the public key of an invitation that was used, and for that
/// of a runner on the roster.
#[must_use]
pub fn answer(folder: &Folder, request: &[u8], now: Timestamp, is_used: impl Fn(&str) -> bool) -> Answer {
    let decided = admit(folder, request, now, is_used).and_then(|(admitted, jwt)| {
        let sig = keys::sign(folder.messages(), jwt.as_bytes())?;
        Ok((admitted, JoinAnswer { v: VERSION, jwt: Some(jwt), sig: Some(sig), refused: None }))
    });
    let (admitted, answer) = match decided {
        Ok((admitted, answer)) => (Some(admitted), answer),
        Err(why) => (None, JoinAnswer { v: VERSION, jwt: None, sig: None, refused: Some(why.to_string()) }),
    };
    Answer { bytes: serde_json::json!(answer).to_string().into_bytes(), admitted }
}

fn admit(
    folder: &Folder,
    request: &[u8],
    now: Timestamp,
    is_used: impl Fn(&str) -> bool,
) -> Result<(Admitted, String), Refusal> {
    if request.len() > REQUEST_MAX {
        return Err(Refusal::Request(format!("it is longer than {REQUEST_MAX} bytes")));
    }
    let unreadable = |why: serde_json::Error| Refusal::Request(why.to_string());
    let Versioned { v } = serde_json::from_slice(request).map_err(unreadable)?;
    if v != VERSION {
        return Err(Refusal::Version(v));
    }
    let JoinRequest { runner, key, invitation, proof, key_proof, .. } =
        serde_json::from_slice(request).map_err(unreadable)?;
    let runner = RunnerName::new(&runner)?;
    let invited = keys::verify_user(&invitation, &folder.account_key(), now).map_err(|why| match why {
        JwtError::Expired => Refusal::Expired(runner.clone()),
        other => Refusal::Invitation(other),
    })?;
    // The tag keeps the JWT of a runner from being an invitation.
    if !invited.tags.contains(&tag(&runner)) {
        return Err(Refusal::OtherName(runner));
    }
    let text = proven(&runner, &key);
    if !prover(&invited.tags).is_some_and(|prover| keys::is_signed(&prover, text.as_bytes(), &proof)) {
        return Err(Refusal::Proof);
    }
    let own = keys::public_key(&key, KeyPairType::User);
    let is_own = own.is_some_and(|own| keys::is_signed(&own, text.as_bytes(), &key_proof));
    let others = [&invited.key, &folder.bot().key.public_key(), &folder.messages().public_key()];
    if !is_own || others.contains(&&key) || is_used(&key) {
        return Err(Refusal::Key);
    }
    if is_used(&invited.key) {
        return Err(Refusal::Used(runner));
    }
    let user = NewUser {
        name: runner.as_str(),
        key: &key,
        permits: &folder.subjects().of_runner(runner.as_str()),
        expires: None,
        tags: &[format!("runner:{runner}")],
    };
    let jwt = keys::user_jwt(folder.account(), &user, now)?;
    Ok((Admitted { runner, key, invitation: invited.key }, jwt))
}

fn request(invitation: &Invitation, key: &KeyPair) -> Result<String, KeyError> {
    let text = proven(&invitation.runner, &key.public_key());
    let request = JoinRequest {
        v: VERSION,
        runner: invitation.runner.to_string(),
        key: key.public_key(),
        invitation: invitation.credentials.jwt.clone(),
        proof: keys::sign(&invitation.proof, text.as_bytes())?,
        key_proof: keys::sign(key, text.as_bytes())?,
    };
    Ok(serde_json::json!(request).to_string())
}

/// Returns the text that both proofs of a request sign.
fn proven(runner: &RunnerName, key: &str) -> String {
    format!("{runner}\n{key}")
}

/// Verifies the bot's answer, and returns the JWT in it.
fn admission(invitation: &Invitation, key: &KeyPair, answer: &[u8]) -> Result<String, JoinError> {
    let broken = |why: &dyn fmt::Display| JoinError::Broken(why.to_string());
    let answer: JoinAnswer = serde_json::from_slice(answer).map_err(|why| broken(&why))?;
    if answer.v != VERSION {
        return Err(broken(&format_args!("it has version {}", answer.v)));
    }
    let (jwt, sig) = match answer {
        JoinAnswer { refused: Some(why), .. } => return Err(JoinError::Refused(why)),
        JoinAnswer { jwt: Some(jwt), sig: Some(sig), .. } => (jwt, sig),
        JoinAnswer { .. } => return Err(broken(&"it is neither yes nor no")),
    };
    let bot = keys::public_key(&invitation.bot_key, KeyPairType::User);
    if !bot.is_some_and(|bot| keys::is_signed(&bot, jwt.as_bytes(), &sig)) {
        return Err(JoinError::Forged("its signature does not fit"));
    }
    let user = keys::read_user(&jwt).map_err(|why| broken(&why))?;
    if user.key != key.public_key() || user.name != invitation.runner.as_str() {
        return Err(JoinError::Forged("it is for another runner"));
    }
    Ok(jwt)
}

#[cfg(test)]
#[path = "joining_tests.rs"]
mod tests;
