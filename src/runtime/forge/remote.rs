//! The address of a repository's remote.

use crate::core::checkout::address_parts;
use crate::core::detail::{Detail, GitReason};

/// A remote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Its address, as git knows it.
    pub(super) address: String,
    known: Option<Known>,
}

/// A repository at a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// Name of the host, with its port where that is not the usual one.
    pub(super) host: String,
    /// Name of the owner.
    pub(super) owner: String,
    /// Name of the repository.
    pub(super) name: String,
}

impl Remote {
    /// Reads an address: `https://host/owner/name.git`, `ssh://git@host/owner/name`, `git@host:owner/name`.
    pub(crate) fn of(address: &str) -> Self {
        Self { address: address.to_owned(), known: known(address) }
    }

    /// Returns the repository at the forge.
    ///
    /// # Errors
    /// The address names none.
    pub(super) fn known(&self) -> Result<Known, Detail> {
        let none = || GitReason::NoRemote { path: shown(&self.address) }.into();
        self.known.clone().ok_or_else(none)
    }
}

/// Returns an address without a password.
pub(crate) fn shown(address: &str) -> String {
    match address.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?.1))) {
        Some((scheme, rest)) => format!("{scheme}://{rest}"),
        None => address.to_owned(),
    }
}

fn known(address: &str) -> Option<Known> {
    let (scheme, rest) = address_parts(address)?;
    let (host, path) = match scheme {
        "https" | "http" | "ssh" | "git" => rest.split_once('/')?,
        "" => rest.split_once(':')?,
        _ => return None,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    // The port of SSH is not that of the API.
    let host = if scheme == "ssh" { host.split(':').next()? } else { host };
    let path = path.trim_matches('/');
    let (owner, name) = path.strip_suffix(".git").unwrap_or(path).split_once('/')?;
    let plain = |text: &str| {
        !text.is_empty()
            && !text.starts_with('.')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let is_host = host.split(':').all(plain) && !host.starts_with('-');
    let found = Known { host: host.to_owned(), owner: owner.to_owned(), name: name.to_owned() };
    (is_host && plain(owner) && plain(name)).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_read_from_each_form_of_an_address() {
        for (address, parts) in [
            ("https://github.com/moss/app.git", Some(("github.com", "moss", "app"))),
            ("https://github.com/moss/app/", Some(("github.com", "moss", "app"))),
            (
                "https://x-token:secret@forge.example:8443/moss/app",
                Some(("forge.example:8443", "moss", "app")),
            ),
            ("git@github.com:moss/app.git", Some(("github.com", "moss", "app"))),
            ("ssh://git@forge.example:2222/moss/app.git", Some(("forge.example", "moss", "app"))),
            ("git@github.com:moss/group/app.git", None),
            ("https://github.com/moss", None),
            ("https://github.com/../app", None),
            ("https://github.com/moss/app?x=1", None),
            ("ext::sh -c x", None),
            ("/srv/repos/app", None),
        ] {
            let known = known(address);
            let read = known.as_ref().map(|known| (&*known.host, &*known.owner, &*known.name));
            assert_eq!(read, parts, "{address}");
        }
    }

    #[test]
    fn a_shown_address_has_no_password() {
        assert_eq!(shown("https://me:secret@forge.example/moss/app"), "https://forge.example/moss/app");
        assert_eq!(shown("git@github.com:moss/app"), "git@github.com:moss/app");
    }
}
