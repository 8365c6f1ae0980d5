//! The fourth net, where the system has one: a cgroup for each session.
//!
//! Nothing leaves its cgroup by forking, by a new session, or by throwing its environment away, and `cgroup.kill` outruns
//! a process that forks and exits in a loop. One can be made where cgroup v2 is mounted and herder's own group may be
//! written: as root, or in a service with `Delegate=yes`. Elsewhere the other three nets are all there is.
//!
//! The child is moved into its group right after it was started: to start it inside would need a `pre_exec`, which costs
//! the fast spawn path. What it forks within that millisecond is in the other nets.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, access};

/// What herder's groups are called, so that they can be told from others beside them.
const PREFIX: &str = "herder.";

/// How deep an agent's own groups are followed.
const DEPTH_MAX: usize = 8;

/// Where groups can be made.
#[derive(Debug)]
pub(super) struct Cgroups {
    parent: PathBuf,
}

impl Cgroups {
    /// Looks for the place, and tries it.
    pub(super) fn find() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let parent = own_group(
            &fs::read_to_string("/proc/self/mountinfo").ok()?,
            &fs::read_to_string("/proc/self/cgroup").ok()?,
        )?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let probe = parent.join(format!("herder-probe.{}.{number}", std::process::id()));
        fs::create_dir(&probe).ok()?;
        let writable = |file: &Path| access(file, Access::WRITE_OK).is_ok();
        let usable = writable(&probe.join("cgroup.kill"))
            && writable(&probe.join("cgroup.procs"))
            && writable(&parent.join("cgroup.procs"));
        // An empty group that stays would do no harm.
        let _ = fs::remove_dir(&probe);
        usable.then_some(Self { parent })
    }

    /// Moves a process that nobody has waited for yet into the group of `marker`.
    pub(super) fn place(&self, marker: &str, pid: u32) {
        let group = self.parent.join(name(marker));
        // It is there already if the session begins a second process.
        let _ = fs::create_dir(&group);
        if let Err(error) = fs::write(group.join("cgroup.procs"), pid.to_string()) {
            tracing::debug!(%error, "a process runs outside of a cgroup");
            let _ = fs::remove_dir(&group);
        }
    }

    /// The groups of all markers that begin with `prefix`.
    pub(super) fn beginning_with(&self, prefix: &str) -> Vec<PathBuf> {
        let prefix = name(prefix);
        let Ok(groups) = fs::read_dir(&self.parent) else { return Vec::new() };
        let groups = groups
            .flatten()
            .filter(|group| group.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)));
        groups.map(|group| group.path()).collect()
    }

    /// The group of `marker`, if there is one.
    pub(super) fn of(&self, marker: &str) -> Option<PathBuf> {
        Some(self.parent.join(name(marker))).filter(|group| group.is_dir())
    }
}

/// The processes of a group and of the groups in it.
pub(super) fn pids(group: &Path) -> Vec<u32> {
    let mut pids = Vec::new();
    each(group, DEPTH_MAX, &mut |group| {
        let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        pids.extend(list.lines().filter_map(|pid| pid.parse::<u32>().ok()));
    });
    pids
}

/// Whether a group has no living process.
pub(super) fn is_empty(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.events")).map_or(true, |events| !events.contains("populated 1"))
}

/// SIGKILL for every process of a group and of the groups in it, at once.
pub(super) fn kill(group: &Path) {
    // A group that is gone has nobody left to kill.
    let _ = fs::write(group.join("cgroup.kill"), "1");
}

/// Removes a group that is empty.
pub(super) fn remove(group: &Path) {
    each(group, DEPTH_MAX, &mut |group| {
        // One that is not empty stays, and is found by its name.
        let _ = fs::remove_dir(group);
    });
}

/// Calls `visit` for the groups in `group`, the deepest first, and for itself.
fn each(group: &Path, depth: usize, visit: &mut dyn FnMut(&Path)) {
    if depth > 0 {
        for inner in fs::read_dir(group).into_iter().flatten().flatten() {
            if inner.file_type().is_ok_and(|kind| kind.is_dir()) {
                each(&inner.path(), depth - 1, visit);
            }
        }
    }
    visit(group);
}

/// A marker as the name of a folder; a prefix of the one is a prefix of the other.
fn name(marker: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '.' };
    format!("{PREFIX}{}", marker.chars().map(safe).collect::<String>())
}

/// The folder of this process's own group.
fn own_group(mountinfo: &str, cgroup: &str) -> Option<PathBuf> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if !kind.starts_with("cgroup2 ") {
            return None;
        }
        let fields: Vec<&str> = mount.split(' ').collect();
        // In a container a part of the hierarchy may be all that is mounted.
        let inside = Path::new(path).strip_prefix(fields.get(3)?).ok()?;
        Some(Path::new(fields.get(4)?).join(inside))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_where_the_mount_and_the_path_meet() {
        let unified = "24 1 0:22 / /proc rw - proc proc rw\n30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let part = "30 1 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let table = [
            (unified, "0::/\n", Some("/sys/fs/cgroup")),
            (
                unified,
                "1:name=systemd:/x\n0::/system.slice/herder.service\n",
                Some("/sys/fs/cgroup/system.slice/herder.service"),
            ),
            (part, "0::/docker/abc/inner\n", Some("/sys/fs/cgroup/inner")),
            (part, "0::/elsewhere\n", None),
            (unified, "3:cpu:/\n", None),
            ("24 1 0:22 / /proc rw - proc proc rw\n", "0::/\n", None),
        ];
        for (mountinfo, cgroup, folder) in table {
            assert_eq!(own_group(mountinfo, cgroup).as_deref(), folder.map(Path::new), "{cgroup}");
        }
    }

    #[test]
    fn a_marker_becomes_one_folder_name() {
        assert_eq!(name("ab12/spark-codex/7"), "herder.ab12.spark-codex.7");
        assert!(name("../../x").starts_with("herder.......x"));
    }
}
