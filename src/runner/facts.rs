//! State of the machine that a runner tells its bot.

use std::path::Path;

use crate::cluster::net::Facts;

/// File with the id of the machine, which a copy of its disk has as well.
const MACHINE: &str = "/etc/machine-id";

/// File with the id of the machine's boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Returns the state of this machine, with the space left for a data folder. What cannot be read is left out.
pub(super) fn facts(data_dir: &Path, sessions: usize) -> Facts {
    let line = |file: &str| std::fs::read_to_string(file).unwrap_or_default().trim().to_owned();
    let load = line("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok());
    let free_disk =
        rustix::fs::statvfs(data_dir).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    Facts { machine: line(MACHINE), boot: line(BOOT), sessions, load, free_disk }
}
