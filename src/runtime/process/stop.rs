//! The stop ladder: SIGTERM, grace, SIGKILL, to every process of a tree, until two looks in a row find nothing.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::sleep;

use super::table::{Identity, look};
use super::{ProcessTrees, Tree, cgroup, send};

/// After SIGKILL a process is gone as soon as the kernel lets go of it; one that is not by then hangs in a device or a file
/// system and is reported as a survivor.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// The first wait between two looks. Most processes are gone by the second look.
const LOOK_FIRST: Duration = Duration::from_millis(5);

/// The longest wait between two looks.
const LOOK_LAST: Duration = Duration::from_millis(200);

/// Which processes are meant.
pub(in crate::runtime) enum Meant<'a> {
    /// A session's.
    Tree(&'a Tree),
    /// Those whose marker begins with one of these.
    Marked(&'a [&'a str]),
}

/// What came of a tree.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Gone {
    /// How many processes of it were ended.
    pub(in crate::runtime) ended: usize,
    /// Those that could not be.
    pub(in crate::runtime) survivors: Vec<u32>,
}

/// A climb up the ladder.
struct Climb<'a> {
    trees: &'a ProcessTrees,
    meant: Meant<'a>,
    /// What was meant once stays meant, whatever becomes of its parent and its environment.
    seen: HashSet<Identity>,
    /// What was found alive.
    found: HashSet<Identity>,
}

impl ProcessTrees {
    /// Ends `tree`. Returns what could not be ended.
    pub async fn end(&self, tree: &Tree, grace: Duration) -> Vec<u32> {
        self.end_counted(tree, grace).await.survivors
    }

    /// Ends `tree`, and says what came of it.
    pub(in crate::runtime) async fn end_counted(&self, tree: &Tree, grace: Duration) -> Gone {
        let seen = tree.root.into_iter().collect();
        let (mut found, survivors) = self.end_all(Meant::Tree(tree), seen, grace).await;
        // One that left when it was asked to, before anybody looked, was ended as well.
        found.extend(tree.root);
        Gone { ended: found.len().saturating_sub(survivors.len()), survivors }
    }

    /// Ends every process whose marker begins with `prefix`, and all their descendants. Returns what could not be ended.
    pub async fn end_marked(&self, prefix: &str, grace: Duration) -> Vec<u32> {
        self.end_all(Meant::Marked(&[prefix]), HashSet::new(), grace).await.1
    }

    /// How many living processes have a marker that begins with `prefix`, or descend from one that has.
    pub async fn count_marked(&self, prefix: &str) -> usize {
        self.count_marked_but(prefix, Vec::new).await
    }

    /// The same without those whose marker begins with one of `but`, which is asked for once it is known what lives: what is
    /// born meanwhile is not counted on one side alone.
    pub async fn count_marked_but(&self, prefix: &str, but: impl FnOnce() -> Vec<String>) -> usize {
        let (table, but) = (self.table().await, but());
        let counts = |marker: &str| {
            marker.starts_with(prefix) && !but.iter().any(|but| marker.starts_with(but.as_str()))
        };
        table.members(&HashSet::new(), counts).len()
    }

    /// The markers that begin with `prefix` of whatever lives.
    pub async fn markers(&self, prefix: &str) -> BTreeSet<String> {
        let table = self.table().await;
        table.markers().filter(|marker| marker.starts_with(prefix)).map(str::to_owned).collect()
    }

    /// Ends what is meant, the processes in `seen`, and all descendants of both. Returns what was found alive and what could
    /// not be ended.
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
    /// The cgroups of what is meant.
    fn groups(&self) -> Vec<PathBuf> {
        let Some(cgroups) = &self.trees.inner.cgroups else { return Vec::new() };
        match &self.meant {
            Meant::Tree(tree) => cgroups.of(&tree.marker).into_iter().collect(),
            Meant::Marked(prefixes) => {
                prefixes.iter().flat_map(|prefix| cgroups.beginning_with(prefix)).collect()
            }
        }
    }

    /// What lives now.
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

    /// What lives, after two looks if the first one found nothing: a process may be born between two lines of a list.
    async fn members_for_certain(&mut self) -> Vec<Identity> {
        let members = self.members().await;
        if members.is_empty() { self.members().await } else { members }
    }

    /// Whether nothing lives, given what two looks have found. A process that forks and exits all the time is never seen
    /// alive, but its cgroup knows of it.
    fn is_over(&self, members: &[Identity]) -> bool {
        members.is_empty() && self.groups().iter().all(|group| cgroup::is_empty(group))
    }

    /// SIGTERM. Whether everything left within `grace`.
    async fn ask(&mut self, grace: Duration) -> bool {
        let running = self.trees.running().clone();
        let _held = running.hold();
        let until = running.now() + grace;
        let mut asked = HashSet::new();
        let mut pause = LOOK_FIRST;
        loop {
            let members = self.members_for_certain().await;
            if self.is_over(&members) {
                return true;
            }
            for member in members.into_iter().filter(|member| asked.insert(*member)) {
                send(member, Signal::TERM);
                // A stopped process hears of it only once it goes on.
                send(member, Signal::CONT);
            }
            if running.now() >= until {
                return false;
            }
            running.sleep_until(until.min(running.now() + pause)).await;
            pause = (pause * 2).min(LOOK_LAST);
        }
    }

    /// SIGKILL, to whatever is found again and again. What is left.
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
            // Whoever forks while this loop looks is not given a pause to do so again.
            if !fresh {
                sleep(pause).await;
                pause = (pause * 2).min(LOOK_LAST);
            }
        }
    }
}
