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
    fn a_part_of_the_machine_is_a_number_of_bytes() {
        assert_eq!(Together::All.of(1000), None);
        assert_eq!(Together::Percent(80).of(1000), Some(800));
        assert_eq!(Together::Bytes(7).of(1000), Some(7));
    }
}
