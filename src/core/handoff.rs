//! The line that takes up an agent's conversation in a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::id::AgentName;
use super::notice::Refusal;
use super::spec::{AgentSpec, Runtime};

/// Environment variables that name the folders in which CLIs keep conversations, settings and logins. The line sets
/// them, and no others: those may be secrets.
pub const FOLDERS: [&str; 7] = [
    HOME,
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

const HOME: &str = "HOME";

/// Folder of a HOME of an agent's own, below the folder that herder keeps for the agent.
const OWN_HOME: &str = "home";

/// Agents of the Agent Client Protocol that take a conversation up in a terminal: program, the words that have it speak
/// the protocol, and the option for the conversation's id.
const ACP: [(&str, &[&str], [&str; 1]); 4] = [
    ("gemini", &["--acp", "--experimental-acp"], ["--resume"]),
    ("opencode", &["acp"], ["--session"]),
    ("qwen", &["--acp", "--experimental-acp"], ["--resume"]),
    ("copilot", &["--acp", "--stdio"], ["--resume"]),
];

/// The folders of the machine on which the agent's sessions run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// The folder that herder keeps for the agent.
    pub state: PathBuf,
    /// The folder with the clones of tasks.
    pub tasks: PathBuf,
    /// Those of [`FOLDERS`] that herder's own environment has, which agents can inherit.
    pub inherited: BTreeMap<String, String>,
}

/// Time from which the line can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// The agent is paused now.
    Now,
    /// The agent stood still before.
    Before,
    /// The agent pauses after its session.
    Pausing,
    /// The agent's session is being stopped.
    Stopping,
}

/// Returns the id of an agent's conversation, and the line that takes it up.
///
/// # Errors
/// The refusal that says why there is none.
pub fn of(agent: &Agent, name: &AgentName, places: &Places) -> Result<(String, String), Refusal> {
    let name = name.clone();
    let Some(spec) = &agent.spec else { return Err(Refusal::Removed { agent: name }) };
    if spec.runtime == Runtime::Command {
        return Err(Refusal::NoLine { agent: name, conversation: None });
    }
    let Some(conversation) = agent.conversation.clone() else {
        return Err(Refusal::NoConversation { agent: name });
    };
    // CLIs keep conversations by folder.
    let clone = agent.checkout().map(|checkout| places.tasks.join(checkout.plan.task.to_string()));
    match line(spec, clone.as_ref().unwrap_or(&spec.workspace), places, &conversation) {
        Some(line) => Ok((conversation, line)),
        None => Err(Refusal::NoLine { agent: name, conversation: Some(conversation) }),
    }
}

/// Returns the line for a shell that takes up a conversation that was held in `folder`; `None` if the runtime has no
/// such line, or the conversation's id could be something else on its command line.
#[must_use]
pub fn line(spec: &AgentSpec, folder: &Path, places: &Places, conversation: &str) -> Option<String> {
    if conversation.is_empty() || conversation.starts_with('-') {
        return None;
    }
    let words = command(spec, conversation)?;
    let environment = environment(spec, places);
    let mut line = format!("cd {} &&", quoted(folder.to_str()?)?);
    for (name, value) in &environment {
        let _ = write!(line, " {name}={}", quoted(value)?);
    }
    let home = environment.get(HOME).or_else(|| places.inherited.get(HOME)).map_or("", String::as_str);
    let filled = |word: &String| {
        let state = places.state.to_string_lossy();
        let word = word.replace("{workspace}", &folder.to_string_lossy()).replace("{home}", home);
        word.replace("{tools}", &state).replace("{state}", &state)
    };
    for word in spec.sandbox.iter().map(filled).chain(words) {
        let _ = write!(line, " {}", quoted(&word)?);
    }
    Some(line)
}

/// Returns the command that takes up a conversation.
fn command(spec: &AgentSpec, conversation: &str) -> Option<Vec<String>> {
    let or = |program: &str| match spec.command.is_empty() {
        true => vec![program.to_owned()],
        false => spec.command.clone(),
    };
    let (mut words, options) = match spec.runtime {
        Runtime::Claude => (or("claude"), &["--resume"][..]),
        Runtime::Codex => {
            let mut words = or("codex");
            let server = words.iter().position(|word| word == "app-server").unwrap_or(words.len());
            words.truncate(server);
            // The server that it otherwise shares among terminals stays behind, and keeps the conversation to itself.
            (words, &["resume", "--no-daemon"][..])
        }
        Runtime::Acp => {
            let file = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
            let known = ACP
                .iter()
                .find(|(program, ..)| spec.command.first().is_some_and(|word| file(word) == *program));
            let (_, protocol, options) = known?;
            let words = spec.command.iter().filter(|word| !protocol.contains(&word.as_str())).cloned();
            (words.collect(), &options[..])
        }
        Runtime::Command => return None,
    };
    words.extend(options.iter().map(|option| (*option).to_owned()));
    words.push(conversation.to_owned());
    Some(words)
}

/// Returns the variables that lead the CLI to the folders that the agent's sessions use. The HOME of the user is left
/// out, because the user's terminal has it.
fn environment(spec: &AgentSpec, places: &Places) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    for name in FOLDERS {
        let inherits = spec.inherit_env.iter().any(|inherited| inherited == name);
        let inherited = places.inherited.get(name).filter(|_| inherits && name != HOME);
        let own = inherited.filter(|_| !(spec.own_home && name.starts_with("XDG_")));
        if let Some(value) = spec.env.get(name).or(own) {
            environment.insert(name.to_owned(), value.clone());
        }
    }
    if spec.own_home {
        let home = places.state.join(OWN_HOME).to_string_lossy().into_owned();
        environment.insert(HOME.to_owned(), home);
    }
    environment
}

