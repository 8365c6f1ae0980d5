//! Keys and JWTs of NATS (version 2, `ed25519-nkey`), and the text of `.creds` files. No function reads a clock or a file.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::BASE32_NOPAD;
use jiff::Timestamp;
use nkeys::{KeyPair, KeyPairType};
use ring::digest::{SHA512_256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::permits::Permits;

/// Version of the claims.
const VERSION: u64 = 2;

/// Header of each JWT.
const HEADER: &str = r#"{"typ":"JWT","alg":"ed25519-nkey"}"#;

/// Lines around the JWT and the seed of a `.creds` file.
const JWT_BEGIN: &str = "-----BEGIN NATS USER JWT-----";
const JWT_END: &str = "------END NATS USER JWT------";
const SEED_BEGIN: &str = "-----BEGIN USER NKEY SEED-----";
const SEED_END: &str = "------END USER NKEY SEED------";

/// The reason why a key cannot be made, or a JWT cannot be signed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The system gives no random bytes.
    #[error("no key can be made, because the system gives no random bytes: {0}")]
    NoRandom(getrandom::Error),
    /// The key cannot sign.
    #[error("a key cannot sign: {0}")]
    Unfit(nkeys::error::Error),
}

/// The reason why a JWT is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    /// The text is not a JWT of NATS.
    #[error("the JWT is broken: it is not three parts of base64 with claims of NATS, version 2")]
    Broken,
    /// The JWT was signed by another key.
    #[error("the JWT is not of this bot: another key has signed it")]
    Stranger,
    /// The signature does not fit the text.
    #[error("the JWT was changed: its signature does not fit")]
    Forged,
    /// The JWT is of an operator or an account.
    #[error("the JWT is not one of a user")]
    NoUser,
    /// The JWT has expired.
    #[error("the JWT has expired")]
    Expired,
}

/// The reason why the text of a `.creds` file is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredsError {
    /// The part with the JWT is missing.
    #[error("there is no JWT between \"{JWT_BEGIN}\" and \"{JWT_END}\"")]
    NoJwt,
    /// The part with the seed is missing.
    #[error("there is no seed between \"{SEED_BEGIN}\" and \"{SEED_END}\"")]
    NoSeed,
    /// The seed cannot be read.
    #[error("the seed in it is not one of a user")]
    Seed,
    /// The JWT cannot be read.
    #[error("{0}")]
    Jwt(#[from] JwtError),
    /// JWT and seed are of different users.
    #[error("the JWT in it is of another user than the seed")]
    Unfit,
}

/// A user's JWT with its key.
#[derive(Clone)]
pub struct Credentials {
    /// The JWT.
    pub jwt: String,
    /// The key with its seed.
    pub key: KeyPair,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("key", &self.key.public_key()).finish_non_exhaustive()
    }
}

/// The properties of a user that an account vouches for.
#[derive(Debug)]
pub struct NewUser<'a> {
    /// Name for people.
    pub name: &'a str,
    /// Public key.
    pub key: &'a str,
    /// Subjects that it may publish and subscribe to.
    pub permits: &'a Permits,
    /// End of validity. `None` is never.
    pub expires: Option<Timestamp>,
    /// Texts that herder finds a user's role by. The servers ignore them.
    pub tags: &'a [String],
}

/// A user whose JWT was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedUser {
    /// Name for people.
    pub name: String,
    /// Public key.
    pub key: String,
    /// Texts that herder finds a user's role by.
    pub tags: Vec<String>,
}

/// An account's properties that change: the users whose JWTs are not accepted any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountState {
    /// Time of signature, in seconds since 1970.
    pub issued: i64,
    /// Public keys of users. JWTs that were signed up to the time, in seconds since 1970, are not accepted.
    pub revocations: BTreeMap<String, i64>,
}

/// The place where an account's streams may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Nowhere: the account has no JetStream. A system account must have none.
    None,
    /// On disk.
    Disk,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    jti: String,
    iat: i64,
    iss: String,
    name: String,
    sub: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<i64>,
    nats: Map<String, Value>,
}

/// Makes a key of a kind.
///
/// # Errors
/// The system gives no random bytes.
pub fn draw(kind: KeyPairType) -> Result<KeyPair, KeyError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(KeyError::NoRandom)?;
    KeyPair::new_from_raw(kind, bytes).map_err(KeyError::Unfit)
}

/// Returns true for the public key of a user.
#[must_use]
pub fn is_user_key(key: &str) -> bool {
    public_key(key, KeyPairType::User).is_some()
}

/// Returns a signature as base64.
///
/// # Errors
/// The key has no seed.
pub fn sign(key: &KeyPair, text: &[u8]) -> Result<String, KeyError> {
    key.sign(text).map(|signature| URL_SAFE_NO_PAD.encode(signature)).map_err(KeyError::Unfit)
}

