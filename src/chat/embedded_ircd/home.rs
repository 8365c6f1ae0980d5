//! The embedded server as herder's own network: accounts with random passwords, herder's connection, and instructions
//! for joining.
//!
//! Used by `herder demo`, and by a `herder run` without any configured network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::{Options, Password, Server, StartError};
use crate::chat::irc::Connector;
use crate::config::{AccessRules, Config, IrcNetwork, Subject, Tls};
use crate::core::id::NetworkName;
use crate::core::link::EMBEDDED_NETWORK;

/// Name of the account of the person who starts herder and is shown the password.
pub const OWNER: &str = "owner";

/// The usual IRC port without TLS, which the embedded server tries first.
pub const PORT: u16 = 6667;

/// Number of ports after the wanted one that the embedded server tries if it is in use.
const MORE_PORTS: u16 = 20;

/// Characters of a generated password: no two look alike, and none is special to a shell or a client.
const PASSWORD_ALPHABET: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz2345678";

/// Name of the file in herder's data folder that stores the server's port and the digests of passwords. Without it new
/// ones are drawn.
pub const KEPT: &str = "embedded-irc.json";

/// Length of a password, in characters of five bits: 80 bits cannot be guessed at a few attempts per second.
const PASSWORD_LENGTH: usize = 16;

/// The embedded IRC server, with the settings of herder's own connection to it.
#[derive(Debug)]
pub struct Home {
    /// The running server, which ends with herder.
    pub server: Server,
    /// Settings of herder's IRC adapter for the server. Its address is never connected to, see [`Home::connector`].
    pub network: IrcNetwork,
    /// Accounts on the server, with the password if it was drawn just now; `None` if only its digest is known.
    accounts: Vec<(String, Option<SecretString>)>,
    nick: String,
}

/// The reason why the embedded server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The embedded IRC server cannot open its port.
    #[error(transparent)]
    Server(#[from] StartError),
    /// The system provides no randomness for passwords.
    #[error("cannot draw a password: {0}")]
    Random(getrandom::Error),
    /// The file with the port and the password digests cannot be read or written.
    #[error("{}, which keeps the passwords of herder's own IRC server, cannot be used: {source}; delete it to have new ones drawn", file.display())]
    Kept {
        /// Path of the file.
        file: PathBuf,
        /// The I/O error of reading or writing the file.
        source: io::Error,
    },
}

impl Home {
    /// Starts the embedded server if the configuration has no networks, and adds it to the configuration; `None` if
    /// there are networks. Everybody named in `[access]` gets an account, or else an owner. Only one herder may run in
    /// the data folder, which stores passwords and port.
    ///
    /// # Errors
    /// No port is free, no password can be drawn, or the stored file cannot be read or written.
    pub async fn of(config: &mut Config) -> Result<Option<Self>, HomeError> {
        if !config.embedded {
            return Ok(None);
        }
        let access = &config.access;
        let onlookers = accounts_of(access.viewers.iter());
        let commanding = accounts_of(access.admins.iter().chain(&access.operators));
        let mut accounts: BTreeSet<String> = onlookers.union(&commanding).cloned().collect();
        if accounts.is_empty() {
            accounts.insert(OWNER.to_owned());
        }
        let file = config.data_dir.join(KEPT);
        let mut kept = Kept::read(&file)?;
        let mut people =
            People { onlookers: onlookers.difference(&commanding).cloned().collect(), ..People::default() };
        for account in accounts {
            let drawn = match kept.passwords.get(&account) {
                Some(_) => None,
                None => Some(draw_password().map_err(HomeError::Random)?),
            };
            if let Some(drawn) = &drawn {
                kept.passwords.insert(account.clone(), Password::of(drawn.expose_secret()));
            }
            people.shown.push((account, drawn));
        }
        people.accounts = kept.passwords.clone().into_iter().collect();
        let channels: Vec<String> = config.agents.iter().map(|agent| format!("#{}", agent.name)).collect();
        let home = Self::listen(&config.name, kept.port.unwrap_or(PORT), &channels, people).await?;
        kept.port.get_or_insert(home.network.port);
        kept.write(&file)?;
        config.secrets.extend(home.accounts.iter().filter_map(|(_, password)| password.clone()));
        config.irc.push(home.network.clone());
        Ok(Some(home))
    }

