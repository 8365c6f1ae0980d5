//! Why a network is not to be had.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Detail, Own, brief};

/// A reason of a link's. Every variant has a message of the same name, `link-…`, in `locales/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(
    missing_docs,
    reason = "fields are named after the variables of the locale messages, which document them"
)]
pub enum LinkReason {
    // ── on the way there ──
    /// It has no such name.
    NotFound { server: String },
    /// The name leads nowhere.
    NoAddress { server: String },
    /// Nobody listens there, or nobody lets us through.
    NotConnected { server: String },
    /// Nothing came in so long.
    NotAnswered { server: String, within: Duration },
    /// No name that a certificate could be for.
    NoTlsName { server: String },
    /// The handshake failed.
    TlsFailed { server: String },
    /// Its certificate is not taken.
    Certificate { server: String, why: Distrust, fingerprint: String },
    /// Our own side of TLS cannot be set up.
    TlsNotSetUp,

    // ── before it lets us in ──
    /// It took too long over it.
    NotLetIn { within: Duration },
    /// The services said nothing.
    LoginNotAnswered { within: Duration },
    /// Services are away, as it seems.
    NoLoginNow,
    /// As somebody that nobody may command.
    LetInWithoutLogin,
    /// The services say no, and what they would take.
    LoginRefused { offered: Option<String> },
    /// The services gave it up.
    LoginBrokenOff,
    /// The server's own password.
    ServerPassword,
    /// Nobody of our name, or from here.
    Banned,
    /// The server does not say of whoever is called NickServ that it is services.
    NoServices,
    /// We are banned, and try again.
    Barred { again: Duration },
    /// Every nick that was tried is taken or not allowed.
    NoNick,

    // ── once it was up ──
    /// Without a word.
    Closed,
    /// With these last words.
    EndedByServer,
    /// As the operating system says.
    Broke,
    /// It takes nothing.
    StoppedReading,
    /// It says nothing.
    FellSilent,
    /// It takes what we say and does not answer.
    LinesNotAnswered { waited: Duration },
    /// Out of a channel.
    Kicked,
}

/// Why a certificate is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distrust {
    /// Nobody who is trusted has signed it.
    Issuer,
    /// It was valid once.
    Expired,
    /// It will be valid.
    Early,
    /// It is for another server.
    Name,
    /// Another one is pinned.
    Other,
    /// Anything else.
    Invalid,
}

impl Distrust {
    /// As the locale messages select by it.
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
    /// With what somebody else said of it.
    #[must_use]
    pub fn with(self, said: impl Into<String>) -> Detail {
        Own::Link(self).with(said)
    }

    /// The texts in it, which may be anybody's.
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

/// As the English locale has it; a test compares the two.
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
