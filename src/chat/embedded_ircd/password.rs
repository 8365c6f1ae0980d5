//! Digests of passwords.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The SHA-256 of a password, in hexadecimal digits. A leaked digest is useless, since a random password cannot be
/// found by trying; and a comparison's duration does not tell how much of a wrong password is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    /// Computes the digest of a password.
    #[must_use]
    pub fn of(password: &str) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, password.as_bytes());
        Self(digest.as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}
