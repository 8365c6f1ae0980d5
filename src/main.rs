//! The program `herder`: passes its arguments to `herder::cli`.

use std::process::ExitCode;

/// The memory allocator of the program. `.cargo/config.toml` configures it: one arena, and memory that is free for a
/// second returns to the system.
#[cfg(target_arch = "x86_64")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    herder::cli::main()
}
