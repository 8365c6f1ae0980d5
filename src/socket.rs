//! Unix sockets in the data folder, for the user that runs herder alone.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Maximum length of a Unix socket's path on Linux, in bytes, without its final zero.
pub const PATH_MAX: usize = 107;

/// The reason why a socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The path exceeds the kernel's limit for sockets.
    #[error(
        "the path {} is too long for a socket ({} bytes, at most {PATH_MAX}): choose a shorter data_dir", .0.display(), .0.as_os_str().len()
    )]
    PathTooLong(PathBuf),
    /// Another herder listens there.
    #[error("another herder listens on {}", .0.display())]
    InUse(PathBuf),
    /// The path is not a socket.
    #[error("{} is in the way and is not a socket: move it away", .0.display())]
    NotASocket(PathBuf),
    /// The file system refuses.
    #[error("cannot listen on {}: {cause}", .path.display())]
    Io {
        /// The socket's path.
        path: PathBuf,
        /// The I/O error.
        cause: io::Error,
    },
}

/// Binds a socket. One left by a killed process is replaced; one in use is not.
///
/// # Errors
/// A [`BindError`] with the obstacle.
pub async fn bind(path: &Path) -> Result<UnixListener, BindError> {
    if path.as_os_str().len() > PATH_MAX {
        return Err(BindError::PathTooLong(path.to_owned()));
    }
    let failed = |cause| BindError::Io { path: path.to_owned(), cause };
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(BindError::NotASocket(path.to_owned()));
        }
        Ok(_) => match UnixStream::connect(path).await {
            Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path).map_err(failed)?;
            }
            Ok(_) => return Err(BindError::InUse(path.to_owned())),
            Err(cause) => return Err(failed(cause)),
        },
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
        Err(cause) => return Err(failed(cause)),
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}
