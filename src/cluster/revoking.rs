//! Removal of a runner's key: written to the account's JWT first, then brought to the servers, which end the runner's
//! connection and refuse it from then on.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, Request, RequestErrorKind};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use super::client::{self, LinkError};
use super::disk;
use super::folder::{ACCOUNT_JWT, Folder, OpenError};
use super::keys::{self, KeyError, Store};
use super::permits::UPDATE;

/// End of the year 9999, in seconds since 1970: all JWTs of a revoked key are void, whatever a clock said at their
/// signature.
const FOREVER: i64 = 253_402_300_799;

/// Time for a server to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The reason why a key cannot be revoked.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// The key is not one of a user.
    #[error("\"{0}\" is not the key of a runner")]
    NoKey(String),
    /// The key is the bot's own.
    #[error("this is the key of the bot itself, which cannot be removed")]
    Own,
    /// The account's JWT cannot be read.
    #[error("{0}")]
    Account(#[from] OpenError),
    /// The account's JWT cannot be signed.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The account's JWT cannot be written.
    #[error("{} cannot be written, so nothing was removed: {reason}", file.display())]
    Disk {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: io::Error,
    },
}

/// The reason why the servers do not have the account's newest JWT.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The account's JWT cannot be read.
    #[error("{0}")]
    Account(#[from] OpenError),
    /// No server can be reached.
    #[error("the servers do not know yet which runners were removed: {0}")]
    Link(#[from] LinkError),
    /// No server has answered.
    #[error("the server has not answered, so it may not know yet which runners were removed: {0}")]
    Silent(String),
    /// The server refuses.
    #[error(
        "the server refuses the list of removed runners: {0}. Check that it runs with the nats-server.conf of this bot"
    )]
    Refused(String),
}

/// Notes the key of a runner as revoked, on disk alone: [`push`] brings it to the servers. Blocks.
///
/// # Errors
/// The key is none, or the account's JWT cannot be read or written.
pub fn note(folder: &Folder, key: &str, now: Timestamp) -> Result<(), RevokeError> {
    if !keys::is_user_key(key) {
        return Err(RevokeError::NoKey(key.to_owned()));
    }
    if key == folder.bot().key.public_key() {
        return Err(RevokeError::Own);
    }
    let file = folder.path().join(ACCOUNT_JWT);
    let disk = |reason: io::Error| RevokeError::Disk { file: file.clone(), reason };
    // Two at once would each leave out the other's.
    let lock = File::open(folder.path()).map_err(disk)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|errno| disk(errno.into()))?;

    let (_, mut state) = folder.account_state()?;
    // Servers ignore a JWT that is older than theirs, also when the clock was set back.
    state.issued = now.as_second().max(state.issued + 1);
    state.revocations.insert(key.to_owned(), FOREVER);
    let jwt =
        keys::account_jwt(folder.operator(), &folder.account_key(), folder.name(), &state, Store::Disk)?;
    disk::replace(&file, &jwt).map_err(disk)
}

/// Brings the account's newest JWT to the servers. Nothing changes if they have it.
///
/// # Errors
/// The JWT cannot be read, or the servers cannot be reached or refuse.
pub async fn push(folder: &Folder) -> Result<(), PushError> {
    let (jwt, _) = folder.account_state()?;
    let system = client::connect_system(folder).await?;
    send(&system, jwt).await
}

async fn send(system: &Client, jwt: String) -> Result<(), PushError> {
    let request = Request::new().payload(jwt.into()).timeout(Some(PATIENCE));
    let answer = system.send_request(UPDATE, request).await.map_err(|error| match error.kind() {
        RequestErrorKind::NoResponders => PushError::Refused("it takes no JWTs of accounts".to_owned()),
        _ => PushError::Silent(error.to_string()),
    })?;
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
    if answer["data"]["code"].as_u64() == Some(200) {
        return Ok(());
    }
    let why = answer["error"]["description"].as_str().unwrap_or("it gives no reason");
    Err(PushError::Refused(why.to_owned()))
}
