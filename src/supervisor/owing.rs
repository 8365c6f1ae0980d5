//! Answers that a network gives by itself, as Discord does to a slash command: what they say is posted nowhere else in that
//! place, so that they are owed until they were given.
//!
//! The answer is on disk with the decision, beside the outbox: nobody sends it from there while somebody brings it. Whoever
//! has brought it says so ([`Fleet::given`]). What is found at a start was never said, or herder was killed right after: it
//! is posted, so that it is said at least once.

use tracing::{info, warn};

use super::fleet::storage_refusal;
use super::{AnswerTo, Asked, Fleet, posting};
use crate::clock;
use crate::core::notice::{Notice, Refusal};
use crate::core::time::Timestamp;
use crate::journal::{Batch, CommitError, Journal, MEMO_MAX, Memo, ReadError};
use crate::outbox::{Body, Post};

/// Answers that were not given yet, under this key and the one of whoever gives them.
const PREFIX: &str = "answer/";

/// Adds the answer to what was decided to its posts, where it is posted. Otherwise answers what is noted of it.
pub(super) fn answered(asked: &Asked, reply: &Notice, posts: &mut Vec<Post>, at: Timestamp) -> Option<Memo> {
    let answer = asked.answer.as_ref()?;
    if answer.posted {
        posts.push(posting::answer(answer, asked.message.clone(), reply.clone(), at));
    }
    memo(answer, reply, posts, at)
}

/// What is noted of an answer that nobody posts; nothing if one of `posts` says it in that place.
pub(super) fn memo(answer: &AnswerTo, reply: &Notice, posts: &[Post], at: Timestamp) -> Option<Memo> {
    let key = answer.owed_under.as_deref().filter(|_| !answer.posted)?;
    let says = |post: &Post| {
        let here = post.network == answer.network && post.to == answer.to;
        here && matches!(&post.body, Body::Notice(notice) if notice == reply)
    };
    if posts.iter().any(says) {
        return None;
    }
    let noted = |reply: Notice| serde_json::to_string(&posting::answer(answer, None, reply, at));
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

/// Answers that an earlier herder did not give, by what they are noted as. Blocks.
pub(super) fn ungiven(journal: &Journal) -> Result<Vec<(String, Option<Post>)>, ReadError> {
    let noted = journal.memos(PREFIX)?.into_iter().map(|(key, value)| {
        let post = serde_json::from_str(&value);
        let post = post.inspect_err(|reason| warn!(key, %reason, "an answer that is owed cannot be read"));
        (key, post.ok())
    });
    Ok(noted.collect())
}

/// Posts what an earlier herder did not give.
pub(super) async fn make_up_for(
    journal: &Journal,
    ungiven: Vec<(String, Option<Post>)>,
) -> Result<(), CommitError> {
    if ungiven.is_empty() {
        return Ok(());
    }
    info!(answers = ungiven.len(), "answers that herder owed when it ended are given now");
    let (mut memos, mut posts) = (Vec::new(), Vec::new());
    for (key, post) in ungiven {
        memos.push(Memo { key, value: None });
        posts.extend(post);
    }
    journal.commit(Batch { at: clock::now(), memos, posts, ..Batch::default() }).await.map(drop)
}

impl Fleet {
    /// The answer that was owed under this key was given, or nobody can give it: `instead` is posted then.
    ///
    /// # Errors
    /// A refusal if the journal cannot be written: nothing is posted, and a later herder gives the answer again.
    pub async fn given(&self, key: &str, instead: Option<Post>) -> Result<(), Refusal> {
        let memos = vec![Memo { key: noted_as(key), value: None }];
        let posts = instead.into_iter().collect();
        let batch = Batch { at: clock::now(), memos, posts, ..Batch::default() };
        self.shared.journal.commit(batch).await.map(drop).map_err(storage_refusal)
    }
}
