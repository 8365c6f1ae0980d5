//! `herder demo`: no configuration, no account.

pub mod agent;
