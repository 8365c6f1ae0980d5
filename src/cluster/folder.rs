//! The folder `<data>/cluster` of the bot's machine: all keys, the servers' certificate and their configuration.
//!
//! | file | content |
//! |---|---|
//! | `cluster.json` | name of the bot, addresses of the servers |
//! | `operator.nk`, `account.nk` | seeds that sign accounts and users |
//! | `account.jwt` | the account's JWT with all revocations |
//! | `bot.creds`, `system.creds` | JWT and seed of the bot's user and of the system account's |
//! | `messages.nk` | seed that signs the bot's messages to runners |
//! | `ca.pem`, `ca.key` | the CA that runners trust, alone |
//! | `server.pem`, `server.key`, `nats-server.conf` | for the server |
//!
//! The bot has two keys, because its user signs every text that a server sends it when it connects (the nonce): a server
//! could have messages signed that way. The key of messages is never given to the NATS client.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use nkeys::{KeyPair, KeyPairType};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::authority::{self, Authority};
use super::client::{self, AddressError};
use super::disk;
use super::keys::{self, AccountState, Credentials, KeyError, NewUser, Store};
use super::permits::{self, Subjects};
use super::server_conf::conf;

/// Version of the files.
const VERSION: u64 = 1;

/// Name of the folder below the data folder.
pub const FOLDER: &str = "cluster";

const CLUSTER: &str = "cluster.json";
const OPERATOR: &str = "operator.nk";
const ACCOUNT: &str = "account.nk";
pub(super) const ACCOUNT_JWT: &str = "account.jwt";
const SYSTEM: &str = "system.creds";
const BOT: &str = "bot.creds";
const MESSAGES: &str = "messages.nk";
pub(super) const CA: &str = "ca.pem";
const CA_KEY: &str = "ca.key";
pub(super) const SERVER: &str = "server.pem";
pub(super) const SERVER_KEY: &str = "server.key";
const CONF: &str = "nats-server.conf";

/// The reason why no cluster can be made.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// There is one already.
    #[error("{} is there already, with the keys of a bot; to begin anew, move it away first", folder.display())]
    There {
        /// The folder.
        folder: PathBuf,
    },
    /// No host was named.
    #[error("name at least one host of the server, under which runners reach it, e.g. box1.example.org")]
    NoHost,
    /// A host is not a name or an IP address.
    #[error("\"{0}\" is not a host: write a name such as box1.example.org, or an IP address, without a port")]
    Host(String),
    /// The folder's path cannot be written into a configuration.
    #[error("{} cannot be written into nats-server.conf, because it is not UTF-8; choose another data folder", folder.display())]
    Path {
        /// The folder.
        folder: PathBuf,
    },
    /// No key can be made.
    #[error("{0}")]
    Key(#[from] KeyError),
    /// No certificate can be made.
    #[error("no certificate can be made for the server: {0}")]
    Certificate(String),
    /// The disk refuses.
    #[error("{} cannot be written: {reason}", folder.display())]
    Disk {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        reason: io::Error,
    },
}

/// The reason why a folder of a bot or a runner cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no folder.
    #[error("{} is not there; {advice}", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
        /// The remedy.
        advice: &'static str,
    },
    /// A file is missing.
    #[error("{} is missing; bring it back from a backup, or {advice}", file.display())]
    NoFile {
        /// The file.
        file: PathBuf,
        /// The remedy.
        advice: &'static str,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: io::Error,
    },
    /// A file can be read, but not be used.
    #[error("{} cannot be used: {why}; bring it back from a backup, or {advice}", file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
        /// The remedy.
        advice: &'static str,
    },
    /// A newer herder wrote the folder.
    #[error("{} has version {found}, and this herder reads version {VERSION}: start the newer herder again", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Version of the file.
        found: u64,
    },
}

