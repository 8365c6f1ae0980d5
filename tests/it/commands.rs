//! Commands: the meaning of every form of a line, help, each command through a real fleet, and the local socket.

mod any_line;
mod dispatch;
mod excerpts;
mod interact;
mod late;
mod lines;
mod link;
mod log;
mod looks;
mod reading;
mod resume_all;
mod rig;
mod socket;
mod table;
mod together;
mod unreadable;
mod whoami;
