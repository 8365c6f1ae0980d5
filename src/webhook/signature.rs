//! Signatures by Standard Webhooks, so that a receiver can verify that an event is from herder.
//!
//! A signature is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64. The timestamp is that of the attempt,
//! so that a recorded request cannot be replayed later; the id is that of the event, and identifies a retry.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

use crate::core::time::Timestamp;

/// Optional prefix of a webhook's secret in the configuration, as in Standard Webhooks.
const PREFIX: &str = "whsec_";

/// Minimum length of a key, in bytes (Standard Webhooks, "Signature scheme").
const KEY_MIN: usize = 24;
/// Maximum length of a key, in bytes, see [`KEY_MIN`].
const KEY_MAX: usize = 64;

/// The secret key with which requests to a webhook are signed (HMAC-SHA256).
#[derive(Clone)]
pub struct SigningKey(hmac::Key);

/// The reason why a webhook's configured secret is invalid. It does not contain the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The secret is not base64.
    #[error(
        "the secret is not base64, as Standard Webhooks have it; make one with: echo whsec_$(openssl rand -base64 32)"
    )]
    Encoding,
    /// The decoded secret is too short or too long; the field is its length in bytes.
    #[error(
        "the secret has {0} bytes, and must have {KEY_MIN} to {KEY_MAX}; make one with: echo whsec_$(openssl rand -base64 32)"
    )]
    Length(usize),
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

impl PartialEq for SigningKey {
    /// Compares two keys by the signature that each makes of an empty text, because a key cannot be read back.
    fn eq(&self, other: &Self) -> bool {
        hmac::sign(&self.0, b"").as_ref() == hmac::sign(&other.0, b"").as_ref()
    }
}

impl SigningKey {
    /// Parses a webhook's secret: base64, with or without the prefix `whsec_`.
    ///
    /// # Errors
    /// It is not base64, or has a wrong length.
    pub fn new(secret: &str) -> Result<Self, SecretError> {
        let secret = secret.trim();
        let key = STANDARD
            .decode(secret.strip_prefix(PREFIX).unwrap_or(secret))
            .map_err(|_| SecretError::Encoding)?;
        if !(KEY_MIN..=KEY_MAX).contains(&key.len()) {
            return Err(SecretError::Length(key.len()));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key)))
    }

    /// Returns the Standard Webhooks headers (id, timestamp, signature) for a request with this event id and body that
    /// is sent at `now`.
    #[must_use]
    pub fn headers(&self, id: &str, now: Timestamp, body: &[u8]) -> Vec<(&'static str, String)> {
        let seconds = now.as_millis().div_euclid(1000);
        let mut context = hmac::Context::with_key(&self.0);
        context.update(format!("{id}.{seconds}.").as_bytes());
        context.update(body);
        let signature = STANDARD.encode(context.sign());
        vec![
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", format!("v1,{signature}")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_signed_as_it_says() {
        let key = SigningKey::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("it is one");
        let now = Timestamp::from_seconds(1_614_265_330);
        let headers = key.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", now, b"{\"test\": 2432232314}");
        let signature = headers.last().map(|(_, value)| value.as_str());
        assert_eq!(signature, Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn a_secret_that_is_none_is_refused_without_being_repeated() {
        for (secret, error) in [
            ("not base64!", SecretError::Encoding),
            ("whsec_", SecretError::Length(0)),
            ("whsec_c2hvcnQ=", SecretError::Length(5)),
        ] {
            let refused = SigningKey::new(secret).expect_err("it is refused");
            assert_eq!(refused, error);
            assert!(!refused.to_string().contains("c2hvcnQ"));
        }
    }
}
