//! `[[irc]]`: the IRC networks.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::core::id::NetworkName;

use super::section::{At, Section};
use super::{IrcNetwork, Sasl, Tls, validate};
use crate::core::link::{DISCORD_NETWORK, EMBEDDED_NETWORK};

/// Reserved network names: authors that are no networks have them in the audit trail, where a network of that name
/// could pass for them.
const RESERVED: [&str; 7] =
    ["agent", "local", "console", "http", "herder", EMBEDDED_NETWORK, DISCORD_NETWORK];

/// Maximum length of a configured nick, in bytes. Servers may cut it further, which the link handles.
const NICK_MAX: usize = 30;

/// Maximum length of a channel's name that every server accepts, in bytes.
const CHANNEL_MAX: usize = 50;

/// The usual IRC ports: with TLS, and without.
const PORTS: (u16, u16) = (6697, 6667);

/// Parses every `[[irc]]` section, each an IRC network.
pub(super) fn networks(top: &Section<'_>, bot: &str) -> Vec<IrcNetwork> {
    let sections = top.tables("irc");
    let networks: Vec<IrcNetwork> = sections.iter().map(|section| network(section, bot)).collect();
    let names = networks.iter().map(|network| network.name.as_str());
    validate::duplicates(names.zip(&sections).filter(|(name, _)| !name.is_empty()), "the network");
    for section in sections {
        section.finish();
    }
    networks
}

fn network(section: &Section<'_>, bot: &str) -> IrcNetwork {
    let tls = section.flag("tls").unwrap_or(true);
    let usual = if tls { PORTS.0 } else { PORTS.1 };
    let port = section.number("port", 1..=65535).and_then(|port| u16::try_from(port).ok()).unwrap_or(usual);
    let server = server(section);
    let sasl = section.table("sasl").and_then(sasl);
    let server_password = section.secret("server_password");
    let nickserv_password = section.secret("nickserv_password");
    let secret_in_clear =
        server_password.is_some() || nickserv_password.is_some() || matches!(sasl, Some(Sasl::Plain { .. }));
    if !tls && secret_in_clear && !is_loopback(&server) {
        section.warn("tls", "the password crosses the network in the clear; set tls = true");
    }
    if !tls && matches!(sasl, Some(Sasl::External { .. })) {
        section
            .problem("sasl", "a client certificate needs TLS; set tls = true, or use mechanism = \"plain\"");
    }
    let network = IrcNetwork {
        name: name(section),
        tls: protection(section, tls),
        server,
        port,
        nick: nick(section, bot),
        server_password,
        sasl,
        nickserv_password,
        alerts_channel: channel(section, "alerts_channel", "#alerts"),
        work_channel: channel(section, "work_channel", "#work"),
        control_channel: channel(section, "control_channel", "#herder"),
        bots: bots(section),
    };
    let own = [&network.alerts_channel, &network.work_channel, &network.control_channel];
    let different: BTreeSet<String> = own.iter().map(|name| name.to_ascii_lowercase()).collect();
    if different.len() < own.len() {
        section
            .problem("", "alerts_channel, work_channel and control_channel must be three different channels");
    }
    network
}

