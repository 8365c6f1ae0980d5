//! Commands: what every form of a line means, what help says, each command through a real fleet, and the local socket.

mod dispatch;
mod lines;
mod rig;
mod socket;
