//! The folder `<data>/cluster` of a runner's machine: `runner.json`, `runner.creds` and `ca.pem`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use nkeys::{KeyPair, KeyPairType};
use serde::{Deserialize, Serialize};

use super::disk;
use super::folder::{CA, OpenError, Reader, seed};
use super::joining::Joined;
use super::keys::{self, Credentials, KeyError};
use super::permits::Subjects;
use crate::core::id::RunnerName;

/// Version of the files.
const VERSION: u64 = 1;

const RUNNER: &str = "runner.json";
const CREDS: &str = "runner.creds";

/// The remedy for everything that is missing or broken.
const ADVICE: &str =
    "join anew: run herder runner invite on the bot's machine, and here the line that it prints";

/// The reason why a runner's folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is one already.
    #[error("{} is there already: this machine has joined a bot. To join another one, move it away first", folder.display())]
    There {
        /// The folder.
        folder: PathBuf,
    },
    /// The key has no seed.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// The invitation's key of the bot is none.
    #[error("the invitation names no key of the bot; invite again")]
    BotKey,
    /// The disk refuses.
    #[error("{} cannot be written: {reason}", folder.display())]
    Disk {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        reason: io::Error,
    },
}

/// The folder of a runner, read. It contains a secret; its `Debug` shows none.
pub struct RunnerFolder {
    about: RunnerFile,
    ca: String,
    credentials: Credentials,
    pinned: KeyPair,
}

#[derive(Serialize, Deserialize)]
struct RunnerFile {
    v: u64,
    name: RunnerName,
    bot: String,
    servers: Vec<String>,
    bot_key: String,
}

impl fmt::Debug for RunnerFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bot, servers) = (&self.about.name, &self.about.bot, &self.about.servers);
        f.debug_struct("RunnerFolder")
            .field("name", name)
            .field("bot", bot)
            .field("servers", servers)
            .finish_non_exhaustive()
    }
}

/// Writes the folder of a runner that was admitted. Blocks.
///
/// # Errors
/// There is one already, or the disk refuses.
pub fn store(folder: &Path, joined: &Joined) -> Result<RunnerFolder, StoreError> {
    let invitation = &joined.invitation;
    let about = RunnerFile {
        v: VERSION,
        name: invitation.runner.clone(),
        bot: invitation.bot.clone(),
        servers: invitation.servers.clone(),
        bot_key: invitation.bot_key.clone(),
    };
    let creds = keys::creds_text(&joined.credentials.jwt, &seed(&joined.credentials.key)?);
    let files = [(RUNNER, serde_json::json!(about).to_string()), (CREDS, creds), (CA, invitation.ca.clone())];
    disk::make_folder(folder, &files).map_err(|reason| match reason.kind() {
        io::ErrorKind::AlreadyExists => StoreError::There { folder: folder.to_owned() },
        _ => StoreError::Disk { folder: folder.to_owned(), reason },
    })?;
    let pinned = keys::public_key(&about.bot_key, KeyPairType::User).ok_or(StoreError::BotKey)?;
    Ok(RunnerFolder { about, ca: invitation.ca.clone(), credentials: joined.credentials.clone(), pinned })
}

/// Returns true if a machine has joined a bot as a runner with this folder. Blocks.
#[must_use]
pub fn is_there(folder: &Path) -> bool {
    folder.join(RUNNER).exists()
}

/// Reads the folder of a runner. Blocks.
///
/// # Errors
/// The folder or a file is missing, cannot be read, or is broken.
pub fn open_runner(folder: &Path) -> Result<RunnerFolder, OpenError> {
    let reader = Reader { folder, advice: ADVICE };
    let about: RunnerFile = reader.json(RUNNER)?;
    reader.servers(RUNNER, &about.servers)?;
    let Some(pinned) = keys::public_key(&about.bot_key, KeyPairType::User) else {
        return Err(reader.broken(RUNNER, "the bot's key in it is none".to_owned()));
    };
    Ok(RunnerFolder { about, ca: reader.ca()?, credentials: reader.creds(CREDS)?, pinned })
}

impl RunnerFolder {
    /// Returns the name of the runner.
    #[must_use]
    pub fn name(&self) -> &str {
        self.about.name.as_str()
    }

    /// Returns the public key that signs the bot's messages. It was pinned when the runner joined.
    #[must_use]
    pub fn pinned(&self) -> KeyPair {
        self.pinned.clone()
    }

    /// Returns the name of the bot.
    #[must_use]
    pub fn bot(&self) -> &str {
        &self.about.bot
    }

    /// Returns the addresses of the servers.
    #[must_use]
    pub fn servers(&self) -> &[String] {
        &self.about.servers
    }

    /// Returns the certificate of the bot's CA as PEM.
    #[must_use]
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// Returns the JWT and the key of the runner's user.
    #[must_use]
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Returns the bot's subjects.
    #[must_use]
    pub fn subjects(&self) -> Subjects {
        Subjects::new(&self.about.bot)
    }
}
