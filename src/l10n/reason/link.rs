//! Texts of the reasons why a network is unavailable.

use crate::core::detail::{DiscordReason, LinkReason};
use crate::l10n::message::{Message, say};

use super::text;

pub(super) fn link(reason: &LinkReason) -> Message<'_> {
    use LinkReason as L;
    match reason {
        L::NotFound { server } => say("link-not-found", [text("server", server)]),
        L::NoAddress { server } => say("link-no-address", [text("server", server)]),
        L::NotConnected { server } => say("link-not-connected", [text("server", server)]),
        L::NotAnswered { server, within } => {
            say("link-not-answered", [text("server", server), ("within", (*within).into())])
        }
        L::NoTlsName { server } => say("link-no-tls-name", [text("server", server)]),
        L::TlsFailed { server } => say("link-tls-failed", [text("server", server)]),
        L::Certificate { server, why, fingerprint } => say(
            "link-certificate",
            [text("server", server), ("why", why.key().into()), ("fingerprint", fingerprint.into())],
        ),
        L::TlsNotSetUp => say("link-tls-not-set-up", []),
        L::NotLetIn { within } => say("link-not-let-in", [("within", (*within).into())]),
        L::LoginNotAnswered { within } => say("link-login-not-answered", [("within", (*within).into())]),
        L::NoLoginNow => say("link-no-login-now", []),
        L::LetInWithoutLogin => say("link-let-in-without-login", []),
        L::LoginRefused { offered: None } => say("link-login-refused", []),
        L::LoginRefused { offered: Some(offered) } => {
            say("link-login-refused-offering", [text("offered", offered)])
        }
        L::LoginBrokenOff => say("link-login-broken-off", []),
        L::ServerPassword => say("link-server-password", []),
        L::Banned => say("link-banned", []),
        L::NoServices => say("link-no-services", []),
        L::Barred { again } => say("link-barred", [("again", (*again).into())]),
        L::NoNick => say("link-no-nick", []),
        L::Closed => say("link-closed", []),
        L::EndedByServer => say("link-ended-by-server", []),
        L::Broke => say("link-broke", []),
        L::StoppedReading => say("link-stopped-reading", []),
        L::FellSilent => say("link-fell-silent", []),
        L::LinesNotAnswered { waited } => say("link-lines-not-answered", [("waited", (*waited).into())]),
        L::Kicked => say("link-kicked", []),
    }
}

pub(super) fn discord(reason: &DiscordReason) -> Message<'_> {
    use DiscordReason as D;
    match reason {
        D::Token => say("discord-link-token", []),
        D::Shard => say("discord-link-shard", []),
        D::MoreShards => say("discord-link-more-shards", []),
        D::Version => say("discord-link-version", []),
        D::IntentUnknown => say("discord-link-intent-unknown", []),
        D::IntentRefused => say("discord-link-intent-refused", []),
        D::Client => say("discord-link-client", []),
        D::NoContent => say("discord-link-no-content", []),
        D::Logins { total, within } => {
            say("discord-link-logins", [("total", total.to_string().into()), ("within", (*within).into())])
        }
        D::Outside => say("discord-link-outside", []),
        D::Stuck => say("discord-link-stuck", []),
        D::NotAgain => say("discord-link-not-again", []),
        D::NotLetIn { within } => say("discord-link-not-let-in", [("within", (*within).into())]),
        D::Dead { silent } => say("discord-link-dead", [("silent", (*silent).into())]),
        D::Broke => say("discord-link-broke", []),
        D::Thread => say("discord-link-thread", []),
        D::ThreadDied => say("discord-link-thread-died", []),
        D::Refused { request, status, code } => say(
            "discord-link-refused",
            [
                text("request", request),
                ("status", status.to_string().into()),
                ("code", code.to_string().into()),
            ],
        ),
        D::Foreign { request, status } => {
            say("discord-link-foreign", [text("request", request), ("status", status.to_string().into())])
        }
        D::Stopped { refused } => say("discord-link-stopped", [("refused", refused.to_string().into())]),
        D::NotAnswered { request } => say("discord-link-not-answered", [text("request", request)]),
        D::Unreadable { request } => say("discord-link-unreadable", [text("request", request)]),
        D::Unaskable { request } => say("discord-link-unaskable", [text("request", request)]),
    }
}
