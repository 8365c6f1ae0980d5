//! The listener's certificate: read when it opens, and again at every reload.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::config::TlsFiles;

/// The reason why connections cannot be encrypted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate can be read from its file.
    #[error("tls_cert of [http]: cannot read certificates from {}: {why}", .file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
    },
    /// No key can be read from its file.
    #[error("tls_key of [http]: cannot read a private key from {}: {why}", .file.display())]
    Key {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
    },
    /// Both can be read, and are not a pair.
    #[error("tls_cert and tls_key of [http] do not fit each other: {0}")]
    Unfit(rustls::Error),
}

/// A certificate with its key. Clones are one and the same.
#[derive(Debug, Clone)]
pub struct Certificate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: TlsFiles,
    config: RwLock<Arc<ServerConfig>>,
}

impl Certificate {
    /// Reads the files. Blocks.
    ///
    /// # Errors
    /// They cannot be read, or do not fit each other.
    pub fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let config = RwLock::new(Arc::new(config(files)?));
        Ok(Self(Arc::new(Inner { files: files.clone(), config })))
    }

    /// Reads the files again: connections from now on have what is in them. Blocks.
    ///
    /// # Errors
    /// As [`Certificate::read`]; what was read before stays.
    pub fn read_again(&self) -> Result<(), TlsError> {
        let new = Arc::new(config(&self.0.files)?);
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// Returns the settings that a new connection begins with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn config(TlsFiles { cert, key }: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let of_cert = |why: String| TlsError::Certificate { file: cert.clone(), why };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| of_cert(error.to_string()))?;
    if chain.is_empty() {
        return Err(of_cert("there is no certificate in it".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| TlsError::Key { file: key.clone(), why: error.to_string() })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unfit)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(TlsError::Unfit)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