    /// Starts the embedded server for a bot of this nick, with these channels and accounts. Port 0 is any port; if a
    /// port is in use, the next one is tried.
    ///
    /// # Errors
    /// No port is free, or no password can be drawn.
    pub async fn start(
        nick: &str,
        port: u16,
        channels: &[String],
        accounts: &[&str],
    ) -> Result<Self, HomeError> {
        let mut people = People::default();
        for account in accounts {
            let password = draw_password().map_err(HomeError::Random)?;
            people.accounts.push(((*account).to_owned(), Password::of(password.expose_secret())));
            people.shown.push(((*account).to_owned(), Some(password)));
        }
        Self::listen(nick, port, channels, people).await
    }

    async fn listen(nick: &str, port: u16, channels: &[String], people: People) -> Result<Self, HomeError> {
        let control = format!("#{nick}");
        let all: Vec<&str> =
            [&control, "#alerts", "#work"].into_iter().chain(channels.iter().map(String::as_str)).collect();
        let server = Server::start(Options {
            port,
            more_ports: if port == 0 { 0 } else { MORE_PORTS },
            network: nick.to_owned(),
            bot_nick: nick.to_owned(),
            bot_account: nick.to_owned(),
            accounts: people.accounts,
            onlookers: people.onlookers,
            guests: false,
            paced: true,
            motd: vec![
                format!("Everything is in these channels: /join {}", all.join(",")),
                "Say !help in any of them.".to_owned(),
            ],
        })
        .await?;
        let network = IrcNetwork {
            name: NetworkName::from(EMBEDDED_NETWORK),
            server: server.address().ip().to_string(),
            port: server.address().port(),
            tls: Tls::Off,
            nick: nick.to_owned(),
            server_password: None,
            sasl: None,
            nickserv_password: None,
            alerts_channel: "#alerts".to_owned(),
            work_channel: "#work".to_owned(),
            control_channel: control,
            bots: Vec::new(),
        };
        Ok(Self { server, network, accounts: people.shown, nick: nick.to_owned() })
    }

    /// Returns the connector by which herder's IRC adapter joins the server: an in-memory stream that is logged in to
    /// herder's account.
    #[must_use]
    pub fn connector(&self) -> Connector {
        let (connector, account) = (self.server.connector(), self.nick.clone());
        Connector::factory(move || io::Result::Ok(connector.connect(&account)))
    }

    /// Returns the access rules for the embedded server: [`OWNER`] is an admin.
    #[must_use]
    pub fn access(&self) -> AccessRules {
        let owner = Subject::IrcAccount { network: self.network.name.clone(), account: OWNER.to_owned() };
        AccessRules { admins: vec![owner], ..AccessRules::default() }
    }

    /// Returns the accounts, with passwords that were drawn just now, to be shown to the person who started herder.
    #[must_use]
    pub fn accounts(&self) -> &[(String, Option<SecretString>)] {
        &self.accounts
    }

    /// Returns the commands by which a person joins the server with irssi or WeeChat.
    #[must_use]
    pub fn how_to_join(&self) -> String {
        let (port, nick, control) = (self.network.port, &self.nick, &self.network.control_channel);
        let mut text = String::new();
        for (account, password) in &self.accounts {
            let password = password.as_ref().map_or("PASSWORD", |password| password.expose_secret());
            let you = if account == OWNER { "you" } else { account };
            let _ = write!(
                text,
                "  in irssi: /connect 127.0.0.1 {port} {password} {you}      then /join {control}\n\
                 \x20 in weechat: /server add {nick} 127.0.0.1/{port} -notls -nicks={you} -password={password} \
                 -autojoin={control}, then /connect {nick}\n"
            );
        }
        if self.accounts.iter().any(|(_, password)| password.is_none()) {
            let _ = writeln!(
                text,
                "  PASSWORD is the one that was shown at the first start. To have new ones drawn, delete {KEPT} in herder's \
                 folder and start again."
            );
        }
        text
    }
}

fn draw_password() -> Result<SecretString, getrandom::Error> {
    let mut bytes = [0; PASSWORD_LENGTH];
    getrandom::fill(&mut bytes)?;
    let letter = |byte: &u8| char::from(PASSWORD_ALPHABET[usize::from(byte % 32)]);
    Ok(SecretString::from(bytes.iter().map(letter).collect::<String>()))
}

/// Returns the names of the embedded server's accounts among the subjects of access rules.
fn accounts_of<'a>(subjects: impl Iterator<Item = &'a Subject>) -> BTreeSet<String> {
    subjects
        .filter_map(|subject| match subject {
            Subject::IrcAccount { network, account } if network.as_str() == EMBEDDED_NETWORK => {
                Some(account.clone())
            }
            Subject::IrcAccount { .. }
            | Subject::IrcMask { .. }
            | Subject::DiscordUser(_)
            | Subject::DiscordRole(_)
            | Subject::Everyone => None,
        })
        .collect()
}

