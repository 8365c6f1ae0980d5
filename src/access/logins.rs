//! Logging in to the page: codes that are given in chat or in a shell, and the sessions that they become.
//!
//! A code is good for 60 s and once ([`CODE_GOOD_FOR`]; a demo's for longer), and known to this herder alone. A session
//! outlives herder: its digest is kept in the journal with the person it belongs to, and their role is asked of
//! [`Access`] at every request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::Access;
use super::digest::{hex, sha256};
use crate::clock;
use crate::core::id::NetworkName;
use crate::core::role::Role;
use crate::core::speech::{Author, Origin};
use crate::core::time::Timestamp;
use crate::journal::{Journal, Memo};

/// The validity of a code.
pub(crate) const CODE_GOOD_FOR: Duration = Duration::from_secs(60);

/// Codes that wait to be used; a person has one or two.
const CODES_MAX: usize = 256;

/// The longest life of a session.
const SESSION_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// The life of an unused one.
const UNUSED_MAX: Duration = Duration::from_secs(24 * 3600);

/// Interval at which the time of the last use is noted.
const NOTED_EVERY: Duration = Duration::from_secs(3600);

/// Sessions at one time; the one that was unused for longest ends for a new one.
const SESSIONS_MAX: usize = 256;

/// Prefix of the keys of sessions, before their digest.
const PREFIX: &str = "http/session/";

/// The owner of a session, as their network vouched for them when they logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Person {
    network: NetworkName,
    nick: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<String>,
    #[serde(default)]
    local: bool,
}

impl Person {
    fn of(author: &Author) -> Self {
        Self {
            network: author.network.clone(),
            nick: author.nick.clone(),
            account: author.account.clone(),
            mask: author.mask.clone(),
            roles: author.roles.clone(),
            local: author.origin == Origin::LocalSocket,
        }
    }

