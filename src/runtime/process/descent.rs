//! Whether a process may descend from an agent of a herder that did not end in order.
//!
//! While herder runs everything that its agents start descends from it, for it is the subreaper. Only a herder that is killed
//! sets processes free: they go to the nearest subreaper above it, or to the first process of all. So each herder has a
//! [`Record`] on disk from before its first agent until its orderly end, and where one was left by a herder of the same boot,
//! [`judge`] wants a proof that a process is none of those. Proofs are what an unprivileged process cannot change of itself:
//!
//! - its start time: what is older than the first of those herders is none of their agents';
//! - its parents: a process is born of its parent, unless that is a subreaper; who adopted a herder's orphans is found out by
//!   an orphan at each start ([`Record::own`]), and all above that one count as subreapers;
//! - its parent's user: no agent starts a process of root's, which the servers of logins run as;
//! - its cgroup, which the system's service manager gives each login and service;
//! - its audit session, which cannot be changed once it is set;
//! - no parent at all but for process 1: it came from outside of the container.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::table::{self, Identity, look};

/// The most processes that are noted as adopted; a herder with more of them notes these.
const STRAYS_MAX: usize = 256;

/// The longest chain of parents that is followed; parents could change while they are.
const DEPTH_MAX: usize = 1000;

/// The value of an audit session that was never set.
const NO_SESSION: u32 = u32::MAX;

/// A process as it is stored: its id, and its start time in clock ticks.
type Stored = (u32, u64);

/// What is known on disk of a herder that runs, and of those before it that did not end in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The boot of the machine, which start times and process ids count from.
    boot: String,
    /// The inode of the namespace of process ids.
    space: u64,
    /// The start time of the first of these herders, in clock ticks.
    since: u64,
    /// The cgroups they ran in.
    #[serde(default)]
    groups: BTreeSet<String>,
    /// The audit sessions they ran in.
    #[serde(default)]
    sessions: BTreeSet<Option<u32>>,
    /// The processes that may have adopted their orphans.
    #[serde(default)]
    reapers: BTreeSet<Stored>,
    /// Processes they had adopted.
    #[serde(default)]
    strays: BTreeSet<Stored>,
}

impl Record {
    /// The record of this process, before it is a subreaper itself. Blocks for some milliseconds.
    #[must_use]
    pub fn own() -> Option<Self> {
        let own = std::process::id();
        let facts = facts(own)?;
        let above = || std::iter::successors(look(own), |entry| look(entry.parent)).skip(1).take(DEPTH_MAX);
        let adopter = adopter();
        // One that was not found may be any of them.
        let reapers =
            above().skip_while(|entry| adopter.is_some_and(|adopter| adopter != entry.identity.pid));
        let mut reapers: BTreeSet<Stored> = reapers.map(|entry| stored(entry.identity)).collect();
        if reapers.is_empty() {
            reapers = above().map(|entry| stored(entry.identity)).collect();
        }
        Some(Self {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned(),
            space: fs::metadata("/proc/self/ns/pid").ok()?.ino(),
            since: facts.identity.started,
            groups: [facts.group].into(),
            sessions: [facts.session].into(),
            reapers,
            strays: BTreeSet::new(),
        })
    }

    /// Whether `earlier` is of the same boot and the same processes.
    #[must_use]
    pub fn follows(&self, earlier: &Self) -> bool {
        self.boot == earlier.boot && self.space == earlier.space
    }

    /// Both in one.
    #[must_use]
    pub fn with(mut self, earlier: &Self) -> Self {
        self.since = self.since.min(earlier.since);
        self.groups.extend(earlier.groups.iter().cloned());
        self.sessions.extend(&earlier.sessions);
        self.reapers.extend(&earlier.reapers);
        self.strays.extend(earlier.strays.iter().filter(|stray| table::lives(identity(**stray))));
        self
    }

