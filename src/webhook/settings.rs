//! Settings of `[[webhook]]` and `[deadman]`.

use std::collections::BTreeSet;
use std::time::Duration;

use secrecy::SecretString;

use super::{Format, SigningKey};
use crate::core::hook::HookEvent;
use crate::core::id::NetworkName;

/// A webhook: an HTTP endpoint that receives agents' events.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Name of the webhook in `status`, alerts and logs: `webhook:` and the configured name.
    pub name: NetworkName,
    /// URL that requests go to, which may be a secret.
    pub url: SecretString,
    /// Format of the requests.
    pub format: Format,
    /// Key that signs the requests; `None`: they are not signed.
    pub secret: Option<SigningKey>,
    /// The kinds of events that are sent.
    pub events: BTreeSet<HookEvent>,
    /// True if the URL may have a private address, such as one in the local network.
    pub allow_private: bool,
}

/// The dead man's switch: a page of another service that herder requests at intervals as long as it is well, so that
/// silence raises an alarm there.
#[derive(Debug, Clone)]
pub struct DeadMan {
    /// URL of the page, which may be a secret.
    pub url: SecretString,
    /// Interval at which the page is requested.
    pub every: Duration,
    /// True if the URL may have a private address, such as one in the local network.
    pub allow_private: bool,
}
