//! Discord as people meet it, beside a bare poise bot on the same simulated Discord: from an interaction to its
//! acknowledgement, from start to READY handled, memory with a fleet, posts per second under Discord's limits.
//!
//! ```text
//! cargo bench --bench discord -- [answers|start|memory|idle|posts] [--pairs 3] [--count 300] [--agents 1000] [--quick]
//! ```
//!
//! Both bots are processes of their own. The simulator runs in this process, one for each bot, on loopback; a person asks
//! one and then the other. herder's answer to `/status` is preceded by a record on disk, so one `fdatasync` in the same
//! folder is measured beside and allowed on top.
#![expect(clippy::disallowed_methods, reason = "real time is measured")]

mod bench;
#[expect(dead_code, unused_imports, reason = "a toolbox for tests; a benchmark needs a few of its tools")]
#[path = "../tests/sim/discord/mod.rs"]
mod simulated_discord;

use std::fmt::Write as _;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::{Herder, Toml, head, median, quantile, row, rss_kib, say};
use poise::serenity_prelude as serenity;
use simulated_discord::{Discord, User};

/// The longest time that a thousand channels may take to be created.
const CHANNELS: Duration = Duration::from_secs(300);
/// The longest time until all agents write; a hundred programs are started for it.
const TALKING: Duration = Duration::from_secs(300);
/// Posts per second that Discord accepts: in one channel, and from one bot in total.
const TAKEN: (f64, f64) = (1.0, 50.0);
/// The duration for which posts are counted.
const POSTING: Duration = Duration::from_secs(20);

/// The time a herder needs to settle, and then the time its wake-ups are counted.
const RESTS: Duration = Duration::from_secs(10);

struct Arguments {
    part: Option<String>,
    pairs: usize,
    count: usize,
    agents: usize,
    /// The number of channels that are posted to at once.
    channels: usize,
}

fn arguments() -> Arguments {
    let mut given = Arguments { part: None, pairs: 3, count: 300, agents: 1_000, channels: 100 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            words.next().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{word} takes a number"))
        };
        match &*word {
            "--pairs" => given.pairs = number(),
            "--count" => given.count = number(),
            "--agents" => given.agents = number(),
            // Whether it works, and no more.
            "--quick" => (given.pairs, given.count, given.agents, given.channels) = (1, 30, 30, 10),
            // Cargo adds it.
            "--bench" => {}
            _ => given.part = Some(word),
        }
    }
    given
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio");
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let ["bare", url, token, guild] = words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        return runtime.block_on(bare(url, token, guild.parse().expect("an id")));
    }
    let given = arguments();
    let wanted = |part: &str| given.part.as_deref().is_none_or(|wanted| wanted == part);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    say(&format!("{} pairs, {} commands each; load before {}", given.pairs, given.count, load.trim()));
    head();
    runtime.block_on(async {
        if wanted("answers") || wanted("start") {
            answers(&given).await;
        }
        if wanted("memory") {
            memory(&given).await;
        }
        if wanted("idle") {
            idle(given.pairs).await;
        }
        if wanted("posts") {
            posts(1).await;
            posts(given.channels).await;
        }
    });
}

type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Answers at once.
#[poise::command(slash_command)]
async fn status(context: poise::Context<'_, (), Problem>) -> Result<(), Problem> {
    context.say("idle").await?;
    Ok(())
}

/// Runs the smallest bot that poise allows.
async fn bare(url: &str, token: &str, guild: u64) {
    let framework = poise::Framework::builder()
        .options(poise::FrameworkOptions { commands: vec![status()], ..poise::FrameworkOptions::default() })
        .setup(move |context, _ready, framework| {
            Box::pin(async move {
                let guild = serenity::GuildId::new(guild);
                poise::builtins::register_in_guild(context, &framework.options().commands, guild).await?;
                Ok(())
            })
        })
        .build();
    let http = serenity::HttpBuilder::new(token).proxy(url).ratelimiter_disabled(true).build();
    let intents = serenity::GatewayIntents::GUILDS;
    let client = serenity::ClientBuilder::new_with_http(http, intents).framework(framework).await;
    client.expect("a client").start().await.expect("it runs until it is killed");
}

/// The other bot; killed when dropped.
struct Bare(Child);

