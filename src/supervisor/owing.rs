//! Replies that a network's adapter gives itself, as for a slash command on Discord. They are posted nowhere else in
//! that place, and are stored until they were given.
//!
//! The reply is on disk with the decision, beside the outbox: it is not posted from there while the adapter gives it.
//! The adapter confirms it with [`Fleet::given`]. A reply found at a start was never given, or herder was killed
//! right afterwards. If its network can be asked by a token, the adapter asks first ([`Fleet::ungiven`]); otherwise
//! it is posted, so that it is given at least once.

use std::sync::PoisonError;

use serde::{Deserialize, Serialize};
use tracing::{info, warn};

use super::fleet::storage_refusal;
use super::shared::Shared;
use super::{AnswerTo, Asked, Fleet, HTTP, posting};
use crate::clock;
use crate::core::id::NetworkName;
use crate::core::notice::{Notice, Refusal};
use crate::core::post::{Body, Post};
use crate::core::time::Timestamp;
use crate::journal::{Batch, CommitError, Heard, Journal, MEMO_MAX, Memo, ReadError};

/// Prefix of the keys of memos about replies that were not given yet; the adapter's own key follows.
const PREFIX: &str = "answer/";

/// The memo about a reply that is not given yet: the post that would carry it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Noted {
    #[serde(flatten)]
    post: Post,
    /// Token by which the network can be asked whether the reply was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// The reply to an HTTP command with a key, stored in the transaction of its decision, so that a repetition gets the
/// same reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replied {
    /// Time at which the command was decided.
    pub at: Timestamp,
    /// The reply itself.
    pub reply: Notice,
}

/// A reply that an earlier herder had not given when it ended, or not for certain.
#[derive(Debug, Clone)]
pub struct Ungiven {
    /// Key under which the reply is stored.
    pub key: String,
    /// Post that takes its place if it was not given.
    pub post: Post,
    /// Token by which the network can be asked whether it was given.
    pub token: String,
}

/// Adds the reply to the posts of its decision, if it is posted; otherwise returns the memo by which it is given later
/// if herder ends first.
pub(super) fn answered(asked: &Asked, reply: &Notice, posts: &mut Vec<Post>, at: Timestamp) -> Option<Memo> {
    if let Some(memo) = replied(asked, reply, at) {
        return Some(memo);
    }
    let answer = asked.answer.as_ref()?;
    if answer.posted {
        posts.push(posting::answer(answer, asked.message.clone(), reply.clone(), at));
    }
    memo(answer, reply, posts, at)
}

/// Returns the memo with the reply to an HTTP command that has a key ([`Replied`]); `None` for any other command.
pub(super) fn replied(asked: &Asked, reply: &Notice, at: Timestamp) -> Option<Memo> {
    let message = asked.message.as_deref().filter(|_| asked.is_of_http())?;
    let value = |reply: &Notice| serde_json::to_string(&Replied { at, reply: reply.clone() }).ok();
    let fits = value(reply).filter(|value| value.len() <= MEMO_MAX);
    let value = fits.or_else(|| value(&Notice::AnswerTooLong))?;
    Some(Memo { key: format!("{}{message}", Heard::prefix(&NetworkName::from(HTTP))), value: Some(value) })
}

/// Returns the memo about a reply that is not posted; `None` if it needs none, or one of `posts` says the same in that
/// place.
pub(super) fn memo(answer: &AnswerTo, reply: &Notice, posts: &[Post], at: Timestamp) -> Option<Memo> {
    let (key, token) = named(answer.owed_under.as_deref().filter(|_| !answer.posted)?);
    let says = |post: &Post| {
        let here = post.network == answer.network && post.to == answer.to;
        here && matches!(&post.body, Body::Notice(notice) if notice == reply)
    };
    if posts.iter().any(says) {
        return None;
    }
    let noted = |reply: Notice| {
        let post = posting::answer(answer, None, reply, at);
        serde_json::to_string(&Noted { post, token: token.map(str::to_owned) })
    };
    let mut value = noted(reply.clone());
    if let Ok(long) = value.as_ref().map(String::len)
        && long > MEMO_MAX
    {
        warn!(
            key,
            bytes = long,
            "an answer is too long to be owed: if herder ends first it is said that it was done"
        );
        value = noted(Notice::AnswerTooLong);
    }
    match value {
        Ok(value) => Some(Memo { key: noted_as(key), value: Some(value) }),
        Err(reason) => {
            warn!(%reason, "what is owed to somebody cannot be noted");
            None
        }
    }
}

