//! The local socket: the same commands from the shell.
