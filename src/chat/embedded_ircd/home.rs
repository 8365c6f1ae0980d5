//! The embedded server as herder's own home: one owner with a random password, herder's way in, and how people join.
//!
//! `herder demo` uses it, and a `herder run` without any configured network.

use std::fmt::Write as _;
use std::io;

use secrecy::{ExposeSecret as _, SecretString};

use super::{Options, Server, StartError};
use crate::chat::irc::Connector;
use crate::config::{AccessRules, EMBEDDED_NETWORK, IrcNetwork, Subject, Tls};
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
    password: SecretString,
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
    /// Starts the server for a bot of this nick; 0 is any port, and a port that is taken gives the next one.
    ///
    /// # Errors
    /// When no port can be had, or no password drawn.
    pub async fn start(nick: &str, port: u16, channels: &[String]) -> Result<Self, HomeError> {
        let password = draw_password().map_err(HomeError::Random)?;
        let control = format!("#{nick}");
        let all: Vec<&str> =
            [&control, "#alerts", "#work"].into_iter().chain(channels.iter().map(String::as_str)).collect();
        let server = Server::start(Options {
            port,
            more_ports: if port == 0 { 0 } else { MORE_PORTS },
            network: nick.to_owned(),
            bot_nick: nick.to_owned(),
            bot_account: nick.to_owned(),
            accounts: vec![(OWNER.to_owned(), password.clone())],
            guests: false,
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
        Ok(Self { server, network, password, nick: nick.to_owned() })
    }

    /// herder's own way in: an in-memory stream, known by herder's account.
    #[must_use]
    pub fn connector(&self) -> Connector {
        let (connector, account) = (self.server.connector(), self.nick.clone());
        Connector::factory(move || io::Result::Ok(connector.connect(&account)))
    }

    /// The owner may do everything.
    #[must_use]
    pub fn access(&self) -> AccessRules {
        let owner = Subject::IrcAccount { network: self.network.name.clone(), account: OWNER.to_owned() };
        AccessRules { admins: vec![owner], ..AccessRules::default() }
    }

    /// The password, to be shown to whoever started herder.
    #[must_use]
    pub fn password(&self) -> &SecretString {
        &self.password
    }

    /// How to join with irssi and with WeeChat, ready to be typed.
    #[must_use]
    pub fn how_to_join(&self) -> String {
        let (port, password) = (self.network.port, self.password.expose_secret());
        let control = &self.network.control_channel;
        let mut text = String::new();
        let _ =
            writeln!(text, "  irssi -c 127.0.0.1 -p {port} -n you -w {password}      then /join {control}");
        let _ = writeln!(
            text,
            "  weechat -r '/server add {} 127.0.0.1/{port} -notls -nicks=you -password={password} -autojoin={control}' -r '/connect {}'",
            self.nick, self.nick
        );
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
        let (one, two) =
            (Home::start("herder", 0, &[]).await.unwrap(), Home::start("herder", 0, &[]).await.unwrap());
        let shown = one.password().expose_secret();
        assert_eq!(shown.len(), PASSWORD_LENGTH);
        assert_ne!(shown, two.password().expose_secret());
        assert!(one.how_to_join().contains(shown));
        assert_ne!(one.network.port, two.network.port);
    }
}
