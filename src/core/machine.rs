//! The part of the machine that agents may take: memory, CPU and processes, each and all together.

use serde::{Deserialize, Serialize};

/// Limits on what the processes of one session may take; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Share {
    /// Memory in bytes, swapped memory included.
    #[serde(default)]
    pub memory: u64,
    /// Number of processors that may be busy at a time.
    #[serde(default)]
    pub cpu: f64,
    /// Number of processes and threads.
    #[serde(default)]
    pub pids: u32,
}

impl Share {
    /// Minimum of a limit on memory, in bytes: no CLI starts with less.
    const MEMORY_MIN: u64 = 16 << 20;

    /// Maximum number of processors; more is a typing mistake.
    const CPU_MAX: f64 = 4096.0;

    /// Maximum of a limit on processes: the kernel's own.
    pub const PIDS_MAX: u32 = 4_194_304;

    /// Returns true if a limit on memory can be set, or is none.
    #[must_use]
    pub fn is_memory(bytes: u64) -> bool {
        bytes == 0 || (Self::MEMORY_MIN..=1 << 60).contains(&bytes)
    }

    /// Returns true if a limit on processors can be set, or is none.
    #[must_use]
    pub fn is_cpu(cpu: f64) -> bool {
        cpu == 0.0 || (0.01..=Self::CPU_MAX).contains(&cpu)
    }

    /// Returns true if a limit on processes can be set, or is none. A shell and a program need some.
    #[must_use]
    pub fn is_pids(pids: u32) -> bool {
        pids == 0 || (8..=Self::PIDS_MAX).contains(&pids)
    }

    /// Returns true if nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Memory that all agents together may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Together {
    /// No limit.
    #[default]
    All,
    /// A part of the machine's memory, in percent.
    Percent(u8),
    /// A number of bytes.
    Bytes(u64),
}

impl Together {
    /// Returns true if there is no limit.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Returns the limit in bytes on a machine with `memory` bytes; `None` if there is no limit.
    #[must_use]
    pub fn of(self, memory: u64) -> Option<u64> {
        match self {
            Self::All => None,
            Self::Percent(percent) => Some(memory / 100 * u64::from(percent)),
            Self::Bytes(bytes) => Some(bytes),
        }
    }
}

/// The way in which limits are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforcement {
    /// By the kernel: a session whose limits cannot be set does not start.
    #[default]
    Require,
    /// By the kernel if it can; else each session's memory is looked at every second.
    Try,
}

impl Enforcement {
    /// Returns true if limits are held by the kernel or not at all.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        *self == Self::Require
    }
}

/// Memory of a session, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Taken {
    /// Memory that its processes take now.
    pub now: u64,
    /// Maximum of the memory that they have taken.
    pub peak: u64,
    /// Memory that they may take; 0 is no limit.
    #[serde(default)]
    pub limit: u64,
}

/// Memory of the machine at a moment, by which sessions are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Time for which processes have waited for memory lately, in percent (`some avg10` of `/proc/pressure/memory`);
    /// `None` where the kernel does not tell.
    pub pressure: Option<u8>,
    /// Memory that sessions may still take, in bytes.
    pub free: u64,
}

/// Reason why a session does not begin: the machine is short of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// Processes wait for memory.
    Pressure {
        /// Time for which they have waited lately, in percent.
        percent: u8,
    },
    /// Less is free than the session needs, in bytes.
    Memory {
        /// Memory that the session needs.
        needs: u64,
        /// Memory that is free.
        free: u64,
    },
}

impl Room {
    /// Returns why a session that needs `needs` bytes does not begin. `max`: the pressure from which none begins, in
    /// percent; 0 is no limit. `promised`: bytes that sessions which began lately have not taken yet.
    ///
    /// # Errors
    /// The memory that the machine is short of.
    pub fn lets(&self, needs: u64, max: u8, promised: u64) -> Result<(), Shortage> {
        if let Some(percent) = self.pressure.filter(|percent| max > 0 && *percent >= max) {
            return Err(Shortage::Pressure { percent });
        }
        let free = self.free.saturating_sub(promised);
        if needs > free { Err(Shortage::Memory { needs, free }) } else { Ok(()) }
    }
}

/// Formats a size in its largest unit with at most one decimal place: `8 GB`, `7.5 GB`, `512 MB`.
#[must_use]
pub fn size(bytes: u64) -> String {
    let (unit, name) = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit)
        .unwrap_or((1, "B"));
    let tenths = (u128::from(bytes) * 10 + u128::from(unit) / 2) / u128::from(unit);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenth) => format!("{whole}.{tenth} {name}"),
    }
}

/// Formats a size beside its limit: `7.9 GB of 8 GB`.
#[must_use]
pub fn of_limit(used: u64, limit: u64) -> String {
    format!("{} of {}", size(used), size(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_people_write_them() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (512_000_000, "512 MB"),
            (7_480_000_000, "7.5 GB"),
            (8_000_000_000, "8 GB"),
            (7_999_999_488, "8 GB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_session_begins_where_there_is_room_for_it() {
        let memory = |needs, free| Err(Shortage::Memory { needs, free });
        let pressed = |percent| Err(Shortage::Pressure { percent });
        for (pressure, free, needs, max, promised, answer) in [
            (None, 100, 0, 20, 0, Ok(())),
            (Some(19), 100, 100, 20, 0, Ok(())),
            (Some(20), 800, 0, 20, 0, pressed(20)),
            (Some(99), 800, 0, 0, 0, Ok(())),
            (None, 100, 101, 20, 0, memory(101, 100)),
            (None, 100, 60, 20, 50, memory(60, 50)),
            (None, 0, 0, 20, 50, Ok(())),
        ] {
            let room = Room { pressure, free };
            assert_eq!(room.lets(needs, max, promised), answer, "{room:?} {needs} {promised}");
        }
    }

    #[test]
    fn a_part_of_the_machine_is_a_number_of_bytes() {
        assert_eq!(Together::All.of(1000), None);
        assert_eq!(Together::Percent(80).of(1000), Some(800));
        assert_eq!(Together::Bytes(7).of(1000), Some(7));
    }
}
