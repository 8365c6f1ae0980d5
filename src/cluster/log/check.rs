//! Version and settings of the `nats-server` beside the bot, read from its monitoring port.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// First version whose log is good enough.
const MINIMUM: (u64, u64) = (2, 12);

/// Distance between a server's port and its monitoring port.
const MONITOR: u16 = 4000;

/// Maximum length of the answer, in bytes, and time for it.
const ANSWER_MAX: u64 = 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);

/// The reason why a server is not one for the log.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The server does not answer.
    #[error(
        "the NATS server of this machine does not answer on its monitoring port, 127.0.0.1:{port}: {why}. Check that \
         nats-server runs here, with a line \"http: 127.0.0.1:{port}\" in its configuration"
    )]
    Silent {
        /// Monitoring port.
        port: u16,
        /// The reason.
        why: String,
    },
    /// The answer is not one of `nats-server`.
    #[error(
        "what answers on 127.0.0.1:{port} is not a NATS server: {why}. Check which program listens there"
    )]
    Stranger {
        /// Monitoring port.
        port: u16,
        /// The reason.
        why: String,
    },
    /// The server is too old.
    #[error(
        "the NATS server of this machine has version {found}, and the shared log needs {}.{} or later: install a newer one",
        MINIMUM.0, MINIMUM.1
    )]
    Old {
        /// Version of the server.
        found: String,
    },
    /// The server has no JetStream.
    #[error(
        "the NATS server of this machine runs without JetStream, which keeps the shared log: add a block \"jetstream\" to its \
         configuration, as herder cluster init writes it, and restart it"
    )]
    NoJetStream,
    /// The server acknowledges what is not on disk yet.
    #[error(
        "the NATS server of this machine acknowledges records before they are on disk, and would lose some with the power: \
         set \"sync_interval: always\" in the block \"jetstream\" of its configuration, and restart it"
    )]
    NotSynced,
}

/// The server beside the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Its name, as a stream's leader is called.
    pub name: String,
    /// Its version.
    pub version: String,
}

#[derive(Deserialize)]
struct Varz {
    server_name: String,
    version: String,
    #[serde(default)]
    jetstream: JetStreamVarz,
}

#[derive(Deserialize, Default)]
struct JetStreamVarz {
    config: Option<JetStreamConfig>,
}

#[derive(Deserialize)]
struct JetStreamConfig {
    #[serde(default)]
    sync_always: bool,
}

/// Returns the port on which a server with this port tells programs of its own machine how it is: 8222 for 4222.
#[must_use]
pub fn monitor_port(port: u16) -> u16 {
    port.checked_add(MONITOR).unwrap_or_else(|| port - MONITOR)
}

/// Asks the server with this monitoring port on this machine whether it can keep the log, and returns its name.
///
/// # Errors
/// It does not answer, is too old, has no JetStream, or acknowledges what is not on disk yet.
pub async fn check_server(port: u16) -> Result<LocalServer, ServerError> {
    let silent = |why: String| ServerError::Silent { port, why };
    let answer = timeout(PATIENCE, get(port)).await;
    let late = |_| silent(format!("nothing has come within {} s", PATIENCE.as_secs()));
    let answer = answer.map_err(late)?.map_err(|why| silent(why.to_string()))?;
    judge(&answer, port)
}

/// Returns the answer to a request of `/varz`, with its head.
async fn get(port: u16) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn judge(answer: &[u8], port: u16) -> Result<LocalServer, ServerError> {
    let stranger = |why: String| ServerError::Stranger { port, why };
    let is_ok = answer.starts_with(b"HTTP/1.") && answer.get(8..13) == Some(b" 200 ");
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").filter(|_| is_ok);
    let body = head.and_then(|end| answer.get(end + 4..)).ok_or_else(|| stranger("no such page".into()))?;
    let varz: Varz = serde_json::from_slice(body).map_err(|why| stranger(why.to_string()))?;
    let mut numbers = varz.version.split('.').map_while(|part| part.parse::<u64>().ok());
    if numbers.next().zip(numbers.next()).is_none_or(|version| version < MINIMUM) {
        return Err(ServerError::Old { found: varz.version });
    }
    let config = varz.jetstream.config.ok_or(ServerError::NoJetStream)?;
    if !config.sync_always {
        return Err(ServerError::NotSynced);
    }
    Ok(LocalServer { name: varz.server_name, version: varz.version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitoring_port_is_four_thousand_away() {
        assert_eq!([4222, 61535, 61536, 65535].map(monitor_port), [8222, 65535, 57536, 61535]);
    }

    fn judged(version: &str, jetstream: &str) -> Result<LocalServer, String> {
        let body = format!(r#"{{"server_name":"n1","version":"{version}","jetstream":{jetstream}}}"#);
        judge(format!("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{body}").as_bytes(), 8222).map_err(|it| it.to_string())
    }

    #[test]
    fn a_server_is_new_and_syncs_always() {
        let synced = r#"{"config":{"sync_always":true}}"#;
        for version in ["2.12.0", "2.15.1", "3.0.0-beta.1", "2.12.0-RC.1"] {
            assert_eq!(judged(version, synced).unwrap().version, version);
        }
        for version in ["2.11.9", "1.99.0", "", "x", "2"] {
            assert!(judged(version, synced).unwrap_err().contains("needs 2.12 or later"), "{version}");
        }
        for jetstream in [r#"{"config":{}}"#, r#"{"config":{"sync_always":false}}"#] {
            assert!(judged("2.15.1", jetstream).unwrap_err().contains("sync_interval: always"));
        }
        assert!(judged("2.15.1", "{}").unwrap_err().contains("without JetStream"));
    }

    #[test]
    fn another_program_is_told_apart() {
        for answer in ["", "HTTP/1.1 404 Not Found\r\n\r\n{}", "SSH-2.0", "HTTP/1.1 200 OK\r\n\r\n<html>"] {
            assert!(matches!(judge(answer.as_bytes(), 1), Err(ServerError::Stranger { .. })), "{answer}");
        }
    }
}
