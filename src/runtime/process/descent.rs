//! Detection of processes that may descend from an agent of a herder that did not shut down in order.
//!
//! While herder runs, everything that its agents start descends from it, because it is the subreaper. Only a herder
//! that is killed releases processes: they move to the nearest subreaper above it, or to process 1. So each herder
//! keeps a [`Record`] on disk from before its first agent until its orderly end. If a record of the same boot exists
//! at the start, [`judge`] demands proof that a process is not a released one. Valid proofs are properties that an
//! unprivileged process cannot change:
//!
//! - its start time: a process older than the first of those herders does not belong to their agents;
//! - its parents: a process has the parent that created it, unless that is a subreaper. An orphan at each start shows which
//!   process adopts a herder's orphans ([`Record::own`]); all processes above it count as subreapers;
//! - its parent's user: no agent starts a process of root, which login servers run as;
//! - its cgroup, which the system's service manager assigns to each login and service;
//! - its audit session, which cannot be changed once it is set;
//! - no parent, except for process 1: it came from outside of the container.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::num::ParseIntError;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};
use std::str::FromStr;

use rustix::process::{Pid, WaitOptions, waitpid};
use serde::{Deserialize, Serialize};

use super::table::{self, Identity, look};

/// Maximum number of adopted processes in the stored record; any more are left out.
const STRAYS_MAX: usize = 256;

/// Maximum number of parents that are followed upwards from a process; the chain may change meanwhile.
const DEPTH_MAX: usize = 1000;

/// Value of a process's audit session if none was ever set.
const NO_SESSION: u32 = u32::MAX;

/// A process in the stored record: its id, and its start time in clock ticks since boot.
type Stored = (u32, u64);

/// Identity of a running herder, and of those before it on this boot that did not shut down in order; stored so that a
/// later herder knows processes which these left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The id of the machine's boot, because start times and process ids are unique per boot.
    boot: String,
    /// Inode of the PID namespace, in which process ids are unique.
    space: u64,
    /// Start time of the first of these herders, in clock ticks since boot.
    since: u64,
    /// The cgroups of these herders.
    #[serde(default)]
    groups: BTreeSet<String>,
    /// The audit sessions of these herders.
    #[serde(default)]
    sessions: BTreeSet<Option<u32>>,
    /// The processes that may have adopted orphans of these herders.
    #[serde(default)]
    reapers: BTreeSet<Stored>,
    /// The processes that these herders had adopted.
    #[serde(default)]
    strays: BTreeSet<Stored>,
}

impl Record {
    /// Returns the record of this process, which must not be a subreaper yet. Blocks for some milliseconds.
    #[must_use]
    pub fn own() -> Option<Self> {
        Self::below(None)
    }

    /// Returns the record of this process like [`Record::own`]. `parent` has adopted orphans of its own below its
    /// `reapers`: these follow it once it is gone.
    #[must_use]
    pub fn below(parent: Option<&Reapers>) -> Option<Self> {
        let own = std::process::id();
        let facts = facts(own)?;
        if let Some(Reapers(reapers)) = parent.filter(|reapers| !reapers.0.is_empty()) {
            let reapers = reapers.iter().copied().chain(look(facts.parent).map(|it| stored(it.identity)));
            return Self::with_reapers(&facts, reapers.collect());
        }
        let above = || std::iter::successors(look(own), |entry| look(entry.parent)).skip(1).take(DEPTH_MAX);
        let adopter = adopter();
        // If it was not found, it may be any of them.
        let reapers =
            above().skip_while(|entry| adopter.is_some_and(|adopter| adopter != entry.identity.pid));
        let mut reapers: BTreeSet<Stored> = reapers.map(|entry| stored(entry.identity)).collect();
        if reapers.is_empty() {
            reapers = above().map(|entry| stored(entry.identity)).collect();
        }
        Self::with_reapers(&facts, reapers)
    }

