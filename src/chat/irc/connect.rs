//! Byte streams to the server: TCP, TLS over TCP, or the product of a factory (the embedded server, tests).

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::prompt::PromptStream;
use super::tls;
use crate::config::{IrcNetwork, Tls};
use crate::core::detail::{Detail, LinkReason};

/// Maximum time to connect to a server, from the DNS lookup to the end of the TLS handshake: a frozen server accepts a
/// connection and then stays silent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Any bidirectional byte stream to an IRC server.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A future that opens a stream to an IRC server.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// The way in which an IRC adapter opens its connection.
#[derive(Clone)]
pub enum Connector {
    /// The adapter connects to the network's server over TCP and, if configured, TLS.
    Network,
    /// The adapter calls a function that opens a stream, e.g. in memory to the embedded server.
    Factory(Arc<dyn Fn() -> Connecting + Send + Sync>),
}

impl Connector {
    /// Makes a connector of a function that opens a stream at once.
    pub fn factory<S: Stream + 'static>(make: impl Fn() -> io::Result<S> + Send + Sync + 'static) -> Self {
        Self::Factory(Arc::new(move || {
            let made = make().map(|stream| Box::new(stream) as Box<dyn Stream>);
            Box::pin(std::future::ready(made))
        }))
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "Connector::Network",
            Self::Factory(_) => "Connector::Factory",
        })
    }
}

/// Opens a stream. `attempt` selects one of the addresses of the server's name, so that a dead address is not tried forever.
///
/// # Errors
/// The reason why no stream could be opened.
pub(crate) async fn connect(
    connector: &Connector,
    network: &IrcNetwork,
    attempt: u32,
) -> Result<Box<dyn Stream>, Detail> {
    let connecting = async {
        match connector {
            Connector::Network => open(network, attempt).await,
            Connector::Factory(make) => make().await.map_err(|error| error.to_string().into()),
        }
    };
    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(result) => result,
        Err(_) => Err(LinkReason::NotAnswered { server: place(network), within: CONNECT_TIMEOUT }.into()),
    }
}

/// The server as `host:port`, for error messages.
fn place(network: &IrcNetwork) -> String {
    format!("{}:{}", network.server, network.port)
}

async fn open(network: &IrcNetwork, attempt: u32) -> Result<Box<dyn Stream>, Detail> {
    let address = resolve(network, attempt).await?;
    let stream = TcpStream::connect(address).await.map_err(|error| {
        LinkReason::NotConnected { server: format!("{} ({address})", place(network)) }.with(error.to_string())
    })?;
    let stream = PromptStream::new(stream).map_err(|error| LinkReason::Broke.with(error.to_string()))?;
    if network.tls == Tls::Off {
        return Ok(Box::new(stream));
    }
    let (config, distrusted) = tls_config(network).await?;
    let name = ServerName::try_from(network.server.clone())
        .map_err(|_| LinkReason::NoTlsName { server: network.server.clone() })?;
    let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
        let found = distrusted.lock().unwrap_or_else(PoisonError::into_inner).take();
        match found {
            Some((why, fingerprint)) => {
                LinkReason::Certificate { server: place(network), why, fingerprint }.into()
            }
            None => LinkReason::TlsFailed { server: place(network) }.with(error.to_string()),
        }
    })?;
    Ok(Box::new(stream))
}

async fn resolve(network: &IrcNetwork, attempt: u32) -> Result<SocketAddr, Detail> {
    let found = lookup_host((network.server.as_str(), network.port))
        .await
        .map_err(|error| LinkReason::NotFound { server: network.server.clone() }.with(error.to_string()))?;
    let addresses: Vec<SocketAddr> = found.collect();
    let index = attempt as usize % addresses.len().max(1);
    let found = addresses.get(index).copied();
    found.ok_or_else(|| LinkReason::NoAddress { server: network.server.clone() }.into())
}

async fn tls_config(network: &IrcNetwork) -> Result<(Arc<ClientConfig>, tls::Distrusted), Detail> {
    let (tls, sasl) = (network.tls.clone(), network.sasl.clone());
    // Loading the system's certificate authorities would block other tasks on this thread.
    let built = tokio::task::spawn_blocking(move || tls::client_config(&tls, sasl.as_ref())).await;
    match built {
        Ok(Ok((config, distrusted))) => Ok((Arc::new(config), distrusted)),
        Ok(Err(error)) => Err(LinkReason::TlsNotSetUp.with(error.to_string())),
        Err(_) => Err(LinkReason::TlsNotSetUp.into()),
    }
}
