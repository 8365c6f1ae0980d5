//! The program `herder`: passes its arguments to `herder::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    herder::cli::main()
}
