//! The processes of agents: start, observation, and a verified end.
//!
//! A process group is not sufficient: shells that agents start run in sessions of their own, and daemons lose their
//! parent. So a process belongs to a session if it is found in any of three ways:
//!
//! - descent: its parent belongs to the session;
//! - adoption: herder is the subreaper of everything below it, so that an orphan becomes herder's own child and stays visible;
//! - the marker: `HERDER_SESSION` in the environment it was started with, which forks and daemons inherit.
//!
//! A daemon that has cleared its environment is found by adoption only. It is ended with the session in whose
//! workspace it works, or else with the last session that may have started it ([`ProcessTrees::strays`]).
//!
//! If cgroups can be created, each session also has one (`cgroup`).
//!
//! No process is found by its name, and none is signalled by its id alone: ids are reused, so a signal is sent
//! through a pidfd after the start time was compared ([`signal`]).

mod cgroup;
pub mod descent;
mod reap;
mod shares;
mod signal;
pub(crate) mod spawn;
mod starters;
pub(in crate::runtime) mod stop;
pub(in crate::runtime) mod table;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::process::{Child, Command};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::clock::running::Running;
use crate::core::machine::Taken;
use cgroup::Cgroups;
pub(in crate::runtime) use shares::{Allowance, Exhausted, Weight};
pub use shares::{memory_of_machine, room};
pub use signal::send;
pub use table::{Entry, Identity, Table, lives, look};

/// The process tree of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Identity of the first process, if it is known.
    pub root: Option<Identity>,
    /// Value of `HERDER_SESSION` in all processes of the tree.
    pub marker: String,
    /// The folder in which the first process was started.
    pub workspace: PathBuf,
}

impl Tree {
    /// Returns the tree of a session whose first process is not known any more, by its marker.
    #[must_use]
    pub fn marked(marker: String) -> Self {
        Self { root: None, marker, workspace: PathBuf::new() }
    }
}

/// The service that starts and ends process trees. There is one per herder process.
#[derive(Debug, Clone)]
pub struct ProcessTrees {
    inner: Arc<Inner>,
}

/// The children of this process that were started here. There is one list, because children belong to the whole
/// process.
static OWN: LazyLock<Mutex<Children>> = LazyLock::new(Mutex::default);

/// The children that were started here, for which tokio waits.
#[derive(Debug, Default)]
struct Children {
    /// Start time of each child, by process id, in clock ticks.
    known: HashMap<u32, u64>,
    /// Number of children that are being started and so may be missing in `known`. The lock is not held during a start,
    /// because a file system that does not respond delays it without limit.
    starting: usize,
    /// Those of the known ones that outlive this process, and are no agent's.
    apart: HashSet<u32>,
}

/// Notified whenever a child process was started.
static STARTED: Notify = Notify::const_new();

/// A start of a child in progress, from its creation to its drop.
struct Starting;

impl Starting {
    fn begin() -> Self {
        lock(&OWN).starting += 1;
        Self
    }

    /// Adds the started child to the known ones, and ends the start.
    fn is(self, pid: u32, started: u64) {
        // Before the start ends, which it does when this function returns.
        lock(&OWN).known.insert(pid, started);
        STARTED.notify_waiters();
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        lock(&OWN).starting -= 1;
    }
}

/// Limits the number of simultaneous moves into cgroups. The kernel serializes them, so a thousand starts at once
/// would otherwise block hundreds of threads.
static PLACING: Semaphore = Semaphore::const_new(2);

#[derive(Debug, Default)]
struct Inner {
    /// The markers of processes seen so far, see [`Table::read`].
    markers: Mutex<HashMap<Identity, String>>,
    /// The folder in which cgroups can be created; `None` if they cannot be.
    cgroups: Option<Cgroups>,
    /// True if this process adopts orphans, so that an empty list of adopted children proves that nothing of a session
    /// is left.
    adopts: bool,
    /// Adopted children without a marker, as of the last look.
    adopted: watch::Sender<BTreeSet<Identity>>,
    /// Processes that an earlier herder had adopted, to be ended with what it left.
    inherited: Mutex<HashSet<Identity>>,
    /// True once an adopted child was seen with a thread other than the first. No known kernel does that; from then on
    /// the children of all threads are examined.
    scattered: AtomicBool,
    /// Counter for requests for a process table and for the starts of reads: a request with a lower number than the
    /// read can share its result.
    tickets: AtomicU64,
    /// The clock for the time limits when processes are ended.
    running: Running,
    shared: tokio::sync::Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    begun: u64,
    table: Arc<Table>,
}

