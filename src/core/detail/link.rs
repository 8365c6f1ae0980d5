//! Reasons why an IRC network cannot be reached or refuses.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Detail, Own, brief};

/// A reason of a link to an IRC network. Every variant has a message `link-…` of the same name in `locales/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]
pub enum LinkReason {
    // ── on the way there ──
    /// The server's name does not exist.
    NotFound { server: String },
    /// The server's name has no address.
    NoAddress { server: String },
    /// The connection was refused or blocked.
    NotConnected { server: String },
    /// The connection was not made in time.
    NotAnswered { server: String, within: Duration },
    /// The server's name cannot be the name in a certificate.
    NoTlsName { server: String },
    /// The TLS handshake failed.
    TlsFailed { server: String },
    /// The server's certificate is not trusted.
    Certificate { server: String, why: Distrust, fingerprint: String },
    /// TLS cannot be set up on herder's side.
    TlsNotSetUp,

    // ── before it lets us in ──
    /// The server did not let herder register within this time.
    NotLetIn { within: Duration },
    /// Services did not answer the login in time.
    LoginNotAnswered { within: Duration },
    /// Services seem to be away.
    NoLoginNow,
    /// The server let herder in without a login to services, so that no person could be identified.
    LetInWithoutLogin,
    /// Services refused the login; `offered` names the mechanisms that they accept.
    LoginRefused { offered: Option<String> },
    /// Services ended the login.
    LoginBrokenOff,
    /// The server requires its password, or refused it.
    ServerPassword,
    /// The server bans herder's name or address.
    Banned,
    /// The server does not confirm that the user named NickServ is a service.
    NoServices,
    /// The server bans herder, which tries again after this time.
    Barred { again: Duration },
    /// Every configured nick is taken or not allowed.
    NoNick,

    // ── once it was up ──
    /// The server closed the connection without a reason.
    Closed,
    /// The server closed the connection with a reason.
    EndedByServer,
    /// The connection broke, as reported by the operating system.
    Broke,
    /// The server does not read what herder sends.
    StoppedReading,
    /// The server has sent nothing for too long.
    FellSilent,
    /// The server takes lines, but has not answered them for the time `waited`.
    LinesNotAnswered { waited: Duration },
    /// The bot was kicked from a channel.
    Kicked,
}

/// Reason why a certificate is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distrust {
    /// The certificate was not signed by a trusted authority.
    Issuer,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    Early,
    /// The certificate is for another server.
    Name,
    /// The certificate is not the one that the configuration pins.
    Other,
    /// The certificate is not trusted for another reason.
    Invalid,
}

impl Distrust {
    /// Returns the key by which the texts of the locales select a wording.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Issuer => "issuer",
            Self::Expired => "expired",
            Self::Early => "early",
            Self::Name => "name",
            Self::Other => "other",
            Self::Invalid => "invalid",
        }
    }
}

impl LinkReason {
    /// Returns a detail with this reason, followed by text of another program.
    #[must_use]
    pub fn with(self, said: impl Into<String>) -> Detail {
        Own::Link(self).with(said)
    }

    /// Returns the text fields of the reason, which may come from any program and so are bounded and redacted.
    pub(super) fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::NotFound { server: text }
            | Self::NoAddress { server: text }
            | Self::NotConnected { server: text }
            | Self::NotAnswered { server: text, .. }
            | Self::NoTlsName { server: text }
            | Self::TlsFailed { server: text }
            | Self::Certificate { server: text, .. }
            | Self::LoginRefused { offered: Some(text) } => vec![text],
            Self::TlsNotSetUp
            | Self::NotLetIn { .. }
            | Self::LoginNotAnswered { .. }
            | Self::NoLoginNow
            | Self::LetInWithoutLogin
            | Self::LoginRefused { offered: None }
            | Self::LoginBrokenOff
            | Self::ServerPassword
            | Self::Banned
            | Self::Barred { .. }
            | Self::NoServices
            | Self::NoNick
            | Self::Closed
            | Self::EndedByServer
            | Self::Broke
            | Self::StoppedReading
            | Self::FellSilent
            | Self::LinesNotAnswered { .. }
            | Self::Kicked => Vec::new(),
        }
    }
}

/// The wording of the English locale; a test compares the two.
impl fmt::Display for LinkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { server } => write!(f, "cannot find {server}"),
            Self::NoAddress { server } => write!(f, "{server} has no address"),
            Self::NotConnected { server } => write!(f, "cannot connect to {server}"),
            Self::NotAnswered { server, within } => {
                write!(f, "{server} did not answer within {}", brief(*within))
            }
            Self::NoTlsName { server } => write!(f, "\"{server}\" cannot be a TLS server's name"),
            Self::TlsFailed { server } => write!(f, "TLS with {server} failed"),
            Self::Certificate { server, why, fingerprint } => {
                let why = match why {
                    Distrust::Issuer => "is self-signed or of an unknown authority",
                    Distrust::Expired => "has expired",
                    Distrust::Early => "is not valid yet",
                    Distrust::Name => "is for another name",
                    Distrust::Other => "is not the one of tls_fingerprint",
                    Distrust::Invalid => "is not valid",
                };
                write!(
                    f,
                    "the certificate of {server} {why} (SHA-256 {fingerprint}); if it is the right one, set tls_fingerprint to that, or tls_ca to a file with its authority"
                )
            }
            Self::TlsNotSetUp => f.write_str("TLS cannot be set up"),
            Self::NotLetIn { within } => write!(f, "the server did not let us in within {}", brief(*within)),
            Self::LoginNotAnswered { within } => {
                write!(f, "the services did not answer the SASL login within {}", brief(*within))
            }
            Self::NoLoginNow => {
                f.write_str("the server offers no SASL at the moment; its services may be away")
            }
            Self::LetInWithoutLogin => {
                f.write_str("the server let us in without the login that is configured")
            }
            Self::LoginRefused { offered: None } => {
                f.write_str("the services refused the SASL login; check account, password and certificate")
            }
            Self::LoginRefused { offered: Some(offered) } => write!(
                f,
                "the services refused the SASL login (the server offers {offered}); check account, password and certificate"
            ),
            Self::LoginBrokenOff => f.write_str("the SASL login was broken off"),
            Self::ServerPassword => f.write_str("the server's password is wrong or missing"),
            Self::Banned => f.write_str("banned"),
            Self::NoServices => f.write_str("the server does not say that it is services"),
            Self::Barred { again } => write!(f, "banned; the next attempt is in {}", brief(*again)),
            Self::NoNick => f.write_str("no nick that the server accepts is free"),
            Self::Closed => f.write_str("the server closed the connection"),
            Self::EndedByServer => f.write_str("the server ended the link"),
            Self::Broke => f.write_str("the connection broke"),
            Self::StoppedReading => f.write_str("the server stopped reading"),
            Self::FellSilent => f.write_str("the server fell silent"),
            Self::LinesNotAnswered { waited } => {
                write!(f, "the server took lines and did not answer for {}", brief(*waited))
            }
            Self::Kicked => f.write_str("kicked"),
        }
    }
}