    /// The same with these adopted processes.
    #[must_use]
    pub fn having_adopted(mut self, strays: &BTreeSet<Identity>) -> Self {
        self.strays.extend(strays.iter().take(STRAYS_MAX).map(|stray| stored(*stray)));
        self
    }

    /// Processes that were adopted.
    pub fn strays(&self) -> impl Iterator<Item = Identity> {
        self.strays.iter().map(|stray| identity(*stray))
    }
}

fn stored(identity: Identity) -> Stored {
    (identity.pid, identity.started)
}

fn identity((pid, started): Stored) -> Identity {
    Identity { pid, started }
}

/// Who adopts this process's orphans: a shell starts another one, which waits on its input, and ends; the other one's parent
/// is the answer.
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
    // The other one ends when this is dropped.
    let _input = shell.stdin.take();
    let mut said = String::new();
    let read = shell.stdout.take().map(|output| BufReader::new(output).read_line(&mut said));
    let ended = shell.wait();
    (read?.is_ok() && ended.is_ok()).then_some(())?;
    Some(look(said.trim().parse().ok()?)?.parent)
}

/// What is looked at of a process. None of it can be changed by the process itself without privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Facts {
    identity: Identity,
    parent: u32,
    /// All of its user ids are root's.
    root: bool,
    /// Its cgroup, in the hierarchy of the service manager.
    group: String,
    /// Its audit session, if one was set.
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

/// The path that a service manager gives: of the unified hierarchy, or of systemd's own on an older system.
fn group(cgroups: &str) -> String {
    let of = |prefix: &str| {
        let path = cgroups.lines().find_map(|line| line.split_once(':')?.1.strip_prefix(prefix));
        path.filter(|path| *path != "/").map(str::to_owned)
    };
    of(":").or_else(|| of("name=systemd:")).unwrap_or_else(|| "/".to_owned())
}

/// Whether a cgroup is `outer` or in it.
fn within(group: &str, outer: &str) -> bool {
    outer == "/" || group.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a process is, as far as it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    /// It descends from this herder, or from what an earlier one had adopted.
    Agents,
    /// It may have been set free when an earlier herder was killed.
    Unproven,
    /// It is no agent's.
    Others,
}

/// Tells from where a process comes. `past`: herders of this boot that did not end in order.
#[must_use]
pub fn judge(pid: u32, past: Option<&Record>) -> Descent {
    let own = std::process::id();
    let Some(past) = past else {
        return if descends_from(pid, own) { Descent::Agents } else { Descent::Others };
    };
    let as_root = rustix::process::geteuid().is_root();
    judge_by(pid, &Judge { own, as_root, past, facts: &facts })
}

/// Whether `ancestor` is among the parents of `pid`. A process that cannot be looked at any more counts as one.
fn descends_from(pid: u32, ancestor: u32) -> bool {
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
    /// herder itself runs as root.
    as_root: bool,
    past: &'a Record,
    facts: &'a dyn Fn(u32) -> Option<Facts>,
}