/// A started child process. While it exists, no other code waits for the process.
#[derive(Debug)]
pub struct Owned {
    /// tokio's handle of the child.
    pub child: Child,
    /// Process id and start time of the child.
    pub identity: Identity,
    /// The task that moves the child into its cgroup; until it is done, the process id must not be reused.
    placing: Option<JoinHandle<()>>,
}

impl Owned {
    /// Waits for the process to end. Cancel-safe.
    ///
    /// # Errors
    /// See [`Child::wait`].
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(placing) = &mut self.placing {
            // If the move failed, the process remains in the old cgroup.
            let _ = placing.await;
            self.placing = None;
        }
        self.child.wait().await
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let mut own = lock(&OWN);
        if own.known.get(&self.identity.pid) == Some(&self.identity.started) {
            own.known.remove(&self.identity.pid);
            own.apart.remove(&self.identity.pid);
        }
    }
}

/// Locks a mutex; its content remains usable after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if this process can create a cgroup for each session.
#[must_use]
pub fn can_group() -> bool {
    Cgroups::find().is_some()
}

/// Tries whether this process can limit what the sessions of agents take.
///
/// # Errors
/// The reason why it cannot.
pub fn can_limit() -> Result<(), String> {
    Cgroups::find().ok_or_else(|| NO_GROUPS.to_owned())?.rehearse()
}

/// Reason why nothing can be limited where no cgroup can be made.
const NO_GROUPS: &str = "no cgroup can be made from here";

impl ProcessTrees {
    /// Makes this process the subreaper of everything below it and starts to reap the processes it adopts.
    ///
    /// Must be called inside a tokio runtime. Every child of this process must then be started with
    /// [`ProcessTrees::spawn`] or be waited for promptly.
    ///
    /// # Errors
    /// Signals cannot be received.
    pub fn new() -> io::Result<Self> {
        Self::with(Cgroups::find())
    }

    /// Returns the service as on a system without cgroups; otherwise like [`ProcessTrees::new`].
    ///
    /// # Errors
    /// See [`ProcessTrees::new`].
    pub fn without_cgroups() -> io::Result<Self> {
        Self::with(None)
    }

    /// Returns the service for a simulation, in which there are no processes.
    #[must_use]
    pub fn none() -> Self {
        Self { inner: Arc::new(Inner { running: Running::simulated(), ..Inner::default() }) }
    }

