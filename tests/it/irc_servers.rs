//! The IRC network against real servers.
