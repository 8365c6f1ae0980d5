//! Arguments to `herder::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    herder::cli::main()
}
