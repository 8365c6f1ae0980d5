//! A single login for `herder check`: tests whether a network accepts the configuration.

use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;
use tokio_util::codec::FramedRead;

use super::Closing;
use super::codec::LineCodec;
use super::connect::{self, Connector};
use super::registration::{Registration, Step};
use super::wire::Outgoing;
use crate::config::IrcNetwork;
use crate::core::detail::LinkReason;

/// The result of a trial login to an IRC network, for `herder check`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The nick that the server gave: another one than configured if that is in use.
    pub nick: String,
    /// True if the login at the services succeeded.
    pub logged_in: bool,
}

/// Connects to an IRC network, logs in and quits, for `herder check`. No channel is joined, so that nobody is
/// disturbed.
///
/// # Errors
/// A sentence for people with the reason why the network refuses herder.
pub async fn log_in(network: &IrcNetwork) -> Result<Login, String> {
    let connected = connect::connect(&Connector::Network, network, 0).await;
    let stream = connected.map_err(|reason| reason.to_string())?;
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = FramedRead::new(reader, LineCodec::default());
    let (mut registration, mut owed) = Registration::start(network, "herder", Instant::now());
    loop {
        for line in owed.drain(..) {
            writer.write_all(line.to_line().as_bytes()).await.map_err(|error| error.to_string())?;
        }
        writer.flush().await.map_err(|error| error.to_string())?;
        let step = tokio::select! {
            line = lines.next() => match line {
                Some(Ok(line)) => registration.receive(&line, Instant::now()),
                Some(Err(error)) => return Err(LinkReason::Broke.with(error.to_string()).to_string()),
                None => return Err(LinkReason::Closed.to_string()),
            },
            () = tokio::time::sleep_until(registration.deadline()) => {
                registration.expired(Instant::now()).map_or_else(|| Step::Send(Vec::new()), Step::End)
            }
        };
        match step {
            Step::Send(lines) => owed = lines,
            Step::Done(registered) => {
                let farewell = Outgoing::new("QUIT").text("checked");
                // A failure has no effect: the server notices the closed connection by itself.
                let _ = writer.write_all(farewell.to_line().as_bytes()).await;
                let _ = writer.shutdown().await;
                return Ok(Login { nick: registered.nick, logged_in: registered.logged_in });
            }
            Step::End(Closing::Lost(why) | Closing::Throttled(why) | Closing::Refused(why)) => {
                return Err(why.to_string());
            }
            Step::End(Closing::Barred { said, .. }) => return Err(LinkReason::Banned.with(said).to_string()),
            Step::End(Closing::Shutdown) => return Err("the login was given up".to_owned()),
        }
    }
}