/// The result of [`init`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Name of the bot.
    pub name: String,
    /// Addresses of the servers.
    pub servers: Vec<String>,
    /// Configuration file to start `nats-server` with.
    pub conf: PathBuf,
}

/// The folder of a bot, read. It contains secrets; its `Debug` shows none.
pub struct Folder {
    path: PathBuf,
    name: String,
    servers: Vec<String>,
    ca: String,
    operator: KeyPair,
    account: KeyPair,
    bot: Credentials,
    messages: KeyPair,
    system: Credentials,
}

#[derive(Serialize, Deserialize)]
struct ClusterFile {
    v: u64,
    name: String,
    servers: Vec<String>,
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, name, servers) = (&self.path, &self.name, &self.servers);
        f.debug_struct("Folder")
            .field("path", path)
            .field("name", name)
            .field("servers", servers)
            .finish_non_exhaustive()
    }
}

/// Makes the folder of a bot with all keys, for a server that runners reach under these hosts. Blocks.
///
/// # Errors
/// There is one already, a host is none, the path is not UTF-8, or the disk or the system's source of random bytes
/// refuses.
pub fn init(folder: &Path, hosts: &[String], port: u16, now: Timestamp) -> Result<Made, InitError> {
    if hosts.is_empty() {
        return Err(InitError::NoHost);
    }
    if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
        return Err(InitError::Host(host.clone()));
    }
    let disk = |reason: io::Error| match reason.kind() {
        io::ErrorKind::AlreadyExists => InitError::There { folder: folder.to_owned() },
        _ => InitError::Disk { folder: folder.to_owned(), reason },
    };
    if fs::symlink_metadata(folder).is_ok() {
        return Err(InitError::There { folder: folder.to_owned() });
    }
    let absolute = std::path::absolute(folder).map_err(disk)?;
    let path = absolute.to_str().ok_or_else(|| InitError::Path { folder: folder.to_owned() })?;

    let name = draw_name()?;
    let [operator, system_account, account, system, bot, messages] = [
        keys::draw(KeyPairType::Operator)?,
        keys::draw(KeyPairType::Account)?,
        keys::draw(KeyPairType::Account)?,
        keys::draw(KeyPairType::User)?,
        keys::draw(KeyPairType::User)?,
        keys::draw(KeyPairType::User)?,
    ];
    let state = AccountState { issued: now.as_second(), revocations: Default::default() };
    let operator_jwt = keys::operator_jwt(&operator, "herder", &system_account.public_key(), now)?;
    let system_jwt =
        keys::account_jwt(&operator, &system_account.public_key(), "system", &state, Store::None)?;
    let account_jwt = keys::account_jwt(&operator, &account.public_key(), &name, &state, Store::Disk)?;
    let creds = |account: &KeyPair, key: &KeyPair, name: &str, tags: &[String], permits| {
        let public = key.public_key();
        let user = NewUser { name, key: &public, permits: &permits, expires: None, tags };
        let jwt = keys::user_jwt(account, &user, now)?;
        Ok::<_, KeyError>(keys::creds_text(&jwt, &seed(key)?))
    };
    let Authority { ca, ca_key, server, server_key } =
        authority::make(&name, hosts, now).map_err(InitError::Certificate)?;
    let accounts = [(system_account.public_key(), system_jwt), (account.public_key(), account_jwt.clone())];
    let servers: Vec<String> = hosts.iter().map(|host| address(host, port)).collect();
    let about = ClusterFile { v: VERSION, name: name.clone(), servers: servers.clone() };
    let files = [
        (CLUSTER, serde_json::json!(about).to_string()),
        (OPERATOR, seed(&operator)?),
        (ACCOUNT, seed(&account)?),
        (ACCOUNT_JWT, account_jwt),
        (SYSTEM, creds(&system_account, &system, "system", &["system".to_owned()], permits::of_system())?),
        (BOT, creds(&account, &bot, "bot", &[messages_tag(&messages)], Subjects::new(&name).of_bot())?),
        (MESSAGES, seed(&messages)?),
        (CA, ca),
        (CA_KEY, ca_key),
        (SERVER, server),
        (SERVER_KEY, server_key),
        (CONF, conf(path, port, &name, &operator_jwt, &accounts)),
    ];
    disk::make_folder(folder, &files).map_err(disk)?;
    Ok(Made { name, servers, conf: absolute.join(CONF) })
}

