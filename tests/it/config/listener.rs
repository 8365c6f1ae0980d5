//! Rules of `[http]`: what may be listened at, and which names the listener has.

use super::Folder;

const AGENT: &str = "[[agent]]\nname = \"spark\"\nruntime = \"command\"\ncommand = [\"cat\"]\nworkspace = \"/\"\npermissions = \"read-only\"\n";

#[test]
fn an_address_that_others_reach_needs_a_certificate_or_a_proxy() {
    let folder = Folder::new();
    let plain = "other machines can reach this address, and nothing is encrypted: name a certificate with tls_cert and tls_key, \
                 listen at 127.0.0.1 behind a proxy that has one, or set behind_proxy = true if one stands between";
    let certificate = "tls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n";
    for (address, is_open) in [
        ("0.0.0.0:7700", true),
        ("[::]:7700", true),
        ("192.0.2.7:7700", true),
        ("[2001:db8::1]:7700", true),
        ("[::ffff:192.0.2.7]:7700", true),
        ("127.0.0.1:7700", false),
        ("127.9.9.9:7700", false),
        ("[::1]:7700", false),
        ("unix:http.sock", false),
    ] {
        let with = |more: &str| format!("[http]\nlisten = \"{address}\"\n{more}{AGENT}");
        if is_open {
            let said = folder.sentences(&with(""));
            assert_eq!(said.trim(), format!("bot.toml:2: [http] listen: {plain}"), "{address}");
            let said = folder.sentences(&with("behind_proxy = false\n"));
            assert!(said.contains(plain), "{address}: {said}");
        } else {
            assert!(folder.load(&with("")).is_ok(), "{address}");
        }
        for more in ["behind_proxy = true\n", certificate] {
            let loaded = folder.load(&with(more));
            assert!(loaded.is_ok(), "{address} {more}: {:?}", loaded.err());
        }
    }
    // Half of a certificate encrypts nothing.
    for (half, missing) in [("tls_cert = \"c\"\n", "tls_key"), ("tls_key = \"k\"\n", "tls_cert")] {
        let said = folder.sentences(&format!("[http]\nlisten = \"0.0.0.0:7700\"\n{half}{AGENT}"));
        assert!(said.contains(&format!("name the file with {missing}")), "{said}");
    }
}

#[test]
fn the_page_is_called_as_its_address_and_its_other_names_say() {
    let folder = Folder::new();
    let config = folder.load(&format!(
        "[http]\npublic_url = \"https://Herder.example.org/\"\nhosts = [\"Other.example.org\"]\n{AGENT}"
    ));
    let http = config.expect("it is right").http.expect("a listener");
    assert_eq!(http.public_url.as_deref(), Some("https://herder.example.org"));
    assert_eq!(http.hosts.into_iter().collect::<Vec<_>>(), ["herder.example.org", "other.example.org"]);
}
