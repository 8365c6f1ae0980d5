//! Discord, simulated on loopback: REST and gateway as the real ones behave, people who talk to the bot, and faults.
//!
//! # Use
//!
//! ```ignore
//! let sim = Discord::start().await;                       // or Discord::builder()….start().await
//! let alice = sim.user("alice").roles(["operator"]);      // made, joined, with a role that is made too
//! // Run herder with `api_url = sim.api_url()`, or `resolve = sim.address()` and `ca = sim.ca_file()`;
//! // the token is sim.token(), the guild sim.guild_id(). Both ways in are open at once, on the same port.
//! sim.ready().await;                                      // identified, and READY is on its way
//! sim.command("pause").await;                             // registered
//!
//! let said = alice.says("#spark", "fix the build");       // `@herder` and `@alice` become mentions
//! sim.reaction(said, "👀").await;
//! let post = sim.message_in("#spark", |m| m.content.contains("working")).await;
//! alice.edits(said, "fix the tests");
//! alice.deletes(said);
//! alice.message("#spark", "see this").attaching("log.txt", "text/plain", "…").replying_to(post.id).send();
//!
//! let asked = alice.slash("#spark", "agent add", json!({ "name": "spark" }));
//! assert!(asked.latency().await < Duration::from_millis(500));
//! let answer = asked.answer().await;                      // answer.content, .is_ephemeral(), .buttons(), .embeds
//! let sent = alice.submits_modal(&asked, &[("prompt", "…")]).await;         // when the answer is a modal
//! let choices = alice.autocompletes("#spark", "pause", "agent", "sp", json!({})).choices().await;
//! let click = alice.clicks(post.id, &post.button("Resume").custom_id);
//!
//! sim.until("two posts", |state| state.posts("#alerts").count() == 2).await;
//! sim.inject(Fault::dropped(Effect::After).on("POST /channels/{channel_id}/messages").times(2));
//! sim.gateway().drops_rst();
//! ```
//!
//! # What it checks
//!
//! Every request is held against Discord's published contract (`contract.rs`) and against what that lacks (`rules.rs`
//! and the routes). What the real Discord would refuse is answered with its error **and** is a violation. [`Discord`]
//! panics at the end of a test on violations that were not announced with [`Discord::expects_violation`]. An
//! interaction that was delivered and never acknowledged within three seconds is one too. Requests for what somebody
//! has just deleted are refused without being violations. What would be taken, but looks like a slip (an unknown
//! field), is among [`Discord::warnings`].
//!
//! # Waiting
//!
//! All waits are on changes of the state and give up after [`WAIT_MAX`] with a list of what happened. Nothing sleeps.
//! What must *not* happen is shown by a barrier: ask something that is answered after it, then look.

pub(crate) mod asked;
mod contract;
pub(crate) mod control;
mod events;
mod fault;
mod gateway;
mod limits;
mod multipart;
mod options;
pub(crate) mod people;
pub(crate) mod permission;
mod refusal;
mod render;
mod rest;
mod rules;
mod server;
pub(crate) mod state;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) use fault::{Effect, Fault, Gate};
pub(crate) use people::User;
pub(crate) use state::State;

/// The longest wait before a test fails.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(60);

/// The data that all tasks of the simulator share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    contract: contract::Contract,
}

impl Shared {
    /// Reads or changes the state; every task that waits for a change checks again.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let done = act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_modify(|version| *version += 1);
        done
    }

    /// Reads the state without a wakeup of waiting tasks.
    fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn wait<T>(&self, what: &str, done: impl FnMut(&State) -> Option<T>) -> T {
        self.wait_within(WAIT_MAX, what, done).await
    }

    async fn wait_within<T>(
        &self,
        limit: Duration,
        what: &str,
        mut done: impl FnMut(&State) -> Option<T>,
    ) -> T {
        let mut changes = self.changed.subscribe();
        let found = tokio::time::timeout(limit, async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = self.look(&mut done) {
                    return found;
                }
                if changes.changed().await.is_err() {
                    unreachable!("the sender stands beside the state");
                }
            }
        });
        match found.await {
            Ok(found) => found,
            Err(_) => panic!("waited {limit:?} for {what}\n{}", self.look(control::report)),
        }
    }
}

/// The settings of a simulated Discord.
#[derive(Debug, Clone)]
pub(crate) struct Builder {
    token: String,
    permissions: u64,
    privileged: u64,
    behind: Duration,
    dates_its_answers: bool,
    real_limits: bool,
    cdn: Option<String>,
    shards: u64,
    is_roomy: bool,
    is_any_bot: bool,
}

impl Builder {
    /// Grants the bot only these permissions, instead of [`permission::BOT`].
    pub(crate) fn bot_permissions(mut self, permissions: u64) -> Self {
        self.permissions = permissions;
        self
    }

    /// Switches the Message Content intent off in the developer portal.
    pub(crate) fn without_message_content(mut self) -> Self {
        self.privileged &= !gateway::MESSAGE_CONTENT;
        self
    }

    /// Switches all privileged intents off.
    pub(crate) fn without_privileged_intents(mut self) -> Self {
        self.privileged = 0;
        self
    }

    /// Applies rate limits with their headers: 5 messages in 5 s per channel, 50 requests a second altogether, and so
    /// on.
    pub(crate) fn real_limits(mut self) -> Self {
        self.real_limits = true;
        self
    }

    /// Sets Discord's clock back until [`Discord::catches_up`]: messages that are sent meanwhile are old.
    pub(crate) fn clock_behind(mut self, behind: Duration) -> Self {
        self.behind = behind;
        self
    }