/// Reads the folder of a bot. Blocks.
///
/// # Errors
/// The folder or a file is missing, cannot be read, or does not fit the others.
pub fn open(folder: &Path) -> Result<Folder, OpenError> {
    let reader = Reader { folder, advice: "run herder cluster init" };
    let about: ClusterFile = reader.json(CLUSTER)?;
    let is_name = about.name.len() == 8 && about.name.bytes().all(|it| it.is_ascii_hexdigit());
    if !is_name {
        return Err(reader.broken(CLUSTER, format!("\"{}\" is no name of a bot", about.name)));
    }
    reader.servers(CLUSTER, &about.servers)?;
    let operator = reader.key(OPERATOR, KeyPairType::Operator)?;
    let account = reader.key(ACCOUNT, KeyPairType::Account)?;
    let bot = reader.creds(BOT)?;
    // The bot's JWT has no expiry: any time will do.
    let user = keys::verify_user(&bot.jwt, &account.public_key(), Timestamp::UNIX_EPOCH)
        .map_err(|why| reader.broken(BOT, format!("{why} ({ACCOUNT} is another one)")))?;
    let messages = reader.key(MESSAGES, KeyPairType::User)?;
    if !user.tags.contains(&messages_tag(&messages)) {
        return Err(reader.broken(MESSAGES, format!("it is not the key that {BOT} names")));
    }
    let folder = Folder {
        path: folder.to_owned(),
        name: about.name,
        servers: about.servers,
        ca: reader.ca()?,
        operator,
        account,
        bot,
        messages,
        system: reader.creds(SYSTEM)?,
    };
    folder.account_state()?;
    Ok(folder)
}

impl Folder {
    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the bot.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the addresses of the servers.
    #[must_use]
    pub fn servers(&self) -> &[String] {
        &self.servers
    }

    /// Returns the folder with other addresses of the servers.
    #[must_use]
    pub fn with_servers(self, servers: Vec<String>) -> Self {
        Self { servers, ..self }
    }

    /// Returns the bot's subjects.
    #[must_use]
    pub fn subjects(&self) -> Subjects {
        Subjects::new(&self.name)
    }

    /// Returns the CA's certificate as PEM.
    #[must_use]
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// Returns the JWT and the key of the bot's user, by which it connects and signs nothing else.
    #[must_use]
    pub fn bot(&self) -> &Credentials {
        &self.bot
    }

    /// Returns the key that signs the bot's messages, and that runners pin.
    #[must_use]
    pub fn messages(&self) -> &KeyPair {
        &self.messages
    }

    /// Returns the JWT and the key of the system account's user.
    #[must_use]
    pub fn system(&self) -> &Credentials {
        &self.system
    }

    /// Returns the public key of the bot's account.
    #[must_use]
    pub fn account_key(&self) -> String {
        self.account.public_key()
    }

    /// Returns the configuration file of the server.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.path.join(CONF)
    }

    pub(super) fn account(&self) -> &KeyPair {
        &self.account
    }

    pub(super) fn operator(&self) -> &KeyPair {
        &self.operator
    }

    /// Reads the account's JWT from disk, and returns its text and state.
    pub(super) fn account_state(&self) -> Result<(String, AccountState), OpenError> {
        let reader = Reader {
            folder: &self.path,
            advice: "make the cluster anew: without this file, runners that were removed could come back",
        };
        let jwt = reader.text(ACCOUNT_JWT)?.trim().to_owned();
        let state = keys::verify_account(&jwt, &self.operator.public_key(), &self.account.public_key())
            .map_err(|why| reader.broken(ACCOUNT_JWT, why.to_string()))?;
        Ok((jwt, state))
    }
}

