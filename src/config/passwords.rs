//! Passwords in addresses of the file, `scheme://user:password@host`: whatever key they stand under, they are redacted in
//! all of herder's output.

use secrecy::SecretString;
use toml::de::{DeTable, DeValue};

/// Minimum length of a user's name that may be a token (`https://token@host`), in bytes.
const TOKEN_MIN: usize = 20;

/// Returns the passwords of all addresses in the texts of a table.
pub(super) fn in_table(table: &DeTable<'_>) -> Vec<SecretString> {
    let mut found = Vec::new();
    table.iter().for_each(|(_, item)| in_value(item.get_ref(), &mut found));
    found
}

fn in_value(value: &DeValue<'_>, found: &mut Vec<SecretString>) {
    match value {
        DeValue::String(text) => found.extend(in_text(text)),
        DeValue::Array(list) => list.iter().for_each(|item| in_value(item.get_ref(), found)),
        DeValue::Table(table) => found.extend(in_table(table)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
    }
}

/// Returns the passwords of all addresses in a text, as they stand there and as they are meant.
pub(super) fn in_text(text: &str) -> Vec<SecretString> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let rest = text.get(at + 3..).unwrap_or_default();
        let end = rest.find(['/', '?', '#', '\\', '"', '\'']).unwrap_or(rest.len());
        let authority = rest.split_at(end).0.split_whitespace().next().unwrap_or_default();
        let Some((login, _)) = authority.rsplit_once('@') else { continue };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let token = Some(user).filter(|user| user.len() >= TOKEN_MIN);
        for secret in token.into_iter().chain(Some(password).filter(|password| !password.is_empty())) {
            found.push(SecretString::from(secret.to_owned()));
            found.extend(decoded(secret).filter(|meant| meant != secret).map(SecretString::from));
        }
    }
    found
}

/// Decodes `%40` and the like.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::config::{section, validate};

    #[test]
    fn passwords_of_addresses_are_found_wherever_they_stand() {
        for (text, wanted) in [
            ("http://ann:hunter22@collector:4318", vec!["hunter22"]),
            ("https://:hunter22@example.org/hook?x#y", vec!["hunter22"]),
            ("socks5h://ann:hu%40nter22@proxy", vec!["hu%40nter22", "hu@nter22"]),
            ("http://ann:p:w:hunter22@proxy", vec!["p:w:hunter22"]),
            (
                "--proxy=http://a:first-one@b --mirror 'https://c:second-one@d'",
                vec!["first-one", "second-one"],
            ),
            ("https://tokentokentokentoken@example.org/x.git", vec!["tokentokentokentoken"]),
            ("ssh://git@example.org/a:b@c", vec![]),
            ("https://example.org/ann:hunter22@host", vec![]),
            ("http://ann:100%@host", vec!["100%"]),
        ] {
            let found = in_text(text);
            let found: Vec<&str> = found.iter().map(|secret| secret.expose_secret()).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
    #[test]
    fn the_redactor_knows_passwords_of_every_key() {
        let around = section::Surroundings {
            folder: Path::new("/tmp"),
            variable: &|name| match name {
                "HOOK" => Some("https://ann:of-the-hook@example.org/".into()),
                "HTTPS_PROXY" => Some("http://ann:of-the-proxy@127.0.0.1:3128".into()),
                _ => None,
            },
        };
        let text = r#"
[telemetry]
otlp = "http://ann:of-otlp@127.0.0.1:4318"
[deadman]
url = { env = "HOOK" }
[[webhook]]
url = "https://ann:of-a-webhook@example.org"
[http]
public_url = "https://ann:of-the-page@example.org"
[[agent]]
name = "a"
runtime = "command"
workspace = "/"
command = ["cat", "--mirror=https://ann:of-a-command@example.org/x"]
env = { BASE_URL = "https://ann:of-the-model@example.org" }
inherit_env = ["PATH", "HTTPS_PROXY"]
"#;
        let read = validate::read(text, "bot.toml", &around).expect("a good file");
        let redactor = read.config.redactor;
        for secret in [
            "of-otlp",
            "of-the-hook",
            "of-the-proxy",
            "of-a-webhook",
            "of-the-page",
            "of-a-command",
            "of-the-model",
        ] {
            assert_eq!(redactor.redact(&format!("says {secret} alone")), "says [redacted] alone");
        }
        assert_eq!(redactor.redact("ann says 127.0.0.1"), "ann says 127.0.0.1");
    }
}
