//! Connections to the servers: with TLS, verified by the bot's own CA alone, in the given order, and never to a server
//! that another one has named.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use tracing::{info, warn};

use super::folder::Folder;
use super::keys::{self, Credentials};
use super::net::Uplink;
use super::permits;
use super::runner_folder::RunnerFolder;

/// Interval of pings. A server that does not answer two of them is left at the third: 3 s, in which a slow link must have
/// passed on everything that [`super::net`] lets be on its way.
pub(super) const PING: Duration = Duration::from_millis(1500);

/// Maximum time for a connection to be made, TLS included.
const CONNECT: Duration = Duration::from_secs(1);

/// The same for a machine that connects once and does not try again.
const CONNECT_ONCE: Duration = Duration::from_secs(5);

/// First and longest pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The reason why an address is not one of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// There is no address.
    #[error("no server is named; write at least one, e.g. tls://box1:4222")]
    None,
    /// The address cannot be parsed.
    #[error("\"{0}\" is not the address of a server; write e.g. tls://box1:4222")]
    Form(String),
    /// The connection would not be encrypted.
    #[error(
        "\"{0}\" is without TLS, which is for servers on this machine alone (127.0.0.1); write tls:// instead of nats://"
    )]
    Plain(String),
}

/// The reason why the text of a CA is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaError {
    /// No certificate is in it.
    #[error("there is no certificate (PEM) of a CA in it")]
    None,
    /// A certificate is broken.
    #[error("the certificate of the CA is broken: {0}")]
    Broken(String),
}

/// The reason why there is no connection to a server.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// An address is wrong.
    #[error("{0}")]
    Address(#[from] AddressError),
    /// The CA's certificate is wrong.
    #[error("{0}")]
    Ca(#[from] CaError),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
    /// A certificate of the machine is broken. The NATS library reads them all, and never connects without.
    #[error(
        "the certificates of this machine cannot be read: {0}. Repair or remove that file, or the variable SSL_CERT_FILE or \
         SSL_CERT_DIR that names it"
    )]
    Machine(String),
    /// The credentials cannot be used.
    #[error("the credentials cannot be used: {0}")]
    Credentials(String),
    /// The server does not know the user.
    #[error(
        "the server ({servers}) refuses the credentials of this {user}: they have expired or were revoked"
    )]
    Refused {
        /// Addresses of the servers.
        servers: String,
        /// The kind of user.
        user: String,
    },
    /// The server has a certificate of another CA, or for another name.
    #[error(
        "the server ({servers}) cannot prove that it is the bot's: {cause}. Either another server answers there, or it is \
         reached by a name that was not given to herder cluster init"
    )]
    Stranger {
        /// Addresses of the servers.
        servers: String,
        /// The reason.
        cause: String,
    },
    /// No server answers.
    #[error(
        "no server can be reached ({servers}): {cause}. Check that nats-server runs there and that this machine may connect to it"
    )]
    Unreachable {
        /// Addresses of the servers.
        servers: String,
        /// The reason.
        cause: String,
    },
}

/// A user's way to the servers.
#[derive(Debug)]
pub(super) struct Login<'a> {
    /// Name of the connection, as servers show it.
    pub(super) name: String,
    pub(super) servers: &'a [String],
    pub(super) ca: &'a str,
    pub(super) credentials: &'a Credentials,
    pub(super) inbox: String,
    /// True if it goes on trying until a server answers.
    pub(super) patient: bool,
}

/// Connects the bot. Returns at once, and goes on trying until a server answers.
///
/// # Errors
/// The folder's addresses, CA or credentials cannot be used.
pub async fn connect_bot(folder: &Folder) -> Result<Uplink, LinkError> {
    uplink(&bot_login(folder)).await
}

/// Connects a runner. Returns at once, and goes on trying until a server answers.
///
/// # Errors
/// The folder's addresses, CA or credentials cannot be used.
pub async fn connect_runner(folder: &RunnerFolder) -> Result<Uplink, LinkError> {
    uplink(&runner_login(folder)).await
}

