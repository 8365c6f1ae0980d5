//! The stop ladder: SIGTERM, grace period, SIGKILL, to every process of a tree, until two consecutive looks find nothing.
//!
//! Parents are asked first: an agent whose tool ends before it does takes that for the tool's result, and asks its model
//! what to do next.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::sleep;

use super::table::{Identity, look};
use super::{ProcessTrees, Tree, cgroup, send};

/// Maximum wait after SIGKILL. A process that still exists then hangs in a device or a file system, and is reported
/// as a survivor.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Maximum time in which a process is not asked to end because its parent still runs; at most half of the grace.
const PARENTS_FIRST: Duration = Duration::from_secs(3);

/// Wait before the second look for living processes. Most are gone by then.
const LOOK_FIRST: Duration = Duration::from_millis(5);

/// Maximum number of processes after which the next look is soon again. A tree that forks on has new ones at every look.
const HASTE_MAX: u32 = 16;

/// Maximum wait between two looks for living processes.
const LOOK_LAST: Duration = Duration::from_millis(200);

/// The processes that a stop ladder is to end.
pub(in crate::runtime) enum Meant<'a> {
    /// The processes of one session.
    Tree(&'a Tree),
    /// The processes whose marker starts with one of these prefixes.
    Marked(&'a [&'a str]),
}

/// The result of ending a process tree.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Gone {
    /// Number of processes that were ended, including those that left when asked to.
    pub(in crate::runtime) ended: usize,
    /// Ids of the processes that could not be ended.
    pub(in crate::runtime) survivors: Vec<u32>,
}

/// A run of the stop ladder, with the processes that it has seen.
struct Climb<'a> {
    trees: &'a ProcessTrees,
    meant: Meant<'a>,
    /// Every process that was a member at some look; it stays one, even if its parent ends or its environment changes.
    seen: HashSet<Identity>,
    /// The processes that were alive at some look.
    found: HashSet<Identity>,
}

impl ProcessTrees {
    /// Ends all processes of `tree`, by SIGTERM and after `grace` by SIGKILL. Returns the ids of those that could not
    /// be ended.
    pub async fn end(&self, tree: &Tree, grace: Duration) -> Vec<u32> {
        self.end_counted(tree, grace).await.survivors
    }

    /// Ends all processes of `tree` like [`ProcessTrees::end`], and also counts those that were ended.
    pub(in crate::runtime) async fn end_counted(&self, tree: &Tree, grace: Duration) -> Gone {
        let seen = tree.root.into_iter().collect();
        let (mut found, survivors) = self.end_all(Meant::Tree(tree), seen, grace).await;
        // The root counts as ended even if it exited on request before the first look.
        found.extend(tree.root);
        Gone { ended: found.len().saturating_sub(survivors.len()), survivors }
    }

    /// Ends every process whose marker starts with `prefix`, and all their descendants. Returns the ids of those that
    /// could not be ended.
    pub async fn end_marked(&self, prefix: &str, grace: Duration) -> Vec<u32> {
        self.end_all(Meant::Marked(&[prefix]), HashSet::new(), grace).await.1
    }

    /// Returns the number of living processes whose marker starts with `prefix`, or that descend from such a process.
    pub async fn count_marked(&self, prefix: &str) -> usize {
        self.count_marked_but(prefix, Vec::new).await
    }

    /// Returns the number of [`ProcessTrees::count_marked`] without the processes whose marker starts with one of
    /// `but`. `but` is called after the processes were read, so that a process born meanwhile is not counted on one
    /// side only.
    pub async fn count_marked_but(&self, prefix: &str, but: impl FnOnce() -> Vec<String>) -> usize {
        let (table, but) = (self.table().await, but());
        let counts = |marker: &str| {
            marker.starts_with(prefix) && !but.iter().any(|but| marker.starts_with(but.as_str()))
        };
        table.members(&HashSet::new(), counts).len()
    }

    /// Returns the markers of living processes that start with `prefix`.
    pub async fn markers(&self, prefix: &str) -> BTreeSet<String> {
        let table = self.table().await;
        table.markers().filter(|marker| marker.starts_with(prefix)).map(str::to_owned).collect()
    }

    /// Ends the processes that `meant` names, those in `seen`, and all descendants of both. Returns the processes that
    /// were found alive, and the ids of those that could not be ended.
    pub(in crate::runtime) async fn end_all(
        &self,
        meant: Meant<'_>,
        seen: HashSet<Identity>,
        grace: Duration,
    ) -> (HashSet<Identity>, Vec<u32>) {
        let mut climb = Climb { trees: self, meant, seen, found: HashSet::new() };
        let survivors = if climb.ask(grace).await { Vec::new() } else { climb.kill().await };
        climb.groups().iter().for_each(|group| cgroup::remove(group));
        (climb.found, survivors)
    }
}

