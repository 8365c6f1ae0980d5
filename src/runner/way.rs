//! The way to a runner: its socket, or a stream within this process if the runner is simulated.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, split};
use tokio::net::UnixStream;

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
}

impl Way {
    /// Opens a connection to a runner of this user.
    pub(super) async fn open(&self) -> io::Result<(Reader, Writer)> {
        match self {
            Self::Socket(path) => {
                let stream = UnixStream::connect(path).await?;
                if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
                    return Err(io::ErrorKind::PermissionDenied.into());
                }
                let (reader, writer) = stream.into_split();
                Ok((Box::new(reader), Box::new(writer)))
            }
            Self::Within(opens) => {
                let (reader, writer) = split(opens()?);
                Ok((Box::new(reader), Box::new(writer)))
            }
        }
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => f.debug_tuple("Socket").field(path).finish(),
            Self::Within(_) => f.write_str("Within"),
        }
    }
}
