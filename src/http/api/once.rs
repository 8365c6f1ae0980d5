//! `Idempotency-Key`: a command that comes again within 24 h is answered as it was the first time, and not carried out.
//!
//! That a command was decided, and what it came to, is on disk with the decision itself ([`Replied`]), so that a herder
//! that is killed right after it knows it. The whole answer takes its place as soon as it is there: of refusals and of
//! commands that only look, which decide nothing, it is all there is.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;
use tracing::{error, warn};

use super::problem::Problem;
use crate::access::digest::{hex, sha256};
use crate::clock;
use crate::commands::dispatch::Reply;
use crate::core::id::NetworkName;
use crate::core::link::HTTP_NETWORK;
use crate::core::time::Timestamp;
use crate::http::Shared;
use crate::http::who::Caller;
use crate::journal::{Heard, Journal, MEMO_MAX, Memo};
use crate::supervisor::Replied;

/// The header.
const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// Said of an answer that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Lifetime of a key.
const KNOWN_FOR: Duration = Duration::from_secs(24 * 3600);

/// Seconds after which keys that cannot be read are worth another try.
const UNREADABLE_RETRY: u32 = 10;

/// The longest key, in bytes.
const KEY_MAX: usize = 255;

/// Keys that are known at one time: three a minute, all day. Each takes at most 6 KB of the journal.
const KEYS_MAX: usize = 4096;

/// Keys that have been used.
#[derive(Debug, Default)]
pub(in crate::http) struct Known {
    keys: OnceCell<Mutex<Keys>>,
    /// Commands are carried out to their end, also if whoever gave one hangs up.
    tasks: TaskTracker,
}

#[derive(Debug, Default)]
struct Keys {
    /// By key: the digest of what was asked, and when.
    known: HashMap<String, (String, Timestamp)>,
    /// Those whose first command is not over yet.
    under_way: HashSet<String>,
}

/// The kept answer to a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    at: Timestamp,
    status: u16,
    /// The answer to a command that was carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    /// Reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// A value as it is found: [`Kept`], [`Replied`], or that a command was accepted and nothing else.
#[derive(Deserialize)]
#[serde(untagged)]
enum Found {
    Kept(Kept),
    Replied(Replied),
    Accepted {},
}

#[derive(Deserialize)]
struct When {
    at: Option<Timestamp>,
}

/// The key of a request.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| !text.is_empty() && text.len() <= KEY_MAX);
    let said = || format!("Idempotency-Key is text of 1 to {KEY_MAX} letters, digits and signs of ASCII");
    text.map(|text| Some(text.to_owned())).ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, said()))
}

/// Carries a command out if it has not been, and answers as then.
pub(super) async fn carry_out(
    app: &Shared,
    caller: &Caller,
    key: &str,
    (command, args): (String, Vec<String>),
) -> Result<Response, Problem> {
    // Keys of one caller are none of another's.
    let who = &caller.author;
    let name = format!("{}\0{}\0{}\0{key}", who.network, who.account.as_deref().unwrap_or(""), who.nick);
    let name = hex(&sha256(name.as_bytes()));
    let asked = serde_json::to_vec(&(&command, &args)).unwrap_or_default();
    let of = hex(&sha256(&asked)[..16]);
    let keys = app.once.keys.get_or_try_init(|| read(&app.setup.journal)).await?;
    let (going, is_known) = begin(app, keys, &name, &of).await?;
    if is_known && let Some(answer) = found(app, &name, &of).await? {
        return Ok(answer);
    }
    let (app, author) = (Arc::clone(app), who.clone());
    let task = app.once.tasks.spawn(async move {
        let app = &going.app;
        let asked = (command.as_str(), args.as_slice());
        let done = app.setup.dispatcher.request_once(&author, memo_key(&name, &of), asked).await;
        match &done {
            Ok(reply) => keep(app, &name, &of, reply).await,
            // A refusal is not remembered: the same sender may be allowed later.
            Err(_) => drop(going.keys().known.remove(&name)),
        }
        done
    });
    let done = task.await.map_err(|reason| {
        error!(%reason, "a command over HTTP failed");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, crate::commands::dispatch::FAULT)
    })?;
    super::done(done).map(IntoResponse::into_response)
}

/// A command that is being carried out.
struct Going {
    app: Shared,
    name: String,
}

impl Going {
    fn keys(&self) -> MutexGuard<'_, Keys> {
        let keys = self.app.once.keys.get().expect("the keys were read before the first command");
        keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.keys().under_way.remove(&self.name);
    }
}

/// The key of a memo, without what is common to all.
fn memo_key(name: &str, of: &str) -> String {
    format!("{name}.{of}")
}

fn prefix() -> String {
    Heard::prefix(&NetworkName::from(HTTP_NETWORK))
}

/// A refusal to carry out what may have been carried out before. The next repeat reads again.
fn unreadable(reason: &dyn std::fmt::Display) -> Problem {
    error!(%reason, "the keys of commands cannot be read; commands with a key are refused");
    let said = "whether this was carried out before cannot be read, so that it was not; send it again";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, said).retry_after(UNREADABLE_RETRY)
}

/// The notes whose keys begin so.
async fn memos(journal: &Journal, prefix: String) -> Result<Vec<(String, String)>, Problem> {
    let memos = journal.reading(move |journal| journal.memos(&prefix)).await;
    memos.map_err(|reason| unreadable(&reason))?.map_err(|reason| unreadable(&reason))
}

