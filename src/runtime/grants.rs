//! Authentication of tool calls: one token per session, in the agent's file of mode 0600, deleted with the session.
//!
//! Agents of one herder run as the same user, so that the file's mode does not protect it from other agents. A caller
//! must also be a descendant process of that session ([`is_below`]).

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::debug;

use super::environment::MARKER;
use super::process::look;
use crate::core::id::{AgentName, SessionId};
use crate::core::tools::VARIABLE;

/// Name of the folder in herder's data folder that contains the tools' socket and the sessions' key files.
pub const FOLDER: &str = "tools";

/// Name of the socket to which agents' tool servers connect, in `FOLDER`.
pub const SOCKET: &str = "tools.sock";

/// Number of random bytes in a session's secret token.
const TOKEN_BYTES: usize = 32;

/// Maximum number of concurrent tool calls per session: a model that calls tools in parallel stays below it.
const CALLS_MAX: usize = 4;

/// The content of a session's key file, which the tool server finds by [`VARIABLE`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The path of the socket on which herder receives tool calls.
    pub socket: PathBuf,
    /// The agent that the key is for.
    pub agent: AgentName,
    /// The session that the key is for.
    pub session: SessionId,
    /// The secret token that proves the session's identity.
    pub token: String,
    /// True if the session reviews another agent's task, and is offered the tools for that.
    #[serde(default)]
    pub reviews: bool,
    /// True if the agent may give parts of its task to others, and is offered the tools for that.
    #[serde(default)]
    pub leads: bool,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("agent", &self.agent)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Data by which a session's CLI starts its tool server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Path of the program that the CLI starts as the tool server, with the one argument `mcp`.
    pub program: PathBuf,
    /// Path of the session's key file, which the tool server finds by the variable [`VARIABLE`].
    pub file: PathBuf,
}

impl Access {
    /// Returns the environment variables of the tool server: the path of the session's key file, and the marker of the
    /// session's processes.
    #[must_use]
    pub fn environment(&self, marker: &str) -> [(&'static str, String); 2] {
        [(VARIABLE, self.file.display().to_string()), (MARKER, marker.to_owned())]
    }
}

/// Registry of the running sessions that may call tools, with their secret tokens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Grants(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None` if the tools are served by another process, which holds the keys.
    keys: Option<Keys>,
    open: Mutex<BTreeMap<AgentName, Open>>,
}

#[derive(Debug)]
struct Keys {
    program: PathBuf,
    folder: PathBuf,
}

#[derive(Debug)]
struct Open {
    session: SessionId,
    /// `None` where another process holds the keys.
    token: Option<String>,
    calls: Arc<Calls>,
}

/// Counts and signals of one session's tool calls in progress.
#[derive(Debug, Default)]
struct Calls {
    open: AtomicUsize,
    /// Wakes calls that wait, because a whisper for the agent can go with their answer.
    wake: watch::Sender<()>,
    /// Number of calls in progress that wait for a person's answer.
    asking: watch::Sender<usize>,
}

/// A session's permission to call tools. Its drop, at the end of the session, revokes the permission.
#[derive(Debug)]
pub struct Pass {
    grants: Grants,
    agent: AgentName,
    session: SessionId,
    /// The key file; `None` where another process holds the keys.
    file: Option<PathBuf>,
    calls: Arc<Calls>,
}

/// A tool call that was admitted. It counts as a call in progress until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    calls: Arc<Calls>,
    wake: watch::Receiver<()>,
}

/// Counts a tool call as waiting for a person's answer until this is dropped.
#[derive(Debug)]
pub struct Waits(Arc<Calls>);

/// The reason why a tool call is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The session is over, or the token is not the one of that session.
    #[error("this session of the agent is over, or this is not its key")]
    Token,
    /// The session has `CALLS_MAX` calls in progress already.
    #[error("too many calls at once: wait for the answers of {CALLS_MAX} before the next one")]
    TooMany,
}

impl NotAdmitted {
    /// Returns the answer for the model.
    #[must_use]
    pub fn told(self) -> String {
        format!("herder does not let you in: {self}.")
    }
}

impl Grants {
    /// Creates an empty registry, whose key files are in a folder of `data_dir` and whose tool servers run `program`.
    /// Key files of an earlier herder are deleted.
    ///
    /// # Errors
    /// The folder cannot be created or read.
    pub fn new(program: PathBuf, data_dir: &Path) -> io::Result<Self> {
        let folder = std::path::absolute(data_dir.join(FOLDER))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        for left in fs::read_dir(&folder)?.flatten() {
            if left.path().extension().is_some_and(|extension| extension == "json") {
                fs::remove_file(left.path())?;
            }
        }
        Ok(Self::with(Some(Keys { program, folder })))
    }

    /// Creates an empty registry for sessions whose tools are served by a runner, which admits the callers.
    #[must_use]
    pub fn of_runner() -> Self {
        Self::with(None)
    }