fn noted_as(key: &str) -> String {
    format!("{PREFIX}{key}")
}

/// Splits the stored key of a reply into network and name, and the token behind them.
fn named(owed_under: &str) -> (&str, Option<&str>) {
    let second = owed_under.match_indices('/').nth(1).map(|(at, _)| at);
    second.map_or((owed_under, None), |at| (&owed_under[..at], Some(&owed_under[at + 1..])))
}

/// Returns the replies that an earlier herder did not give, by the keys of their memos; `None` for an unreadable one.
/// Blocks.
pub(super) fn ungiven(journal: &Journal) -> Result<Vec<(String, Option<Owing>)>, ReadError> {
    let noted = journal.memos(PREFIX)?.into_iter().map(|(key, value)| {
        let noted = serde_json::from_str::<Noted>(&value);
        let noted = noted.inspect_err(|reason| warn!(key, %reason, "an answer that is owed cannot be read"));
        (key, noted.ok().map(|Noted { post, token }| (post, token)))
    });
    Ok(noted.collect())
}

/// A reply as a post, and the token by which the network can be asked whether it was given.
pub(super) type Owing = (Post, Option<String>);

/// Posts the replies that an earlier herder did not give. Those that a present network can be asked about are left to
/// its adapter.
pub(super) async fn make_up_for(
    shared: &Shared,
    ungiven: Vec<(String, Option<Owing>)>,
) -> Result<(), CommitError> {
    let (mut memos, mut posts, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for (key, owing) in ungiven {
        match owing {
            Some((post, Some(token))) if shared.posting.has(&post.network) => {
                let key = key.strip_prefix(PREFIX).unwrap_or(&key).to_owned();
                asked.push(Ungiven { key, post, token });
            }
            owing => {
                memos.push(Memo { key, value: None });
                posts.extend(owing.map(|(post, _)| post));
            }
        }
    }
    *shared.ungiven.lock().unwrap_or_else(PoisonError::into_inner) = asked;
    if memos.is_empty() {
        return Ok(());
    }
    info!(answers = posts.len(), "answers that herder owed when it ended are given now");
    shared.journal.commit(Batch { at: clock::now(), memos, posts, ..Batch::default() }).await.map(drop)
}

impl Fleet {
    /// Returns the replies about which `network` can be asked whether they were given; the adapter calls
    /// [`Fleet::given`] for each.
    #[must_use]
    pub fn ungiven(&self, network: &NetworkName) -> Vec<Ungiven> {
        let ungiven = self.shared.ungiven.lock().unwrap_or_else(PoisonError::into_inner);
        ungiven.iter().filter(|it| it.post.network == *network).cloned().collect()
    }

    /// Removes the stored reply with this key: it was given, or cannot be given, and then `instead` is posted.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written: nothing is posted, and a later herder gives the reply again.
    pub async fn given(&self, key: &str, instead: Option<Post>) -> Result<(), Refusal> {
        let (key, _) = named(key);
        let memos = vec![Memo { key: noted_as(key), value: None }];
        let posts = instead.into_iter().collect();
        let batch = Batch { at: clock::now(), memos, posts, ..Batch::default() };
        self.shared.journal.commit(batch).await.map(drop).map_err(storage_refusal)?;
        self.shared.ungiven.lock().unwrap_or_else(PoisonError::into_inner).retain(|it| it.key != key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_behind_the_name_and_an_older_note_has_none() {
        assert_eq!(named("discord/17"), ("discord/17", None));
        assert_eq!(named("discord/17/aW50/x"), ("discord/17", Some("aW50/x")));
        let post = r#"{"id":0,"network":"discord","to":{"channel":"7"},"lane":"urgent","at":5,"body":{"kept":["done"]}}"#;
        let noted: Noted = serde_json::from_str(post).expect("a note of an earlier herder can be read");
        assert_eq!(
            (noted.post.body, noted.token),
            (crate::core::post::Body::Kept(vec!["done".to_owned()]), None)
        );
    }
}