impl Climb<'_> {
    /// Returns the cgroups of the processes that are to be ended.
    fn groups(&self) -> Vec<PathBuf> {
        let Some(cgroups) = &self.trees.inner.cgroups else { return Vec::new() };
        match &self.meant {
            Meant::Tree(tree) => cgroups.of(&tree.marker).into_iter().collect(),
            Meant::Marked(prefixes) => {
                prefixes.iter().flat_map(|prefix| cgroups.beginning_with(prefix)).collect()
            }
        }
    }

    /// Returns the processes to be ended that are alive now.
    async fn members(&mut self) -> Vec<Identity> {
        let table = self.trees.table().await;
        let grouped = self.groups().into_iter().flat_map(|group| cgroup::pids(&group));
        self.seen.extend(grouped.filter_map(look).map(|entry| entry.identity));
        let members = match &self.meant {
            Meant::Tree(tree) => {
                self.seen.extend(self.trees.strays(&table, tree));
                table.members(&self.seen, |marker| marker == tree.marker)
            }
            Meant::Marked(prefixes) => {
                table.members(&self.seen, |marker| prefixes.iter().any(|prefix| marker.starts_with(prefix)))
            }
        };
        self.seen.extend(&members);
        self.found.extend(&members);
        members
    }

    /// Returns the processes to be ended that are alive now, after a second look if the first one found nothing: a
    /// process may be born while the list is read.
    async fn members_for_certain(&mut self) -> Vec<Identity> {
        let members = self.members().await;
        if members.is_empty() { self.members().await } else { members }
    }

    /// Returns true if no process is left, given the result of the last look. A process that forks and exits all the
    /// time is never seen alive, but its cgroup shows it.
    fn is_over(&self, members: &[Identity]) -> bool {
        members.is_empty()
            && self.groups().iter().all(|group| cgroup::is_empty(group))
            && !self.trees.is_undecided()
    }

    /// Sends SIGTERM to every process, to children once their parent has ended or [`PARENTS_FIRST`] is over. Returns
    /// true if all exited within `grace`.
    async fn ask(&mut self, grace: Duration) -> bool {
        let running = self.trees.running().clone();
        let _held = running.hold();
        let until = running.now() + grace;
        let all_at = running.now() + PARENTS_FIRST.min(grace / 2);
        let mut asked = HashSet::new();
        let (mut pause, mut haste) = (LOOK_FIRST, HASTE_MAX);
        loop {
            let members = self.members_for_certain().await;
            if self.is_over(&members) {
                return true;
            }
            let alive: HashSet<u32> = members.iter().map(|member| member.pid).collect();
            let may_be_asked = |member: &Identity| {
                running.now() >= all_at || look(member.pid).is_none_or(|entry| !alive.contains(&entry.parent))
            };
            for member in members {
                if asked.contains(&member) || !may_be_asked(&member) {
                    continue;
                }
                asked.insert(member);
                send(member, Signal::TERM);
                // A stopped process gets the signal only once it continues.
                send(member, Signal::CONT);
                if running.now() < all_at && haste > 0 {
                    // Most are gone soon, and their children wait for that.
                    (pause, haste) = (LOOK_FIRST, haste - 1);
                }
            }
            if running.now() >= until {
                return false;
            }
            running.sleep_until(until.min(running.now() + pause)).await;
            pause = (pause * 2).min(LOOK_LAST);
        }
    }

    /// Sends SIGKILL to every process that is found, repeatedly. Returns the ids of those that could not be ended.
    async fn kill(&mut self) -> Vec<u32> {
        let running = self.trees.running().clone();
        let _held = running.hold();
        let until = running.now() + KILL_WAIT;
        let mut killed = HashSet::new();
        let mut pause = LOOK_FIRST;
        loop {
            let members = self.members_for_certain().await;
            if self.is_over(&members) {
                return Vec::new();
            }
            let mut fresh = false;
            for member in &members {
                send(*member, Signal::KILL);
                fresh |= killed.insert(*member);
            }
            self.groups().iter().for_each(|group| cgroup::kill(group));
            if running.now() >= until {
                let grouped = self.groups().into_iter().flat_map(|group| cgroup::pids(&group));
                let left: BTreeSet<u32> = members.iter().map(|member| member.pid).chain(grouped).collect();
                return left.into_iter().collect();
            }
            // After a look with new processes there is no pause, in which they could fork again.
            if !fresh {
                sleep(pause).await;
                pause = (pause * 2).min(LOOK_LAST);
            }
        }
    }
}