/// Connects the system account's user, once.
///
/// # Errors
/// No server can be reached, or it refuses; or the folder's addresses, CA or credentials cannot be used.
pub async fn connect_system(folder: &Folder) -> Result<Client, LinkError> {
    connect(&system_login(folder), log).await
}

pub(super) fn bot_login(folder: &Folder) -> Login<'_> {
    Login {
        name: "bot".to_owned(),
        servers: folder.servers(),
        ca: folder.ca(),
        credentials: folder.bot(),
        inbox: permits::bot_inbox(),
        patient: true,
    }
}

pub(super) fn system_login(folder: &Folder) -> Login<'_> {
    let (credentials, inbox) = (folder.system(), permits::system_inbox());
    Login { name: "system user".to_owned(), credentials, inbox, patient: false, ..bot_login(folder) }
}

pub(super) fn runner_login(folder: &RunnerFolder) -> Login<'_> {
    Login {
        name: format!("runner {}", folder.name()),
        servers: folder.servers(),
        ca: folder.ca(),
        credentials: folder.credentials(),
        inbox: permits::runner_inbox(folder.name()),
        patient: true,
    }
}

/// Connects. `on` is called with each event of the connection, e.g. that a server refuses a subject.
pub(super) async fn connect(
    login: &Login<'_>,
    on: impl Fn(&Event) + Send + Sync + 'static,
) -> Result<Client, LinkError> {
    let (options, servers) = options(login)?;
    let options = options.event_callback(move |event| {
        on(&event);
        std::future::ready(())
    });
    Box::pin(options.connect(servers)).await.map_err(|error| refusal(login, &error))
}

/// Connects with a count of what may have cost messages.
async fn uplink(login: &Login<'_>) -> Result<Uplink, LinkError> {
    let (options, servers) = options(login)?;
    Uplink::connect(options, servers).await.map_err(|error| refusal(login, &error))
}

fn options(login: &Login<'_>) -> Result<(ConnectOptions, Vec<ServerAddr>), LinkError> {
    let servers = addresses(login.servers)?;
    let is_encrypted = servers.iter().all(ServerAddr::tls_required);
    let seed = login.credentials.key.seed().map_err(|why| LinkError::Credentials(why.to_string()))?;
    let creds = keys::creds_text(&login.credentials.jwt, &seed);
    let options = ConnectOptions::new()
        .credentials(&creds)
        .map_err(|why| LinkError::Credentials(why.to_string()))?
        .name(&login.name)
        .custom_inbox_prefix(&login.inbox)
        .tls_client_config(tls(login.ca)?)
        .require_tls(is_encrypted)
        // A server's first line is not encrypted: what it says about other servers could be anybody's.
        .ignore_discovered_servers()
        .retain_servers_order()
        .ping_interval(PING)
        .connection_timeout(if login.patient { CONNECT } else { CONNECT_ONCE })
        .reconnect_delay_callback(pause);
    let options = if login.patient { options.retry_on_initial_connect() } else { options };
    Ok((options, servers))
}

/// Parses the addresses of servers. One without TLS is accepted on this machine alone.
pub(super) fn addresses(servers: &[String]) -> Result<Vec<ServerAddr>, AddressError> {
    if servers.is_empty() {
        return Err(AddressError::None);
    }
    servers.iter().map(|text| address(text)).collect()
}

/// Returns the store with the certificates of a PEM text as the only roots.
pub(super) fn roots(pem: &str) -> Result<RootCertStore, CaError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|why| CaError::Broken(why.to_string()))?;
        roots.add(certificate).map_err(|why| CaError::Broken(why.to_string()))?;
    }
    if roots.is_empty() { Err(CaError::None) } else { Ok(roots) }
}

