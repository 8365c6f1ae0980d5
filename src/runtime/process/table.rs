//! Process information from `/proc`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;

use crate::runtime::environment::MARKER;

/// Size of one read of a file in `/proc`, in bytes.
const PAGE: usize = 4096;

/// A unique identity of a process: its id is reused later, its start time is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Process id on this machine.
    pub pid: u32,
    /// Start time of the process, in clock ticks since the boot.
    pub started: u64,
}

/// A process as `/proc` showed it at the time of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Process id and start time.
    pub identity: Identity,
    /// Process id of the parent.
    pub parent: u32,
    /// Id of the process group.
    pub group: u32,
    /// True if the process has ended and has not been waited for.
    pub zombie: bool,
    /// CPU time used by the process and by the children it waited for, in clock ticks.
    pub ticks: u64,
}

/// Returns the process with this id; `None` if there is none.
#[must_use]
pub fn look(pid: u32) -> Option<Entry> {
    parse(pid, &contents(&format!("/proc/{pid}/stat"))?)
}

/// Reads a file of `/proc`. Its reported size is 0, so a page is reserved, and the file is read in as few calls as possible.
fn contents(path: &str) -> Option<String> {
    let mut text = Vec::with_capacity(PAGE);
    File::open(path).ok()?.take(u64::MAX).read_to_end(&mut text).ok()?;
    // The name of a process may contain any bytes.
    Some(String::from_utf8(text).unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned()))
}

/// Parses `/proc/<pid>/stat`. The name in parentheses may contain any characters, including parentheses and line ends.
fn parse(pid: u32, stat: &str) -> Option<Entry> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // `fields[0]` is field 3 in the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Entry {
        identity: Identity { pid, started: number(22)? },
        parent: u32::try_from(number(4)?).ok()?,
        group: u32::try_from(number(5)?).ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
        ticks: (14..=17).filter_map(number).sum(),
    })
}

/// Returns true if the process still runs; a zombie does not.
#[must_use]
pub fn lives(identity: Identity) -> bool {
    look(identity.pid).is_some_and(|entry| entry.identity == identity && !entry.zombie)
}

/// Returns the value of `HERDER_SESSION` in the environment that the process was started with.
#[must_use]
pub(super) fn marker(pid: u32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Returns the working directory of a process.
#[must_use]
pub(in crate::runtime) fn workspace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns true if a process runs the same program as this process.
pub(super) fn is_this_program(pid: u32) -> bool {
    let program = |of: &str| fs::read_link(format!("/proc/{of}/exe")).ok();
    program("self").is_some_and(|this| program(&pid.to_string()) == Some(this))
}

/// Returns true if a process is being given its next program: the kernel has taken its old environment away, and shows
/// none until the program starts. So it cannot be told yet which session it belongs to.
pub(super) fn is_between_programs(pid: u32) -> bool {
    contents(&format!("/proc/{pid}/stat")).is_some_and(|stat| has_no_environment_yet(&stat))
}

/// Parses `/proc/<pid>/stat`: true if the end of the environment is 0. Of a process that may not be inspected, as
/// another user's, the kernel shows no address, and 1 as that of its code.
fn has_no_environment_yet(stat: &str) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Numbers as in the manual page, whose field 3 is the first one behind the name.
    let field = |number: usize| fields.get(number - 3).copied();
    field(51) == Some("0") && field(26) != Some("1")
}

/// Returns the ids of all processes on the machine.
pub(super) fn pids() -> Vec<u32> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the children of this process's first thread; `None` if the kernel does not list them.
///
/// A child is listed with the thread that started it. Orphans, and the children of threads that end, move to the
/// first living thread of a process (`find_alive_thread` in the kernel's `exit.c`), and the first thread lives as
/// long as the process. So this is a list of a few adopted processes, while [`own_children`] has every agent's
/// process.
#[must_use]
pub(super) fn first_children() -> Option<Vec<u32>> {
    let own = std::process::id();
    contents(&format!("/proc/self/task/{own}/children")).map(|list| numbers(&list).collect())
}

/// Returns this process's own children, including adopted ones; `None` if the kernel does not list them.
#[must_use]
pub(super) fn own_children() -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // A thread that ends between the two reads passes its children to another one, which is why callers look twice.
        if let Some(list) = thread.path().join("children").to_str().and_then(contents) {
            children.extend(numbers(&list));
        } else if thread.file_name().to_str() == Some(&std::process::id().to_string()) {
            return None;
        }
    }
    Some(children)
}

fn numbers(list: &str) -> impl Iterator<Item = u32> {
    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok())
}

