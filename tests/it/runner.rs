//! The runner: frames and numbers of its messages.

mod frames;
mod ledger;
