//! The journal on real disks: what is acknowledged is there, whatever happens to the process or the files.

mod store;
