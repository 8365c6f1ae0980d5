//! `herder init`: asks a few questions and writes a valid configuration.
//!
//! The text is checked after every answer, so that a wrong answer is reported at once, in the words of `herder
//! check`, and asked again.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, BufRead, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::contained::{RUNNER_UNIT, UNIT};
use super::{Service, complain, failed, say};
use crate::commands::words::split_quoted;
use crate::config::{self, Problems};
use crate::core::link::EMBEDDED_NETWORK;

/// Runs `herder init`: asks the questions and writes the configuration file `path`, which must not exist.
pub(super) fn init(path: &Path) -> ExitCode {
    let shown = path.display();
    if path.symlink_metadata().is_ok() {
        return failed(format_args!(
            "{shown} is there already; move it away, or name another file with --config"
        ));
    }
    let mut questions = Questions { input: io::stdin().lock(), text: String::new() };
    say("Press Enter to take what stands in brackets. Nothing is written before the last answer.");
    let folder = match questions.all() {
        Ok(folder) => folder,
        Err(error) => return failed(format_args!("nothing was written: {error}")),
    };
    let text = questions.text;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    if let Err(error) = written {
        return failed(format_args!("{shown} cannot be written: {error}"));
    }
    if let Some(folder) = folder
        && let Err(error) = std::fs::create_dir_all(&folder)
    {
        return failed(format_args!(
            "{shown} is written, but the agent's folder {} cannot be made: {error}",
            folder.display()
        ));
    }
    say(format_args!("\n{shown} is written. What else can be set stands in bot.toml.example."));
    say(format_args!("Next: herder check --config {shown}\nThen: herder run --config {shown}"));
    say(
        "For good, run it as a user of its own, so that no agent can be you: herder init --service prints such a service, and \
         herder init --service runner the one beside it, in which its agents run.",
    );
    ExitCode::SUCCESS
}

/// Runs `herder init --service`: prints a systemd unit in which agents are contained.
pub(super) fn service(service: Service) -> ExitCode {
    let unit = match service {
        Service::Bot => UNIT,
        Service::Runner => RUNNER_UNIT,
    };
    // A binary that no package has installed is elsewhere.
    say(unit.trim_end().replace("/usr/bin/herder", "/usr/local/bin/herder"));
    ExitCode::SUCCESS
}

struct Questions<R> {
    input: R,
    /// The text of the configuration file so far; it is valid after every answer.
    text: String,
}

impl<R: BufRead> Questions<R> {
    /// Asks all questions of `herder init`. Returns the first agent's folder if it has to be created.
    fn all(&mut self) -> io::Result<Option<PathBuf>> {
        self.setting("What is the bot called?", "herder", |answer| format!("name = {}\n", quoted(answer)))?;
        let discord = self.discord()?;
        let network = self.network(discord)?;
        self.admin(network.as_deref(), discord)?;
        self.page()?;
        self.agent()
    }

    /// Asks about the Discord server and appends its section. Returns false if Discord is not used.
    fn discord(&mut self) -> io::Result<bool> {
        let section = |variable: &str, guild: &str| {
            let digits = guild.bytes().all(|c| c.is_ascii_digit());
            let guild = if digits { guild.to_owned() } else { quoted(guild) };
            format!("\n[discord]\ntoken = {{ env = {} }}\nguild = {guild}\n", quoted(variable))
        };
        let before = self.text.clone();
        let guild = self.setting(
            "Which Discord server? Its id: Developer Mode on, right-click the server, Copy Server ID. Leave it empty for none.",
            "",
            |answer| if answer.is_empty() { String::new() } else { section("PATH", answer) },
        )?;
        self.text = before;
        if guild.is_empty() {
            return Ok(false);
        }
        let variable = loop {
            let variable =
                self.ask("Which variable of the environment has the bot's token?", "DISCORD_TOKEN")?;
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if variable.chars().all(fits) && !variable.starts_with(|c: char| c.is_ascii_digit()) {
                break variable;
            }
            complain(format_args!("  \"{variable}\" is not the name of a variable; letters, digits and _"));
        };
        self.text.push_str(&section(&variable, &guild));
        say(format_args!(
            "  Set {variable} where herder is started; the token itself is never written down. `herder check` prints the \
             link that invites the bot."
        ));
        Ok(true)
    }