/// Returns true if a signature in base64 over a text was made by this key.
#[must_use]
pub fn is_signed(key: &KeyPair, text: &[u8], signature: &str) -> bool {
    URL_SAFE_NO_PAD.decode(signature).is_ok_and(|signature| key.verify(text, &signature).is_ok())
}

/// Makes the JWT of an operator, signed by itself.
///
/// # Errors
/// The key has no seed.
pub fn operator_jwt(
    operator: &KeyPair,
    name: &str,
    system: &str,
    now: Timestamp,
) -> Result<String, KeyError> {
    let nats = object(json!({ "system_account": system, "type": "operator", "version": VERSION }));
    jwt(operator, name, &operator.public_key(), now.as_second(), None, nats)
}

/// Makes the JWT of an account without limits, which has JetStream if it may store anything.
///
/// # Errors
/// The operator's key has no seed.
pub fn account_jwt(
    operator: &KeyPair,
    account: &str,
    name: &str,
    state: &AccountState,
    store: Store,
) -> Result<String, KeyError> {
    let mut limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
    });
    if store == Store::Disk {
        // A limit that is missing is 0, and 0 of memory and disk is no JetStream.
        limits["mem_storage"] = json!(0);
        for limit in ["disk_storage", "streams", "consumer", "max_ack_pending"] {
            limits[limit] = json!(-1);
        }
    }
    let mut nats = object(json!({
        "limits": limits,
        "default_permissions": { "pub": {}, "sub": {} },
        "authorization": {},
        "type": "account",
        "version": VERSION,
    }));
    if !state.revocations.is_empty() {
        nats.insert("revocations".to_owned(), json!(state.revocations));
    }
    jwt(operator, name, account, state.issued, None, nats)
}

/// Makes the JWT of a user.
///
/// # Errors
/// The account's key has no seed.
pub fn user_jwt(account: &KeyPair, user: &NewUser<'_>, now: Timestamp) -> Result<String, KeyError> {
    let nats = object(json!({
        "pub": { "allow": user.permits.publish },
        "sub": { "allow": user.permits.subscribe },
        "subs": user.permits.subscriptions.map_or(-1, i64::from),
        "data": -1,
        "payload": user.permits.payload.map_or(-1, i64::from),
        // Neither a leaf node nor a browser.
        "allowed_connection_types": ["STANDARD"],
        "tags": user.tags,
        "type": "user",
        "version": VERSION,
    }));
    jwt(account, user.name, user.key, now.as_second(), user.expires.map(Timestamp::as_second), nats)
}

/// Verifies the JWT of a user: signature by the account with this public key, type, and expiry.
///
/// # Errors
/// It is broken, changed, expired, not one of a user, or another key has signed it.
pub fn verify_user(jwt: &str, account: &str, now: Timestamp) -> Result<VerifiedUser, JwtError> {
    let claims = verified(jwt, account, KeyPairType::Account)?;
    let user = user_of(&claims)?;
    if claims.exp.is_some_and(|exp| exp <= now.as_second()) {
        return Err(JwtError::Expired);
    }
    Ok(user)
}

/// Returns the user of a JWT without verifying it.
///
/// # Errors
/// It is broken, or not one of a user.
pub fn read_user(jwt: &str) -> Result<VerifiedUser, JwtError> {
    user_of(&parse(jwt)?.0)
}

/// Verifies the JWT of an account: signature by the operator with this public key, and the account's public key.
///
/// # Errors
/// It is broken, changed, of another account, or another key has signed it.
pub fn verify_account(jwt: &str, operator: &str, account: &str) -> Result<AccountState, JwtError> {
    let claims = verified(jwt, operator, KeyPairType::Operator)?;
    if claims.sub != account || kind(&claims) != Some("account") {
        return Err(JwtError::Stranger);
    }
    let revocations = match claims.nats.get("revocations") {
        None => BTreeMap::new(),
        Some(some) => serde_json::from_value(some.clone()).map_err(|_| JwtError::Broken)?,
    };
    Ok(AccountState { issued: claims.iat, revocations })
}

/// Returns the text of a `.creds` file.
#[must_use]
pub fn creds_text(jwt: &str, seed: &str) -> String {
    format!(
        "{JWT_BEGIN}\n{jwt}\n{JWT_END}\n\nWhoever has the seed below can act as this user: keep it secret.\n\n\
         {SEED_BEGIN}\n{seed}\n{SEED_END}\n"
    )
}

