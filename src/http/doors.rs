//! Connections: how many there may be, how long a request may take to arrive and an answer to be read.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

use super::{Setup, app, guard, label};
use crate::certificate::{Certificate, TlsError};
use crate::config::{Http, Listen};

/// Connections at one time; whoever comes then is told to come again.
const CONNECTIONS_MAX: usize = 256;

/// Maximum time for the head of a request to arrive.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// The largest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Maximum time for a client to read what was sent, before the next piece is sent.
const SLOW_MAX: Duration = Duration::from_secs(20);

/// Connections beyond [`CONNECTIONS_MAX`] that are waited for, while they read that, at one time. Others are told in passing.
const TURNED_AWAY_MAX: usize = 64;

/// Pieces of a request that are read of one who is told in passing, of 1 KiB each: as much as a head may have.
const PASSING_READS: usize = HEAD_BYTES_MAX / 1024;

/// Time limit for telling one of them.
const TURNED_AWAY_WITHIN: Duration = Duration::from_secs(1);

/// Response to a connection beyond [`CONNECTIONS_MAX`].
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Why the listener cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is taken, or not one of this machine.
    #[error("[http] cannot listen at {address}: {cause}")]
    Tcp {
        /// The address that could not be opened.
        address: SocketAddr,
        /// Why.
        cause: io::Error,
    },
    /// The socket cannot be made.
    #[error("[http] cannot listen at unix:{}: {cause}", .path.display())]
    Unix {
        /// The address that could not be opened.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The page's own name cannot be read or kept.
    #[error("[http] the page's own name cannot be kept in the data folder (page-host): {0}")]
    Name(io::Error),
    /// Connections cannot be encrypted.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

/// The listener, open but not yet answering.
#[derive(Debug)]
pub struct Bound {
    listener: Listener,
    own: guard::Own,
    url: String,
    certificate: Option<Certificate>,
}

/// Opens the listener. Its own name on this machine is kept in `data_dir`.
///
/// # Errors
/// The address is taken or cannot be used, or the name cannot be kept.
pub async fn bind(settings: &Http, data_dir: &Path) -> Result<Bound, HttpError> {
    let certificate = settings.tls.as_ref().map(Certificate::read).transpose()?;
    let (listener, address) = match &settings.listen {
        Listen::Tcp(address) => {
            let failed = |cause| HttpError::Tcp { address: *address, cause };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let bound = listener.local_addr().map_err(failed)?;
            (Listener::Tcp(listener), Some(bound))
        }
        Listen::Unix(path) => {
            let failed = |cause| HttpError::Unix { path: path.clone(), cause };
            take_away(path).await.map_err(failed)?;
            let listener = UnixListener::bind(path).map_err(failed)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660)).map_err(failed)?;
            (Listener::Unix(listener, path.clone()), None)
        }
    };
    let scheme = if certificate.is_some() { "https" } else { "http" };
    // Names below `localhost` are these two addresses alone, and a certificate is made for another name.
    let is_local = address
        .is_some_and(|address| address.ip() == Ipv4Addr::LOCALHOST || address.ip() == Ipv6Addr::LOCALHOST);
    let label = (is_local && certificate.is_none() && settings.public_url.is_none())
        .then(|| label::own_host(data_dir).map_err(HttpError::Name))
        .transpose()?;
    let own_url = match (address, &label) {
        (Some(address), Some(label)) => format!("{scheme}://{label}:{}", address.port()),
        (Some(address), None) => format!("{scheme}://{address}"),
        (None, _) => format!("{scheme}://localhost"),
    };
    let url = settings.public_url.clone().unwrap_or(own_url);
    Ok(Bound { listener, own: guard::Own::new(settings, address, label), url, certificate })
}

