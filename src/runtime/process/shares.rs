//! Limits of sessions on memory, CPU and processes, which the kernel holds in their cgroups.
//!
//! ```text
//!   the service's own cgroup        controllers on for what is below
//!   ├─ herder-main                  herder itself, cpu.weight: a group with limited groups below it holds no processes
//!   └─ herder-agents                memory.max: all agents together
//!      └─ herder.<marker>           memory.max, memory.swap.max, memory.oom.group, cpu.max, pids.max
//! ```
//!
//! `memory.high` stays open: a session between the two limits is slowed down so much that it seems to hang, and would
//! neither go on nor end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::cgroup::Cgroups;
use super::table;
use crate::core::machine::{Room, Share, Taken, Together};

/// Name of the cgroup that herder moves itself to.
pub(super) const MAIN: &str = "herder-main";

/// Name of the cgroup of all limited sessions.
pub(super) const AGENTS: &str = "herder-agents";

/// Weight of herder itself when processors are short; that of all limited agents together is 100. The kernel takes 1 to
/// 10,000. herder answers people while every agent is busy, and takes a few percent of a processor.
const WEIGHT: &str = "1000";

/// The controllers that hold the limits.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

/// Maximum number of tries to empty a cgroup: a child that was started meanwhile is moved at the next one.
const TRIES: usize = 5;

/// Length of the period for which `cpu.max` counts CPU time, in microseconds: the kernel's default.
const PERIOD: u64 = 100_000;

/// The value that removes a limit.
const UNLIMITED: &str = "max";

/// Score that children get in the choice of a process to kill if the machine runs out of memory: herder, with 0, is
/// never chosen before them.
const OOM_SCORE: &str = "500";

/// The limits of a session: its own, and those of all sessions together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::runtime) struct Allowance {
    /// The limits of the session.
    pub(in crate::runtime) own: Share,
    /// Memory that all sessions together may take.
    pub(in crate::runtime) together: Together,
}

impl Allowance {
    /// Returns true if nothing is limited.
    #[must_use]
    pub(in crate::runtime) fn is_none(&self) -> bool {
        self.own.is_none() && self.together == Together::All
    }
}

/// The memory of a session in which processes were killed because it ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) struct Exhausted {
    /// Maximum of the memory that the session took, in bytes.
    pub(in crate::runtime) used: u64,
    /// Limit that was reached, in bytes: the session's own, or that of all sessions together.
    pub(in crate::runtime) limit: u64,
}

/// Returns the memory of this machine in bytes; `None` if the kernel does not tell.
#[must_use]
pub fn memory_of_machine() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// Returns the machine's memory as it is now, and what sessions may take of it; `None` if the kernel does not tell.
#[must_use]
pub fn room(together: Together) -> Option<Room> {
    let memory = fs::read_to_string("/proc/meminfo").ok()?;
    let (whole, free) = (kilobytes(&memory, "MemTotal:")?, kilobytes(&memory, "MemAvailable:")?);
    let pressure = fs::read_to_string("/proc/pressure/memory").ok().and_then(|text| pressure(&text));
    let Some(limit) = together.of(whole) else { return Some(Room { pressure, free }) };
    let taken = Cgroups::found().and_then(|groups| in_use(&groups.agents()));
    Some(Room { pressure, free: free.min(limit.saturating_sub(taken.unwrap_or_default())) })
}

/// Parses `/proc/pressure/memory`: the time for which some processes have waited in the last 10 s, in percent.
fn pressure(text: &str) -> Option<u8> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let average = some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    average.split('.').next()?.parse().ok()
}

/// Returns the memory of a limited session as it is now; `None` if the kernel does not tell.
pub(super) fn taken(group: &Path) -> Option<Taken> {
    let now = in_use(group)?;
    Some(Taken { now, peak: now, limit: bytes(group, "memory.max").unwrap_or_default() })
}

/// Returns the memory of a cgroup that the kernel cannot take back at once: without the cache of files, in bytes.
fn in_use(group: &Path) -> Option<u64> {
    let stat = fs::read_to_string(group.join("memory.stat")).ok()?;
    let cache = ["inactive_file", "active_file", "slab_reclaimable"].into_iter();
    let cache = cache.filter_map(|name| number(&stat, name)).fold(0, u64::saturating_add);
    Some(bytes(group, "memory.current")?.saturating_sub(cache))
}

