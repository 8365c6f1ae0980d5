//! Suspension of a refused credential: each attempt is a process and a request, and a vendor may lock out a client
//! that keeps asking with an invalid credential.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;

use super::credential::Credential;
use crate::core::verdict::Lapse;

/// Time for which a refused credential is not used again; its owner may correct it at the vendor meanwhile.
const AGAIN: Duration = Duration::from_secs(60 * 60);

/// Identifies a credential, to recognise one that was refused.
#[derive(Debug, Clone)]
pub(super) enum Mark {
    Key(SecretString),
    /// A login file with its size and time of modification: a file that was written since counts as another credential.
    Login(PathBuf, Option<(u64, SystemTime)>),
    None,
}

impl Mark {
    pub(super) fn of(credential: &Credential) -> Self {
        match credential {
            Credential::Key { value, .. } => Self::Key(value.clone()),
            Credential::Login(path) => {
                let found = std::fs::metadata(path);
                let seen = found.and_then(|found| found.modified().map(|at| (found.len(), at)));
                Self::Login(path.clone(), seen.ok())
            }
            Credential::None => Self::None,
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(one), Self::Key(other)) => one.expose_secret() == other.expose_secret(),
            (Self::Login(one, seen), Self::Login(other, now)) => one == other && seen == now,
            (Self::None, Self::None) => true,
            (Self::Key(_) | Self::Login(..) | Self::None, Self::Key(_) | Self::Login(..) | Self::None) => {
                false
            }
        }
    }
}

/// The last credential that the vendor refused, if it was not accepted since.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    last: Option<(Mark, Lapse, Instant)>,
}

impl Refusals {
    /// Returns the failure of the last request if the vendor refused this credential less than `AGAIN` ago, so that
    /// asking again would be useless; else `None`.
    pub(super) fn standing(&self, mark: &Mark, now: Instant) -> Option<&Lapse> {
        let (refused, lapse, at) = self.last.as_ref()?;
        (refused.is(mark) && now.duration_since(*at) < AGAIN).then_some(lapse)
    }

    /// Records the result of a request with this credential: `lapse` is the failure, `None` a success.
    pub(super) fn learn(&mut self, mark: Mark, lapse: Option<&Lapse>, now: Instant) {
        match lapse {
            Some(lapse @ Lapse::LoggedOut { .. }) => self.last = Some((mark, lapse.clone(), now)),
            // These say nothing about the credential.
            Some(Lapse::TimedOut { .. } | Lapse::Busy | Lapse::Missing { .. } | Lapse::Overtaken) => {}
            Some(Lapse::Limited { .. } | Lapse::Failed { .. } | Lapse::Unparsable { .. }) | None => {
                self.last = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Mark {
        Mark::Key(SecretString::from(text))
    }

    #[test]
    fn a_credential_that_was_refused_is_tried_again_after_an_hour() {
        let (mut refusals, start) = (Refusals::default(), Instant::now());
        let refused = Lapse::logged_out("401");
        assert_eq!(refusals.standing(&key("a"), start), None);
        refusals.learn(key("a"), Some(&refused), start);
        let minutes = |minutes: u64| start + Duration::from_secs(60 * minutes);
        assert_eq!(refusals.standing(&key("a"), minutes(59)), Some(&refused));
        assert_eq!(refusals.standing(&key("b"), minutes(1)), None, "another one may be good");
        assert_eq!(refusals.standing(&Mark::None, minutes(1)), None);
        assert_eq!(refusals.standing(&key("a"), minutes(60)), None);
        refusals.learn(key("a"), Some(&Lapse::Busy), minutes(60));
        assert_eq!(refusals.standing(&key("a"), minutes(59)), Some(&refused), "nothing was learned");
        refusals.learn(key("a"), None, minutes(61));
        assert_eq!(refusals.standing(&key("a"), minutes(1)), None, "it is good");
    }

    #[test]
    fn a_login_that_was_written_since_is_another_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let login = Credential::Login(folder.path().join("auth.json"));
        let (absent, again) = (Mark::of(&login), Mark::of(&login));
        assert!(absent.is(&again));
        std::fs::write(folder.path().join("auth.json"), "{}").expect("it is written");
        let there = Mark::of(&login);
        assert!(!absent.is(&there) && there.is(&Mark::of(&login)));
        std::fs::write(folder.path().join("auth.json"), "{\"tokens\":1}").expect("it is written");
        assert!(!there.is(&Mark::of(&login)));
    }
}
