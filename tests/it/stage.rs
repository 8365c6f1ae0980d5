//! A whole herder, joined to an IRC server, with people who talk to it: the base of all tests of conversations.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herder::chat::embedded_ircd::{self, Password, Server};
use herder::chat::irc::Connector;
use herder::config::{AccessRules, Config, History, IrcNetwork, Reach, Subject, Tls};
use herder::core::id::{AgentName, NetworkName};
use herder::core::link::LinkState;
use herder::core::policy::Policy;
use herder::core::spec::{AgentSpec, Runtime};
use herder::run::{Ended, Herder, Options};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::sync::CancellationToken;

use crate::simulated_discord::Discord;

/// Long enough for a loaded machine; reached only when a test has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The password of `alice`, an operator, on the embedded server.
pub(crate) const ALICE: &str = "alice-password";

/// The password of `mallory`, who may do nothing but look.
pub(crate) const MALLORY: &str = "mallory-password";

/// Returns an embedded server with two accounts.
pub(crate) async fn server() -> Server {
    let account = |name: &str, password: &str| (name.to_owned(), Password::of(password));
    let options = embedded_ircd::Options {
        accounts: vec![account("alice", ALICE), account("mallory", MALLORY)],
        ..embedded_ircd::Options::default()
    };
    Server::start(options).await.expect("a free port")
}

/// Returns herder's settings for a server on loopback.
pub(crate) fn network(name: &str, address: SocketAddr) -> IrcNetwork {
    IrcNetwork {
        name: NetworkName::from(name),
        server: address.ip().to_string(),
        port: address.port(),
        tls: Tls::Off,
        nick: "herder".to_owned(),
        server_password: None,
        sasl: None,
        nickserv_password: None,
        alerts_channel: "#alerts".to_owned(),
        work_channel: "#work".to_owned(),
        control_channel: "#herder".to_owned(),
        bots: Vec::new(),
    }
}

/// Returns herder's settings for the embedded server.
pub(crate) fn embedded_network(server: &Server) -> IrcNetwork {
    network("demo", server.address())
}

/// The way in which herder connects to a simulated Discord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// `api_url`.
    Plain,
    /// `resolve` and `ca`: as in production.
    Encrypted,
}

/// Returns herder's settings for a simulated Discord.
pub(crate) fn discord(sim: &Discord, door: Door) -> herder::config::Discord {
    herder::config::Discord {
        token: sim.token().into(),
        guild: sim.guild_id(),
        category: "agents".to_owned(),
        alerts_channel: "alerts".to_owned(),
        work_channel: "work".to_owned(),
        control_channel: "herder".to_owned(),
        bots: Vec::new(),
        call: herder::config::Call::default(),
        reach: match door {
            Door::Plain => Reach::Plain(sim.api_url()),
            Door::Encrypted => Reach::At { address: sim.address(), ca: sim.ca_file().to_owned() },
        },
    }
}

/// Returns the options of a herder that reaches the embedded server from inside, as in the demo.
pub(crate) fn inside(server: &Server) -> Options {
    let streams = server.connector();
    let connector = Connector::factory(move || Ok(streams.connect("herder")));
    Options {
        connectors: [(NetworkName::from("demo"), connector)].into(),
        program: Some(env!("CARGO_BIN_EXE_herder").into()),
        ..Options::default()
    }
}

