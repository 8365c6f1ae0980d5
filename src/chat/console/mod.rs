//! A console in the terminal: an IRC client of the embedded server.
