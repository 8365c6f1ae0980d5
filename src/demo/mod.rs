//! `herder demo`: no configuration, no account.
