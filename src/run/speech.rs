//! From people's lines to replies: lines are dispatched in the order in which they were said, several at a time, and
//! answered in that order in each place.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::chat::irc::Marks;
use crate::clock;
use crate::commands::Dispatcher;
use crate::commands::dispatch::{FAULT, Handled as Answered};
use crate::core::id::{NetworkName, PostId};
use crate::core::post::{Body, Lane, Post, Target};
use crate::core::speech::{Author, Inbound, Place};
use crate::outbox::NetworkQueue;
use crate::supervisor::FaultInjection;
use crate::tools::Rooms;

use super::order::{Order, Turn};

/// The answer to one line of a person, and the place to send it to.
struct Handled {
    network: NetworkName,
    to: Target,
    nick: String,
    answer: Option<Body>,
    /// The channel and the message id of the line; `None` if the network has no message ids.
    message: Option<(String, String)>,
}

/// Passes people's lines from the networks to the dispatcher, and the answers to the networks' queues.
pub(super) struct Speech {
    pub(super) dispatcher: Dispatcher,
    pub(super) queues: BTreeMap<NetworkName, Arc<NetworkQueue>>,
    pub(super) fault: FaultInjection,
    /// Recent lines of the channels, which agents may read with their tools.
    pub(super) rooms: Rooms,
    /// Read marks, by IRC network, which move when a line is finished.
    pub(super) marks: BTreeMap<NetworkName, Marks>,
}

impl Speech {
    /// Dispatches people's lines until the networks are gone or `token` is cancelled.
    ///
    /// Futures are first polled in the order in which they start, and what a line waits for before it reaches the
    /// supervisor's mailbox is first come, first served; so two lines to one agent are decided in the order in which
    /// they were said. A line that takes long is answered by saying so: see [`Dispatcher::handled`].
    pub(super) async fn hear(self, mut heard: mpsc::Receiver<Inbound>, token: CancellationToken) {
        let mut order = Order::default();
        let mut under_way = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                () = token.cancelled() => return,
                Some((turn, answer)) = under_way.next(), if !under_way.is_empty() => {
                    let (ready, next) = order.answered(turn, answer);
                    ready.into_iter().for_each(|answer| self.answer(answer));
                    under_way.extend(next.into_iter().map(|(turn, inbound)| self.handle(turn, inbound)));
                }
                inbound = heard.recv(), if order.have_room() => {
                    let Some(inbound) = inbound else { return };
                    if let Some(channel) = inbound.place.channel() {
                        let Author { network, nick, .. } = &inbound.author;
                        self.rooms.said(network, channel, nick, &inbound.text, inbound.at);
                    }
                    let spot = (inbound.author.network.clone(), inbound.place.clone());
                    under_way.extend(order.said(spot, inbound).map(|(turn, inbound)| self.handle(turn, inbound)));
                }
            }
        }
    }

    fn handle(&self, turn: Turn, inbound: Inbound) -> impl Future<Output = (Turn, Handled)> + use<> {
        let (dispatcher, fault) = (self.dispatcher.clone(), self.fault.clone());
        async move {
            let network = inbound.author.network.clone();
            let nick = inbound.author.nick.clone();
            let message = match &inbound.place {
                Place::Channel(channel) => inbound.message.clone().map(|id| (channel.clone(), id)),
                Place::Thread { .. } | Place::Direct(_) => None,
            };
            let to = match &inbound.place {
                Place::Channel(channel) | Place::Thread { id: channel, .. } => {
                    Target::Channel(channel.clone())
                }
                Place::Direct(id) => inbound.author.in_private(id),
            };
            let handling = async {
                fault.before_line(&inbound);
                match dispatcher.handled(inbound).await {
                    Answered::Looked(lines) => Some(Body::Looked(lines)),
                    answered => answered.said().map(Body::Lines),
                }
            };
            let handled = AssertUnwindSafe(handling).catch_unwind().await;
            // A line that makes herder panic must not make it deaf.
            let answer = handled.unwrap_or_else(|_| {
                error!(%network, nick, "a line made the dispatcher panic");
                Some(Body::Lines(vec![FAULT.to_owned()]))
            });
            (turn, Handled { network, to, nick, answer, message })
        }
    }

    fn answer(&self, handled: Handled) {
        let Handled { network, to, nick, answer, message } = handled;
        if let (Some((channel, id)), Some(marks)) = (message, self.marks.get(&network)) {
            marks.done(&channel, &id);
        }
        let (Some(body), Some(queue)) = (answer, self.queues.get(&network)) else { return };
        queue.push(Post {
            id: PostId::default(),
            network,
            to,
            lane: Lane::Urgent,
            at: clock::now(),
            body,
            answers: Some(nick),
            quotes: None,
            confirmed_lines: 0,
        });
    }
}
