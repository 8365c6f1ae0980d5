//! Clocks that are set and a herder that stands still: no wait lasts longer for that, and no agent is ended for it.

mod set;
mod stopped;
