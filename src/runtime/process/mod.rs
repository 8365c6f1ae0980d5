//! The processes of agents: started, watched, ended, and verified to be gone.
//!
//! A process group is not enough: shells that agents start run in sessions of their own, and daemons lose their parent.
//! So three nets are cast over one session's processes, and a process that is in any of them belongs to it:
//!
//! - descent: whatever has a member as its parent;
//! - adoption: herder is the subreaper of everything below it, so that an orphan becomes herder's own child and stays in sight;
//! - the marker: `HERDER_SESSION` in the environment a process was started with, which forks and daemons inherit.
//!
//! A daemon that has thrown its environment away is in the second net alone. It is ended with the session whose workspace
//! it works in, or else with the last session that may have started it ([`ProcessTrees::strays`]).
//!
//! Where cgroups can be made, each session has one as well (`cgroup`).
//!
//! Nothing is ever found by its name, and nothing is signalled by its number alone: a pid is given to another process one
//! day, so that a signal goes through a pidfd after the start time was compared ([`signal`]).

mod cgroup;
pub mod descent;
mod reap;
mod signal;
pub(crate) mod spawn;
mod starters;
pub(in crate::runtime) mod stop;
pub(in crate::runtime) mod table;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::process::getpgrp;
use tokio::process::{Child, Command};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::clock::running::Running;
use cgroup::Cgroups;
pub use signal::send;
pub use table::{Entry, Identity, Table, lives, look};

/// Which processes belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The first process, if it is known.
    pub root: Option<Identity>,
    /// The value of `HERDER_SESSION` of all of them.
    pub marker: String,
    /// The folder the first one was started in.
    pub workspace: PathBuf,
}

impl Tree {
    /// The tree of a session whose first process is not known any more.
    #[must_use]
    pub fn marked(marker: String) -> Self {
        Self { root: None, marker, workspace: PathBuf::new() }
    }
}

/// The service that starts and ends process trees. One per herder.
#[derive(Debug, Clone)]
pub struct ProcessTrees {
    inner: Arc<Inner>,
}

/// For the whole process, because children are the process's.
static OWN: LazyLock<Mutex<Children>> = LazyLock::new(Mutex::default);

/// Children that were started here and are waited for by tokio.
#[derive(Debug, Default)]
struct Children {
    /// With their start times.
    known: HashMap<u32, u64>,
    /// How many are being started: there can be as many that are not known yet. The lock is not held meanwhile, because a
    /// file system that does not answer holds up a start for as long as it likes.
    starting: usize,
}

/// Rung when a child was started.
static STARTED: Notify = Notify::const_new();

/// A child is being started, until dropped.
struct Starting;

impl Starting {
    fn begin() -> Self {
        lock(&OWN).starting += 1;
        Self
    }

    /// It was, and is known from now on.
    fn is(self, pid: u32, started: u64) {
        // Before it counts as started, which it does when this returns.
        lock(&OWN).known.insert(pid, started);
        STARTED.notify_waiters();
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        lock(&OWN).starting -= 1;
    }
}

/// Moves into cgroups at a time. The kernel makes them wait for each other, so that a thousand starts at once must not
/// become hundreds of threads.
static PLACING: Semaphore = Semaphore::const_new(2);

#[derive(Debug, Default)]
struct Inner {
    /// Markers that were seen, see [`Table::read`].
    markers: Mutex<HashMap<Identity, String>>,
    /// Where cgroups can be made, if they can.
    cgroups: Option<Cgroups>,
    /// Whether orphans come here, so that an empty list of adopted children proves that nothing is left.
    adopts: bool,
    /// Adopted children that carry no marker, as they were last seen.
    adopted: watch::Sender<BTreeSet<Identity>>,
    /// What an earlier herder had adopted.
    inherited: Mutex<HashSet<Identity>>,
    /// An adopted child was seen elsewhere than with the first thread: the kernel is none that is known, and every thread's
    /// children are looked at.
    scattered: AtomicBool,
    /// Drawn when a table is asked for and when one is begun, so that whoever asked before it was begun can share it.
    tickets: AtomicU64,
    /// What the clocks that end agents go by.
    running: Running,
    shared: tokio::sync::Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    begun: u64,
    table: Arc<Table>,
}

/// A started child. While it exists nobody else waits for it.
#[derive(Debug)]
pub struct Owned {
    /// tokio's handle.
    pub child: Child,
    /// Which process it is.
    pub identity: Identity,
    /// It is being moved into its cgroup; until that is done its number must not become free.
    placing: Option<JoinHandle<()>>,
}

impl Owned {
    /// Waits for the process to end. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// As [`Child::wait`].
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(placing) = &mut self.placing {
            // A move that failed leaves the process where it was.
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
        }
    }
}

/// What a panic left behind is still a map that can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a cgroup can be made for each session from where this process runs.
#[must_use]
pub fn can_group() -> bool {
    Cgroups::find().is_some()
}

impl ProcessTrees {
    /// Makes this process the subreaper of everything below it and starts to reap what it adopts.
    ///
    /// Must be called inside a tokio runtime. Every child that this process has must then be started through
    /// [`ProcessTrees::spawn`] or be waited for promptly.
    ///
    /// # Errors
    /// If signals cannot be listened for.
    pub fn new() -> io::Result<Self> {
        Self::with(Cgroups::find())
    }