fn address(text: &str) -> Result<ServerAddr, AddressError> {
    let form = || AddressError::Form(text.to_owned());
    let is_plain = text.starts_with("nats://");
    if !is_plain && !text.starts_with("tls://") {
        return Err(form());
    }
    let address: ServerAddr = text.parse().map_err(|_| form())?;
    if address.host().is_empty() || address.has_user_pass() {
        return Err(form());
    }
    if is_plain && !is_loopback(address.host()) {
        return Err(AddressError::Plain(text.to_owned()));
    }
    Ok(address)
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Makes the settings of TLS, with the bot's CA as the only root. The provider is named, because the process may have
/// several.
fn tls(ca: &str) -> Result<ClientConfig, LinkError> {
    if let Some(broken) = rustls_native_certs::load_native_certs().errors.first() {
        return Err(LinkError::Machine(broken.to_string()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(LinkError::Tls)?;
    Ok(config.with_root_certificates(roots(ca)?).with_no_client_auth())
}

fn pause(attempts: usize) -> Duration {
    let doubled = u32::try_from(attempts.saturating_sub(2)).unwrap_or(u32::MAX).min(8);
    if attempts <= 1 { Duration::ZERO } else { (PAUSE * 2_u32.pow(doubled)).min(PAUSE_MAX) }
}

fn log(event: &Event) {
    match event {
        Event::Connected => info!("connected to the NATS server"),
        Event::Draining | Event::Closed => info!(%event, "the connection to the NATS server ends"),
        Event::Disconnected
        | Event::LameDuckMode
        | Event::SlowConsumer(_)
        | Event::ServerError(_)
        | Event::ClientError(_) => warn!(%event, "the connection to the NATS server has a problem"),
    }
}

fn refusal(login: &Login<'_>, error: &async_nats::ConnectError) -> LinkError {
    let servers = login.servers.join(", ");
    match (error.kind(), tls_cause(error)) {
        (ConnectErrorKind::AuthorizationViolation, _) => {
            LinkError::Refused { servers, user: login.name.clone() }
        }
        (_, Some(cause)) => LinkError::Stranger { servers, cause: cause.to_string() },
        _ => LinkError::Unreachable { servers, cause: Chain(error).to_string() },
    }
}

/// Returns the reason in an error's causes that concerns the server's certificate.
fn tls_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let found = inner
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        .or_else(|| error.downcast_ref::<rustls::Error>());
    match found {
        Some(found @ rustls::Error::InvalidCertificate(_)) => Some(found),
        _ => error.source().and_then(tls_cause),
    }
}

/// An error with its causes as one text.
struct Chain<'a>(&'a (dyn StdError + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut next = self.0.source();
        while let Some(cause) = next {
            let more = cause.to_string();
            // Some errors have their cause in their own text.
            if !text.contains(&more) {
                text = format!("{text}: {more}");
            }
            next = cause.source();
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_tls_is_on_this_machine() {
        for text in [
            "tls://box1:4222",
            "tls://10.0.0.1:4222",
            "tls://[::1]:4222",
            "nats://127.0.0.1:4222",
            "nats://[::1]:1",
        ] {
            assert!(address(text).is_ok(), "{text}");
        }
        for text in
            ["nats://box1:4222", "nats://10.0.0.1:4222", "nats://localhost.example.org:1", "nats://0.0.0.0:1"]
        {
            assert_eq!(address(text).unwrap_err(), AddressError::Plain(text.to_owned()));
        }
        for text in ["", "box1:4222", "ws://box1:1", "tls://", "tls://a:b@box1:1", "tls://box1:x", "nats:"] {
            assert_eq!(address(text).unwrap_err(), AddressError::Form(text.to_owned()), "{text}");
        }
        assert_eq!(addresses(&[]).unwrap_err(), AddressError::None);
    }

    #[test]
    fn pauses_grow_to_a_second() {
        let pauses: Vec<u128> = (0..9).map(|it| pause(it).as_millis()).collect();
        assert_eq!(pauses, [0, 0, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pause(usize::MAX), PAUSE_MAX);
    }

    #[test]
    fn a_text_without_a_certificate_is_no_ca() {
        assert_eq!(roots("").unwrap_err(), CaError::None);
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(roots(broken).unwrap_err(), CaError::Broken(_)));
    }
}
