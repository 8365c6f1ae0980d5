//! Links to files on the page, signed and good for a day.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;

use crate::core::file::{KeptFile, Sha256};
use crate::core::time::Timestamp;

/// Lifetime of a link to a file.
pub const LINKED_FOR: Duration = Duration::from_secs(24 * 3600);

/// Makes and checks links to files on the page. Whoever has a link gets the file until its time is over, and nothing else.
#[derive(Clone)]
pub struct FileLinks {
    /// Address of the page, without a final slash.
    base: Arc<str>,
    key: Arc<ring::hmac::Key>,
}

impl std::fmt::Debug for FileLinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileLinks").field("base", &self.base).finish_non_exhaustive()
    }
}

impl FileLinks {
    /// Returns the links of a page at `base`, signed with `key`.
    #[must_use]
    pub fn new(base: &str, key: &[u8]) -> Self {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
        Self { base: base.trim_end_matches('/').into(), key: Arc::new(key) }
    }

    /// Returns true if links lead to the page from other machines as well.
    #[must_use]
    pub fn are_public(&self) -> bool {
        let host = Url::parse(&self.base).ok().and_then(|url| url.host_str().map(str::to_owned));
        let is_here = |host: &str| {
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host.ends_with("localhost") || address.is_ok_and(|address| address.is_loopback())
        };
        host.is_some_and(|host| !is_here(&host))
    }

    /// Returns a link to a file, which is good from `now` on for [`LINKED_FOR`].
    #[must_use]
    pub fn link(&self, file: &KeptFile, now: Timestamp) -> String {
        let until = now.after(LINKED_FOR).as_millis() / 1000;
        let signature = ring::hmac::sign(&self.key, &signed(until, file.sha256, &file.name));
        let signature = URL_SAFE_NO_PAD.encode(signature.as_ref());
        format!("{}/files/{until}/{signature}/{}/{}", self.base, file.sha256, encoded(&file.name))
    }

    /// Returns true if the parts of a link are those of one that was made, and its time is not over.
    #[must_use]
    pub fn is_good(
        &self,
        (until, signature): (i64, &str),
        (of, name): (Sha256, &str),
        now: Timestamp,
    ) -> bool {
        let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
        let is_signed = ring::hmac::verify(&self.key, &signed(until, of, name), &signature).is_ok();
        is_signed && now.as_millis() / 1000 < until
    }
}

/// Returns a file name for an address or a header: all but letters, digits and `._-` of ASCII is written as bytes.
#[must_use]
pub fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let byte = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(byte).collect()
}

/// Returns the text that is signed. No part can contain the sign between them.
fn signed(until: i64, of: Sha256, name: &str) -> Vec<u8> {
    format!("{until}/{of}/{name}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::file::FileKind;
    use crate::files::digest;

    #[test]
    fn links_of_a_page_on_this_machine_alone_are_not_public() {
        for (base, are_public) in [
            ("https://herder.example.org", true),
            ("http://10.0.0.7:7700", true),
            ("http://herder-0123456789abcdef.localhost:7700", false),
            ("http://127.0.0.1:7700", false),
            ("http://[::1]:7700", false),
        ] {
            assert_eq!(FileLinks::new(base, b"key").are_public(), are_public, "{base}");
        }
    }

    #[test]
    fn a_link_is_good_for_its_file_and_time_alone() {
        let (links, other) = (FileLinks::new("https://example.org/", b"one"), FileLinks::new("", b"two"));
        let file =
            KeptFile { name: "grüße.txt".to_owned(), size: 1, sha256: digest(b"a"), kind: FileKind::Text };
        let now = Timestamp::from_seconds(1_000);
        let link = links.link(&file, now);
        let parts: Vec<&str> = link.split('/').collect();
        let ["https:", "", "example.org", "files", until, signature, of, "gr%C3%BC%C3%9Fe.txt"] = parts[..]
        else {
            panic!("{link}")
        };
        let (until, of): (i64, Sha256) = (until.parse().expect("a time"), of.parse().expect("a digest"));
        assert_eq!(until, 1_000 + 24 * 3600);
        let at = Timestamp::from_seconds;
        assert!(links.is_good((until, signature), (of, "grüße.txt"), at(until - 1)));
        assert!(!links.is_good((until, signature), (of, "grüße.txt"), at(until)), "its time is over");
        assert!(!links.is_good((until + 1, signature), (of, "grüße.txt"), now), "another time");
        assert!(!links.is_good((until, signature), (digest(b"b"), "grüße.txt"), now), "another file");
        assert!(!links.is_good((until, signature), (of, "grüße.html"), now), "another name");
        assert!(!links.is_good((until, &signature[1..]), (of, "grüße.txt"), now), "half a signature");
        assert!(!links.is_good((until, ""), (of, "grüße.txt"), now), "no signature");
        assert!(!other.is_good((until, signature), (of, "grüße.txt"), now), "another key");
    }
}
