//! The sender of a request: a program with a token, or a person with a session of the page.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use secrecy::ExposeSecret as _;

use super::App;
use crate::access::digest::{hex, sha256};
use crate::clock;
use crate::config::Http;
use crate::core::id::NetworkName;
use crate::core::link::HTTP_NETWORK;
use crate::core::role::Role;
use crate::core::speech::{Author, Origin};

/// The name of the page's cookie.
pub(super) const COOKIE: &str = "herder";

/// The name of the cookie that keeps a person's language.
pub(super) const LANGUAGE_COOKIE: &str = "herder-language";

/// Failed logins in a minute, of everybody together; more are told to wait. A right secret passes at any time: guesses
/// of others lock nobody out, and none of 256 bits is guessed by trying more of them.
const FAILURES_MAX: usize = 20;

/// A token, by the digest of its secret: whoever measures how long comparing takes learns nothing of it.
#[derive(Debug)]
pub(super) struct Known {
    name: String,
    role: Role,
    digest: [u8; 32],
}

pub(super) fn known(settings: &Http) -> Vec<Known> {
    let tokens = settings.tokens.iter();
    tokens
        .map(|token| Known {
            name: token.name.clone(),
            role: token.role,
            digest: sha256(token.secret.expose_secret().as_bytes()),
        })
        .collect()
}

/// Somebody who was recognised.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// The sender, as [`crate::access`] and the audit trail know them.
    pub(super) author: Author,
    pub(super) role: Role,
    /// Token against forged requests that every form of this session carries; empty for programs, which send no forms.
    pub(super) form: String,
}

/// Why nobody was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// No token and no session was shown.
    Nothing,
    /// The token or cookie that was sent is unknown to herder.
    Wrong,
    /// Too many were wrong in the last minute.
    TooMany,
}

/// Failed logins of the last minute, each by the time since boot, which cannot be set.
#[derive(Debug, Default)]
pub(super) struct FailedLogins(Mutex<Vec<Duration>>);

impl FailedLogins {
    /// Counts a failure, and says what it is answered with.
    pub(super) fn failed(&self) -> Unknown {
        let now = clock::since_boot();
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.retain(|at| now.saturating_sub(*at) < Duration::from_secs(60));
        if failures.len() >= FAILURES_MAX {
            return Unknown::TooMany;
        }
        failures.push(now);
        Unknown::Wrong
    }
}

impl App {
    /// The sender of a request, with their role.
    pub(super) async fn caller(&self, parts: &Parts) -> Result<Caller, Unknown> {
        if let Some(value) = parts.headers.get(header::AUTHORIZATION) {
            let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
            return self.by_token(token.unwrap_or_default().trim());
        }
        let Some(cookie) = cookie(&parts.headers, COOKIE) else { return Err(Unknown::Nothing) };
        let session = self.setup.logins.session(cookie, &self.setup.access).await.ok_or(Unknown::Wrong)?;
        let form = hex(&sha256(format!("form {cookie}").as_bytes()));
        Ok(Caller { author: session.author, role: session.role, form })
    }

    /// Returns the caller of a stream as they are by now; `None`: their session is over. A token holds as long as
    /// herder runs.
    pub(super) async fn still(&self, parts: &Parts, caller: &Caller) -> Option<Caller> {
        if matches!(caller.author.origin, Origin::Token(_)) {
            return Some(caller.clone());
        }
        self.caller(parts).await.ok()
    }

    fn by_token(&self, token: &str) -> Result<Caller, Unknown> {
        let shown = sha256(token.as_bytes());
        let Some(known) = self.tokens.iter().find(|known| known.digest == shown) else {
            return Err(self.failed_logins.failed());
        };
        let author = Author {
            network: NetworkName::from(HTTP_NETWORK),
            nick: known.name.clone(),
            account: None,
            mask: None,
            roles: Vec::new(),
            origin: Origin::Token(known.role),
        };
        Ok(Caller { author, role: known.role, form: String::new() })
    }
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split("; ")).find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Timestamp;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_locks_nobody_out_and_lets_nobody_try_more() {
        clock::simulate(Timestamp::from_seconds(1_772_360_430));
        let failed = FailedLogins::default();
        (0..FAILURES_MAX).for_each(|_| assert_eq!(failed.failed(), Unknown::Wrong));
        for by in [-3 * 3_600_000, 6 * 3_600_000] {
            clock::set(by);
            assert_eq!(failed.failed(), Unknown::TooMany, "set by {by} ms");
        }
        clock::set(-6 * 3_600_000);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(failed.failed(), Unknown::Wrong, "a minute has passed");
    }
}
