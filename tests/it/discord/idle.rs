//! The cost of an idle herder that waits on Discord, and the end of one that Discord refuses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::kill::{Running, reap, signal};
use crate::simulated_discord::{Discord, permission};

/// Returns how often threads of a process have yielded the processor, without those of the journal's disk.
fn wakes(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).expect("it runs");
    let of_task = |task: std::io::Result<std::fs::DirEntry>| -> Option<u64> {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
        let name = field("Name:")?;
        if name.starts_with("sled") || name == "log flusher" {
            return None;
        }
        field("voluntary_ctxt_switches:")?.parse().ok()
    };
    tasks.filter_map(of_task).sum()
}

/// Returns a configuration with Discord as the only network.
fn configured(dir: &Path, sim: &Discord) -> PathBuf {
    let config = dir.join("bot.toml");
    let text = format!(
        "name = \"herder\"\ndata_dir = \"data\"\n[discord]\ntoken = {{ env = \"DISCORD_TOKEN\" }}\nguild = {}\n\
         api_url = \"{}\"\n[access]\nadmins = [\"discord:{}\"]\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\n\
         workspace = \"{}\"\naccount = \"test\"\ncommand = [\"cat\"]\n",
        sim.guild_id(),
        sim.api_url(),
        sim.user("alice").id,
        dir.display()
    );
    std::fs::write(&config, text).expect("a file");
    config
}

/// The token of somebody who looks at the page.
const TOKEN: &str = "a-token-that-is-long-enough";

/// Opens a page's stream, sees a change in it, and goes.
async fn look(socket: &Path, view: &str) {
    let mut stream = UnixStream::connect(socket).await.expect("it listens");
    let request =
        format!("GET /live{view} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let (mut heard, mut piece) = (String::new(), [0; 4096]);
    while !heard.contains("id=\"summary\"") {
        let length = stream.read(&mut piece).await.expect("a stream");
        assert!(length > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_herder_sleeps() {
    let (dir, sim) = (tempfile::tempdir().expect("a folder"), Discord::start().await);
    // A heartbeat is the clock of this test, and Discord's is forty seconds.
    sim.gateway().heartbeat(Duration::from_secs(5));
    sim.role("manager", permission::MANAGE_GUILD);
    let config = configured(dir.path(), &sim);
    // A page that nobody looks at costs nothing either.
    let socket = dir.path().join("http.sock");
    let text = std::fs::read_to_string(&config).expect("it was written");
    let http = format!(
        "{text}[http]\nlisten = \"unix:{}\"\n[[http.token]]\nname = \"test\"\nrole = \"viewer\"\nsecret = {{ file = \"token\" }}\n",
        socket.display()
    );
    std::fs::write(&config, http).expect("a file");
    std::fs::write(dir.path().join("token"), TOKEN).expect("a file");
    let herder = Running::start(dir.path(), &config, &[("DISCORD_TOKEN", &sim.token())]);
    sim.command("pause").await;
    sim.channel("#spark").await;
    for view in ["", "?view=money", "?view=history"] {
        look(&socket, view).await;
    }
    let beats = async |more: u32| {
        let before = sim.gateway().heartbeats();
        sim.until("heartbeats", |state| state.gateway.heartbeats >= before + more).await;
    };
    // The activity of the start is over.
    beats(2).await;
    // A machine that is busy with other tests wakes a thread more often than its work does: the quietest time counts.
    let mut woke = u64::MAX;
    for _ in 0..4 {
        let before = wakes(herder.pid());
        beats(2).await;
        woke = (wakes(herder.pid()) - before).min(woke);
        if woke <= 25 {
            break;
        }
    }
    signal(&herder, Signal::TERM);
    assert!(reap(herder).await.success());
    // Ten of them are serenity's own, which looks at its link twice a second, and is let sleep twice as long.
    assert!(woke <= 25, "{woke} times in ten seconds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_discord_does_not_know_ends_a_herder_that_has_no_other_network() {
    let (dir, sim) = (tempfile::tempdir().expect("a folder"), Discord::start().await);
    sim.expects_violation("401");
    let config = configured(dir.path(), &sim);
    let herder = Running::start(dir.path(), &config, &[("DISCORD_TOKEN", "MTIz.wrong.token")]);
    assert_eq!(reap(herder).await.code(), Some(78));
    let said = std::fs::read_to_string(dir.path().join("log")).expect("a log");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("herder: Discord does not know the token."), "{said}");
}
