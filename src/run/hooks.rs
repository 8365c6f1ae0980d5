//! Tasks for webhooks, one per endpoint, and for the dead man's switch.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::error;

use super::{Herder, keep_up, stop_with};
use crate::config::{Config, DeadMan, Webhook};
use crate::core::id::NetworkName;
use crate::journal::Journal;
use crate::outbox::{Markup, NetworkQueue};
use crate::redact::Redactor;
use crate::supervisor::{Fleet, Listener};
use crate::webhook::{self, Client, Format};

/// The services that the tasks of webhooks share.
#[derive(Debug, Clone)]
pub(super) struct Around {
    pub(super) fleet: Fleet,
    pub(super) journal: Journal,
    pub(super) redactor: Redactor,
    /// Cancelled when herder ends: no further event is sent.
    pub(super) speaking: CancellationToken,
}

/// Returns the names of all webhooks with the markup of their posts.
pub(super) fn all(config: &Config) -> impl Iterator<Item = (NetworkName, Markup)> {
    config.webhooks.iter().map(|webhook| {
        let markup = match webhook.format {
            Format::Json | Format::Slack => Markup::Plain,
            Format::Discord => Markup::Discord,
        };
        (webhook.name.clone(), markup)
    })
}

/// Returns the kinds of events that each webhook subscribes to.
pub(super) fn listeners(config: &Config) -> Vec<Listener> {
    let listener =
        |webhook: &Webhook| Listener { name: webhook.name.clone(), events: webhook.events.clone() };
    config.webhooks.iter().map(listener).collect()
}

/// Runs the task that sends a webhook its events until herder ends, and restarts the task when it panics.
pub(super) async fn keep(settings: Webhook, queue: Arc<NetworkQueue>, around: Around) {
    let client = match Client::new(settings.allow_private, webhook::TIMEOUT) {
        Ok(client) => client,
        Err(reason) => {
            error!(endpoint = %settings.name, %reason, "a webhook cannot be used; its events are kept");
            return;
        }
    };
    let ports = webhook::Ports {
        settings,
        queue,
        client,
        journal: around.journal.id().to_owned(),
        fleet: around.fleet,
        redactor: around.redactor,
    };
    let (ended, shutdown) = (around.speaking.clone(), around.speaking);
    let told = keep_up("webhook", move || webhook::run(ports.clone(), shutdown.clone()));
    // A task that ended because herder does has nothing left to do; one that panicked is started again.
    tokio::select! {
        biased;
        () = told => {}
        () = ended.cancelled() => {}
    }
}

/// Runs the dead man's switch until dropped, and restarts it when it panics.
pub(super) async fn watch(settings: DeadMan, networks: Vec<NetworkName>, around: Around) {
    let client = match Client::new(settings.allow_private, webhook::TIMEOUT) {
        Ok(client) => client,
        Err(reason) => {
            error!(%reason, "the dead man's switch cannot be used");
            return;
        }
    };
    let make = || {
        let (journal, fleet) = (around.journal.clone(), around.fleet.clone());
        webhook::watch(settings.clone(), client.clone(), journal, fleet, networks.clone())
    };
    keep_up("dead man's switch", make).await;
}

impl Herder {
    /// Starts the tasks that send events to webhooks, and the dead man's switch.
    pub(super) fn start_hooks(&self, config: &Config, redactor: Redactor) {
        let around = Around {
            fleet: self.fleet.clone(),
            journal: self.journal.clone(),
            redactor,
            speaking: self.speaking.clone(),
        };
        for (webhook, queue) in
            config.webhooks.iter().filter_map(|webhook| Some((webhook, self.hooks.get(&webhook.name)?)))
        {
            self.tasks.spawn(keep(webhook.clone(), Arc::clone(queue), around.clone()));
        }
        if let Some(deadman) = &config.deadman {
            let networks = self.queues.keys().cloned().collect();
            let watch = watch(deadman.clone(), networks, around);
            self.tasks.spawn(stop_with(self.hearing.clone(), watch));
        }
    }
}