/// The accounts that may connect to the embedded server.
#[derive(Default)]
struct People {
    accounts: Vec<(String, Password)>,
    onlookers: BTreeSet<String>,
    /// Accounts with the passwords that can be shown, as in `Home`.
    shown: Vec<(String, Option<SecretString>)>,
}

/// The content of the file `KEPT`, by which clients can reconnect after a restart. It has no password, because an agent
/// may be able to read it.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The port that was free at the first start; `None` before.
    port: Option<u16>,
    /// Digests of the passwords, by account.
    #[serde(default)]
    passwords: BTreeMap<String, Password>,
}

impl Kept {
    fn read(file: &Path) -> Result<Self, HomeError> {
        let failed = |source| HomeError::Kept { file: file.to_owned(), source };
        match std::fs::read_to_string(file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Replaces the stored file atomically: after a crash the old or the new one is there.
    fn write(&self, file: &Path) -> Result<(), HomeError> {
        let failed = |source| HomeError::Kept { file: file.to_owned(), source };
        let write = || {
            let folder = file.parent().unwrap_or(Path::new("."));
            // Created with mode 0600.
            let mut new = tempfile_in(folder)?;
            serde_json::to_writer_pretty(&mut new.1, self)?;
            new.1.write_all(b"\n")?;
            new.1.sync_all()?;
            std::fs::rename(&new.0, file)
        };
        write().map_err(failed)
    }
}

/// Creates a file of mode 0600 that is to replace the stored one. Returns its path too.
fn tempfile_in(folder: &Path) -> io::Result<(PathBuf, File)> {
    let path = folder.join(format!("{KEPT}.new"));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok((path, file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    async fn start(folder: &Path, access: &str) -> Home {
        let text = format!("data_dir = {:?}\n[access]\n{access}\n", folder.display().to_string());
        std::fs::write(folder.join("bot.toml"), text).unwrap();
        let mut config = crate::config::load(&folder.join("bot.toml")).unwrap();
        Home::of(&mut config).await.unwrap().expect("there is no network")
    }

    #[tokio::test]
    async fn passwords_and_port_are_the_same_after_a_restart_and_not_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = start(folder.path(), "admins = [\"irc:embedded:ann\"]").await;
        let port = home.network.port;
        let (account, password) = home.accounts()[0].clone();
        let password = password.expect("drawn just now");
        assert_eq!(account, "ann");
        home.server.stop().await;
        let file = folder.path().join(KEPT);
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(!kept.contains(password.expose_secret()), "{kept}");

        let access = "admins = [\"irc:embedded:ann\"]\nviewers = [\"irc:embedded:bob\"]";
        let home = start(folder.path(), access).await;
        assert_eq!(home.network.port, port);
        let shown: Vec<(&str, bool)> = home
            .accounts()
            .iter()
            .map(|(account, password)| (account.as_str(), password.is_some()))
            .collect();
        assert_eq!(shown, [("ann", false), ("bob", true)]);
        let kept: Kept = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(kept.passwords["ann"], Password::of(password.expose_secret()));
        home.server.stop().await;
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_understood_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(KEPT), "{").unwrap();
        std::fs::write(folder.path().join("bot.toml"), format!("data_dir = {:?}\n", folder.path())).unwrap();
        let mut config = crate::config::load(&folder.path().join("bot.toml")).unwrap();
        let error = Home::of(&mut config).await.unwrap_err().to_string();
        assert!(error.contains(KEPT) && error.contains("delete it"), "{error}");
    }

    #[tokio::test]
    async fn the_password_is_drawn_anew_and_says_who_the_owner_is() {
        let start = || Home::start("herder", 0, &[], &[OWNER, "ann"]);
        let (one, two) = (start().await.unwrap(), start().await.unwrap());
        let drawn = |home: &Home, index: usize| {
            home.accounts()[index].1.as_ref().expect("drawn just now").expose_secret().to_owned()
        };
        let shown = drawn(&one, 0);
        assert_eq!(shown.len(), PASSWORD_LENGTH);
        assert_ne!(shown, drawn(&two, 0));
        assert_ne!(shown, drawn(&one, 1));
        assert!(one.how_to_join().contains(&shown));
        // Every user of the machine sees the words of a command in a shell; these are typed into the client.
        for line in one.how_to_join().lines().filter(|line| line.contains(&shown)) {
            let typed = ["  in irssi: /connect ", "  in weechat: /server add "];
            assert!(typed.iter().any(|typed| line.starts_with(typed)), "{line}");
        }
        assert_ne!(one.network.port, two.network.port);
    }
}
