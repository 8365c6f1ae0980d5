//! A cgroup for each session, as a fourth way to find its processes, if the system supports it.
//!
//! A process cannot leave its cgroup by forking, by a new session, or by clearing its environment, and `cgroup.kill`
//! is faster than a process that forks and exits in a loop. It needs cgroup v2 and write permission for herder's own
//! group: as root, or in a service with `Delegate=yes`. On other systems, the three ways in the parent module are all
//! there is.
//!
//! The child is moved into its group directly after its start: starting it inside would need a `pre_exec`, which is
//! slower. Processes that it forks within that millisecond are found by the other ways.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, access};

use super::shares::{self, AGENTS, Allowance, MAIN};

/// Prefix of the names of herder's cgroups, which separates them from others.
const PREFIX: &str = "herder.";

/// Maximum depth to which cgroups that an agent created itself are followed.
const DEPTH_MAX: usize = 8;

/// The folder of the cgroup file system in which herder can create a cgroup per session.
#[derive(Debug)]
pub(super) struct Cgroups {
    parent: PathBuf,
}

impl Cgroups {
    /// Finds the folder in which cgroups can be created, and tests it by creating one; `None` if there is none.
    pub(super) fn find() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let parent = own_group(
            &fs::read_to_string("/proc/self/mountinfo").ok()?,
            &fs::read_to_string("/proc/self/cgroup").ok()?,
        )?;
        // From its second look on, herder may be in the group that it has moved itself to.
        let parent = if parent.ends_with(MAIN) { parent.parent()?.to_owned() } else { parent };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let probe = parent.join(format!("herder-probe.{}.{number}", std::process::id()));
        fs::create_dir(&probe).ok()?;
        let writable = |file: &Path| access(file, Access::WRITE_OK).is_ok();
        let usable = writable(&probe.join("cgroup.kill"))
            && writable(&probe.join("cgroup.procs"))
            && writable(&parent.join("cgroup.procs"));
        // An empty group that remains does no harm.
        let _ = fs::remove_dir(&probe);
        usable.then_some(Self { parent })
    }

    /// Returns the folder of this process, found once.
    pub(super) fn found() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Cgroups>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    /// Returns the cgroup of all limited sessions, which may not exist.
    pub(super) fn agents(&self) -> PathBuf {
        self.parent.join(AGENTS)
    }

    /// Creates the cgroup of the session's `marker` with these limits.
    ///
    /// # Errors
    /// The reason why they cannot be set.
    pub(super) fn enclose(&self, marker: &str, allowance: &Allowance) -> Result<(), String> {
        let group = name(marker);
        // A look at the workspace before the session has left it empty.
        let _ = fs::remove_dir(self.parent.join(&group));
        shares::enclose(&self.parent, &group, allowance).map(drop)
    }

    /// Tries whether limits can be set.
    ///
    /// # Errors
    /// The reason why they cannot be set.
    pub(super) fn rehearse(&self) -> Result<(), String> {
        shares::rehearse(&self.parent)
    }

    /// Returns the limited cgroup of the session with this marker, if it exists.
    pub(super) fn limited(&self, marker: &str) -> Option<PathBuf> {
        Some(self.parent.join(AGENTS).join(name(marker))).filter(|group| group.is_dir())
    }

    /// Moves a process that has not been waited for into the cgroup of the session's `marker`.
    pub(super) fn place(&self, marker: &str, pid: u32) {
        let group = self.parent.join(name(marker));
        // The group exists if this is the session's second process.
        let _ = fs::create_dir(&group);
        if let Err(error) = fs::write(group.join("cgroup.procs"), pid.to_string()) {
            tracing::debug!(%error, "a process runs outside of a cgroup");
            let _ = fs::remove_dir(&group);
        }
    }

    /// Returns the cgroups of all sessions whose marker starts with `prefix`.
    pub(super) fn beginning_with(&self, prefix: &str) -> Vec<PathBuf> {
        let prefix = name(prefix);
        let groups = [self.parent.clone(), self.parent.join(AGENTS)].into_iter();
        let groups = groups
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flat_map(Iterator::flatten)
            .filter(|group| group.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)));
        groups.map(|group| group.path()).collect()
    }

    /// Returns the cgroup of the session with this marker, if it exists.
    pub(super) fn of(&self, marker: &str) -> Option<PathBuf> {
        let open = || Some(self.parent.join(name(marker))).filter(|group| group.is_dir());
        self.limited(marker).or_else(open)
    }
}

/// Returns the ids of the processes in a cgroup and the cgroups below it.
pub(super) fn pids(group: &Path) -> Vec<u32> {
    let mut pids = Vec::new();
    each(group, DEPTH_MAX, &mut |group| {
        let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        pids.extend(list.lines().filter_map(|pid| pid.parse::<u32>().ok()));
    });
    pids
}

/// Returns true if a cgroup has no living process.
pub(super) fn is_empty(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.events")).map_or(true, |events| !events.contains("populated 1"))
}

/// Sends SIGKILL to all processes of a cgroup and of those below it at once.
pub(super) fn kill(group: &Path) {
    // A group that is gone has no processes.
    let _ = fs::write(group.join("cgroup.kill"), "1");
}

/// Removes a cgroup if it is empty.
pub(super) fn remove(group: &Path) {
    each(group, DEPTH_MAX, &mut |group| {
        // A group that is not empty remains, and is found again by its name.
        let _ = fs::remove_dir(group);
    });
}

/// Calls `visit` for the cgroups below, the deepest first, and then for the cgroup itself.
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

/// Returns a session's marker as the name of a folder. Prefixes of markers remain prefixes of the names, and the marker of
/// a runner's session begins with no prefix of the bot's.
fn name(marker: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+') { c } else { '.' };
    format!("{PREFIX}{}", marker.chars().map(safe).collect::<String>())
}

/// Returns the folder of the cgroup that this process is in.
fn own_group(mountinfo: &str, cgroup: &str) -> Option<PathBuf> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if !kind.starts_with("cgroup2 ") {
            return None;
        }
        let fields: Vec<&str> = mount.split(' ').collect();
        // In a container, possibly only a part of the hierarchy is mounted.
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
        assert!(!name("ab12+local/spark/7").starts_with(&name("ab12/")), "a bot ends no session of a runner");
    }
}
