//! Processes that an agent starts and detaches still belong to the agent after herder was killed: the next herder
//! ends those it had seen, and obeys none of them. The real binary, and processes in sessions of their own with empty
//! environments.

use std::path::{Path, PathBuf};

use herder::local::{self, Answer, Request};
use herder::runtime::process::look;

use crate::kill::Running;
use crate::stage::{PATIENCE, appears};

struct Field {
    dir: tempfile::TempDir,
    config: PathBuf,
}

impl Field {
    /// Returns a herder whose agent starts `loose` once in a session of its own, with `start`: a script that is given the
    /// folder and the process ids of herder and of the agent.
    fn new(start: &str, loose: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let config = dir.path().join("bot.toml");
        let folder = dir.path().display();
        let agent = format!(
            "mkdir begun && {{ {start} env -i PATH=\"$PATH\" sh {folder}/loose.sh {folder} $PPID $$ > /dev/null 2>&1 & wait; }}; sleep 600"
        );
        std::fs::write(dir.path().join("loose.sh"), format!("cd /\n{loose}")).expect("a file");
        let text = format!(
            "data_dir = \"data\"\n[supervisor]\nstop_grace = \"1s\"\n[[agent]]\nname = \"spark\"\nruntime = \"command\"\n\
             workspace = {:?}\ncommand = [\"sh\", \"-c\", {agent:?}]\n\
             [[agent]]\nname = \"victim\"\nruntime = \"command\"\nworkspace = \"/tmp\"\ncommand = [\"cat\"]\n",
            dir.path()
        );
        std::fs::write(&config, text).expect("a file");
        Self { dir, config }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts herder and waits until it answers.
    async fn start(&self) -> Running {
        let herder = Running::start(self.dir.path(), &self.config, &[("HERDER_LOG", "herder=debug")]);
        let socket = self.path("data").join(local::FILE_NAME);
        let answers = async {
            while self.ask(&socket, "status", &[]).await.is_none_or(|answer| !answer.ok) {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answers).await.unwrap_or_else(|_| panic!("{}", self.log()));
        herder
    }

    async fn ask(&self, socket: &Path, command: &str, args: &[&str]) -> Option<Answer> {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let request = Request { command: command.to_owned(), args };
        tokio::time::timeout(PATIENCE, local::ask(socket, &request)).await.ok()?.ok()
    }

    async fn asks(&self, command: &str, args: &[&str]) -> Answer {
        let answer = self.ask(&self.path("data").join(local::FILE_NAME), command, args).await;
        answer.unwrap_or_else(|| panic!("{command} is answered: {}", self.log()))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn pid(&self, name: &str) -> u32 {
        let text = std::fs::read_to_string(self.path(name)).expect("it was written");
        text.trim().parse().expect("a process id")
    }
}

fn lives(pid: u32) -> bool {
    look(pid).is_some_and(|entry| !entry.zombie)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_set_free_by_killing_herder_commands_no_other_one() {
    let herder = env!("CARGO_BIN_EXE_herder");
    // It leaves the cgroup of its session, and has its parent until herder is gone, so that no herder sees it adopted.
    let loose = format!(
        "for group in /sys/fs/cgroup /sys/fs/cgroup/unified; do echo $$ > $group/cgroup.procs; done\n\
         kill -9 $2\nwhile kill -0 $2; do sleep 0.05; done\nkill -9 $3\nuntil [ -e $1/go ]; do sleep 0.05; done\n\
         {herder} pause victim --data-dir $1/data > $1/told 2>&1\necho $? > $1/code\nmv $1/code $1/over\n"
    );
    let field = Field::new("setsid", &loose);
    let mut first = field.start().await;
    assert!(field.asks("task add", &["spark", "begin"]).await.ok);
    let ended = tokio::task::spawn_blocking(move || first.wait()).await.expect("it is waited for");
    assert_eq!(ended, None, "it is killed by a signal");

    let second = field.start().await;
    std::fs::write(field.path("go"), "").expect("a file");
    appears(&field.path("over")).await;
    let told = std::fs::read_to_string(field.path("told")).expect("it was told something");
    assert_eq!(std::fs::read_to_string(field.path("over")).expect("a code").trim(), "1", "{told}");
    assert!(told.contains("an earlier herder was killed, and this process may be"), "{told}");
    // The earlier processes are unaffected.
    assert!(field.asks("pause", &["victim"]).await.ok);
    drop(second);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_adopted_is_ended_by_the_next_herder() {
    let field = Field::new("setsid -f", "echo $$ > $1/loose; mv $1/loose $1/pid\nexec sleep 600\n");
    let first = field.start().await;
    assert!(field.asks("task add", &["spark", "begin"]).await.ok);
    appears(&field.path("pid")).await;
    let loose = field.pid("pid");
    let noted = async {
        while !field.log().lines().any(|line| line.contains("adopted") && line.contains(&loose.to_string())) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, noted).await.unwrap_or_else(|_| panic!("{}", field.log()));
    drop(first);
    assert!(lives(loose), "nobody ended it yet");
    let second = field.start().await;
    assert!(!lives(loose), "{}", field.log());
    drop(second);
}