    fn author(&self) -> Author {
        Author {
            network: self.network.clone(),
            nick: self.nick.clone(),
            account: self.account.clone(),
            mask: self.mask.clone(),
            roles: self.roles.clone(),
            origin: if self.local { Origin::LocalSocket } else { Origin::Network },
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    person: Person,
    begun: Timestamp,
    used: Timestamp,
}

impl Kept {
    fn is_over(&self, now: Timestamp) -> bool {
        now.since(self.begun) >= SESSION_MAX || now.since(self.used) >= UNUSED_MAX
    }
}

/// A session that holds.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) author: Author,
    pub(crate) role: Role,
}

#[derive(Debug, Default)]
struct Memory {
    /// Each with its end, by the time since boot, which cannot be set.
    codes: HashMap<String, (Person, Duration)>,
    sessions: HashMap<String, Kept>,
    /// The answer to a session's last command, until it was shown.
    said: HashMap<String, Vec<String>>,
}

/// Codes and sessions. Cheap to clone; all clones are the same.
#[derive(Debug, Clone)]
pub struct Logins {
    memory: Arc<Mutex<Memory>>,
    journal: Journal,
    /// The beginning of links.
    url: Arc<str>,
}

impl Logins {
    /// Reads the sessions of before. Links begin with `url`, which has no final slash.
    pub async fn open(journal: Journal, url: &str) -> Self {
        let reading = journal.clone();
        let read = tokio::task::spawn_blocking(move || reading.memos(PREFIX)).await;
        let memos = match read {
            Ok(Ok(memos)) => memos,
            Ok(Err(reason)) => {
                warn!(%reason, "sessions of the page cannot be read; people log in again");
                Vec::new()
            }
            Err(reason) => {
                warn!(%reason, "sessions of the page cannot be read; people log in again");
                Vec::new()
            }
        };
        let now = clock::now();
        let sessions = memos.into_iter().filter_map(|(key, value)| {
            let kept: Kept = serde_json::from_str(&value).ok()?;
            let digest = key.strip_prefix(PREFIX)?.to_owned();
            (!kept.is_over(now)).then_some((digest, kept))
        });
        let memory = Memory { sessions: sessions.collect(), ..Memory::default() };
        Self { memory: Arc::new(Mutex::new(memory)), journal, url: url.into() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a link that logs `author` in, once within `good_for`. `None`: there is no randomness, or too many codes wait.
    pub(crate) fn offer(&self, author: &Author, good_for: Duration) -> Option<String> {
        let code = random()?;
        let now = clock::since_boot();
        let mut memory = self.memory();
        memory.codes.retain(|_, (_, until)| *until > now);
        if memory.codes.len() >= CODES_MAX {
            return None;
        }
        memory.codes.insert(code.clone(), (Person::of(author), now + good_for));
        drop(memory);
        Some(format!("{}/login/{code}", self.url))
    }

    /// Returns true if a code waits to be used.
    pub(crate) fn is_good(&self, code: &str) -> bool {
        let now = clock::since_boot();
        self.memory().codes.get(code).is_some_and(|(_, until)| *until > now)
    }

    /// Uses a code up. Answers the cookie of the session that it became.
    pub(crate) async fn redeem(&self, code: &str) -> Option<String> {
        let now = clock::now();
        let cookie = random()?;
        let (digest, kept, ended) = {
            let mut memory = self.memory();
            let (person, until) = memory.codes.remove(code)?;
            if until <= clock::since_boot() {
                return None;
            }
            let ended = (memory.sessions.len() >= SESSIONS_MAX)
                .then(|| {
                    memory.sessions.iter().min_by_key(|(_, kept)| kept.used).map(|(digest, _)| digest.clone())
                })
                .flatten();
            if let Some(ended) = &ended {
                memory.sessions.remove(ended);
            }
            let digest = hex(&sha256(cookie.as_bytes()));
            let kept = Kept { person, begun: now, used: now };
            memory.sessions.insert(digest.clone(), kept.clone());
            (digest, kept, ended)
        };
        self.note(&digest, Some(&kept)).await;
        if let Some(ended) = ended {
            self.note(&ended, None).await;
        }
        Some(cookie)
    }

    /// Returns the session of a cookie, if it holds and its person still has a role.
    pub(crate) async fn session(&self, cookie: &str, access: &Access) -> Option<Session> {
        let digest = hex(&sha256(cookie.as_bytes()));
        let now = clock::now();
        let (kept, is_due) = {
            let mut memory = self.memory();
            let kept = memory.sessions.get_mut(&digest)?;
            // After the clock was set back the session lasts its length from now on, and no longer.
            let is_due = now.since(kept.used) >= NOTED_EVERY || kept.used > now;
            kept.begun = kept.begun.min(now);
            let over = kept.is_over(now);
            if is_due && !over {
                kept.used = now;
            }
            (kept.clone(), is_due)
        };
        let author = access.at_present(kept.person.author()).await?;
        let Some(role) = access.role(&author).filter(|_| !kept.is_over(now)) else {
            self.end(cookie).await;
            return None;
        };
        if is_due {
            self.note(&digest, Some(&kept)).await;
        }
        Some(Session { author, role })
    }

    /// Ends a session.
    pub(crate) async fn end(&self, cookie: &str) {
        let digest = hex(&sha256(cookie.as_bytes()));
        let was_there = {
            let mut memory = self.memory();
            memory.said.remove(&digest);
            memory.sessions.remove(&digest).is_some()
        };
        if was_there {
            self.note(&digest, None).await;
        }
    }

    /// Ends all sessions of a person. Answers how many there were.
    pub(crate) async fn revoke(&self, author: &Author) -> usize {
        let person = Person::of(author);
        let is_theirs = |kept: &Kept| {
            let theirs = &kept.person;
            theirs.local == person.local
                && theirs.network == person.network
                && match (&theirs.account, &person.account) {
                    (Some(theirs), Some(account)) => theirs == account,
                    _ => theirs.mask == person.mask,
                }
        };
        let ended: Vec<String> = {
            let mut memory = self.memory();
            let ended = memory.sessions.iter().filter(|(_, kept)| is_theirs(kept));
            let ended: Vec<String> = ended.map(|(digest, _)| digest.clone()).collect();
            memory.sessions.retain(|digest, _| !ended.contains(digest));
            ended
        };
        for digest in &ended {
            self.note(digest, None).await;
        }
        ended.len()
    }

    /// Keeps the answer to a command until the next page shows it.
    pub(crate) fn say(&self, cookie: &str, lines: Vec<String>) {
        self.memory().said.insert(hex(&sha256(cookie.as_bytes())), lines);
    }

    /// Returns the answer to the last command, once.
    pub(crate) fn said(&self, cookie: &str) -> Vec<String> {
        self.memory().said.remove(&hex(&sha256(cookie.as_bytes()))).unwrap_or_default()
    }

    async fn note(&self, digest: &str, kept: Option<&Kept>) {
        let value = kept.and_then(|kept| serde_json::to_string(kept).ok());
        let memo = Memo { key: format!("{PREFIX}{digest}"), value };
        if let Err(reason) = self.journal.remember(vec![memo]).await {
            warn!(%reason, "a session of the page could not be noted; a restart forgets it");
        }
    }
}

/// 256 bits that nobody guesses, in letters and digits.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}
