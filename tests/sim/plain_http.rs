//! HTTP/1.1 by hand, as much of it as a client of a model's API speaks.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// A request, without the parts that no test reads.
pub(super) struct Request {
    pub(super) target: String,
    pub(super) body: Vec<u8>,
    /// The value of `Authorization` or `X-Api-Key`.
    pub(super) credential: String,
}

/// Returns the next request; `None`: the client is gone.
pub(super) async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut first = String::new();
    if stream.read_line(&mut first).await? == 0 {
        return Ok(None);
    }
    let (mut length, mut chunked, mut expects) = (0, false, false);
    let mut credential = String::new();
    loop {
        let mut header = String::new();
        if stream.read_line(&mut header).await? == 0 {
            return Ok(None);
        }
        let header = header.trim();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && ["authorization", "x-api-key"].contains(&name.to_ascii_lowercase().as_str())
        {
            value.trim().clone_into(&mut credential);
        }
        let header = header.to_ascii_lowercase();
        match header.split_once(':').map(|(name, value)| (name, value.trim())) {
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            Some(("transfer-encoding", value)) => chunked = value == "chunked",
            Some(("expect", value)) => expects = value == "100-continue",
            _ => {}
        }
    }
    if expects {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let body = if chunked { read_chunks(stream).await? } else { read_exactly(stream, length).await? };
    Ok(Some(Request { target: first.split(' ').nth(1).unwrap_or_default().to_owned(), body, credential }))
}

async fn read_exactly(stream: &mut BufReader<TcpStream>, length: usize) -> std::io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(body)
}

async fn read_chunks(stream: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        stream.read_line(&mut size).await?;
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        body.extend(read_exactly(stream, size).await?);
        stream.read_line(&mut String::new()).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Answers with JSON.
pub(super) async fn respond(
    stream: &mut BufReader<TcpStream>,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> std::io::Result<()> {
    let body = body.to_string();
    let mut head = format!("HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("request-id: req_test\r\ncontent-length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.flush().await
}
