//! Agents on another machine: a real `nats-server` with keys and TLS, a bot and a runner as processes of their own, and
//! real children. Bot, runner and server are killed, and the runner stands still.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use herder::cluster::folder::{self, FOLDER};
use herder::runner::process::{Question, ask};
use jiff::Timestamp;
use rustix::process::Signal;

use crate::kill::lines;
use crate::kill::process::Process;
use crate::servers::free_port;
use crate::stage::PATIENCE;

/// A session says that it has begun, and ends once it may. A second one beside it is a violation.
pub(crate) const SCRIPT: &str = r#"
read -r work
for other in $(cat begun 2> /dev/null); do
  grep -qv ') Z ' "/proc/$other/stat" 2> /dev/null && echo "$other beside $$" >> violations
done
echo $$ >> begun
while [ ! -e go ]; do sleep 0.02; done
echo "done: $work"
"#;

/// A child that is killed when it is dropped.
pub(crate) struct Owned(pub(crate) Child);

impl Owned {
    fn sends(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).expect("it runs");
    }

    fn dies(mut self) {
        self.sends(Signal::KILL);
        self.0.wait().expect("it ends");
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a free port of a server, which has a monitoring port 4000 above. No outgoing connection is given either.
pub(crate) fn nats_port() -> u16 {
    let is_free = |port: &u16| *port < 28_000 && TcpListener::bind(("127.0.0.1", port + 4000)).is_ok();
    std::iter::repeat_with(free_port).find(is_free).expect("a free port")
}

/// Starts the server between the machines.
pub(crate) fn server(conf: &Path) -> Owned {
    let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-tools/nats/bin/nats-server");
    let mut command = Command::new(&program);
    command.arg("-c").arg(conf).args(["-a", "127.0.0.1"]).stdout(Stdio::null()).stderr(Stdio::null());
    Owned(
        command
            .spawn()
            .unwrap_or_else(|why| panic!("{}: {why}; scripts/test installs it", program.display())),
    )
}

/// A bot and a machine that has joined it.
struct World {
    bot: Process,
    server: Option<Owned>,
    runner: Option<Owned>,
}

impl World {
    /// Opens a world with machine `box4`, and agent `spark` there.
    async fn open() -> Self {
        let mut conf = PathBuf::new();
        let bot = Process::begin(|dir, irc| {
            let port = nats_port();
            let folder = dir.join("data").join(FOLDER);
            std::fs::create_dir_all(dir.join("data")).expect("a folder");
            let made =
                folder::init(&folder, &["127.0.0.1".to_owned()], port, Timestamp::now()).expect("keys");
            conf = made.conf;
            for name in ["spark", "box4"] {
                std::fs::create_dir(dir.join(name)).expect("a folder");
            }
            format!(
                "[runners]\nservers = [\"{}\"]\n[supervisor]\nstop_grace = \"1s\"\n[access]\nadmins = []\n\
                 [[irc]]\nname = \"test\"\nserver = \"127.0.0.1\"\nport = {irc}\ntls = false\n",
                made.servers[0]
            )
        });
        let bot = bot.await;
        let world = Self { server: Some(server(&conf)), runner: None, bot };
        let invitation = world.invitation();
        // The bot may not have found its server yet.
        world.wait("the machine cannot join", |world| world.join(&invitation).status.success()).await;
        let world = Self { runner: Some(world.starts()), ..world };
        let at = world.bot.path("spark").display().to_string();
        let command = format!("command={}", serde_json::json!(["sh", "-c", SCRIPT]));
        world.bot.does("agent add", &["spark", "command", &at, "runner=box4", &command]).await;
        world
    }

    fn herder(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herder"));
        command.current_dir(self.bot.path("box4")).args(args);
        command
    }

    /// Returns the invitation of `box4`.
    fn invitation(&self) -> String {
        let data = self.bot.path("data").display().to_string();
        let invited =
            self.herder(&["--data-dir", &data, "runner", "invite", "box4"]).output().expect("it runs");
        let said = String::from_utf8(invited.stdout).expect("text");
        said.trim().strip_prefix("herder runner join ").expect("a line to run").to_owned()
    }

    /// Joins with the invitation on standard input.
    fn join(&self, invitation: &str) -> Output {
        let mut command = self.herder(&["runner", "join", "-"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("it runs");
        let line = format!("herder runner join {invitation}\n");
        child.stdin.take().expect("a pipe").write_all(line.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    /// Starts the runner of `box4`.
    fn starts(&self) -> Owned {
        let log =
            std::fs::File::options().create(true).append(true).open(self.bot.path("log")).expect("a file");
        Owned(self.herder(&["runner", "run"]).stdout(Stdio::null()).stderr(log).spawn().expect("it starts"))
    }

    fn begun(&self) -> usize {
        lines(&self.bot.path("spark/begun")).len()
    }

    /// Lets sessions end.
    fn go(&self) {
        std::fs::write(self.bot.path("spark/go"), "").expect("a file");
    }

    async fn wait(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let holds = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, holds).await;
        held.unwrap_or_else(|_| panic!("{what}\n{}", self.bot.log()));
    }

    /// Asks until an answer has these words.
    async fn says(&self, command: &str, args: &[&str], words: &str) {
        let mut last = Vec::new();
        let said = async {
            loop {
                last = self.bot.ask(command, args).await.lines;
                if last.iter().any(|line| line.contains(words)) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let said = tokio::time::timeout(PATIENCE, said).await;
        said.unwrap_or_else(|_| panic!("{command} never said {words}: {last:?}\n{}", self.bot.log()));
    }

    /// Begins the task of `spark`, and waits for its session.
    async fn begins(&self) {
        self.bot.does("task new", &["spark", "look", "around"]).await;
        self.wait("no session begins", |world| world.begun() == 1).await;
    }

    async fn close(mut self) {
        assert_eq!(lines(&self.bot.path("spark/violations")), Vec::<String>::new());
        self.bot.ends().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_works_on_a_machine_that_has_joined_and_not_once_it_is_removed() {
    let world = World::open().await;
    let again = world.join(&world.invitation());
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && said.contains("this machine belongs to a bot"), "{said}");
    let refused = world.bot.ask("agent edit", &["spark", "runner=bxo4"]).await.lines.join("\n");
    assert!(refused.contains("no machine of this name has joined"), "{refused}");
    world.begins().await;
    let status = ask(&world.bot.path("box4/data"), Question::Status).await.expect("the runner answers");
    assert_eq!(status.sessions.len(), 1, "it runs there");
    assert!(status.attended);
    world.says("runner list", &[], "here, 1 session").await;
    world.go();
    world.says("task list", &["all"], "#1 done").await;
    world.bot.does("runner drain", &["box4"]).await;
    world.bot.does("task new", &["spark", "later"]).await;
    world.says("status", &["spark"], "nothing begins on machine box4").await;
    world.bot.does("runner open", &["box4"]).await;
    world.wait("the next session does not begin", |world| world.begun() == 2).await;
    world.says("status", &["spark"], "idle").await;
    std::fs::remove_file(world.bot.path("spark/go")).expect("it is there");
    world.bot.does("task new", &["spark", "never done"]).await;
    world.wait("the third session does not begin", |world| world.begun() == 3).await;
    world.bot.does("runner remove", &["box4"]).await;
    world.bot.does("task new", &["spark", "nowhere to begin"]).await;
    // The session is given up, and nothing begins instead of it.
    world.says("status", &["spark"], "waits for machine box4").await;
    world.says("runner list", &[], "No machine has joined").await;
    world.wait("the runner is not told", |world| world.bot.log().contains("refuses the key")).await;
    assert_eq!(world.begun(), 3);
    world.go();
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invitation_that_was_used_lets_no_other_machine_in() {
    let world = World::open().await;
    let invitation = world.invitation();
    let elsewhere = |name: &str| {
        let data = world.bot.path(name).display().to_string();
        let joined = world.herder(&["--data-dir", &data, "runner", "join", &invitation]).output();
        joined.expect("it runs")
    };
    // It takes the place of the machine that had the name.
    assert!(elsewhere("one").status.success(), "{}", world.bot.log());
    let said = String::from_utf8_lossy(&elsewhere("two").stderr).into_owned();
    assert!(said.contains("was used already"), "{said}");
    assert!(!world.bot.path("two").join(FOLDER).exists());
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_killed_ends_no_session_on_another_machine() {
    let mut world = World::open().await;
    world.begins().await;
    world.bot.is_killed().await;
    world.says("runner list", &[], "here, 1 session").await;
    world.says("status", &["spark"], "running").await;
    world.go();
    world.says("task list", &["all"], "#1 done").await;
    assert_eq!(world.begun(), 1, "{}", world.bot.log());
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_ends_while_its_bot_is_away_and_counts_once() {
    let mut world = World::open().await;
    world.begins().await;
    world.bot.ends().await;
    world.go();
    // The runner keeps what the bot has not heard.
    let data = world.bot.path("box4/data");
    loop {
        let status = ask(&data, Question::Status).await.expect("the runner answers");
        if status.sessions.iter().all(|session| session.over) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.bot.is_started();
    world.says("task list", &["all"], "#1 done").await;
    assert_eq!(world.begun(), 1, "{}", world.bot.log());
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_killed_begins_its_session_again_and_never_two() {
    let mut world = World::open().await;
    world.begins().await;
    world.runner.take().expect("it runs").dies();
    world.runner = Some(world.starts());
    world.wait("the session is not begun again", |world| world.begun() == 2).await;
    world.go();
    world.says("task list", &["all"], "#1 done").await;
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_costs_nothing_but_time() {
    let mut world = World::open().await;
    world.begins().await;
    let conf = world.bot.path("data").join(FOLDER).join("nats-server.conf");
    world.server.take().expect("it runs").dies();
    world.says("runner list", &[], "away for").await;
    world.go();
    // Its end waits for the way to the bot.
    world.says("status", &["spark"], "running").await;
    world.server = Some(server(&conf));
    world.says("task list", &["all"], "#1 done").await;
    assert_eq!(world.begun(), 1, "{}", world.bot.log());
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_moved_is_stopped_where_its_session_runs() {
    let world = World::open().await;
    world.begins().await;
    let here = world.bot.path("spark").display().to_string();
    // Its session stays on the machine that it has begun on.
    world.bot.does("agent edit", &["spark", "runner=", &format!("workspace={here}")]).await;
    world.says("runner list", &[], "here, 1 session").await;
    let runner = world.runner.as_ref().expect("it runs");
    runner.sends(Signal::STOP);
    world.says("runner list", &[], "away for").await;
    let stopped = world.bot.ask("stop-all", &[]).await.lines.join("\n");
    assert!(stopped.contains("Not verified, because their machines do not answer: spark"), "{stopped}");
    runner.sends(Signal::CONT);
    world.says("runner list", &[], "here, 0 sessions").await;
    let pid = lines(&world.bot.path("spark/begun")).remove(0);
    assert!(!Path::new("/proc").join(&pid).exists(), "process {pid} is left");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_way_is_taken_out_of_the_settings_is_given_up() {
    let mut world = World::open().await;
    world.begins().await;
    world.bot.ends().await;
    let file = world.bot.path("bot.toml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("servers =")).collect();
    std::fs::write(&file, without.join("\n")).expect("it is written");
    world.bot.is_started();
    world.says("status", &["spark"], "waits for machine box4").await;
    // It can be moved, and begins here.
    let here = world.bot.path("spark").display().to_string();
    world.runner.take().expect("it runs").dies();
    world.go();
    world.bot.does("agent edit", &["spark", "runner=", &format!("workspace={here}")]).await;
    world.says("task list", &["all"], "#1 done").await;
    world.bot.ends().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_stands_still_is_not_verified_and_stops_once_it_is_heard() {
    let world = World::open().await;
    world.begins().await;
    let runner = world.runner.as_ref().expect("it runs");
    runner.sends(Signal::STOP);
    world.says("runner list", &[], "away for").await;
    let stopped = world.bot.ask("stop-all", &[]).await;
    let said = stopped.lines.join("\n");
    assert!(said.contains("Not verified, because their machines do not answer: spark"), "{said}");
    runner.sends(Signal::CONT);
    world.says("runner list", &[], "here, 0 sessions").await;
    let pid = lines(&world.bot.path("spark/begun")).remove(0);
    assert!(!Path::new("/proc").join(&pid).exists(), "process {pid} is left");
    assert_eq!(world.begun(), 1);
    world.close().await;
}
