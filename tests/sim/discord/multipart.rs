//! Bodies: JSON, or a form with `payload_json` and files.

use serde_json::Value;

use super::refusal::Refusal;

#[derive(Debug, Clone)]
pub(crate) struct File {
    /// The number in `files[n]`.
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the JSON of a body and the files beside it.
pub(crate) fn read(content_type: &str, body: &[u8]) -> Result<(Value, Vec<File>), Refusal> {
    if let Some(boundary) =
        content_type.strip_prefix("multipart/form-data").and_then(|rest| rest.split_once("boundary="))
    {
        return form(boundary.1.trim_matches('"'), body);
    }
    if body.is_empty() {
        return Ok((Value::Null, Vec::new()));
    }
    if !content_type.starts_with("application/json") {
        let text = "Expected \"Content-Type\" header to be one of {'application/json'}.";
        return Err(Refusal::new(400, 50035, text));
    }
    Ok((json(body)?, Vec::new()))
}

fn json(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|_| Refusal::new(400, 50109, "The request body contains invalid JSON."))
}

fn form(boundary: &str, body: &[u8]) -> Result<(Value, Vec<File>), Refusal> {
    let broken = || Refusal::new(400, 50035, "Invalid Form Body: the multipart body is broken");
    let mark = format!("--{boundary}");
    let (mut payload, mut files) = (Value::Null, Vec::new());
    let mut rest = &body[find(body, mark.as_bytes()).ok_or_else(broken)? + mark.len()..];
    while !rest.starts_with(b"--") {
        let end = find(rest, format!("\r\n{mark}").as_bytes()).ok_or_else(broken)?;
        let part = rest.get(2..end).ok_or_else(broken)?;
        rest = &rest[end + 2 + mark.len()..];
        let split = find(part, b"\r\n\r\n").ok_or_else(broken)?;
        let (head, content) = (String::from_utf8_lossy(&part[..split]), &part[split + 4..]);
        let name = parameter(&head, "name").ok_or_else(broken)?;
        if name == "payload_json" {
            payload = json(content)?;
        } else if let Some(number) = name.strip_prefix("files[").and_then(|name| name.strip_suffix(']')) {
            let kind = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-type").then(|| value.trim().to_owned())
            });
            files.push(File {
                number: number.parse().map_err(|_| broken())?,
                name: parameter(&head, "filename").ok_or_else(broken)?,
                content_type: kind.unwrap_or_else(|| "application/octet-stream".to_owned()),
                bytes: content.to_vec(),
            });
        } else {
            return Err(Refusal::new(400, 50035, &format!("Invalid Form Body: unknown part {name:?}")));
        }
    }
    Ok((payload, files))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn parameter(head: &str, name: &str) -> Option<String> {
    let start = head.find(&format!("; {name}=\""))? + name.len() + 4;
    let rest = &head[start..];
    Some(rest[..rest.find('"')?].to_owned())
}
