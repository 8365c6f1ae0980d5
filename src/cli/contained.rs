//! Checks of `herder check` on the containment of agents: whether they run as a user of their own who cannot log in or
//! change herder's files.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::Access;

use super::check::Finding;
use crate::core::machine::{Enforcement, Together};
use crate::core::policy::Policy;
use crate::core::spec::AgentSpec;
use crate::runtime::process::{can_group, can_limit};

/// The text of the systemd unit that is shipped with herder: the bot, as a user of its own.
pub(super) const UNIT: &str = include_str!("../../packaging/systemd/herder.service");

/// The text of the unit beside it, in which agents run, and go on while the bot is updated.
pub(super) const RUNNER_UNIT: &str = include_str!("../../packaging/systemd/herder-runner.service");

/// Reports whether agents are contained: `check` runs as a user who cannot log in or change `config` and herder's
/// program, and who can create cgroups.
pub(super) fn contained(config: &Path) -> Finding {
    let user = rustix::process::geteuid().as_raw();
    let shell = fs::read_to_string("/etc/passwd").ok().and_then(|users| login_shell(&users, user));
    let mut lacks = Vec::new();
    if user == 0 {
        lacks.push("they run as root".to_owned());
    } else if let Some((name, shell)) = shell {
        lacks.push(format!("they run as {name}, who logs in with {shell}"));
    }
    let own = writable(config);
    if !own.is_empty() {
        lacks.push(format!("they may change {}, and so who commands", own.join(" and ")));
    }
    if !can_group() {
        lacks.push("no cgroup can be made for them from here (a service with Delegate=yes can)".to_owned());
    }
    if lacks.is_empty() {
        return Finding::good(
            "agents are contained: a user of their own, and a cgroup for each session".to_owned(),
        );
    }
    Finding::note(format!(
        "agents are not contained: {}; what this user may, they may. `herder init --service runner` prints a \
         service that contains them (with the user that it names: useradd --system herder)",
        lacks.join(", and ")
    ))
}

/// Checks that the configured limits on memory, CPU and processes can be set; `None` if there are none.
pub(super) fn limits(policy: &Policy, agents: &[AgentSpec]) -> Option<Finding> {
    let limited = agents.iter().filter(|agent| !agent.share.is_none()).map(|agent| agent.name.as_str());
    let mut limited: Vec<&str> = limited.collect();
    if policy.memory != Together::All {
        limited.push("all agents together");
    }
    if limited.is_empty() {
        return None;
    }
    let limited = limited.join(", ");
    Some(match can_limit() {
        Ok(()) => Finding::good(format!("memory, cpu and pids can be limited ({limited})")),
        Err(why) if policy.limits == Enforcement::Try => Finding::note(format!(
            "memory is held by a look every second ({limited}): an agent may take more within that second, and cpu, pids \
             and the memory of all together are not held. The kernel cannot hold them from here: {why}"
        )),
        Err(why) => Finding::bad(format!(
            "memory, cpu and pids cannot be limited from here ({limited}), and agents with limits do not start without \
             them: {why}. They need cgroup v2 with the controllers cpu, memory and pids: run herder in a service with \
             Delegate=yes, or by systemd-run --user --scope -p Delegate=yes"
        )),
    })
}

/// Returns a warning if agents can change herder's data folder, because they run as the user who owns it and have no
/// sandbox; else `None`.
pub(super) fn exposed_data(data_dir: &Path, agents: &[AgentSpec]) -> Option<String> {
    let open: Vec<&str> =
        agents.iter().filter(|agent| agent.sandbox.is_empty()).map(|agent| agent.name.as_str()).collect();
    if open.is_empty() {
        return None;
    }
    Some(format!(
        "data folder {}: agents without a sandbox ({}) can change it, and so what herder remembers and who is tied by link; \
         a `sandbox` that hides it keeps them out",
        data_dir.display(),
        open.join(", ")
    ))
}

/// Returns those of the configuration file and herder's program that this user can write or replace. The owner of a
/// file or a folder counts, because the owner can make it writable.
pub(super) fn writable(config: &Path) -> Vec<String> {
    let user = rustix::process::geteuid().as_raw();
    let owns = |path: &Path| fs::metadata(path).is_ok_and(|found| found.uid() == user);
    let can = |path: &Path| owns(path) || rustix::fs::access(path, Access::WRITE_OK).is_ok();
    let replaceable = |path: &Path| can(path) || path.parent().is_some_and(can);
    let program = std::env::current_exe().ok();
    let config = fs::canonicalize(config).ok();
    let own = config.into_iter().chain(program).filter(|path| replaceable(path));
    own.map(|path| path.display().to_string()).collect()
}

/// Searches `users`, the text of `/etc/passwd`, for the user id `user`. Returns the user's name and shell; `None` if
/// that user cannot log in.
fn login_shell(users: &str, user: u32) -> Option<(String, String)> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, id, shell) = (fields.first()?, fields.get(2)?, fields.get(6)?.trim());
        let logs_in = !shell.ends_with("/nologin") && !shell.ends_with("/false") && !shell.is_empty();
        (id.parse() == Ok(user) && logs_in).then(|| ((*name).to_owned(), shell.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::login_shell;

    #[test]
    fn a_user_of_a_service_has_no_shell() {
        let users = "root:x:0:0:root:/root:/bin/bash\nherder:x:998:998::/var/lib/herder:/usr/sbin/nologin\nbroken\n\
                     alice:x:1000:1000:Alice,,,:/home/alice:/bin/zsh\n";
        assert_eq!(login_shell(users, 998), None);
        assert_eq!(login_shell(users, 1000), Some(("alice".to_owned(), "/bin/zsh".to_owned())));
        assert_eq!(login_shell(users, 7), None);
    }
}
