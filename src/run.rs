//! `herder run`: what is started, in which order, and how it ends.
