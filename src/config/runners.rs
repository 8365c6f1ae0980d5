//! `[runners]`: the process that agents run in.

use std::ffi::OsStr;
use std::time::Duration;

use super::section::Section;
use crate::core::spec::AgentSpec;

/// Settings of the process that runs the agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runners {
    /// The process on this machine that runs the agents.
    pub local: LocalRunner,
    /// Time without a bot after which a runner stops all sessions.
    pub unattended: Duration,
    /// Addresses of the servers (NATS) that lead to runners on other machines; empty without such runners.
    pub servers: Vec<String>,
}

/// The process on this machine that runs the agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LocalRunner {
    /// The bot's own: sessions end with it.
    #[default]
    Embedded,
    /// A runner, which outlives the bot.
    Process,
}

impl Default for Runners {
    /// Returns the defaults of the contract: sessions may go on for 15 minutes without a bot, so that no money is spent
    /// unseen for long.
    fn default() -> Self {
        Self { local: LocalRunner::default(), unattended: Duration::from_secs(15 * 60), servers: Vec::new() }
    }
}

/// Name of the environment variable with the value of `local` in a file that does not set it. The service that is
/// shipped sets it: its unit is closed to agents.
pub(super) const LOCAL: &str = "HERDER_RUNNERS_LOCAL";

/// Minimum of `unattended`: a bot that is started again takes some seconds.
const UNATTENDED_MIN: Duration = Duration::from_secs(10);

/// Values of `local`.
const CHOICES: [(&str, LocalRunner); 2] =
    [("embedded", LocalRunner::Embedded), ("process", LocalRunner::Process)];

/// Parses `[runners]`.
pub(super) fn runners(top: &Section<'_>) -> Runners {
    let set = (top.reading.around.variable)(LOCAL);
    let named = CHOICES.iter().find(|(name, _)| set.as_deref() == Some(OsStr::new(name)));
    if set.is_some() && named.is_none() {
        top.problem("runners", format!("the environment's {LOCAL} is neither embedded nor process"));
    }
    let default = Runners { local: named.map(|(_, local)| *local).unwrap_or_default(), ..Runners::default() };
    let Some(section) = top.table("runners") else { return default };
    let local = section.choice("local", &CHOICES).unwrap_or(default.local);
    if local == LocalRunner::Embedded && default.local == LocalRunner::Process {
        let text = "this service is closed to agents: leave the line out, or take the drop-in agents.conf of the examples";
        section.warn("local", text);
    }
    let unattended = section.duration("unattended", UNATTENDED_MIN).unwrap_or(default.unattended);
    let servers = section.texts("servers").unwrap_or_default();
    for server in servers.iter().filter(|server| !is_server(&server.value)) {
        let why = format!(
            "\"{}\" is no address of a server; write e.g. servers = [\"tls://box1:4222\"]",
            server.value
        );
        section.problem_at(server.line, "servers", why);
    }
    let servers = servers.into_iter().map(|server| server.value).collect();
    section.finish();
    Runners { local, unattended, servers }
}

/// Returns true if a text is the address of a server with TLS.
fn is_server(text: &str) -> bool {
    let host = text.strip_prefix("tls://").unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '[' | ']');
    !host.is_empty() && host.chars().all(is_plain)
}

/// Refuses agents of other machines if no server leads there.
pub(super) fn check(runners: &Runners, agents: &[(AgentSpec, &Section<'_>)]) {
    for (agent, section) in agents {
        if agent.runner.is_some() && runners.servers.is_empty() {
            let why =
                "no server leads to other machines; write servers under [runners] as well, or take it out";
            section.problem("runner", why);
        }
    }
}

/// Warns of agents whose `keep_warm` has no effect there.
pub(super) fn warn(top: &Section<'_>, runners: &Runners, agents: &[AgentSpec]) {
    let warm = agents.iter().filter(|agent| !agent.keep_warm.is_zero());
    let warm: Vec<&str> = warm.map(|agent| agent.name.as_str()).collect();
    if runners.local == LocalRunner::Process && !warm.is_empty() {
        let text = format!(
            "with local = \"process\" no process stays for the next message: keep_warm has no effect ({})",
            warm.join(", ")
        );
        top.warn("runners", text);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{section, validate};

    fn read(text: &str) -> Result<Runners, String> {
        read_in(text, None)
    }

    fn read_in(text: &str, local: Option<&str>) -> Result<Runners, String> {
        let variable = |name: &str| local.filter(|_| name == LOCAL).map(Into::into);
        let around = section::Surroundings { folder: Path::new("/tmp"), variable: &variable };
        let read = validate::read(text, "bot.toml", &around);
        read.map(|read| read.config.runners).map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_runner_is_a_process_only_if_the_file_says_so() {
        assert_eq!(read(""), Ok(Runners::default()));
        assert_eq!(read("[runners]").map(|runners| runners.local), Ok(LocalRunner::Embedded));
        let servers = vec!["tls://box1:4222".to_owned()];
        let process = Runners { local: LocalRunner::Process, unattended: Duration::from_secs(60), servers };
        let set = "local = \"process\"\nunattended = \"1m\"\nservers = [\"tls://box1:4222\"]";
        assert_eq!(read(&format!("[runners]\n{set}")), Ok(process));
        // The service's variable holds for a file that says nothing.
        assert_eq!(read_in("", Some("process")).map(|read| read.local), Ok(LocalRunner::Process));
        read_in("", Some("proces")).expect_err("it is misspelt");
        let embedded = read_in("[runners]\nlocal = \"embedded\"", Some("process"));
        assert_eq!(embedded.map(|read| read.local), Ok(LocalRunner::Embedded));
        for wrong in [
            "local = \"proces\"",
            "unattended = \"1s\"",
            "locale = \"process\"",
            "servers = [\"nats://box1:4222\"]",
            "servers = [\"tls://\"]",
        ] {
            let said = read(&format!("[runners]\n{wrong}")).expect_err("it is a mistake");
            assert!(said.contains("bot.toml:2"), "{said}");
        }
    }

    #[test]
    fn an_agent_that_would_stay_warm_is_named() {
        let agent = "[[agent]]\nname = \"spark\"\nruntime = \"acp\"\ncommand = [\"gemini\"]\nworkspace = \"/\"\n\
                     keep_warm = \"5m\"\n";
        let warned = |text: &str| {
            let around = section::Surroundings { folder: Path::new("/tmp"), variable: &|_| None };
            let read = validate::read(text, "bot.toml", &around).expect("it has no mistake");
            read.config
                .warnings
                .iter()
                .any(|warning| warning.text.contains("keep_warm has no effect (spark)"))
        };
        assert!(warned(&format!("[runners]\nlocal = \"process\"\n{agent}")) && !warned(agent));
    }
}
