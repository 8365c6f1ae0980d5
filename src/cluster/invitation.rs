//! The invitation of a runner: one line of text with everything that a new machine needs to ask the bot for admission.
//!
//! It is valid for ten minutes, which the server checks, and once, which the bot checks.
//!
//! There are two seeds in it. The one of its user signs every text that a server sends when the machine connects, so that
//! another one proves the request to join; the JWT names its public key, and the bot keeps nothing about invitations.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use nkeys::{KeyPair, KeyPairType};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client;
use super::folder::{Folder, seed};
use super::keys::{self, Credentials, KeyError, NewUser};
use crate::core::id::RunnerName;

/// Version of the token.
const VERSION: u64 = 1;

/// Beginning of the token.
const PREFIX: &str = "hrj_";

/// Beginning of the tag that names the key of proofs.
const PROOF: &str = "proof:";

/// Validity of an invitation.
pub const VALID_FOR: Duration = Duration::from_secs(10 * 60);

/// The reason why nobody can be invited.
#[derive(Debug, thiserror::Error)]
pub enum InviteError {
    /// No key can be made.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The time of expiry is out of range.
    #[error("the clock of this machine is out of range; set it right and invite again")]
    Clock,
}

/// The reason why a text is not accepted as an invitation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is something else.
    #[error(
        "this is not an invitation: one begins with \"{PREFIX}\". Copy the whole line that herder runner invite has printed"
    )]
    Other,
    /// The text is incomplete.
    #[error(
        "the invitation was cut off while copying; copy the whole line that herder runner invite has printed"
    )]
    CutOff,
    /// The text was changed.
    #[error(
        "the invitation was damaged while copying ({0}); copy the whole line that herder runner invite has printed"
    )]
    Broken(String),
    /// Another version of herder made the invitation.
    #[error(
        "the invitation has version {0}, and this herder reads version {VERSION}: install the bot's version of herder here"
    )]
    Version(u64),
}

/// An invitation of a runner. It contains a secret; its `Debug` shows none.
#[derive(Clone)]
pub struct Invitation {
    /// Name of the bot.
    pub bot: String,
    /// Addresses of the servers, the first one is tried first.
    pub servers: Vec<String>,
    /// Certificate of the bot's CA as PEM.
    pub ca: String,
    /// Public key of the bot's messages, which the machine pins.
    pub bot_key: String,
    /// Name of the runner.
    pub runner: RunnerName,
    /// JWT and key of the invitation's own user.
    pub credentials: Credentials,
    /// The key that proves a request to join.
    pub proof: KeyPair,
}

#[derive(Serialize, Deserialize)]
struct Token {
    v: u64,
    bot: String,
    servers: Vec<String>,
    ca: String,
    bot_key: String,
    runner: RunnerName,
    jwt: String,
    seed: String,
    proof: String,
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bot, runner) = (&self.bot, &self.runner);
        f.debug_struct("Invitation").field("bot", bot).field("runner", runner).finish_non_exhaustive()
    }
}

impl Folder {
    /// Invites a runner, and returns the token.
    ///
    /// # Errors
    /// The system gives no random bytes, or the clock is out of range.
    pub fn invite(&self, runner: &RunnerName, now: Timestamp) -> Result<String, InviteError> {
        let (key, proof) = (keys::draw(KeyPairType::User)?, keys::draw(KeyPairType::User)?);
        let expires = now.checked_add(VALID_FOR).map_err(|_| InviteError::Clock)?;
        let user = NewUser {
            name: &format!("invitation of {runner}"),
            key: &key.public_key(),
            permits: &self.subjects().of_invitation(),
            expires: Some(expires),
            tags: &[tag(runner), format!("{PROOF}{}", proof.public_key())],
        };
        let token = Token {
            v: VERSION,
            bot: self.name().to_owned(),
            servers: self.servers().to_vec(),
            ca: self.ca().to_owned(),
            bot_key: self.messages().public_key(),
            runner: runner.clone(),
            jwt: keys::user_jwt(self.account(), &user, now)?,
            seed: seed(&key)?,
            proof: seed(&proof)?,
        };
        Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(serde_json::json!(token).to_string())))
    }
}