    fn with(keys: Option<Keys>) -> Self {
        Self(Arc::new(Inner { keys, open: Mutex::default() }))
    }

    /// Returns the path of the socket to which tool servers connect; `None` if a runner serves them.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        self.0.keys.as_ref().map(|keys| keys.folder.join(SOCKET))
    }

    /// Permits a new session to call tools: creates a token and writes it to the agent's key file, unless a runner
    /// does.
    ///
    /// # Errors
    /// The system has no randomness, or the file cannot be written.
    pub fn issue(
        &self,
        agent: &AgentName,
        session: SessionId,
        reviews: bool,
        leads: bool,
    ) -> io::Result<Pass> {
        let calls = Arc::<Calls>::default();
        let Some(keys) = &self.0.keys else {
            let open = Open { session, token: None, calls: Arc::clone(&calls) };
            self.open().insert(agent.clone(), open);
            return Ok(Pass { grants: self.clone(), agent: agent.clone(), session, file: None, calls });
        };
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|reason| io::Error::other(reason.to_string()))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        // One file for all sessions of an agent: to create and delete one each time would be the largest cost of a start.
        let file = keys.folder.join(format!("{agent}.json"));
        let socket = keys.folder.join(SOCKET);
        let key = Key { socket, agent: agent.clone(), session, token: token.clone(), reviews, leads };
        let mut open = self.open();
        let mut written =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file)?;
        written.write_all(&serde_json::to_vec(&key)?)?;
        open.insert(agent.clone(), Open { session, token: Some(token), calls: Arc::clone(&calls) });
        drop(open);
        Ok(Pass { grants: self.clone(), agent: agent.clone(), session, file: Some(file), calls })
    }

    /// Admits a tool call if `token` is the one of that session and the session has not too many calls in progress.
    ///
    /// # Errors
    /// The reason why it is not admitted.
    pub fn admit(&self, agent: &AgentName, session: SessionId, token: &str) -> Result<Admitted, NotAdmitted> {
        self.admit_if(agent, session, |known| known.is_some_and(|known| same(known, token)))
    }

    /// Admits a tool call that a runner has admitted.
    ///
    /// # Errors
    /// The session is over, or has too many calls in progress.
    pub fn admit_of_runner(&self, agent: &AgentName, session: SessionId) -> Result<Admitted, NotAdmitted> {
        self.admit_if(agent, session, |known| known.is_none())
    }

    fn admit_if(
        &self,
        agent: &AgentName,
        session: SessionId,
        is_good: impl FnOnce(Option<&str>) -> bool,
    ) -> Result<Admitted, NotAdmitted> {
        let open = self.open();
        let known = open.get(agent).filter(|known| known.session == session);
        let known = known.filter(|known| is_good(known.token.as_deref())).ok_or(NotAdmitted::Token)?;
        if known.calls.open.fetch_add(1, Ordering::AcqRel) >= CALLS_MAX {
            known.calls.open.fetch_sub(1, Ordering::AcqRel);
            return Err(NotAdmitted::TooMany);
        }
        Ok(Admitted { calls: Arc::clone(&known.calls), wake: known.calls.wake.subscribe() })
    }

    /// Returns the number of tool calls in progress of an agent's session.
    #[must_use]
    pub fn calls(&self, agent: &AgentName) -> usize {
        self.open().get(agent).map_or(0, |known| known.calls.open.load(Ordering::Acquire))
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<AgentName, Open>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// Returns the data by which the session's CLI starts its tool server; `None` where a runner does.
    #[must_use]
    pub fn access(&self) -> Option<Access> {
        let (keys, file) = (self.grants.0.keys.as_ref()?, self.file.clone()?);
        Some(Access { program: keys.program.clone(), file })
    }

    /// Returns true if a tool call of the session is in progress, and wakes it, so that its answer can carry a whisper.
    #[must_use]
    pub fn call_is_open(&self) -> bool {
        let open = self.calls.open.load(Ordering::Acquire) > 0;
        if open {
            self.calls.wake.send_replace(());
        }
        open
    }

    /// Returns a watch of the number of calls that wait for a person's answer. While it is zero, the agent itself does
    /// not wait, even if a question is open.
    #[must_use]
    pub fn asking(&self) -> watch::Receiver<usize> {
        self.calls.asking.subscribe()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut open = self.grants.open();
        if open.get(&self.agent).is_some_and(|known| known.session == self.session) {
            open.remove(&self.agent);
            // Emptied while the lock prevents a new session from writing it.
            if let Some(file) = &self.file
                && let Err(reason) = OpenOptions::new().write(true).truncate(true).open(file)
            {
                debug!(agent = %self.agent, %reason, "a session's key could not be taken away");
            }
        }
        drop(open);
        self.calls.wake.send_replace(());
    }
}

