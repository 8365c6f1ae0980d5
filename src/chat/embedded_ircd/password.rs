//! What the server knows of a password.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// The SHA-256 of a password, in hexadecimal digits. Whoever gets to see it cannot come in with it, as long as the password
/// is a drawn one, which nobody can find by trying; and a comparison takes as long for a wrong one that is almost right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Password(String);

impl Password {
    /// What is known of this password.
    #[must_use]
    pub fn of(password: &str) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, password.as_bytes());
        Self(digest.as_ref().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}
