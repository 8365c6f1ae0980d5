//! Runners on other machines: the roster, machines that join, and the way to each.
//!
//! The roster is a memo for each runner, and one for each invitation that was used, until it has expired anyway.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Subject;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc, watch};
use tracing::{error, info, warn};

use super::fleet::storage_refusal;
use super::{Asked, Fleet};
use crate::clock;
use crate::cluster::client::{LinkError, connect_bot};
use crate::cluster::folder::Folder;
use crate::cluster::joining::{self, Admitted};
use crate::cluster::net::{Allowance, Hub, Pace, Seen, Uplink};
use crate::cluster::{invitation, permits, revoking};
use crate::core::id::{AgentName, RunnerName};
use crate::core::notice::{MachineNews, Notice, Refusal};
use crate::core::post::Target;
use crate::core::promotion::Shut;
use crate::core::time::Timestamp;
use crate::files::FileStore;
use crate::journal::{Batch, CommitError, Journal, Memo, ReadError};
use crate::runner::link::{Bot, Link};
use crate::runner::{Finds, Place};
use crate::runtime::grants::Grants;

/// Prefix of the keys of memos about runners; the name follows.
const ROSTER: &str = "runner/roster/";

/// Prefix of the keys of memos about used invitations; their public key follows.
const USED: &str = "runner/invitation/";

/// Number of requests to join that are looked at without a pause, and the interval of further ones: an invitation can send many.
const JOINS: (u32, Duration) = (4, Duration::from_secs(1));

/// Time for which a used invitation is remembered: it has expired by then, whatever the clocks differ.
const REMEMBERED: Duration = invitation::VALID_FOR.saturating_mul(2);

/// Time after which servers that could not be told of revoked keys are told again.
const PUSH_AGAIN: Duration = Duration::from_secs(10);

/// Reason why runners on other machines cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum RunnersError {
    /// The servers, or the credentials, cannot be used.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The roster cannot be read.
    #[error("the roster of runners cannot be read: {0}")]
    Read(#[from] ReadError),
}

/// A runner of the roster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Member {
    /// The public key of its user.
    key: String,
    /// Time at which it joined.
    joined: Timestamp,
    /// True if no session begins there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    drained: bool,
}

/// A runner, as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerView {
    /// Its name.
    pub name: RunnerName,
    /// True if no session begins there.
    pub drained: bool,
    /// State of the machine at its last beat; `None` if this bot has not heard of it.
    pub seen: Option<Seen>,
    /// The agents that are pinned to it.
    pub agents: Vec<AgentName>,
}

/// Runners on other machines. Cheap to clone.
#[derive(Clone)]
pub struct Runners(Arc<Inner>);

struct Inner {
    uplink: Uplink,
    hub: Hub,
    folder: Folder,
    journal: Journal,
    roster: Arc<Mutex<BTreeMap<RunnerName, Member>>>,
    /// Invitations that were used, with the time of that.
    used: Mutex<BTreeMap<String, Timestamp>>,
    /// Connections that were made, until somebody takes them.
    found: Mutex<Option<mpsc::UnboundedReceiver<(RunnerName, Link)>>>,
    /// Held while the roster is changed on disk.
    changing: tokio::sync::Mutex<()>,
    /// Held while it is decided whether sessions begin on a runner.
    looking: Mutex<()>,
    /// True if other bots can succeed this one.
    is_succeeded: bool,
    /// Notified when the servers are to be told which keys open nothing any more.
    revoked: Notify,
}

impl fmt::Debug for Runners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runners").field("hub", &self.0.hub).finish_non_exhaustive()
    }
}

