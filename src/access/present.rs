//! Roles on Discord that people with a session of the page hold at the moment: asked for when somebody looks, and not
//! taken from the day of their login.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::Instant;

/// Time for which an answer of Discord is good: an open page looks at every change.
const FRESH: Duration = Duration::from_secs(5);

/// Time until Discord is asked again after it did not answer: each question makes a page wait for [`ANSWER_MAX`].
const SILENT: Duration = Duration::from_secs(30);

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
    /// Time at which Discord is asked again.
    next: Instant,
    /// The last answer, with its time.
    roles: Option<(Instant, Vec<String>)>,
}

/// One person's roles. Held while Discord is asked for them, so that many pages of one person ask once.
type Person = Arc<Mutex<Option<Told>>>;

/// See the module. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Present {
    /// The adapter of Discord, while there is one.
    asks: Arc<RwLock<Option<mpsc::Sender<RolesWanted>>>>,
    known: Arc<std::sync::Mutex<HashMap<String, Person>>>,
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
        let person = self.person(user);
        let mut known = person.lock().await;
        let asks = self.asks.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known.as_ref().is_none_or(|told| Instant::now() >= told.next)
            && let Some(asks) = asks
        {
            let answer = ask(&asks, user).await.map(|roles| (Instant::now(), roles));
            let before = known.take().and_then(|told| told.roles);
            // A person without roles on record is shut out until there is an answer.
            let next = Instant::now() + if answer.is_some() || before.is_none() { FRESH } else { SILENT };
            *known = Some(Told { next, roles: answer.or(before) });
        }
        let (at, roles) = known.as_ref()?.roles.as_ref()?;
        (at.elapsed() < STALE).then(|| roles.clone())
    }

    fn person(&self, user: &str) -> Person {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            let is_recent = |told: &Told| told.next.elapsed() < STALE;
            known.retain(|_, person| {
                person.try_lock().map_or(true, |told| told.as_ref().is_some_and(is_recent))
            });
        }
        Arc::clone(known.entry(user.to_owned()).or_default())
    }
}

async fn ask(asks: &mpsc::Sender<RolesWanted>, user: &str) -> Option<Vec<String>> {
    let (answer, answered) = oneshot::channel();
    asks.try_send(RolesWanted { user: user.to_owned(), answer }).ok()?;
    tokio::time::timeout(ANSWER_MAX, answered).await.ok()?.ok()
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;

    use super::super::tests::author;
    use super::super::{Access, AccessRules, Logins, Subject, Ties};
    use super::*;
    use crate::clock;
    use crate::core::role::Role;
    use crate::core::tie::Tie;
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
        assert_eq!(role(&carl).await, Some(Role::Operator), "in doubt the session was kept");
        assert_eq!(role(&dora).await, Some(Role::Operator));

        // Silence takes nothing away for a while.
        *told.lock().expect("no panic") = None;
        tokio::time::advance(FRESH).await;
        assert_eq!(role(&carl).await, Some(Role::Operator));
        tokio::time::advance(STALE).await;
        assert_eq!(role(&carl).await, None);

        *told.lock().expect("no panic") = Some(vec!["7".to_owned()]);
        tokio::time::advance(SILENT).await;
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

    #[tokio::test]
    async fn a_linked_persons_session_waits_for_discord_after_a_start() {
        clock::simulate(Timestamp::from_seconds(1_772_360_430));
        let start = || {
            let ties = Ties::default();
            let carl = Tie { user: "33".to_owned(), network: "libera".into(), account: "carl".to_owned() };
            ties.set([carl].into());
            let rules = AccessRules {
                admins: Vec::new(),
                operators: vec![Subject::DiscordRole("7".to_owned())],
                viewers: Vec::new(),
            };
            (Access::new(&rules).with(ties.clone()), ties)
        };
        let journal = Journal::in_memory(&Memory::default(), "j", History::default(), Arc::new(|_| true));
        let logins = Logins::open(journal.expect("a journal"), "http://localhost").await;
        let link =
            logins.offer(&author("libera", Some("carl"), None), Duration::from_secs(60)).expect("a link");
        let cookie = logins.redeem(link.rsplit('/').next().expect("a code")).await.expect("a session");
        let role = async |access: &Access| logins.session(&cookie, access).await.map(|session| session.role);

        let (access, ties) = start();
        ties.set_roles("33", vec!["7".to_owned()]);
        assert_eq!(role(&access).await, Some(Role::Operator));
        let (access, ties) = start();
        assert_eq!(role(&access).await, None, "Discord has told nothing yet");
        ties.set_roles("33", vec!["7".to_owned()]);
        assert_eq!(role(&access).await, Some(Role::Operator));
        ties.set_roles("33", Vec::new());
        assert_eq!(role(&access).await, None);
        ties.set_roles("33", vec!["7".to_owned()]);
        assert_eq!(role(&access).await, None, "it has ended");
    }
}
