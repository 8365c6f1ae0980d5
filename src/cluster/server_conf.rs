//! The text of `nats-server.conf`.

use super::folder::{SERVER, SERVER_KEY};
use super::log::monitor_port;

/// Interval of the server's pings. A client takes a ping for a yes to its credentials, so that the first one must not
/// come while the server still looks for an account (2 s).
const PING: &str = "10s";

/// Returns the configuration of the first server of a bot.
pub(super) fn conf(
    folder: &str,
    port: u16,
    name: &str,
    operator: &str,
    accounts: &[(String, String); 2],
) -> String {
    let folder = folder.replace('\\', "\\\\").replace('"', "\\\"");
    let [(system, system_jwt), (account, account_jwt)] = accounts;
    let monitor = monitor_port(port);
    format!(
        r#"# Written by herder cluster init. Start the server with: nats-server -c <this file>
server_name: "{name}-1"
port: {port}
# Monitoring, for programs of this machine alone: herder reads /varz there.
http: "127.0.0.1:{monitor}"
max_payload: 1MB
ping_interval: "{PING}"

tls {{
  cert_file: "{folder}/{SERVER}"
  key_file: "{folder}/{SERVER_KEY}"
  min_version: "1.3"
  timeout: 5
}}

# The shared log of a bot with a standby. Without a standby nothing is in it.
jetstream {{
  store_dir: "{folder}/jetstream"
  sync_interval: always
}}

operator: {operator}
system_account: {system}
resolver {{
  type: full
  dir: "{folder}/jwt"
  interval: "2m"
}}
resolver_preload {{
  {system}: {system_jwt}
  {account}: {account_jwt}
}}
"#
    )
}