impl Invitation {
    /// Parses a token. White space in it, as from a terminal's line breaks, is ignored.
    ///
    /// # Errors
    /// It is something else, cut off, damaged, or of another version.
    pub fn parse(token: &str) -> Result<Self, TokenError> {
        let token: String = token.split_whitespace().collect();
        let data = token.strip_prefix(PREFIX).ok_or(TokenError::Other)?;
        let json = decoded(data)?;
        let json: Value = serde_json::from_slice(&json).map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => TokenError::CutOff,
            _ => TokenError::Broken("it is not JSON".to_owned()),
        })?;
        match json["v"].as_u64() {
            Some(VERSION) => {}
            Some(other) => return Err(TokenError::Version(other)),
            None => return Err(TokenError::Broken("it has no version".to_owned())),
        }
        let broken = |why: &dyn fmt::Display| TokenError::Broken(why.to_string());
        let token: Token = serde_json::from_value(json).map_err(|why| broken(&why))?;
        client::addresses(&token.servers).map_err(|why| broken(&why))?;
        client::roots(&token.ca).map_err(|why| broken(&why))?;
        if !keys::is_user_key(&token.bot_key) {
            return Err(broken(&"the bot's key is none"));
        }
        let credentials =
            keys::parse_creds(&keys::creds_text(&token.jwt, &token.seed)).map_err(|why| broken(&why))?;
        let Some(proof) = keys::from_seed(&token.proof, KeyPairType::User) else {
            return Err(broken(&"its second seed is none"));
        };
        Ok(Self {
            bot: token.bot,
            servers: token.servers,
            ca: token.ca,
            bot_key: token.bot_key,
            runner: token.runner,
            credentials,
            proof,
        })
    }
}

/// Returns the tag of an invitation's user.
pub(super) fn tag(runner: &RunnerName) -> String {
    format!("invitation:{runner}")
}

/// Returns the public key that proves requests with an invitation of these tags.
pub(super) fn prover(tags: &[String]) -> Option<KeyPair> {
    let key = tags.iter().find_map(|tag| tag.strip_prefix(PROOF))?;
    keys::public_key(key, KeyPairType::User)
}

/// Decodes base64. If only its end is incomplete, the text was cut off.
fn decoded(data: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(data).map_err(|_| {
        let whole = data.len() / 4 * 4;
        match data.get(..whole).map(|data| URL_SAFE_NO_PAD.decode(data)) {
            Some(Ok(_)) => TokenError::CutOff,
            _ => TokenError::Broken("it has characters that do not belong there".to_owned()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::folder::{self, FOLDER};
    use super::*;

    fn token() -> String {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(FOLDER);
        folder::init(&path, &["box1".to_owned()], 4222, Timestamp::UNIX_EPOCH).unwrap();
        folder::open(&path).unwrap().invite(&RunnerName::new("box4").unwrap(), Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn a_token_is_read_back() {
        let token = token();
        // A terminal takes lines up to 4095 characters.
        assert!(token.len() < 3500, "{}", token.len());
        let read = Invitation::parse(&token).unwrap();
        assert_eq!((read.runner.as_str(), read.servers.len(), read.bot.len()), ("box4", 1, 8));
        let wrapped = format!("  {}\n{}\r\n", &token[..100], &token[100..]);
        assert!(Invitation::parse(&wrapped).is_ok());
        for seed in [read.credentials.key.seed(), read.proof.seed()] {
            assert!(!format!("{read:?}").contains(&seed.unwrap()));
        }
    }

    #[test]
    fn a_token_that_was_cut_off_anywhere_says_so() {
        let token = token();
        for end in PREFIX.len()..token.len() {
            assert_eq!(Invitation::parse(&token[..end]).unwrap_err(), TokenError::CutOff, "{end}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        assert_eq!(Invitation::parse("hcj_abc").unwrap_err(), TokenError::Other);
        assert_eq!(Invitation::parse("").unwrap_err(), TokenError::Other);
        assert!(matches!(Invitation::parse("hrj_a!bc").unwrap_err(), TokenError::Broken(_)));
        let later = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(r#"{"v":2,"x":[]}"#));
        assert_eq!(Invitation::parse(&later).unwrap_err(), TokenError::Version(2));
    }

    #[test]
    fn each_field_is_checked() {
        let token = token();
        let json = URL_SAFE_NO_PAD.decode(&token[PREFIX.len()..]).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let fields = ["bot_key", "ca", "jwt", "seed", "proof", "runner"]
            .map(|name| (name, Value::from("x.y")))
            .into_iter();
        for (name, value) in fields.chain([("servers", serde_json::json!(["nats://box1:4222"]))]) {
            let mut changed = json.clone();
            changed[name] = value;
            let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(changed.to_string()));
            assert!(matches!(Invitation::parse(&token), Err(TokenError::Broken(_))), "{name}");
        }
    }

    #[test]
    fn the_jwt_names_the_key_of_proofs() {
        let read = Invitation::parse(&token()).unwrap();
        let user = keys::read_user(&read.credentials.jwt).unwrap();
        assert_eq!(prover(&user.tags).unwrap().public_key(), read.proof.public_key());
        assert_ne!(read.proof.public_key(), user.key);
        assert!(prover(&["proof:x".to_owned()]).is_none());
    }
}
