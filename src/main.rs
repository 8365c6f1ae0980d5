//! Arguments to `herder::cli`.

fn main() {}
