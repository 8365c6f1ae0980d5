//! Decodes bytes into lines: bounded, lossy, and never fatal on a bad line.
//!
//! Anybody in a channel can make a server relay bytes that are not UTF-8, and some servers cut a character in half
//! when a line is too long; such bytes become U+FFFD. A line that cannot be parsed is skipped. A line without an end
//! is discarded up to the next line end.

use std::io;

use ::irc::proto::Message;
use tokio_util::bytes::{Buf, BytesMut};
use tokio_util::codec::Decoder;

use super::wire::Received;

/// Maximum length of a line, in bytes: 8191 of tags, 512 of message, and a reserve for servers that allow more.
const READ_MAX: usize = 16 * 1024;

/// Splits the bytes from an IRC server into parsed lines.
#[derive(Debug, Default)]
pub(crate) struct LineCodec {
    /// Number of bytes at the front of the buffer that contain no line end.
    scanned: usize,
    /// True while the bytes of a line that is too long are being discarded, up to its end.
    discarding: bool,
}

impl Decoder for LineCodec {
    type Item = Received;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Received>> {
        loop {
            let Some(end) = buffer[self.scanned..].iter().position(|byte| *byte == b'\n') else {
                self.scanned = buffer.len();
                if buffer.len() > READ_MAX || self.discarding {
                    self.discarding = true;
                    self.scanned = 0;
                    buffer.clear();
                }
                return Ok(None);
            };
            let line = buffer.split_to(self.scanned + end);
            buffer.advance(1);
            self.scanned = 0;
            if std::mem::take(&mut self.discarding) || line.len() > READ_MAX {
                tracing::debug!("a line that was too long was skipped");
                continue;
            }
            if let Some(received) = parse(&line) {
                return Ok(Some(received));
            }
        }
    }

    /// Discards an incomplete last line when the connection ends.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Received>> {
        let received = self.decode(buffer)?;
        if received.is_none() {
            buffer.clear();
        }
        Ok(received)
    }
}

fn parse(line: &[u8]) -> Option<Received> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\r');
    if text.is_empty() {
        return None;
    }
    match text.parse::<Message>() {
        Ok(message) => Some(message.into()),
        Err(error) => {
            tracing::debug!(%error, "a line that cannot be parsed was skipped");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::irc::wire::Said;

    fn decode_all(bytes: &[u8], chunk: usize) -> Vec<Received> {
        let (mut codec, mut buffer, mut lines) = (LineCodec::default(), BytesMut::new(), Vec::new());
        for piece in bytes.chunks(chunk) {
            buffer.extend_from_slice(piece);
            while let Some(line) = codec.decode(&mut buffer).expect("never fatal") {
                lines.push(line);
            }
        }
        lines
    }

    fn texts(bytes: &[u8], chunk: usize) -> Vec<String> {
        let text = |line: Received| match line.said {
            Said::Message { text, .. } => text,
            other => format!("{other:?}"),
        };
        decode_all(bytes, chunk).into_iter().map(text).collect()
    }

    #[test]
    fn latin1_becomes_a_replacement_character() {
        assert_eq!(texts(b":a!b@c PRIVMSG #c :caf\xe9\r\n", 7), ["caf\u{fffd}"]);
    }

    #[test]
    fn odd_lines_are_skipped_and_the_next_one_is_read() {
        let odd: [&[u8]; 9] = [
            b"\r\n",
            b"\n",
            b":only-prefix\r\n",
            b":prefix :x\r\n",
            b"@tag\r\n",
            b"   \r\n",
            b"\0\0\0\r\n",
            b":s MODE #c +o\r\n",
            b"BATCH\r\n",
        ];
        for line in odd {
            let mut bytes = line.to_vec();
            bytes.extend_from_slice(b":a!b@c PRIVMSG #c :after\n");
            assert_eq!(texts(&bytes, 3).last().map(String::as_str), Some("after"), "{line:?}");
        }
    }

    #[test]
    fn an_endless_line_costs_a_bounded_buffer_and_only_itself() {
        let mut bytes = b":a!b@c PRIVMSG #c :".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 64 * 1024));
        bytes.extend_from_slice(b"\r\n:a!b@c PRIVMSG #c :after\r\n");
        for chunk in [1, 1000, 70_000] {
            assert_eq!(texts(&bytes, chunk), ["after"]);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_fatal(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..2000), chunk in 1usize..64) {
            decode_all(&bytes, chunk);
        }
    }
}