/// Returns the number in a file of a cgroup; `None` also for the word that stands for no limit.
fn bytes(group: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

/// Makes a process and all that it starts be killed before herder if the machine runs out of memory.
pub(super) fn give_way(pid: u32) {
    // The process may be gone, or belong to another user by now.
    let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), OOM_SCORE);
}

/// Creates the cgroup `name` for a session below `parent`, with these limits.
///
/// # Errors
/// The file that could not be written, and why.
pub(super) fn enclose(parent: &Path, name: &str, allowance: &Allowance) -> Result<PathBuf, String> {
    let agents = agents_of(parent)?;
    let machine = memory_of_machine().unwrap_or(u64::MAX);
    let together = allowance.together.of(machine);
    set(&agents, "memory.max", &together.map_or_else(|| UNLIMITED.to_owned(), |bytes| bytes.to_string()))?;
    let group = agents.join(name);
    create(&group)?;
    let limited =
        files(&allowance.own).into_iter().try_for_each(|(file, value)| match set(&group, file, &value) {
            // Kernels without swap have no such file.
            Err(_) if file == "memory.swap.max" && !group.join(file).exists() => Ok(()),
            done => done,
        });
    if let Err(why) = limited {
        // Nothing starts in a group whose limits are not all set.
        let _ = fs::remove_dir(&group);
        return Err(why);
    }
    Ok(group)
}

/// Returns the files of a session's cgroup and what they are set to.
fn files(share: &Share) -> [(&'static str, String); 5] {
    let or_all = |limit: u64| if limit == 0 { UNLIMITED.to_owned() } else { limit.to_string() };
    let swap = if share.memory == 0 { UNLIMITED } else { "0" };
    [
        ("memory.max", or_all(share.memory)),
        ("memory.swap.max", swap.to_owned()),
        // All of a session is killed or nothing: what is left of one would wait for ever for the part that is gone.
        ("memory.oom.group", "1".to_owned()),
        ("cpu.max", format!("{} {PERIOD}", or_all(quota(share.cpu)))),
        ("pids.max", or_all(u64::from(share.pids))),
    ]
}

/// Returns the CPU time for a number of processors in each [`PERIOD`], in microseconds; at least the 1 ms that the
/// kernel takes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a configured number of processors is between 0 and a few thousand"
)]
fn quota(cpu: f64) -> u64 {
    if cpu == 0.0 { 0 } else { ((cpu * PERIOD as f64) as u64).max(1000) }
}

/// Returns the cgroup of all limited sessions, with the controllers switched on for the groups in it.
fn agents_of(parent: &Path) -> Result<PathBuf, String> {
    delegate(parent)?;
    // A herder that is in another group keeps the weight of that one.
    let _ = fs::write(parent.join(MAIN).join("cpu.weight"), WEIGHT);
    let agents = parent.join(AGENTS);
    create(&agents)?;
    delegate(&agents)?;
    Ok(agents)
}

/// Returns true if the limits of sessions can be held below `parent`, after trying it with a group of no process.
///
/// # Errors
/// The file that could not be written, and why.
pub(super) fn rehearse(parent: &Path) -> Result<(), String> {
    let share = Share { memory: 1 << 30, cpu: 1.0, pids: 64 };
    let name = format!("herder-probe.{}", std::process::id());
    let tried = enclose(parent, &name, &Allowance { own: share, together: Together::All });
    // An empty group that remains does no harm.
    let _ = fs::remove_dir(parent.join(AGENTS).join(name));
    let _ = fs::remove_dir(parent.join(AGENTS));
    tried.map(drop)
}