    /// As [`ProcessTrees::new`] on a system where no cgroup can be made.
    ///
    /// # Errors
    /// As [`ProcessTrees::new`].
    pub fn without_cgroups() -> io::Result<Self> {
        Self::with(None)
    }

    /// Of a simulation, in which there are no processes.
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

    /// The clock that whoever ends agents measures by.
    #[must_use]
    pub fn running(&self) -> &Running {
        &self.inner.running
    }

    /// Whether each session has a cgroup.
    #[must_use]
    pub fn has_cgroups(&self) -> bool {
        self.inner.cgroups.is_some()
    }

    /// Starts `command` in a process group of its own, and in a cgroup of its marker if there can be one. Blocks for as long
    /// as the file systems do that the program and its folder are on.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command, marker: &str) -> io::Result<Owned> {
        let starting = Starting::begin();
        let child = command.process_group(0).kill_on_drop(false).spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("the child has no process id"))?;
        // Nobody has waited for it, so that even a child that is already over has an entry.
        let started = look(pid).map_or(0, |entry| entry.identity.started);
        starting.is(pid, started);
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

    /// Adopted processes without a marker, whenever there are others. Nothing but herder's own record says whose they are.
    #[must_use]
    pub fn adopted(&self) -> watch::Receiver<BTreeSet<Identity>> {
        self.inner.adopted.subscribe()
    }

    /// Takes note of what an earlier herder had adopted: it is ended with what that one left.
    pub fn inherit(&self, strays: impl Iterator<Item = Identity>) {
        lock(&self.inner.inherited).extend(strays);
    }

    /// Processes that an earlier herder had adopted.
    #[must_use]
    pub fn inherited(&self) -> HashSet<Identity> {
        lock(&self.inner.inherited).clone()
    }

    /// Whether no process that was started or adopted here lives; it is not known where the kernel lists no children.
    #[must_use]
    pub fn is_childless(&self) -> bool {
        let living = |pid: &u32| look(*pid).is_some_and(|entry| !entry.zombie && entry.group != own_group());
        table::own_children().is_some_and(|children| !children.iter().any(living))
    }

    /// All processes, seen after this was called. Many callers share one look.
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

    /// The marker of a process, if it has or had one.
    pub(in crate::runtime) fn marker(&self, pid: u32) -> Option<String> {
        self.inner.marker(look(pid)?.identity)
    }

    /// CPU time that `tree` has used so far, in clock ticks.
    pub async fn ticks(&self, tree: &Tree) -> u64 {
        let table = self.table().await;
        let members = table.members(&tree.root.into_iter().collect(), |marker| marker == tree.marker);
        table.ticks(&members)
    }

    /// Whether it is certain, without looking at every process, that nothing of `tree` is left once its root was waited for.
    ///
    /// Orphans of the tree are this process's children by then: the kernel hands them over before it reports the end of
    /// their parent. Two looks, because the list may miss one while another one ends.
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
            None => !self.is_stray(entry, tree),
        })
    }

    /// Adopted processes without a marker that are ended with `tree`.
    fn strays(&self, table: &Table, tree: &Tree) -> Vec<Identity> {
        let strays = table.unmarked_children().filter(|entry| self.is_stray(*entry, tree));
        strays.map(|entry| entry.identity).collect()
    }

    /// Whether an unmarked child of this process is one that it adopted from `tree`.
    ///
    /// Agents never are in this process's own group, and what this process itself starts beside them is. Of those that may
    /// have started it, by their time, it is the one in whose workspace it works; or `tree`, if no other one runs any more.
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
        let others = own.known.iter().any(|(pid, other)| *pid != root.pid && *other <= started);
        let starting = own.starting > 0;
        drop(own);
        // What is being started is this program still, until it has become another one.
        if starting && table::is_this_program(entry.identity.pid) {
            return false;
        }
        !others
            || table::workspace(entry.identity.pid).is_some_and(|folder| folder.starts_with(&tree.workspace))
    }
}

/// This process's own group.
fn own_group() -> u32 {
    u32::try_from(getpgrp().as_raw_nonzero().get()).unwrap_or(0)
}

/// Moves a process into its cgroup, off the runtime's own threads: the kernel may take milliseconds.
async fn place(inner: Arc<Inner>, marker: String, pid: u32) {
    let Ok(_turn) = PLACING.acquire().await else { return };
    let placed = tokio::task::spawn_blocking(move || {
        if let Some(cgroups) = &inner.cgroups {
            cgroups.place(&marker, pid);
        }
    });
    // A move that failed leaves the process where it was.
    let _ = placed.await;
}

impl Inner {
    /// Children among which all adopted ones are.
    fn adopted(&self) -> Option<Vec<u32>> {
        if self.scattered.load(Ordering::Relaxed) { table::own_children() } else { table::first_children() }
    }

    /// Looks for adopted children without a marker, and tells whoever notes them.
    fn look_for_strays(&self) {
        let Some(children) = self.adopted() else { return };
        let unknown: Vec<u32> = {
            let own = lock(&OWN);
            // What is being started is not known yet.
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

    /// The marker of a process, also one that it has thrown away since it was last looked at.
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
