//! Salts of the nonces of this journal and this process, so that Discord recognises repeated messages.

use std::sync::{Arc, OnceLock};

use tracing::warn;

use super::super::Bot;
use super::message;
use crate::journal::Memo;

/// Key in the journal of the salt that tells this journal's messages from others of the same bot.
const SALT: &str = "discord/salt";

/// Returns the salt of this process, for the nonces of posts that are not in the journal: they stay in the queue when
/// an adapter is replaced, and Discord may have them already.
pub(in super::super) fn run_of_process() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| message::run(random()))
}

fn random() -> u64 {
    getrandom::u64().unwrap_or_default()
}

/// Returns the salt of this journal for nonces; it is drawn and stored on first use.
pub(super) async fn salt(bot: &Arc<Bot>) -> String {
    let reading = Arc::clone(bot);
    let read = tokio::task::spawn_blocking(move || reading.ports.journal.memos(SALT)).await;
    if let Ok(Ok(memos)) = read
        && let Some(salt) = memos.into_iter().find_map(|(key, value)| (key == SALT).then_some(value))
        && let Ok(salt) = serde_json::from_str::<String>(&salt)
        && salt.len() == message::salt(0).len()
    {
        return salt;
    }
    let salt = message::salt(random());
    let memo = Memo { key: SALT.to_owned(), value: Some(serde_json::Value::from(salt.as_str()).to_string()) };
    if let Err(error) = bot.ports.journal.remember(vec![memo]).await {
        warn!(%error, "the salt of nonces could not be remembered; after a restart a message may be seen twice");
    }
    salt
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a replacement adapter uses the same nonce for a message that its predecessor has sent, so that
    /// Discord recognises it.
    #[test]
    fn what_is_in_no_journal_keeps_its_nonce_as_long_as_the_process_lives() {
        assert_eq!(run_of_process(), run_of_process());
        assert_ne!(message::run(1), message::run(2), "another process has another one");
    }
}