    /// Sets the machine's clock ahead of Discord's, and of the world's.
    pub(crate) fn machine_ahead(mut self, ahead: Duration) -> Self {
        (self.behind, self.dates_its_answers) = (ahead, true);
        self
    }

    /// Sets the start of the URLs of attachments, such as `https://cdn.discordapp.com`; by default the simulator's
    /// address.
    pub(crate) fn cdn(mut self, url: &str) -> Self {
        self.cdn = Some(url.to_owned());
        self
    }

    /// Expects another bot than herder: the rules that herder alone keeps do not hold for it.
    pub(crate) fn any_bot(mut self) -> Self {
        self.is_any_bot = true;
        self
    }

    /// Lifts Discord's limits of 500 channels, and of 50 in a category: for measurements.
    pub(crate) fn roomy(mut self) -> Self {
        self.is_roomy = true;
        self
    }

    /// Sets the number of shards that Discord recommends.
    pub(crate) fn shards(mut self, count: u64) -> Self {
        self.shards = count;
        self
    }

    pub(crate) async fn start(self) -> Discord {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is up");
        let address = listener.local_addr().expect("a bound socket has an address");
        let mut state =
            control::fresh(format!("http://{address}"), self.behind, &self.token, self.permissions);
        state.bot.privileged = self.privileged;
        state.limits.are_real = self.real_limits;
        state.dates_its_answers = self.dates_its_answers;
        state.gateway.shards = self.shards;
        state.limits.is_roomy = self.is_roomy;
        state.bot.is_any = self.is_any_bot;
        if let Some(cdn) = self.cdn {
            state.cdn = cdn;
        }
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            contract: contract::Contract::load(),
        });
        let (authority, tls) = server::tls();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ca_file = folder.path().join("authority.pem");
        std::fs::write(&ca_file, &authority).expect("a new folder takes a file");
        let task = tokio::spawn(server::listen(listener, tls, Arc::clone(&shared)));
        Discord { shared, address, authority, ca_file, _folder: folder, task, expected: Mutex::default() }
    }
}

/// A running Discord. It ends with this handle, which fails the test on unexpected violations.
#[derive(Debug)]
pub(crate) struct Discord {
    shared: Arc<Shared>,
    address: SocketAddr,
    authority: String,
    ca_file: PathBuf,
    _folder: tempfile::TempDir,
    task: tokio::task::JoinHandle<()>,
    expected: Mutex<Vec<String>>,
}

impl Discord {
    /// Starts a Discord with the settings of a careful administrator.
    pub(crate) async fn start() -> Self {
        Self::builder().start().await
    }

    pub(crate) fn builder() -> Builder {
        Builder {
            token: "MTIz.simulated.token".to_owned(),
            permissions: permission::BOT,
            privileged: gateway::PRIVILEGED,
            behind: Duration::ZERO,
            dates_its_answers: false,
            real_limits: false,
            cdn: None,
            shards: 1,
            is_roomy: false,
            is_any_bot: false,
        }
    }

    /// Returns the URL for plain HTTP: `http://127.0.0.1:PORT`.
    pub(crate) fn api_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the address that `discord.com` resolves to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the authority that vouches for `discord.com` here, as PEM.
    pub(crate) fn ca_pem(&self) -> &str {
        &self.authority
    }

    /// Returns the same in a file.
    pub(crate) fn ca_file(&self) -> &Path {
        &self.ca_file
    }

    pub(crate) fn token(&self) -> String {
        self.shared.look(|state| state.bot.token.clone())
    }

    /// Returns the person with this name, who is made and joins at the first call.
    pub(crate) fn user(&self, name: &str) -> User {
        User::new(Arc::clone(&self.shared), name)
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&State) -> bool) {
        self.shared.wait(what, |state| holds(state).then_some(())).await;
    }

    /// Waits like [`Discord::until`], for a change that may take longer than [`WAIT_MAX`].
    pub(crate) async fn until_within(
        &self,
        limit: Duration,
        what: &str,
        mut holds: impl FnMut(&State) -> bool,
    ) {
        self.shared.wait_within(limit, what, |state| holds(state).then_some(())).await;
    }

    /// Waits until something is found.
    pub(crate) async fn find<T>(&self, what: &str, find: impl FnMut(&State) -> Option<T>) -> T {
        self.shared.wait(what, find).await
    }

    /// Looks at the state as it is.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.shared.look(look)
    }

    /// Returns the last requests and messages, for a test that waited too long for something else.
    pub(crate) fn report(&self) -> String {
        self.look(control::report)
    }

    /// Returns the violations of the bot so far, without the expected ones.
    pub(crate) fn violations(&self) -> Vec<String> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let is_expected = |line: &String| expected.iter().any(|part| line.contains(part));
        self.shared.look(control::all_violations).into_iter().filter(|line| !is_expected(line)).collect()
    }

    /// Violations with this in them are part of the test. Returns those so far.
    pub(crate) fn expects_violation(&self, part: &str) -> Vec<String> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).push(part.to_owned());
        self.shared.look(control::all_violations).into_iter().filter(|line| line.contains(part)).collect()
    }

    /// Returns the requests that Discord accepts, but that look like a slip.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.shared.look(|state| state.warnings.clone())
    }
}

impl Drop for Discord {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.with(|state| state.push_all(&gateway::Push::Fin));
        let violations = self.violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("Discord would have refused:\n  {}", violations.join("\n  "));
        }
    }
}