    fn with(cgroups: Option<Cgroups>) -> io::Result<Self> {
        let adopts = match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "orphans of agents are not adopted, every end is verified by a scan");
                false
            }
        };
        let inner = Arc::new(Inner { adopts, cgroups, ..Inner::default() });
        reap::start(&inner)?;
        Ok(Self { inner })
    }

    /// Returns the clock for the time limits when processes are ended.
    #[must_use]
    pub fn running(&self) -> &Running {
        &self.inner.running
    }

    /// Returns true if each session has a cgroup.
    #[must_use]
    pub fn has_cgroups(&self) -> bool {
        self.inner.cgroups.is_some()
    }

    /// Starts `command` in a process group of its own, and in a cgroup of its marker if possible. Blocks as long as
    /// the file systems of the program and its folder do.
    ///
    /// # Errors
    /// See [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command, marker: &str) -> io::Result<Owned> {
        let starting = Starting::begin();
        let child = command.process_group(0).kill_on_drop(false).spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("the child has no process id"))?;
        // No code has waited for it yet, so even a child that has already ended has an entry.
        let started = look(pid).map_or(0, |entry| entry.identity.started);
        starting.is(pid, started);
        shares::give_way(pid);
        let limited = self.inner.cgroups.as_ref().and_then(|cgroups| cgroups.limited(marker));
        if let Some(group) = limited {
            // It has had no input yet: nothing of its work is done outside of the limits.
            let owned = Owned { child, identity: Identity { pid, started }, placing: None };
            return within(owned, &group);
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the handle is kept, and waited for before the process is"
        )]
        let placing = self.inner.cgroups.is_some().then(|| {
            let (inner, marker) = (Arc::clone(&self.inner), marker.to_owned());
            tokio::spawn(place(inner, marker, pid))
        });
        Ok(Owned { child, identity: Identity { pid, started }, placing })
    }

    /// Starts a program that outlives this process and is no agent's: it counts in none of the looks for what agents
    /// leave.
    ///
    /// # Errors
    /// See [`Command::spawn`].
    pub fn spawn_apart(&self, command: &mut Command) -> io::Result<Owned> {
        let starting = Starting::begin();
        let child = command.kill_on_drop(false).spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("the child has no process id"))?;
        let started = look(pid).map_or(0, |entry| entry.identity.started);
        lock(&OWN).apart.insert(pid);
        starting.is(pid, started);
        Ok(Owned { child, identity: Identity { pid, started }, placing: None })
    }

    /// Creates the cgroup of a session that is about to start, with its limits.
    ///
    /// # Errors
    /// The reason why they cannot be set.
    pub(in crate::runtime) fn limit(&self, marker: &str, allowance: &Allowance) -> Result<(), String> {
        match &self.inner.cgroups {
            Some(cgroups) => cgroups.enclose(marker, allowance),
            None => Err(NO_GROUPS.to_owned()),
        }
    }

    /// Removes the cgroup of a session that could not start after all.
    pub(in crate::runtime) fn unlimit(&self, marker: &str) {
        if let Some(group) = self.inner.cgroups.as_ref().and_then(|cgroups| cgroups.limited(marker)) {
            cgroup::remove(&group);
        }
    }

    /// Returns the memory of a limited session in which the kernel has killed for want of it; `None` if it has not.
    pub(in crate::runtime) fn exhausted(&self, marker: &str) -> Option<Exhausted> {
        shares::exhausted(&self.inner.cgroups.as_ref()?.limited(marker)?)
    }

    /// Returns the memory of a session as it is now; `None` if it is not limited.
    pub(in crate::runtime) fn taken(&self, marker: &str) -> Option<Taken> {
        shares::taken(&self.inner.cgroups.as_ref()?.limited(marker)?)
    }

    /// Returns the name of the process of a limited session that takes the most memory; `None` if there is none.
    pub(in crate::runtime) fn biggest(&self, marker: &str) -> Option<String> {
        shares::biggest(cgroup::pids(&self.inner.cgroups.as_ref()?.limited(marker)?))
    }

    /// Returns a receiver of the adopted processes without a marker, which changes with them. Only herder's own
    /// record shows their origin.
    #[must_use]
    pub fn adopted(&self) -> watch::Receiver<BTreeSet<Identity>> {
        self.inner.adopted.subscribe()
    }

    /// Stores the processes that an earlier herder had adopted; they are ended with the others it left.
    pub fn inherit(&self, strays: impl Iterator<Item = Identity>) {
        lock(&self.inner.inherited).extend(strays);
    }

    /// Returns the processes that an earlier herder had adopted, as stored by [`ProcessTrees::inherit`].
    #[must_use]
    pub fn inherited(&self) -> HashSet<Identity> {
        lock(&self.inner.inherited).clone()
    }

    /// Returns true if no started or adopted process of this herder lives, but for those that outlive it; false if the
    /// kernel does not list children.
    #[must_use]
    pub fn is_childless(&self) -> bool {
        let apart = lock(&OWN).apart.clone();
        let living = |pid: &u32| look(*pid).is_some_and(|entry| !entry.zombie && entry.group != own_group());
        table::own_children()
            .is_some_and(|children| !children.iter().any(|pid| !apart.contains(pid) && living(pid)))
    }

    /// Returns a table of all processes, read after this call started. Simultaneous callers share one read.
    pub async fn table(&self) -> Arc<Table> {
        let asked = self.inner.tickets.fetch_add(1, Ordering::Relaxed);
        let mut shared = self.inner.shared.lock().await;
        if shared.begun > asked {
            return Arc::clone(&shared.table);
        }
        let inner = Arc::clone(&self.inner);
        let begun = self.inner.tickets.fetch_add(1, Ordering::Relaxed);
        let read = tokio::task::spawn_blocking(move || Table::read(&mut lock(&inner.markers)));
        let table = Arc::new(read.await.unwrap_or_default());
        *shared = Shared { begun, table: Arc::clone(&table) };
        table
    }

    /// Returns the marker of a process; also one that it has cleared since it was last seen.
    pub(in crate::runtime) fn marker(&self, pid: u32) -> Option<String> {
        self.inner.marker(look(pid)?.identity)
    }

    /// Returns the CPU time that `tree` has used so far, in clock ticks.
    pub async fn ticks(&self, tree: &Tree) -> u64 {
        let table = self.table().await;
        let members = table.members(&tree.root.into_iter().collect(), |marker| marker == tree.marker);
        table.ticks(&members)
    }

    /// Returns the memory that the processes of `tree` take.
    pub(in crate::runtime) async fn weight(&self, tree: &Tree) -> Weight {
        let table = self.table().await;
        let members = table.members(&tree.root.into_iter().collect(), |marker| marker == tree.marker);
        shares::weight(members.into_iter().map(|member| member.pid).collect())
    }

    /// Returns true if it is certain, without examining every process, that nothing of `tree` is left after its root
    /// was waited for.
    ///
    /// Orphans of the tree are this process's children by then: the kernel reassigns them before it reports the end
    /// of their parent. The list is read twice, because one read may miss a child while another child ends.
    #[must_use]
    pub fn nothing_left(&self, tree: &Tree) -> bool {
        let group = self.inner.cgroups.as_ref().and_then(|cgroups| cgroups.of(&tree.marker));
        let empty = group.as_deref().is_none_or(cgroup::is_empty);
        let nothing = empty && self.inner.adopts && (0..2).all(|_| self.no_orphan_of(tree));
        if let Some(group) = group.filter(|_| nothing) {
            cgroup::remove(&group);
        }
        nothing
    }

    fn no_orphan_of(&self, tree: &Tree) -> bool {
        let Some(children) = self.inner.adopted() else { return false };
        let adopted: Vec<u32> = {
            let own = lock(&OWN);
            children.into_iter().filter(|pid| !own.known.contains_key(pid)).collect()
        };
        let living = adopted.into_iter().filter_map(look).filter(|entry| !entry.zombie);
        living.into_iter().all(|entry| match self.inner.marker(entry.identity) {
            Some(marker) => marker != tree.marker,
            None => !table::is_between_programs(entry.identity.pid) && !self.is_stray(entry, tree),
        })
    }

    /// Returns true if an adopted child is between two programs, so that it cannot be told yet whose it is.
    fn is_undecided(&self) -> bool {
        let Some(children) = self.inner.adopted() else { return false };
        let own = lock(&OWN);
        // A child that is being started is no orphan, and looks the same.
        if own.starting > 0 {
            return false;
        }
        let unknown: Vec<u32> = children.into_iter().filter(|pid| !own.known.contains_key(pid)).collect();
        drop(own);
        let lives = |pid: &u32| look(*pid).is_some_and(|entry| !entry.zombie);
        unknown.into_iter().any(|pid| table::is_between_programs(pid) && lives(&pid))
    }

    /// Returns the adopted processes without a marker that belong to `tree` and are ended with it.
    fn strays(&self, table: &Table, tree: &Tree) -> Vec<Identity> {
        let strays = table.unmarked_children().filter(|entry| self.is_stray(*entry, tree));
        strays.map(|entry| entry.identity).collect()
    }

    /// Returns true if a child of this process without a marker was adopted from `tree`.
    ///
    /// Agents are never in this process's own group, and its own helper processes are. Among the sessions that may
    /// have started it, by their start time, the child belongs to the one in whose workspace it works; or to `tree`,
    /// if no other one runs.
    fn is_stray(&self, entry: Entry, tree: &Tree) -> bool {
        let started = entry.identity.started;
        let Some(root) = tree.root.filter(|root| root.started <= started) else { return false };
        if entry.group == own_group() {
            return false;
        }
        let own = lock(&OWN);
        if own.known.contains_key(&entry.identity.pid) {
            return false;
        }
        let is_other = |pid: &u32| *pid != root.pid && !own.apart.contains(pid);
        let others = own.known.iter().any(|(pid, other)| is_other(pid) && *other <= started);
        let starting = own.starting > 0;
        drop(own);
        // A child that is being started still runs this program, until it executes another one.
        if starting && table::is_this_program(entry.identity.pid) {
            return false;
        }
        if table::is_between_programs(entry.identity.pid) {
            return false;
        }
        // It had no marker when it was looked at, and may have its program since then.
        if let Some(marker) = self.inner.marker(entry.identity) {
            return marker == tree.marker;
        }
        !others
            || table::workspace(entry.identity.pid).is_some_and(|folder| folder.starts_with(&tree.workspace))
    }
}