impl Bare {
    fn start(sim: &Discord) -> Self {
        let own = std::env::current_exe().expect("this program");
        let guild = sim.guild_id().to_string();
        let child = Command::new(own)
            .args(["bare", &sim.api_url(), &sim.token(), &guild])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Self(child)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Returns a folder on a real disk.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder below target")
}

/// Returns a configuration for `sim`, with `alice` as admin.
fn toml(dir: &Path, sim: &Discord, alice: &User) -> Toml {
    let mut text = String::new();
    writeln!(
        text,
        "[discord]\ntoken = {{ file = {:?} }}\nguild = {}\napi_url = {:?}\n\n[access]\nadmins = [\"discord:{}\"]",
        dir.join("token").display().to_string(),
        sim.guild_id(),
        sim.api_url(),
        alice.id,
    )
    .expect("a string");
    let token = dir.join("token");
    std::fs::write(&token, sim.token()).expect("a file");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token, private).expect("its mode");
    Toml::new(&dir.join("data")).raw(&text)
}

/// Measures the time from the start of a process to the acknowledgement of an interaction that comes as soon as READY
/// was sent: READY was handled before.
async fn first_answer(sim: &Discord, alice: &User, began: Instant) -> f64 {
    sim.command("status").await;
    sim.ready().await;
    alice.slash("#general", "status", serde_json::json!({})).acknowledged().await;
    began.elapsed().as_secs_f64() * 1e3
}

/// Measures `count` times the time from INTERACTION_CREATE to the callback's request, in milliseconds.
async fn latencies(alice: &User, count: usize) -> Vec<f64> {
    let mut taken = Vec::with_capacity(count);
    for _ in 0..count {
        let asked = alice.slash("#general", "status", serde_json::json!({}));
        taken.push(asked.latency().await.as_secs_f64() * 1e3);
        asked.answer().await;
    }
    taken
}

