//! Records of the log in order, for ever: a push consumer that is made anew at each gap and after each silence.

use std::time::Duration;

use async_nats::{Message, StatusCode, Subscriber};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::bytes::Bytes;
use tracing::debug;

use super::{ApiError, LogError, LogStream, PATIENCE};

/// Interval in which the server of a consumer says that there is nothing new.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Time without a message after which the consumer is made anew.
const SILENCE: Duration = Duration::from_millis(1700);

/// Time after which servers forget a consumer that is not listened to any more.
const INACTIVE: Duration = Duration::from_secs(5);

/// Pause between two attempts to make a consumer.
const PAUSE: Duration = Duration::from_millis(100);

/// Time for which a refusal is taken for a passing one, e.g. of a server that still reads its files.
const PASSING: Duration = Duration::from_secs(10);

/// Headers of heartbeats: the subject on which the server waits for a sign of life, and the last number it has sent.
const STALLED: &str = "Nats-Consumer-Stalled";
const LAST_SENT: &str = "Nats-Last-Consumer";

/// Records of the log from a sequence on.
#[derive(Debug)]
pub struct Records {
    log: LogStream,
    /// Sequence of the next record.
    next: u64,
    consumer: Option<Consumer>,
}

#[derive(Debug)]
struct Consumer {
    messages: Subscriber,
    /// Number of messages that it has sent.
    sent: u64,
    /// Time after which it counts as lost.
    lost_at: Instant,
}

/// The meaning of a message.
enum Heard {
    /// The consumer is alive.
    Alive,
    /// A message is missing, or the consumer has ended.
    Lost,
    /// A record with its sequence.
    Record(u64, Bytes),
}

impl Records {
    pub(super) fn new(log: LogStream, from: u64) -> Self {
        Self { log, next: from.max(1), consumer: None }
    }

    /// Waits for the next record, and returns it with its sequence. It can be cancelled, and called again after an error.
    ///
    /// Records that are not there yet are waited for, however far away they are: compare with [`LogStream::end`] first.
    ///
    /// # Errors
    /// The record was removed, or the servers have refused a consumer for ten seconds.
    pub async fn next(&mut self) -> Result<(u64, Vec<u8>), LogError> {
        loop {
            let Some(consumer) = &mut self.consumer else {
                self.consumer = Some(self.consume().await?);
                continue;
            };
            let message = timeout_at(consumer.lost_at, consumer.messages.next()).await.ok().flatten();
            let heard = match message {
                Some(message) => consumer.hear(&self.log, message).await,
                None => Heard::Lost,
            };
            match heard {
                Heard::Alive => {}
                Heard::Lost => self.consumer = None,
                Heard::Record(seq, body) if seq == self.next => {
                    self.next += 1;
                    return Ok((seq, body.into()));
                }
                // Its server is behind another one that this record came from before.
                Heard::Record(seq, _) if seq < self.next => {}
                Heard::Record(..) => self.gap().await?,
            }
        }
    }

    /// Finds out whether a record that was not delivered was removed.
    async fn gap(&mut self) -> Result<(), LogError> {
        self.consumer = None;
        match self.log.end().await {
            Ok(end) if end.first > self.next => Err(LogError::Purged { wanted: self.next, first: end.first }),
            // The next consumer meets the same gap, if nobody answers now.
            Ok(_) | Err(_) => {
                sleep(PAUSE).await;
                Ok(())
            }
        }
    }

    /// Makes a consumer, as often as it needs.
    async fn consume(&self) -> Result<Consumer, LogError> {
        let since = Instant::now();
        loop {
            match self.try_consume().await {
                Ok(consumer) => return Ok(consumer),
                Err(error @ (ApiError::Refused { .. } | ApiError::Missing { .. }))
                    if since.elapsed() >= PASSING =>
                {
                    return Err(error.into());
                }
                Err(error) => debug!(%error, "the log cannot be followed yet"),
            }
            sleep(PAUSE).await;
        }
    }