/// Returns the id of this process's own process group. As process 1 of a container it may be in a group from outside,
/// whose id is 0 inside: rustix has no such id, `/proc` has.
fn own_group() -> u32 {
    static GROUP: OnceLock<u32> = OnceLock::new();
    *GROUP.get_or_init(|| table::look(std::process::id()).map_or(0, |entry| entry.group))
}

/// Moves a started process into the cgroup with its limits. One that cannot be moved is ended.
fn within(mut owned: Owned, group: &Path) -> io::Result<Owned> {
    let moved = std::fs::write(group.join("cgroup.procs"), owned.identity.pid.to_string());
    // A process that has ended at once is not kept from telling why.
    let gone = || look(owned.identity.pid).is_none_or(|entry| entry.zombie);
    match moved {
        Err(error) if !gone() => {
            owned.child.start_kill()?;
            Err(error)
        }
        Ok(()) | Err(_) => Ok(owned),
    }
}

/// Moves a process into its cgroup on a blocking thread: the kernel may take milliseconds.
async fn place(inner: Arc<Inner>, marker: String, pid: u32) {
    let Ok(_turn) = PLACING.acquire().await else { return };
    let placed = tokio::task::spawn_blocking(move || {
        if let Some(cgroups) = &inner.cgroups {
            cgroups.place(&marker, pid);
        }
    });
    // If the move failed, the process remains in the old cgroup.
    let _ = placed.await;
}