    fn with_reapers(facts: &Facts, reapers: BTreeSet<Stored>) -> Option<Self> {
        Some(Self {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned(),
            space: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
            since: facts.identity.started,
            groups: [facts.group.clone()].into(),
            sessions: [facts.session].into(),
            reapers,
            strays: BTreeSet::new(),
        })
    }

    /// Returns the processes that may adopt orphans of this herder.
    #[must_use]
    pub fn reapers(&self) -> Reapers {
        Reapers(self.reapers.clone())
    }

    /// Returns true if `earlier` is of the same boot and PID namespace, so that its process ids still mean the same.
    #[must_use]
    pub fn follows(&self, earlier: &Self) -> bool {
        self.boot == earlier.boot && self.space == earlier.space
    }

    /// Returns the union of both records.
    #[must_use]
    pub fn with(mut self, earlier: &Self) -> Self {
        self.since = self.since.min(earlier.since);
        self.groups.extend(earlier.groups.iter().cloned());
        self.sessions.extend(&earlier.sessions);
        self.reapers.extend(&earlier.reapers);
        self.strays.extend(earlier.strays.iter().filter(|stray| table::lives(identity(**stray))));
        self
    }

    /// Returns the record with these processes added as adopted.
    #[must_use]
    pub fn having_adopted(mut self, strays: &BTreeSet<Identity>) -> Self {
        self.strays.extend(strays.iter().take(STRAYS_MAX).map(|stray| stored(*stray)));
        self
    }

    /// Yields the adopted processes.
    pub fn strays(&self) -> impl Iterator<Item = Identity> {
        self.strays.iter().map(|stray| identity(*stray))
    }
}

/// The processes that may adopt a process's orphans, as one word: `pid:start` of each, with commas.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reapers(BTreeSet<Stored>);

impl fmt::Display for Reapers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|(pid, started)| format!("{pid}:{started}")).collect();
        f.write_str(&words.join(","))
    }
}

impl FromStr for Reapers {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pair = |word: &str| {
            let (pid, started) = word.split_once(':').unwrap_or((word, "0"));
            Ok((pid.parse()?, started.parse()?))
        };
        text.split(',').filter(|word| !word.is_empty()).map(pair).collect::<Result<_, _>>().map(Self)
    }
}

fn stored(identity: Identity) -> Stored {
    (identity.pid, identity.started)
}

fn identity((pid, started): Stored) -> Identity {
    Identity { pid, started }
}

/// Returns the id of the process that adopts this process's orphans. To find out, a shell starts another one, which
/// waits for its input, and exits; the other one's parent is the answer.
fn adopter() -> Option<u32> {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "exec 3<&0; (exec >&-; read line <&3) & echo $!"])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let input = shell.stdin.take();
    let mut said = String::new();
    let read = shell.stdout.take().map(|output| BufReader::new(output).read_line(&mut said));
    let ended = shell.wait();
    (read?.is_ok() && ended.is_ok()).then_some(())?;
    let orphan: i32 = said.trim().parse().ok()?;
    let parent = look(orphan.unsigned_abs())?.parent;
    // This ends the second shell.
    drop(input);
    if parent == std::process::id() {
        // Its parent is this process, and no other part of it waits for a process that it has not started.
        let _ = Pid::from_raw(orphan).map(|pid| waitpid(Some(pid), WaitOptions::empty()));
    }
    Some(parent)
}

/// Properties of a process that it cannot change without privileges, and that show who started it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    identity: Identity,
    parent: u32,
    /// True if all user ids of the process are root's.
    root: bool,
    /// Path of its cgroup, in the hierarchy of the service manager.
    group: String,
    /// Audit session of the process; `None` if it was never set.
    session: Option<u32>,
}

