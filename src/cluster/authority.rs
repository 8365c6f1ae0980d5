//! The bot's own CA, and the certificate of its servers.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// Validity of both certificates, in years.
const YEARS: i16 = 10;

/// Names under which a server is always reached on its own machine.
const LOCAL: [&str; 2] = ["localhost", "127.0.0.1"];

/// PEM texts of a CA and of a server's certificate.
pub(super) struct Authority {
    pub(super) ca: String,
    pub(super) ca_key: String,
    pub(super) server: String,
    pub(super) server_key: String,
}

/// Makes a CA and a server's certificate for these hosts.
///
/// # Errors
/// The library refuses, e.g. a host that is no name for a certificate.
pub(super) fn make(bot: &str, hosts: &[String], now: Timestamp) -> Result<Authority, String> {
    let text = |error: rcgen::Error| error.to_string();
    let mut ca = params(Vec::new(), &format!("herder {bot}"), now)?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().map_err(text)?).map_err(text)?;

    let mut names = hosts.to_vec();
    for local in LOCAL {
        if !names.iter().any(|name| name == local) {
            names.push(local.to_owned());
        }
    }
    let mut server = params(names, &format!("herder {bot} nats-server"), now)?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // Servers of a cluster are clients of each other.
    server.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    server.use_authority_key_identifier_extension = true;
    let server_key = KeyPair::generate().map_err(text)?;
    let server = server.signed_by(&server_key, &ca).map_err(text)?;
    Ok(Authority {
        ca: ca.pem(),
        ca_key: ca.key().serialize_pem(),
        server: server.pem(),
        server_key: server_key.serialize_pem(),
    })
}

fn params(names: Vec<String>, common: &str, now: Timestamp) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::new(names).map_err(|error| error.to_string())?;
    params.distinguished_name.push(DnType::CommonName, common);
    let today = now.to_zoned(TimeZone::UTC).date();
    let unfit = |error: jiff::Error| error.to_string();
    // A day earlier, for machines with a clock that is late.
    let (first, last) = (
        today.checked_sub(Span::new().days(1)).map_err(unfit)?,
        today.checked_add(Span::new().years(YEARS)).map_err(unfit)?,
    );
    let time = |date: jiff::civil::Date| {
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    (params.not_before, params.not_after) = (time(first), time(last));
    Ok(params)
}
