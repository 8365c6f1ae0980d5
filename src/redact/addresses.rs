//! Passwords in addresses, `scheme://user:password@host`.

use secrecy::SecretString;

/// Minimum length of a password that is redacted wherever it stands, in bytes: a shorter one may be a word of its own, and
/// is redacted in addresses alone.
const PASSWORD_MIN: usize = 8;

/// Minimum length of a user's name that may be a token (`https://token@host`), in bytes.
const TOKEN_MIN: usize = 20;

/// Returns the passwords of all addresses in a text, as they stand there and as they are meant.
pub(crate) fn in_text(text: &str) -> Vec<SecretString> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let rest = text.get(at + 3..).unwrap_or_default();
        let end = rest.find(['/', '?', '#', '\\', '"', '\'']).unwrap_or(rest.len());
        let authority = rest.split_at(end).0.split_whitespace().next().unwrap_or_default();
        let Some((login, _)) = authority.rsplit_once('@') else { continue };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let token = Some(user).filter(|user| user.len() >= TOKEN_MIN);
        // `postgres:postgres` and examples are no secrets, and words of every talk about them.
        let is_secret =
            |it: &&str| it.len() >= PASSWORD_MIN && *it != user && !it.eq_ignore_ascii_case("password");
        for secret in token.into_iter().chain(Some(password).filter(is_secret)) {
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
    use secrecy::ExposeSecret as _;

    use super::*;

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
            ("http://ann:100%-sure@host", vec!["100%-sure"]),
            ("postgres://postgres:postgres@db/x and amqp://guest:guest@mq", vec![]),
            ("an example is https://user:password@host, or ann:pass", vec![]),
        ] {
            let found = in_text(text);
            let found: Vec<&str> = found.iter().map(|secret| secret.expose_secret()).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
