//! The chat commands from the shell: `herder pause spark` asks the herder that runs on the same data, over its socket.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::Global;

/// What a person typed, to be asked of the running herder.
#[derive(Debug)]
pub(super) struct Request {
    words: Vec<String>,
    json: bool,
}

/// Adds every chat command to the command line.
pub(super) fn add_to(command: Command) -> Command {
    command
}

/// The chat command that was typed, if it was one.
pub(super) fn request(_matches: &ArgMatches) -> Option<Request> {
    None
}

/// Asks, and prints the answer.
pub(super) fn ask(global: &Global, request: Request) -> ExitCode {
    super::failed(format_args!(
        "{:?} {:?} is not there yet",
        global.data_dir(),
        (request.words, request.json)
    ))
}

#[expect(dead_code, reason = "used once the table of commands is there")]
fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the answer as JSON")
}