/// Switches the controllers on for the groups below `group`.
fn delegate(group: &Path) -> Result<(), String> {
    if has_all(&fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default()) {
        return Ok(());
    }
    let there = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    if !has_all(&there) {
        let missing: Vec<&str> = CONTROLLERS.into_iter().filter(|name| !named(&there, name)).collect();
        return Err(format!("{} has no controller {}", group.display(), missing.join(", ")));
    }
    let wanted = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    let mut tried = set(group, "cgroup.subtree_control", &wanted);
    for _ in 0..TRIES {
        if tried.is_ok() {
            break;
        }
        // A group with processes of its own cannot have limited groups.
        move_away(group)?;
        tried = set(group, "cgroup.subtree_control", &wanted);
    }
    if tried.is_err() {
        // Others are in the group, and keep it from having limited groups: herder goes back to them.
        let _ = fs::write(group.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(group.join(MAIN));
    }
    tried
}

/// Moves herder and its children from `group` to a group of their own, and with a runner the bot that has started it.
/// Other processes stay where they are.
fn move_away(group: &Path) -> Result<(), String> {
    let main = group.join(MAIN);
    create(&main)?;
    let own = std::process::id();
    let starter = starter();
    let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for pid in list.lines().filter_map(|pid| pid.parse::<u32>().ok()) {
        let is_child = || table::look(pid).is_some_and(|entry| entry.parent == own);
        if pid == own || Some(pid) == starter || is_child() {
            // One that has ended meanwhile needs no move.
            let _ = fs::write(main.join("cgroup.procs"), pid.to_string());
        }
    }
    Ok(())
}

/// Returns the process above this one, if it is a herder too.
fn starter() -> Option<u32> {
    let starter = rustix::process::getppid()?.as_raw_nonzero().get().unsigned_abs();
    let name = |process: &str| fs::read_to_string(format!("/proc/{process}/comm")).ok();
    (name("self") == name(&starter.to_string())).then_some(starter)
}

fn has_all(list: &str) -> bool {
    CONTROLLERS.iter().all(|name| named(list, name))
}

fn named(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|word| word == name)
}

fn create(group: &Path) -> Result<(), String> {
    match fs::create_dir(group) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{}: {error}", group.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn set(group: &Path, file: &str, value: &str) -> Result<(), String> {
    let path = group.join(file);
    fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the memory of a session in which the kernel has killed for want of it; `None` if it has not.
pub(super) fn exhausted(group: &Path) -> Option<Exhausted> {
    let events = fs::read_to_string(group.join("memory.events")).ok()?;
    if number(&events, "oom_kill")? == 0 {
        return None;
    }
    let peak = bytes(group, "memory.peak");
    let own = bytes(group, "memory.max");
    let together = group.parent().and_then(|agents| bytes(agents, "memory.max"));
    // Killed below its own limit, it was killed for that of all, or for the machine's memory.
    let at_own = own.filter(|own| peak.is_none_or(|peak| peak >= own / 100 * 95));
    let limit = at_own.or(together).or(own).or_else(memory_of_machine)?;
    Some(Exhausted { used: peak.unwrap_or(limit).min(limit), limit })
}

/// Returns the name of the process that takes the most memory; `None` if none of them runs.
pub(super) fn biggest(pids: Vec<u32>) -> Option<String> {
    weight(pids).biggest
}

/// Memory of processes, as far as files do not hold it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::runtime) struct Weight {
    /// Sum over all processes, in bytes. Memory that they share counts for each of them.
    pub(in crate::runtime) memory: u64,
    /// Name of the process that takes the most; `None` if none of them runs.
    pub(in crate::runtime) biggest: Option<String>,
}

/// Returns the memory of processes.
pub(super) fn weight(pids: Vec<u32>) -> Weight {
    // A command line is read with a lock that a process short of memory may hold; these files need none.
    let read = |pid: u32| weighed(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?);
    let all: Vec<(u64, String)> = pids.into_iter().filter_map(read).collect();
    let memory = all.iter().map(|(bytes, _)| bytes).fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
    Weight { memory, biggest: all.into_iter().max().map(|(_, name)| name) }
}

/// Parses `/proc/<pid>/status`: the memory that the process takes and no file holds, in bytes, and its name.
fn weighed(status: &str) -> Option<(u64, String)> {
    let name = status.lines().find_map(|line| line.strip_prefix("Name:"))?;
    let of = |part: &str| kilobytes(status, part).unwrap_or_default();
    let own = kilobytes(status, "RssAnon:")?;
    Some((own + of("RssShmem:") + of("VmSwap:"), name.trim().to_owned()))
}

/// Returns the bytes in a line such as `MemTotal: 16 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the number in a line such as `oom_kill 1`.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests;
