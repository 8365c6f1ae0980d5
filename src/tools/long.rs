//! MCP lines that exceed the server's limit: a call in one is answered with an error, so that no client waits forever.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

/// Tool name in the call that replaces one whose line is too long; the server answers it with an error.
pub(super) const TOO_LONG: &str = "too long";

/// Maximum length of the `id` of a JSON-RPC request that is recovered from a line that is too long, in bytes.
const ID_MAX: usize = 256;

/// Copies lines from `input` to `output`. A line of more than `most` bytes is replaced by a call of [`TOO_LONG`] with
/// the same `id`.
pub(super) async fn shortened(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    most: usize,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let (mut line, mut long) = (Vec::new(), None::<Scan>);
    loop {
        let read = input.fill_buf().await?;
        if read.is_empty() {
            return output.write_all(&line).await;
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = &read[..end.unwrap_or(read.len())];
        if let Some(scan) = &mut long {
            scan.read(piece);
        } else if line.len() + piece.len() > most {
            let scan = long.insert(Scan::default());
            scan.read(&line);
            scan.read(piece);
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(read.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            match long.take() {
                Some(scan) => {
                    if let Some(id) = scan.id() {
                        let call = json!({
                            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": TOO_LONG },
                        });
                        output.write_all(format!("{call}\n").as_bytes()).await?;
                    }
                }
                None => {
                    line.push(b'\n');
                    output.write_all(&line).await?;
                    line.clear();
                }
            }
            output.flush().await?;
        }
    }
}

/// Searches the member `id` of a JSON object that is too long to be buffered, byte by byte.
#[derive(Debug, Default)]
struct Scan {
    depth: u32,
    in_text: bool,
    escaped: bool,
    /// True between the `:` after a member's name and the end of its value.
    in_value: bool,
    /// Name of the present member of the object, cut after `ID_MAX` bytes.
    name: Vec<u8>,
    id: Vec<u8>,
}

impl Scan {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.next(*byte);
        }
    }

    fn next(&mut self, byte: u8) {
        let ends = !self.in_text && matches!(byte, b',' | b'}') && self.depth == 1;
        if self.depth == 1 && self.in_value && self.name == b"id" && !ends && self.id.len() < ID_MAX {
            self.id.push(byte);
        }
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ if self.depth == 1 && !self.in_value && self.name.len() < ID_MAX => self.name.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                if self.depth == 1 && !self.in_value {
                    self.name.clear();
                }
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if self.depth == 1 => self.in_value = true,
            b',' if self.depth == 1 => {
                self.in_value = false;
                self.name.clear();
            }
            _ => {}
        }
    }

    /// Returns the `id` that was found, if it is a number or a string; else `None`.
    fn id(&self) -> Option<Value> {
        let id: Value = serde_json::from_slice(&self.id).ok()?;
        (id.is_number() || id.is_string()).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(input: &str, most: usize) -> Vec<String> {
        let mut output = Vec::new();
        shortened(input.as_bytes(), &mut output, most).await.expect("it is read");
        String::from_utf8(output).expect("UTF-8").lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_call_that_is_too_long_keeps_its_id_wherever_that_stands() {
        let long = "x\\\"},{".repeat(200);
        let params = format!(r#"{{"name":"irc_send","arguments":{{"id":5,"text":"{long}"}}}}"#);
        for (id, before) in [("7", true), ("7", false), (r#""a,}b""#, true), (r#""a,}b""#, false)] {
            let line = if before {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
            } else {
                format!(r#"{{"params":{params} , "id" : {id} }}"#)
            };
            let lines = passed(&format!("{{\"a\":1}}\n{line}\n{{\"b\":2}}\n"), 400).await;
            assert_eq!((lines[0].as_str(), lines[2].as_str()), ("{\"a\":1}", "{\"b\":2}"), "{line}");
            let call: Value = serde_json::from_str(&lines[1]).expect("JSON");
            assert_eq!(call["id"].to_string(), id, "{line}");
            assert_eq!(call["params"]["name"], TOO_LONG, "{line}");
        }
    }

    #[tokio::test]
    async fn what_is_no_call_is_dropped_where_it_is_too_long() {
        let long = "x".repeat(500);
        for line in [format!(r#"{{"method":"notify","params":"{long}"}}"#), format!("[1,2,\"{long}\"]"), long]
        {
            assert_eq!(passed(&format!("{line}\n{{}}\n"), 100).await, ["{}"], "{line}");
        }
    }
}