/// Takes away the socket of a herder that was killed.
async fn take_away(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => match UnixStream::connect(path).await {
            Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody listens there")),
            Err(_) => std::fs::remove_file(path),
        },
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else has that name")),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}

impl Bound {
    /// URL prefix of links to the page, without a final slash.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificate, where connections are encrypted.
    #[must_use]
    pub fn certificate(&self) -> Option<Certificate> {
        self.certificate.clone()
    }

    /// Answers until `shutdown`; requests that have begun are answered to their end.
    pub async fn serve(self, setup: Setup, shutdown: CancellationToken) {
        let connections = TaskTracker::new();
        let app = app(setup, self.own, (shutdown.clone(), connections.clone()));
        let door = Door {
            app,
            certificate: self.certificate,
            room: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            doorstep: Arc::new(Semaphore::new(TURNED_AWAY_MAX)),
            connections,
            shutdown: shutdown.clone(),
        };
        loop {
            let accepted = tokio::select! {
                () = shutdown.cancelled() => break,
                accepted = async { match &self.listener {
                    Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                        // An event of a stream is sent at once; without the option it is sent, too.
                        drop(stream.set_nodelay(true));
                        door.answer(stream);
                    }),
                    Listener::Unix(listener, _) => listener.accept().await.map(|(stream, _)| door.answer(stream)),
                } } => accepted,
            };
            if let Err(reason) = accepted {
                warn!(%reason, "the HTTP listener could not accept a connection");
                // Out of descriptors, most likely: without a pause this would spin.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        door.connections.close();
        door.connections.wait().await;
        if let Listener::Unix(_, path) = &self.listener
            && let Err(reason) = std::fs::remove_file(path)
        {
            warn!(%reason, "the HTTP socket could not be taken away");
        }
    }
}

/// A connection that was accepted.
trait Connection: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Says that there is no room, without a wait: into the empty buffer of a new connection the few bytes fit.
    fn tell_in_passing(self) -> io::Result<()>;
}

impl Connection for TcpStream {
    fn tell_in_passing(self) -> io::Result<()> {
        tell_in_passing(self.into_std()?)
    }
}

impl Connection for UnixStream {
    fn tell_in_passing(self) -> io::Result<()> {
        tell_in_passing(self.into_std()?)
    }
}

fn tell_in_passing(mut stream: impl Read + Write) -> io::Result<()> {
    stream.write_all(BUSY)?;
    // Hanging up on a request that is still unread would take the answer with it.
    let mut rest = [0; 1024];
    for _ in 0..PASSING_READS {
        match stream.read(&mut rest) {
            Ok(0) => break,
            Ok(_) => {}
            Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => break,
            Err(reason) => return Err(reason),
        }
    }
    Ok(())
}

/// Everything that a connection is answered with.
struct Door {
    app: Router,
    certificate: Option<Certificate>,
    room: Arc<Semaphore>,
    /// Places for those who are told that there is no room.
    doorstep: Arc<Semaphore>,
    connections: TaskTracker,
    shutdown: CancellationToken,
}

impl Door {
    fn answer(&self, stream: impl Connection) {
        let certificate = self.certificate.clone();
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            // Connections beyond the limit get no TLS handshake, because a handshake is expensive.
            let Ok(place) = Arc::clone(&self.doorstep).try_acquire_owned() else {
                // One who expects encryption could not read it.
                if certificate.is_none()
                    && let Err(reason) = stream.tell_in_passing()
                {
                    debug!(%reason, "an HTTP connection could not be told that there is no room");
                }
                return;
            };
            self.connections.spawn(async move {
                let _place = place;
                let told = async {
                    match certificate {
                        None => turn_away(stream).await,
                        Some(certificate) => turn_away(shake_hands(certificate, stream).await?).await,
                    }
                };
                // A client that does not read the response is disconnected.
                let _ = tokio::time::timeout(TURNED_AWAY_WITHIN, told).await;
            });
            return;
        };
        let (app, shutdown) = (self.app.clone(), self.shutdown.clone());
        self.connections.spawn(async move {
            let _place = place;
            let ended = match certificate {
                None => serve(stream, app, shutdown).await,
                Some(certificate) => {
                    let hands = tokio::time::timeout(HEAD_MAX, shake_hands(certificate, stream));
                    tokio::select! {
                        () = shutdown.cancelled() => return,
                        stream = hands => match stream {
                            Ok(Ok(stream)) => serve(stream, app, shutdown.clone()).await,
                            Ok(Err(reason)) => Err(reason.into()),
                            Err(slow) => Err(slow.into()),
                        },
                    }
                }
            };
            if let Err(reason) = ended {
                debug!(%reason, "an HTTP connection broke");
            }
        });
    }
}

/// Begins to encrypt.
async fn shake_hands<S: AsyncRead + AsyncWrite + Unpin>(
    certificate: Certificate,
    stream: S,
) -> io::Result<TlsStream<S>> {
    TlsAcceptor::from(certificate.config()).accept(stream).await
}

/// Says that there is no room.
async fn turn_away(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    stream.write_all(BUSY).await?;
    stream.shutdown().await?;
    // Hanging up on a request that is still unread would take the answer with it.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    app: Router,
    shutdown: CancellationToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(SLOW_MAX));
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(HEAD_BYTES_MAX);
    let connection = server.serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(app));
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended?,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await?;
        }
    }
    Ok(())
}