    /// Asks about the IRC network and appends its section. Returns the network's name; `None` if only Discord is used.
    fn network(&mut self, discord: bool) -> io::Result<Option<String>> {
        let before = self.text.clone();
        let server = self.setting(
            if discord {
                "Which IRC server? Leave it empty for none."
            } else {
                "Which IRC server? Leave it empty for one of herder's own on loopback."
            },
            "",
            |answer| match answer {
                "" => String::new(),
                server => format!("\n[[irc]]\nname = \"network\"\nserver = {}\n", quoted(server)),
            },
        )?;
        if server.is_empty() {
            return Ok((!discord).then(|| EMBEDDED_NETWORK.to_owned()));
        }
        self.text = before;
        let guess = network_name(&server);
        let name = self.setting("What do you call that network?", &guess, |name| {
            format!("\n[[irc]]\nname = {}\nserver = {}\n", quoted(name), quoted(&server))
        })?;
        let tls = self.setting("Encrypt the link (TLS), yes or no?", "yes", |answer| {
            if answer == "yes" {
                String::new()
            } else {
                format!("tls = {}\n", if answer == "no" { "false" } else { answer })
            }
        })?;
        let port = if tls == "yes" { "6697" } else { "6667" };
        self.setting("Which port?", port, |answer| {
            if answer == port { String::new() } else { format!("port = {answer}\n") }
        })?;
        let account = self.setting(
            "Which services account does the bot log in to? Leave it empty for none.",
            "",
            |answer| sasl(answer, "IRC_PASSWORD"),
        )?;
        if !account.is_empty() {
            let tail = sasl(&account, "IRC_PASSWORD").len();
            self.text.truncate(self.text.len() - tail);
            let variable = self.setting(
                "Which variable of the environment has that account's password?",
                "IRC_PASSWORD",
                |answer| sasl(&account, answer),
            )?;
            say(format_args!(
                "  Set {variable} where herder is started; the password itself is never written down."
            ));
        }
        Ok(Some(name))
    }

    fn admin(&mut self, network: Option<&str>, discord: bool) -> io::Result<()> {
        let user = if discord {
            let user = self.setting(
                "Who commands: your user id on Discord? Right-click your name, Copy User ID. Leave it empty for nobody.",
                "",
                |answer| access(None, answer),
            )?;
            let tail = access(None, &user).len();
            self.text.truncate(self.text.len() - tail);
            user
        } else {
            String::new()
        };
        let Some(network) = network else {
            self.text.push_str(&access(None, &user));
            return Ok(());
        };
        let (question, usual) = if network == EMBEDDED_NETWORK {
            // A person with a password on herder's own server is identified by the name that the password was made
            // for.
            ("Who commands there? You get a password of your own at the first start. Your name:", "you")
        } else {
            ("Who commands: your services account on that network? Leave it empty for nobody.", "")
        };
        let answer = self.setting(question, usual, |answer| access(Some((network, answer)), &user))?;
        if answer.is_empty() && user.is_empty() {
            say("  Then nobody can command from chat; `herder pause …` from this shell works.");
        }
        Ok(())
    }

    /// Asks about the page and appends its section. Nobody but this machine reaches it at the address that is proposed.
    fn page(&mut self) -> io::Result<()> {
        self.setting(
            "At which address can you look at it in a browser? Type no for no page.",
            "127.0.0.1:7700",
            |answer| match answer {
                "no" => String::new(),
                address => format!("\n[http]\nlisten = {}\n", quoted(address)),
            },
        )?;
        Ok(())
    }

    /// Asks about the first agent and appends its section. Returns the agent's folder if it has to be created.
    fn agent(&mut self) -> io::Result<Option<PathBuf>> {
        let here = env::current_dir()?;
        let anywhere = env::temp_dir().display().to_string();
        let before = self.text.clone();
        let agent = |name: &str, runtime: &str, folder: &str, command: &str| {
            format!(
                "\n[[agent]]\nname = {}\nruntime = {}\n{command}workspace = {}\n",
                quoted(name),
                quoted(runtime),
                quoted(folder)
            )
        };
        let cat = "command = [\"cat\"]\n";
        let name =
            self.setting("What is the first agent called? Leave it empty for none yet.", "", |answer| {
                if answer.is_empty() { String::new() } else { agent(answer, "command", &anywhere, cat) }
            })?;
        if name.is_empty() {
            return Ok(None);
        }
        self.text.clone_from(&before);
        let runtime = self.setting(
            "How is it run: claude (Claude Code), codex (Codex CLI), acp (any ACP agent) or command (any program)?",
            "claude",
            |answer| agent(&name, answer, &anywhere, if has_command(answer) { cat } else { "" }),
        )?;
        let mut command = String::new();
        if has_command(&runtime) {
            let usual = if runtime == "acp" { "gemini --acp" } else { "cat" };
            command = self.command(usual, |command| {
                let section = agent(&name, &runtime, &anywhere, command);
                config::try_text(&format!("{before}{section}"))
            })?;
        }
        self.text.clone_from(&before);
        let usual = here.join(&name).display().to_string();
        let folder = self.setting(
            "In which folder does it work? One that is not there is made.",
            &usual,
            // An existing folder stands for one that will be created.
            |answer| agent(&name, &runtime, if is_new(answer) { &anywhere } else { answer }, &command),
        )?;
        if is_new(&folder) {
            self.text = before + &agent(&name, &runtime, &folder, &command);
            return Ok(Some(PathBuf::from(folder)));
        }
        Ok(None)
    }