    async fn try_consume(&self) -> Result<Consumer, ApiError> {
        let stream = &self.log.stream;
        let inbox = stream.client.new_inbox();
        let lost = |why: String| ApiError::Silent { stream: stream.name.clone(), why };
        let subscribed = stream.client.subscribe(inbox.clone());
        // While there is no connection, orders to the client wait.
        let until = Instant::now() + PATIENCE;
        let messages =
            timeout_at(until, subscribed).await.map_err(|_| lost("there is no connection".into()))?;
        let messages = messages.map_err(|error| lost(error.to_string()))?;
        let name = inbox.rsplit('.').next().unwrap_or_default();
        let body = json!({
            "stream_name": stream.name,
            "config": {
                "name": name,
                "deliver_subject": inbox,
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": self.next,
                "ack_policy": "none",
                "replay_policy": "instant",
                "max_deliver": 1,
                "flow_control": true,
                "idle_heartbeat": HEARTBEAT.as_nanos(),
                "inactive_threshold": INACTIVE.as_nanos(),
                "num_replicas": 1,
                "mem_storage": true,
            },
        });
        let what = format!("CONSUMER.CREATE.{}.{name}", stream.name);
        stream.ask_more::<Value>(&what, &body, PATIENCE).await?;
        Ok(Consumer { messages, sent: 0, lost_at: Instant::now() + SILENCE })
    }
}

impl Consumer {
    async fn hear(&mut self, log: &LogStream, message: Message) -> Heard {
        self.lost_at = Instant::now() + SILENCE;
        match message.status {
            None => {}
            Some(StatusCode::IDLE_HEARTBEAT) => return self.control(log, &message).await,
            // E.g. "Consumer Deleted", or that a server shuts down.
            Some(_) => return Heard::Lost,
        }
        let Some((seq, number)) = message.reply.as_deref().and_then(places) else { return Heard::Lost };
        if number != self.sent + 1 {
            return Heard::Lost;
        }
        self.sent = number;
        Heard::Record(seq, message.payload)
    }

    /// Hears a heartbeat or a request of flow control, which is answered when everything before it was heard.
    async fn control(&mut self, log: &LogStream, message: &Message) -> Heard {
        let header = |name| message.headers.as_ref().and_then(|headers| headers.get(name));
        let stalled = header(STALLED).map(|subject| subject.as_str().into());
        if let Some(subject) = message.reply.clone().or(stalled) {
            // One that is lost on the way is asked for again by the next heartbeat.
            if let Err(error) = log.stream.client.publish(subject, Bytes::new()).await {
                debug!(%error, "the flow control of the log was not answered");
            }
        }
        match header(LAST_SENT).and_then(|sent| sent.as_str().parse::<u64>().ok()) {
            Some(sent) if sent != self.sent => Heard::Lost,
            _ => Heard::Alive,
        }
    }
}

/// Returns a record's sequence in the stream and its number in the consumer, from the subject of its acknowledgement:
/// `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<delivered>.<sequence>.<number>.<time>.<pending>[.<random>]`.
fn places(subject: &str) -> Option<(u64, u64)> {
    let tokens: Vec<&str> = subject.strip_prefix("$JS.ACK.")?.split('.').collect();
    let first = if tokens.len() == 7 { 0 } else { 2 };
    let number = |at: usize| tokens.get(first + at).and_then(|token| token.parse().ok());
    Some((number(3)?, number(4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_record_is_in_its_subject() {
        assert_eq!(places("$JS.ACK.HERDER_a_LOG.c.1.17.3.1700000000.5"), Some((17, 3)));
        assert_eq!(places("$JS.ACK.hub.ACC.HERDER_a_LOG.c.1.17.3.1700000000.5"), Some((17, 3)));
        assert_eq!(places("$JS.ACK._.ACC.HERDER_a_LOG.c.1.17.3.1700000000.5.x"), Some((17, 3)));
        for broken in ["", "$JS.ACK.", "$JS.ACK.a.b.c", "$JS.ACK.s.c.1.x.3.4.5", "_INBOX.bot.x"] {
            assert_eq!(places(broken), None, "{broken}");
        }
    }
}
