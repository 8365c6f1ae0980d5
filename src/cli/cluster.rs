//! `herder cluster` and the runners of other machines: keys, invitations and joining.

use std::process::ExitCode;

use clap::Subcommand;

use super::{Global, complain, failed, runtime, say};
use crate::cluster::folder::{self, FOLDER, Made};
use crate::cluster::invitation::Invitation;
use crate::cluster::{joining, runner_folder};
use crate::core::id::RunnerName;

/// Commands about the server that leads to other machines.
#[derive(Debug, Subcommand)]
pub(super) enum Cluster {
    /// Make the keys of this bot, and the configuration of the server that leads to its runners
    Init {
        /// Name or address under which runners reach this machine, more than once for several; without it: the machine's own
        /// name
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<String>,
        /// Port of the server
        #[arg(long, default_value_t = 4222)]
        port: u16,
    },
}

/// Performs a command about the server.
pub(super) fn perform(global: &Global, command: Cluster) -> ExitCode {
    let Cluster::Init { mut hosts, port } = command;
    if hosts.is_empty() {
        hosts.push(rustix::system::uname().nodename().to_string_lossy().into_owned());
    }
    let path = global.data_dir().join(FOLDER);
    if let Err(error) = std::fs::create_dir_all(global.data_dir()) {
        return failed(format_args!("{}: {error}", global.data_dir().display()));
    }
    match folder::init(&path, &hosts, port, now()) {
        Ok(made) => {
            made_lines(&made, &path.display().to_string()).iter().for_each(say);
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}

/// Returns the lines about a folder that was made.
fn made_lines(Made { name, servers, conf }: &Made, folder: &str) -> Vec<String> {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    vec![
        format!("The keys of bot {name} are in {folder}: keep them to yourself, and in your backup."),
        format!("1. Start the server (nats-server 2.12 or later): nats-server -c {}", conf.display()),
        "2. Add to bot.toml, and start the bot again:".to_owned(),
        "   [runners]".to_owned(),
        format!("   servers = [{}]", servers.join(", ")),
        "3. Invite a machine: herder runner invite box4".to_owned(),
    ]
}

/// Prints the line with which a machine joins.
pub(super) fn invite(global: &Global, name: &str) -> ExitCode {
    let invited = RunnerName::new(name).map_err(|error| error.to_string()).and_then(|name| {
        let opened = folder::open(&global.data_dir().join(FOLDER)).map_err(|error| error.to_string())?;
        opened.invite(&name, now()).map_err(|error| error.to_string())
    });
    match invited {
        Ok(invitation) => {
            complain(format_args!("Run this on {name} within ten minutes; it is good once:"));
            say(format_args!("herder runner join {invitation}"));
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}

/// Joins the bot that has made an invitation.
pub(super) fn join(global: &Global, invitation: &str) -> ExitCode {
    let mut typed = String::new();
    if invitation == "-"
        && let Err(error) = std::io::stdin().read_line(&mut typed)
    {
        return failed(format_args!("the invitation cannot be read: {error}"));
    }
    // The whole line that was printed is good as well.
    let words = if invitation == "-" { typed.as_str() } else { invitation };
    let invitation = words.split_whitespace().next_back().unwrap_or_default();
    let invitation = match Invitation::parse(invitation) {
        Ok(invitation) => invitation,
        Err(error) => return failed(error),
    };
    let path = global.data_dir().join(FOLDER);
    if path.exists() {
        return failed(format_args!(
            "{} is there already: this machine belongs to a bot. To join another one, move it away first",
            path.display()
        ));
    }
    if let Err(error) = std::fs::create_dir_all(global.data_dir()) {
        return failed(format_args!("{}: {error}", global.data_dir().display()));
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return failed(format_args!("threads cannot be started: {error}")),
    };
    let joined = runtime.block_on(async {
        let key = joining::new_key().map_err(|error| error.to_string())?;
        joining::join(&invitation, key).await.map_err(|error| error.to_string())
    });
    match joined.and_then(|joined| runner_folder::store(&path, &joined).map_err(|error| error.to_string())) {
        Ok(folder) => {
            let name = folder.name();
            say(format_args!("This machine is runner {name} now; its key is in {}.", path.display()));
            say("Start it: herder runner run (as a service: herder init --service runner prints one)");
            say(format_args!(
                "Give it an agent, in the chat: agent add spark codex /srv/spark runner={name}"
            ));
            ExitCode::SUCCESS
        }
        Err(error) => failed(error),
    }
}

#[expect(clippy::disallowed_methods, reason = "keys are dated by the real clock")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_what_to_do_next() {
        let made = Made {
            name: "0a1b2c3d".to_owned(),
            servers: vec!["tls://box1:4222".to_owned()],
            conf: "/srv/herder/data/cluster/nats-server.conf".into(),
        };
        insta::assert_snapshot!(made_lines(&made, "data/cluster").join("\n"), @r#"
        The keys of bot 0a1b2c3d are in data/cluster: keep them to yourself, and in your backup.
        1. Start the server (nats-server 2.12 or later): nats-server -c /srv/herder/data/cluster/nats-server.conf
        2. Add to bot.toml, and start the bot again:
           [runners]
           servers = ["tls://box1:4222"]
        3. Invite a machine: herder runner invite box4
        "#);
    }
}