impl Runners {
    /// Begins to listen to the servers. Returns the maker of places as well: each gets the calls of herder's tools with
    /// `tools`, if they are served. `office` is true while a bot that others can succeed decides; then alone its runners are
    /// granted.
    ///
    /// # Errors
    /// The servers cannot be used, or the roster cannot be read.
    pub async fn open(
        folder: Folder,
        journal: &Journal,
        bot: Bot,
        tools: Option<Grants>,
        office: Option<watch::Receiver<bool>>,
    ) -> Result<(Self, Finds), RunnersError> {
        let roster = members(journal)?;
        let used = times(journal)?;
        let uplink = connect_bot(&folder).await?;
        let key = folder.messages().clone();
        let name = folder.name().to_owned();
        let hub = Hub::start(uplink.clone(), name, bot.epoch, key, Pace::default());
        let is_succeeded = office.is_some();
        office.into_iter().for_each(|office| hub.grants_while(office));
        for runner in roster.keys() {
            hub.admit(runner.as_str());
        }
        let (sender, found) = mpsc::unbounded_channel();
        let (lines, files) = (hub.clone(), FileStore::new(journal.data_dir()));
        let roster = Arc::new(Mutex::new(roster));
        let members = Arc::clone(&roster);
        let finds = Finds::by(move |runner| {
            let link = Link::by_line(lines.line(runner.as_str()), bot.clone());
            link.give_files(files.clone());
            if !members.lock().unwrap_or_else(PoisonError::into_inner).contains_key(runner) {
                link.give_up();
            }
            // The receiver is gone once herder ends.
            let _ = sender.send((runner.clone(), link.clone()));
            Place::Remote(link, tools.clone(), Some(runner.clone()))
        });
        let runners = Self(Arc::new(Inner {
            uplink,
            hub,
            folder,
            journal: journal.clone(),
            roster,
            used: Mutex::new(used),
            found: Mutex::new(Some(found)),
            changing: tokio::sync::Mutex::default(),
            looking: Mutex::default(),
            is_succeeded,
            revoked: Notify::new(),
        }));
        Ok((runners, finds))
    }

    /// Returns the connections to runners, each once, when it is made; `None` if they were taken before.
    #[must_use]
    pub fn found(&self) -> Option<mpsc::UnboundedReceiver<(RunnerName, Link)>> {
        self.0.found.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns true if no agent may run on the bot's own machine, because another bot can succeed it.
    #[must_use]
    pub fn are_needed(&self) -> bool {
        self.0.is_succeeded
    }

    /// Returns true if a runner is on the roster.
    #[must_use]
    pub fn has(&self, runner: &RunnerName) -> bool {
        self.0.roster().contains_key(runner)
    }

    /// Returns why no session begins on a runner that answers; `None` if they begin.
    #[must_use]
    pub fn shut(&self, runner: &RunnerName) -> Option<Shut> {
        match self.0.roster().get(runner) {
            Some(member) => member.drained.then_some(Shut::Drained),
            None => Some(Shut::Away),
        }
    }

    /// Answers machines that join, and tells the servers which runners were removed.
    pub async fn serve(&self, fleet: Fleet) {
        let inner = &self.0;
        let known: Vec<RunnerName> = inner.roster().keys().cloned().collect();
        known.iter().for_each(|runner| fleet.look_at_runner(runner));
        let subject = inner.folder.subjects().join();
        let mut requests = match inner.uplink.client().subscribe(subject).await {
            Ok(requests) => requests,
            Err(reason) => return error!(%reason, "no machine can join"),
        };
        let mut allowance = Allowance::new(JOINS.0, JOINS.1);
        let joins = async {
            while let Some(request) = requests.next().await {
                // The server does not check it, and the bot may publish where a newcomer may not.
                let is_own = |reply: &Subject| permits::is_in(reply, &permits::join_inbox());
                let reply = request.reply.filter(is_own).filter(|_| allowance.take());
                let Some(reply) = reply else { continue };
                let answer = inner.answer(&request.payload, &fleet).await;
                if let Err(reason) = inner.uplink.client().publish(reply, answer.into()).await {
                    warn!(%reason, "a machine that joins was not answered");
                }
            }
        };
        tokio::join!(joins, inner.push(), inner.tell_twins(&fleet));
    }

    /// Ends the connections. Sessions on runners go on.
    pub async fn close(&self) {
        self.0.hub.close().await;
    }
}

impl Inner {
    fn roster(&self) -> MutexGuard<'_, BTreeMap<RunnerName, Member>> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the servers which keys open nothing any more, at first and whenever there are more, until they know it.
    async fn push(&self) {
        let mut is_told = false;
        loop {
            match revoking::push(&self.folder).await {
                Ok(()) => {
                    is_told = false;
                    self.revoked.notified().await;
                }
                Err(reason) => {
                    if !std::mem::replace(&mut is_told, true) {
                        warn!(%reason, "the servers may still let in runners that were removed; this bot does not");
                    }
                    tokio::time::sleep(PUSH_AGAIN).await;
                }
            }
        }
    }

    /// Tells people of each name that two machines have: once until the name is admitted anew.
    async fn tell_twins(&self, fleet: &Fleet) {
        let (mut changed, mut told) = (self.hub.changed(), BTreeSet::new());
        while changed.changed().await.is_ok() {
            let known: Vec<RunnerName> = self.roster().keys().cloned().collect();
            told.retain(|runner| known.contains(runner));
            for runner in known {
                let seen = self.hub.seen(runner.as_str());
                let ids = seen.and_then(|seen| Some((seen.machine, seen.twin?.machine)));
                let Some((first, second)) = ids else {
                    told.remove(&runner);
                    continue;
                };
                if told.insert(runner.clone()) {
                    fleet.alert(Notice::Machine { runner, news: MachineNews::Twin { first, second } }).await;
                }
            }
        }
    }