/// Reads the files of a folder.
pub(super) struct Reader<'a> {
    pub(super) folder: &'a Path,
    /// The remedy for a missing or broken file.
    pub(super) advice: &'static str,
}

impl Reader<'_> {
    pub(super) fn text(&self, name: &str) -> Result<String, OpenError> {
        let (file, advice) = (self.folder.join(name), self.advice);
        fs::read_to_string(&file).map_err(|reason| match reason.kind() {
            io::ErrorKind::NotFound if !self.folder.is_dir() => {
                OpenError::NoFolder { folder: self.folder.to_owned(), advice }
            }
            io::ErrorKind::NotFound => OpenError::NoFile { file, advice },
            _ => OpenError::Unreadable { file, reason },
        })
    }

    pub(super) fn json<T: for<'a> Deserialize<'a>>(&self, name: &str) -> Result<T, OpenError> {
        let broken = |why: serde_json::Error| self.broken(name, why.to_string());
        let value: Value = serde_json::from_str(&self.text(name)?).map_err(broken)?;
        match value["v"].as_u64() {
            None => Err(self.broken(name, "it has no version".to_owned())),
            Some(VERSION) => serde_json::from_value(value).map_err(broken),
            Some(found) => Err(OpenError::Newer { file: self.folder.join(name), found }),
        }
    }

    pub(super) fn creds(&self, name: &str) -> Result<Credentials, OpenError> {
        keys::parse_creds(&self.text(name)?).map_err(|why| self.broken(name, why.to_string()))
    }

    pub(super) fn ca(&self) -> Result<String, OpenError> {
        let pem = self.text(CA)?;
        client::roots(&pem).map_err(|why| self.broken(CA, why.to_string()))?;
        Ok(pem)
    }

    pub(super) fn servers(&self, name: &str, servers: &[String]) -> Result<(), OpenError> {
        let checked = client::addresses(servers);
        checked.map(drop).map_err(|why: AddressError| self.broken(name, why.to_string()))
    }

    fn key(&self, name: &str, kind: KeyPairType) -> Result<KeyPair, OpenError> {
        let seed = self.text(name)?;
        keys::from_seed(&seed, kind)
            .ok_or_else(|| self.broken(name, "it does not contain the seed it should".to_owned()))
    }

    pub(super) fn broken(&self, name: &str, why: String) -> OpenError {
        OpenError::Broken { file: self.folder.join(name), why, advice: self.advice }
    }
}

/// Returns the seed of a key.
pub(super) fn seed(key: &KeyPair) -> Result<String, KeyError> {
    key.seed().map_err(KeyError::Unfit)
}

/// Returns the tag of the bot's user, by which its JWT names the key of messages.
fn messages_tag(messages: &KeyPair) -> String {
    format!("messages:{}", messages.public_key())
}

fn draw_name() -> Result<String, KeyError> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(KeyError::NoRandom)?;
    Ok(format!("{:08x}", u32::from_be_bytes(bytes)))
}