fn judge_by(peer: u32, judge: &Judge<'_>) -> Descent {
    let past = judge.past;
    if peer == judge.own || peer == 0 {
        // The latter is of a namespace outside of this one.
        return Descent::Others;
    }
    let (mut pid, mut young, mut is_older) = (peer, Vec::new(), false);
    for _ in 0..DEPTH_MAX {
        let Some(facts) = (judge.facts)(pid) else { return Descent::Agents };
        if pid == judge.own || past.strays.contains(&stored(facts.identity)) {
            return Descent::Agents;
        }
        // What is younger than an agent may be its child; the parents above still have to be looked at for herder itself.
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

/// Whether a process whose parents back to a subreaper are `young`, itself the first, was started by a login or service of
/// its own.
fn is_proven(young: &[Facts], judge: &Judge<'_>) -> bool {
    let past = judge.past;
    let Some(peer) = young.first() else { return true };
    let elsewhere = !past.groups.iter().any(|group| within(&peer.group, group));
    let logged_in =
        peer.session.is_some() && !past.sessions.contains(&None) && !past.sessions.contains(&peer.session);
    let by_root = !judge.as_root && young.iter().any(|facts| facts.root);
    elsewhere || logged_in || by_root
}

/// Whether no process that could ask is unproven. Only said when no process was started while they were looked at, for one
/// that forks and ends all the time is in no list.
#[must_use]
pub fn nobody_left(past: &Record) -> bool {
    /// On a machine that starts processes all the time it stays open.
    const LOOKS_MAX: usize = 5;
    (0..LOOKS_MAX).any(|_| {
        let before = forks();
        let own = std::process::id();
        let user = rustix::process::geteuid().as_raw();
        let could_ask = |pid: &u32| {
            fs::metadata(format!("/proc/{pid}")).is_ok_and(|folder| folder.uid() == user || folder.uid() == 0)
        };
        let others = table::pids().into_iter().filter(|pid| *pid != own).filter(could_ask);
        let living = others.filter(|pid| look(*pid).is_some_and(|entry| !entry.zombie));
        let known: HashMap<u32, Descent> = living.map(|pid| (pid, judge(pid, Some(past)))).collect();
        let free = known.values().all(|descent| *descent == Descent::Others);
        free && before.is_some() && before == forks()
    })
}

/// How many processes were started since the boot.
fn forks() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERDER: u32 = 900;

    /// A herder began at 1000 in tmux (pid 50), below a manager of user services (pid 20), and was killed; this one is 900.
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
        // Adopted by the first process, by the manager of user services, or forked anew since this herder began.
        for (started, parent) in [(1500, 1), (1500, 20), (2500, 1), (2500, 20)] {
            assert_eq!(judged(&past, false, process(60, started, parent), &[]), Descent::Unproven);
        }
        let child = process(61, 2600, 60);
        assert_eq!(judged(&past, false, child, &[process(60, 1500, 1)]), Descent::Unproven);
        // What was noted as adopted is known, and so are its children, and this herder's.
        assert_eq!(judged(&past, false, process(70, 1500, 1), &[]), Descent::Agents);
        assert_eq!(judged(&past, false, process(71, 2500, 70), &[process(70, 1500, 1)]), Descent::Agents);
        assert_eq!(judged(&past, false, process(80, 2500, HERDER), &[]), Descent::Agents);
        // Its number was given to another process since, which is a child of somebody's.
        assert_eq!(judged(&past, false, process(70, 2500, 51), &[]), Descent::Others);
        // One that is gone when it is looked at.
        assert_eq!(judged(&past, false, process(90, 2500, 91), &[]), Descent::Agents);
    }

    #[test]
    fn ordinary_people_are_proven_by_where_they_come_from() {
        let past = past();
        let others = |peer, with: &[Facts]| assert_eq!(judged(&past, false, peer, with), Descent::Others);
        // From the shell in tmux that herder itself was started in, and in a new window of it.
        others(process(60, 2500, 51), &[]);
        others(process(60, 2500, 61), &[process(61, 2400, 50)]);
        // What ran before any agent did.
        others(process(60, 900, 1), &[]);
        // A new login: its server runs as root, or the system gave it a cgroup or an audit session of its own.
        let server = Facts { root: true, ..process(61, 2300, 1) };
        others(process(60, 2500, 62), &[process(62, 2400, 61), server.clone()]);
        let elsewhere = Facts { group: "/user.slice/session-7.scope".to_owned(), ..process(60, 2500, 1) };
        others(elsewhere, &[]);
        others(Facts { session: Some(7), ..process(60, 2500, 1) }, &[]);
        // From outside of a container.
        others(process(60, 2500, 0), &[]);
        // This herder itself.
        others(process(HERDER, 2000, 51), &[]);
        // Agents of root's have servers of root's.
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