fn is_loopback(server: &str) -> bool {
    server == "localhost" || server.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn name(section: &Section<'_>) -> NetworkName {
    let Some(At { value, .. }) = section.filled("name") else {
        section.problem("name", "the network needs a name, e.g. name = \"libera\"");
        return NetworkName::default();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !value.chars().all(plain) || value.len() > 30 {
        section.problem(
            "name",
            format!("\"{value}\" cannot name a network; use up to 30 letters, digits, - _ or ."),
        );
    } else if RESERVED.contains(&value.as_str()) {
        section.problem("name", format!("\"{value}\" cannot name a network: herder uses that word itself"));
    }
    NetworkName(value)
}

fn server(section: &Section<'_>) -> String {
    let Some(At { value, .. }) = section.filled("server") else {
        section.problem("server", "the network needs a server, e.g. server = \"irc.libera.chat\"");
        return String::new();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if value.contains("://") || !value.chars().all(plain) {
        section.problem(
            "server",
            format!("\"{value}\" is not a host name or address; write it bare, e.g. \"irc.libera.chat\", and the port in port"),
        );
    } else if value.contains(':') && value.parse::<std::net::Ipv6Addr>().is_err() {
        section.problem("server", format!("\"{value}\" has a port in it; write the port in port"));
    }
    value
}

fn nick(section: &Section<'_>, bot: &str) -> String {
    let nick = section.filled("nick").map_or_else(|| bot.to_owned(), |nick| nick.value);
    if let Err(why) = check_nick(&nick) {
        section.problem("nick", why);
    }
    nick
}

/// Checks that every IRC server accepts a text as a nick.
pub(super) fn check_nick(nick: &str) -> Result<(), String> {
    let special = |c: char| "[]\\`_^{|}".contains(c);
    let first = |c: char| c.is_ascii_alphabetic() || special(c);
    let inner = |c: char| first(c) || c.is_ascii_digit() || c == '-';
    if nick.starts_with(first) && nick.chars().all(inner) && nick.len() <= NICK_MAX {
        return Ok(());
    }
    Err(format!(
        "\"{nick}\" cannot be a nick; use up to {NICK_MAX} letters, digits and - _ [ ] {{ }} \\ | ^ `, not starting with a digit or -"
    ))
}

fn channel(section: &Section<'_>, key: &'static str, default: &str) -> String {
    let Some(At { value, .. }) = section.text(key) else { return default.to_owned() };
    let inner = |c: char| !c.is_control() && !matches!(c, ' ' | ',' | ':');
    let named = value.strip_prefix('#').is_some_and(|name| !name.is_empty());
    if !named || !value.chars().all(inner) || value.len() > CHANNEL_MAX {
        section.problem(
            key,
            format!("\"{value}\" cannot be a channel; write # and up to {} characters without space, comma and colon, e.g. \"{default}\"", CHANNEL_MAX - 1),
        );
    }
    value
}

fn bots(section: &Section<'_>) -> Vec<String> {
    let bots = section.texts("bots").unwrap_or_default();
    for bot in &bots {
        if let Err(why) = check_nick(&bot.value) {
            section.problem_at(bot.line, "bots", why);
        }
    }
    bots.into_iter().map(|bot| bot.value).collect()
}

fn protection(section: &Section<'_>, tls: bool) -> Tls {
    let ca = section.filled("tls_ca");
    let fingerprint = section.filled("tls_fingerprint");
    if !tls {
        for (key, given) in [("tls_ca", ca.is_some()), ("tls_fingerprint", fingerprint.is_some())] {
            if given {
                section.problem(key, "this means nothing with tls = false; set tls = true or take it out");
            }
        }
        return Tls::Off;
    }
    match (ca, fingerprint) {
        (None, None) => Tls::SystemRoots,
        (Some(ca), None) => Tls::CaFile(pem(section, "tls_ca", &ca.value)),
        (None, Some(text)) => read_fingerprint(&text.value).map_or_else(
            || {
                section.problem(
                    "tls_fingerprint",
                    "this is not a SHA-256 fingerprint; write its 64 hexadecimal digits, colons are fine (openssl x509 -fingerprint -sha256)",
                );
                Tls::SystemRoots
            },
            Tls::Fingerprint,
        ),
        (Some(_), Some(_)) => {
            section.problem("tls_fingerprint", "with a fingerprint no authority is asked; take out tls_ca or this");
            Tls::SystemRoots
        }
    }
}

fn read_fingerprint(text: &str) -> Option<[u8; 32]> {
    let digits: String = text.chars().filter(|c| !matches!(c, ':' | ' ')).collect();
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Returns the path of a PEM file, and checks the file now, because a link would find a mistake only when it first
/// connects.
fn pem(section: &Section<'_>, key: &'static str, name: &str) -> PathBuf {
    let path = section.path(name);
    match fs::read(&path) {
        Ok(bytes) if bytes.windows(11).any(|part| part == b"-----BEGIN ") => {}
        Ok(_) => section.problem(key, format!("{} has no PEM block (-----BEGIN …) in it", path.display())),
        Err(error) => section.problem(key, format!("{} cannot be read: {error}", path.display())),
    }
    path
}

fn sasl(section: Section<'_>) -> Option<Sasl> {
    let external = section.choice("mechanism", &[("plain", false), ("external", true)]);
    let account = section.filled("account");
    let password = section.secret("password");
    let certificate = section.filled("certificate");
    let key = section.filled("key");
    let read = match external.unwrap_or(certificate.is_some()) {
        false => plain(&section, account, password),
        true => {
            if password.is_some() {
                section.problem("password", "mechanism external takes no password; take it out");
            }
            match (certificate, key) {
                (Some(certificate), Some(key)) => Some(Sasl::External {
                    certificate: pem(&section, "certificate", &certificate.value),
                    key: pem(&section, "key", &key.value),
                }),
                _ => {
                    section.problem(
                        "",
                        "mechanism external needs certificate and key, each the path of a PEM file",
                    );
                    None
                }
            }
        }
    };
    section.finish();
    read
}

fn plain(section: &Section<'_>, account: Option<At<String>>, password: Option<SecretString>) -> Option<Sasl> {
    let Some(account) = account else {
        section.problem("account", "mechanism plain needs the services account to log in as");
        return None;
    };
    if account.value.contains('\0') {
        section.problem("account", "an account has no NUL in it");
    }
    // An unreadable password has been reported already.
    if password.is_none() && !section.has("password") {
        section.problem(
            "password",
            "mechanism plain needs a password: { env = \"NAME\" } or { file = \"path\" }",
        );
    }
    Some(Sasl::Plain { account: account.value, password: password? })
}