/// Returns a configuration with short clocks, `alice` as admin on every network.
pub(crate) fn config(dir: &Path, networks: Vec<IrcNetwork>, agents: Vec<AgentSpec>) -> Config {
    let admins = networks
        .iter()
        .map(|network| Subject::IrcAccount { network: network.name.clone(), account: "alice".to_owned() })
        .collect();
    Config {
        name: "herder".to_owned(),
        data_dir: dir.join("data"),
        locale: "en-US".to_owned(),
        discord: None,
        irc: networks,
        access: AccessRules { admins, operators: Vec::new(), viewers: vec![Subject::Everyone] },
        policy: Policy { stop_grace: Duration::from_secs(1), ..Policy::default() },
        history: History::default(),
        drain_timeout: herder::config::DRAIN_TIMEOUT,
        networks: herder::config::Networks::default(),
        tools: herder::config::Tools::default(),
        files: herder::files::FileRules::default(),
        runners: herder::config::Runners::default(),
        cluster: herder::config::Cluster::default(),
        evaluator: herder::config::Evaluator::builtin(),
        webhooks: Vec::new(),
        deadman: None,
        http: None,
        telemetry: None,
        agents,
        secrets: Vec::new(),
        redactor: herder::redact::Redactor::default(),
        secret_variables: std::collections::BTreeSet::new(),
        embedded: false,
        folders: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Returns an agent that is a shell script: its work arrives on standard input.
pub(crate) fn shell(agent: &str, dir: &Path, script: &str) -> AgentSpec {
    let name = AgentName::new(agent).expect("a good name");
    let mut spec = AgentSpec::new(name, Runtime::Command, dir.to_owned());
    spec.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    spec
}

/// Returns an agent that speaks claude's wire format as the demo's scripted agents do.
pub(crate) fn scripted(agent: &str, dir: &Path, script: &[&str]) -> AgentSpec {
    let name = AgentName::new(agent).expect("a good name");
    let mut spec = AgentSpec::new(name, Runtime::Claude, dir.to_owned());
    let herder: PathBuf = env!("CARGO_BIN_EXE_herder").into();
    spec.command = [herder.to_str().expect("a plain path"), "demo-agent"]
        .iter()
        .chain(script)
        .map(|part| (*part).to_owned())
        .collect();
    spec
}

/// Returns an agent that speaks claude's wire format and asks whether it may run `command`; then it says what it was
/// told.
pub(crate) fn asking(agent: &str, dir: &Path, command: &str) -> AgentSpec {
    let script = r#"
read -r work
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"COMMAND"}}}'
answer=none
while [ $answer = none ] && read -r line; do
  case $line in *'"allow"'*) answer=yes ;; *'"deny"'*) answer=no ;; esac
done
echo '{"type":"assistant","message":{"id":"m","model":"x","content":[{"type":"text","text":"was told '$answer'"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"was told '$answer'","session_id":"s","terminal_reason":"completed"}'
while read -r line; do :; done
"#;
    let file = dir.join(format!("{agent}.sh"));
    std::fs::write(&file, script.replace("COMMAND", command)).expect("a file can be written");
    let name = AgentName::new(agent).expect("a good name");
    let mut spec = AgentSpec::new(name, Runtime::Claude, dir.to_owned());
    spec.command = vec!["sh".to_owned(), file.display().to_string()];
    spec
}

/// Returns the number in a post about what an agent asks.
pub(crate) fn number_of(post: &str) -> String {
    let words: Vec<&str> = post.split_whitespace().collect();
    let named = words.windows(2).find(|pair| matches!(pair[0], "permission" | "question"));
    let number = named.map(|pair| pair[1].trim_matches(|c: char| !c.is_ascii_digit()).to_owned());
    number.unwrap_or_else(|| panic!("{post} names no number"))
}

/// A running herder.
pub(crate) struct Stage {
    pub(crate) herder: Herder,
}

impl Stage {
    pub(crate) async fn open(config: Config, options: Options) -> Self {
        // Boxed, because what it is started with is large and every test holds it.
        Self { herder: Box::pin(Herder::start(config, options)).await.expect("herder starts") }
    }

    /// Waits until a network stands as `wanted`, and says how. Links are shown, not announced: they are looked at.
    pub(crate) async fn link(&self, network: &str, wanted: impl Fn(&LinkState) -> bool) -> LinkState {
        let looking = async {
            loop {
                let links = self.herder.fleet().links();
                let link = links.into_iter().find(|link| link.network.as_str() == network);
                if let Some(link) = link.filter(|link| wanted(&link.state)) {
                    return link.state;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, looking).await;
        found.unwrap_or_else(|_| panic!("{network} never got there: {:?}", self.herder.fleet().links()))
    }

    /// Ends herder in order; nothing may be left.
    pub(crate) async fn close(self) -> Ended {
        let shutdown = CancellationToken::new();
        shutdown.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.herder.wait(shutdown)).await.expect("herder ends");
        assert_eq!(ended.processes_left, 0, "processes are left");
        ended
    }
}

/// A herder on the embedded server, and one person there, whose messages it receives.
pub(crate) struct Scene {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) person: Person,
    pub(crate) stage: Stage,
}

impl Scene {
    /// Opens a scene: `agents` are made for its folder; herder listens in the first of `rooms` when this returns.
    pub(crate) async fn open(
        nick: &str,
        rooms: &[&str],
        agents: impl FnOnce(&Path) -> Vec<AgentSpec>,
    ) -> Self {
        let server = server().await;
        let options = inside(&server);
        Self::open_with(server, nick, rooms, agents, options).await
    }

    /// As [`Scene::open`], with a running server and `options`.
    pub(crate) async fn open_with(
        server: Server,
        nick: &str,
        rooms: &[&str],
        agents: impl FnOnce(&Path) -> Vec<AgentSpec>,
        options: Options,
    ) -> Self {
        Self::open_configured((server, options), nick, rooms, agents, |_| ()).await
    }