fn facts(pid: u32) -> Option<Facts> {
    let entry = look(pid)?;
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    let root = read("status").is_some_and(|status| {
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
        !ids.is_empty() && ids.split_ascii_whitespace().all(|id| id == "0")
    });
    let session = read("sessionid").and_then(|id| id.trim().parse().ok()).filter(|id| *id != NO_SESSION);
    let group = group(&read("cgroup").unwrap_or_default());
    Some(Facts { identity: entry.identity, parent: entry.parent, root, group, session })
}

/// Returns the cgroup path in the service manager's hierarchy: the unified one, or systemd's own on an older system.
fn group(cgroups: &str) -> String {
    let of = |prefix: &str| {
        let path = cgroups.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(prefix));
        path.filter(|path| *path != "/").map(str::to_owned)
    };
    of(":").or_else(|| of("name=systemd:")).unwrap_or_else(|| "/".to_owned())
}

/// Returns true if a cgroup is `outer` or inside it.
fn within(group: &str, outer: &str) -> bool {
    outer == "/" || group.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a process was started by an agent, as far as it can be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    /// The process descends from this herder, or from a process that an earlier one had adopted.
    Agents,
    /// The process may have been left by an earlier herder that was killed: it cannot be proved to be a person's.
    Unproven,
    /// The process was started by a separate login or service, and so not by an agent.
    Others,
}

/// Returns whether a process was started by an agent. `past` is the record of the herders of this boot that did not
/// shut down in order.
#[must_use]
pub fn judge(pid: u32, past: Option<&Record>) -> Descent {
    let own = std::process::id();
    let Some(past) = past else {
        return if descends_from(pid, own) { Descent::Agents } else { Descent::Others };
    };
    let as_root = rustix::process::geteuid().is_root();
    judge_by(pid, &Judge { own, as_root, past, facts: &facts })
}

/// Returns true if `ancestor` is among the parents of `pid`. A process that has ended counts as a descendant.
pub fn descends_from(pid: u32, ancestor: u32) -> bool {
    let mut pid = pid;
    for _ in 0..DEPTH_MAX {
        let Some(entry) = look(pid) else { return pid != 0 };
        match entry.parent {
            0 => return false,
            parent if parent == ancestor => return true,
            parent => pid = parent,
        }
    }
    true
}

struct Judge<'a> {
    own: u32,
    /// True if herder itself runs as root.
    as_root: bool,
    past: &'a Record,
    facts: &'a dyn Fn(u32) -> Option<Facts>,
}

fn judge_by(peer: u32, judge: &Judge<'_>) -> Descent {
    let past = judge.past;
    if peer == judge.own || peer == 0 {
        // Process 0 is outside of this PID namespace.
        return Descent::Others;
    }
    let (mut pid, mut young, mut is_older) = (peer, Vec::new(), false);
    for _ in 0..DEPTH_MAX {
        let Some(facts) = (judge.facts)(pid) else { return Descent::Agents };
        if pid == judge.own || past.strays.contains(&stored(facts.identity)) {
            return Descent::Agents;
        }
        // A process younger than an agent may be its child. The parents above still have to be searched for herder itself.
        let older = facts.identity.started < past.since;
        let adopts = pid == 1 || past.reapers.contains(&stored(facts.identity));
        if !is_older && older {
            if young.is_empty() || !adopts {
                return Descent::Others;
            }
            is_older = true;
        }
        let parent = facts.parent;
        if !is_older {
            young.push(facts);
        }
        if parent == 0 {
            let entered = !is_older && pid != 1;
            return if entered || is_proven(&young, judge) { Descent::Others } else { Descent::Unproven };
        }
        pid = parent;
    }
    Descent::Agents
}

/// Returns true if a process is proved to come from a separate login or service. `young` is the chain of its parents up
/// to a subreaper, starting with the process itself.
fn is_proven(young: &[Facts], judge: &Judge<'_>) -> bool {
    let past = judge.past;
    let Some(peer) = young.first() else { return true };
    let elsewhere = !past.groups.iter().any(|group| within(&peer.group, group));
    let logged_in =
        peer.session.is_some() && !past.sessions.contains(&None) && !past.sessions.contains(&peer.session);
    let by_root = !judge.as_root && young.iter().any(|facts| facts.root);
    elsewhere || logged_in || by_root
}