    /// Asks for a program with its arguments until `check` accepts them; returns the line `command = […]` for the
    /// configuration file.
    fn command(&mut self, usual: &str, check: impl Fn(&str) -> Result<(), Problems>) -> io::Result<String> {
        loop {
            let line =
                self.ask("Which program, with its arguments? It gets its work on standard input.", usual)?;
            let words = match split_quoted(&line) {
                Ok(words) => words,
                Err(unclosed) => {
                    complain(format_args!("  {unclosed}"));
                    continue;
                }
            };
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let command = format!("command = [{}]\n", words.join(", "));
            match check(&command) {
                Ok(()) => return Ok(command),
                Err(problems) => told(&problems),
            }
        }
    }

    /// Asks a question until `lines` of the answer, appended to the file so far, make a valid configuration; appends
    /// them and returns the answer.
    fn setting(
        &mut self,
        question: &str,
        default: &str,
        lines: impl Fn(&str) -> String,
    ) -> io::Result<String> {
        loop {
            let answer = self.ask(question, default)?;
            let text = format!("{}{}", self.text, lines(&answer));
            match config::try_text(&text) {
                Ok(()) => {
                    self.text = text;
                    return Ok(answer);
                }
                Err(problems) => told(&problems),
            }
        }
    }

    /// Prints one question and reads the answer; an empty answer stands for `default`.
    fn ask(&mut self, question: &str, default: &str) -> io::Result<String> {
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        let _ = write!(io::stdout().lock(), "{question}{shown} ");
        let _ = io::stdout().lock().flush();
        let mut answer = String::new();
        if self.input.read_line(&mut answer)? == 0 {
            say("");
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the answers ended before the questions",
            ));
        }
        Ok(if answer.trim().is_empty() { default } else { answer.trim() }.to_owned())
    }
}

/// Returns the section `[access]` with an IRC account and a Discord user as admins, as far as they are given.
fn access(irc: Option<(&str, &str)>, user: &str) -> String {
    let account = irc.filter(|(_, account)| !account.is_empty());
    let account = account.map(|(network, account)| quoted(&format!("irc:{network}:{account}")));
    let user = Some(user).filter(|user| !user.is_empty()).map(|user| quoted(&format!("discord:{user}")));
    let admins: Vec<String> = account.into_iter().chain(user).collect();
    format!("\n[access]\nadmins = [{}]\n", admins.join(", "))
}

fn sasl(account: &str, variable: &str) -> String {
    if account.is_empty() {
        return String::new();
    }
    let (account, variable) = (quoted(account), quoted(variable));
    format!("sasl = {{ mechanism = \"plain\", account = {account}, password = {{ env = {variable} }} }}\n")
}

/// Returns true if agents of this runtime need the key `command`, because the runtime has no program of its own.
fn has_command(runtime: &str) -> bool {
    matches!(runtime, "acp" | "command")
}

fn told(problems: &Problems) {
    for problem in &problems.list {
        complain(format_args!("  {}", problem.text));
    }
}

/// Returns true if `folder` is an absolute path at which nothing exists.
fn is_new(folder: &str) -> bool {
    let path = Path::new(folder);
    path.is_absolute() && path.symlink_metadata().is_err()
}

/// Guesses the usual name of an IRC network from its server: `libera` for `irc.libera.chat`.
fn network_name(server: &str) -> String {
    let parts: Vec<&str> = server.split('.').collect();
    let word = if parts.len() >= 2 { parts[parts.len() - 2] } else { server };
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    if letters > 1 { word.to_ascii_lowercase() } else { "irc".to_owned() }
}

/// Quotes a text as a TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
