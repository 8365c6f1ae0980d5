//! What an idle herder costs while it waits on Discord.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::kill::{Running, reap, signal};
use crate::simulated_discord::{Discord, permission};

/// How often threads of a process have given up the processor by themselves, but for those of the journal's disk.
fn wakes(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).expect("it runs");
    let of_task = |task: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        if field("Name:")?.starts_with("sled") {
            return None;
        }
        field("voluntary_ctxt_switches:")?.parse().ok()
    };
    tasks.filter_map(of_task).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_herder_sleeps() {
    let (dir, sim) = (tempfile::tempdir().expect("a folder"), Discord::start().await);
    // A heartbeat is the clock of this test, and Discord's is forty seconds.
    sim.gateway().heartbeat(Duration::from_secs(5));
    sim.role("manager", permission::MANAGE_GUILD);
    let alice = sim.user("alice").roles(["manager"]);
    let config = dir.path().join("bot.toml");
    let text = format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {}\n\
         api_url = \"{}\"\n[access]\nadmins = [\"discord:{}\"]\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\n\
         workspace = \"{}\"\naccount = \"test\"\ncommand = [\"cat\"]\n",
        sim.guild_id(),
        sim.api_url(),
        alice.id,
        dir.path().display()
    );
    std::fs::write(&config, text).expect("a file");
    let herder = Running::start(dir.path(), &config, &[("DISCORD_TOKEN", &sim.token())]);
    sim.command("pause").await;
    sim.channel("#spark").await;
    let beats = async |more: u32| {
        let before = sim.gateway().heartbeats();
        sim.until("heartbeats", |state| state.gateway.heartbeats >= before + more).await;
    };
    // What begins with it is over.
    beats(2).await;
    let before = wakes(herder.pid());
    beats(2).await;
    let woke = wakes(herder.pid()) - before;
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
    // Twenty of them are serenity's own, which looks at its link twice a second.
    assert!(woke <= 60, "{woke} times in ten seconds");
}