/// Measures a write of 512 bytes with `fdatasync`, in milliseconds.
fn fdatasync(dir: &Path) -> f64 {
    let mut file = std::fs::File::create(dir.join("probe")).expect("a file");
    let taken: Vec<f64> = (0..200)
        .map(|_| {
            file.rewind().expect("a file can be rewound");
            let began = Instant::now();
            file.write_all(&[7; 512]).expect("a file takes bytes");
            file.sync_data().expect("a file can be synced");
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    median(&taken)
}

async fn answers(given: &Arguments) {
    let (mut starts, mut asked, mut syncs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()], Vec::new());
    for _ in 0..given.pairs {
        let dir = folder();
        let sims = [Discord::start().await, Discord::builder().any_bot().start().await];
        let people = sims.each_ref().map(|sim| {
            sim.makes_channel("#general");
            sim.user("alice")
        });
        let config = toml(dir.path(), &sims[0], &people[0]).write(dir.path());
        let began = Instant::now();
        let herder = Herder::start(&config);
        starts[0].push(first_answer(&sims[0], &people[0], began).await);
        let began = Instant::now();
        let bare = Bare::start(&sims[1]);
        starts[1].push(first_answer(&sims[1], &people[1], began).await);
        // The first ones warm both up.
        for (person, taken) in people.iter().zip(&mut asked) {
            latencies(person, 20).await;
            taken.push(latencies(person, given.count).await);
        }
        syncs.push(fdatasync(dir.path()));
        drop(bare);
        herder.stop();
    }
    let ms = |value: f64| format!("{value:.2} ms");
    let start = starts.each_ref().map(|taken| median(taken));
    row(
        "cold start to READY handled",
        &ms(start[0]),
        &format!("bare poise {}", ms(start[1])),
        start[0] / start[1],
        "",
    );
    let sync = median(&syncs);
    for (q, name) in [(0.5, "p50"), (0.99, "p99")] {
        let of = |taken: &[Vec<f64>]| median(&taken.iter().map(|one| quantile(one, q)).collect::<Vec<_>>());
        let (mine, bare) = (of(&asked[0]), of(&asked[1]));
        let allowed = 1.5 * bare + sync;
        row(
            &format!("INTERACTION_CREATE to the callback's request, {name}: `/status`, audited first"),
            &ms(mine),
            &format!("bare poise {}, fdatasync {}", ms(bare), ms(sync)),
            mine / allowed,
            "1 (1.5 x bare + fdatasync)",
        );
    }
}

/// Waits for `count` text channels of agents.
async fn channels(sim: &Discord, count: usize) {
    // Discord lets ten be made in ten seconds.
    sim.until_within(CHANNELS, "the channels", |state| {
        state
            .channels
            .values()
            .filter(|channel| !channel.deleted && channel.name.starts_with("agent-"))
            .count()
            >= count
    })
    .await;
}

async fn memory(given: &Arguments) {
    let mut measured = Vec::new();
    for agents in [0, given.agents] {
        let dir = folder();
        let sim = Discord::builder().roomy().start().await;
        let alice = sim.user("alice");
        let mut toml = toml(dir.path(), &sim, &alice);
        for number in 0..agents {
            toml = toml.agent(&format!("agent-{number}"), &["cat"], dir.path(), false);
        }
        let herder = Herder::start(&toml.write(dir.path()));
        sim.ready().await;
        channels(&sim, agents).await;
        measured.push(rss_kib(herder.pid()));
        herder.stop();
    }
    let each = (measured[1] - measured[0]) / given.agents as f64;
    say(&format!(
        "| memory with {} agents and channels, and without any | {:.1} MiB, {:.1} MiB | {each:.1} KiB each | | |",
        given.agents,
        measured[1] / 1024.0,
        measured[0] / 1024.0,
    ));
}

/// Counts the wake-ups of a herder that waits for Discord, `times` over.
async fn idle(times: usize) {
    let dir = folder();
    let sim = Discord::start().await;
    let alice = sim.user("alice");
    let toml = toml(dir.path(), &sim, &alice).agent("agent-0", &["cat"], dir.path(), false);
    let herder = Herder::start(&toml.write(dir.path()));
    sim.ready().await;
    channels(&sim, 1).await;
    tokio::time::sleep(RESTS).await;
    let mut counts = Vec::new();
    for _ in 0..times {
        let before = bench::wakeups(herder.pid());
        tokio::time::sleep(RESTS).await;
        let of_sled = |thread: &str| thread.starts_with("sled") || thread == "log flusher";
        let woken = bench::wakeups(herder.pid()).into_iter().filter(|(thread, _)| !of_sled(thread));
        counts.push(woken.map(|(thread, count)| count - before.get(&thread).unwrap_or(&0.0)).sum::<f64>());
    }
    herder.stop();
    let each = counts.iter().map(|count| format!("{count:.0}")).collect::<Vec<_>>().join(", ");
    say(&format!(
        "| idle with Discord: wake-ups in 10 s, sled's left out | {:.0} (each: {each}) | | | 25 |",
        median(&counts)
    ));
}

/// Agents that talk without end, for a while, under Discord's limits.
async fn posts(agents: usize) {
    let dir = folder();
    // The channels are there: making them is limited to ten in ten seconds, and not what is measured.
    let sim = Discord::builder().real_limits().roomy().start().await;
    let names: Vec<String> = (0..agents).map(|number| format!("agent-{number}")).collect();
    sim.makes_category("agents", &names);
    let alice = sim.user("alice");
    let mut toml = toml(dir.path(), &sim, &alice).raw("[supervisor]\nmax_active = 0");
    // Each agent writes twice as much as Discord accepts in its channel, all together four times as much as it
    // accepts in total.
    let herder = env!("CARGO_BIN_EXE_herder");
    for number in 0..agents {
        toml = toml.raw(&format!(
            "[[agent]]\nname = \"agent-{number}\"\nruntime = \"claude\"\nworkspace = {:?}\nloop = true\nrelay = \"all\"\ninstructions = \"go\"\n\
             command = [{herder:?}, \"demo-agent\", \"claude-flood\", \"--lines\", \"1000000\", \"--every\", \"0.5\"]",
            dir.path().display().to_string(),
        ));
    }
    let herder = Herder::start(&toml.write(dir.path()));
    // All of them talk before anything is counted.
    let talks =
        |state: &simulated_discord::State| names.iter().all(|name| state.posts(name).next().is_some());
    sim.until_within(TALKING, "a word of every agent", talks).await;
    let said = || {
        sim.look(|state| {
            let each: Vec<usize> = names.iter().map(|name| state.posts(name).count()).collect();
            let bytes: usize =
                names.iter().flat_map(|name| state.posts(name)).map(|post| post.content.len()).sum();
            (each, bytes, state.limits.refused)
        })
    };
    let before = said();
    tokio::time::sleep(POSTING).await;
    let after = said();
    let seconds = POSTING.as_secs_f64();
    let each: Vec<usize> = after.0.iter().zip(&before.0).map(|(after, before)| after - before).collect();
    let rate = each.iter().sum::<usize>() as f64 / seconds;
    let taken = (TAKEN.0 * agents as f64).min(TAKEN.1);
    say(&format!(
        "| posts per second to {agents} channel(s) under Discord's limits | {rate:.1}/s, {:.1} KiB/s | Discord takes {taken:.0}/s; {} refused (429); {} to {} in each channel in {seconds} s | {:.2} | |",
        (after.1 - before.1) as f64 / 1024.0 / seconds,
        after.2 - before.2,
        each.iter().min().copied().unwrap_or_default(),
        each.iter().max().copied().unwrap_or_default(),
        rate / taken,
    ));
    herder.stop();
}
