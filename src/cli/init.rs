//! `herder init`: a few questions, and a configuration that is known to be right.
//!
//! The file so far is checked after every answer, so that a wrong answer is told at once and asked again, in the words
//! that `herder check` would use.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, BufRead, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::{complain, failed, say};
use crate::config;

/// Asks, and writes `path`, which must not exist.
pub(super) fn init(path: &Path) -> ExitCode {
    let shown = path.display();
    if path.symlink_metadata().is_ok() {
        return failed(format_args!(
            "{shown} is there already; move it away, or name another file with --config"
        ));
    }
    let mut questions = Questions { input: io::stdin().lock(), text: String::new() };
    say("Press Enter to take what stands in brackets. Nothing is written before the last answer.");
    match questions.all() {
        Ok(()) => {}
        Err(error) => return failed(format_args!("nothing was written: {error}")),
    }
    let text = questions.text;
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    if let Err(error) = written {
        return failed(format_args!("{shown} cannot be written: {error}"));
    }
    say(format_args!("\n{shown} is written. What else can be set stands in bot.toml.example."));
    say(format_args!("Next: herder check --config {shown}\nThen: herder run --config {shown}"));
    ExitCode::SUCCESS
}

struct Questions<R> {
    input: R,
    /// The file so far. It is always one that could be run.
    text: String,
}

impl<R: BufRead> Questions<R> {
    fn all(&mut self) -> io::Result<()> {
        self.setting("What is the bot called?", "herder", |answer| format!("name = {}\n", quoted(answer)))?;
        let network = self.network()?;
        self.admin(&network)?;
        self.agent()
    }

    /// Asks about the network and returns its name.
    fn network(&mut self) -> io::Result<String> {
        let before = self.text.clone();
        let server = self.setting(
            "Which IRC server? Leave it empty for one of herder's own on loopback.",
            "",
            |answer| match answer {
                "" => String::new(),
                server => format!("\n[[irc]]\nname = \"network\"\nserver = {}\n", quoted(server)),
            },
        )?;
        if server.is_empty() {
            return Ok(config::EMBEDDED_NETWORK.to_owned());
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
        Ok(name)
    }

    fn admin(&mut self, network: &str) -> io::Result<()> {
        let answer = self.setting(
            "Who commands: your services account on that network? Leave it empty for nobody.",
            "",
            |answer| match answer {
                "" => "\n[access]\nadmins = []\n".to_owned(),
                account => {
                    format!("\n[access]\nadmins = [{}]\n", quoted(&format!("irc:{network}:{account}")))
                }
            },
        )?;
        if answer.is_empty() {
            say("  Then nobody can command from chat; `herder pause …` from this shell works.");
        }
        Ok(())
    }

    fn agent(&mut self) -> io::Result<()> {
        let folder = env::current_dir()?.display().to_string();
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
                if answer.is_empty() { String::new() } else { agent(answer, "command", &folder, cat) }
            })?;
        if name.is_empty() {
            return Ok(());
        }
        self.text.clone_from(&before);
        let runtime = self.setting(
            "How is it run: claude (Claude Code), codex (Codex CLI) or command (any program)?",
            "claude",
            |answer| agent(&name, answer, &folder, if answer == "command" { cat } else { "" }),
        )?;
        let mut command = String::new();
        if runtime == "command" {
            self.text.clone_from(&before);
            let line = self.setting(
                "Which program, with its arguments? It gets its work on standard input.",
                "cat",
                |answer| agent(&name, &runtime, &folder, &command_line(answer)),
            )?;
            command = command_line(&line);
        }
        self.text = before;
        self.setting("In which folder does it work? It must be there already.", &folder, |answer| {
            agent(&name, &runtime, answer, &command)
        })?;
        Ok(())
    }

    /// Asks until the answer makes a file that can be run, and takes it in.
    fn setting(
        &mut self,
        question: &str,
        default: &str,
        lines: impl Fn(&str) -> String,
    ) -> io::Result<String> {
        loop {
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
            let answer = if answer.trim().is_empty() { default } else { answer.trim() };
            let text = format!("{}{}", self.text, lines(answer));
            match config::try_text(&text) {
                Ok(()) => {
                    self.text = text;
                    return Ok(answer.to_owned());
                }
                Err(problems) => {
                    for problem in problems.list {
                        complain(format_args!("  {}", problem.text));
                    }
                }
            }
        }
    }
}

fn sasl(account: &str, variable: &str) -> String {
    if account.is_empty() {
        return String::new();
    }
    let (account, variable) = (quoted(account), quoted(variable));
    format!("sasl = {{ mechanism = \"plain\", account = {account}, password = {{ env = {variable} }} }}\n")
}

fn command_line(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(quoted).collect();
    format!("command = [{}]\n", words.join(", "))
}

/// `irc.libera.chat` is called `libera` by everybody.
fn network_name(server: &str) -> String {
    let parts: Vec<&str> = server.split('.').collect();
    let word = if parts.len() >= 2 { parts[parts.len() - 2] } else { server };
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    if letters > 1 { word.to_ascii_lowercase() } else { "irc".to_owned() }
}

/// A text as TOML takes it.
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
