//! The way to a runner: its socket, or a stream within this process if the runner is simulated.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, split};
use tokio::net::UnixStream;

use crate::cluster::net::Line;

/// Opens a connection to a runner that is simulated.
pub type Opens = Box<dyn Fn() -> io::Result<DuplexStream> + Send + Sync>;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The way to a runner.
pub(super) enum Way {
    /// The runner listens on this path.
    Socket(PathBuf),
    /// It is simulated.
    Within(Opens),
    /// It is on another machine.
    Line(Line),
    /// No server is configured that would lead to it.
    Nowhere,
}

impl Way {
    /// Opens a connection to a runner of this user. Returns its process as well, if it has one of its own.
    pub(super) async fn open(&self) -> io::Result<(Reader, Writer, Option<u32>)> {
        match self {
            Self::Socket(path) => {
                let stream = UnixStream::connect(path).await?;
                let peer = stream.peer_cred()?;
                if peer.uid() != rustix::process::geteuid().as_raw() {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                let process = peer.pid().and_then(|pid| u32::try_from(pid).ok());
                let (reader, writer) = stream.into_split();
                Ok((Box::new(reader), Box::new(writer), process))
            }
            Self::Line(line) => {
                let (reader, writer) = split(line.open().await?);
                Ok((Box::new(reader), Box::new(writer), None))
            }
            Self::Nowhere => std::future::pending().await,
            Self::Within(opens) => {
                let (reader, writer) = split(opens()?);
                Ok((Box::new(reader), Box::new(writer), None))
            }
        }
    }

    /// Returns the data folder of the runner.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Socket(path) => path.parent(),
            Self::Within(_) | Self::Line(_) | Self::Nowhere => None,
        }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => f.debug_tuple("Socket").field(path).finish(),
            Self::Within(_) => f.write_str("Within"),
            Self::Line(line) => f.debug_tuple("Line").field(line).finish(),
            Self::Nowhere => f.write_str("Nowhere"),
        }
    }
}
