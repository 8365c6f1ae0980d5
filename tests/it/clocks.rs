//! Clocks that are set and a herder that is halted: no wait becomes longer by that, and no agent is ended for it.

mod set;
mod stopped;