impl Admitted {
    /// Counts the call as waiting for a person's answer until the returned value is dropped.
    #[must_use]
    pub fn waits(&self) -> Waits {
        self.calls.asking.send_modify(|asking| *asking += 1);
        Waits(Arc::clone(&self.calls))
    }

    /// Waits until a whisper for the agent arrives or the session ends, so that a waiting call can return early.
    pub async fn woken(&mut self) {
        if self.wake.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.asking.send_modify(|asking| *asking -= 1);
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.calls.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns true if two tokens are equal; the time that this takes does not reveal where they differ.
fn same(known: &str, given: &str) -> bool {
    let differ = known.bytes().zip(given.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    known.len() == given.len() && std::hint::black_box(differ) == 0
}

/// Returns true if process `pid` is `ancestor` or one of its descendants; false if the process is gone.
#[must_use]
pub fn is_below(pid: u32, ancestor: u32) -> bool {
    /// Maximum number of ancestors that are followed, because parents could change during the walk.
    const DEPTH_MAX: usize = 1000;
    let mut pid = pid;
    for _ in 0..DEPTH_MAX {
        if pid == ancestor {
            return true;
        }
        match look(pid) {
            Some(entry) if entry.parent != 0 => pid = entry.parent,
            Some(_) | None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).expect("a good name")
    }

    fn file(pass: &Pass) -> PathBuf {
        pass.file.clone().expect("this process holds the keys")
    }

    #[test]
    fn a_token_is_good_for_its_own_session_and_no_longer() {
        let folder = tempfile::tempdir().expect("a folder");
        let grants = Grants::new(PathBuf::from("/bin/true"), folder.path()).expect("a folder for keys");
        let (spark, flint) = (agent("spark"), agent("flint"));
        let pass = grants.issue(&spark, SessionId(1), false, false).expect("a key");
        let other = grants.issue(&flint, SessionId(1), false, false).expect("a key");
        let read = |pass: &Pass| -> Key {
            serde_json::from_slice(&fs::read(file(pass)).expect("it is there")).expect("it is a key")
        };
        let (key, others) = (read(&pass), read(&other));
        let mode = fs::metadata(file(&pass)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{key:?}").contains(&key.token));
        assert!(grants.admit(&spark, SessionId(1), &key.token).is_ok());
        for (name, session, token) in [
            (&spark, 2, &key.token),
            (&spark, 1, &others.token),
            (&spark, 1, &String::new()),
            (&flint, 1, &key.token),
        ] {
            let refused = grants.admit(name, SessionId(session), token).err();
            assert_eq!(refused, Some(NotAdmitted::Token), "{name} {session}");
        }
        let (key_file, asking) = (file(&pass), pass.asking());
        let call = grants.admit(&spark, SessionId(1), &key.token).expect("there is room");
        assert_eq!(*asking.borrow(), 0, "a call alone asks nobody");
        let waits = [call.waits(), call.waits()];
        assert_eq!((*asking.borrow(), *other.asking().borrow()), (2, 0));
        drop(waits);
        assert_eq!(*asking.borrow(), 0);
        drop(call);
        let open: Vec<Admitted> = (0..CALLS_MAX)
            .map(|_| grants.admit(&spark, SessionId(1), &key.token).expect("there is room"))
            .collect();
        assert!(pass.call_is_open());
        assert_eq!(grants.admit(&spark, SessionId(1), &key.token).err(), Some(NotAdmitted::TooMany));
        drop(open);
        assert!(!pass.call_is_open());
        drop(pass);
        assert_eq!(grants.admit(&spark, SessionId(1), &key.token).err(), Some(NotAdmitted::Token));
        assert_eq!(fs::read(&key_file).expect("it is there"), [0_u8; 0]);
    }

    #[test]
    fn where_a_runner_holds_the_keys_no_token_is_good() {
        let (grants, spark) = (Grants::of_runner(), agent("spark"));
        let pass = grants.issue(&spark, SessionId(1), false, false).expect("it takes nothing");
        assert_eq!((pass.access(), grants.socket()), (None, None));
        assert_eq!(grants.admit(&spark, SessionId(1), "").err(), Some(NotAdmitted::Token));
        assert!(grants.admit_of_runner(&spark, SessionId(1)).is_ok());
        assert_eq!(grants.admit_of_runner(&spark, SessionId(2)).err(), Some(NotAdmitted::Token));
        drop(pass);
        assert_eq!(grants.admit_of_runner(&spark, SessionId(1)).err(), Some(NotAdmitted::Token));
    }

    #[test]
    fn only_what_descends_is_below() {
        let own = std::process::id();
        assert!(is_below(own, own));
        let parent = look(own).expect("this process lives").parent;
        assert!(is_below(own, parent));
        assert!(!is_below(parent, own));
        assert!(!is_below(u32::MAX, own));
    }
}