fn is_host(host: &str) -> bool {
    let is_name = !host.is_empty()
        && host.len() <= 253
        && host.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
        });
    is_name || host.parse::<std::net::IpAddr>().is_ok()
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("tls://[{host}]:{port}") } else { format!("tls://{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn made() -> (tempfile::TempDir, PathBuf) {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join(FOLDER);
        init(&folder, &["box1.example.org".to_owned(), "::1".to_owned()], 4222, Timestamp::UNIX_EPOCH)
            .unwrap();
        (data, folder)
    }

    #[test]
    fn a_folder_is_read_back() {
        let (_data, folder) = made();
        let read = open(&folder).unwrap();
        assert_eq!(read.servers(), ["tls://box1.example.org:4222", "tls://[::1]:4222"]);
        assert_eq!(read.name().len(), 8);
        let shown = format!("{read:?}");
        for secret in [
            seed(&read.operator),
            seed(&read.account),
            seed(&read.bot.key),
            seed(&read.system.key),
            seed(&read.messages),
        ] {
            assert!(!shown.contains(&secret.unwrap()));
        }
    }

    #[test]
    fn nobody_else_may_read_it() {
        let (_data, folder) = made();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(files.len(), 12);
        for file in files {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }

    #[test]
    fn a_second_one_is_refused_and_leaves_the_first() {
        let (_data, folder) = made();
        let name = open(&folder).unwrap().name().to_owned();
        let second = init(&folder, &["box2".to_owned()], 1, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(second.to_string().contains("is there already"), "{second}");
        assert_eq!(open(&folder).unwrap().name(), name);
    }

    #[test]
    fn what_a_killed_one_left_does_not_matter() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join("cluster.new")).unwrap();
        fs::write(data.path().join("cluster.new/operator.nk"), "half").unwrap();
        let folder = data.path().join(FOLDER);
        init(&folder, &["box1".to_owned()], 4222, Timestamp::UNIX_EPOCH).unwrap();
        open(&folder).unwrap();
        assert!(!data.path().join("cluster.new").exists());
    }

    #[test]
    fn a_host_is_a_name_or_an_address() {
        for host in ["box1", "box1.example.org", "10.0.0.1", "fe80::1", "1-2"] {
            assert!(is_host(host), "{host}");
        }
        for host in ["", "box1:4222", "tls://box1", "a b", "-a", "a..b", "*.example.org", "[::1]", "a_b"] {
            assert!(!is_host(host), "{host}");
        }
        let data = tempfile::tempdir().unwrap();
        let refused = init(&data.path().join("c"), &[], 1, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(matches!(refused, InitError::NoHost));
    }

    #[test]
    fn the_server_tells_its_own_machine_how_it_is() {
        let (_data, folder) = made();
        let conf = fs::read_to_string(folder.join(CONF)).unwrap();
        assert!(conf.contains("\nhttp: \"127.0.0.1:8222\"\n"), "{conf}");
        assert!(conf.contains("sync_interval: always"), "{conf}");
    }

    #[test]
    fn each_missing_file_is_named() {
        let absent = open(Path::new("/nonexistent/cluster")).unwrap_err().to_string();
        assert_eq!(absent, "/nonexistent/cluster is not there; run herder cluster init");
        for name in [CLUSTER, OPERATOR, ACCOUNT, ACCOUNT_JWT, SYSTEM, BOT, MESSAGES, CA] {
            let (_data, folder) = made();
            fs::remove_file(folder.join(name)).unwrap();
            let error = open(&folder).unwrap_err();
            assert!(matches!(error, OpenError::NoFile { .. }), "{error}");
            assert!(error.to_string().contains(name), "{error}");
            fs::write(folder.join(name), "{}").unwrap();
            let error = open(&folder).unwrap_err();
            assert!(matches!(error, OpenError::Broken { .. }), "{name}: {error}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_file_of_another_bot_is_refused() {
        for name in [ACCOUNT, BOT, MESSAGES, ACCOUNT_JWT, OPERATOR] {
            let ((_a, folder), (_b, other)) = (made(), made());
            fs::copy(other.join(name), folder.join(name)).unwrap();
            assert!(matches!(open(&folder), Err(OpenError::Broken { .. })), "{name}");
        }
    }

    #[test]
    fn a_newer_folder_is_refused() {
        let (_data, folder) = made();
        fs::write(folder.join(CLUSTER), r#"{"v":2}"#).unwrap();
        let error = open(&folder).unwrap_err().to_string();
        assert!(
            error.ends_with("has version 2, and this herder reads version 1: start the newer herder again")
        );
    }
}
