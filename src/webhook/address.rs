//! The addresses that requests may go to: those of the public internet, unless the configuration allows private ones.
//!
//! A name can resolve to any address, and to another one a moment later, so that the address of the connection itself
//! is checked: the client resolves names by [`Guarded`], which removes forbidden addresses. An address in the URL
//! itself passes no resolver and is checked beforehand.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The reason why a webhook's address is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The URL contains this private address.
    #[error("{0} is a private address; allow_private = true lets herder go there")]
    Literal(IpAddr),
    /// The host name in the URL resolves to a private address only.
    #[error("{name} leads to {address}, a private address; allow_private = true lets herder go there")]
    Resolved {
        /// The host name in the URL.
        name: String,
        /// The private address that the host name resolves to.
        address: IpAddr,
    },
    /// The host name in the URL resolves to no address.
    #[error("{0} has no address")]
    Nowhere(String),
    /// The URL of the webhook cannot be parsed.
    #[error("the address cannot be read")]
    Unreadable,
}

/// Checks an address in a URL. A URL with a name passes.
///
/// # Errors
/// The address is private, or the URL cannot be parsed.
pub fn check(url: &str, allow_private: bool) -> Result<(), AddressError> {
    let url = Url::parse(url).map_err(|_| AddressError::Unreadable)?;
    match literal(&url) {
        Some(address) if !allow_private && !is_public(address) => Err(AddressError::Literal(address)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the IP address that a URL contains instead of a host name, in any notation: the parser has normalised forms
/// like 0x7f.1.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse().ok()
}

/// Returns true if an address belongs to the public internet.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns true unless IANA's special-purpose registry lists the address as not globally reachable.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = a == 0
        || a >= 240
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        // Shared address space of providers; some clouds serve metadata there.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // Embedded IPv4 addresses (mapped, translated, tunnelled) are judged as such.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Only 2000::/3 is allocated; within it benchmarks, documentation, Teredo and other identifiers are not reachable.
        [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
        [0x3fff, second, ..] => second >= 0x1000,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// The DNS resolver of the HTTP client: resolves with the system's resolver and removes private addresses, unless
/// `allow_private` is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guarded {
    pub(super) allow_private: bool,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let left = usable(name.as_str(), found.collect(), allow_private)?;
            Ok(Box::new(left.into_iter()) as Addrs)
        })
    }
}

fn usable(name: &str, found: Vec<SocketAddr>, allow_private: bool) -> Result<Vec<SocketAddr>, AddressError> {
    let first = found.first().map(SocketAddr::ip);
    let left: Vec<SocketAddr> =
        found.into_iter().filter(|address| allow_private || is_public(address.ip())).collect();
    match first {
        None => Err(AddressError::Nowhere(name.to_owned())),
        Some(address) if left.is_empty() => Err(AddressError::Resolved { name: name.to_owned(), address }),
        Some(_) => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_all_their_forms() {
        let private = [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for text in private {
            assert!(!is_public(text.parse().expect("an address")), "{text}");
        }
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::8.8.8.8",
            "2002:808:808::",
        ];
        for text in public {
            assert!(is_public(text.parse().expect("an address")), "{text}");
        }
    }

    #[test]
    fn an_address_in_a_url_is_seen_however_it_is_written() {
        for url in [
            "http://127.0.0.1/x",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "https://[::1]:8443/",
            "http://[::ffff:10.0.0.1]/",
            "http://127.0.0.1./",
        ] {
            assert!(matches!(check(url, false), Err(AddressError::Literal(_))), "{url}");
            assert_eq!(check(url, true), Ok(()), "{url}");
        }
        for url in ["https://example.org/", "https://1.1.1.1/", "http://localhost/"] {
            assert_eq!(check(url, false), Ok(()), "{url}: a name is looked at when it is resolved");
        }
        assert_eq!(check("no url", true), Err(AddressError::Unreadable));
    }

    #[test]
    fn of_a_name_that_leads_to_several_addresses_the_public_ones_are_left() {
        let at = |text: &str| SocketAddr::new(text.parse().expect("an address"), 0);
        let both = vec![at("127.0.0.1"), at("1.1.1.1")];
        assert_eq!(usable("x", both.clone(), false), Ok(vec![at("1.1.1.1")]));
        assert_eq!(usable("x", both.clone(), true), Ok(both));
        let (name, address) = ("x".to_owned(), at("::1").ip());
        assert_eq!(usable("x", vec![at("::1")], false), Err(AddressError::Resolved { name, address }));
        assert_eq!(usable("x", Vec::new(), true), Err(AddressError::Nowhere("x".to_owned())));
    }
}