/// All processes at one time, with their markers.
#[derive(Debug, Default)]
pub struct Table {
    entries: HashMap<u32, Entry>,
    children: HashMap<u32, Vec<u32>>,
    markers: HashMap<u32, String>,
}

impl Table {
    /// Reads all processes. `known` has the markers seen before: a process keeps its marker, even if it executes a
    /// program with an empty environment.
    #[must_use]
    pub fn read(known: &mut HashMap<Identity, String>) -> Self {
        let mut table = Self::default();
        let own = std::process::id();
        for entry in pids().into_iter().filter(|pid| *pid != own).filter_map(look) {
            let pid = entry.identity.pid;
            table.entries.insert(pid, entry);
            table.children.entry(entry.parent).or_default().push(pid);
            if entry.zombie {
                continue;
            }
            if let Some(marker) = known.get(&entry.identity).cloned().or_else(|| marker(pid)) {
                known.insert(entry.identity, marker.clone());
                table.markers.insert(pid, marker);
            }
        }
        known.retain(|identity, _| {
            table.entries.get(&identity.pid).is_some_and(|entry| entry.identity == *identity)
        });
        table
    }

    /// Returns the living processes for whose marker `belongs` is true, those among `roots`, and all descendants of both.
    #[must_use]
    pub fn members(&self, roots: &HashSet<Identity>, belongs: impl Fn(&str) -> bool) -> Vec<Identity> {
        let marked = self.markers.iter().filter(|(_, marker)| belongs(marker)).map(|(pid, _)| *pid);
        let rooted = roots.iter().filter(|root| self.is(**root)).map(|root| root.pid);
        let mut open: Vec<u32> = marked.chain(rooted).collect();
        let mut seen: HashSet<u32> = open.iter().copied().collect();
        while let Some(pid) = open.pop() {
            for child in self.children.get(&pid).into_iter().flatten() {
                if seen.insert(*child) {
                    open.push(*child);
                }
            }
        }
        let living = seen.iter().filter_map(|pid| self.entries.get(pid)).filter(|entry| !entry.zombie);
        living.map(|entry| entry.identity).collect()
    }

    /// Yields the markers of all processes that have one.
    pub(super) fn markers(&self) -> impl Iterator<Item = &str> {
        self.markers.values().map(String::as_str)
    }

    /// Returns the sum of the CPU time of these processes, in clock ticks.
    #[must_use]
    pub fn ticks(&self, members: &[Identity]) -> u64 {
        members.iter().filter_map(|member| self.entries.get(&member.pid)).map(|entry| entry.ticks).sum()
    }

    /// Yields the living children of this process without a marker.
    pub(super) fn unmarked_children(&self) -> impl Iterator<Item = Entry> {
        let children = self.children.get(&std::process::id()).into_iter().flatten();
        children
            .filter(|pid| !self.markers.contains_key(pid))
            .filter_map(|pid| self.entries.get(pid).copied())
            .filter(|entry| !entry.zombie)
    }

    fn is(&self, identity: Identity) -> bool {
        self.entries.get(&identity.pid).is_some_and(|entry| entry.identity == identity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let stat = "42 (a) b (c)\n) S 7 42 42 0 -1 4194304 95 0 0 0 11 2 3 4 20 0 1 0 5150 2400256 199 1844";
        let entry = parse(42, stat).expect("the line is whole");
        assert_eq!(entry.identity, Identity { pid: 42, started: 5150 });
        assert_eq!((entry.parent, entry.group, entry.zombie, entry.ticks), (7, 42, false, 20));
        assert_eq!(parse(42, "42 (cut) S 7"), None);
        assert_eq!(parse(42, ""), None);
    }

    #[test]
    fn a_process_without_an_environment_is_told_from_one_that_may_not_be_inspected() {
        let stat = |code: &str, end: &str| {
            let mut fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
            fields[26 - 3] = code.to_owned();
            fields[51 - 3] = end.to_owned();
            format!("42 (a) b) {}", fields.join(" "))
        };
        assert!(has_no_environment_yet(&stat("93824", "0")));
        assert!(has_no_environment_yet(&stat("0", "0")));
        assert!(!has_no_environment_yet(&stat("1", "0")));
        assert!(!has_no_environment_yet(&stat("93824", "14073")));
        assert!(!has_no_environment_yet("42 (cut) S 7"));
        let me = std::process::id();
        assert!(!is_between_programs(me));
    }

    #[test]
    fn this_process_is_found_alive_and_no_other_start_time_is() {
        let me = look(std::process::id()).expect("this process has an entry").identity;
        assert!(lives(me));
        assert!(!lives(Identity { started: me.started + 1, ..me }));
    }
}
