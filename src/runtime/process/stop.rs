//! The stop ladder: SIGTERM, grace, SIGKILL, to every process of a tree, until two looks in a row find nothing.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep, sleep_until};

use super::table::Identity;
use super::{ProcessTrees, Tree, send};

/// After SIGKILL a process is gone as soon as the kernel lets go of it; one that is not by then hangs in a device or a file
/// system and is reported as a survivor.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// The first wait between two looks. Most processes are gone by the second look.
const LOOK_FIRST: Duration = Duration::from_millis(5);

/// The longest wait between two looks.
const LOOK_LAST: Duration = Duration::from_millis(200);

/// Whether a marker is that of the processes that are meant.
type Belongs<'a> = &'a (dyn Fn(&str) -> bool + Sync);

impl ProcessTrees {
    /// Ends `tree`. Returns what could not be ended.
    pub async fn end(&self, tree: &Tree, grace: Duration) -> Vec<u32> {
        let mut seen: HashSet<Identity> = tree.root.into_iter().collect();
        let (_, survivors) = self.end_where(&mut seen, &|marker| marker == tree.marker, grace).await;
        survivors
    }

    /// Ends every process whose marker begins with `prefix`, and all their descendants. Returns what could not be ended.
    pub async fn end_marked(&self, prefix: &str, grace: Duration) -> Vec<u32> {
        let (_, survivors) =
            self.end_where(&mut HashSet::new(), &|marker| marker.starts_with(prefix), grace).await;
        survivors
    }

    /// How many living processes have a marker that begins with `prefix`, or descend from one that has.
    pub async fn count_marked(&self, prefix: &str) -> usize {
        self.members(&mut HashSet::new(), &|marker| marker.starts_with(prefix)).await.len()
    }

    /// Ends the processes in `seen`, those whose marker `belongs`, and all descendants of both. Returns what was found alive
    /// and what could not be ended.
    pub(in crate::runtime) async fn end_where(
        &self,
        seen: &mut HashSet<Identity>,
        belongs: Belongs<'_>,
        grace: Duration,
    ) -> (HashSet<Identity>, Vec<u32>) {
        let mut found = HashSet::new();
        if self.ask(seen, belongs, grace, &mut found).await {
            return (found, Vec::new());
        }
        let survivors = self.kill(seen, belongs, &mut found).await;
        (found, survivors)
    }

    /// The living processes that are meant; what was seen once is in `seen` and stays in it.
    async fn members(&self, seen: &mut HashSet<Identity>, belongs: Belongs<'_>) -> Vec<Identity> {
        let members = self.table().await.members(seen, belongs);
        seen.extend(&members);
        members
    }

    /// SIGTERM. Whether everything left within `grace`.
    async fn ask(
        &self,
        seen: &mut HashSet<Identity>,
        belongs: Belongs<'_>,
        grace: Duration,
        asked: &mut HashSet<Identity>,
    ) -> bool {
        let until = Instant::now() + grace;
        let mut pause = LOOK_FIRST;
        loop {
            let members = self.members(seen, belongs).await;
            if members.is_empty() && self.members(seen, belongs).await.is_empty() {
                return true;
            }
            for member in members.into_iter().filter(|member| asked.insert(*member)) {
                send(member, Signal::TERM);
                // A stopped process hears of it only once it goes on.
                send(member, Signal::CONT);
            }
            if Instant::now() >= until {
                return false;
            }
            sleep_until(until.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(LOOK_LAST);
        }
    }

    /// SIGKILL, to whatever is found again and again. What is left.
    async fn kill(
        &self,
        seen: &mut HashSet<Identity>,
        belongs: Belongs<'_>,
        killed: &mut HashSet<Identity>,
    ) -> Vec<u32> {
        let until = Instant::now() + KILL_WAIT;
        let mut pause = LOOK_FIRST;
        loop {
            let members = self.members(seen, belongs).await;
            if members.is_empty() && self.members(seen, belongs).await.is_empty() {
                return Vec::new();
            }
            let mut fresh = false;
            for member in &members {
                send(*member, Signal::KILL);
                fresh |= killed.insert(*member);
            }
            if Instant::now() >= until {
                let mut left: Vec<u32> = members.iter().map(|member| member.pid).collect();
                left.sort_unstable();
                return left;
            }
            // Whoever forks while this loop looks is not given a pause to do so again.
            if !fresh {
                sleep(pause).await;
                pause = (pause * 2).min(LOOK_LAST);
            }
        }
    }
}
