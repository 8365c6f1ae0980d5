//! Durations (`"10s"`, `"1h30m"`) and sizes (`"1GB"`) as written in the file.

use std::time::Duration;

use crate::core::detail::brief;

/// Maximum of a configured duration: deadlines are wall-clock times and must stay within a calendar's range.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Formats a duration as it is written in the configuration file.
pub(super) fn written(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        brief(duration).replace(' ', "")
    } else {
        format!("{}ms", duration.as_millis())
    }
}

/// Parses a duration: numbers with a unit, largest first, e.g. `"10s"`, `"5m"`, `"1h30m"`, `"30d"`, `"500ms"`.
///
/// # Errors
/// A sentence that says what is wrong and what would be right.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || {
        format!(
            "\"{text}\" is not a duration; write a number and ms, s, m, h or d, e.g. \"10s\" or \"1h30m\""
        )
    };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let millis: u64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(wrong()),
        };
        sum = sum.saturating_add(Duration::from_millis(number.saturating_mul(millis)));
        rest = after;
    }
    if sum > LONGEST { Err(format!("\"{text}\" is too long; at most ten years are taken")) } else { Ok(sum) }
}

/// Parses a size in bytes: a number with a unit, e.g. `"1GB"`, `"512MiB"`, `"0"`.
///
/// # Errors
/// A sentence that says what is wrong and what would be right.
pub fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a size; write a number and B, KB, MB, GB or TB, e.g. \"1GB\"");
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KB" | "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is more than any disk holds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("10s", 10_000),
            ("0s", 0),
            ("500ms", 500),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            (" 30d ", 2_592_000_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "10", "s", "ten s", "-5s", "1.5s", "10 s", "5min", "10s5", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(duration("4000d").is_err_and(|why| why.contains("ten years")));
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in
            [("0", 0), ("7B", 7), ("10 MB", 10_000_000), ("1GB", 1_000_000_000), ("1GiB", 1 << 30)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "1gb!", "-1GB", "1.5GB", "99999999TB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
