//! State of the machine that a runner tells its bot.

use std::path::Path;

use crate::cluster::net::Facts;

/// File with the id of the machine, which a copy of its disk has as well.
const MACHINE: &str = "/etc/machine-id";

/// Content of that file before the first boot is complete.
const UNSET: &str = "uninitialized";

/// Returns the state of this machine, with the space left for a data folder. What cannot be read is left out.
/// `key` is the public key of the runner.
pub(super) fn facts(data_dir: &Path, key: &str, sessions: usize) -> Facts {
    let load = line("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok());
    let free_disk =
        rustix::fs::statvfs(data_dir).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    Facts { machine: machine(line(MACHINE), key), sessions, load, free_disk }
}

fn line(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_default().trim().to_owned()
}

/// Returns the id of this machine by the content of its file. Containers have an empty one or none, and another host name
/// after each start: then the key in the data folder counts, which a copy of the folder has as well.
fn machine(id: String, key: &str) -> String {
    if id.is_empty() || id == UNSET { key.to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_an_id_has_that_of_its_folder() {
        assert_eq!(machine(String::new(), "UKEY"), "UKEY");
        assert_eq!(machine(UNSET.to_owned(), "UKEY"), "UKEY");
        assert_eq!(machine("0123".to_owned(), "UKEY"), "0123");
    }
}