/// Returns true if none of the processes that could connect to herder may have been left by an earlier herder. It is
/// only certain, and so only returned, if no process was started meanwhile. `beside` and its descendants do not count.
#[must_use]
pub fn nobody_left(past: &Record, beside: Option<u32>) -> bool {
    /// Maximum number of attempts. On a machine that starts processes all the time, the question remains open, and
    /// false is returned.
    const LOOKS_MAX: usize = 5;
    (0..LOOKS_MAX).any(|_| {
        let before = forks();
        let own = std::process::id();
        let user = rustix::process::geteuid().as_raw();
        let could_ask = |pid: &u32| {
            fs::metadata(format!("/proc/{pid}")).is_ok_and(|folder| folder.uid() == user || folder.uid() == 0)
        };
        let others = table::pids().into_iter().filter(|pid| *pid != own).filter(could_ask);
        let known = |pid: u32| beside.is_some_and(|beside| pid == beside || descends_from(pid, beside));
        let others = others.filter(|pid| !known(*pid));
        let living = others.filter(|pid| look(*pid).is_some_and(|entry| !entry.zombie));
        let known: HashMap<u32, Descent> = living.map(|pid| (pid, judge(pid, Some(past)))).collect();
        let free = known.values().all(|descent| *descent == Descent::Others);
        free && before.is_some() && before == forks()
    })
}

