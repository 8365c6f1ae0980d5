//! TLS: trust in the system's authorities, in a PEM file, or in one certificate by its fingerprint.
//!
//! The crypto provider is passed explicitly everywhere: with more than one in the dependency graph rustls cannot choose.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::config::{Sasl, Tls};
use crate::core::detail::Distrust;

/// The reason why a server's certificate was rejected, and its SHA-256 in hexadecimal digits; `None` until one was
/// rejected.
pub(crate) type Distrusted = Arc<Mutex<Option<(Distrust, String)>>>;

/// The reason why TLS cannot be set up for a network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// A certificate file in PEM format cannot be read: its path and the reason.
    #[error("cannot read certificates from {0}: {1}")]
    Pem(PathBuf, String),
    /// The system has no certificate authorities, and none is configured.
    #[error(
        "this system has no certificate authorities; name a file with `tls_ca` or a certificate with its fingerprint"
    )]
    NoRoots,
    /// rustls rejects the configuration.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// The verifier of the server's certificate cannot be built, for this reason.
    #[error("cannot build the certificate check: {0}")]
    Verifier(String),
}

/// Builds the TLS configuration of one network. It reads files, and runs once per attempt outside the async threads;
/// the second value receives the reason if a certificate is rejected.
pub(crate) fn client_config(tls: &Tls, sasl: Option<&Sasl>) -> Result<(ClientConfig, Distrusted), TlsError> {
    let provider = Arc::new(ring::default_provider());
    let trust = match tls {
        Tls::Fingerprint(sha256) => Trust::Fingerprint(*sha256),
        Tls::CaFile(path) => Trust::File {
            certificates: certificates(path)?,
            authorities: authorities(&provider, Some(path))?,
        },
        Tls::SystemRoots | Tls::Off => {
            Trust::File { certificates: Vec::new(), authorities: authorities(&provider, None)? }
        }
    };
    let distrusted = Distrusted::default();
    let verifier =
        Arc::new(Pinned { provider: Arc::clone(&provider), trust, distrusted: Arc::clone(&distrusted) });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match sasl {
        Some(Sasl::External { certificate, key }) => {
            let private = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| TlsError::Pem(key.clone(), error.to_string()))?;
            builder.with_client_auth_cert(certificates(certificate)?, private)?
        }
        Some(Sasl::Plain { .. }) | None => builder.with_no_client_auth(),
    };
    Ok((config, distrusted))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = |error: rustls::pki_types::pem::Error| TlsError::Pem(path.to_owned(), error.to_string());
    let found: Vec<_> =
        CertificateDer::pem_file_iter(path).map_err(read)?.collect::<Result<_, _>>().map_err(read)?;
    if found.is_empty() {
        return Err(TlsError::Pem(path.to_owned(), "there is no certificate in it".to_owned()));
    }
    Ok(found)
}

fn authorities(
    provider: &Arc<CryptoProvider>,
    file: Option<&Path>,
) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = file {
        roots.add_parsable_certificates(certificates(path)?);
    }
    if roots.is_empty() {
        return Err(TlsError::NoRoots);
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| TlsError::Verifier(error.to_string()))
}

/// The certificates that are trusted for a network with its own setting.
#[derive(Debug)]
enum Trust {
    /// The certificate with this SHA-256 is trusted, with any issuer and content.
    Fingerprint([u8; 32]),
    /// The certificates of a file themselves are trusted, and all that the file's or the system's authorities vouch
    /// for.
    ///
    /// The first half is for the usual home server: a self-signed certificate is its own authority, and no authority
    /// may stand at the end of a chain.
    File { certificates: Vec<CertificateDer<'static>>, authorities: Arc<WebPkiServerVerifier> },
}

#[derive(Debug)]
struct Pinned {
    provider: Arc<CryptoProvider>,
    trust: Trust,
    distrusted: Distrusted,
}

impl Pinned {
    fn judge(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.trust {
            Trust::Fingerprint(expected) if fingerprint(end_entity).as_ref() == expected => {
                Ok(ServerCertVerified::assertion())
            }
            Trust::Fingerprint(_) => Err(CertificateError::ApplicationVerificationFailure.into()),
            Trust::File { certificates, authorities } => {
                if certificates.iter().any(|known| known.as_ref() == end_entity.as_ref()) {
                    return Ok(ServerCertVerified::assertion());
                }
                authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
        }
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> ::ring::digest::Digest {
    ::ring::digest::digest(&::ring::digest::SHA256, certificate)
}

/// Returns the reason of a rejected certificate, in a form that a person can act on.
fn distrust(error: &rustls::Error) -> Distrust {
    use CertificateError as E;
    let rustls::Error::InvalidCertificate(why) = error else { return Distrust::Invalid };
    match why {
        E::ApplicationVerificationFailure => Distrust::Other,
        E::Expired | E::ExpiredContext { .. } => Distrust::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => Distrust::Early,
        E::NotValidForName | E::NotValidForNameContext { .. } => Distrust::Name,
        // A self-signed certificate is its own authority, and so has an unknown issuer.
        E::UnknownIssuer | E::Other(_) => Distrust::Issuer,
        _ => Distrust::Invalid,
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let judged = self.judge(end_entity, intermediates, server_name, ocsp_response, now);
        if let Err(error) = &judged {
            let found = (distrust(error), hex(fingerprint(end_entity).as_ref()));
            *self.distrusted.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
        judged
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};

    use super::*;

    const NAME: &str = "irc.example.org";

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut parameters = CertificateParams::new(vec![NAME.to_owned()]).expect("a name of a host");
        change(&mut parameters);
        let key = KeyPair::generate().expect("a key");
        parameters.self_signed(&key).expect("a certificate").der().clone()
    }

    /// Returns why the certificate is rejected by a verifier with an authority of its own, as the system's are, and what
    /// is noted about it.
    fn judged(
        certificate: &CertificateDer<'_>,
        known: &CertificateDer<'static>,
    ) -> (String, Option<(Distrust, String)>) {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(known.clone()).expect("an authority");
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let trust =
            Trust::File { certificates: Vec::new(), authorities: authorities.build().expect("a verifier") };
        let distrusted = Distrusted::default();
        let pinned = Pinned { provider, trust, distrusted: Arc::clone(&distrusted) };
        let name = ServerName::try_from(NAME).expect("a name of a host");
        let error = pinned.verify_server_cert(
            certificate,
            &[],
            &name,
            &[],
            UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000)),
        );
        let found = distrusted.lock().expect("nothing panicked").clone();
        (format!("{:?}", error.expect_err("it is not trusted")), found)
    }

    /// `openssl req -x509` makes a certificate that is its own authority, which rustls rejects with an error that it has
    /// no name for.
    #[test]
    fn a_rejected_certificate_is_named_with_its_fingerprint() {
        let authority = certificate(|made| {
            made.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            made.distinguished_name.push(DnType::CommonName, "the system's");
        });
        let other = certificate(|made| made.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
        let plain = certificate(|_| {});
        let old = certificate(|made| made.not_after = date_time_ymd(2020, 1, 1));
        for (made, by_rustls, why) in [
            (&other, "CaUsedAsEndEntity", Distrust::Issuer),
            (&plain, "UnknownIssuer", Distrust::Issuer),
            (&old, "Expired", Distrust::Expired),
        ] {
            let (error, found) = judged(made, &authority);
            assert!(error.contains(by_rustls), "{error}");
            let digits = hex(fingerprint(made).as_ref());
            assert_eq!(found, Some((why, digits)), "{error}");
        }
    }
}
