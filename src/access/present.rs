//! Roles on Discord that people with a session of the page hold at the moment: asked for when somebody looks, and not
//! taken from the day of their login.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::Instant;

/// Time for which an answer of Discord, or that there was none, is good: an open page looks at every change.
const FRESH: Duration = Duration::from_secs(5);

/// Maximum time for Discord to answer.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// Maximum age of roles that count while Discord does not answer.
const STALE: Duration = Duration::from_secs(600);

/// Maximum number of people whose roles are kept: as many as there are sessions.
const KNOWN_MAX: usize = 256;

/// Questions that wait for Discord.
const WAITING_MAX: usize = 64;

/// A question to Discord: the role ids that a user holds. Dropped without an answer if Discord gives none.
#[derive(Debug)]
pub struct RolesWanted {
    /// Id of the user.
    pub user: String,
    /// Receives the role ids.
    pub answer: oneshot::Sender<Vec<String>>,
}

#[derive(Debug)]
struct Told {
    asked: Instant,
    /// The last answer, with its time.
    roles: Option<(Instant, Vec<String>)>,
}

/// See the module. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Present {
    /// The adapter of Discord, while there is one.
    asks: Arc<RwLock<Option<mpsc::Sender<RolesWanted>>>>,
    known: Arc<Mutex<HashMap<String, Told>>>,
}

impl Present {
    /// Receives the questions from now on.
    pub(super) fn questions(&self) -> mpsc::Receiver<RolesWanted> {
        let (asks, questions) = mpsc::channel(WAITING_MAX);
        *self.asks.write().unwrap_or_else(PoisonError::into_inner) = Some(asks);
        questions
    }

    /// Returns the role ids that a Discord user holds now. `None`: Discord has told nothing for [`STALE`].
    pub(super) async fn roles(&self, user: &str) -> Option<Vec<String>> {
        // Held while one question is open, so that many pages of one person ask once.
        let mut known = self.known.lock().await;
        if known.get(user).is_none_or(|told| told.asked.elapsed() >= FRESH) {
            let answer = self.ask(user).await.map(|roles| (Instant::now(), roles));
            let before = known.remove(user).and_then(|told| told.roles);
            if known.len() >= KNOWN_MAX {
                known.retain(|_, told| told.asked.elapsed() < STALE);
            }
            known.insert(user.to_owned(), Told { asked: Instant::now(), roles: answer.or(before) });
        }
        let (at, roles) = known.get(user)?.roles.as_ref()?;
        (at.elapsed() < STALE).then(|| roles.clone())
    }

    async fn ask(&self, user: &str) -> Option<Vec<String>> {
        let asks = self.asks.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        let (answer, answered) = oneshot::channel();
        asks.try_send(RolesWanted { user: user.to_owned(), answer }).ok()?;
        tokio::time::timeout(ANSWER_MAX, answered).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;

    use super::super::tests::author;
    use super::super::{Access, AccessRules, Logins, Subject, Ties};
    use super::*;
    use crate::clock;
    use crate::core::role::Role;
    use crate::core::time::Timestamp;
    use crate::journal::{History, Journal, Memory};

    /// Answers `questions` with what `roles` holds; `None` is Discord's silence.
    fn discord(ties: &Ties, roles: Arc<std::sync::Mutex<Option<Vec<String>>>>) {
        let mut questions = ties.role_questions();
        TaskTracker::new().spawn(async move {
            while let Some(RolesWanted { answer, .. }) = questions.recv().await {
                let roles = roles.lock().expect("no panic").clone();
                if let Some(roles) = roles {
                    let _ = answer.send(roles);
                }
            }
        });
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_by_a_role_on_discord_ends_with_the_role() {
        clock::simulate(Timestamp::from_seconds(1_772_360_430));
        let ties = Ties::default();
        let access = Access::new(&AccessRules {
            admins: Vec::new(),
            operators: vec![Subject::DiscordRole("7".to_owned())],
            viewers: vec![Subject::DiscordUser("44".to_owned())],
        })
        .with(ties.clone());
        let journal = Journal::in_memory(&Memory::default(), "j", History::default(), Arc::new(|_| true));
        let logins = Logins::open(journal.expect("a journal"), "http://localhost").await;
        let enter = async |id: &str| {
            let mut person = author("discord", Some(id), None);
            person.roles = vec!["7".to_owned()];
            let link = logins.offer(&person, Duration::from_secs(60)).expect("a link");
            logins.redeem(link.rsplit('/').next().expect("a code")).await.expect("a session")
        };
        let role = async |cookie: &str| logins.session(cookie, &access).await.map(|session| session.role);
        let (carl, dora) = (enter("33").await, enter("44").await);
        assert_eq!(role(&carl).await, None, "Discord was never asked");

        let told = Arc::new(std::sync::Mutex::new(Some(vec!["7".to_owned()])));
        discord(&ties, Arc::clone(&told));
        tokio::time::advance(FRESH).await;
        assert_eq!(role(&carl).await, Some(Role::Operator), "in doubt the session was kept");
        assert_eq!(role(&dora).await, Some(Role::Operator));

        // Silence takes nothing away for a while.
        *told.lock().expect("no panic") = None;
        tokio::time::advance(FRESH).await;
        assert_eq!(role(&carl).await, Some(Role::Operator));
        tokio::time::advance(STALE).await;
        assert_eq!(role(&carl).await, None);

        *told.lock().expect("no panic") = Some(vec!["7".to_owned()]);
        tokio::time::advance(FRESH).await;
        assert_eq!(role(&carl).await, Some(Role::Operator));
        *told.lock().expect("no panic") = Some(vec!["8".to_owned()]);
        tokio::time::advance(FRESH).await;
        assert_eq!(role(&carl).await, None);
        assert_eq!(role(&dora).await, Some(Role::Viewer), "by their own name");
        // An ended session stays ended, though the role comes back.
        *told.lock().expect("no panic") = Some(vec!["7".to_owned()]);
        tokio::time::advance(FRESH).await;
        assert_eq!(role(&carl).await, None);
        assert_eq!(role(&dora).await, Some(Role::Operator));
    }
}