/// Parses the text of a `.creds` file. The JWT is not verified.
///
/// # Errors
/// A part is missing or broken, or the two parts are of different users.
pub fn parse_creds(text: &str) -> Result<Credentials, CredsError> {
    let jwt = between(text, JWT_BEGIN, JWT_END).ok_or(CredsError::NoJwt)?;
    let seed = between(text, SEED_BEGIN, SEED_END).ok_or(CredsError::NoSeed)?;
    let key = from_seed(seed, KeyPairType::User).ok_or(CredsError::Seed)?;
    if read_user(jwt)?.key != key.public_key() {
        return Err(CredsError::Unfit);
    }
    Ok(Credentials { jwt: jwt.to_owned(), key })
}

/// Returns the key of a seed if it is one of this kind.
#[must_use]
pub fn from_seed(seed: &str, kind: KeyPairType) -> Option<KeyPair> {
    KeyPair::from_seed(seed.trim()).ok().filter(|key| key.key_pair_type() == kind)
}

pub(super) fn public_key(text: &str, kind: KeyPairType) -> Option<KeyPair> {
    KeyPair::from_public_key(text).ok().filter(|key| key.key_pair_type() == kind)
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    let (inside, _) = rest.split_once(end)?;
    Some(inside.trim()).filter(|inside| !inside.is_empty())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn jwt(
    issuer: &KeyPair,
    name: &str,
    sub: &str,
    iat: i64,
    exp: Option<i64>,
    nats: Map<String, Value>,
) -> Result<String, KeyError> {
    let mut claims = Claims {
        jti: String::new(),
        iat,
        iss: issuer.public_key(),
        name: name.to_owned(),
        sub: sub.to_owned(),
        exp,
        nats,
    };
    // The id is the digest of the claims without one.
    claims.jti = BASE32_NOPAD.encode(digest(&SHA512_256, json!(claims).to_string().as_bytes()).as_ref());
    let claims = URL_SAFE_NO_PAD.encode(json!(claims).to_string());
    let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(HEADER));
    let signature = sign(issuer, signed.as_bytes())?;
    Ok(format!("{signed}.{signature}"))
}

/// Returns the claims of a JWT with the signed part of its text and the signature.
fn parse(jwt: &str) -> Result<(Claims, &str, Vec<u8>), JwtError> {
    let (signed, signature) = jwt.rsplit_once('.').ok_or(JwtError::Broken)?;
    let (header, claims) = signed.split_once('.').ok_or(JwtError::Broken)?;
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtError::Broken);
    let header: Value = serde_json::from_slice(&decoded(header)?).map_err(|_| JwtError::Broken)?;
    let claims: Claims = serde_json::from_slice(&decoded(claims)?).map_err(|_| JwtError::Broken)?;
    let is_ours = header["alg"] == "ed25519-nkey" && claims.nats.get("version") == Some(&json!(VERSION));
    if !is_ours {
        return Err(JwtError::Broken);
    }
    Ok((claims, signed, decoded(signature)?))
}

fn verified(jwt: &str, issuer: &str, kind: KeyPairType) -> Result<Claims, JwtError> {
    let (claims, signed, signature) = parse(jwt)?;
    let key = public_key(issuer, kind).filter(|_| claims.iss == issuer).ok_or(JwtError::Stranger)?;
    key.verify(signed.as_bytes(), &signature).map_err(|_| JwtError::Forged)?;
    Ok(claims)
}

fn kind(claims: &Claims) -> Option<&str> {
    claims.nats.get("type").and_then(Value::as_str)
}