    /// Decides about a machine that wants to join, and returns the answer once it is on disk.
    async fn answer(&self, request: &[u8], fleet: &Fleet) -> Vec<u8> {
        let _alone = self.changing.lock().await;
        let now = clock::now();
        let is_used = |key: &str| {
            self.roster().values().any(|member| member.key == key)
                || self.used.lock().unwrap_or_else(PoisonError::into_inner).contains_key(key)
        };
        let answer = joining::answer(&self.folder, request, dated(now), is_used);
        let Some(admitted) = answer.admitted else { return answer.bytes };
        let runner = admitted.runner.clone();
        match self.admit(&runner, admitted, now).await {
            Ok(()) => {
                info!(%runner, "a machine has joined");
                fleet.look_at_runner(&runner);
                fleet.announce(Notice::Machine { runner, news: MachineNews::Joined }).await;
                answer.bytes
            }
            Err(reason) => {
                error!(%runner, %reason, "a machine that joins could not be recorded");
                Vec::new()
            }
        }
    }

    /// Puts a runner on the roster. One that joins again has another key, and the one before opens nothing any more.
    async fn admit(
        &self,
        runner: &RunnerName,
        admitted: Admitted,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let Admitted { key, invitation, .. } = admitted;
        let before = self.roster().get(runner).cloned();
        let drained = before.as_ref().is_some_and(|before| before.drained);
        let member = Member { key, joined: now, drained };
        let mut memos = vec![memo(runner, Some(&member)), used(&invitation, Some(now))];
        let expired: Vec<String> = {
            let known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let is_old = |at: &Timestamp| at.after(REMEMBERED) < now;
            known.iter().filter(|(_, at)| is_old(at)).map(|(key, _)| key.clone()).collect()
        };
        memos.extend(expired.iter().map(|key| used(key, None)));
        // It is on disk before the key leaves the roster.
        if let Some(before) = &before {
            self.note_revoked(&before.key, now);
        }
        self.journal.remember(memos).await?;
        {
            let mut known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(invitation, now);
            known.retain(|key, _| !expired.contains(key));
        }
        self.roster().insert(runner.clone(), member);
        if before.is_some() {
            // The machine that had the name is cut off, and another one may have it.
            self.hub.dismiss(runner.as_str());
            self.revoked.notify_one();
        }
        self.hub.admit(runner.as_str());
        Ok(())
    }

    /// Notes on disk that a key opens nothing any more. The servers are told in the background.
    fn note_revoked(&self, key: &str, now: Timestamp) {
        if let Err(reason) = revoking::note(&self.folder, key, dated(now)) {
            error!(%reason, "the servers may still let in a runner that was removed; this bot does not");
        }
    }
}

impl Fleet {
    /// Returns true if each agent needs a runner, because another bot can succeed this one.
    #[must_use]
    pub fn needs_runners(&self) -> bool {
        self.shared.runners.as_ref().is_some_and(Runners::are_needed)
    }

    /// Returns the runners on other machines; `None` if no servers are configured.
    #[must_use]
    pub fn runners(&self) -> Option<Vec<RunnerView>> {
        let inner = &self.shared.runners.as_ref()?.0;
        let agents = self.agents();
        let of = |runner: &RunnerName| {
            let is_there = |view: &&super::View| {
                view.agent.spec.as_ref().is_some_and(|spec| spec.runner.as_ref() == Some(runner))
            };
            agents.iter().filter(is_there).map(|view| view.name.clone()).collect()
        };
        let roster = inner.roster().clone();
        let view = |(name, member): (RunnerName, Member)| RunnerView {
            drained: member.drained,
            seen: inner.hub.seen(name.as_str()),
            agents: of(&name),
            name,
        };
        Some(roster.into_iter().map(view).collect())
    }