/// Returns a word as a POSIX shell reads it back, in one line without a character that is invisible or that chats take
/// for markup; `None` if there is no such form.
#[must_use]
pub fn quoted(word: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Some(word.to_owned());
    }
    let shown = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
    if word.chars().all(|c| shown(c) && c != '\'' && c != '`') {
        return Some(format!("'{word}'"));
    }
    // The shell takes line breaks off the end of what `printf` writes, and no argument can have a NUL.
    if word.ends_with('\n') || word.contains('\0') {
        return None;
    }
    let mut printed = String::new();
    let mut bytes = [0; 4];
    for c in word.chars() {
        if shown(c) && !matches!(c, '\'' | '`' | '\\' | '%') {
            printed.push(c);
        } else {
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(printed, "\\{byte:03o}");
            }
        }
    }
    // A hyphen at the head would be an option of `printf`.
    Some(format!("\"$(printf -- '{printed}')\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(runtime: Runtime, command: &[&str]) -> AgentSpec {
        let name = AgentName::new("spark").expect("a name");
        let mut spec = AgentSpec::new(name, runtime, "/srv/spark".into());
        spec.command = command.iter().map(|word| (*word).to_owned()).collect();
        spec
    }

    fn line_of(spec: &AgentSpec) -> Option<String> {
        let inherited = [(HOME, "/home/me"), ("CODEX_HOME", "/home/me/codex"), ("XDG_DATA_HOME", "/x")];
        let inherited = inherited.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let (state, tasks) = ("/var/lib/herder/agents/spark".into(), "/var/lib/herder/tasks".into());
        let places = Places { state, tasks, inherited };
        line(spec, &spec.workspace, &places, "0a-1")
    }

    #[test]
    fn each_runtime_has_the_line_of_its_cli_or_none() {
        let mut lines = Vec::new();
        for (runtime, command) in [
            (Runtime::Claude, &[][..]),
            (Runtime::Claude, &["/opt/claude", "--settings", "{\"a\": 1}"]),
            (Runtime::Codex, &[]),
            (Runtime::Codex, &["codex", "-c", "a=b", "app-server", "--listen", "stdio"]),
            (Runtime::Acp, &["/opt/gemini", "--acp"]),
            (Runtime::Acp, &["opencode", "acp"]),
            (Runtime::Acp, &["qwen", "--acp"]),
            (Runtime::Acp, &["copilot", "--acp"]),
            (Runtime::Acp, &["kimi", "acp"]),
            (Runtime::Command, &["claude"]),
        ] {
            lines.push(line_of(&spec(runtime, command)).unwrap_or_else(|| format!("none: {command:?}")));
        }
        insta::assert_snapshot!(lines.join("\n"), @r##"
        cd /srv/spark && claude --resume 0a-1
        cd /srv/spark && /opt/claude --settings '{"a": 1}' --resume 0a-1
        cd /srv/spark && codex resume --no-daemon 0a-1
        cd /srv/spark && codex -c a=b resume --no-daemon 0a-1
        cd /srv/spark && /opt/gemini --resume 0a-1
        cd /srv/spark && opencode --session 0a-1
        cd /srv/spark && qwen --resume 0a-1
        cd /srv/spark && copilot --resume 0a-1
        none: ["kimi", "acp"]
        none: ["claude"]
        "##);
    }

    #[test]
    fn the_cli_is_led_to_the_folders_that_sessions_use() {
        let mut codex = spec(Runtime::Codex, &[]);
        codex.inherit_env.extend(["CODEX_HOME", "XDG_DATA_HOME"].map(str::to_owned));
        codex.env.insert("OPENAI_API_KEY".to_owned(), "sk-secret".to_owned());
        let inherits = line_of(&codex).expect("a line");
        codex.env.insert("CODEX_HOME".to_owned(), "/srv/the codex".to_owned());
        codex.own_home = true;
        let own = line_of(&codex).expect("a line");
        codex.sandbox = ["bwrap", "--bind", "{workspace}", "{home}", "--"].map(str::to_owned).to_vec();
        let enclosed = line_of(&codex).expect("a line");
        insta::assert_snapshot!([inherits, own, enclosed].join("\n"), @r##"
        cd /srv/spark && CODEX_HOME=/home/me/codex XDG_DATA_HOME=/x codex resume --no-daemon 0a-1
        cd /srv/spark && CODEX_HOME='/srv/the codex' HOME=/var/lib/herder/agents/spark/home codex resume --no-daemon 0a-1
        cd /srv/spark && CODEX_HOME='/srv/the codex' HOME=/var/lib/herder/agents/spark/home bwrap --bind /srv/spark /var/lib/herder/agents/spark/home -- codex resume --no-daemon 0a-1
        "##);
    }

    #[test]
    fn an_id_that_could_be_an_option_is_none() {
        let places = Places::default();
        for id in ["--dangerously-skip-permissions", "-p", ""] {
            assert_eq!(line(&spec(Runtime::Claude, &[]), Path::new("/srv"), &places, id), None);
        }
    }
}