fn user_of(claims: &Claims) -> Result<VerifiedUser, JwtError> {
    if kind(claims) != Some("user") || !is_user_key(&claims.sub) {
        return Err(JwtError::NoUser);
    }
    let tags = match claims.nats.get("tags") {
        None => Vec::new(),
        Some(tags) => serde_json::from_value(tags.clone()).map_err(|_| JwtError::Broken)?,
    };
    Ok(VerifiedUser { name: claims.name.clone(), key: claims.sub.clone(), tags })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn some_user(account: &KeyPair, key: &KeyPair, expires: Option<Timestamp>) -> String {
        let permits = Permits::new(vec!["a.b".to_owned()], vec!["c.>".to_owned()]);
        let (name, public) = ("box4", key.public_key());
        let tags = ["runner:box4".to_owned()];
        let user = NewUser { name, key: &public, permits: &permits, expires, tags: &tags };
        user_jwt(account, &user, at(1000)).unwrap()
    }

    fn pair() -> (KeyPair, KeyPair) {
        (draw(KeyPairType::Account).unwrap(), draw(KeyPairType::User).unwrap())
    }

    #[test]
    fn a_user_is_verified_until_it_expires() {
        let (account, key) = pair();
        let jwt = some_user(&account, &key, Some(at(1600)));
        let user = verify_user(&jwt, &account.public_key(), at(1599)).unwrap();
        let tags = vec!["runner:box4".to_owned()];
        assert_eq!(user, VerifiedUser { name: "box4".to_owned(), key: key.public_key(), tags });
        assert_eq!(verify_user(&jwt, &account.public_key(), at(1600)), Err(JwtError::Expired));
        let jwt = some_user(&account, &key, None);
        assert!(verify_user(&jwt, &account.public_key(), at(i64::from(u32::MAX))).is_ok());
    }

    #[test]
    fn a_user_of_another_account_is_refused() {
        let (account, key) = pair();
        let jwt = some_user(&account, &key, None);
        let (other, _) = pair();
        assert_eq!(verify_user(&jwt, &other.public_key(), at(1)), Err(JwtError::Stranger));
    }

    #[test]
    fn a_changed_or_cut_jwt_is_refused() {
        let (account, key) = pair();
        let jwt = some_user(&account, &key, None);
        let mut parts: Vec<String> = jwt.split('.').map(str::to_owned).collect();
        let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(&parts[1]).unwrap()).unwrap();
        parts[1] = URL_SAFE_NO_PAD.encode(claims.replace("a.b", "a.>"));
        let public = account.public_key();
        assert_eq!(verify_user(&parts.join("."), &public, at(1)), Err(JwtError::Forged));
        assert_eq!(verify_user(&jwt[..jwt.len() - 6], &public, at(1)), Err(JwtError::Forged));
        for broken in ["", "x", "a.b.c", &jwt[..40], &parts[1]] {
            assert_eq!(verify_user(broken, &public, at(1)), Err(JwtError::Broken), "{broken}");
        }
    }

    #[test]
    fn an_account_is_no_user() {
        let operator = draw(KeyPairType::Operator).unwrap();
        let (account, _) = pair();
        let state = AccountState { issued: 7, revocations: [("U1".to_owned(), 5)].into() };
        let jwt = account_jwt(&operator, &account.public_key(), "bot", &state, Store::Disk).unwrap();
        assert_eq!(verify_account(&jwt, &operator.public_key(), &account.public_key()), Ok(state));
        assert_eq!(verify_user(&jwt, &operator.public_key(), at(1)), Err(JwtError::Stranger));
        assert_eq!(read_user(&jwt), Err(JwtError::NoUser));
        let (other, _) = pair();
        let wrong = verify_account(&jwt, &operator.public_key(), &other.public_key());
        assert_eq!(wrong, Err(JwtError::Stranger));
    }

    #[test]
    fn a_user_signed_by_a_user_is_refused() {
        let (_, key) = pair();
        let jwt = some_user(&key, &key, None);
        assert_eq!(verify_user(&jwt, &key.public_key(), at(1)), Err(JwtError::Stranger));
    }

    #[test]
    fn a_creds_file_is_read_back() {
        let (account, key) = pair();
        let text = creds_text(&some_user(&account, &key, None), &key.seed().unwrap());
        let creds = parse_creds(&text).unwrap();
        assert_eq!(creds.key.seed().unwrap(), key.seed().unwrap());
        assert!(!format!("{creds:?}").contains(&key.seed().unwrap()));
        assert!(parse_creds(&text.replace('\n', "\r\n")).is_ok());
    }

    #[test]
    fn a_broken_creds_file_is_refused() {
        let (account, key) = pair();
        let (jwt, seed) = (some_user(&account, &key, None), key.seed().unwrap());
        let (_, other) = pair();
        let refused = |text: &str| parse_creds(text).unwrap_err();
        assert_eq!(refused(""), CredsError::NoJwt);
        assert_eq!(refused(&creds_text(&jwt, "")), CredsError::NoSeed);
        assert_eq!(refused(&creds_text(&jwt, "SUAX")), CredsError::Seed);
        assert_eq!(refused(&creds_text(&jwt, &account.seed().unwrap())), CredsError::Seed);
        assert_eq!(refused(&creds_text("a.b.c", &seed)), CredsError::Jwt(JwtError::Broken));
        assert_eq!(refused(&creds_text(&jwt, &other.seed().unwrap())), CredsError::Unfit);
    }

    #[test]
    fn a_signature_is_of_one_key_and_one_text() {
        let (_, key) = pair();
        let public = public_key(&key.public_key(), KeyPairType::User).unwrap();
        let signature = sign(&key, b"text").unwrap();
        assert!(is_signed(&public, b"text", &signature));
        assert!(!is_signed(&public, b"other", &signature));
        assert!(!is_signed(&pair().1, b"text", &signature));
        for broken in ["AAAA", "", "!", &signature[1..]] {
            assert!(!is_signed(&public, b"text", broken), "{broken}");
        }
    }
}