    /// As [`Scene::open_with`], with a configuration that `change` edits last.
    pub(crate) async fn open_configured(
        (server, options): (Server, Options),
        nick: &str,
        rooms: &[&str],
        agents: impl FnOnce(&Path) -> Vec<AgentSpec>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut person = server_person(&server, nick, rooms).await;
        let mut config = config(dir.path(), vec![embedded_network(&server)], agents(dir.path()));
        change(&mut config);
        let stage = Stage::open(config, options).await;
        person.reaches("herder", rooms[0]).await;
        Self { dir, server, person, stage }
    }

    pub(crate) async fn close(self) -> Ended {
        self.stage.close().await
    }
}

/// Returns `alice` or `mallory` on the embedded server.
pub(crate) async fn server_person(server: &Server, nick: &str, rooms: &[&str]) -> Person {
    let password = if nick == "alice" { ALICE } else { MALLORY };
    Person::join(server.address(), nick, Some(password), rooms).await
}

/// A person with a plain IRC client.
pub(crate) struct Person {
    nick: String,
    reader: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
    barriers: u32,
    /// All lines so far, for the message of a test that fails.
    heard: Vec<String>,
}

impl Person {
    /// Connects, registers and joins.
    pub(crate) async fn join(
        address: SocketAddr,
        nick: &str,
        password: Option<&str>,
        channels: &[&str],
    ) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        let (reader, writer) = stream.into_split();
        let reader = BufReader::new(reader).lines();
        let mut person = Self { nick: nick.to_owned(), reader, writer, barriers: 0, heard: Vec::new() };
        if let Some(password) = password {
            person.send(&format!("PASS {password}")).await;
        }
        person.send(&format!("NICK {nick}")).await;
        person.send(&format!("USER {nick} 0 * :{nick}")).await;
        person.expect("to be welcomed", |line| line.contains(" 001 ")).await;
        for channel in channels {
            person.send(&format!("JOIN {channel}")).await;
            person.expect("to have joined", |line| line.contains(" 366 ") && line.contains(channel)).await;
        }
        person
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\r\n").as_bytes()).await.expect("the server takes a line");
    }

    /// Says something in a channel or to a nick.
    pub(crate) async fn say(&mut self, to: &str, text: &str) {
        self.send(&format!("PRIVMSG {to} :{text}")).await;
    }

    /// Waits until `nick` is in `channel`.
    pub(crate) async fn sees(&mut self, nick: &str, channel: &str) {
        loop {
            self.send(&format!("NAMES {channel}")).await;
            let mut there = false;
            loop {
                let line = self.line("the names").await;
                let mut names = line.rsplit(':').next().unwrap_or_default().split(' ');
                there |= line.contains(" 353 ")
                    && line.contains(channel)
                    && names.any(|name| is_nick(name.trim_start_matches(['@', '+']), nick));
                if line.contains(" 366 ") {
                    break;
                }
            }
            if there {
                return;
            }
            // A person who came back before the old connection was gone has another nick first.
            let arrives = |line: &str| line.contains(" JOIN ") || line.contains(" NICK ");
            self.expect("somebody to come", arrives).await;
        }
    }

    /// Waits until `nick` is in `channel` and listens: what is said before it knows its own join from a replay is not for
    /// it. Something that is no command is asked until it is answered.
    pub(crate) async fn reaches(&mut self, nick: &str, channel: &str) {
        /// A lost question is never answered, so it is asked again.
        const AGAIN: Duration = Duration::from_millis(500);
        self.sees(nick, channel).await;
        for _ in 0..PATIENCE.as_millis() / AGAIN.as_millis() {
            self.barriers += 1;
            let word = format!("!anybody{}", self.barriers);
            self.say(channel, &word).await;
            let answer = self.hears(channel, &word[1..]);
            if tokio::time::timeout(AGAIN, answer).await.is_ok() {
                return;
            }
        }
        panic!("{nick} never listened in {channel}: {:#?}", self.heard);
    }

    /// Returns the next line of text said by herder in `channel` (or in private, with the own nick) that satisfies
    /// `wanted`.
    pub(crate) async fn hears(&mut self, channel: &str, wanted: &str) -> String {
        let line = self
            .expect(wanted, |line| {
                said(line).is_some_and(|(nick, to, text)| {
                    nick != channel && to.eq_ignore_ascii_case(channel) && plain(text).contains(wanted)
                })
            })
            .await;
        plain(said(&line).expect("it was a message").2)
    }

    /// As [`Person::hears`], but lines that were heard during other waits count as well.
    pub(crate) async fn hears_in_any_order(&mut self, channel: &str, wanted: &str) -> String {
        match self.heard_in(channel).into_iter().find(|text| text.contains(wanted)) {
            Some(text) => text,
            None => self.hears(channel, wanted).await,
        }
    }

    /// Returns the lines of others in `channel` so far.
    pub(crate) fn heard_in(&self, channel: &str) -> Vec<String> {
        let said = self.heard.iter().filter_map(|line| said(line));
        said.filter(|(_, to, _)| to.eq_ignore_ascii_case(channel)).map(|(_, _, text)| plain(text)).collect()
    }

    /// Returns everything that is said in `channel` until the server has answered a PING that is sent now.
    pub(crate) async fn overhears(&mut self, channel: &str) -> Vec<String> {
        self.barriers += 1;
        let token = format!("barrier-{}", self.barriers);
        self.send(&format!("PING :{token}")).await;
        let mut texts = Vec::new();
        loop {
            let line = self.line("the barrier").await;
            if line.contains(" PONG ") && line.contains(&token) {
                return texts;
            }
            if let Some((_, to, text)) = said(&line)
                && to.eq_ignore_ascii_case(channel)
            {
                texts.push(plain(text));
            }
        }
    }

    /// Listens until the server is gone.
    pub(crate) async fn listens_to_the_end(&mut self) {
        let listen = async {
            while let Ok(Some(line)) = self.reader.next_line().await {
                self.heard.push(line);
            }
        };
        tokio::time::timeout(PATIENCE, listen).await.expect("the server goes");
    }

    pub(crate) async fn expect(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let listening = async {
            loop {
                let line = self.line(what).await;
                if wanted(&line) {
                    return line;
                }
            }
        };
        // Other people may talk for ever, and the server sends a PING now and then.
        let heard = tokio::time::timeout(PATIENCE, listening).await;
        heard.unwrap_or_else(|_| panic!("{}: waited in vain for {what}: {:#?}", self.nick, self.heard))
    }

    /// As [`Person::expect`], for a person who listens as long as the test runs.
    pub(crate) async fn expect_forever(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.reader.next_line().await.expect("the link holds").expect("the server stays");
            if let Some(token) = line.strip_prefix("PING ") {
                self.send(&format!("PONG {token}")).await;
            } else if wanted(&line) {
                return line;
            }
        }
    }

    async fn line(&mut self, what: &str) -> String {
        loop {
            let read = tokio::time::timeout(PATIENCE, self.reader.next_line()).await;
            let line = match read {
                Ok(Ok(Some(line))) => line,
                Ok(Ok(None)) => panic!(
                    "{}: the server closed the link while waiting for {what}: {:#?}",
                    self.nick, self.heard
                ),
                Ok(Err(reason)) => {
                    panic!("{}: {reason} while waiting for {what}: {:#?}", self.nick, self.heard)
                }
                Err(_) => panic!("{}: waited in vain for {what}: {:#?}", self.nick, self.heard),
            };
            if let Some(token) = line.strip_prefix("PING ") {
                self.send(&format!("PONG {token}")).await;
                continue;
            }
            self.heard.push(line.clone());
            return line;
        }
    }
}

