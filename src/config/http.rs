//! `[http]` and `[[http.token]]`: the listener of the web page and the API.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};

use super::section::Section;
use super::validate;
use crate::core::role::Role;

/// Default address of the listener (`listen`).
const LISTEN: &str = "127.0.0.1:7700";

/// Minimum length of a token's secret, in bytes.
const SECRET_MIN: usize = 16;

/// Maximum length of a token's name, in bytes.
const NAME_MAX: usize = 40;

/// Settings of `[http]`: the listener of the web page and the API.
#[derive(Debug, Clone)]
pub struct Http {
    /// Address that the listener is bound to.
    pub listen: Listen,
    /// Public address of the page, without a final slash, as the prefix of links to it; `None`: the listener's own
    /// address.
    pub public_url: Option<String>,
    /// Host names that requests may use beside the listener's own, in lower case and without a port.
    pub hosts: BTreeSet<String>,
    /// Certificate and key of the listener; `None`: connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// True if a proxy in front encrypts the connections: cookies are `Secure` then.
    pub behind_proxy: bool,
    /// Tokens by which programs may use the API.
    pub tokens: Vec<Token>,
}

impl Http {
    /// Returns settings for a listener on loopback at any free port, without tokens: for people with a link.
    #[must_use]
    pub fn on_loopback() -> Self {
        Self {
            listen: Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
            public_url: None,
            hosts: BTreeSet::new(),
            tls: None,
            behind_proxy: false,
            tokens: Vec::new(),
        }
    }
}

/// A certificate and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Path of the file with the certificate, followed by those of its issuers.
    pub cert: PathBuf,
    /// Path of the file with the private key.
    pub key: PathBuf,
}

/// The address of the listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// The listener accepts TCP connections on this address and port.
    Tcp(SocketAddr),
    /// Path of a Unix socket, for a proxy on the same machine.
    Unix(PathBuf),
}

/// A token by which a program may use the API.
#[derive(Debug, Clone)]
pub struct Token {
    /// Name of the token; the audit trail has it after `http:`.
    pub name: String,
    /// Role that requests with the token have.
    pub role: Role,
    /// The secret that the program sends.
    pub secret: SecretString,
}

/// Parses the file's section `[http]`, the listener for the web page and the API.
pub(super) fn http(section: Section<'_>) -> Http {
    let behind_proxy = section.flag("behind_proxy").unwrap_or(false);
    let tls = tls(&section);
    let listen = listen(&section, behind_proxy || section.has("tls_cert"));
    let public_url = section.filled("public_url").and_then(|text| {
        let url = Url::parse(&text.value).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.filter(|url| url.host_str().is_some() && url.query().is_none());
        if url.is_none() {
            section.problem("public_url", "this is no address; write one like https://herder.example.org");
        }
        url.map(|url| url.as_str().trim_end_matches('/').to_owned())
    });
    let mut hosts: BTreeSet<String> = section
        .texts("hosts")
        .unwrap_or_default()
        .into_iter()
        .map(|host| host.value.to_lowercase())
        .collect();
    let public = public_url.as_deref().and_then(|url| Url::parse(url).ok());
    hosts.extend(public.and_then(|url| Some(url.host_str()?.to_lowercase())));
    let tokens = section.tables("token");
    let read: Vec<(String, Option<Token>)> = tokens.iter().map(token).collect();
    let names = read.iter().map(|(name, _)| name.as_str());
    validate::duplicates(names.zip(&tokens).filter(|(name, _)| !name.is_empty()), "the token");
    for token in tokens {
        token.finish();
    }
    section.finish();
    Http {
        listen,
        public_url,
        hosts,
        tls,
        behind_proxy,
        tokens: read.into_iter().filter_map(|(_, token)| token).collect(),
    }
}

fn tls(section: &Section<'_>) -> Option<TlsFiles> {
    let file = |key: &'static str| section.filled(key).map(|text| section.path(&text.value));
    match (file("tls_cert"), file("tls_key")) {
        (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
        (Some(_), None) => {
            section.problem("tls_cert", "its private key is missing: name the file with tls_key");
            None
        }
        (None, Some(_)) => {
            section.problem("tls_key", "its certificate is missing: name the file with tls_cert");
            None
        }
        (None, None) => None,
    }
}

fn listen(section: &Section<'_>, is_encrypted: bool) -> Listen {
    let text = section.filled("listen").map_or_else(|| LISTEN.to_owned(), |text| text.value);
    if let Some(path) = text.strip_prefix("unix:") {
        return Listen::Unix(section.path(path));
    }
    let Ok(address) = text.parse::<SocketAddr>() else {
        section.problem(
            "listen",
            "this is no address; write one like \"127.0.0.1:7700\" or \"unix:/run/herder/http.sock\"",
        );
        return Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 7700)));
    };
    let is_loopback = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if !is_loopback && !is_encrypted {
        section.problem(
            "listen",
            "other machines can reach this address, and nothing is encrypted: name a certificate with tls_cert and tls_key, \
             listen at 127.0.0.1 behind a proxy that has one, or set behind_proxy = true if one stands between",
        );
    }
    Listen::Tcp(address)
}

fn token(section: &Section<'_>) -> (String, Option<Token>) {
    let name = section.filled("name").map(|name| name.value).unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(fits) {
        section.problem("name", "a token needs a name of letters, digits, - and _, e.g. name = \"grafana\"");
    }
    let roles = [("viewer", Role::Viewer), ("operator", Role::Operator), ("admin", Role::Admin)];
    let role = section.choice("role", &roles);
    if !section.has("role") {
        section.problem("role", "say what it may do: viewer, operator or admin");
    }
    let secret = section.secret("secret");
    if !section.has("secret") {
        section.problem("secret", "its secret is missing, e.g. secret = { file = \"grafana.token\" }");
    }
    if secret.as_ref().is_some_and(|secret| secret.expose_secret().len() < SECRET_MIN) {
        section.problem(
            "secret",
            format!("this is too short: at least {SECRET_MIN} characters, e.g. from openssl rand -hex 32"),
        );
    }
    let token = role.zip(secret).map(|(role, secret)| Token { name: name.clone(), role, secret });
    (name, token)
}
