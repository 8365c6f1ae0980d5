//! The embedded server as herder's own home: accounts with random passwords, herder's way in, and how people join.
//!
//! `herder demo` uses it, and a `herder run` without any configured network.

use std::fmt::Write as _;
use std::io;

use secrecy::{ExposeSecret as _, SecretString};

use super::{Options, Server, StartError};
use crate::chat::irc::Connector;
use crate::config::{AccessRules, Config, EMBEDDED_NETWORK, IrcNetwork, Subject, Tls};
use crate::core::id::NetworkName;

/// The account of whoever has the password.
pub const OWNER: &str = "owner";

/// The usual port of IRC without TLS.
pub const PORT: u16 = 6667;

/// Ports after the wanted one that are tried when it is taken: a few other servers, not all that the machine has.
const MORE_PORTS: u16 = 20;

/// Characters of a password: none that look alike, none that a shell or a client would take for its own.
const PASSWORD_ALPHABET: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz2345678";

/// Five bits each: 80 bits cannot be guessed at a few tries per second.
const PASSWORD_LENGTH: usize = 16;

/// The server and herder's own network on it.
#[derive(Debug)]
pub struct Home {
    /// The server; herder ends with it, and it with herder.
    pub server: Server,
    /// What herder's IRC side is told: channels, nick. Its address is never connected to, see [`Home::connector`].
    pub network: IrcNetwork,
    accounts: Vec<(String, SecretString)>,
    nick: String,
}

/// Why it could not be started.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The server could not.
    #[error(transparent)]
    Server(#[from] StartError),
    /// The system gives no randomness.
    #[error("cannot draw a password: {0}")]
    Random(getrandom::Error),
}

impl Home {
    /// Starts the server that a configuration without networks means, and adds it to the configuration: with an account
    /// for everybody that `[access]` names there, or for an owner without any role. `None`: there are networks.
    ///
    /// # Errors
    /// When no port can be had, or no password drawn.
    pub async fn of(config: &mut Config) -> Result<Option<Self>, HomeError> {
        if !config.embedded {
            return Ok(None);
        }
        let access = &config.access;
        let named = access.admins.iter().chain(&access.operators).chain(&access.viewers);
        let mut accounts: Vec<&str> = named
            .filter_map(|subject| match subject {
                Subject::IrcAccount { network, account } if network.as_str() == EMBEDDED_NETWORK => {
                    Some(account.as_str())
                }
                Subject::IrcAccount { .. }
                | Subject::IrcMask { .. }
                | Subject::DiscordUser(_)
                | Subject::DiscordRole(_)
                | Subject::Everyone => None,
            })
            .collect();
        accounts.sort_unstable();
        accounts.dedup();
        if accounts.is_empty() {
            accounts.push(OWNER);
        }
        let channels: Vec<String> = config.agents.iter().map(|agent| format!("#{}", agent.name)).collect();
        let home = Self::start(&config.name, PORT, &channels, &accounts).await?;
        config.secrets.extend(home.accounts.iter().map(|(_, password)| password.clone()));
        config.irc.push(home.network.clone());
        Ok(Some(home))
    }

    /// Starts the server for a bot of this nick, with these accounts; 0 is any port, and a port that is taken gives the
    /// next one.
    ///
    /// # Errors
    /// When no port can be had, or no password drawn.
    pub async fn start(
        nick: &str,
        port: u16,
        channels: &[String],
        accounts: &[&str],
    ) -> Result<Self, HomeError> {
        let drawn = |account: &&str| Ok(((*account).to_owned(), draw_password()?));
        let accounts: Vec<(String, SecretString)> =
            accounts.iter().map(drawn).collect::<Result<_, _>>().map_err(HomeError::Random)?;
        let control = format!("#{nick}");
        let all: Vec<&str> =
            [&control, "#alerts", "#work"].into_iter().chain(channels.iter().map(String::as_str)).collect();
        let server = Server::start(Options {
            port,
            more_ports: if port == 0 { 0 } else { MORE_PORTS },
            network: nick.to_owned(),
            bot_nick: nick.to_owned(),
            bot_account: nick.to_owned(),
            accounts: accounts.clone(),
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
        Ok(Self { server, network, accounts, nick: nick.to_owned() })
    }

    /// herder's own way in: an in-memory stream, known by herder's account.
    #[must_use]
    pub fn connector(&self) -> Connector {
        let (connector, account) = (self.server.connector(), self.nick.clone());
        Connector::factory(move || io::Result::Ok(connector.connect(&account)))
    }

    /// Whoever has the password of [`OWNER`] may do everything.
    #[must_use]
    pub fn access(&self) -> AccessRules {
        let owner = Subject::IrcAccount { network: self.network.name.clone(), account: OWNER.to_owned() };
        AccessRules { admins: vec![owner], ..AccessRules::default() }
    }

    /// The accounts with their passwords, to be shown to whoever started herder.
    #[must_use]
    pub fn accounts(&self) -> &[(String, SecretString)] {
        &self.accounts
    }

    /// How to join with irssi and with WeeChat, ready to be typed.
    #[must_use]
    pub fn how_to_join(&self) -> String {
        let (port, nick, control) = (self.network.port, &self.nick, &self.network.control_channel);
        let mut text = String::new();
        for (account, password) in &self.accounts {
            let password = password.expose_secret();
            let you = if account == OWNER { "you" } else { account };
            let _ = write!(
                text,
                "  irssi -c 127.0.0.1 -p {port} -n {you} -w {password}      then /join {control}\n\
                 \x20 weechat -r '/server add {nick} 127.0.0.1/{port} -notls -nicks={you} -password={password} \
                 -autojoin={control}' -r '/connect {nick}'\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_password_is_drawn_anew_and_says_who_the_owner_is() {
        let start = || Home::start("herder", 0, &[], &[OWNER, "ann"]);
        let (one, two) = (start().await.unwrap(), start().await.unwrap());
        let shown = one.accounts()[0].1.expose_secret();
        assert_eq!(shown.len(), PASSWORD_LENGTH);
        assert_ne!(shown, two.accounts()[0].1.expose_secret());
        assert_ne!(shown, one.accounts()[1].1.expose_secret());
        assert!(one.how_to_join().contains(shown));
        assert_ne!(one.network.port, two.network.port);
    }
}