/// Returns the number of processes started since the boot.
fn forks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::process::table::own_children;

    #[test]
    fn the_orphan_that_shows_who_adopts_is_waited_for() {
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own)).expect("this process can adopt");
        assert_eq!(adopter(), Some(std::process::id()));
        let children = own_children().expect("the process table can be read");
        let dead: Vec<u32> =
            children.into_iter().filter(|pid| look(*pid).is_some_and(|it| it.zombie)).collect();
        assert!(dead.is_empty(), "{dead:?}");
    }

    #[test]
    fn reapers_pass_through_a_command_line() {
        for reapers in [Reapers::default(), Reapers([(1, 0), (50, 1_234_567)].into())] {
            assert_eq!(reapers.to_string().parse(), Ok(reapers));
        }
        assert!("1:x".parse::<Reapers>().is_err() && "-1".parse::<Reapers>().is_err());
    }

    const HERDER: u32 = 900;

    /// A herder started at 1000 in tmux (pid 50), below a manager of user services (pid 20), and was killed; this one is 900.
    fn past() -> Record {
        Record {
            boot: "b".to_owned(),
            space: 1,
            since: 1000,
            groups: ["/user.slice/session-2.scope".to_owned()].into(),
            sessions: [Some(2)].into(),
            reapers: [(20, 5), (1, 0)].into(),
            strays: [(70, 1500)].into(),
        }
    }

    fn process(pid: u32, started: u64, parent: u32) -> Facts {
        let group = "/user.slice/session-2.scope".to_owned();
        Facts { identity: Identity { pid, started }, parent, root: false, group, session: Some(2) }
    }

    fn judged(past: &Record, as_root: bool, peer: Facts, others: &[Facts]) -> Descent {
        let pid = peer.identity.pid;
        let mut all = vec![
            Facts { root: true, group: "/init.scope".to_owned(), ..process(1, 0, 0) },
            process(20, 5, 1),
            process(50, 500, 20),
            process(51, 600, 50),
            process(HERDER, 2000, 51),
            peer,
        ];
        all.extend_from_slice(others);
        let facts = |pid| all.iter().find(|facts| facts.identity.pid == pid).cloned();
        judge_by(pid, &Judge { own: HERDER, as_root, past, facts: &facts })
    }

    #[test]
    fn a_process_that_a_killed_herder_set_free_is_proven_by_nothing() {
        let past = past();
        // Adopted by process 1, by the manager of user services, or forked since this herder started.
        for (started, parent) in [(1500, 1), (1500, 20), (2500, 1), (2500, 20)] {
            assert_eq!(judged(&past, false, process(60, started, parent), &[]), Descent::Unproven);
        }
        let child = process(61, 2600, 60);
        assert_eq!(judged(&past, false, child, &[process(60, 1500, 1)]), Descent::Unproven);
        // Processes that were recorded as adopted are known, and so are their children and this herder's.
        assert_eq!(judged(&past, false, process(70, 1500, 1), &[]), Descent::Agents);
        assert_eq!(judged(&past, false, process(71, 2500, 70), &[process(70, 1500, 1)]), Descent::Agents);
        assert_eq!(judged(&past, false, process(80, 2500, HERDER), &[]), Descent::Agents);
        // Its id now belongs to another process, a child of an unrelated one.
        assert_eq!(judged(&past, false, process(70, 2500, 51), &[]), Descent::Others);
        // A process that has ended before it is examined.
        assert_eq!(judged(&past, false, process(90, 2500, 91), &[]), Descent::Agents);
    }

    #[test]
    fn ordinary_people_are_proven_by_where_they_come_from() {
        let past = past();
        let others = |peer, with: &[Facts]| assert_eq!(judged(&past, false, peer, with), Descent::Others);
        // From the shell in tmux that started herder, and from a new window of tmux.
        others(process(60, 2500, 51), &[]);
        others(process(60, 2500, 61), &[process(61, 2400, 50)]);
        // A process older than any agent.
        others(process(60, 900, 1), &[]);
        // A new login: its server runs as root, or the system assigned a separate cgroup or audit session.
        let server = Facts { root: true, ..process(61, 2300, 1) };
        others(process(60, 2500, 62), &[process(62, 2400, 61), server.clone()]);
        let elsewhere = Facts { group: "/user.slice/session-7.scope".to_owned(), ..process(60, 2500, 1) };
        others(elsewhere, &[]);
        others(Facts { session: Some(7), ..process(60, 2500, 1) }, &[]);
        // From outside of the container.
        others(process(60, 2500, 0), &[]);
        // This herder itself.
        others(process(HERDER, 2000, 51), &[]);
        // If agents run as root, their servers do so too.
        let peer = process(60, 2500, 61);
        assert_eq!(judged(&past, true, peer, &[server]), Descent::Unproven);
    }

    #[test]
    fn an_audit_session_or_a_cgroup_proves_nothing_where_herder_has_none() {
        // An unprivileged process can set an audit session that was never set.
        let past = Record { sessions: [None, Some(2)].into(), groups: ["/".to_owned()].into(), ..past() };
        let group = "/user.slice/session-7.scope".to_owned();
        let peer = Facts { session: Some(7), group, ..process(60, 2500, 1) };
        assert_eq!(judged(&past, false, peer, &[]), Descent::Unproven);
    }

    #[test]
    fn the_cgroup_of_the_service_manager_is_found() {
        assert_eq!(group("0::/system.slice/herder.service\n"), "/system.slice/herder.service");
        assert_eq!(group("4:memory:/x\n1:name=systemd:/user.slice/a:b\n0::/\n"), "/user.slice/a:b");
        assert_eq!(group("0::/\n"), "/");
        assert_eq!(group(""), "/");
        assert!(within("/a/b", "/a") && within("/a", "/a") && within("/a", "/") && !within("/ab", "/a"));
    }

    #[test]
    fn this_process_has_a_record_and_knows_its_adopter() {
        let own = Record::own().expect("there is a /proc");
        assert!(own.follows(&own.clone()) && !own.reapers.is_empty(), "{own:?}");
        assert!(adopter().is_some(), "there is a shell");
        let text = serde_json::to_string(&own).expect("it is JSON");
        assert_eq!(serde_json::from_str::<Record>(&text).expect("it is one"), own);
    }
}
