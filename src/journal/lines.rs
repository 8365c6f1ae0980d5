//! Lines of archives and exports: JSON, each with a checksum of itself.
//!
//! `{"crc":"1a2b3c4d","event":17,"is":{…}}`: the checksum covers everything after its comma: the line's kind, its
//! number, and the text as in the database, which is neither parsed nor formatted again on the way.

use std::fmt::Write as _;

const HEAD: &str = "{\"crc\":\"";

/// A line of an export or archive, with a valid checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Kind of the line: `event`, `post`, …
    pub(super) kind: &'a str,
    /// Number in the line: that of an event, id of a post or revision of a snapshot.
    pub(super) number: u64,
    /// JSON text of the line.
    pub(super) text: &'a str,
}

/// Formats a line with its line break. `text` is JSON without raw line breaks, as `serde_json` formats it.
pub(super) fn write(kind: &str, number: u64, text: &str) -> String {
    let rest = format!("\"{kind}\":{number},\"is\":{text}}}");
    let mut line = String::with_capacity(rest.len() + 24);
    let _ = writeln!(line, "{HEAD}{:08x}\",{rest}", crc32fast::hash(rest.as_bytes()));
    line
}

/// Parses a line without its line break, and checks its checksum.
pub(super) fn parse(line: &str) -> Result<Line<'_>, String> {
    let foreign = || "it is not a line of a herder export".to_owned();
    let rest = line.strip_prefix(HEAD).ok_or_else(foreign)?;
    let (crc, rest) = rest.split_once("\",").ok_or_else(foreign)?;
    let crc = u32::from_str_radix(crc, 16).map_err(|_| foreign())?;
    if crc32fast::hash(rest.as_bytes()) != crc {
        return Err("its checksum does not match: it was damaged or changed by hand".to_owned());
    }
    let rest = rest.strip_prefix('"').ok_or_else(foreign)?;
    let (kind, rest) = rest.split_once("\":").ok_or_else(foreign)?;
    let (number, rest) = rest.split_once(",\"is\":").ok_or_else(foreign)?;
    let text = rest.strip_suffix('}').ok_or_else(foreign)?;
    Ok(Line { kind, number: number.parse().map_err(|_| foreign())?, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_and_reads_back() {
        let line = write("event", 17, r#"{"v":1,"text":"a\",\"is\":b"}"#);
        let json: serde_json::Value = serde_json::from_str(&line).expect("a line is JSON");
        assert_eq!(json["event"], 17);
        let parsed = parse(line.trim_end()).expect("reads");
        assert_eq!(parsed, Line { kind: "event", number: 17, text: r#"{"v":1,"text":"a\",\"is\":b"}"# });
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let line = write("post", 3, r#"{"v":1,"body":"hello"}"#);
        let line = line.trim_end();
        for at in 0..line.len() * 8 {
            let mut bytes = line.as_bytes().to_vec();
            bytes[at / 8] ^= 1 << (at % 8);
            let Ok(text) = String::from_utf8(bytes) else { continue };
            // A hex digit in the other case is the same number.
            if text.eq_ignore_ascii_case(line) && text[19..] == line[19..] && text.starts_with(HEAD) {
                continue;
            }
            assert!(parse(&text).is_err(), "{text}");
        }
    }
}
