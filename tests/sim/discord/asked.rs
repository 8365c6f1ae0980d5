//! The requests of people, and their results.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::state::{Ack, Button, Id, Interaction, LOADING, Message, components};

/// An interaction under way.
#[derive(Clone)]
pub(crate) struct Asked {
    shared: Arc<Shared>,
    pub(crate) id: Id,
}

/// The form that the bot opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Modal {
    pub(crate) custom_id: String,
    pub(crate) title: String,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) custom_id: String,
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) required: bool,
    pub(crate) min_length: u64,
    pub(crate) max_length: u64,
}

impl Field {
    /// Panics if the client would not let a person send this text.
    pub(crate) fn assert_takes(&self, text: &str) {
        let length = text.chars().count() as u64;
        assert!(length > 0 || !self.required, "{:?} is required", self.label);
        let fits = length <= self.max_length && (length >= self.min_length || length == 0);
        assert!(
            fits,
            "{:?} takes {}..={} characters, not {length}",
            self.label, self.min_length, self.max_length
        );
    }
}

impl Asked {
    pub(crate) fn new(shared: Arc<Shared>, id: Id) -> Self {
        Self { shared, id }
    }

    /// Returns the current state of the interaction.
    pub(crate) fn now(&self) -> Interaction {
        self.shared.with(|state| state.interactions[&self.id].clone())
    }

    async fn wait<T>(&self, what: &str, mut done: impl FnMut(&Interaction) -> Option<T>) -> T {
        let what = format!("{what} of {:?}", self.now().asked);
        self.shared.wait(&what, |state| done(&state.interactions[&self.id])).await
    }

    /// Returns the first thing the bot did about it.
    pub(crate) async fn acknowledged(&self) -> Ack {
        self.wait("the acknowledgement", |interaction| interaction.ack.clone()).await
    }

    /// Returns the time from the event to the request that acknowledges it.
    pub(crate) async fn latency(&self) -> Duration {
        self.acknowledged().await.latency
    }

    /// Returns the first answer with words, once they are there: said at once, or in the place of «is thinking…». For
    /// a click that is the message as it was changed.
    pub(crate) async fn answer(&self) -> Message {
        let what = format!("the answer to {:?}", self.now().asked);
        self.shared
            .wait(&what, |state| {
                let interaction = &state.interactions[&self.id];
                // A click that was only noted (type 6) is answered by what follows.
                let is_noted = interaction.ack.as_ref().is_some_and(|ack| ack.kind == 6);
                let first =
                    if is_noted { interaction.followups.first() } else { interaction.original.as_ref() };
                let message = first.and_then(|id| state.messages.get(id))?;
                (message.flags & LOADING == 0).then(|| message.clone())
            })
            .await
    }

    /// Returns the follow-up messages after the first answer; waits until there are that many.
    pub(crate) async fn followups(&self, count: usize) -> Vec<Message> {
        let what = format!("{count} followups to {:?}", self.now().asked);
        self.shared
            .wait(&what, |state| {
                let ids = &state.interactions[&self.id].followups;
                (ids.len() >= count)
                    .then(|| ids.iter().filter_map(|id| state.messages.get(id)).cloned().collect())
            })
            .await
    }

    /// Returns the choices offered, as name and value.
    pub(crate) async fn choices(&self) -> Vec<(String, serde_json::Value)> {
        let ack = self.acknowledged().await;
        let list = ack.data["choices"].as_array().cloned().unwrap_or_default();
        let name = |choice: &serde_json::Value| choice["name"].as_str().unwrap_or_default().to_owned();
        list.iter().map(|choice| (name(choice), choice["value"].clone())).collect()
    }

    /// Returns the modal that was the answer.
    ///
    /// # Panics
    ///
    /// When it was something else.
    pub(crate) async fn modal(&self) -> Modal {
        let ack = self.acknowledged().await;
        assert_eq!(ack.kind, 9, "not a modal: {ack:?}");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let list = ack.data["components"].as_array().cloned().unwrap_or_default();
        let fields = components(&list).into_iter().filter(|component| component["type"] == 4);
        let field = |input: &serde_json::Value| Field {
            custom_id: text(&input["custom_id"]),
            label: text(&input["label"]),
            value: text(&input["value"]),
            required: input["required"] != false,
            min_length: input["min_length"].as_u64().unwrap_or(0),
            max_length: input["max_length"].as_u64().unwrap_or(4000),
        };
        Modal {
            custom_id: text(&ack.data["custom_id"]),
            title: text(&ack.data["title"]),
            fields: fields.map(field).collect(),
        }
    }

    /// Returns the buttons below the answer.
    pub(crate) async fn buttons(&self) -> Vec<Button> {
        self.answer().await.buttons()
    }

    /// Makes the request older than three seconds.
    pub(crate) fn waited_out(&self) {
        self.shared.with(|state| {
            if let Some(interaction) = state.interactions.get_mut(&self.id) {
                let past = super::rest::PATIENCE + Duration::from_millis(1);
                interaction.created = interaction.created.checked_sub(past).unwrap_or(interaction.created);
                interaction.delivered = interaction.delivered.and_then(|at| at.checked_sub(past));
            }
        });
    }

    /// Its token no longer works, as after 15 minutes.
    pub(crate) fn expires(&self) {
        self.shared.with(|state| {
            if let Some(interaction) = state.interactions.get_mut(&self.id) {
                interaction.expired = true;
            }
        });
    }
}