impl Inner {
    /// Returns the children of this process, at least all adopted ones; `None` if the kernel does not list children.
    fn adopted(&self) -> Option<Vec<u32>> {
        if self.scattered.load(Ordering::Relaxed) { table::own_children() } else { table::first_children() }
    }

    /// Looks for adopted children without a marker, and publishes the list if it has changed.
    fn look_for_strays(&self) {
        let Some(children) = self.adopted() else { return };
        let unknown: Vec<u32> = {
            let own = lock(&OWN);
            // A child that is being started is not known yet.
            if own.starting > 0 {
                return;
            }
            children.into_iter().filter(|pid| !own.known.contains_key(pid)).collect()
        };
        let living = unknown.into_iter().filter_map(look).filter(|entry| !entry.zombie);
        let unmarked =
            living.filter(|entry| entry.group != own_group() && self.marker(entry.identity).is_none());
        let strays: BTreeSet<Identity> = unmarked.map(|entry| entry.identity).collect();
        self.adopted.send_if_modified(|known| {
            let changed = *known != strays;
            *known = strays;
            changed
        });
    }

    /// Returns the marker of a process, including one that it has cleared since it was last seen.
    fn marker(&self, identity: Identity) -> Option<String> {
        let mut markers = lock(&self.markers);
        if let Some(marker) = markers.get(&identity) {
            return Some(marker.clone());
        }
        let marker = table::marker(identity.pid)?;
        markers.insert(identity, marker.clone());
        Some(marker)
    }
}
