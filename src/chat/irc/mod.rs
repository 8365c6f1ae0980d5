//! IRC: several networks, each a task of its own.