/// Returns whether `name` is `nick`, or the form that its owner takes until the server notices that the old
/// connection is gone.
fn is_nick(name: &str, nick: &str) -> bool {
    name.strip_prefix(nick).is_some_and(|rest| rest.chars().all(|c| c == '_'))
}

/// Returns nick, target and text of a PRIVMSG or NOTICE.
pub(crate) fn said(line: &str) -> Option<(&str, &str, &str)> {
    let line = match line.strip_prefix('@') {
        Some(tagged) => tagged.split_once(' ')?.1,
        None => line,
    };
    let (source, rest) = line.strip_prefix(':')?.split_once(' ')?;
    let (verb, rest) = rest.split_once(' ')?;
    let (to, text) = rest.split_once(' ')?;
    let nick = source.split('!').next()?;
    matches!(verb, "PRIVMSG" | "NOTICE").then(|| (nick, to, text.strip_prefix(':').unwrap_or(text)))
}

/// Returns a text without formatting codes.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '\x02' | '\x0f' | '\x16' | '\x1d' | '\x1e' | '\x1f' | '\x11'))
        .collect()
}

/// Waits until a file is there, which another process makes.
pub(crate) async fn appears(path: &Path) {
    let there = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, there).await.unwrap_or_else(|_| panic!("{path:?} never came"));
}