/// The keys that an earlier herder knew.
async fn read(journal: &Journal) -> Result<Mutex<Keys>, Problem> {
    let memos = memos(journal, prefix()).await?;
    let now = clock::now();
    let known = memos.into_iter().filter_map(|(key, value)| {
        let (name, of) = key.strip_prefix(&prefix())?.split_once('.')?;
        let at = serde_json::from_str::<When>(&value).ok().and_then(|when| when.at);
        Some((name.to_owned(), (of.to_owned(), at.unwrap_or(now))))
    });
    Ok(Mutex::new(Keys { known: known.collect(), under_way: HashSet::new() }))
}

/// Takes a key, if that can be; whether it was taken before.
async fn begin(app: &Shared, keys: &Mutex<Keys>, name: &str, of: &str) -> Result<(Going, bool), Problem> {
    let now = clock::now();
    let (is_known, over) = {
        let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
        // After the clock was set back a key lasts its length from now on, and no longer.
        keys.known.values_mut().for_each(|(_, at)| *at = (*at).min(now));
        let is_over = |at: Timestamp| now.since(at) >= KNOWN_FOR;
        let known = keys.known.get(name).cloned().filter(|(_, at)| !is_over(*at));
        if known.as_ref().is_some_and(|(known, _)| known != of) {
            let said =
                "this Idempotency-Key was used for another command; a new command has a key of its own";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, said));
        }
        if keys.under_way.contains(name) {
            let said = "the first command with this Idempotency-Key is still being carried out";
            return Err(Problem::new(StatusCode::CONFLICT, said).retry_after(1));
        }
        let over: Vec<(String, String)> = keys
            .known
            .iter()
            .filter(|(_, (_, at))| is_over(*at))
            .map(|(name, (of, _))| (name.clone(), of.clone()))
            .collect();
        for (name, _) in &over {
            keys.known.remove(name);
        }
        if known.is_none() && keys.known.len() >= KEYS_MAX {
            let oldest = keys.known.values().map(|(_, at)| *at).min().unwrap_or(now);
            let wait = KNOWN_FOR.saturating_sub(now.since(oldest)).as_secs().max(1);
            let said = format!("{KEYS_MAX} Idempotency-Keys are known, each for 24 h: no more are taken");
            let wait = u32::try_from(wait).unwrap_or(u32::MAX);
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, said).retry_after(wait));
        }
        let at = known.as_ref().map_or(now, |(_, at)| *at);
        keys.known.insert(name.to_owned(), (of.to_owned(), at));
        keys.under_way.insert(name.to_owned());
        (known.is_some(), over)
    };
    let going = Going { app: Arc::clone(app), name: name.to_owned() };
    let memos = over
        .into_iter()
        .map(|(name, of)| Memo { key: format!("{}{}", prefix(), memo_key(&name, &of)), value: None });
    if let Err(reason) = app.setup.journal.remember(memos.collect()).await {
        warn!(%reason, "keys that are over stay in the journal");
    }
    Ok((going, is_known))
}

/// The answer that was given to a command before. `None`: it was never decided.
async fn found(app: &Shared, name: &str, of: &str) -> Result<Option<Response>, Problem> {
    let key = format!("{}{}", prefix(), memo_key(name, of));
    let Some((_, value)) = memos(&app.setup.journal, key).await?.into_iter().next() else { return Ok(None) };
    let reply = match serde_json::from_str(&value).unwrap_or(Found::Accepted {}) {
        Found::Kept(Kept { detail: Some(detail), .. }) => {
            Reply { ok: false, lines: vec![detail], data: None }
        }
        Found::Kept(kept) => Reply { ok: true, lines: kept.lines.unwrap_or_default(), data: kept.data },
        Found::Replied(replied) => app.setup.dispatcher.reply_of(&replied.reply),
        Found::Accepted {} => {
            let line = "This was accepted before herder ended; its answer is not known any more.";
            Reply { ok: true, lines: vec![line.to_owned()], data: None }
        }
    };
    let mut answer = super::done(Ok(reply)).into_response();
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(Some(answer))
}

/// Keeps an answer for repeats. One that is too long leaves what the decision noted of itself.
async fn keep(app: &Shared, name: &str, of: &str, reply: &Reply) {
    let kept = Kept {
        at: clock::now(),
        status: if reply.ok { StatusCode::OK } else { StatusCode::CONFLICT }.as_u16(),
        lines: reply.ok.then(|| reply.lines.clone()),
        data: reply.data.clone().filter(|_| reply.ok),
        detail: (!reply.ok).then(|| reply.lines.join("\n")),
    };
    let value = serde_json::to_string(&kept).ok().filter(|value| value.len() <= MEMO_MAX);
    let Some(value) = value else { return };
    let memo = Memo { key: format!("{}{}", prefix(), memo_key(name, of)), value: Some(value) };
    if let Err(reason) = app.setup.journal.remember(vec![memo]).await {
        warn!(%reason, "the answer to a command could not be kept");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{DAMAGED, History, Settings};

    #[tokio::test]
    async fn while_keys_cannot_be_read_a_command_with_a_key_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let settings = Settings { ballast: 0, ..Settings::new(dir.path(), History::default()) };
        let journal = Journal::open(&settings).expect("it opens").0;
        assert!(read(&journal).await.is_ok());
        let key = format!("{}{}", prefix(), memo_key("name", "of"));
        let memo = Memo { key: key.clone(), value: Some(DAMAGED.to_owned()) };
        journal.remember(vec![memo]).await.expect("it is written");
        let refused = read(&journal).await.expect_err("the page is damaged").into_response();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.headers().contains_key("retry-after"));
        assert!(memos(&journal, key).await.is_err(), "nor is one answer read");
    }
}