    /// Lets no session begin on a runner any more, or lets them begin again.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn drain_runner(
        &self,
        runner: &RunnerName,
        drained: bool,
        asked: &Asked,
    ) -> Result<Notice, Refusal> {
        let inner = self.known(runner)?;
        let _alone = inner.0.changing.lock().await;
        let member = inner.0.roster().get(runner).cloned();
        let Some(member) = member else { return Err(no_runner(runner)) };
        let member = Member { drained, ..member };
        let notice = match drained {
            true => Notice::Machine {
                runner: runner.clone(),
                news: MachineNews::Drained { sessions: self.sessions_on(runner) },
            },
            false => Notice::Machine { runner: runner.clone(), news: MachineNews::Opened },
        };
        self.record_runner(memo(runner, Some(&member)), asked, &notice).await?;
        inner.0.roster().insert(runner.clone(), member);
        self.look_at_runner(runner);
        Ok(notice)
    }

    /// Takes a runner out: its key opens nothing any more, and its agents wait.
    ///
    /// # Errors
    /// A refusal: nothing was stored.
    pub async fn remove_runner(&self, runner: &RunnerName, asked: &Asked) -> Result<Notice, Refusal> {
        let inner = self.known(runner)?;
        let _alone = inner.0.changing.lock().await;
        let member = inner.0.roster().get(runner).cloned();
        let Some(member) = member else { return Err(no_runner(runner)) };
        let notice = Notice::Machine { runner: runner.clone(), news: MachineNews::Removed };
        // It is on disk before the key leaves the roster.
        inner.0.note_revoked(&member.key, clock::now());
        self.record_runner(memo(runner, None), asked, &notice).await?;
        inner.0.roster().remove(runner);
        self.look_at_runner(runner);
        inner.0.hub.dismiss(runner.as_str());
        self.shared.places.of(Some(runner)).give_up();
        inner.0.revoked.notify_one();
        Ok(notice)
    }

    fn known(&self, runner: &RunnerName) -> Result<Runners, Refusal> {
        self.shared.runners.clone().ok_or_else(|| no_runner(runner))
    }

    /// Stores a change of the roster, with its record and its answer.
    async fn record_runner(&self, changed: Memo, asked: &Asked, answer: &Notice) -> Result<(), Refusal> {
        let mut batch: Batch = super::fleet::record(asked);
        let (posts, memos) = self.answer_posts(asked, &Target::Control, answer);
        batch.posts.extend(posts);
        batch.memos.extend(memos.into_iter().chain([changed]));
        self.shared.journal.commit(batch).await.map(drop).map_err(storage_refusal)
    }

    fn sessions_on(&self, runner: &RunnerName) -> u32 {
        let runs =
            |view: &super::View| view.runner.as_ref() == Some(runner) && view.agent.session().is_some();
        u32::try_from(self.agents().iter().filter(|view| runs(view)).count()).unwrap_or(u32::MAX)
    }

    /// Lets sessions begin on a runner, or not, by what is known of it.
    pub fn look_at_runner(&self, runner: &RunnerName) {
        // The state that was seen last is the one that stays.
        let looking = self.shared.runners.as_ref().map(|runners| &runners.0.looking);
        let _alone = looking.map(|looking| looking.lock().unwrap_or_else(PoisonError::into_inner));
        let place = self.shared.places.of(Some(runner));
        let away = place.is_out_of_reach().then_some(Shut::Away);
        let drained = || self.shared.runners.as_ref().and_then(|runners| runners.shut(runner));
        self.shared.set_runner(runner, away.or_else(drained));
    }
}

fn no_runner(runner: &RunnerName) -> Refusal {
    Refusal::NoRunner { runner: runner.to_string() }
}

/// Returns a time as keys are dated.
fn dated(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default()
}

fn memo(runner: &RunnerName, member: Option<&Member>) -> Memo {
    // Two texts, a number and a flag can always be written as JSON.
    let value = member.and_then(|member| serde_json::to_string(member).ok());
    Memo { key: format!("{ROSTER}{runner}"), value }
}

fn used(invitation: &str, at: Option<Timestamp>) -> Memo {
    Memo { key: format!("{USED}{invitation}"), value: at.map(|at| at.as_millis().to_string()) }
}

fn members(journal: &Journal) -> Result<BTreeMap<RunnerName, Member>, ReadError> {
    let read = |(key, value): (String, String)| {
        let name = RunnerName::new(key.strip_prefix(ROSTER)?).ok()?;
        Some((name, serde_json::from_str(&value).ok()?))
    };
    Ok(journal.memos(ROSTER)?.into_iter().filter_map(read).collect())
}

fn times(journal: &Journal) -> Result<BTreeMap<String, Timestamp>, ReadError> {
    let read = |(key, at): (String, String)| {
        Some((key.strip_prefix(USED)?.to_owned(), Timestamp::from_millis(at.parse().ok()?)))
    };
    Ok(journal.memos(USED)?.into_iter().filter_map(read).collect())
}
